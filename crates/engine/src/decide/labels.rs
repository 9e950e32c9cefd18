//! The labels of a new execution.

use noetl_expr::Budget;
use noetl_model::{Label, Labels};

use crate::scope::{EvalError, ExecutionScope, TemplateWork};
use crate::{DecisionArgs, Effort, Execution, Needs, StartInput};

/// Returns the labels of an execution: the inherited ones, then those of its playbook, rendered with
/// the workload, then those of the request; a later one replaces one with the same key. Returns the
/// reason if a label is invalid.
pub(super) fn of_start(
    state: &Execution,
    input: &StartInput,
    given: DecisionArgs<'_>,
) -> Result<Result<Labels, String>, Needs> {
    let work = TemplateWork::new(Budget::new(given.effort.work_max()));
    let scope = ExecutionScope::outside(state, given, &work);
    let mut rendered: Vec<Label> = Vec::new();
    for (key, template) in &given.playbook.metadata.labels {
        let label = match scope.render(format_args!("label `{key}`"), template) {
            Ok(value) => Label::from_json(key, &value).map_err(|error| error.to_string()),
            Err(EvalError::Needs(digests)) => return Err(Needs::Payloads(digests)),
            Err(EvalError::Fails(error)) => Err(error.message),
            Err(EvalError::Exceeded { what, .. }) => match given.effort {
                Effort::Brief => return Err(Needs::Effort),
                Effort::Whole => Err(format!("{what} takes too much work to render")),
            },
        };
        match label {
            Ok(label) => rendered.extend(label),
            Err(reason) => return Ok(Err(reason)),
        }
    }
    let labels = input.inherited.with(rendered.into_iter().chain(input.labels.clone()));
    Ok(labels.map_err(|error| error.to_string()))
}
