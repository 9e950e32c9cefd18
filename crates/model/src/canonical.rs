//! The canonical form of a value, used for digests: JSON without spaces, keys sorted by their
//! bytes, numbers as they were given.
//!
//! The form does not depend on the order of keys or fields, so digests survive any store and any
//! change of the code that keeps the stored form. Every written event is digested, so a value is
//! serialized once and the members of its objects are sorted in place.

use std::ops::Range;

use serde::Serialize;
use serde::ser::{
    SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};
use serde_json::Error;

/// Initial capacity of the buffer: most events fit.
const EVENT_LEN: usize = 512;

/// Returns the canonical form of a value whose serialized form is JSON.
pub fn canonical(value: &impl Serialize) -> Vec<u8> {
    let mut serializer = CanonicalSerializer {
        bytes: Vec::with_capacity(EVENT_LEN),
        ..CanonicalSerializer::default()
    };
    value.serialize(&mut serializer).expect("the model's words are JSON");
    serializer.bytes
}

/// The serializer: the bytes written so far and the members of the objects that are still open.
#[derive(Default)]
struct CanonicalSerializer {
    bytes: Vec<u8>,
    /// The members of all open objects; the innermost object's are last.
    members: Vec<Member>,
    /// Scratch buffer for sorting members.
    scratch: Vec<u8>,
}

/// The byte ranges of an object member and of its key (without the quotes).
#[derive(Clone)]
struct Member {
    key: Range<usize>,
    whole: Range<usize>,
}

impl CanonicalSerializer {
    /// Writes a value that is neither an array nor an object.
    fn plain(&mut self, value: impl Serialize) -> Result<(), Error> {
        serde_json::to_writer(&mut self.bytes, &value)
    }

    fn array(&mut self, close: &'static [u8]) -> ArraySerializer<'_> {
        self.bytes.push(b'[');
        ArraySerializer { start: self.bytes.len(), serializer: self, close }
    }

    fn object(&mut self, close: &'static [u8]) -> ObjectSerializer<'_> {
        self.bytes.push(b'{');
        let (start, outer) = (self.bytes.len(), self.members.len());
        ObjectSerializer { serializer: self, start, outer, key: 0..0, close }
    }

    /// Opens the one-member object that represents an enum variant with content.
    fn variant(&mut self, name: &str) -> Result<(), Error> {
        self.bytes.push(b'{');
        self.plain(name)?;
        self.bytes.push(b':');
        Ok(())
    }

    /// Sorts the members of the innermost object, which starts at `start`.
    fn sort(&mut self, start: usize, outer: usize) {
        let Self { bytes, members, scratch } = self;
        let members = &mut members[outer..];
        if members.is_sorted_by(|one, next| precedes(bytes, one, next)) {
            return;
        }
        members.sort_by(|one, other| match precedes(bytes, one, other) {
            true => std::cmp::Ordering::Less,
            false => std::cmp::Ordering::Greater,
        });
        scratch.clear();
        scratch.extend_from_slice(&bytes[start..]);
        bytes.truncate(start);
        for member in members {
            if bytes.len() > start {
                bytes.push(b',');
            }
            bytes.extend_from_slice(&scratch[member.whole.start - start..member.whole.end - start]);
        }
    }
}

/// True if member `one` sorts before member `other` of the same object.
fn precedes(bytes: &[u8], one: &Member, other: &Member) -> bool {
    let (one, other) = (&bytes[one.key.clone()], &bytes[other.key.clone()]);
    match one.contains(&b'\\') || other.contains(&b'\\') {
        true => spelled_out(one) < spelled_out(other),
        false => one < other,
    }
}

/// Returns a key with its escapes decoded.
fn spelled_out(key: &[u8]) -> String {
    let quoted = [b"\"", key, b"\""].concat();
    serde_json::from_slice(&quoted).expect("it has just been written as JSON")
}

struct ArraySerializer<'a> {
    serializer: &'a mut CanonicalSerializer,
    start: usize,
    close: &'static [u8],
}

impl ArraySerializer<'_> {
    fn item(&mut self, value: &(impl Serialize + ?Sized)) -> Result<(), Error> {
        if self.serializer.bytes.len() > self.start {
            self.serializer.bytes.push(b',');
        }
        value.serialize(&mut *self.serializer)
    }

    fn end(self) {
        self.serializer.bytes.extend_from_slice(self.close);
    }
}

struct ObjectSerializer<'a> {
    serializer: &'a mut CanonicalSerializer,
    /// The byte position of the object's first member.
    start: usize,
    /// The number of members of the enclosing objects.
    outer: usize,
    /// The key whose value is written next.
    key: Range<usize>,
    close: &'static [u8],
}

impl ObjectSerializer<'_> {
    fn key(&mut self, key: &(impl Serialize + ?Sized)) -> Result<(), Error> {
        let bytes = &mut self.serializer.bytes;
        if bytes.len() > self.start {
            bytes.push(b',');
        }
        let start = bytes.len();
        serde_json::to_writer(&mut *bytes, key)?;
        if bytes[start] != b'"' {
            bytes.insert(start, b'"');
            bytes.push(b'"');
        }
        self.key = start + 1..bytes.len() - 1;
        bytes.push(b':');
        Ok(())
    }

    fn value(&mut self, value: &(impl Serialize + ?Sized)) -> Result<(), Error> {
        value.serialize(&mut *self.serializer)?;
        let key = self.key.clone();
        let whole = key.start - 1..self.serializer.bytes.len();
        self.serializer.members.push(Member { key, whole });
        Ok(())
    }

    fn end(self) {
        self.serializer.sort(self.start, self.outer);
        self.serializer.members.truncate(self.outer);
        self.serializer.bytes.extend_from_slice(self.close);
    }
}

/// Implements serializer methods for scalar values.
macro_rules! plain {
    ($($method:ident: $kind:ty),* $(,)?) => {
        $(fn $method(self, value: $kind) -> Result<(), Error> {
            self.plain(value)
        })*
    };
}

impl<'a> Serializer for &'a mut CanonicalSerializer {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = ArraySerializer<'a>;
    type SerializeTuple = ArraySerializer<'a>;
    type SerializeTupleStruct = ArraySerializer<'a>;
    type SerializeTupleVariant = ArraySerializer<'a>;
    type SerializeMap = ObjectSerializer<'a>;
    type SerializeStruct = ObjectSerializer<'a>;
    type SerializeStructVariant = ObjectSerializer<'a>;

    plain! {
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32,
        serialize_i64: i64, serialize_i128: i128, serialize_u8: u8, serialize_u16: u16,
        serialize_u32: u32, serialize_u64: u64, serialize_u128: u128, serialize_f32: f32,
        serialize_f64: f64, serialize_char: char, serialize_str: &str, serialize_bytes: &[u8],
    }

    fn serialize_none(self) -> Result<(), Error> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Error> {
        self.plain(())
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<(), Error> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
    ) -> Result<(), Error> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        self.variant(variant)?;
        value.serialize(&mut *self)?;
        self.bytes.push(b'}');
        Ok(())
    }

    fn serialize_seq(self, _len: Option<usize>) -> Result<ArraySerializer<'a>, Error> {
        Ok(self.array(b"]"))
    }

    fn serialize_tuple(self, _len: usize) -> Result<ArraySerializer<'a>, Error> {
        Ok(self.array(b"]"))
    }

    fn serialize_tuple_struct(
        self,
        _: &'static str,
        _len: usize,
    ) -> Result<ArraySerializer<'a>, Error> {
        Ok(self.array(b"]"))
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _len: usize,
    ) -> Result<ArraySerializer<'a>, Error> {
        self.variant(variant)?;
        Ok(self.array(b"]}"))
    }

    fn serialize_map(self, _len: Option<usize>) -> Result<ObjectSerializer<'a>, Error> {
        Ok(self.object(b"}"))
    }

    fn serialize_struct(self, _: &'static str, _len: usize) -> Result<ObjectSerializer<'a>, Error> {
        Ok(self.object(b"}"))
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _len: usize,
    ) -> Result<ObjectSerializer<'a>, Error> {
        self.variant(variant)?;
        Ok(self.object(b"}}"))
    }
}

/// Implements the array-like serializer traits for [`ArraySerializer`].
macro_rules! arrays {
    ($($guise:ident::$method:ident),*) => {
        $(impl $guise for ArraySerializer<'_> {
            type Ok = ();
            type Error = Error;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
                self.item(value)
            }

            fn end(self) -> Result<(), Error> {
                ArraySerializer::end(self);
                Ok(())
            }
        })*
    };
}

arrays!(
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field
);

impl SerializeMap for ObjectSerializer<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.key(key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.value(value)
    }

    fn end(self) -> Result<(), Error> {
        ObjectSerializer::end(self);
        Ok(())
    }
}

/// Implements the object-like serializer traits for [`ObjectSerializer`].
macro_rules! objects {
    ($($guise:ident),*) => {
        $(impl $guise for ObjectSerializer<'_> {
            type Ok = ();
            type Error = Error;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                key: &'static str,
                value: &T,
            ) -> Result<(), Error> {
                self.key(key)?;
                self.value(value)
            }

            fn end(self) -> Result<(), Error> {
                ObjectSerializer::end(self);
                Ok(())
            }
        })*
    };
}

objects!(SerializeStruct, SerializeStructVariant);

#[cfg(test)]
mod tests;
