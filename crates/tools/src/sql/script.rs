//! Reads the statements of a SQL tool: from the playbook, as one text or a list, or from a file.

use std::path::Path;

use noetl_model::{ErrorKind, ToolError};
use serde_json::Value;
use tokio::fs::File;
use tokio::io::AsyncReadExt as _;

use super::result::RowForm;
use crate::run::keys::ToolConfig;

/// The maximum length of a script.
const SCRIPT_BYTES_MAX: u64 = 16 * 1024 * 1024;

const TEXT_KEYS: &[&str] =
    &["query", "command", "commands", "sql", "statement", "statements", "queries"];

/// Reads the script from `query`, `command`, `commands` or a synonym, or from the file named by
/// `script`.
pub(crate) async fn read(keys: ToolConfig<'_>) -> Result<String, ToolError> {
    let text = match keys.find(TEXT_KEYS) {
        Some((_, Value::String(text))) => text.clone(),
        Some((key, Value::Array(items))) => {
            let texts: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
            // Separated by lines, so that a comment at the end of an item ends there.
            texts
                .ok_or_else(|| keys.error(format!("`{key}` must be a list of texts")))?
                .join("\n;\n")
        }
        Some((key, other)) => return Err(keys.wrong(key, "a text or a list of texts", other)),
        None => file(keys).await?,
    };
    if text.trim().is_empty() {
        return Err(keys.error("there is no statement to run"));
    }
    Ok(text)
}

/// Reads `as_objects`: rows as maps (the default) or as lists.
pub(crate) fn row_form(keys: ToolConfig<'_>) -> Result<RowForm, ToolError> {
    Ok(match keys.flag(&["as_objects"])? {
        None | Some(true) => RowForm::Map,
        Some(false) => RowForm::List,
    })
}

async fn file(keys: ToolConfig<'_>) -> Result<String, ToolError> {
    let path = match keys.find(&["script", "file"]) {
        None => return Err(keys.error("`query` is missing: the statements to run")),
        Some((_, Value::String(path))) => path.clone(),
        Some((_, Value::Object(script))) => {
            let script = keys.below("script", script);
            match script.text(&["uri", "path"])? {
                Some(path) => path,
                None => return Err(keys.error("`script.uri` is missing: a file of statements")),
            }
        }
        Some((key, other)) => return Err(keys.wrong(key, "the path of a file", other)),
    };
    let path = Path::new(path.strip_prefix("file://").unwrap_or(&path)).to_owned();
    let real = keys.file(&path)?;
    let unreadable = |error: std::io::Error| {
        let kind = match error.kind() {
            std::io::ErrorKind::NotFound => ErrorKind::NotFound,
            _ => ErrorKind::StorageAccess,
        };
        ToolError::new(kind, format!("cannot read {}: {error}", path.display()))
    };
    let too_large = |size: u64| {
        let path = path.display();
        keys.error(format!("{path} has {size} bytes; at most {SCRIPT_BYTES_MAX} are run"))
    };
    let file = File::open(&real).await.map_err(unreadable)?;
    let size = keys.opened(&path, &file).await?.len();
    if SCRIPT_BYTES_MAX < size {
        return Err(too_large(size));
    }
    let mut text = String::new();
    // A file may grow while it is read.
    let read = file.take(SCRIPT_BYTES_MAX + 1).read_to_string(&mut text).await;
    let size = read.map_err(unreadable)? as u64;
    if SCRIPT_BYTES_MAX < size { Err(too_large(size)) } else { Ok(text) }
}
