//! The event feed across shards: the feeds of all shards merged by time, with a cursor place for
//! each shard.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use futures::future::join_all;
use noetl_store::sql;
use noetl_store::{FEED_READ_MAX, FeedCursor, FeedItem, FeedPage, FeedPoint, StoreError};

use super::Shards;

impl Shards {
    pub(crate) async fn feed(
        &self,
        after: &FeedCursor,
        limit: usize,
    ) -> Result<FeedPage, StoreError> {
        let limit = limit.min(FEED_READ_MAX);
        let read = self.shards.iter().enumerate().map(async |(shard, store)| {
            let after = FeedCursor::default().at(0, after.place(shard));
            sql::feed(store, &after, limit).await
        });
        let pages = join_all(read).await.into_iter().collect::<Result<Vec<_>, StoreError>>()?;
        Ok(merged(pages, after, limit))
    }

    pub(crate) async fn feed_point(&self, point: &FeedPoint) -> Result<FeedCursor, StoreError> {
        let points = self.all(|shard| sql::feed_point(shard, point)).await?;
        let numbered = points.iter().enumerate();
        Ok(numbered
            .fold(FeedCursor::default(), |cursor, (shard, point)| cursor.at(shard, point.place(0))))
    }
}

/// Merges the pages of several shards by time, keeping each shard's own order.
fn merged(pages: Vec<FeedPage>, after: &FeedCursor, limit: usize) -> FeedPage {
    let ends: Vec<FeedCursor> = pages.iter().map(|page| page.next.clone()).collect();
    let mut shards: Vec<_> = pages.into_iter().map(|page| page.items.into_iter()).collect();
    let mut heads: BinaryHeap<Reverse<Head>> = BinaryHeap::new();
    for (shard, items) in shards.iter_mut().enumerate() {
        heads.extend(items.next().map(|item| Reverse(Head { shard, item })));
    }
    let mut page = FeedPage { items: Vec::new(), next: after.clone() };
    // A shard without visible events may still have skipped expired ones.
    for (shard, end) in ends.iter().enumerate() {
        let is_empty = heads.iter().all(|Reverse(head)| head.shard != shard);
        if is_empty && end.place(0) != after.place(shard) {
            page.next = page.next.at(shard, end.place(0));
        }
    }
    while page.items.len() < limit {
        let Some(Reverse(Head { shard, item })) = heads.pop() else { break };
        let next = shards[shard].next();
        // The last event of a shard's page takes the end of that page as its place.
        let place = if next.is_none() { ends[shard].place(0) } else { item.cursor.place(0) };
        page.next = page.next.at(shard, place);
        page.items.push(FeedItem { cursor: page.next.clone(), ..item });
        heads.extend(next.map(|item| Reverse(Head { shard, item })));
    }
    page
}

/// The next event of a shard, ordered by its time.
struct Head {
    shard: usize,
    item: FeedItem,
}

impl Head {
    fn key(&self) -> (noetl_model::Timestamp, usize) {
        (self.item.recorded.at, self.shard)
    }
}

impl PartialEq for Head {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Head {}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Head {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}
