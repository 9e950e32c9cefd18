//! German pages have no English text: neither one of the English catalogue, nor a sentence that was
//! made elsewhere.

use axum::http::StatusCode;

use super::Site;
use super::execution::{failed, started};
use super::pages::seeded;
use crate::preferences::Language;
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
    let mut found = Vec::new();
    let mut open: Vec<(String, bool)> = Vec::new();
    for part in page.split('<').skip(1) {
        let (tag, text) = part.split_once('>').unwrap_or((part, ""));
        let name = tag.split([' ', '/']).next().unwrap_or_default();
        if let Some(closed) = tag.strip_prefix('/') {
            while open.pop().is_some_and(|(name, _)| name != closed) {}
        } else if !tag.starts_with('!') {
            let is_data = DATA.contains(&name)
                || tag.contains("lang=\"en\"")
                || tag.contains("class=\"json\"")
                || open.last().is_some_and(|(_, is_data)| *is_data);
            if !is_data {
                let heard = READ_ATTRIBUTES.iter().filter_map(|it| tag.split_once(it));
                found.extend(
                    heard.map(|(_, rest)| rest.split('"').next().unwrap_or_default().to_owned()),
                );
            }
            if !VOID.contains(&name) {
                open.push((name.to_owned(), is_data));
            }
        }
        if !open.last().is_some_and(|(_, is_data)| *is_data) {
            found.push(text.trim().to_owned());
        }
    }
    found.retain(|text| !text.is_empty());
    found
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

fn check(page: &str, path: &str) {
    let (english, german) = (Words::of(Language::English), Words::of(Language::German));
    for text in texts(page) {
        let is_german = german.keys().any(|key| is_entry(german, key, &text));
        let key = english.keys().find(|key| {
            // An entry of places alone fits every text.
            let form = english.t(key);
            !form.starts_with('{') && is_entry(english, key, &text)
        });
        assert!(is_german || key.is_none(), "{path}: `{text}` is {}", key.unwrap_or_default());
        let mut words = text.split(|it: char| !it.is_alphanumeric());
        let word = words.find(|word| ENGLISH_WORDS.contains(word));
        assert!(word.is_none(), "{path}: `{text}` is English");
    }
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
    let english = Words::of(Language::English);
    assert!(is_entry(english, "exec.event_of", "Event 3 of 7"));
    assert!(is_entry(english, "exec.runs", "1 run") && is_entry(english, "exec.runs", "4 runs"));
    assert!(!is_entry(english, "exec.event_of", "Ereignis 3 von 7"));
    assert!(!is_entry(english, "executions.step", "step.entered"));
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
