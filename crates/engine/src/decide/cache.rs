//! The cache of outputs: a command whose step has `cache` reuses the output of an earlier command
//! with the same key instead of running.
//!
//! The outputs are outside: a decision asks for them ([`Needs::Output`]) and records the answer in
//! the event that issues the command, so that a replay does not ask again.

use std::time::Duration;

use noetl_expr::Template;
use noetl_model::{
    Attempt, CacheKey, CommandCache, CommandId, Digest, ErrorKind, Payload, Place, ReusedOutput,
    TaskAddress, ToolError, canonical,
};
use noetl_playbook::{Step, Task};
use serde_json::{Value, json};

use super::draft::{Attempted, DecisionDraft, settled};
use super::halt::Halt;
use super::task::EndRecord;
use crate::{CommandResult, Needs};

/// The largest number of outputs that one decision looks up; further commands of the decision run. A
/// loop whose items all reuse an output would otherwise be one decision without end.
const LOOKUPS_MAX: usize = 64;

/// A question for an earlier output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutputLookup {
    pub key: CacheKey,
    /// The greatest age of the output.
    pub ttl: Duration,
}

/// An output that can be used again.
#[derive(Debug, Clone, PartialEq)]
pub struct CachedOutput {
    pub origin: ReusedOutput,
    pub output: Payload,
}

/// The consequence of `cache` for a command that is about to be issued.
pub(super) enum CacheAnswer {
    /// The command runs; its output is not kept.
    NotCached,
    /// The command runs; its output is kept if the step completes.
    Run(CommandCache),
    /// The command ends at once with an earlier output.
    Reuse(CommandCache, Payload),
    /// The key cannot be rendered.
    Failed(ToolError),
}

impl DecisionDraft<'_> {
    /// Looks up the output of a command that is about to be issued.
    pub(super) fn look_up(
        &mut self,
        address: TaskAddress,
        step: &Step,
        task: &Task,
    ) -> Result<CacheAnswer, Halt> {
        let Some(cache) = &step.cache else { return Ok(CacheAnswer::NotCached) };
        let (item, index) = match address.place {
            Place::Task(index) => (None, index),
            Place::Item { index, task } => (Some(index), task),
            Place::Claim { .. } => return Ok(CacheAnswer::NotCached),
        };
        let key = match self.cache_key((&cache.key, step, task), address, item)? {
            Ok(key) => key,
            Err(error) => return Ok(CacheAnswer::Failed(error)),
        };
        // A task that a rule repeats did not get what it needs from the cache.
        let is_repeated = address.retry > 0
            || self
                .state
                .pipeline(address.run, item)
                .is_some_and(|it| it.results.contains_key(&index));
        if is_repeated || self.lookups >= LOOKUPS_MAX {
            return Ok(CacheAnswer::Run(CommandCache { key, reused: None }));
        }
        self.lookups += 1;
        match self.given.loaded.outputs.get(&key) {
            None => Err(Needs::Output(OutputLookup { key, ttl: cache.ttl }).into()),
            Some(None) => Ok(CacheAnswer::Run(CommandCache { key, reused: None })),
            Some(Some(found)) => {
                let cache = CommandCache { key, reused: Some(found.origin) };
                Ok(CacheAnswer::Reuse(cache, found.output.clone()))
            }
        }
    }

    /// Ends a command that was issued without a need to run.
    pub(super) fn end_unrun(
        &mut self,
        command: CommandId,
        ended: &CommandResult,
    ) -> Result<(), Halt> {
        // The step may have ended before.
        if !self.state.commands.contains_key(&command) {
            return Ok(());
        }
        self.command_ended(command, EndRecord::of(Attempt(1), ended))
    }

    fn cache_key(
        &self,
        (key, step, task): (&Template, &Step, &Task),
        address: TaskAddress,
        item: Option<u64>,
    ) -> Result<Attempted<CacheKey>, Halt> {
        let scope = self.scope().inside(address.run, item);
        let key = match settled(scope.render("`cache.key`", key))? {
            Ok(Value::Null) => {
                let message =
                    "`cache.key` has no value: outputs of different inputs would be mixed up";
                return Ok(Err(ToolError::new(ErrorKind::Template, message)));
            }
            Ok(key) => key,
            Err(error) => return Ok(Err(error)),
        };
        // A step that does something else now must not reuse what it did before.
        let identity = json!([
            self.state.playbook.path,
            step.name,
            task.label,
            task.tool.to_string(),
            task.config.source(),
            step.input.as_ref().map(Template::source),
            key,
        ]);
        Ok(Ok(CacheKey(Digest::of(&canonical(&identity)))))
    }
}
