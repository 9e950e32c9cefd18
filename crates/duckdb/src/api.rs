//! The functions of DuckDB's C interface used by this crate, with the types given in `duckdb.h`.

use std::ffi::{c_char, c_int, c_void};

/// A pointer to any object of DuckDB.
pub(crate) type Handle = *mut c_void;
/// `idx_t` in `duckdb.h`.
pub(crate) type Index = u64;

/// The return value (`DuckDBSuccess`) of a call that succeeded.
pub(crate) const SUCCESS: c_int = 0;

/// `duckdb_result`: the fields are private to DuckDB, but the size must match.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct RawResult {
    counts: [Index; 3],
    pointers: [Handle; 3],
}

impl RawResult {
    pub(crate) fn empty() -> Self {
        Self { counts: [0; 3], pointers: [std::ptr::null_mut(); 3] }
    }
}

macro_rules! api {
    ($(fn $name:ident($($argument:ty),*) $(-> $answer:ty)?;)+) => {
        /// Pointers to DuckDB's functions.
        #[allow(clippy::struct_field_names, reason = "they are named as the header names them")]
        pub(crate) struct Api {
            $(pub(crate) $name: unsafe extern "C" fn($($argument),*) $(-> $answer)?,)+
        }

        #[cfg(feature = "linked")]
        mod linked {
            use super::*;

            unsafe extern "C" {
                $(pub(super) fn $name($(_: $argument),*) $(-> $answer)?;)+
            }
        }

        impl Api {
            /// Returns the functions linked into this program.
            #[cfg(feature = "linked")]
            pub(crate) fn linked() -> Self {
                // No name is imported; the dependency is used so that the library is linked.
                use libduckdb_sys as _;
                Self { $($name: linked::$name,)+ }
            }

            /// Looks up the functions in a loaded library.
            ///
            /// # Safety
            ///
            /// The library must be DuckDB's, and must stay loaded as long as the functions are
            /// called.
            pub(crate) unsafe fn find(
                library: &libloading::Library,
            ) -> Result<Self, libloading::Error> {
                Ok(Self {
                    $(
                        // SAFETY: the caller guarantees that the library is DuckDB's, whose header
                        // declares the function of this name with this type.
                        $name: *unsafe { library.get(concat!(stringify!($name), "\0").as_bytes()) }?,
                    )+
                })
            }
        }
    };
}

api! {
    fn duckdb_library_version() -> *const c_char;
    fn duckdb_free(Handle);

    fn duckdb_create_config(*mut Handle) -> c_int;
    fn duckdb_set_config(Handle, *const c_char, *const c_char) -> c_int;
    fn duckdb_destroy_config(*mut Handle);
    fn duckdb_open_ext(*const c_char, *mut Handle, Handle, *mut *mut c_char) -> c_int;
    fn duckdb_close(*mut Handle);
    fn duckdb_connect(Handle, *mut Handle) -> c_int;
    fn duckdb_disconnect(*mut Handle);
    fn duckdb_interrupt(Handle);

    fn duckdb_extract_statements(Handle, *const c_char, *mut Handle) -> Index;
    fn duckdb_extract_statements_error(Handle) -> *const c_char;
    fn duckdb_prepare_extracted_statement(Handle, Handle, Index, *mut Handle) -> c_int;
    fn duckdb_destroy_extracted(*mut Handle);
    fn duckdb_prepare_error(Handle) -> *const c_char;
    fn duckdb_destroy_prepare(*mut Handle);
    fn duckdb_nparams(Handle) -> Index;
    fn duckdb_bind_null(Handle, Index) -> c_int;
    fn duckdb_bind_boolean(Handle, Index, bool) -> c_int;
    fn duckdb_bind_int64(Handle, Index, i64) -> c_int;
    fn duckdb_bind_uint64(Handle, Index, u64) -> c_int;
    fn duckdb_bind_double(Handle, Index, f64) -> c_int;
    fn duckdb_bind_varchar_length(Handle, Index, *const c_char, Index) -> c_int;
    fn duckdb_execute_prepared_streaming(Handle, *mut RawResult) -> c_int;

    fn duckdb_result_error(*mut RawResult) -> *const c_char;
    fn duckdb_result_return_type(RawResult) -> c_int;
    fn duckdb_column_count(*mut RawResult) -> Index;
    fn duckdb_column_name(*mut RawResult, Index) -> *const c_char;
    fn duckdb_column_logical_type(*mut RawResult, Index) -> Handle;
    fn duckdb_fetch_chunk(RawResult) -> Handle;
    fn duckdb_destroy_result(*mut RawResult);

    fn duckdb_data_chunk_get_size(Handle) -> Index;
    fn duckdb_data_chunk_get_vector(Handle, Index) -> Handle;
    fn duckdb_destroy_data_chunk(*mut Handle);
    fn duckdb_vector_get_data(Handle) -> Handle;
    fn duckdb_vector_get_validity(Handle) -> *mut u64;
    fn duckdb_list_vector_get_child(Handle) -> Handle;
    fn duckdb_array_vector_get_child(Handle) -> Handle;
    fn duckdb_struct_vector_get_child(Handle, Index) -> Handle;

    fn duckdb_destroy_logical_type(*mut Handle);
    fn duckdb_get_type_id(Handle) -> c_int;
    fn duckdb_logical_type_get_alias(Handle) -> *mut c_char;
    fn duckdb_decimal_scale(Handle) -> u8;
    fn duckdb_decimal_internal_type(Handle) -> c_int;
    fn duckdb_enum_internal_type(Handle) -> c_int;
    fn duckdb_enum_dictionary_size(Handle) -> u32;
    fn duckdb_enum_dictionary_value(Handle, Index) -> *mut c_char;
    fn duckdb_list_type_child_type(Handle) -> Handle;
    fn duckdb_array_type_child_type(Handle) -> Handle;
    fn duckdb_array_type_array_size(Handle) -> Index;
    fn duckdb_map_type_key_type(Handle) -> Handle;
    fn duckdb_map_type_value_type(Handle) -> Handle;
    fn duckdb_struct_type_child_count(Handle) -> Index;
    fn duckdb_struct_type_child_name(Handle, Index) -> *mut c_char;
    fn duckdb_struct_type_child_type(Handle, Index) -> Handle;
    fn duckdb_union_type_member_count(Handle) -> Index;
    fn duckdb_union_type_member_type(Handle, Index) -> Handle;
}
