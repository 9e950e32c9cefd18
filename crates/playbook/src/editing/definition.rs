//! The place that defines the name that a template reads: an input, a value of the workload, a variable
//! that is set, the label of a task, or an iterator.

use std::ops::Range;

use super::outline::{Container, Outline, OutlineEntry, outline};
use super::template::template_path;

/// The sections whose keys are values of the workload, the declaration first.
const WORKLOAD_SECTIONS: [&str; 3] = ["inputs", "workload", "vars"];
/// The scopes that a key of `set` may begin with.
const SCOPES: [&str; 3] = ["ctx", "iter", "step"];

/// Returns the place of the definition of the variable that a template reads at a byte offset.
pub fn variable_definition(text: &str, offset: usize) -> Option<Range<usize>> {
    let read = template_path(text, offset)?.path;
    let segments: Vec<&str> = read.split('.').collect();
    let (outline, _) = outline(text, 0);
    match segments.as_slice() {
        ["workload", name, ..] => workload_value(&outline, name),
        ["ctx" | "vars", name, ..] => {
            set_value(&outline, name).or_else(|| workload_value(&outline, name))
        }
        ["keychain", name, ..] => named_item(&outline, "keychain", name),
        ["iter", name, ..] => iterator(&outline, name).or_else(|| set_value(&outline, name)),
        ["results", name, ..] => label(&outline, name),
        [name, ..] => label(&outline, name)
            .or_else(|| iterator(&outline, name))
            .or_else(|| set_value(&outline, name))
            .or_else(|| workload_value(&outline, name)),
        [] => None,
    }
}

fn workload_value(outline: &Outline, name: &str) -> Option<Range<usize>> {
    let root = outline.containers.first()?;
    let sections = WORKLOAD_SECTIONS.iter().filter_map(|section| root.child(section));
    let mut entries = sections.flat_map(|id| &outline.containers[id].entries);
    entries.find(|entry| entry.key.as_deref() == Some(name)).map(|entry| entry.span.clone())
}

/// Returns the first key below `set` that writes a variable.
fn set_value(outline: &Outline, name: &str) -> Option<Range<usize>> {
    let sets = outline.containers.iter().filter_map(|container| container.child("set"));
    let mut entries = sets.flat_map(|id| &outline.containers[id].entries);
    let writes = |entry: &&OutlineEntry| {
        let key = entry.key.as_deref().unwrap_or_default();
        let (scope, rest) = key.split_once('.').unwrap_or(("", key));
        let rest = if SCOPES.contains(&scope) { rest } else { key };
        rest.split('.').next() == Some(name)
    };
    entries.find(writes).map(|entry| entry.span.clone())
}

/// Returns the name of a task in a list of tools: its `name`, or the one key of the item.
fn label(outline: &Outline, name: &str) -> Option<Range<usize>> {
    let lists = outline.containers.iter().filter_map(|container| container.child("tool"));
    let items = lists.map(|id| &outline.containers[id]).filter(|list| list.is_list);
    let mut tasks = items.flat_map(|list| &list.entries).filter_map(|item| {
        let task = &outline.containers[item.child?];
        let named = value_span(task, "name").filter(|_| task.value("name") == Some(name));
        let labelled = task.entries.first().filter(|it| it.key.as_deref() == Some(name));
        named.or_else(|| {
            let is_label = task.entries.len() == 1 && task.value("kind").is_none();
            labelled.filter(|_| is_label).map(|entry| entry.span.clone())
        })
    });
    tasks.next()
}

fn iterator(outline: &Outline, name: &str) -> Option<Range<usize>> {
    let mut found = outline.containers.iter().filter(|it| it.value("iterator") == Some(name));
    found.find_map(|container| value_span(container, "iterator"))
}

fn named_item(outline: &Outline, section: &str, name: &str) -> Option<Range<usize>> {
    let list = outline.containers.first()?.child(section)?;
    let mut items = outline.containers[list].entries.iter().filter_map(|item| item.child);
    items.find_map(|id| {
        let item = &outline.containers[id];
        value_span(item, "name").filter(|_| item.value("name") == Some(name))
    })
}

fn value_span(container: &Container, key: &str) -> Option<Range<usize>> {
    let entry = container.entries.iter().find(|it| it.key.as_deref() == Some(key))?;
    entry.value_span.clone()
}
