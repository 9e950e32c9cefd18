//! More main paths of the stories with the keyboard only: bulk actions, logging in, editing, watching
//! a run, and actions of the palette.

use serde_json::json;

use super::driver::{Browser, Scripts};
use super::keyboard::{ENTER, TAB, tab_to};
use super::live::WatchedRun;
use super::pages::guarded_server;
use super::seed::SeededSite;
use crate::sandbox::{Sandbox, eventually};
use crate::server::Server;

/// Keys by their codes in WebDriver.
const SPACE: &str = " ";
const CONTROL: char = '\u{E009}';

#[test]
fn executions_are_cancelled_together_without_a_mouse() {
    let site = SeededSite::new();
    let browser = Browser::new(Scripts::On);
    browser.open(&format!("{}/ui/executions?status=RUNNING", site.url()));
    let row = format!("tr[data-same='{}'] input[type=checkbox]", site.unserved);
    tab_to(&browser, &row);
    browser.press(SPACE);
    browser.evaluate("document.activeElement.blur()");
    tab_to(&browser, "form.bulk button[value=cancel]");
    browser.press(ENTER);
    eventually("the count is shown first", || {
        browser.text(".bulk-question .count").contains("1 execution will be cancelled.")
    });
    tab_to(&browser, ".bulk-question button.danger");
    browser.press(ENTER);
    eventually("the job shows its progress", || {
        browser.text(".bulk-progress").contains("Completed")
            && browser.text(".bulk-progress").contains("1 of 1")
    });
    let status = format!("/api/executions/{}/status", site.unserved);
    eventually("the execution is cancelled", || {
        site.server.call("GET", &status, &json!(null))["status"] == "CANCELLED"
    });
    browser.assert_clean(&site.url());
}

#[test]
fn a_visitor_logs_in_without_a_mouse() {
    let sandbox = Sandbox::new();
    let server = guarded_server(&sandbox);
    let browser = Browser::new(Scripts::On);
    browser.open(&format!("{}/ui/system", server.url()));
    tab_to(&browser, "#token");
    browser.press("reader");
    browser.press(ENTER);
    eventually("the page is shown", || browser.text("main h1") == "System");
    let _login = browser.console_errors();
    browser.open(&format!("{}/ui/credentials", server.url()));
    assert!(browser.find("form input[name=data]").is_none(), "a reader stores no credential");
    browser.assert_clean(&server.url());
}

#[test]
fn a_playbook_is_edited_saved_and_run_without_a_mouse() {
    let sandbox = Sandbox::new();
    let server = Server::new(&sandbox, &[]);
    let browser = Browser::new(Scripts::On);
    browser.open(&format!("{}/ui/playbooks/new", server.url()));
    tab_to(&browser, "#editor-text");
    browser.press("# by keys\n");
    eventually("the text is analyzed", || {
        browser.text(".editor-layer .t-comment").contains("by keys")
            && browser.text("#editor-findings").contains("No problems")
    });
    browser.chord(CONTROL, 's');
    eventually("the version is saved", || {
        browser.text(".editor-said").contains("Saved as version 1.")
    });
    tab_to(&browser, "button[value=run]");
    browser.press(ENTER);
    eventually("the run is followed", || browser.text("#editor-run").contains("Completed"));
    browser.assert_clean(&server.url());
}

#[test]
fn the_palette_runs_an_action_of_the_page() {
    let site = SeededSite::new();
    let browser = Browser::new(Scripts::On);
    browser.open(&format!("{}/ui/executions/{}", site.url(), site.failed));
    browser.press("/");
    eventually("the palette is open", || browser.find("#palette[open] [role=option]").is_some());
    browser.press("retry from");
    eventually("the action is found", || {
        browser.text("#palette [aria-selected=true]").contains("Retry from the failed step")
    });
    browser.press(ENTER);
    eventually("the retry is an execution of its own", || {
        !browser.address().contains(&site.failed)
            && browser.text(".descent, .facts").contains("Fork of")
    });
    browser.assert_clean(&site.url());
}

#[test]
fn an_item_of_a_loop_is_inspected_and_a_step_leads_to_its_lines() {
    let site = SeededSite::new();
    let browser = Browser::new(Scripts::On);
    browser.open(&format!("{}/ui/executions/{}?expand=price", site.url(), site.completed));
    browser.click(".timeline li.inner a");
    eventually("the command is shown", || {
        browser.address().contains("command=") && browser.text(".tab-content h3").contains("item")
    });
    browser.open(&format!("{}/ui/playbooks/shop/orders", site.url()));
    browser.click(".outline a.node:last-of-type");
    eventually("its lines are marked", || browser.find(".step-lines:target").is_some());
    tab_to(&browser, ".step-lines a.at");
    browser.press(ENTER);
    eventually("the step is marked", || browser.find(".outline a.node:target").is_some());
    browser.press(TAB);
    browser.assert_clean(&site.url());
}

/// A playbook with a misspelt tool.
const BROKEN: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: typed, path: tests/typed}
workflow:
  - step: start
    tool: {kind: nop}
";

#[test]
fn a_mistake_is_found_and_repaired_by_completion_without_a_mouse() {
    let sandbox = Sandbox::new();
    let server = Server::new(&sandbox, &[]);
    let browser = Browser::new(Scripts::On);
    browser.open(&format!("{}/ui/playbooks/new", server.url()));
    tab_to(&browser, "#editor-text");
    browser.chord(CONTROL, 'a');
    browser.insert(BROKEN);
    eventually("the mistake is named with its line", || {
        browser.text("#editor-findings .error").contains("Line 6, column 18")
    });
    tab_to(&browser, "#editor-findings .error a");
    browser.press(ENTER);
    eventually("the cursor is at the mistake", || {
        browser.evaluate("return document.activeElement.id") == "editor-text"
    });
    browser.chord(CONTROL, ' ');
    eventually("a completion is offered", || {
        browser.text("#editor-completions [aria-selected=true]").contains("noop")
    });
    browser.press(ENTER);
    eventually("the mistake is repaired", || {
        browser.text("#editor-findings").contains("No problems")
    });
    browser.assert_clean(&server.url());
}

#[test]
fn a_run_is_watched_live_without_a_mouse() {
    let run = WatchedRun::new();
    let browser = &run.browser;
    browser.press("/");
    eventually("the palette is open", || browser.find("#palette[open] [role=option]").is_some());
    browser.press("tests/gate");
    eventually("the playbook is found", || {
        browser.text("#palette [aria-selected=true]").contains("gate")
    });
    browser.press(ENTER);
    eventually("the playbook is shown", || browser.address().contains("/ui/playbooks/tests/gate"));
    browser.press("ge");
    eventually("the list is shown", || browser.text("main h1") == "Executions");
    browser.press("j");
    browser.press(ENTER);
    eventually("the page is live", || browser.text(".says-event").contains("Live"));
    // Home holds the page at the first event; the link leads back to the end.
    browser.press("\u{E011}");
    eventually("the page holds", || browser.text(".says-event").contains("Event 1 of"));
    tab_to(browser, ".says-event a.button");
    browser.press(ENTER);
    eventually("the page is live again", || browser.text(".says-event .live").contains("Live"));
    run.open_gate();
    eventually("the end is shown", || run.has_completed());
    assert_eq!(browser.console_errors(), Vec::<String>::new());
}
