//! Feeds, here or on a server.

use std::time::Duration;

use async_trait::async_trait;
use noetl_api::Method;
use noetl_api::wire::{FeedList, FeedView, NewFeed};
use noetl_app::FeedError;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::local::Session;
use super::remote::Remote;
use super::url::segment;
use crate::show::failure::Failure;

/// A page of events, and the position after it.
#[derive(Deserialize)]
pub(crate) struct FeedPage {
    pub(crate) events: Vec<Value>,
    pub(crate) cursor: String,
}

/// The operations on feeds.
#[async_trait]
pub(crate) trait Feeds {
    async fn feeds(&self) -> Result<Vec<FeedView>, Failure>;

    async fn add_feed(&self, new: NewFeed) -> Result<FeedView, Failure>;

    /// Moves a feed to `start`, `end`, a time or a cursor.
    async fn seek_feed(&self, name: &str, to: &str) -> Result<FeedView, Failure>;

    /// Retries the delivery of a feed at once.
    async fn retry_feed(&self, name: &str) -> Result<FeedView, Failure>;

    async fn remove_feed(&self, name: &str) -> Result<(), Failure>;

    /// Reads events after a cursor, else after the feed's own; waits for them up to `wait`.
    async fn feed_events(
        &self,
        name: &str,
        after: Option<&str>,
        limit: usize,
        wait: Duration,
    ) -> Result<FeedPage, Failure>;

    /// Acknowledges all events up to a cursor.
    async fn acknowledge_feed(&self, name: &str, cursor: &str) -> Result<(), Failure>;
}

fn failed(error: FeedError) -> Failure {
    match error {
        FeedError::InvalidName
        | FeedError::Unknown(_)
        | FeedError::Exists(_)
        | FeedError::Moved(_)
        | FeedError::NoSubject(_)
        | FeedError::NoBroker
        | FeedError::Subject(_)
        | FeedError::Cursor(_)
        | FeedError::Rewound(_) => Failure::bad_input(error),
        FeedError::Load(_) | FeedError::Store(_) => Failure::broken(error),
    }
}

#[async_trait]
impl Feeds for Session {
    async fn feeds(&self) -> Result<Vec<FeedView>, Failure> {
        Ok(self.app().list_feeds().await.map_err(failed)?.feeds)
    }

    async fn add_feed(&self, new: NewFeed) -> Result<FeedView, Failure> {
        self.app().add_feed(new).await.map_err(failed)
    }

    async fn seek_feed(&self, name: &str, to: &str) -> Result<FeedView, Failure> {
        self.app().seek_feed(name, to).await.map_err(failed)
    }

    async fn retry_feed(&self, name: &str) -> Result<FeedView, Failure> {
        self.app().retry_feed(name).await.map_err(failed)
    }

    async fn remove_feed(&self, name: &str) -> Result<(), Failure> {
        self.app().remove_feed(name).await.map_err(failed)
    }

    async fn feed_events(
        &self,
        name: &str,
        after: Option<&str>,
        limit: usize,
        wait: Duration,
    ) -> Result<FeedPage, Failure> {
        let limit = limit.clamp(1, noetl_app::FEED_READ_MAX);
        let mut reading = self.app().read_feed(name, after, limit).await.map_err(failed)?;
        let deadline = Instant::now() + wait;
        loop {
            let events = reading.page().await.map_err(failed)?;
            let left = deadline.saturating_duration_since(Instant::now());
            if !events.is_empty() || left.is_zero() {
                let events = events.iter().map(|event| json!(event)).collect();
                return Ok(FeedPage { events, cursor: reading.cursor().to_string() });
            }
            reading.wait(left).await;
        }
    }

    async fn acknowledge_feed(&self, name: &str, cursor: &str) -> Result<(), Failure> {
        self.app().acknowledge_feed(name, cursor).await.map(drop).map_err(failed)
    }
}

fn path_of(name: &str) -> String {
    format!("api/feeds/{}", segment(name))
}

#[async_trait]
impl Feeds for Remote {
    async fn feeds(&self) -> Result<Vec<FeedView>, Failure> {
        let FeedList { feeds } = self.get("api/feeds").await?;
        Ok(feeds)
    }

    async fn add_feed(&self, new: NewFeed) -> Result<FeedView, Failure> {
        self.post("api/feeds", &json!(new)).await
    }

    async fn seek_feed(&self, name: &str, to: &str) -> Result<FeedView, Failure> {
        self.post(&format!("{}/seek", path_of(name)), &json!({ "to": to })).await
    }

    async fn retry_feed(&self, name: &str) -> Result<FeedView, Failure> {
        self.post(&format!("{}/retry", path_of(name)), &json!({})).await
    }

    async fn remove_feed(&self, name: &str) -> Result<(), Failure> {
        self.delete(&path_of(name)).await
    }

    async fn feed_events(
        &self,
        name: &str,
        after: Option<&str>,
        limit: usize,
        wait: Duration,
    ) -> Result<FeedPage, Failure> {
        let after = after.map(|cursor| format!("&after={}", segment(cursor))).unwrap_or_default();
        let wait_ms = wait.as_millis();
        let path = format!("{}/events?limit={limit}&wait_ms={wait_ms}{after}", path_of(name));
        self.ask(Method::GET, &path, None, wait).await
    }

    async fn acknowledge_feed(&self, name: &str, cursor: &str) -> Result<(), Failure> {
        let path = format!("{}/ack", path_of(name));
        let _moved: FeedView = self.post(&path, &json!({ "cursor": cursor })).await?;
        Ok(())
    }
}
