//! Tasks: issuing their commands, and applying their rules when they end.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use noetl_expr::Template;
use noetl_model::{
    Attempt, ChildExecutions, CommandId, ErrorKind, ErrorMode, Event, Logs, Payload, Place, Pool,
    RunId, TaskAddress, TimerId, TimerPurpose, ToolError, ToolKind, ToolRunner,
};
use noetl_playbook::{
    ATTEMPTS_MAX, Amount, BodyForm, DELAY_MAX, Retry, RetryBackoff, Rule, RuleAction, Step, Task,
};
use serde_json::{Value, json};

use super::cache::CacheAnswer;
use super::draft::{Attempted, DecisionDraft, Targets, policy_error, settled};
use super::halt::Halt;
use crate::scope::{EvalPoint, ExecutionScope, failed_result};
use crate::state::{CommandHolder, OpenTimer, Pipeline, TaskResult};
use crate::{CommandResult, Decision, Needs, Refusal};

/// The end of a command as it is recorded.
pub(super) struct EndRecord<'a> {
    pub(super) attempt: Attempt,
    pub(super) ended: &'a CommandResult,
    pub(super) logs: Logs,
    /// The job whose callback ended the command.
    pub(super) job: Option<&'a str>,
}

impl<'a> EndRecord<'a> {
    /// Returns an end without logs that no callback reported.
    pub(super) fn of(attempt: Attempt, ended: &'a CommandResult) -> Self {
        Self { attempt, ended, logs: Logs::default(), job: None }
    }
}

impl DecisionDraft<'_> {
    /// Issues the command of a task.
    pub(super) fn issue_task(
        &mut self,
        run: RunId,
        item: Option<u64>,
        task: u32,
        retry: u32,
    ) -> Result<(), Halt> {
        let (_, step) = self.step_of(run);
        let place = match item {
            None => Place::Task(task),
            Some(index) => Place::Item { index, task },
        };
        self.issue(TaskAddress { run, place, retry }, step, task_at(step, task))
    }

    pub(super) fn issue(
        &mut self,
        address: TaskAddress,
        step: &Step,
        task: &Task,
    ) -> Result<(), Halt> {
        let item = match address.place {
            Place::Item { index, .. } => Some(index),
            Place::Task(_) | Place::Claim { .. } => None,
        };
        let (cache, unrun) = match self.look_up(address, step, task)? {
            CacheAnswer::NotCached => (None, None),
            CacheAnswer::Run(cache) => (Some(cache), None),
            CacheAnswer::Reuse(cache, output) => {
                (Some(cache), Some(CommandResult::Completed { output }))
            }
            CacheAnswer::Failed(error) => {
                (None, Some(CommandResult::Failed { error, output: None }))
            }
        };
        let scope = self.scope().inside(address.run, item);
        let names = mentioned(scope, step, task, item);
        let mut bindings = settled(scope.bind(&names))?.expect("binding only looks values up");
        let about_itself = [("_attempt", json!(address.retry + 1)), ("_task", json!(task.label))];
        for (name, value) in about_itself.into_iter().filter(|(name, _)| names.contains(*name)) {
            bindings.0.insert(name.to_owned(), Payload::inline(value));
        }
        if let Place::Claim { .. } = address.place {
            let rows = self.frame_rows(address.run)?;
            bindings.0.insert("__frame_max_rows".to_owned(), Payload::inline(rows.into()));
        }
        let pool = match task.tool.runner() {
            ToolRunner::Control => Pool::control(),
            ToolRunner::Worker => self.state.pool.clone(),
        };
        let command = CommandId(self.state.drawn.commands);
        if let Some(ended) = unrun {
            self.unrun.push_back((command, ended));
        } else if matches!(task.tool, ToolKind::Wait | ToolKind::Approval) {
            self.unopened_waits.push_back(command);
        } else {
            self.request_slot(step.limit.as_ref());
        }
        self.emit(Event::CommandIssued {
            command,
            task: address,
            step: step.name.clone(),
            tool: task.tool,
            pool,
            bindings,
            cache,
        });
        // Workers enforce their own timeouts until a command is parked; for a child execution, this
        // timer is the only one.
        if let (ToolKind::Playbook, Some(timeout)) = (task.tool, task.timeout) {
            self.set_timer(timeout, TimerPurpose::TaskTimeout { task: address });
        }
        Ok(())
    }

    /// Records the end of a command and continues its task.
    pub(super) fn command_ended(
        &mut self,
        command: CommandId,
        end: EndRecord<'_>,
    ) -> Result<(), Halt> {
        let ended = end.ended;
        let task = self.record_end(command, end);
        match task.place {
            Place::Task(index) => self.task_ended(task, None, index)?,
            Place::Item { index: item, task: index } => self.task_ended(task, Some(item), index)?,
            Place::Claim { frame } => self.claim_ended(task, frame, ended)?,
        }
        self.advance()
    }

    /// Records the end of a command.
    pub(super) fn record_end(&mut self, command: CommandId, end: EndRecord<'_>) -> TaskAddress {
        let open = self.state.commands.get(&command).expect("the command is open");
        let (task, has_timer) = (open.task, open.tool == ToolKind::Playbook || open.is_parked());
        if has_timer {
            let of_task = [TimerPurpose::TaskTimeout { task }, TimerPurpose::WaitEnd { task }];
            self.cancel_timers(|purpose| of_task.contains(purpose));
        }
        let EndRecord { attempt, ended, logs, job } = end;
        let (logs, job) = (logs.bounded(), job.map(str::to_owned));
        self.emit(match ended.clone() {
            CommandResult::Completed { output } => {
                Event::CommandCompleted { command, attempt, output, logs, job }
            }
            CommandResult::Failed { error, output } => {
                Event::CommandFailed { command, attempt, error, output, logs, job }
            }
        });
        task
    }

    /// Writes a task's `set`, evaluates its rules and applies the result.
    fn task_ended(
        &mut self,
        address: TaskAddress,
        item: Option<u64>,
        index: u32,
    ) -> Result<(), Halt> {
        let run = address.run;
        let (_, step) = self.step_of(run);
        let task = task_at(step, index);
        let result = self.pipeline(run, item).results.get(&index).expect("it has ended").clone();
        if result.error.is_none()
            && let Err(error) = self.write_task_set(task, (run, item), &result)?
        {
            return self.tasks_failed(run, item, error);
        }
        let ruling = match self.ruling(task, address, item, &result)? {
            Ok(ruling) => ruling,
            Err(error) => return self.tasks_failed(run, item, error),
        };
        match ruling {
            Ruling::Continue => {
                if result.error.is_some()
                    && let Err(error) = self.write_task_set(task, (run, item), &result)?
                {
                    return self.tasks_failed(run, item, error);
                }
                self.next_task(run, item, index + 1)
            }
            Ruling::Retry(delay) => self.retry_task(address, delay),
            Ruling::Jump(to) => {
                let to = u32::try_from(to).expect("a pipeline is short");
                self.issue_task(run, item, to, 0)
            }
            Ruling::Break => self.tasks_completed(run, item),
            Ruling::Fail(error) => self.tasks_failed(run, item, error),
        }
    }

    fn write_task_set(
        &mut self,
        task: &Task,
        (run, item): (RunId, Option<u64>),
        result: &TaskResult,
    ) -> Result<Attempted<()>, Halt> {
        let point = EvalPoint::TaskSet(result);
        let written = self.evaluate_set(&task.set, "`set`", (run, item), point)?;
        match written {
            Ok(written) => self.write(written, Targets::task(run, item)).map(Ok),
            Err(error) => Ok(Err(error)),
        }
    }

    /// Returns the consequence of the first matching rule. Without one, an error fails the task and
    /// anything else continues.
    fn ruling(
        &mut self,
        task: &Task,
        address: TaskAddress,
        item: Option<u64>,
        result: &TaskResult,
    ) -> Result<Attempted<Ruling>, Halt> {
        let place = (address.run, item);
        let point = EvalPoint::Rule { result, tool: task.tool, retry: address.retry };
        let matched = match self.matching_rule(task, place, point)? {
            Ok(matched) => matched,
            Err(error) => return Ok(Err(error)),
        };
        let rule = match matched {
            Matched::Rule(rule) => rule,
            Matched::None => {
                return Ok(Ok(match (&result.error, self.state.error_mode) {
                    (Some(error), ErrorMode::Strict) => Ruling::Fail(error.clone()),
                    (Some(_), ErrorMode::Lenient) | (None, _) => Ruling::Continue,
                }));
            }
            Matched::Exhausted => {
                let done = address.retry + 1;
                return Ok(Ok(Ruling::Fail(result.error.clone().unwrap_or_else(|| {
                    policy_error(format!("still not as the rule wants it after {done} attempts"))
                }))));
            }
        };
        match self.evaluate_set(&rule.set, "a rule's `set`", place, point)? {
            Ok(written) => self.write(written, Targets::rule(address.run, item))?,
            Err(error) => return Ok(Err(error)),
        }
        Ok(Ok(match &rule.action {
            RuleAction::Continue => Ruling::Continue,
            RuleAction::Break => Ruling::Break,
            RuleAction::Jump(to) => Ruling::Jump(*to),
            RuleAction::Fail => Ruling::Fail(result.error.clone().unwrap_or_else(|| {
                policy_error(format!("a rule of `{}` says that this is a failure", task.label))
            })),
            RuleAction::Retry(retry) => match self.rendered_retry(retry, place, point)? {
                Ok(pace) => Ruling::Retry(delay_before(&pace, address.retry + 1)),
                Err(error) => return Ok(Err(error)),
            },
        }))
    }

    /// Returns the first matching rule. A rule whose retries are used up is skipped, and an `else`
    /// after it does not match.
    fn matching_rule<'t>(
        &self,
        task: &'t Task,
        (run, item): (RunId, Option<u64>),
        point: EvalPoint<'_>,
    ) -> Result<Attempted<Matched<'t>>, Halt> {
        let scope = ExecutionScope { point, ..self.scope().inside(run, item) };
        let mut without_match = Matched::None;
        for rule in &task.rules {
            let holds = match &rule.when {
                None => Ok(matches!(without_match, Matched::None)),
                Some(when) => settled(scope.holds("a rule's `when`", when))?,
            };
            match holds {
                Ok(true) => {}
                Ok(false) => continue,
                Err(error) => return Ok(Err(error)),
            }
            if let (RuleAction::Retry(retry), EvalPoint::Rule { retry: done, .. }) =
                (&rule.action, point)
            {
                match self.rendered_retry(retry, (run, item), point)? {
                    Ok(pace) if done + 1 >= pace.attempts => {
                        without_match = Matched::Exhausted;
                        continue;
                    }
                    Ok(_) => {}
                    Err(error) => return Ok(Err(error)),
                }
            }
            return Ok(Ok(Matched::Rule(rule)));
        }
        Ok(Ok(without_match))
    }

    /// Renders the attempts and delays of a retry.
    fn rendered_retry(
        &self,
        retry: &Retry,
        (run, item): (RunId, Option<u64>),
        point: EvalPoint<'_>,
    ) -> Result<Attempted<RenderedRetry>, Halt> {
        let scope = ExecutionScope { point, ..self.scope().inside(run, item) };
        let attempts = match &retry.attempts {
            Amount::Literal(attempts) => Ok(f64::from(*attempts)),
            Amount::Rendered(template) => rendered_number(scope, "`attempts`", template)?,
        };
        let delay = match &retry.delay {
            Amount::Literal(delay) => Ok(delay.as_secs_f64()),
            Amount::Rendered(template) => rendered_number(scope, "`delay`", template)?,
        };
        let (attempts, delay) = match (attempts, delay) {
            (Ok(attempts), Ok(delay)) => (attempts, delay),
            (Err(error), _) | (_, Err(error)) => return Ok(Err(error)),
        };
        let delay = Duration::try_from_secs_f64(delay).unwrap_or(DELAY_MAX).min(DELAY_MAX);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is clamped"
        )]
        let attempts = attempts.clamp(1.0, f64::from(ATTEMPTS_MAX)) as u32;
        let (backoff, delay_max) = (retry.backoff, retry.delay_max);
        Ok(Ok(RenderedRetry { attempts, backoff, delay, delay_max }))
    }

    fn retry_task(&mut self, address: TaskAddress, delay: Duration) -> Result<(), Halt> {
        let task = TaskAddress { retry: address.retry + 1, ..address };
        if delay.is_zero() {
            self.issue_again(task)
        } else {
            self.set_timer(delay, TimerPurpose::Retry { task });
            Ok(())
        }
    }

    pub(super) fn issue_again(&mut self, task: TaskAddress) -> Result<(), Halt> {
        match task.place {
            Place::Task(index) => self.issue_task(task.run, None, index, task.retry),
            Place::Item { index, task: n } => self.issue_task(task.run, Some(index), n, task.retry),
            Place::Claim { frame } => self.issue_claim(task.run, frame),
        }
    }

    pub(super) fn timer_fired(mut self, timer: TimerId) -> Result<Decision, Halt> {
        let refused = |refusal| Ok(Decision::Refused { refusal, recorded: Vec::new() });
        let Some(&OpenTimer { purpose, due_at, set: _, set_at: _ }) = self.state.timers.get(&timer)
        else {
            return refused(Refusal::UnknownTimer(timer));
        };
        if self.state.event_time(self.given.now) < due_at {
            return refused(Refusal::NotDue(timer));
        }
        self.emit(Event::TimerFired { timer });
        match purpose {
            TimerPurpose::Retry { task } => {
                self.issue_again(task)?;
                self.advance()?;
            }
            TimerPurpose::StepTimeout { run } => self.step_timed_out(run)?,
            TimerPurpose::WaitEnd { task } => {
                if let Some(command) = self.command_of(task) {
                    self.wait_ended(command)?;
                }
            }
            TimerPurpose::HeldStart => self.check_held_start()?,
            TimerPurpose::TaskTimeout { task } => self.wait_timed_out(task)?,
            TimerPurpose::ExecutionTimeout => self.execution_timed_out()?,
            TimerPurpose::Late => self.emit(Event::ExecutionLate { due_at }),
        }
        Ok(Decision::Accepted(self.into_events()))
    }

    /// Returns the open command of a task.
    fn command_of(&self, task: TaskAddress) -> Option<CommandId> {
        let mut open = self.state.commands.iter();
        open.find(|(_, open)| open.task == task).map(|(command, _)| *command)
    }

    /// Ends a task whose child execution, callback, signal or approval took too long; its rules
    /// decide how to continue.
    fn wait_timed_out(&mut self, task: TaskAddress) -> Result<(), Halt> {
        let Some(command) = self.command_of(task) else { return Ok(()) };
        let open = self.state.commands.get(&command).expect("the command is open");
        let step = &open.step;
        let (attempt, message) = match (&open.holder, open.tool) {
            (CommandHolder::Callback { attempt, .. }, _) => {
                (*attempt, format!("the callback of step `{step}` did not come in time"))
            }
            (CommandHolder::Nobody | CommandHolder::Child { .. }, ToolKind::Playbook) => {
                (Attempt(1), format!("the child of step `{step}` took too long"))
            }
            (CommandHolder::Wait { on_timeout, .. }, _) => {
                let message = format!("the wait of step `{step}` took longer than its timeout");
                return self.wait_gave_up(command, *on_timeout, message);
            }
            (CommandHolder::Approval { request, .. }, _) => {
                let request = request.clone();
                let message = format!("nobody decided about `{}` in time", request.title);
                return self.approval_gave_up(command, &request, message);
            }
            // Its worker enforces the timeout.
            (
                CommandHolder::Nobody | CommandHolder::Child { .. } | CommandHolder::Worker { .. },
                _,
            ) => return Ok(()),
        };
        let ended = CommandResult::Failed {
            error: ToolError::new(ErrorKind::Timeout, message),
            output: None,
        };
        self.command_ended(command, EndRecord::of(attempt, &ended))
    }

    fn next_task(&mut self, run: RunId, item: Option<u64>, index: u32) -> Result<(), Halt> {
        let (_, step) = self.step_of(run);
        if (index as usize) < step.tasks.len() {
            self.issue_task(run, item, index, 0)
        } else {
            self.tasks_completed(run, item)
        }
    }

    fn tasks_completed(&mut self, run: RunId, item: Option<u64>) -> Result<(), Halt> {
        let Some(index) = item else { return self.complete_tasks(run) };
        let (_, step) = self.step_of(run);
        let pipeline = self.pipeline(run, item);
        let own = match step.form {
            BodyForm::Single => None,
            BodyForm::Pipeline => Some(self.pipeline_output(step, &pipeline)?),
        };
        let error = self.tolerated(&pipeline);
        let own = match &error {
            None => own,
            Some(error) => {
                let data = self.loaded(&own.unwrap_or_else(|| pipeline.last_output()))?;
                Some(Payload::inline(failed_result(error, &data)))
            }
        };
        let output = own.clone().unwrap_or_else(|| pipeline.last_output());
        self.produced.insert((run, index), output);
        self.emit(Event::IterationCompleted { run, index, output: own, error });
        self.continue_loop(run)
    }

    /// Returns the error of an item's last task if a rule handled it.
    fn tolerated(&self, pipeline: &Pipeline) -> Option<ToolError> {
        match self.state.error_mode {
            ErrorMode::Strict => pipeline.results.get(&pipeline.last?)?.error.clone(),
            // In lenient mode, a failure is a result like any other.
            ErrorMode::Lenient => None,
        }
    }

    fn tasks_failed(
        &mut self,
        run: RunId,
        item: Option<u64>,
        error: ToolError,
    ) -> Result<(), Halt> {
        let Some(index) = item else { return self.fail_run(run, error) };
        self.emit(Event::IterationFailed { run, index, error });
        self.continue_loop(run)
    }

    /// Returns the progress of the tasks of a run, or of an item of its loop.
    pub(super) fn pipeline(&self, run: RunId, item: Option<u64>) -> Pipeline {
        self.state.pipeline(run, item).cloned().unwrap_or_default()
    }

    /// Returns the value of a payload, or asks for it if it is not loaded.
    pub(super) fn loaded(&self, payload: &Payload) -> Result<Arc<Value>, Halt> {
        match payload {
            Payload::Inline(value) => Ok(value.clone()),
            Payload::Ref(reference) => self
                .given
                .loaded
                .payloads
                .get(&reference.digest)
                .cloned()
                .ok_or_else(|| Needs::payload(reference.digest).into()),
        }
    }

    /// Returns the timeout of a task as its playbook gives it; `None` if it has none or
    /// a template gives it.
    pub(super) fn written_timeout(&self, task: TaskAddress) -> Option<Duration> {
        let (_, step) = self.step_of(task.run);
        match task.place {
            Place::Task(index) | Place::Item { task: index, .. } => task_at(step, index).timeout,
            Place::Claim { .. } => None,
        }
    }

    /// Cancels all open commands of the selected runs.
    pub(super) fn cancel_commands(
        &mut self,
        reason: &str,
        below: ChildExecutions,
        which: impl Fn(RunId) -> bool,
    ) {
        let commands: Vec<CommandId> = self
            .state
            .commands
            .iter()
            .filter(|(_, open)| which(open.task.run))
            .map(|(command, _)| *command)
            .collect();
        for command in commands {
            self.emit(Event::CommandCancelled { command, reason: reason.to_owned(), below });
        }
    }
}

pub(super) fn task_at(step: &Step, index: u32) -> &Task {
    &step.tasks[usize::try_from(index).expect("a task's index is small")]
}

/// Returns the names of the variables that a command has to carry.
fn mentioned(
    scope: ExecutionScope<'_>,
    step: &Step,
    task: &Task,
    item: Option<u64>,
) -> BTreeSet<String> {
    let mut names = task.config.variables().clone();
    names.extend(step.input.iter().flat_map(|input| input.variables().iter().cloned()));
    if let (Some(_), Some(repeat)) = (item, &step.repeat) {
        names.extend([repeat.iterator.clone(), "_index".to_owned(), "_total".to_owned()]);
        if task.tool == ToolKind::Playbook {
            names.insert("iter".to_owned());
        }
    }
    if task.tool == ToolKind::Python && reads_context(task) {
        names.extend(["workload", "ctx", "execution_id"].map(str::to_owned));
        names.extend(scope.finished_steps().map(str::to_owned));
    }
    if task.tool == ToolKind::Rhai {
        // A script sees every variable by its name.
        names.extend(code_of(task).into_iter().flat_map(words).map(str::to_owned));
    }
    names
}

/// True if Python code reads `context` or `variables`, which contain all values.
fn reads_context(task: &Task) -> bool {
    match code_of(task) {
        Some(code) => words(code).any(|word| matches!(word, "context" | "variables")),
        // A script that is loaded from elsewhere may read anything.
        None => true,
    }
}

fn code_of(task: &Task) -> Option<&str> {
    let config = task.config.source();
    config.pointer("/script/source/code").or_else(|| config.get("code")).and_then(Value::as_str)
}

/// Returns the identifiers in a piece of code, and other words that look like one.
fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// The consequence of the end of a task.
enum Ruling {
    Continue,
    /// Run the task again after this delay.
    Retry(Duration),
    Jump(usize),
    Break,
    Fail(ToolError),
}

/// The rule that decides, if any.
enum Matched<'t> {
    Rule(&'t Rule),
    None,
    /// No rule matches, but one would have if it had attempts left.
    Exhausted,
}

/// A rule's `retry` with all templates rendered.
struct RenderedRetry {
    attempts: u32,
    backoff: RetryBackoff,
    delay: Duration,
    delay_max: Duration,
}

fn rendered_number(
    scope: ExecutionScope<'_>,
    what: &str,
    template: &Template,
) -> Result<Attempted<f64>, Halt> {
    let rendered = settled(scope.render(what, template))?;
    Ok(rendered.and_then(|value| {
        let number = match &value {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => text.trim().parse().ok(),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        };
        let number = number.filter(|number: &f64| *number >= 0.0);
        number.ok_or_else(|| policy_error(format!("{what} must be a number, not `{value}`")))
    }))
}

/// Returns the delay before the next attempt after `done` attempts.
fn delay_before(retry: &RenderedRetry, done: u32) -> Duration {
    let factor = match retry.backoff {
        RetryBackoff::Constant => 1,
        RetryBackoff::Linear => done,
        RetryBackoff::Exponential => 1u32.checked_shl(done - 1).unwrap_or(u32::MAX),
    };
    retry.delay.saturating_mul(factor).min(retry.delay_max)
}
