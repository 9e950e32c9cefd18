//! Layout of the graph: layers from top to bottom, boxes side by side within a layer.
//!
//! Arcs that lead back up are found first and excluded from the layering, so that all other arcs
//! lead down. An arc across several layers is routed around boxes through a bend point in each
//! layer between.

use crate::playbook::Playbook;

pub(super) const BOX_WIDTH: f64 = 190.0;
pub(super) const BOX_HEIGHT: f64 = 46.0;
const MARGIN: f64 = 24.0;
const GAP_X: f64 = 40.0;
const GAP_Y: f64 = 74.0;
/// The width reserved for a bend point, so that boxes keep clear of the arc.
const BEND_WIDTH: f64 = 24.0;
/// The most bend points; beyond that, long arcs are drawn straight.
const BENDS_MAX: usize = 4000;
/// The number of passes that improve order and position.
const SWEEPS: usize = 8;

pub(super) struct GraphLayout {
    /// The centres of the steps, then of the bend points.
    pub(super) points: Vec<Point>,
    pub(super) routes: Vec<Route>,
    pub(super) width: f64,
    pub(super) height: f64,
}

#[derive(Clone, Copy)]
pub(super) struct Point {
    pub(super) x: f64,
    pub(super) y: f64,
}

/// The route of an arc: from a step, through bend points, to a step.
pub(super) struct Route {
    pub(super) from: usize,
    /// The index of the arc in its step.
    pub(super) arc: usize,
    pub(super) to: usize,
    pub(super) via: Vec<usize>,
    pub(super) leads_back: bool,
}

pub(super) fn layout(playbook: &Playbook) -> GraphLayout {
    let steps = playbook.steps.len();
    let mut routes = find_routes(playbook);
    let mut layers = layer(playbook, steps, &mut routes);
    let mut rows: Vec<Vec<usize>> = vec![Vec::new(); layers.iter().max().map_or(0, |max| max + 1)];
    let links = bend(&mut routes, &mut layers);
    for (vertex, layer) in layers.iter().enumerate() {
        rows[*layer].push(vertex);
    }
    let neighbours = Neighbours::of(layers.len(), &links);
    for sweep in 0..SWEEPS {
        order(&mut rows, &neighbours, sweep % 2 == 0, layers.len());
    }
    let xs = spread(&rows, &neighbours, steps, layers.len());
    let left = xs.iter().copied().fold(f64::INFINITY, f64::min) - BOX_WIDTH / 2.0 - MARGIN;
    let right = xs.iter().copied().fold(f64::NEG_INFINITY, f64::max) + BOX_WIDTH / 2.0 + MARGIN;
    let room_for_back = if routes.iter().any(|route| route.leads_back) { BOX_WIDTH } else { 0.0 };
    let points =
        xs.iter().zip(&layers).map(|(x, layer)| Point { x: x - left, y: row_y(*layer) }).collect();
    let height = row_y(rows.len().saturating_sub(1)) + BOX_HEIGHT;
    GraphLayout { points, routes, width: right - left + room_for_back, height }
}

fn row_y(row: usize) -> f64 {
    let row = u32::try_from(row).unwrap_or(u32::MAX);
    BOX_HEIGHT + f64::from(row) * (BOX_HEIGHT + GAP_Y)
}

/// Returns every arc, marked if it leads back to a step on the path to it.
fn find_routes(playbook: &Playbook) -> Vec<Route> {
    #[derive(Clone, Copy, PartialEq, Eq)]
    enum Visit {
        Not,
        Open,
        Done,
    }
    let mut visits = vec![Visit::Not; playbook.steps.len()];
    let mut routes = Vec::new();
    let roots = std::iter::once(playbook.entry.0).chain(0..playbook.steps.len());
    for root in roots {
        if visits[root] != Visit::Not {
            continue;
        }
        visits[root] = Visit::Open;
        let mut path = vec![(root, 0)];
        while let Some((from, arc)) = path.last().copied() {
            let Some(target) = playbook.steps[from].next.arcs.get(arc) else {
                visits[from] = Visit::Done;
                path.pop();
                continue;
            };
            path.last_mut().expect("the path was looked at just now").1 += 1;
            let to = target.to.0;
            routes.push(Route {
                from,
                arc,
                to,
                via: Vec::new(),
                leads_back: visits[to] == Visit::Open,
            });
            if visits[to] == Visit::Not {
                visits[to] = Visit::Open;
                path.push((to, 0));
            }
        }
    }
    routes
}

/// Returns the layer of each step: below all steps that lead to it.
fn layer(playbook: &Playbook, steps: usize, routes: &mut [Route]) -> Vec<usize> {
    let mut waiting = vec![0_usize; steps];
    let mut down = vec![Vec::new(); steps];
    for route in routes.iter().filter(|route| !route.leads_back) {
        waiting[route.to] += 1;
        down[route.from].push(route.to);
    }
    let mut layers = vec![0; steps];
    let mut ready: Vec<usize> = (0..steps).filter(|step| waiting[*step] == 0).collect();
    while let Some(from) = ready.pop() {
        for to in &down[from] {
            layers[*to] = layers[*to].max(layers[from] + 1);
            waiting[*to] -= 1;
            if waiting[*to] == 0 {
                ready.push(*to);
            }
        }
    }
    let last = layers.iter().max().map_or(0, |max| max + 1);
    if let Some(step) = playbook.final_step
        && playbook.graph.predecessors(step).is_empty()
        && playbook.step(step).next.arcs.is_empty()
    {
        layers[step.0] = last;
    }
    layers
}

/// Adds a bend point in each layer that a long arc crosses; returns the links between adjacent
/// layers.
fn bend(routes: &mut [Route], layers: &mut Vec<usize>) -> Vec<(usize, usize)> {
    let crossed: usize =
        routes.iter().map(|route| layers[route.to].saturating_sub(layers[route.from] + 1)).sum();
    let mut links = Vec::new();
    for route in routes.iter_mut().filter(|route| !route.leads_back) {
        let mut last = route.from;
        if crossed <= BENDS_MAX {
            for layer in layers[route.from] + 1..layers[route.to] {
                let point = layers.len();
                layers.push(layer);
                route.via.push(point);
                links.push((last, point));
                last = point;
            }
        }
        links.push((last, route.to));
    }
    links
}

struct Neighbours {
    above: Vec<Vec<usize>>,
    below: Vec<Vec<usize>>,
}

impl Neighbours {
    fn of(vertices: usize, links: &[(usize, usize)]) -> Self {
        let mut neighbours =
            Self { above: vec![Vec::new(); vertices], below: vec![Vec::new(); vertices] };
        for (from, to) in links {
            neighbours.below[*from].push(*to);
            neighbours.above[*to].push(*from);
        }
        neighbours
    }
}

/// Sorts each row by the mean position of its neighbours, so that fewer arcs cross.
fn order(rows: &mut [Vec<usize>], neighbours: &Neighbours, downwards: bool, vertices: usize) {
    let mut at = vec![0.0; vertices];
    let number = |rows: &[usize], at: &mut Vec<f64>| {
        for (place, vertex) in (0_u32..).zip(rows) {
            at[*vertex] = f64::from(place);
        }
    };
    for row in rows.iter() {
        number(row, &mut at);
    }
    let count = rows.len();
    for step in 0..count {
        let row = if downwards { step } else { count - 1 - step };
        let look = if downwards { &neighbours.above } else { &neighbours.below };
        let key =
            |vertex: &usize| mean(look[*vertex].iter().map(|n| at[*n])).unwrap_or(at[*vertex]);
        let mut keyed: Vec<(f64, usize)> = rows[row].iter().map(|v| (key(v), *v)).collect();
        keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
        rows[row] = keyed.into_iter().map(|(_, vertex)| vertex).collect();
        number(&rows[row], &mut at);
    }
}

/// Moves each vertex towards the mean position of its neighbours as far as its row allows.
fn spread(rows: &[Vec<usize>], neighbours: &Neighbours, steps: usize, vertices: usize) -> Vec<f64> {
    let width = |vertex: usize| if vertex < steps { BOX_WIDTH } else { BEND_WIDTH };
    let gap = |a: usize, b: usize| (width(a) + width(b)) / 2.0 + GAP_X;
    let mut xs = vec![0.0; vertices];
    for row in rows {
        for pair in row.windows(2) {
            xs[pair[1]] = xs[pair[0]] + gap(pair[0], pair[1]);
        }
        let middle = row.last().map_or(0.0, |last| xs[*last] / 2.0);
        row.iter().for_each(|vertex| xs[*vertex] -= middle);
    }
    for sweep in 0..SWEEPS {
        for index in 0..rows.len() {
            let row = &rows[if sweep % 2 == 0 { index } else { rows.len() - 1 - index }];
            let wish = |vertex: usize| {
                let near = neighbours.above[vertex].iter().chain(&neighbours.below[vertex]);
                mean(near.map(|n| xs[*n])).unwrap_or(xs[vertex])
            };
            let wishes: Vec<f64> = row.iter().map(|vertex| wish(*vertex)).collect();
            let (mut right, mut left) = (wishes.clone(), wishes);
            for i in 1..row.len() {
                right[i] = right[i].max(right[i - 1] + gap(row[i - 1], row[i]));
            }
            for i in (1..row.len()).rev() {
                left[i - 1] = left[i - 1].min(left[i] - gap(row[i - 1], row[i]));
            }
            for (i, vertex) in row.iter().enumerate() {
                xs[*vertex] = (left[i] + right[i]) / 2.0;
            }
        }
    }
    xs
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    (count > 0.0).then(|| sum / count)
}
