//! An open DuckDB database: running SQL on it and interrupting a running statement.

use std::ffi::{CString, c_int};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;
use thiserror::Error;

use crate::api::{Handle, Index, RawResult, SUCCESS};
use crate::library::{Library, text};
use crate::value::{Column, row};

/// Values of `duckdb_result_type`.
const CHANGED_ROWS: c_int = 1;
const QUERY_RESULT: c_int = 3;

/// An error reported by DuckDB, or a statement or value that cannot be passed to DuckDB.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DuckdbError {
    #[error("{0}")]
    Database(String),
    #[error("stopped")]
    Stopped,
    #[error("the column `{column}` has a type that is not understood here: cast it to VARCHAR")]
    Type { column: String },
    #[error("a text with a NUL character cannot be a statement or a path")]
    Nul,
    #[error("parameter {0} has no value")]
    Parameter(u64),
}

/// The result of a statement, without its rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StatementSummary {
    Rows { columns: Vec<String> },
    Affected(u64),
}

/// A connection to a database opened for this connection alone. Used by one thread at a time.
pub struct DuckdbConnection {
    open: Arc<Handles>,
}

/// Stops the running statement of a connection, from any thread.
#[derive(Clone)]
pub struct Interrupter {
    open: Arc<Handles>,
}

/// The database and connection handles, closed when the last reference is dropped.
struct Handles {
    library: Arc<Library>,
    database: Handle,
    connection: Handle,
    stopped: AtomicBool,
}

// SAFETY: a DuckDB database can be used from any thread. Only `duckdb_interrupt`, which is made for
// that, is called on the connection from a thread other than the one that owns the
// `DuckdbConnection`.
unsafe impl Send for Handles {}
// SAFETY: see `Send` above.
unsafe impl Sync for Handles {}

impl Handles {
    /// Returns `Stopped` if the connection was interrupted, and otherwise DuckDB's message.
    fn failure(&self, told: String) -> DuckdbError {
        if self.stopped.load(Ordering::Acquire) {
            DuckdbError::Stopped
        } else {
            DuckdbError::Database(told)
        }
    }
}

impl Drop for Handles {
    fn drop(&mut self) {
        let api = &self.library.api;
        // SAFETY: both handles are null or were created by this library, nothing else uses them,
        // and each is closed once.
        unsafe {
            (api.duckdb_disconnect)(&raw mut self.connection);
            (api.duckdb_close)(&raw mut self.database);
        }
    }
}

impl Interrupter {
    /// Stops the running statement and all later ones. Call it repeatedly until the running thread
    /// has returned: a statement that is just being prepared misses the interrupt.
    pub fn stop(&self) {
        self.open.stopped.store(true, Ordering::Release);
        // SAFETY: the connection is open as long as `open` exists, and can be interrupted at any
        // time.
        unsafe { (self.open.library.api.duckdb_interrupt)(self.open.connection) };
    }
}

impl DuckdbConnection {
    /// Opens a file, or an in-memory database if `path` is `None`, with settings such as
    /// `access_mode`.
    pub fn open(
        library: &Arc<Library>,
        path: Option<&str>,
        settings: &[(&str, &str)],
    ) -> Result<Self, DuckdbError> {
        let api = &library.api;
        let path = CString::new(path.unwrap_or(":memory:")).map_err(|_| DuckdbError::Nul)?;
        let config = DatabaseConfig::new(library, settings)?;
        let mut open = Handles {
            library: library.clone(),
            database: ptr::null_mut(),
            connection: ptr::null_mut(),
            stopped: AtomicBool::new(false),
        };
        let mut reason = ptr::null_mut();
        // SAFETY: path and config are valid during the call; the other two are out parameters.
        let opened = unsafe {
            (api.duckdb_open_ext)(
                path.as_ptr(),
                &raw mut open.database,
                config.raw,
                &raw mut reason,
            )
        };
        if opened != SUCCESS {
            // SAFETY: a reason set by the call is a string that the caller must free.
            let told = unsafe { text(reason) };
            // SAFETY: see above; freeing null does nothing.
            unsafe { (api.duckdb_free)(reason.cast()) };
            return Err(DuckdbError::Database(told));
        }
        // SAFETY: the database is open; the second argument is an out parameter.
        if unsafe { (api.duckdb_connect)(open.database, &raw mut open.connection) } != SUCCESS {
            return Err(DuckdbError::Database("IO Error: cannot connect to the database".into()));
        }
        Ok(Self { open: Arc::new(open) })
    }

    pub fn interrupter(&self) -> Interrupter {
        Interrupter { open: self.open.clone() }
    }

    /// Runs one statement and passes each row to `take` as it is fetched. Fails with `Stopped` if
    /// `take` returns false.
    pub fn run(
        &self,
        sql: &str,
        values: &[Value],
        mut take: impl FnMut(Vec<Value>) -> bool,
    ) -> Result<StatementSummary, DuckdbError> {
        let extracted = Extracted::new(&self.open, sql)?;
        let mut produced = StatementSummary::Affected(0);
        // DuckDB may turn one statement, such as a PIVOT, into several; only the last one returns
        // rows.
        for index in 0..extracted.count {
            let prepared = extracted.prepare(index)?;
            prepared.bind(values)?;
            let mut result = prepared.execute()?;
            let last = index + 1 == extracted.count;
            produced = result.read(|row| !last || take(row))?;
        }
        Ok(produced)
    }
}

struct DatabaseConfig<'a> {
    library: &'a Library,
    raw: Handle,
}

impl<'a> DatabaseConfig<'a> {
    fn new(library: &'a Library, settings: &[(&str, &str)]) -> Result<Self, DuckdbError> {
        let mut config = Self { library, raw: ptr::null_mut() };
        // SAFETY: the argument is an out parameter.
        unsafe { (library.api.duckdb_create_config)(&raw mut config.raw) };
        for (name, value) in settings {
            let name_text = CString::new(*name).map_err(|_| DuckdbError::Nul)?;
            let value = CString::new(*value).map_err(|_| DuckdbError::Nul)?;
            // SAFETY: the config was created above; the strings are valid during the call.
            let set = unsafe {
                (library.api.duckdb_set_config)(config.raw, name_text.as_ptr(), value.as_ptr())
            };
            if set != SUCCESS {
                return Err(DuckdbError::Database(format!(
                    "Invalid Input Error: no setting `{name}`"
                )));
            }
        }
        Ok(config)
    }
}

impl Drop for DatabaseConfig<'_> {
    fn drop(&mut self) {
        // SAFETY: the config was created by this library and is destroyed once.
        unsafe { (self.library.api.duckdb_destroy_config)(&raw mut self.raw) };
    }
}

/// The statements that DuckDB parsed from one SQL text.
struct Extracted<'a> {
    open: &'a Handles,
    raw: Handle,
    count: Index,
}

impl<'a> Extracted<'a> {
    fn new(open: &'a Handles, sql: &str) -> Result<Self, DuckdbError> {
        let sql = CString::new(sql).map_err(|_| DuckdbError::Nul)?;
        let mut extracted = Self { open, raw: ptr::null_mut(), count: 0 };
        let api = &open.library.api;
        // SAFETY: the connection is open, the string is valid during the call, the last argument is
        // an out parameter.
        extracted.count = unsafe {
            (api.duckdb_extract_statements)(open.connection, sql.as_ptr(), &raw mut extracted.raw)
        };
        if extracted.count == 0 {
            // SAFETY: the handle was set by the call above and carries a message if there is an
            // error.
            let told = unsafe { text((api.duckdb_extract_statements_error)(extracted.raw)) };
            if !told.is_empty() {
                return Err(open.failure(told));
            }
        }
        Ok(extracted)
    }

    fn prepare(&self, index: Index) -> Result<Prepared<'a>, DuckdbError> {
        let api = &self.open.library.api;
        let mut prepared = Prepared { open: self.open, raw: ptr::null_mut() };
        // SAFETY: the connection is open, the statements are extracted, `index` is below their
        // count, and the last argument is an out parameter.
        let state = unsafe {
            (api.duckdb_prepare_extracted_statement)(
                self.open.connection,
                self.raw,
                index,
                &raw mut prepared.raw,
            )
        };
        if state == SUCCESS {
            return Ok(prepared);
        }
        // SAFETY: the handle of a statement that failed to prepare is valid and carries the error.
        Err(self.open.failure(unsafe { text((api.duckdb_prepare_error)(prepared.raw)) }))
    }
}

impl Drop for Extracted<'_> {
    fn drop(&mut self) {
        // SAFETY: the handle is null or was created by this library, and is destroyed once.
        unsafe { (self.open.library.api.duckdb_destroy_extracted)(&raw mut self.raw) };
    }
}

struct Prepared<'a> {
    open: &'a Handles,
    raw: Handle,
}

impl<'a> Prepared<'a> {
    fn bind(&self, values: &[Value]) -> Result<(), DuckdbError> {
        // SAFETY: the statement is prepared.
        let count = unsafe { (self.open.library.api.duckdb_nparams)(self.raw) };
        for number in 1..=count {
            let value = usize::try_from(number - 1).ok().and_then(|index| values.get(index));
            let value = value.ok_or(DuckdbError::Parameter(number))?;
            if self.bind_one(number, value) != SUCCESS {
                return Err(DuckdbError::Parameter(number));
            }
        }
        Ok(())
    }

    fn bind_one(&self, number: Index, value: &Value) -> c_int {
        let api = &self.open.library.api;
        let bind_text = |text: &str| {
            // SAFETY: the statement is prepared and has this parameter; the call copies the string,
            // whose length is passed.
            unsafe {
                let length = text.len() as Index;
                (api.duckdb_bind_varchar_length)(self.raw, number, text.as_ptr().cast(), length)
            }
        };
        match value {
            // SAFETY: the statement is prepared and has this parameter.
            Value::Null => unsafe { (api.duckdb_bind_null)(self.raw, number) },
            // SAFETY: see above.
            Value::Bool(flag) => unsafe { (api.duckdb_bind_boolean)(self.raw, number, *flag) },
            Value::Number(it) => match (it.as_i64(), it.as_u64(), it.as_f64()) {
                // SAFETY: see above.
                (Some(it), _, _) => unsafe { (api.duckdb_bind_int64)(self.raw, number, it) },
                // SAFETY: see above.
                (None, Some(it), _) => unsafe { (api.duckdb_bind_uint64)(self.raw, number, it) },
                // SAFETY: see above.
                (None, None, Some(it)) => unsafe { (api.duckdb_bind_double)(self.raw, number, it) },
                (None, None, None) => bind_text(&it.to_string()),
            },
            Value::String(text) => bind_text(text),
            Value::Array(_) | Value::Object(_) => bind_text(&value.to_string()),
        }
    }

    fn execute(&self) -> Result<Running<'a>, DuckdbError> {
        if self.open.stopped.load(Ordering::Acquire) {
            return Err(DuckdbError::Stopped);
        }
        let mut running = Running { open: self.open, raw: RawResult::empty() };
        // SAFETY: the statement is prepared and bound; the second argument is an out parameter.
        let state = unsafe {
            (self.open.library.api.duckdb_execute_prepared_streaming)(
                self.raw,
                &raw mut running.raw,
            )
        };
        if state == SUCCESS { Ok(running) } else { Err(running.failure()) }
    }
}

impl Drop for Prepared<'_> {
    fn drop(&mut self) {
        // SAFETY: the handle is null or was created by this library, and is destroyed once.
        unsafe { (self.open.library.api.duckdb_destroy_prepare)(&raw mut self.raw) };
    }
}

/// A statement whose rows are being fetched.
struct Running<'a> {
    open: &'a Handles,
    raw: RawResult,
}

impl Running<'_> {
    fn read(
        &mut self,
        mut take: impl FnMut(Vec<Value>) -> bool,
    ) -> Result<StatementSummary, DuckdbError> {
        let api = &self.open.library.api;
        // SAFETY: the result is valid.
        let kind = unsafe { (api.duckdb_result_return_type)(self.raw) };
        let columns = self.columns()?;
        let mut affected = 0;
        while let Some(chunk) = self.chunk()? {
            let vectors: Vec<Handle> = (0..columns.len() as Index)
                // SAFETY: the chunk is valid and has one vector per column of the result.
                .map(|index| unsafe { (api.duckdb_data_chunk_get_vector)(chunk.raw, index) })
                .collect();
            // SAFETY: the chunk is valid.
            let size = unsafe { (api.duckdb_data_chunk_get_size)(chunk.raw) };
            for index in 0..size {
                // SAFETY: the vectors belong to the columns, and each has `size` rows.
                let row = unsafe { row(api, &columns, &vectors, index) };
                let goes_on = match kind {
                    QUERY_RESULT => take(row),
                    CHANGED_ROWS => {
                        affected += row.first().and_then(Value::as_u64).unwrap_or(0);
                        true
                    }
                    _ => true,
                };
                if !goes_on {
                    return Err(DuckdbError::Stopped);
                }
            }
        }
        Ok(match kind {
            QUERY_RESULT => StatementSummary::Rows {
                columns: columns.into_iter().map(|column| column.name).collect(),
            },
            _ => StatementSummary::Affected(affected),
        })
    }

    fn columns(&mut self) -> Result<Vec<Column>, DuckdbError> {
        let library = self.open.library.clone();
        let api = &library.api;
        // SAFETY: the result is valid.
        let count = unsafe { (api.duckdb_column_count)(&raw mut self.raw) };
        (0..count)
            .map(|index| {
                // SAFETY: the result has this column; the name is a string owned by the result.
                let name = unsafe { text((api.duckdb_column_name)(&raw mut self.raw, index)) };
                // SAFETY: the result has this column; the type is owned here and passed on to
                // `Column::new`.
                let column = unsafe {
                    let kind = (api.duckdb_column_logical_type)(&raw mut self.raw, index);
                    Column::new(&library, name.clone(), kind)
                };
                column.ok_or(DuckdbError::Type { column: name })
            })
            .collect()
    }

    /// Fetches the next chunk of rows; `None` at the end.
    fn chunk(&mut self) -> Result<Option<DataChunk<'_>>, DuckdbError> {
        if self.open.stopped.load(Ordering::Acquire) {
            return Err(DuckdbError::Stopped);
        }
        // SAFETY: the result is valid.
        let raw = unsafe { (self.open.library.api.duckdb_fetch_chunk)(self.raw) };
        if !raw.is_null() {
            return Ok(Some(DataChunk { library: &self.open.library, raw }));
        }
        match self.failure() {
            DuckdbError::Database(told) if told.is_empty() => Ok(None),
            failure => Err(failure),
        }
    }

    fn failure(&mut self) -> DuckdbError {
        // SAFETY: the result is valid; its error message, if any, is a string owned by the result.
        let told = unsafe { (self.open.library.api.duckdb_result_error)(&raw mut self.raw) };
        // SAFETY: see above.
        self.open.failure(unsafe { text(told) })
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        // SAFETY: the result was filled by this library and is destroyed once.
        unsafe { (self.open.library.api.duckdb_destroy_result)(&raw mut self.raw) };
    }
}

/// A batch of rows, stored by column (`duckdb_data_chunk`).
struct DataChunk<'a> {
    library: &'a Library,
    raw: Handle,
}

impl Drop for DataChunk<'_> {
    fn drop(&mut self) {
        // SAFETY: the chunk was created by this library and is destroyed once.
        unsafe { (self.library.api.duckdb_destroy_data_chunk)(&raw mut self.raw) };
    }
}
