//! In-memory event feed, in append order.

use std::collections::BTreeMap;

use noetl_model::{ExecutionId, Seq, Timestamp};

use super::MemoryStore;
use crate::{
    FEED_READ_MAX, FeedCursor, FeedDelivery, FeedItem, FeedPage, FeedPlace, FeedPoint, NamedFeed,
    PAGE_MAX, PageSpace, StoreError, json_len,
};

#[derive(Clone, Default)]
pub(super) struct FeedTable {
    /// The batches; number `n` is at index `n - 1`.
    batches: Vec<Batch>,
    named: BTreeMap<String, NamedFeed>,
}

#[derive(Clone)]
struct Batch {
    written_at: Timestamp,
    places: Vec<(ExecutionId, Seq)>,
}

impl FeedTable {
    pub(super) fn add(&mut self, places: Vec<(ExecutionId, Seq)>, written_at: Timestamp) {
        if !places.is_empty() {
            self.batches.push(Batch { written_at, places });
        }
    }

    /// Empties batches of places that are older than an instant. Returns their number. A batch keeps
    /// its number.
    pub(super) fn forget(&mut self, before: Timestamp, limit: usize) -> u64 {
        let old = self.batches.iter_mut().filter(|it| it.written_at < before);
        let old = old.filter(|it| !it.places.is_empty()).take(limit.min(PAGE_MAX));
        old.map(|batch| batch.places.clear()).count() as u64
    }

    /// Returns the events after a place, each with its own place.
    fn after(
        &self,
        after: FeedPlace,
    ) -> impl Iterator<Item = (FeedPlace, ExecutionId, Seq)> + use<'_> {
        let numbered = (1..).zip(&self.batches).skip_while(move |(batch, _)| *batch < after.batch);
        let places = numbered.flat_map(|(batch, it)| {
            let places = (1..).zip(&it.places);
            places.map(move |(index, (execution, seq))| {
                (FeedPlace { batch, index }, *execution, *seq)
            })
        });
        places.filter(move |(place, _, _)| *place > after)
    }
}

impl MemoryStore {
    pub(crate) async fn feed(
        &self,
        after: &FeedCursor,
        limit: usize,
    ) -> Result<FeedPage, StoreError> {
        let tables = self.lock();
        let places = tables.feed.after(after.place(0)).take(limit.min(FEED_READ_MAX));
        let items = places.filter_map(|(place, execution, seq)| {
            let row = tables.executions.get(&execution)?;
            let recorded = row.log.get(usize::try_from(seq.0.checked_sub(1)?).ok()?)?.clone();
            let cursor = FeedCursor::default().at(0, place);
            let path = row.summary.playbook.path.clone();
            Some(FeedItem { execution, path, recorded, cursor })
        });
        let mut room = PageSpace::default();
        // The event that fills the page is its last.
        let mut is_full = false;
        let items = items.take_while(|item| {
            let has_room = !is_full;
            is_full = !room.take(json_len(&item.recorded.event));
            has_room
        });
        let items: Vec<FeedItem> = items.collect();
        let next = items.last().map_or_else(|| after.clone(), |last| last.cursor.clone());
        Ok(FeedPage { items, next })
    }

    pub(crate) async fn feed_point(&self, point: &FeedPoint) -> Result<FeedCursor, StoreError> {
        let tables = self.lock();
        let batches = &tables.feed.batches;
        let before = match point {
            FeedPoint::Start => return Ok(FeedCursor::default()),
            FeedPoint::End => batches.len(),
            FeedPoint::Since(at) => {
                batches.iter().position(|it| it.written_at >= *at).unwrap_or(batches.len())
            }
        };
        let Some(last) = before.checked_sub(1) else { return Ok(FeedCursor::default()) };
        let fits = |count: usize| i64::try_from(count).expect("a count of rows in memory fits");
        let place = FeedPlace { batch: fits(before), index: fits(batches[last].places.len()) };
        Ok(FeedCursor::default().at(0, place))
    }
}

impl MemoryStore {
    pub(crate) async fn add_feed(&self, feed: &NamedFeed) -> Result<bool, StoreError> {
        let named = &mut self.lock().feed.named;
        let is_new = !named.contains_key(&feed.name);
        if is_new {
            named.insert(feed.name.clone(), feed.clone());
        }
        Ok(is_new)
    }

    pub(crate) async fn find_feed(&self, name: &str) -> Result<Option<NamedFeed>, StoreError> {
        Ok(self.lock().feed.named.get(name).cloned())
    }

    pub(crate) async fn list_feeds(&self) -> Result<Vec<NamedFeed>, StoreError> {
        Ok(self.lock().feed.named.values().cloned().collect())
    }

    pub(crate) async fn move_feed(
        &self,
        name: &str,
        from: &FeedCursor,
        to: &FeedCursor,
    ) -> Result<bool, StoreError> {
        let now = self.clock.now();
        let named = &mut self.lock().feed.named;
        let found = named.get_mut(name).filter(|feed| feed.cursor == *from);
        let moved = found.map(|feed| (feed.cursor, feed.moved_at) = (to.clone(), now));
        Ok(moved.is_some())
    }

    pub(crate) async fn put_feed_delivery(
        &self,
        name: &str,
        delivery: &FeedDelivery,
    ) -> Result<bool, StoreError> {
        let mut tables = self.lock();
        let found = tables.feed.named.get_mut(name);
        Ok(found.map(|feed| feed.delivery = delivery.clone()).is_some())
    }

    pub(crate) async fn remove_feed(&self, name: &str) -> Result<bool, StoreError> {
        Ok(self.lock().feed.named.remove(name).is_some())
    }
}
