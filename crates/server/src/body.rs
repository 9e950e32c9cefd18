//! Bodies of requests arrive within a time, or not at all.

use std::error::Error as StdError;
use std::io;

use axum::body::{Body, BodyDataStream, Bytes};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use futures::StreamExt as _;
use futures::stream;
use tokio::time::{Instant, timeout_at};

use crate::state::AppState;

type Chunk = Result<Bytes, Box<dyn StdError + Send + Sync>>;

/// Gives the body of a request so long to arrive.
pub(crate) async fn arrive_in_time(
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

/// Whether a body could not be read because it took too long.
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
