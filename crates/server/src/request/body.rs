//! Limits on request bodies: a body must arrive in time, and a body announced as too long is
//! rejected unread.

use std::error::Error as StdError;
use std::io;
use std::time::Duration;

use axum::body::{Body, BodyDataStream, Bytes};
use axum::extract::{MatchedPath, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use futures::StreamExt as _;
use futures::stream;
use tokio::time::{Instant, timeout, timeout_at};

use crate::response::error::ApiError;
use crate::routes;
use crate::state::AppState;

type Chunk = Result<Bytes, Box<dyn StdError + Send + Sync>>;

/// Default maximum size of a request body, in bytes.
pub(crate) const BODY_MAX: usize = 4 * 1024 * 1024;

/// Maximum bytes of a rejected body to read and discard, and (`DISCARD_WAIT`) for how long.
const DISCARDED_MAX: usize = 16 * 1024 * 1024;
const DISCARD_WAIT: Duration = Duration::from_secs(10);

/// Rejects a request whose announced body is longer than its route allows, before reading it.
pub(crate) async fn reject_oversized_body(
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let route = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    let max = routes::body_max(route.unwrap_or_default()).unwrap_or(BODY_MAX);
    let announced = request.headers().get(header::CONTENT_LENGTH);
    let announced = announced.and_then(|it| it.to_str().ok()?.parse::<u64>().ok());
    let max = u64::try_from(max).unwrap_or(u64::MAX);
    match announced {
        Some(length) if length > max => {
            // Clients that send the whole body before they read would only see a closed connection.
            tokio::spawn(timeout(DISCARD_WAIT, discard(request.into_body())));
            let detail = format!("a body has at most {max} bytes here, not {length}");
            Err(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "body-too-large", detail))
        }
        Some(_) | None => Ok(next.run(request).await),
    }
}

/// Reads and discards a body, up to a limit.
async fn discard(body: Body) {
    let mut chunks = body.into_data_stream();
    let mut passed = 0;
    while let Some(Ok(chunk)) = chunks.next().await {
        passed += chunk.len();
        if passed > DISCARDED_MAX {
            return;
        }
    }
}

/// Sets a deadline for the arrival of a request's body.
pub(crate) async fn limit_body_time(
    State(state): State<AppState>,
    request: Request,
    next: Next,
) -> Response {
    let deadline = Instant::now() + state.settings().limits.body_wait;
    next.run(request.map(|body| until(body, deadline))).await
}

fn until(body: Body, deadline: Instant) -> Body {
    let chunks = stream::unfold(Some(body.into_data_stream()), move |chunks| async move {
        next_chunk(chunks?, deadline).await
    });
    Body::from_stream(chunks)
}

async fn next_chunk(
    mut chunks: BodyDataStream,
    deadline: Instant,
) -> Option<(Chunk, Option<BodyDataStream>)> {
    match timeout_at(deadline, chunks.next()).await {
        Ok(None) => None,
        Ok(Some(Ok(chunk))) => Some((Ok(chunk), Some(chunks))),
        Ok(Some(Err(error))) => Some((Err(error.into()), None)),
        Err(_late) => Some((Err(io::Error::from(io::ErrorKind::TimedOut).into()), None)),
    }
}

/// True if reading a body failed because it took too long.
pub(crate) fn is_late(error: &(dyn StdError + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        let io = error.downcast_ref::<io::Error>();
        if io.is_some_and(|error| error.kind() == io::ErrorKind::TimedOut) {
            return true;
        }
        cause = error.source();
    }
    false
}
