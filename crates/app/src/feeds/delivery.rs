//! Publishes feeds with a subject on NATS; each feed is published by one server at a time.
//!
//! Invariants: a feed's cursor moves only past events that the broker has confirmed; a feed that
//! cannot be delivered delays no other.

use std::time::Duration;

use futures::StreamExt as _;
use noetl_api::wire::FeedEvent;
use noetl_bus::{BusError, BusMessage, Reach};
use noetl_model::Timestamp;
use noetl_store::{FailedStanding, FeedDelivery, NamedFeed, REASON_MAX, StoreError, backoff};
use tokio_util::sync::CancellationToken;

use super::subject::filled;
use super::{FeedError, FeedReader, feed_subject, filter_of};
use crate::app::App;

/// Interval of checks for new events without a hint.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Number of events published at once.
const BATCH: usize = 200;
/// Maximum number of batches of one feed before the feeds are listed again.
const BATCHES_MAX: usize = 50;
/// Maximum number of feeds delivered concurrently.
const AT_ONCE_MAX: usize = 16;
/// Time after which a silent server loses its lock on a feed.
const LOCK_LEASE: Duration = Duration::from_secs(15);
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
enum DeliveryFailure {
    /// The store or the connection to the broker is unavailable; the feed is fine.
    Elsewhere(String),
    /// The broker does not confirm the events of this feed.
    Unanswered(String),
    /// The broker refuses the events of this feed.
    Refused(String),
    /// The subject is not allowed for feeds.
    Forbidden(String),
}

impl From<FeedError> for DeliveryFailure {
    fn from(error: FeedError) -> Self {
        Self::Elsewhere(error.to_string())
    }
}

impl From<StoreError> for DeliveryFailure {
    fn from(error: StoreError) -> Self {
        Self::Elsewhere(error.to_string())
    }
}

/// Publishes the events of feeds until `stop`; `holder` identifies this server.
pub async fn deliver_feeds(app: App, holder: String, stop: CancellationToken) {
    let mut hints = app.bus().subscribe();
    loop {
        let pause = match deliver_all(&app, &holder, &stop).await {
            Ok(()) => POLL_INTERVAL,
            Err(reason) => {
                tracing::warn!(reason, "cannot deliver feeds; will retry");
                PAUSE
            }
        };
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(pause) => {}
            _heard = hints.next(), if pause == POLL_INTERVAL => {}
        }
    }
}

/// Delivers all feeds that are due, independently of one another; the error is one that concerns
/// all of them.
async fn deliver_all(app: &App, holder: &str, stop: &CancellationToken) -> Result<(), String> {
    let feeds = app.store().list_feeds().await.map_err(|error| error.to_string())?;
    let now = app.now();
    let due = feeds.into_iter().filter(|feed| is_due(&feed.delivery, now));
    let due = due.filter_map(|feed| feed_subject(&feed).map(|subject| (feed, subject)));
    let delivered = futures::stream::iter(due).map(|(feed, subject)| async move {
        if stop.is_cancelled() {
            return Ok(());
        }
        let delivered = deliver(app, holder, &feed, &subject).await;
        note(app, &feed, delivered).await
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
    app: &App,
    feed: &NamedFeed,
    delivered: Result<Delivery, DeliveryFailure>,
) -> Result<(), String> {
    let before = match &feed.delivery {
        FeedDelivery::Working => 0,
        FeedDelivery::Failed { failures, .. } => *failures,
    };
    let now = app.now();
    let failures = before.saturating_add(1);
    let (reason, standing) = match delivered {
        Ok(Delivery::Anothers) => return Ok(()),
        Ok(Delivery::Done) if before == 0 => return Ok(()),
        Ok(Delivery::Done) => {
            let kept = app.store().put_feed_delivery(&feed.name, &FeedDelivery::Working).await;
            kept.map_err(|error| error.to_string())?;
            return Ok(());
        }
        Err(DeliveryFailure::Elsewhere(reason)) => return Err(reason),
        Err(DeliveryFailure::Unanswered(reason)) => {
            let until = now.after(backoff(failures, RETRY_MAX));
            (reason, FailedStanding::Waiting { until })
        }
        Err(DeliveryFailure::Refused(reason)) => {
            (reason, FailedStanding::after(failures, FAILURES_MAX, now))
        }
        Err(DeliveryFailure::Forbidden(reason)) => (reason, FailedStanding::Dead),
    };
    let name = &feed.name;
    match standing {
        FailedStanding::Waiting { until } => {
            tracing::warn!(feed = name, failures, reason, %until, "cannot deliver a feed; will retry");
        }
        FailedStanding::Dead => {
            tracing::error!(feed = name, failures, reason, "a feed is dead");
        }
    }
    let reason = reason.chars().take(REASON_MAX).collect();
    let delivery = FeedDelivery::Failed { failures, reason, standing };
    let kept = app.store().put_feed_delivery(name, &delivery).await;
    kept.map(|_is_there| ()).map_err(|error| error.to_string())
}

async fn deliver(
    app: &App,
    holder: &str,
    feed: &NamedFeed,
    subject: &str,
) -> Result<Delivery, DeliveryFailure> {
    let checked = app.settings().feed_prefix.check(subject);
    checked.map_err(|error| DeliveryFailure::Forbidden(error.to_string()))?;
    let mut reading = FeedReader::begin(app, filter_of(feed), feed.cursor.clone(), BATCH);
    let lock = format!("feed/{}", feed.name);
    for _ in 0..BATCHES_MAX {
        let from = reading.cursor().clone();
        let events = reading.page().await?;
        if *reading.cursor() == from {
            return Ok(Delivery::Done);
        }
        if !app.records().acquire_lock(&lock, holder, LOCK_LEASE).await? {
            return Ok(Delivery::Anothers);
        }
        let messages: Vec<BusMessage> =
            events.iter().map(|event| parcel(&feed.name, subject, event)).collect();
        app.bus().put(&messages).await.map_err(|error| stuck(&error, app.bus().reach()))?;
        let to = reading.cursor();
        if !app.store().move_feed(&feed.name, &from, to).await? {
            // The feed was moved or deleted meanwhile.
            return Ok(Delivery::Anothers);
        }
    }
    Ok(Delivery::Done)
}

/// Classifies an error of publishing.
fn stuck(error: &BusError, reach: Reach) -> DeliveryFailure {
    let mut reason = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        reason = format!("{reason}: {error}");
        cause = error.source();
    }
    match (error, reach) {
        (BusError::Unavailable(_), Reach::Disconnected) => DeliveryFailure::Elsewhere(reason),
        (BusError::Unavailable(_), Reach::Connected | Reach::Process) => {
            DeliveryFailure::Unanswered(reason)
        }
        (BusError::Refused(_), _) => DeliveryFailure::Refused(reason),
    }
}

/// Creates the message for an event; its id is the same for every try.
fn parcel(feed: &str, subject: &str, event: &FeedEvent) -> BusMessage {
    BusMessage {
        subject: filled(subject, &event.event.event_type, &event.execution_id),
        id: format!("{feed}-{}", event.event.event_id),
        body: serde_json::to_vec(event).expect("an event is JSON"),
    }
}
