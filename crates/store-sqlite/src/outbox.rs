//! The outbox on SQLite.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use noetl_model::Timestamp;
use noetl_store::from_row;
use noetl_store::{
    Failure, Fate, Letter, LetterPage, OUTBOX_ATTEMPTS_MAX, OUTBOX_TAKE_MAX, OutboxRow, Sent,
    StoreError, Take, Taker,
};
use sqlx::{SqliteConnection, query, query_as, query_scalar};

use crate::SqliteStore;
use crate::row::{Named, array, at_most, get, store_error};
use crate::store::begin;

impl SqliteStore {
    pub(crate) async fn take(&self, take: Take) -> Result<Vec<OutboxRow>, StoreError> {
        let mut writer = self.lazy_writer().await?;
        let now = self.clock.now();
        let statement = match take.taker {
            Taker::Relay => query(include_str!("../sql/take_messages.sql")),
            Taker::Publisher => query(include_str!("../sql/claim_messages.sql")),
        };
        let statement = statement
            .bind(now.as_micros())
            .bind(now.after(take.hold).as_micros())
            .bind(at_most(take.limit, OUTBOX_TAKE_MAX));
        let statement = match take.taker {
            Taker::Relay => statement.bind(at_most(take.retries_first(), OUTBOX_TAKE_MAX)),
            Taker::Publisher => statement,
        };
        let rows = statement
            .bind(OUTBOX_ATTEMPTS_MAX)
            .fetch_all(&mut *writer)
            .await
            .map_err(store_error)?;
        let mut taken = Vec::with_capacity(rows.len());
        for row in &rows {
            if !get::<bool>(row, "is_dead")? {
                taken.push(from_row::outbox_row(Named(row))?);
            }
        }
        // RETURNING guarantees no order.
        taken.sort_by_key(|row| row.id);
        Ok(taken)
    }

    pub(crate) async fn sent(&self, ids: &[i64]) -> Result<Sent, StoreError> {
        let mut writer = self.lazy_writer().await?;
        let gone: Vec<i64> = query_scalar(include_str!("../sql/remove_messages.sql"))
            .bind(array(ids))
            .fetch_all(&mut *writer)
            .await
            .map_err(store_error)?;
        let marked = gone.len() as u64;
        let gone: HashSet<i64> = gone.into_iter().collect();
        let missing = ids.iter().filter(|id| !gone.contains(id)).copied().collect();
        Ok(Sent { marked, unknown: never_given(&mut writer, missing).await? })
    }

    pub(crate) async fn failed(&self, failures: &[Failure]) -> Result<Vec<Fate>, StoreError> {
        let mut writer = self.writer().await?;
        let mut transaction = begin(&mut writer).await?;
        let now = self.clock.now();
        let ids: Vec<i64> = failures.iter().map(|failure| failure.id).collect();
        let attempts: Vec<(i64, u32)> = query_as(include_str!("../sql/find_messages.sql"))
            .bind(array(&ids))
            .fetch_all(&mut *transaction)
            .await
            .map_err(store_error)?;
        let attempts: HashMap<i64, u32> = attempts.into_iter().collect();
        let missing = ids.into_iter().filter(|id| !attempts.contains_key(id)).collect();
        let unknown: HashSet<i64> =
            never_given(&mut transaction, missing).await?.into_iter().collect();
        let fates = failures.iter().map(|failure| match attempts.get(&failure.id) {
            Some(attempts) => failure.fate(*attempts),
            None if unknown.contains(&failure.id) => Fate::Unknown,
            None => Fate::Over,
        });
        let fates: Vec<Fate> = fates.collect();
        let owed = failures
            .iter()
            .zip(&fates)
            .filter_map(|(it, fate)| Some((it.id, it.kept_error(), waits_until(*fate, now)?)));
        query(include_str!("../sql/fail_messages.sql"))
            .bind(array(owed))
            .bind(now.as_micros())
            .execute(&mut *transaction)
            .await
            .map_err(store_error)?;
        transaction.commit().await.map_err(store_error)?;
        Ok(fates)
    }

    pub(crate) async fn postpone(&self, ids: &[i64], delay: Duration) -> Result<(), StoreError> {
        let mut writer = self.lazy_writer().await?;
        query(include_str!("../sql/postpone_messages.sql"))
            .bind(array(ids))
            .bind(self.clock.now().after(delay).as_micros())
            .execute(&mut *writer)
            .await
            .map_err(store_error)?;
        Ok(())
    }

    pub(crate) async fn owed(&self) -> Result<u64, StoreError> {
        query_scalar(include_str!("../sql/count_messages.sql"))
            .fetch_one(&self.readers)
            .await
            .map_err(store_error)
    }

    pub(crate) async fn pending(&self) -> Result<u64, StoreError> {
        query_scalar(include_str!("../sql/count_pending_messages.sql"))
            .bind(self.clock.now().as_micros())
            .fetch_one(&self.readers)
            .await
            .map_err(store_error)
    }

    pub(crate) async fn letters(&self, page: LetterPage) -> Result<Vec<Letter>, StoreError> {
        let rows = query(include_str!("../sql/list_messages.sql"))
            .bind(page.after)
            .bind(at_most(page.limit, OUTBOX_TAKE_MAX))
            .bind(page.state.map(|state| state.as_str()))
            .fetch_all(&self.readers)
            .await
            .map_err(store_error)?;
        rows.iter().map(Named).map(from_row::letter).collect()
    }

    pub(crate) async fn revive(&self, ids: &[i64]) -> Result<u64, StoreError> {
        let mut writer = self.writer().await?;
        let revived = query(include_str!("../sql/revive_messages.sql"))
            .bind(array(ids))
            .execute(&mut *writer)
            .await
            .map_err(store_error)?;
        Ok(revived.rows_affected())
    }

    pub(crate) async fn discard(&self, ids: &[i64]) -> Result<u64, StoreError> {
        let mut writer = self.writer().await?;
        let discarded = query(include_str!("../sql/drop_messages.sql"))
            .bind(array(ids))
            .execute(&mut *writer)
            .await
            .map_err(store_error)?;
        Ok(discarded.rows_affected())
    }
}

/// Returns the end of a failed message's wait, `Some(None)` for a dead one, and `None` if nothing
/// changes.
fn waits_until(fate: Fate, now: Timestamp) -> Option<Option<i64>> {
    match fate {
        Fate::RetryIn(delay) => Some(Some(now.after(delay).as_micros())),
        Fate::Dead => Some(None),
        Fate::Over | Fate::Unknown => None,
    }
}

/// Returns the ids that no message ever had.
async fn never_given(
    connection: &mut SqliteConnection,
    mut ids: Vec<i64>,
) -> Result<Vec<i64>, StoreError> {
    if !ids.is_empty() {
        let last: i64 = query_scalar(include_str!("../sql/last_message_id.sql"))
            .fetch_one(connection)
            .await
            .map_err(store_error)?;
        ids.retain(|id| !(1..=last).contains(id));
    }
    Ok(ids)
}
