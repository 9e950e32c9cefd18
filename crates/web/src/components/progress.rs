//! The present of an execution in words: the step, its items, the wait, or the error.

use std::time::Duration;

use maud::{Markup, html};
use noetl_app::{BusyWait, DeclaredWait, Initiator, UnservedWait, WaitHint};
use noetl_engine::Pause;
use noetl_model::{ExecutionStatus, LimitName, PauseScope, StepName, Summary, Timestamp};

use super::bar::bar;
use super::duration::short;
use super::id::limit_address;
use super::sentence::{SaidTime, TIME_PLACE, TimedSentence};
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
pub(crate) fn progress(words: &Words, listed: &ExecutionLine, now: Timestamp) -> Markup {
    let summary = &listed.summary;
    match (summary.status, &listed.hint) {
        (ExecutionStatus::Running, Some(hint)) => {
            let said = sentence(words, hint, now).drawn(words, true);
            html! {
                span.attention[asks_for_attention(hint)] {
                    (said) @if let Some(link) = limit_link(words, hint) { " " (link) }
                }
            }
        }
        (ExecutionStatus::Running, None) => running(words, summary),
        (ExecutionStatus::Failed, _) => failure(summary),
        (ExecutionStatus::Completed | ExecutionStatus::Cancelled, _) => {
            html! { span.soft { (words.count("count.steps", summary.steps.total.into())) } }
        }
    }
}

/// True if an execution waits for something that a person has to do or has done.
fn asks_for_attention(hint: &WaitHint) -> bool {
    match hint {
        WaitHint::NoWorker(_)
        | WaitHint::Busy(_)
        | WaitHint::Paused(_)
        | WaitHint::PoolPaused { .. } => true,
        WaitHint::Declared { .. } | WaitHint::Queued { .. } => false,
    }
}

/// Returns the sentence about the reason why an execution does not advance.
fn sentence(words: &Words, hint: &WaitHint, now: Timestamp) -> TimedSentence {
    let untimed = |text| TimedSentence { text, time: SaidTime::None };
    match hint {
        WaitHint::NoWorker(wait) => untimed(unserved(words, wait)),
        WaitHint::Busy(wait) => untimed(busy(words, wait)),
        WaitHint::Declared { step, since, wait } => {
            declared(words, step, now.since(*since), wait, now)
        }
        WaitHint::Paused(pause) => paused(words, pause, now),
        WaitHint::PoolPaused { pool, actor, since } => TimedSentence {
            text: pool_paused(words, pool.as_str(), actor.as_deref()),
            time: SaidTime::Passed(now.since(*since)),
        },
        WaitHint::Queued { limit, place, since } => TimedSentence {
            text: queued(words, limit.as_str(), *place),
            time: SaidTime::Passed(now.since(*since)),
        },
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
fn declared(
    words: &Words,
    step: &StepName,
    passed: Duration,
    wait: &DeclaredWait,
    now: Timestamp,
) -> TimedSentence {
    let step = step.as_str();
    let say = |key: &str, time: SaidTime, values: &[(&str, &str)]| {
        let all: Vec<(&str, &str)> =
            [("step", step), ("time", TIME_PLACE)].iter().chain(values).copied().collect();
        TimedSentence { text: words.fill(key, &all), time }
    };
    let passed = SaidTime::Passed(passed);
    let left = |due: Timestamp| SaidTime::Left(due.since(now));
    match wait {
        DeclaredWait::Callback => say("executions.callback", passed, &[]),
        DeclaredWait::Time { until } => say("executions.wait_time", left(*until), &[]),
        DeclaredWait::Signal { name } => {
            say("executions.wait_signal", passed, &[("signal", name.as_str())])
        }
        DeclaredWait::Approval { title } => {
            say("executions.wait_approval", passed, &[("title", title)])
        }
        DeclaredWait::Child { child } => {
            say("executions.wait_child", passed, &[("child", &child.to_string())])
        }
        DeclaredWait::Retry { due_at } => say("executions.wait_retry", left(*due_at), &[]),
        DeclaredWait::Slot { limit, place: None, command: _ } => {
            say("executions.wait_slot", passed, &[("limit", limit.as_str())])
        }
        DeclaredWait::Slot { limit, place: Some(place), command: _ } => {
            let values = [("limit", limit.as_str()), ("place", &place.to_string())];
            say("executions.wait_place", passed, &values)
        }
    }
}

/// Returns the sentence about a pause.
fn paused(words: &Words, pause: &Pause, now: Timestamp) -> TimedSentence {
    let actor = pause.actor.as_deref().unwrap_or_default();
    let key = match (pause.scope, &pause.actor) {
        (PauseScope::Execution | PauseScope::Parent, Some(_)) => "executions.paused_by",
        (PauseScope::Execution | PauseScope::Parent, None) => "executions.paused",
        (PauseScope::Playbook, Some(_)) => "executions.playbook_paused_by",
        (PauseScope::Playbook, None) => "executions.playbook_paused",
    };
    let said = words.fill(key, &[("actor", actor), ("time", TIME_PLACE)]);
    let text = match &pause.reason {
        Some(reason) => format!("{said}: {reason}"),
        None => format!("{said}."),
    };
    TimedSentence { text, time: SaidTime::Passed(now.since(pause.since)) }
}

/// Returns the text about the pause of a pool.
fn pool_paused(words: &Words, pool: &str, actor: Option<&str>) -> String {
    let key = match actor {
        Some(_) => "executions.pool_paused_by",
        None => "executions.pool_paused",
    };
    let actor = actor.unwrap_or_default();
    words.fill(key, &[("pool", pool), ("actor", actor), ("time", TIME_PLACE)])
}

/// Returns the sentence about a pause, a queue or a busy pool that holds an execution back; `None` for
/// other hints.
pub(crate) fn hold(words: &Words, hint: &WaitHint, now: Timestamp) -> Option<TimedSentence> {
    match hint {
        WaitHint::Paused(_)
        | WaitHint::PoolPaused { .. }
        | WaitHint::Queued { .. }
        | WaitHint::Busy(_) => Some(sentence(words, hint, now)),
        WaitHint::Declared { .. } | WaitHint::NoWorker(_) => None,
    }
}

/// Returns the text about the queue that an execution waits in.
fn queued(words: &Words, limit: &str, place: Option<u64>) -> String {
    let key = match place {
        Some(_) => "executions.queued_place",
        None => "executions.queued",
    };
    let place = place.map(|place| place.to_string()).unwrap_or_default();
    words.fill(key, &[("limit", limit), ("place", &place), ("time", TIME_PLACE)])
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
