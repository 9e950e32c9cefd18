use noetl_model::Outcome;
use serde_json::json;

use super::*;
use crate::testing::{eventually, is_alive, lease, settings, show};

async fn run(lease: &Lease) -> Ended {
    let cancel = CancellationToken::new();
    Registry::standard(settings())
        .run(lease, BTreeMap::new(), &UsedCredentials::default(), &cancel)
        .await
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
async fn what_is_called_built_in_is_here_or_run_by_the_engine() {
    let registry = Registry::standard(settings());
    for kind in ToolKind::ALL {
        let is_here = registry.kinds().any(|here| here == *kind) || *kind == ToolKind::Playbook;
        assert_eq!(is_here, kind.is_built_in(), "{kind}");
    }
}

#[tokio::test]
async fn noop_says_what_it_is_told() {
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
