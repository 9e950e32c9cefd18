//! Tests of `cache`: outputs that later executions reuse.

use std::collections::BTreeSet;
use std::sync::Mutex;

use noetl_model::{Event, ReusedOutput};
use noetl_store::{Access, Append, AppendError, EventLog as _, StoreError, Wrapper};
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

/// A store that notes which execution stored which large values.
struct OwnerStore {
    store: Arc<MemoryStore>,
    owned: Mutex<BTreeSet<(ExecutionId, Digest)>>,
}

impl Wrapper for OwnerStore {
    type Inner = MemoryStore;

    fn inner(&self) -> &MemoryStore {
        &self.store
    }

    async fn call<T: Send>(
        &self,
        _access: Access,
        answer: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        answer.await
    }

    async fn append(&self, batch: &[Append]) -> Result<Vec<Result<(), AppendError>>, StoreError> {
        let stored = batch.iter().flat_map(|append| {
            append.payloads.iter().map(|(digest, _)| (append.execution, *digest))
        });
        self.owned.lock().expect("no panic").extend(stored);
        self.store.append(batch).await
    }
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

/// Asserts that an execution has stored every large output of its commands.
async fn assert_owns_outputs(store: &OwnerStore, control: &Control, execution: ExecutionId) {
    let mut count = 0;
    for recorded in log(control, execution).await {
        if let Event::CommandCompleted { output: Payload::Ref(reference), .. } = recorded.event {
            let owned = store.owned.lock().expect("no panic");
            assert!(owned.contains(&(execution, reference.digest)), "{execution} does not own it");
            count += 1;
        }
    }
    assert!(count > 0, "no large output");
}

#[tokio::test(start_paused = true)]
async fn a_reused_large_output_is_stored_for_the_reusing_execution() {
    let world = World::new();
    let store =
        Arc::new(OwnerStore { store: world.store.clone(), owned: Mutex::new(BTreeSet::new()) });
    let plane = Running::of(world.control_on(store.clone(), ControlSettings::default()));
    let two_steps = "
workload: {customer: a}
workflow:
  - step: start
    tool: {kind: http, url: 'http://login'}
    next: {arcs: [{step: crm}]}
  - step: crm
    cache: {key: '{{ workload.customer }}', ttl: 1h}
    tool: {kind: http, url: 'http://crm/{{ workload.customer }}'}
";
    for workflow in [CACHED, two_steps] {
        register(&plane.control, workflow).await;
        for is_reused in [false, true] {
            let execution = start_with(&plane.control, customer("a")).await;
            while ended(&plane.control, execution).await.is_none() {
                let leased = lease(&plane.control, "w", 10).await.pop().expect("a command");
                let large = completed(json!("x".repeat(100_000 + workflow.len())));
                plane.control.report(report(&leased, "w", large)).await.expect("an answer");
            }
            assert_eq!(reused(&plane.control, execution).await.is_some(), is_reused);
            assert_owns_outputs(&store, &plane.control, execution).await;
        }
    }
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
