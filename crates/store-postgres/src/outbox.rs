//! The outbox on PostgreSQL.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use noetl_store::from_row::{self, Columns as _};
use noetl_store::to_row::at_most;
use noetl_store::{
    Failure, Fate, Letter, LetterPage, OUTBOX_ATTEMPTS_MAX, OUTBOX_TAKE_MAX, OutboxRow, Sent,
    StoreError, Take, Taker, fates, missing_ids,
};
use sqlx::postgres::PgRow;
use sqlx::{query, query_scalar};

use crate::PgStore;
use crate::row::{Named, get, micros, plain, store_error, unsigned};

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
        from_row::taken_messages(rows.iter().map(Named))
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
        let missing = missing_ids(ids, &gone);
        Ok(Sent { marked: gone.len() as u64, unknown: self.never_given(missing).await? })
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
        let fates = fates(failures, &attempts, &unknown);
        let owed: Vec<(&Failure, Option<i64>)> = failures
            .iter()
            .zip(&fates)
            .filter_map(|(it, fate)| Some((it, fate.wait()?.map(micros))))
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
        let statement = query(include_str!("../sql/postpone_messages.sql"))
            .bind(self.now())
            .bind(ids)
            .bind(micros(delay));
        self.write(statement).await?;
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
        let statement = query(include_str!("../sql/list_messages.sql"))
            .bind(page.after)
            .bind(at_most(page.limit, OUTBOX_TAKE_MAX))
            .bind(page.state.map(|state| state.as_str()));
        let rows = self.rows(statement).await?;
        rows.iter().map(Named).map(from_row::letter).collect()
    }

    pub(crate) async fn revive(&self, ids: &[i64]) -> Result<u64, StoreError> {
        let statement = query(include_str!("../sql/revive_messages.sql")).bind(ids);
        self.write(statement).await
    }

    pub(crate) async fn discard(&self, ids: &[i64]) -> Result<u64, StoreError> {
        let statement = query(include_str!("../sql/drop_messages.sql")).bind(ids);
        self.write(statement).await
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
