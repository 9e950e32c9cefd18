//! Pauses: no command of a paused execution can be claimed. Commands that workers hold end as
//! usual, and the steps that follow issue commands that wait for the end of the pause.

use noetl_model::{Event, PauseScope};

use super::draft::DecisionDraft;
use super::halt::Halt;
use crate::Decision;

/// The caller of a pause or a resumption, and its reason.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PauseRequest {
    /// The object that is paused or resumed.
    pub scope: PauseScope,
    pub actor: Option<String>,
    pub reason: Option<String>,
}

/// Pauses an execution; a paused one stays as it is.
pub(super) fn pause(mut draft: DecisionDraft<'_>, request: &PauseRequest) -> Decision {
    if draft.state.paused.is_none() {
        let PauseRequest { scope, actor, reason } = request.clone();
        draft.emit(Event::ExecutionPaused { scope, actor, reason });
    }
    Decision::Accepted(draft.into_events())
}

/// Resumes an execution. A request for the execution itself ends any pause; the resumption of a
/// playbook or a parent ends only the pause that came from there.
pub(super) fn resume(
    mut draft: DecisionDraft<'_>,
    request: &PauseRequest,
) -> Result<Decision, Halt> {
    let is_ended = draft.state.paused.as_ref().is_some_and(|pause| match request.scope {
        PauseScope::Execution => true,
        scope @ (PauseScope::Playbook | PauseScope::Parent) => pause.scope == scope,
    });
    if is_ended {
        let PauseRequest { scope: _, actor, reason } = request.clone();
        draft.emit(Event::ExecutionResumed { actor, reason });
        draft.begin_if_due()?;
    }
    Ok(Decision::Accepted(draft.into_events()))
}
