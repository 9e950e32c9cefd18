//! Row files: CSV with a header, or JSON Lines.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use noetl_model::{ErrorKind, ToolError};
use serde_json::{Map, Value};
use tempfile::{NamedTempFile, TempPath};
use tokio::fs::File;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, BufWriter};
use tokio::sync::mpsc::Sender;

use super::WriteMode;
use super::chunk::{Filler, RowChunk, columns_of, row_of};
use super::csv;
use crate::protect::files::FileAccess;
use crate::run::keys::ToolConfig;

/// The maximum length of a row.
pub(super) const ROW_BYTES_MAX: usize = 16 * 1024 * 1024;

/// The mode of a new file, reduced by the mask of the process.
const MODE: u32 = 0o666;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileFormat {
    Csv,
    JsonLines,
}

/// A file of rows.
#[derive(Debug, Clone)]
pub(super) struct RowFile {
    pub(super) path: PathBuf,
    pub(super) format: FileFormat,
    pub(super) files: FileAccess,
}

impl RowFile {
    /// Reads `path`, and `format`, which defaults to the file extension.
    pub(super) fn read(keys: ToolConfig<'_>) -> Result<Self, ToolError> {
        let path = keys.file(keys.required_text(&["path", "file", "uri"])?)?;
        let ending = path.extension().and_then(|ending| ending.to_str()).map(str::to_owned);
        let format = keys.text(&["format"])?.or(ending).unwrap_or_default();
        let format = match format.as_str() {
            "csv" => FileFormat::Csv,
            "jsonl" | "ndjson" | "json_lines" => FileFormat::JsonLines,
            other => {
                return Err(keys.error(format!("`format` is `{other}`; known are csv and jsonl")));
            }
        };
        Ok(Self { path, format, files: keys.files() })
    }

    /// Sends all rows in chunks.
    pub(super) async fn pump(
        &self,
        to: Sender<RowChunk>,
        rows_max: usize,
    ) -> Result<(), ToolError> {
        let file = File::open(&self.path).await.map_err(|error| self.failed(&error))?;
        self.check_open(&self.path, &file).await?;
        let file = BufReader::new(file);
        match self.format {
            FileFormat::Csv => csv::pump(self, file, to, rows_max).await,
            FileFormat::JsonLines => {
                pump_json(&mut Lines { file, number: 0, of: self }, to, rows_max).await
            }
        }
    }

    /// Checks an open file of this target, and returns its size.
    async fn check_open(&self, path: &Path, file: &File) -> Result<u64, ToolError> {
        let metadata = file.metadata().await.map_err(|error| self.failed(&error))?;
        self.files.check_open(path, &metadata)?;
        Ok(metadata.len())
    }

    /// Creates a file beside this one. Its name is random: a name that can be guessed may be a link
    /// to another file.
    fn new_part(&self) -> std::io::Result<NamedTempFile> {
        let directory = self.path.parent().unwrap_or(&self.path);
        let name = self.path.file_name().unwrap_or_default();
        let mut builder = tempfile::Builder::new();
        builder.prefix(name).suffix(".part").permissions(Permissions::from_mode(MODE));
        builder.tempfile_in(directory)
    }

    pub(super) fn failed(&self, error: &std::io::Error) -> ToolError {
        let kind = match error.kind() {
            std::io::ErrorKind::NotFound => ErrorKind::NotFound,
            std::io::ErrorKind::StorageFull => ErrorKind::StorageQuota,
            _ => ErrorKind::StorageAccess,
        };
        ToolError::new(kind, format!("{}: {error}", self.path.display()))
    }

    pub(super) fn wrong(&self, line: u64, what: impl std::fmt::Display) -> ToolError {
        let message = format!("{}, line {line}: {what}", self.path.display());
        ToolError::new(ErrorKind::Parse, message)
    }
}

/// The lines of a file, with the current line number.
struct Lines<'a> {
    file: BufReader<File>,
    number: u64,
    of: &'a RowFile,
}

impl Lines<'_> {
    /// Appends the next line with its line end. Returns false at the end of the file.
    async fn append(&mut self, text: &mut String) -> Result<bool, ToolError> {
        let read = self.file.read_line(text).await.map_err(|error| self.of.failed(&error))?;
        self.number += 1;
        if ROW_BYTES_MAX < text.len() {
            return Err(self
                .of
                .wrong(self.number, format!("a row of more than {ROW_BYTES_MAX} bytes")));
        }
        Ok(0 < read)
    }
}

async fn pump_json(
    lines: &mut Lines<'_>,
    to: Sender<RowChunk>,
    rows_max: usize,
) -> Result<(), ToolError> {
    let mut first = Vec::new();
    let mut more = true;
    while more && first.len() < rows_max {
        match object(lines).await? {
            Some(row) => first.push(row),
            None => more = false,
        }
    }
    let columns = columns_of(&first);
    let mut filler = Filler::new(columns.clone(), rows_max, to);
    let mut number = 0;
    let mut waiting = first.into_iter();
    loop {
        let next = match waiting.next() {
            Some(row) => Some(row),
            None if more => object(lines).await?,
            None => None,
        };
        let Some(fields) = next else { break };
        number += 1;
        if filler.push(row_of(&columns, fields, number)?).await.is_err() {
            return Ok(());
        }
    }
    filler.finish().await;
    Ok(())
}

async fn object(lines: &mut Lines<'_>) -> Result<Option<Map<String, Value>>, ToolError> {
    let mut text = String::new();
    loop {
        text.clear();
        if !lines.append(&mut text).await? {
            return Ok(None);
        }
        if text.trim().is_empty() {
            continue;
        }
        return match serde_json::from_str(&text) {
            Ok(Value::Object(fields)) => Ok(Some(fields)),
            Ok(_) => Err(lines.of.wrong(lines.number, "not a map")),
            Err(error) => Err(lines.of.wrong(lines.number, error)),
        };
    }
}

/// A writer of row files. In replace mode the new file takes the place of the old one at the end.
pub(super) struct RowWriter {
    file: BufWriter<File>,
    of: RowFile,
    /// The temporary file that is written in replace mode; removed unless the transfer completes.
    part: Option<TempPath>,
    wants_header: bool,
}

impl RowWriter {
    pub(super) async fn open(of: RowFile, mode: WriteMode) -> Result<Self, ToolError> {
        let (file, part) = match mode {
            WriteMode::Replace => {
                let part = of.new_part().map_err(|error| of.failed(&error))?;
                let (file, part) = part.into_parts();
                (File::from_std(file), Some(part))
            }
            WriteMode::Append | WriteMode::Upsert => {
                let file = File::options().create(true).append(true).open(&of.path).await;
                (file.map_err(|error| of.failed(&error))?, None)
            }
        };
        let length = of.check_open(part.as_deref().unwrap_or(&of.path), &file).await?;
        Ok(Self { file: BufWriter::new(file), wants_header: length == 0, of, part })
    }

    pub(super) async fn write(&mut self, chunk: &RowChunk) -> Result<(), ToolError> {
        let mut text = String::new();
        if self.of.format == FileFormat::Csv && std::mem::take(&mut self.wants_header) {
            csv::write_record(
                &mut text,
                chunk.columns.iter().map(|name| Value::from(name.as_str())),
            );
        }
        for row in &chunk.rows {
            match self.of.format {
                FileFormat::Csv => csv::write_record(&mut text, row.iter().cloned()),
                FileFormat::JsonLines => {
                    let cells = chunk.columns.iter().cloned().zip(row.iter().cloned());
                    text.push_str(&Value::Object(cells.collect()).to_string());
                    text.push('\n');
                }
            }
        }
        let written = async {
            self.file.write_all(text.as_bytes()).await?;
            self.file.flush().await
        };
        written.await.map_err(|error| self.of.failed(&error))
    }

    pub(super) async fn finish(mut self) -> Result<(), ToolError> {
        let finished = async {
            self.file.flush().await?;
            self.file.get_ref().sync_all().await?;
            match self.part.take() {
                Some(part) => part.persist(&self.of.path).map_err(|error| error.error),
                None => Ok(()),
            }
        };
        finished.await.map_err(|error| self.of.failed(&error))
    }
}
