//! Bodies of requests arrive within a time, or not at all; one that says that it is too long is not
//! waited for.

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

use crate::error::ApiError;
use crate::routes;
use crate::state::AppState;

type Chunk = Result<Bytes, Box<dyn StdError + Send + Sync>>;

/// How many bytes the body of a request may have, where a route does not say otherwise.
pub(crate) const BODY_MAX: usize = 4 * 1024 * 1024;

/// How much of a body that is refused passes by, in bytes, and for how long.
const DISCARDED_MAX: usize = 16 * 1024 * 1024;
const DISCARD_WAIT: Duration = Duration::from_secs(10);

/// Refuses a request whose body is longer than its route takes, before anything of it is read.
pub(crate) async fn announce_what_fits(request: Request, next: Next) -> Result<Response, ApiError> {
    let route = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    let max = routes::body_max(route.unwrap_or_default()).unwrap_or(BODY_MAX);
    let announced = request.headers().get(header::CONTENT_LENGTH);
    let announced = announced.and_then(|it| it.to_str().ok()?.parse::<u64>().ok());
    let max = u64::try_from(max).unwrap_or(u64::MAX);
    match announced {
        Some(length) if length > max => {
            // Clients that send all they have before they listen would only see a cut connection.
            tokio::spawn(timeout(DISCARD_WAIT, discard(request.into_body())));
            let detail = format!("a body has at most {max} bytes here, not {length}");
            Err(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "body-too-large", detail))
        }
        Some(_) | None => Ok(next.run(request).await),
    }
}

/// Lets a body pass by, up to a point.
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
