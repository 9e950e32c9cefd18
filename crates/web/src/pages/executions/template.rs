//! The list as HTML.

use maud::{Markup, html};
use noetl_model::{ExecutionId, ExecutionStatus};

use super::filter::ListFilter;
use super::view::ExecutionsView;
use crate::components::empty::empty;
use crate::components::error::hint;
use crate::components::execution_table::{SELECTION_FORM, selectable_executions};
use crate::components::histogram::histogram;
use crate::components::id::execution_link;
use crate::components::status::status_word;
use crate::pages::execution::comparison_address;
use crate::request::PageRequest;

/// Interval at which a live list is fetched again, in milliseconds.
const REFRESH: &str = "2000";

pub(super) fn executions(page: &PageRequest, view: &ExecutionsView) -> Markup {
    html! {
        header.page-head { h1 { (page.t("nav.executions")) } }
        (filters(page, view))
        @for field in view.filter.invalid() {
            @let values = [("field", page.words.t(field.word)), ("text", field.text)];
            (hint(&html! { (page.words.fill("executions.ignored", &values)) }))
        }
        @if let Some(first) = view.filter.compared() { (choosing(page, view, first)) }
        @if let Some(counts) = view.histogram.as_ref().filter(|_| !view.executions.is_empty()) {
            (histogram(page, counts, |from, until| view.filter.within(from, until).address(),
                view.filter.is_live().then_some(REFRESH)))
        }
        div #list data-refresh=[view.filter.is_live().then_some(REFRESH)] {
            @if !view.executions.is_empty() {
                @if page.visitor.may.run { (bulk_form(page, view)) }
                (selectable_executions(page, &view.executions, &|it| compare_address(view, it)))
            } @else if view.filter.is_narrow() {
                (empty(page.t("executions.none"), page.t("executions.none_more"), None))
            } @else {
                (empty(page.t("overview.empty"), page.t("overview.empty_more"),
                    Some("noetl run examples/hello_world.yaml")))
            }
            (pages(page, view))
        }
    }
}

/// Draws the request to choose the second execution of a comparison.
fn choosing(page: &PageRequest, view: &ExecutionsView, first: ExecutionId) -> Markup {
    hint(&html! {
        (page.t("compare.choose_second")) " " (execution_link(first)) " · "
        a href=(view.filter.comparing(None).address()) { (page.t("compare.stop_choosing")) }
    })
}

/// Returns where the comparison of an execution leads: to the comparison if another one is chosen,
/// else to the choice of another one; `None` for the chosen one.
fn compare_address(view: &ExecutionsView, execution: ExecutionId) -> Option<String> {
    match view.filter.compared() {
        Some(first) if first == execution => None,
        Some(first) => Some(comparison_address(first, execution)),
        None => Some(view.filter.comparing(Some(execution)).address()),
    }
}

fn filters(page: &PageRequest, view: &ExecutionsView) -> Markup {
    let filter = &view.filter;
    html! {
        form.filters method="get" action="/ui/executions" data-at-once {
            label { span { (page.t("executions.status")) }
                select name="status" {
                    option value="" { (page.t("executions.any")) }
                    @for status in ExecutionStatus::ALL {
                        option value=(status.as_str()) selected[filter.status() == Some(*status)] {
                            (page.words.t(status_word(*status)))
                        }
                    }
                }
            }
            label { span { (page.t("executions.playbook")) }
                input #filter-playbook name="playbook" type="search" value=(filter.playbook)
                    placeholder=(page.t("executions.path_part"));
            }
            label { span { (page.t("executions.text")) }
                input name="text" type="search" value=(filter.text)
                    placeholder=(page.t("executions.text_words"));
            }
            label { span { (page.t("executions.label")) }
                input name="label" type="search" value=(filter.label) placeholder="team:ops";
            }
            label { span { (page.t("executions.from")) }
                input name="from" type="datetime-local" value=(filter.from);
            }
            label { span { (page.t("executions.until")) }
                input name="until" type="datetime-local" value=(filter.until);
            }
            @if let Some(first) = filter.compared() { input type="hidden" name="compare" value=(first); }
            (more_filters(page, filter))
            label.check { input name="live" type="checkbox" value="on" checked[filter.is_live()];
                span { (page.t("executions.live")) } }
            button type="submit" { (page.t("executions.show")) }
            @if filter.is_narrow() { a href="/ui/executions" { (page.t("executions.clear")) } }
        }
    }
}

/// Draws the filters that are used less often; open if one of them is set.
fn more_filters(page: &PageRequest, filter: &ListFilter) -> Markup {
    let is_set = !filter.parent.is_empty() || !filter.actor.is_empty();
    html! {
        details.more-filters open[is_set] {
            summary { (page.t("executions.more_filters")) }
            div {
                label { span { (page.t("executions.actor")) }
                    input name="actor" type="search" value=(filter.actor) placeholder="ada";
                }
                label { span { (page.t("executions.parent")) }
                    input name="parent" type="search" value=(filter.parent)
                        placeholder=(page.t("executions.id"));
                }
            }
        }
    }
}

/// Draws the actions on the executions that are ticked, or on all that match the filter.
fn bulk_form(page: &PageRequest, view: &ExecutionsView) -> Markup {
    html! {
        form.bulk id=(SELECTION_FORM) method="get" action="/ui/executions/bulk" {
            @for field in view.filter.fields() {
                @if !field.text.is_empty() { input type="hidden" name=(field.name) value=(field.text); }
            }
            // A script shows it.
            label.check data-tick-all data-keep="hidden" hidden { input type="checkbox"; span { (page.t("bulk.tick_all")) } }
            span.soft { (page.t("bulk.selection")) }
            button type="submit" name="action" value="cancel" { (page.t("bulk.cancel_more")) }
            button type="submit" name="action" value="retry" { (page.t("bulk.retry_more")) }
            button type="submit" name="action" value="rerun" { (page.t("bulk.rerun_more")) }
            a href="/ui/executions/bulk" { (page.t("bulk.jobs")) }
        }
    }
}

fn pages(page: &PageRequest, view: &ExecutionsView) -> Markup {
    html! {
        nav.pages aria-label=(page.t("executions.pages")) {
            @if view.filter.after.is_empty() { span {} } @else {
                a href=(view.filter.first().address()) { (page.t("executions.newest")) }
            }
            @if let Some(last) = view.next {
                a href=(view.filter.next(last).address()) rel="next" { (page.t("executions.older")) }
            }
        }
    }
}
