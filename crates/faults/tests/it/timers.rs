//! Very many timers that are due in the same second.

use std::time::{Duration, Instant};

use noetl_control::{PlaybookChoice, StartRequest};
use noetl_faults::is_full_size;
use noetl_model::{Event, Seq, Timestamp};
use noetl_store::{Clock as _, SystemClock};
use serde_json::{Map, json};

use crate::workload::Plane;

const WAITING: &str = r#"
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: waiting, path: waiting}
workload: {until: ""}
workflow:
  - step: start
    tool: {kind: wait, until: "{{ workload.until }}"}
"#;

/// The longest time after the instant until the last timer has fired.
const LATE_MAX: Duration = Duration::from_secs(10);

#[test]
fn timers_of_one_second_are_never_early_and_all_fire_soon() {
    let count: u32 = if is_full_size() { 20_000 } else { 300 };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
    runtime.block_on(async {
        let directory = tempfile::tempdir().expect("a directory can be made");
        let plane = Plane::open(directory.path(), Duration::ZERO).await.expect("it opens");
        plane.control.register("p.yaml", WAITING).await.expect("the playbook is valid");
        let ahead = Duration::from_millis(u64::from(count) * 20).max(Duration::from_secs(8));
        let due = Timestamp::from_millis(SystemClock.now().after(ahead).as_millis() / 1000 * 1000);
        let payload = Map::from_iter([("until".to_owned(), json!(due.to_string()))]);
        let begun = Instant::now();
        let mut started = Vec::new();
        for _ in 0..count {
            let choice = PlaybookChoice::Path { path: "waiting".to_owned(), version: None };
            let request = StartRequest::new(choice, payload.clone());
            started.push(plane.control.start(request).await.expect("it starts"));
        }
        assert!(SystemClock.now() < due, "the starts took {:?}", begun.elapsed());
        let mut last = due;
        for execution in started {
            let end = loop {
                let log = plane.control.events(execution, Seq::ZERO, usize::MAX).await;
                let log = log.expect("it reads");
                let is_end = |event: &Event| matches!(event, Event::ExecutionCompleted { .. });
                if let Some(end) = log.iter().find(|recorded| is_end(&recorded.event)) {
                    break end.at;
                }
                let late = SystemClock.now().since(due);
                assert!(late < 3 * LATE_MAX, "a timer does not fire");
                tokio::time::sleep(Duration::from_millis(20)).await;
            };
            assert!(end >= due, "{execution} has ended at {end}, before {due}");
            last = last.max(end);
        }
        println!("{count} timers, the last {:?} after its time", last.since(due));
        assert!(last.since(due) < LATE_MAX, "the last fired {:?} late", last.since(due));
        plane.close().await;
    });
}
