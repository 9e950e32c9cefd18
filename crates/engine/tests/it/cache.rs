//! Tests of `cache`: commands that reuse the output of an earlier command.

use noetl_engine::{CachedOutput, Effect, effects_of, evolve, replay};
use noetl_model::{
    CacheKey, CommandCache, CommandId, Event, ExecutionId, IndexChange, IndexKind, Payload,
    ReusedOutput, Timestamp,
};
use noetl_testkit::{Story, StoryOptions};
use serde_json::json;

use crate::playbook;

const ORIGIN: ReusedOutput = ReusedOutput {
    execution: ExecutionId(5),
    command: CommandId(1),
    completed_at: Timestamp::from_millis(1_799_999_000_000),
};

const CUSTOMER: &str = "
  - {step: start, tool: {kind: noop}, next: {arcs: [{step: fetch}]}}
  - step: fetch
    cache: {key: '{{ workload.customer }}', ttl: 1h}
    tool: {kind: http, url: 'http://crm/{{ workload.customer }}'}
    next: {arcs: [{step: end}]}
  - {step: end, tool: {kind: noop}}
";

fn begun(text: &str, customer: &str) -> Story {
    let workload = format!("workload: {{customer: {customer}, customers: [a, b, a]}}\nworkflow:");
    Story::begin(&playbook(&format!("{workload}{text}")), StoryOptions::default())
}

/// Returns the caches of the issued commands.
fn caches(story: &Story) -> Vec<CommandCache> {
    let issued = story.log.iter().filter_map(|recorded| {
        let Event::CommandIssued { cache, .. } = &recorded.event else { return None };
        cache.clone()
    });
    issued.collect()
}

fn key_of(text: &str, customer: &str) -> CacheKey {
    let mut story = begun(text, customer);
    caches(story.run())[0].key
}

/// Returns the commands whose outputs the log adds to the cache.
fn kept(story: &Story) -> Vec<CommandId> {
    let mut state =
        replay(Story::EXECUTION, story.log[..1].to_vec()).expect("legal").expect("begun");
    let mut kept = Vec::new();
    for recorded in &story.log[1..] {
        kept.extend(effects_of(&state, recorded).into_iter().filter_map(|effect| {
            let Effect::Index(IndexChange::Add { entry, .. }) = effect else { return None };
            entry.command.filter(|_| entry.kind == IndexKind::CachedOutput)
        }));
        evolve(&mut state, recorded).expect("legal");
    }
    kept
}

/// Checks that a playbook with an earlier output completes and returns the number of claims.
#[track_caller]
fn claims_with_output(text: &str, customer: &str) -> usize {
    let key = key_of(text, "a");
    let mut story = begun(text, customer);
    story
        .cached
        .insert(key, CachedOutput { origin: ORIGIN, output: Payload::inline(json!({"n": 1})) });
    story.run();
    let replayed = replay(Story::EXECUTION, story.log.clone()).expect("a legal log");
    assert_eq!(replayed.as_ref(), Some(&story.state));
    story.log.iter().filter(|it| matches!(it.event, Event::CommandClaimed { .. })).count()
}

#[test]
fn a_command_without_an_earlier_output_runs_and_its_output_is_kept() {
    let mut story = begun(CUSTOMER, "a");
    story.run();
    assert_eq!(caches(&story).iter().map(|cache| cache.reused).collect::<Vec<_>>(), [None]);
    assert_eq!(kept(&story), [CommandId(1)]);
}

#[test]
fn an_earlier_output_is_reused_by_the_same_key_only() {
    assert_eq!(claims_with_output(CUSTOMER, "a"), 2);
    assert_eq!(claims_with_output(CUSTOMER, "b"), 3);
    let key = key_of(CUSTOMER, "a");
    let mut story = begun(CUSTOMER, "a");
    story
        .cached
        .insert(key, CachedOutput { origin: ORIGIN, output: Payload::inline(json!({"n": 1})) });
    story.run();
    assert_eq!(caches(&story)[0].reused, Some(ORIGIN));
    assert_eq!(story.output("fetch"), json!({"n": 1}));
    assert_eq!(kept(&story), [], "an output that was reused does not become younger");
}

#[test]
fn a_changed_step_has_another_key() {
    let changed = CUSTOMER.replace("http://crm/", "http://crm/v2/");
    assert_ne!(key_of(CUSTOMER, "a"), key_of(&changed, "a"));
    let renamed = CUSTOMER.replace("fetch", "load");
    assert_ne!(key_of(CUSTOMER, "a"), key_of(&renamed, "a"));
    let older = CUSTOMER.replace("1h", "2h");
    assert_eq!(key_of(CUSTOMER, "a"), key_of(&older, "a"));
}

#[test]
fn a_step_that_a_rule_fails_keeps_nothing() {
    let failing = CUSTOMER.replace(
        "    next: {arcs: [{step: end}]}",
        "      spec: {policy: {rules: [{else: {then: {do: fail}}}]}}",
    );
    let failing = failing.replace(
        "    tool: {kind: http, url: 'http://crm/{{ workload.customer }}'}",
        "    tool:\n      kind: http\n      url: 'http://crm/{{ workload.customer }}'",
    );
    let mut story = begun(&failing, "a");
    story.run();
    assert_eq!(caches(&story).len(), 1);
    assert_eq!(kept(&story), []);
}

#[test]
fn a_missing_value_in_the_key_fails_the_step() {
    let unknown =
        CUSTOMER.replace("key: '{{ workload.customer }}'", "key: '{{ workload.misspelt }}'");
    let mut story = begun(&unknown, "a");
    story.run();
    let history = story.history();
    assert!(history.contains("misspelt"), "{history}");
    assert_eq!(kept(&story), []);
}

const LOOP: &str = "
  - {step: start, tool: {kind: noop}, next: {arcs: [{step: fetch}]}}
  - step: fetch
    loop: {in: '{{ workload.customers }}', iterator: customer}
    cache: {key: '{{ customer }}', ttl: 1h}
    tool: {kind: http, url: 'http://crm/{{ customer }}'}
";

#[test]
fn each_item_of_a_loop_is_looked_up() {
    let mut story = begun(LOOP, "a");
    story.run();
    let keys: Vec<CacheKey> = caches(&story).iter().map(|cache| cache.key).collect();
    assert_eq!(keys.len(), 3);
    assert!(keys[0] == keys[2] && keys[0] != keys[1]);
    assert_eq!(kept(&story).len(), 3);
    // Two of the three items reuse it.
    assert_eq!(claims_with_output(LOOP, "a"), 2);
}

#[test]
fn a_loop_in_which_everything_is_reused_is_not_one_decision() {
    let many = LOOP
        .replace("'{{ workload.customers }}'", "'{{ range(200) | list }}'")
        .replace("key: '{{ customer }}'", "key: same");
    let claims = claims_with_output(&many, "a");
    // One item in 65 runs, and so does the first step.
    assert!((2..=6).contains(&claims), "{claims}");
}
