//! The difference between two playbooks by meaning: spelling, comments, the order of keys and the order
//! of steps do not count.

use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::inputs::{FieldRule, ValueRule};
use crate::playbook::{
    AdmitRule, Amount, AssignmentScope, BodyForm, Loop, LoopSource, Playbook, Router, RouterMode,
    Rule, RuleAction, RunPromise, SetAssignment, Step, Task,
};

/// A part of a playbook that differs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlaybookChange {
    /// The way to the part: `steps`, the name of a step, `tool`, a setting.
    pub path: Vec<String>,
    #[serde(flatten)]
    pub change: ChangedPart,
}

/// The way in which a part of a playbook differs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "change", rename_all = "lowercase")]
pub enum ChangedPart {
    Added { to: Value },
    Removed { from: Value },
    Changed { from: Value, to: Value },
}

/// Returns the parts in which two playbooks differ.
pub fn playbook_changes(old: &Playbook, new: &Playbook) -> Vec<PlaybookChange> {
    let mut changes = Vec::new();
    compare(&mut Vec::new(), &meaning(old), &meaning(new), &mut changes);
    changes
}

fn compare(path: &mut Vec<String>, old: &Value, new: &Value, changes: &mut Vec<PlaybookChange>) {
    let (Value::Object(from), Value::Object(to)) = (old, new) else {
        if old != new {
            let change = ChangedPart::Changed { from: old.clone(), to: new.clone() };
            changes.push(PlaybookChange { path: path.clone(), change });
        }
        return;
    };
    for (key, from) in from {
        path.push(key.clone());
        match to.get(key) {
            Some(to) => compare(path, from, to, changes),
            None => {
                let change = ChangedPart::Removed { from: from.clone() };
                changes.push(PlaybookChange { path: path.clone(), change });
            }
        }
        path.pop();
    }
    for (key, to) in to.iter().filter(|(key, _)| !from.contains_key(*key)) {
        let path = path.iter().chain([key]).cloned().collect();
        changes.push(PlaybookChange { path, change: ChangedPart::Added { to: to.clone() } });
    }
}

/// Returns a map without the keys whose values are null, empty maps and empty lists.
fn said(entries: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    let is_said = |value: &Value| match value {
        Value::Null => false,
        Value::Array(items) => !items.is_empty(),
        Value::Object(map) => !map.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    };
    let entries = entries.into_iter().filter(|(_, value)| is_said(value));
    Value::Object(entries.map(|(key, value)| (key.to_owned(), value)).collect())
}

fn meaning(playbook: &Playbook) -> Value {
    let name = |step: Option<crate::StepIndex>| {
        step.map_or(Value::Null, |step| json!(playbook.step(step).name.as_str()))
    };
    let steps = playbook
        .steps
        .iter()
        .map(|step| (step.name.as_str().to_owned(), step_meaning(playbook, step)));
    said([
        ("metadata", Value::Object(playbook.metadata.all.clone())),
        ("workload", Value::Object(playbook.workload.clone())),
        ("inputs", written(playbook.inputs.as_ref())),
        ("keychain", Value::Array(playbook.keychain.clone())),
        ("on", written((!playbook.on.is_empty()).then_some(&playbook.on))),
        ("entry_step", name(Some(playbook.entry))),
        ("final_step", name(playbook.final_step)),
        ("no_next_is_error", json!(playbook.no_next_is_error)),
        ("timeout", duration(playbook.timeout)),
        ("expected_within", duration(playbook.expected_within)),
        ("error_mode", written(playbook.error_mode.as_ref())),
        ("undefined", written(Some(&playbook.missing))),
        ("priority", written(playbook.priority.as_ref())),
        (
            "concurrency",
            playbook.concurrency.as_ref().map_or(Value::Null, |it| {
                said([
                    ("limit", json!(it.limit)),
                    ("key", it.key.as_ref().map_or(Value::Null, |key| key.source().clone())),
                    ("on_conflict", json!(it.on_conflict.as_str())),
                ])
            }),
        ),
        ("steps", Value::Object(steps.collect())),
    ])
}

/// Returns the text of a value that has no other form; the same values have the same text.
fn written<T: std::fmt::Debug>(value: Option<&T>) -> Value {
    value.map_or(Value::Null, |value| json!(format!("{value:?}")))
}

fn duration(duration: Option<Duration>) -> Value {
    written(duration.as_ref())
}

fn step_meaning(playbook: &Playbook, step: &Step) -> Value {
    let task = |task: &Task| (task.label.clone(), task_meaning(step, task));
    let tools = match step.tasks.as_slice() {
        [only] => ("tool", task_meaning(step, only)),
        tasks => ("tools", Value::Object(tasks.iter().map(task).collect())),
    };
    let labels: Vec<&str> = step.tasks.iter().map(|task| task.label.as_str()).collect();
    let order = if labels.len() > 1 { json!(labels) } else { Value::Null };
    said([
        ("description", json!(step.description)),
        ("when", condition(step.when.as_ref())),
        ("admit", Value::Array(step.admit.iter().map(admit).collect())),
        ("input", step.input.as_ref().map_or(Value::Null, |it| it.source().clone())),
        ("loop", step.repeat.as_ref().map_or(Value::Null, |it| loop_meaning(step, it))),
        tools,
        ("order of tools", order),
        ("set", assignments(&step.set)),
        ("next", router(playbook, &step.next)),
        ("timeout", duration(step.timeout)),
        ("limit", written(step.limit.as_ref())),
        (
            "run",
            match step.run {
                RunPromise::AtLeastOnce => Value::Null,
                RunPromise::AtMostOnce => json!("at_most_once"),
            },
        ),
        (
            "cache",
            step.cache.as_ref().map_or(Value::Null, |it| {
                said([("key", it.key.source().clone()), ("ttl", duration(Some(it.ttl)))])
            }),
        ),
        (
            "output",
            match step.output == crate::OutputView::default() {
                true => Value::Null,
                false => written(Some(&step.output)),
            },
        ),
        ("output_schema", schema(step.output_schema.as_ref())),
        (
            "form of tool",
            // A list of one tool has an output by its label.
            match (step.form, step.tasks.len()) {
                (BodyForm::Pipeline, 1) => json!("list"),
                (BodyForm::Single | BodyForm::Pipeline, _) => Value::Null,
            },
        ),
    ])
}

/// Returns the meaning of a declared shape, part by part.
fn schema(rule: Option<&ValueRule>) -> Value {
    let Some(rule) = rule else { return Value::Null };
    let object = rule.object.as_ref();
    let fields = object.into_iter().flat_map(|object| &object.fields);
    let field = |field: &FieldRule| {
        let required = field.is_required.then_some(true);
        let mut meaning = schema(Some(&field.rule));
        if let Some(map) = meaning.as_object_mut() {
            map.extend(required.map(|it| ("required".to_owned(), json!(it))));
            map.extend(field.default.clone().map(|it| ("default".to_owned(), it)));
        }
        meaning
    };
    let fields = fields.map(|(name, rule)| (name.clone(), field(rule)));
    said([
        ("type", json!(rule.kind.as_str())),
        ("enum", Value::Array(rule.choices.clone())),
        ("minimum", json!(rule.min)),
        ("maximum", json!(rule.max)),
        ("min_length", json!(rule.min_length)),
        ("max_length", json!(rule.max_length)),
        ("pattern", json!(rule.pattern.as_ref().map(|pattern| pattern.as_str()))),
        ("items", schema(rule.items.as_deref())),
        ("properties", Value::Object(fields.collect())),
        ("other properties", json!(object.map(|object| object.allows_others))),
    ])
}

fn task_meaning(step: &Step, task: &Task) -> Value {
    let rules: Vec<Value> = task.rules.iter().map(|it| rule(step, it)).collect();
    let mut map = match task.config.source() {
        Value::Object(config) => config.clone(),
        other @ (Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)) => Map::from_iter([("config".to_owned(), other.clone())]),
    };
    let more = said([
        ("kind", json!(task.tool.as_str())),
        ("set", assignments(&task.set)),
        ("rules", Value::Array(rules)),
        ("timeout", duration(task.timeout)),
        ("output_schema", schema(task.output_schema.as_ref())),
    ]);
    map.extend(more.as_object().cloned().unwrap_or_default());
    Value::Object(map)
}

fn loop_meaning(step: &Step, repeat: &Loop) -> Value {
    let source = match &repeat.source {
        LoopSource::In(items) => ("in", items.source().clone()),
        LoopSource::Cursor(task) => ("cursor", task_meaning(step, task)),
    };
    let most = repeat.in_flight_max.as_ref();
    said([
        source,
        ("iterator", json!(repeat.iterator)),
        ("mode", written(Some(&repeat.mode))),
        ("max_in_flight", most.map_or(Value::Null, |it| it.source().clone())),
        ("frame", written(Some(&repeat.frame))),
    ])
}

fn condition(when: Option<&noetl_expr::Condition>) -> Value {
    when.map_or(Value::Null, |when| when.source().clone())
}

fn admit(rule: &AdmitRule) -> Value {
    said([("when", condition(rule.when.as_ref())), ("allow", json!(rule.allow))])
}

fn assignments(set: &[SetAssignment]) -> Value {
    let entry = |it: &SetAssignment| {
        let key = match it.scope {
            AssignmentScope::Ctx => format!("ctx.{}", it.key),
            AssignmentScope::Iter => format!("iter.{}", it.key),
            AssignmentScope::Step => format!("step.{}", it.key),
            AssignmentScope::Bare => it.key.clone(),
        };
        (key, it.value.source().clone())
    };
    Value::Object(set.iter().map(entry).collect())
}

fn rule(step: &Step, rule: &Rule) -> Value {
    let action = match &rule.action {
        RuleAction::Continue => json!({ "do": "continue" }),
        RuleAction::Break => json!({ "do": "break" }),
        RuleAction::Fail => json!({ "do": "fail" }),
        RuleAction::Jump(task) => {
            json!({ "do": "jump", "to": step.tasks.get(*task).map(|it| it.label.as_str()) })
        }
        RuleAction::Retry(retry) => json!({
            "do": "retry",
            "attempts": amount(&retry.attempts),
            "backoff": format!("{:?}", retry.backoff),
            "delay": amount(&retry.delay),
            "delay_max": format!("{:?}", retry.delay_max),
        }),
    };
    said([
        ("when", condition(rule.when.as_ref())),
        ("then", action),
        ("set", assignments(&rule.set)),
    ])
}

fn amount<T: std::fmt::Debug>(amount: &Amount<T>) -> Value {
    match amount {
        Amount::Literal(value) => json!(format!("{value:?}")),
        Amount::Rendered(template) => template.source().clone(),
    }
}

/// Returns the arcs by the step they lead to; several arcs to one step are numbered.
fn router(playbook: &Playbook, router: &Router) -> Value {
    let mut arcs: Map<String, Value> = Map::new();
    let mut order = Vec::new();
    for arc in &router.arcs {
        let to = playbook.step(arc.to).name.as_str();
        let mut name = to.to_owned();
        let mut number = 1;
        while arcs.contains_key(&name) {
            number += 1;
            name = format!("{to} ({number})");
        }
        let when = condition(arc.when.as_ref());
        let when = if when.is_null() { json!("always") } else { when };
        order.push(name.clone());
        arcs.insert(name, said([("when", when), ("set", assignments(&arc.set))]));
    }
    let mode = match router.mode {
        RouterMode::Exclusive => Value::Null,
        RouterMode::Inclusive => json!("inclusive"),
    };
    // Of exclusive arcs, the first one that holds is taken.
    let is_ordered = router.mode == RouterMode::Exclusive && order.len() > 1;
    let order = if is_ordered { json!(order) } else { Value::Null };
    said([("mode", mode), ("arcs", Value::Object(arcs)), ("order of arcs", order)])
}
