//! Draws steps and arcs as an SVG picture.

use std::fmt::Write;

use crate::playbook::{BodyForm, Playbook};

use super::layout::{BOX_HEIGHT, BOX_WIDTH, GraphLayout, Point, Route, layout};
use super::{cut, guard_of, loop_of, tools_of};

/// The most characters of a label that fit.
const NAME_CHARS_MAX: usize = 24;
const TOOL_CHARS_MAX: usize = 28;
const GUARD_CHARS_MAX: usize = 34;

const STYLE: &str = "\
svg{font:12px system-ui,sans-serif;--ink:#1f2933;--soft:#64748b;--paper:#fff;--box:#f5f7fa;--line:#94a3b8;--mark:#2563eb}\
@media(prefers-color-scheme:dark){svg{--ink:#e2e8f0;--soft:#94a3b8;--paper:#0f172a;--box:#1e293b;--line:#64748b;--mark:#60a5fa}}\
.box{fill:var(--box);stroke:var(--line)}.entry{stroke:var(--mark);stroke-width:2}\
.name{fill:var(--ink);font-weight:600}.tool{fill:var(--soft);font-size:11px}\
.arc{fill:none;stroke:var(--line);stroke-width:1.4}.back{stroke-dasharray:5 4}\
.guard{fill:var(--soft);font-size:10.5px;paint-order:stroke;stroke:var(--paper);stroke-width:4px}\
.head{fill:var(--line)}text{text-anchor:middle}.side{text-anchor:start}";

/// Returns a self-contained picture: no script, no link, all text escaped.
pub fn svg(playbook: &Playbook) -> String {
    let layout = layout(playbook);
    let (width, height) = (layout.width.ceil(), layout.height.ceil());
    let title = escape(&playbook.metadata.path);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" role=\"img\" aria-label=\"{title}\">\n<title>{title}</title>\n\
         <style>{STYLE}</style>\n<defs><marker id=\"head\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" \
         markerWidth=\"8\" markerHeight=\"8\" orient=\"auto\"><path class=\"head\" d=\"M0 0L8 4L0 8z\"/>\
         </marker></defs>\n"
    );
    for route in &layout.routes {
        out.push_str(&arc(playbook, &layout, route));
    }
    for (index, place) in layout.points.iter().take(playbook.steps.len()).enumerate() {
        out.push_str(&step(playbook, index, *place));
    }
    out.push_str("</svg>\n");
    out
}

fn step(playbook: &Playbook, index: usize, place: Point) -> String {
    let step = &playbook.steps[index];
    let (left, top) = (place.x - BOX_WIDTH / 2.0, place.y - BOX_HEIGHT / 2.0);
    let class = if index == playbook.entry.0 { "box entry" } else { "box" };
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
    let behind =
        if step.repeat.is_some() { frame(left + 4.0, top - 4.0, class) } else { String::new() };
    format!(
        "<g id=\"step-{index}\"><title>{hint}</title>{behind}{}\
         <text class=\"name\" x=\"{:.1}\" y=\"{:.1}\">{sign}{name}</text>\
         <text class=\"tool\" x=\"{:.1}\" y=\"{:.1}\">{tools}</text></g>\n",
        frame(left, top, class),
        place.x,
        place.y - 3.0,
        place.x,
        place.y + 14.0,
    )
}

fn frame(left: f64, top: f64, class: &str) -> String {
    format!(
        "<rect class=\"{class}\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{BOX_WIDTH}\" height=\"{BOX_HEIGHT}\" rx=\"8\"/>"
    )
}

fn arc(playbook: &Playbook, layout: &GraphLayout, route: &Route) -> String {
    let (from, to) = (layout.points[route.from], layout.points[route.to]);
    let (path, label, class) = if route.leads_back {
        let (path, label) = back_path(from, to, edge_between(layout, from, to));
        (path, label, "arc back")
    } else {
        let via = route.via.iter().map(|point| layout.points[*point]);
        let (path, label) = down_path(from, via, to);
        (path, label, "arc")
    };
    let mut out = format!("<path class=\"{class}\" marker-end=\"url(#head)\" d=\"{path}\"/>\n");
    let guard = playbook.steps[route.from].next.arcs.get(route.arc).and_then(guard_of);
    if let Some(guard) = guard {
        let short = escape(&cut(&guard, GUARD_CHARS_MAX));
        let full = escape(&guard);
        let (x, y) = (label.x, label.y);
        let side = if route.leads_back { " side" } else { "" };
        writeln!(
            out,
            "<text class=\"guard{side}\" x=\"{x:.1}\" y=\"{y:.1}\"><title>{full}</title>{short}</text>"
        )
        .expect("writing to a string cannot fail");
    }
    out
}

/// Returns a path from the bottom of a box through points to the top of another, and the label's
/// place.
fn down_path(from: Point, via: impl Iterator<Item = Point>, to: Point) -> (String, Point) {
    let mut last = Point { x: from.x, y: from.y + BOX_HEIGHT / 2.0 };
    let mut path = format!("M{:.1} {:.1}", last.x, last.y);
    let mut label = None;
    for next in via.chain([Point { x: to.x, y: to.y - BOX_HEIGHT / 2.0 }]) {
        let middle = (last.y + next.y) / 2.0;
        write!(
            path,
            "C{:.1} {middle:.1} {:.1} {middle:.1} {:.1} {:.1}",
            last.x, next.x, next.x, next.y
        )
        .expect("writing to a string cannot fail");
        label.get_or_insert(Point { x: last.x * 0.35 + next.x * 0.65, y: middle + 8.0 });
        last = next;
    }
    (path, label.unwrap_or(to))
}

/// Returns the right edge of the boxes between two points.
fn edge_between(layout: &GraphLayout, from: Point, to: Point) -> f64 {
    let rows = to.y..=from.y;
    let between = layout.points.iter().filter(|place| rows.contains(&place.y));
    between.map(|place| place.x).fold(from.x.max(to.x), f64::max) + BOX_WIDTH / 2.0
}

/// Returns a path around the right side of `edge`, back up or to the step itself, and the label's
/// place.
fn back_path(from: Point, to: Point, edge: f64) -> (String, Point) {
    let right = BOX_WIDTH / 2.0;
    let out = edge + 46.0;
    let (lower, upper) = (from.y + 8.0, to.y - 8.0);
    let path = format!(
        "M{:.1} {lower:.1}C{out:.1} {lower:.1} {out:.1} {upper:.1} {:.1} {upper:.1}",
        from.x + right,
        to.x + right,
    );
    // A curve with both control points at `out` reaches three quarters of that distance.
    let x = (from.x + to.x + 2.0 * right) / 8.0 + out * 0.75;
    (path, Point { x: x + 5.0, y: (lower + upper) / 2.0 + 4.0 })
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
