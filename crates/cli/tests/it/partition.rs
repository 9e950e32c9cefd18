//! A worker and its server that are separated by the network, and then not.

use std::time::Duration;

use noetl_testkit::Proxy;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::sandbox::{Sandbox, eventually};
use crate::server::{Process, Server};

/// Six steps, each of which writes a line and takes a moment.
fn chain() -> String {
    let mut text = "apiVersion: noetl.io/v2\nkind: Playbook\n\
         metadata: {name: chain, path: tests/chain}\nworkload: {n: 0}\nworkflow:\n"
        .to_owned();
    for number in 0..STEPS {
        let name = if number == 0 { "start".to_owned() } else { format!("step{number}") };
        text.push_str(&format!(
            "  - step: {name}\n    tool: {{kind: shell, command: \"echo {{{{ workload.n }}}}-{number} >> \
             ledger; sleep 0.2\"}}\n"
        ));
        if number + 1 < STEPS {
            text.push_str(&format!("    next: {{arcs: [{{step: step{}}}]}}\n", number + 1));
        }
    }
    text
}

const STEPS: u64 = 6;
const EXECUTIONS: u64 = 6;

/// In full size, longer than a lease, and the connections do not come back.
fn is_full_size() -> bool {
    std::env::var("NOETL_FAULTS").is_ok_and(|size| size == "full")
}

fn lines(sandbox: &Sandbox) -> Vec<String> {
    let text = std::fs::read_to_string(sandbox.path("ledger")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn a_worker_that_is_separated_from_its_server_goes_on_when_it_is_back() {
    let sandbox = Sandbox::new();
    let server = Server::new(&sandbox, &["--db", "history.db", "--no-worker"]);
    let runtime = Runtime::new().expect("a runtime starts");
    let address = server.address.parse().expect("an address");
    let proxy = runtime.block_on(Proxy::to_address(address));
    let url = format!("http://{}", proxy.address());
    let args = ["worker", "--server", &url, "--concurrency", "4"];
    let _worker = Process(sandbox.spawn(&args));
    server.call("POST", "/api/catalog/register", &json!({ "content": chain() }));
    let started: Vec<String> = (0..EXECUTIONS)
        .map(|n| {
            let request = json!({ "path": "tests/chain", "workload": { "n": n } });
            let started = server.call("POST", "/api/execute", &request);
            started["execution_id"].as_str().unwrap_or_else(|| panic!("{started}")).to_owned()
        })
        .collect();
    eventually("some steps have run", || lines(&sandbox).len() >= 6);
    proxy.silence();
    let separated = if is_full_size() { 60 } else { 4 };
    let before = lines(&sandbox).len();
    std::thread::sleep(Duration::from_secs(separated));
    let meanwhile = lines(&sandbox).len() - before;
    assert!(meanwhile <= 8, "a separated worker began {meanwhile} steps");
    if is_full_size() {
        proxy.reset_connections();
    }
    proxy.resume();
    for id in &started {
        eventually("the execution ends", || {
            let status = server.call("GET", &format!("/api/executions/{id}/status"), &Value::Null);
            status["status"] == "COMPLETED"
        });
    }
    let mut effects = lines(&sandbox);
    let all = effects.len();
    effects.sort();
    effects.dedup();
    assert_eq!(effects.len() as u64, STEPS * EXECUTIONS, "every step has run");
    let again = all - effects.len();
    match is_full_size() {
        true => assert!(again <= 4, "only what was under way runs again, not {again} steps"),
        false => assert_eq!(again, 0, "within its lease nothing runs again"),
    }
    let verified = sandbox.noetl(&["verify", "--all", "--server", &server.url()]);
    assert_eq!(verified.code, Some(0), "{}{}", verified.stdout, verified.stderr);
}
