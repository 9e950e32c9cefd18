//! Bulk jobs as HTML.

use maud::{Markup, html};
use noetl_api::wire::{BulkItemView, BulkJobList, BulkJobView};
use noetl_app::{BulkAction, BulkOutcome};
use noetl_model::ExecutionStatus;

use super::{BulkJobPage, BulkQuestion, FilterField, address};
use crate::address::with_query;
use crate::components::action::{Action, confirmed_action};
use crate::components::bar::bar;
use crate::components::empty::empty;
use crate::components::error::hint;
use crate::components::id::execution_link;
use crate::components::status::{Tone, badge, status_word};
use crate::components::table::{number, table, text, wide};
use crate::components::time::time_text;
use crate::layout::form_fields;
use crate::request::PageRequest;
use crate::session::random_name;

/// Interval at which the page of a running job is fetched again, in milliseconds.
const REFRESH: &str = "1000";

/// Draws the count of an action and asks for confirmation.
pub(super) fn question(page: &PageRequest, view: &BulkQuestion) -> Markup {
    let preview = &view.preview;
    html! {
        header.page-head { h1 { (page.words.t(title(view.action))) } }
        @if preview.is_too_many {
            (hint(&html! { (page.words.fill("bulk.too_many",
                &[("count", &page.words.number(preview.count_max))])) }))
        } @else if preview.count == 0 {
            (empty(page.t("bulk.nothing"), page.words.t(applies(view.action)), None))
            @if view.chosen.ids.is_empty() { (conditions(page, view)) }
        } @else {
            div.panel.bulk-question {
                p.count { strong { (page.words.count(count_of(view.action), preview.count)) } }
                p { (page.words.t(applies(view.action))) }
                @if view.chosen.ids.is_empty() { (conditions(page, view)) }
                p.soft { (page.t("bulk.fixed")) }
                @if page.visitor.may.run { (confirm(page, view)) }
            }
        }
        p.below { a href=(view.chosen.filter.first().address()) { (page.t("bulk.back")) } }
    }
}

/// Draws the form that creates the job.
fn confirm(page: &PageRequest, view: &BulkQuestion) -> Markup {
    let ids: Vec<String> = view.chosen.ids.iter().map(ToString::to_string).collect();
    html! {
        form.action method="post" action="/ui/executions/bulk" {
            (form_fields(page))
            input type="hidden" name="action" value=(view.action.as_str());
            input type="hidden" name="key" value=(random_name());
            @if ids.is_empty() {
                @for field in view.chosen.filter.fields() {
                    input type="hidden" name=(field.name) value=(field.text);
                }
            } @else { input type="hidden" name="id" value=(ids.join(",")); }
            @if view.action == BulkAction::Cancel {
                label { span { (page.t("bulk.reason")) } " " input name="reason" maxlength="1000"; }
            }
            button.danger type="submit" {
                (page.words.t(title(view.action))) " (" (page.words.number(view.preview.count)) ")"
            }
        }
    }
}

/// Draws the conditions of the filter.
fn conditions(page: &PageRequest, view: &BulkQuestion) -> Markup {
    html! {
        dl.facts {
            @for FilterField { word, text, .. } in view.chosen.filter.fields() {
                @if !text.is_empty() {
                    div { dt { (page.words.t(word)) } dd { @match text.parse::<ExecutionStatus>() {
                        Ok(status) => (page.words.t(status_word(status))),
                        Err(_) => code { (text) },
                    } } }
                }
            }
        }
    }
}

/// Draws a job: its progress, and its results by execution.
pub(super) fn job(page: &PageRequest, view: &BulkJobPage) -> Markup {
    let job = &view.job;
    let is_live = job.is_running();
    html! {
        header.page-head {
            h1 { (page.words.t(title_named(&job.action))) }
            @if is_live && page.visitor.may.run {
                @let stop = format!("{}/stop", address(&job.job_id));
                div.end { (confirmed_action(page,
                    &Action { address: &stop, label: page.t("bulk.stop"), fields: &[] },
                    page.t("bulk.stop_question"))) }
            }
        }
        div #bulk-job data-refresh=[is_live.then_some(REFRESH)] {
            (progress(page, job))
            nav.tabs aria-label=(page.t("bulk.outcomes")) {
                (tab(page, view, None))
                @for outcome in BulkOutcome::ALL { (tab(page, view, Some(outcome))) }
            }
            @if view.items.items.is_empty() {
                p.soft { (page.t("bulk.no_results")) }
            } @else {
                (items(page, &view.items.items))
            }
            @if let Some(next) = &view.items.next_cursor {
                @let outcome = view.outcome.map_or("", BulkOutcome::as_str);
                nav.pages aria-label=(page.t("executions.pages")) { span {}
                    a rel="next" href=(with_query(&address(&job.job_id), &[("outcome", outcome), ("after", next)])) {
                        (page.t("executions.older"))
                    }
                }
            }
        }
        p.below { a href="/ui/executions" { (page.t("bulk.back")) } " · "
            a href="/ui/executions/bulk" { (page.t("bulk.jobs")) } }
    }
}

/// Draws how far a job is, in words and as a bar.
fn progress(page: &PageRequest, job: &BulkJobView) -> Markup {
    let counts = &job.progress;
    let total = counts.total().max(counts.expected);
    let said = page.words.fill(
        "bulk.progress",
        &[("done", &page.words.number(counts.total())), ("total", &page.words.number(total))],
    );
    let parts =
        [(Tone::Good, counts.done), (Tone::Quiet, counts.unchanged), (Tone::Bad, counts.failed)];
    html! {
        div.panel.bulk-progress role="status" {
            p { (state(page, job)) " " strong { (said) } }
            (bar(total, &parts, &said))
            p.soft {
                (page.t("bulk.done")) " " (page.words.number(counts.done)) " · "
                (page.t("bulk.unchanged")) " " (page.words.number(counts.unchanged)) " · "
                (page.t("bulk.failed")) " " (page.words.number(counts.failed)) " · "
                (page.t("bulk.created")) " " (time_text(&job.created_at))
                @if let Some(ended_at) = &job.ended_at { " · " (page.t("bulk.ended")) " " (time_text(ended_at)) }
            }
        }
    }
}

fn state(page: &PageRequest, job: &BulkJobView) -> Markup {
    match job.state.as_str() {
        "running" => badge(Tone::Active, page.t("status.running")),
        "completed" => badge(Tone::Good, page.t("status.completed")),
        _ => badge(Tone::Quiet, page.t("bulk.stopped")),
    }
}

fn tab(page: &PageRequest, view: &BulkJobPage, outcome: Option<BulkOutcome>) -> Markup {
    let word = outcome.map_or("bulk.all", outcome_word);
    let of = [("outcome", outcome.map_or("", BulkOutcome::as_str))];
    let is_here = view.outcome == outcome;
    html! {
        a href=(with_query(&address(&view.job.job_id), &of)) aria-current=[is_here.then_some("page")] {
            (page.words.t(word))
        }
    }
}

fn items(page: &PageRequest, items: &[BulkItemView]) -> Markup {
    let columns = [
        text(page.t("bulk.outcome")),
        text(page.t("executions.id")),
        text(page.t("bulk.started")),
        wide(page.t("bulk.why")),
    ];
    let rows: Vec<Vec<Markup>> = items.iter().map(|item| row(page, item)).collect();
    table(page.t("bulk.outcomes"), &columns, &rows)
}

fn row(page: &PageRequest, item: &BulkItemView) -> Vec<Markup> {
    let link = |id: &str| match id.parse() {
        Ok(id) => execution_link(id),
        Err(_) => html! { (id) },
    };
    let outcome = item.outcome.parse().map_or_else(
        |_| html! { (item.outcome) },
        |outcome| badge(tone(outcome), page.words.t(outcome_word(outcome))),
    );
    vec![
        outcome,
        link(&item.execution_id),
        html! { @if let Some(started) = &item.started_execution_id { (link(started)) } },
        html! { @if let Some(message) = &item.message { (message) } },
    ]
}

const fn tone(outcome: BulkOutcome) -> Tone {
    match outcome {
        BulkOutcome::Done => Tone::Good,
        BulkOutcome::Unchanged => Tone::Quiet,
        BulkOutcome::Failed => Tone::Bad,
    }
}

const fn outcome_word(outcome: BulkOutcome) -> &'static str {
    match outcome {
        BulkOutcome::Done => "bulk.done",
        BulkOutcome::Unchanged => "bulk.unchanged",
        BulkOutcome::Failed => "bulk.failed",
    }
}

const fn title(action: BulkAction) -> &'static str {
    match action {
        BulkAction::Cancel => "bulk.cancel",
        BulkAction::Retry => "bulk.retry",
        BulkAction::Rerun => "bulk.rerun",
        BulkAction::Delete => "bulk.delete",
    }
}

fn title_named(action: &str) -> &'static str {
    super::named_action(action).map_or("bulk.title", title)
}

const fn applies(action: BulkAction) -> &'static str {
    match action {
        BulkAction::Cancel => "bulk.cancel_applies",
        BulkAction::Retry => "bulk.retry_applies",
        BulkAction::Rerun => "bulk.rerun_applies",
        BulkAction::Delete => "bulk.delete_applies",
    }
}

const fn count_of(action: BulkAction) -> &'static str {
    match action {
        BulkAction::Cancel => "bulk.cancel_count",
        BulkAction::Retry => "bulk.retry_count",
        BulkAction::Rerun => "bulk.rerun_count",
        BulkAction::Delete => "bulk.delete_count",
    }
}

/// Draws the jobs, newest first.
pub(super) fn jobs(page: &PageRequest, list: &BulkJobList) -> Markup {
    let columns = [
        text(page.t("bulk.action")),
        text(page.t("executions.status")),
        text(page.t("bulk.created")),
        number(page.t("bulk.done")),
        number(page.t("bulk.unchanged")),
        number(page.t("bulk.failed")),
    ];
    let rows: Vec<Vec<Markup>> = list
        .jobs
        .iter()
        .map(|job| {
            vec![
                html! { a href=(address(&job.job_id)) { (page.words.t(title_named(&job.action))) } },
                state(page, job),
                time_text(&job.created_at),
                html! { (page.words.number(job.progress.done)) },
                html! { (page.words.number(job.progress.unchanged)) },
                html! { (page.words.number(job.progress.failed)) },
            ]
        })
        .collect();
    html! {
        header.page-head { h1 { (page.t("bulk.jobs")) } }
        @if rows.is_empty() {
            (empty(page.t("bulk.no_jobs"), page.t("bulk.no_jobs_more"), None))
        } @else { (table(page.t("bulk.jobs"), &columns, &rows)) }
        p.below { a href="/ui/executions" { (page.t("bulk.back")) } }
    }
}
