//! The table of events: a window of the log with filters; each event opens to its JSON.

use maud::{Markup, html};
use noetl_api::wire::{EventLinks, EventMark, PositionState};
use noetl_app::App;
use noetl_model::{EventTag, Recorded, Seq};
use serde_json::Value;

use super::address::{EventFilter, Here, Tab};
use super::view::ExecutionView;
use crate::components::id::execution_address;
use crate::components::json_tree::json_tree;
use crate::error::PageError;
use crate::request::PageRequest;

/// Fields of the filter.
const FILTERS: &[&str] = &["kind", "of", "text", "from"];
/// Number of events in the table.
const SHOWN_MAX: usize = 50;
/// Maximum number of events that a filter looks through for one page.
const SEARCHED_MAX: u64 = 10_000;

/// The events of the table, in order.
pub(super) struct EventWindow {
    filter: EventFilter,
    events: Vec<Recorded>,
    /// The cause and the effects of the event at the position.
    links: EventLinks,
    /// The seq after which the next page begins; `None` at the end of the log.
    next: Option<u64>,
    first: u64,
}

impl EventWindow {
    pub(super) async fn load(
        app: &App,
        here: &Here,
        state: &PositionState,
    ) -> Result<Self, PageError> {
        let (execution, filter) = (here.execution, here.filter.clone());
        let half = u64::try_from(SHOWN_MAX / 2).unwrap_or(0);
        let first = filter.from.unwrap_or(match filter.is_narrow() {
            true => 1,
            false => state.position.saturating_sub(half).max(1),
        });
        let links = app.event_links(execution, state.position).await?;
        let mut window = Self { filter, events: Vec::new(), links, next: None, first };
        let mut after = first.saturating_sub(1);
        while after < state.last && after < first + SEARCHED_MAX {
            let read = app.log(execution, Seq(after)).await?;
            let Some(end) = read.last().map(|last| last.seq.0) else { break };
            for recorded in read {
                if window.events.len() == SHOWN_MAX {
                    window.next = Some(recorded.seq.0);
                    return Ok(window);
                }
                if window.admits(&recorded) {
                    window.events.push(recorded);
                }
            }
            after = end;
        }
        window.next = (after < state.last).then_some(after + 1);
        Ok(window)
    }

    fn admits(&self, recorded: &Recorded) -> bool {
        let EventFilter { kind, of, text, from: _ } = &self.filter;
        let event = &recorded.event;
        (kind.is_empty() || event.tag().as_str() == kind)
            && (of.is_empty() || event.step().is_some_and(|step| step.as_str() == of))
            && (text.is_empty() || json_of(recorded).to_string().contains(text))
    }
}

fn json_of(recorded: &Recorded) -> Value {
    serde_json::to_value(&recorded.event).unwrap_or_default()
}

pub(super) fn events(page: &PageRequest, view: &ExecutionView, window: &EventWindow) -> Markup {
    let here = view.here.tab(Tab::Events);
    html! {
        form.filter method="get" action=(execution_address(here.execution)) {
            @for (name, value) in here.pairs() {
                @if !FILTERS.contains(&name) && !value.is_empty() { input type="hidden" name=(name) value=(value); }
            }
            select name="kind" aria-label=(page.t("exec.event_kind")) {
                option value="" { (page.t("exec.any_event")) }
                @for tag in EventTag::ALL {
                    option value=(tag.as_str()) selected[tag.as_str() == window.filter.kind] { (tag.as_str()) }
                }
            }
            select name="of" aria-label=(page.t("exec.event_step")) {
                option value="" { (page.t("exec.any_step")) }
                @for step in &view.state.steps {
                    option value=(step.name) selected[step.name == window.filter.of] { (step.name) }
                }
            }
            input type="search" name="text" value=(window.filter.text) placeholder=(page.t("exec.event_text"))
                aria-label=(page.t("exec.event_text"));
            button type="submit" { (page.t("exec.show")) }
        }
        (links(page, view, &window.links))
        @if window.events.is_empty() { p.soft { (page.t("exec.no_events")) } }
        ol.events {
            @for recorded in &window.events { (event_row(page, view, recorded)) }
        }
        nav.pages {
            @if window.first > 1 {
                a href=(here.events_from(1).address()) { (page.t("exec.first_events")) }
            }
            @if let Some(next) = window.next {
                a href=(here.events_from(next).address()) { (page.t("exec.next_events")) }
            }
        }
    }
}

/// Draws the cause and the effects of the event at the position, as links to their positions.
fn links(page: &PageRequest, view: &ExecutionView, links: &EventLinks) -> Markup {
    let link = |mark: &EventMark| {
        html! {
            a href=(view.here.at(Some(mark.seq)).address()) {
                (mark.seq) " " (mark.event_type) @if let Some(step) = &mark.step { " " code { (step) } }
            }
        }
    };
    html! {
        dl.links {
            div { dt { (page.t("exec.cause")) } dd {
                @match &links.cause {
                    Some(cause) => (link(cause)),
                    None => span.soft { (page.t("exec.no_cause")) },
                }
            } }
            div { dt { (page.t("exec.effects")) } dd {
                @if links.effects.is_empty() { span.soft { (page.t("exec.no_effects")) } }
                @for effect in &links.effects { (link(effect)) " " }
            } }
        }
    }
}

fn event_row(page: &PageRequest, view: &ExecutionView, recorded: &Recorded) -> Markup {
    let is_here = recorded.seq.0 == view.state.position;
    let passed = recorded.at.since(view.state.started_at);
    html! {
        li data-same=(recorded.seq) class=[is_here.then_some("here")] {
            a.seq href=(view.here.at(Some(recorded.seq.0)).address())
                aria-current=[is_here.then_some("true")] { (recorded.seq) }
            details {
                summary {
                    span.kind { (recorded.event.tag().as_str()) }
                    @if let Some(step) = recorded.event.step() { code { (step.as_str()) } }
                    span.soft.when { "+" (crate::components::duration::short(page.words, passed)) }
                }
                (json_tree(&json_of(recorded)))
            }
        }
    }
}
