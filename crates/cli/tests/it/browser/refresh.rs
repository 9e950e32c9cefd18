//! Pages that stay up to date: in many tabs, while the visitor types, without a connection, and after
//! the session has ended.

use serde_json::{Value, json};

use super::driver::{Browser, Scripts};
use super::pages::guarded_server;
use super::proxy::Proxy;
use super::seed::SeededSite;
use crate::sandbox::{Sandbox, eventually};
use crate::server::Server;

/// Returns the state of the live stream.
const STREAM: &str = "return document.documentElement.dataset.stream";
/// Keeps each state of the live stream where other pages can read it.
const NOTE_STREAM: &str = "const page = document.documentElement; \
     const note = () => localStorage.setItem('stream', page.dataset.stream); \
     new MutationObserver(note).observe(page, { attributes: true }); note();";
/// A browser opens six connections to a server that speaks HTTP/1.1.
const TABS: usize = 8;

#[test]
fn eight_live_pages_load_and_a_hidden_one_catches_up_once_it_is_seen() {
    let site = SeededSite::new();
    let browser = Browser::new(Scripts::On);
    let page = format!("{}/ui/executions/{}", site.url(), site.unserved);
    browser.open(&page);
    let first = browser.window();
    eventually("the first page is live", || browser.evaluate(STREAM) == "open");
    browser.evaluate(NOTE_STREAM);
    for tab in 1..TABS {
        browser.open_tab();
        browser.open(&page);
        eventually(&format!("tab {tab} is live"), || browser.evaluate(STREAM) == "open");
    }
    // The driver shows a page to look at it, so another page tells.
    eventually("the hidden page has closed its stream", || {
        browser.evaluate("return localStorage.getItem('stream')") == "closed"
    });
    let cancelled = format!("/api/executions/{}/cancel", site.unserved);
    site.server.call("POST", &cancelled, &json!({}));
    browser.show_window(&first);
    browser.devtools("Page.bringToFront", &json!({}));
    eventually("the first page shows the end", || {
        browser.text(".page-head .status").contains("Cancelled")
    });
    browser.assert_clean(&site.url());
}

#[test]
fn a_text_that_is_typed_survives_the_refresh_of_the_page() {
    let site = SeededSite::new();
    let browser = Browser::new(Scripts::On);
    browser.open(&format!("{}/ui/waiting", site.url()));
    let card = format!("article[data-same='{}-0']", site.approval);
    browser.write(&format!("{card} textarea[name=comment]"), "checked by two");
    browser.evaluate("document.activeElement.blur()");
    let started = site.server.call("POST", "/api/execute", &json!({ "path": "shop/release" }));
    let started = started["execution_id"].as_str().expect("an id").to_owned();
    eventually("the other approval appears", || {
        browser.find(&format!("article[data-same='{started}-0']")).is_some()
    });
    let typed = format!("return document.querySelector(\"{card} textarea[name=comment]\").value");
    assert_eq!(browser.evaluate(&typed), "checked by two");
    browser.assert_clean(&site.url());
}

#[test]
fn a_page_that_is_fetched_again_tells_since_when_there_is_no_connection() {
    let sandbox = Sandbox::new();
    let server = Server::new(&sandbox, &[]);
    let proxy = Proxy::new(&server.address);
    let browser = Browser::new(Scripts::On);
    browser.open(&format!("http://{}/ui/workers", proxy.address()));
    assert_eq!(browser.text("#connection"), "");
    proxy.cut();
    eventually("the loss is told", || {
        browser.text("#connection").starts_with("No connection to the server since ")
    });
    proxy.restore();
    eventually("the line disappears", || browser.text("#connection").is_empty());
}

#[test]
fn an_expired_session_leads_to_the_login_and_back() {
    let sandbox = Sandbox::new();
    let server = guarded_server(&sandbox);
    let browser = Browser::new(Scripts::On);
    browser.open(&format!("{}/ui/workers", server.url()));
    browser.write("#token", "reader");
    browser.click(".login button.main");
    eventually("the page is shown", || browser.text("main h1") == "Workers");
    browser.forget_cookies();
    eventually("the login is asked for", || browser.address().contains("/ui/login?next="));
    browser.write("#token", "reader");
    browser.click(".login button.main");
    eventually("the page is shown again", || browser.text("main h1") == "Workers");
}

#[test]
fn an_expired_session_is_noticed_by_a_page_with_a_stream() {
    let sandbox = Sandbox::new();
    let server = guarded_server(&sandbox);
    let proxy = Proxy::new(&server.address);
    let browser = Browser::new(Scripts::On);
    browser.open(&format!("http://{}/ui/login", proxy.address()));
    browser.write("#token", "admin");
    browser.click(".login button.main");
    eventually("the page is shown", || browser.text("main h1") == "Overview");
    browser.open(&format!("http://{}/ui/playbooks/new", proxy.address()));
    browser.click("#editor-text");
    browser.chord('\u{E009}', 'a');
    browser.insert(WAITING);
    browser.click("button[value=save]");
    eventually("the version is saved", || browser.text(".editor-said").contains("version 1"));
    browser.open(&format!("http://{}/ui/playbooks/tests/signal", proxy.address()));
    browser.click(".run button.main");
    eventually("the page is live", || browser.evaluate(STREAM) == "open");
    browser.forget_cookies();
    proxy.cut();
    proxy.restore();
    eventually("the login is asked for", || browser.address().contains("/ui/login?next="));
}

/// A playbook that waits for a signal.
const WAITING: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: signal, path: tests/signal}
workflow:
  - step: start
    tool: {kind: wait, signal: go}
";

/// Returns a playbook of steps that follow each other.
fn chain(steps: usize) -> String {
    let step = |number: usize| {
        let next = match number + 1 {
            next if next < steps => format!("\n    next: {{arcs: [{{step: s{next}}}]}}"),
            _ => String::new(),
        };
        format!("  - step: s{number}\n    tool: {{kind: noop}}{next}\n")
    };
    let all: String = (0..steps).map(step).collect();
    format!(
        "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {{name: chain, path: tests/chain}}\n\
         workflow:\n{all}"
    )
}

#[test]
fn a_graph_of_sixty_steps_is_one_stop_and_shows_the_step_with_the_focus() {
    let sandbox = Sandbox::new();
    let server = Server::new(&sandbox, &[]);
    let registered = server.call("POST", "/api/catalog/register", &json!({ "content": chain(60) }));
    assert_eq!(registered["status"], "success", "{registered}");
    let started = server.call("POST", "/api/execute", &json!({ "path": "tests/chain" }));
    let id = started["execution_id"].as_str().expect("an id").to_owned();
    let browser = Browser::new(Scripts::On);
    eventually("the execution completes", || {
        let status = server.call("GET", &format!("/api/executions/{id}/status"), &Value::Null);
        status["status"] == "COMPLETED"
    });
    browser.open(&format!("{}/ui/executions/{id}", server.url()));
    let stops = "return document.querySelectorAll(\"svg.graph [tabindex='0']\").length";
    eventually("the graph is one stop", || browser.evaluate(stops) == 1);
    super::keyboard::tab_to(&browser, "svg.graph [data-step]");
    // Home, End, right, and page down, by their codes in WebDriver.
    for (key, step) in
        [("\u{E011}", "s0"), ("\u{E014}", "s1"), ("\u{E00F}", "s2"), ("\u{E010}", "s59")]
    {
        browser.press(key);
        let focused = browser.evaluate("return document.activeElement.dataset.step");
        assert_eq!(focused, step);
        let is_in_view = browser.evaluate(
            "const node = document.activeElement.getBoundingClientRect(); \
             const frame = document.querySelector('[data-graph]').getBoundingClientRect(); \
             return node.left >= frame.left && node.right <= frame.right \
               && node.top >= frame.top && node.bottom <= frame.bottom;",
        );
        assert_eq!(is_in_view, true, "{step}");
    }
    browser.press(super::keyboard::TAB);
    let is_outside = "return document.activeElement.closest('svg.graph') === null";
    assert_eq!(browser.evaluate(is_outside), true, "one Tab leaves the graph");
    browser.assert_clean(&server.url());
}
