//! The retention of an execution as HTML.

use maud::{Markup, html};
use noetl_app::{KeepMark, RetentionPeriod, RetentionRule, Tombstone};
use noetl_model::Summary;

use super::{RetentionView, retention_address};
use crate::components::action::{Action, action, confirmed_action};
use crate::components::empty::empty;
use crate::components::id::{execution_address, playbook_link};
use crate::components::labels::actor_link;
use crate::components::status::execution_status;
use crate::components::time::{planned_time, time};
use crate::layout::form_fields;
use crate::request::PageRequest;

/// Maximum length of a reason in the form, in characters.
const REASON_MAX: usize = 250;

pub(super) fn retention(page: &PageRequest, view: &RetentionView) -> Markup {
    let summary = &view.summary;
    html! {
        header.page-head { h1 { (page.t("retention.title")) }
            (execution_status(page.words, summary.status))
        }
        dl.facts {
            div { dt { (page.t("executions.id")) } dd {
                a href=(execution_address(summary.execution)) { code { (summary.execution) } } } }
            div { dt { (page.t("executions.playbook")) } dd {
                (playbook_link(&summary.playbook.path)) " " span.soft { "v" (summary.playbook.version) } } }
            div { dt { (page.t("retention.started")) } dd { (time(summary.started_at)) } }
            @if let Some(ended) = summary.ended_at {
                div { dt { (page.t("retention.ended")) } dd { (time(ended)) } }
            }
        }
        section.panel {
            h2 { (page.t("retention.rule")) }
            (rule(page, view.rule.as_ref(), summary))
        }
        section.panel.run {
            h2 { (page.t("retention.mark")) }
            @match &view.mark {
                Some(mark) => (kept(page, mark, summary)),
                None => (keep_form(page, summary)),
            }
        }
        @if page.visitor.may.admin && summary.status.is_terminal() && view.mark.is_none() {
            (delete_form(page, summary))
        }
    }
}

fn rule(page: &PageRequest, rule: Option<&RetentionRule>, summary: &Summary) -> Markup {
    let Some(rule) = rule else { return html! { p { (page.t("retention.no_rule")) } } };
    html! {
        p { (page.t("retention.applies")) " " code { (rule) } }
        @match (rule.period, summary.ended_at) {
            (RetentionPeriod::Forever, _) => p { (page.t("retention.forever")) },
            (RetentionPeriod::For(period), Some(ended)) => p {
                (page.t("retention.deleted_from")) " " (planned_time(&ended.after(period).to_string())) },
            (RetentionPeriod::For(_), None) => p { (page.t("retention.runs")) },
        }
    }
}

fn kept(page: &PageRequest, mark: &KeepMark, summary: &Summary) -> Markup {
    let address = retention_address(summary.execution);
    html! {
        p { (page.t("retention.kept")) " " (time(mark.since))
            @if let Some(actor) = &mark.actor { " · " (actor_link(actor)) }
            @if let Some(reason) = &mark.reason { " · " (reason) }
        }
        @if page.visitor.may.admin {
            (action(page, &Action {
                address: &address, label: page.t("retention.end"), fields: &[("action", "end")],
            }))
        }
    }
}

fn keep_form(page: &PageRequest, summary: &Summary) -> Markup {
    html! {
        p.soft { (page.t("retention.keep_more")) }
        @if page.visitor.may.admin {
            form method="post" action=(retention_address(summary.execution)) {
                (form_fields(page))
                input type="hidden" name="action" value="keep";
                label { span { (page.t("bulk.reason")) } input name="reason" maxlength=(REASON_MAX); }
                div { button type="submit" { (page.t("retention.keep")) } }
            }
        }
    }
}

fn delete_form(page: &PageRequest, summary: &Summary) -> Markup {
    let address = retention_address(summary.execution);
    let delete = Action {
        address: &address,
        label: page.t("retention.delete"),
        fields: &[("action", "delete")],
    };
    html! {
        section.panel {
            h2 { (page.t("retention.delete")) }
            p.soft { (page.t("retention.delete_more")) }
            (confirmed_action(page, &delete, page.t("retention.delete_question")))
        }
    }
}

/// Draws what remains of a deleted execution.
pub(super) fn deleted(page: &PageRequest, tombstone: &Tombstone) -> Markup {
    html! {
        header.page-head { h1 { (page.t("retention.deleted")) } }
        (empty(
            &page.words.fill("retention.deleted_one", &[("execution", &tombstone.execution.to_string())]),
            page.t("retention.deleted_more"), None))
        dl.facts {
            div { dt { (page.t("retention.deleted_at")) } dd { (time(tombstone.deleted_at)) } }
            div { dt { (page.t("retention.deleted_by")) } dd {
                @match &tombstone.actor {
                    Some(actor) => (actor_link(actor)),
                    None => (page.t("retention.by_nobody")),
                }
            } }
            div { dt { (page.t("executions.playbook")) } dd {
                (playbook_link(&tombstone.path)) " " span.soft { "v" (tombstone.version) } } }
            div { dt { (page.t("executions.status")) } dd { (execution_status(page.words, tombstone.status)) } }
            div { dt { (page.t("retention.started")) } dd { (time(tombstone.started_at)) } }
            @if let Some(ended) = tombstone.ended_at {
                div { dt { (page.t("retention.ended")) } dd { (time(ended)) } }
            }
            div { dt { (page.t("retention.events")) } dd { (page.words.number(tombstone.seq.0)) } }
            div { dt { (page.t("retention.head")) } dd {
                @match &tombstone.head { Some(head) => code.digest { (head) }, None => span.soft { "–" } } } }
        }
    }
}
