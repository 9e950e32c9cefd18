//! The outbox on PostgreSQL.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use noetl_store::from_row::{self, Columns as _};
use noetl_store::{
    Failure, Fate, Letter, LetterPage, OUTBOX_ATTEMPTS_MAX, OUTBOX_TAKE_MAX, OutboxRow, Sent,
    StoreError, Take, Taker,
};
use sqlx::postgres::PgRow;
use sqlx::{query, query_scalar};

use crate::PgStore;
use crate::row::{Named, at_most, get, micros, plain, store_error, unsigned};

impl PgStore {
    pub(crate) async fn take(&self, take: Take) -> Result<Vec<OutboxRow>, StoreError> {
        let rows = match take.taker {
            Taker::Relay => query(include_str!("../sql/take_messages.sql"))
                .bind(self.now())
                .bind(micros(take.hold))
                .bind(at_most(take.limit, OUTBOX_TAKE_MAX))
                .bind(at_most(take.retries_first(), OUTBOX_TAKE_MAX))
                .bind(i64::from(OUTBOX_ATTEMPTS_MAX))
                .fetch_all(&mut *self.pool.connection().await?)
                .await
                .map_err(store_error)?,
            Taker::Publisher => self.claim(take).await?,
        };
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
        if ids.is_empty() {
            return Ok(Sent::default());
        }
        let gone: Vec<i64> = query_scalar(include_str!("../sql/remove_messages.sql"))
            .bind(ids)
            .fetch_all(&mut *self.pool.connection().await?)
            .await
            .map_err(store_error)?;
        let marked = gone.len() as u64;
        let gone: HashSet<i64> = gone.into_iter().collect();
        let missing = ids.iter().filter(|id| !gone.contains(id)).copied().collect();
        Ok(Sent { marked, unknown: self.never_given(missing).await? })
    }

    pub(crate) async fn failed(&self, failures: &[Failure]) -> Result<Vec<Fate>, StoreError> {
        if failures.is_empty() {
            return Ok(Vec::new());
        }
        let ids: Vec<i64> = failures.iter().map(|failure| failure.id).collect();
        let mut transaction = self.begin().await?;
        let rows = query(include_str!("../sql/lock_messages.sql"))
            .bind(&ids)
            .fetch_all(&mut *transaction)
            .await
            .map_err(store_error)?;
        let mut attempts: HashMap<i64, u32> = HashMap::with_capacity(rows.len());
        for row in &rows {
            attempts.insert(get(row, "outbox_id")?, Named(row).number("attempts")?);
        }
        let missing = ids.iter().filter(|id| !attempts.contains_key(id)).copied().collect();
        let unknown: HashSet<i64> = self.never_given(missing).await?.into_iter().collect();
        let fates = failures.iter().map(|failure| match attempts.get(&failure.id) {
            Some(attempts) => failure.fate(*attempts),
            None if unknown.contains(&failure.id) => Fate::Unknown,
            None => Fate::Over,
        });
        let fates: Vec<Fate> = fates.collect();
        let owed: Vec<(&Failure, Option<i64>)> = failures
            .iter()
            .zip(&fates)
            .filter_map(|(it, fate)| Some((it, delay(*fate)?)))
            .collect();
        query(include_str!("../sql/fail_messages.sql"))
            .bind(self.now())
            .bind(owed.iter().map(|(failure, _)| failure.id).collect::<Vec<_>>())
            .bind(
                owed.iter().map(|(it, _)| plain(&it.kept_error()).into_owned()).collect::<Vec<_>>(),
            )
            .bind(owed.iter().map(|(_, delay)| *delay).collect::<Vec<_>>())
            .execute(&mut *transaction)
            .await
            .map_err(store_error)?;
        transaction.commit().await.map_err(store_error)?;
        Ok(fates)
    }

    pub(crate) async fn postpone(&self, ids: &[i64], delay: Duration) -> Result<(), StoreError> {
        if ids.is_empty() {
            return Ok(());
        }
        query(include_str!("../sql/postpone_messages.sql"))
            .bind(self.now())
            .bind(ids)
            .bind(micros(delay))
            .execute(&mut *self.pool.connection().await?)
            .await
            .map_err(store_error)?;
        Ok(())
    }

    pub(crate) async fn owed(&self) -> Result<u64, StoreError> {
        let count: i64 = query_scalar(include_str!("../sql/count_messages.sql"))
            .fetch_one(&mut *self.pool.connection().await?)
            .await
            .map_err(store_error)?;
        unsigned(count, "count")
    }

    pub(crate) async fn pending(&self) -> Result<u64, StoreError> {
        let count: i64 = query_scalar(include_str!("../sql/count_pending_messages.sql"))
            .bind(self.now())
            .fetch_one(&mut *self.pool.connection().await?)
            .await
            .map_err(store_error)?;
        unsigned(count, "count")
    }

    pub(crate) async fn letters(&self, page: LetterPage) -> Result<Vec<Letter>, StoreError> {
        let rows = query(include_str!("../sql/list_messages.sql"))
            .bind(page.after)
            .bind(at_most(page.limit, OUTBOX_TAKE_MAX))
            .bind(page.state.map(|state| state.as_str()))
            .fetch_all(&mut *self.pool.connection().await?)
            .await
            .map_err(store_error)?;
        rows.iter().map(Named).map(from_row::letter).collect()
    }

    pub(crate) async fn revive(&self, ids: &[i64]) -> Result<u64, StoreError> {
        let revived = query(include_str!("../sql/revive_messages.sql"))
            .bind(ids)
            .execute(&mut *self.pool.connection().await?)
            .await
            .map_err(store_error)?;
        Ok(revived.rows_affected())
    }

    pub(crate) async fn discard(&self, ids: &[i64]) -> Result<u64, StoreError> {
        let discarded = query(include_str!("../sql/drop_messages.sql"))
            .bind(ids)
            .execute(&mut *self.pool.connection().await?)
            .await
            .map_err(store_error)?;
        Ok(discarded.rows_affected())
    }
}

impl PgStore {
    async fn claim(&self, take: Take) -> Result<Vec<PgRow>, StoreError> {
        let mut transaction = self.begin().await?;
        query(include_str!("../sql/lock_publishers.sql"))
            .execute(&mut *transaction)
            .await
            .map_err(store_error)?;
        let rows = query(include_str!("../sql/claim_messages.sql"))
            .bind(self.now())
            .bind(micros(take.hold))
            .bind(at_most(take.limit, OUTBOX_TAKE_MAX))
            .bind(i64::from(OUTBOX_ATTEMPTS_MAX))
            .fetch_all(&mut *transaction)
            .await
            .map_err(store_error)?;
        transaction.commit().await.map_err(store_error)?;
        Ok(rows)
    }

    /// Returns the ids that no message ever had.
    async fn never_given(&self, mut ids: Vec<i64>) -> Result<Vec<i64>, StoreError> {
        if !ids.is_empty() {
            let last: i64 = query_scalar(include_str!("../sql/last_message_id.sql"))
                .fetch_one(&mut *self.pool.connection().await?)
                .await
                .map_err(store_error)?;
            ids.retain(|id| !(1..=last).contains(id));
        }
        Ok(ids)
    }
}

/// Returns the wait of a failed message in microseconds, `Some(None)` for a dead one, and `None` if
/// nothing changes.
fn delay(fate: Fate) -> Option<Option<i64>> {
    match fate {
        Fate::RetryIn(delay) => Some(Some(micros(delay))),
        Fate::Dead => Some(None),
        Fate::Over | Fate::Unknown => None,
    }
}
