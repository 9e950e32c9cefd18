//! The shapes of values as far as a playbook declares them: inputs with their types, outputs with an
//! `output_schema`, and the items of loops over either.

use std::collections::BTreeSet;

use noetl_expr::Template;
use serde_json::Value;

use super::known_names::{KnownNames, METHODS, OUTPUTS};
use super::outputs::{field_type, output_fields, task_fields};
use super::uses::{RenderMoment, RenderPlace};
use crate::inputs::{InputType, ObjectRule, ValueRule};
use crate::playbook::{BodyForm, LoopSource, Step, StepIndex, Task};

/// The origin of a declared shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ShapeOrigin {
    /// Every start is checked against it.
    Input,
    /// A tool returns it; nothing checks that.
    Output,
}

/// The shape of a value.
#[derive(Debug, Clone, Copy)]
enum ValueShape<'p> {
    Declared(&'p ValueRule, ShapeOrigin),
    /// The items of a list that the playbook holds.
    Items(&'p [Value]),
}

/// The end of a path of names.
pub(super) enum PathEnd<'p> {
    /// The path leads to a value of a declared shape.
    Rule(&'p ValueRule, ShapeOrigin),
    /// The shape does not have the segment before `depth`.
    Missing { depth: usize, fields: Vec<&'p str>, origin: ShapeOrigin, is_closed: bool },
    /// The value before `depth` has no fields at all.
    NoFields { depth: usize, kind: InputType, origin: ShapeOrigin },
}

/// Follows a path from its first name; `None` if the playbook declares nothing about it.
pub(super) fn end_of<'p>(
    known: &KnownNames<'p>,
    path: &[&str],
    place: RenderPlace,
) -> Option<PathEnd<'p>> {
    let (shape, at) = begin(known, path, place)?;
    follow(shape, path, at)
}

/// Returns the names of the fields of the value that a path leads to.
pub(crate) fn fields_of<'p>(
    known: &KnownNames<'p>,
    path: &[&str],
    place: RenderPlace,
) -> Vec<&'p str> {
    let declared = begin(known, path, place).and_then(|(shape, at)| match shape {
        ValueShape::Items(items) if at == path.len() => Some(keys_of(items)),
        shape => match follow(shape, path, at)? {
            PathEnd::Rule(rule, _) => Some(names_of(rule.object.as_ref()?)),
            PathEnd::Missing { .. } | PathEnd::NoFields { .. } => None,
        },
    });
    let mut fields = declared.unwrap_or_default();
    if let Some((step, rest)) = step_at(known, path, place)
        && rest == path.len()
    {
        fields.extend(output_fields(step).names);
        // The output of a pipeline has a key per label.
        if step.form == BodyForm::Pipeline && step.repeat.is_none() {
            fields.extend(step.tasks.iter().map(|task| task.label.as_str()));
        }
    }
    if let Some((task, rest)) = task_at(known, path, place)
        && rest == path.len()
    {
        fields.extend(task_fields(task).map(|fields| fields.names).unwrap_or_default());
    }
    fields.extend(workload_fields(known, path));
    fields
}

/// Returns the keys of a map in the workload.
fn workload_fields<'p>(known: &KnownNames<'p>, path: &[&str]) -> Vec<&'p str> {
    let rest = match path {
        ["workload" | "ctx", rest @ ..] => rest,
        rest => rest,
    };
    let value = default_at(known, rest);
    value.and_then(Value::as_object).into_iter().flatten().map(|(key, _)| key.as_str()).collect()
}

/// Returns the value of the workload at a path without its namespace.
fn default_at<'p>(known: &KnownNames<'p>, path: &[&str]) -> Option<&'p Value> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(known.playbook.workload.get(*first)?, |value, key| value.get(*key))
}

/// Returns the value of the workload that a path leads to, unless a `set` or a declared input may give
/// another one.
pub(super) fn default_of<'p>(
    known: &KnownNames<'p>,
    path: &[&str],
    place: RenderPlace,
) -> Option<&'p Value> {
    let rest = match path {
        ["workload", rest @ ..] => rest,
        ["ctx" | "vars", name, ..] if !known.is_set(name) => &path[1..],
        [name, ..] if is_plain_input(known, name, place) => path,
        [..] => return None,
    };
    let declared = known.playbook.inputs.as_ref();
    let is_declared = declared.and_then(|inputs| inputs.find(rest.first()?)).is_some();
    if is_declared { None } else { default_at(known, rest) }
}

/// Returns the shape that a path begins with, and the number of segments that name it.
fn begin<'p>(
    known: &KnownNames<'p>,
    path: &[&str],
    place: RenderPlace,
) -> Option<(ValueShape<'p>, usize)> {
    if let Some((rule, at)) = input_at(known, path, place) {
        return Some((ValueShape::Declared(rule, ShapeOrigin::Input), at));
    }
    if let Some((items, at)) = item_at(known, path, place) {
        return Some((items, at));
    }
    let (rule, at) = match (step_at(known, path, place), task_at(known, path, place)) {
        (Some((step, at)), _) => (step.output_rule()?, at),
        (None, Some((task, at))) => (task.output_schema.as_ref()?, at),
        (None, None) => return None,
    };
    // `data` is the whole output unless the output has a field of this name.
    let has_data = rule.object.as_ref().is_some_and(|it| it.fields.contains_key("data"));
    let at = if path.get(at) == Some(&"data") && !has_data { at + 1 } else { at };
    Some((ValueShape::Declared(rule, ShapeOrigin::Output), at))
}

/// Returns the declared input that a path begins with.
fn input_at<'p>(
    known: &KnownNames<'p>,
    path: &[&str],
    place: RenderPlace,
) -> Option<(&'p ValueRule, usize)> {
    let (name, at) = match path {
        ["workload", name, ..] => (*name, 2),
        ["ctx" | "vars", name, ..] if !known.is_set(name) => (*name, 2),
        [name, ..] if is_plain_input(known, name, place) => (*name, 1),
        [..] => return None,
    };
    let declared = known.playbook.inputs.as_ref()?.find(name)?;
    (!declared.is_secret).then_some((&declared.rule, at))
}

/// True if nothing else can have the name of an input.
fn is_plain_input(known: &KnownNames<'_>, name: &str, place: RenderPlace) -> bool {
    let is_of_run = place.step.is_some() && known.of_run(name, place);
    !known.is_set(name)
        && !is_of_run
        && !known.of_moment(name, place)
        && known.playbook.index_of(name).is_none()
}

/// True if templates at this place are rendered for an item of a loop.
fn is_inside(place: RenderPlace) -> bool {
    match place.moment {
        RenderMoment::TaskStart | RenderMoment::TaskEnd | RenderMoment::Rule => true,
        RenderMoment::Start
        | RenderMoment::StepEntry
        | RenderMoment::Claim
        | RenderMoment::StepEnd
        | RenderMoment::Keychain
        | RenderMoment::Notice => false,
    }
}

/// Returns the shape of the item of the loop that a path begins with.
fn item_at<'p>(
    known: &KnownNames<'p>,
    path: &[&str],
    place: RenderPlace,
) -> Option<(ValueShape<'p>, usize)> {
    let step = known.step_at(place).filter(|_| is_inside(place))?;
    let repeat = step.repeat.as_ref()?;
    let at = match path {
        ["iter", name, ..] if *name == repeat.iterator => 2,
        [name, ..] if *name == repeat.iterator => 1,
        [..] => return None,
    };
    let LoopSource::In(items) = &repeat.source else { return None };
    if let Value::Array(items) = items.source() {
        return Some((ValueShape::Items(items), at));
    }
    let path = plain_path(items)?;
    let path: Vec<&str> = path.split('.').collect();
    let entry = RenderPlace { moment: RenderMoment::StepEntry, task: None, ..place };
    match end_of(known, &path, entry)? {
        PathEnd::Rule(rule, origin) => {
            Some((ValueShape::Declared(rule.items.as_deref()?, origin), at))
        }
        PathEnd::Missing { .. } | PathEnd::NoFields { .. } => None,
    }
}

/// Returns the path of a template that is nothing but a path.
pub(super) fn plain_path(template: &Template) -> Option<&str> {
    path_in(template.source().as_str()?)
}

/// Returns the path between the braces of a text, if there is nothing else.
pub(super) fn path_in(text: &str) -> Option<&str> {
    let path = text.trim().strip_prefix("{{")?.strip_suffix("}}")?.trim();
    let is_path = path.chars().all(|it| it.is_alphanumeric() || it == '_' || it == '.');
    is_path.then_some(path)
}

/// Returns the type of a field that the tool of a path's step or task always gives, if the path ends
/// with it.
pub(super) fn tool_type(
    known: &KnownNames<'_>,
    path: &[&str],
    place: RenderPlace,
) -> Option<InputType> {
    let (task, at) = match step_at(known, path, place) {
        Some((step, _)) if step.repeat.is_some() || !step.output.selected.is_empty() => {
            return None;
        }
        Some((step, at)) => match (step.form, step.tasks.as_slice()) {
            (BodyForm::Single, [task]) => (task, at),
            (BodyForm::Single, _) => return None,
            (BodyForm::Pipeline, tasks) => {
                let label = path.get(at)?;
                (tasks.iter().find(|task| task.label == **label)?, at + 1)
            }
        },
        None => task_at(known, path, place)?,
    };
    match path.get(at..)? {
        [field] => field_type(task.tool, field),
        [..] => None,
    }
}

/// Returns the step whose output a path begins with.
pub(super) fn step_at<'p>(
    known: &KnownNames<'p>,
    path: &[&str],
    place: RenderPlace,
) -> Option<(&'p Step, usize)> {
    let is_hidden = |name: &str| known.in_context(name) || known.of_run(name, place);
    let (index, at): (StepIndex, usize) = match path {
        ["steps", name, ..] => (known.playbook.index_of(name)?, 2),
        [root, ..] if OUTPUTS.contains(root) && place.moment == RenderMoment::StepEnd => {
            (place.step?, 1)
        }
        [name, ..] if !is_hidden(name) => (known.playbook.index_of(name)?, 1),
        [..] => return None,
    };
    Some((known.playbook.step(index), at))
}

/// Returns the task whose output a path begins with.
fn task_at<'p>(
    known: &KnownNames<'p>,
    path: &[&str],
    place: RenderPlace,
) -> Option<(&'p Task, usize)> {
    let step = known.step_at(place).filter(|_| is_inside(place))?;
    let here = || step.tasks.get(place.task?);
    let labelled = |name: &str| {
        let is_label = step.form == BodyForm::Pipeline && !known.in_context(name);
        step.tasks.iter().find(|task| is_label && task.label == name)
    };
    match (place.moment, path) {
        (RenderMoment::TaskEnd, [root, ..]) if OUTPUTS.contains(root) => Some((here()?, 1)),
        (RenderMoment::TaskStart, ["output" | "_prev", ..]) => {
            Some((known.previous_task(place)?, 1))
        }
        (RenderMoment::Rule, ["output" | "outcome", "data" | "result", ..]) => Some((here()?, 2)),
        (_, ["results", name, ..]) => Some((labelled(name)?, 2)),
        (_, [name, ..]) => Some((labelled(name)?, 1)),
        (_, []) => None,
    }
}

fn names_of(object: &ObjectRule) -> Vec<&str> {
    object.fields.keys().map(String::as_str).collect()
}

/// Returns the keys of the maps of a list.
fn keys_of(items: &[Value]) -> Vec<&str> {
    let maps = items.iter().filter_map(Value::as_object);
    let keys: BTreeSet<&str> = maps.flat_map(|map| map.keys().map(String::as_str)).collect();
    keys.into_iter().collect()
}

/// Follows the segments of a path from `at` on; `None` where the shape says nothing.
fn follow<'p>(shape: ValueShape<'p>, path: &[&str], at: usize) -> Option<PathEnd<'p>> {
    let (mut rule, origin) = match shape {
        ValueShape::Declared(rule, origin) => (rule, origin),
        ValueShape::Items(items) => return of_items(items, path, at),
    };
    for (index, segment) in path.iter().enumerate().skip(at) {
        let depth = index + 1;
        match (&rule.object, rule.kind) {
            (Some(object), _) => match object.fields.get(*segment) {
                Some(field) => rule = &field.rule,
                None if METHODS.contains(segment) => return None,
                None => {
                    let (fields, is_closed) = (names_of(object), !object.allows_others);
                    return Some(PathEnd::Missing { depth, fields, origin, is_closed });
                }
            },
            (None, kind @ (InputType::Integer | InputType::Number | InputType::Boolean)) => {
                return Some(PathEnd::NoFields { depth, kind, origin });
            }
            (None, InputType::Text | InputType::List | InputType::Object | InputType::Any) => {
                return None;
            }
        }
    }
    Some(PathEnd::Rule(rule, origin))
}

/// Returns the end of a path into an item of a list of maps.
fn of_items<'p>(items: &'p [Value], path: &[&str], at: usize) -> Option<PathEnd<'p>> {
    let segment = path.get(at).filter(|segment| !METHODS.contains(segment))?;
    let are_maps = items
        .iter()
        .all(|item| item.as_object().is_some_and(|map| map.keys().all(|key| !key.contains("{{"))));
    let fields = keys_of(items);
    let is_missing = are_maps && !items.is_empty() && !fields.contains(segment);
    is_missing.then_some(PathEnd::Missing {
        depth: at + 1,
        fields,
        origin: ShapeOrigin::Input,
        is_closed: true,
    })
}
