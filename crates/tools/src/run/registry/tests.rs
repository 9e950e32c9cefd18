use crate::run::live::LiveLog;
use noetl_model::{Outcome, ToolRunner};
use serde_json::json;

use super::*;
use crate::testing::{eventually, is_alive, lease, settings, show};

async fn run(lease: &Lease) -> ToolResult {
    let registry = Registry::standard(settings());
    run_in(&registry, lease).await
}

async fn run_in(registry: &Registry, lease: &Lease) -> ToolResult {
    let (used, memory) = (UsedCredentials::default(), registry.memory().call());
    registry
        .run(
            lease,
            BTreeMap::new(),
            CallParts { used: &used, memory: &memory, live: &LiveLog::default() },
            &CancellationToken::new(),
        )
        .await
}

/// A worker whose calls may hold 8 MiB each.
fn small_worker() -> Registry {
    Registry::standard(ToolSettings { memory: MemoryBudget::new(16 * 1024 * 1024), ..settings() })
}

#[tokio::test]
async fn a_value_that_is_too_large_for_the_budget_fails_its_call_whatever_the_tool() {
    let zeros = "import json\nprint(json.dumps([0] * 300000))";
    let rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000) \
                SELECT i, i AS j FROM n";
    for (tool, config) in [
        (ToolKind::Python, json!({"code": "result = [0] * 300000"})),
        (ToolKind::Script, json!({"code": zeros, "interpreter": "python3"})),
        (ToolKind::Sqlite, json!({"query": rows})),
        (ToolKind::Shell, json!({"command": "head -c 9000000 /dev/zero | tr '\\0' x"})),
        (ToolKind::Noop, json!({"result": vec![0; 200_000]})),
    ] {
        let registry = small_worker();
        let free = registry.memory().free();
        let ended = run_in(&registry, &lease(tool, config)).await;
        let Outcome::Failed { error, .. } = ended.outcome else { panic!("{tool} completed") };
        assert_eq!(error.kind, ErrorKind::StorageQuota, "{tool}: {error}");
        let limit = "it takes more than 8 MiB of memory, the limit for one call";
        assert!(error.message.contains(limit), "{tool}: {error}");
        assert_eq!(registry.memory().free(), free, "{tool} gives its memory back");
    }
}

#[tokio::test]
async fn calls_share_one_budget_and_all_come_to_their_end() {
    let registry = small_worker();
    let free = registry.memory().free();
    // Ten calls of 4.3 MB each do not fit at once.
    let lease = lease(ToolKind::Python, json!({"code": "result = [0] * 60000"}));
    let running = (0..10).map(|_| run_in(&registry, &lease));
    for ended in futures::future::join_all(running).await {
        assert!(matches!(ended.outcome, Outcome::Completed { .. }), "{ended:?}");
    }
    assert_eq!(registry.memory().free(), free);
}

#[tokio::test]
async fn a_tool_that_is_not_there_is_a_config_error_that_lists_the_others() {
    let ended = run(&lease(ToolKind::Snowflake, json!({}))).await;
    assert_eq!(
        show(&ended),
        "failed config: this worker has no tool `snowflake`; it has: artifact, duckdb, http, nats, noop, postgres, python, result_fetch, rhai, script, secrets, shell, sqlite, subscription, transfer\n"
    );
}

#[tokio::test]
async fn every_built_in_tool_is_registered_or_run_by_the_engine() {
    let registry = Registry::standard(settings());
    for kind in ToolKind::ALL {
        let is_run_elsewhere = kind.runner() == ToolRunner::Control;
        let is_here = registry.kinds().any(|here| here == *kind) || is_run_elsewhere;
        assert_eq!(is_here, kind.is_built_in(), "{kind}");
    }
}

#[tokio::test]
async fn noop_returns_its_result_setting() {
    let said = |config: Value| async move { show(&run(&lease(ToolKind::Noop, config)).await) };
    assert_eq!(said(json!({"result": [1]})).await, "completed [1]\n");
    let plain = said(json!({"message": "hi"})).await;
    assert_eq!(plain, "completed {\"status\":\"ok\",\"message\":\"hi\"}\n");
}

#[tokio::test]
async fn every_tool_stops_when_its_time_is_over() {
    // Accepts connections and never answers.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    for (tool, config) in [
        (ToolKind::Shell, json!({"command": "sleep 600"})),
        (ToolKind::Python, json!({"code": "import time\ntime.sleep(600)"})),
        (ToolKind::Rhai, json!({"code": "sleep(600)"})),
        (ToolKind::Http, json!({"url": url})),
    ] {
        let lease = Lease { timeout_ms: Some(300), ..lease(tool, config) };
        let ended = run(&lease).await;
        let Outcome::Failed { error, .. } = ended.outcome else { panic!("{tool} completed") };
        assert_eq!(error.kind, ErrorKind::Timeout, "{tool}");
        assert!(error.retryable);
        assert_eq!(error.message, "took longer than 300ms and was stopped");
    }
}

#[tokio::test]
async fn a_time_out_ends_the_grandchildren_too() {
    let directory = tempfile::tempdir().unwrap();
    let pid_file = directory.path().join("pid");
    let script = format!("sh -c 'sleep 600 & echo $! > {}; wait'", pid_file.display());
    let lease =
        Lease { timeout_ms: Some(1500), ..lease(ToolKind::Shell, json!({"command": script})) };
    let ended = run(&lease).await;
    assert!(show(&ended).starts_with("failed timeout"), "{ended:?}");
    let pid = std::fs::read_to_string(&pid_file).unwrap().trim().to_owned();
    eventually("the grandchild ends", || !is_alive(&pid)).await;
}

#[tokio::test]
async fn a_run_that_is_dropped_ends_what_it_started() {
    let directory = tempfile::tempdir().unwrap();
    let pid_file = directory.path().join("pid");
    let command = format!("echo $$ > {}; sleep 600", pid_file.display());
    let lease = lease(ToolKind::Shell, json!({"command": command}));
    let running = tokio::spawn(async move { run(&lease).await });
    let written = || std::fs::read_to_string(&pid_file).is_ok_and(|text| text.ends_with('\n'));
    eventually("the command runs", written).await;
    let pid = std::fs::read_to_string(&pid_file).unwrap().trim().to_owned();
    running.abort();
    eventually("the command ends", || !is_alive(&pid)).await;
}

/// Runs a lease with a credential `db` whose password is `hunter2-and-more`.
async fn run_with_secret(lease: &Lease) -> ToolResult {
    let credential = r#"{"type": "postgres", "data": {"db_password": "hunter2-and-more"}}"#;
    let variable = ("NOETL_CREDENTIAL_DB".to_owned(), credential.to_owned());
    let credentials = Arc::new(FixedCredentials::from_environment([variable]));
    let settings = ToolSettings { credentials, ..settings() };
    run_in(&Registry::standard(settings), lease).await
}

#[track_caller]
fn check_redacted(ended: &ToolResult) {
    let shown = format!("{ended:?}");
    assert!(shown.contains("[REDA"), "{shown}");
    for part in ["hunte", "unter", "nter2", "r2-an", "and-m", "-more"] {
        assert!(!shown.contains(part), "{part} is left");
    }
}

#[tokio::test]
async fn a_secret_is_taken_out_of_a_command_before_its_line_is_cut() {
    for before in 40..61 {
        let command = format!(": {} {{{{ keychain.db.db_password }}}}; exit 3", "x".repeat(before));
        let ended = run_with_secret(&lease(ToolKind::Shell, json!({"command": command}))).await;
        let Outcome::Failed { error, .. } = &ended.outcome else { panic!("it completed") };
        for part in ["hunte", "hunter2", "-more"] {
            assert!(!error.message.contains(part), "{}", error.message);
        }
    }
}

#[tokio::test]
async fn a_secret_is_taken_out_of_logs_before_they_are_cut() {
    let limit = noetl_model::LOG_BYTES_MAX;
    // Secrets without gaps, so that every possible truncation splits one.
    let times = limit / "hunter2-and-more".len() + 1000;
    for (tool, config) in [
        (
            ToolKind::Python,
            json!({"code": format!("print(p * {times}); result = 1"),
                                  "input": {"p": "{{ keychain.db.db_password }}"}}),
        ),
        (
            ToolKind::Shell,
            json!({"command": format!("for i in $(seq {times}); do printf %s $P; done"),
                                 "env": {"P": "{{ keychain.db.db_password }}"}}),
        ),
    ] {
        let ended = run_with_secret(&lease(tool, config)).await;
        assert!(ended.logs.stdout.len() < limit + 100, "{tool}");
        check_redacted(&ended);
    }
}
