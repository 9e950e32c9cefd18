//! Draws steps and arcs as Mermaid source.

use crate::playbook::Playbook;

use super::{guard_of, loop_of, tools_of};

/// Returns a flowchart; a step with a loop has a double frame.
pub fn mermaid(playbook: &Playbook) -> String {
    let mut out = String::from("flowchart TD\n");
    for (index, step) in playbook.steps.iter().enumerate() {
        let mut label = format!("{}<br/>{}", escape(step.name.as_str()), escape(&tools_of(step)));
        let (open, close) = match &step.repeat {
            Some(repeat) => {
                label.push_str(&format!("<br/>{}", escape(&loop_of(repeat))));
                ("[[", "]]")
            }
            None if index == playbook.entry.0 => ("([", "])"),
            None => ("[", "]"),
        };
        out.push_str(&format!("  s{index}{open}\"{label}\"{close}\n"));
    }
    for (index, step) in playbook.steps.iter().enumerate() {
        for arc in &step.next.arcs {
            match guard_of(arc) {
                Some(guard) => {
                    out.push_str(&format!(
                        "  s{index} -->|\"{}\"| s{}\n",
                        escape(&guard),
                        arc.to.0
                    ));
                }
                None => out.push_str(&format!("  s{index} --> s{}\n", arc.to.0)),
            }
        }
    }
    out
}

/// Escapes all but plain words as character codes, which Mermaid never takes for syntax.
fn escape(text: &str) -> String {
    let plain =
        |c: char| c.is_alphanumeric() || matches!(c, ' ' | '_' | '.' | ',' | ':' | '-' | '/');
    let mut out = String::new();
    for c in text.chars() {
        if plain(c) {
            out.push(c);
        } else {
            out.push_str(&format!("#{};", u32::from(c)));
        }
    }
    out
}
