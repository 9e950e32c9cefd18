//! Publishes feeds with a subject on NATS; each feed is published by one server at a time.
//!
//! Invariants: a feed's cursor moves only past events that the broker has confirmed; a feed that
//! cannot be delivered delays no other.

use std::time::Duration;

use futures::StreamExt as _;
use noetl_api::wire::FeedEvent;
use noetl_bus::{BusError, Parcel, Reach};
use noetl_model::Timestamp;
use noetl_store::{FailedStanding, FeedDelivery, NamedFeed, REASON_MAX, backoff};
use tokio_util::sync::CancellationToken;

use super::subject::filled;
use super::{Reading, feed_subject, filter_of};
use crate::error::ApiError;
use crate::state::AppState;

/// Interval of checks for new events without a hint.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Number of events published at once.
const BATCH: usize = 200;
/// Maximum number of batches of one feed before the feeds are listed again.
const BATCHES_MAX: usize = 50;
/// Maximum number of feeds delivered concurrently.
const AT_ONCE_MAX: usize = 16;
/// Time after which a silent server loses its turn to deliver a feed.
const TURN: Duration = Duration::from_secs(15);
/// Pause after a failure of the store, or while the broker is disconnected.
const PAUSE: Duration = Duration::from_secs(1);
/// Number of failures after which a feed is dead.
const FAILURES_MAX: u32 = 20;
/// Maximum delay between two tries.
const RETRY_MAX: Duration = Duration::from_secs(256);

/// The result of a delivery that did not fail.
enum Delivery {
    /// All events were published.
    Done,
    /// Another server delivers the feed and records the result.
    Anothers,
}

/// The reason why a feed is not delivered.
enum Stuck {
    /// The store or the connection to the broker is unavailable; the feed is fine.
    Elsewhere(String),
    /// The broker does not confirm the events of this feed.
    Unanswered(String),
    /// The broker refuses the events of this feed.
    Refused(String),
    /// The subject is not allowed for feeds.
    Forbidden(String),
}

impl From<ApiError> for Stuck {
    fn from(error: ApiError) -> Self {
        Self::Elsewhere(error.detail().to_owned())
    }
}

/// Publishes the events of feeds until `stop`; `holder` identifies this server.
pub async fn deliver_feeds(state: AppState, holder: String, stop: CancellationToken) {
    let mut hints = state.bus().subscribe();
    loop {
        let pause = match deliver_all(&state, &holder, &stop).await {
            Ok(()) => LOOK_EVERY,
            Err(reason) => {
                tracing::warn!(reason, "feeds are not delivered yet");
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

/// Delivers all feeds that are due, independently of one another; the error is one that concerns
/// all of them.
async fn deliver_all(
    state: &AppState,
    holder: &str,
    stop: &CancellationToken,
) -> Result<(), String> {
    let feeds = state.store().list_feeds().await.map_err(ApiError::from);
    let feeds = feeds.map_err(|error| error.detail().to_owned())?;
    let now = state.now();
    let due = feeds.into_iter().filter(|feed| is_due(&feed.delivery, now));
    let due = due.filter_map(|feed| feed_subject(&feed).map(|subject| (feed, subject)));
    let delivered = futures::stream::iter(due).map(|(feed, subject)| async move {
        if stop.is_cancelled() {
            return Ok(());
        }
        let delivered = deliver(state, holder, &feed, &subject).await;
        note(state, &feed, delivered).await
    });
    let delivered: Vec<Result<(), String>> =
        delivered.buffer_unordered(AT_ONCE_MAX).collect().await;
    delivered.into_iter().collect()
}

fn is_due(delivery: &FeedDelivery, now: Timestamp) -> bool {
    match delivery {
        FeedDelivery::Working => true,
        FeedDelivery::Failed { standing: FailedStanding::Waiting { until }, .. } => *until <= now,
        FeedDelivery::Failed { standing: FailedStanding::Dead, .. } => false,
    }
}

/// Records the result of a delivery.
async fn note(
    state: &AppState,
    feed: &NamedFeed,
    delivered: Result<Delivery, Stuck>,
) -> Result<(), String> {
    let before = match &feed.delivery {
        FeedDelivery::Working => 0,
        FeedDelivery::Failed { failures, .. } => *failures,
    };
    let now = state.now();
    let failures = before.saturating_add(1);
    let (reason, standing) = match delivered {
        Ok(Delivery::Anothers) => return Ok(()),
        Ok(Delivery::Done) if before == 0 => return Ok(()),
        Ok(Delivery::Done) => {
            let kept = state.store().put_feed_delivery(&feed.name, &FeedDelivery::Working).await;
            kept.map_err(|error| ApiError::from(error).detail().to_owned())?;
            return Ok(());
        }
        Err(Stuck::Elsewhere(reason)) => return Err(reason),
        Err(Stuck::Unanswered(reason)) => {
            let until = now.after(backoff(failures, RETRY_MAX));
            (reason, FailedStanding::Waiting { until })
        }
        Err(Stuck::Refused(reason)) => (reason, FailedStanding::after(failures, FAILURES_MAX, now)),
        Err(Stuck::Forbidden(reason)) => (reason, FailedStanding::Dead),
    };
    let name = &feed.name;
    match standing {
        FailedStanding::Waiting { until } => {
            tracing::warn!(feed = name, failures, reason, %until, "a feed is not delivered");
        }
        FailedStanding::Dead => {
            tracing::error!(feed = name, failures, reason, "a feed is dead");
        }
    }
    let reason = reason.chars().take(REASON_MAX).collect();
    let delivery = FeedDelivery::Failed { failures, reason, standing };
    let kept = state.store().put_feed_delivery(name, &delivery).await;
    kept.map(|_is_there| ()).map_err(|error| ApiError::from(error).detail().to_owned())
}

async fn deliver(
    state: &AppState,
    holder: &str,
    feed: &NamedFeed,
    subject: &str,
) -> Result<Delivery, Stuck> {
    let checked = state.settings().feed_prefix.check(subject);
    checked.map_err(|error| Stuck::Forbidden(error.to_string()))?;
    let mut reading = Reading::begin(state, filter_of(feed), feed.cursor.clone(), BATCH);
    let turn = format!("feed/{}", feed.name);
    for _ in 0..BATCHES_MAX {
        let from = reading.cursor().clone();
        let events = reading.page().await?;
        if *reading.cursor() == from {
            return Ok(Delivery::Done);
        }
        let is_mine = state.records().take_turn(&turn, holder, TURN).await;
        if !is_mine.map_err(ApiError::from)? {
            return Ok(Delivery::Anothers);
        }
        let parcels: Vec<Parcel> =
            events.iter().map(|event| parcel(&feed.name, subject, event)).collect();
        state.bus().put(&parcels).await.map_err(|error| stuck(&error, state.bus().reach()))?;
        let to = reading.cursor();
        let moved = state.store().move_feed(&feed.name, &from, to).await;
        if !moved.map_err(ApiError::from)? {
            // The feed was moved or deleted meanwhile.
            return Ok(Delivery::Anothers);
        }
    }
    Ok(Delivery::Done)
}

/// Classifies an error of publishing.
fn stuck(error: &BusError, reach: Reach) -> Stuck {
    let mut reason = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        reason = format!("{reason}: {error}");
        cause = error.source();
    }
    match (error, reach) {
        (BusError::Unavailable(_), Reach::Disconnected) => Stuck::Elsewhere(reason),
        (BusError::Unavailable(_), Reach::Connected | Reach::Process) => Stuck::Unanswered(reason),
        (BusError::Refused(_), _) => Stuck::Refused(reason),
    }
}

/// Creates the message for an event; its id is the same for every try.
fn parcel(feed: &str, subject: &str, event: &FeedEvent) -> Parcel {
    Parcel {
        subject: filled(subject, &event.event.event_type, &event.execution_id),
        id: format!("{feed}-{}", event.event.event_id),
        body: serde_json::to_vec(event).expect("an event is JSON"),
    }
}
