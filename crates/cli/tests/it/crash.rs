//! Many executions whose process is killed repeatedly at random moments: each execution reaches the
//! right end, once.
//!
//! `NOETL_FAULTS=full` runs it at full size, `NOETL_FAULTS_SEED=n` sets the seed.

use std::ops::Range;
use std::path::PathBuf;
use std::process::Child;
use std::sync::Arc;
use std::time::{Duration, Instant};

use noetl_bus::LocalBus;
use noetl_control::{Control, ControlSettings, PlaybookChoice, StartRequest};
use noetl_faults::{Chance, is_full_size};
use noetl_model::{ExecutionId, IdGenerator};
use noetl_store::SystemClock;
use noetl_store_sqlite::SqliteStore;
use serde_json::{Map, Value, json};
use tokio::runtime::Runtime;

use crate::oracle::{Expected, verify};
use crate::sandbox::{MANY_ATTEMPTS, Sandbox};

/// A fan-out, a join, a loop and a child; every shell command writes a line to the ledger.
const PARENT: &str = r##"
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: crash, path: tests/crash}
workload: {n: 0, ledger: nowhere, items: []}
workflow:
  - step: start
    tool: {kind: rhai, input: {n: "{{ workload.n }}"}, code: "#{ next: n + 1 }"}
    next: {spec: {mode: inclusive}, arcs: [{step: left}, {step: right}]}
  - step: left
    tool:
      kind: shell
      env: {LEDGER: "{{ workload.ledger }}"}
      command: echo "$NOETL_IDEMPOTENCY_KEY" >> "$LEDGER"
    next: {arcs: [{step: each}]}
  - step: right
    tool: {kind: noop, result: {tenfold: "{{ workload.n * 10 }}"}}
    next: {arcs: [{step: each}]}
  - step: each
    loop: {in: "{{ workload.items }}", iterator: item, spec: {mode: parallel}}
    tool:
      kind: shell
      env: {LEDGER: "{{ workload.ledger }}", ITEM: "{{ item }}"}
      command: echo "$NOETL_IDEMPOTENCY_KEY" >> "$LEDGER"; echo "item $ITEM"
    next: {arcs: [{step: child}]}
  - step: child
    tool:
      kind: playbook
      return_result: true
      path: tests/crash_child
      input: {n: "{{ start.next }}", ledger: "{{ workload.ledger }}"}
    next: {arcs: [{step: report}]}
  - step: report
    tool:
      kind: noop
      result:
        tenfold: "{{ right.tenfold }}"
        items: "{{ each.results | map(attribute='stdout') | join }}"
        child: "{{ child.doubled }}"
"##;

const CHILD: &str = r#"
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: crash_child, path: tests/crash_child}
workload: {n: 0, ledger: nowhere}
workflow:
  - step: note
    tool:
      kind: shell
      env: {LEDGER: "{{ workload.ledger }}"}
      command: echo "$NOETL_IDEMPOTENCY_KEY" >> "$LEDGER"
    next: {arcs: [{step: double}]}
  - step: double
    tool: {kind: noop, result: {doubled: "{{ workload.n * 2 }}"}}
"#;

/// The number of items in the loop of an execution.
const ITEMS: u64 = 20;
/// The number of ledger lines of an execution and its child, without repetitions.
const LINES: u64 = ITEMS + 2;
/// The longest time a new process may take until its first ledger line.
const RESUME_MAX: Duration = Duration::from_secs(5);

/// Returns the expected output of the n-th execution.
fn output_of(n: u64) -> Value {
    let items: String = (0..ITEMS).map(|item| format!("item {item}\n")).collect();
    json!({ "tenfold": n * 10, "items": items, "child": (n + 1) * 2 })
}

/// The number of executions and of kills; there are more executions than kills.
#[derive(Debug, Clone, Copy)]
struct Size {
    executions: u64,
    kills: u64,
}

impl Size {
    const SMALL: Self = Self { executions: 20, kills: 10 };
    const FULL: Self = Self { executions: 200, kills: 100 };
}

/// The moment of a kill: after some lines in the ledger, or after a while if that is sooner.
struct Moment {
    lines: u64,
    patience: Duration,
    /// The delay from then on until the signal.
    pause: Duration,
}

impl Moment {
    /// Draws a moment. Most processes may do as much work as one execution takes, some are killed
    /// while starting; enough work is left for the last process.
    fn draw(chance: &mut Chance) -> Self {
        let patience = match chance.below(4) {
            0 => Duration::from_millis(chance.below(200)),
            _ => Duration::MAX,
        };
        let pause = Duration::from_micros(chance.below(10_000));
        Self { lines: 1 + chance.below(2 * LINES), patience, pause }
    }
}

/// The restarted process and its files.
struct Storm {
    sandbox: Sandbox,
    database: PathBuf,
    ledger: PathBuf,
    /// The longest time a new process took until its first ledger line.
    slowest: Duration,
}

impl Storm {
    fn lines(&self) -> u64 {
        let ledger = std::fs::read(&self.ledger).unwrap_or_default();
        u64::try_from(ledger.iter().filter(|byte| **byte == b'\n').count()).expect("a count fits")
    }

    fn resume(&self) -> Child {
        let database = self.database.to_str().expect("the path is text");
        self.sandbox.spawn_with(&["resume", "-q", "--db", database], &[MANY_ATTEMPTS])
    }

    /// Starts a process and kills it at the given moment.
    fn kill_at(&mut self, moment: &Moment) {
        let (begun, before) = (Instant::now(), self.lines());
        let mut process = self.resume();
        let mut done = 0;
        while done < moment.lines && begun.elapsed() < moment.patience {
            std::thread::sleep(Duration::from_millis(1));
            let lines = self.lines() - before;
            if done == 0 {
                self.slowest = self.slowest.max(begun.elapsed());
                assert!(self.slowest < RESUME_MAX, "a new process does nothing");
            }
            done = lines;
        }
        std::thread::sleep(moment.pause);
        let ended = process.try_wait().expect("it is ours");
        assert_eq!(ended, None, "there is work left, so it has to be running when it is killed");
        process.kill().expect("it is ours");
        process.wait().expect("it is ours");
    }
}

/// Starts executions and leaves them to the next process that opens the database.
async fn start(storm: &Storm, numbers: Range<u64>) -> Vec<ExecutionId> {
    let store = SqliteStore::open(&storm.database, Arc::new(SystemClock)).await;
    let store = store.expect("the process before is dead");
    let (bus, clock) = (Arc::new(LocalBus::new()), Arc::new(SystemClock));
    let ids = Arc::new(IdGenerator::new(1));
    let control = Control::new(Arc::new(store), bus, clock, ids, ControlSettings::default());
    control.register("child.yaml", CHILD).await.expect("the child is valid");
    let parent = control.register("parent.yaml", PARENT).await.expect("the parent is valid");
    let items: Vec<u64> = (0..ITEMS).collect();
    let mut started = Vec::new();
    for n in numbers {
        let payload = [("n", json!(n)), ("ledger", json!(storm.ledger)), ("items", json!(items))];
        let payload = payload.map(|(name, value)| (name.to_owned(), value));
        let payload = Map::from_iter(payload);
        let request = StartRequest::new(PlaybookChoice::Id(parent.entry.catalog_id), payload);
        started.push(control.start(request).await.expect("it starts"));
    }
    started
}

#[test]
fn executions_that_are_killed_again_and_again_all_end_right_and_once() {
    let size = if is_full_size() { Size::FULL } else { Size::SMALL };
    let seed = std::env::var("NOETL_FAULTS_SEED").map_or(1, |seed| seed.parse().unwrap());
    println!("{size:?}, NOETL_FAULTS_SEED={seed}");
    let sandbox = Sandbox::new();
    let (database, ledger) = (sandbox.path("noetl.db"), sandbox.path("ledger"));
    let mut storm = Storm { sandbox, database, ledger, slowest: Duration::ZERO };
    let runtime = Runtime::new().unwrap();

    let begun = Instant::now();
    let mut chance = Chance::new(seed);
    let mut started = Vec::new();
    // Half of the executions exist from the beginning, the others are started one by one.
    for kill in 0..size.kills {
        let end = size.executions - size.kills + kill + 1;
        let numbers = u64::try_from(started.len()).unwrap()..end;
        started.extend(runtime.block_on(start(&storm, numbers)));
        storm.kill_at(&Moment::draw(&mut chance));
    }
    let (killed, written) = (begun.elapsed(), storm.lines());
    let last = storm.resume().wait_with_output().unwrap();
    assert!(last.status.success(), "{}", String::from_utf8_lossy(&last.stderr));

    let ledger = std::fs::read_to_string(&storm.ledger).unwrap();
    let executions = 2 * started.len();
    let expected = Expected { started: &started, executions, output: output_of, ledger: &ledger };
    let repeated = runtime.block_on(async {
        let store = SqliteStore::open(&storm.database, Arc::new(SystemClock)).await.unwrap();
        verify(&store, expected).await
    });
    println!(
        "killed {} times in {:.1} s, {written} effects until then; {} executions ended after {:.1} s, \
         {repeated} of {} effects repeated; at most {:.2} s from start to first effect",
        size.kills,
        killed.as_secs_f64(),
        started.len(),
        begun.elapsed().as_secs_f64(),
        ledger.lines().count(),
        storm.slowest.as_secs_f64(),
    );
}
