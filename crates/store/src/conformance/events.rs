//! One sample event of every variant, with data that is easily damaged in storage.

use std::collections::BTreeMap;
use std::sync::Arc;

use noetl_model::{
    Actor, ApprovalRequest, ApprovalTimeout, Attempt, Bindings, CacheKey, CatalogId,
    ChildExecutions, CommandCache, CommandId, Digest, ErrorKind, ErrorMode, Event, EventTag,
    ExecutionId, ForkPoint, ItemSource, Label, Labels, LimitAmount, LimitDefinition, Logs,
    LoopMode, NoticeOrigin, NoticeReason, NoticeTarget, OnConflict, Origin, PauseScope, Payload,
    PayloadRef, Place, PlaybookRef, Pool, Priority, RejectionEffect, ReusedOutput, RunId,
    ScopeTarget, Seq, SignalName, SkipReason, StartPause, StepName, TaskAddress, TimerId,
    TimerPurpose, ToolError, ToolKind, Verdict, WaitCondition, WaitTimeout, Webhook, WorkerId,
};
use serde_json::{Value, json};

use super::given::at;

const RUN: RunId = RunId(3);
const COMMAND: CommandId = CommandId(8);
const FIRST: Attempt = Attempt(1);

/// Returns one event of every variant.
pub fn every_event() -> Vec<Event> {
    let events =
        [executions(), holds(), steps(), loops(), commands(), attempts(), waits()].concat();
    let mut tags: Vec<EventTag> = events.iter().map(Event::tag).collect();
    tags.sort();
    tags.dedup();
    assert_eq!(tags, EventTag::ALL, "every variant has its sample");
    events
}

/// Returns data with unordered keys, numbers at the limits of JSON readers, and unusual text.
fn fragile() -> Value {
    json!({
        "zebra": [i64::MIN, i64::MAX, u64::MAX, 0.1, 1e300, -0.0, 2.0, 12.100000000000001],
        "apple": { "": null, "é\u{1F980}\u{0000}\"\\\n": [true, false, {}, []] },
    })
}

fn output() -> Payload {
    Payload::inline(fragile())
}

fn large() -> Payload {
    Payload::Ref(PayloadRef { digest: Digest::of(b"large"), size: 70_000 })
}

fn error() -> ToolError {
    ToolError { status: Some(404), ..ToolError::new(ErrorKind::NotFound, "no such page") }
        .with_code("E1")
        .with_details(fragile())
}

fn logs() -> Logs {
    Logs { stdout: "one\r\ntwo".into(), stderr: "\u{1b}[31mred".into() }
}

fn step() -> StepName {
    StepName::new("größe")
}

fn task(place: Place) -> TaskAddress {
    TaskAddress { run: RUN, place, retry: 2 }
}

fn holds() -> Vec<Event> {
    vec![
        Event::ExecutionPaused {
            scope: PauseScope::Parent,
            actor: Some("größe".into()),
            reason: Some("repair".into()),
        },
        Event::ExecutionPaused { scope: PauseScope::Execution, actor: None, reason: None },
        Event::ExecutionResumed { actor: Some("ada".into()), reason: None },
        Event::SlotRequested {
            command: Some(COMMAND),
            limit: LimitDefinition {
                name: "crm".parse().expect("a name"),
                amount: LimitAmount::Slots { max: 3 },
            },
            on_conflict: OnConflict::Queue,
        },
        Event::SlotRequested {
            command: None,
            limit: LimitDefinition {
                name: "crm".parse().expect("a name"),
                amount: LimitAmount::Rate { count: 50, per_ms: 1000, burst: 10 },
            },
            on_conflict: OnConflict::CancelRunning,
        },
        Event::SlotGranted { command: Some(COMMAND), limit: "crm".parse().expect("a name") },
        Event::SlotGranted { command: None, limit: "crm".parse().expect("a name") },
    ]
}

fn actor() -> Actor {
    Actor::new("Ada \"Countess\" \\ Lovelace ä").expect("a name")
}

fn labels() -> Labels {
    let label = |key, value| Label::new(key, value).expect("a label");
    let labels = [label("team", "ops"), label("a.b/c", "it's \"quoted\" \\ 東京")];
    Labels::default().with(labels).expect("few labels")
}

fn notice() -> NoticeOrigin {
    let (execution, event) = (ExecutionId(i64::MAX), Seq(9));
    NoticeOrigin { execution, event, document: Some("größe".into()), depth: 2 }
}

fn executions() -> Vec<Event> {
    let playbook =
        PlaybookRef { catalog_id: CatalogId(i64::MAX), path: "demo/hello".into(), version: 4 };
    let started = |origin, error_mode, trace| Event::ExecutionStarted {
        playbook: playbook.clone(),
        workload: output(),
        origin,
        error_mode,
        pool: Pool::shared(),
        priority: Priority::HIGHEST,
        paused: Some(StartPause { actor: Some("ada".into()), reason: None }),
        trace,
        notice: Some(notice()),
        labels: labels(),
        actor: Some(actor()),
    };
    let parent = Origin::Parent {
        execution: ExecutionId(9),
        command: COMMAND,
        return_step: Some(step()),
        depth: 1,
        iter: Some(fragile()),
    };
    vec![
        started(Origin::Request, ErrorMode::Strict, None),
        started(Origin::Linked { execution: ExecutionId(9), depth: 1 }, ErrorMode::Strict, None),
        started(
            Origin::Schedule { path: "demo/größe".into(), instant: at(7) },
            ErrorMode::Strict,
            None,
        ),
        started(Origin::Rerun { execution: ExecutionId(9) }, ErrorMode::Strict, None),
        started(parent, ErrorMode::Lenient, Some(json!({ "traceparent": "00-1-2-01" }))),
        Event::ExecutionForked {
            origin: ForkPoint { execution: ExecutionId(9), seq: Seq(3) },
            playbook: Some(playbook.clone()),
            workload: Some(large()),
            context: [("key".to_owned(), fragile())].into(),
            again: vec![TaskAddress {
                run: RUN,
                place: Place::Item { index: 4, task: 0 },
                retry: 0,
            }],
            actor: Some(actor()),
        },
        Event::ExecutionCompleted { output: large(), actor: None },
        Event::ExecutionFailed { error: error(), steps: vec![step()], actor: Some(actor()) },
        Event::ExecutionCancelled {
            reason: "enough".into(),
            below: ChildExecutions::Cancelled,
            actor: Some(actor()),
        },
        Event::ExecutionCancelled {
            reason: "enough".into(),
            below: ChildExecutions::Kept,
            actor: None,
        },
        Event::ExecutionLate { due_at: at(60) },
        Event::NotificationRequested {
            reason: NoticeReason::Failed,
            document: Some("notifications/größe".into()),
            target: NoticeTarget::Slack {
                webhook: Webhook::Credential("chat".into()),
                text: "größe".into(),
            },
            problems: vec!["`text`".into()],
        },
        Event::ExecutionStalled { detail: "nothing is under way".into() },
        Event::ExecutionRewound { seen: Seq(41), found: Seq(7) },
        Event::Reported { name: "custom.thing".into(), step: Some(step()), body: fragile() },
    ]
}

fn steps() -> Vec<Event> {
    vec![
        Event::StepEntered { run: RUN, step: step(), from: vec![] },
        Event::StepEntered { run: RUN, step: step(), from: vec![StepName::new("start")] },
        Event::StepSkipped { step: step(), reason: SkipReason::Guard, from: vec![step()] },
        Event::StepSkipped { step: step(), reason: SkipReason::Admission, from: Vec::new() },
        Event::StepSkipped { step: step(), reason: SkipReason::Stopped, from: Vec::new() },
        Event::StepAwaited { step: step(), from: StepName::new("left") },
        Event::StepCompleted { run: RUN, step: step(), output: None },
        Event::StepCompleted { run: RUN, step: step(), output: Some(output()) },
        Event::StepFailed {
            run: RUN,
            step: step(),
            error: error(),
            handled: true,
            output: Some(output()),
        },
    ]
}

fn loops() -> Vec<Event> {
    let opened = |items, mode| Event::LoopOpened { run: RUN, items, mode, in_flight_max: 10 };
    vec![
        opened(ItemSource::Range(u64::MAX), LoopMode::Sequential),
        opened(ItemSource::List { len: 2, values: output() }, LoopMode::Parallel),
        opened(ItemSource::Cursor, LoopMode::Cursor),
        Event::FrameOpened { run: RUN, frame: 1, len: 2, rows: output() },
        Event::IterationCompleted {
            run: RUN,
            index: 1,
            output: Some(Payload::null()),
            error: Some(ToolError::new(ErrorKind::Timeout, "late")),
        },
        Event::IterationFailed { run: RUN, index: 1, error: error() },
    ]
}

fn cache() -> Option<CommandCache> {
    let (execution, completed_at) = (ExecutionId(i64::MAX), at(1));
    let reused = Some(ReusedOutput { execution, command: COMMAND, completed_at });
    Some(CommandCache { key: CacheKey(Digest::of(b"key")), reused })
}

fn commands() -> Vec<Event> {
    let places = [Place::Task(0), Place::Item { index: 5, task: 1 }, Place::Claim { frame: 2 }];
    let bindings = BTreeMap::from([("workload".to_owned(), output()), ("big".to_owned(), large())]);
    places
        .into_iter()
        .map(|place| Event::CommandIssued {
            command: COMMAND,
            task: task(place),
            step: step(),
            tool: ToolKind::Python,
            pool: Pool::new("gpu"),
            bindings: Bindings(bindings.clone()),
            cache: cache(),
        })
        .collect()
}

#[allow(clippy::too_many_lines, reason = "one short arm per event")]
fn attempts() -> Vec<Event> {
    let worker = WorkerId::new("worker-1");
    vec![
        Event::CommandClaimed {
            command: COMMAND,
            attempt: FIRST,
            worker: worker.clone(),
            lease_until: at(30),
            after: Some(CommandId(1)),
        },
        Event::CommandParked { command: COMMAND, attempt: FIRST, worker: worker.clone() },
        Event::WaitOpened {
            command: COMMAND,
            condition: WaitCondition::Time { until: at(60) },
            on_timeout: WaitTimeout::Continue,
        },
        Event::WaitOpened {
            command: COMMAND,
            condition: WaitCondition::Signal {
                name: signal_name(),
                key: Some("größe 1".parse().expect("a key")),
            },
            on_timeout: WaitTimeout::Fail,
        },
        Event::SignalReceived {
            name: signal_name(),
            body: output(),
            sender: Some("shop".into()),
            key: Some("order-7".into()),
            correlation: Some("größe 1".parse().expect("a key")),
            actor: Some(actor()),
        },
        Event::SignalDelivered { command: COMMAND, signal: Seq(9) },
        Event::ApprovalRequested {
            command: COMMAND,
            request: Arc::new(ApprovalRequest {
                title: "Release".to_owned(),
                description: Some("Tests are green.".to_owned()),
                form: Some(fragile()),
                approvers: vec!["ada".to_owned()],
                deadline: Some(at(60)),
                on_timeout: ApprovalTimeout::Approve,
                on_reject: RejectionEffect::Continue,
            }),
        },
        Event::ApprovalDecided {
            command: COMMAND,
            verdict: Verdict::Rejected,
            actor: Some("ada".to_owned()),
            actor_stated: true,
            link_by: Some("bob".to_owned()),
            comment: Some("not today".to_owned()),
            values: output(),
            timed_out: true,
        },
        Event::CommandCompleted {
            command: COMMAND,
            attempt: FIRST,
            output: output(),
            logs: Logs::default(),
            job: None,
        },
        Event::CommandFailed {
            command: COMMAND,
            attempt: FIRST,
            error: error(),
            output: Some(output()),
            logs: logs(),
            job: Some("job-1".into()),
        },
        Event::CommandCancelled {
            command: COMMAND,
            reason: "enough".into(),
            below: ChildExecutions::Cancelled,
        },
        Event::AttemptSuperseded { command: COMMAND, attempt: FIRST, worker },
        Event::ChildStarted { command: COMMAND, child: ExecutionId(77) },
    ]
}

fn signal_name() -> SignalName {
    "payment".parse().expect("a name")
}

fn waits() -> Vec<Event> {
    let values = BTreeMap::from([("rows".to_owned(), fragile())]);
    let reference = PayloadRef { digest: Digest::of(b"rows"), size: 20_000 };
    let large = BTreeMap::from([("page".to_owned(), reference)]);
    let (values, large) = (&values, &large);
    let updated =
        |target| Event::ContextUpdated { target, values: values.clone(), large: large.clone() };
    let timer = TimerId(4);
    let set = |purpose| Event::TimerSet { timer, due_at: at(60), purpose };
    vec![
        updated(ScopeTarget::Execution),
        updated(ScopeTarget::Run { run: RUN }),
        updated(ScopeTarget::Item { run: RUN, index: 2 }),
        set(TimerPurpose::Retry { task: task(Place::Task(1)) }),
        set(TimerPurpose::StepTimeout { run: RUN }),
        set(TimerPurpose::WaitEnd { task: task(Place::Task(1)) }),
        set(TimerPurpose::TaskTimeout { task: task(Place::Item { index: 2, task: 0 }) }),
        set(TimerPurpose::ExecutionTimeout),
        set(TimerPurpose::HeldStart),
        set(TimerPurpose::Late),
        Event::TimerFired { timer },
        Event::TimerCancelled { timer },
    ]
}
