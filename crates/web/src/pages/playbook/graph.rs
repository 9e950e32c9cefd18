//! The steps of a playbook and the arcs between them.

use maud::{Markup, html};
use noetl_playbook::layout::{GraphShape, NodeBox, NodeSize, layout};
use noetl_playbook::{Step, parse};

use crate::request::PageRequest;

const NODE: NodeSize = NodeSize { width: 152.0, height: 32.0, loop_height: 32.0 };
/// Maximum number of characters of a name in a node.
const NAME_MAX: usize = 18;

/// Maximum width of a drawing that is made smaller to fit its frame; a wider one is scrolled.
const FITS_MAX: f64 = 1200.0;

/// Draws the graph of a document; nothing if it is no valid playbook.
pub(in crate::pages) fn graph(page: &PageRequest, content: &str) -> Markup {
    let Ok(checked) = parse("playbook", content.as_bytes()) else { return html! {} };
    let drawn = layout(&GraphShape::of(&checked.playbook, NODE, |_| 0.0));
    let (width, height) = (drawn.width.ceil(), drawn.height.ceil());
    html! {
        div.outline tabindex="0" {
            svg.fits[width <= FITS_MAX] viewBox=(format!("0 0 {width} {height}")) width=(width) height=(height) role="img"
                aria-label=(page.t("playbook.graph")) {
                @for route in &drawn.routes { path.arc d=(route.path()) {} }
                @for (step, node) in checked.playbook.steps.iter().zip(&drawn.nodes) {
                    (box_of(step, node))
                }
            }
        }
    }
}

fn box_of(step: &Step, node: &NodeBox) -> Markup {
    let name = step.name.as_str();
    let short: String = match name.chars().count() > NAME_MAX {
        true => name.chars().take(NAME_MAX - 1).chain(['…']).collect(),
        false => name.to_owned(),
    };
    html! {
        g.node transform=(format!("translate({:.1} {:.1})", node.left, node.top)) {
            title { (name) }
            rect width=(NODE.width) height=(NODE.height) rx="4" {}
            text x="10" y="20" { (short) }
        }
    }
}
