//! The event feed and the named feeds.

use super::{SqlArgument, SqlDatabase, all_of, first_of, is_written};
use crate::from_row::{FeedRows, feed_cursor, named_feed};
use crate::to_row::{at_most, to_json};
use crate::{FEED_READ_MAX, FeedCursor, FeedDelivery, FeedPage, FeedPoint, NamedFeed, StoreError};

pub async fn feed<D: SqlDatabase>(
    database: &D,
    after: &FeedCursor,
    limit: usize,
) -> Result<FeedPage, StoreError> {
    let place = after.place(0);
    let arguments = [place.batch.into(), place.index.into(), at_most(limit, FEED_READ_MAX).into()];
    let mut reader = FeedRows::new(after);
    database.each(&database.sql().read_feed, &arguments, |row| reader.add(row)).await?;
    Ok(reader.into_page())
}

pub async fn feed_point<D: SqlDatabase>(
    database: &D,
    point: &FeedPoint,
) -> Result<FeedCursor, StoreError> {
    let sql = database.sql();
    let found = match point {
        FeedPoint::Start => None,
        FeedPoint::End => first_of(database, &sql.find_feed_end, &[], feed_cursor).await?,
        FeedPoint::Since(at) => {
            first_of(database, &sql.find_feed_instant, &[(*at).into()], feed_cursor).await?
        }
    };
    Ok(found.unwrap_or_default())
}

pub async fn add_feed<D: SqlDatabase>(database: &D, feed: &NamedFeed) -> Result<bool, StoreError> {
    let arguments = [
        (&feed.name).into(),
        to_json(&feed.filter).into(),
        feed.cursor.to_string().into(),
        feed.created_at.into(),
        feed.moved_at.into(),
    ];
    is_written(database, &database.sql().put_feed, &arguments).await
}

pub async fn find_feed<D: SqlDatabase>(
    database: &D,
    name: &str,
) -> Result<Option<NamedFeed>, StoreError> {
    first_of(database, &database.sql().find_feed, &[name.into()], named_feed).await
}

pub async fn list_feeds<D: SqlDatabase>(database: &D) -> Result<Vec<NamedFeed>, StoreError> {
    all_of(database, &database.sql().list_feeds, &[], named_feed).await
}

pub async fn move_feed<D: SqlDatabase>(
    database: &D,
    name: &str,
    from: &FeedCursor,
    to: &FeedCursor,
) -> Result<bool, StoreError> {
    let arguments = [name.into(), from.to_string().into(), to.to_string().into(), SqlArgument::Now];
    is_written(database, &database.sql().move_feed, &arguments).await
}

pub async fn put_feed_delivery<D: SqlDatabase>(
    database: &D,
    name: &str,
    delivery: &FeedDelivery,
) -> Result<bool, StoreError> {
    let (failures, reason, retry_at) = delivery.columns();
    let arguments = [name.into(), failures.into(), reason.into(), retry_at.into()];
    is_written(database, &database.sql().put_feed_delivery, &arguments).await
}

pub async fn remove_feed<D: SqlDatabase>(database: &D, name: &str) -> Result<bool, StoreError> {
    is_written(database, &database.sql().remove_feed, &[name.into()]).await
}
