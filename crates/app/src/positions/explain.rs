//! Templates and guards evaluated at a position, with the values they read. Secrets are not part of
//! a state, so a template cannot read them.

use noetl_api::wire::{
    EvaluateAnswer, EvaluateRequest, GuardResultView, GuardSubjectView, GuardView, GuardsAnswer,
    TemplateRead, TemplateResult,
};
use noetl_engine::{
    EvaluatedGuard, GuardResult, GuardSubject, ReadValue, StepExplanation, TemplatePlace, evaluate,
    explain,
};
use noetl_expr::Template;
use noetl_model::{ExecutionId, Payload, StepName};
use noetl_store::json_len;
use serde_json::Value;

use super::PositionError;
use super::change::mark_of;
use super::values::ShownValues;
use crate::app::App;

/// Maximum length of a template's JSON.
const TEMPLATE_BYTES_MAX: usize = 64 * 1024;

impl App {
    /// Evaluates a template with the variables at a position.
    pub async fn evaluate_at(
        &self,
        execution: ExecutionId,
        request: &EvaluateRequest,
    ) -> Result<EvaluateAnswer, PositionError> {
        if json_len(&request.template) > TEMPLATE_BYTES_MAX {
            return Err(PositionError::TemplateTooLong { max: TEMPLATE_BYTES_MAX });
        }
        let template = Template::parse(request.template.clone())
            .map_err(|error| PositionError::InvalidTemplate(error.to_string()))?;
        let at = self.at_position(execution, request.at).await?;
        let run = match &request.step {
            None => None,
            Some(step) => {
                let open = at.state.step(step).and_then(|step| step.latest);
                let open = open.filter(|latest| latest.ended.is_none());
                let position = at.state.seq().0;
                let closed = || PositionError::NoOpenRun { step: step.clone(), position };
                Some(open.ok_or_else(closed)?.run)
            }
        };
        let place = TemplatePlace { run, item: request.item };
        let evaluated =
            self.control().ask(&at.state, |given| evaluate(&at.state, given, place, &template));
        let evaluated = evaluated.await?;
        let result = match evaluated.result {
            Ok(value) => TemplateResult::Value { kind: kind_of(&value).to_owned(), value },
            Err(message) => TemplateResult::Error { message },
        };
        let reads = reads_of(evaluated.reads, &mut ShownValues::default());
        let (execution_id, position) = (execution.into(), at.state.seq().0);
        Ok(EvaluateAnswer { execution_id, position, result, reads })
    }

    /// Evaluates the guards behind an event of a step again: why the step was entered or skipped,
    /// and which of its arcs were taken.
    pub async fn guards_at(
        &self,
        execution: ExecutionId,
        position: u64,
    ) -> Result<GuardsAnswer, PositionError> {
        let recorded = self.event_at(execution, position).await?;
        let found = match position {
            1 => None,
            position => {
                let before = self.at_position(execution, Some(position - 1)).await?;
                let before = &before.state;
                self.control().ask(before, |given| explain(before, &recorded, given)).await?
            }
        };
        let (step, guards) = match found {
            Some(StepExplanation { step, guards }) => (Some(step), guards),
            None => (None, Vec::new()),
        };
        let mut shown = ShownValues::default();
        Ok(GuardsAnswer {
            execution_id: execution.into(),
            event: mark_of(&recorded),
            step: step.as_ref().map(StepName::to_string),
            guards: guards.into_iter().map(|guard| guard_of(guard, &mut shown)).collect(),
        })
    }
}

fn guard_of(guard: EvaluatedGuard, shown: &mut ShownValues) -> GuardView {
    let place = |index: usize| u64::try_from(index).unwrap_or(u64::MAX);
    GuardView {
        subject: match guard.subject {
            GuardSubject::StepWhen => GuardSubjectView::Step,
            GuardSubject::AdmitRule { index, allow } => {
                GuardSubjectView::Admission { index: place(index), allow }
            }
            GuardSubject::Arc { index, to } => {
                GuardSubjectView::Arc { index: place(index), to: to.to_string() }
            }
        },
        when: guard.when,
        result: match guard.result {
            GuardResult::Held => GuardResultView::Held,
            GuardResult::NotHeld => GuardResultView::NotHeld,
            GuardResult::NotEvaluated => GuardResultView::NotEvaluated,
            GuardResult::Error(message) => GuardResultView::Error { message },
        },
        reads: reads_of(guard.reads, shown),
    }
}

fn reads_of(reads: Vec<ReadValue>, shown: &mut ShownValues) -> Vec<TemplateRead> {
    let reads = reads.into_iter().map(|read| TemplateRead {
        path: read.path,
        value: read.value.map(|value| shown.take(&Payload::inline(value))),
    });
    reads.collect()
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "list",
        Value::Object(_) => "map",
    }
}
