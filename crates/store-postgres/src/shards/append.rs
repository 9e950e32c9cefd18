//! Appends across shards, and the rules that no single shard can enforce: a command has at most one
//! child, although parent and child may be in different shards, and the origin of a fork has the
//! event of the fork point.

use std::collections::HashMap;

use futures::future::join_all;
use noetl_model::{EventId, ExecutionId, ForkPoint, Recorded, Seq};
use noetl_store::sql;
use noetl_store::to_row::stored;
use noetl_store::{Append, AppendError, CommandKey, StartKey, StoreError, read_shared};
use sqlx::query;

use super::Shards;
use super::hash::shard_of_key;
use crate::append::{ForkOrigins, find_children, find_fork_origins};
use crate::pool::PooledTransaction;
use crate::row::store_error;

type ShardAnswer = Result<(), AppendError>;

impl Shards {
    pub(crate) async fn append(&self, batch: &[Append]) -> Result<Vec<ShardAnswer>, StoreError> {
        let parents: Vec<CommandKey> = batch.iter().filter_map(Append::starts_child_of).collect();
        let forks = self.forks_elsewhere(batch);
        if (parents.is_empty() && forks.is_empty()) || self.shards.len() == 1 {
            let origins = OriginsElsewhere::default();
            return self.append_parts(batch, Ok(&HashMap::new()), &origins).await;
        }
        let _turn = self.relative_starts.lock().await;
        let locked = self.cluster_reachability.ask(self.lock_relatives(&parents, &forks)).await;
        let locked = locked.map_err(AppendError::from);
        let origins = match &locked {
            Ok(_lock) => Box::pin(self.origins_elsewhere(&forks)).await,
            Err(error) => OriginsElsewhere::unanswered(&forks, error),
        };
        let children = match &locked {
            Ok(_lock) => self.children_of(&parents).await.map_err(AppendError::from),
            Err(error) => Err(error.clone()),
        };
        self.append_parts(batch, children.as_ref(), &origins).await
    }

    pub(crate) async fn read(
        &self,
        execution: ExecutionId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<Recorded>, StoreError> {
        let read = |execution, after, limit| {
            let own = sql::own_events(self.shard(execution), execution, after, limit);
            self.in_shard(execution, Box::pin(own))
        };
        read_shared(execution, after, limit, read).await
    }

    pub(crate) fn admits(&self, execution: ExecutionId, key: &StartKey) -> bool {
        self.index_of(execution) == shard_of_key(key, self.shards.len())
    }

    pub(crate) async fn find(
        &self,
        event: EventId,
    ) -> Result<Option<(ExecutionId, Recorded)>, StoreError> {
        self.any(|shard| sql::find(shard, event)).await
    }
}

impl Shards {
    /// Prevents other servers from starting children of these commands, and from deleting the
    /// origins of these forks, until the returned transaction is dropped. The locks are in the
    /// cluster's database; the guarded rows are read after taking them and written before their
    /// release.
    async fn lock_relatives(
        &self,
        parents: &[CommandKey],
        forks: &[ForkPoint],
    ) -> Result<PooledTransaction, StoreError> {
        let mut transaction = self.cluster.pool.begin().await?;
        if !forks.is_empty() {
            query(include_str!("../../sql/share_origins.sql"))
                .bind(forks.iter().map(|point| point.execution.0).collect::<Vec<_>>())
                .execute(&mut *transaction)
                .await
                .map_err(store_error)?;
        }
        if parents.is_empty() {
            return Ok(transaction);
        }
        query(include_str!("../../sql/lock_children.sql"))
            .bind(parents.iter().map(|(execution, _)| execution.0).collect::<Vec<_>>())
            .bind(parents.iter().map(|(_, command)| stored(command.0)).collect::<Vec<_>>())
            .execute(&mut *transaction)
            .await
            .map_err(store_error)?;
        Ok(transaction)
    }

    async fn children_of(
        &self,
        parents: &[CommandKey],
    ) -> Result<HashMap<CommandKey, ExecutionId>, StoreError> {
        if parents.is_empty() {
            return Ok(HashMap::new());
        }
        let found = self.all(|shard| async move {
            let mut connection = shard.pool.connection().await?;
            find_children(&mut connection, parents).await
        });
        Ok(found.await?.into_iter().flatten().collect())
    }

    /// Returns the fork points of a batch whose origin is in another shard than the fork.
    fn forks_elsewhere(&self, batch: &[Append]) -> Vec<ForkPoint> {
        let elsewhere = |append: &Append| {
            let point = append.starts_fork_at()?;
            let is_here = self.index_of(point.execution) == self.index_of(append.execution);
            (!is_here).then_some(point)
        };
        batch.iter().filter_map(elsewhere).collect()
    }

    /// Looks up the events of fork points.
    async fn origins_elsewhere(&self, forks: &[ForkPoint]) -> OriginsElsewhere {
        let mut origins = OriginsElsewhere::default();
        for &point in forks {
            let found = self.in_shard(point.execution, async {
                let mut connection = self.shard(point.execution).pool.connection().await?;
                find_fork_origins(&mut connection, &[point]).await
            });
            match Box::pin(found).await {
                Ok(found) => origins.found.extend(found),
                Err(error) => {
                    origins.unanswered.insert(point, error.into());
                }
            }
        }
        origins
    }

    /// Writes each shard's part of a batch, without the children that only other shards know to be
    /// duplicates, and answers for the shards that answer.
    async fn append_parts(
        &self,
        batch: &[Append],
        children: Result<&HashMap<CommandKey, ExecutionId>, &AppendError>,
        origins: &OriginsElsewhere,
    ) -> Result<Vec<ShardAnswer>, StoreError> {
        let mut parts: Vec<Part<'_>> = self.shards.iter().map(|_| Part::default()).collect();
        let mut starting = HashMap::new();
        let mut answers: Vec<ShardAnswer> = Vec::with_capacity(batch.len());
        for (place, append) in batch.iter().enumerate() {
            let answer = self
                .check_home(append)
                .and_then(|()| origins.check_answered(append))
                .and_then(|()| self.check_child(append, children, &mut starting));
            if answer.is_ok() {
                let part = &mut parts[self.index_of(append.execution)];
                part.places.push(place);
                part.appends.push(append);
            }
            answers.push(answer);
        }
        let written =
            join_all(self.shards.iter().zip(&parts).enumerate().map(|(index, (shard, part))| {
                self.ask(index, shard.append_all(&part.appends, &origins.found))
            }));
        for (written, part) in written.await.into_iter().zip(&parts) {
            match written {
                Ok(written) => {
                    for (answer, place) in written.into_iter().zip(&part.places) {
                        answers[*place] = answer;
                    }
                }
                Err(error) if part.places.len() == batch.len() => return Err(error),
                Err(error) => {
                    let unanswered = AppendError::from(error);
                    for place in &part.places {
                        answers[*place] = Err(unanswered.clone());
                    }
                }
            }
        }
        Ok(answers)
    }

    /// Rejects a start key that belongs to another shard than its execution.
    fn check_home(&self, append: &Append) -> ShardAnswer {
        match append.start_key_used() {
            Some(key) if !self.admits(append.execution, key) => Err(AppendError::Conflict),
            Some(_) | None => Ok(()),
        }
    }

    /// Rejects a child if its parent command has one in another shard, or if this batch may start
    /// one there. The child's own shard checks its own rows.
    fn check_child(
        &self,
        append: &Append,
        children: Result<&HashMap<CommandKey, ExecutionId>, &AppendError>,
        starting: &mut HashMap<CommandKey, usize>,
    ) -> ShardAnswer {
        let Some(parent) = append.starts_child_of() else {
            return Ok(());
        };
        let here = self.index_of(append.execution);
        match children.map_err(AppendError::clone)?.get(&parent) {
            Some(&child) if self.index_of(child) != here => Err(AppendError::ChildExists { child }),
            Some(_) => Ok(()),
            None if *starting.entry(parent).or_insert(here) != here => Err(AppendError::Conflict),
            None => Ok(()),
        }
    }
}

/// The fork points of a batch whose origin is in another shard than the fork.
#[derive(Default)]
struct OriginsElsewhere {
    found: ForkOrigins,
    /// The fork points whose shard does not answer.
    unanswered: HashMap<ForkPoint, AppendError>,
}

impl OriginsElsewhere {
    fn unanswered(forks: &[ForkPoint], error: &AppendError) -> Self {
        let unanswered = forks.iter().map(|point| (*point, error.clone())).collect();
        Self { unanswered, ..Self::default() }
    }

    /// Fails for a fork whose origin cannot be looked up.
    fn check_answered(&self, append: &Append) -> ShardAnswer {
        let unanswered = append.starts_fork_at().and_then(|point| self.unanswered.get(&point));
        unanswered.map_or(Ok(()), |error| Err(error.clone()))
    }
}

/// The part of a batch for one shard.
#[derive(Default)]
struct Part<'a> {
    appends: Vec<&'a Append>,
    /// The indexes of `appends` in the batch.
    places: Vec<usize>,
}
