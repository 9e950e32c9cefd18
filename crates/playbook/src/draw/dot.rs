//! Draws steps and arcs as Graphviz source.

use crate::playbook::Playbook;

use super::{guard_of, loop_of, tools_of};

/// Returns a directed graph from left to right; a step with a loop has a double frame.
pub fn dot(playbook: &Playbook) -> String {
    let mut out = format!(
        "digraph {} {{\n  rankdir=LR;\n  node [shape=box, style=rounded];\n",
        quoted(&playbook.metadata.path)
    );
    for (index, step) in playbook.steps.iter().enumerate() {
        let mut label = format!("{}\n{}", step.name, tools_of(step));
        let mut more = String::new();
        if let Some(repeat) = &step.repeat {
            label.push_str(&format!("\n{}", loop_of(repeat)));
            more.push_str(", peripheries=2");
        }
        if index == playbook.entry.0 {
            more.push_str(", penwidth=2");
        }
        out.push_str(&format!("  s{index} [label={}{more}];\n", quoted(&label)));
    }
    for (from, arc) in playbook.arcs() {
        let label = guard_of(arc).map(|guard| format!(" [label={}]", quoted(&guard)));
        out.push_str(&format!("  s{} -> s{}{};\n", from.0, arc.to.0, label.unwrap_or_default()));
    }
    out.push_str("}\n");
    out
}

/// Returns a quoted string, in which backslashes and quotes are escaped.
fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("\"{escaped}\"")
}
