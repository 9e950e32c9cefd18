//! Random playbooks and requests.

mod sketch;

use std::time::Duration;

use noetl_model::{ErrorMode, ExecutionStatus, OnConflict, Priority, SignalName};
use serde_json::json;

use crate::client::{ExecutionRequest, ManualEnd, PlannedEnd, PlannedFork};
use crate::rng::Rng;
pub(crate) use sketch::{ONCE, SHARED_KEY, SHARED_SIGNAL};
use sketch::{PlaybookWriter, SketchedConcurrency};

/// The length of a value that is too large to be stored inline.
const BLOB_LEN: usize = 17_000;

/// The number of slots of the limit that all playbooks share.
pub(crate) const CRM_MAX: u32 = 2;

/// A rate per second.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SharedRate {
    pub(crate) count: u32,
    pub(crate) burst: u32,
}

/// The rate that all playbooks share.
pub(crate) const SHARED_RATE: SharedRate = SharedRate { count: 2, burst: 1 };
/// The name of its limit.
pub(crate) const RATE_LIMIT: &str = "api";

/// A playbook of a world.
#[derive(Debug, Clone)]
pub(crate) struct GeneratedPlaybook {
    pub(crate) path: String,
    pub(crate) yaml: String,
    /// True if the result depends on timing.
    pub(crate) timed: bool,
    /// The signals that its steps wait for.
    pub(crate) signals: Vec<SignalName>,
    /// The signals that its steps wait for with the id of their execution as the key.
    pub(crate) keyed: Vec<SignalName>,
    /// True if steps wait for the signal that all playbooks share.
    pub(crate) has_shared: bool,
}

/// The playbooks and requests of a world.
#[derive(Debug)]
pub(crate) struct WorldPlan {
    pub(crate) playbooks: Vec<GeneratedPlaybook>,
    pub(crate) requests: Vec<ExecutionRequest>,
}

impl WorldPlan {
    pub(crate) fn drawn(rng: &mut Rng) -> Self {
        let leaves: Vec<GeneratedPlaybook> =
            (0..2).map(|n| drawn(rng, format!("leaf{n}"), &[])).collect();
        let roots: Vec<GeneratedPlaybook> =
            (0..2).map(|n| drawn(rng, format!("root{n}"), &leaves)).collect();
        let count = rng.between(1..5);
        let requests = (0..count).map(|n| {
            let path = rng.pick(&roots).path.clone();
            request(rng, n, path)
        });
        let requests = requests.collect();
        Self { playbooks: [leaves, roots].concat(), requests }
    }

    pub(crate) fn document(&self, path: &str) -> Option<&GeneratedPlaybook> {
        self.playbooks.iter().find(|document| document.path == path)
    }
}

fn request(rng: &mut Rng, number: u64, path: String) -> ExecutionRequest {
    let blob = if rng.chance(15) { "x".repeat(BLOB_LEN) } else { "x".to_owned() };
    let payload = json!({ "request": number, "n": rng.between(0..10), "blob": blob });
    let planned_end = rng.chance(20).then(|| PlannedEnd {
        after: rng.millis(0..20_000),
        ending: *rng.pick(&[
            ManualEnd::Cancelled,
            ManualEnd::Cancelled,
            ManualEnd::Finalized(ExecutionStatus::Completed),
            ManualEnd::Finalized(ExecutionStatus::Failed),
        ]),
    });
    let fork = rng
        .chance(25)
        .then(|| PlannedFork { after: rng.millis(0..30_000), at: rng.between(0..101) });
    ExecutionRequest {
        path,
        payload: payload.as_object().expect("a map").clone(),
        error_mode: rng.chance(20).then_some(ErrorMode::Lenient),
        priority: rng.chance(30).then(|| *rng.pick(&[Priority::LOWEST, Priority::HIGHEST])),
        at: Duration::from_millis(rng.between(0..15_000)),
        planned_end,
        fork,
    }
}

/// Generates a playbook of a few consecutive parts.
fn drawn(rng: &mut Rng, path: String, leaves: &[GeneratedPlaybook]) -> GeneratedPlaybook {
    let mut sketch = PlaybookWriter::new(leaves);
    let seconds = rng.chance(8).then(|| rng.between(1..30));
    let executions = rng.chance(25).then(|| SketchedConcurrency {
        limit: rng.between(1..3),
        has_key: rng.chance(50),
        // Clients end executions of roots and know how they end.
        on_conflict: if leaves.is_empty() && rng.chance(50) {
            *rng.pick(OnConflict::ALL)
        } else {
            OnConflict::Queue
        },
    });
    sketch.limits(seconds, executions);
    sketch.open();
    let count = rng.between(1..4);
    for number in 0..count {
        let next = if number + 1 == count { "end".into() } else { format!("s{}", number + 1) };
        let part = sketch.choose(rng);
        sketch.add(rng, part, &format!("s{number}"), &next);
    }
    sketch.close(path)
}
