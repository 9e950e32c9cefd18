//! The main paths of the stories with the keyboard only.

use serde_json::json;

use super::driver::{Browser, Scripts};
use super::seed::SeededSite;
use crate::sandbox::{Sandbox, eventually};
use crate::server::Server;

pub(super) const TAB: &str = "\u{E004}";
pub(super) const ENTER: &str = "\u{E007}";
const HOME: &str = "\u{E011}";
const END: &str = "\u{E010}";

/// Maximum number of steps of the focus to any element of a page.
const TABS_MAX: usize = 120;

/// Moves the focus by the Tab key to the first element that matches.
#[track_caller]
pub(super) fn tab_to(browser: &Browser, selector: &str) {
    for _ in 0..TABS_MAX {
        let is_there = format!("return document.activeElement.matches({selector:?})");
        if browser.evaluate(&is_there) == true {
            return;
        }
        browser.press(TAB);
    }
    panic!("the Tab key does not lead to {selector}");
}

#[test]
fn the_first_run_needs_no_mouse() {
    let sandbox = Sandbox::new();
    let server = Server::new(&sandbox, &[]);
    let browser = Browser::new(Scripts::On);
    browser.open(&format!("{}/ui/", server.url()));
    tab_to(&browser, ".main-action button");
    browser.press(ENTER);
    eventually("the example completes", || {
        browser.address().contains("/ui/executions/")
            && browser.text(".page-head .status").contains("Completed")
    });
    browser.assert_clean(&server.url());
}

#[test]
fn a_failure_is_found_and_retried_without_a_mouse() {
    let site = SeededSite::new();
    let browser = Browser::new(Scripts::On);
    browser.open(&format!("{}/ui/executions?status=FAILED", site.url()));
    browser.press("j");
    browser.press(ENTER);
    eventually("the failure is shown", || {
        browser.text("#failure-title").contains("Failed in step ship")
    });
    let failed = browser.address();
    tab_to(&browser, ".repairs form button");
    browser.press(ENTER);
    eventually("the retry fails as well", || {
        browser.address() != failed && browser.text("#failure-title").contains("ship")
    });
    browser.assert_clean(&site.url());
}

#[test]
fn a_refresh_leaves_the_focus_on_its_execution() {
    let site = SeededSite::new();
    let browser = Browser::new(Scripts::On);
    browser.open(&format!("{}/ui/executions?live=on", site.url()));
    browser.press("j");
    tab_to(&browser, "tr[data-at] a.id");
    let focused = || browser.evaluate("return document.activeElement.textContent");
    let execution = focused();
    let started = site.server.call("POST", "/api/execute", &json!({ "path": "warehouse/sync" }));
    let started = started["execution_id"].as_str().expect("an id").to_owned();
    eventually("the new execution comes first", || {
        browser.find(&format!("tbody tr:first-child[data-same='{started}']")).is_some()
    });
    assert_eq!(focused(), execution);
    assert!(browser.find("tr[data-at]:nth-child(2) a.id:focus").is_some());
    browser.assert_clean(&site.url());
}

#[test]
fn positions_are_compared_and_forked_without_a_mouse() {
    let site = SeededSite::new();
    let browser = Browser::new(Scripts::On);
    browser.open(&format!("{}/ui/executions/{}", site.url(), site.completed));
    browser.press(HOME);
    eventually("the first event is shown", || browser.text(".says-event").contains("Event 1 of"));
    tab_to(&browser, ".second > a");
    browser.press(ENTER);
    eventually("it is kept", || browser.text(".second").contains("Compared with event 1"));
    browser.press(END);
    eventually("the difference is shown", || {
        browser.text(".difference h3").contains("From event 1 to event")
            && browser.text(".says-event").contains("execution.completed")
    });
    tab_to(&browser, "a[href*='/fork?at=']");
    browser.press(ENTER);
    eventually("the form is shown", || browser.find("form.stacked").is_some());
    tab_to(&browser, "form.stacked button.main");
    browser.press(ENTER);
    eventually("the fork completes", || {
        !browser.address().contains(&site.completed)
            && browser.text(".page-head .status").contains("Completed")
    });
    browser.assert_clean(&site.url());
}

#[test]
fn the_palette_opens_an_execution_and_a_pool_without_a_worker_is_found_by_keys() {
    let site = SeededSite::new();
    let browser = Browser::new(Scripts::On);
    browser.open(&format!("{}/ui/", site.url()));
    browser.press("/");
    eventually("the palette is open", || browser.find("#palette[open] [role=option]").is_some());
    browser.press(&site.unserved);
    eventually("the execution is found", || {
        browser.text("#palette [aria-selected=true]").contains(&site.unserved)
    });
    browser.press(ENTER);
    eventually("the execution says what it waits for", || {
        browser.text(".says").contains("No worker is connected for pool gpu")
    });
    browser.press("gw");
    eventually("the pool comes first", || {
        browser.text("main").contains("No worker is connected for pool gpu")
    });
    browser.assert_clean(&site.url());
}

#[test]
fn a_waiting_step_is_approved_without_a_mouse() {
    let site = SeededSite::new();
    let browser = Browser::new(Scripts::On);
    browser.open(&format!("{}/ui/", site.url()));
    browser.press("g");
    browser.press("a");
    eventually("the page is shown", || browser.text("main h1").contains("Waiting for people"));
    tab_to(&browser, ".decision input[name=actor]");
    browser.insert("ada");
    tab_to(&browser, ".decision button[value=approve]");
    browser.press(ENTER);
    let path = format!("/api/approvals/{}/0", site.approval);
    eventually("the decision is recorded", || {
        site.server.call("GET", &path, &json!(null))["decision"]["decision"] == "approved"
    });
    browser.assert_clean(&site.url());
}
