//! Stories of the web interface in real Chromium.

mod driver;

use driver::{Browser, Scripts};

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
        browser.text("tbody tr").contains("Completed")
    });
    assert!(browser.text("tbody tr").contains("examples/hello_world"));
    assert_eq!(browser.console_errors(), Vec::<String>::new());
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
    ] {
        browser.press(&format!("g{key}"));
        eventually(heading, || browser.text("main h1") == heading);
    }
    browser.press("?");
    eventually("the keys are listed", || browser.text("#keys h2").contains("Keys"));
    assert_eq!(browser.console_errors(), Vec::<String>::new());
}
