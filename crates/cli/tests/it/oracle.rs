//! Invariants of a store and a ledger of effects after every execution has ended.

use std::collections::BTreeMap;

use noetl_engine::replay;
use noetl_model::{
    Attempt, CommandId, Event, ExecutionId, ExecutionStatus, Payload, Pool, Recorded, Seq, Summary,
    ToolKind,
};
use noetl_store::{ExecutionFilter, PAGE_MAX, Page, READ_EVENTS_MAX, Store};
use serde_json::Value;

/// The history of a command in the event log of its execution.
#[derive(Debug)]
struct Life {
    key: String,
    tool: ToolKind,
    claims: Vec<Attempt>,
    completed: Vec<Attempt>,
}

/// The executions that were started, and their expected results.
pub(crate) struct Expected<'a> {
    /// The executions that were requested, by number.
    pub(crate) started: &'a [ExecutionId],
    /// The number of executions, children included.
    pub(crate) executions: usize,
    /// The expected output of the n-th execution.
    pub(crate) output: fn(u64) -> Value,
    /// One line per effect: the key of its command.
    pub(crate) ledger: &'a str,
}

/// Checks all invariants; returns the number of repeated effects.
pub(crate) async fn verify(store: &dyn Store, expected: Expected<'_>) -> usize {
    let Expected { started, executions, output: output_of, ledger } = expected;
    let mut effects: BTreeMap<&str, usize> = BTreeMap::new();
    for line in ledger.lines() {
        *effects.entry(line).or_default() += 1;
    }
    let summaries = all(store).await;
    assert_eq!(summaries.len(), executions, "what was started, nothing else");
    let mut repeated = 0;
    for execution in summaries.into_keys() {
        let (summary, log) = summary_and_log(store, execution).await;
        check_log(&summary, &log);
        for life in lives(execution, &log) {
            repeated += check_life(&summary, &life, effects.remove(life.key.as_str()).unwrap_or(0));
        }
    }
    assert_eq!(effects, BTreeMap::new(), "effects of commands that no log knows");
    for (n, execution) in (0..).zip(started) {
        let log = log_of(store, *execution).await;
        assert_eq!(output(&log), &output_of(n), "execution {n}");
    }
    assert_eq!(store.owed().await.expect("it counts"), 0);
    assert_eq!(store.next_due().await.expect("it looks"), None);
    for pool in [Pool::shared(), Pool::control()] {
        assert_eq!(store.ready_count(&pool).await.expect("it counts"), 0);
    }
    repeated
}

async fn all(store: &dyn Store) -> BTreeMap<ExecutionId, Summary> {
    let mut summaries = BTreeMap::new();
    let mut before = None;
    loop {
        let page = Page { before, limit: PAGE_MAX };
        let page = store.list(&ExecutionFilter::default(), page).await.expect("it lists");
        let Some(last) = page.last() else { return summaries };
        before = Some(last.execution);
        summaries.extend(page.into_iter().map(|summary| (summary.execution, summary)));
    }
}

/// Returns the summary and the log of an execution at one moment: the late report of a stopped
/// worker can be appended after the end of the execution.
async fn summary_and_log(store: &dyn Store, execution: ExecutionId) -> (Summary, Vec<Recorded>) {
    loop {
        let summary = store.summary(execution).await.expect("it reads").expect("it exists");
        let log = log_of(store, execution).await;
        if log.last().is_some_and(|recorded| recorded.seq == summary.seq) {
            return (summary, log);
        }
    }
}

pub(crate) async fn log_of(store: &dyn Store, execution: ExecutionId) -> Vec<Recorded> {
    let mut log: Vec<Recorded> = Vec::new();
    loop {
        let after = log.last().map_or(Seq::ZERO, |recorded| recorded.seq);
        let page = store.read(execution, after, READ_EVENTS_MAX).await.expect("it reads");
        if page.is_empty() {
            return log;
        }
        log.extend(page);
    }
}

/// Checks that a log has no gaps, is legal, agrees with its summary, and ends once.
fn check_log(summary: &Summary, log: &[Recorded]) {
    let execution = summary.execution;
    assert_eq!(summary.status, ExecutionStatus::Completed, "{summary:?}");
    assert!((1..).zip(log).all(|(seq, recorded)| recorded.seq == Seq(seq)), "{execution}: a gap");
    let state = replay(execution, log.to_vec()).expect("a legal log").expect("a log");
    assert_eq!(state.summary(), *summary);
    let ends = log.iter().filter(|recorded| is_terminal(&recorded.event)).count();
    assert_eq!(ends, 1, "{execution} ended {ends} times");
}

fn is_terminal(event: &Event) -> bool {
    matches!(
        event,
        Event::ExecutionCompleted { .. }
            | Event::ExecutionFailed { .. }
            | Event::ExecutionCancelled { .. }
    )
}

fn lives(execution: ExecutionId, log: &[Recorded]) -> Vec<Life> {
    let mut lives: BTreeMap<CommandId, Life> = BTreeMap::new();
    for recorded in log {
        match &recorded.event {
            Event::CommandIssued { command, step, tool, .. } => {
                let key = format!("{execution}/{step}/{command}");
                let life = Life { key, tool: *tool, claims: Vec::new(), completed: Vec::new() };
                assert!(lives.insert(*command, life).is_none(), "issued twice");
            }
            Event::CommandClaimed { command, attempt, .. } => {
                lives.get_mut(command).expect("it was issued").claims.push(*attempt);
            }
            Event::CommandCompleted { command, attempt, .. } => {
                lives.get_mut(command).expect("it was issued").completed.push(*attempt);
            }
            _ => {}
        }
    }
    lives.into_values().collect()
}

/// Checks that a command ends once, by its last attempt, and that its effect is repeated only for
/// lost attempts. Returns the number of repetitions.
fn check_life(summary: &Summary, life: &Life, effects: usize) -> usize {
    let execution = summary.execution;
    let is_child = life.tool == ToolKind::Playbook;
    let claims: Vec<Attempt> = (1..).map(Attempt).take(life.claims.len()).collect();
    assert_eq!(life.claims, claims, "{execution}: {life:?}");
    let last = if is_child { Attempt(1) } else { *claims.last().expect("it was claimed") };
    assert_eq!(life.completed, [last], "{execution}: {life:?}");
    if life.tool != ToolKind::Shell {
        assert_eq!(effects, 0, "{execution}: {life:?}");
        return 0;
    }
    assert!((1..=claims.len()).contains(&effects), "{execution}: {effects} effects of {life:?}");
    effects - 1
}

/// Returns the output of an execution.
fn output(log: &[Recorded]) -> &Value {
    let output = log.iter().find_map(|recorded| match &recorded.event {
        Event::ExecutionCompleted { output, .. } => Some(output),
        _ => None,
    });
    match output {
        Some(Payload::Inline(value)) => value,
        other => panic!("a small output is kept inline: {other:?}"),
    }
}
