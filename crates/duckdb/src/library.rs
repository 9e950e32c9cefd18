//! Finds and loads the DuckDB library, and checks that its version is supported.

use std::ffi::{CStr, c_char};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use thiserror::Error;

use crate::api::Api;

/// The major versions of DuckDB whose C interface this crate supports.
const MAJORS: [&str; 2] = ["v1.", "v2."];
/// The file name of the DuckDB library on this operating system.
pub(crate) const FILE_NAME: &str =
    if cfg!(target_os = "macos") { "libduckdb.dylib" } else { "libduckdb.so" };

/// The reason why DuckDB could not be loaded.
#[derive(Debug, Error)]
pub enum LibraryMissing {
    #[error(
        "DuckDB's library is not installed here: run `noetl tools install duckdb`, or set NOETL_DUCKDB_LIBRARY to its file"
    )]
    NotFound,
    #[error("{} cannot be used as DuckDB's library: {reason}", path.display())]
    Unusable { path: PathBuf, reason: String },
    #[error("{} is DuckDB {version}; needed is version 1 or 2", path.display())]
    WrongVersion { path: PathBuf, version: String },
}

/// The loaded DuckDB library. It stays loaded while anything that was created from it exists.
pub struct Library {
    pub(crate) api: Api,
    version: String,
    /// Keeps the functions in `api` loaded; `None` if DuckDB is linked into the program.
    _library: Option<libloading::Library>,
}

impl Library {
    /// Loads the file `named`; if there is none, the linked-in library; then the first file found
    /// in the directories `places`; then the one the system finds by name.
    pub fn load(named: Option<&Path>, places: &[PathBuf]) -> Result<Arc<Self>, LibraryMissing> {
        #[cfg(feature = "linked")]
        if named.is_none() {
            return Self::of(Api::linked(), None, Path::new("the built-in library"));
        }
        let there = places.iter().map(|place| place.join(FILE_NAME)).find(|path| path.is_file());
        match (named, there) {
            (Some(path), _) => Self::open(path),
            (None, Some(path)) => Self::open(&path),
            (None, None) => match Self::open(Path::new(FILE_NAME)) {
                Err(LibraryMissing::Unusable { .. }) => Err(LibraryMissing::NotFound),
                opened => opened,
            },
        }
    }

    fn open(path: &Path) -> Result<Arc<Self>, LibraryMissing> {
        let unusable = |error: libloading::Error| LibraryMissing::Unusable {
            path: path.to_owned(),
            reason: error.to_string(),
        };
        // SAFETY: loading runs the library's initializers; the operator of this process chooses the
        // file, as with any program on the path.
        let library = unsafe { libloading::Library::new(path) }.map_err(unusable)?;
        // SAFETY: a library that exports all of these names is DuckDB's; it is kept beside the
        // functions.
        let api = unsafe { Api::find(&library) }.map_err(unusable)?;
        Self::of(api, Some(library), path)
    }

    fn of(
        api: Api,
        library: Option<libloading::Library>,
        path: &Path,
    ) -> Result<Arc<Self>, LibraryMissing> {
        // SAFETY: the function takes no arguments and returns a static string of the library.
        let version = unsafe { text((api.duckdb_library_version)()) };
        if !MAJORS.iter().any(|major| version.starts_with(major)) {
            return Err(LibraryMissing::WrongVersion { path: path.to_owned(), version });
        }
        Ok(Arc::new(Self { api, version, _library: library }))
    }

    /// The version of the library, such as `v1.4.2`.
    pub fn version(&self) -> &str {
        &self.version
    }
}

/// Copies a C string; returns an empty string for null.
///
/// # Safety
///
/// The pointer is null or points to a string that ends with a zero byte.
pub(crate) unsafe fn text(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: the pointer is not null, and the caller guarantees that it is a C string.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}

#[cfg(all(test, feature = "linked"))]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::DuckdbConnection;

    #[test]
    fn the_built_in_library_works_without_a_file() {
        let library = Library::load(None, &[]).expect("it is part of the program");
        let connection = DuckdbConnection::open(&library, None, &[]).expect("memory opens");
        let mut rows = Vec::new();
        let sql = "SELECT sum(i)::INTEGER, 'é' FROM range(1, 11) AS r(i)";
        let produced = connection.run(sql, &[], |row| {
            rows.push(row);
            true
        });
        produced.expect("it runs");
        assert_eq!(rows, [[json!(55), json!("é")]]);
    }
}
