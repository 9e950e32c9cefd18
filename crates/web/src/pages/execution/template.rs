//! The page as a whole.

use maud::{Markup, html};

use super::address::Tab;
use super::attempts::CommandRecord;
use super::view::{ExecutionView, TabContent};
use super::{
    events, expression, failure, graph, head, inspector, scrubber, source, timeline, variables,
};
use crate::request::PageRequest;

/// The parts of the page; each is an element with an id, which an update replaces.
pub(super) struct PageParts {
    head: Markup,
    failure: Markup,
    graph: Markup,
    beside: Markup,
    timeline: Markup,
    scrubber: Markup,
}

impl PageParts {
    pub(super) fn of(page: &PageRequest, view: &ExecutionView) -> Self {
        let failed = view.failed().map(|failed| failure::failure(page, view, failed));
        Self {
            head: html! { div #exec-head { (head::head(page, view)) } },
            failure: html! { div #exec-failure { @if let Some(failed) = failed { (failed) } } },
            graph: html! {
                section.graph-part #exec-graph aria-label=(page.t("exec.graph")) {
                    (graph::graph(page, view))
                }
            },
            beside: html! {
                section.beside #exec-beside aria-label=(page.t("exec.details")) {
                    (tabs(page, view))
                    div.tab-content { (content(page, view)) }
                }
            },
            timeline: timeline::timeline(page, view),
            scrubber: scrubber::scrubber(page, view),
        }
    }

    /// Returns the parts with the ids of their elements.
    pub(super) fn named(self) -> [(&'static str, Markup); 6] {
        [
            ("exec-head", self.head),
            ("exec-failure", self.failure),
            ("exec-graph", self.graph),
            ("exec-beside", self.beside),
            ("exec-timeline", self.timeline),
            ("scrubber", self.scrubber),
        ]
    }
}

pub(super) fn execution(page: &PageRequest, view: &ExecutionView) -> Markup {
    let live = view.is_live().then(|| view.asked.live_address(view.state.position));
    let parts = PageParts::of(page, view);
    html! {
        div.execution #execution data-merge data-part="execution" data-live=[live] {
            (parts.head)
            (parts.failure)
            div.run { (parts.graph) (parts.beside) (parts.timeline) }
            (parts.scrubber)
        }
    }
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
