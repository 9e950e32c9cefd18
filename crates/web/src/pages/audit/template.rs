//! The audit log as HTML.

use maud::{Markup, html};
use noetl_api::wire::{AuditEntryView, AuditVerification};
use noetl_app::AuditEntry;
use noetl_model::TrailOutcome;

use super::AuditView;
use crate::components::empty::empty;
use crate::components::error::{error_line, hint};
use crate::components::id::execution_link;
use crate::components::status::{Tone, badge};
use crate::components::table::{number, table, text, wide};
use crate::components::time::{time, time_text};
use crate::request::PageRequest;

pub(super) fn audit(page: &PageRequest, view: &AuditView) -> Markup {
    html! {
        header.page-head { h1 { (page.t("nav.audit")) }
            div.end {
                form method="get" action="/ui/audit" {
                    input type="hidden" name="verify" value="on";
                    button type="submit" { (page.t("audit.verify")) }
                }
            }
        }
        @if let Some(found) = &view.verification { (verification(page, found)) }
        (filters(page, view))
        @if let Some(text) = view.filter.bad_time() {
            (hint(&html! { (page.words.fill("executions.ignored",
                &[("field", page.t("audit.since")), ("text", text)])) }))
        }
        @if !view.entries.entries.is_empty() { (entries(page, &view.entries.entries)) }
        @else if view.filter.is_narrow() {
            (empty(page.t("audit.none"), page.t("executions.none_more"), None))
        } @else { (empty(page.t("audit.empty"), page.t("audit.empty_more"), None)) }
        (pages(page, view))
        section {
            div.section-head { h2 { (page.t("audit.secrets")) } }
            @if view.accesses.is_empty() { p.soft { (page.t("audit.no_secret")) } }
            @else { (accesses(page, &view.accesses)) }
        }
    }
}

fn verification(page: &PageRequest, found: &AuditVerification) -> Markup {
    html! {
        div.panel {
            @match &found.fault {
                None => p { (badge(Tone::Good, page.t("audit.valid"))) " "
                    (page.words.count("audit.checked", found.entries)) },
                Some(fault) => p { (badge(Tone::Bad, page.t("audit.broken"))) " " (error_line(fault)) },
            }
            @if let Some(head) = &found.head {
                p.soft { (page.words.fill("audit.head", &[("number", &found.last.to_string())])) " " code { (head) } }
            }
        }
    }
}

fn filters(page: &PageRequest, view: &AuditView) -> Markup {
    let filter = &view.filter;
    html! {
        form.filters method="get" action="/ui/audit" {
            label { span { (page.t("audit.actor")) } input name="actor" type="search" value=(filter.actor); }
            label { span { (page.t("audit.action")) }
                input name="action" type="search" value=(filter.action) placeholder=(page.t("audit.part")); }
            label { span { (page.t("audit.since")) }
                input name="since" type="datetime-local" value=(filter.since); }
            button type="submit" { (page.t("executions.show")) }
            @if filter.is_narrow() { a href="/ui/audit" { (page.t("executions.clear")) } }
        }
    }
}

fn entries(page: &PageRequest, entries: &[AuditEntryView]) -> Markup {
    let columns = [
        number(page.t("audit.number")),
        text(page.t("events.at")),
        text(page.t("audit.actor")),
        text(page.t("audit.outcome")),
        text(page.t("audit.action")),
        wide(page.t("audit.subject")),
        text(page.t("audit.source")),
    ];
    let row = |entry: &AuditEntryView| {
        vec![
            html! { span title=(entry.digest) { (entry.number) } },
            time_text(&entry.at),
            html! { @match &entry.actor { Some(actor) => (actor), None => span.soft { "–" } } },
            outcome(page, entry),
            html! { code { (entry.action) } },
            html! { @if let Some(subject) = &entry.subject { code.soft { (subject) } } },
            html! { @if let Some(source) = &entry.source { code.soft { (source) } } },
        ]
    };
    let rows: Vec<Vec<Markup>> = entries.iter().map(row).collect();
    html! { div.broken { (table(page.t("nav.audit"), &columns, &rows)) } }
}

/// Draws the outcome of an action, with the detail that the log has of it.
fn outcome(page: &PageRequest, entry: &AuditEntryView) -> Markup {
    let known = TrailOutcome::ALL.iter().find(|it| it.as_str() == entry.outcome);
    let (tone, word) = match known {
        Some(TrailOutcome::Done) => (Tone::Good, page.t("audit.done")),
        Some(TrailOutcome::Refused) => (Tone::Warning, page.t("audit.refused")),
        Some(TrailOutcome::Failed) => (Tone::Bad, page.t("audit.failed")),
        None => (Tone::Quiet, entry.outcome.as_str()),
    };
    html! {
        (badge(tone, word))
        @if let Some(detail) = &entry.detail { " " span.soft { (detail) } }
    }
}

fn pages(page: &PageRequest, view: &AuditView) -> Markup {
    html! {
        nav.pages aria-label=(page.t("executions.pages")) {
            @if view.filter.before.is_empty() { span {} } @else {
                a href=(view.filter.address("")) { (page.t("executions.newest")) }
            }
            @if let Some(next) = view.entries.next {
                a href=(view.filter.address(&next.to_string())) rel="next" { (page.t("executions.older")) }
            }
        }
    }
}

fn accesses(page: &PageRequest, accesses: &[AuditEntry]) -> Markup {
    let columns = [
        text(page.t("events.at")),
        text(page.t("credentials.name")),
        text(page.t("audit.operation")),
        text(page.t("audit.outcome")),
        text(page.t("executions.id")),
        wide(page.t("audit.worker")),
    ];
    let row = |it: &AuditEntry| {
        vec![
            time(it.at),
            html! { code { (it.credential) } },
            html! { (it.operation) },
            html! { (it.outcome) },
            html! { @if let Some(execution) = it.execution { (execution_link(execution)) } },
            html! { @if let Some(worker) = &it.worker { code { (worker) } } },
        ]
    };
    let rows: Vec<Vec<Markup>> = accesses.iter().map(row).collect();
    table(page.t("audit.secrets"), &columns, &rows)
}
