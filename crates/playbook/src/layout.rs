//! Layout of a graph: nodes in layers from left to right, with a route for every arc.
//!
//! The stages are those of Sugiyama: arcs that lead back are set aside, the others give each node a
//! layer; an arc across several layers gets a bend in each layer between; the order within a layer
//! is improved by barycentres; positions follow from blocks of aligned vertices (Brandes and Köpf).
//! Arcs that lead back run in lanes below the nodes they pass.
//!
//! Invariants: the result depends on the shape alone; no two nodes overlap; a route begins and ends
//! on the border of its nodes and crosses no other node.

mod layers;
mod order;
mod place;
mod routes;
mod shape;

use std::fmt::Write;

use layers::Layering;
use order::LayerColumns;

pub use shape::NodeSize;

/// The room around the picture.
const MARGIN: f64 = 24.0;

/// A graph to lay out. Nodes and arcs are known by their index.
#[derive(Debug, Clone)]
pub struct GraphShape {
    pub node_width: f64,
    pub node_heights: Vec<f64>,
    pub arcs: Vec<ArcShape>,
    /// The node where reading begins.
    pub entry: usize,
    /// A node without arcs that belongs at the right end.
    pub last: Option<usize>,
}

#[derive(Debug, Clone, Copy)]
pub struct ArcShape {
    pub from: usize,
    pub to: usize,
    /// The room for a label next to the arc; 0 for none.
    pub label_width: f64,
}

/// Places of nodes and routes of arcs, in the order of the shape.
#[derive(Debug, Clone, PartialEq)]
pub struct GraphLayout {
    pub nodes: Vec<NodeBox>,
    pub routes: Vec<ArcRoute>,
    pub width: f64,
    pub height: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NodeBox {
    pub left: f64,
    pub top: f64,
    pub width: f64,
    pub height: f64,
    pub layer: usize,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    pub x: f64,
    pub y: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ArcRoute {
    pub course: Course,
    /// True if the arc leads to an earlier node or to its own.
    pub leads_back: bool,
    /// From the border of the first node to the border of the second.
    pub points: Vec<Point>,
    pub label: LabelPlace,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Course {
    /// Through the layers between: curves between columns, level lines across them.
    Direct,
    /// Below the nodes between, in straight lines.
    Lane,
}

/// The place of a label: the end or the middle of its line of text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LabelPlace {
    EndsAt(Point),
    Around(Point),
}

impl NodeBox {
    pub fn right(&self) -> f64 {
        self.left + self.width
    }

    pub fn bottom(&self) -> f64 {
        self.top + self.height
    }
}

impl ArcRoute {
    /// Returns the route as the data of an SVG path.
    pub fn path(&self) -> String {
        match self.course {
            Course::Direct => curved(&self.points),
            Course::Lane => rounded(&self.points),
        }
    }
}

/// Places the nodes and routes the arcs of a graph.
pub fn layout(shape: &GraphShape) -> GraphLayout {
    let layering = Layering::of(shape);
    let columns = LayerColumns::of(shape, &layering);
    let centres = place::centres(shape, &layering, &columns);
    routes::finish(shape, &layering, &columns, centres)
}

/// Draws a curve between two columns, then a level line across a column, and so on.
fn curved(points: &[Point]) -> String {
    let mut path = String::new();
    let mut last: Option<Point> = None;
    for (index, point) in points.iter().enumerate() {
        let Point { x, y } = *point;
        match last {
            None => write!(path, "M{x:.1} {y:.1}"),
            Some(_) if index % 2 == 0 => write!(path, "H{x:.1}"),
            Some(from) => {
                let middle = f64::midpoint(from.x, x);
                write!(path, "C{middle:.1} {:.1} {middle:.1} {y:.1} {x:.1} {y:.1}", from.y)
            }
        }
        .expect("writing to a string cannot fail");
        last = Some(*point);
    }
    path
}

/// The radius of a corner.
const CORNER: f64 = 7.0;

/// Draws straight lines with rounded corners.
fn rounded(points: &[Point]) -> String {
    let mut path = String::new();
    for (index, point) in points.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|at| points.get(at));
        match (before, points.get(index + 1)) {
            (None, _) => write!(path, "M{:.1} {:.1}", point.x, point.y),
            (Some(_), None) => write!(path, "L{:.1} {:.1}", point.x, point.y),
            (Some(before), Some(after)) => {
                let (start, end) = (towards(*point, *before), towards(*point, *after));
                write!(
                    path,
                    "L{:.1} {:.1}Q{:.1} {:.1} {:.1} {:.1}",
                    start.x, start.y, point.x, point.y, end.x, end.y
                )
            }
        }
        .expect("writing to a string cannot fail");
    }
    path
}

/// Returns the place at most a corner's radius away from `from`, on the way to `to`.
fn towards(from: Point, to: Point) -> Point {
    let (x, y) = (to.x - from.x, to.y - from.y);
    let length = x.hypot(y);
    if length == 0.0 {
        return from;
    }
    let part = CORNER.min(length / 2.0) / length;
    Point { x: from.x + x * part, y: from.y + y * part }
}

#[cfg(test)]
mod tests;
