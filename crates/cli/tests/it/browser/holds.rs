//! Stories of visitors: labels, signals, pauses, queues of limits, and the pages of administrators.

use serde_json::{Value, json};

use super::driver::{Browser, Scripts};
use super::pages::guarded_server;
use super::seed::SeededSite;
use crate::sandbox::{Sandbox, eventually};
use crate::server::Server;

/// Waits until an element contains a text.
#[track_caller]
fn shows(browser: &Browser, selector: &str, text: &str) {
    eventually(&format!("{selector} contains {text:?}"), || browser.text(selector).contains(text));
}

fn status(server: &Server, execution: &str) -> Value {
    server.call("GET", &format!("/api/executions/{execution}/status"), &Value::Null)
}

#[test]
fn executions_are_filtered_by_a_label_of_the_list() {
    let site = SeededSite::new();
    let browser = Browser::new(Scripts::On);
    browser.open(&format!("{}/ui/executions", site.url()));
    browser.click("a.label[href$='label=parcel:p-17']");
    eventually("the label is in the address", || browser.address().contains("label=parcel:p-17"));
    shows(&browser, ".executions", "shop/parcel");
    let rows = browser.evaluate("return document.querySelectorAll('.executions tbody tr').length");
    assert_eq!(rows, json!(1));
    let field = browser.evaluate("return document.querySelector('input[name=label]').value");
    assert_eq!(field, json!("parcel:p-17"));
    browser.open(&format!("{}/ui/executions?label=team:shipping,parcel:p-18", site.url()));
    shows(&browser, "main", "No execution matches");
    browser.assert_clean(&site.url());
}

#[test]
fn a_signal_is_sent_from_the_page_of_waits_with_and_without_scripts() {
    for scripts in [Scripts::On, Scripts::Off] {
        let site = SeededSite::new();
        let browser = Browser::new(scripts);
        browser.open(&format!("{}/ui/waiting", site.url()));
        let form = "form[action$='/signals/arrived']";
        browser.write(&format!("{form} textarea"), "{\"door\": 4}");
        browser.write(&format!("{form} input[name=sender]"), "porter");
        browser.click(&format!("{form} button"));
        eventually("the execution completes", || {
            status(&site.server, &site.labelled)["status"] == "COMPLETED"
        });
        browser.open(&format!("{}/ui/executions/{}?step=file", site.url(), site.labelled));
        shows(&browser, "main", "porter");
        browser.assert_clean(&site.url());
    }
}

#[test]
fn an_execution_is_paused_with_a_reason_and_resumed_on_its_page() {
    for scripts in [Scripts::On, Scripts::Off] {
        let site = SeededSite::new();
        let browser = Browser::new(scripts);
        browser.open(&format!("{}/ui/executions/{}", site.url(), site.labelled));
        let (paused, resumed) = ("form[action$='/pause']", "form[action$='/resume']");
        browser.click(&format!("details.confirm:has({paused}) > summary"));
        browser.write(&format!("{paused} input[name=reason]"), "stocktaking");
        browser.click(&format!("{paused} button"));
        shows(&browser, "main", "Paused ");
        let events = format!("/api/executions/{}/events", site.labelled);
        let events = site.server.call("GET", &events, &Value::Null).to_string();
        assert!(events.contains("stocktaking"), "{events}");
        browser.open(&format!("{}/ui/executions?label=parcel:p-17", site.url()));
        shows(&browser, ".executions", "Paused ");
        browser.open(&format!("{}/ui/executions/{}", site.url(), site.labelled));
        browser.click(&format!("{resumed} button"));
        eventually("it is not paused any more", || {
            browser.reload();
            browser.find(paused).is_some()
        });
        browser.assert_clean(&site.url());
    }
}

#[test]
fn a_pool_is_paused_and_a_playbook_resumed_on_the_page_of_workers() {
    let site = SeededSite::new();
    let browser = Browser::new(Scripts::On);
    browser.open(&format!("{}/ui/playbooks", site.url()));
    shows(&browser, ".tree li.entry:has(.status)", "letters");
    browser.press("gw");
    shows(&browser, "#live", "broken printer");
    browser.click("form:has([name=playbook]) button");
    eventually("the playbook is resumed", || !browser.text("main").contains("office/letters"));
    browser.click("details.confirm:has([value=crm]) > summary");
    browser.write("form:has([value=crm]) input[name=reason]", "maintenance");
    browser.click("form:has([value=crm]) button");
    shows(&browser, "#live", "maintenance");
    browser.click("section:has(td.wide) form:has([value=resume]) button");
    eventually("no pause is left", || {
        site.server.call("GET", "/api/pauses", &Value::Null)["pauses"] == json!([])
    });
    browser.assert_clean(&site.url());
}

#[test]
fn a_queue_of_a_limit_is_told_in_the_list_on_the_page_and_by_the_limit() {
    let site = SeededSite::new();
    let browser = Browser::new(Scripts::On);
    let said = "for limit crm, number 1 in its queue.";
    browser.open(&format!("{}/ui/executions?playbook=sales/crm", site.url()));
    shows(&browser, ".executions", said);
    browser.open(&format!("{}/ui/executions/{}", site.url(), site.queued));
    shows(&browser, "main", "for limit crm in step write, number 1 in its queue.");
    browser.press("gw");
    browser.click("a[href='/ui/limits/crm']");
    shows(&browser, "main h1", "Limit crm");
    let sections = browser.evaluate(
        "return [...document.querySelectorAll('main section')].map((section) => \
         section.querySelectorAll('tbody tr').length)",
    );
    assert_eq!(sections, json!([1, 1]), "one holder and one in the queue");
    shows(&browser, "main section + section", &site.queued[site.queued.len() - 8..]);
    browser.assert_clean(&site.url());
}

#[test]
fn a_token_is_created_and_opens_only_what_it_may() {
    let sandbox = Sandbox::new();
    let server = guarded_server(&sandbox);
    let browser = Browser::new(Scripts::On);
    let log_in = |token: &str| {
        browser.write("#token", token);
        browser.click(".login button.main");
        // Keys are for the page that follows.
        let is_ready =
            "return document.readyState == 'complete' && !document.querySelector('#token')";
        eventually("the page after the login is loaded", || browser.evaluate(is_ready) == true);
    };
    browser.open(&format!("{}/ui/tokens", server.url()));
    log_in("runner");
    shows(&browser, "main h1", "Access denied");
    assert!(!browser.text("nav.places").contains("Audit log"), "the navigation has no such place");
    let log_out = || {
        browser.open(&format!("{}/ui/", server.url()));
        browser.click("details.menu summary");
        browser.click("form[action='/ui/logout'] button");
        shows(&browser, "main h1", "Log in");
    };
    log_out();
    log_in("admin");
    browser.press("gt");
    shows(&browser, "main h1", "Tokens");
    browser.write("input[name=name]", "ci");
    browser.evaluate("document.querySelector('select[name=role]').value = 'operator'");
    browser.write("input[name=paths]", "team-a/*");
    browser.click(".run button.main");
    shows(&browser, "main h1", "Token ci");
    let secret = browser.text(".secret .command code");
    assert!(secret.starts_with("noetl_"), "{secret}");
    assert!(!browser.address().contains(&secret));
    browser.press("gl");
    shows(&browser, "main", "POST /ui/tokens");
    assert!(!browser.text("main").contains(&secret), "the audit log has no secret");
    log_out();
    let _refusals = browser.console_errors();
    log_in(&secret);
    shows(&browser, "main h1", "This token opens no pages");
    shows(&browser, "main", "operator:team-a/*");
    browser.click("main form[action='/ui/logout'] button");
    shows(&browser, "main h1", "Log in");
}

#[test]
fn an_execution_is_kept_and_deleted_on_its_page() {
    let site = SeededSite::new();
    let browser = Browser::new(Scripts::On);
    browser.open(&format!("{}/ui/executions/{}", site.url(), site.completed));
    browser.click("a[href$='/retention']");
    shows(&browser, "main h1", "Keep or delete");
    browser.write("input[name=reason]", "for the audit");
    browser.click("form:has([value=keep]) button");
    shows(&browser, "main", "for the audit");
    browser.click("form:has([value=end]) button");
    eventually("it can be deleted", || browser.find("form:has([value=delete])").is_some());
    browser.click("details.confirm:has([value=delete]) > summary");
    browser.click("form:has([value=delete]) button");
    shows(&browser, "main h1", "Deleted execution");
    let gone = browser.text("main");
    assert!(gone.contains("Digest of the last event"), "{gone}");
}

#[test]
fn a_late_execution_is_named_by_the_overview_and_says_since_when() {
    let site = SeededSite::new();
    let browser = Browser::new(Scripts::Off);
    let link = format!(".stack a[href='/ui/executions/{}']", site.labelled);
    eventually("it is late", || {
        browser.open(&format!("{}/ui/", site.url()));
        browser.find(&link).is_some()
    });
    shows(&browser, ".stack", "Late: not ended in the expected time");
    browser.open(&format!("{}/ui/executions/{}", site.url(), site.labelled));
    shows(&browser, ".facts", "late since");
}
