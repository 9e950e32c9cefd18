//! The values of variables in a recorded history.

use std::sync::Arc;

use noetl_engine::{Execution, LoopOutput, Needs, TemplatePlace, begin, evaluate};
use noetl_engine::{OutputLookup, evolve_without_digest};
use noetl_expr::Template;
use noetl_model::{Event, ExecutionId, Payload, Recorded, RunId, Seq};
use noetl_playbook::Playbook;
use serde_json::Value;

use super::{HistoryError, StoredValues, args, loaded, loop_output};

/// A value, and the event after which a template read it.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryValue {
    pub value: Value,
    pub after: Seq,
}

/// Returns the value of a path such as `start.body` when a step last started a task, or before the step
/// ended, or at the end of the history; `None` if it never had one.
pub fn value_in_history(
    playbook: &Playbook,
    execution: ExecutionId,
    log: &[Recorded],
    values: &StoredValues,
    (step, path): (Option<&str>, &str),
) -> Result<Option<HistoryValue>, HistoryError> {
    let Ok(template) = Template::parse(Value::String(format!("{{{{ {path} }}}}"))) else {
        return Ok(None);
    };
    let mut moments: Vec<(usize, TemplatePlace)> =
        step.map(|step| moments_of(log, step)).unwrap_or_default();
    moments.push((log.len(), TemplatePlace::default()));
    for (length, place) in moments {
        let log = &log[..length];
        let state = folded(execution, log)?;
        if let Some(value) = value_at(playbook, log, values, (&state, place), &template)? {
            return Ok(Some(HistoryValue { value, after: state.seq() }));
        }
    }
    Ok(None)
}

/// Returns the moments of the last run of a step at which its templates are rendered, each with the
/// number of events before it: the start of its last command, then its end.
fn moments_of(log: &[Recorded], step: &str) -> Vec<(usize, TemplatePlace)> {
    let mut run: Option<RunId> = None;
    let (mut issued, mut ended) = (None, None);
    for (index, recorded) in log.iter().enumerate() {
        match &recorded.event {
            Event::StepEntered { run: entered, step: name, .. } if name.as_str() == step => {
                (run, issued, ended) = (Some(*entered), None, None);
            }
            Event::CommandIssued { task, step: name, .. } if name.as_str() == step => {
                let place = TemplatePlace { run: Some(task.run), item: task.place.item() };
                issued = Some((index + 1, place));
            }
            Event::StepCompleted { run: of, .. } | Event::StepFailed { run: of, .. }
                if Some(*of) == run =>
            {
                ended = Some((index, TemplatePlace { run, item: None }));
            }
            _ => {}
        }
    }
    issued.into_iter().chain(ended).collect()
}

fn folded(execution: ExecutionId, log: &[Recorded]) -> Result<Execution, HistoryError> {
    let (first, rest) = log.split_first().ok_or(HistoryError::NoStart)?;
    let mut state = begin(execution, first)?;
    for recorded in rest {
        evolve_without_digest(&mut state, recorded)?;
    }
    Ok(state)
}

/// Evaluates a template in a state; `None` if it has no value there.
fn value_at(
    playbook: &Playbook,
    log: &[Recorded],
    values: &StoredValues,
    (state, place): (&Execution, TemplatePlace),
    template: &Template,
) -> Result<Option<Value>, HistoryError> {
    let Some(last) = log.last() else { return Ok(None) };
    let mut loaded = loaded();
    loop {
        let needs = match evaluate(state, args(playbook, last.at, &loaded), place, template) {
            Ok(found) => return Ok(found.result.ok().filter(|value| !value.is_null())),
            Err(needs) => needs,
        };
        match needs {
            Needs::Effort => return Ok(None),
            Needs::Payloads(digests) => {
                for digest in digests {
                    let value = values.get(&digest).ok_or(HistoryError::MissingValue(digest))?;
                    loaded.payloads.insert(digest, value.clone());
                }
            }
            Needs::Output(OutputLookup { key, ttl: _ }) => {
                loaded.outputs.insert(key, None);
            }
            Needs::Loop(end) => {
                let run = end.run;
                let null = Arc::new(Value::Null);
                let stored = |digest: &_| values.get(digest).unwrap_or(&null).clone();
                let output = loop_output(log, *end, &stored);
                loaded.loops.insert(run, LoopOutput::Value(Payload::inline(output)));
            }
        }
    }
}
