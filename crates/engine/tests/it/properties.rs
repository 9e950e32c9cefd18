//! Property tests on random step graphs: an execution ends or reports open work, its log replays to
//! its state, and decisions are deterministic.

use std::fmt::Write as _;

use noetl_engine::{CommandResult, Execution, Input, begin, evolve, replay};
use noetl_model::{Event, ExecutionId, Payload, Recorded};
use noetl_testkit::{Story, StoryOptions};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::json;

use crate::playbook;

/// The largest number of steps in a graph.
const STEPS_MAX: usize = 30;
/// The event limit of an execution, which ends unbounded cycles.
const EVENTS_MAX: u64 = 300;

#[derive(Debug, Clone)]
struct Graph {
    lenient: bool,
    steps: Vec<Node>,
}

#[derive(Debug, Clone)]
struct Node {
    work: Work,
    /// The guard of the step; the step is skipped if it does not hold.
    when: Guard,
    inclusive: bool,
    arcs: Vec<(Index, Guard)>,
}

/// The work of a step.
#[derive(Debug, Clone)]
enum Work {
    Plain,
    /// Counts in `ctx.n`, which guards read.
    Count,
    Fail,
    Retry {
        times: u32,
        delay: u32,
    },
    Loop {
        items: u32,
        in_flight: u32,
        fails: bool,
    },
    Pipeline,
    Timeout,
    Child,
}

#[derive(Debug, Clone, Copy)]
enum Guard {
    None,
    Under(u32),
    Failed,
    Never,
    /// Cannot be evaluated.
    Broken,
}

fn guards() -> impl Strategy<Value = Guard> {
    prop_oneof![
        6 => Just(Guard::None),
        6 => (0u32..12).prop_map(Guard::Under),
        2 => Just(Guard::Failed),
        1 => Just(Guard::Never),
        1 => Just(Guard::Broken),
    ]
}

fn works() -> impl Strategy<Value = Work> {
    prop_oneof![
        4 => Just(Work::Plain),
        6 => Just(Work::Count),
        1 => Just(Work::Fail),
        2 => (0u32..4, 0u32..3).prop_map(|(times, delay)| Work::Retry { times, delay }),
        2 => (0u32..5, 1u32..4, prop::bool::weighted(0.2))
            .prop_map(|(items, in_flight, fails)| Work::Loop { items, in_flight, fails }),
        1 => Just(Work::Pipeline),
        1 => Just(Work::Timeout),
        1 => Just(Work::Child),
    ]
}

prop_compose! {
    fn nodes()(
        work in works(),
        when in prop_oneof![9 => Just(Guard::None), 1 => guards()],
        inclusive in any::<bool>(),
        arcs in prop::collection::vec((any::<Index>(), guards()), 0..4),
    ) -> Node {
        Node { work, when, inclusive, arcs }
    }
}

prop_compose! {
    fn graphs()(
        lenient in prop::bool::weighted(0.2),
        steps in prop::collection::vec(nodes(), 1..=STEPS_MAX),
    ) -> Graph {
        Graph { lenient, steps }
    }
}

impl Graph {
    fn yaml(&self) -> String {
        let mode = if self.lenient { "lenient" } else { "strict" };
        let mut text = format!("executor: {{spec: {{error_mode: {mode}}}}}\nworkflow:\n");
        for (index, node) in self.steps.iter().enumerate() {
            node.write(&mut text, index, self.steps.len());
        }
        playbook(&text)
    }
}

impl Node {
    fn write(&self, text: &mut String, index: usize, steps: usize) {
        let mut line = |line: String| writeln!(text, "{line}").expect("a text grows");
        line(format!("  - step: {}", name(index)));
        if let Some(when) = self.when.yaml() {
            line(format!("    when: {when}"));
        }
        line(format!("    {}", self.work.yaml()));
        if self.arcs.is_empty() {
            return;
        }
        let arcs = self.arcs.iter().map(|(target, guard)| {
            let target = name(target.index(steps));
            match guard.yaml() {
                None => format!("{{step: {target}}}"),
                Some(when) => format!("{{step: {target}, when: {when}}}"),
            }
        });
        let arcs: Vec<String> = arcs.collect();
        let mode = if self.inclusive { "inclusive" } else { "exclusive" };
        line(format!("    next: {{spec: {{mode: {mode}}}, arcs: [{}]}}", arcs.join(", ")));
    }
}

fn name(index: usize) -> String {
    if index == 0 { "start".to_owned() } else { format!("s{index}") }
}

impl Guard {
    fn yaml(self) -> Option<String> {
        match self {
            Guard::None => None,
            Guard::Under(bound) => Some(format!("'{{{{ (ctx.n | default(0)) < {bound} }}}}'")),
            Guard::Failed => Some("'{{ event.name == \"step.failed\" }}'".to_owned()),
            Guard::Never => Some("'{{ 1 > 2 }}'".to_owned()),
            Guard::Broken => Some("'{{ 1 + {} }}'".to_owned()),
        }
    }
}

impl Work {
    fn yaml(&self) -> String {
        match self {
            Work::Plain => "tool: {kind: noop}".to_owned(),
            Work::Count => "tool: {kind: noop, result: '{{ (ctx.n | default(0)) + 1 }}'}\n    \
                            set: {ctx.n: '{{ output }}'}"
                .to_owned(),
            Work::Fail => "tool: {kind: noop, fail: broken}".to_owned(),
            Work::Retry { times, delay } => format!(
                "tool: {{kind: noop, fail: {{times: {times}}}, \
                 retry: {{max_attempts: 3, delay: {delay}}}}}"
            ),
            Work::Loop { items, in_flight, fails } => {
                let fail = if *fails { ", fail: {times: 1}" } else { "" };
                format!(
                    "loop: {{in: {items}, iterator: it, \
                     spec: {{mode: parallel, max_in_flight: {in_flight}}}}}\n    \
                     tool: {{kind: noop, result: '{{{{ it }}}}'{fail}}}"
                )
            }
            Work::Pipeline => "tool: [{name: a, kind: noop, set: {x: 1}}, {name: b, kind: noop, \
                               spec: {policy: {rules: [{else: {then: {do: break}}}]}}}]"
                .to_owned(),
            Work::Timeout => "spec: {timeout: 3}\n    tool: {kind: noop}".to_owned(),
            Work::Child => "tool: {kind: playbook, path: child}".to_owned(),
        }
    }
}

/// Runs a graph; `choose` selects the next of the ready commands.
fn told(graph: &Graph, mut choose: impl FnMut(usize) -> usize) -> Story {
    let options = StoryOptions { events_max: EVENTS_MAX, ..StoryOptions::default() };
    let mut story = Story::begin(&graph.yaml(), options);
    story.run_choosing(&mut choose);
    while let Some(command) = story.next_child() {
        assert!(story.state.has_open_work(), "it says what it waits for");
        let output = Payload::inline(json!({ "from": "a child" }));
        let ended = CommandResult::Completed { output };
        let child = ExecutionId(99);
        story.tell(&Input::ChildStarted { command, child }).expect("the command is open");
        story.tell(&Input::ChildEnded { command, ended }).expect("the command is open");
        story.run_choosing(&mut choose);
    }
    story
}

fn assert_sound(story: &Story) {
    assert!(story.status().is_terminal(), "nothing is open:\n{}", story.history());
    let ends = story.log.iter().filter(|recorded| {
        matches!(
            recorded.event,
            Event::ExecutionCompleted { .. }
                | Event::ExecutionFailed { .. }
                | Event::ExecutionCancelled { .. }
        )
    });
    assert_eq!(ends.count(), 1, "one end:\n{}", story.history());
    let replayed = replay(Story::EXECUTION, story.log.clone()).expect("a legal log");
    assert_eq!(replayed.as_ref(), Some(&story.state));
}

/// Returns the state of a fold that is saved after `cut` events, loaded and continued.
fn resumed(log: &[Recorded], cut: usize) -> Execution {
    let (first, rest) = log.split_first().expect("a log begins");
    let mut state = begin(Story::EXECUTION, first).expect("a legal start");
    for (index, recorded) in rest.iter().enumerate() {
        if index == cut {
            let saved = serde_json::to_vec(&state).expect("a state has a stored form");
            state = serde_json::from_slice(&saved).expect("a state that was saved");
        }
        evolve(&mut state, recorded).expect("a legal log");
    }
    state
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_graph_ends_once_and_its_log_is_its_state(graph in graphs(), cut in any::<Index>()) {
        let story = told(&graph, |_| 0);
        assert_sound(&story);
        let state = resumed(&story.log, cut.index(story.log.len()));
        prop_assert_eq!(&state, &story.state, "saved and read again on the way");
    }

    #[test]
    fn any_graph_ends_in_every_order_of_reports(
        graph in graphs(),
        order in prop::collection::vec(any::<Index>(), 1..20),
    ) {
        let in_order = || {
            let mut order = order.iter().cycle();
            told(&graph, |ready| order.next().expect("it never ends").index(ready))
        };
        let story = in_order();
        assert_sound(&story);
        prop_assert_eq!(&story.log, &in_order().log, "the same again");
    }
}
