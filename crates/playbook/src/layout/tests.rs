use proptest::prelude::*;

use super::*;

fn shape(nodes: usize, arcs: &[(usize, usize)]) -> GraphShape {
    GraphShape {
        node_width: 100.0,
        node_heights: (0..nodes).map(|node| if node % 3 == 0 { 60.0 } else { 40.0 }).collect(),
        arcs: arcs
            .iter()
            .map(|(from, to)| ArcShape {
                from: *from,
                to: *to,
                label_width: if (from + to) % 2 == 0 { 0.0 } else { 80.0 },
            })
            .collect(),
        entry: 0,
        last: None,
    }
}

/// Checks the invariants of a layout.
#[track_caller]
pub(crate) fn check_layout(shape: &GraphShape) -> GraphLayout {
    let layout = layout(shape);
    for (index, a) in layout.nodes.iter().enumerate() {
        assert!(a.left >= 0.0 && a.top >= 0.0);
        assert!(a.right() <= layout.width && a.bottom() <= layout.height);
        for b in &layout.nodes[..index] {
            let apart = a.right() <= b.left
                || b.right() <= a.left
                || a.bottom() <= b.top
                || b.bottom() <= a.top;
            assert!(apart, "two nodes overlap: {a:?} {b:?}");
        }
    }
    for (arc, route) in shape.arcs.iter().zip(&layout.routes) {
        let (from, to) = (layout.nodes[arc.from], layout.nodes[arc.to]);
        let (first, last) = (route.points[0], route.points[route.points.len() - 1]);
        assert!(on_border(from, first), "{first:?} is not on the border of {from:?}");
        assert!(on_border(to, last), "{last:?} is not on the border of {to:?}");
        if !route.leads_back {
            assert!(from.layer < to.layer);
        }
        check_clear(&layout, route);
    }
    layout
}

fn on_border(node: NodeBox, point: Point) -> bool {
    let near = |a: f64, b: f64| (a - b).abs() < 0.01;
    let within_y = (node.top..=node.bottom()).contains(&point.y);
    let within_x = (node.left..=node.right()).contains(&point.x);
    let side = near(point.x, node.left) || near(point.x, node.right());
    (side && within_y) || (near(point.y, node.bottom()) && within_x)
}

/// Checks that no stretch of a route is inside a node. A curve stays within the corners of its ends.
#[track_caller]
fn check_clear(layout: &GraphLayout, route: &ArcRoute) {
    for pair in route.points.windows(2) {
        let (low_x, high_x) = (pair[0].x.min(pair[1].x), pair[0].x.max(pair[1].x));
        let (low_y, high_y) = (pair[0].y.min(pair[1].y), pair[0].y.max(pair[1].y));
        for node in &layout.nodes {
            let inside = low_x < node.right() - 0.01
                && node.left + 0.01 < high_x
                && low_y < node.bottom() - 0.01
                && node.top + 0.01 < high_y;
            assert!(!inside, "{pair:?} is inside {node:?}");
        }
    }
}

/// Counts the pairs of direct routes whose ends are in opposite order in two adjacent layers.
fn crossings(layout: &GraphLayout) -> usize {
    let curves: Vec<(Point, Point)> = layout
        .routes
        .iter()
        .filter(|route| route.course == Course::Direct)
        .flat_map(|route| route.points.chunks(2).map(|pair| (pair[0], pair[1])))
        .collect();
    let mut found = 0;
    for (index, a) in curves.iter().enumerate() {
        for b in &curves[..index] {
            let same_gap = a.0.x == b.0.x && a.1.x == b.1.x;
            let opposite = (a.0.y - b.0.y) * (a.1.y - b.1.y) < 0.0;
            found += usize::from(same_gap && opposite);
        }
    }
    found
}

#[test]
fn a_chain_is_a_straight_line() {
    let layout = check_layout(&shape(4, &[(0, 1), (1, 2), (2, 3)]));
    for route in &layout.routes {
        assert!((route.points[0].y - route.points[1].y).abs() < 0.01);
    }
}

#[test]
fn branches_and_their_join_do_not_cross() {
    let layout = check_layout(&shape(6, &[(0, 1), (0, 2), (0, 3), (1, 4), (2, 4), (3, 5), (4, 5)]));
    assert_eq!(crossings(&layout), 0);
    let centre = |node: usize| layout.nodes[node].top + layout.nodes[node].height / 2.0;
    assert!(centre(1) < centre(2) && centre(2) < centre(3), "branches keep their order");
}

#[test]
fn an_arc_to_an_earlier_step_runs_below_the_steps() {
    let layout = check_layout(&shape(3, &[(0, 1), (1, 2), (2, 0), (1, 1)]));
    let bottom = layout.nodes.iter().map(NodeBox::bottom).fold(0.0, f64::max);
    assert!(layout.routes[2].leads_back && layout.routes[3].leads_back);
    assert!(layout.routes[2].points[2].y > bottom);
    assert!(layout.routes[2].points[2].y > layout.routes[3].points[1].y);
}

#[test]
fn a_graph_without_nodes_is_empty() {
    let layout = layout(&shape(0, &[]));
    assert!(layout.nodes.is_empty() && layout.width == 0.0);
}

#[test]
fn more_bends_than_the_maximum_are_replaced_by_lanes() {
    let nodes = 500;
    let mut arcs: Vec<(usize, usize)> = (1..nodes).map(|to| (to - 1, to)).collect();
    arcs.extend((0..200).map(|from| (from, nodes - 1 - from)));
    let layout = layout(&shape(nodes, &arcs));
    let lanes = layout.routes.iter().filter(|route| route.course == Course::Lane).count();
    assert!(0 < lanes && lanes < 200, "{lanes}");
    assert!(layout.routes.iter().all(|route| !route.leads_back));
}

fn graphs() -> impl Strategy<Value = GraphShape> {
    (1_usize..30).prop_flat_map(|nodes| {
        proptest::collection::vec((0..nodes, 0..nodes), 0..60)
            .prop_map(move |arcs| shape(nodes, &arcs))
    })
}

proptest! {
    #[test]
    fn no_node_overlaps_and_every_arc_meets_its_nodes(shape in graphs()) {
        let first = check_layout(&shape);
        prop_assert_eq!(first, layout(&shape));
    }

    /// A step appended behind another moves no other step to another layer.
    #[test]
    fn a_new_step_at_the_end_changes_no_layer(shape in graphs(), at in any::<prop::sample::Index>()) {
        let before = layout(&shape);
        let mut longer = shape.clone();
        let node = shape.node_heights.len();
        longer.node_heights.push(40.0);
        longer.arcs.push(ArcShape { from: at.index(node), to: node, label_width: 0.0 });
        let after = check_layout(&longer);
        for (old, new) in before.nodes.iter().zip(&after.nodes) {
            prop_assert_eq!(old.layer, new.layer);
        }
    }
}
