//! The present of an execution in words: the step, its items, the wait, or the error.

use std::time::Duration;

use maud::{Markup, html};
use noetl_app::{BusyWait, DeclaredWait, Initiator, UnservedWait, WaitHint};
use noetl_engine::Pause;
use noetl_model::{ExecutionStatus, LimitName, PauseScope, StepName, Summary, Timestamp};

use super::bar::bar;
use super::duration::short;
use super::id::limit_address;
use super::prose::prose;
use super::status::Tone;
use crate::words::Words;

/// Maximum number of characters of an error in a list.
const ERROR_MAX: usize = 160;

/// An execution with the reason why it does not advance, if it does not.
#[derive(Debug)]
pub(crate) struct ExecutionLine {
    pub(crate) summary: Summary,
    pub(crate) initiator: Initiator,
    pub(crate) hint: Option<WaitHint>,
}

/// Draws what an execution does or waits for, or how it ended.
pub(crate) fn progress(words: &Words, listed: &ExecutionLine) -> Markup {
    let summary = &listed.summary;
    match summary.status {
        ExecutionStatus::Running => match &listed.hint {
            Some(WaitHint::NoWorker(wait)) => {
                html! { span.attention { (prose(&unserved(words, wait))) } }
            }
            Some(WaitHint::Busy(wait)) => html! { span.attention { (prose(&busy(words, wait))) } },
            Some(WaitHint::Declared { step, since, wait }) => {
                let link = listed.hint.as_ref().and_then(|hint| limit_link(words, hint));
                html! { span { (prose(&declared(words, step, *since, wait))) @if let Some(link) = link { " " (link) } } }
            }
            Some(WaitHint::Paused(pause)) => {
                html! { span.attention { (prose(&paused(words, pause))) } }
            }
            Some(WaitHint::PoolPaused { pool, actor, since }) => {
                let actor = actor.as_deref();
                let said = pool_paused(words, pool.as_str(), actor, *since);
                html! { span.attention { (prose(&said)) } }
            }
            Some(WaitHint::Queued { limit, place, since }) => {
                let link = listed.hint.as_ref().and_then(|hint| limit_link(words, hint));
                html! { span { (prose(&queued(words, limit.as_str(), *place, *since))) @if let Some(link) = link { " " (link) } } }
            }
            None => running(words, summary),
        },
        ExecutionStatus::Failed => failure(summary),
        ExecutionStatus::Completed | ExecutionStatus::Cancelled => {
            html! { span.soft { (words.count("count.steps", summary.steps.total.into())) } }
        }
    }
}

/// Returns the limit whose queue a hint is about.
fn limit_of(hint: &WaitHint) -> Option<&LimitName> {
    match hint {
        WaitHint::Queued { limit, .. }
        | WaitHint::Declared { wait: DeclaredWait::Slot { limit, .. }, .. } => Some(limit),
        WaitHint::Declared {
            wait:
                DeclaredWait::Callback
                | DeclaredWait::Time { .. }
                | DeclaredWait::Signal { .. }
                | DeclaredWait::Approval { .. }
                | DeclaredWait::Child { .. }
                | DeclaredWait::Retry { .. },
            ..
        }
        | WaitHint::NoWorker(_)
        | WaitHint::Busy(_)
        | WaitHint::Paused(_)
        | WaitHint::PoolPaused { .. } => None,
    }
}

/// Draws the link to the limit whose queue a hint is about.
pub(crate) fn limit_link(words: &Words, hint: &WaitHint) -> Option<Markup> {
    let limit = limit_of(hint)?;
    Some(html! { a href=(limit_address(limit.as_str())) { (words.t("limits.show")) } })
}

/// Returns the sentence about a callback, a time or a signal that a step waits for.
fn declared(words: &Words, step: &StepName, since: Timestamp, wait: &DeclaredWait) -> String {
    let since = since.to_string();
    let of = |key, time: &str, signal: &str| {
        words.fill(key, &[("step", step.as_str()), ("time", time), ("signal", signal)])
    };
    match wait {
        DeclaredWait::Callback => of("executions.callback", &since, ""),
        DeclaredWait::Time { until } => of("executions.wait_time", &until.to_string(), ""),
        DeclaredWait::Signal { name } => of("executions.wait_signal", &since, name.as_str()),
        DeclaredWait::Approval { title } => {
            words.fill("executions.wait_approval", &[("title", title), ("time", &since)])
        }
        DeclaredWait::Child { child } => {
            let child = child.to_string();
            let values = [("step", step.as_str()), ("child", child.as_str()), ("time", &since)];
            words.fill("executions.wait_child", &values)
        }
        DeclaredWait::Retry { due_at } => of("executions.wait_retry", &due_at.to_string(), ""),
        DeclaredWait::Slot { limit, place, command: _ } => {
            let place = place.map(|place| place.to_string()).unwrap_or_default();
            let values = [
                ("step", step.as_str()),
                ("limit", limit.as_str()),
                ("place", &place),
                ("time", &since),
            ];
            let key =
                if place.is_empty() { "executions.wait_slot" } else { "executions.wait_place" };
            words.fill(key, &values)
        }
    }
}

/// Returns the sentence about a pause.
fn paused(words: &Words, pause: &Pause) -> String {
    let since = pause.since.to_string();
    let actor = pause.actor.as_deref().unwrap_or_default();
    let key = match (pause.scope, &pause.actor) {
        (PauseScope::Execution | PauseScope::Parent, Some(_)) => "executions.paused_by",
        (PauseScope::Execution | PauseScope::Parent, None) => "executions.paused",
        (PauseScope::Playbook, Some(_)) => "executions.playbook_paused_by",
        (PauseScope::Playbook, None) => "executions.playbook_paused",
    };
    let said = words.fill(key, &[("actor", actor), ("time", &since)]);
    match &pause.reason {
        Some(reason) => format!("{said} {reason}"),
        None => said,
    }
}

/// Returns the sentence about the pause of a pool.
fn pool_paused(words: &Words, pool: &str, actor: Option<&str>, since: Timestamp) -> String {
    let since = since.to_string();
    let key = match actor {
        Some(_) => "executions.pool_paused_by",
        None => "executions.pool_paused",
    };
    words.fill(key, &[("pool", pool), ("actor", actor.unwrap_or_default()), ("time", &since)])
}

/// Returns the sentence about a pause, a queue or a busy pool that holds an execution back; `None` for
/// other hints.
pub(crate) fn hold(words: &Words, hint: &WaitHint) -> Option<String> {
    match hint {
        WaitHint::Paused(pause) => Some(paused(words, pause)),
        WaitHint::PoolPaused { pool, actor, since } => {
            Some(pool_paused(words, pool.as_str(), actor.as_deref(), *since))
        }
        WaitHint::Queued { limit, place, since } => {
            Some(queued(words, limit.as_str(), *place, *since))
        }
        WaitHint::Busy(wait) => Some(busy(words, wait)),
        WaitHint::Declared { .. } | WaitHint::NoWorker(_) => None,
    }
}

/// Returns the sentence about the queue that an execution waits in.
fn queued(words: &Words, limit: &str, place: Option<u64>, since: Timestamp) -> String {
    let (since, place) = (since.to_string(), place.map(|place| place.to_string()));
    let key = match place {
        Some(_) => "executions.queued_place",
        None => "executions.queued",
    };
    let place = place.unwrap_or_default();
    words.fill(key, &[("limit", limit), ("place", &place), ("time", &since)])
}

/// Returns the sentence about a pool without a worker.
pub(crate) fn unserved(words: &Words, wait: &UnservedWait) -> String {
    let (pool, time) = (wait.pool.as_str(), short(words, wait.waited));
    words.count_fill("executions.unserved", wait.commands, &[("pool", pool), ("time", &time)])
}

/// Returns the sentence about a pool whose workers are busy.
fn busy(words: &Words, wait: &BusyWait) -> String {
    let workers = u64::try_from(wait.workers).unwrap_or(u64::MAX);
    let workers = match workers {
        0 => words.fill("executions.busy_unknown", &[("pool", wait.pool.as_str())]),
        _ => words.count_fill("executions.busy", workers, &[("pool", wait.pool.as_str())]),
    };
    let time = short(words, wait.waited);
    let waiting = words.count_fill("executions.busy_waiting", wait.commands, &[("time", &time)]);
    format!("{workers} {waiting}")
}

fn running(words: &Words, summary: &Summary) -> Markup {
    let items = summary.items;
    let done = items.completed + items.failed;
    html! {
        @if let Some(step) = &summary.current_step {
            span { (words.t("executions.step")) " " code { (step.as_str()) } }
        }
        @if items.total > 0 {
            @let of = words.fill("executions.items", &[
                ("done", &words.number(done)), ("total", &words.number(items.total)),
            ]);
            " " (bar(items.total, &[(Tone::Good, items.completed), (Tone::Bad, items.failed)], &of))
            " " span.soft { (of) }
        }
    }
}

fn failure(summary: &Summary) -> Markup {
    let Some(error) = &summary.error else { return html! {} };
    let text: String = error.message.chars().take(ERROR_MAX).collect();
    html! { span.failure title=(error.message) { (text) } }
}

/// Returns how long an execution took, or has been running.
pub(crate) fn took(summary: &Summary, now: Timestamp) -> Duration {
    summary.ended_at.unwrap_or(now).since(summary.started_at)
}
