//! Typed access to a rendered configuration, with alternative spellings of keys and uniform errors.
//!
//! A key whose value is null counts as absent, so that a template can leave a key out.

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::time::Duration;

use noetl_model::{ErrorKind, ToolError};
use serde_json::{Map, Value};
use tokio::fs::File;

use crate::protect::files::FileAccess;
use crate::run::call::Call;

/// The maximum duration in seconds: one week.
const SECONDS_MAX: f64 = 7.0 * 24.0 * 3600.0;

/// A tool's configuration, with the tool's name for error messages.
#[derive(Clone, Copy)]
pub(crate) struct ToolConfig<'a> {
    tool: &'static str,
    /// The key of this map in the configuration; `None` for the configuration itself.
    under: Option<&'static str>,
    config: &'a Map<String, Value>,
    /// The files that the call may open; `None` if the configuration is not that of a call.
    files: Option<&'a FileAccess>,
}

impl<'a> ToolConfig<'a> {
    /// Returns keys that name no files.
    pub(crate) fn new(tool: &'static str, config: &'a Map<String, Value>) -> Self {
        Self { tool, under: None, config, files: None }
    }

    /// Returns the keys of a call.
    pub(crate) fn of_call(tool: &'static str, call: &'a Call) -> Self {
        Self { tool, under: None, config: &call.config, files: Some(&call.files) }
    }

    /// Returns the map that the keys are in.
    pub(crate) fn config(&self) -> &'a Map<String, Value> {
        self.config
    }

    /// Returns the keys of a part of this configuration, with a name of its own.
    pub(crate) fn part(&self, tool: &'static str, config: &'a Map<String, Value>) -> Self {
        Self { tool, under: None, config, files: self.files }
    }

    /// Checks that the call may open a file, and returns its path without links.
    pub(crate) fn file(&self, path: impl AsRef<Path>) -> Result<PathBuf, ToolError> {
        let path = path.as_ref();
        let files = self
            .files
            .ok_or_else(|| self.error(format!("{} cannot be opened here", path.display())))?;
        files.check(path).map_err(|error| self.error(error.message))
    }

    /// Checks a file that was opened with [`Self::file`]: the path still names it.
    pub(crate) async fn opened(&self, path: &Path, file: &File) -> Result<Metadata, ToolError> {
        let unreadable = |error| self.error(format!("cannot read {}: {error}", path.display()));
        let metadata = file.metadata().await.map_err(unreadable)?;
        self.files().check_open(path, &metadata).map_err(|error| self.error(error.message))?;
        Ok(metadata)
    }

    /// Returns the files that the call may open.
    pub(crate) fn files(&self) -> FileAccess {
        self.files.cloned().unwrap_or_default()
    }

    /// Returns the keys of a map nested under a key of this one.
    pub(crate) fn below<'b>(
        &self,
        key: &'static str,
        config: &'b Map<String, Value>,
    ) -> ToolConfig<'b>
    where
        'a: 'b,
    {
        ToolConfig { tool: self.tool, under: Some(key), config, files: self.files }
    }

    /// Returns the first spelling that is present, with its value.
    pub(crate) fn find(&self, spellings: &[&'static str]) -> Option<(&'static str, &'a Value)> {
        spellings
            .iter()
            .filter_map(|&key| Some((key, self.config.get(key)?)))
            .find(|(_, value)| !value.is_null())
    }

    pub(crate) fn value(&self, spellings: &[&'static str]) -> Option<&'a Value> {
        self.find(spellings).map(|(_, value)| value)
    }

    pub(crate) fn text(&self, spellings: &[&'static str]) -> Result<Option<String>, ToolError> {
        self.find(spellings)
            .map(|(key, value)| scalar_text(value).ok_or_else(|| self.wrong(key, "a text", value)))
            .transpose()
    }

    pub(crate) fn required_text(&self, spellings: &[&'static str]) -> Result<String, ToolError> {
        self.text(spellings)?.ok_or_else(|| self.error(format!("`{}` is missing", spellings[0])))
    }

    pub(crate) fn flag(&self, spellings: &[&'static str]) -> Result<Option<bool>, ToolError> {
        self.find(spellings)
            .map(|(key, value)| match value {
                Value::Bool(flag) => Ok(*flag),
                Value::String(text) if text.eq_ignore_ascii_case("true") => Ok(true),
                Value::String(text) if text.eq_ignore_ascii_case("false") => Ok(false),
                other => Err(self.wrong(key, "true or false", other)),
            })
            .transpose()
    }

    pub(crate) fn map(
        &self,
        spellings: &[&'static str],
    ) -> Result<Option<&'a Map<String, Value>>, ToolError> {
        self.find(spellings)
            .map(|(key, value)| value.as_object().ok_or_else(|| self.wrong(key, "a map", value)))
            .transpose()
    }

    /// Reads a map of strings; null entries are skipped, numbers and booleans are converted.
    pub(crate) fn texts(
        &self,
        spellings: &[&'static str],
    ) -> Result<Vec<(String, String)>, ToolError> {
        let Some((key, _)) = self.find(spellings) else { return Ok(Vec::new()) };
        let map = self.map(spellings)?.expect("the key was just found");
        map.iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| {
                let text = scalar_text(value)
                    .ok_or_else(|| self.wrong(&format!("{key}.{name}"), "a text", value))?;
                Ok((name.clone(), text))
            })
            .collect()
    }

    /// Reads a number of seconds, or a text such as `500ms`, `30s`, `5m`, `1h`.
    pub(crate) fn duration(
        &self,
        spellings: &[&'static str],
    ) -> Result<Option<Duration>, ToolError> {
        self.find(spellings)
            .map(|(key, value)| {
                let seconds = match value {
                    Value::Number(number) => number.as_f64(),
                    Value::String(text) => seconds(text),
                    Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
                };
                seconds
                    .filter(|seconds| 0.0 < *seconds && *seconds <= SECONDS_MAX)
                    .map(Duration::from_secs_f64)
                    .ok_or_else(|| self.wrong(key, "seconds above 0 and up to 7 days", value))
            })
            .transpose()
    }

    /// Reads an integer from 1 to `max`.
    pub(crate) fn count(
        &self,
        spellings: &[&'static str],
        max: usize,
    ) -> Result<Option<usize>, ToolError> {
        self.find(spellings)
            .map(|(key, value)| {
                let count = match value {
                    Value::Number(number) => number.as_u64(),
                    Value::String(text) => text.trim().parse().ok(),
                    Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
                };
                count
                    .and_then(|count| usize::try_from(count).ok())
                    .filter(|count| (1..=max).contains(count))
                    .ok_or_else(|| self.wrong(key, &format!("a number from 1 to {max}"), value))
            })
            .transpose()
    }

    /// Reads an existing directory and returns its absolute path.
    pub(crate) fn directory(
        &self,
        spellings: &[&'static str],
    ) -> Result<Option<PathBuf>, ToolError> {
        self.text(spellings)?
            .map(|text| match std::path::absolute(&text) {
                Ok(path) if path.is_dir() => Ok(path),
                Ok(_) | Err(_) => {
                    Err(self.error(format!("`{}` is not a directory: {text}", spellings[0])))
                }
            })
            .transpose()
    }

    /// Returns the error for a value of the wrong type.
    pub(crate) fn wrong(&self, key: &str, expected: &str, found: &Value) -> ToolError {
        self.error(format!("`{key}` must be {expected}, but is {}", describe(found)))
    }

    pub(crate) fn error(&self, message: impl std::fmt::Display) -> ToolError {
        let under = self.under.map(|key| format!(" {key}:")).unwrap_or_default();
        ToolError::new(ErrorKind::Config, format!("{}:{under} {message}", self.tool))
    }
}

/// Converts a scalar to text; `None` for a list, a map and null.
pub(crate) fn scalar_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn seconds(text: &str) -> Option<f64> {
    let text = text.trim();
    let unit_at = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    let scale = match unit {
        "" | "s" => 1.0,
        "ms" => 0.001,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return None,
    };
    number.trim().parse::<f64>().ok().map(|number| number * scale)
}

fn describe(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(_) | Value::Number(_) => format!("`{value}`"),
        Value::String(text) if text.chars().count() <= 40 => format!("\"{text}\""),
        Value::String(_) => "a long text".into(),
        Value::Array(_) => "a list".into(),
        Value::Object(_) => "a map".into(),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;

    fn check(
        read: impl Fn(ToolConfig<'_>) -> Result<String, ToolError>,
        config: Value,
        expected: Expect,
    ) {
        let config = config.as_object().unwrap();
        let actual = match read(ToolConfig::new("shell", config)) {
            Ok(text) => text,
            Err(error) => format!("{}: {error}", error.kind),
        };
        expected.assert_eq(&actual);
    }

    fn timeout(keys: ToolConfig<'_>) -> Result<String, ToolError> {
        keys.duration(&["timeout", "timeout_seconds"]).map(|found| format!("{found:?}"))
    }

    #[test]
    fn a_duration_is_a_number_of_seconds_or_has_a_unit() {
        check(timeout, json!({"timeout": 1.5}), expect!["Some(1.5s)"]);
        check(timeout, json!({"timeout_seconds": "20"}), expect!["Some(20s)"]);
        check(timeout, json!({"timeout": "500ms"}), expect!["Some(500ms)"]);
        check(timeout, json!({"timeout": "5 m"}), expect!["Some(300s)"]);
        check(timeout, json!({"timeout": null}), expect!["None"]);
    }

    #[test]
    fn a_duration_that_is_none_is_a_config_error() {
        check(
            timeout,
            json!({"timeout": "soon"}),
            expect![[
                r#"config: shell: `timeout` must be seconds above 0 and up to 7 days, but is "soon""#
            ]],
        );
        check(
            timeout,
            json!({"timeout": -1}),
            expect![
                "config: shell: `timeout` must be seconds above 0 and up to 7 days, but is `-1`"
            ],
        );
    }

    #[test]
    fn a_map_of_texts_writes_out_scalars_and_drops_nulls() {
        check(
            |keys| keys.texts(&["env"]).map(|found| format!("{found:?}")),
            json!({"env": {"A": 1, "B": true, "C": null, "D": "d"}}),
            expect![[r#"[("A", "1"), ("B", "true"), ("D", "d")]"#]],
        );
        check(
            |keys| keys.texts(&["env"]).map(|found| format!("{found:?}")),
            json!({"env": {"A": [1]}}),
            expect!["config: shell: `env.A` must be a text, but is a list"],
        );
    }
}
