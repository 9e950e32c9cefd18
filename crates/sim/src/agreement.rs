//! The agreement of three programs about random playbooks: the story, whose results the simulation is
//! checked against, the simulated control plane, and the runner of playbook tests.

use std::collections::BTreeSet;
use std::time::Duration;

use noetl_model::{CommandId, ErrorKind, ToolError, ToolKind};
use noetl_playbook::{
    MockResult, Playbook, PlaybookTest, StepMock, StepMocks, TestDecision, TestExpectations,
    TestSignal,
};
use noetl_playtest::{PlaybookLibrary, StoredValues, TestOutcome, replay_history, run_test};

use crate::client::ExecutionRequest;
use crate::expected::{ExpectedResult, end_of};
use crate::playbooks::{GeneratedPlaybook, WorldPlan};
use crate::rng::Rng;
use crate::signaller::{decision, signal};

/// The number of different random playbooks that are compared.
const COMPARED: usize = 500;
/// The number of simulated worlds whose histories are replayed.
const WORLDS: u64 = 20;

fn parsed(document: &GeneratedPlaybook) -> Playbook {
    match noetl_playbook::parse(&document.path, document.yaml.as_bytes()) {
        Ok(checked) => checked.playbook,
        Err(problems) => panic!("{problems}"),
    }
}

/// True if a document only needs results of tools: nobody sends signals to a child of a test.
fn is_self_contained(document: &GeneratedPlaybook) -> bool {
    document.signals.is_empty()
        && document.keyed.is_empty()
        && !document.has_shared
        && !document.yaml.contains("kind: approval")
}

/// Returns the mocks of the steps that fail: as often as the scripted worker lets them.
fn failures(playbook: &Playbook) -> StepMocks {
    let mut mocks = StepMocks::new();
    for step in &playbook.steps {
        for task in &step.tasks {
            let Some(fail) = task.config.source().get("fail") else { continue };
            let is_connection = fail["kind"] == "connection";
            let kind = if is_connection { ErrorKind::Connection } else { ErrorKind::Exception };
            let message = fail.as_str().or(fail["message"].as_str()).unwrap_or_default();
            let mock = |attempt| StepMock {
                task: Some(task.label.clone()),
                item: None,
                attempt,
                call: None,
                delay: Duration::ZERO,
                result: MockResult::Error { error: ToolError::new(kind, message), output: None },
            };
            let failing = match fail["times"].as_u64() {
                Some(times) => (1..=u32::try_from(times).expect("a few")).map(Some).collect(),
                None => vec![None],
            };
            let list = mocks.entry(step.name.clone()).or_default();
            list.extend(failing.into_iter().map(mock));
        }
    }
    mocks
}

/// Returns the test of a request: the same workload, signals and decisions as in the simulation.
fn test_of(
    playbook: &Playbook,
    document: &GeneratedPlaybook,
    library: &PlaybookLibrary,
    request: &ExecutionRequest,
) -> PlaybookTest {
    let children = library.iter().map(|(path, child)| (path.clone(), failures(child)));
    let names = document.signals.iter().chain(&document.keyed);
    let signals = names.map(|name| {
        let sent = signal(name);
        let (name, body, sender) = (sent.name, sent.body, sent.sender);
        TestSignal { name, key: None, at: Duration::ZERO, body, sender }
    });
    let made = decision(CommandId(0));
    let asks = playbook
        .steps
        .iter()
        .filter(|step| step.tasks.iter().any(|task| task.tool == ToolKind::Approval));
    let decisions = asks.map(|step| TestDecision {
        step: step.name.clone(),
        verdict: made.verdict,
        after: Duration::ZERO,
        actor: made.actor.clone(),
        comment: made.comment.clone(),
        values: made.values.clone(),
    });
    PlaybookTest {
        name: request.path.clone(),
        line: 1,
        workload: request.payload.clone(),
        now: None,
        mocks: failures(playbook),
        children: children.collect(),
        error_mode: request.error_mode,
        allow_unmocked: false,
        signals: signals.collect(),
        decisions: decisions.collect(),
        expect: TestExpectations::default(),
    }
}

fn with_expectation(test: PlaybookTest, expected: &ExpectedResult) -> PlaybookTest {
    let status = match expected {
        ExpectedResult::Completed(_) => noetl_playbook::ExpectedStatus::Completed,
        ExpectedResult::Failed => noetl_playbook::ExpectedStatus::Failed,
    };
    let output = match expected {
        ExpectedResult::Completed(output) => Some(output.clone()),
        ExpectedResult::Failed => None,
    };
    let expect = TestExpectations { status: Some(status), output, ..TestExpectations::default() };
    PlaybookTest { expect, ..test }
}

#[test]
fn the_story_and_playbook_tests_agree_on_random_playbooks() {
    let mut compared = BTreeSet::new();
    for seed in 1.. {
        if compared.len() >= COMPARED {
            break;
        }
        let plan = WorldPlan::drawn(&mut Rng::new(seed));
        let leaves = plan.playbooks.iter().filter(|it| it.path.starts_with("leaf"));
        let library: PlaybookLibrary =
            leaves.clone().map(|leaf| (leaf.path.clone(), parsed(leaf))).collect();
        let are_contained = leaves.clone().all(is_self_contained);
        for request in &plan.requests {
            let document = plan.document(&request.path).expect("a playbook of the plan");
            let lacks_signals = !are_contained && document.yaml.contains("kind: playbook");
            if document.timed || document.has_shared || lacks_signals {
                continue;
            }
            let playbook = parsed(document);
            let expected = end_of(&plan, request);
            let test = test_of(&playbook, document, &library, request);
            let test = with_expectation(test, &expected);
            let outcome = run_test(&playbook, &library, &test);
            check(seed, document, &outcome, &expected);
            compared.insert(document.yaml.clone());
        }
    }
}

#[track_caller]
fn check(
    seed: u64,
    document: &GeneratedPlaybook,
    outcome: &TestOutcome,
    expected: &ExpectedResult,
) {
    assert!(
        outcome.has_passed(),
        "seed {seed}, expected {expected:?}: {:#?}\n{}",
        outcome.faults,
        document.yaml
    );
}

#[test]
fn histories_of_simulated_worlds_are_the_same_when_they_are_replayed() {
    let mut events = 0;
    for seed in 1..=WORLDS {
        let plan = WorldPlan::drawn(&mut Rng::new(seed));
        for history in crate::histories(seed).expect("a world without violations") {
            let document = plan.document(&history.summary.playbook.path);
            let playbook = parsed(document.expect("a playbook of the plan"));
            let values = StoredValues::new();
            let execution = history.summary.execution;
            match replay_history(&playbook, execution, &history.log, &values) {
                Ok(replayed) => {
                    assert_eq!(replayed.divergence, None, "seed {seed}, {execution}");
                    events += replayed.events;
                }
                // Large values are in the store of the world.
                Err(noetl_playtest::HistoryError::MissingValue(_)) => {}
                Err(error) => panic!("seed {seed}, {execution}: {error}"),
            }
        }
    }
    assert!(events > 1000, "only {events} events");
}
