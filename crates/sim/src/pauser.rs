//! The operator that pauses and resumes executions, playbooks and the pool of all workers at random,
//! and resumes all of them in the end.

use std::sync::Arc;
use std::time::Duration;

use noetl_control::{Control, PauseCaller};
use noetl_model::Pool;
use noetl_store::{MemoryStore, PAGE_MAX, PausedKind, Pauses as _};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::fleet::Fleet;
use crate::ledger::Ledger;
use crate::oracle::summaries;
use crate::playbooks::WorldPlan;

/// The percentage of worlds in which the pool is paused.
const POOL_PERCENT: u64 = 30;
/// The duration of a pause of the pool.
const POOL_PAUSE: Duration = Duration::from_secs(90);

#[derive(Clone)]
pub(crate) struct Pauser {
    pub(crate) plan: Arc<WorldPlan>,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) fleet: Arc<Fleet>,
    pub(crate) storm_end: Instant,
    pub(crate) closing: CancellationToken,
}

impl Pauser {
    /// Pauses and resumes executions and playbooks.
    pub(crate) async fn run(self) {
        loop {
            let pause = self.fleet.faults().millis(1000..10_000);
            if !self.rest(pause).await {
                return;
            }
            let is_storm = Instant::now() < self.storm_end;
            for summary in summaries(&self.store).await {
                if summary.status.is_terminal() {
                    continue;
                }
                let execution = summary.execution;
                let draw = self.draw();
                if is_storm && draw < 10 {
                    let ask = async |control: Control| {
                        control.pause(execution, PauseCaller::default()).await.is_ok()
                    };
                    self.fleet.ask(ask).await;
                } else if !is_storm || draw < 40 {
                    let ask = async |control: Control| {
                        control.resume(execution, PauseCaller::default()).await.is_ok()
                    };
                    self.fleet.ask(ask).await;
                }
            }
            for document in &self.plan.playbooks {
                let (path, draw) = (&document.path, self.draw());
                if is_storm && draw < 3 {
                    let ask = async |control: Control| {
                        control.pause_playbook(path, PauseCaller::default()).await.is_ok()
                    };
                    self.fleet.ask(ask).await;
                } else if self.is_paused(PausedKind::Playbook, path).await
                    && (!is_storm || draw < 40)
                {
                    let ask = async |control: Control| {
                        control.resume_playbook(path, PauseCaller::default()).await.is_ok()
                    };
                    self.fleet.ask(ask).await;
                }
            }
        }
    }

    /// Pauses the pool of all workers once, and resumes it whenever a restore has paused it again.
    pub(crate) async fn pause_pool(self) {
        let pool = Pool::shared();
        if !self.fleet.faults().chance(POOL_PERCENT) {
            return;
        }
        if !self.rest(self.fleet.faults().millis(0..30_000)).await {
            return;
        }
        let pause = async |control: Control| {
            control.pause_pool(&pool, PauseCaller::default()).await.is_ok()
        };
        while self.fleet.ask(pause).await != Some(true) {
            if self.closing.is_cancelled() {
                return;
            }
        }
        let from = Instant::now();
        let goes_on = self.rest(POOL_PAUSE).await;
        self.ledger.pages().pool_pauses.push((from, Instant::now()));
        while goes_on && self.rest(Duration::from_secs(1)).await {
            if self.is_paused(PausedKind::Pool, pool.as_str()).await {
                let resume = async |control: Control| control.resume_pool(&pool).await.is_ok();
                self.fleet.ask(resume).await;
            }
        }
    }

    async fn is_paused(&self, kind: PausedKind, name: &str) -> bool {
        let pauses = self.store.pauses(None, PAGE_MAX).await.expect("a store in memory answers");
        pauses.iter().any(|row| row.kind == kind && row.name == name)
    }

    fn draw(&self) -> u128 {
        self.fleet.faults().millis(0..100).as_millis()
    }

    /// Waits. Returns false if the world closes.
    async fn rest(&self, pause: Duration) -> bool {
        tokio::select! {
            () = self.closing.cancelled() => false,
            () = tokio::time::sleep(pause) => true,
        }
    }
}
