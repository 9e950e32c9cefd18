//! Answers that may be large: written as they are sent, so that they are never held as text.

use std::io::{self, Write};

use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures::stream;
use serde::Serialize;
use tokio::sync::mpsc;

/// How much is sent at a time.
const CHUNK: usize = 64 * 1024;
/// How many chunks wait for a slow reader.
const CHUNKS_MAX: usize = 4;

/// A value as a JSON body.
pub(crate) fn large_json(value: impl Serialize + Send + 'static) -> Response {
    let (chunks, received) = mpsc::channel(CHUNKS_MAX);
    tokio::task::spawn_blocking(move || {
        let mut writer = Chunks { buffer: Vec::with_capacity(CHUNK), chunks };
        // A reader that has gone away needs no answer.
        let _gone = serde_json::to_writer(&mut writer, &value).map(|()| writer.flush());
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
        self.chunks.blocking_send(full.into()).map_err(io::Error::other)
    }
}
