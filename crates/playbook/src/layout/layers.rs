//! The layer of each node, and the bends of arcs that cross several layers.

use super::GraphShape;

/// The most bends; the longest arcs beyond them run below the nodes instead.
const BENDS_MAX: usize = 40_000;

/// Nodes and bends (the vertices) with their layers, and the links between adjacent layers.
pub(super) struct Layering {
    /// The layer of each vertex: nodes first, then bends.
    pub(super) layers: Vec<usize>,
    pub(super) links: Vec<LayerLink>,
    pub(super) courses: Vec<ArcCourse>,
    /// The nodes in the order of a depth-first walk from the entry.
    pub(super) walk: Vec<usize>,
}

/// A link from a vertex to one in the next layer.
#[derive(Debug, Clone, Copy)]
pub(super) struct LayerLink {
    pub(super) from: usize,
    pub(super) to: usize,
}

/// The course of an arc, in vertices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ArcCourse {
    /// To a later layer, through these bends.
    Direct(Vec<usize>),
    /// Below the nodes, to a later layer.
    Ahead,
    /// Below the nodes, to an earlier layer.
    Back,
    /// To its own node.
    Same,
}

impl ArcCourse {
    pub(super) fn leads_back(&self) -> bool {
        match self {
            ArcCourse::Back | ArcCourse::Same => true,
            ArcCourse::Direct(_) | ArcCourse::Ahead => false,
        }
    }
}

impl Layering {
    pub(super) fn of(shape: &GraphShape) -> Self {
        let nodes = shape.node_heights.len();
        let (mut courses, walk) = find_back_arcs(shape, nodes);
        let mut layers = layers_of(shape, nodes, &courses);
        let links = bend(shape, &mut courses, &mut layers);
        Self { layers, links, courses, walk }
    }

    pub(super) fn layer_count(&self) -> usize {
        self.layers.iter().max().map_or(0, |last| last + 1)
    }
}

/// Returns the outgoing arcs of each node, in the order of the shape.
fn outgoing(shape: &GraphShape, nodes: usize) -> Vec<Vec<usize>> {
    let mut out = vec![Vec::new(); nodes];
    for (arc, it) in shape.arcs.iter().enumerate() {
        out[it.from].push(arc);
    }
    out
}

/// Walks the graph depth first from the entry. An arc to a node that is still open leads back.
fn find_back_arcs(shape: &GraphShape, nodes: usize) -> (Vec<ArcCourse>, Vec<usize>) {
    #[derive(Clone, Copy, PartialEq, Eq)]
    enum Visit {
        Not,
        Open,
        Done,
    }
    let out = outgoing(shape, nodes);
    let mut visits = vec![Visit::Not; nodes];
    let mut courses = vec![ArcCourse::Direct(Vec::new()); shape.arcs.len()];
    let mut walk = Vec::with_capacity(nodes);
    let roots = std::iter::once(shape.entry).filter(|entry| *entry < nodes).chain(0..nodes);
    for root in roots {
        if visits[root] != Visit::Not {
            continue;
        }
        let mut path = vec![(root, 0)];
        visits[root] = Visit::Open;
        walk.push(root);
        while let Some((node, next)) = path.last_mut() {
            let Some(arc) = out[*node].get(*next).copied() else {
                visits[*node] = Visit::Done;
                path.pop();
                continue;
            };
            *next += 1;
            let to = shape.arcs[arc].to;
            if to == *node {
                courses[arc] = ArcCourse::Same;
            } else if visits[to] == Visit::Open {
                courses[arc] = ArcCourse::Back;
            } else if visits[to] == Visit::Not {
                visits[to] = Visit::Open;
                walk.push(to);
                path.push((to, 0));
            }
        }
    }
    (courses, walk)
}

/// Returns the layer of each node: to the right of all nodes that lead to it.
fn layers_of(shape: &GraphShape, nodes: usize, courses: &[ArcCourse]) -> Vec<usize> {
    let mut pending = vec![0_usize; nodes];
    let mut next = vec![Vec::new(); nodes];
    for (arc, course) in shape.arcs.iter().zip(courses) {
        if !course.leads_back() {
            pending[arc.to] += 1;
            next[arc.from].push(arc.to);
        }
    }
    let mut layers = vec![0; nodes];
    let mut ready: Vec<usize> = (0..nodes).filter(|node| pending[*node] == 0).collect();
    while let Some(from) = ready.pop() {
        for to in &next[from] {
            layers[*to] = layers[*to].max(layers[from] + 1);
            pending[*to] -= 1;
            if pending[*to] == 0 {
                ready.push(*to);
            }
        }
    }
    let end = layers.iter().max().map_or(0, |last| last + 1);
    let is_alone = |node: usize| shape.arcs.iter().all(|arc| arc.from != node && arc.to != node);
    if let Some(last) = shape.last.filter(|last| nodes > 1 && is_alone(*last)) {
        layers[last] = end;
    }
    layers
}

/// Adds a bend to each layer that an arc crosses; the longest arcs run below the nodes if there
/// would be too many.
fn bend(shape: &GraphShape, courses: &mut [ArcCourse], layers: &mut Vec<usize>) -> Vec<LayerLink> {
    let crossed = |arc: usize, layers: &[usize]| {
        layers[shape.arcs[arc].to].saturating_sub(layers[shape.arcs[arc].from] + 1)
    };
    let mut ahead: Vec<usize> =
        (0..courses.len()).filter(|arc| !courses[*arc].leads_back()).collect();
    ahead.sort_by_key(|arc| crossed(*arc, layers));
    let mut links = Vec::new();
    let mut bends = 0;
    for arc in ahead {
        let (from, to) = (shape.arcs[arc].from, shape.arcs[arc].to);
        bends += crossed(arc, layers);
        if bends > BENDS_MAX {
            courses[arc] = ArcCourse::Ahead;
            continue;
        }
        let mut via = Vec::new();
        let mut last = from;
        for layer in layers[from] + 1..layers[to] {
            let vertex = layers.len();
            layers.push(layer);
            via.push(vertex);
            links.push(LayerLink { from: last, to: vertex });
            last = vertex;
        }
        links.push(LayerLink { from: last, to });
        courses[arc] = ArcCourse::Direct(via);
    }
    links
}
