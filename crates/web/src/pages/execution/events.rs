//! The table of events: a window of the log with filters; each event opens to its JSON.

use maud::{Markup, html};
use noetl_api::wire::PositionState;
use noetl_app::App;
use noetl_model::{EventTag, ExecutionId, Recorded, Seq};
use serde_json::Value;

use super::address::{PositionQuery, Tab};
use super::view::ExecutionView;
use crate::address::with_query;
use crate::components::id::execution_address;
use crate::components::json_tree::json_tree;
use crate::error::PageError;
use crate::request::PageRequest;

/// Number of events in the table.
const SHOWN_MAX: usize = 50;
/// Maximum number of events that a filter looks through for one page.
const SEARCHED_MAX: u64 = 10_000;

/// The events of the table, in order.
pub(super) struct EventWindow {
    kind: String,
    text: String,
    events: Vec<Recorded>,
    /// The seq after which the next page begins; `None` at the end of the log.
    next: Option<u64>,
    first: u64,
}

impl EventWindow {
    pub(super) async fn load(
        app: &App,
        execution: ExecutionId,
        state: &PositionState,
        query: &PositionQuery,
    ) -> Result<Self, PageError> {
        let half = u64::try_from(SHOWN_MAX / 2).unwrap_or(0);
        let first = query.from.parse().unwrap_or(match query.has_filter() {
            true => 1,
            false => state.position.saturating_sub(half).max(1),
        });
        let mut window = Self {
            kind: query.kind.clone(),
            text: query.text.clone(),
            events: Vec::new(),
            next: None,
            first,
        };
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
        let is_kind = self.kind.is_empty() || recorded.event.tag().as_str() == self.kind;
        is_kind && (self.text.is_empty() || json_of(recorded).to_string().contains(&self.text))
    }
}

impl PositionQuery {
    fn has_filter(&self) -> bool {
        !self.kind.is_empty() || !self.text.is_empty()
    }
}

fn json_of(recorded: &Recorded) -> Value {
    serde_json::to_value(&recorded.event).unwrap_or_default()
}

pub(super) fn events(page: &PageRequest, view: &ExecutionView, window: &EventWindow) -> Markup {
    let here = view.here.tab(Tab::Events);
    html! {
        form.filter method="get" action=(execution_address(here.execution)) {
            @if let Some(at) = here.at { input type="hidden" name="at" value=(at); }
            input type="hidden" name="tab" value=(Tab::Events.name());
            select name="kind" aria-label=(page.t("exec.event_kind")) {
                option value="" { (page.t("exec.any_event")) }
                @for tag in EventTag::ALL {
                    option value=(tag.as_str()) selected[tag.as_str() == window.kind] { (tag.as_str()) }
                }
            }
            input type="search" name="text" value=(window.text) placeholder=(page.t("exec.event_text"))
                aria-label=(page.t("exec.event_text"));
            button type="submit" { (page.t("exec.show")) }
        }
        @if window.events.is_empty() { p.soft { (page.t("exec.no_events")) } }
        ol.events {
            @for recorded in &window.events { (event_row(page, view, recorded)) }
        }
        nav.pages {
            @if window.first > 1 {
                a href=(paged(view, window, 1)) { (page.t("exec.first_events")) }
            }
            @if let Some(next) = window.next {
                a href=(paged(view, window, next)) { (page.t("exec.next_events")) }
            }
        }
    }
}

fn paged(view: &ExecutionView, window: &EventWindow, from: u64) -> String {
    let at = view.here.at.map(|it| it.to_string()).unwrap_or_default();
    with_query(
        &execution_address(view.here.execution),
        &[
            ("at", &at),
            ("tab", Tab::Events.name()),
            ("kind", &window.kind),
            ("text", &window.text),
            ("from", &from.to_string()),
        ],
    )
}

fn event_row(page: &PageRequest, view: &ExecutionView, recorded: &Recorded) -> Markup {
    let is_here = recorded.seq.0 == view.state.position;
    let passed = recorded.at.since(view.state.started_at);
    html! {
        li class=[is_here.then_some("here")] {
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
