//! Starting executions: by request, as a rerun, or as a child.

use std::fmt;
use std::sync::Arc;

use noetl_engine::{Decision, StartInput, start, start_workload};
use noetl_model::{
    ADDED_KEYS, Actor, CatalogId, ExecutionId, Origin, PAYLOAD_MAX, PlaybookRef, Seq, is_shallow,
};
use noetl_playbook::Playbook;
use noetl_store::{Append, AppendError, StartKey, Unanswered};
use serde_json::{Map, Value};

use crate::error::{Damage, LoadError};
use crate::starts::catalog::{PLAYBOOK, reference_to};
use crate::starts::sealing::sealed_source;
use crate::state::payloads::json_len_within;
use crate::submit::commit::Retries;
use crate::submit::draft::PendingAppend;
use crate::submit::needs::{Fetched, LogPart};
use crate::submit::unanswered::{AppendId, AppendOutcome};
use crate::work::idle_workers::{LeaseGrant, issued};
use crate::{Admission, Control, StartError, SubmitError};

/// The largest number of ancestors of an execution.
pub const CHILD_DEPTH_MAX: u32 = 16;

/// The playbook of a start.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum PlaybookChoice {
    /// A version of a path; the newest if none is named.
    Path {
        path: String,
        version: Option<u32>,
    },
    Id(CatalogId),
    /// A path or, if the catalog has no such path, a catalog id, `pbk_` and a catalog id, or the
    /// name of exactly one playbook.
    Named {
        name: String,
        version: Option<u32>,
    },
}

impl fmt::Display for PlaybookChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlaybookChoice::Id(id) => write!(f, "{id}"),
            PlaybookChoice::Path { path: name, version: None }
            | PlaybookChoice::Named { name, version: None } => f.write_str(name),
            PlaybookChoice::Path { path: name, version: Some(version) }
            | PlaybookChoice::Named { name, version: Some(version) } => {
                write!(f, "{name} in version {version}")
            }
        }
    }
}

/// The parameters of a start.
#[derive(Debug, Clone)]
pub struct StartRequest {
    pub playbook: PlaybookChoice,
    pub input: StartInput,
    /// The start key: only one execution is started under it while it is kept.
    pub key: Option<StartKey>,
    /// The backlog limit that applies.
    pub admission: Admission,
}

impl StartRequest {
    /// Returns a request from outside with default options.
    pub fn new(playbook: PlaybookChoice, payload: Map<String, Value>) -> Self {
        let input = StartInput::new(payload);
        Self { playbook, input, key: None, admission: Admission::Request }
    }
}

/// A started execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Started {
    pub execution: ExecutionId,
    /// The number of its first commands.
    pub commands: usize,
    /// `false` if the parent's command already had this child.
    pub is_new: bool,
}

/// The number of ids drawn to find one on the key's shard, practically certain to succeed with a
/// hundred shards. The store refuses an id on another shard, and a new one is drawn.
const KEY_DRAWS_MAX: u32 = 2000;

/// The number of retries with new ids if an id is taken.
const ID_RETRIES_MAX: u32 = 3;

impl Control {
    /// Starts an execution. For a command that already has a child, returns that child; under a
    /// taken key, fails with [`StartError::KeyTaken`].
    pub async fn start(&self, request: StartRequest) -> Result<ExecutionId, StartError> {
        self.start_with_details(request).await.map(|started| started.execution)
    }

    /// Does the same as `start` and also returns details.
    pub async fn start_with_details(&self, request: StartRequest) -> Result<Started, StartError> {
        let StartRequest { playbook, mut input, key, admission } = request;
        let source = sealed_source(&input.origin, admission);
        let depth = match &input.origin {
            Origin::Request | Origin::Schedule { .. } | Origin::Rerun { .. } => 0,
            Origin::Parent { depth, .. } | Origin::Linked { depth, .. } => *depth,
        };
        if depth > CHILD_DEPTH_MAX {
            return Err(StartError::TooDeep { depth });
        }
        if json_len_within(&input.payload, PAYLOAD_MAX).is_none() {
            return Err(StartError::PayloadTooLarge);
        }
        if !input.payload.values().all(is_shallow) {
            return Err(StartError::PayloadTooNested);
        }
        self.admit(&input.pool, admission).await?;
        let mut execution = self.next_execution(key.as_ref());
        let playbook = self.chosen(execution, playbook).await?;
        let paused = self.playbook_pause(&playbook.0.path).await;
        input.paused = paused.map_err(|error| LoadError::of_store(execution, error))?;
        input.payload = start_workload(&playbook.1, &input).map_err(StartError::InvalidInputs)?;
        for _ in 0..ID_RETRIES_MAX {
            let sealed = self.sealed_start(execution, &playbook.1, &input, source).await?;
            match self.start_as(execution, (&playbook.0, &playbook.1), &sealed, key.as_ref()).await
            {
                // Another server draws the same ids; the next ones differ.
                Err(StartError::Submit(SubmitError::Contended(_))) => {
                    execution = self.next_execution(key.as_ref());
                }
                started => return started,
            }
        }
        let sealed = self.sealed_start(execution, &playbook.1, &input, source).await?;
        self.start_as(execution, (&playbook.0, &playbook.1), &sealed, key.as_ref()).await
    }

    /// Returns a new id; with a key, one that can be started under it.
    pub(crate) fn next_execution(&self, key: Option<&StartKey>) -> ExecutionId {
        let draw = || ExecutionId(self.parts.stamps.next_id());
        let Some(key) = key else {
            return draw();
        };
        let mut drawn = draw();
        for _ in 0..KEY_DRAWS_MAX {
            if self.parts.store.admits(drawn, key) {
                break;
            }
            drawn = draw();
        }
        drawn
    }

    async fn start_as(
        &self,
        execution: ExecutionId,
        (reference, playbook): (&PlaybookRef, &Playbook),
        input: &StartInput,
        key: Option<&StartKey>,
    ) -> Result<Started, StartError> {
        self.parts.mailboxes.note_active(execution);
        let mut draft = self.opening(execution, (reference, playbook), input).await?;
        self.check_start(draft.state(), playbook).await?;
        let commands = issued(draft.events()).count();
        let grants = self.grant(&mut draft, playbook).await?;
        let waits = grants.len() < commands;
        draft.moved().for_each(|(reference, value)| self.parts.payloads.put(reference, value));
        let (append, state) = draft.finish();
        let started = self.write_start(Append { key: key.cloned(), ..append }).await?;
        if started == execution {
            tracing::info!(%execution, path = reference.path, "execution started");
            if waits {
                self.parts.backlogs.added(state.pool());
            }
            self.committed(None, state);
            grants.into_iter().for_each(LeaseGrant::deliver);
        }
        Ok(Started { execution: started, commands, is_new: started == execution })
    }

    /// Starts the same playbook version with the same workload and labels as a new execution.
    pub async fn rerun(
        &self,
        execution: ExecutionId,
        actor: Option<Actor>,
    ) -> Result<ExecutionId, StartError> {
        let request = self.rerun_request(execution, actor).await?;
        self.start(request).await
    }

    /// Does the same as `rerun`, once: under a taken key, fails with [`StartError::KeyTaken`].
    pub async fn rerun_under(
        &self,
        execution: ExecutionId,
        key: StartKey,
        actor: Option<Actor>,
    ) -> Result<ExecutionId, StartError> {
        let request = self.rerun_request(execution, actor).await?;
        self.start(StartRequest { key: Some(key), ..request }).await
    }

    async fn rerun_request(
        &self,
        execution: ExecutionId,
        actor: Option<Actor>,
    ) -> Result<StartRequest, StartError> {
        let state = self.known_state(execution).await?;
        let workload = self.resolve(execution, state.workload()).await?;
        let payload = match Arc::unwrap_or_clone(workload) {
            Value::Object(payload) => payload,
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => {
                return Err(LoadError::damaged(execution, Damage::NoWorkload).into());
            }
        };
        let playbook = PlaybookChoice::Id(state.playbook().catalog_id);
        let mut request = StartRequest::new(playbook, payload);
        request.input.origin = Origin::Rerun { execution };
        request.input.error_mode = Some(state.error_mode());
        request.input.pool = state.pool().clone();
        request.input.priority = Some(state.priority());
        request.input.labels = state.labels().clone();
        request.input.actor = actor;
        // The execution may have been started by a schedule or a message.
        request.input.added = ADDED_KEYS;
        Ok(request)
    }

    /// Decides the first events of an execution without writing them.
    async fn opening(
        &self,
        execution: ExecutionId,
        (reference, playbook): (&PlaybookRef, &Playbook),
        input: &StartInput,
    ) -> Result<PendingAppend, StartError> {
        let now = self.parts.stamps.now();
        let mut fetched = Fetched::default();
        let decision = self
            .satisfy(LogPart::stored(execution, Seq::ZERO), &mut fetched, |asked| {
                start(execution, reference, input, self.given(playbook, asked, now))
            })
            .await?;
        let events = match decision {
            Decision::Accepted(events) => events,
            Decision::Refused { refusal, recorded: _ } => return Err(StartError::Refused(refusal)),
        };
        let mut events = events.into_iter();
        let first = events.next().ok_or(LoadError::damaged(execution, Damage::NoStart))?;
        let stamps = &self.parts.stamps;
        let drafted =
            PendingAppend::opening(execution, first, (now, stamps)).and_then(|mut draft| {
                fetched.made.values().for_each(|made| draft.offer(made));
                events.try_for_each(|event| draft.record(event, playbook, stamps)).map(|()| draft)
            });
        drafted.map_err(|illegal| {
            let error = LoadError::damaged(execution, Damage::Illegal(illegal));
            tracing::error!(error = &error as &dyn std::error::Error, "start cannot be folded");
            error.into()
        })
    }

    /// Writes the start of an execution. The same append may be repeated after a lost answer: the
    /// id is unique, so at most one of them is written.
    pub(crate) async fn write_start(&self, append: Append) -> Result<ExecutionId, StartError> {
        let execution = append.execution;
        let damaged = || LoadError::damaged(execution, Damage::NoStart);
        let id = AppendId::of(&append).ok_or_else(damaged)?;
        let mut retries = Retries::new(execution);
        loop {
            match self.commit(append.clone()).await {
                Ok(()) => return Ok(execution),
                Err(AppendError::ChildExists { child }) => return Ok(child),
                Err(AppendError::KeyTaken(holder)) => {
                    return Err(StartError::KeyTaken(holder));
                }
                Err(AppendError::Conflict) => {
                    return match self.outcome_of(&id).await? {
                        AppendOutcome::Written => Ok(execution),
                        AppendOutcome::Lost | AppendOutcome::Open => {
                            Err(SubmitError::Contended(execution).into())
                        }
                    };
                }
                Err(AppendError::Unanswered(Unanswered(error))) => {
                    if !retries.wait_after(&error).await {
                        return Err(LoadError::Unavailable(error).into());
                    }
                }
            }
        }
    }

    /// Returns the active playbook of a choice.
    pub(crate) async fn chosen(
        &self,
        execution: ExecutionId,
        choice: PlaybookChoice,
    ) -> Result<(PlaybookRef, Arc<Playbook>), StartError> {
        let mut found = self.entry_at(execution, choice.clone()).await?;
        if found.is_none()
            && let PlaybookChoice::Named { name, version } = &choice
        {
            found = self.entry_named(execution, name, *version).await?.map(Arc::new);
        }
        let entry = found.filter(|entry| entry.kind.eq_ignore_ascii_case(PLAYBOOK));
        let entry = entry.ok_or_else(|| StartError::UnknownPlaybook(choice.to_string()))?;
        if entry.archived_at.is_some() {
            return Err(StartError::ArchivedPlaybook(entry.path.clone()));
        }
        let playbook = self.compiled(execution, &entry)?;
        Ok((reference_to(&entry), playbook))
    }
}
