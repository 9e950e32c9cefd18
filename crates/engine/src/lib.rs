//! The rules of an execution as pure functions: inputs to events, events to state.
//!
//! [`start`] and [`decide`] turn an input into events, [`begin`] and [`evolve`] fold events into an
//! [`Execution`], [`replay`] folds a whole log, and [`effects_of`] returns the effects of an event
//! outside the execution. The same fold serves live execution, recovery and replay.
//!
//! Invariants: no clock, no randomness, no I/O, no unstable iteration order; `evolve` accepts every
//! event that `decide` returns; an execution has exactly one terminal event; its state is bounded
//! by its playbook and its open work, not by its history.

mod arrival;
mod audit;
mod decide;
mod effect;
mod evolve;
mod gather;
mod given;
mod input;
mod lease;
mod schedule;
mod scope;
mod state;
mod subscription;
mod value;

pub use arrival::{
    BadMessage, IDEMPOTENCY_KEY_MAX, SignedPart, Wish, once, order_key, posted_once, wish,
};
pub use audit::{Auditor, EventName, LogFault};
pub use decide::{Changes, Fork, Unforkable, changed, decide, fits, fork, start};
pub use effect::{Effect, effects_of};
pub use evolve::{Illegal, begin, evolve, evolve_all, evolve_without_digest, replay};
pub use gather::{Gathered, Gathering, LoopEnd, LoopOutput, LoopWriter, Piece};
pub use given::{
    ATTEMPTS_MAX, Decision, EVENTS_MAX, Effort, Given, Loaded, Needs, RUNS_MAX, TURN_WORK_MAX, Turn,
};
pub use input::{Ended, Input, Refusal, Start};
pub use lease::{
    ChildCall, ChildPlaybook, ChildRequest, Possession, child_request, handed_over, held_at,
    lease_of, possession,
};
pub use schedule::{
    CATCH_UP_MAX, QUEUED_MAX, SCHEDULE_GRACE, ScheduleStep, evolve_schedule, next_start,
    schedule_step,
};
pub use state::{Execution, OpenHolder, StepView};
pub use subscription::{
    IllegalTransition, SubscriptionAction, UnknownAction, registers_anew, transition,
};
pub use value::merge;
