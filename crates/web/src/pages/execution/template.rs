//! The page as a whole.

use maud::{Markup, html};

use super::address::Tab;
use super::attempts::CommandRecord;
use super::view::{ExecutionView, TabContent};
use super::{
    events, expression, failure, graph, head, inspector, scrubber, source, timeline, variables,
};
use crate::request::PageRequest;

pub(super) fn execution(page: &PageRequest, view: &ExecutionView) -> Markup {
    html! {
        div.execution #execution data-refresh=[view.is_live().then_some("2000")]
            data-live=[view.is_live().then(|| live_address(view))] {
            (head::head(page, view))
            @if let Some(failed) = view.failed() { (failure::failure(page, view, failed)) }
            div.run {
                section.graph-part aria-label=(page.t("exec.graph")) { (graph::graph(page, view)) }
                section.beside aria-label=(page.t("exec.details")) {
                    (tabs(page, view))
                    div.tab-content { (content(page, view)) }
                }
                (timeline::timeline(page, view))
            }
            (scrubber::scrubber(page, view))
        }
    }
}

/// Returns the address of the updates after the position.
fn live_address(view: &ExecutionView) -> String {
    format!("/api/executions/{}/live?after={}", view.here.execution, view.state.position)
}

fn tabs(page: &PageRequest, view: &ExecutionView) -> Markup {
    html! {
        nav.tabs aria-label=(page.t("exec.tabs")) {
            @for tab in Tab::ALL {
                a href=(view.here.tab(*tab).address())
                    aria-current=[(*tab == view.here.tab).then_some("page")] { (page.words.t(tab.word())) }
            }
        }
    }
}

fn content(page: &PageRequest, view: &ExecutionView) -> Markup {
    match &view.content {
        TabContent::Step => inspector::inspector(page, view),
        TabContent::Variables(found) => variables::variables(page, view, found),
        TabContent::Events(window) => events::events(page, view, window),
        TabContent::Try(trial) => expression::expression(page, view, trial),
        TabContent::Logs => logs(page, view),
        TabContent::Source => source::source(view),
    }
}

/// Draws the output streams of the commands of the selected step.
fn logs(page: &PageRequest, view: &ExecutionView) -> Markup {
    let commands: &[CommandRecord] = match &view.selected {
        Some(selected) => selected.run.as_ref().map_or(&[], |run| &run.commands),
        None => &[],
    };
    let written = commands.iter().filter(|command| !command.logs.is_empty());
    html! {
        @if commands.iter().all(|command| command.logs.is_empty()) { p.soft { (page.t("exec.no_logs")) } }
        @for command in written {
            h3 { (page.words.fill("exec.command", &[("number", &command.command.to_string())]))
                @if let Some(item) = command.task.place.item() { " · " (page.t("exec.item")) " " (item) } }
            (inspector::streams(page, command))
        }
    }
}
