//! Events of a feed as an endless stream of server-sent events.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use axum::http::HeaderMap;
use axum::response::sse::{Event as SentEvent, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::stream::{self, Stream, StreamExt as _};
use noetl_api::wire::FeedEvent;
use noetl_app::FeedReader;
use tokio_util::sync::CancellationToken;

/// Interval of checks for new events without a hint.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Interval of keep-alive messages on an idle stream.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Returns the cursor after which a reconnecting client resumes.
pub(in crate::routes) fn resumed(headers: &HeaderMap) -> Option<&str> {
    headers.get("last-event-id")?.to_str().ok()
}

/// Streams the events of a reader until the server drains; an event's id is the cursor to resume
/// after it.
pub(in crate::routes) fn stream_of(reading: FeedReader, draining: CancellationToken) -> Response {
    // Sends the position first, without an event, so that a client that is cut off before the
    // first event misses none.
    let begun = SentEvent::default().id(reading.cursor().to_string());
    let sent = stream::once(async { Ok(begun) }).chain(sent_events(reading, draining));
    Sse::new(sent).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response()
}

fn sent_events(
    reading: FeedReader,
    draining: CancellationToken,
) -> impl Stream<Item = Result<SentEvent, Infallible>> {
    stream::unfold((reading, VecDeque::new()), move |(mut reading, mut waiting)| {
        let draining = draining.clone();
        async move {
            while waiting.is_empty() {
                // On an error the stream ends; the client reconnects and resumes.
                waiting = reading.page().await.ok()?.into();
                if waiting.is_empty() {
                    tokio::select! {
                        () = reading.wait(POLL_INTERVAL) => {}
                        () = draining.cancelled() => return None,
                    }
                }
            }
            let event: FeedEvent = waiting.pop_front()?;
            let sent = SentEvent::default()
                .id(event.cursor.clone())
                .event(event.event.event_type.clone())
                .json_data(&event)
                .expect("an event is JSON");
            Some((Ok(sent), (reading, waiting)))
        }
    })
}
