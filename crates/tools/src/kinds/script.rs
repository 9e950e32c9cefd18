//! The tool `script`: runs a script in any language as a process on the worker.
//!
//! The code is written to a temporary file and run by the configured interpreter, or else by the
//! one that its first line (`#!`) or its file extension selects.

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use noetl_model::{ErrorKind, Outcome, ToolError};
use serde_json::{Value, json};

use crate::kinds::shell::{self, Shell};
use crate::process::source::{self, ScriptSource};
use crate::protect::outgoing::Outgoing;
use crate::run::call::{Call, Tool, ToolResult};
use crate::run::keys::{ToolConfig, scalar_text};
use crate::run::memory::CallMemory;
use crate::run::settings::ToolSettings;

pub(crate) struct ScriptTool {
    shell: Shell,
    python: String,
    outgoing: Arc<Outgoing>,
}

impl ScriptTool {
    pub(crate) fn new(settings: &ToolSettings, outgoing: Arc<Outgoing>) -> Self {
        let shell = Shell::new(settings.environment.clone(), settings.isolation.clone());
        Self { shell, python: settings.python.clone(), outgoing }
    }

    async fn run_file(&self, call: &Call) -> Result<ToolResult, ToolError> {
        let keys = ToolConfig::of_call("script", call);
        let cwd = keys.directory(&["cwd"])?;
        let arguments = arguments(keys)?;
        let source = ScriptSource::read(keys, cwd.as_deref(), &call.label)?;
        let source = tokio::select! {
            source = source.load(keys, &self.outgoing, &call.memory) => source?,
            () = call.cancel.cancelled() => {
                return Ok(ToolResult::stopped(noetl_model::Logs::default()));
            }
        };
        let mut argv = self.interpreter(keys, &source)?;
        let file = written(&source.code)?;
        argv.push(file.path().display().to_string());
        argv.extend(arguments);
        let stdin = (!call.input.is_empty()).then(|| json!(call.input).to_string());
        let env = keys.texts(&["env"])?;
        let script = shell::ShellCommands { tool: "script", commands: vec![argv], cwd, env, stdin };
        let mut ended = self.shell.run_script(&script, call).await?;
        if let Outcome::Completed { output } = &mut ended.outcome
            && let Value::Object(output) = Arc::make_mut(output)
        {
            let printed = printed(output.get("stdout"), &call.memory).await?;
            output.insert("status".into(), json!("success"));
            output.insert("output".into(), printed);
        }
        if keys.value(&["job"]).is_some() {
            ended.logs.stderr.push_str("`job` has no effect: the script runs on the worker\n");
        }
        Ok(ended)
    }

    /// Returns the interpreter to run a script with, and its arguments.
    fn interpreter(
        &self,
        keys: ToolConfig<'_>,
        source: &source::LoadedScript,
    ) -> Result<Vec<String>, ToolError> {
        if let Some((key, value)) = keys.find(&["interpreter"]) {
            let texts = match value {
                Value::Array(items) if !items.is_empty() => items.iter().map(scalar_text).collect(),
                other => scalar_text(other).map(|text| vec![text]),
            };
            return texts.ok_or_else(|| keys.wrong(key, "a program or a list", value));
        }
        if let Some(line) = source.code.lines().next().and_then(|line| line.strip_prefix("#!")) {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            if !words.is_empty() {
                return Ok(words);
            }
        }
        match Path::new(&source.filename).extension().and_then(|ending| ending.to_str()) {
            Some("py") => Ok(vec![self.python.clone()]),
            Some("sh") => Ok(vec!["sh".into()]),
            Some("js" | "mjs") => Ok(vec!["node".into()]),
            Some(_) | None => Err(keys.error(
                "nothing says what runs it: begin it with `#!`, or give `interpreter: python3`",
            )),
        }
    }
}

/// Reads the arguments: a list in order, or a map as `--name value` without null entries.
fn arguments(keys: ToolConfig<'_>) -> Result<Vec<String>, ToolError> {
    match keys.find(&["args", "arguments"]) {
        None => Ok(Vec::new()),
        Some((key, Value::Array(items))) => items
            .iter()
            .map(|item| scalar_text(item).ok_or_else(|| keys.wrong(key, "a list of texts", item)))
            .collect(),
        Some(("args", Value::Object(_))) => {
            let named = keys.texts(&["args"])?;
            Ok(named.into_iter().flat_map(|(name, value)| [format!("--{name}"), value]).collect())
        }
        Some((key, other)) => Err(keys.wrong(key, "a list or a map", other)),
    }
}

fn written(code: &str) -> Result<tempfile::NamedTempFile, ToolError> {
    let write = || {
        let mut file = tempfile::Builder::new().prefix("noetl-script-").tempfile()?;
        file.write_all(code.as_bytes())?;
        Ok::<_, std::io::Error>(file)
    };
    write().map_err(|error| {
        let message = format!("script: cannot put the script into a file: {error}");
        ToolError::new(ErrorKind::StorageAccess, message)
    })
}

/// Returns the printed output, parsed if it is JSON.
async fn printed(stdout: Option<&Value>, memory: &CallMemory) -> Result<Value, ToolError> {
    let text = stdout.and_then(Value::as_str).unwrap_or_default().trim();
    memory.json_or_text(text.as_bytes()).await
}

#[async_trait]
impl Tool for ScriptTool {
    async fn run(&self, call: &Call) -> ToolResult {
        self.run_file(call).await.into()
    }
}

#[cfg(test)]
mod tests;
