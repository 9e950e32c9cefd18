//! Many orders in which concurrent tasks make their calls to the store: the real mailbox, hand-over
//! and group commit, with tasks that give way at random before and after each call.
//!
//! `NOETL_FAULTS=full` runs 5,000 orders of each test, `NOETL_FAULTS_SEED=n` a single one.

mod keyed_signals;

use std::ops::Range;
use std::sync::Mutex;

use noetl_model::{Event, EventTag};
use noetl_store::{Access, StoreError, Wrapper};

use super::*;

/// The largest number of times a task gives way at once.
const YIELDS_MAX: u64 = 6;

/// A store whose calls give way to other tasks, as often as a seed says, and that has one writer, as
/// the embedded database has: a task that keeps a started write without polling it stops all others.
struct GivingWay {
    store: Arc<MemoryStore>,
    draws: Mutex<u64>,
    writer: tokio::sync::Mutex<()>,
}

impl GivingWay {
    async fn give_way(&self) {
        let times = {
            let mut state = self.draws.lock().expect("nothing panics while it draws");
            *state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (*state >> 33) % YIELDS_MAX
        };
        for _ in 0..times {
            tokio::task::yield_now().await;
        }
    }
}

impl Wrapper for GivingWay {
    type Inner = MemoryStore;

    fn inner(&self) -> &MemoryStore {
        &self.store
    }

    async fn call<T: Send>(
        &self,
        access: Access,
        answer: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        let _writer = match access {
            Access::Read => None,
            Access::Write | Access::Maintenance => Some(self.writer.lock().await),
        };
        self.give_way().await;
        let answer = answer.await;
        self.give_way().await;
        answer
    }
}

fn seeds() -> Range<u64> {
    let single = std::env::var("NOETL_FAULTS_SEED").map(|seed| seed.parse().expect("a number"));
    match single {
        Ok(seed) => seed..seed + 1,
        Err(_) if std::env::var_os("NOETL_FAULTS").is_some_and(|it| it == "full") => 0..5000,
        Err(_) => 0..100,
    }
}

/// Runs a scenario with two control planes for each seed.
fn in_every_order<F: Future<Output = ()>>(scenario: impl Fn([Running; 2], u64) -> F) {
    for seed in seeds() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            let world = World::new();
            let plane = |draws| {
                let store = GivingWay {
                    store: world.store.clone(),
                    draws: Mutex::new(draws),
                    writer: tokio::sync::Mutex::default(),
                };
                Running::of(world.control_on(Arc::new(store), ControlSettings::default()))
            };
            let planes = [plane(seed), plane(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15))];
            let patience = Duration::from_secs(600);
            let lived = tokio::time::timeout(patience, scenario(planes, seed)).await;
            lived.unwrap_or_else(|_| panic!("stuck: NOETL_FAULTS_SEED={seed}"));
        });
    }
}

/// Runs commands on a control plane until told to stop.
fn worker(control: &Control, name: &'static str, stop: &CancellationToken) -> JoinHandle<()> {
    let (control, stop) = (control.clone(), stop.clone());
    tokio::spawn(async move {
        let mut scripted = ScriptedWorker::default();
        while !stop.is_cancelled() {
            for leased in lease(&control, name, 2).await {
                let outcome = run(&control, &leased, &mut scripted).await;
                control.report(report(&leased, name, outcome)).await.expect("an answer");
            }
        }
    })
}

async fn await_end(control: &Control, execution: ExecutionId) -> Vec<Recorded> {
    while ended(control, execution).await.is_none() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    log(control, execution).await
}

/// Checks that a log has one end and each of its commands one claim.
fn check_once(log: &[Recorded], seed: u64) {
    let ends = log.iter().filter(|it| it.event.tag() == EventTag::ExecutionCompleted).count();
    assert_eq!(ends, 1, "NOETL_FAULTS_SEED={seed}");
    let mut claimed = std::collections::BTreeSet::new();
    for recorded in log {
        if let Event::CommandClaimed { command, .. } = &recorded.event {
            assert!(claimed.insert(*command), "NOETL_FAULTS_SEED={seed}: {command:?} again");
        }
    }
}

const PARENT: &str = r#"
workflow:
  - step: start
    loop: {in: [1, 2, 3], iterator: n, spec: {mode: parallel}}
    tool: {kind: playbook, return_result: true, path: child, input: {n: "{{ n }}"}}
    next: {arcs: [{step: end}]}
  - step: end
    tool: {kind: noop, result: "{{ start.results | sum }}"}
"#;

const CHILD: &str = r#"
workload: {n: 0}
workflow:
  - step: start
    tool: {kind: noop, result: "{{ n * 10 }}"}
"#;

#[test]
fn a_parent_wakes_in_whatever_order_its_children_end() {
    in_every_order(async |[one, two], seed| {
        register_at(&one.control, "child", CHILD).await;
        register(&one.control, PARENT).await;
        let stop = CancellationToken::new();
        let workers = [worker(&one.control, "a", &stop), worker(&two.control, "b", &stop)];
        let execution = start(&one.control).await;
        let log = await_end(&two.control, execution).await;
        check_once(&log, seed);
        stop.cancel();
        for worker in workers {
            worker.await.expect("a worker");
        }
        one.stop().await;
        two.stop().await;
    });
}

const EACH: &str = r"
workflow:
  - step: start
    loop: {in: [1, 2, 3, 4], iterator: it, spec: {mode: parallel}}
    tool: {kind: noop}
    next: {arcs: [{step: end}]}
  - step: end
    tool: {kind: noop}
";

#[test]
fn a_command_is_handed_to_one_worker_in_whatever_order_workers_come_and_go() {
    in_every_order(async |[one, two], seed| {
        register(&one.control, EACH).await;
        let stop = CancellationToken::new();
        // These stop waiting while they are perhaps handed a command.
        let (id, pool) = (WorkerId::new("gone"), Pool::shared());
        for _ in 0..seed % 4 {
            let leaving = one.control.lease(&id, &pool, 1, WAIT);
            let _gone = tokio::time::timeout(Duration::from_millis(seed % 7), leaving).await;
        }
        let workers = [worker(&one.control, "a", &stop), worker(&two.control, "b", &stop)];
        let (first, second) = tokio::join!(start(&one.control), start(&two.control));
        for execution in [first, second] {
            check_once(&await_end(&one.control, execution).await, seed);
        }
        stop.cancel();
        for worker in workers {
            worker.await.expect("a worker");
        }
        one.stop().await;
        two.stop().await;
    });
}

#[test]
fn inputs_of_one_execution_are_decided_once_each_in_whatever_order_they_come() {
    in_every_order(async |[one, two], seed| {
        register(&one.control, EACH).await;
        let execution = start(&one.control).await;
        let mut scripted = ScriptedWorker::default();
        let mut ended_by = Vec::new();
        while ended(&one.control, execution).await.is_none() {
            for leased in lease(&two.control, "w", 4).await {
                let outcome = run(&one.control, &leased, &mut scripted).await;
                let report = report(&leased, "w", outcome);
                // The same report comes to both control planes, twice to one of them.
                let (first, second, third) = tokio::join!(
                    one.control.report(report.clone()),
                    two.control.report(report.clone()),
                    one.control.report(report),
                );
                ended_by.extend([first, second, third].map(|answer| answer.expect("an answer")));
            }
        }
        let log = log(&two.control, execution).await;
        check_once(&log, seed);
        let done = log.iter().filter(|it| it.event.tag() == EventTag::CommandCompleted).count();
        assert_eq!((done, ended_by.len()), (5, 15), "NOETL_FAULTS_SEED={seed}");
        one.stop().await;
        two.stop().await;
    });
}

#[test]
fn appends_that_share_a_commit_are_all_answered_in_whatever_order_they_come() {
    in_every_order(async |[one, two], seed| {
        register(&one.control, EACH).await;
        let stop = CancellationToken::new();
        let workers = [worker(&one.control, "a", &stop), worker(&two.control, "b", &stop)];
        let starts = (0..6).map(|n| start(if n % 2 == 0 { &one.control } else { &two.control }));
        let started = futures::future::join_all(starts).await;
        // A cancellation competes with the reports of its execution.
        let _may_have_ended = one.control.cancel(started[0], "not needed").await;
        for execution in &started[1..] {
            check_once(&await_end(&two.control, *execution).await, seed);
        }
        await_end(&two.control, started[0]).await;
        stop.cancel();
        for worker in workers {
            worker.await.expect("a worker");
        }
        one.stop().await;
        two.stop().await;
    });
}

const LIMITED: &str = r"
workflow:
  - step: start
    loop: {in: [1, 2, 3, 4], iterator: it, spec: {mode: parallel}}
    limit: {name: crm, max: 1}
    tool: {kind: noop}
    next: {arcs: [{step: end}]}
  - step: end
    tool: {kind: noop}
";

#[test]
fn messages_to_several_limits_are_settled_in_whatever_order_they_are_delivered() {
    in_every_order(async |[one, two], seed| {
        for limit in ["crm-0", "crm-1", "crm-2"] {
            register_at(&one.control, limit, &LIMITED.replace("crm", limit)).await;
        }
        let stop = CancellationToken::new();
        let workers = [worker(&one.control, "a", &stop), worker(&two.control, "b", &stop)];
        let control = &one.control;
        let starts = (0..6).map(|n| async move {
            let request = StartRequest::new(by_path(&format!("crm-{}", n % 3)), Map::new());
            control.start(request).await.expect("a start")
        });
        for execution in futures::future::join_all(starts).await {
            check_once(&await_end(&two.control, execution).await, seed);
        }
        stop.cancel();
        for worker in workers {
            worker.await.expect("a worker");
        }
        one.stop().await;
        two.stop().await;
    });
}
