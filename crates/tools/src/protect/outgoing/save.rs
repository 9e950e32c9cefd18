//! Saves the body of a response to a file, completely or not at all.

use std::path::{Path, PathBuf};

use noetl_model::{ErrorKind, ToolError};
use tokio::io::AsyncWriteExt as _;

use super::{HttpRequest, HttpResponse, failed, named};
use crate::protect::files::FileAccess;

/// The maximum length of a saved body.
const SAVED_BYTES_MAX: u64 = 8 * 1024 * 1024 * 1024;

/// A file that holds the body of a response.
#[derive(Debug)]
pub(crate) struct Saved {
    pub(crate) path: PathBuf,
    pub(crate) size: u64,
}

pub(super) async fn save(
    request: &HttpRequest,
    mut response: reqwest::Response,
    (path, files): (&Path, &FileAccess),
) -> Result<(HttpResponse, Option<Saved>), ToolError> {
    let told = path.display();
    let cannot = |error: std::io::Error| {
        ToolError::new(ErrorKind::StorageAccess, format!("cannot write {told}: {error}"))
    };
    let path = std::path::absolute(path).map_err(cannot)?;
    let directory = path.parent().unwrap_or(&path);
    tokio::fs::create_dir_all(directory).await.map_err(cannot)?;
    // The temporary file is removed automatically if the download does not complete.
    let partial = tempfile::Builder::new().prefix(".noetl-").tempfile_in(directory);
    let partial = partial.map_err(cannot)?;
    files.check_open(partial.path(), &partial.as_file().metadata().map_err(cannot)?)?;
    let mut file = tokio::fs::File::from_std(partial.reopen().map_err(cannot)?);
    let mut size: u64 = 0;
    while let Some(chunk) = response.chunk().await.map_err(|error| failed(request, &error))? {
        size += chunk.len() as u64;
        if SAVED_BYTES_MAX < size {
            let message =
                format!("{} answers with more than {SAVED_BYTES_MAX} bytes", named(request));
            return Err(ToolError::new(ErrorKind::ClientError, message));
        }
        file.write_all(&chunk).await.map_err(cannot)?;
    }
    file.flush().await.map_err(cannot)?;
    drop(file);
    partial.persist(&path).map_err(|error| cannot(error.error))?;
    let (status, headers) = (response.status(), response.headers().clone());
    Ok((HttpResponse { status, headers, body: Vec::new() }, Some(Saved { path, size })))
}
