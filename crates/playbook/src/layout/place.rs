//! The vertical position of each vertex, after Brandes and Köpf, "Fast and simple horizontal
//! coordinate assignment".
//!
//! Vertices are aligned with their median neighbour into blocks, in four ways: with the layer before
//! or after, and from above or from below. Each way is packed densely; the middle of the four is the
//! result. Links between bends are never bent where two of them do not cross.

use super::GraphShape;
use super::layers::Layering;
use super::order::LayerColumns;

const NODE_GAP: f64 = 30.0;
const BEND_GAP: f64 = 16.0;
/// The room that an arc leading back to its own node takes below it, with and without a label.
pub(super) const SELF_ARC_ROOM: f64 = 18.0;
pub(super) const SELF_ARC_LABEL_ROOM: f64 = 14.0;

/// One of the four ways: which neighbours are aligned with, and from which end.
#[derive(Clone, Copy)]
struct Way {
    with_before: bool,
    from_above: bool,
}

const WAYS: [Way; 4] = [
    Way { with_before: true, from_above: true },
    Way { with_before: true, from_above: false },
    Way { with_before: false, from_above: true },
    Way { with_before: false, from_above: false },
];

/// Returns the room of each node below its box.
pub(super) fn rooms_below(shape: &GraphShape) -> Vec<f64> {
    let mut rooms = vec![0.0; shape.node_heights.len()];
    for arc in shape.arcs.iter().filter(|arc| arc.from == arc.to) {
        let label = if arc.label_width > 0.0 { SELF_ARC_LABEL_ROOM } else { 0.0 };
        rooms[arc.from] += SELF_ARC_ROOM + label;
    }
    rooms
}

/// Returns the vertical centre of each vertex; the first is at 0 or below.
pub(super) fn centres(shape: &GraphShape, layering: &Layering, columns: &LayerColumns) -> Vec<f64> {
    let rooms = rooms_below(shape);
    let extents = Extents { shape, rooms: &rooms };
    let bent = conflicts(shape.node_heights.len(), columns);
    let mut found: Vec<Vec<f64>> = WAYS
        .iter()
        .map(|way| packed(*way, &blocks(*way, columns, &bent), columns, &extents))
        .collect();
    level(&mut found);
    let middle = |vertex: usize| {
        let mut four = [0, 1, 2, 3].map(|way| found[way][vertex]);
        four.sort_by(f64::total_cmp);
        f64::midpoint(four[1], four[2])
    };
    (0..layering.layers.len()).map(middle).collect()
}

/// The extent of a vertex above and below its centre.
struct Extents<'a> {
    shape: &'a GraphShape,
    rooms: &'a [f64],
}

impl Extents<'_> {
    /// Returns the least distance between the centres of a vertex and the one below it.
    fn distance(&self, upper: usize, lower: usize) -> f64 {
        let is_node = |vertex: usize| vertex < self.shape.node_heights.len();
        let half = |vertex: usize| self.shape.node_heights.get(vertex).map_or(0.0, |it| it / 2.0);
        let room = self.rooms.get(upper).copied().unwrap_or(0.0);
        let gap = if is_node(upper) && is_node(lower) { NODE_GAP } else { BEND_GAP };
        half(upper) + room + gap + half(lower)
    }
}

/// Finds the links that cross a link between two bends; only the latter stay straight.
fn conflicts(nodes: usize, columns: &LayerColumns) -> std::collections::BTreeSet<(usize, usize)> {
    let mut found = std::collections::BTreeSet::new();
    for pair in columns.columns.windows(2) {
        let (left, right) = (&pair[0], &pair[1]);
        let straight = |vertex: usize| {
            let before = columns.before[vertex].first().copied();
            before.filter(|it| vertex >= nodes && *it >= nodes)
        };
        let (mut low, mut done) = (0, 0);
        for (place, vertex) in right.iter().enumerate() {
            let inner = straight(*vertex).map(|it| columns.places[it]);
            if inner.is_none() && place + 1 != right.len() {
                continue;
            }
            let high = inner.unwrap_or(left.len().saturating_sub(1));
            for other in &right[done..=place] {
                for from in &columns.before[*other] {
                    let at = columns.places[*from];
                    if (at < low || high < at) && straight(*other) != Some(*from) {
                        found.insert((*from, *other));
                    }
                }
            }
            (low, done) = (high, place + 1);
        }
    }
    found
}

/// Returns the first vertex of the block of each vertex.
fn blocks(
    way: Way,
    columns: &LayerColumns,
    bent: &std::collections::BTreeSet<(usize, usize)>,
) -> Vec<usize> {
    let vertices = columns.places.len();
    let mut roots: Vec<usize> = (0..vertices).collect();
    let mut is_followed = vec![false; vertices];
    let count = columns.columns.len();
    for step in 0..count {
        let column = &columns.columns[if way.with_before { step } else { count - 1 - step }];
        let near = if way.with_before { &columns.before } else { &columns.after };
        let mut limit: Option<usize> = None;
        for index in 0..column.len() {
            let vertex = column[if way.from_above { index } else { column.len() - 1 - index }];
            for other in medians(&near[vertex], way.from_above) {
                let link = if way.with_before { (other, vertex) } else { (vertex, other) };
                let place = columns.places[other];
                let is_free = match limit {
                    None => true,
                    Some(limit) if way.from_above => limit < place,
                    Some(limit) => place < limit,
                };
                if is_free && !is_followed[other] && !bent.contains(&link) {
                    is_followed[other] = true;
                    roots[vertex] = roots[other];
                    limit = Some(place);
                    break;
                }
            }
        }
    }
    roots
}

/// Returns the neighbour in the middle, or the two in the middle.
fn medians(near: &[usize], from_above: bool) -> impl Iterator<Item = usize> {
    let (low, high) = match near.len() {
        0 => (None, None),
        count => (near.get((count - 1) / 2), near.get(count / 2).filter(|_| count % 2 == 0)),
    };
    let (first, second) = if from_above || high.is_none() { (low, high) } else { (high, low) };
    first.into_iter().chain(second).copied()
}

/// Packs the blocks: each as far towards the end of the way as the others allow.
fn packed(way: Way, roots: &[usize], columns: &LayerColumns, extents: &Extents<'_>) -> Vec<f64> {
    let mut next: Vec<Vec<(usize, f64)>> = vec![Vec::new(); roots.len()];
    let mut pending = vec![0_usize; roots.len()];
    for column in &columns.columns {
        for pair in column.windows(2) {
            let (upper, lower) = (roots[pair[0]], roots[pair[1]]);
            let distance = extents.distance(pair[0], pair[1]);
            let (first, second) = if way.from_above { (upper, lower) } else { (lower, upper) };
            next[first].push((second, distance));
            pending[second] += 1;
        }
    }
    let mut order: Vec<usize> =
        (0..roots.len()).filter(|root| roots[*root] == *root && pending[*root] == 0).collect();
    let mut at = vec![0.0_f64; roots.len()];
    let mut done = 0;
    while let Some(block) = order.get(done).copied() {
        done += 1;
        for (other, distance) in &next[block] {
            at[*other] = at[*other].max(at[block] + distance);
            pending[*other] -= 1;
            if pending[*other] == 0 {
                order.push(*other);
            }
        }
    }
    // A block without a reason to be at its end moves towards its neighbours.
    for block in order.iter().rev() {
        let nearest = next[*block].iter().map(|(other, distance)| at[*other] - distance);
        let nearest = nearest.fold(f64::INFINITY, f64::min);
        if nearest.is_finite() {
            at[*block] = at[*block].max(nearest);
        }
    }
    let sign = if way.from_above { 1.0 } else { -1.0 };
    roots.iter().map(|root| sign * at[*root]).collect()
}

/// Moves each of the four results to the narrowest one: those from above to its upper end, the
/// others to its lower end.
fn level(found: &mut [Vec<f64>]) {
    let ends = |at: &[f64]| {
        let low = at.iter().copied().fold(f64::INFINITY, f64::min);
        let high = at.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        (low, high)
    };
    let narrowest =
        found.iter().map(|at| ends(at)).min_by(|a, b| (a.1 - a.0).total_cmp(&(b.1 - b.0)));
    let Some((low, high)) = narrowest else { return };
    for (at, way) in found.iter_mut().zip(WAYS) {
        let (first, last) = ends(at);
        let shift = if way.from_above { low - first } else { high - last };
        at.iter_mut().for_each(|it| *it += shift);
    }
}
