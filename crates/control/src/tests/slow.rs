//! Tests of slow decisions, which run outside the threads that serve requests.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use noetl_model::ExecutionStatus;
use serde_json::{Map, json};

use super::{World, register};
use crate::{PlaybookChoice, StartRequest};

/// The number of polls of another task during a slow decision; a blocked task is polled only as
/// often as the decision waits for the store.
const POLLED_MIN: u64 = 1000;

/// Returns a playbook whose first step has many admission rules that each read a large text.
fn slow_start() -> String {
    let mut text = String::from("workflow:\n  - step: start\n    tool: {kind: noop}\n");
    text.push_str("    spec:\n      policy:\n        admit:\n          rules:\n");
    for _ in 0..40 {
        let when = "{{ (workload.text ~ 'a') | upper == 'b' }}";
        writeln!(text, "            - {{when: \"{when}\", then: {{allow: false}}}}")
            .expect("a string takes it");
    }
    text
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_slow_decision_leaves_the_only_thread_to_others() {
    let control = World::new().control();
    register(&control, &slow_start()).await;
    let (polled, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let other = tokio::spawn({
        let (polled, stop) = (polled.clone(), stop.clone());
        async move {
            while !stop.load(Ordering::Relaxed) {
                polled.fetch_add(1, Ordering::Relaxed);
                tokio::task::yield_now().await;
            }
        }
    });
    let payload = Map::from_iter([("text".to_owned(), json!("x".repeat(900_000)))]);
    let request =
        StartRequest::new(PlaybookChoice::Path { path: "p".into(), version: None }, payload);
    let started = tokio::spawn({
        let (control, polled) = (control.clone(), polled.clone());
        async move {
            let before = polled.load(Ordering::Relaxed);
            let execution = control.start(request).await.expect("it starts");
            (execution, polled.load(Ordering::Relaxed) - before)
        }
    });
    let (execution, polled) = started.await.expect("the task ends in order");
    stop.store(true, Ordering::Relaxed);
    other.await.expect("the task ends in order");
    let summary =
        control.summary(execution).await.expect("the store answers").expect("it is there");
    assert_eq!(summary.status, ExecutionStatus::Running);
    assert!(polled > POLLED_MIN, "polled {polled} times");
}
