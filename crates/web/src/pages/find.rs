//! The search of every page: executions by id, playbooks by path, and pages.

use axum::extract::Query;
use maud::{Markup, html};
use noetl_api::wire::{CatalogPage, SubscriptionView};
use noetl_app::{CatalogEntry, EntryContents};
use noetl_model::ExecutionId;
use serde::Deserialize;

use crate::address::encoded;
use crate::components::empty::empty;
use crate::components::id::{execution_address, playbook_address};
use crate::components::status::status_word;
use crate::error::PageError;
use crate::layout::{NavPlace, PageHead, places};
use crate::request::PageRequest;
use crate::response::PageResult;

/// Maximum number of results.
const RESULTS_MAX: usize = 20;

/// Pages that are no places of the navigation.
const MORE_PLACES: &[(&str, &str)] =
    &[("/ui/playbooks/new", "editor.new"), ("/ui/executions/bulk", "bulk.title")];

/// Kinds of documents that have pages of their own.
const SCHEDULE: &str = "Schedule";
const SUBSCRIPTION: &str = "Subscription";

#[derive(Debug, Deserialize)]
pub(super) struct FindQuery {
    #[serde(default)]
    q: String,
}

/// A result: where it leads, its name, and the word for its kind.
#[derive(Debug)]
struct SearchResult {
    address: String,
    name: String,
    kind: String,
}

pub(super) async fn show(page: PageRequest, Query(query): Query<FindQuery>) -> PageResult {
    let findings = find(&page, query.q.trim()).await?;
    let head = PageHead { title: page.t("find.title"), place: NavPlace::None };
    Ok(page.respond(&head, &template(&page, &query.q, &findings)))
}

async fn find(page: &PageRequest, text: &str) -> Result<Vec<SearchResult>, PageError> {
    let mut findings = Vec::new();
    if let Ok(id) = text.parse::<ExecutionId>()
        && let Some(known) = page.app().find_known(id).await?
    {
        let status = page.t(status_word(known.summary.status));
        findings.push(SearchResult {
            address: execution_address(id),
            name: format!("{id} · {}", known.summary.playbook.path),
            kind: status.to_owned(),
        });
    }
    let lower = text.to_lowercase();
    let named = places(page).map(|(address, word)| (address, page.words.t(word)));
    let named = named.filter(|(_, name)| name.to_lowercase().contains(&lower));
    findings.extend(named.map(|(address, name)| SearchResult {
        address: address.to_owned(),
        name: name.to_owned(),
        kind: page.t("find.page").to_owned(),
    }));
    let more = MORE_PLACES.iter().map(|(address, word)| (*address, page.words.t(word)));
    let more = more.filter(|(_, name)| name.to_lowercase().contains(&lower));
    findings.extend(more.map(|(address, name)| SearchResult {
        address: address.to_owned(),
        name: name.to_owned(),
        kind: page.t("find.action").to_owned(),
    }));
    let named =
        CatalogPage { path: Some(lower), limit: Some(RESULTS_MAX), ..CatalogPage::default() };
    let entries = page.app().list_catalog(&named, &EntryContents::Omitted).await?.entries;
    let subscriptions = match entries.iter().any(|entry| entry.kind == SUBSCRIPTION) {
        true => page.app().list_subscriptions().await?.subscriptions,
        false => Vec::new(),
    };
    findings.extend(entries.into_iter().map(|entry| SearchResult {
        address: document_address(&entry, &subscriptions),
        name: entry.path,
        kind: kind_word(&entry.kind).map_or(entry.kind.clone(), |word| page.t(word).to_owned()),
    }));
    findings.truncate(RESULTS_MAX);
    Ok(findings)
}

/// Returns the address of the page of a document: of its schedule or its subscription, if it is one,
/// else of its text.
fn document_address(entry: &CatalogEntry, subscriptions: &[SubscriptionView]) -> String {
    let registered = subscriptions.iter().find(|it| it.path == entry.path);
    match (entry.kind.as_str(), registered) {
        (SCHEDULE, _) => format!("/ui/schedules/{}", encoded(&entry.path)),
        (SUBSCRIPTION, Some(it)) => format!("/ui/subscriptions/{}", it.subscription_id),
        _ => playbook_address(&entry.path),
    }
}

/// Returns the key of the word for a kind of documents; `None` for a kind of a later version.
fn kind_word(kind: &str) -> Option<&'static str> {
    match kind {
        "Playbook" => Some("find.playbook"),
        SCHEDULE => Some("find.schedule"),
        SUBSCRIPTION => Some("find.subscription"),
        "Notification" => Some("find.notification"),
        _ => None,
    }
}

fn template(page: &PageRequest, text: &str, findings: &[SearchResult]) -> Markup {
    html! {
        header.page-head { h1 { (page.t("find.title")) } }
        @if findings.is_empty() {
            (empty(&page.words.fill("find.nothing", &[("text", text)]), page.t("find.nothing_more"), None))
        } @else {
            @if !text.is_empty() { p.soft.lead { (page.words.fill("find.of", &[("text", text)])) } }
            ul #found.found {
                @for finding in findings {
                    li data-row { a href=(finding.address) data-kind=(finding.kind) { (finding.name) }
                        span.soft { (finding.kind) } }
                }
            }
        }
    }
}
