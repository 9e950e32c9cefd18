//! Draws steps and arcs as an SVG picture.

use std::fmt::Write;

use crate::layout::{ArcRoute, GraphShape, LabelPlace, NodeBox, NodeSize, layout};
use crate::playbook::{Arc, BodyForm, Playbook, Step};

use super::{cut, guard_of, loop_of, tools_of};

const NODE: NodeSize = NodeSize { width: 190.0, height: 46.0, loop_height: 46.0 };

/// The most characters of a label that fit.
const NAME_CHARS_MAX: usize = 24;
const TOOL_CHARS_MAX: usize = 28;
const GUARD_CHARS_MAX: usize = 34;
/// The width of a character of a guard, roughly.
const GUARD_CHAR_WIDTH: f64 = 5.4;

const STYLE: &str = "\
svg{font:12px system-ui,sans-serif;--ink:#1f2933;--soft:#64748b;--paper:#fff;--box:#f5f7fa;--line:#94a3b8;--mark:#2563eb}\
@media(prefers-color-scheme:dark){svg{--ink:#e2e8f0;--soft:#94a3b8;--paper:#0f172a;--box:#1e293b;--line:#64748b;--mark:#60a5fa}}\
.paper{fill:var(--paper)}.box{fill:var(--box);stroke:var(--line)}.entry{stroke:var(--mark);stroke-width:2}\
.name{fill:var(--ink);font-weight:600}.tool{fill:var(--soft);font-size:11px}\
.arc{fill:none;stroke:var(--line);stroke-width:1.4}.back{stroke-dasharray:5 4}\
.guard{fill:var(--soft);font-size:10.5px;paint-order:stroke;stroke:var(--paper);stroke-width:4px}\
.head{fill:var(--line)}.ends{text-anchor:end}.around{text-anchor:middle}";

/// Returns a self-contained picture: no script, no link, all text escaped.
pub fn svg(playbook: &Playbook) -> String {
    let layout = layout(&GraphShape::of(playbook, NODE, guard_width));
    let (width, height) = (layout.width.ceil(), layout.height.ceil());
    let title = escape(&playbook.metadata.path);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" role=\"img\" aria-label=\"{title}\">\n<title>{title}</title>\n\
         <style>{STYLE}</style>\n<defs><marker id=\"head\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" \
         markerWidth=\"8\" markerHeight=\"8\" orient=\"auto\"><path class=\"head\" d=\"M0 0L8 4L0 8z\"/>\
         </marker></defs>\n<rect class=\"paper\" width=\"{width}\" height=\"{height}\"/>\n"
    );
    for ((_, arc), route) in playbook.arcs().zip(&layout.routes) {
        out.push_str(&drawn_arc(arc, route));
    }
    for (index, (step, node)) in playbook.steps.iter().zip(&layout.nodes).enumerate() {
        let class = if index == playbook.entry.0 { "box entry" } else { "box" };
        out.push_str(&drawn_step(index, step, *node, class));
    }
    out.push_str("</svg>\n");
    out
}

fn guard_width(arc: &Arc) -> f64 {
    let chars = guard_of(arc).map_or(0, |guard| guard.chars().count().min(GUARD_CHARS_MAX));
    f64::from(u32::try_from(chars).unwrap_or(0)) * GUARD_CHAR_WIDTH
}

fn drawn_step(index: usize, step: &Step, node: NodeBox, class: &str) -> String {
    let tools = match step.form {
        BodyForm::Single => tools_of(step),
        BodyForm::Pipeline => {
            step.tasks.iter().map(|task| task.tool.as_str()).collect::<Vec<_>>().join(" › ")
        }
    };
    let (sign, hint) = match &step.repeat {
        Some(repeat) => ("↻ ", format!("\n{}", loop_of(repeat))),
        None => ("", String::new()),
    };
    let hint = escape(&format!("{}\n{}{hint}", step.name, tools_of(step)));
    let name = escape(&cut(step.name.as_str(), NAME_CHARS_MAX));
    let tools = escape(&cut(&tools, TOOL_CHARS_MAX));
    let behind = match step.repeat {
        Some(_) => frame(node.left + 4.0, node.top - 4.0, node, class),
        None => String::new(),
    };
    format!(
        "<g id=\"step-{index}\"><title>{hint}</title>{behind}{}\
         <text class=\"name\" x=\"{x:.1}\" y=\"{:.1}\">{sign}{name}</text>\
         <text class=\"tool\" x=\"{x:.1}\" y=\"{:.1}\">{tools}</text></g>\n",
        frame(node.left, node.top, node, class),
        node.top + 20.0,
        node.top + 36.0,
        x = node.left + 12.0,
    )
}

fn frame(left: f64, top: f64, node: NodeBox, class: &str) -> String {
    format!(
        "<rect class=\"{class}\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{}\" height=\"{}\" rx=\"8\"/>",
        node.width, node.height
    )
}

fn drawn_arc(arc: &Arc, route: &ArcRoute) -> String {
    let class = if route.leads_back { "arc back" } else { "arc" };
    let mut out =
        format!("<path class=\"{class}\" marker-end=\"url(#head)\" d=\"{}\"/>\n", route.path());
    if let Some(guard) = guard_of(arc) {
        let short = escape(&cut(&guard, GUARD_CHARS_MAX));
        let full = escape(&guard);
        let (place, side) = match route.label {
            LabelPlace::EndsAt(point) => (point, "ends"),
            LabelPlace::Around(point) => (point, "around"),
        };
        writeln!(
            out,
            "<text class=\"guard {side}\" x=\"{:.1}\" y=\"{:.1}\"><title>{full}</title>{short}</text>",
            place.x, place.y
        )
        .expect("writing to a string cannot fail");
    }
    out
}

fn escape(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' => out.push('\n'),
            c if c.is_control() => out.push('\u{FFFD}'),
            c => out.push(c),
        }
    }
    out
}
