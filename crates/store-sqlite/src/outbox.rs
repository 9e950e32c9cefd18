//! The outbox on SQLite.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use noetl_store::from_row;
use noetl_store::to_row::at_most;
use noetl_store::{
    Failure, Fate, Letter, LetterPage, OUTBOX_ATTEMPTS_MAX, OUTBOX_TAKE_MAX, OutboxRow, Sent,
    StoreError, Take, Taker, fates, missing_ids,
};
use sqlx::{SqliteConnection, query, query_as, query_scalar};

use crate::SqliteStore;
use crate::row::{NamedRow, array, store_error};
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
        from_row::taken_messages(rows.iter().map(NamedRow))
    }

    pub(crate) async fn sent(&self, ids: &[i64]) -> Result<Sent, StoreError> {
        let mut writer = self.lazy_writer().await?;
        let gone: Vec<i64> = query_scalar(include_str!("../sql/remove_messages.sql"))
            .bind(array(ids))
            .fetch_all(&mut *writer)
            .await
            .map_err(store_error)?;
        let missing = missing_ids(ids, &gone);
        Ok(Sent { marked: gone.len() as u64, unknown: never_given(&mut writer, missing).await? })
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
        let fates = fates(failures, &attempts, &unknown);
        let owed = failures.iter().zip(&fates).filter_map(|(it, fate)| {
            let until = fate.wait()?.map(|delay| now.after(delay).as_micros());
            Some((it.id, it.kept_error(), until))
        });
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
        let statement = query(include_str!("../sql/list_messages.sql"))
            .bind(page.after)
            .bind(at_most(page.limit, OUTBOX_TAKE_MAX))
            .bind(page.state.map(|state| state.as_str()));
        let rows = self.rows(statement).await?;
        rows.iter().map(NamedRow).map(from_row::letter).collect()
    }

    pub(crate) async fn revive(&self, ids: &[i64]) -> Result<u64, StoreError> {
        let statement = query(include_str!("../sql/revive_messages.sql")).bind(array(ids));
        self.write(statement).await
    }

    pub(crate) async fn discard(&self, ids: &[i64]) -> Result<u64, StoreError> {
        let statement = query(include_str!("../sql/drop_messages.sql")).bind(array(ids));
        self.write(statement).await
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
