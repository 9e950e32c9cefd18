//! Tests without a NATS server, and after its return.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use noetl_bus::BusError;
use noetl_control::{Control, ControlSettings, PlaybookChoice, StartRequest};
use noetl_model::{
    ExecutionStatus, IdGenerator, Lease, Logs, Outcome, Report, Timestamp, WorkerId,
};
use noetl_store::{Clock, MemoryStore, Outbox as _, SystemClock};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::*;

#[tokio::test]
async fn a_bus_exists_before_nats_does_and_refuses_at_once() {
    let mut nats = NatsServer::start();
    nats.kill();
    let begun = Instant::now();
    let bus = NatsBus::connect(settings(&nats)).await.unwrap();
    let error = bus.notify(&notification(1, "shared")).await.unwrap_err();
    assert!(matches!(error, BusError::Unavailable(_)), "{error:?}");
    assert!(begun.elapsed() < Duration::from_millis(500), "took {:?}", begun.elapsed());

    nats.start_again();
    connected(&bus).await;
    bus.notify(&notification(1, "shared")).await.unwrap();
}

#[tokio::test]
async fn after_a_restart_that_lost_everything_the_stream_is_there_again() {
    let mut nats = NatsServer::start();
    let bus = bus_on(&nats).await;
    bus.notify(&notification(1, "shared")).await.unwrap();
    let mut hints = bus.subscribe();
    nats.kill();
    nats.wipe();
    nats.start_again();
    while bus.notify(&notification(2, "shared")).await.is_err() {
        assert_eq!(soon(hints.next()).await, Hint::LookAgain);
    }
    let worker = Worker::new(&nats, "noetl.commands.>").await;
    let body = worker.pull().await.payload;
    assert!(str::from_utf8(&body).unwrap().contains(r#""command_id":"7:start:102""#));
}

/// The system clock with a forward offset, so that tests do not wait for due times.
#[derive(Default)]
struct ForwardClock {
    seconds: AtomicU64,
}

impl Clock for ForwardClock {
    fn now(&self) -> Timestamp {
        SystemClock.now().after(Duration::from_secs(self.seconds.load(Ordering::Relaxed)))
    }
}

const CHAIN: &str = r#"
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: p, path: p}
workflow:
  - step: start
    tool: {kind: noop}
    next: {arcs: [{step: each}]}
  - step: each
    loop: {in: [a, b, c], iterator: it, spec: {mode: parallel}}
    tool: {kind: noop}
    next: {arcs: [{step: end}]}
  - step: end
    tool: {kind: noop}
"#;

/// The number of commands in one execution of the playbook.
const COMMANDS: usize = 5;
const EXECUTIONS: usize = 12;

fn completed(lease: &Lease, worker: &WorkerId) -> Report {
    Report {
        execution: lease.execution,
        command: lease.command,
        attempt: lease.attempt,
        worker: worker.clone(),
        outcome: Outcome::completed(Value::Null),
        logs: Logs::default(),
        next: None,
    }
}

/// Starts executions and completes them with a worker that needs no NATS.
async fn run_some(control: &Control) {
    let worker = WorkerId::new("own");
    let mut open = Vec::new();
    for _ in 0..EXECUTIONS {
        let playbook = PlaybookChoice::Path { path: "p".to_owned(), version: None };
        open.push(control.start(StartRequest::new(playbook, Map::new())).await.expect("a start"));
    }
    while !open.is_empty() {
        let wait = Duration::from_secs(1);
        let leases = control.lease(&worker, &Pool::shared(), 64, wait).await.expect("leases");
        let reports = leases.iter().map(|lease| completed(lease, &worker)).collect();
        for answer in control.report_all(reports).await {
            answer.expect("an answer");
        }
        let mut left = Vec::new();
        for execution in open {
            let summary = control.summary(execution).await.expect("an answer");
            match summary.expect("it exists").status {
                ExecutionStatus::Completed => {}
                ExecutionStatus::Running => left.push(execution),
                ended @ (ExecutionStatus::Failed | ExecutionStatus::Cancelled) => {
                    panic!("{execution} ended as {ended}")
                }
            }
        }
        open = left;
    }
}

#[tokio::test]
async fn while_nats_is_gone_executions_go_on_and_every_notification_arrives_after() {
    let mut nats = NatsServer::start();
    let bus = Arc::new(bus_on(&nats).await);
    let clock = Arc::new(ForwardClock::default());
    let store = Arc::new(MemoryStore::new(clock.clone()));
    let settings =
        ControlSettings { poll: Duration::from_millis(50), ..ControlSettings::default() };
    let ids = Arc::new(IdGenerator::new(1));
    let control = Control::new(store.clone(), bus.clone(), clock.clone(), ids, settings);
    control.register("p.yaml", CHAIN).await.expect("a valid playbook");
    let stop = CancellationToken::new();
    let loops = tokio::spawn({
        let (control, stop) = (control.clone(), stop.clone());
        async move { control.run(stop).await }
    });

    Box::pin(soon(run_some(&control))).await;
    nats.kill();
    Box::pin(soon(run_some(&control))).await;
    assert!(store.owed().await.unwrap() > 0, "without NATS something is owed");
    nats.start_again();
    connected(&bus).await;
    clock.seconds.fetch_add(3600, Ordering::Relaxed);
    Box::pin(soon(run_some(&control))).await;

    let worker = Worker::new(&nats, "noetl.commands.shared.>").await;
    let mut commands = BTreeSet::new();
    while commands.len() < 3 * EXECUTIONS * COMMANDS {
        let body: Value = serde_json::from_slice(&worker.pull().await.payload).unwrap();
        commands.insert(body["command_id"].as_str().expect("a name").to_owned());
    }
    stop.cancel();
    loops.await.unwrap();
    assert_eq!(store.owed().await.unwrap(), 0);
}
