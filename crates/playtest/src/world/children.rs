//! Children of the tested execution: mocked, or run from a playbook beside the tested one.

use noetl_engine::{
    ChildCall, ChildPlaybook, ChildRequest, CommandResult, Input, StartInput, child_request,
    start_workload,
};
use noetl_model::{
    ChildExecutions, CommandId, ErrorKind, ErrorMode, ExecutionId, ExecutionStatus, Labels,
    Message, Origin, Payload, Place, ToolError, ToolKind,
};
use serde_json::{Map, Value, json};

use super::TestWorld;
use crate::agenda::Due;
use crate::call::RenderedCall;
use crate::mocked::{CallProblem, matching_mock, mocked_end};
use crate::virtual_execution::VirtualExecution;

/// The most executions of one test.
const EXECUTIONS_MAX: usize = 10_000;
/// The most ancestors of an execution.
const CHILD_DEPTH_MAX: u32 = 16;

impl TestWorld<'_> {
    /// Starts the child that a command requests, or takes the result of its mock.
    pub(super) fn call_child(&mut self, index: usize, command: CommandId) {
        let now = self.now;
        let parent = &self.executions[index];
        let wanted = parent.loading(|parent, loaded| {
            child_request(&parent.state, command, parent.given(now, loaded))
        });
        self.executions[index].take(command);
        let request = match wanted {
            ChildCall::Settled | ChildCall::Blocked => return,
            ChildCall::Invalid(error) => return self.end_child(index, command, failed(error)),
            ChildCall::Start(request) => request,
        };
        let Some(call) = self.child_as_call(index, command, &request) else { return };
        let call = self.counted(call);
        let mocks = self.mocks_of(index).and_then(|mocks| mocks.get(&call.step));
        if let Some(mock) = matching_mock(mocks, &call) {
            match mocked_end(mock, &call, None, now) {
                Ok(end) => {
                    let key = self.result_key(index, command, end.delay);
                    self.agenda.add(key, Due::ChildEnd { command, ended: end.ended });
                }
                Err(problem) => self.stop_at(&call, &problem),
            }
            return;
        }
        self.start_child(index, command, (request, call, mocks.is_some()));
    }

    fn start_child(
        &mut self,
        index: usize,
        command: CommandId,
        (request, call, has_others): (ChildRequest, RenderedCall, bool),
    ) {
        let path = request.playbook.to_string();
        let found = match &request.playbook {
            ChildPlaybook::Path { path, .. } => self.library.get(path),
            ChildPlaybook::Id(_) => None,
        };
        let Some(playbook) = found else {
            if self.test.allow_unmocked {
                let output = Payload::inline(json!({ "status": "ok" }));
                return self.end_child(index, command, CommandResult::Completed { output });
            }
            return self.stop_at(&call, &CallProblem::Unmocked { has_others });
        };
        let is_too_deep = self.executions[index].state.depth() >= CHILD_DEPTH_MAX;
        if is_too_deep || self.executions.len() >= EXECUTIONS_MAX {
            let message = format!("child `{path}` cannot be started: there are too many ancestors");
            let error = ToolError::new(ErrorKind::Child, message);
            return self.end_child(index, command, failed(error));
        }
        let workload = match start_workload(playbook, &StartInput::new(request.payload)) {
            Ok(workload) => workload,
            Err(problems) => {
                let message = format!("child `{path}` cannot be started: {problems}");
                let error = ToolError::new(ErrorKind::Schema, message);
                return self.end_child(index, command, failed(error));
            }
        };
        let child = ExecutionId(self.executions.len() as i64 + 1);
        let is_awaited = matches!(request.origin, Origin::Parent { .. });
        let input = child_input(&self.executions[index], workload, request.origin);
        match VirtualExecution::start(child, playbook, &input, self.now) {
            Err(refusal) => {
                let message = format!("child `{path}` cannot be started: {refusal}");
                let error = ToolError::new(ErrorKind::Child, message);
                self.end_child(index, command, failed(error));
            }
            Ok(started) => {
                self.executions.push(started);
                self.seen.push(0);
                if is_awaited {
                    let started = Input::ChildStarted { command, child };
                    let told = self.executions[index].tell(&started, self.now);
                    told.expect("a command that asked for a child takes it");
                } else {
                    let output = Payload::inline(json!({
                        "status": "started",
                        "execution_id": child.to_string(),
                        "path": path,
                        "async": true,
                    }));
                    self.end_child(index, command, CommandResult::Completed { output });
                }
            }
        }
    }

    /// Returns the request of a child as a call of the tool `playbook`.
    fn child_as_call(
        &self,
        index: usize,
        command: CommandId,
        request: &ChildRequest,
    ) -> Option<RenderedCall> {
        let parent = &self.executions[index];
        let open = parent.state.open_command(command)?;
        let step = parent.playbook.step(parent.playbook.index_of(open.step.as_str())?);
        let task = match open.task.place {
            Place::Task(task) | Place::Item { task, .. } => {
                step.tasks.get(usize::try_from(task).ok()?)?
            }
            Place::Claim { .. } => return None,
        };
        Some(RenderedCall {
            playbook: parent.playbook.metadata.path.clone(),
            step: open.step.clone(),
            task: task.label.clone(),
            item: open.task.place.item(),
            attempt: open.task.retry + 1,
            call: 0,
            tool: ToolKind::Playbook,
            with: json!({ "path": request.playbook.to_string(), "input": request.payload }),
        })
    }

    fn end_child(&mut self, index: usize, command: CommandId, ended: CommandResult) {
        let ended = self.kept(index, ended);
        // A refusal means that the parent no longer waits.
        let _unheard = self.executions[index].tell(&Input::ChildEnded { command, ended }, self.now);
    }

    /// Delivers the messages of an execution to its parent and its children.
    pub(super) fn deliver_messages(&mut self, index: usize) -> bool {
        let mut has_changed = false;
        for message in std::mem::take(&mut self.executions[index].messages) {
            match message {
                Message::ChildEnded { parent, command, status, output, error } => {
                    let child = self.executions[index].state.id();
                    let output = (*self.executions[index].resolve(&output)).clone();
                    let ended = child_end(child, status, output, error.as_ref());
                    if let Some(parent) = self.index_of(parent) {
                        self.end_child(parent, command, ended);
                        has_changed = true;
                    }
                }
                Message::CancelChild { child, reason } => {
                    let (below, actor) = (ChildExecutions::Cancelled, None);
                    let cancel = Input::Cancel { reason, below, actor };
                    if let Some(child) = self.index_of(child) {
                        let _unheard = self.executions[child].tell(&cancel, self.now);
                        has_changed = true;
                    }
                }
                // Workers of a test look at the queue themselves, slots are always granted, and no
                // test pauses an execution.
                Message::CommandReady { .. }
                | Message::CommandUnparked { .. }
                | Message::CommandCancelled { .. }
                | Message::CancelLinked { .. }
                | Message::SignalAwaited { .. }
                | Message::PauseChild { .. }
                | Message::ResumeChild { .. }
                | Message::RequestSlot { .. }
                | Message::ReleaseSlot { .. }
                | Message::Notification { .. } => {}
            }
        }
        has_changed
    }

    fn index_of(&self, execution: ExecutionId) -> Option<usize> {
        self.executions.iter().position(|known| known.state.id() == execution)
    }
}

fn failed(error: ToolError) -> CommandResult {
    CommandResult::Failed { error, output: None }
}

/// Returns the start of a child, with the pool, error mode and labels of its parent.
fn child_input(
    parent: &VirtualExecution<'_>,
    payload: Map<String, Value>,
    origin: Origin,
) -> StartInput {
    StartInput {
        payload,
        origin,
        error_mode: match parent.state.error_mode() {
            ErrorMode::Strict => None,
            ErrorMode::Lenient => Some(ErrorMode::Lenient),
        },
        pool: parent.state.pool().clone(),
        priority: Some(parent.state.priority()),
        paused: None,
        trace: None,
        notice: None,
        inherited: parent.state.labels().clone(),
        labels: Labels::default(),
        actor: None,
        added: &[],
    }
}

/// Returns the result of a child for its parent.
fn child_end(
    child: ExecutionId,
    status: ExecutionStatus,
    output: Value,
    error: Option<&ToolError>,
) -> CommandResult {
    match status {
        ExecutionStatus::Completed => CommandResult::Completed { output: Payload::inline(output) },
        ExecutionStatus::Failed | ExecutionStatus::Cancelled | ExecutionStatus::Running => {
            let message = match error {
                Some(error) if error.kind == ErrorKind::Child => error.message.clone(),
                Some(error) => format!("child execution {child} ended as {status}: {error}"),
                None => format!("child execution {child} ended as {status}"),
            };
            let details = json!({ "execution_id": child.to_string(), "error": error });
            failed(ToolError::new(ErrorKind::Child, message).with_details(details))
        }
    }
}
