//! Feeds that go onto subjects: one server at a time reads each, puts its events there, and moves it on.
//!
//! Invariant: a feed is moved only past what the broker has.

use std::time::Duration;

use noetl_api::wire::FeedEvent;
use noetl_bus::{BusError, Parcel};
use noetl_store::NamedFeed;
use tokio_util::sync::CancellationToken;

use super::{Reading, feed_subject, filter_of};
use crate::error::ApiError;
use crate::state::AppState;

/// How often it is looked without a hint.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How many events are put at once.
const BATCH: usize = 200;
/// How many batches of one feed are put before the next feed has its turn.
const BATCHES_MAX: usize = 50;
/// For how long a server that goes without a word keeps a feed.
const TURN: Duration = Duration::from_secs(15);
/// How long to wait after something has failed.
const PAUSE: Duration = Duration::from_secs(1);

/// Why a feed does not go on.
enum Stuck {
    Store(ApiError),
    Bus(BusError),
}

impl From<ApiError> for Stuck {
    fn from(error: ApiError) -> Self {
        Self::Store(error)
    }
}

/// Puts the events of feeds onto their subjects until `stop`; `holder` is this server among others.
pub async fn deliver_feeds(state: AppState, holder: String, stop: CancellationToken) {
    let mut hints = state.bus().subscribe();
    loop {
        let pause = match deliver_all(&state, &holder, &stop).await {
            Ok(()) => LOOK_EVERY,
            Err(Stuck::Store(error)) => {
                tracing::warn!(reason = error.detail(), "feeds are not delivered yet");
                PAUSE
            }
            Err(Stuck::Bus(error)) => {
                let error: &dyn std::error::Error = &error;
                tracing::warn!(error, "feeds are not delivered yet");
                PAUSE
            }
        };
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(pause) => {}
            _heard = hints.next(), if pause == LOOK_EVERY => {}
        }
    }
}

async fn deliver_all(
    state: &AppState,
    holder: &str,
    stop: &CancellationToken,
) -> Result<(), Stuck> {
    let feeds = state.store().list_feeds().await.map_err(ApiError::from)?;
    for feed in feeds {
        let Some(subject) = feed_subject(&feed) else { continue };
        if stop.is_cancelled() {
            return Ok(());
        }
        deliver(state, holder, &feed, &subject).await?;
    }
    Ok(())
}

async fn deliver(
    state: &AppState,
    holder: &str,
    feed: &NamedFeed,
    subject: &str,
) -> Result<(), Stuck> {
    let mut reading = Reading::begin(state, filter_of(feed), feed.cursor.clone(), BATCH);
    let turn = format!("feed/{}", feed.name);
    for _ in 0..BATCHES_MAX {
        let from = reading.cursor().clone();
        let events = reading.page().await?;
        if *reading.cursor() == from {
            return Ok(());
        }
        let is_mine = state.records().take_turn(&turn, holder, TURN).await;
        if !is_mine.map_err(ApiError::from)? {
            return Ok(());
        }
        let parcels: Vec<Parcel> =
            events.iter().map(|event| parcel(&feed.name, subject, event)).collect();
        state.bus().put(&parcels).await.map_err(Stuck::Bus)?;
        let to = reading.cursor();
        let moved = state.store().move_feed(&feed.name, &from, to).await;
        if !moved.map_err(ApiError::from)? {
            // Somebody has sent it elsewhere, or has forgotten it.
            return Ok(());
        }
    }
    Ok(())
}

/// An event for a subject; its id is the same however often it is put.
fn parcel(feed: &str, subject: &str, event: &FeedEvent) -> Parcel {
    Parcel {
        subject: filled(subject, &event.event.event_type, &event.execution_id),
        id: format!("{feed}-{}", event.event.event_id),
        body: serde_json::to_vec(event).expect("an event is JSON"),
    }
}

/// A subject with what it says of the event filled in.
pub(super) fn filled(subject: &str, event_type: &str, execution: &str) -> String {
    subject.replace("{event_type}", event_type).replace("{execution_id}", execution)
}
