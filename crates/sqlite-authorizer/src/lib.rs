//! The authorizer of an SQLite connection: a function that SQLite asks while it compiles a statement.
//!
//! SQLite has parsed the statement by then. No spelling of it, comment or byte order mark hides from
//! the authorizer which file a statement opens.
//!
//! Invariant: the function lives as long as the connection, which frees it when it closes.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

use libsqlite3_sys as ffi;
use sqlx::sqlite::LockedSqliteHandle;

/// The name under which the connection keeps the function.
const NAME: &CStr = c"noetl-authorizer";

/// An action of a statement for which the authorizer is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SqliteAction<'a> {
    /// A file is opened by `ATTACH` or `VACUUM INTO`; `None` if its name is not a literal.
    OpenFile(Option<&'a str>),
    /// A setting is read or set by `PRAGMA`; the name has the spelling of the statement.
    Pragma(&'a str),
}

/// The connection has no memory for its authorizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutOfMemory;

impl std::fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SQLite has no memory for an authorizer")
    }
}

impl std::error::Error for OutOfMemory {}

type Decide = Box<dyn Fn(SqliteAction<'_>) -> bool + Send>;

/// Sets the authorizer of a connection. Statements with an action for which `allows` returns false
/// fail to compile with `SQLITE_AUTH`; actions that [`SqliteAction`] does not name are allowed.
pub fn set_authorizer(
    connection: &mut LockedSqliteHandle<'_>,
    allows: impl Fn(SqliteAction<'_>) -> bool + Send + 'static,
) -> Result<(), OutOfMemory> {
    let database = connection.as_raw_handle().as_ptr();
    let decide: *mut Decide = Box::into_raw(Box::new(Box::new(allows)));
    // SAFETY: the handle is open and locked. The connection owns the box from here on and frees it
    // with `free`, once, when it closes or if this call fails.
    let kept =
        unsafe { ffi::sqlite3_set_clientdata(database, NAME.as_ptr(), decide.cast(), Some(free)) };
    if kept != ffi::SQLITE_OK {
        return Err(OutOfMemory);
    }
    // SAFETY: the handle is open and locked, and the box lives as long as the connection.
    let set = unsafe { ffi::sqlite3_set_authorizer(database, Some(authorize), decide.cast()) };
    if set == ffi::SQLITE_OK { Ok(()) } else { Err(OutOfMemory) }
}

/// Frees the function.
unsafe extern "C" fn free(decide: *mut c_void) {
    // SAFETY: the pointer is from `Box::into_raw` in `set_authorizer`, and SQLite calls this once.
    drop(unsafe { Box::from_raw(decide.cast::<Decide>()) });
}

unsafe extern "C" fn authorize(
    decide: *mut c_void,
    action: c_int,
    first: *const c_char,
    _second: *const c_char,
    _database: *const c_char,
    _trigger: *const c_char,
) -> c_int {
    // SAFETY: SQLite passes null or a text that ends with zero and lives during this call.
    let first = (!first.is_null()).then(|| unsafe { CStr::from_ptr(first) });
    let text = first.map(CStr::to_str);
    let action = match (action, text) {
        (ffi::SQLITE_ATTACH, None) => SqliteAction::OpenFile(None),
        (ffi::SQLITE_ATTACH, Some(Ok(name))) => SqliteAction::OpenFile(Some(name)),
        (ffi::SQLITE_PRAGMA, Some(Ok(name))) => SqliteAction::Pragma(name),
        // The name is not UTF-8, so it cannot be checked.
        (ffi::SQLITE_ATTACH | ffi::SQLITE_PRAGMA, _) => return ffi::SQLITE_DENY,
        _ => return ffi::SQLITE_OK,
    };
    // SAFETY: the pointer is that of `set_authorizer`; the connection is still open.
    let decide = unsafe { &*decide.cast::<Decide>() };
    // A panic must not cross C code.
    match catch_unwind(AssertUnwindSafe(|| decide(action))) {
        Ok(true) => ffi::SQLITE_OK,
        Ok(false) | Err(_) => ffi::SQLITE_DENY,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use sqlx::{AssertSqlSafe, Connection as _, SqliteConnection};

    use super::*;

    /// Returns the actions that SQLite asks for while it compiles and runs a script, all denied.
    async fn asked(script: &str) -> (Vec<String>, bool) {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = asked.clone();
        let mut connection = SqliteConnection::connect("sqlite::memory:").await.unwrap();
        let mut handle = connection.lock_handle().await.unwrap();
        set_authorizer(&mut handle, move |action| {
            seen.lock().unwrap().push(format!("{action:?}"));
            false
        })
        .unwrap();
        drop(handle);
        let ran = sqlx::raw_sql(AssertSqlSafe(script)).execute(&mut connection).await;
        connection.close().await.unwrap();
        assert_eq!(Arc::strong_count(&asked), 1, "the connection frees its authorizer");
        let asked = asked.lock().unwrap().clone();
        (asked, ran.is_ok())
    }

    #[tokio::test]
    async fn every_spelling_of_a_statement_that_opens_a_file_is_seen() {
        let literal = r#"OpenFile(Some("a.db"))"#;
        for (script, expected) in [
            ("ATTACH 'a.db' AS x", literal),
            ("\u{feff}ATTACH 'a.db' AS x", literal),
            ("/* c */ --d\n ;; aTTacH DataBase \"a.db\" AS x", literal),
            ("ATTACH [a.db] AS x", literal),
            ("SELECT 1; ATTACH 'a.db' AS x", literal),
            ("VACUUM INTO 'a.db'", literal),
            ("VACUUM main INTO 'a.db'", literal),
            ("ATTACH 'a' || '.db' AS x", "OpenFile(None)"),
            ("ATTACH (SELECT 'a.db') AS x", "OpenFile(None)"),
            ("PRAGMA Temp_Store_Directory = '/'", r#"Pragma("Temp_Store_Directory")"#),
        ] {
            assert_eq!(asked(script).await, (vec![expected.to_owned()], false), "{script}");
        }
    }

    #[tokio::test]
    async fn other_statements_are_not_asked_for() {
        assert_eq!(asked("CREATE TABLE t (a); INSERT INTO t VALUES (1)").await, (vec![], true));
    }
}
