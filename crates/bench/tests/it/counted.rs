//! A control plane whose work is counted, and a worker that completes every command at once.

use std::sync::Arc;
use std::time::Duration;

use noetl_bus::LocalBus;
use noetl_control::{Control, ControlSettings, PlaybookChoice, StartRequest};
use noetl_model::{
    ExecutionStatus, IdGenerator, Lease, Logs, Outcome, Pool, Report, ReportAnswer, WorkerId,
    machine_id_of,
};
use noetl_store::{Store, SystemClock};
use serde_json::{Map, json};
use tokio_util::sync::CancellationToken;

const WAIT: Duration = Duration::from_secs(5);

/// A set of executions to count.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    pub(crate) name: &'static str,
    pub(crate) executions: usize,
    pub(crate) steps: usize,
}

impl Load {
    pub(crate) const ALL: [Self; 2] = [
        Self { name: "chain", executions: 1, steps: 300 },
        Self { name: "many", executions: 100, steps: 5 },
    ];

    fn playbook(self) -> String {
        let Self { name, steps, .. } = self;
        let mut text = format!(
            "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {{name: {name}, path: gate/{name}}}\nworkflow:\n"
        );
        for step in 1..=steps {
            text.push_str(&format!("  - step: s{step}\n    tool: {{kind: noop}}\n"));
            if step < steps {
                text.push_str(&format!("    next: {{arcs: [{{step: s{}}}]}}\n", step + 1));
            }
        }
        text
    }

    pub(crate) fn steps_in_all(self) -> u32 {
        u32::try_from(self.executions * self.steps).expect("a small number")
    }
}

/// A control plane on a store, with its loops.
pub(crate) struct CountedControl {
    control: Control,
    stop: CancellationToken,
}

impl CountedControl {
    pub(crate) fn on(store: Arc<dyn Store>) -> Self {
        let ids = Arc::new(IdGenerator::new(machine_id_of("gate")));
        let bus = Arc::new(LocalBus::new());
        let control =
            Control::new(store, bus, Arc::new(SystemClock), ids, ControlSettings::default());
        let (running, stop) = (control.clone(), CancellationToken::new());
        let until = stop.clone();
        drop(tokio::spawn(async move { running.run(until).await }));
        Self { control, stop }
    }

    /// Runs executions to their end like a worker that asks for the next command with each report.
    pub(crate) async fn run(&self, load: Load) {
        let entry = self.control.register("gate", &load.playbook()).await.expect("it is valid");
        let mut executions = Vec::new();
        for _ in 0..load.executions {
            let choice = PlaybookChoice::Id(entry.entry.catalog_id);
            let request = StartRequest::new(choice, Map::new());
            executions.push(self.control.start(request).await.expect("it starts"));
        }
        let (worker, pool) = (WorkerId::new("gate"), Pool::shared());
        let lease = self.control.lease(&worker, &pool, load.executions, WAIT);
        let mut leases = lease.await.expect("the store answers");
        for _ in 0..load.steps {
            assert_eq!(leases.len(), load.executions, "each has a command");
            let reports = leases.iter().map(|lease| done(&worker, &pool, lease)).collect();
            let answers = self.control.report_all(reports).await;
            leases = answers.into_iter().filter_map(|it| following(it.expect("taken"))).collect();
        }
        for execution in executions {
            let summary = self.control.summary(execution).await.expect("the store answers");
            let status = summary.expect("it is there").status;
            assert_eq!(status, ExecutionStatus::Completed);
        }
    }
}

impl Drop for CountedControl {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Returns the next command in an answer.
fn following(answer: ReportAnswer) -> Option<Lease> {
    match answer {
        ReportAnswer::Continued(lease) => Some(*lease),
        ReportAnswer::Accepted => None,
        ReportAnswer::Superseded | ReportAnswer::Unknown | ReportAnswer::Refused { .. } => {
            panic!("nobody else has it")
        }
    }
}

fn done(worker: &WorkerId, pool: &Pool, lease: &Lease) -> Report {
    Report {
        execution: lease.execution,
        command: lease.command,
        attempt: lease.attempt,
        worker: worker.clone(),
        outcome: Outcome::completed(json!({ "ok": true })),
        logs: Logs::default(),
        next: Some(pool.clone()),
    }
}
