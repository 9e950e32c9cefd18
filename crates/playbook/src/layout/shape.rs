//! The shape of a playbook's graph.

use super::{ArcShape, GraphShape};
use crate::playbook::{Arc, Playbook};

/// The size of the box of a step; steps with a loop may be higher.
#[derive(Debug, Clone, Copy)]
pub struct NodeSize {
    pub width: f64,
    pub height: f64,
    pub loop_height: f64,
}

impl GraphShape {
    /// Returns the shape of a playbook: nodes in the order of its steps, arcs in the order of
    /// [`Playbook::arcs`].
    pub fn of(playbook: &Playbook, size: NodeSize, label_width: impl Fn(&Arc) -> f64) -> Self {
        let heights = playbook.steps.iter().map(|step| match step.repeat {
            Some(_) => size.loop_height,
            None => size.height,
        });
        let arcs = playbook.arcs().map(|(from, arc)| ArcShape {
            from: from.0,
            to: arc.to.0,
            label_width: label_width(arc),
        });
        Self {
            node_width: size.width,
            node_heights: heights.collect(),
            arcs: arcs.collect(),
            entry: playbook.entry.0,
            last: playbook.final_step.map(|step| step.0),
        }
    }
}
