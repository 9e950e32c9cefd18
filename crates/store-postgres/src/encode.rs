//! A plan as the one statement that writes it takes it: an array for each column.

use noetl_model::{Digest, EventTag, Parent, StepName, Summary, Timestamp};
use noetl_store::{CommandKey, Holder, LogEnd, OpenCommand, Plan};
use sqlx::Postgres;
use sqlx::postgres::PgArguments;
use sqlx::query::Query;

use crate::instant::Instant;
use crate::row::{plain, stored, to_json};

type Statement = Query<'static, Postgres, PgArguments>;

/// What a plan was made on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Footing {
    /// What has been read and kept from others, and the database's clock.
    Read,
    /// What the batch itself says, and this process's clock.
    Presumed,
    /// The same, with a clock that all servers share.
    PresumedOnTime,
}

/// The statement that writes a plan made at `now`.
pub(crate) fn bound(plan: &Plan<'_>, now: Timestamp, footing: Footing) -> Statement {
    let statement = sqlx::query(include_str!("../sql/append.sql"));
    let statement = executions(events(statement, plan), plan);
    let statement = commands(children(statement, plan), plan, footing);
    let statement = payloads(messages(timers(statement, plan), plan), plan);
    statement.bind(Instant(now)).bind(footing == Footing::Presumed)
}

/// One column of some rows; of no rows, nothing: an array costs the server more than none.
fn column<R, T>(rows: &[R], of: impl FnMut(&R) -> T) -> Option<Vec<T>> {
    (!rows.is_empty()).then(|| rows.iter().map(of).collect())
}

/// One column of some rows of which most have no value.
fn sparse<R, T>(rows: &[R], mut of: impl FnMut(&R) -> Option<T>) -> Option<Vec<Option<T>>> {
    let first = rows.iter().position(|row| of(row).is_some())?;
    Some(
        rows.iter()
            .enumerate()
            .map(|(place, row)| if place < first { None } else { of(row) })
            .collect(),
    )
}

fn events(statement: Statement, plan: &Plan<'_>) -> Statement {
    let rows = &plan.events;
    statement
        .bind(column(rows, |(execution, _)| execution.0))
        .bind(column(rows, |(_, recorded)| stored(recorded.seq.0)))
        .bind(column(rows, |(_, recorded)| recorded.event_id.0))
        .bind(column(rows, |(_, recorded)| EventTag::as_str(recorded.event.tag())))
        .bind(column(rows, |(_, recorded)| {
            recorded.event.step().map(|step| plain(step.as_str()).into_owned())
        }))
        .bind(column(rows, |(_, recorded)| Instant(recorded.at)))
        .bind(column(rows, |(_, recorded)| to_json(&recorded.event)))
        .bind(column(rows, |(_, recorded)| recorded.prev.map(bytes)))
}

fn executions(statement: Statement, plan: &Plan<'_>) -> Statement {
    let rows: Vec<_> = plan.executions.iter().collect();
    let rows = &rows;
    // What an execution is does not change.
    let told = if rows.iter().any(|(_, change)| change.is_new) { &rows[..] } else { &[] };
    let path = |text: &str| plain(text).into_owned();
    let statement = statement
        .bind(column(rows, |(execution, _)| execution.0))
        .bind(column(rows, |(_, change)| change.is_new))
        .bind(column(told, |(_, change)| change.summary.playbook.catalog_id.0))
        .bind(column(told, |(_, change)| path(&change.summary.playbook.path)))
        .bind(column(told, |(_, change)| path(&change.summary.playbook.path.to_lowercase())))
        .bind(column(told, |(_, change)| i64::from(change.summary.playbook.version)))
        .bind(column(rows, |(_, change)| change.summary.status.as_str()))
        .bind(column(rows, |(_, change)| stored(change.end.seq.0)))
        .bind(column(rows, |(_, change)| Instant(change.end.at)))
        .bind(column(told, |(_, change)| Instant(change.summary.started_at)))
        .bind(sparse(rows, |(_, change)| change.summary.ended_at.map(Instant)))
        .bind(sparse(told, |(_, change)| change.summary.parent.map(|it| it.execution().0)))
        .bind(sparse(told, |(_, change)| {
            change.summary.parent.and_then(Parent::command).map(|it| stored(it.command.0))
        }));
    let summaries: Vec<&Summary> = rows.iter().map(|(_, change)| change.summary).collect();
    let before: Vec<LogEnd> = rows.iter().map(|(_, change)| change.before).collect();
    chain(progress(statement, &summaries), &summaries, &before)
}

/// How far executions have come.
fn progress(statement: Statement, rows: &[&Summary]) -> Statement {
    let step = |step: &StepName| plain(step.as_str()).into_owned();
    statement
        .bind(column(rows, |summary| summary.current_step.as_ref().map(step)))
        .bind(column(rows, |summary| i64::from(summary.steps.total)))
        .bind(column(rows, |summary| i64::from(summary.steps.running)))
        .bind(column(rows, |summary| i64::from(summary.steps.completed)))
        .bind(column(rows, |summary| i64::from(summary.steps.failed)))
        .bind(column(rows, |summary| stored(summary.items.total)))
        .bind(column(rows, |summary| stored(summary.items.completed)))
        .bind(column(rows, |summary| stored(summary.items.failed)))
        .bind(sparse(rows, |summary| summary.error.as_ref().map(to_json)))
}

/// What chains executions to what is before them, and what has to be there.
fn chain(statement: Statement, rows: &[&Summary], before: &[LogEnd]) -> Statement {
    statement
        .bind(column(rows, |summary| summary.head.map(bytes)))
        .bind(sparse(rows, |summary| summary.fork.map(|fork| fork.execution.0)))
        .bind(sparse(rows, |summary| summary.fork.map(|fork| stored(fork.seq.0))))
        .bind(column(before, |end| stored(end.seq.0)))
        .bind(sparse(before, |end| end.head.map(bytes)))
}

fn bytes(digest: Digest) -> Vec<u8> {
    digest.as_bytes().to_vec()
}

fn children(statement: Statement, plan: &Plan<'_>) -> Statement {
    let rows: Vec<_> = plan.children.iter().collect();
    let rows = &rows;
    statement
        .bind(column(rows, |((parent, _), _)| parent.0))
        .bind(column(rows, |((_, command), _)| stored(command.0)))
        .bind(column(rows, |(_, child)| child.0))
}

/// How an open command's holder is stored.
struct HolderColumns {
    status: &'static str,
    worker: Option<String>,
    lease_until: Option<Instant>,
}

impl HolderColumns {
    fn of(holder: &Holder) -> Self {
        let (status, worker, lease_until) = match holder {
            Holder::Nobody { .. } => ("ISSUED", None, None),
            Holder::Worker { worker, lease_until } => {
                ("CLAIMED", Some(plain(worker.as_str()).into_owned()), Some(Instant(*lease_until)))
            }
            Holder::Parked => ("PARKED", None, None),
        };
        Self { status, worker, lease_until }
    }
}

fn commands(statement: Statement, plan: &Plan<'_>, footing: Footing) -> Statement {
    let open: Vec<(CommandKey, &OpenCommand, HolderColumns)> = plan
        .open_commands()
        .map(|(key, open)| (key, open, HolderColumns::of(&open.holder)))
        .collect();
    let ended: Vec<CommandKey> = plan.ended_commands().collect();
    statement
        .bind(column(&open, |((execution, _), ..)| execution.0))
        .bind(column(&open, |((_, command), ..)| stored(command.0)))
        .bind(column(&open, |(_, open, _)| plain(open.pool.as_str()).into_owned()))
        .bind(column(&open, |(_, open, _)| plain(&open.step).into_owned()))
        .bind(column(&open, |(_, open, _)| i64::from(open.attempt.0)))
        .bind(column(&open, |(.., holder)| holder.status))
        .bind(column(&open, |(.., holder)| holder.worker.clone()))
        .bind(column(&open, |(.., holder)| holder.lease_until))
        .bind(footing != Footing::Read)
        .bind(column(&ended, |(execution, _)| execution.0))
        .bind(column(&ended, |(_, command)| stored(command.0)))
}

fn timers(statement: Statement, plan: &Plan<'_>) -> Statement {
    let set: Vec<_> = plan.set_timers().collect();
    let ended: Vec<_> = plan.ended_timers().collect();
    statement
        .bind(column(&set, |((execution, _), _)| execution.0))
        .bind(column(&set, |((_, timer), _)| stored(timer.0)))
        .bind(column(&set, |(_, due_at)| Instant(*due_at)))
        .bind(column(&ended, |(execution, _)| execution.0))
        .bind(column(&ended, |(_, timer)| stored(timer.0)))
}

fn messages(statement: Statement, plan: &Plan<'_>) -> Statement {
    let rows = &plan.messages;
    statement
        .bind(column(rows, |(execution, _)| execution.0))
        .bind(column(rows, |(_, message)| to_json(message)))
}

fn payloads(statement: Statement, plan: &Plan<'_>) -> Statement {
    let rows = &plan.payloads;
    statement
        .bind(column(rows, |(execution, ..)| execution.0))
        .bind(column(rows, |(_, digest, _)| digest.as_bytes().to_vec()))
        .bind(column(rows, |(.., bytes)| *bytes))
}
