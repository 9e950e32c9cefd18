//! The catalog as HTML.

use maud::{Markup, html};
use noetl_app::CatalogEntry;

use super::PlaybooksView;
use super::tree::Folder;
use crate::components::empty::empty;
use crate::components::id::playbook_address;
use crate::components::status::{Tone, badge};
use crate::components::time::time;
use crate::pages::editor::NEW;
use crate::request::PageRequest;

pub(super) fn playbooks(page: &PageRequest, view: &PlaybooksView) -> Markup {
    let PlaybooksView { filter, root, .. } = view;
    let is_narrow = !filter.q.is_empty() || filter.archived == "on";
    html! {
        header.page-head { h1 { (page.t("nav.playbooks")) }
            @if page.visitor.may.write {
                div.end { a.button href=(NEW) { (page.t("editor.new")) } }
            }
        }
        form.filters method="get" action="/ui/playbooks" data-at-once {
            label { span { (page.t("playbooks.path")) }
                input #filter-path name="q" type="search" value=(filter.q);
            }
            label.check { input name="archived" type="checkbox" value="on" checked[filter.archived == "on"];
                span { (page.t("playbooks.archived")) } }
            button type="submit" { (page.t("executions.show")) }
        }
        @if !root.is_empty() {
            div.tree.panel { (folder(page, view, root)) }
        } @else if is_narrow {
            (empty(page.t("playbooks.none"), page.t("executions.none_more"), None))
        } @else {
            (empty(page.t("playbooks.empty"), page.t("playbooks.empty_more"),
                Some("noetl register examples/hello_world.yaml")))
        }
        (pages(page, view))
    }
}

/// Draws the links to the first and to the next page, if the catalog has more than one.
fn pages(page: &PageRequest, view: &PlaybooksView) -> Markup {
    let is_first = view.filter.after.is_empty();
    html! {
        @if !is_first || view.next.is_some() {
            nav.pages aria-label=(page.t("executions.pages")) {
                @if is_first { span {} } @else {
                    a href=(view.filter.address("")) { (page.t("playbooks.first")) }
                }
                @if let Some(next) = &view.next {
                    a href=(view.filter.address(next)) rel="next" { (page.t("playbooks.more")) }
                }
            }
        }
    }
}

fn folder(page: &PageRequest, view: &PlaybooksView, inside: &Folder) -> Markup {
    html! {
        ul {
            @for (name, below) in &inside.folders {
                li { details open {
                    summary { (name) "/ " span.soft { (below.count()) } }
                    (folder(page, view, below))
                } }
            }
            @for entry in &inside.entries { li.entry data-row { (line(page, view, entry)) } }
        }
    }
}

fn line(page: &PageRequest, view: &PlaybooksView, entry: &CatalogEntry) -> Markup {
    let name = entry.path.rsplit('/').next().unwrap_or(&entry.path);
    html! {
        a href=(playbook_address(&entry.path)) { (name) }
        span.soft { "v" (entry.version) }
        @if !entry.kind.eq_ignore_ascii_case("playbook") { span.soft { (entry.kind.to_lowercase()) } }
        @if view.paused.contains(&entry.path) { (badge(Tone::Warning, page.t("workers.paused"))) }
        @if entry.archived_at.is_some() { span.soft { (page.t("playbooks.is_archived")) } }
        span.end { (time(entry.created_at)) }
    }
}
