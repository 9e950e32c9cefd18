//! Watches a run live: events are visible at once, and a dropped connection recovers.

use std::io::Write as _;
use std::time::Instant;

use serde_json::Value;

use super::driver::{Browser, Scripts};
use super::proxy::Proxy;
use crate::sandbox::{Sandbox, eventually};
use crate::server::{Process, Server};

/// A playbook whose first step waits for a file.
const WAITING: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: gate, path: tests/gate}
workload: {file: missing}
workflow:
  - step: gate
    tool: {kind: shell, command: 'echo the gate is shut; until [ -e {{ workload.file }} ]; do sleep 0.02; done; echo it opens'}
    next: {arcs: [{step: after}]}
  - step: after
    tool: {kind: noop, result: done}
";

/// Returns the name of the step that runs.
const ACTIVE_STEP: &str = "return document.querySelector('.node.active')?.dataset.step";

/// Records in the page when each position became visible.
const OBSERVE: &str = "\
    window.seen = [];
    const look = () => {
      const position = Number(document.getElementById('scrubber')?.dataset.position);
      if (position !== window.seen.at(-1)?.[0]) { window.seen.push([position, Date.now()]); }
    };
    new MutationObserver(look).observe(document.body,
      { subtree: true, childList: true, attributes: true, characterData: true });";

/// A run of the playbook, and its page in a browser behind a connection that can be cut.
pub(super) struct WatchedRun {
    sandbox: Sandbox,
    server: Server,
    proxy: Proxy,
    pub(super) browser: Browser,
    _run: Process,
}

impl WatchedRun {
    pub(super) fn new() -> Self {
        let sandbox = Sandbox::new().with("gate.yaml", WAITING);
        let server = Server::new(&sandbox, &[]);
        let file = format!("file={}", sandbox.path("open").display());
        let args = ["run", "gate.yaml", "--set", &file, "--server", &server.url()];
        let run = Process(sandbox.spawn(&args));
        let proxy = Proxy::new(&server.address);
        let browser = Browser::new(Scripts::On);
        browser.open(&format!("http://{}/ui/executions", proxy.address()));
        eventually("the execution is listed", || {
            browser.reload();
            browser.text(".executions tbody tr").contains("tests/gate")
        });
        browser.click(".executions tbody a.id");
        eventually("the page is live", || {
            browser.text(".says-event").contains("Live")
                && browser.evaluate("return document.documentElement.dataset.stream") == "open"
                && browser.evaluate(ACTIVE_STEP) == "gate"
        });
        Self { sandbox, server, proxy, browser, _run: run }
    }

    /// Lets the first step end.
    pub(super) fn open_gate(&self) {
        let mut file = std::fs::File::create(self.sandbox.path("open")).expect("the home is ours");
        file.write_all(b"open").expect("the home is ours");
    }

    pub(super) fn has_completed(&self) -> bool {
        self.browser.text(".page-head .status").contains("Completed")
    }

    /// Returns the time of each event, in milliseconds since 1970.
    fn times(&self) -> Vec<i64> {
        let args =
            ["executions", "events", "last", "--output", "json", "--server", &self.server.url()];
        let events = self.sandbox.json(&args);
        let at = |event: &Value| {
            let text = event["at"].as_str().or(event["timestamp"].as_str()).expect("a time");
            let at: noetl_model::Timestamp = text.parse().expect("a time");
            at.as_millis()
        };
        events.as_array().expect("a list").iter().map(at).collect()
    }
}

#[test]
fn a_run_is_watched_live() {
    let watched = WatchedRun::new();
    watched.browser.evaluate(OBSERVE);
    watched.open_gate();
    eventually("the end is shown", || watched.has_completed());
    let times = watched.times();
    let seen = watched.browser.evaluate("return window.seen");
    let seen: Vec<(usize, i64)> = serde_json::from_value(seen).expect("pairs");
    let delays: Vec<i64> = seen
        .iter()
        .filter(|(position, _)| *position > 0)
        .map(|(position, shown)| shown - times[position - 1])
        .collect();
    let slowest = delays.iter().copied().max().expect("an update");
    println!("an event was visible after {delays:?} ms");
    assert_eq!(seen.last().map(|(position, _)| *position), Some(times.len()), "nothing is missed");
    assert!(slowest < 10_000, "{delays:?}");
    assert!(watched.browser.text(".timeline").contains("after"));
    assert_eq!(watched.browser.console_errors(), Vec::<String>::new());
}

#[test]
fn a_live_page_recovers_from_a_dropped_connection() {
    let watched = WatchedRun::new();
    watched.proxy.cut();
    eventually("the loss is told", || {
        watched.browser.text(".says-event").contains("Connection lost")
            && watched.browser.text("#connection").contains("No connection to the server since ")
    });
    watched.open_gate();
    let begun = Instant::now();
    watched.proxy.restore();
    eventually("everything is shown", || watched.has_completed());
    let took = begun.elapsed();
    println!("a dropped connection recovered after {} ms", took.as_millis());
    let last = watched.times().len();
    assert!(watched.browser.text(".says-event").contains(&format!("Event {last} of {last}")));
}

#[test]
fn the_logs_of_a_running_step_appear() {
    let run = WatchedRun::new();
    eventually("the inspector shows the output of the running step", || {
        run.browser.text("#exec-beside").contains("the gate is shut")
    });
    run.browser.click("nav.tabs a[href*='tab=logs']");
    eventually("the output is shown with its step", || {
        let shown = run.browser.text(".log.lines");
        shown.contains("gate the gate is shut") && !shown.contains("it opens")
    });
    assert_eq!(run.browser.text("[data-follow][aria-pressed=true]"), "Follow the end");
    run.browser.write(".filter input[name=text]", "opens");
    run.browser.press("\u{E007}");
    eventually("the filter leaves no line", || {
        run.browser.text(".tab-content").contains("No line contains the text.")
    });
    run.open_gate();
    eventually("the rest appears without a reload", || {
        run.browser.text(".log.lines").contains("it opens")
    });
    eventually("the execution completes", || run.has_completed());
}
