//! States in words: what an execution does or waits for, and why a step is in its state.

use maud::{Markup, html};
use noetl_api::wire::{OpenWait, OpenWorkGroup, PositionState, PositionStep, TimeLimitScope};
use noetl_model::{ExecutionStatus, SkipReason, StepStatus, Timestamp};

use super::view::ExecutionView;
use crate::components::sentence::{SaidTime, TIME_PLACE, TimedSentence};
use crate::components::status::Tone;
use crate::words::Words;

/// Maximum number of sentences in the head.
const SENTENCES_MAX: usize = 3;

/// Returns what the execution does or waits for at the position, at most a few sentences.
pub(super) fn sentences(words: &Words, view: &ExecutionView, now: Timestamp) -> Vec<Markup> {
    let is_now = view.is_live();
    let until = if is_now { now } else { view.state.at };
    match view.state.status {
        ExecutionStatus::Running => {
            let groups = view.state.open.groups.iter();
            let drawn = |group| waits(words, group, until).drawn(words, is_now);
            let mut said: Vec<Markup> = groups.take(SENTENCES_MAX).map(drawn).collect();
            let more = view.state.open.groups.len().saturating_sub(SENTENCES_MAX);
            if more > 0 {
                let more = words.count("exec.more_waits", u64::try_from(more).unwrap_or(0));
                said.push(html! { (more) });
            }
            said
        }
        // The panel of the failure has the message.
        ExecutionStatus::Failed if view.failed().is_some() => Vec::new(),
        ExecutionStatus::Failed => {
            view.state.error.iter().map(|it| html! { (it.message) }).collect()
        }
        ExecutionStatus::Completed | ExecutionStatus::Cancelled => Vec::new(),
    }
}

/// Returns a group of open work as a sentence.
fn waits(words: &Words, group: &OpenWorkGroup, until: Timestamp) -> TimedSentence {
    let step = group.step.as_deref().unwrap_or_default();
    let passed = |since: Timestamp| SaidTime::Passed(until.since(since));
    let left = |due: Timestamp| SaidTime::Left(due.since(until));
    let say = |key: &str, time: SaidTime, values: &[(&str, &str)]| {
        let all = [("step", step), ("time", TIME_PLACE)];
        let all: Vec<(&str, &str)> = all.iter().chain(values).copied().collect();
        TimedSentence { text: words.count_fill(key, group.count, &all), time }
    };
    match &group.wait {
        OpenWait::Worker { pool, since, is_served: Some(false) } => {
            say("exec.wait_no_worker", passed(*since), &[("pool", pool)])
        }
        OpenWait::Worker { pool, since, .. } => {
            say("exec.wait_worker", passed(*since), &[("pool", pool)])
        }
        OpenWait::Report { worker, since, .. } => {
            say("exec.wait_report", passed(*since), &[("worker", worker)])
        }
        OpenWait::Callback { since, .. } => say("exec.wait_callback", passed(*since), &[]),
        OpenWait::Time { until: end, .. } => say("exec.wait_time", left(*end), &[]),
        OpenWait::Signal { name, since, .. } => {
            say("exec.wait_signal", passed(*since), &[("signal", name)])
        }
        OpenWait::Approval { title, since } => {
            say("exec.wait_approval", passed(*since), &[("title", title)])
        }
        OpenWait::Slot { limit, place: None, since } => {
            say("exec.wait_slot", passed(*since), &[("limit", limit)])
        }
        OpenWait::Slot { limit, place: Some(place), since } => {
            let place = place.to_string();
            let values = [("limit", limit.as_str()), ("place", &place)];
            say("exec.wait_slot_place", passed(*since), &values)
        }
        OpenWait::Resumption { actor: Some(actor), since } => {
            say("exec.wait_resumption_by", passed(*since), &[("actor", actor)])
        }
        OpenWait::Resumption { actor: None, since } => {
            say("exec.wait_resumption", passed(*since), &[])
        }
        OpenWait::Child { execution_id, since } => {
            let id = execution_id.to_string();
            say("exec.wait_child", passed(*since), &[("child", &id)])
        }
        OpenWait::Retry { retry, due_at, .. } => {
            say("exec.wait_retry", left(*due_at), &[("retry", &retry.to_string())])
        }
        OpenWait::TimeLimit { of, due_at, .. } => {
            let key = match of {
                TimeLimitScope::Expected => "exec.limit_expected",
                TimeLimitScope::Execution => "exec.limit_execution",
                TimeLimitScope::Step => "exec.limit_step",
                TimeLimitScope::Task => "exec.limit_task",
            };
            say(key, left(*due_at), &[])
        }
        OpenWait::Branches { arrived } => {
            say("exec.wait_branches", SaidTime::None, &[("arrived", &arrived.join(", "))])
        }
    }
}

/// Returns the appearance of a step.
pub(super) fn tone(step: &PositionStep) -> Tone {
    match step.status {
        Some(StepStatus::Completed) => Tone::Good,
        Some(StepStatus::Failed) => Tone::Bad,
        Some(StepStatus::Running) => Tone::Active,
        Some(StepStatus::Skipped | StepStatus::Cancelled) | None => Tone::Quiet,
    }
}

/// Returns the key of the word for the state of a step.
pub(super) fn step_word(step: &PositionStep) -> &'static str {
    match step.status {
        None => "exec.step_not_reached",
        Some(StepStatus::Running) => "exec.step_running",
        Some(StepStatus::Completed) => "exec.step_completed",
        Some(StepStatus::Failed) => "exec.step_failed",
        Some(StepStatus::Skipped) => "exec.step_skipped",
        Some(StepStatus::Cancelled) => "exec.step_cancelled",
    }
}

/// Returns a mark for the state of a step, so that it is not told by colour alone.
pub(super) fn step_mark(step: &PositionStep) -> &'static str {
    match step.status {
        None => "○",
        Some(StepStatus::Running) => "◐",
        Some(StepStatus::Completed) => "✓",
        Some(StepStatus::Failed) => "✕",
        Some(StepStatus::Skipped) => "↷",
        Some(StepStatus::Cancelled) => "⊘",
    }
}

/// The appearance of a step in the graph and in the timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StepLook {
    pub(super) tone: Tone,
    /// The key of the word for its state.
    pub(super) word: &'static str,
    pub(super) mark: &'static str,
    pub(super) is_waiting: bool,
}

/// Returns the appearance of a step; one that waits is told from one that a worker runs.
pub(super) fn look(state: &PositionState, step: &PositionStep) -> StepLook {
    let wait = match step.status {
        Some(StepStatus::Running) | None => step_wait(state, &step.name),
        Some(
            StepStatus::Completed
            | StepStatus::Failed
            | StepStatus::Skipped
            | StepStatus::Cancelled,
        ) => None,
    };
    StepLook {
        tone: tone(step),
        word: wait.unwrap_or_else(|| step_word(step)),
        mark: if wait.is_some() { "◔" } else { step_mark(step) },
        is_waiting: wait.is_some(),
    }
}

/// Returns the key of the word for what a step waits for; `None` if a worker runs it.
fn step_wait(state: &PositionState, step: &str) -> Option<&'static str> {
    let mut found = None;
    for group in state.open.groups.iter().filter(|it| it.step.as_deref() == Some(step)) {
        let word = match &group.wait {
            OpenWait::Report { .. } => return None,
            OpenWait::TimeLimit { .. } => continue,
            OpenWait::Worker { .. } => "exec.waits_worker",
            OpenWait::Callback { .. } => "exec.waits_callback",
            OpenWait::Time { .. } => "exec.waits_timer",
            OpenWait::Retry { .. } => "exec.waits_retry",
            OpenWait::Signal { .. } => "exec.waits_signal",
            OpenWait::Approval { .. } => "exec.waits_approval",
            OpenWait::Slot { .. } => "exec.waits_slot",
            OpenWait::Resumption { .. } => "exec.waits_resumption",
            OpenWait::Child { .. } => "exec.waits_child",
            OpenWait::Branches { .. } => "exec.waits_branches",
        };
        found = found.or(Some(word));
    }
    found
}

/// Returns the key of the reason why a step was skipped.
pub(super) fn skip_reason(reason: SkipReason) -> &'static str {
    match reason {
        SkipReason::Guard => "exec.skip_guard",
        SkipReason::Admission => "exec.skip_admission",
        SkipReason::Stopped => "exec.skip_stopped",
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::preferences::Language;

    #[track_caller]
    fn check(wait: &OpenWait, count: u64, english: &str, german: &str) {
        let group = OpenWorkGroup { step: Some("load".to_owned()), wait: wait.clone(), count };
        let until = Timestamp::from_millis(0).after(Duration::from_millis(1500));
        for (language, expected) in [(Language::English, english), (Language::German, german)] {
            let words = Words::of(language);
            assert_eq!(waits(words, &group, until).drawn(words, false).into_string(), expected);
            let live = waits(words, &group, until).drawn(words, true).into_string();
            assert!(live.contains("data-grows=\"1500\">1"), "{live}");
        }
    }

    #[test]
    fn a_sentence_names_a_number_only_if_there_are_several() {
        let since = Timestamp::from_millis(0);
        let report = OpenWait::Report {
            worker: "embedded".to_owned(),
            attempt: 1,
            since,
            lease_until: since,
        };
        check(
            &report,
            1,
            "Running load on embedded for 1.5 s.",
            "load läuft seit 1,5 s auf embedded.",
        );
        check(
            &report,
            1200,
            "Running 1,200 commands of load, the oldest for 1.5 s.",
            "1.200 Befehle von load laufen, der älteste seit 1,5 s.",
        );
        let pool = OpenWait::Worker { pool: "gpu".to_owned(), since, is_served: Some(false) };
        check(
            &pool,
            1,
            "Waiting 1.5 s for a worker of pool gpu to run load: none is connected.",
            "Wartet seit 1,5 s auf einen Worker des Pools gpu für load: keiner ist verbunden.",
        );
    }
}
