//! The source of a script's code: inline in the playbook, a file, or a URL.

use std::path::{Path, PathBuf};
use std::time::Duration;

use noetl_model::{ErrorKind, ToolError};
use serde_json::{Map, Value};
use tokio::fs::File;
use tokio::io::AsyncReadExt as _;
use url::Url;

use crate::protect::outgoing::{HttpRequest, Outgoing};
use crate::run::keys::ToolConfig;
use crate::run::memory::CallMemory;

/// The maximum length of a script.
const SCRIPT_BYTES_MAX: usize = 4 * 1024 * 1024;
/// The keys of inline code in `script`.
const CODE: &[&str] = &["code", "content"];
/// The default timeout for downloading a script.
const FETCH_TIMEOUT: Duration = Duration::from_secs(30);

/// Code with the file name shown in its tracebacks.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LoadedScript {
    pub(crate) code: String,
    pub(crate) filename: String,
}

/// The location of a script.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ScriptSource {
    Inline(LoadedScript),
    File(PathBuf),
    Http { url: Url, timeout: Duration },
}

impl ScriptSource {
    /// Reads `code`, or `script`: a path or URL, or `{uri, source: {type, …}}`.
    pub(crate) fn read(
        keys: ToolConfig<'_>,
        cwd: Option<&Path>,
        label: &str,
    ) -> Result<Self, ToolError> {
        let inline = |code: String| {
            ScriptSource::Inline(LoadedScript { code, filename: format!("<{label}>") })
        };
        if let Some(code) = keys.text(&["code"])? {
            return Ok(inline(code));
        }
        let empty = Map::new();
        let (script, uri) = match keys.value(&["script"]) {
            None => return Err(keys.error("`code` or `script` is missing")),
            Some(Value::String(uri)) => (&empty, Some(uri.clone())),
            Some(Value::Object(script)) => {
                (script, keys.below("script", script).text(&["uri", "path", "file"])?)
            }
            Some(other) => return Err(keys.wrong("script", "a text or a map", other)),
        };
        let script = keys.below("script", script);
        let source = keys.below("script.source", script.map(&["source"])?.unwrap_or(&empty));
        let uri = source.text(&["endpoint", "uri", "path"])?.or(uri);
        let missing = || keys.error("`script.uri` is missing");
        let kind = match source.text(&["type"])? {
            Some(kind) => Some(kind),
            None => script.text(&["type"])?,
        };
        let kind = kind.unwrap_or_else(|| guess(script, uri.as_deref()));
        match kind.as_str() {
            "inline" => Ok(inline(match source.text(CODE)? {
                Some(code) => code,
                None => script.required_text(CODE)?,
            })),
            "file" | "local" => {
                let uri = uri.ok_or_else(missing)?;
                let path = Path::new(uri.strip_prefix("file://").unwrap_or(&uri));
                Ok(ScriptSource::File(cwd.map_or_else(|| path.to_owned(), |cwd| cwd.join(path))))
            }
            "http" | "https" => {
                let uri = uri.ok_or_else(missing)?;
                let url = uri.parse().map_err(|error| {
                    keys.error(format!("`script.uri` is not a URL: {error}: \"{uri}\""))
                })?;
                let timeout = source.duration(&["timeout"])?.unwrap_or(FETCH_TIMEOUT);
                Ok(ScriptSource::Http { url, timeout })
            }
            other => Err(keys.error(format!(
                "`script.source.type` is `{other}`; known are inline, file and http"
            ))),
        }
    }

    pub(crate) async fn load(
        self,
        keys: ToolConfig<'_>,
        outgoing: &Outgoing,
        memory: &CallMemory,
    ) -> Result<LoadedScript, ToolError> {
        let (bytes, filename) = match self {
            ScriptSource::Inline(script) => return Ok(script),
            ScriptSource::File(path) => {
                let filename = path.display().to_string();
                let real = keys.file(&path)?;
                let unreadable = |error: std::io::Error| {
                    keys.error(format!("cannot read the script {filename}: {error}"))
                };
                let file = File::open(&real).await.map_err(unreadable)?;
                if SCRIPT_BYTES_MAX as u64 <= keys.opened(&path, &file).await?.len() {
                    return Err(oversize(keys, &filename));
                }
                let mut bytes = Vec::new();
                // A file may grow while it is read.
                let mut limited = file.take(SCRIPT_BYTES_MAX as u64 + 1);
                limited.read_to_end(&mut bytes).await.map_err(unreadable)?;
                (bytes, filename)
            }
            ScriptSource::Http { url, timeout } => {
                (fetch(keys, (outgoing, memory), &url, timeout).await?, url.to_string())
            }
        };
        if SCRIPT_BYTES_MAX < bytes.len() {
            return Err(oversize(keys, &filename));
        }
        let code = String::from_utf8(bytes)
            .map_err(|_| keys.error(format!("the script {filename} is not UTF-8")))?;
        Ok(LoadedScript { code, filename })
    }
}

/// Returns the type of a source that has no `type`.
fn guess(script: ToolConfig<'_>, uri: Option<&str>) -> String {
    let uri = uri.unwrap_or_default();
    let kind = if uri.starts_with("http://") || uri.starts_with("https://") {
        "http"
    } else if uri.is_empty() && script.value(CODE).is_some() {
        "inline"
    } else {
        "file"
    };
    kind.into()
}

async fn fetch(
    keys: ToolConfig<'_>,
    (outgoing, memory): (&Outgoing, &CallMemory),
    url: &Url,
    timeout: Duration,
) -> Result<Vec<u8>, ToolError> {
    let response =
        tokio::time::timeout(timeout, outgoing.send(HttpRequest::get(url.clone()), memory))
            .await
            .map_err(|_| {
                let message = format!("the script did not arrive within {timeout:?}");
                ToolError::new(ErrorKind::Timeout, message)
            })??;
    if !response.status.is_success() {
        let code = response.status.as_u16();
        return Err(keys.error(format!("HTTP {code} instead of the script at {url}")));
    }
    Ok(response.body)
}

fn oversize(keys: ToolConfig<'_>, filename: &str) -> ToolError {
    keys.error(format!("the script {filename} has more than {SCRIPT_BYTES_MAX} bytes"))
}
