//! Sample events: one of each kind, with every field filled.

use std::collections::BTreeMap;
use std::sync::Arc;

use noetl_model::{
    ApprovalRequest, ApprovalTimeout, Attempt, Bindings, CatalogId, ChildExecutions, CommandId,
    Digest, ErrorKind, ErrorMode, Event, EventId, ExecutionId, ForkPoint, ItemSource, Labels,
    LimitAmount, LimitDefinition, Logs, LoopMode, NoticeReason, NoticeTarget, OnConflict, Origin,
    PauseScope, Payload, PayloadRef, Place, PlaybookRef, Pool, Priority, Recorded, RejectionEffect,
    RunId, ScopeTarget, Seq, SkipReason, StartPause, StepName, TaskAddress, TimerId, TimerPurpose,
    Timestamp, ToolError, ToolKind, Verdict, WaitCondition, WaitTimeout, WorkerId,
};
use serde_json::json;

const COMMAND: CommandId = CommandId(4);
const RUN: RunId = RunId(2);

pub(crate) fn all() -> Vec<Recorded> {
    let events =
        executions().into_iter().chain(steps()).chain(commands()).chain(others()).chain(added());
    (1..)
        .zip(events)
        .map(|(n, event)| Recorded {
            seq: Seq(n),
            event_id: EventId(380_247_909_993_574_400 + n.cast_signed()),
            at: Timestamp::from_micros(1_794_741_966_505_656),
            event,
            prev: None,
        })
        .collect()
}

fn step() -> StepName {
    StepName::new("load")
}

fn error() -> ToolError {
    ToolError {
        kind: ErrorKind::RateLimit,
        message: "HTTP 429 from GET https://example.test/".to_owned(),
        retryable: true,
        code: Some("429".to_owned()),
        status: Some(429),
        details: Some(Box::new(json!({ "retry_after": 3 }))),
    }
}

fn large() -> Payload {
    Payload::Ref(PayloadRef { digest: Digest::of(b"large"), size: 70_000 })
}

fn logs() -> Logs {
    Logs { stdout: "loading\n".to_owned(), stderr: "slow\n".to_owned() }
}

fn executions() -> Vec<Event> {
    vec![
        Event::ExecutionForked {
            origin: ForkPoint { execution: ExecutionId(380_247_909_993_574_400), seq: Seq(17) },
            playbook: Some(PlaybookRef {
                catalog_id: CatalogId(760_495_645_126_819_842),
                path: "etl/load".to_owned(),
                version: 4,
            }),
            workload: Some(Payload::inline(json!({ "url": "https://example.test/" }))),
            context: [("limit".to_owned(), json!(5))].into(),
            again: vec![TaskAddress {
                run: RUN,
                place: Place::Item { index: 3, task: 0 },
                retry: 0,
            }],
            actor: None,
        },
        Event::ExecutionStarted {
            playbook: PlaybookRef {
                catalog_id: CatalogId(760_495_645_126_819_841),
                path: "etl/load".to_owned(),
                version: 3,
            },
            workload: Payload::inline(json!({ "url": "https://example.test/" })),
            origin: Origin::Parent {
                execution: ExecutionId(380_247_909_993_574_400),
                command: COMMAND,
                return_step: Some(step()),
                depth: 1,
                iter: Some(json!({ "index": 0 })),
            },
            error_mode: ErrorMode::Strict,
            pool: Pool::shared(),
            priority: Priority::HIGHEST,
            paused: Some(StartPause {
                actor: Some("ada".to_owned()),
                reason: Some("repair".to_owned()),
            }),
            trace: Some(
                json!({ "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" }),
            ),
            notice: None,
            labels: Labels::default(),
            actor: None,
        },
        Event::ExecutionCompleted { output: Payload::inline(json!({ "rows": 3 })), actor: None },
        Event::ExecutionFailed { error: error(), steps: vec![step()], actor: None },
        Event::ExecutionCancelled {
            reason: "no longer wanted".to_owned(),
            below: ChildExecutions::Cancelled,
            actor: None,
        },
        Event::ExecutionStalled { detail: "nothing is under way".to_owned() },
    ]
}

/// Events that were added later: the others keep their numbers, and so their golden files.
fn added() -> Vec<Event> {
    vec![
        Event::ExecutionLate { due_at: Timestamp::from_millis(600_000) },
        Event::NotificationRequested {
            reason: NoticeReason::Failed,
            document: Some("notifications/ops".to_owned()),
            target: NoticeTarget::Mail {
                to: vec!["ops@example.test".to_owned()],
                subject: "etl/load failed".to_owned(),
                body: "It failed.".to_owned(),
                credential: "smtp".to_owned(),
            },
            problems: vec!["`subject`: no such value".to_owned()],
        },
    ]
}

fn steps() -> Vec<Event> {
    vec![
        Event::StepEntered { run: RUN, step: step(), from: vec![StepName::new("start")] },
        Event::StepSkipped { step: step(), reason: SkipReason::Guard, from: vec![step()] },
        Event::StepAwaited { step: step(), from: StepName::new("start") },
        Event::StepCompleted { run: RUN, step: step(), output: Some(large()) },
        Event::StepFailed { run: RUN, step: step(), error: error(), handled: true, output: None },
        Event::LoopOpened {
            run: RUN,
            items: ItemSource::List { len: 2, values: Payload::inline(json!([1, 2])) },
            mode: LoopMode::Parallel,
            in_flight_max: 5,
        },
        Event::FrameOpened {
            run: RUN,
            frame: 1,
            len: 1,
            rows: Payload::inline(json!([{ "id": 1 }])),
        },
        Event::IterationCompleted {
            run: RUN,
            index: 7,
            output: Some(Payload::inline(json!({ "n": 7 }))),
            error: None,
        },
        Event::IterationFailed { run: RUN, index: 8, error: error() },
    ]
}

fn commands() -> Vec<Event> {
    let bindings = BTreeMap::from([
        ("item".to_owned(), Payload::inline(json!(7))),
        ("rows".to_owned(), large()),
    ]);
    vec![
        Event::CommandIssued {
            command: COMMAND,
            task: TaskAddress { run: RUN, place: Place::Item { index: 7, task: 1 }, retry: 2 },
            step: step(),
            tool: ToolKind::Http,
            pool: Pool::shared(),
            bindings: Bindings(bindings),
            cache: None,
        },
        Event::CommandClaimed {
            command: COMMAND,
            attempt: Attempt(1),
            worker: WorkerId::new("worker-1"),
            lease_until: Timestamp::from_micros(1_794_741_996_505_656),
            after: None,
        },
        Event::CommandCompleted {
            command: COMMAND,
            attempt: Attempt(1),
            output: Payload::inline(json!({ "status_code": 200 })),
            logs: logs(),
            job: None,
        },
        Event::CommandFailed {
            command: COMMAND,
            attempt: Attempt(1),
            error: error(),
            output: Some(Payload::inline(json!({ "status_code": 429 }))),
            logs: logs(),
            job: None,
        },
        Event::CommandCancelled {
            command: COMMAND,
            reason: "the step has timed out".to_owned(),
            below: ChildExecutions::Cancelled,
        },
        Event::AttemptSuperseded {
            command: COMMAND,
            attempt: Attempt(1),
            worker: WorkerId::new("worker-1"),
        },
        Event::ChildStarted { command: COMMAND, child: ExecutionId(380_247_909_993_574_401) },
    ]
}

#[allow(clippy::too_many_lines, reason = "one instance for each event")]
fn others() -> Vec<Event> {
    vec![
        Event::ContextUpdated {
            target: ScopeTarget::Item { run: RUN, index: 7 },
            values: BTreeMap::from([("page".to_owned(), json!(2))]),
            large: BTreeMap::new(),
        },
        Event::TimerSet {
            timer: TimerId(1),
            due_at: Timestamp::from_micros(1_794_741_968_505_656),
            purpose: TimerPurpose::Retry {
                task: TaskAddress { run: RUN, place: Place::Task(0), retry: 1 },
            },
        },
        Event::TimerFired { timer: TimerId(1) },
        Event::TimerCancelled { timer: TimerId(2) },
        Event::Reported {
            name: "call.done".to_owned(),
            step: Some(step()),
            body: json!({ "call_index": 0 }),
        },
        Event::ExecutionRewound { seen: Seq(20), found: Seq(12) },
        Event::CommandParked {
            command: COMMAND,
            attempt: Attempt(1),
            worker: WorkerId::new("worker-1"),
        },
        Event::WaitOpened {
            command: COMMAND,
            condition: WaitCondition::Signal {
                name: "payment".parse().expect("a name"),
                key: Some("A-1001".parse().expect("a key")),
            },
            on_timeout: WaitTimeout::Continue,
        },
        Event::SignalReceived {
            name: "payment".parse().expect("a name"),
            body: Payload::inline(json!({ "amount": 12 })),
            sender: Some("shop".to_owned()),
            key: Some("order-7".to_owned()),
            correlation: Some("A-1001".parse().expect("a key")),
            actor: None,
        },
        Event::SignalDelivered { command: COMMAND, signal: Seq(9) },
        Event::ApprovalRequested {
            command: COMMAND,
            request: Arc::new(ApprovalRequest {
                title: "Release 1.4".to_owned(),
                description: Some("Tests are green.".to_owned()),
                form: Some(json!({ "properties": { "window": { "type": "string" } } })),
                approvers: vec!["ada".to_owned()],
                deadline: Some(Timestamp::from_millis(1_794_741_999_000)),
                on_timeout: ApprovalTimeout::Reject,
                on_reject: RejectionEffect::Continue,
            }),
        },
        Event::ApprovalDecided {
            command: COMMAND,
            verdict: Verdict::Approved,
            actor: Some("ada".to_owned()),
            actor_stated: true,
            link_by: Some("bob".to_owned()),
            comment: Some("go".to_owned()),
            values: Payload::inline(json!({ "window": "night" })),
            timed_out: false,
        },
        Event::ExecutionPaused {
            scope: PauseScope::Playbook,
            actor: Some("ada".to_owned()),
            reason: Some("repair".to_owned()),
        },
        Event::ExecutionResumed {
            actor: Some("ada".to_owned()),
            reason: Some("repaired".to_owned()),
        },
        Event::SlotRequested {
            command: Some(COMMAND),
            limit: LimitDefinition {
                name: "crm".parse().expect("a name"),
                amount: LimitAmount::Rate { count: 50, per_ms: 1000, burst: 10 },
            },
            on_conflict: OnConflict::CancelRunning,
        },
        Event::SlotGranted { command: Some(COMMAND), limit: "crm".parse().expect("a name") },
    ]
}
