//! The fold of commands: their issue, their holders and their ends.

use noetl_model::{
    Attempt, CommandId, ExecutionId, ItemSource, Payload, Place, Seq, TaskAddress, Timestamp,
    ToolError, WorkerId,
};

use crate::Execution;
use crate::state::{
    CacheableOutput, CommandHolder, CommandState, JOBS_MAX, LoopItem, Pipeline, RunBody,
    TaskResult, TaskRun,
};

impl Execution {
    pub(super) fn command_issued(
        &mut self,
        command: CommandId,
        mut open: CommandState,
    ) -> Result<(), String> {
        if command.0 != self.drawn.commands {
            return Err(format!("command {} is next", self.drawn.commands));
        }
        self.drawn.commands += 1;
        let run = self.run_mut(open.task.run)?;
        match (&mut run.body, open.task.place) {
            (RunBody::Tasks(_), Place::Task(_)) => {}
            (RunBody::Loop(repeat), Place::Item { index, .. }) => {
                if index == repeat.next && index < repeat.total() {
                    repeat.next += 1;
                    repeat.open.insert(index, LoopItem::default());
                } else if !repeat.open.contains_key(&index) {
                    return Err(format!("item {} is next", repeat.next));
                }
            }
            (RunBody::Loop(repeat), Place::Claim { .. }) if repeat.items == ItemSource::Cursor => {}
            (RunBody::Tasks(_) | RunBody::Loop(_), place) => {
                return Err(format!("step `{}` has no place {place:?}", run.step));
            }
        }
        let item = open.task.place.item();
        if let Ok(pipeline) = self.pipeline_mut(open.task.run, item) {
            match (open.task.retry, pipeline.task_run) {
                (1.., Some(run)) => open.task_run = run,
                (0, _) | (_, None) => pipeline.task_run = Some(open.task_run),
            }
        }
        self.commands.insert(command, open);
        Ok(())
    }

    pub(super) fn command_claimed(
        &mut self,
        command: CommandId,
        (worker, attempt, lease_until): (WorkerId, Attempt, Timestamp),
        (claimed, since, after): (Seq, Timestamp, Option<CommandId>),
    ) -> Result<(), String> {
        let is_blocked = self.is_blocked(command);
        let open = self.command_mut(command)?;
        if open.is_parked() || is_blocked {
            return Err(format!("command {command} is parked"));
        }
        if attempt != open.attempt().next() {
            return Err(format!("attempt {} is next", open.attempt().next()));
        }
        open.holder = CommandHolder::Worker { worker, attempt, lease_until, claimed, since, after };
        let run = open.task.run;
        self.run_mut(run)?.attempts += 1;
        Ok(())
    }

    pub(super) fn command_parked(
        &mut self,
        command: CommandId,
        attempt: Attempt,
        worker: &WorkerId,
        since: Timestamp,
    ) -> Result<(), String> {
        let parked = self.seq;
        let open = self.command_mut(command)?;
        let claimed_at = match &open.holder {
            CommandHolder::Worker { worker: holder, attempt: held, since, .. }
                if holder == worker && *held == attempt =>
            {
                *since
            }
            CommandHolder::Worker { .. }
            | CommandHolder::Callback { .. }
            | CommandHolder::Nobody
            | CommandHolder::Child { .. }
            | CommandHolder::Wait { .. }
            | CommandHolder::Approval { .. } => {
                return Err(format!("{worker} does not hold command {command} as {attempt}"));
            }
        };
        let worker = worker.clone();
        open.holder = CommandHolder::Callback { worker, attempt, claimed_at, parked, since };
        Ok(())
    }

    /// Remembers a job whose callback has ended a command.
    pub(super) fn job_ended(&mut self, job: Option<&String>) {
        let Some(job) = job else { return };
        if self.jobs.len() == JOBS_MAX {
            self.jobs.pop_front();
        }
        self.jobs.push_back(job.clone());
    }

    pub(super) fn command_cancelled(&mut self, command: CommandId) -> Result<(), String> {
        let attempt = self.take_command(command)?.attempt();
        self.ended_by(command, attempt);
        Ok(())
    }

    pub(super) fn child_started(
        &mut self,
        command: CommandId,
        execution: ExecutionId,
        since: Timestamp,
    ) -> Result<(), String> {
        let started = self.seq;
        self.command_mut(command)?.holder = CommandHolder::Child { execution, started, since };
        Ok(())
    }

    pub(super) fn end_command(
        &mut self,
        command: CommandId,
        attempt: Attempt,
        (output, error, job): (Option<&Payload>, Option<&ToolError>, Option<&String>),
        at: Timestamp,
    ) -> Result<(), String> {
        let open = self.take_command(command)?;
        self.ended_by(command, attempt);
        self.job_ended(job);
        let task_run = TaskRun { attempts: open.attempts(), ..open.task_run };
        let output = output.cloned().unwrap_or_else(Payload::null);
        let error = error.cloned();
        let duration_ms = match open.holder {
            CommandHolder::Worker { since, .. }
            | CommandHolder::Callback { claimed_at: since, .. } => {
                u64::try_from(at.since(since).as_millis()).ok()
            }
            CommandHolder::Nobody
            | CommandHolder::Child { .. }
            | CommandHolder::Wait { .. }
            | CommandHolder::Approval { .. } => None,
        };
        let cached = open.cache.filter(|cache| cache.reused.is_none() && error.is_none());
        let cached = cached.map(|cache| CacheableOutput { key: cache.key, command, at });
        let result = TaskResult { output, error, duration_ms, cached };
        match open.task {
            TaskAddress { run, place: Place::Task(task), .. } => {
                self.pipeline_mut(run, None)?.keep(task, result, task_run);
            }
            TaskAddress { run, place: Place::Item { index, task }, .. } => {
                self.pipeline_mut(run, Some(index))?.keep(task, result, task_run);
            }
            TaskAddress { place: Place::Claim { .. }, .. } => {}
        }
        Ok(())
    }

    pub(super) fn command_mut(&mut self, command: CommandId) -> Result<&mut CommandState, String> {
        self.commands.get_mut(&command).ok_or(format!("command {command} is not open"))
    }

    /// Stores the attempt that ended a command, unless it was the first one.
    pub(super) fn ended_by(&mut self, command: CommandId, attempt: Attempt) {
        if attempt > Attempt(1) {
            self.contested.insert(command, attempt);
        }
    }

    pub(super) fn take_command(&mut self, command: CommandId) -> Result<CommandState, String> {
        self.signal_waits.remove(&command);
        self.slots.remove(&command);
        self.commands.remove(&command).ok_or(format!("command {command} is not open"))
    }
}

impl Pipeline {
    fn keep(&mut self, task: u32, result: TaskResult, task_run: TaskRun) {
        self.task_run = Some(task_run);
        self.results.insert(task, result);
        self.last = Some(task);
    }

    /// Returns the output of the task that ended last.
    pub(crate) fn last_output(&self) -> Payload {
        self.last
            .and_then(|task| self.results.get(&task))
            .map_or_else(Payload::null, |result| result.output.clone())
    }
}
