//! The present of an execution in words: the step, its items, the wait, or the error.

use std::time::Duration;

use maud::{Markup, html};
use noetl_app::{DeclaredWait, Initiator, UnservedWait, WaitHint};
use noetl_model::{ExecutionStatus, StepName, Summary, Timestamp};

use super::bar::bar;
use super::duration::short;
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
            Some(WaitHint::Declared { step, since, wait }) => {
                html! { span { (prose(&declared(words, step, *since, wait))) } }
            }
            None => running(words, summary),
        },
        ExecutionStatus::Failed => failure(summary),
        ExecutionStatus::Completed | ExecutionStatus::Cancelled => {
            html! { span.soft { (words.count("count.steps", summary.steps.total.into())) } }
        }
    }
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
    }
}

/// Returns the sentence about a pool without a worker.
pub(crate) fn unserved(words: &Words, wait: &UnservedWait) -> String {
    let (pool, time) = (wait.pool.as_str(), short(words, wait.waited));
    words.count_fill("executions.unserved", wait.commands, &[("pool", pool), ("time", &time)])
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
