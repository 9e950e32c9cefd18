//! The demonstration, and `noetl run --ui`.

use std::io::{BufRead as _, BufReader};
use std::process::Child;

use serde_json::json;

use crate::playbooks::HELLO;
use crate::sandbox::{Sandbox, await_end, eventually, signal};
use crate::server::{Process, Server, ServerLog};

/// Reads standard error up to a line that contains a text, and returns that line.
fn line_with(child: &mut Child, text: &str) -> String {
    let stderr = BufReader::new(child.stderr.take().expect("it is piped"));
    let mut seen = String::new();
    for line in stderr.lines().map_while(Result::ok) {
        if line.contains(text) {
            return line;
        }
        seen.push_str(&line);
        seen.push('\n');
    }
    panic!("no {text:?} in {seen}");
}

fn statuses(server: &Server) -> Vec<(String, String)> {
    let listed = server.call("GET", "/api/executions", &json!({}));
    let listed = listed.as_array().or(listed["executions"].as_array()).cloned();
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let pair = |it: &serde_json::Value| (text(&it["path"]), text(&it["status"]));
    listed.unwrap_or_default().iter().map(pair).collect()
}

#[test]
fn a_demonstration_shows_a_failure_a_repair_a_wait_and_a_loop_that_runs() {
    let sandbox = Sandbox::new();
    let args = ["demo", "--no-browser", "--data", "kept"];
    // Services of the user's configuration are not used.
    let child = sandbox.spawn_with(&args, &[("NOETL_NATS_URL", "nats://127.0.0.1:1")]);
    let server = Server::of(child);
    let has = |path: &str, status: &str, count: usize| {
        let found = statuses(&server);
        found.iter().filter(|it| it.0 == path && it.1 == status).count() == count
    };
    eventually("the report has failed", || has("demo/report", "FAILED", 1));
    eventually("its repair completes", || has("demo/report", "COMPLETED", 1));
    eventually("the child executions complete", || has("demo/invoice", "COMPLETED", 4));
    eventually("the payment is retried", || has("demo/payment", "COMPLETED", 1));
    assert!(has("demo/training", "RUNNING", 1), "{:?}", statuses(&server));
    assert!(has("demo/orders", "RUNNING", 1), "{:?}", statuses(&server));
    assert!(has("demo/refund", "RUNNING", 1), "{:?}", statuses(&server));
    let approvals = server.call("GET", "/api/approvals", &json!({}));
    assert!(approvals.to_string().contains("Refund 120 EUR to Grace"), "{approvals}");
    eventually("a delivery holds the limit and another waits", || {
        let limit = server.call("GET", "/api/limits/playbook:demo%2Fdelivery", &json!({}));
        limit["holders"] == 1 && limit["queued"] == 1
    });
    let labelled = server.call("GET", "/api/executions?label=customer:Edsger", &json!({}));
    assert!(labelled.to_string().contains("demo/delivery"), "{labelled}");
    let schedules = server.call("GET", "/api/schedules", &json!({}));
    assert!(schedules.to_string().contains("demo/five_minutes"), "{schedules}");
    signal(&server.process.0, "KILL");
    drop(server);

    // The second demonstration of a directory continues the first one.
    let server = Server::of(sandbox.spawn(&args));
    assert_eq!(statuses(&server).iter().filter(|it| it.0 == "demo/report").count(), 2);
}

#[test]
fn a_demonstration_without_a_directory_leaves_nothing_behind() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("tmp")).expect("the home is ours");
    let temporary = sandbox.path("tmp").display().to_string();
    let mut child =
        sandbox.spawn_with(&["demo", "--no-browser"], &[("TMPDIR", temporary.as_str())]);
    let line = line_with(&mut child, "open http://");
    assert!(line.ends_with("/ui/"), "{line}");
    let process = Process(child);
    signal(&process.0, "TERM");
    eventually("the directory is deleted", || {
        let left = std::fs::read_dir(sandbox.path("tmp")).expect("it exists").flatten();
        left.filter(|it| it.file_name().to_string_lossy().starts_with("noetl-demo-")).count() == 0
    });
}

/// Returns a named part of an address in a line.
fn address_in(line: &str) -> String {
    let address = line.split("http://").nth(1).and_then(|rest| rest.split('/').next());
    address.unwrap_or_else(|| panic!("no address in {line:?}")).to_owned()
}

#[test]
fn the_web_interface_is_served_if_no_server_runs() {
    let sandbox = Sandbox::new();
    let args = ["ui", "--no-browser"];
    let mut child = sandbox.spawn_with(&args, &[("NOETL_PORT", "0")]);
    let line = line_with(&mut child, "open http://");
    assert!(line.ends_with("/ui/"), "{line}");
    let server =
        Server { process: Process(child), address: address_in(&line), _log: ServerLog::default() };
    let shown = server.call("GET", "/api/health", &json!({}));
    assert_eq!(shown["status"], "ok", "{shown}");
    let mut process = server.process;
    signal(&process.0, "INT");
    assert_eq!(await_end(&mut process.0).code(), Some(0));
}

#[test]
fn the_page_of_an_execution_is_that_of_the_server_that_runs() {
    let sandbox = Sandbox::new().with("hello.yaml", HELLO);
    let server = Server::new(&sandbox, &[]);
    let ran = sandbox.noetl(&["run", "hello.yaml", "--server", &server.url()]);
    let page = format!("{}/ui/executions/", server.url());
    let id = ran.stderr.split(&page).nth(1).and_then(|rest| rest.split_whitespace().next());
    let id = id.unwrap_or_else(|| panic!("no page in {}", ran.stderr));
    // The server has the database of this machine open.
    for args in
        [vec!["ui", id, "--no-browser"], vec!["ui", id, "--no-browser", "--server", &server.url()]]
    {
        let shown = sandbox.noetl(&args);
        assert_eq!(shown.code, Some(0), "{args:?}: {}", shown.stderr);
        assert!(shown.stderr.contains(&format!("open {page}{id}")), "{args:?}: {}", shown.stderr);
    }
}

#[test]
fn a_run_serves_its_page_until_it_is_stopped() {
    let sandbox = Sandbox::new().with("hello.yaml", HELLO);
    let args = ["run", "hello.yaml", "--ui", "--no-browser"];
    let mut child = sandbox.spawn_with(&args, &[("NOETL_PORT", "0")]);
    let mut stderr = BufReader::new(child.stderr.take().expect("it is piped")).lines();
    let mut next = |text: &str| {
        let line = stderr.by_ref().map_while(Result::ok).find(|line| line.contains(text));
        line.unwrap_or_else(|| panic!("no {text:?}"))
    };
    let page = next("open http://");
    let address = page.split("http://").nth(1).and_then(|rest| rest.split('/').next());
    let address = address.expect("an address").to_owned();
    next("the page is served until Ctrl-C");
    let server = Server { process: Process(child), address, _log: ServerLog::default() };
    let id = page.rsplit('/').next().expect("an id").to_owned();
    let shown = server.call("GET", &format!("/api/executions/{id}/status"), &json!({}));
    assert_eq!(shown["status"], "COMPLETED", "{shown}");
    let mut process = server.process;
    signal(&process.0, "INT");
    assert_eq!(await_end(&mut process.0).code(), Some(0));
}

#[test]
fn commands_name_the_page_of_an_execution_on_a_server() {
    let sandbox = Sandbox::new().with("hello.yaml", HELLO);
    let server = Server::new(&sandbox, &[]);
    let ran = sandbox.noetl(&["run", "hello.yaml", "--server", &server.url()]);
    let page = format!("page: {}/ui/executions/", server.url());
    assert!(ran.stderr.contains(&page), "{}", ran.stderr);
    let got = sandbox.noetl(&["executions", "get", "last", "--server", &server.url()]);
    assert!(got.stdout.contains(&page), "{}", got.stdout);
    // The server has the database of this machine open.
    let got = sandbox.noetl(&["executions", "get", "last"]);
    assert!(got.stdout.contains(&page), "{}", got.stdout);
}
