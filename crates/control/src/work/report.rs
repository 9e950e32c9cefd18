//! Reports of workers about their commands, and callbacks of the jobs that workers have started.

use std::sync::Arc;

use futures::future::join_all;
use noetl_engine::{CommandResult, Input, Refusal};
use noetl_model::{
    CommandId, ErrorKind, ExecutionId, HeartbeatAnswer, Held, Lease, Outcome, PAYLOAD_DEPTH_MAX,
    PAYLOAD_INLINE_MAX, PAYLOAD_MAX, Payload, Report, ReportAnswer, ToolError, WorkerId,
    is_shallow,
};
use serde_json::Value;

use crate::error::LoadError;
use crate::state::payloads::{Large, json_len_within};
use crate::submit::mailbox::{OfferedValues, Submission};
use crate::{Control, MailboxAnswer, SubmitError};

impl Control {
    /// Records the report of a command; returns once it is durable.
    pub async fn report(&self, report: Report) -> Result<ReportAnswer, SubmitError> {
        let Report { execution, command, attempt, worker, outcome, logs, next } = report;
        let (ended, values) = self.offered(outcome);
        let input = Input::Report { command, attempt, worker, ended, logs: logs.bounded() };
        match self.post(execution, Submission { input, values, next }).await {
            Ok(MailboxAnswer::Accepted) => Ok(ReportAnswer::Accepted),
            Ok(MailboxAnswer::Leased(lease)) => Ok(ReportAnswer::Continued(lease)),
            Ok(MailboxAnswer::HandedOver(lease)) => self.hand_over_again(lease).await,
            Ok(MailboxAnswer::Refused(refusal)) => {
                tracing::debug!(%execution, %command, %attempt, %refusal, "report refused");
                Ok(refused(&refusal))
            }
            Err(SubmitError::Load(LoadError::NotFound(_))) => Ok(ReportAnswer::Unknown),
            Err(error) => Err(error),
        }
    }

    /// Parks a command: its worker has started a job elsewhere, whose callback ends the command. A
    /// repeated call changes nothing.
    pub async fn park(&self, held: Held, worker: &WorkerId) -> Result<ReportAnswer, SubmitError> {
        let Held { execution, command, attempt } = held;
        match self.submit(execution, Input::Park { command, attempt, worker: worker.clone() }).await
        {
            Ok(
                MailboxAnswer::Accepted | MailboxAnswer::Leased(_) | MailboxAnswer::HandedOver(_),
            ) => Ok(ReportAnswer::Accepted),
            Ok(MailboxAnswer::Refused(refusal)) => Ok(refused(&refusal)),
            Err(SubmitError::Load(LoadError::NotFound(_))) => Ok(ReportAnswer::Unknown),
            Err(error) => Err(error),
        }
    }

    /// Ends a command by the callback of its job. A repeated callback is refused and changes
    /// nothing.
    pub async fn call_back(
        &self,
        execution: ExecutionId,
        command: CommandId,
        job: Option<String>,
        outcome: Outcome,
    ) -> Result<MailboxAnswer, SubmitError> {
        let (ended, values) = self.offered(outcome);
        let input = Input::Callback { command, job, ended };
        self.post(execution, Submission { input, values, next: None }).await
    }

    /// Converts an outcome to the engine's form, with the values that have to be stored apart.
    fn offered(&self, outcome: Outcome) -> (CommandResult, OfferedValues) {
        let mut values = OfferedValues::default();
        let ended = ended(outcome, PAYLOAD_MAX, &mut values);
        self.keep_parsed(&values);
        (ended, values)
    }

    /// Puts values that are stored apart into the cache: the decision may read them.
    pub(super) fn keep_parsed(&self, values: &OfferedValues) {
        for large in &values.large {
            if let Some(value) = &large.parsed {
                self.parts.payloads.put(large.reference, value);
            }
        }
    }

    /// Answers a repeated report with the command that was leased with it, unless another worker
    /// holds it.
    async fn hand_over_again(&self, lease: Box<Lease>) -> Result<ReportAnswer, SubmitError> {
        let answers = self.heartbeat(&[Held::from(&*lease)]).await;
        let answers = answers.map_err(|error| LoadError::of_store(lease.execution, error))?;
        match answers.first() {
            Some(HeartbeatAnswer::Extended { until }) => {
                tracing::info!(execution = %lease.execution, command = %lease.command, "command leased again to the worker that reported");
                Ok(ReportAnswer::Continued(Box::new(Lease { lease_until: *until, ..*lease })))
            }
            Some(HeartbeatAnswer::Lost(_)) | None => Ok(ReportAnswer::Accepted),
        }
    }

    /// Records many reports concurrently; one answer for each, in order.
    pub async fn report_all(&self, reports: Vec<Report>) -> Vec<Result<ReportAnswer, SubmitError>> {
        join_all(reports.into_iter().map(|report| self.report(report))).await
    }
}

fn refused(refusal: &Refusal) -> ReportAnswer {
    match refusal {
        Refusal::UnknownCommand(_) => ReportAnswer::Unknown,
        Refusal::Finished(_)
        | Refusal::CommandFinished(_)
        | Refusal::Superseded { .. }
        | Refusal::AlreadyClaimed(_)
        | Refusal::Blocked(_)
        | Refusal::SlotNotAwaited(_)
        | Refusal::NotAwaited(_)
        | Refusal::NothingAwaited(_)
        | Refusal::JobEnded(_)
        | Refusal::TooManySignals(_)
        | Refusal::SignalNotAwaited(_)
        | Refusal::SignalKeyReused(_)
        | Refusal::NoApproval(_)
        | Refusal::AlreadyDecided(_)
        | Refusal::NotAnApprover { .. }
        | Refusal::UnfitDecision(_)
        | Refusal::UnknownTimer(_)
        | Refusal::NotDue(_)
        | Refusal::Labels(_)
        | Refusal::NotAnEnd(_) => ReportAnswer::Superseded,
    }
}

/// Converts an outcome to the engine's form; an output longer than `len_max` is a failure.
fn ended(outcome: Outcome, len_max: usize, values: &mut OfferedValues) -> CommandResult {
    match outcome {
        Outcome::Completed { output } => match kept("the output", output, len_max, values) {
            Ok(output) => CommandResult::Completed { output },
            Err(error) => CommandResult::Failed { error, output: None },
        },
        // The error matters more: an output that cannot be stored is dropped.
        Outcome::Failed { error, output } => CommandResult::Failed {
            error,
            output: output.and_then(|output| kept("the output", output, len_max, values).ok()),
        },
    }
}

/// Converts a value to a payload; fails if it is too deep or too long. `what` names the value in the
/// error.
pub(super) fn kept(
    what: &str,
    value: Arc<Value>,
    len_max: usize,
    values: &mut OfferedValues,
) -> Result<Payload, ToolError> {
    if !is_shallow(&value) {
        let message = format!("{what} is nested deeper than {PAYLOAD_DEPTH_MAX} levels");
        return Err(ToolError::new(ErrorKind::Schema, message));
    }
    if let Some(len) = json_len_within(&value, PAYLOAD_INLINE_MAX) {
        values.measured.push((Arc::clone(&value), len));
        return Ok(Payload::Inline(value));
    }
    let moved = Large::within(value, len_max).ok_or_else(|| {
        let message = format!("{what} has more than {len_max} bytes of JSON");
        ToolError::new(ErrorKind::StorageQuota, message)
    })?;
    let reference = moved.reference;
    values.large.push(Arc::new(moved));
    Ok(Payload::Ref(reference))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEN_MAX: usize = 100_000;

    #[track_caller]
    fn check(len: usize, expected: &str) {
        let mut values = OfferedValues::default();
        // A JSON string has two more bytes for the quotes.
        let output = Value::String("x".repeat(len - 2));
        let found = match ended(Outcome::completed(output), LEN_MAX, &mut values) {
            CommandResult::Completed { output: Payload::Inline(_) } => "inline".to_owned(),
            CommandResult::Completed { output: Payload::Ref(reference) } => {
                assert_eq!(values.large[0].reference, reference);
                format!("stored, {} bytes", values.large[0].bytes.len())
            }
            CommandResult::Failed { error, .. } => format!("{}: {error}", error.kind),
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn an_output_nested_too_deeply_to_be_read_again_is_a_failure() {
        let output = (0..=PAYLOAD_DEPTH_MAX).fold(Value::Null, |it, _| Value::Array(vec![it]));
        match ended(Outcome::completed(output), LEN_MAX, &mut OfferedValues::default()) {
            CommandResult::Failed { error, output: None } => {
                assert_eq!(error.kind, ErrorKind::Schema)
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_small_output_stays_where_it_is() {
        check(PAYLOAD_INLINE_MAX, "inline");
    }

    #[test]
    fn a_large_output_is_stored_apart() {
        let len = PAYLOAD_INLINE_MAX + 1;
        check(len, &format!("stored, {len} bytes"));
    }

    #[test]
    fn an_output_above_the_limit_fails_the_command() {
        check(LEN_MAX + 1, "storage_quota: the output has more than 100000 bytes of JSON");
    }
}
