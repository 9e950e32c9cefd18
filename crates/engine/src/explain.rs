//! Explanations: templates and guards evaluated at a position of a log, with the values they read.
//!
//! The same scopes and templates are used as for decisions, so an explanation of a stored event
//! gives the result that the decision had.

use std::collections::BTreeSet;

use noetl_expr::{Budget, Condition, Template};
use noetl_model::{Event, Payload, Recorded, RunId, StepName};
use noetl_playbook::{Arc, RouterMode, Step};
use serde_json::{Value, json};

use crate::scope::TemplateWork;
use crate::scope::{EndWay, EvalError, EvalPoint, ExecutionScope, StatusSpelling, StepEnd};
use crate::state::RunBody;
use crate::{DecisionArgs, Effort, Execution, Illegal, Needs, evolve_without_digest};

/// The largest number of values that are listed for one template.
const READS_MAX: usize = 20;

/// A value that a template reads.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadValue {
    /// The path in the template, such as `ctx.total`.
    pub path: String,
    /// `None` if the path cannot be read.
    pub value: Option<Value>,
}

/// A template that was evaluated.
#[derive(Debug, Clone, PartialEq)]
pub struct EvaluatedTemplate {
    /// The value, or the reason why there is none.
    pub result: Result<Value, String>,
    pub reads: Vec<ReadValue>,
}

/// The result of a guard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GuardResult {
    Held,
    NotHeld,
    /// The guard was not reached: an earlier one had decided, or it cannot handle a failure.
    NotEvaluated,
    /// The guard does not work with these values.
    Error(String),
}

/// The subject of a guard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GuardSubject {
    /// The step's own `when`.
    StepWhen,
    /// An admission rule of the step, by its place from 0.
    AdmitRule { index: usize, allow: bool },
    /// An arc of the step, by its place from 0.
    Arc { index: usize, to: StepName },
}

/// A guard that was evaluated, with the values it read.
#[derive(Debug, Clone, PartialEq)]
pub struct EvaluatedGuard {
    pub subject: GuardSubject,
    /// The guard as written; `None` if it always holds.
    pub when: Option<Value>,
    pub result: GuardResult,
    pub reads: Vec<ReadValue>,
}

/// The guards behind an event of a step.
#[derive(Debug, Clone, PartialEq)]
pub struct StepExplanation {
    pub step: StepName,
    pub guards: Vec<EvaluatedGuard>,
}

/// The place at which a template is evaluated: within a run, and within an item of its loop.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TemplatePlace {
    pub run: Option<RunId>,
    pub item: Option<u64>,
}

/// Evaluates a template with the variables of a state.
pub fn evaluate(
    state: &Execution,
    given: DecisionArgs<'_>,
    place: TemplatePlace,
    template: &Template,
) -> Result<EvaluatedTemplate, Needs> {
    let work = TemplateWork::new(Budget::new(given.effort.work_max()));
    let scope = ExecutionScope::outside(state, given, &work);
    let scope = ExecutionScope { run: place.run, item: place.item, ..scope };
    let result = settle(given.effort, scope.render("the template", template))?;
    let reads = reads_of(scope, template.variables(), StatusSpelling::default())?;
    Ok(EvaluatedTemplate { result, reads })
}

/// Evaluates the guards behind an event again: for the entry or skip of a step its own guards, for
/// its end or skip those of its arcs. `None` if no guard decides about such an event. `before` is
/// the state before the event.
pub fn explain(
    before: &Execution,
    recorded: &Recorded,
    given: DecisionArgs<'_>,
) -> Result<Option<StepExplanation>, Needs> {
    let work = TemplateWork::new(Budget::new(given.effort.work_max()));
    let scope = ExecutionScope::outside(before, given, &work);
    let found = |name: &StepName| {
        given.playbook.index_of(name.as_str()).map(|index| given.playbook.step(index))
    };
    let Some(step) = recorded.event.step().and_then(found) else { return Ok(None) };
    let guards = if let Event::StepEntered { .. } = &recorded.event {
        admission(scope, step)?
    } else if let Event::StepSkipped { .. } = &recorded.event {
        let mut guards = admission(scope, step)?;
        if let Ok(after) = after(before, recorded) {
            let (output, error) = (Payload::null(), None);
            let end = StepEnd { step: &step.name, output: &output, error, way: EndWay::Skipped };
            let scope = ExecutionScope::outside(&after, given, &work);
            guards.extend(arcs(scope, step, &end)?);
        }
        guards
    } else if let Event::StepCompleted { run, .. } | Event::StepFailed { run, .. } = &recorded.event
    {
        let (last, way) = last_output(before, *run);
        let output = recorded.event.output().unwrap_or(&last);
        let end = StepEnd { step: &step.name, output, error: recorded.event.error(), way };
        arcs(scope.inside(*run, None), step, &end)?
    } else {
        return Ok(None);
    };
    Ok(Some(StepExplanation { step: step.name.clone(), guards }))
}

fn after(before: &Execution, recorded: &Recorded) -> Result<Execution, Illegal> {
    let mut after = before.clone();
    evolve_without_digest(&mut after, recorded)?;
    Ok(after)
}

/// Returns the output of a run that ends without one of its own, and the kind of its end.
fn last_output(before: &Execution, run: RunId) -> (Payload, EndWay) {
    match before.runs.get(&run).map(|run| &run.body) {
        Some(RunBody::Tasks(pipeline)) => (pipeline.last_output(), EndWay::Tasks),
        Some(RunBody::Loop(repeat)) => {
            (Payload::inline(json!({ "stats": repeat.stats() })), EndWay::Loop)
        }
        None => (Payload::null(), EndWay::Tasks),
    }
}

/// Evaluates the guards that admit a step or skip it.
fn admission(scope: ExecutionScope<'_>, step: &Step) -> Result<Vec<EvaluatedGuard>, Needs> {
    let mut guards = Vec::new();
    let mut is_decided = false;
    if let Some(when) = &step.when {
        let guard = guard(scope, GuardSubject::StepWhen, Some(when), is_decided)?;
        is_decided = guard.result != GuardResult::Held;
        guards.push(guard);
    }
    for (index, rule) in step.admit.iter().enumerate() {
        let subject = GuardSubject::AdmitRule { index, allow: rule.allow };
        let guard = guard(scope, subject, rule.when.as_ref(), is_decided)?;
        is_decided |= guard.result != GuardResult::NotHeld;
        guards.push(guard);
    }
    Ok(guards)
}

/// Evaluates the guards of a step's arcs at its end.
fn arcs(
    scope: ExecutionScope<'_>,
    step: &Step,
    end: &StepEnd<'_>,
) -> Result<Vec<EvaluatedGuard>, Needs> {
    let scope = ExecutionScope { point: EvalPoint::StepEnd(end), ..scope };
    let is_exclusive = step.next.mode == RouterMode::Exclusive;
    let handles = |arc: &Arc| end.error.is_none() || arc.tests_failure;
    let (mut guards, mut is_decided) = (Vec::new(), false);
    for (index, arc) in step.next.arcs.iter().enumerate() {
        let to = scope.given.playbook.step(arc.to).name.clone();
        let subject = GuardSubject::Arc { index, to };
        let guard = guard(scope, subject, arc.when.as_ref(), is_decided || !handles(arc))?;
        is_decided |= match guard.result {
            GuardResult::Held => is_exclusive,
            // A guard that fails ends the evaluation, except for a skipped step.
            GuardResult::Error(_) => end.way != EndWay::Skipped,
            GuardResult::NotHeld | GuardResult::NotEvaluated => false,
        };
        guards.push(guard);
    }
    Ok(guards)
}

fn guard(
    scope: ExecutionScope<'_>,
    subject: GuardSubject,
    when: Option<&Condition>,
    is_decided: bool,
) -> Result<EvaluatedGuard, Needs> {
    let source = when.map(|when| when.source().clone());
    let (result, reads) = match when {
        _ if is_decided => (GuardResult::NotEvaluated, Vec::new()),
        None => (GuardResult::Held, Vec::new()),
        Some(when) => {
            let result = match settle(scope.given.effort, scope.holds("the guard", when))? {
                Ok(true) => GuardResult::Held,
                Ok(false) => GuardResult::NotHeld,
                Err(message) => GuardResult::Error(message),
            };
            (result, reads_of(scope, when.variables(), StatusSpelling::of(when))?)
        }
    };
    Ok(EvaluatedGuard { subject, when: source, result, reads })
}

/// Returns the values at the paths that a template mentions.
fn reads_of(
    scope: ExecutionScope<'_>,
    paths: &BTreeSet<String>,
    words: StatusSpelling,
) -> Result<Vec<ReadValue>, Needs> {
    let mut reads = Vec::new();
    for path in paths.iter().take(READS_MAX) {
        let Ok(template) = Template::parse(json!(format!("{{{{ {path} }}}}"))) else { continue };
        let value = settle(scope.given.effort, scope.read(&template, words))?.ok();
        reads.push(ReadValue { path: path.clone(), value });
    }
    Ok(reads)
}

/// Separates data that is missing from results and messages.
fn settle<T>(effort: Effort, result: Result<T, EvalError>) -> Result<Result<T, String>, Needs> {
    match (result, effort) {
        (Ok(value), _) => Ok(Ok(value)),
        (Err(EvalError::Needs(digests)), _) => Err(Needs::Payloads(digests)),
        (Err(EvalError::Fails(error)), _) => Ok(Err(error.message)),
        (Err(EvalError::Exceeded { .. }), Effort::Brief) => Err(Needs::Effort),
        (Err(EvalError::Exceeded { what, .. }), Effort::Whole) => {
            Ok(Err(format!("{what}: the templates take more work than a decision may")))
        }
    }
}
