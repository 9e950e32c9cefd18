//! Conversion of DuckDB vectors to JSON without loss: a value that JSON cannot hold exactly becomes
//! a string.

use std::ffi::{c_char, c_int};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Number, Value, json};

use crate::api::{Api, Handle, Index};
use crate::library::{Library, text};
use crate::time;

pub(crate) struct Column {
    pub(crate) name: String,
    shape: ValueLayout,
}

/// The memory layout of a DuckDB type, by which its values are read from a vector.
enum ValueLayout {
    Null,
    Bool,
    Integer(Width),
    Float,
    Double,
    Decimal {
        width: Width,
        scale: usize,
    },
    Text,
    Json,
    Blob,
    Bits,
    Uuid,
    Date,
    Time,
    TimeWithZone,
    /// A count of units since 1970, `per_second` of them in a second; `zone` is appended to the
    /// text.
    Timestamp {
        per_second: i64,
        zone: &'static str,
    },
    Interval,
    Enum {
        width: Width,
        words: Vec<String>,
    },
    List(Box<ValueLayout>),
    Array {
        item: Box<ValueLayout>,
        size: Index,
    },
    Struct(Vec<(String, ValueLayout)>),
    Map {
        key: Box<ValueLayout>,
        value: Box<ValueLayout>,
    },
    Union(Vec<ValueLayout>),
}

#[derive(Clone, Copy)]
enum Width {
    I8,
    I16,
    I32,
    I64,
    I128,
    U8,
    U16,
    U32,
    U64,
    U128,
}

impl Column {
    /// Reads a column's logical type and destroys it. Returns `None` for an unsupported type.
    ///
    /// # Safety
    ///
    /// `kind` is a logical type of this library that nothing else uses.
    pub(crate) unsafe fn new(library: &Arc<Library>, name: String, kind: Handle) -> Option<Self> {
        // SAFETY: guaranteed by the caller.
        let shape = unsafe { shape(&library.api, kind) }?;
        Some(Self { name, shape })
    }
}

/// Returns one row of a data chunk, one value per column.
///
/// # Safety
///
/// `vectors` holds one vector per column, in column order, each with more than `index` rows.
pub(crate) unsafe fn row(
    api: &Api,
    columns: &[Column],
    vectors: &[Handle],
    index: Index,
) -> Vec<Value> {
    let cells = columns.iter().zip(vectors);
    // SAFETY: guaranteed by the caller.
    cells.map(|(column, vector)| unsafe { value(api, &column.shape, *vector, index) }).collect()
}

/// Returns the layout of a logical type, by its number in `duckdb.h`, and destroys the type.
/// Returns `None` for an unsupported type.
///
/// # Safety
///
/// `kind` is a logical type of this library that nothing else uses.
unsafe fn shape(api: &Api, mut kind: Handle) -> Option<ValueLayout> {
    // SAFETY: the type is valid, as guaranteed by the caller, until it is destroyed below.
    let found = unsafe {
        match (api.duckdb_get_type_id)(kind) {
            19 => width((api.duckdb_decimal_internal_type)(kind)).map(|width| {
                ValueLayout::Decimal { width, scale: usize::from((api.duckdb_decimal_scale)(kind)) }
            }),
            17 => Some(match taken(api, (api.duckdb_logical_type_get_alias)(kind)).as_str() {
                "JSON" => ValueLayout::Json,
                _ => ValueLayout::Text,
            }),
            23 => width((api.duckdb_enum_internal_type)(kind)).map(|width| ValueLayout::Enum {
                width,
                words: (0..Index::from((api.duckdb_enum_dictionary_size)(kind)))
                    .map(|index| taken(api, (api.duckdb_enum_dictionary_value)(kind, index)))
                    .collect(),
            }),
            24 => shape(api, (api.duckdb_list_type_child_type)(kind))
                .map(Box::new)
                .map(ValueLayout::List),
            33 => shape(api, (api.duckdb_array_type_child_type)(kind)).map(|item| {
                ValueLayout::Array {
                    item: Box::new(item),
                    size: (api.duckdb_array_type_array_size)(kind),
                }
            }),
            25 => (0..(api.duckdb_struct_type_child_count)(kind))
                .map(|index| {
                    let name = taken(api, (api.duckdb_struct_type_child_name)(kind, index));
                    let child = shape(api, (api.duckdb_struct_type_child_type)(kind, index))?;
                    Some((name, child))
                })
                .collect::<Option<_>>()
                .map(ValueLayout::Struct),
            26 => match (
                shape(api, (api.duckdb_map_type_key_type)(kind)),
                shape(api, (api.duckdb_map_type_value_type)(kind)),
            ) {
                (Some(key), Some(value)) => {
                    Some(ValueLayout::Map { key: Box::new(key), value: Box::new(value) })
                }
                _ => None,
            },
            28 => (0..(api.duckdb_union_type_member_count)(kind))
                .map(|index| shape(api, (api.duckdb_union_type_member_type)(kind, index)))
                .collect::<Option<_>>()
                .map(ValueLayout::Union),
            id => plain(id),
        }
    };
    // SAFETY: this function owns the type and destroys it once.
    unsafe { (api.duckdb_destroy_logical_type)(&raw mut kind) };
    found
}

/// Returns the layout of a type without parameters, by its number in `duckdb.h`.
fn plain(id: c_int) -> Option<ValueLayout> {
    let timestamp = |per_second, zone| Some(ValueLayout::Timestamp { per_second, zone });
    match id {
        1 => Some(ValueLayout::Bool),
        10 => Some(ValueLayout::Float),
        11 => Some(ValueLayout::Double),
        12 => timestamp(1_000_000, ""),
        13 => Some(ValueLayout::Date),
        14 => Some(ValueLayout::Time),
        15 => Some(ValueLayout::Interval),
        18 => Some(ValueLayout::Blob),
        20 => timestamp(1, ""),
        21 => timestamp(1000, ""),
        22 => timestamp(1_000_000_000, ""),
        27 => Some(ValueLayout::Uuid),
        29 => Some(ValueLayout::Bits),
        30 => Some(ValueLayout::TimeWithZone),
        31 => timestamp(1_000_000, "+00:00"),
        36 => Some(ValueLayout::Null),
        id => width(id).map(ValueLayout::Integer),
    }
}

fn width(id: c_int) -> Option<Width> {
    Some(match id {
        2 => Width::I8,
        3 => Width::I16,
        4 => Width::I32,
        5 => Width::I64,
        6 => Width::U8,
        7 => Width::U16,
        8 => Width::U32,
        9 => Width::U64,
        16 => Width::I128,
        32 => Width::U128,
        _ => return None,
    })
}

/// Copies a string that DuckDB allocated for the caller, and frees the original.
///
/// # Safety
///
/// The pointer is null, or a string of this library that nothing else uses.
unsafe fn taken(api: &Api, pointer: *mut c_char) -> String {
    // SAFETY: guaranteed by the caller.
    let copy = unsafe { text(pointer) };
    // SAFETY: guaranteed by the caller; freeing null does nothing.
    unsafe { (api.duckdb_free)(pointer.cast()) };
    copy
}

/// An integer of any width, signed or unsigned.
enum Whole {
    Signed(i128),
    Unsigned(u128),
}

impl Whole {
    fn json(&self) -> Value {
        let (small, text) = match self {
            Whole::Signed(it) => (i64::try_from(*it).map(Number::from).ok(), it.to_string()),
            Whole::Unsigned(it) => (u64::try_from(*it).map(Number::from).ok(), it.to_string()),
        };
        small.map_or(Value::String(text), Value::Number)
    }

    fn decimal(&self, scale: usize) -> String {
        let (sign, digits) = match self {
            Whole::Signed(it) => (if *it < 0 { "-" } else { "" }, it.unsigned_abs()),
            Whole::Unsigned(it) => ("", *it),
        };
        if scale == 0 {
            return format!("{sign}{digits}");
        }
        let digits = format!("{digits:0>width$}", width = scale + 1);
        let (whole, fraction) = digits.split_at(digits.len() - scale);
        format!("{sign}{whole}.{fraction}")
    }

    fn index(&self) -> usize {
        match self {
            Whole::Signed(it) => usize::try_from(*it).unwrap_or(usize::MAX),
            Whole::Unsigned(it) => usize::try_from(*it).unwrap_or(usize::MAX),
        }
    }
}

/// Returns the element at `index` of a vector's data.
///
/// # Safety
///
/// `data` points to more than `index` elements of type `T`.
unsafe fn element<T: Copy>(data: Handle, index: Index) -> T {
    let index = usize::try_from(index).expect("a vector fits into memory");
    // SAFETY: guaranteed by the caller; the read is unaligned because DuckDB may pack elements more
    // tightly than Rust aligns them.
    unsafe { data.cast::<T>().add(index).read_unaligned() }
}

/// # Safety
///
/// `data` points to more than `index` integers of this width.
unsafe fn integer(width: Width, data: Handle, index: Index) -> Whole {
    // SAFETY: guaranteed by the caller.
    unsafe {
        match width {
            Width::I8 => Whole::Signed(element::<i8>(data, index).into()),
            Width::I16 => Whole::Signed(element::<i16>(data, index).into()),
            Width::I32 => Whole::Signed(element::<i32>(data, index).into()),
            Width::I64 => Whole::Signed(element::<i64>(data, index).into()),
            Width::I128 => Whole::Signed(element::<i128>(data, index)),
            Width::U8 => Whole::Unsigned(element::<u8>(data, index).into()),
            Width::U16 => Whole::Unsigned(element::<u16>(data, index).into()),
            Width::U32 => Whole::Unsigned(element::<u32>(data, index).into()),
            Width::U64 => Whole::Unsigned(element::<u64>(data, index).into()),
            Width::U128 => Whole::Unsigned(element::<u128>(data, index)),
        }
    }
}

/// Returns the bytes of a string or blob. A short one is stored inside the element itself.
///
/// # Safety
///
/// `data` points to more than `index` values of type `duckdb_string_t`, valid during the call.
unsafe fn bytes(data: Handle, index: Index) -> Vec<u8> {
    const INLINE_MAX: usize = 12;
    // SAFETY: guaranteed by the caller.
    let raw = unsafe { element::<[u8; 16]>(data, index) };
    let length = u32::from_ne_bytes(raw[..4].try_into().expect("four bytes"));
    let length = usize::try_from(length).expect("a text fits into memory");
    if length <= INLINE_MAX {
        return raw[4..4 + length].to_vec();
    }
    let address = usize::from_ne_bytes(raw[8..].try_into().expect("eight bytes"));
    // SAFETY: a long string has its address in these bytes and lives as long as its vector.
    unsafe { std::slice::from_raw_parts(std::ptr::with_exposed_provenance(address), length) }
        .to_vec()
}

/// # Safety
///
/// The vector is valid and has more than `index` rows.
unsafe fn is_valid(api: &Api, vector: Handle, index: Index) -> bool {
    // SAFETY: the vector is valid; a vector without nulls has no mask.
    let mask = unsafe { (api.duckdb_vector_get_validity)(vector) };
    // SAFETY: a mask has one bit per row, in words of 64 bits.
    mask.is_null() || unsafe { element::<u64>(mask.cast(), index / 64) } >> (index % 64) & 1 == 1
}

/// # Safety
///
/// The vector has more than `index` values of this layout.
unsafe fn value(api: &Api, shape: &ValueLayout, vector: Handle, index: Index) -> Value {
    // SAFETY: guaranteed by the caller.
    if !unsafe { is_valid(api, vector, index) } {
        return Value::Null;
    }
    // SAFETY: the vector is valid.
    let data = unsafe { (api.duckdb_vector_get_data)(vector) };
    // SAFETY: each layout determines the element type of the data, as defined in `duckdb.h`.
    unsafe {
        match shape {
            ValueLayout::Null => Value::Null,
            ValueLayout::Bool => Value::Bool(element::<u8>(data, index) != 0),
            ValueLayout::Integer(width) => integer(*width, data, index).json(),
            ValueLayout::Float => float(&element::<f32>(data, index).to_string()),
            ValueLayout::Double => float(&element::<f64>(data, index).to_string()),
            ValueLayout::Decimal { width, scale } => {
                integer(*width, data, index).decimal(*scale).into()
            }
            ValueLayout::Text => String::from_utf8_lossy(&bytes(data, index)).into_owned().into(),
            ValueLayout::Json => {
                let text = String::from_utf8_lossy(&bytes(data, index)).into_owned();
                serde_json::from_str(&text).unwrap_or(Value::String(text))
            }
            ValueLayout::Blob => STANDARD.encode(bytes(data, index)).into(),
            ValueLayout::Bits => bits(&bytes(data, index)).into(),
            ValueLayout::Uuid => uuid(element::<u128>(data, index)).into(),
            ValueLayout::Date => time::date(element::<i32>(data, index)).into(),
            ValueLayout::Time => time::time(element::<i64>(data, index)).into(),
            ValueLayout::TimeWithZone => time::time_with_zone(element::<u64>(data, index)).into(),
            ValueLayout::Timestamp { per_second, zone } => {
                let text = time::timestamp(element::<i64>(data, index), *per_second);
                if text.ends_with("infinity") { text } else { text + zone }.into()
            }
            ValueLayout::Interval => {
                let raw = element::<Interval>(data, index);
                time::interval(raw.months, raw.days, raw.microseconds).into()
            }
            ValueLayout::Enum { width, words } => {
                let word = words.get(integer(*width, data, index).index());
                word.map_or(Value::Null, |word| Value::String(word.clone()))
            }
            ValueLayout::List(_)
            | ValueLayout::Array { .. }
            | ValueLayout::Struct(_)
            | ValueLayout::Map { .. }
            | ValueLayout::Union(_) => nested(api, shape, vector, data, index),
        }
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Interval {
    months: i32,
    days: i32,
    microseconds: i64,
}

/// # Safety
///
/// The vector has more than `index` values of this layout, and `data` is its data.
unsafe fn nested(
    api: &Api,
    shape: &ValueLayout,
    vector: Handle,
    data: Handle,
    index: Index,
) -> Value {
    // SAFETY: each layout determines the vector's children, as defined in `duckdb.h`.
    unsafe {
        match shape {
            ValueLayout::List(item) => {
                let [offset, length] = element::<[u64; 2]>(data, index);
                let child = (api.duckdb_list_vector_get_child)(vector);
                (offset..offset + length).map(|at| value(api, item, child, at)).collect()
            }
            ValueLayout::Array { item, size } => {
                let child = (api.duckdb_array_vector_get_child)(vector);
                (index * size..(index + 1) * size).map(|at| value(api, item, child, at)).collect()
            }
            ValueLayout::Struct(fields) => fields
                .iter()
                .zip(0..)
                .map(|((name, field), place)| {
                    let child = (api.duckdb_struct_vector_get_child)(vector, place);
                    (name.clone(), value(api, field, child, index))
                })
                .collect::<Map<_, _>>()
                .into(),
            ValueLayout::Map { key, value: held } => {
                let [offset, length] = element::<[u64; 2]>(data, index);
                let entries = (api.duckdb_list_vector_get_child)(vector);
                let keys = (api.duckdb_struct_vector_get_child)(entries, 0);
                let values = (api.duckdb_struct_vector_get_child)(entries, 1);
                map((offset..offset + length)
                    .map(|at| (value(api, key, keys, at), value(api, held, values, at)))
                    .collect())
            }
            ValueLayout::Union(members) => {
                let tags = (api.duckdb_struct_vector_get_child)(vector, 0);
                let tag = element::<u8>((api.duckdb_vector_get_data)(tags), index);
                let child = (api.duckdb_struct_vector_get_child)(vector, Index::from(tag) + 1);
                let member = members.get(usize::from(tag));
                member.map_or(Value::Null, |member| value(api, member, child, index))
            }
            _ => Value::Null,
        }
    }
}

/// Returns a JSON object if all keys are strings, and a list of `{"key": …, "value": …}` otherwise.
fn map(entries: Vec<(Value, Value)>) -> Value {
    if entries.iter().all(|(key, _)| key.is_string()) {
        let entries = entries.into_iter().filter_map(|(key, value)| match key {
            Value::String(key) => Some((key, value)),
            _ => None,
        });
        return Value::Object(entries.collect());
    }
    entries.into_iter().map(|(key, value)| json!({"key": key, "value": value})).collect()
}

/// Converts a float by its shortest text, so that a 32-bit 0.1 becomes 0.1. `NaN` and infinities
/// stay strings.
fn float(text: &str) -> Value {
    let number = text.parse().ok().and_then(Number::from_f64);
    number.map_or_else(|| Value::String(text.to_owned()), Value::Number)
}

/// Returns a bit string such as `0101`. The first byte is the number of padding bits in the second.
fn bits(bytes: &[u8]) -> String {
    let Some((padding, bytes)) = bytes.split_first() else { return String::new() };
    let all: String = bytes.iter().map(|byte| format!("{byte:08b}")).collect();
    all.chars().skip(usize::from(*padding)).collect()
}

/// Formats a UUID. DuckDB stores one with its first bit flipped, so that it sorts as an integer.
fn uuid(raw: u128) -> String {
    let digits = format!("{:032x}", raw ^ (1 << 127));
    let parts = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
    parts.join("-")
}
