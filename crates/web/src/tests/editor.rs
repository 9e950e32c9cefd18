//! The editor: check, save, conflicts, run and follow; no text is lost.

use axum::http::StatusCode;
use noetl_app::EntryChoice;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use super::Site;
use super::execution::{ORDERS, failed};
use super::text::content_text;
use crate::visitor::Permissions;

const EDIT: &str = "/ui/playbooks/shop/orders/edit";
const NEW: &str = "/ui/playbooks/new";

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

async fn seeded() -> Site {
    let site = Site::new();
    site.app.register(ORDERS).await.expect("a playbook");
    site
}

/// Returns the fields of the form with a text; browsers send two characters at the ends of lines.
fn fields(action: &str, base: u32, text: &str) -> String {
    format!("action={action}&base={base}&content={}", encoded(&text.replace('\n', "\r\n")))
}

async fn newest(site: &Site) -> (u32, String) {
    let choice = EntryChoice::Path { path: "shop/orders".to_owned(), version: None };
    let entry = site.app.catalog_entry(&choice).await.expect("the playbook");
    (entry.version, entry.content)
}

/// Returns the text in the text area of a page.
fn text_of(body: &str) -> String {
    let area = body.split_once("<textarea id=\"editor-text\"").expect("an editor").1;
    let text = area.split_once('>').expect("a tag").1.split_once("</textarea>").expect("an end").0;
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
    text.strip_prefix('\n').unwrap_or(&text).replace("&amp;", "&")
}

#[tokio::test(start_paused = true)]
async fn the_editor_shows_text_inputs_and_steps() {
    let site = seeded().await;
    let shown = site.get(EDIT).await;
    assert_eq!(shown.status, StatusCode::OK, "{}", shown.body);
    assert_eq!(text_of(&shown.body), ORDERS);
    let text = content_text(&shown.body);
    for part in ["Edit shop/orders", "No problems", "minimum", "Save and run", "Check"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(shown.body.contains("<title>bill</title>"), "the graph is drawn");
    let page = site.get("/ui/playbooks/shop/orders").await;
    assert!(page.body.contains(&format!("href=\"{EDIT}\"")), "the page leads to its editor");
}

#[tokio::test(start_paused = true)]
async fn a_check_lists_findings_with_their_lines_and_keeps_the_text() {
    let site = seeded().await;
    let text = ORDERS.replace("kind: python", "kind: pyhton");
    let shown = site.submit(EDIT, EDIT, &fields("check", 1, &text)).await;
    assert_eq!(shown.status, StatusCode::OK);
    assert_eq!(text_of(&shown.body), text);
    let content = content_text(&shown.body);
    assert!(content.contains("Line 7, column 18"), "{content}");
    assert!(content.contains("unknown-tool"), "{content}");
    assert_eq!(newest(&site).await.0, 1);
}

#[tokio::test(start_paused = true)]
async fn a_save_makes_a_version_and_leads_to_its_changes() {
    let site = seeded().await;
    let text = ORDERS.replace("minimum: 10", "minimum: 11");
    let saved = site.submit(EDIT, EDIT, &fields("save", 1, &text)).await;
    assert_eq!(saved.location(), format!("{EDIT}?saved=2"), "{}", saved.body);
    assert_eq!(newest(&site).await, (2, text));
    let shown = site.get(saved.location()).await;
    assert!(shown.body.contains("Saved as version 2."), "{}", shown.body);
    assert!(shown.body.contains("/ui/playbooks/shop/orders?version=2&amp;compare=1"));
}

#[tokio::test(start_paused = true)]
async fn a_text_with_errors_is_not_saved_and_not_lost() {
    let site = seeded().await;
    let text = ORDERS.replace("step: bill, when", "step: bil, when");
    let shown = site.submit(EDIT, EDIT, &fields("save", 1, &text)).await;
    assert_eq!(shown.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(text_of(&shown.body), text);
    assert!(content_text(&shown.body).contains("there is no step `bil`"), "{}", shown.body);
    let other = ORDERS.replace("path: shop/orders", "path: shop/others");
    let shown = site.submit(EDIT, EDIT, &fields("save", 1, &other)).await;
    assert_eq!((shown.status, text_of(&shown.body)), (StatusCode::CONFLICT, other));
    assert_eq!(newest(&site).await.0, 1);
}

#[tokio::test(start_paused = true)]
async fn a_version_saved_meanwhile_is_not_overwritten_without_a_question() {
    let site = seeded().await;
    let theirs = ORDERS.replace("minimum: 10", "minimum: 20");
    site.app.register(&theirs).await.expect("their version");
    let mine = ORDERS.replace("minimum: 10", "minimum: 30");
    let shown = site.submit(EDIT, EDIT, &fields("save", 1, &mine)).await;
    assert_eq!((shown.status, text_of(&shown.body)), (StatusCode::CONFLICT, mine.clone()));
    assert!(shown.body.contains("Somebody has saved version 2 meanwhile."), "{}", shown.body);
    assert!(shown.body.contains("shop/orders?version=2&amp;compare=1"), "their changes are linked");
    assert!(shown.body.contains("name=\"base\" value=\"2\""), "the next save is meant");
    assert_eq!(newest(&site).await, (2, theirs));
    let saved = site.submit(EDIT, EDIT, &fields("save", 2, &mine)).await;
    assert_eq!(saved.location(), format!("{EDIT}?saved=3"));
    assert_eq!(newest(&site).await, (3, mine));
}

#[tokio::test(start_paused = true)]
async fn a_text_is_run_with_its_inputs_and_followed_on_the_page() {
    let site = seeded().await;
    let text = ORDERS.replace("minimum: 10", "minimum: 12");
    let run = format!("{}&workload.minimum=13", fields("run", 1, &text));
    let started = site.submit(EDIT, EDIT, &run).await;
    assert_eq!(started.status, StatusCode::SEE_OTHER, "{}", started.body);
    assert!(started.location().starts_with(&format!("{EDIT}?saved=2&run=")));
    let shown = site.get(started.location()).await;
    let content = content_text(&shown.body);
    assert!(content.contains("Run of this textRunning"), "{content}");
    assert!(
        shown.body.contains("id=\"editor-run\"") && shown.body.contains("data-refresh=\"1000\"")
    );
    let newest = site.app.newest_executions().await.expect("executions").executions;
    assert_eq!(newest[0].playbook.version, 2);
    // The same text is not saved again, and a wrong input starts nothing.
    let again = site.submit(EDIT, EDIT, &fields("run", 2, &text)).await;
    assert!(again.location().starts_with(&format!("{EDIT}?run=")), "{}", again.location());
    let wrong = format!("{}&workload.minimum=many", fields("run", 2, &text));
    let refused = site.submit(EDIT, EDIT, &wrong).await;
    assert_eq!((refused.status, text_of(&refused.body)), (StatusCode::CONFLICT, text));
    assert!(refused.body.contains("value=\"many\""), "the input stays: {}", refused.body);
}

#[tokio::test(start_paused = true)]
async fn a_new_playbook_begins_with_a_valid_text_and_does_not_replace_another() {
    let site = seeded().await;
    let shown = site.get(NEW).await;
    let text = text_of(&shown.body);
    assert!(content_text(&shown.body).contains("No problems"), "{}", shown.body);
    let saved = site.submit(NEW, NEW, &fields("save", 0, &text)).await;
    assert_eq!(saved.location(), "/ui/playbooks/examples/hello/edit?saved=1");
    let taken = text.replace("path: examples/hello", "path: shop/orders");
    let shown = site.submit(NEW, NEW, &fields("save", 0, &taken)).await;
    assert_eq!((shown.status, text_of(&shown.body)), (StatusCode::CONFLICT, taken));
    assert!(shown.body.contains("There is a playbook shop/orders already"), "{}", shown.body);
}

#[tokio::test(start_paused = true)]
async fn the_script_gets_colours_findings_graph_and_completions() {
    let site = seeded().await;
    let text = ORDERS.replace("kind: python", "kind: pyt");
    let answer = site.submit(EDIT, "/ui/editor/analysis", &fields("", 1, &text)).await;
    let analysis: Value = serde_json::from_str(&answer.body).expect("JSON");
    assert_eq!(analysis["analysis"]["is_valid"], false);
    assert_eq!(analysis["analysis"]["tokens"][0], serde_json::json!([0, 10, "key"]));
    assert_eq!(analysis["analysis"]["findings"][0]["line"], 7);
    assert_eq!(analysis["graph"], Value::Null, "the last graph stays");
    let answer = site.submit(EDIT, "/ui/editor/analysis", &fields("", 1, ORDERS)).await;
    let analysis: Value = serde_json::from_str(&answer.body).expect("JSON");
    assert!(analysis["graph"].as_str().is_some_and(|it| it.contains("<svg")));
    assert!(analysis["inputs"].as_str().is_some_and(|it| it.contains("workload.minimum")));
    let at = text.find("pyt").expect("the word") + 3;
    let body = format!("{}&offset={at}", fields("", 1, &text).replace("%0D%0A", "%0A"));
    let answer = site.submit(EDIT, "/ui/editor/completions", &body).await;
    let found: Value = serde_json::from_str(&answer.body).expect("JSON");
    assert_eq!(found["items"][0]["label"], "python", "{found}");
}

#[tokio::test(start_paused = true)]
async fn a_retry_with_a_wrong_playbook_keeps_what_was_sent() {
    let (site, execution) = failed().await;
    let base = format!("/ui/executions/{execution}");
    let form = format!("{base}/fork?at=13&edit=playbook");
    let opened = site.get(&form).await;
    assert!(opened.body.contains("data-line=\"14\""), "it opens at the failed step");
    let text = ORDERS.replace("kind: python", "kind: pyhton");
    let sent = format!("at=13&ctx=%7B%22a%22%3A1%7D&workload=%7B%7D&playbook={}", encoded(&text));
    let shown = site.submit(&form, &format!("{base}/fork"), &sent).await;
    assert_eq!((shown.status, text_of(&shown.body)), (StatusCode::CONFLICT, text));
    assert!(shown.body.contains("{&quot;a&quot;:1}"), "{}", shown.body);
    assert!(content_text(&shown.body).contains("Line 7, column 18"), "{}", shown.body);
}

#[tokio::test(start_paused = true)]
async fn a_fork_with_another_playbook_needs_the_permission_to_write_playbooks() {
    let (mut site, execution) = failed().await;
    site.visitor.may = Permissions { write: false, admin: false, ..Permissions::ALL };
    let base = format!("/ui/executions/{execution}");
    let form = format!("{base}/fork?at=13&edit=playbook");
    let failure = site.get(&base).await;
    assert!(!failure.body.contains("edit=playbook"), "{}", content_text(&failure.body));
    let opened = site.get(&form).await;
    assert!(!opened.body.contains("name=\"playbook\""), "{}", content_text(&opened.body));
    let edited = encoded(&ORDERS.replace("code: 'pass'", "code: 'import os'"));
    let sent = |playbook: &str| format!("at=13&ctx=%7B%7D&workload=%7B%7D&playbook={playbook}");
    let refused = site.submit(&form, &format!("{base}/fork"), &sent(&edited)).await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN, "{}", refused.body);
    assert_eq!(newest(&site).await.0, 1, "nothing is registered");
    let forked = site.submit(&form, &format!("{base}/fork"), &sent(&encoded(ORDERS))).await;
    assert_eq!(forked.status, StatusCode::SEE_OTHER, "{}", forked.body);
}
