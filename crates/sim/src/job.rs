//! Jobs that workers start elsewhere: each calls back when it has ended, and again and again, as a
//! watcher of jobs does that does not know what it has said before.

use std::sync::Arc;

use noetl_model::{Held, Outcome};
use tokio_util::sync::CancellationToken;

use crate::fleet::Fleet;
use crate::ledger::{Ledger, StartedJob};

/// The longest pause between two callbacks of one job, in milliseconds.
const PAUSE_MAX: u64 = 640_000;

/// A job that outlives the worker that started it.
pub(crate) struct SimulatedJob {
    uid: String,
    held: Held,
    outcome: Outcome,
    fleet: Arc<Fleet>,
}

impl SimulatedJob {
    /// Starts a job for a command, and records it.
    pub(crate) fn started(
        held: Held,
        outcome: Outcome,
        fleet: &Arc<Fleet>,
        ledger: &Ledger,
    ) -> Self {
        let Held { execution, command, attempt } = held;
        let mut pages = ledger.pages();
        let uid = format!("job-{}-{execution}-{command}-{attempt}", pages.jobs.len());
        pages.jobs.insert(uid.clone(), StartedJob { execution, command, outcome: outcome.clone() });
        drop(pages);
        Self { uid, held, outcome, fleet: Arc::clone(fleet) }
    }

    /// Calls back until the world closes: a restore of the store can lose what was recorded.
    pub(crate) async fn run(self, closing: CancellationToken) {
        let faults = self.fleet.faults();
        // A fast job has ended before its worker says that it waits.
        let wait = if faults.chance(30) { 0..1 } else { 0..30_000 };
        tokio::time::sleep(faults.millis(wait)).await;
        let Held { execution, command, .. } = self.held;
        let mut longest = PAUSE_MAX / 64;
        while !closing.is_cancelled() {
            let call = async |control: noetl_control::Control| {
                let (job, outcome) = (Some(self.uid.clone()), self.outcome.clone());
                control.call_back(execution, command, job, outcome).await
            };
            // A refusal is an answer: the command has ended, by this callback or otherwise. A watcher
            // calls less and less often about a job that it was answered for.
            let pause = match self.fleet.ask(call).await {
                Some(Ok(_)) => {
                    longest = PAUSE_MAX.min(2 * longest);
                    faults.millis(longest / 2..longest)
                }
                Some(Err(_)) | None => faults.millis(0..1000),
            };
            tokio::select! {
                () = closing.cancelled() => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
    }
}
