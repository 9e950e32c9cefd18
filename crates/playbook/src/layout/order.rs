//! The order of vertices within each layer: few crossings, and as close to the order of the
//! document as that permits.

use super::GraphShape;
use super::layers::Layering;

/// The most passes over all layers.
const SWEEPS_MAX: usize = 16;
/// The number of passes without improvement after which the search ends.
const PATIENCE: usize = 4;

/// The vertices of each layer from top to bottom, and their neighbours.
pub(super) struct LayerColumns {
    pub(super) columns: Vec<Vec<usize>>,
    /// The place of each vertex in its column.
    pub(super) places: Vec<usize>,
    /// The neighbours of each vertex in the layer before.
    pub(super) before: Vec<Vec<usize>>,
    /// The neighbours of each vertex in the layer after.
    pub(super) after: Vec<Vec<usize>>,
}

impl LayerColumns {
    pub(super) fn of(shape: &GraphShape, layering: &Layering) -> Self {
        let vertices = layering.layers.len();
        let (mut before, mut after) = (vec![Vec::new(); vertices], vec![Vec::new(); vertices]);
        for link in &layering.links {
            after[link.from].push(link.to);
            before[link.to].push(link.from);
        }
        let mut found = Self { columns: Vec::new(), places: vec![0; vertices], before, after };
        found.columns = found.first_order(shape, layering);
        found.number();
        found.improve();
        for vertex in 0..vertices {
            let places = &found.places;
            found.before[vertex].sort_by_key(|it| places[*it]);
            found.after[vertex].sort_by_key(|it| places[*it]);
        }
        found
    }

    /// Orders each layer as a depth-first walk meets its vertices: a tree has no crossings then.
    fn first_order(&self, shape: &GraphShape, layering: &Layering) -> Vec<Vec<usize>> {
        let mut columns = vec![Vec::new(); layering.layer_count()];
        let mut seen = vec![false; layering.layers.len()];
        let mut after = vec![Vec::new(); layering.layers.len()];
        // The links of a node in the order of its arcs, not by length.
        for (arc, course) in shape.arcs.iter().zip(&layering.courses) {
            if let super::layers::ArcCourse::Direct(via) = course {
                after[arc.from].push(via.first().copied().unwrap_or(arc.to));
            }
        }
        let nodes = shape.node_heights.len();
        after[nodes..].clone_from_slice(&self.after[nodes..]);
        for root in &layering.walk {
            let mut open = vec![*root];
            while let Some(vertex) = open.pop() {
                if !std::mem::replace(&mut seen[vertex], true) {
                    columns[layering.layers[vertex]].push(vertex);
                    open.extend(after[vertex].iter().rev());
                }
            }
        }
        columns
    }

    fn number(&mut self) {
        for column in &self.columns {
            for (place, vertex) in column.iter().enumerate() {
                self.places[*vertex] = place;
            }
        }
    }

    /// Sorts by barycentres, forwards and backwards, and keeps the order with the fewest crossings.
    fn improve(&mut self) {
        let mut fewest = self.crossings();
        let mut best = self.columns.clone();
        let mut in_vain = 0;
        for sweep in 0..SWEEPS_MAX {
            if fewest == 0 || in_vain == PATIENCE {
                break;
            }
            self.sweep(sweep % 2 == 0);
            let crossings = self.crossings();
            if crossings < fewest {
                (fewest, in_vain) = (crossings, 0);
                best.clone_from(&self.columns);
            } else {
                in_vain += 1;
            }
        }
        self.columns = best;
        self.number();
    }

    fn sweep(&mut self, forwards: bool) {
        let count = self.columns.len();
        for step in 0..count {
            let index = if forwards { step } else { count - 1 - step };
            let near = if forwards { &self.before } else { &self.after };
            let key = |vertex: usize| {
                let places = near[vertex].iter().map(|it| as_f64(self.places[*it]));
                mean(places).unwrap_or(as_f64(self.places[vertex]))
            };
            let mut keyed: Vec<(f64, usize)> =
                self.columns[index].iter().map(|vertex| (key(*vertex), *vertex)).collect();
            keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
            for (place, (_, vertex)) in keyed.into_iter().enumerate() {
                self.columns[index][place] = vertex;
                self.places[vertex] = place;
            }
        }
    }

    /// Counts the pairs of links that cross.
    fn crossings(&self) -> u64 {
        let mut total = 0;
        for pair in self.columns.windows(2) {
            let mut tree = PlaceCounts::new(pair[1].len());
            for vertex in &pair[0] {
                let mut ends: Vec<usize> =
                    self.after[*vertex].iter().map(|it| self.places[*it]).collect();
                ends.sort_unstable();
                total += ends.iter().map(|end| tree.above(*end)).sum::<u64>();
                ends.iter().for_each(|end| tree.add(*end));
            }
        }
        total
    }
}

/// Counts of places, with sums of all above a place in logarithmic time (Fenwick).
struct PlaceCounts {
    tree: Vec<u64>,
    total: u64,
}

impl PlaceCounts {
    fn new(places: usize) -> Self {
        Self { tree: vec![0; places + 1], total: 0 }
    }

    fn add(&mut self, place: usize) {
        self.total += 1;
        let mut at = place + 1;
        while at < self.tree.len() {
            self.tree[at] += 1;
            at += at & at.wrapping_neg();
        }
    }

    /// Returns the number of added places greater than `place`.
    fn above(&self, place: usize) -> u64 {
        let mut at = place + 1;
        let mut up_to = 0;
        while at > 0 {
            up_to += self.tree[at];
            at -= at & at.wrapping_neg();
        }
        self.total - up_to
    }
}

pub(super) fn as_f64(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    (count > 0.0).then(|| sum / count)
}
