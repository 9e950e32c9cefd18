//! The page as HTML.

use maud::{Markup, html};
use noetl_api::wire::{ApprovalView, KeptSignalView};
use noetl_app::OpenSignalWait;

use super::{WaitingLists, WaitingQuery, decider, decision_address};
use crate::address::with_query;
use crate::components::action::{Action, confirmed_action};
use crate::components::approval::{Decider, RefusedDecision, approval_form};
use crate::components::empty::empty;
use crate::components::id::{execution_link, playbook_link};
use crate::components::json_tree::json_tree;
use crate::components::time::{planned_time, time};
use crate::layout::form_fields;
use crate::request::PageRequest;
use crate::session::random_name;

pub(super) fn waiting(page: &PageRequest, query: &WaitingQuery, lists: &WaitingLists) -> Markup {
    let WaitingLists { approvals, signals, kept } = lists;
    let place = ListPlace::of(query);
    let is_first = place == ListPlace::default();
    let is_empty =
        approvals.approvals.is_empty() && signals.waits.is_empty() && kept.signals.is_empty();
    let has_more = approvals.next.is_some() || signals.next.is_some() || kept.next.is_some();
    html! {
        header.page-head { h1 { (page.t("nav.waiting")) } }
        div #live data-refresh="3000" {
            @if is_empty && !has_more {
                (empty(page.t("waiting.empty"), page.t("waiting.empty_more"), None))
            }
            @if !is_first { p { a href="/ui/waiting" { (page.t("waiting.first")) } } }
            @if !approvals.approvals.is_empty() || approvals.next.is_some() {
                section data-same="approvals" {
                    div.section-head { h2 { (page.t("waiting.approvals")) } }
                    div.stack { @for view in &approvals.approvals { (card(page, view)) } }
                    @if let Some(next) = &approvals.next { (more(page, ListPlace { after: Some(next.clone()), ..place.clone() })) }
                }
            }
            @if !signals.waits.is_empty() || signals.next.is_some() {
                section data-same="signals" {
                    div.section-head { h2 { (page.t("waiting.signals")) } }
                    div.stack { @for wait in &signals.waits { (signal(page, wait)) } }
                    @if let Some(next) = &signals.next { (more(page, ListPlace { signals_after: Some(next.clone()), ..place.clone() })) }
                }
            }
            @if !kept.signals.is_empty() || kept.next.is_some() {
                section data-same="kept-signals" {
                    div.section-head { h2 { (page.t("waiting.kept")) } }
                    p.soft { (page.t("waiting.kept_more")) }
                    div.stack { @for signal in &kept.signals { (kept_signal(page, signal)) } }
                    @if let Some(next) = &kept.next {
                        (more(page, ListPlace { kept_after: Some(next.to_string()), ..place.clone() }))
                    }
                }
            }
        }
    }
}

/// The cursors of the lists.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct ListPlace {
    after: Option<String>,
    signals_after: Option<String>,
    kept_after: Option<String>,
}

impl ListPlace {
    fn of(query: &WaitingQuery) -> Self {
        Self {
            after: query.after.clone(),
            signals_after: query.signals_after.clone(),
            kept_after: query.kept_after.map(|after| after.to_string()),
        }
    }
}

/// Draws the link to the next page of one list; the other lists stay where they are.
fn more(page: &PageRequest, place: ListPlace) -> Markup {
    let parts = [
        ("after", &place.after),
        ("signals_after", &place.signals_after),
        ("kept_after", &place.kept_after),
    ];
    let parts: Vec<(&str, &str)> =
        parts.into_iter().filter_map(|(name, value)| Some((name, value.as_deref()?))).collect();
    html! { a.button href=(with_query("/ui/waiting", &parts)) { (page.t("waiting.more")) } }
}

fn card(page: &PageRequest, view: &ApprovalView) -> Markup {
    html! {
        article.panel.waiting data-same={ (view.execution_id) "-" (view.command) } {
            h3 { (view.title) }
            (place(page, view))
            @if page.visitor.may.run {
                (approval_form(page, &decision_address(view), view, &decider(page), None))
            } @else if let Some(description) = &view.description { p.description { (description) } }
        }
    }
}

/// Draws the execution and the step that ask, and since when.
fn place(page: &PageRequest, view: &ApprovalView) -> Markup {
    html! {
        p.soft {
            (playbook_link(&view.path)) " · "
            (execution_link(view.execution_id.into())) " · "
            code { (view.step) }
            @if let Some(item) = view.item { " · " (page.t("exec.item")) " " (item) }
            " · " (time(view.requested_at))
        }
    }
}

/// Draws an approval whose decision was refused.
pub(super) fn refused(
    page: &PageRequest,
    view: &ApprovalView,
    address: &str,
    decider: &Decider,
    refused: &RefusedDecision,
) -> Markup {
    html! {
        header.page-head { h1 { (view.title) } }
        article.panel.waiting { (approval_form(page, address, view, decider, Some(refused))) }
    }
}

fn signal(page: &PageRequest, wait: &OpenSignalWait) -> Markup {
    let address = format!("/ui/waiting/{}/signals/{}", wait.execution, wait.name);
    // A refresh keeps what was typed into the form of the same wait.
    let key = format!("{}-{}-{}", wait.execution, wait.name, wait.since);
    html! {
        article.panel.waiting data-same=(key) {
            h3 { (page.words.fill("waiting.signal", &[("name", wait.name.as_str())])) }
            p.soft {
                (execution_link(wait.execution))
                @if let Some(key) = &wait.key { " · " (page.t("waiting.key")) " " code { (key) } }
                " · " (time(wait.since))
            }
            @if page.visitor.may.run {
                form.decision method="post" action=(address) {
                    (form_fields(page))
                    // A form that is sent twice sends one signal.
                    input type="hidden" name="once" value=(random_name());
                    @if let Some(key) = &wait.key { input type="hidden" name="key" value=(key); }
                    label {
                        span { (page.t("waiting.body")) }
                        textarea name="body" rows="2" spellcheck="false" placeholder="{\"amount\": 12}" {}
                    }
                    label {
                        span { (page.t("waiting.sender")) }
                        input name="sender" maxlength="200";
                    }
                    div.buttons { button type="submit" { (page.t("waiting.send")) } }
                }
            }
        }
    }
}

/// Draws a signal that no step has taken.
fn kept_signal(page: &PageRequest, signal: &KeptSignalView) -> Markup {
    let address = format!("/ui/waiting/kept-signals/{}/drop", signal.signal_id);
    let dropped = Action { address: &address, label: page.t("waiting.drop"), fields: &[] };
    html! {
        article.panel.waiting data-same={ "kept-" (signal.signal_id) } {
            h3 { (page.words.fill("waiting.signal", &[("name", &signal.name)])) }
            p.soft {
                (page.t("waiting.key")) " " code { (signal.key) }
                @if let Some(sender) = signal.sender.as_ref().or(signal.actor.as_ref()) {
                    " · " (page.t("waiting.sender")) " " (sender)
                }
                " · " (time(signal.received_at))
                " · " (page.t("waiting.kept_until")) " " (planned_time(&signal.expires_at.to_string()))
            }
            @match &signal.body {
                Some(body) => (json_tree(body)),
                None => p { (page.words.fill("waiting.body_size", &[("bytes", &signal.body_bytes.to_string())])) },
            }
            @if page.visitor.may.run {
                (confirmed_action(page, &dropped, page.t("waiting.drop_question")))
            }
        }
    }
}
