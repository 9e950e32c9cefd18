//! Finding DuckDB's library and making sure that it is one we can talk to.

use std::ffi::{CStr, c_char};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use thiserror::Error;

use crate::api::Api;

/// The major versions that have the interface this is written for.
const MAJORS: [&str; 2] = ["v1.", "v2."];
/// What the library is called where the system looks for libraries.
pub(crate) const FILE_NAME: &str =
    if cfg!(target_os = "macos") { "libduckdb.dylib" } else { "libduckdb.so" };

/// Why there is no DuckDB.
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

/// DuckDB, loaded. It stays so for as long as anything of it is in use.
pub struct Library {
    pub(crate) api: Api,
    version: String,
    /// Behind the functions in `api`, unless they are part of this program.
    _library: Option<libloading::Library>,
}

impl Library {
    /// Loads the file that was named; else what was built in; else the first of `places` that exists;
    /// else what the system finds by name.
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
        // SAFETY: loading runs the library's initializers; which file it is, is the word of whoever
        // runs this process, as with any program on the path.
        let library = unsafe { libloading::Library::new(path) }.map_err(unusable)?;
        // SAFETY: a library that has all of these names is DuckDB's; it is kept beside the functions.
        let api = unsafe { Api::find(&library) }.map_err(unusable)?;
        Self::of(api, Some(library), path)
    }

    fn of(
        api: Api,
        library: Option<libloading::Library>,
        path: &Path,
    ) -> Result<Arc<Self>, LibraryMissing> {
        // SAFETY: it takes nothing and answers with a text that is part of the library.
        let version = unsafe { text((api.duckdb_library_version)()) };
        if !MAJORS.iter().any(|major| version.starts_with(major)) {
            return Err(LibraryMissing::WrongVersion { path: path.to_owned(), version });
        }
        Ok(Arc::new(Self { api, version, _library: library }))
    }

    /// Such as `v1.4.2`.
    pub fn version(&self) -> &str {
        &self.version
    }
}

/// A text of DuckDB's, copied; empty if there is none.
///
/// # Safety
///
/// The pointer is null or points to a text that ends with a zero byte.
pub(crate) unsafe fn text(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: it is not null, and the caller says that it is a text.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}

#[cfg(all(test, feature = "linked"))]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Connection;

    #[test]
    fn what_is_built_in_answers_without_a_file() {
        let library = Library::load(None, &[]).expect("it is part of the program");
        let connection = Connection::open(&library, None, &[]).expect("memory opens");
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
