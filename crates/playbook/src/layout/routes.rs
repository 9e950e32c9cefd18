//! The last stage: columns get their horizontal place, arcs their ports, lanes and points.

use super::layers::{ArcCourse, Layering};
use super::order::{LayerColumns, as_f64};
use super::place::{SELF_ARC_LABEL_ROOM, SELF_ARC_ROOM, rooms_below};
use super::{ArcRoute, Course, GraphLayout, GraphShape, LabelPlace, MARGIN, NodeBox, Point};

const COLUMN_GAP: f64 = 56.0;
/// The room of a label beyond its text: the curve before it and the head after it.
const LABEL_ROOM: f64 = 40.0;
/// The distance between parallel lines of lanes.
const LANE_GAP: f64 = 10.0;
/// The distance between the lowest node and the first lane, which holds a label.
const LANE_START: f64 = 18.0;
/// The distance between a column and the first vertical line beside it.
const LANE_OUT: f64 = 12.0;
const PORT_GAP: f64 = 13.0;
/// The part of a node's side at each end that has no ports.
const PORT_MARGIN: f64 = 9.0;

/// Builds the layout from the layers and the vertical centres.
pub(super) fn finish(
    shape: &GraphShape,
    layering: &Layering,
    columns: &LayerColumns,
    centres: Vec<f64>,
) -> GraphLayout {
    let lanes = Lanes::of(shape, layering);
    let lefts = column_lefts(shape, layering, &lanes);
    let nodes: Vec<NodeBox> = shape
        .node_heights
        .iter()
        .enumerate()
        .map(|(node, height)| NodeBox {
            left: lefts[layering.layers[node]],
            top: centres[node] - height / 2.0,
            width: shape.node_width,
            height: *height,
            layer: layering.layers[node],
        })
        .collect();
    let drawing = Drawing { shape, layering, columns, lanes: &lanes, lefts: &lefts, nodes: &nodes };
    let mut routes = drawing.direct_routes(&centres);
    drawing.add_lanes(&centres, &mut routes);
    let routes = routes.into_iter().map(|it| it.expect("every arc has a course")).collect();
    moved_to_origin(GraphLayout { nodes, routes, width: 0.0, height: 0.0 })
}

/// The arcs that run below the nodes, shortest first, and their vertical lines beside columns.
struct Lanes {
    arcs: Vec<usize>,
    /// The number of vertical lines after each column.
    after: Vec<usize>,
    /// The number of vertical lines before each column.
    before: Vec<usize>,
}

impl Lanes {
    fn of(shape: &GraphShape, layering: &Layering) -> Self {
        let layers = layering.layer_count();
        let span = |arc: usize| {
            let (from, to) = (shape.arcs[arc].from, shape.arcs[arc].to);
            layering.layers[from].abs_diff(layering.layers[to])
        };
        let mut arcs: Vec<usize> = (0..shape.arcs.len())
            .filter(|arc| match layering.courses[*arc] {
                ArcCourse::Back | ArcCourse::Ahead => true,
                ArcCourse::Direct(_) | ArcCourse::Same => false,
            })
            .collect();
        arcs.sort_by_key(|arc| (span(*arc), *arc));
        let (mut before, mut after) = (vec![0; layers], vec![0; layers]);
        for arc in &arcs {
            after[layering.layers[shape.arcs[*arc].from]] += 1;
            before[layering.layers[shape.arcs[*arc].to]] += 1;
        }
        Self { arcs, after, before }
    }
}

/// Returns the left edge of each column.
fn column_lefts(shape: &GraphShape, layering: &Layering, lanes: &Lanes) -> Vec<f64> {
    let count = layering.layer_count();
    let mut gaps = vec![COLUMN_GAP; count];
    for (arc, course) in shape.arcs.iter().zip(&layering.courses) {
        if let (ArcCourse::Direct(_), true) = (course, arc.label_width > 0.0) {
            let gap = &mut gaps[layering.layers[arc.from]];
            *gap = gap.max(arc.label_width + LABEL_ROOM);
        }
    }
    let mut left = 0.0;
    let mut lefts = Vec::with_capacity(count);
    for layer in 0..count {
        if layer > 0 {
            let lines = lanes.after[layer - 1] + lanes.before[layer];
            let beside = if lines > 0 { LANE_OUT + as_f64(lines) * LANE_GAP } else { 0.0 };
            left += shape.node_width + gaps[layer - 1].max(COLUMN_GAP + beside);
        }
        lefts.push(left);
    }
    lefts
}

struct Drawing<'a> {
    shape: &'a GraphShape,
    layering: &'a Layering,
    columns: &'a LayerColumns,
    lanes: &'a Lanes,
    lefts: &'a [f64],
    nodes: &'a [NodeBox],
}

impl Drawing<'_> {
    /// Routes the arcs that run through the layers; the others are `None`.
    fn direct_routes(&self, centres: &[f64]) -> Vec<Option<ArcRoute>> {
        let (starts, ends) = self.ports(centres);
        let mut routes = Vec::with_capacity(self.shape.arcs.len());
        for (index, arc) in self.shape.arcs.iter().enumerate() {
            let ArcCourse::Direct(via) = &self.layering.courses[index] else {
                routes.push(None);
                continue;
            };
            let mut points = vec![Point { x: self.nodes[arc.from].right(), y: starts[index] }];
            for bend in via {
                let left = self.lefts[self.layering.layers[*bend]];
                points.push(Point { x: left, y: centres[*bend] });
                points.push(Point { x: left + self.shape.node_width, y: centres[*bend] });
            }
            points.push(Point { x: self.nodes[arc.to].left, y: ends[index] });
            let label = Point { x: points[1].x - 10.0, y: points[1].y - 5.0 };
            routes.push(Some(ArcRoute {
                course: Course::Direct,
                leads_back: false,
                points,
                label: LabelPlace::EndsAt(label),
            }));
        }
        routes
    }

    /// Returns where each arc leaves and enters the sides of its nodes, in the order of the vertices
    /// it leads to and comes from.
    fn ports(&self, centres: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let arcs = self.shape.arcs.len();
        let (mut starts, mut ends) = (vec![0.0; arcs], vec![0.0; arcs]);
        let nodes = self.nodes.len();
        let (mut leaving, mut entering) = (vec![Vec::new(); nodes], vec![Vec::new(); nodes]);
        for (index, arc) in self.shape.arcs.iter().enumerate() {
            if let ArcCourse::Direct(via) = &self.layering.courses[index] {
                leaving[arc.from].push((via.first().copied().unwrap_or(arc.to), index));
                entering[arc.to].push((via.last().copied().unwrap_or(arc.from), index));
            }
        }
        for node in 0..nodes {
            for (side, found) in
                [(&mut leaving[node], &mut starts), (&mut entering[node], &mut ends)]
            {
                side.sort_by_key(|(vertex, arc)| (self.columns.places[*vertex], *arc));
                let room = self.nodes[node].height - 2.0 * PORT_MARGIN;
                let between = as_f64(side.len().saturating_sub(1).max(1));
                let gap = PORT_GAP.min(room / between);
                let first = centres[node] - gap * as_f64(side.len().saturating_sub(1)) / 2.0;
                for (place, (_, arc)) in side.iter().enumerate() {
                    found[*arc] = first + gap * as_f64(place);
                }
            }
        }
        (starts, ends)
    }

    /// Routes the arcs below the nodes, and those of a node to itself.
    fn add_lanes(&self, centres: &[f64], routes: &mut [Option<ArcRoute>]) {
        let mut floors = vec![f64::NEG_INFINITY; self.lefts.len()];
        for (vertex, layer) in self.layering.layers.iter().enumerate() {
            floors[*layer] = floors[*layer].max(centres[vertex]);
        }
        let rooms = rooms_below(self.shape);
        for (node, room) in self.nodes.iter().zip(rooms) {
            floors[node.layer] = floors[node.layer].max(node.bottom() + room);
        }
        floors.iter_mut().for_each(|floor| *floor += LANE_START - LANE_GAP);
        self.add_self_arcs(routes);
        let (mut after, mut before) = (vec![0; floors.len()], vec![0; floors.len()]);
        for index in &self.lanes.arcs {
            let arc = self.shape.arcs[*index];
            let (from, to) = (self.nodes[arc.from], self.nodes[arc.to]);
            let span = from.layer.min(to.layer)..=from.layer.max(to.layer);
            let label = if arc.label_width > 0.0 { LANE_GAP } else { 0.0 };
            let floor = floors[span.clone()].iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let lane = floor + LANE_GAP + label;
            floors[span].iter_mut().for_each(|floor| *floor = lane);
            let out = from.right() + LANE_OUT + as_f64(after[from.layer]) * LANE_GAP;
            let back = to.left - LANE_OUT - as_f64(before[to.layer]) * LANE_GAP;
            after[from.layer] += 1;
            before[to.layer] += 1;
            let (leave, enter) = (from.bottom() - PORT_MARGIN, to.bottom() - PORT_MARGIN);
            let points = vec![
                Point { x: from.right(), y: leave },
                Point { x: out, y: leave },
                Point { x: out, y: lane },
                Point { x: back, y: lane },
                Point { x: back, y: enter },
                Point { x: to.left, y: enter },
            ];
            routes[*index] = Some(ArcRoute {
                course: Course::Lane,
                leads_back: self.layering.courses[*index].leads_back(),
                points,
                label: LabelPlace::Around(Point { x: f64::midpoint(out, back), y: lane - 4.0 }),
            });
        }
    }

    fn add_self_arcs(&self, routes: &mut [Option<ArcRoute>]) {
        let mut used = vec![0.0; self.nodes.len()];
        for (index, arc) in self.shape.arcs.iter().enumerate() {
            if arc.from != arc.to {
                continue;
            }
            let node = self.nodes[arc.from];
            let label = if arc.label_width > 0.0 { SELF_ARC_LABEL_ROOM } else { 0.0 };
            let lane = node.bottom() + used[arc.from] + SELF_ARC_ROOM - 4.0;
            let inset = (26.0 + used[arc.from] / 2.0).min(node.width / 2.0 - 8.0);
            used[arc.from] += SELF_ARC_ROOM + label;
            let (right, left) = (node.right() - inset, node.left + inset);
            let points = vec![
                Point { x: right, y: node.bottom() },
                Point { x: right, y: lane },
                Point { x: left, y: lane },
                Point { x: left, y: node.bottom() },
            ];
            let middle = Point { x: f64::midpoint(left, right), y: lane + 12.0 };
            routes[index] = Some(ArcRoute {
                course: Course::Lane,
                leads_back: true,
                points,
                label: LabelPlace::Around(middle),
            });
        }
    }
}

/// Moves everything so that the picture begins at the origin, and measures it.
fn moved_to_origin(mut layout: GraphLayout) -> GraphLayout {
    let corners = layout.nodes.iter().flat_map(|node| {
        [Point { x: node.left, y: node.top }, Point { x: node.right(), y: node.bottom() }]
    });
    let labels = layout.routes.iter().map(|route| match route.label {
        LabelPlace::EndsAt(point) | LabelPlace::Around(point) => point,
    });
    let on_routes = layout.routes.iter().flat_map(|route| route.points.iter().copied());
    let all: Vec<Point> = corners.chain(on_routes).chain(labels).collect();
    let low = |of: fn(&Point) -> f64| all.iter().map(of).fold(f64::INFINITY, f64::min);
    let high = |of: fn(&Point) -> f64| all.iter().map(of).fold(f64::NEG_INFINITY, f64::max);
    if all.is_empty() {
        return layout;
    }
    let (left, top) = (low(|it| it.x) - MARGIN, low(|it| it.y) - MARGIN);
    layout.width = high(|it| it.x) - left + MARGIN;
    layout.height = high(|it| it.y) - top + MARGIN;
    for node in &mut layout.nodes {
        node.left -= left;
        node.top -= top;
    }
    let shifted = |point: Point| Point { x: point.x - left, y: point.y - top };
    for route in &mut layout.routes {
        route.points.iter_mut().for_each(|point| *point = shifted(*point));
        route.label = match route.label {
            LabelPlace::EndsAt(point) => LabelPlace::EndsAt(shifted(point)),
            LabelPlace::Around(point) => LabelPlace::Around(shifted(point)),
        };
    }
    layout
}
