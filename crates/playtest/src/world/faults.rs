//! Reasons why a run cannot go on, with the way out.

use noetl_engine::{CommandWait, OpenPart};
use noetl_model::{ToolKind, WaitCondition};

use super::{ROOT, TestWorld};
use crate::call::RenderedCall;
use crate::difference::{FaultLine, shown};
use crate::mocked::CallProblem;
use crate::outcome::TestFault;

impl TestWorld<'_> {
    /// Ends the test at a call that has no result.
    pub(super) fn stop_at(&mut self, call: &RenderedCall, problem: &CallProblem) {
        let place = place_of(call);
        let is_root = call.playbook == self.executions[ROOT].playbook.metadata.path;
        let fault = match problem {
            CallProblem::Unmocked { has_others } => {
                let which = if *has_others { "no matching mock" } else { "no mock" };
                let message = format!("{place} calls `{}`, which has {which}", call.tool);
                let lines = FaultLine::Actual(shown(&call.with));
                let fault = TestFault::new(message).diff(vec![lines]);
                let key = if is_root {
                    format!("mocks: {{{}: {{output: …}}}}", call.step)
                } else {
                    format!("children: {{{}: {{{}: {{output: …}}}}}}", call.playbook, call.step)
                };
                let is_child = call.tool == ToolKind::Playbook;
                let file = if is_child {
                    ", or put the file of the child beside the playbook"
                } else {
                    ""
                };
                fault.help(format!("add `{key}`{file}, or set `allow_unmocked: true`"))
            }
            CallProblem::ScriptNeedsMock { function } => {
                let message = format!(
                    "the script of {place} calls `{function}`, whose result a test cannot know"
                );
                TestFault::new(message).help(format!("mock step `{}`", call.step))
            }
            CallProblem::MockScript(error) => {
                TestFault::new(format!("the `rhai` mock of {place} fails: {error}"))
            }
        };
        self.fault = Some(fault);
    }

    /// Returns the fault of an execution that waits for ever.
    pub(super) fn does_not_end(&self) -> TestFault {
        let root = &self.executions[ROOT].state;
        let mut waits = Vec::new();
        for part in root.open_parts() {
            if let OpenPart::Command(command) = part {
                let step = command.step;
                waits.extend(match command.waits_for {
                    CommandWait::Condition {
                        condition: WaitCondition::Signal { name, .. },
                        ..
                    } => Some((format!("step `{step}` waits for the signal `{name}`"), "signals")),
                    CommandWait::Approval { request, .. } => {
                        let title = &request.title;
                        Some((
                            format!("step `{step}` waits for a decision about `{title}`"),
                            "decisions",
                        ))
                    }
                    CommandWait::Child { .. } => {
                        Some((format!("step `{step}` waits for its child"), "mocks"))
                    }
                    CommandWait::Condition { .. }
                    | CommandWait::Worker
                    | CommandWait::Slot(_)
                    | CommandWait::Resumption(_)
                    | CommandWait::Report { .. }
                    | CommandWait::Callback { .. } => None,
                });
            }
        }
        match waits.first() {
            Some((_, key)) => {
                let key = *key;
                let all: Vec<String> = waits.into_iter().map(|(wait, _)| wait).collect();
                TestFault::new(format!("the execution does not end: {}", all.join(", ")))
                    .help(format!("add `{key}` to the test"))
            }
            None => TestFault::new(format!(
                "the execution does not end within {} events of virtual time",
                super::MOMENTS_MAX
            )),
        }
    }
}

/// Returns the place of a call: `step a, task b, item 2, attempt 3`.
pub(super) fn place_of(call: &RenderedCall) -> String {
    let mut place = format!("step `{}`", call.step);
    if call.task != call.step.as_str() {
        place += &format!(", task `{}`", call.task);
    }
    if let Some(item) = call.item {
        place += &format!(", item {item}");
    }
    if call.attempt > 1 {
        place += &format!(", attempt {}", call.attempt);
    }
    place
}
