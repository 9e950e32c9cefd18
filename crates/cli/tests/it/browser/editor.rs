//! The story of the editor: a mistake is seen on its line, repaired by completion, saved, run and
//! followed.

use super::driver::{Browser, Scripts};
use crate::sandbox::{Sandbox, eventually};
use crate::server::Server;

/// Keys by their codes in WebDriver.
const CONTROL: char = '\u{E009}';
const ENTER: &str = "\u{E007}";

const BROKEN: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: edited, path: tests/edited}
workload: {name: world}
workflow:
  - step: start
    tool: {kind: nop}
";

/// Waits until an element contains a text.
#[track_caller]
fn shows(browser: &Browser, selector: &str, text: &str) {
    eventually(&format!("{selector} contains {text:?}"), || browser.text(selector).contains(text));
}

#[test]
fn a_mistake_is_seen_repaired_by_completion_saved_run_and_followed() {
    let sandbox = Sandbox::new();
    let server = Server::new(&sandbox, &[]);
    let browser = Browser::new(Scripts::On);
    browser.open(&format!("{}/ui/playbooks/new", server.url()));
    shows(&browser, "#editor-findings", "No problems");
    // The whole text is selected and replaced by one with a mistake.
    browser.click("#editor-text");
    browser.chord(CONTROL, 'a');
    browser.insert(BROKEN);
    shows(&browser, "#editor-findings .error", "Line 7, column 18");
    shows(&browser, ".editor-gutter .error", "7");
    browser.click("#editor-findings .error a");
    browser.chord(CONTROL, ' ');
    shows(&browser, "#editor-completions [aria-selected=true]", "noop");
    browser.press(ENTER);
    shows(&browser, "#editor-findings", "No problems");
    browser.click("button[value=save]");
    eventually("the version is saved", || {
        browser.address().ends_with("/ui/playbooks/tests/edited/edit?saved=1")
    });
    shows(&browser, ".editor-said", "Saved as version 1.");
    browser.click("button[value=run]");
    shows(&browser, "#editor-run", "Completed");
    browser.click("#editor-run a");
    eventually("the execution opens", || browser.address().contains("/ui/executions/"));
    assert_eq!(browser.console_errors(), Vec::<String>::new());
}

#[test]
fn a_text_is_checked_without_scripts() {
    let sandbox = Sandbox::new();
    let server = Server::new(&sandbox, &[]);
    let browser = Browser::new(Scripts::Off);
    browser.open(&format!("{}/ui/playbooks/new", server.url()));
    browser.click("button[value=check]");
    shows(&browser, "#editor-findings", "No problems");
    browser.click("button[value=save]");
    shows(&browser, ".editor-said", "Saved as version 1.");
    assert_eq!(browser.console_errors(), Vec::<String>::new());
}
