//! Draws a playbook as text, as Mermaid or Graphviz source, or as an SVG picture.

mod dot;
mod mermaid;
mod svg;
mod text;

use noetl_model::LoopMode;
use serde_json::Value;

use crate::playbook::{Arc, BodyForm, Loop, LoopSource, Playbook, Step};

pub use dot::dot;
pub use mermaid::mermaid;
pub use svg::svg;
pub use text::text;

/// The most characters of a guard or a collection; longer ones are cut.
const LABEL_CHARS_MAX: usize = 60;

/// Describes the tools of a step: `http`, or `fetch: http, shape: python`.
fn tools_of(step: &Step) -> String {
    match step.form {
        BodyForm::Single => step.tasks.iter().map(|task| task.tool.to_string()).collect(),
        BodyForm::Pipeline => {
            let tasks = step.tasks.iter().map(|task| format!("{}: {}", task.label, task.tool));
            tasks.collect::<Vec<_>>().join(", ")
        }
    }
}

/// Describes a loop: `each row in {{ rows }}, parallel`.
fn loop_of(repeat: &Loop) -> String {
    let mode = match repeat.mode {
        LoopMode::Sequential => "one by one",
        LoopMode::Parallel => "in parallel",
        LoopMode::Cursor => "as claimed",
    };
    let max = match &repeat.in_flight_max {
        Some(max) => format!(", at most {} at once", words_of(max.source())),
        None => String::new(),
    };
    let source = match &repeat.source {
        LoopSource::In(items) => format!(" in {}", words_of(items.source())),
        LoopSource::Cursor(claim) => format!(" claimed by {}", claim.tool),
    };
    format!("each {}{source}, {mode}{max}", repeat.iterator)
}

fn guard_of(arc: &Arc) -> Option<String> {
    arc.when.as_ref().map(|when| words_of(when.source()))
}

/// Formats a value on one line, without the braces of a single expression.
fn words_of(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let trimmed = text.trim();
    let lone = trimmed
        .strip_prefix("{{")
        .and_then(|rest| rest.strip_suffix("}}"))
        .filter(|expression| !expression.contains("{{"));
    let line = lone.unwrap_or(trimmed).split_whitespace().collect::<Vec<_>>().join(" ");
    cut(&line, LABEL_CHARS_MAX)
}

/// Cuts text to `max` characters, with `…` if there were more.
fn cut(text: &str, max: usize) -> String {
    if text.chars().count() <= max {
        return text.to_owned();
    }
    text.chars().take(max - 1).chain(['…']).collect()
}

/// Returns the steps in breadth-first order; unreachable steps come last.
fn walk(playbook: &Playbook) -> Vec<usize> {
    let roots =
        [Some(playbook.entry), playbook.final_step].into_iter().flatten().map(|root| root.0);
    let mut seen = vec![false; playbook.steps.len()];
    let mut order = Vec::new();
    for root in roots.chain(0..playbook.steps.len()) {
        let mut waiting = std::collections::VecDeque::from([root]);
        while let Some(step) = waiting.pop_front() {
            if !std::mem::replace(&mut seen[step], true) {
                order.push(step);
                waiting.extend(playbook.steps[step].next.arcs.iter().map(|arc| arc.to.0));
            }
        }
    }
    order
}

#[cfg(test)]
mod tests;
