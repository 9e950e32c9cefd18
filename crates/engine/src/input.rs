//! The inputs of the engine, and the refusals it answers with.

use std::time::Duration;

use noetl_model::{
    Attempt, ChildExecutions, CommandId, ErrorMode, ExecutionId, ExecutionStatus, Logs, Origin,
    Payload, Pool, Seq, StepName, TimerId, ToolError, WorkerId,
};
use serde_json::{Map, Value};
use thiserror::Error;

use crate::Signal;

/// The parameters of a start, apart from its playbook.
#[derive(Debug, Clone)]
pub struct StartInput {
    /// The caller's values, merged deeply into the playbook's workload.
    pub payload: Map<String, Value>,
    pub origin: Origin,
    /// The mode that the caller asks for; defaults to the playbook's, else to strict.
    pub error_mode: Option<ErrorMode>,
    /// The pool of the execution's commands.
    pub pool: Pool,
    /// The W3C trace context of the request.
    pub trace: Option<Value>,
}

impl StartInput {
    /// Returns the parameters of a start from outside, with default options.
    pub fn new(payload: Map<String, Value>) -> Self {
        let (origin, pool) = (Origin::Request, Pool::shared());
        Self { payload, origin, error_mode: None, pool, trace: None }
    }
}

/// An input to a running execution.
#[derive(Debug, Clone)]
pub enum Input {
    /// A worker claims a command. `attempt` is one more than the queue's.
    Claim {
        command: CommandId,
        attempt: Attempt,
        worker: WorkerId,
        /// The duration of the lease, from now on.
        lease: Duration,
        /// The command whose report includes this claim.
        after: Option<CommandId>,
    },
    /// A worker reports the end of a command.
    Report {
        command: CommandId,
        attempt: Attempt,
        worker: WorkerId,
        ended: CommandResult,
        logs: Logs,
    },
    /// A worker has started a job elsewhere, whose callback ends the command.
    Park {
        command: CommandId,
        attempt: Attempt,
        worker: WorkerId,
    },
    /// The job of a command has ended.
    Callback {
        command: CommandId,
        /// The job, if the callback names it.
        job: Option<String>,
        ended: CommandResult,
    },
    /// The lease of the last allowed attempt has expired.
    LeaseExhausted {
        command: CommandId,
        attempt: Attempt,
    },
    /// The child execution of a command was created.
    ChildStarted {
        command: CommandId,
        child: ExecutionId,
    },
    /// The child execution of a command has ended, or could not be started.
    ChildEnded {
        command: CommandId,
        ended: CommandResult,
    },
    TimerFired {
        timer: TimerId,
    },
    /// A signal was sent to the execution.
    Signal(Signal),
    Cancel {
        reason: String,
        below: ChildExecutions,
    },
    /// An operator ends the execution by hand, as completed or as failed.
    Finalize {
        status: ExecutionStatus,
        reason: String,
    },
    /// The sweeper found no open work.
    Stalled {
        detail: String,
    },
    /// A command has been ready for long and no worker gets it, although workers poll its pool.
    NotClaimed {
        command: CommandId,
        detail: String,
    },
    /// The log has lost events: a server had seen those up to `seen` and found those up to `found`.
    Rewound {
        seen: Seq,
        found: Seq,
    },
    /// An event reported by another program.
    Reported {
        name: String,
        step: Option<StepName>,
        body: Value,
    },
}

/// The result of a command, with its data as payloads.
#[derive(Debug, Clone)]
pub enum CommandResult {
    Completed { output: Payload },
    Failed { error: ToolError, output: Option<Payload> },
}

/// The reason why an input was refused. A refusal is an answer to the caller, not an error.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refusal {
    #[error("the execution has ended as {0}")]
    Finished(ExecutionStatus),
    #[error("there is no command {0} in this execution")]
    UnknownCommand(CommandId),
    /// The command has ended without this attempt.
    #[error("command {0} has ended")]
    CommandFinished(CommandId),
    /// Another worker has taken over the command. The report is recorded and changes no state.
    #[error("attempt {attempt} of command {command} has been superseded")]
    Superseded { command: CommandId, attempt: Attempt },
    #[error("command {0} has just been claimed by another worker")]
    AlreadyClaimed(CommandId),
    #[error("command {0} does not wait for a callback")]
    NotAwaited(CommandId),
    #[error("no command of step `{0}` waits for a callback")]
    NothingAwaited(String),
    #[error("the callback of job {0} was recorded before")]
    JobEnded(String),
    #[error("{0} signals (SIGNALS_MAX) wait for a step that takes them; no further signal is kept")]
    TooManySignals(usize),
    #[error("there is no timer {0} in this execution")]
    UnknownTimer(TimerId),
    #[error("timer {0} is not due yet")]
    NotDue(TimerId),
    #[error("an execution can be finalized as COMPLETED or FAILED, not as {0}")]
    NotAnEnd(ExecutionStatus),
}
