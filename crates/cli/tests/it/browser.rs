//! Stories of the web interface in real Chromium.

mod axe;
mod driver;
mod editor;
mod holds;
mod inspect;
mod keyboard;
mod keyboard_stories;
mod live;
mod more_stories;
mod pages;
mod proxy;
mod refresh;
mod seed;
mod shots;
mod stories;
mod survey;

use driver::{Browser, Scripts};
use serde_json::json;

use crate::sandbox::{Sandbox, eventually};
use crate::server::Server;

/// Runs the example of the empty page and finds its execution in the list.
fn first_run(scripts: Scripts) {
    let sandbox = Sandbox::new();
    let server = Server::new(&sandbox, &[]);
    let browser = Browser::new(scripts);
    browser.open(&format!("{}/", server.url()));
    assert_eq!(browser.text("h1"), "Overview");
    browser.click(".main-action button");
    eventually("the execution opens", || browser.address().contains("/ui/executions/"));
    browser.open(&format!("{}/ui/executions", server.url()));
    eventually("the execution completes", || {
        browser.reload();
        browser.text(".executions tbody tr").contains("Completed")
    });
    assert!(browser.text(".executions tbody tr").contains("examples/hello_world"));
    browser.assert_clean(&server.url());
}

#[test]
fn the_first_run_takes_one_click_on_the_empty_page() {
    first_run(Scripts::On);
}

#[test]
fn the_first_run_works_without_scripts() {
    first_run(Scripts::Off);
}

#[test]
fn places_are_reached_by_keys_and_no_page_has_an_error() {
    let sandbox = Sandbox::new();
    let server = Server::new(&sandbox, &[]);
    let browser = Browser::new(Scripts::On);
    browser.open(&format!("{}/ui/", server.url()));
    for (key, heading) in [
        ("e", "Executions"),
        ("p", "Playbooks"),
        ("s", "Schedules"),
        ("u", "Subscriptions"),
        ("f", "Feeds"),
        ("w", "Workers"),
        ("c", "Credentials"),
        ("y", "System"),
        ("t", "Tokens"),
        ("l", "Audit log"),
    ] {
        browser.press(&format!("g{key}"));
        eventually(heading, || browser.text("main h1") == heading);
    }
    browser.press("?");
    eventually("the keys are listed", || browser.text("#keys h2").contains("Keys"));
    browser.assert_clean(&server.url());
}

/// A playbook whose second step fails until a file exists.
const REPAIRED: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: ship, path: tests/ship}
workload: {file: missing}
workflow:
  - step: count
    tool: {kind: noop, result: 7}
    set: {ctx.total: '{{ output }}'}
    next: {arcs: [{step: ship}]}
  - step: ship
    tool: {kind: shell, command: 'cat {{ workload.file }}'}
";

#[test]
fn a_failure_is_found_scrubbed_through_and_repaired_on_one_page() {
    let sandbox = Sandbox::new().with("ship.yaml", REPAIRED);
    let server = Server::new(&sandbox, &[]);
    let file = sandbox.path("address.txt").display().to_string();
    let ended = sandbox.noetl(&[
        "run",
        "ship.yaml",
        "--set",
        &format!("file={file}"),
        "--server",
        &server.url(),
    ]);
    assert_ne!(ended.code, Some(0), "the file does not exist yet");
    let browser = Browser::new(Scripts::On);
    browser.open(&format!("{}/ui/executions", server.url()));
    browser.click(".executions tbody a.id");
    eventually("the failure is shown", || {
        browser.text("#failure-title").contains("Failed in step ship")
    });
    assert!(browser.text(".failure-panel").contains("No such file"));
    let failed = browser.address();

    browser.press("\u{E011}");
    eventually("the first event is shown", || browser.text(".says-event").contains("Event 1 of"));
    browser.arrives("the position is in the address", |it| it.contains("at=1"));
    browser.press("\u{E010}");
    eventually("the failure is shown again", || {
        browser.text("#failure-title").contains("Failed in step ship")
    });

    std::fs::write(&file, "Main Street 1").expect("the file is written");
    browser.click(".repairs form button");
    eventually("the fork completes", || {
        browser.address() != failed && browser.text(".page-head .status").contains("Completed")
    });
    browser.assert_clean(&server.url());
}

/// A playbook that waits for a worker of a pool without one.
const WAITING: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: waiting, path: tests/waiting}
workflow:
  - step: start
    tool: {kind: noop}
";

/// Cancels the executions that match the filter, with the count first and the progress after it.
fn bulk_cancel(scripts: Scripts) {
    let sandbox = Sandbox::new();
    let server = Server::new(&sandbox, &[]);
    server.call("POST", "/api/catalog/register", &json!({ "content": WAITING }));
    let one = json!({ "path": "tests/waiting", "execution_pool": "nobody" });
    let batch = json!({ "executions": vec![one; 30] });
    assert_eq!(server.call("POST", "/api/execute/batch", &batch)["started"], 30);
    let browser = Browser::new(scripts);
    browser.open(&format!("{}/ui/executions?status=RUNNING", server.url()));
    browser.click("#selection button[value=cancel]");
    eventually("the count is shown first", || {
        browser.text(".bulk-question .count").contains("30 executions will be cancelled")
    });
    browser.click(".bulk-question button.danger");
    eventually("the progress is shown", || browser.address().contains("/ui/executions/bulk/"));
    eventually("the job ends", || {
        if matches!(scripts, Scripts::Off) {
            browser.reload();
        }
        browser.text(".bulk-progress").contains("30 of 30")
    });
    assert!(browser.text("#bulk-job tbody tr").contains("Done"));
    browser.open(&format!("{}/ui/executions?status=RUNNING", server.url()));
    assert!(browser.text(".empty").contains("No execution matches"));
    assert_eq!(browser.console_errors(), Vec::<String>::new());
}

#[test]
fn many_executions_are_cancelled_with_the_count_first_and_progress_after() {
    bulk_cancel(Scripts::On);
}

#[test]
fn many_executions_are_cancelled_without_scripts() {
    bulk_cancel(Scripts::Off);
}
