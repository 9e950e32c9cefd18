//! The event feed and named feeds on SQLite.

use futures::TryStreamExt as _;
use noetl_store::from_row::{self, FeedRows, feed_cursor};
use noetl_store::to_row::at_most;
use noetl_store::{
    FEED_READ_MAX, FeedCursor, FeedDelivery, FeedPage, FeedPoint, NamedFeed, StoreError,
};
use sqlx::query;

use crate::SqliteStore;
use crate::row::{NamedRow, store_error};

impl SqliteStore {
    pub(crate) async fn feed(
        &self,
        after: &FeedCursor,
        limit: usize,
    ) -> Result<FeedPage, StoreError> {
        let place = after.place(0);
        let mut rows = query(include_str!("../sql/read_feed.sql"))
            .bind(place.batch)
            .bind(place.index)
            .bind(at_most(limit, FEED_READ_MAX))
            .fetch(&self.readers);
        let mut reader = FeedRows::new(after);
        while let Some(row) = rows.try_next().await.map_err(store_error)? {
            if !reader.add(NamedRow(&row))? {
                break;
            }
        }
        Ok(reader.into_page())
    }

    pub(crate) async fn feed_point(&self, point: &FeedPoint) -> Result<FeedCursor, StoreError> {
        let statement = match point {
            FeedPoint::Start => return Ok(FeedCursor::default()),
            FeedPoint::End => query(include_str!("../sql/find_feed_end.sql")),
            FeedPoint::Since(at) => {
                query(include_str!("../sql/find_feed_instant.sql")).bind(at.as_micros())
            }
        };
        let row = self.row(statement).await?;
        row.map_or_else(|| Ok(FeedCursor::default()), |row| feed_cursor(NamedRow(&row)))
    }
}

impl SqliteStore {
    pub(crate) async fn add_feed(&self, feed: &NamedFeed) -> Result<bool, StoreError> {
        let statement = query(include_str!("../sql/put_feed.sql"))
            .bind(&feed.name)
            .bind(feed.filter.to_string())
            .bind(feed.cursor.to_string())
            .bind(feed.created_at.as_micros())
            .bind(feed.moved_at.as_micros());
        let added = self.write(statement).await?;
        Ok(added > 0)
    }

    pub(crate) async fn find_feed(&self, name: &str) -> Result<Option<NamedFeed>, StoreError> {
        let row = self.row(query(include_str!("../sql/find_feed.sql")).bind(name)).await?;
        row.as_ref().map(NamedRow).map(from_row::named_feed).transpose()
    }

    pub(crate) async fn list_feeds(&self) -> Result<Vec<NamedFeed>, StoreError> {
        let rows = self.rows(query(include_str!("../sql/list_feeds.sql"))).await?;
        rows.iter().map(NamedRow).map(from_row::named_feed).collect()
    }

    pub(crate) async fn move_feed(
        &self,
        name: &str,
        from: &FeedCursor,
        to: &FeedCursor,
    ) -> Result<bool, StoreError> {
        let mut writer = self.writer().await?;
        let moved = query(include_str!("../sql/move_feed.sql"))
            .bind(name)
            .bind(from.to_string())
            .bind(to.to_string())
            .bind(self.clock.now().as_micros())
            .execute(&mut *writer)
            .await
            .map_err(store_error)?;
        Ok(moved.rows_affected() > 0)
    }

    pub(crate) async fn put_feed_delivery(
        &self,
        name: &str,
        delivery: &FeedDelivery,
    ) -> Result<bool, StoreError> {
        let (failures, reason, retry_at) = delivery.columns();
        let statement = query(include_str!("../sql/put_feed_delivery.sql"))
            .bind(name)
            .bind(i64::from(failures))
            .bind(reason)
            .bind(retry_at.map(|at| at.as_micros()));
        let kept = self.write(statement).await?;
        Ok(kept > 0)
    }

    pub(crate) async fn remove_feed(&self, name: &str) -> Result<bool, StoreError> {
        let removed = self.write(query(include_str!("../sql/remove_feed.sql")).bind(name)).await?;
        Ok(removed > 0)
    }
}
