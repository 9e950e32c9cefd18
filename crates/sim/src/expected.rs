//! The expected end of a request without faults, computed by the engine alone, including children.

use noetl_control::{SentSignal, SignalByKey};
use noetl_engine::{
    ATTEMPTS_MAX, ChildCall, ChildRequest, CommandResult, CommandWait, DecisionArgs, EVENTS_MAX,
    Effort, Execution, Input, Loaded, RUNS_MAX, Signal, child_request,
};
use noetl_model::{
    CommandId, ErrorKind, ErrorMode, Event, ExecutionId, ExecutionStatus, Origin, Payload,
    ToolError, WaitCondition,
};
use noetl_testkit::{Story, StoryOptions};
use serde_json::{Map, Value};

use crate::client::ExecutionRequest;
use crate::playbooks::{SHARED_SIGNAL, WorldPlan};
use crate::signaller::{decision, shared_signal, signal};

/// The end of an execution, as far as it does not depend on timing.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ExpectedResult {
    Completed(Value),
    Failed,
}

pub(crate) fn end_of(plan: &WorldPlan, request: &ExecutionRequest) -> ExpectedResult {
    let options = StoryOptions {
        payload: request.payload.clone(),
        error_mode: request.error_mode,
        ..StoryOptions::default()
    };
    tell(plan, &request.path, options)
}

fn tell(plan: &WorldPlan, path: &str, options: StoryOptions) -> ExpectedResult {
    let lenient = options.error_mode;
    let document = plan.document(path).expect("playbooks call playbooks of their plan");
    let mut story = Story::begin(&document.yaml, options);
    for name in document.signals.iter().chain(&document.keyed) {
        let SentSignal { name, body, sender, key, actor } = signal(name);
        let body = Payload::inline(body);
        let input = Input::Signal(Signal { name, body, sender, key, to: None, actor });
        story.tell(&input).expect("the first step waits for a worker");
    }
    run(&mut story);
    while let Some(command) = story.next_child() {
        let ChildRequest { playbook, payload, origin } = wanted(&story, command);
        let path = playbook.to_string();
        // The id of the child does not matter, because no output contains it.
        let child = ExecutionId(1);
        let ended = ended(tell(plan, &path, child_options(payload, origin, lenient)));
        for input in [Input::ChildStarted { command, child }, Input::ChildEnded { command, ended }]
        {
            story.tell(&input).expect("the command is open");
        }
        run(&mut story);
    }
    let last = story.log.iter().find_map(|recorded| match &recorded.event {
        Event::ExecutionCompleted { output, .. } => Some(story.resolve(output)),
        _ => None,
    });
    match (story.status(), last) {
        (ExecutionStatus::Completed, Some(output)) => ExpectedResult::Completed((*output).clone()),
        (ExecutionStatus::Failed, None) => ExpectedResult::Failed,
        (status, _) => panic!("without faults, `{path}` is {status}:\n{}", story.history()),
    }
}

/// Runs a story, decides about its approvals, and sends the signals that all playbooks share, until
/// nothing changes.
fn run(story: &mut Story) {
    loop {
        story.run();
        if let Some(command) = open_approval(&story.state) {
            story.tell(&Input::Decide(decision(command))).expect("the approval waits");
        } else if let Some(command) = shared_wait(&story.state) {
            let SignalByKey { name, key, body, sender, actor, .. } = shared_signal(0);
            let (body, to) = (Payload::inline(body), Some((command, key)));
            let key = Some(format!("shared {command}"));
            let signal = Signal { name, body, sender, key, to, actor };
            story.tell(&Input::Signal(signal)).expect("the step waits");
        } else {
            return;
        }
    }
}

/// Returns the first wait of an execution for a signal that all playbooks share.
fn shared_wait(state: &Execution) -> Option<CommandId> {
    let mut open = state.open_commands().map(|(command, ..)| command);
    open.find(|command| {
        let view = state.open_command(*command);
        view.is_some_and(|view| {
            let CommandWait::Condition { condition, .. } = view.waits_for else { return false };
            matches!(condition, WaitCondition::Signal { name, .. } if name.as_str() == SHARED_SIGNAL)
        })
    })
}

/// Returns the first approval of an execution that waits.
pub(crate) fn open_approval(state: &Execution) -> Option<CommandId> {
    let mut open = state.open_commands().map(|(command, ..)| command);
    open.find(|command| {
        let view = state.open_command(*command);
        view.is_some_and(|view| matches!(view.waits_for, CommandWait::Approval { .. }))
    })
}

fn child_options(
    payload: Map<String, Value>,
    origin: Origin,
    error_mode: Option<ErrorMode>,
) -> StoryOptions {
    StoryOptions { payload, origin, error_mode, ..StoryOptions::default() }
}

fn wanted(story: &Story, command: CommandId) -> ChildRequest {
    let loaded = Loaded::default();
    let given = DecisionArgs {
        playbook: &story.playbook,
        now: story.now,
        loaded: &loaded,
        effort: Effort::Whole,
        runs_max: RUNS_MAX,
        events_max: EVENTS_MAX,
        attempts_max: ATTEMPTS_MAX,
        fork_changes: None,
    };
    match child_request(&story.state, command, given) {
        Ok(ChildCall::Start(request)) => request,
        other => panic!("a child is asked for in order: {other:?}"),
    }
}

fn ended(end: ExpectedResult) -> CommandResult {
    match end {
        ExpectedResult::Completed(output) => {
            CommandResult::Completed { output: Payload::inline(output) }
        }
        ExpectedResult::Failed => CommandResult::Failed {
            error: ToolError::new(ErrorKind::Child, "failed"),
            output: None,
        },
    }
}
