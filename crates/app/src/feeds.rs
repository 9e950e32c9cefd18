//! Feeds: named, filtered streams of events, read at least once.
//!
//! A consumer reads from the feed's cursor, processes the events and acknowledges them; events that
//! are not acknowledged are shown again. A consumer may also keep its own cursor and acknowledge
//! nothing. For a feed with a subject, the server is the consumer and publishes the events on NATS.

mod delivery;
mod reader;
mod subject;

use noetl_api::wire::{FeedDeliveryView, FeedFilter, FeedList, FeedView, NewFeed};
use noetl_bus::Reach;
use noetl_control::LoadError;
use noetl_model::Timestamp;
use noetl_store::{
    FailedStanding, FeedCursor, FeedDelivery, FeedPoint, NamedFeed, NotACursor, StoreError,
};
use serde_json::{Value, json};

use crate::app::App;
pub use delivery::deliver_feeds;
pub use reader::FeedReader;
pub use subject::{BadSubject, SubjectPrefix};

/// Key of the stored filter that holds the subject.
const SUBJECT: &str = "subject";
/// Maximum length of a feed's name.
const NAME_MAX: usize = 100;

/// Number up to which the events behind a feed's cursor are counted.
const LAG_EVENTS_MAX: usize = 200;

/// The events that the consumer of a feed has not acknowledged, before the filter of the feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeedLag {
    /// The number of events, up to a limit.
    pub events: usize,
    /// True if there may be more events than were counted.
    pub has_more: bool,
    /// The time of the first of them.
    pub oldest: Option<Timestamp>,
}

/// The reason why an operation on a feed fails.
#[derive(Debug, thiserror::Error)]
pub enum FeedError {
    #[error("`name` has 1 to {NAME_MAX} letters, digits, `-`, `_` and `.`")]
    InvalidName,
    #[error("there is no feed {0}")]
    Unknown(String),
    #[error("there is a feed {0} with another filter")]
    Exists(String),
    #[error("the cursor of feed {0} was moved by another request; read it and try again")]
    Moved(String),
    #[error("the feed {0} has no subject, so the server delivers nothing of it")]
    NoSubject(String),
    #[error("this server has no NATS to put events onto; start it with --nats URL")]
    NoBroker,
    #[error(transparent)]
    Subject(#[from] BadSubject),
    #[error(transparent)]
    Cursor(#[from] NotACursor),
    /// The store was restored to an earlier state: a reader would miss the events up to its cursor.
    #[error(
        "the database has gone back in time: cursor {0} lies after its last event; go on from \
         `end`, or from an earlier cursor"
    )]
    Rewound(FeedCursor),
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl App {
    /// Lists the feeds by name.
    pub async fn list_feeds(&self) -> Result<FeedList, FeedError> {
        let feeds = self.store().list_feeds().await?;
        Ok(FeedList { feeds: feeds.into_iter().map(view).collect() })
    }

    /// Returns how far the consumer of a feed is behind the last event.
    pub async fn feed_lag(&self, name: &str) -> Result<FeedLag, FeedError> {
        let cursor = self.stored_feed(name).await?.cursor;
        let page = self.store().feed(&cursor, LAG_EVENTS_MAX).await?;
        Ok(FeedLag {
            events: page.items.len(),
            has_more: page.items.len() >= LAG_EVENTS_MAX,
            oldest: page.items.iter().map(|item| item.recorded.at).min(),
        })
    }

    /// Creates a feed; an existing one with the same name and filter is left as it is.
    pub async fn add_feed(&self, new: NewFeed) -> Result<FeedView, FeedError> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let name = new.name;
        if name.is_empty() || name.len() > NAME_MAX || !name.chars().all(plain) {
            return Err(FeedError::InvalidName);
        }
        if let Some(subject) = &new.subject {
            self.check_subject(subject)?;
        }
        let feed = NamedFeed {
            cursor: self.feed_cursor(new.from.as_deref().unwrap_or("end")).await?,
            filter: written(&new.filter, new.subject),
            created_at: self.now(),
            moved_at: self.now(),
            delivery: FeedDelivery::Working,
            name,
        };
        self.store().add_feed(&feed).await?;
        let kept = self.stored_feed(&feed.name).await?;
        if kept.filter != feed.filter {
            return Err(FeedError::Exists(feed.name));
        }
        Ok(view(kept))
    }

    /// Returns a feed: its filter and its consumer's position.
    pub async fn feed(&self, name: &str) -> Result<FeedView, FeedError> {
        Ok(view(self.stored_feed(name).await?))
    }

    /// Deletes a feed.
    pub async fn remove_feed(&self, name: &str) -> Result<(), FeedError> {
        if self.store().remove_feed(name).await? {
            return Ok(());
        }
        Err(FeedError::Unknown(name.to_owned()))
    }

    /// Begins to read a feed after a cursor of the reader, else after the feed's own; each page has
    /// at most `limit` events.
    pub async fn read_feed(
        &self,
        name: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<FeedReader, FeedError> {
        let feed = self.stored_feed(name).await?;
        let filter = filter_of(&feed);
        let cursor = after.map_or(Ok(feed.cursor), str::parse)?;
        Ok(FeedReader::begin(self, filter, cursor, limit))
    }

    /// Begins to read the events of all executions after a position (`start`, `end`, a time or a
    /// cursor).
    pub async fn read_all_events(
        &self,
        filter: FeedFilter,
        from: &str,
        limit: usize,
    ) -> Result<FeedReader, FeedError> {
        let cursor = self.feed_cursor(from).await?;
        Ok(FeedReader::begin(self, filter, cursor, limit))
    }

    /// Acknowledges all events of a feed up to a cursor.
    pub async fn acknowledge_feed(&self, name: &str, cursor: &str) -> Result<FeedView, FeedError> {
        self.move_feed(name, &cursor.parse()?).await
    }

    /// Moves a feed to another position (`start`, `end`, a time or a cursor): back to show events
    /// again, or forward to skip some.
    pub async fn seek_feed(&self, name: &str, to: &str) -> Result<FeedView, FeedError> {
        let to = self.feed_cursor(to).await?;
        self.move_feed(name, &to).await
    }

    /// Retries the delivery of a feed that is dead or waits after a failure, at once.
    pub async fn retry_feed(&self, name: &str) -> Result<FeedView, FeedError> {
        let feed = self.stored_feed(name).await?;
        if feed_subject(&feed).is_none() {
            return Err(FeedError::NoSubject(name.to_owned()));
        }
        self.store().put_feed_delivery(name, &FeedDelivery::Working).await?;
        self.feed(name).await
    }

    async fn move_feed(&self, name: &str, to: &FeedCursor) -> Result<FeedView, FeedError> {
        let feed = self.stored_feed(name).await?;
        if !self.store().move_feed(name, &feed.cursor, to).await? {
            return Err(FeedError::Moved(name.to_owned()));
        }
        self.feed(name).await
    }

    async fn stored_feed(&self, name: &str) -> Result<NamedFeed, FeedError> {
        let found = self.store().find_feed(name).await?;
        found.ok_or_else(|| FeedError::Unknown(name.to_owned()))
    }

    /// Resolves a position (`start`, `end`, a time or a cursor) to a cursor.
    async fn feed_cursor(&self, text: &str) -> Result<FeedCursor, FeedError> {
        let point = match text {
            "start" => FeedPoint::Start,
            "end" => FeedPoint::End,
            text => match text.parse::<Timestamp>() {
                Ok(at) => FeedPoint::Since(at),
                Err(_) => return Ok(text.parse()?),
            },
        };
        Ok(self.store().feed_point(&point).await?)
    }

    /// Checks the subject of a feed; fails if the server has no NATS.
    fn check_subject(&self, subject: &str) -> Result<(), FeedError> {
        match self.bus().reach() {
            Reach::Process => Err(FeedError::NoBroker),
            Reach::Connected | Reach::Disconnected => {
                Ok(self.settings().feed_prefix.check(subject)?)
            }
        }
    }
}

fn view(feed: NamedFeed) -> FeedView {
    let subject = feed_subject(&feed);
    FeedView {
        filter: filter_of(&feed),
        delivery: subject.is_some().then(|| delivery_view(&feed.delivery)),
        subject,
        name: feed.name,
        cursor: feed.cursor.to_string(),
        created_at: feed.created_at.to_string(),
        moved_at: feed.moved_at.to_string(),
    }
}

fn delivery_view(delivery: &FeedDelivery) -> FeedDeliveryView {
    match delivery {
        FeedDelivery::Working => FeedDeliveryView::Working,
        FeedDelivery::Failed { failures, reason, standing } => {
            let (failures, reason) = (*failures, reason.clone());
            match standing {
                FailedStanding::Waiting { until } => {
                    FeedDeliveryView::Retrying { failures, reason, retry_at: until.to_string() }
                }
                FailedStanding::Dead => FeedDeliveryView::Dead { failures, reason },
            }
        }
    }
}

/// Returns a filter in its stored form, with the subject.
fn written(filter: &FeedFilter, subject: Option<String>) -> Value {
    let mut written = json!(filter);
    if let Some(subject) = subject {
        written[SUBJECT] = json!(subject);
    }
    written
}

fn filter_of(feed: &NamedFeed) -> FeedFilter {
    let mut written = feed.filter.clone();
    if let Value::Object(map) = &mut written {
        map.shift_remove(SUBJECT);
    }
    serde_json::from_value(written).unwrap_or_default()
}

fn feed_subject(feed: &NamedFeed) -> Option<String> {
    feed.filter[SUBJECT].as_str().map(str::to_owned)
}
