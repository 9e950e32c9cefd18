//! The inputs of the engine, and the refusals it answers with.

use std::time::Duration;

use noetl_model::{
    Actor, Attempt, ChildExecutions, CommandId, ErrorMode, ExecutionId, ExecutionStatus, Labels,
    LimitName, Logs, NoticeOrigin, Origin, Payload, Pool, Priority, Seq, StartPause, StepName,
    TimerId, ToolError, WorkerId,
};
use noetl_playbook::FormProblem;
use serde_json::{Map, Value};
use thiserror::Error;

use crate::approval::joined;
use crate::{ApprovalDecision, DecidedApproval, PauseRequest, Signal};

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
    /// The priority that the caller asks for; defaults to the playbook's.
    pub priority: Option<Priority>,
    /// The pause of the playbook: the execution does not begin before it is resumed.
    pub paused: Option<StartPause>,
    /// The W3C trace context of the request.
    pub trace: Option<Value>,
    /// The notification that starts this execution, or started one of its ancestors.
    pub notice: Option<NoticeOrigin>,
    /// Labels that the playbook's and the request's labels with the same keys replace.
    pub inherited: Labels,
    /// The labels of the request.
    pub labels: Labels,
    pub actor: Option<Actor>,
    /// Names of values in the payload that the way of starting adds: the playbook need not declare them.
    pub added: &'static [&'static str],
}

impl StartInput {
    /// Returns the parameters of a start from outside, with default options.
    pub fn new(payload: Map<String, Value>) -> Self {
        let (origin, pool) = (Origin::Request, Pool::shared());
        let (inherited, labels) = (Labels::default(), Labels::default());
        Self {
            payload,
            origin,
            error_mode: None,
            pool,
            priority: None,
            paused: None,
            trace: None,
            notice: None,
            inherited,
            labels,
            actor: None,
            added: &[],
        }
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
    /// A person decided about an approval.
    Decide(ApprovalDecision),
    /// No further command may be claimed.
    Pause(PauseRequest),
    Resume(PauseRequest),
    /// A limit has granted a slot to a command or, without one, to the execution.
    SlotGranted {
        command: Option<CommandId>,
        limit: LimitName,
    },
    /// All slots of a limit are held, and the execution does not want to wait.
    SlotDenied {
        limit: LimitName,
        /// The number of holders.
        holders: u64,
    },
    Cancel {
        reason: String,
        below: ChildExecutions,
        actor: Option<Actor>,
    },
    /// An operator ends the execution by hand, as completed or as failed.
    Finalize {
        status: ExecutionStatus,
        reason: String,
        actor: Option<Actor>,
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
    #[error(
        "command {0} cannot be claimed: the execution is paused, or the command waits for a slot"
    )]
    Blocked(CommandId),
    #[error("no slot of limit `{0}` is awaited")]
    SlotNotAwaited(LimitName),
    #[error("command {0} does not wait for a callback")]
    NotAwaited(CommandId),
    #[error("no command of step `{0}` waits for a callback")]
    NothingAwaited(String),
    #[error("the callback of job {0} was recorded before")]
    JobEnded(String),
    #[error("{0} signals (SIGNALS_MAX) wait for a step that takes them; no further signal is kept")]
    TooManySignals(usize),
    #[error("command {0} does not wait for this signal any more")]
    SignalNotAwaited(CommandId),
    #[error("another signal was sent with the idempotency key `{0}`; its name or its body differs")]
    SignalKeyReused(String),
    #[error("command {0} does not wait for a decision")]
    NoApproval(CommandId),
    #[error("approval {} has been decided before", _0.command)]
    AlreadyDecided(DecidedApproval),
    #[error("{} may not decide; approvers are {}", actor.as_deref().unwrap_or("a caller without a name"), approvers.join(", "))]
    NotAnApprover { actor: Option<String>, approvers: Vec<String> },
    /// The values of the form, or the comment, do not fit.
    #[error("the decision does not fit: {}", joined(_0))]
    UnfitDecision(Vec<FormProblem>),
    #[error("there is no timer {0} in this execution")]
    UnknownTimer(TimerId),
    #[error("timer {0} is not due yet")]
    NotDue(TimerId),
    /// The labels of a start are invalid.
    #[error("{0}")]
    Labels(String),
    #[error("an execution can be finalized as COMPLETED or FAILED, not as {0}")]
    NotAnEnd(ExecutionStatus),
}
