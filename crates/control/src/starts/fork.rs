//! Forks: new executions that share the log of another one up to an event, optionally with changes.
//!
//! A decision makes several events. A fork in the middle of one repeats the decision to get the
//! remaining events. If the changes make it differ, the fork starts before the decision, and the
//! work that led to it is done again.

mod past;

use std::collections::BTreeMap;
use std::sync::Arc;

use noetl_engine::{
    Changes, Decision, DecisionArgs, Effort, Execution, Fork, ForkChanges, Loaded, Needs,
    Unforkable, changed, checked_workload, decide, fits, fork, start,
};
use noetl_model::{
    Actor, CatalogId, Cutoff, Event, ExecutionId, ExecutionStatus, ForkPoint, PAYLOAD_MAX, Payload,
    PlaybookRef, Seq, is_shallow,
};
use noetl_playbook::Playbook;
use noetl_store::{Append, FORKS_MAX, StartKey};
use serde_json::{Map, Value};
use thiserror::Error;

use crate::error::{Damage, LoadError};
use crate::state::payloads::json_len_within;
use crate::submit::draft::PendingAppend;
use crate::submit::needs::{Fetched, LogPart};
use crate::{Control, PlaybookChoice, RegisterError, StartError};
use past::{Beginning, Begun, Cause, Past, PastReading};

/// The point where a fork leaves its origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForkAt {
    /// At an event. The terminal event is never shared: a fork at it starts just before it.
    Event(Seq),
    /// The position at which the failed work can be repeated.
    Failure,
}

/// The parameters of a fork.
#[derive(Debug, Clone)]
pub struct ForkRequest {
    pub origin: ExecutionId,
    pub at: ForkAt,
    /// Another version of the playbook.
    pub playbook: Option<PlaybookChoice>,
    /// Values merged into the workload.
    pub workload: Map<String, Value>,
    /// Values written to `ctx`.
    pub context: BTreeMap<String, Value>,
    pub actor: Option<Actor>,
}

/// The reason why an execution was not forked.
#[derive(Debug, Error)]
pub enum ForkError {
    #[error("execution {0} has no event {1}")]
    UnknownEvent(ExecutionId, Seq),
    #[error("execution {execution} is {status}; only one that has not completed can be retried")]
    NotFailed { execution: ExecutionId, status: ExecutionStatus },
    #[error("execution {0} is the end of a chain of {max} forks; fork an earlier execution of the chain", max = FORKS_MAX)]
    TooManyForks(ExecutionId),
    #[error("the fork cannot continue from this position")]
    Unforkable(#[source] Unforkable),
    #[error(transparent)]
    Register(#[from] RegisterError),
    #[error(transparent)]
    Start(#[from] StartError),
}

impl From<LoadError> for ForkError {
    fn from(error: LoadError) -> Self {
        ForkError::Start(error.into())
    }
}

/// The origin of an execution's log: its own, or shared as a fork.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lineage {
    First,
    Fork,
}

/// The arguments of a fork's first decision.
struct ForkContext<'a> {
    fork: ExecutionId,
    origin: ExecutionId,
    playbook: &'a Playbook,
    changes: &'a Changes,
    actor: Option<Actor>,
}

/// The playbook of a fork.
enum Onto {
    /// The playbook named in the request, else the origin's.
    Requested,
    /// A document that is not registered.
    Document(Arc<Playbook>),
}

impl Control {
    /// Forks an execution and returns the fork. The fork has the origin's current playbook version
    /// and workload unless the request names others, also if it starts before their change.
    pub async fn fork(&self, request: ForkRequest) -> Result<ExecutionId, ForkError> {
        self.forked(request, None).await
    }

    /// Forks an execution, once: under a taken key, fails with [`StartError::KeyTaken`].
    pub async fn fork_under(
        &self,
        request: ForkRequest,
        key: StartKey,
    ) -> Result<ExecutionId, ForkError> {
        self.forked(request, Some(key)).await
    }

    async fn forked(
        &self,
        request: ForkRequest,
        key: Option<StartKey>,
    ) -> Result<ExecutionId, ForkError> {
        let origin = request.origin;
        let id = self.next_execution(key.as_ref());
        let draft = self.drafted(id, request, Onto::Requested).await?;
        draft.moved().for_each(|(reference, value)| self.parts.payloads.put(reference, value));
        let (append, state) = draft.finish();
        self.write_start(Append { key, ..append }).await?;
        tracing::info!(execution = %id, %origin, "execution forked");
        self.committed(None, state);
        Ok(id)
    }

    /// Forks an execution with a playbook document, which is registered only if the fork is
    /// possible. `file` is its name in messages.
    pub async fn fork_onto(
        &self,
        request: ForkRequest,
        file: &str,
        content: &str,
    ) -> Result<ExecutionId, ForkError> {
        let checked = noetl_playbook::parse(file, content.as_bytes());
        let playbook = Arc::new(checked.map_err(RegisterError::Invalid)?.playbook);
        let id = self.next_execution(None);
        self.drafted(id, request.clone(), Onto::Document(playbook)).await?;
        let kept = self.register(file, content).await?;
        let playbook = Some(PlaybookChoice::Id(kept.entry.catalog_id));
        self.fork(ForkRequest { playbook, ..request }).await
    }

    /// Decides the first events of a fork without writing them.
    async fn drafted(
        &self,
        id: ExecutionId,
        request: ForkRequest,
        onto: Onto,
    ) -> Result<PendingAppend, ForkError> {
        let ForkRequest { origin, at, playbook, workload, context, actor } = request;
        let is_fork = self.check_lineage(origin).await? == Lineage::Fork;
        let (past, mut inherited) = self.settled_past(origin, at).await?;
        if is_fork {
            let latest = self.known_state(origin).await?;
            inherited.playbook = Some(latest.playbook().clone());
            inherited.workload = Some(latest.workload().clone());
        }
        let before = changed(&past.state, &inherited);
        let (reference, playbook) = match (onto, playbook) {
            (Onto::Document(playbook), _) => {
                let catalog_id = CatalogId(self.parts.stamps.next_id());
                let path = playbook.metadata.path.clone();
                (Some(PlaybookRef { catalog_id, path, version: 0 }), playbook)
            }
            (Onto::Requested, Some(choice)) => {
                let (reference, playbook) = self.chosen(id, choice).await?;
                (Some(reference), playbook)
            }
            (Onto::Requested, None) => (inherited.playbook, self.playbook_of(&before).await?),
        };
        let reference = reference.filter(|it| *it != *past.state.playbook());
        let inherited_workload = inherited.workload.filter(|it| *it != *past.state.workload());
        let workload = self.merged_workload(id, (&before, &playbook), workload).await?;
        let workload = workload.or(inherited_workload);
        let context = inherited.context.into_iter().chain(context).collect();
        let changes = Changes { playbook: reference, workload, context };
        let setting =
            ForkContext { fork: id, origin, playbook: &playbook, changes: &changes, actor };
        let draft = self.fork_draft(&setting, past).await?;
        self.check_start(draft.state(), &playbook).await?;
        Ok(draft)
    }

    /// Checks that the chain of forks is not too long, and returns the origin of the log.
    async fn check_lineage(&self, origin: ExecutionId) -> Result<Lineage, ForkError> {
        let mut execution = origin;
        for _ in 0..FORKS_MAX {
            let summary = self.parts.store.summary(execution).await;
            let summary = summary.map_err(|error| LoadError::of_store(execution, error))?;
            match summary.ok_or(LoadError::NotFound(execution))?.fork {
                Some(fork) => execution = fork.execution,
                None if execution == origin => return Ok(Lineage::First),
                None => return Ok(Lineage::Fork),
            }
        }
        Err(ForkError::TooManyForks(origin))
    }

    /// Returns the shared state of a fork, and the changes of earlier forks that it repeats: a fork
    /// within the first decision of another fork starts before that decision.
    async fn settled_past(
        &self,
        origin: ExecutionId,
        mut at: ForkAt,
    ) -> Result<(Past, Changes), ForkError> {
        let mut inherited = Changes::default();
        let mut repeated = Vec::new();
        loop {
            match self.past(origin, at).await? {
                PastReading::Past(mut past) => {
                    if !repeated.is_empty() {
                        past.beginning = Beginning::Settled { again: repeated };
                    }
                    return Ok((*past, inherited));
                }
                PastReading::Begun(Begun { at: before, changes, again }) => {
                    (at, repeated) = (ForkAt::Event(before), again);
                    let Changes { playbook, workload, mut context } = changes;
                    context.extend(inherited.context);
                    let playbook = inherited.playbook.or(playbook);
                    let workload = inherited.workload.or(workload);
                    inherited = Changes { playbook, workload, context };
                }
            }
        }
    }

    /// Returns the workload with values merged into it; `None` if there are none.
    async fn merged_workload(
        &self,
        id: ExecutionId,
        (state, playbook): (&Execution, &Playbook),
        over: Map<String, Value>,
    ) -> Result<Option<Payload>, ForkError> {
        if over.is_empty() {
            return Ok(None);
        }
        let workload = self.resolve(state.id(), state.workload()).await?;
        let workload = match Arc::unwrap_or_clone(workload) {
            Value::Object(workload) => workload,
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => {
                return Err(LoadError::damaged(state.id(), Damage::NoWorkload).into());
            }
        };
        let workload =
            checked_workload(playbook, workload, &over).map_err(StartError::InvalidInputs)?;
        let workload = self.sealed_workload(id, playbook, workload, Some(state.id())).await?;
        if json_len_within(&workload, PAYLOAD_MAX).is_none() {
            return Err(StartError::PayloadTooLarge.into());
        }
        if !workload.values().all(is_shallow) {
            return Err(StartError::PayloadTooNested.into());
        }
        Ok(Some(Payload::inline(Value::Object(workload))))
    }

    /// Decides the first events of a fork without writing them: at the requested event if the rest
    /// of its decision can be determined, else before that decision.
    async fn fork_draft(
        &self,
        setting: &ForkContext<'_>,
        past: Past,
    ) -> Result<PendingAppend, ForkError> {
        let mut fetched = Fetched::default();
        let now = self.parts.stamps.now();
        let (state, rest, again) = match past.beginning {
            Beginning::Settled { again } => (past.state, Vec::new(), again),
            Beginning::Within { before, input, since } => {
                let (before_it, leaves) = (before.as_deref(), since.len());
                let whole =
                    self.decided_again(setting, before_it, (&input, leaves), &mut fetched).await?;
                let told = since.iter().zip(&whole).take_while(|(was, is)| was.is_like(is)).count();
                match before {
                    _ if told == since.len() => (past.state, whole[told..].to_vec(), Vec::new()),
                    // Another decision, whose input is unknown, came after this one.
                    Some(before) if told == whole.len() => {
                        let settled = Seq(before.seq().0 + told as u64);
                        let state = self.state(setting.origin, Cutoff::Seq(settled));
                        (state.await?, Vec::new(), Vec::new())
                    }
                    Some(before) => (*before, Vec::new(), Vec::new()),
                    None => {
                        let state = self.state(setting.origin, Cutoff::Seq(Seq(1))).await?;
                        let whole =
                            self.decided_again(setting, None, (&input, 1), &mut fetched).await?;
                        (state, whole.get(1..).unwrap_or_default().to_vec(), Vec::new())
                    }
                }
            }
        };
        let origin = ForkPoint { execution: setting.origin, seq: state.seq() };
        let (changes, actor) = (setting.changes.clone(), setting.actor.clone());
        let wish = Fork { origin, changes, rest, again, actor };
        let state = state.shared_with(setting.fork);
        let log = LogPart::stored(setting.origin, state.seq());
        let events = self
            .satisfy(log, &mut fetched, |asked| {
                fork(&state, &wish, self.given(setting.playbook, asked, now))
            })
            .await?;
        let events = events.map_err(ForkError::Unforkable)?;
        let mut draft = PendingAppend::onto(state, now);
        fetched.made.values().for_each(|made| draft.offer(made));
        draft.fetched = fetched;
        for event in events {
            draft.record(event, setting.playbook, &self.parts.stamps).map_err(|illegal| {
                let error = LoadError::damaged(setting.fork, Damage::Illegal(illegal));
                tracing::error!(error = &error as &dyn std::error::Error, "fork cannot be folded");
                error
            })?;
        }
        Ok(draft)
    }

    /// Repeats the decision of an input with the fork's changes applied after `after` events.
    async fn decided_again(
        &self,
        setting: &ForkContext<'_>,
        before: Option<&Execution>,
        (input, after): (&Cause, usize),
        fetched: &mut Fetched,
    ) -> Result<Vec<Event>, ForkError> {
        if let Some(state) = before {
            fits(state, setting.playbook).map_err(ForkError::Unforkable)?;
        }
        let expected = before.map_or(Seq::ZERO, Execution::seq);
        let log = LogPart::stored(setting.origin, expected);
        let (execution, changes) = (setting.fork, setting.changes);
        let fork_changes = Some(ForkChanges { after, execution, changes });
        let now = self.parts.stamps.now();
        let ask = |asked: (&Loaded, Effort)| {
            let given = DecisionArgs { fork_changes, ..self.given(setting.playbook, asked, now) };
            match (input, before) {
                (Cause::Input(input), Some(state)) => decide(state, input, given),
                (Cause::Start { playbook, input }, _) => {
                    start(setting.fork, playbook, input, given)
                }
                (Cause::Note(event), _) => Ok(Decision::Accepted(vec![(**event).clone()])),
                (Cause::Input(_), None) => Ok(Decision::Accepted(Vec::new())),
            }
        };
        let decision: Result<Decision, LoadError> =
            self.satisfy(log, fetched, |asked| -> Result<Decision, Needs> { ask(asked) }).await;
        fetched.loaded.loops.clear();
        Ok(match decision? {
            Decision::Accepted(events) | Decision::Refused { recorded: events, .. } => events,
        })
    }
}
