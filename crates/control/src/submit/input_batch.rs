//! One batch of inputs of an execution: all are decided, then appended together.
//!
//! After a conflict, the inputs are decided again on the stored state. After an append without an
//! answer, the log is checked first: the append may have been written.

use std::collections::BTreeMap;
use std::sync::Arc;

use noetl_engine::{CommandTiming, Decision, Execution, Illegal, Input, Refusal, decide, lease_of};
use noetl_model::{Attempt, ExecutionId, Lease, Seq, traceparent};
use noetl_playbook::Playbook;
use noetl_store::{Append, AppendError, StoreError, Unanswered};
use tracing::Instrument as _;

use crate::error::{Damage, LoadError};
use crate::state::rewind::{FoldEnd, LogComparison};
use crate::submit::commit::Retries;
use crate::submit::draft::PendingAppend;
use crate::submit::mailbox::{PostedInput, Submission};
use crate::submit::unanswered::{AppendId, AppendOutcome};
use crate::work::idle_workers::{LeaseGrant, Next};
use crate::{Control, MailboxAnswer, SubmitError};

/// The largest number of retries after conflicts before the callers get an error.
const CONFLICT_RETRIES_MAX: u32 = 8;

/// The position of an input in its batch.
type InputIndex = usize;
type BatchAnswers = Vec<(InputIndex, Result<MailboxAnswer, SubmitError>)>;

/// A batch until all of its inputs are answered.
struct InputBatch {
    execution: ExecutionId,
    open: BTreeMap<InputIndex, PostedInput>,
    /// Appends that may have been written.
    unanswered: Vec<UnansweredAppend>,
    /// The seq at which the last append was refused.
    conflict: Option<Seq>,
    /// Leases of callers that are gone.
    unreceived: Vec<Lease>,
}

/// An append without an answer, and the answers for its callers if it was written.
struct UnansweredAppend {
    id: AppendId,
    answers: BatchAnswers,
    grants: Vec<LeaseGrant>,
}

/// The decided append of a batch, with its answers.
struct Decided {
    append: Append,
    state: Execution,
    answers: BatchAnswers,
    grants: Vec<LeaseGrant>,
    /// The times of the commands that the append ends.
    timings: Vec<CommandTiming>,
}

/// The reason why a batch was not completed at the first try.
enum BatchError {
    Conflict,
    Unanswered(Arc<StoreError>),
    Permanent(SubmitError),
}

impl From<LoadError> for BatchError {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::Unavailable(source) => Self::Unanswered(source),
            LoadError::NotFound(_)
            | LoadError::Deleted { .. }
            | LoadError::NotNative { .. }
            | LoadError::Rewound { .. } => Self::Permanent(error.into()),
            LoadError::Corrupt { .. } => {
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    "an execution cannot continue"
                );
                Self::Permanent(error.into())
            }
        }
    }
}

impl InputBatch {
    fn answer(&mut self, answers: BatchAnswers) {
        for (slot, answer) in answers {
            let Some(posted) = self.open.remove(&slot) else { continue };
            // The caller may be gone.
            if let Err(Ok(MailboxAnswer::Leased(lease))) = posted.answer.send(answer) {
                self.unreceived.push(*lease);
            }
        }
    }

    fn answer_all(&mut self, error: &SubmitError) {
        let slots: Vec<InputIndex> = self.open.keys().copied().collect();
        self.answer(slots.into_iter().map(|slot| (slot, Err(error.clone()))).collect());
    }

    /// Refuses claims that take over a command: the log has not changed, so the store refused them
    /// because the lease was extended meanwhile.
    fn refuse_takeovers(&mut self) {
        let claims = self.open.iter().filter_map(|(slot, posted)| match posted.submission.input {
            Input::Claim { command, attempt, .. } => {
                (attempt > Attempt(1)).then_some((*slot, command))
            }
            Input::LeaseExhausted { command, .. } => Some((*slot, command)),
            Input::Report { .. }
            | Input::Park { .. }
            | Input::Callback { .. }
            | Input::ChildStarted { .. }
            | Input::ChildEnded { .. }
            | Input::TimerFired { .. }
            | Input::Signal(_)
            | Input::Decide(_)
            | Input::Pause(_)
            | Input::Resume(_)
            | Input::SlotGranted { .. }
            | Input::SlotDenied { .. }
            | Input::Cancel { .. }
            | Input::Finalize { .. }
            | Input::Stalled { .. }
            | Input::NotClaimed { .. }
            | Input::Rewound { .. }
            | Input::Reported { .. } => None,
        });
        let refusals = claims.map(|(slot, command)| {
            (slot, Ok(MailboxAnswer::Refused(Refusal::AlreadyClaimed(command))))
        });
        let refusals: BatchAnswers = refusals.collect();
        self.answer(refusals);
    }
}

impl Control {
    /// Decides all posted inputs and answers them once they are durable.
    pub(crate) async fn process_batch(&self, execution: ExecutionId, posted: Vec<PostedInput>) {
        let span = tracing::info_span!(
            "turn",
            %execution,
            inputs = posted.len(),
            traceparent = tracing::field::Empty,
        );
        self.decide_and_answer(execution, posted).instrument(span).await;
    }

    async fn decide_and_answer(&self, execution: ExecutionId, posted: Vec<PostedInput>) {
        let open = posted.into_iter().enumerate().collect();
        let mut batch = InputBatch {
            execution,
            open,
            unanswered: Vec::new(),
            conflict: None,
            unreceived: Vec::new(),
        };
        let (mut conflicts, mut retries) = (0, Retries::new(execution));
        while !batch.open.is_empty() {
            let Err(error) = self.advance(&mut batch).await else { continue };
            self.parts.states.forget(execution);
            match error {
                BatchError::Conflict if conflicts < CONFLICT_RETRIES_MAX => conflicts += 1,
                BatchError::Conflict => batch.answer_all(&SubmitError::Contended(execution)),
                BatchError::Unanswered(error) => {
                    if !retries.wait_after(&error).await {
                        batch.answer_all(&LoadError::Unavailable(error).into());
                    }
                }
                BatchError::Permanent(error) => batch.answer_all(&error),
            }
        }
        self.give_back(&batch.unreceived).await;
    }

    /// Makes one try at a batch and answers the inputs it can.
    async fn advance(&self, batch: &mut InputBatch) -> Result<(), BatchError> {
        let state = self.known_state(batch.execution).await?;
        if let Some(context) = traceparent(state.trace()) {
            tracing::Span::current().record("traceparent", context);
        }
        self.settle_unanswered(batch).await?;
        if batch.conflict.take() == Some(state.seq()) {
            batch.refuse_takeovers();
        }
        if batch.open.is_empty() {
            return Ok(());
        }
        let playbook = self.playbook_of(&state).await?;
        let (before, end) = (state.clone(), FoldEnd::of(&state));
        let Decided { append, state, answers, grants, timings } =
            match self.decide_all(state, &playbook, batch).await? {
                Ok(decided) => decided,
                Err((slot, illegal)) => {
                    // The other inputs of the batch are decided again without this one.
                    let error = LoadError::damaged(batch.execution, Damage::Illegal(illegal));
                    tracing::error!(
                        error = &error as &dyn std::error::Error,
                        input = ?batch.open.get(&slot).map(|posted| &posted.submission.input),
                        "decision cannot be folded"
                    );
                    self.parts.states.forget(batch.execution);
                    batch.answer(vec![(slot, Err(error.into()))]);
                    return Ok(());
                }
            };
        let Some(id) = AppendId::of(&append) else {
            // The store cannot refuse an answer that writes nothing, so it is given only if the
            // cached state matches the whole log.
            return match self.standing(end).await? {
                LogComparison::Current => {
                    batch.answer(answers);
                    Ok(())
                }
                LogComparison::Behind => Err(BatchError::Conflict),
                LogComparison::Ahead { found } => {
                    self.note_rewound(end, found);
                    Err(BatchError::Conflict)
                }
            };
        };
        let expected = append.expected;
        match self.commit_here(append).await {
            Ok(()) => {
                self.committed(Some(&before), state);
                self.parts.durations.ended(&timings);
                batch.answer(answers);
                grants.into_iter().for_each(LeaseGrant::deliver);
                Ok(())
            }
            Err(
                AppendError::Conflict | AppendError::ChildExists { .. } | AppendError::KeyTaken(_),
            ) => {
                batch.conflict = Some(expected);
                self.note_if_ahead(end).await?;
                Err(BatchError::Conflict)
            }
            Err(AppendError::Unanswered(Unanswered(error))) => {
                batch.unanswered.push(UnansweredAppend { id, answers, grants });
                Err(BatchError::Unanswered(error))
            }
        }
    }

    /// Decides the inputs of a batch one after another, each on the state left by the previous
    /// ones. The inner error is the input whose events are illegal.
    async fn decide_all(
        &self,
        state: Execution,
        playbook: &Playbook,
        batch: &InputBatch,
    ) -> Result<Result<Decided, (InputIndex, Illegal)>, BatchError> {
        let mut draft = PendingAppend::onto(state, self.parts.stamps.now());
        let mut answers = BatchAnswers::new();
        for (slot, PostedInput { submission: Submission { input, values, next }, .. }) in
            &batch.open
        {
            draft.offer_all(values);
            let decision = self
                .decide_on(&mut draft, playbook, |state, given| decide(state, input, given))
                .await;
            let (events, refusal) = match decision {
                Ok(Decision::Accepted(events)) => (events, None),
                Ok(Decision::Refused { refusal, recorded }) => (recorded, Some(refusal)),
                Err(LoadError::Unavailable(source)) => return Err(BatchError::Unanswered(source)),
                Err(
                    error @ (LoadError::NotFound(_)
                    | LoadError::Deleted { .. }
                    | LoadError::NotNative { .. }
                    | LoadError::Rewound { .. }
                    | LoadError::Corrupt { .. }),
                ) => {
                    tracing::error!(
                        error = &error as &dyn std::error::Error,
                        "input cannot be decided"
                    );
                    answers.push((*slot, Err(error.into())));
                    continue;
                }
            };
            let begun = draft.events().len();
            for event in events {
                if let Err(illegal) = draft.record(event, playbook, &self.parts.stamps) {
                    return Ok(Err((*slot, illegal)));
                }
            }
            let answer = match refusal {
                Some(refusal) => MailboxAnswer::Refused(refusal),
                None => {
                    let next = next.as_ref().map(|pool| (begun, pool));
                    match self.go_on(input, next, &mut draft, playbook).await? {
                        Some(Next::Handed(lease)) => MailboxAnswer::Leased(Box::new(lease)),
                        Some(Next::HandedBefore(lease)) => {
                            MailboxAnswer::HandedOver(Box::new(lease))
                        }
                        None => accepted(&draft.state, playbook, input),
                    }
                }
            };
            answers.push((*slot, Ok(answer)));
        }
        let grants = self.grant(&mut draft, playbook).await?;
        draft.moved().for_each(|(reference, value)| self.parts.payloads.put(reference, value));
        let timings = draft.take_timings();
        let (append, state) = draft.finish();
        Ok(Ok(Decided { append, state, answers, grants, timings }))
    }

    /// Checks the log for appends without an answer.
    async fn settle_unanswered(&self, batch: &mut InputBatch) -> Result<(), BatchError> {
        let mut unsettled = Vec::new();
        let mut failure = None;
        for append in std::mem::take(&mut batch.unanswered) {
            match self.outcome_of(&append.id).await {
                Ok(AppendOutcome::Written) => {
                    batch.answer(append.answers);
                    append.grants.into_iter().for_each(LeaseGrant::deliver);
                }
                Ok(AppendOutcome::Lost) => {}
                Ok(AppendOutcome::Open) => unsettled.push(append),
                Err(error) => {
                    unsettled.push(append);
                    failure = Some(error);
                }
            }
        }
        batch.unanswered = unsettled;
        failure.map_or(Ok(()), |error| Err(error.into()))
    }

    /// Caches a committed state, and saves a snapshot if one is due.
    pub(crate) fn committed(&self, before: Option<&Execution>, state: Execution) {
        let (execution, status, seq) = (state.id(), state.status(), state.seq());
        tracing::debug!(%execution, %seq, "committed");
        let before_seq = before.map_or(Seq::ZERO, Execution::seq);
        if self.passes_saved(before_seq, seq) {
            self.save_position(state.clone());
        }
        let unsaved_for = self.parts.states.put(state.clone(), self.parts.stamps.now());
        if status.is_terminal() {
            if before.is_none_or(|before| !before.status().is_terminal()) {
                tracing::info!(%execution, %status, "execution ended");
            }
            return;
        }
        let every = self.parts.settings.snapshot_every;
        let is_many = before_seq.0 / every != seq.0 / every;
        if is_many || unsaved_for >= self.parts.settings.snapshot_after {
            self.save_snapshot(state);
        }
    }
}

/// Returns the answer to an accepted input.
fn accepted(state: &Execution, playbook: &Playbook, input: &Input) -> MailboxAnswer {
    match input {
        Input::Claim { command, .. } => match lease_of(state, playbook, *command) {
            Some(lease) => MailboxAnswer::Leased(Box::new(lease)),
            None => MailboxAnswer::Refused(Refusal::CommandFinished(*command)),
        },
        Input::Report { .. }
        | Input::Park { .. }
        | Input::Callback { .. }
        | Input::LeaseExhausted { .. }
        | Input::ChildStarted { .. }
        | Input::ChildEnded { .. }
        | Input::TimerFired { .. }
        | Input::Signal(_)
        | Input::Decide(_)
        | Input::Pause(_)
        | Input::Resume(_)
        | Input::SlotGranted { .. }
        | Input::SlotDenied { .. }
        | Input::Cancel { .. }
        | Input::Finalize { .. }
        | Input::Stalled { .. }
        | Input::NotClaimed { .. }
        | Input::Rewound { .. }
        | Input::Reported { .. } => MailboxAnswer::Accepted,
    }
}
