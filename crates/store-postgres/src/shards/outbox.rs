//! The outbox of all shards. Message ids repeat between shards, so the public id of a message
//! includes its shard.

use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::future::join_all;
use noetl_store::sql;
use noetl_store::{
    AttemptOutcome, Failure, ListedMessage, OUTBOX_TAKE_MAX, OutboxListing, OutboxRow, Sent,
    StoreError, Take,
};

use super::Shards;
use crate::settings::SHARDS_MAX;

impl Shards {
    /// Takes messages from one shard after the other, so that no more are taken than are returned;
    /// each call starts with another shard.
    pub(crate) async fn take(&self, take: Take) -> Result<Vec<OutboxRow>, StoreError> {
        let limit = take.limit();
        let first = self.first_to_send.fetch_add(1, Ordering::Relaxed);
        let mut taken = Vec::new();
        let mut silence = None;
        for step in 0..self.shards.len() {
            let index = first.wrapping_add(step) % self.shards.len();
            let wanted = limit - taken.len();
            if wanted == 0 {
                break;
            }
            let asked = sql::take(&self.shards[index], Take { limit: wanted, ..take });
            match self.ask(index, asked).await {
                Ok(rows) => taken.extend(rows.into_iter().map(|row| public(row, index))),
                Err(error) => silence = Some(error),
            }
        }
        match silence {
            // Messages already taken from other shards are returned, so that they do not wait for
            // the end of their hold.
            Some(error) if taken.is_empty() => Err(error),
            Some(_) | None => Ok(taken),
        }
    }

    pub(crate) async fn sent(&self, ids: &[i64]) -> Result<Sent, StoreError> {
        let parts = self.parts(ids.iter().copied(), |id| id, |_, id| id);
        let asked = self.shards.iter().zip(&parts).map(|(shard, part)| sql::sent(shard, part));
        let answers = join_all(asked).await.into_iter().collect::<Result<Vec<_>, StoreError>>()?;
        let mut unknown: Vec<i64> =
            ids.iter().copied().filter(|id| shard_and_id(*id).0 >= self.shards.len()).collect();
        for (index, answer) in answers.iter().enumerate() {
            unknown.extend(answer.unknown.iter().map(|id| public_id(*id, index)));
        }
        Ok(Sent { marked: answers.iter().map(|answer| answer.marked).sum(), unknown })
    }

    pub(crate) async fn failed(
        &self,
        failures: &[Failure],
    ) -> Result<Vec<AttemptOutcome>, StoreError> {
        let parts = self.parts(
            failures.iter().cloned(),
            |failure| failure.id,
            |failure, id| Failure { id, ..failure },
        );
        let asked = self.shards.iter().zip(&parts).map(|(shard, part)| sql::failed(shard, part));
        let answers = join_all(asked).await.into_iter().collect::<Result<Vec<_>, StoreError>>()?;
        let mut answers: Vec<_> = answers.into_iter().map(Vec::into_iter).collect();
        let attempt_outcomes =
            failures.iter().map(|failure| match answers.get_mut(shard_and_id(failure.id).0) {
                Some(part) => part.next().expect("a shard answers for each failure"),
                None => AttemptOutcome::Unknown,
            });
        Ok(attempt_outcomes.collect())
    }

    pub(crate) async fn postpone(&self, ids: &[i64], delay: Duration) -> Result<(), StoreError> {
        let parts = self.parts(ids.iter().copied(), |id| id, |_, id| id);
        let asked =
            self.shards.iter().zip(&parts).map(|(shard, part)| sql::postpone(shard, part, delay));
        join_all(asked).await.into_iter().collect()
    }

    pub(crate) async fn owed(&self) -> Result<u64, StoreError> {
        Ok(self.all(sql::owed).await?.into_iter().sum())
    }

    pub(crate) async fn pending(&self) -> Result<u64, StoreError> {
        Ok(self.all(sql::pending).await?.into_iter().sum())
    }

    pub(crate) async fn list_messages(
        &self,
        page: OutboxListing,
    ) -> Result<Vec<ListedMessage>, StoreError> {
        let asked = self.shards.iter().enumerate().map(async |(index, shard)| {
            let after = after_in(page.after, index);
            let listed = sql::list_messages(shard, OutboxListing { after, ..page }).await?;
            let listed = listed.into_iter();
            Ok(listed.map(|it| ListedMessage { row: public(it.row, index), ..it }).collect())
        });
        let listed: Result<Vec<Vec<ListedMessage>>, StoreError> =
            join_all(asked).await.into_iter().collect();
        let mut listed = listed?.concat();
        listed.sort_by_key(|it| it.row.id);
        listed.truncate(page.limit.min(OUTBOX_TAKE_MAX));
        Ok(listed)
    }

    pub(crate) async fn revive(&self, ids: &[i64]) -> Result<u64, StoreError> {
        let parts = self.parts(ids.iter().copied(), |id| id, |_, id| id);
        let asked = self.shards.iter().zip(&parts).map(|(shard, part)| sql::revive(shard, part));
        join_all(asked).await.into_iter().sum()
    }

    pub(crate) async fn discard(&self, ids: &[i64]) -> Result<u64, StoreError> {
        let parts = self.parts(ids.iter().copied(), |id| id, |_, id| id);
        let asked = self.shards.iter().zip(&parts).map(|(shard, part)| sql::discard(shard, part));
        join_all(asked).await.into_iter().sum()
    }
}

impl Shards {
    /// Splits items by shard and converts their ids to the shard's own; items of unknown shards are
    /// dropped.
    fn parts<T: Clone>(
        &self,
        all: impl Iterator<Item = T>,
        id_of: impl Fn(T) -> i64,
        with_id: impl Fn(T, i64) -> T,
    ) -> Vec<Vec<T>> {
        let mut parts: Vec<Vec<T>> = self.shards.iter().map(|_| Vec::new()).collect();
        for it in all {
            let (shard, id) = shard_and_id(id_of(it.clone()));
            if let Some(part) = parts.get_mut(shard) {
                part.push(with_id(it, id));
            }
        }
        parts
    }
}

fn public(row: OutboxRow, shard: usize) -> OutboxRow {
    OutboxRow { id: public_id(row.id, shard), ..row }
}

/// Returns the last id of a shard that does not come after a public id.
fn after_in(public_id: i64, shard: usize) -> i64 {
    public_id.saturating_sub(index(shard)).div_euclid(shards_max())
}

fn public_id(id: i64, shard: usize) -> i64 {
    id * shards_max() + index(shard)
}

fn shard_and_id(public_id: i64) -> (usize, i64) {
    let shard = public_id.rem_euclid(shards_max());
    (usize::try_from(shard).expect("a remainder fits"), public_id.div_euclid(shards_max()))
}

fn index(shard: usize) -> i64 {
    i64::try_from(shard).expect("an index of a shard fits")
}

fn shards_max() -> i64 {
    i64::try_from(SHARDS_MAX).expect("the bound on shards fits")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_identity_of_a_message_determines_its_shard() {
        for (id, shard) in [(1, 0), (1, 1), (7, SHARDS_MAX - 1), (i64::MAX / 1024 - 1, 3)] {
            assert_eq!(shard_and_id(public_id(id, shard)), (shard, id));
        }
    }

    #[test]
    fn a_page_goes_on_after_the_same_message_in_every_shard() {
        for (id, shard) in [(1, 0), (5, 2)] {
            let after = public_id(id, shard);
            for other in 0..4 {
                let last = after_in(after, other);
                assert!(public_id(last, other) <= after && public_id(last + 1, other) > after);
            }
        }
    }
}
