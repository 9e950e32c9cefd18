//! Draws steps and arcs as lines of text.

use crate::playbook::{Playbook, RouterMode};

use super::{guard_of, loop_of, tools_of, walk};

/// Returns one line per step, its arcs below it. An arc to an earlier step is marked with `↑`.
pub fn text(playbook: &Playbook) -> String {
    let order = walk(playbook);
    let mut place = vec![0; order.len()];
    for (at, step) in order.iter().enumerate() {
        place[*step] = at;
    }
    let mut out = format!("{}\n", playbook.metadata.path);
    for index in order {
        let step = &playbook.steps[index];
        out.push_str(&format!("{} [{}]", step.name, tools_of(step)));
        if let Some(repeat) = &step.repeat {
            out.push_str(&format!(" {}", loop_of(repeat)));
        }
        if index == playbook.entry.0 {
            out.push_str(" (entry)");
        }
        if playbook.final_step.is_some_and(|last| last.0 == index) {
            out.push_str(" (final)");
        }
        out.push('\n');
        let all = step.next.mode == RouterMode::Inclusive && step.next.arcs.len() > 1;
        for arc in &step.next.arcs {
            let sign = match (place[arc.to.0] <= place[index], all) {
                (true, _) => "↑",
                (false, true) => "⇒",
                (false, false) => "→",
            };
            out.push_str(&format!("  {sign} {}", playbook.step(arc.to).name));
            if let Some(guard) = guard_of(arc) {
                out.push_str(&format!("  when {guard}"));
            }
            out.push('\n');
        }
    }
    out
}
