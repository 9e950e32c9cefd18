//! The event feed and named feeds on PostgreSQL.

use futures::TryStreamExt as _;
use noetl_model::Timestamp;
use noetl_store::from_row::{self, FeedRows, feed_cursor};
use noetl_store::to_row::{at_most, to_json};
use noetl_store::{
    FEED_READ_MAX, FeedCursor, FeedDelivery, FeedPage, FeedPoint, NamedFeed, StoreError,
};
use sqlx::query;

use crate::PgStore;
use crate::instant::Instant;
use crate::pool::ConnectionPool;
use crate::row::{Named, store_error};

impl PgStore {
    pub(crate) async fn feed(
        &self,
        after: &FeedCursor,
        limit: usize,
    ) -> Result<FeedPage, StoreError> {
        let place = after.place(0);
        let mut connection = self.pool.connection().await?;
        let mut rows = query(include_str!("../sql/read_feed.sql"))
            .bind(place.batch)
            .bind(place.index)
            .bind(at_most(limit, FEED_READ_MAX))
            .fetch(&mut *connection);
        let mut reader = FeedRows::new(after);
        while let Some(row) = rows.try_next().await.map_err(store_error)? {
            if !reader.add(Named(&row))? {
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
                query(include_str!("../sql/find_feed_instant.sql")).bind(Instant(*at))
            }
        };
        let row = self.row(statement).await?;
        row.map_or_else(|| Ok(FeedCursor::default()), |row| feed_cursor(Named(&row)))
    }
}

/// Shifts the positions of future feed batches behind the existing ones.
pub(crate) async fn shift(pool: &ConnectionPool) -> Result<(), StoreError> {
    query(include_str!("../sql/shift_feed.sql"))
        .execute(&mut *pool.connection().await?)
        .await
        .map_err(store_error)?;
    Ok(())
}

/// The number of feed batches that one statement deletes.
const DROP_MAX: i64 = 1000;

impl PgStore {
    /// Deletes feed batches from before an instant whose executions are gone.
    pub(crate) async fn drop_feed_batches(&self, before: Timestamp) -> Result<(), StoreError> {
        loop {
            let statement = query(include_str!("../sql/drop_feed_batches.sql"))
                .bind(Instant(before))
                .bind(DROP_MAX);
            let dropped = self.write(statement).await?;
            if dropped == 0 {
                return Ok(());
            }
        }
    }
}

impl PgStore {
    pub(crate) async fn add_feed(&self, feed: &NamedFeed) -> Result<bool, StoreError> {
        let statement = query(include_str!("../sql/put_feed.sql"))
            .bind(&feed.name)
            .bind(to_json(&feed.filter))
            .bind(feed.cursor.to_string())
            .bind(Instant(feed.created_at))
            .bind(Instant(feed.moved_at));
        let added = self.write(statement).await?;
        Ok(added > 0)
    }

    pub(crate) async fn find_feed(&self, name: &str) -> Result<Option<NamedFeed>, StoreError> {
        let row = self.row(query(include_str!("../sql/find_feed.sql")).bind(name)).await?;
        row.as_ref().map(Named).map(from_row::named_feed).transpose()
    }

    pub(crate) async fn list_feeds(&self) -> Result<Vec<NamedFeed>, StoreError> {
        let rows = self.rows(query(include_str!("../sql/list_feeds.sql"))).await?;
        rows.iter().map(Named).map(from_row::named_feed).collect()
    }

    pub(crate) async fn move_feed(
        &self,
        name: &str,
        from: &FeedCursor,
        to: &FeedCursor,
    ) -> Result<bool, StoreError> {
        let statement = query(include_str!("../sql/move_feed.sql"))
            .bind(name)
            .bind(from.to_string())
            .bind(to.to_string())
            .bind(self.now());
        let moved = self.write(statement).await?;
        Ok(moved > 0)
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
            .bind(retry_at.map(Instant));
        let kept = self.write(statement).await?;
        Ok(kept > 0)
    }

    pub(crate) async fn remove_feed(&self, name: &str) -> Result<bool, StoreError> {
        let removed = self.write(query(include_str!("../sql/remove_feed.sql")).bind(name)).await?;
        Ok(removed > 0)
    }
}
