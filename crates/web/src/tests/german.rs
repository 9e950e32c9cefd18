//! German pages have no English text: neither one of the English catalogue, nor a sentence that was
//! made elsewhere. Nor is a German text marked as English.

use std::sync::Arc;

use axum::http::StatusCode;

use super::execution::{failed, started};
use super::pages::seeded;
use super::snapshots::{CREDENTIAL_PURPOSE, RELEASE};
use super::{OneToken, Site, snapshots};
use crate::preferences::Language;
use crate::state::SignIn;
use crate::words::Words;

/// Words of English sentences that no German sentence has.
const ENGLISH_WORDS: &[&str] = &[
    "the", "of", "is", "has", "have", "for", "and", "with", "are", "been", "its", "not", "cannot",
];
/// Elements whose text is data, source text or a name.
const DATA: &[&str] = &["code", "pre", "time", "kbd", "script", "style", "textarea", "datalist"];
const VOID: &[&str] = &["input", "meta", "link", "br"];
const READ_ATTRIBUTES: &[&str] = &["aria-label=\"", "title=\"", "placeholder=\""];

/// Returns the texts of a page that a visitor reads or hears, except for data and for parts that are
/// marked as English.
fn texts(page: &str) -> Vec<String> {
    read_texts(page).0
}

/// Returns the texts of a page that a visitor reads or hears, except for data, and those of parts
/// that are marked as English.
fn read_texts(page: &str) -> (Vec<String>, Vec<String>) {
    let mut found = Vec::new();
    let mut english = Vec::new();
    let mut open: Vec<(String, Content)> = Vec::new();
    for part in page.split('<').skip(1) {
        let (tag, text) = part.split_once('>').unwrap_or((part, ""));
        let name = tag.split([' ', '/']).next().unwrap_or_default();
        if let Some(closed) = tag.strip_prefix('/') {
            while open.pop().is_some_and(|(name, _)| name != closed) {}
        } else if !tag.starts_with('!') {
            let around = open.last().map_or(Content::Words, |(_, content)| *content);
            let is_data = DATA.contains(&name) || tag.contains("class=\"json\"");
            let content = match around {
                Content::Data => Content::Data,
                Content::Words | Content::English if is_data => Content::Data,
                Content::Words if tag.contains("lang=\"en\"") => Content::English,
                Content::Words | Content::English => around,
            };
            if content == Content::Words {
                let heard = READ_ATTRIBUTES.iter().filter_map(|it| tag.split_once(it));
                found.extend(
                    heard.map(|(_, rest)| rest.split('"').next().unwrap_or_default().to_owned()),
                );
            }
            if !VOID.contains(&name) {
                open.push((name.to_owned(), content));
            }
        }
        match open.last().map_or(Content::Words, |(_, content)| *content) {
            Content::Words => found.push(text.trim().to_owned()),
            Content::English => english.push(text.trim().to_owned()),
            Content::Data => {}
        }
    }
    found.retain(|text| !text.is_empty());
    english.retain(|text| !text.is_empty());
    (found, english)
}

/// The content of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Content {
    Words,
    /// Words that are marked as English.
    English,
    Data,
}

/// True if a text is an entry of a catalogue, with any values in its places.
fn is_entry(words: &Words, key: &str, text: &str) -> bool {
    words.t(key).split(" | ").any(|form| fits(form, text))
}

fn fits(form: &str, text: &str) -> bool {
    let mut parts = form.split('{').enumerate().map(|(index, part)| match index {
        0 => part,
        _ => part.split_once('}').map_or(part, |(_, rest)| rest),
    });
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let mut ends = false;
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
        ends = part.is_empty();
    }
    ends || rest.is_empty()
}

/// The title of the approval, which sentences quote.
const TITLE: &str = "Release 1.4 of the shop";

/// True if a text stands in a document of the seeded store: its title, say.
fn is_written_by_a_user(text: &str) -> bool {
    let documents = [RELEASE, CREDENTIAL_PURPOSE];
    let stands = |line: &str| documents.iter().any(|document| document.contains(line.trim()));
    let text = text.trim_end_matches(" *").trim_end_matches(" · noetl");
    text.contains(' ') && text.lines().all(stands)
}

#[track_caller]
fn check(page: &str, path: &str) {
    let faults = faults(page);
    assert!(faults.is_empty(), "{path}: {}", faults.join("\n"));
}

/// Returns the texts of a page that are in the wrong language, each with the reason.
fn faults(page: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let (english, german) = (Words::of(Language::English), Words::of(Language::German));
    let (texts, marked) = read_texts(page);
    for text in marked {
        let key = german.keys().find(|key| {
            !german.t(key).starts_with('{')
                && is_entry(german, key, &text)
                && !is_entry(english, key, &text)
        });
        if let Some(key) = key {
            faults.push(format!("`{text}` is {key} and marked as English"));
        }
    }
    for text in texts.iter().filter(|text| !is_written_by_a_user(text)) {
        let is_german = german.keys().any(|key| is_entry(german, key, text));
        let key = english.keys().find(|key| {
            // An entry of places alone fits every text.
            let form = english.t(key);
            !form.starts_with('{') && is_entry(english, key, text)
        });
        if let Some(key) = key.filter(|_| !is_german) {
            faults.push(format!("`{text}` is {key}"));
        }
        let text = text.replace(TITLE, "");
        let mut words = text.split(|it: char| !it.is_alphanumeric());
        let word = words.find(|word| ENGLISH_WORDS.contains(word));
        if word.is_some() {
            faults.push(format!("`{text}` is English"));
        }
    }
    faults
}

async fn check_pages(site: &Site, status: StatusCode, paths: &[&str]) {
    for path in paths {
        let shown = site.get_german(path).await;
        assert_eq!(shown.status, status, "{path}: {}", shown.body);
        check(&shown.body, path);
    }
}

#[test]
fn an_english_text_is_found_wherever_it_is() {
    let page = "<p>Kein <b>Fehler</b></p><p title=\"Next event\">1</p><code>Next event</code>";
    assert_eq!(texts(page), ["Kein", "Fehler", "Next event", "1"]);
    let page = "<p>Nein: <span lang=\"en\">It <code>x</code> failed</span> <b>da</b></p>";
    let (own, marked) = read_texts(page);
    assert_eq!(
        (own, marked),
        (vec!["Nein:".into(), "da".into()], vec!["It".into(), "failed".into()])
    );
    let english = Words::of(Language::English);
    assert!(is_entry(english, "exec.event_of", "Event 3 of 7"));
    assert!(is_entry(english, "exec.runs", "1 run") && is_entry(english, "exec.runs", "4 runs"));
    assert!(!is_entry(english, "exec.event_of", "Ereignis 3 von 7"));
    assert!(!is_entry(english, "executions.step", "step.entered"));
}

#[tokio::test(start_paused = true)]
async fn every_page_is_german() {
    let seeded = snapshots::seeded().await;
    let mut found = Vec::new();
    // The page with all components is for people who develop pages.
    for (name, address) in seeded.pages().into_iter().filter(|(name, _)| *name != "components") {
        let shown = seeded.site.get_german(&address).await.body;
        found.extend(faults(&shown).into_iter().map(|fault| format!("{name}: {fault}")));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[tokio::test(start_paused = true)]
async fn the_login_and_its_refusals_are_german() {
    let site = Site::with(SignIn::Token(Arc::new(OneToken)));
    check_pages(&site, StatusCode::OK, &["/ui/login"]).await;
    let shown = site.get("/ui/login").await;
    let token = shown.between("name=\"form_token\" value=\"", "\"");
    let cookie = format!("{}; noetl_preferences=system.de.utc", shown.cookie());
    let refused = site.post("/ui/login", &cookie, format!("form_token={token}&token=wrong")).await;
    assert_eq!(refused.status, StatusCode::UNAUTHORIZED, "{}", refused.body);
    check(&refused.body, "a refused login");
}

#[tokio::test(start_paused = true)]
async fn forms_that_cannot_be_read_are_german() {
    let (site, execution) = failed().await;
    let base = format!("/ui/executions/{execution}");
    for (form, fields) in [
        ("fork", "at=4&ctx=%5B%5D&workload=%7B%7D"),
        ("fork", "at=4&ctx=%7B&workload=%7B%7D"),
        ("again", "workload=7"),
    ] {
        let shown = site.get(&format!("{base}/again")).await;
        let token = shown.between("name=\"form_token\" value=\"", "\"");
        let cookie = format!("{}; noetl_preferences=system.de.utc", shown.cookie());
        let body = format!("form_token={token}&{fields}");
        let refused = site.post(&format!("{base}/{form}"), &cookie, body).await;
        assert_eq!(refused.status, StatusCode::CONFLICT, "{}", refused.body);
        check(&refused.body, fields);
    }
}

#[tokio::test(start_paused = true)]
async fn places_are_german() {
    let paths = [
        "/ui/",
        "/ui/executions",
        "/ui/playbooks",
        "/ui/schedules",
        "/ui/subscriptions",
        "/ui/feeds",
        "/ui/workers",
        "/ui/credentials",
        "/ui/system",
        "/ui/find?q=x",
    ];
    check_pages(&Site::new(), StatusCode::OK, &paths).await;
    let site = seeded().await;
    check_pages(&site, StatusCode::OK, &paths).await;
    check_pages(&site, StatusCode::OK, &["/ui/playbooks/billing/refund?compare=1"]).await;
    check_pages(&site, StatusCode::NOT_FOUND, &["/ui/nowhere", "/ui/executions/7"]).await;
}

#[tokio::test(start_paused = true)]
async fn a_failed_execution_is_german() {
    let (site, execution) = failed().await;
    let parts = [
        "",
        "?step=load",
        "?at=6&tab=variables&to=3",
        "?tab=events",
        "?tab=logs",
        "?tab=source",
        "?at=7&tab=try&expression=ctx.total*2",
        "?tab=try&expression=ctx.(",
        "/fork?at=4",
        "/again",
        "/compare?at=8&to=2",
        "/verify",
        "/value?name=ctx.total",
    ];
    let paths: Vec<String> =
        parts.iter().map(|part| format!("/ui/executions/{execution}{part}")).collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    check_pages(&site, StatusCode::OK, &paths).await;
    let missing = format!("/ui/executions/{execution}?at=999");
    check_pages(&site, StatusCode::NOT_FOUND, &[&missing]).await;
}

#[tokio::test(start_paused = true)]
async fn a_wait_for_a_worker_is_german_and_names_the_pool() {
    let (site, execution) = started().await;
    let path = format!("/ui/executions/{execution}");
    check_pages(&site, StatusCode::OK, &[&path, "/ui/"]).await;
    tokio::time::advance(std::time::Duration::from_secs(11)).await;
    let shown = site.get_german(&path).await;
    let said =
        "Für den Pool <code>shared</code> ist kein Worker verbunden; 1 Befehl wartet seit 11 s.";
    assert!(shown.body.contains(said), "{}", shown.body);
    assert!(shown.body.contains("noetl worker --pool shared"));
    check(&shown.body, &path);
}
