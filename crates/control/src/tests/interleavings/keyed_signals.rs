//! Signals by correlation key that are sent before, while and after the waits of two servers open, time
//! out and end: each signal is taken by one wait or dropped, and none is lost.

use std::collections::BTreeMap;

use noetl_model::Timestamp;
use serde_json::json;

use super::*;
use crate::SignalByKey;

const WAITING: &str = r#"
workflow:
  - step: start
    tool: {kind: wait, signal: go, key: k, timeout: "{{ workload.patience }}", on_timeout: continue}
"#;

/// The number of signals that are sent.
const SIGNALS: u64 = 10;
/// The number of signals that are sent before any wait is open, one after the other.
const EARLY: u64 = 2;
/// The number of waits that time out unless they get a signal.
const IMPATIENT: u64 = 6;
/// The time after which they do.
const PATIENCE: u64 = 1000;

fn signal(body: u64) -> SignalByKey {
    let (name, key) = ("go".parse().expect("a name"), "k".parse().expect("a key"));
    let (sender, actor, once, kept_for) = (None, None, None, None);
    SignalByKey { name, key, body: json!(body), sender, actor, once, kept_for }
}

async fn waiting(control: &Control, patience: &str) -> ExecutionId {
    let payload = json!({ "patience": patience }).as_object().expect("a map").clone();
    start_with(control, payload).await
}

/// Returns the bodies of the signals that an execution has recorded, each with its time, and the bodies
/// with which its waits have ended.
async fn taken(control: &Control, execution: ExecutionId) -> (Vec<(u64, Timestamp)>, Vec<u64>) {
    let (mut received, mut ended_with) = (Vec::new(), Vec::new());
    for recorded in log(control, execution).await {
        match recorded.event {
            Event::SignalReceived { body, .. } => {
                let body = body.as_inline().and_then(|body| body.as_u64());
                received.push((body.expect("a number"), recorded.at));
            }
            Event::CommandCompleted { output, .. } => {
                let output = output.as_inline().expect("a short output");
                ended_with.extend(output["body"].as_u64());
            }
            _ => {}
        }
    }
    (received, ended_with)
}

/// Drops the first signal that is kept, if there is one.
async fn dropped_one(control: &Control) -> Option<u64> {
    let store = &control.parts.store;
    let first = store.open_signals(i64::MIN, 1).await.expect("the store lists").pop()?;
    let is_dropped = store.drop_signal(first.id).await.expect("the store drops");
    is_dropped.then(|| first.signal.body.as_u64().expect("a number"))
}

#[test]
fn a_signal_by_key_is_taken_once_in_whatever_order_waits_open_and_end() {
    in_every_order(async |[one, two], seed| {
        register(&one.control, WAITING).await;
        let of = |n: u64| if n.is_multiple_of(2) { &one.control } else { &two.control };
        let after = |millis: u64| tokio::time::sleep(Duration::from_millis(millis));
        for body in 0..EARLY {
            of(body + seed).signal_by_key(signal(body)).await.expect("it is stored");
        }
        let waits = (0..IMPATIENT).map(async |n| {
            after(n * (seed % 3)).await;
            waiting(of(n), &format!("{PATIENCE}ms")).await
        });
        // Half of the signals come while waits open, the others when they time out.
        let sends = (EARLY..SIGNALS).map(async |body| {
            let start = if body.is_multiple_of(2) { 0 } else { PATIENCE - 2 };
            after(start + (seed + body) % 5).await;
            of(body / 2).signal_by_key(signal(body)).await.expect("it is stored");
        });
        let dropping = async {
            after([0, 1, PATIENCE - 1, PATIENCE + 1][(seed % 4) as usize]).await;
            dropped_one(&one.control).await
        };
        let (mut executions, _sent, dropped) = tokio::join!(
            futures::future::join_all(waits),
            futures::future::join_all(sends),
            dropping
        );
        after(2 * PATIENCE).await;
        // These take whatever is left, at once.
        for n in 0..SIGNALS {
            executions.push(waiting(of(n), "1h").await);
        }
        after(100).await;
        let mut at: BTreeMap<u64, Timestamp> = BTreeMap::new();
        for execution in executions {
            let (received, ended_with) = taken(&two.control, execution).await;
            let bodies: Vec<u64> = received.iter().map(|(body, _)| *body).collect();
            assert_eq!(bodies, ended_with, "NOETL_FAULTS_SEED={seed}: each ends its wait");
            for (body, time) in received {
                assert_eq!(at.insert(body, time), None, "NOETL_FAULTS_SEED={seed}: {body} again");
            }
        }
        let mut seen: Vec<u64> = at.keys().copied().chain(dropped).collect();
        seen.sort_unstable();
        assert_eq!(seen, (0..SIGNALS).collect::<Vec<_>>(), "NOETL_FAULTS_SEED={seed}");
        if let (Some(first), Some(second)) = (at.get(&0), at.get(&1)) {
            assert!(first <= second, "NOETL_FAULTS_SEED={seed}: the second came first");
        }
        one.stop().await;
        two.stop().await;
    });
}
