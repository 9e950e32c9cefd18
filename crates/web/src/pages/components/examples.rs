//! Example values of the components that draw executions, approvals and documents.

use std::time::Duration;

use maud::{Markup, html};
use noetl_api::wire::{
    ApprovalDecisionView, ApprovalView, DocumentFinding, ExecutionHistogram, HistogramBucket,
};
use noetl_app::{DeclaredWait, Initiator, UnservedWait, WaitHint};
use noetl_engine::Pause;
use noetl_model::{
    CatalogId, CommandId, ExecutionId, ExecutionStatus, ForkPoint, ItemCounts, Labels, LimitName,
    PauseScope, PlaybookRef, Pool, Seq, StepCounts, StepName, Summary, Timestamp,
};
use serde_json::json;

use crate::components::approval::{Decider, approval_form, decision};
use crate::components::duration_bars::duration_bars;
use crate::components::editor::{EditorField, editor_field, findings};
use crate::components::execution_table::execution_table;
use crate::components::histogram::histogram;
use crate::components::initiator::initiator_line;
use crate::components::labels::{actor_link, label_links, labels_of};
use crate::components::progress::{ExecutionLine, progress};
use crate::components::source_text::coloured_lines;
use crate::request::PageRequest;

const EXECUTION: ExecutionId = ExecutionId(7_000_123_456_789);

/// A short document with every kind of token.
const DOCUMENT: &str = "\
# A comment
workflow:
  - step: &first greet
    tool: {kind: noop, result: \"Hello {{ workload.name }}\", times: 3, loud: true}
";

fn at(page: &PageRequest, seconds_ago: u64) -> Timestamp {
    let micros = i64::try_from(seconds_ago * 1_000_000).unwrap_or(0);
    Timestamp::from_micros(page.now.as_micros() - micros)
}

fn summary(page: &PageRequest, status: ExecutionStatus, seconds: u64) -> Summary {
    Summary {
        execution: EXECUTION,
        playbook: PlaybookRef {
            catalog_id: CatalogId(1),
            path: "shop/orders".to_owned(),
            version: 3,
        },
        status,
        seq: Seq(12),
        started_at: at(page, 600),
        ended_at: status.is_terminal().then(|| at(page, 600 - seconds)),
        parent: None,
        current_step: Some(StepName::new("price")),
        steps: StepCounts::default(),
        items: ItemCounts::default(),
        error: None,
        head: None,
        fork: None,
        labels: labels(),
        actor: None,
    }
}

fn labels() -> Labels {
    labels_of("team:ops, env:test").unwrap_or_default()
}

pub(super) fn labels_example() -> Markup {
    let actor = "ada".parse().ok();
    html! { (label_links(&labels())) @if let Some(actor) = &actor { (actor_link(actor)) } }
}

pub(super) fn durations(page: &PageRequest) -> Markup {
    let ended = [(ExecutionStatus::Completed, 30), (ExecutionStatus::Failed, 90)];
    let ended = ended.map(|(status, seconds)| summary(page, status, seconds));
    duration_bars(page, "Durations, at most", &ended)
}

pub(super) fn table(page: &PageRequest) -> Markup {
    let line = |status| ExecutionLine {
        summary: summary(page, status, 42),
        initiator: Initiator::Parent(EXECUTION),
        hint: None,
    };
    let lines: Vec<ExecutionLine> = ExecutionStatus::ALL.iter().map(|it| line(*it)).collect();
    execution_table(page, &lines)
}

pub(super) fn initiators(page: &PageRequest) -> Markup {
    let path = || "shop/nightly".to_owned();
    let all = [
        Initiator::Request,
        Initiator::OtherProgram,
        Initiator::Parent(EXECUTION),
        Initiator::Subscription { id: EXECUTION, path: path() },
        Initiator::Schedule { path: path(), instant: page.now },
        Initiator::Rerun(EXECUTION),
        Initiator::Fork(ForkPoint { execution: EXECUTION, seq: Seq(4) }),
    ];
    html! { ul.plain-list { @for initiator in &all { li { (initiator_line(page, initiator)) } } } }
}

pub(super) fn hints(page: &PageRequest) -> Markup {
    let lines = all_hints(page).into_iter().map(|hint| ExecutionLine {
        summary: summary(page, ExecutionStatus::Running, 0),
        initiator: Initiator::Request,
        hint: Some(hint),
    });
    html! { ul.plain-list { @for line in lines { li { (progress(page.words, &line, page.now)) } } } }
}

/// Returns a hint of every kind, in every form of its sentence.
fn all_hints(page: &PageRequest) -> Vec<WaitHint> {
    let since = at(page, 90);
    let declared = |wait| WaitHint::Declared { step: StepName::new("price"), since, wait };
    let limit = || "crm".parse::<LimitName>().expect("a name");
    let slot =
        |place| declared(DeclaredWait::Slot { limit: limit(), place, command: CommandId(0) });
    let pause = |scope, actor: Option<&str>| {
        WaitHint::Paused(Pause {
            scope,
            since,
            actor: actor.map(str::to_owned),
            reason: Some("broken printer".to_owned()),
            seq: Seq(1),
        })
    };
    let pool = |actor: Option<&str>| WaitHint::PoolPaused {
        pool: Pool::new("gpu"),
        actor: actor.map(str::to_owned),
        since,
    };
    vec![
        WaitHint::NoWorker(UnservedWait {
            pool: Pool::new("gpu"),
            commands: 3,
            waited: Duration::from_secs(90),
        }),
        declared(DeclaredWait::Callback),
        declared(DeclaredWait::Time { until: page.now }),
        declared(DeclaredWait::Signal { name: "paid".parse().expect("a name") }),
        declared(DeclaredWait::Approval { title: "Release 1.4".to_owned() }),
        declared(DeclaredWait::Child { child: EXECUTION }),
        declared(DeclaredWait::Retry { due_at: page.now }),
        slot(None),
        slot(Some(4)),
        pause(PauseScope::Execution, None),
        pause(PauseScope::Parent, Some("ada")),
        pause(PauseScope::Playbook, None),
        pause(PauseScope::Playbook, Some("ada")),
        pool(None),
        pool(Some("ada")),
        WaitHint::Queued { limit: limit(), place: None, since },
        WaitHint::Queued { limit: limit(), place: Some(2), since },
    ]
}

pub(super) fn approvals(page: &PageRequest) -> Markup {
    let asked = json!({
        "execution_id": "7000123456789", "command": 3, "path": "shop/release", "step": "release",
        "title": "Release 1.4", "description": "The tests are green.", "approvers": ["ada"],
        "form": { "properties": {
            "share": { "type": "integer", "title": "Share", "minimum": 1, "default": 10 },
            "window": { "title": "Window", "enum": ["now", "night"], "default": "now" },
        } },
        "requested_at": at(page, 600).to_string(), "on_timeout": "fail", "on_reject": "continue",
    });
    let asked: Option<ApprovalView> = serde_json::from_value(asked).ok();
    let decided = json!({
        "decision": "rejected", "actor": "grace", "comment": "not on a Friday",
        "values": { "share": 10 }, "decided_at": page.now.to_string(), "timed_out": false,
    });
    let decided: Option<ApprovalDecisionView> = serde_json::from_value(decided).ok();
    html! {
        @if let Some(view) = &asked {
            (approval_form(page, "/ui/preferences", view, &Decider::Known("ada".to_owned()), None))
        }
        @if let Some(view) = &decided { (decision(page, view)) }
    }
}

pub(super) fn bars(page: &PageRequest) -> Markup {
    let bucket = |index: u64| HistogramBucket {
        from: at(page, 3600 * (4 - index)),
        until: at(page, 3600 * (3 - index)),
        running: index % 2,
        completed: 4 * index,
        failed: index / 2,
        cancelled: 1,
    };
    let counts = ExecutionHistogram {
        from: at(page, 3600 * 4),
        until: page.now,
        step_seconds: 3600,
        count_max: 1000,
        truncated: false,
        buckets: (0..4).map(bucket).collect(),
    };
    histogram(page, &counts, |_, _| "/ui/components".to_owned(), None)
}

pub(super) fn source() -> Markup {
    html! { pre.source tabindex="0" { @for line in coloured_lines(DOCUMENT) { span.line { (line) "\n" } } } }
}

pub(super) fn editor(page: &PageRequest) -> Markup {
    let finding = |severity: &str, message: &str| DocumentFinding {
        severity: severity.to_owned(),
        code: "unknown-key".to_owned(),
        message: message.to_owned(),
        help: Some("did you mean `kind`?".to_owned()),
        line: 4,
        column: 12,
        start: 0,
        end: 0,
    };
    let found = [finding("error", "there is no key `knid`"), finding("warning", "never used")];
    let field = EditorField { name: "content", content: DOCUMENT, findings: &found, line: None };
    html! { (editor_field(page, &field)) (findings(page, &[])) }
}
