//! Chunks of rows that are sent from the source to the target.

use std::collections::HashMap;
use std::sync::Arc;

use noetl_model::{ErrorKind, ToolError};
use serde_json::{Map, Value};
use tokio::sync::mpsc::Sender;

/// A number of rows. Each has a value for every column.
pub(super) struct RowChunk {
    pub(super) columns: Arc<[String]>,
    pub(super) rows: Vec<Vec<Value>>,
    /// True if all rows have been sent. A source that fails sends no such chunk.
    pub(super) is_last: bool,
}

/// The error of a sender whose receiver is gone.
pub(super) struct Gone;

/// Collects rows into chunks and sends them.
pub(super) struct Filler {
    columns: Arc<[String]>,
    rows: Vec<Vec<Value>>,
    rows_max: usize,
    to: Sender<RowChunk>,
}

impl Filler {
    pub(super) fn new(columns: Vec<String>, rows_max: usize, to: Sender<RowChunk>) -> Self {
        Self { columns: columns.into(), rows: Vec::new(), rows_max, to }
    }

    pub(super) async fn push(&mut self, row: Vec<Value>) -> Result<(), Gone> {
        self.rows.push(row);
        if self.rows.len() < self.rows_max {
            return Ok(());
        }
        let chunk = self.chunk(false);
        self.to.send(chunk).await.map_err(|_| Gone)
    }

    /// Sends the remaining rows, even if there are none, as the last chunk. A send error is
    /// ignored, because the writer reports its own failure.
    pub(super) async fn finish(mut self) {
        let chunk = self.chunk(true);
        let _ = self.to.send(chunk).await;
    }

    pub(super) fn push_blocking(&mut self, row: Vec<Value>) -> Result<(), Gone> {
        self.rows.push(row);
        if self.rows.len() < self.rows_max {
            return Ok(());
        }
        let chunk = self.chunk(false);
        self.to.blocking_send(chunk).map_err(|_| Gone)
    }

    pub(super) fn finish_blocking(mut self) {
        let chunk = self.chunk(true);
        let _ = self.to.blocking_send(chunk);
    }

    fn chunk(&mut self, is_last: bool) -> RowChunk {
        RowChunk { columns: self.columns.clone(), rows: std::mem::take(&mut self.rows), is_last }
    }
}

/// Returns all keys of the given rows, as columns.
pub(super) fn columns_of(rows: &[Map<String, Value>]) -> Vec<String> {
    let mut columns: Vec<String> = Vec::new();
    for key in rows.iter().flat_map(Map::keys) {
        if !columns.contains(key) {
            columns.push(key.clone());
        }
    }
    columns
}

/// Converts a map to a row of these columns. Fails if the map has other fields.
pub(super) fn row_of(
    columns: &[String],
    mut fields: Map<String, Value>,
    number: u64,
) -> Result<Vec<Value>, ToolError> {
    let row = columns.iter().map(|column| fields.remove(column).unwrap_or(Value::Null)).collect();
    match fields.keys().next() {
        None => Ok(row),
        Some(key) => Err(ToolError::new(
            ErrorKind::Transform,
            format!(
                "row {number} of the source has a field `{key}` that the first rows do not have: choose columns with `target.mapping`"
            ),
        )),
    }
}

impl RowChunk {
    /// Renames and selects columns: each target column takes the source column that it is mapped
    /// to.
    pub(super) fn mapped(self, mapping: &[(String, String)]) -> Result<Self, ToolError> {
        if mapping.is_empty() || self.columns.is_empty() {
            return Ok(self);
        }
        let mut places = Vec::with_capacity(mapping.len());
        for (_, from) in mapping {
            let place = self.columns.iter().position(|column| column == from);
            places.push(place.ok_or_else(|| {
                let message = format!(
                    "`target.mapping` names `{from}`, but the source has only: {}",
                    self.columns.join(", ")
                );
                ToolError::new(ErrorKind::Config, message)
            })?);
        }
        let pick = |row: &Vec<Value>| places.iter().map(|place| row[*place].clone()).collect();
        Ok(Self {
            columns: mapping.iter().map(|(to, _)| to.clone()).collect(),
            rows: self.rows.iter().map(pick).collect(),
            is_last: self.is_last,
        })
    }

    /// Keeps only the last row of each key, since one statement can update a row only once.
    pub(super) fn unique_by(&mut self, keys: &[String]) -> Result<(), ToolError> {
        let mut places = Vec::with_capacity(keys.len());
        for key in keys {
            let place = self.columns.iter().position(|column| column == key);
            places.push(place.ok_or_else(|| {
                let message = format!("`keys` names `{key}`, which is no column of the rows");
                ToolError::new(ErrorKind::Config, message)
            })?);
        }
        let key_of = |row: &Vec<Value>| -> String {
            Value::Array(places.iter().map(|place| row[*place].clone()).collect()).to_string()
        };
        let last: HashMap<String, usize> =
            self.rows.iter().enumerate().map(|(at, row)| (key_of(row), at)).collect();
        let mut at = 0;
        self.rows.retain(|row| {
            at += 1;
            last.get(&key_of(row)) == Some(&(at - 1))
        });
        Ok(())
    }
}

/// Fails if the source ended before its last chunk; the source reports the cause itself.
pub(super) fn check_whole(is_whole: bool) -> Result<(), ToolError> {
    match is_whole {
        true => Ok(()),
        false => Err(ToolError::new(ErrorKind::Unknown, "the source ended early")),
    }
}
