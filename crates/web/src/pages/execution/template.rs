//! The page as a whole.

use maud::{Markup, html};

use super::address::Tab;
use super::view::{ExecutionView, TabContent};
use super::{
    events, expression, failure, graph, head, inspector, logs, scrubber, source, timeline,
    variables,
};
use crate::components::approval::approval_form;
use crate::pages::waiting::{decider, decision_address};
use crate::request::PageRequest;

/// The parts of the page; each is an element with an id, which an update replaces.
pub(super) struct PageParts {
    head: Markup,
    approvals: Markup,
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
            approvals: html! { div #exec-approvals { (approvals(page, view)) } },
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
    pub(super) fn named(self) -> [(&'static str, Markup); 7] {
        [
            ("exec-head", self.head),
            ("exec-approvals", self.approvals),
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
            (parts.approvals)
            (parts.failure)
            div.run { (parts.graph) (parts.beside) (parts.timeline) }
            (parts.scrubber)
        }
    }
}

/// Draws the forms of the approvals that the execution waits for.
fn approvals(page: &PageRequest, view: &ExecutionView) -> Markup {
    html! {
        @for approval in &view.approvals {
            section.panel.waiting {
                h2 { (approval.title) }
                @if page.visitor.may.run {
                    (approval_form(page, &decision_address(approval), approval, &decider(page), None))
                } @else if let Some(description) = &approval.description { p.description { (description) } }
            }
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
        TabContent::Logs(found) => logs::logs(page, view, found),
        TabContent::Source => source::source(view),
    }
}
