//! Feeds, notifications, and messages that could not be delivered.

mod template;

use noetl_app::{CatalogError, FeedError, NotificationError, OutboxError};

use crate::error::PageError;
use crate::form::SignedForm;
use crate::layout::{NavPlace, PageHead};
use crate::request::PageRequest;
use crate::response::{PageResult, see};
use template::FeedsView;

/// Number of feeds of which the page shows how far they are behind.
const LAGS_MAX: usize = 50;

/// The state of messages that are not tried again by themselves.
const DEAD: &str = "DEAD";

pub(super) async fn show(page: PageRequest) -> PageResult {
    let feeds = page.app().list_feeds().await?.feeds;
    let mut lags = Vec::new();
    for feed in feeds.iter().take(LAGS_MAX) {
        lags.push(page.app().feed_lag(&feed.name).await?);
    }
    let view = FeedsView {
        feeds,
        lags,
        notifications: page.app().list_notifications().await?,
        dead: page.app().list_messages(Some(DEAD), 0, None).await?.messages,
    };
    let head = PageHead { title: page.t("nav.feeds"), place: NavPlace::Feeds };
    Ok(page.respond(&head, &template::feeds(&page, &view)))
}

/// Retries the delivery of a feed, retries or drops a dead message, or pauses or resumes a
/// notification.
pub(super) async fn act(page: PageRequest, form: SignedForm) -> PageResult {
    let message = || {
        let id = form.get("message").parse::<i64>();
        id.map_err(|_| PageError::Unreadable("`message` is the number of a message".to_owned()))
    };
    match form.get("action") {
        "retry_feed" => page.app().retry_feed(form.get("feed")).await.map(drop)?,
        "retry" => page.app().retry_messages(&[message()?]).await.map(drop)?,
        "drop" => page.app().drop_messages(&[message()?]).await.map(drop)?,
        "pause" => page.app().pause_notification(form.get("path")).await?,
        "resume" => page.app().resume_notification(form.get("path")).await?,
        other => return Err(PageError::Unreadable(format!("there is no action `{other}`"))),
    }
    Ok(see("/ui/feeds"))
}

impl From<FeedError> for PageError {
    fn from(error: FeedError) -> Self {
        match error {
            FeedError::Unknown(_) => Self::NotFound(error.to_string()),
            FeedError::InvalidName
            | FeedError::Exists(_)
            | FeedError::Moved(_)
            | FeedError::NoSubject(_)
            | FeedError::NoBroker
            | FeedError::Subject(_)
            | FeedError::Cursor(_)
            | FeedError::Rewound(_) => Self::Refused(error.to_string()),
            FeedError::Load(error) => error.into(),
            FeedError::Store(error) => error.into(),
        }
    }
}

impl From<NotificationError> for PageError {
    fn from(error: NotificationError) -> Self {
        match error {
            NotificationError::Unknown(_) => Self::NotFound(error.to_string()),
            NotificationError::OtherKind { .. }
            | NotificationError::Unreadable(..)
            | NotificationError::NoTransport => Self::Refused(error.to_string()),
            NotificationError::Catalog(CatalogError::Store(error))
            | NotificationError::Store(error) => error.into(),
            NotificationError::Catalog(error) => Self::Refused(error.to_string()),
        }
    }
}

impl From<OutboxError> for PageError {
    fn from(error: OutboxError) -> Self {
        match error {
            OutboxError::NoIds
            | OutboxError::TooManyIds
            | OutboxError::NoReason
            | OutboxError::UnknownState(_) => Self::Refused(error.to_string()),
            OutboxError::Store(error) => error.into(),
        }
    }
}
