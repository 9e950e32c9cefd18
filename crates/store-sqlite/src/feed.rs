//! The event feed and named feeds on SQLite.

use futures::TryStreamExt as _;
use noetl_store::from_row;
use noetl_store::{
    FEED_READ_MAX, FeedCursor, FeedDelivery, FeedPage, FeedPlace, FeedPoint, NamedFeed, PageRoom,
    StoreError,
};
use sqlx::query;

use crate::SqliteStore;
use crate::row::{Named, at_most, get, store_error};

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
                query(include_str!("../sql/find_feed_instant.sql")).bind(at.as_micros())
            }
        };
        let row = statement.fetch_optional(&self.readers).await.map_err(store_error)?;
        let Some(row) = row else { return Ok(FeedCursor::default()) };
        let place = FeedPlace { batch: get(&row, "position")?, index: get(&row, "index")? };
        Ok(FeedCursor::default().at(0, place))
    }
}

impl SqliteStore {
    pub(crate) async fn add_feed(&self, feed: &NamedFeed) -> Result<bool, StoreError> {
        let mut writer = self.writer().await?;
        let added = query(include_str!("../sql/put_feed.sql"))
            .bind(&feed.name)
            .bind(feed.filter.to_string())
            .bind(feed.cursor.to_string())
            .bind(feed.created_at.as_micros())
            .bind(feed.moved_at.as_micros())
            .execute(&mut *writer)
            .await
            .map_err(store_error)?;
        Ok(added.rows_affected() > 0)
    }

    pub(crate) async fn find_feed(&self, name: &str) -> Result<Option<NamedFeed>, StoreError> {
        let row = query(include_str!("../sql/find_feed.sql"))
            .bind(name)
            .fetch_optional(&self.readers)
            .await
            .map_err(store_error)?;
        row.as_ref().map(Named).map(from_row::named_feed).transpose()
    }

    pub(crate) async fn list_feeds(&self) -> Result<Vec<NamedFeed>, StoreError> {
        let rows = query(include_str!("../sql/list_feeds.sql"))
            .fetch_all(&self.readers)
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
        let (failures, reason, retry_at) = match delivery {
            FeedDelivery::Working => (0, None, None),
            FeedDelivery::Failed { failures, reason, standing } => {
                (*failures, Some(reason), standing.until())
            }
        };
        let mut writer = self.writer().await?;
        let kept = query(include_str!("../sql/put_feed_delivery.sql"))
            .bind(name)
            .bind(i64::from(failures))
            .bind(reason)
            .bind(retry_at.map(|at| at.as_micros()))
            .execute(&mut *writer)
            .await
            .map_err(store_error)?;
        Ok(kept.rows_affected() > 0)
    }

    pub(crate) async fn remove_feed(&self, name: &str) -> Result<bool, StoreError> {
        let mut writer = self.writer().await?;
        let removed = query(include_str!("../sql/remove_feed.sql"))
            .bind(name)
            .execute(&mut *writer)
            .await
            .map_err(store_error)?;
        Ok(removed.rows_affected() > 0)
    }
}
