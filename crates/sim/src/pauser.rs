//! The operator that pauses and resumes executions at random, and resumes all of them in the end.

use std::sync::Arc;

use noetl_control::{Control, PauseCaller};
use noetl_store::MemoryStore;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::fleet::Fleet;
use crate::oracle::summaries;

pub(crate) struct Pauser {
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) fleet: Arc<Fleet>,
    pub(crate) storm_end: Instant,
    pub(crate) closing: CancellationToken,
}

impl Pauser {
    pub(crate) async fn run(self) {
        while !self.closing.is_cancelled() {
            let pause = self.fleet.faults().millis(1000..10_000);
            tokio::select! {
                () = self.closing.cancelled() => return,
                () = tokio::time::sleep(pause) => {}
            }
            let is_storm = Instant::now() < self.storm_end;
            for summary in summaries(&self.store).await {
                if summary.status.is_terminal() {
                    continue;
                }
                let execution = summary.execution;
                let draw = self.fleet.faults().millis(0..100).as_millis();
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
        }
    }
}
