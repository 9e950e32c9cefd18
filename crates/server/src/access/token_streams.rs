//! Answers that last: they end soon after their token is no longer valid.
//!
//! The guard checks a token before a request. An event stream goes on for hours after that, so its token
//! is checked again and again while it is open.

use std::io;
use std::time::Duration;

use axum::body::{Body, BodyDataStream, Bytes, HttpBody as _};
use axum::http::{HeaderMap, header};
use axum::response::Response;
use futures::StreamExt as _;
use futures::stream;
use noetl_model::{Permission, PermittedPaths};
use tokio::time::{Instant, sleep_until};

use super::caller::{KnownToken, known_still};
use crate::state::AppState;

/// The interval at which the token of an open stream is checked.
const CHECK_EVERY: Duration = Duration::from_secs(5);

/// A stream and the token that it was opened with.
struct TokenStream {
    state: AppState,
    token: KnownToken,
    needed: &'static [Permission],
    body: BodyDataStream,
    next_check: Instant,
    cut: StreamCut,
}

/// The end of a stream whose token is no longer valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StreamCut {
    /// The stream just ends; its client reconnects and gets 401.
    Ended,
    /// The connection is closed, so that the part is not taken for the whole.
    Broken,
    /// Nothing more is sent: the stream was cut.
    Done,
}

/// Returns the answer to a request with a token; if its length is not known, with further checks of the
/// token.
pub(super) fn checked_while_open(
    state: &AppState,
    token: &KnownToken,
    needed: &'static [Permission],
    answer: Response,
) -> Response {
    if answer.body().size_hint().exact().is_some() {
        return answer;
    }
    let (parts, body) = answer.into_parts();
    let open = TokenStream {
        state: state.clone(),
        token: token.clone(),
        needed,
        body: body.into_data_stream(),
        next_check: Instant::now() + CHECK_EVERY,
        cut: cut_of(&parts.headers),
    };
    let pieces = stream::unfold(open, |mut open| async move {
        let piece = open.next().await?;
        Some((piece, open))
    });
    Response::from_parts(parts, Body::from_stream(pieces))
}

fn cut_of(headers: &HeaderMap) -> StreamCut {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    match kind.is_some_and(|kind| kind.starts_with("text/event-stream")) {
        true => StreamCut::Ended,
        false => StreamCut::Broken,
    }
}

impl TokenStream {
    async fn next(&mut self) -> Option<Result<Bytes, axum::Error>> {
        if self.cut == StreamCut::Done {
            return None;
        }
        loop {
            if self.next_check <= Instant::now() {
                if !is_valid(self.state.clone(), self.token.clone(), self.needed).await {
                    let cut = std::mem::replace(&mut self.cut, StreamCut::Done);
                    let reason = io::Error::other("the token is no longer valid");
                    return (cut == StreamCut::Broken).then(|| Err(axum::Error::new(reason)));
                }
                self.next_check = Instant::now() + CHECK_EVERY;
            }
            tokio::select! {
                piece = self.body.next() => return piece,
                () = sleep_until(self.next_check) => {}
            }
        }
    }
}

/// True if the server still knows a token, with a permission that its request needed. While the stored
/// tokens cannot be read, it does not.
async fn is_valid(state: AppState, token: KnownToken, needed: &[Permission]) -> bool {
    match known_still(&state, &token).await {
        Ok(Some(token)) => token.paths(needed) != PermittedPaths::None,
        Ok(None) | Err(_) => false,
    }
}
