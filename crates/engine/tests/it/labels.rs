//! Labels and actors of executions.

use noetl_engine::{
    ATTEMPTS_MAX, Decision, DecisionArgs, EVENTS_MAX, Effect, Effort, Input, Loaded, RUNS_MAX,
    Refusal, StartInput, effects_of, replay, start,
};
use noetl_model::{
    Actor, CatalogId, ChildExecutions, Event, ExecutionStatus, IndexChange, Labels, PlaybookRef,
    Timestamp,
};
use noetl_testkit::{Story, StoryOptions};
use serde_json::{Map, Value, json};

/// Returns a playbook with labels, as YAML on one line.
fn playbook(labels: &str) -> String {
    format!(
        "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {{name: t, labels: {labels}}}\n\
         workload: {{customer: acme, list: [1]}}\nworkflow:\n  - step: start\n    tool: {{kind: noop}}\n"
    )
}

fn labels(value: Value) -> Labels {
    serde_json::from_value(value).expect("labels")
}

/// Returns the labels of a start, or the reason of its refusal.
fn of_start(
    yaml: &str,
    inherited: Value,
    requested: Value,
    payload: Value,
) -> Result<Value, String> {
    let checked = noetl_playbook::parse("t.yaml", yaml.as_bytes()).expect("a playbook");
    let Value::Object(payload) = payload else { panic!("a map") };
    let mut input = StartInput::new(payload);
    (input.inherited, input.labels) = (labels(inherited), labels(requested));
    let loaded = Loaded::default();
    let given = DecisionArgs {
        playbook: &checked.playbook,
        now: Timestamp::from_millis(1_800_000_000_000),
        loaded: &loaded,
        effort: Effort::Whole,
        runs_max: RUNS_MAX,
        events_max: EVENTS_MAX,
        attempts_max: ATTEMPTS_MAX,
        fork_changes: None,
    };
    let reference = PlaybookRef { catalog_id: CatalogId(1), path: "t".into(), version: 1 };
    match start(Story::EXECUTION, &reference, &input, given).expect("nothing is missing") {
        Decision::Accepted(events) => match events.into_iter().next() {
            Some(Event::ExecutionStarted { labels, .. }) => Ok(json!(labels)),
            other => panic!("{other:?}"),
        },
        Decision::Refused { refusal: Refusal::Labels(reason), .. } => Err(reason),
        Decision::Refused { refusal, .. } => panic!("{refusal}"),
    }
}

#[track_caller]
fn check(yaml: &str, expected: Result<Value, &str>) {
    let found = of_start(yaml, json!({}), json!({}), json!({}));
    assert_eq!(found, expected.map_err(str::to_owned), "{yaml}");
}

#[test]
fn labels_of_a_playbook_are_rendered_at_the_start() {
    let both = "{team: ops, customer: '{{ workload.customer }}', n: 7, on: true}";
    let expected = json!({"team": "ops", "customer": "acme", "n": "7", "on": "true"});
    check(&playbook(both), Ok(expected));
    check(&playbook("{total: '{{ workload.list | length }}'}"), Ok(json!({"total": "1"})));
    check(&playbook("{gone: '{{ none }}'}"), Ok(json!({})));
}

#[test]
fn a_label_that_renders_to_no_scalar_refuses_the_start() {
    check(
        &playbook("{customer: '{{ workload.list }}'}"),
        Err("the value of label `customer` is a list; a text, a number or a boolean is needed"),
    );
    let long = of_start(
        &playbook("{customer: '{{ workload.customer }}'}"),
        json!({}),
        json!({}),
        json!({"customer": "x".repeat(201)}),
    );
    assert_eq!(
        long,
        Err("the value of label `customer` has 201 bytes; 200 are allowed".to_owned())
    );
}

#[test]
fn the_request_replaces_the_playbook_and_the_playbook_the_parent() {
    let found = of_start(
        &playbook("{b: playbook, c: playbook}"),
        json!({"a": "parent", "b": "parent", "c": "parent"}),
        json!({"c": "request", "d": "request"}),
        json!({}),
    );
    let expected = json!({"a": "parent", "b": "playbook", "c": "request", "d": "request"});
    assert_eq!(found, Ok(expected));
}

#[test]
fn together_there_are_no_more_labels_than_allowed() {
    let many: Map<String, Value> = (0..32).map(|n| (format!("k{n}"), json!("v"))).collect();
    let yaml = playbook("{one: more}");
    let found = of_start(&yaml, Value::Object(many), json!({}), json!({}));
    assert_eq!(found, Err("33 labels; an execution has at most 32".to_owned()));
}

#[test]
fn index_entries_follow_the_status_and_events_name_the_actor() {
    let ada = Actor::new("ada").expect("a name");
    let options = StoryOptions {
        labels: labels(json!({"team": "ops"})),
        actor: Some(ada.clone()),
        ..StoryOptions::default()
    };
    let checked = noetl_playbook::parse("t.yaml", playbook("{}").as_bytes()).expect("a playbook");
    let mut story = Story::of(checked.playbook, options);
    let keys = |effects: Vec<Effect>| -> Vec<String> {
        let key = |effect| {
            let Effect::Index(change) = effect else { return None };
            Some(match change {
                IndexChange::Add { entry, .. } => format!("+{}", entry.key),
                IndexChange::Remove { entry } => format!("-{}", entry.key),
            })
        };
        effects.into_iter().filter_map(key).collect()
    };
    let first = noetl_engine::begin(Story::EXECUTION, &story.log[0]).expect("a start");
    let expected = ["+team:ops RUNNING", "+ops RUNNING", "+ada RUNNING"];
    assert_eq!(keys(effects_of(&first, &story.log[0])), expected);
    let before = story.state.clone();
    let bob = Actor::new("bob").expect("a name");
    let below = ChildExecutions::Cancelled;
    let cancel = Input::Cancel { reason: "enough".into(), below, actor: Some(bob.clone()) };
    story.tell(&cancel).expect("it runs");
    let last = story.log.last().expect("an event");
    assert_eq!(last.event.actor(), Some(&bob));
    let expected = [
        "-team:ops RUNNING",
        "-ops RUNNING",
        "-ada RUNNING",
        "+team:ops CANCELLED",
        "+ops CANCELLED",
        "+ada CANCELLED",
        "+cancelled CANCELLED",
        "+enough CANCELLED",
    ];
    assert_eq!(keys(effects_of(&before, last)), expected);
    let summary = story.state.summary();
    assert_eq!((summary.status, summary.actor), (ExecutionStatus::Cancelled, Some(ada)));
    let folded = replay(Story::EXECUTION, story.log.iter().cloned()).expect("a legal log");
    assert_eq!(folded, Some(story.state));
}
