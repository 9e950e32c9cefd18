//! Encoding of a plan as the arguments of the append statement: an array of rows for each table,
//! in the order of `sql/functions/append.sql`, with the field order of the composite types in
//! `migrations/083_append_rows.sql`, `migrations/096_append_under_keys.sql`,
//! `migrations/160_index.sql`, `migrations/161_labels.sql` and `migrations/180_priority.sql`.

use std::borrow::Cow;
use std::collections::BTreeSet;

use noetl_model::{
    Actor, Digest, EventTag, ExecutionId, IndexEntry, Parent, Recorded, Summary, Timestamp,
};
use noetl_store::to_row::{index_command, stored, to_json};
use noetl_store::{CommandKey, ExecutionChange, Holder, KeptKey, KeyName, OpenCommand, Plan};
use sqlx::postgres::{PgArguments, PgHasArrayType, PgTypeInfo};
use sqlx::query::Query;
use sqlx::{Postgres, Type};

use crate::instant::Instant;
use crate::row::plain;

/// The basis of a plan.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum PlanBasis {
    /// Stored rows that were read and locked, and the database's clock.
    Read,
    /// The batch alone, and this process's clock.
    Assumed,
    /// The batch alone, with a clock that all servers share.
    AssumedWithClock,
}

/// Returns the statement that writes a plan made at `now`, with its start keys.
pub(crate) fn bound(
    plan: &Plan<'_>,
    now: Timestamp,
    footing: PlanBasis,
) -> Query<'static, Postgres, PgArguments> {
    let changed = plan.executions.iter().filter(|(_, change)| !change.is_new);
    let started = plan.executions.iter().filter(|(_, change)| change.is_new);
    sqlx::query(include_str!("../sql/append.sql"))
        .bind(rows(plan.keys.iter().map(TakenKey::of)))
        .bind(rows(changed.map(ChangedExecution::of)))
        .bind(rows(started.map(StartColumns::of)))
        .bind(rows(plan.events.iter().map(AppendedEvent::of)))
        .bind(rows(plan.children.iter().map(StartedChild::of)))
        .bind(rows(plan.open_commands().map(OpenedCommand::of)))
        .bind(footing != PlanBasis::Read)
        .bind(rows(
            plan.ended_commands().map(|(execution, command)| EndedWork::of(execution, command.0)),
        ))
        .bind(rows(plan.set_timers().map(|((execution, timer), due_at)| SetTimer {
            execution_id: execution.0,
            timer_id: stored(timer.0),
            due_at: Instant(due_at),
        })))
        .bind(rows(plan.ended_timers().map(|(execution, timer)| EndedWork::of(execution, timer.0))))
        .bind(rows(plan.messages.iter().map(|(execution, message)| PostedMessage {
            execution_id: execution.0,
            message: to_json(message),
        })))
        .bind(rows(payloads(plan)))
        .bind(rows(
            plan.removed_index()
                .map(|(execution, entry)| EncodeIndexRow::of(execution, entry, None)),
        ))
        .bind(rows(
            plan.added_index()
                .map(|(execution, entry, at)| EncodeIndexRow::of(execution, entry, Some(at))),
        ))
        .bind(Instant(now))
        .bind(footing == PlanBasis::Assumed)
}

/// Returns the payloads of a plan, and the references to payloads that are stored already.
fn payloads<'a>(plan: &'a Plan<'_>) -> impl Iterator<Item = PayloadColumns<'a>> {
    let row = |execution: &ExecutionId, digest, body| PayloadColumns {
        execution_id: execution.0,
        sha256: bytes(digest),
        body,
    };
    let mut referred: BTreeSet<(ExecutionId, &Digest)> =
        plan.references.iter().map(|(execution, digest)| (*execution, digest)).collect();
    for (execution, digest, _) in &plan.payloads {
        referred.remove(&(*execution, *digest));
    }
    let stored = plan.payloads.iter();
    stored
        .map(move |(execution, digest, body)| row(execution, digest, Some(*body)))
        .chain(referred.into_iter().map(move |(execution, digest)| row(&execution, digest, None)))
}

/// Collects rows; `None` for an empty list, because NULL costs the server less than an empty array.
fn rows<R>(rows: impl Iterator<Item = R>) -> Option<Vec<R>> {
    let rows: Vec<R> = rows.collect();
    (!rows.is_empty()).then_some(rows)
}

fn bytes(digest: &Digest) -> &[u8] {
    digest.as_bytes()
}

/// Implements the PostgreSQL type of row structs.
macro_rules! composite {
    ($($row:ty = $name:literal;)+) => {$(
        impl Type<Postgres> for $row {
            fn type_info() -> PgTypeInfo {
                PgTypeInfo::with_name($name)
            }
        }

        impl PgHasArrayType for $row {
            fn array_type_info() -> PgTypeInfo {
                PgTypeInfo::array_of($name)
            }
        }
    )+};
}

composite! {
    EncodeProgress<'_> = "noetl.progress";
    StartColumns<'_> = "noetl.new_execution";
    ChangedExecution<'_> = "noetl.changed_execution";
    AppendedEvent<'_> = "noetl.appended_event";
    StartedChild = "noetl.started_child";
    OpenedCommand<'_> = "noetl.queued_command";
    SetTimer = "noetl.set_timer";
    EndedWork = "noetl.ended_work";
    PostedMessage = "noetl.posted_message";
    PayloadColumns<'_> = "noetl.kept_payload";
    TakenKey<'_> = "noetl.kept_key";
    EncodeIndexRow<'_> = "noetl.index_row";
}

#[derive(sqlx_macros::Encode)]
struct TakenKey<'a> {
    scope: Cow<'a, str>,
    name: Cow<'a, str>,
    execution_id: i64,
    request: Option<Vec<u8>>,
    kept_until: Instant,
}

impl<'a> TakenKey<'a> {
    fn of(((scope, name), kept): (&'a KeyName, &KeptKey)) -> Self {
        Self {
            scope: plain(scope),
            name: plain(name),
            execution_id: kept.holder.execution.0,
            request: kept.holder.request.map(|digest| digest.as_bytes().to_vec()),
            kept_until: Instant(kept.until),
        }
    }
}

#[derive(sqlx_macros::Encode)]
struct EncodeProgress<'a> {
    status: &'static str,
    seq: i64,
    last_event_at: Instant,
    ended_at: Option<Instant>,
    current_step: Option<Cow<'a, str>>,
    steps_total: i64,
    steps_running: i64,
    steps_completed: i64,
    steps_failed: i64,
    items_total: i64,
    items_completed: i64,
    items_failed: i64,
    error: Option<String>,
    head_digest: Option<&'a [u8]>,
}

impl<'a> EncodeProgress<'a> {
    fn of(change: &ExecutionChange<'a>) -> Self {
        let Summary { status, ended_at, current_step, steps, items, error, head, .. } =
            change.summary;
        Self {
            status: status.as_str(),
            seq: stored(change.end.seq.0),
            last_event_at: Instant(change.end.at),
            ended_at: ended_at.map(Instant),
            current_step: current_step.as_ref().map(|step| plain(step.as_str())),
            steps_total: i64::from(steps.total),
            steps_running: i64::from(steps.running),
            steps_completed: i64::from(steps.completed),
            steps_failed: i64::from(steps.failed),
            items_total: stored(items.total),
            items_completed: stored(items.completed),
            items_failed: stored(items.failed),
            error: error.as_ref().map(to_json),
            head_digest: head.as_ref().map(bytes),
        }
    }
}

#[derive(sqlx_macros::Encode)]
struct StartColumns<'a> {
    execution_id: i64,
    catalog_id: i64,
    path: Cow<'a, str>,
    path_folded: String,
    version: i64,
    started_at: Instant,
    parent_execution_id: Option<i64>,
    parent_command_id: Option<i64>,
    fork_execution_id: Option<i64>,
    fork_seq: Option<i64>,
    labels: Option<String>,
    actor: Option<&'a str>,
    reached: EncodeProgress<'a>,
}

impl<'a> StartColumns<'a> {
    fn of((execution, change): (&ExecutionId, &ExecutionChange<'a>)) -> Self {
        let Summary { playbook, started_at, parent, fork, labels, actor, .. } = change.summary;
        Self {
            execution_id: execution.0,
            catalog_id: playbook.catalog_id.0,
            path: plain(&playbook.path),
            path_folded: plain(&playbook.path.to_lowercase()).into_owned(),
            version: i64::from(playbook.version),
            started_at: Instant(*started_at),
            parent_execution_id: parent.map(|it| it.execution().0),
            parent_command_id: parent.and_then(Parent::command).map(|it| stored(it.command.0)),
            fork_execution_id: fork.map(|fork| fork.execution.0),
            fork_seq: fork.map(|fork| stored(fork.seq.0)),
            labels: (!labels.is_empty()).then(|| to_json(labels)),
            actor: actor.as_ref().map(Actor::as_str),
            reached: EncodeProgress::of(change),
        }
    }
}

#[derive(sqlx_macros::Encode)]
struct ChangedExecution<'a> {
    execution_id: i64,
    reached: EncodeProgress<'a>,
    expected_seq: i64,
    expected_head: Option<&'a [u8]>,
}

impl<'a> ChangedExecution<'a> {
    fn of((execution, change): (&ExecutionId, &'a ExecutionChange<'_>)) -> Self {
        Self {
            execution_id: execution.0,
            reached: EncodeProgress::of(change),
            expected_seq: stored(change.before.seq.0),
            expected_head: change.before.head.as_ref().map(bytes),
        }
    }
}

#[derive(sqlx_macros::Encode)]
struct AppendedEvent<'a> {
    execution_id: i64,
    seq: i64,
    event_id: i64,
    event_type: &'static str,
    node_name: Option<Cow<'a, str>>,
    created_at: Instant,
    body: String,
    prev_digest: Option<&'a [u8]>,
}

impl<'a> AppendedEvent<'a> {
    fn of((execution, recorded): &(ExecutionId, &'a Recorded)) -> Self {
        Self {
            execution_id: execution.0,
            seq: stored(recorded.seq.0),
            event_id: recorded.event_id.0,
            event_type: EventTag::as_str(recorded.event.tag()),
            node_name: recorded.event.step().map(|step| plain(step.as_str())),
            created_at: Instant(recorded.at),
            body: to_json(&recorded.event),
            prev_digest: recorded.prev.as_ref().map(bytes),
        }
    }
}

#[derive(sqlx_macros::Encode)]
struct StartedChild {
    parent_execution_id: i64,
    parent_command_id: i64,
    execution_id: i64,
}

impl StartedChild {
    fn of(((parent, command), child): (&CommandKey, &ExecutionId)) -> Self {
        Self {
            parent_execution_id: parent.0,
            parent_command_id: stored(command.0),
            execution_id: child.0,
        }
    }
}

#[derive(sqlx_macros::Encode)]
struct OpenedCommand<'a> {
    execution_id: i64,
    command_id: i64,
    pool: Cow<'a, str>,
    step_name: Cow<'a, str>,
    attempt: i64,
    status: &'static str,
    worker_id: Option<Cow<'a, str>>,
    lease_until: Option<Instant>,
    priority: i64,
}

impl<'a> OpenedCommand<'a> {
    fn of(((execution, command), open): (CommandKey, &'a OpenCommand)) -> Self {
        let (status, worker_id, lease_until) = match &open.holder {
            Holder::Nobody { .. } => ("ISSUED", None, None),
            Holder::Worker { worker, lease_until } => {
                ("CLAIMED", Some(plain(worker.as_str())), Some(Instant(*lease_until)))
            }
            Holder::Parked => ("PARKED", None, None),
        };
        Self {
            execution_id: execution.0,
            command_id: stored(command.0),
            pool: plain(open.pool.as_str()),
            step_name: plain(&open.step),
            attempt: i64::from(open.attempt.0),
            status,
            worker_id,
            lease_until,
            priority: i64::from(open.priority.level()),
        }
    }
}

#[derive(sqlx_macros::Encode)]
struct SetTimer {
    execution_id: i64,
    timer_id: i64,
    due_at: Instant,
}

/// An ended command or timer.
#[derive(sqlx_macros::Encode)]
struct EndedWork {
    execution_id: i64,
    id: i64,
}

impl EndedWork {
    fn of(execution: ExecutionId, id: u64) -> Self {
        Self { execution_id: execution.0, id: stored(id) }
    }
}

#[derive(sqlx_macros::Encode)]
struct PostedMessage {
    execution_id: i64,
    message: String,
}

#[derive(sqlx_macros::Encode)]
struct PayloadColumns<'a> {
    execution_id: i64,
    sha256: &'a [u8],
    /// `None` for a payload that is stored already.
    body: Option<&'a [u8]>,
}

#[derive(sqlx_macros::Encode)]
struct EncodeIndexRow<'a> {
    kind: &'static str,
    key: &'a str,
    execution_id: i64,
    command_id: i64,
    created_at: Option<Instant>,
}

impl<'a> EncodeIndexRow<'a> {
    fn of(execution: ExecutionId, entry: &'a IndexEntry, at: Option<Timestamp>) -> Self {
        Self {
            kind: entry.kind.as_str(),
            key: entry.key.as_str(),
            execution_id: execution.0,
            command_id: index_command(entry.command),
            created_at: at.map(Instant),
        }
    }
}
