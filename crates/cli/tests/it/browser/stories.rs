//! Stories of visitors: moving through an execution, comparing and forking, logging in, and waiting
//! for a worker.

use serde_json::{Value, json};

use super::driver::{Browser, Scripts};
use super::pages::guarded_server;
use super::seed::SeededSite;
use crate::sandbox::{Sandbox, eventually};
use crate::server::{Process, Server};

/// Keys by their codes in WebDriver.
const LEFT: &str = "\u{E012}";
const RIGHT: &str = "\u{E014}";
const HOME: &str = "\u{E011}";
const CONTROL: char = '\u{E009}';

/// Waits until an element contains a text.
#[track_caller]
fn shows(browser: &Browser, selector: &str, text: &str) {
    eventually(&format!("{selector} contains {text:?}"), || browser.text(selector).contains(text));
}

/// Returns the seq of the first event whose row contains a text.
fn seq_of(browser: &Browser, text: &str) -> u64 {
    let script = format!(
        "return [...document.querySelectorAll('.events li')].find((row) => \
         row.textContent.includes({text:?}))?.querySelector('.seq')?.textContent"
    );
    let found = browser.evaluate(&script);
    let found = found.as_str().unwrap_or_else(|| panic!("no event with {text}"));
    found.trim().parse().expect("a seq is a number")
}

#[test]
fn variables_change_while_the_position_moves() {
    let site = SeededSite::new();
    let browser = Browser::new(Scripts::On);
    let page = format!("{}/ui/executions/{}", site.url(), site.completed);
    browser.open(&format!("{page}?tab=events&kind=context.updated"));
    let seq = seq_of(&browser, "context.updated");
    browser.open(&format!("{page}?tab=variables&at={}", seq - 1));
    shows(&browser, ".says-event", &format!("Event {} of", seq - 1));
    assert!(browser.text(".tab-content").contains("No variable is set."));
    browser.press(RIGHT);
    shows(&browser, ".says-event", &format!("Event {seq} of"));
    shows(&browser, ".variable.changed", "orders changed by this event");
    browser.arrives("the position is in the address", |it| it.contains(&format!("at={seq}")));
    browser.press(LEFT);
    shows(&browser, ".says-event", &format!("Event {} of", seq - 1));
    shows(&browser, ".tab-content", "No variable is set.");
    // The address is all that another visitor needs to see the same.
    let address = browser.address();
    browser.press(HOME);
    shows(&browser, ".says-event", "Event 1 of");
    browser.open(&address);
    shows(&browser, ".says-event", &format!("Event {} of", seq - 1));
    browser.assert_clean(&site.url());
}

#[test]
fn two_positions_are_compared_and_one_is_forked_with_another_workload() {
    let site = SeededSite::new();
    let browser = Browser::new(Scripts::On);
    let page = format!("{}/ui/executions/{}", site.url(), site.failed);
    browser.open(&format!("{page}?at=3"));
    browser.click(".second > a");
    shows(&browser, ".second", "Compared with event 3");
    browser.press("\u{E010}");
    shows(&browser, ".says-event", "execution.failed");
    browser.click(".second > a");
    shows(&browser, ".difference h3", "From event 3 to event");
    assert!(browser.text(".difference").contains("total"), "{}", browser.text(".difference"));

    browser.open(&format!("{page}/fork?at=3"));
    browser.evaluate(
        "const field = document.querySelector('textarea[name=workload]'); \
         field.value = JSON.stringify({ ...JSON.parse(field.value), carrier: 'north' });",
    );
    browser.click("form.stacked button.main");
    eventually("the fork completes", || {
        !browser.address().contains(&site.failed)
            && browser.text(".page-head .status").contains("Completed")
    });
    shows(&browser, ".facts", "at event 3");
    browser.assert_clean(&site.url());
}

/// Opens the form of the login and sends a token.
fn log_in(browser: &Browser, token: &str) {
    browser.write("#token", token);
    browser.click(".login button.main");
}

#[test]
fn a_visitor_logs_in_and_is_refused_without_the_scope() {
    let sandbox = Sandbox::new();
    let server = guarded_server(&sandbox);
    let browser = Browser::new(Scripts::On);
    browser.open(&format!("{}/ui/system", server.url()));
    eventually("the login is asked for", || browser.address().contains("/ui/login"));
    log_in(&browser, "wrong");
    shows(&browser, "#login-error", "does not know this token");
    log_in(&browser, "runner");
    shows(&browser, "main h1", "System");
    browser.open(&format!("{}/ui/", server.url()));
    assert!(browser.find(".main-action button").is_some(), "a visitor who may run sees the button");

    // Another tab of the same browser exchanges the session for one that may only read.
    let first = browser.window();
    browser.open_tab();
    browser.open(&format!("{}/ui/", server.url()));
    browser.click("details.menu summary");
    browser.click("form[action='/ui/logout'] button");
    shows(&browser, "main h1", "Log in");
    log_in(&browser, "reader");
    shows(&browser, "main h1", "Overview");
    assert!(browser.find(".main-action button").is_none(), "a reader is not offered to run");
    let _refusals = browser.console_errors();

    browser.show_window(&first);
    browser.click(".main-action button");
    shows(&browser, "main h1", "Access denied");
    assert!(
        browser.text("main").contains("this token lacks the scope"),
        "{}",
        browser.text("main")
    );
    browser.open(&format!("{}/ui/executions", server.url()));
    assert!(browser.find(".executions tbody tr").is_none(), "nothing was started");
}

#[test]
fn a_pool_without_a_worker_is_named_until_one_comes() {
    let sandbox = Sandbox::new();
    let server = Server::new(&sandbox, &["--no-worker"]);
    let browser = Browser::new(Scripts::On);
    browser.open(&format!("{}/ui/", server.url()));
    browser.click(".main-action button");
    shows(&browser, ".says", "No worker is connected for pool shared");
    let execution = browser.address();
    browser.press("gw");
    shows(&browser, "main", "No worker is connected for pool shared: 1 command waiting.");
    shows(&browser, "main code", "noetl worker --pool shared");
    browser.open(&execution);
    let _worker = Process(sandbox.spawn(&["worker", "--server", &server.url()]));
    shows(&browser, ".page-head .status", "Completed");
    browser.assert_clean(&server.url());
}

#[test]
fn an_execution_is_read_and_retried_without_scripts() {
    let site = SeededSite::new();
    let browser = Browser::new(Scripts::Off);
    browser.open(&format!("{}/ui/executions?status=FAILED", site.url()));
    browser.click(".executions tbody a.id");
    assert!(browser.text("#failure-title").contains("Failed in step ship"));
    let failed = browser.address();
    browser.click("nav.tabs a[href*='tab=events']");
    browser.click(".events li.here summary .kind");
    assert!(browser.text(".events li.here .json").contains("type"), "an event opens to its JSON");
    browser.click(".events li.here a.seq");
    assert!(browser.text(".says-event").contains("execution.failed"));
    browser.click("nav.moves a[data-key=ArrowLeft]");
    browser.arrives("the position is in the address", |it| it.contains("at="));
    browser.open(&failed);
    browser.click(".repairs form button");
    browser.arrives("the retry is an execution of its own", |it| it != failed);
    eventually("the retry fails as well", || {
        browser.reload();
        browser.text("#failure-title").contains("Failed in step ship")
    });
    browser.assert_clean(&site.url());
}

/// A playbook whose result shows the workload that it was started with.
const GREETING: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: greet, path: tests/greet}
workload: {name: world, times: 2, loud: true, guests: [ada]}
workflow:
  - step: greet
    tool: {kind: noop, result: '{{ workload }}'}
";

/// Replaces the text of a field.
fn fill(browser: &Browser, selector: &str, text: &str) {
    browser.click(selector);
    browser.chord(CONTROL, 'a');
    browser.write(selector, text);
}

#[test]
fn a_playbook_is_started_by_the_form_of_its_workload() {
    let sandbox = Sandbox::new();
    let server = Server::new(&sandbox, &[]);
    server.call("POST", "/api/catalog/register", &json!({ "content": GREETING }));
    let browser = Browser::new(Scripts::On);
    browser.open(&format!("{}/ui/playbooks/tests/greet", server.url()));
    fill(&browser, "[name='workload.name']", "Grace");
    fill(&browser, "[name='workload.times']", "3");
    fill(&browser, "[name='workload.guests']", "[\"ada\"");
    browser.click("[name='workload.loud']");
    browser.click(".run button.main");
    // The form stays as it was filled in, so that only the mistake is repaired.
    shows(&browser, ".run .error-line", "`guests` is not valid JSON");
    let _refusals = browser.console_errors();
    fill(&browser, "[name='workload.guests']", "[\"ada\", \"grace\"]");
    browser.click(".run button.main");
    shows(&browser, ".page-head .status", "Completed");
    shows(&browser, ".facts", "Request");
    let id = browser.address().rsplit('/').next().unwrap_or_default().to_owned();
    let shown = server.call("GET", &format!("/api/executions/{id}"), &Value::Null);
    let expected =
        json!({ "name": "Grace", "times": 3, "loud": false, "guests": ["ada", "grace"] });
    assert_eq!(shown["workload"], expected, "{shown}");
    browser.assert_clean(&server.url());
}

fn approved(site: &SeededSite) -> Value {
    let path = format!("/api/approvals/{}/0", site.approval);
    site.server.call("GET", &path, &Value::Null)["decision"].clone()
}

#[test]
fn a_waiting_step_is_approved_with_and_without_scripts() {
    for scripts in [Scripts::On, Scripts::Off] {
        let site = SeededSite::new();
        let browser = Browser::new(scripts);
        browser.open(&format!("{}/ui/", site.url()));
        shows(&browser, "#live", "1 approval waits for a person.");
        browser.click("#live a[href='/ui/waiting']");
        shows(&browser, "main h1", "Waiting for people");
        shows(&browser, ".waiting h3", "Release 1.4 of the shop");
        browser.write(".decision textarea[name=comment]", "green");
        browser.write(".decision input[name=actor]", "ada");
        browser.click(".decision button[value=approve]");
        eventually("the decision is recorded", || approved(&site)["decision"] == "approved");
        assert_eq!(approved(&site)["actor"], "ada");
        // The next step waits for a signal, which is sent from the same page.
        eventually("the page lists the signal", || {
            browser.open(&format!("{}/ui/waiting", site.url()));
            browser.text("main").contains("Signal payment")
        });
        browser.click("form[action$='/signals/payment'] button");
        eventually("the execution completes", || {
            browser.open(&format!("{}/ui/executions/{}", site.url(), site.approval));
            browser.text(".page-head .status").contains("Completed")
        });
        browser.assert_clean(&site.url());
    }
}

#[test]
fn a_link_decides_once_and_only_by_its_form() {
    let site = SeededSite::new();
    let browser = Browser::new(Scripts::Off);
    let address = format!("{}/ui/decide/{}", site.url(), site.link);
    browser.open(&address);
    shows(&browser, "main", "You decide as ada.");
    browser.open(&address);
    assert_eq!(approved(&site), Value::Null, "loading the page decides nothing");
    browser.write(".decision textarea[name=comment]", "not on a Friday");
    browser.click(".decision button[value=reject]");
    shows(&browser, "main", "Rejected");
    shows(&browser, "main", "by ada");
    assert!(browser.find(".decision").is_none(), "there is no form any more");
    browser.open(&format!("{address}x"));
    shows(&browser, "main", "The link is incomplete or was changed.");
    assert_eq!(approved(&site)["comment"], "not on a Friday");
}

const FORM: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: form, path: tests/form}
inputs:
  city: {type: string, required: true, description: The city of the report.}
  days: {type: integer, default: 3, max: 9}
  format: {enum: [text, html], default: text}
  token: {type: string, secret: true, required: true}
workflow:
  - step: start
    tool: {kind: noop, result: '{{ workload.city }} {{ workload.days + 1 }} {{ workload.format }}'}
";

#[test]
fn the_form_of_a_playbook_is_made_from_its_inputs() {
    let sandbox = Sandbox::new();
    let server = Server::new(&sandbox, &[]);
    server.call("POST", "/api/catalog/register", &json!({ "content": FORM }));
    let browser = Browser::new(Scripts::On);
    browser.open(&format!("{}/ui/playbooks/tests/form", server.url()));
    shows(&browser, ".run", "The city of the report.");
    assert!(browser.find(".run input[type=password][name='workload.token'][required]").is_some());
    assert!(browser.find(".run select[name='workload.format']").is_some());
    browser.write(".run input[name='workload.city']", "Bern");
    browser.write(".run input[name='workload.token']", "hunter2-and-more");
    browser.evaluate(
        "const days = document.querySelector('.run input[name=\"workload.days\"]'); \
         days.value = 99; \
         document.querySelector('.run select').value = 'html';",
    );
    browser.click(".run button.main");
    shows(&browser, ".run", "`days` must be at most 9, this is 99");
    // The other values stay, except for the secret.
    let kept = browser.evaluate(
        "return ['city', 'format', 'token'].map((name) => \
         document.querySelector(`.run [name='workload.${name}']`).value)",
    );
    assert_eq!(kept, json!(["Bern", "html", ""]));
    browser.evaluate("document.querySelector(\".run input[name='workload.days']\").value = 5");
    browser.write(".run input[name='workload.token']", "hunter2-and-more");
    browser.click(".run button.main");
    eventually("the execution completes", || {
        browser.address().contains("/ui/executions/")
            && browser.text(".page-head .status").contains("Completed")
    });
    browser.open(&format!("{}?tab=events", browser.address()));
    assert!(!browser.text("main").contains("hunter2-and-more"));
}
