//! The steps of a playbook and the arcs between them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use maud::{Markup, html};
use noetl_playbook::layout::{GraphLayout, GraphShape, NodeBox, NodeSize, layout};
use noetl_playbook::{Playbook, Step, parse};

use crate::components::source_lines::StepLines;
use crate::request::PageRequest;

const NODE: NodeSize = NodeSize { width: 152.0, height: 32.0, loop_height: 32.0 };
/// Maximum number of characters of a name in a node.
const NAME_MAX: usize = 18;

/// Maximum number of layouts that are kept.
const LAYOUTS_MAX: usize = 16;

/// The layouts of the shapes that were drawn last. All nodes have the same size.
static LAYOUTS: Mutex<VecDeque<(GraphShape, Arc<GraphLayout>)>> = Mutex::new(VecDeque::new());

/// Maximum width of a drawing that is made smaller to fit its frame; a wider one is scrolled.
const FITS_MAX: f64 = 1200.0;

/// The place that the steps of a graph lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::pages) enum StepLinks {
    /// The lines of the step in the source beside the graph.
    Source,
    /// The line of the step in the editor.
    Editor,
    Nowhere,
}

/// Draws the graph of a document; nothing if it is no valid playbook.
pub(in crate::pages) fn graph(page: &PageRequest, content: &str, links: StepLinks) -> Markup {
    match parse("playbook", content.as_bytes()) {
        Ok(checked) => drawn_graph(page, &checked.playbook, content, links),
        Err(_) => html! {},
    }
}

/// Draws the graph of a playbook, whose text is `content`.
pub(in crate::pages) fn drawn_graph(
    page: &PageRequest,
    playbook: &Playbook,
    content: &str,
    links: StepLinks,
) -> Markup {
    let drawn = known_layout(GraphShape::of(playbook, NODE, |_| 0.0));
    let (width, height) = (drawn.width.ceil(), drawn.height.ceil());
    let lines = match links {
        StepLinks::Editor => StepLines::of(content),
        StepLinks::Source | StepLinks::Nowhere => StepLines::default(),
    };
    html! {
        div.outline tabindex="0" {
            svg.fits[width <= FITS_MAX] viewBox=(format!("0 0 {width} {height}")) width=(width) height=(height) role=(if links == StepLinks::Nowhere { "img" } else { "group" })
                aria-label=(page.t("playbook.graph")) {
                (arrow_head())
                @for route in &drawn.routes { path.arc d=(route.path()) marker-end="url(#arrow-head)" {} }
                @for (index, (step, node)) in playbook.steps.iter().zip(&drawn.nodes).enumerate() {
                    @match links {
                        StepLinks::Source => a.node id={ "node-" (index) } href={ "#step-" (index) } { (box_of(step, node)) },
                        StepLinks::Editor => a.node href="#editor-text" data-line=[lines.first_line(step.name.as_str())] {
                            (box_of(step, node)) },
                        StepLinks::Nowhere => (box_of(step, node)),
                    }
                }
            }
        }
    }
}

/// Returns the layout of a shape. While a text is edited, its shape mostly stays the same.
fn known_layout(shape: GraphShape) -> Arc<GraphLayout> {
    let lock = || LAYOUTS.lock().unwrap_or_else(PoisonError::into_inner);
    let known = lock().iter().find(|(it, _)| is_same(it, &shape)).map(|(_, drawn)| drawn.clone());
    if let Some(known) = known {
        return known;
    }
    let drawn = Arc::new(layout(&shape));
    let mut kept = lock();
    if kept.len() >= LAYOUTS_MAX {
        kept.pop_front();
    }
    kept.push_back((shape, drawn.clone()));
    drawn
}

/// True if two shapes have the same nodes and arcs.
fn is_same(one: &GraphShape, other: &GraphShape) -> bool {
    let arcs = |shape: &GraphShape| {
        shape.arcs.iter().map(|arc| (arc.from, arc.to)).collect::<Vec<(usize, usize)>>()
    };
    (one.entry, one.last, one.node_heights.len())
        == (other.entry, other.last, other.node_heights.len())
        && arcs(one) == arcs(other)
}

fn arrow_head() -> Markup {
    html! {
        defs {
            marker #arrow-head viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8"
                markerUnits="userSpaceOnUse" orient="auto" { path.head d="M0 0.5L8 4L0 7.5z" {} }
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
