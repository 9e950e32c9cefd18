//! The tool `transfer`: copies rows from a source to a target in chunks. Memory use does not depend
//! on the number of rows, except for an HTTP response, which is read as a whole.

mod chunk;
mod csv;
mod file;
mod postgres;
mod source;
mod table;
mod target;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use noetl_model::{Logs, ToolError};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use self::source::TransferSource;
use self::target::TransferTarget;
use crate::kinds::duckdb::engine::Engine;
use crate::kinds::http::Http;
use crate::kinds::postgres::pool::Pools;
use crate::protect::credentials::CredentialResolver;
use crate::run::call::{Call, Tool, ToolResult};
use crate::run::keys::ToolConfig;

/// The default number of rows per chunk.
const CHUNK_ROWS_DEFAULT: usize = 1000;
const CHUNK_ROWS_MAX: usize = 100_000;
/// The maximum number of chunks queued between reader and writer.
const CHUNKS_WAITING_MAX: usize = 2;

/// The resources for reading and writing.
pub(crate) struct Transfer {
    pub(crate) pools: Arc<Pools>,
    pub(crate) duckdb: Arc<Engine>,
    pub(crate) http: Http,
    pub(crate) credentials: Arc<dyn CredentialResolver>,
}

/// The treatment of rows that already exist in the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WriteMode {
    Append,
    /// Existing rows are deleted and the new ones inserted atomically.
    Replace,
    /// Existing rows with the same key are updated.
    Upsert,
}

impl WriteMode {
    fn read(keys: ToolConfig<'_>) -> Result<Self, ToolError> {
        match keys.text(&["mode"])?.as_deref() {
            None | Some("append" | "insert") => Ok(WriteMode::Append),
            Some("replace" | "overwrite") => Ok(WriteMode::Replace),
            Some("upsert" | "merge") => Ok(WriteMode::Upsert),
            Some(other) => {
                Err(keys
                    .error(format!("`mode` is `{other}`; known are append, replace and upsert")))
            }
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            WriteMode::Append => "append",
            WriteMode::Replace => "replace",
            WriteMode::Upsert => "upsert",
        }
    }
}

/// The number of rows and chunks written so far.
#[derive(Default)]
struct TransferProgress {
    rows: AtomicU64,
    chunks: AtomicU64,
}

impl TransferProgress {
    fn add(&self, rows: usize) {
        self.rows.fetch_add(rows as u64, Ordering::Relaxed);
        self.chunks.fetch_add(1, Ordering::Relaxed);
    }

    fn rows(&self) -> u64 {
        self.rows.load(Ordering::Relaxed)
    }
}

impl Transfer {
    async fn carry_out(&self, call: &Call) -> Result<ToolResult, ToolError> {
        let keys = ToolConfig::of_call("transfer", call);
        let mode = WriteMode::read(keys)?;
        let rows_max = keys.count(&["chunk_size", "batch_size"], CHUNK_ROWS_MAX)?;
        let rows_max = rows_max.unwrap_or(CHUNK_ROWS_DEFAULT);
        let source_keys = keys.part("transfer: source", section(keys, "source")?);
        let target_keys = keys.part("transfer: target", section(keys, "target")?);
        let target = TransferTarget::read(keys, target_keys, mode, self, call).await?;
        let source = TransferSource::read(source_keys, self, call).await?;
        let (from, to) = (source.kind(), target.kind());
        let name = target.name();
        let progress = Arc::new(TransferProgress::default());
        let (sender, receiver) = mpsc::channel(CHUNKS_WAITING_MAX);
        let reading = source.pump(sender, rows_max, call);
        let writing = target.drain(receiver, progress.clone(), call);
        let (read, written) = tokio::join!(reading, writing);
        // A reader stops silently when its writer is gone; the writer returns the error.
        let columns = match (read, written) {
            (Ok(()), Ok(columns)) => columns,
            (Err(error), _) | (Ok(()), Err(error)) => return Err(told(error, mode, &progress)),
        };
        Ok(ToolResult::completed(json!({
            "status": "success",
            "direction": format!("{from}_to_{to}"),
            "source_type": from,
            "target_type": to,
            "target_table": name,
            "mode": mode.as_str(),
            "rows_transferred": progress.rows(),
            "chunks_processed": progress.chunks.load(Ordering::Relaxed),
            "columns": columns,
        })))
    }
}

fn section<'a>(
    keys: ToolConfig<'a>,
    name: &'static str,
) -> Result<&'a Map<String, Value>, ToolError> {
    keys.map(&[name])?
        .ok_or_else(|| keys.error(format!("`{name}` is missing: a map with its `type`")))
}

/// Adds the number of rows already written to an error.
fn told(mut error: ToolError, mode: WriteMode, progress: &TransferProgress) -> ToolError {
    let rows = match mode {
        WriteMode::Append | WriteMode::Upsert => progress.rows(),
        WriteMode::Replace => 0,
    };
    error.message.push_str(&match mode {
        WriteMode::Append | WriteMode::Upsert => format!("; {rows} rows had been written"),
        WriteMode::Replace => "; nothing was replaced, the target is as it was".to_owned(),
    });
    let mut details = match error.details.take().map(|details| *details) {
        Some(Value::Object(details)) => details,
        _ => Map::new(),
    };
    details.insert("rows_written".into(), rows.into());
    error.details = Some(Box::new(Value::Object(details)));
    error
}

#[async_trait]
impl Tool for Transfer {
    async fn run(&self, call: &Call) -> ToolResult {
        tokio::select! {
            ended = self.carry_out(call) => ended.into(),
            () = call.cancel.cancelled() => ToolResult::stopped(Logs::default()),
        }
    }
}

#[cfg(test)]
mod tests;
