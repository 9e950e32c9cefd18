//! The SQL statements that write rows into a table.

use noetl_model::ToolError;
use serde_json::Value;

use super::WriteMode;
use crate::kinds::postgres::literal::identifier;
use crate::run::keys::ToolConfig;
use crate::sql::lex::Dialect;

/// The maximum number of values per statement.
const VALUES_MAX: usize = 10_000;

/// A target table, with the mode, key columns and column mapping of the transfer.
#[derive(Clone)]
pub(super) struct TargetTable {
    pub(super) name: String,
    pub(super) mode: WriteMode,
    pub(super) keys: Vec<String>,
    pub(super) mapping: Vec<(String, String)>,
}

impl TargetTable {
    /// Reads `table` and `mapping` of the target, and `keys` of the transfer, which an upsert
    /// needs.
    pub(super) fn read(
        keys: ToolConfig<'_>,
        own: ToolConfig<'_>,
        mode: WriteMode,
    ) -> Result<Self, ToolError> {
        let key_columns = match own
            .find(&["keys", "key", "key_columns"])
            .or_else(|| keys.find(&["keys", "key", "key_columns"]))
        {
            None => Vec::new(),
            Some((_, Value::String(key))) => vec![key.clone()],
            Some((key, Value::Array(items))) => items
                .iter()
                .map(|item| item.as_str().map(str::to_owned))
                .collect::<Option<_>>()
                .ok_or_else(|| keys.error(format!("`{key}` must be a list of columns")))?,
            Some((key, other)) => return Err(keys.wrong(key, "a list of columns", other)),
        };
        if mode == WriteMode::Upsert && key_columns.is_empty() {
            return Err(keys.error("`mode: upsert` needs `keys`: the columns that tell rows apart"));
        }
        Ok(Self {
            name: own.required_text(&["table"])?,
            mode,
            keys: key_columns,
            mapping: own.texts(&["mapping"])?,
        })
    }

    /// The quoted name, part by part: `public.orders` is a schema and a table.
    pub(super) fn quoted(&self) -> String {
        let parts: Vec<String> =
            self.name.split('.').map(|part| identifier(part.trim_matches('"'))).collect();
        parts.join(".")
    }

    pub(super) fn delete(&self) -> String {
        format!("DELETE FROM {}", self.quoted())
    }

    /// Returns the ON CONFLICT clause of an upsert; empty in other modes.
    pub(super) fn on_conflict(&self, columns: &[String]) -> String {
        match self.mode {
            WriteMode::Append | WriteMode::Replace => String::new(),
            WriteMode::Upsert => {
                let changes: Vec<String> = columns
                    .iter()
                    .filter(|column| !self.keys.contains(column))
                    .map(|column| format!("{0} = excluded.{0}", identifier(column)))
                    .collect();
                let action = match changes.is_empty() {
                    true => "NOTHING".to_owned(),
                    false => format!("UPDATE SET {}", changes.join(", ")),
                };
                format!(" ON CONFLICT ({}) DO {action}", list(&self.keys))
            }
        }
    }

    /// Returns an INSERT of `rows` rows, with a placeholder for each value.
    pub(super) fn insert(&self, dialect: Dialect, columns: &[String], rows: usize) -> String {
        let sign = match dialect {
            Dialect::Postgres | Dialect::Duckdb => '$',
            Dialect::Sqlite => '?',
        };
        let width = columns.len();
        let rows: Vec<String> = (0..rows)
            .map(|row| {
                let values: Vec<String> =
                    (1..=width).map(|column| format!("{sign}{}", row * width + column)).collect();
                format!("({})", values.join(","))
            })
            .collect();
        let conflict = self.on_conflict(columns);
        format!(
            "INSERT INTO {} ({}) VALUES {}{conflict}",
            self.quoted(),
            list(columns),
            rows.join(",")
        )
    }

    /// Returns the number of rows per statement for these columns.
    pub(super) fn rows_at_once(columns: &[String]) -> usize {
        (VALUES_MAX / columns.len().max(1)).clamp(1, 500)
    }
}

pub(super) fn list(columns: &[String]) -> String {
    columns.iter().map(|column| identifier(column)).collect::<Vec<_>>().join(", ")
}
