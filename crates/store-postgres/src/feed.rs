//! The event feed and named feeds on PostgreSQL.

use futures::TryStreamExt as _;
use noetl_model::Timestamp;
use noetl_store::from_row;
use noetl_store::{
    FEED_READ_MAX, FeedCursor, FeedDelivery, FeedPage, FeedPlace, FeedPoint, NamedFeed, PageRoom,
    StoreError,
};
use sqlx::query;

use crate::PgStore;
use crate::instant::Instant;
use crate::pool::ConnectionPool;
use crate::row::{Named, at_most, get, store_error, to_json};

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
        let mut page = FeedPage { items: Vec::new(), next: after.clone() };
        let mut room = PageRoom::default();
        while let Some(row) = rows.try_next().await.map_err(store_error)? {
            let place = FeedPlace { batch: get(&row, "position")?, index: get(&row, "index")? };
            page.next = FeedCursor::default().at(0, place);
            page.items.extend(from_row::feed_item(Named(&row), &page.next)?);
            let len = get::<Option<&str>>(&row, "body")?.map_or(0, str::len);
            if !room.take(len) {
                break;
            }
        }
        Ok(page)
    }

    pub(crate) async fn feed_point(&self, point: &FeedPoint) -> Result<FeedCursor, StoreError> {
        let statement = match point {
            FeedPoint::Start => return Ok(FeedCursor::default()),
            FeedPoint::End => query(include_str!("../sql/find_feed_end.sql")),
            FeedPoint::Since(at) => {
                query(include_str!("../sql/find_feed_instant.sql")).bind(Instant(*at))
            }
        };
        let row = statement
            .fetch_optional(&mut *self.pool.connection().await?)
            .await
            .map_err(store_error)?;
        let Some(row) = row else { return Ok(FeedCursor::default()) };
        let place = FeedPlace { batch: get(&row, "position")?, index: get(&row, "index")? };
        Ok(FeedCursor::default().at(0, place))
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
            let dropped = query(include_str!("../sql/drop_feed_batches.sql"))
                .bind(Instant(before))
                .bind(DROP_MAX)
                .execute(&mut *self.pool.connection().await?)
                .await
                .map_err(store_error)?;
            if dropped.rows_affected() == 0 {
                return Ok(());
            }
        }
    }
}

impl PgStore {
    pub(crate) async fn add_feed(&self, feed: &NamedFeed) -> Result<bool, StoreError> {
        let added = query(include_str!("../sql/put_feed.sql"))
            .bind(&feed.name)
            .bind(to_json(&feed.filter))
            .bind(feed.cursor.to_string())
            .bind(Instant(feed.created_at))
            .bind(Instant(feed.moved_at))
            .execute(&mut *self.pool.connection().await?)
            .await
            .map_err(store_error)?;
        Ok(added.rows_affected() > 0)
    }

    pub(crate) async fn find_feed(&self, name: &str) -> Result<Option<NamedFeed>, StoreError> {
        let row = query(include_str!("../sql/find_feed.sql"))
            .bind(name)
            .fetch_optional(&mut *self.pool.connection().await?)
            .await
            .map_err(store_error)?;
        row.as_ref().map(Named).map(from_row::named_feed).transpose()
    }

    pub(crate) async fn list_feeds(&self) -> Result<Vec<NamedFeed>, StoreError> {
        let rows = query(include_str!("../sql/list_feeds.sql"))
            .fetch_all(&mut *self.pool.connection().await?)
            .await
            .map_err(store_error)?;
        rows.iter().map(Named).map(from_row::named_feed).collect()
    }

    pub(crate) async fn move_feed(
        &self,
        name: &str,
        from: &FeedCursor,
        to: &FeedCursor,
    ) -> Result<bool, StoreError> {
        let moved = query(include_str!("../sql/move_feed.sql"))
            .bind(name)
            .bind(from.to_string())
            .bind(to.to_string())
            .bind(self.now())
            .execute(&mut *self.pool.connection().await?)
            .await
            .map_err(store_error)?;
        Ok(moved.rows_affected() > 0)
    }

    pub(crate) async fn put_feed_delivery(
        &self,
        name: &str,
        delivery: &FeedDelivery,
    ) -> Result<bool, StoreError> {
        let (failures, reason, retry_at) = match delivery {
            FeedDelivery::Working => (0, None, None),
            FeedDelivery::Failed { failures, reason, standing } => {
                (*failures, Some(reason), standing.until())
            }
        };
        let kept = query(include_str!("../sql/put_feed_delivery.sql"))
            .bind(name)
            .bind(i64::from(failures))
            .bind(reason)
            .bind(retry_at.map(Instant))
            .execute(&mut *self.pool.connection().await?)
            .await
            .map_err(store_error)?;
        Ok(kept.rows_affected() > 0)
    }

    pub(crate) async fn remove_feed(&self, name: &str) -> Result<bool, StoreError> {
        let removed = query(include_str!("../sql/remove_feed.sql"))
            .bind(name)
            .execute(&mut *self.pool.connection().await?)
            .await
            .map_err(store_error)?;
        Ok(removed.rows_affected() > 0)
    }
}
