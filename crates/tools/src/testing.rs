//! Helpers for the tests of the tools: build a call from a configuration, show the result as text.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use noetl_model::{
    Attempt, Bindings, CommandId, ExecutionId, Lease, Outcome, StepName, Timestamp, ToolKind,
};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::{Call, MemoryBudget, ToolResult, ToolSettings};

/// Counts the memory of each thread, as in the binary.
#[global_allocator]
static COUNTING: noetl_thread_memory::CountingAllocator = noetl_thread_memory::CountingAllocator;

/// The settings of the machine on which the tests run.
pub(crate) fn settings() -> ToolSettings {
    ToolSettings::from_environment(std::env::vars())
}

pub(crate) fn call(config: Value) -> Call {
    call_with(config, Value::Object(Map::new()), Value::Object(Map::new()))
}

pub(crate) fn call_with(config: Value, input: Value, variables: Value) -> Call {
    let map = |value: Value| match value {
        Value::Object(map) => map,
        other => panic!("not a map: {other}"),
    };
    Call {
        config: map(config),
        input: map(input),
        variables: bindings(variables),
        execution: ExecutionId(7),
        command: CommandId(1),
        step: StepName::new("fetch"),
        label: "fetch".into(),
        attempt: Attempt(1),
        idempotency_key: "7-1".into(),
        key_attempt: 1,
        timeout: Duration::from_secs(60),
        cancel: CancellationToken::new(),
        used: Default::default(),
        memory: MemoryBudget::default().call(),
        files: Default::default(),
        live: Default::default(),
    }
}

pub(crate) fn lease(tool: ToolKind, config: Value) -> Lease {
    Lease {
        execution: ExecutionId(7),
        command: CommandId(1),
        attempt: Attempt(1),
        lease_until: Timestamp::from_millis(0),
        step: StepName::new("fetch"),
        label: "fetch".into(),
        tool,
        config,
        bindings: Bindings::default(),
        is_strict: false,
        timeout_ms: None,
        idempotency_key: "7-1".into(),
        key_attempt: 1,
        item: None,
        trace: None,
        secrets: noetl_model::OpenedSecrets::default(),
        secret: None,
    }
}

/// The values that come with a lease.
pub(crate) fn bindings(values: Value) -> BTreeMap<String, Arc<Value>> {
    let Value::Object(values) = values else { panic!("not a map: {values}") };
    values.into_iter().map(|(name, value)| (name, Arc::new(value))).collect()
}

/// Formats the result of a run, one fact per line.
pub(crate) fn show(ended: &ToolResult) -> String {
    let mut text = match &ended.outcome {
        Outcome::Completed { output } => format!("completed {output}\n"),
        Outcome::Failed { error, output } => {
            let mut text = format!("failed {}: {}\n", error.kind, error.message);
            if let Some(code) = &error.code {
                text.push_str(&format!("code {code}\n"));
            }
            if let Some(details) = &error.details {
                text.push_str(&format!("details {details:#}\n"));
            }
            if let Some(output) = output {
                text.push_str(&format!("output {output}\n"));
            }
            text
        }
    };
    for (name, stream) in [("stdout", &ended.logs.stdout), ("stderr", &ended.logs.stderr)] {
        for line in stream.lines() {
            text.push_str(&format!("{name}| {line}\n"));
        }
    }
    text
}

/// Waits until a condition holds that another process causes.
pub(crate) async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = std::time::Instant::now() + Duration::from_secs(10);
    while !holds() {
        assert!(std::time::Instant::now() < deadline, "never: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// True if a process exists and is not a zombie.
pub(crate) fn is_alive(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}
