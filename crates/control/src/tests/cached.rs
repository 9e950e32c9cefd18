//! Tests of `cache`: outputs that later executions reuse.

use noetl_model::{Event, ReusedOutput};
use serde_json::json;

use super::*;

const CACHED: &str = "
workload: {customer: a}
workflow:
  - step: start
    cache: {key: '{{ workload.customer }}', ttl: 1h}
    tool: {kind: http, url: 'http://crm/{{ workload.customer }}'}
";

fn customer(name: &str) -> Map<String, Value> {
    json!({ "customer": name }).as_object().expect("a map").clone()
}

/// Runs an execution whose worker reports `output`, and returns the origin of its output.
async fn run(plane: &Running, name: &str, output: Value) -> (ExecutionId, Option<ReusedOutput>) {
    let execution = start_with(&plane.control, customer(name)).await;
    let reused = reused(&plane.control, execution).await;
    if reused.is_none() {
        let leased = lease(&plane.control, "w", 10).await.pop().expect("a command");
        plane.control.report(report(&leased, "w", completed(output))).await.expect("an answer");
    }
    assert_eq!(ended(&plane.control, execution).await, Some(ExecutionStatus::Completed));
    (execution, reused)
}

async fn reused(control: &Control, execution: ExecutionId) -> Option<ReusedOutput> {
    log(control, execution).await.iter().find_map(|recorded| {
        let Event::CommandIssued { cache, .. } = &recorded.event else { return None };
        cache.as_ref().and_then(|cache| cache.reused)
    })
}

async fn output(control: &Control, execution: ExecutionId) -> Value {
    let log = log(control, execution).await;
    let output = log.iter().find_map(|recorded| {
        let Event::CommandCompleted { output, .. } = &recorded.event else { return None };
        Some(output.clone())
    });
    let output = control.resolve(execution, &output.expect("it has completed")).await;
    (*output.expect("it is stored")).clone()
}

#[tokio::test(start_paused = true)]
async fn an_output_is_reused_until_it_is_too_old() {
    let plane = World::new().running();
    register(&plane.control, CACHED).await;
    let (first, origin) = run(&plane, "a", json!({ "n": 1 })).await;
    assert_eq!(origin, None);
    let (second, origin) = run(&plane, "a", json!({ "n": 2 })).await;
    assert_eq!(origin.map(|origin| origin.execution), Some(first));
    assert_eq!(output(&plane.control, second).await, json!({ "n": 1 }));
    assert_eq!(run(&plane, "b", json!({ "n": 3 })).await.1, None);
    tokio::time::sleep(Duration::from_secs(3601)).await;
    let (third, origin) = run(&plane, "a", json!({ "n": 4 })).await;
    assert_eq!(origin, None);
    let (_, origin) = run(&plane, "a", json!({ "n": 5 })).await;
    assert_eq!(origin.map(|origin| origin.execution), Some(third));
    plane.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_large_output_is_reused_by_another_server() {
    let world = World::new();
    let plane = world.running();
    register(&plane.control, CACHED).await;
    let large = json!("x".repeat(100_000));
    let (first, _) = run(&plane, "a", large.clone()).await;
    plane.stop().await;
    let plane = world.running();
    let (second, origin) = run(&plane, "a", json!(0)).await;
    assert_eq!(origin.map(|origin| origin.execution), Some(first));
    assert_eq!(output(&plane.control, second).await, large);
    plane.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_failed_command_is_not_reused() {
    let plane = World::new().running();
    register(&plane.control, CACHED).await;
    start_with(&plane.control, customer("a")).await;
    let leased = lease(&plane.control, "w", 10).await.pop().expect("a command");
    let error = noetl_model::ToolError::new(noetl_model::ErrorKind::Timeout, "no answer");
    let failed = Outcome::Failed { error, output: None };
    plane.control.report(report(&leased, "w", failed)).await.expect("an answer");
    assert_eq!(run(&plane, "a", json!(1)).await.1, None);
    plane.stop().await;
}

/// The end of the item is found in a long log.
#[tokio::test(start_paused = true)]
async fn an_item_of_a_long_loop_is_reused_by_its_key() {
    let text = "
workload: {customers: []}
workflow:
  - step: start
    loop: {in: '{{ workload.customers }}', iterator: customer}
    cache: {key: '{{ customer }}', ttl: 1h}
    tool: {kind: http, url: 'http://crm/{{ customer }}'}
";
    let plane = World::new().running();
    register(&plane.control, text).await;
    let customers = |count: u32| json!({ "customers": (0..count).collect::<Vec<u32>>() });
    let all = customers(700).as_object().expect("a map").clone();
    let first = start_with(&plane.control, all).await;
    while ended(&plane.control, first).await.is_none() {
        for leased in lease(&plane.control, "w", 10).await {
            let done = completed(json!({ "command": leased.command.0 }));
            plane.control.report(report(&leased, "w", done)).await.expect("an answer");
        }
    }
    let few = json!({ "customers": [650, 300, 3] }).as_object().expect("a map").clone();
    let second = start_with(&plane.control, few).await;
    assert_eq!(ended(&plane.control, second).await, Some(ExecutionStatus::Completed));
    let log = log(&plane.control, second).await;
    let outputs: Vec<Value> = log
        .iter()
        .filter_map(|recorded| {
            let Event::CommandCompleted { output, .. } = &recorded.event else { return None };
            output.as_inline().map(|value| (**value).clone())
        })
        .collect();
    assert_eq!(outputs, [650, 300, 3].map(|command| json!({ "command": command })));
    plane.stop().await;
}
