//! In-memory failed messages.

use noetl_model::ExecutionId;

use super::super::MemoryStore;
use crate::{FailedMark, FailedMessage, FailedStanding, PAGE_MAX, StoreError};

impl MemoryStore {
    pub(crate) async fn put_failed_message(
        &self,
        message: &FailedMessage,
    ) -> Result<(), StoreError> {
        let key = (message.subscription, message.arrival.once.clone());
        self.lock().records.failed_messages.insert(key, message.clone());
        Ok(())
    }

    pub(crate) async fn failed_among(
        &self,
        subscription: ExecutionId,
        named: &[String],
        order_keys: &[String],
    ) -> Result<Vec<FailedMark>, StoreError> {
        let tables = self.lock();
        let waits = |it: &FailedMessage| match it.standing {
            FailedStanding::Waiting { .. } => {
                it.order_key.as_ref().is_some_and(|key| order_keys.contains(key))
            }
            FailedStanding::Dead => false,
        };
        let found = tables.records.failed_messages.values().filter(|it| {
            it.subscription == subscription && (named.contains(&it.arrival.once) || waits(it))
        });
        let marks = found.map(|it| FailedMark {
            once: it.arrival.once.clone(),
            order_key: it.order_key.clone(),
            failures: it.failures,
            standing: it.standing,
            first_at: it.first_at,
        });
        Ok(marks.collect())
    }

    pub(crate) async fn failed_message(
        &self,
        subscription: ExecutionId,
        once: &str,
    ) -> Result<Option<FailedMessage>, StoreError> {
        let tables = self.lock();
        Ok(tables.records.failed_messages.get(&(subscription, once.to_owned())).cloned())
    }

    pub(crate) async fn failed_messages(
        &self,
        subscription: ExecutionId,
        after: &str,
        limit: usize,
    ) -> Result<Vec<FailedMessage>, StoreError> {
        let tables = self.lock();
        let found = tables
            .records
            .failed_messages
            .iter()
            .filter(|((of, once), _)| *of == subscription && once.as_str() > after);
        Ok(found.take(limit.min(PAGE_MAX)).map(|(_, it)| it.clone()).collect())
    }

    pub(crate) async fn remove_failed_messages(
        &self,
        subscription: ExecutionId,
        named: &[String],
    ) -> Result<u64, StoreError> {
        let mut tables = self.lock();
        let messages = &mut tables.records.failed_messages;
        let removed =
            named.iter().filter(|once| messages.remove(&(subscription, (*once).clone())).is_some());
        Ok(removed.count() as u64)
    }
}
