//! Executions on the embedded store and the payload directory, and the acknowledgements given.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use noetl_blobs_files::FileBlobs;
use noetl_bus::LocalBus;
use noetl_control::{Control, ControlSettings, PlaybookChoice, StartRequest};
use noetl_model::{
    CommandId, Digest, Event, ExecutionId, IdGenerator, Lease, Logs, Outcome, Payload, Pool,
    Recorded, Report, Seq, Timestamp, WorkerId,
};
use noetl_store::{
    Clock, EraseAnswer, ExecutionFilter, Executions as _, KeepMark, PAGE_MAX, Page, Retention as _,
    Store, StoreError, SystemClock, Tombstone, WorkQueue as _,
};
use noetl_store_sqlite::{DatabaseFile, OpenError, SqliteStore};
use noetl_testkit::ScriptedWorker;
use serde_json::{Map, Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// A step, a loop, a step with a large output, a child that reads it.
const PARENT: &str = r#"
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: parent, path: parent}
workload: {n: 0}
workflow:
  - step: start
    tool: {kind: noop, result: {n: "{{ workload.n }}"}}
    next: {arcs: [{step: each}]}
  - step: each
    loop: {in: [1, 2, 3], iterator: item, spec: {mode: parallel}}
    tool: {kind: noop, result: "{{ item * 10 + start.n }}"}
    next: {arcs: [{step: large}]}
  - step: large
    tool: {kind: noop, result: large}
    next: {arcs: [{step: below}]}
  - step: below
    tool: {kind: playbook, path: child, return_result: true, input: {text: "{{ large.text }}"}}
    next: {arcs: [{step: end}]}
  - step: end
    tool: {kind: noop, result: {items: "{{ each.results }}", length: "{{ below.length }}"}}
"#;

const CHILD: &str = r#"
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: child, path: child}
workload: {text: ""}
workflow:
  - step: start
    tool: {kind: noop, result: {length: "{{ workload.text | length }}"}}
"#;

/// The length of the large output, above the limit of values inside of events.
const LARGE: usize = 40_000;
/// The time a worker waits for a command.
const WAIT: Duration = Duration::from_millis(300);
/// The number of empty waits in a row after which executions count as stuck.
const WAITS_MAX: u32 = 40;

/// The clock of a process that starts after every lease of the one before has expired.
#[derive(Debug)]
struct LaterClock(Duration);

impl Clock for LaterClock {
    fn now(&self) -> Timestamp {
        SystemClock.now().after(self.0)
    }
}

/// A control plane on the files of a directory.
pub(crate) struct Plane {
    pub(crate) control: Control,
    pub(crate) store: Arc<SqliteStore>,
    stop: CancellationToken,
    loops: JoinHandle<()>,
}

/// The outputs that executions must have, by their numbers.
fn output_of(n: u64) -> Value {
    json!({ "items": [10 + n, 20 + n, 30 + n], "length": LARGE })
}

/// Opens the database and the payload directory below a directory.
pub(crate) async fn open_store(
    directory: &Path,
    clock: Arc<dyn Clock>,
) -> Result<Arc<SqliteStore>, OpenError> {
    let blobs = FileBlobs::open(&directory.join("payloads")).expect("a directory can be made");
    let store = SqliteStore::open(&directory.join("noetl.db"), clock).await?;
    Ok(Arc::new(store.with_blobs(Arc::new(blobs))))
}

impl Plane {
    /// Starts a control plane on the files below a directory, `later` than now.
    pub(crate) async fn open(directory: &Path, later: Duration) -> Result<Self, OpenError> {
        let clock = Arc::new(LaterClock(later));
        let store = open_store(directory, clock.clone()).await?;
        let (bus, ids) = (Arc::new(LocalBus::new()), Arc::new(IdGenerator::new(1)));
        let control = Control::new(store.clone(), bus, clock, ids, ControlSettings::default());
        let stop = CancellationToken::new();
        let loops = tokio::spawn({
            let (control, stop) = (control.clone(), stop.clone());
            async move { control.run(stop).await }
        });
        Ok(Self { control, store, stop, loops })
    }

    pub(crate) async fn close(self) {
        self.stop.cancel();
        self.loops.await.expect("the loops end in order");
    }

    pub(crate) async fn register(&self) {
        for text in [CHILD, PARENT] {
            self.control.register("p.yaml", text).await.expect("the playbook is valid");
        }
    }

    pub(crate) async fn start(&self, n: u64) -> ExecutionId {
        let payload = Map::from_iter([("n".to_owned(), json!(n))]);
        let choice = PlaybookChoice::Path { path: "parent".to_owned(), version: None };
        self.control.start(StartRequest::new(choice, payload)).await.expect("it starts")
    }

    /// Runs commands until every execution has ended; tells every acknowledgement. Fails if nothing
    /// happens any more.
    pub(crate) async fn work(
        &self,
        mut acknowledged: impl FnMut(ExecutionId, CommandId),
    ) -> Result<(), String> {
        let (mut worker, id) = (ScriptedWorker::default(), WorkerId::new("w"));
        let mut waits = 0;
        while waits < WAITS_MAX {
            waits += 1;
            let leases =
                self.control.lease(&id, &Pool::shared(), 4, WAIT).await.expect("it leases");
            if !leases.is_empty() {
                waits = 0;
            }
            for lease in leases {
                let (execution, command) = (lease.execution, lease.command);
                let outcome = self.run(&lease, &mut worker).await;
                let (attempt, logs) = (lease.attempt, Logs::default());
                let worker = id.clone();
                let report =
                    Report { execution, command, attempt, worker, outcome, logs, next: None };
                self.control.report(report).await.expect("it is reported");
                acknowledged(execution, command);
            }
            if self.summaries().await.iter().all(|it| it.status.is_terminal()) {
                return Ok(());
            }
        }
        Err(format!("the executions do not end: {:?}", self.summaries().await))
    }

    async fn run(&self, lease: &Lease, worker: &mut ScriptedWorker) -> Outcome {
        if lease.step.to_string() == "large" {
            let text = format!("{}{}", lease.execution, "x".repeat(LARGE));
            return Outcome::completed(json!({ "text": text[..LARGE] }));
        }
        let mut stored = BTreeMap::<Digest, Arc<Value>>::new();
        for payload in lease.bindings.0.values() {
            if let Payload::Ref(reference) = payload {
                let value = self.control.payload(reference.digest).await.expect("a payload");
                stored.insert(reference.digest, value);
            }
        }
        worker.run(lease, &|payload| match payload {
            Payload::Inline(value) => value.clone(),
            Payload::Ref(reference) => stored[&reference.digest].clone(),
        })
    }

    /// Marks an execution to be kept.
    async fn keep(&self, execution: ExecutionId) {
        let mark = KeepMark { since: self.store.clock().now(), reason: None, actor: None };
        assert!(self.store.put_keep_mark(execution, &mark).await.expect("it is marked"));
    }

    /// Deletes an ended execution with all its rows.
    async fn delete(&self, execution: ExecutionId) {
        let summary =
            self.store.summary(execution).await.expect("it is read").expect("it is there");
        let tombstone = Tombstone::of(&summary, self.store.clock().now(), None);
        let erased = self.store.erase(execution, &tombstone).await.expect("it is deleted");
        assert_eq!(erased, EraseAnswer::Erased);
        while self.store.erase_payloads(PAGE_MAX).await.expect("it is swept") > 0 {}
        while self.store.erase_rows(PAGE_MAX).await.expect("it is swept") > 0 {}
    }

    pub(crate) async fn summaries(&self) -> Vec<noetl_model::Summary> {
        let page = Page { before: None, limit: PAGE_MAX };
        self.store.list(&ExecutionFilter::default(), page).await.expect("it lists")
    }
}

/// Starts executions and runs them to their ends, and writes every acknowledgement to a file.
pub(crate) async fn run(directory: &Path, executions: u64, acknowledgements: &Path) {
    let file = File::options()
        .create(true)
        .append(true)
        .open(acknowledgements)
        .expect("the file can be made");
    let acknowledge = |line: String| {
        (&file).write_all(format!("{line}\n").as_bytes()).expect("it is written");
    };
    let plane = Plane::open(directory, Duration::ZERO).await.expect("the database opens");
    plane.register().await;
    for n in 0..executions {
        let execution = plane.start(n).await;
        acknowledge(format!("start {execution} {n}"));
        let report = |execution: ExecutionId, command: CommandId| {
            acknowledge(format!("report {execution} {}", command.0));
        };
        plane.work(report).await.expect("they end");
        match n % 2 {
            0 => {
                plane.keep(execution).await;
                acknowledge(format!("keep {execution} {n}"));
            }
            _ => {
                acknowledge(format!("deleting {execution} {n}"));
                plane.delete(execution).await;
                acknowledge(format!("delete {execution} {n}"));
                let database = directory.join("noetl.db");
                let database = DatabaseFile::open(&database).await.expect("it opens");
                let copy = directory.join(format!("copy-{n}.db"));
                database.back_up(&copy).await.expect("it is copied");
                acknowledge(format!("copy {execution} {n}"));
            }
        }
    }
    plane.close().await;
}

/// Checks that a database has everything that was acknowledged and verifies. If `resumes`, then
/// executions are also continued and checked to reach their ends. Returns the first problem.
pub(crate) async fn check(
    directory: &Path,
    acknowledged: &[String],
    resumes: bool,
) -> Result<(), String> {
    let plane = Plane::open(directory, Duration::from_secs(3600)).await;
    let plane = plane.map_err(|error| format!("it does not open: {error:?}"))?;
    let checked = check_open(&plane, directory, acknowledged, resumes).await;
    plane.close().await;
    checked
}

async fn check_open(
    plane: &Plane,
    directory: &Path,
    acknowledged: &[String],
    resumes: bool,
) -> Result<(), String> {
    if resumes {
        plane.work(|_, _| {}).await?;
    }
    for summary in plane.summaries().await {
        let store: &dyn Store = plane.store.as_ref();
        let verified = noetl_control::verify(store, summary.execution, |_| {}).await;
        let verified = verified.map_err(|error| format!("it cannot be read: {error:?}"))?;
        if let Some(fault) = verified.and_then(|verified| verified.fault) {
            return Err(format!("{}: {fault}", summary.execution));
        }
    }
    let requested: BTreeSet<&str> =
        acknowledged.iter().filter_map(|line| line.strip_prefix("deleting ")).collect();
    for line in acknowledged {
        let mut words = line.split(' ');
        let (kind, execution) = (words.next(), words.next().and_then(|id| id.parse().ok()));
        let execution = ExecutionId(execution.ok_or("half an acknowledgement")?);
        let number: u64 = words.next().and_then(|n| n.parse().ok()).ok_or("no number")?;
        let failed = |error: StoreError| format!("{line}: {error:?}");
        let is_deleted = plane.store.tombstone(execution).await.map_err(failed)?.is_some();
        let is_requested =
            requested.iter().any(|it| it.split(' ').next() == Some(&execution.to_string()));
        if is_deleted && !is_requested {
            return Err(format!("deleted and not requested: {line}"));
        }
        let is_done = match kind {
            Some("keep") => plane.store.keep_mark(execution).await.map_err(failed)?.is_some(),
            Some("delete") => is_deleted,
            Some("copy") => is_whole(&directory.join(format!("copy-{number}.db"))).await,
            Some("deleting") => true,
            // The log of a deleted execution is gone.
            Some("start" | "report") if is_deleted => true,
            Some("start" | "report") => holds(plane, line, execution, number).await?,
            Some(_) | None => return Err(format!("no acknowledgement: {line}")),
        };
        if !is_done {
            return Err(format!("acknowledged and lost: {line}"));
        }
        if kind != Some("start") || !resumes || is_deleted {
            continue;
        }
        let output = output_in(&events(plane, line, execution).await?);
        if output.as_deref() != Some(&output_of(number)) {
            return Err(format!("{line}: the output is {output:?}"));
        }
    }
    Ok(())
}

async fn events(
    plane: &Plane,
    line: &str,
    execution: ExecutionId,
) -> Result<Vec<Recorded>, String> {
    let log = plane.control.events(execution, Seq::ZERO, usize::MAX).await;
    log.map_err(|error| format!("{line}: {error:?}"))
}

/// True if the log of an execution has its start, or the completion of a command.
async fn holds(
    plane: &Plane,
    line: &str,
    execution: ExecutionId,
    number: u64,
) -> Result<bool, String> {
    let log = events(plane, line, execution).await?;
    Ok(match line.starts_with("start ") {
        true => !log.is_empty(),
        false => log.iter().any(|recorded| {
            matches!(&recorded.event, Event::CommandCompleted { command, .. } if command.0 == number)
        }),
    })
}

fn output_in(log: &[Recorded]) -> Option<Arc<Value>> {
    log.iter().find_map(|recorded| match &recorded.event {
        Event::ExecutionCompleted { output: Payload::Inline(value), .. } => Some(value.clone()),
        _ => None,
    })
}

/// True if a copy of the database opens and no page is damaged.
async fn is_whole(copy: &Path) -> bool {
    let Ok(copy) = DatabaseFile::open(copy).await else { return false };
    matches!(copy.damage().await, Ok(None))
}
