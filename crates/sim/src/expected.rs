//! The expected end of a request without faults, computed by the engine alone, including children.

use noetl_control::SentSignal;
use noetl_engine::{
    ATTEMPTS_MAX, ChildCall, ChildRequest, CommandResult, DecisionArgs, EVENTS_MAX, Effort, Input,
    Loaded, RUNS_MAX, Signal, child_request,
};
use noetl_model::{
    CommandId, ErrorKind, ErrorMode, Event, ExecutionId, ExecutionStatus, Origin, Payload,
    ToolError,
};
use noetl_testkit::{Story, StoryOptions};
use serde_json::{Map, Value};

use crate::client::ExecutionRequest;
use crate::playbooks::WorldPlan;
use crate::signaller::signal;

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
    for name in &document.signals {
        let SentSignal { name, body, sender, key } = signal(name);
        let input = Input::Signal(Signal { name, body: Payload::inline(body), sender, key });
        story.tell(&input).expect("the first step waits for a worker");
    }
    story.run();
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
        story.run();
    }
    let last = story.log.iter().find_map(|recorded| match &recorded.event {
        Event::ExecutionCompleted { output } => Some(story.resolve(output)),
        _ => None,
    });
    match (story.status(), last) {
        (ExecutionStatus::Completed, Some(output)) => ExpectedResult::Completed((*output).clone()),
        (ExecutionStatus::Failed, None) => ExpectedResult::Failed,
        (status, _) => panic!("without faults, `{path}` is {status}:\n{}", story.history()),
    }
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
