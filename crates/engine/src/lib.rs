//! The rules of an execution as pure functions: inputs to events, events to state.
//!
//! [`start`] and [`decide`] turn an input into events, [`begin`] and [`evolve`] fold events into an
//! [`Execution`], [`replay`] folds a whole log, and [`effects_of`] returns the effects of an event
//! outside the execution. The same fold serves live execution, recovery and replay.
//!
//! Invariants: no clock, no randomness, no I/O, no unstable iteration order; `evolve` accepts every
//! event that `decide` returns; an execution has exactly one terminal event; its state is bounded
//! by its playbook and its open work, not by its history.

mod approval;
mod arrival;
mod audit;
mod collect;
mod decide;
mod decision;
mod effect;
mod evolve;
mod explain;
mod input;
mod inspect;
mod lease;
mod limit;
mod recorded_input;
mod schedule;
mod scope;
mod state;
mod subscription;
mod timing;
mod value;
mod wait;

pub use approval::{APPROVAL_INDEX_KEY, form_of};
pub use arrival::{
    BadMessage, IDEMPOTENCY_KEY_MAX, MessageRequest, MessageSignal, MessageTarget, SignedPart,
    message_request, order_key, posted_start_key, start_key,
};
pub use audit::{Auditor, EventName, LogFault};
pub use collect::{CollectedItems, ItemOutput, LoopCollector, LoopEnd, LoopOutput, LoopWriter};
pub use decide::{
    ApprovalDecision, CachedOutput, Changes, Fork, NoticeSettings, OutputLookup, PauseRequest,
    SIGNALS_MAX, Signal, Unforkable, awaits_callback, changed, checked_workload, decide, fits,
    fork, runs_at_most_once, sample_notices, start, start_workload,
};
pub use decision::{
    ATTEMPTS_MAX, DECISION_WORK_MAX, Decision, DecisionArgs, EVENTS_MAX, Effort, ForkChanges,
    Loaded, Needs, RUNS_MAX,
};
pub use effect::{Effect, effects_of, signal_index_key};
pub use evolve::{Illegal, begin, evolve, evolve_all, evolve_without_digest, replay};
pub use explain::{
    EvaluatedGuard, EvaluatedTemplate, GuardResult, GuardSubject, ReadValue, StepExplanation,
    TemplatePlace, evaluate, explain,
};
pub use input::{CommandResult, Input, Refusal, StartInput};
pub use inspect::{
    ArcCount, CommandView, CommandWait, LatestRun, OpenPart, RunEnd, StepSkip, StepState, TimeLimit,
};
pub use lease::{
    ChildCall, ChildPlaybook, ChildRequest, HolderStatus, WrittenCall, child_request,
    holder_status, lease_of, leased_with_report, written_call,
};
pub use limit::grant_slots;
pub use recorded_input::{EventOrigin, origin_of, recorded_form};
pub use schedule::{
    CATCH_UP_MAX, QUEUED_MAX, SCHEDULE_GRACE, ScheduleStep, evolve_schedule, next_start,
    schedule_step,
};
pub use state::{DecidedApproval, Execution, LimitSlot, OpenHolder, Pause};
pub use subscription::{
    IllegalTransition, SubscriptionAction, UnknownAction, registers_anew, transition,
};
pub use timing::{CommandOutcome, CommandTiming, command_timing};
pub use value::merge;
