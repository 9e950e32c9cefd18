//! Large JSON responses, serialized while they are sent, so that the text is never held in memory.

use std::io::{self, Write};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures::stream;
use serde::Serialize;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::time::timeout;

/// Size of a chunk, in bytes.
const CHUNK: usize = 64 * 1024;
/// Maximum number of chunks that wait for a slow reader.
const CHUNKS_MAX: usize = 4;
/// Maximum time a reader may take for one chunk; the value is held in memory meanwhile.
const CHUNK_WAIT: Duration = Duration::from_secs(30);

/// Sends a value as a JSON body. `held` is dropped with the value, once everything is sent.
pub(crate) fn large_json(
    value: impl Serialize + Send + 'static,
    held: impl Send + 'static,
) -> Response {
    let (chunks, received) = mpsc::channel(CHUNKS_MAX);
    let runtime = Handle::current();
    tokio::task::spawn_blocking(move || {
        let mut writer = Chunks { buffer: Vec::with_capacity(CHUNK), chunks, runtime };
        // An error means that the reader has disconnected or does not read.
        let _gone = serde_json::to_writer(&mut writer, &value).map(|()| writer.flush());
        drop(value);
        drop(held);
    });
    let body = stream::unfold(received, |mut received| async move {
        let chunk: Bytes = received.recv().await?;
        Some((Ok::<_, io::Error>(chunk), received))
    });
    let headers = [(header::CONTENT_TYPE, "application/json")];
    (headers, Body::from_stream(body)).into_response()
}

struct Chunks {
    buffer: Vec<u8>,
    chunks: mpsc::Sender<Bytes>,
    runtime: Handle,
}

impl Write for Chunks {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= CHUNK {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let full = std::mem::replace(&mut self.buffer, Vec::with_capacity(CHUNK));
        let sent = timeout(CHUNK_WAIT, self.chunks.send(full.into()));
        self.runtime.block_on(sent)?.map_err(io::Error::other)
    }
}
