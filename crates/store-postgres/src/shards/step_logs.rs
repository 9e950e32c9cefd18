//! The output of running tools: each execution's is in its shard.

use futures::future::join_all;
use noetl_model::{LogAnswer, LogBatch, Timestamp};
use noetl_store::sql;
use noetl_store::{LogLimits, StoreError};

use super::Shards;

impl Shards {
    pub(crate) async fn append_logs(
        &self,
        batches: &[LogBatch],
        limits: LogLimits,
    ) -> Result<Vec<LogAnswer>, StoreError> {
        if self.shards.len() == 1 {
            return self.ask(0, sql::append_logs(&self.shards[0], batches, limits)).await;
        }
        let mut parts: Vec<Vec<LogBatch>> = vec![Vec::new(); self.shards.len()];
        for batch in batches {
            parts[self.index_of(batch.source.execution)].push(batch.clone());
        }
        let asked = self.shards.iter().zip(&parts).enumerate().map(
            async |(index, (shard, part))| match part.is_empty() {
                true => Ok(Vec::new()),
                false => self.ask(index, sql::append_logs(shard, part, limits)).await,
            },
        );
        let answers = join_all(asked).await.into_iter().collect::<Result<Vec<_>, StoreError>>()?;
        let mut answers: Vec<_> = answers.into_iter().map(Vec::into_iter).collect();
        let answer = |batch: &LogBatch| {
            let part = &mut answers[self.index_of(batch.source.execution)];
            part.next().expect("a shard answers for each batch")
        };
        Ok(batches.iter().map(answer).collect())
    }

    pub(crate) async fn forget_logs(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> Result<u64, StoreError> {
        Ok(self.all(|shard| sql::forget_logs(shard, before, limit)).await?.into_iter().sum())
    }
}
