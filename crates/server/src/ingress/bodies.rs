//! Reads bodies of posted messages before their senders are verified.
//!
//! Invariant: all bodies held at the same time stay within one limit in bytes, however many and
//! however slow the senders are.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, header};
use futures::StreamExt as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::request::body::is_late;
use crate::response::error::ApiError;

/// Maximum size of a message, in bytes.
pub(crate) const MESSAGE_MAX: usize = 1024 * 1024;
/// Maximum time for a message to arrive.
const MESSAGE_WAIT: Duration = Duration::from_secs(30);
/// `Retry-After` for a sender while too many messages are arriving.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// Reads message bodies within a budget of bytes.
pub(crate) struct MessageBodies {
    room: Arc<Semaphore>,
}

/// A body, and its part of the budget.
pub(crate) struct MessageBody {
    bytes: Vec<u8>,
    _room: OwnedSemaphorePermit,
}

impl MessageBody {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl MessageBodies {
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self { room: Arc::new(Semaphore::new(bytes_max.min(Semaphore::MAX_PERMITS))) }
    }

    /// Reads a whole body.
    pub(crate) async fn read(
        &self,
        headers: &HeaderMap,
        body: Body,
    ) -> Result<MessageBody, ApiError> {
        let announced = headers.get(header::CONTENT_LENGTH);
        let announced = announced.and_then(|it| it.to_str().ok()?.parse::<u64>().ok());
        if announced.is_some_and(|length| length > MESSAGE_MAX as u64) {
            return Err(too_large());
        }
        let read = timeout(MESSAGE_WAIT, self.read_all(body)).await;
        read.unwrap_or_else(|_late| Err(too_slow()))
    }

    async fn read_all(&self, body: Body) -> Result<MessageBody, ApiError> {
        let mut chunks = body.into_data_stream();
        let mut bytes = Vec::new();
        let mut room = self.reserve(0)?;
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk.map_err(|error| match is_late(&error) {
                true => too_slow(),
                false => {
                    let detail = "the body ended before it was complete";
                    ApiError::new(StatusCode::BAD_REQUEST, "unreadable-body", detail)
                }
            })?;
            if bytes.len() + chunk.len() > MESSAGE_MAX {
                return Err(too_large());
            }
            room.merge(self.reserve(chunk.len())?);
            bytes.extend_from_slice(&chunk);
        }
        Ok(MessageBody { bytes, _room: room })
    }

    fn reserve(&self, bytes: usize) -> Result<OwnedSemaphorePermit, ApiError> {
        let bytes = u32::try_from(bytes).map_err(|_| too_large())?;
        self.room.clone().try_acquire_many_owned(bytes).map_err(|_full| {
            let detail =
                "too many messages are arriving at the same time; send this one again later";
            let status = StatusCode::SERVICE_UNAVAILABLE;
            ApiError::later(status, "too-many-messages", detail, RETRY_AFTER)
        })
    }
}

fn too_large() -> ApiError {
    let detail = format!("a message has at most {MESSAGE_MAX} bytes");
    ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "body-too-large", detail)
}

fn too_slow() -> ApiError {
    let detail = "the body took too long to arrive";
    ApiError::new(StatusCode::REQUEST_TIMEOUT, "body-too-slow", detail)
}

#[cfg(test)]
mod tests {
    use axum::body::Bytes;
    use futures::FutureExt as _;
    use futures::channel::mpsc;

    use super::*;

    type Sender = mpsc::Sender<Result<Bytes, std::io::Error>>;

    /// Returns a body whose chunks are sent through the sender.
    fn slow() -> (Sender, Body) {
        let (sender, receiver) = mpsc::channel(0);
        (sender, Body::from_stream(receiver))
    }

    #[tokio::test(start_paused = true)]
    async fn bodies_that_are_held_have_a_budget_and_give_it_back() {
        let bodies = MessageBodies::new(1000);
        let (mut sender, body) = slow();
        let headers = HeaderMap::new();
        let mut held = Box::pin(bodies.read(&headers, body));
        sender.try_send(Ok(vec![b'x'; 900].into())).expect("a reader");
        assert!(held.as_mut().now_or_never().is_none(), "it has not ended");
        let refused = bodies.read(&headers, Body::from(vec![b'y'; 200])).await;
        assert_eq!(refused.err().map(|it| it.code()), Some("too-many-messages"));
        drop(held);
        let read = bodies.read(&headers, Body::from(vec![b'y'; 1000])).await.ok();
        assert_eq!(read.map(|it| it.bytes().len()), Some(1000));
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_is_too_long_or_too_slow_is_given_up() {
        let bodies = MessageBodies::new(usize::MAX);
        let headers = HeaderMap::new();
        let long = Body::from(vec![b'x'; MESSAGE_MAX + 1]);
        let refused = bodies.read(&headers, long).await;
        assert_eq!(refused.err().map(|it| it.code()), Some("body-too-large"));
        let (_sender, body) = slow();
        let refused = bodies.read(&headers, body).await;
        assert_eq!(refused.err().map(|it| it.code()), Some("body-too-slow"));
    }
}
