//! What the outside tells the engine, and the engine's "no".

use std::time::Duration;

use noetl_model::{
    Attempt, Below, CommandId, ErrorMode, ExecutionId, ExecutionStatus, Logs, Origin, Payload,
    PlaybookRef, Pool, Seq, StepName, TimerId, ToolError, WorkerId,
};
use serde_json::{Map, Value};
use thiserror::Error;

/// How an execution is to be started.
#[derive(Debug, Clone)]
pub struct Start {
    pub playbook: PlaybookRef,
    /// The caller's values, merged deeply over the playbook's workload.
    pub payload: Map<String, Value>,
    pub origin: Origin,
    /// What the caller asks for; the playbook's wish, else strict, if nothing.
    pub error_mode: Option<ErrorMode>,
    pub pool: Pool,
    pub trace: Option<Value>,
}

/// What the outside tells the engine about a running execution.
#[derive(Debug, Clone)]
pub enum Input {
    /// A worker wants a command. `attempt` is one more than the queue's.
    Claim {
        command: CommandId,
        attempt: Attempt,
        worker: WorkerId,
        /// For how long, from now on.
        lease: Duration,
        /// The command whose report the claim comes with.
        after: Option<CommandId>,
    },
    /// A worker is done with a command.
    Report {
        command: CommandId,
        attempt: Attempt,
        worker: WorkerId,
        ended: Ended,
        logs: Logs,
    },
    /// The last lease that a command may have has run out.
    LeaseExhausted {
        command: CommandId,
        attempt: Attempt,
    },
    /// The execution that a command asked for exists.
    ChildStarted {
        command: CommandId,
        child: ExecutionId,
    },
    /// The execution that a command asked for has ended, or could not be started.
    ChildEnded {
        command: CommandId,
        ended: Ended,
    },
    TimerFired {
        timer: TimerId,
    },
    Cancel {
        reason: String,
        below: Below,
    },
    /// An operator ends the execution by hand, as completed or as failed.
    Finalize {
        status: ExecutionStatus,
        reason: String,
    },
    /// The sweeper has found that nothing is under way.
    Stalled {
        detail: String,
    },
    /// Workers ask for the pool of a command that has been ready for long, and none gets it.
    NotClaimed {
        command: CommandId,
        detail: String,
    },
    /// A server had seen more of the log than it found: events up to `seen`, of which those after
    /// `found` are gone.
    Rewound {
        seen: Seq,
        found: Seq,
    },
    /// Something another program reports.
    Reported {
        name: String,
        step: Option<StepName>,
        body: Value,
    },
}

/// How a command ended, with its data where events keep it.
#[derive(Debug, Clone)]
pub enum Ended {
    Completed { output: Payload },
    Failed { error: ToolError, output: Option<Payload> },
}

/// Why an input was turned down. A refusal is an answer to the caller, not a fault of ours.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refusal {
    #[error("the execution has ended as {0}")]
    Finished(ExecutionStatus),
    #[error("there is no command {0} in this execution")]
    UnknownCommand(CommandId),
    /// It is over; this attempt had no part in it.
    #[error("command {0} has ended")]
    CommandFinished(CommandId),
    /// Someone else has it. What was reported about it is recorded and changes nothing.
    #[error("attempt {attempt} of command {command} has been superseded")]
    Superseded { command: CommandId, attempt: Attempt },
    #[error("command {0} has just been claimed by another worker")]
    AlreadyClaimed(CommandId),
    #[error("there is no timer {0} in this execution")]
    UnknownTimer(TimerId),
    #[error("timer {0} is not due yet")]
    NotDue(TimerId),
    #[error("an execution can be finalized as COMPLETED or FAILED, not as {0}")]
    NotAnEnd(ExecutionStatus),
}
