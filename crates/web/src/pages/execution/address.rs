//! Addresses of the page: the positions, the selected step, the tab, and what each part shows.

use noetl_api::wire::LogAxis;
use noetl_model::ExecutionId;
use serde::Deserialize;

use super::seek::SoughtPlace;
use crate::address::with_query;
use crate::components::id::execution_address;

/// Maximum number of steps of the timeline that are expanded.
const EXPANDED_MAX: usize = 20;

/// The query of the page, as the address has it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(in crate::pages) struct PositionQuery {
    pub(super) at: String,
    pub(super) to: String,
    /// The position as milliseconds after the start, in place of `at`.
    pub(super) when: String,
    /// The second position as milliseconds after the start, in place of `to`.
    pub(super) to_when: String,
    /// `time` for an axis by time.
    pub(super) axis: String,
    pub(super) step: String,
    /// The command of the step that the inspector shows.
    pub(super) command: String,
    /// The item of the step's loop that the inspector shows.
    pub(super) item: String,
    /// The place to look for, see [`SoughtPlace`].
    pub(super) seek: String,
    pub(super) tab: String,
    /// The first event of the table of events.
    pub(super) from: String,
    /// The kind of events that the table shows, or the stream of the logs.
    pub(super) kind: String,
    /// The step of events that the table shows.
    pub(super) of: String,
    /// The text that events of the table contain.
    pub(super) text: String,
    /// The expression to try.
    pub(super) expression: String,
    /// The step as whose expression it is evaluated, and the item of its loop.
    pub(super) by: String,
    pub(super) by_item: String,
    /// The steps of the timeline whose attempts are shown, separated by commas.
    pub(super) expand: String,
    /// `on` shows the critical path.
    pub(super) critical: String,
    /// `on` limits the timeline to the events between the two positions.
    pub(super) between: String,
    /// The number of rows of the timeline to leave out.
    pub(super) rows: String,
}

/// A part of the page beside the graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Tab {
    #[default]
    Step,
    Variables,
    Events,
    Try,
    Logs,
    Source,
}

impl Tab {
    pub(super) const ALL: &[Self] =
        &[Self::Step, Self::Variables, Self::Events, Self::Try, Self::Logs, Self::Source];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Step => "step",
            Self::Variables => "variables",
            Self::Events => "events",
            Self::Try => "try",
            Self::Logs => "logs",
            Self::Source => "source",
        }
    }

    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Step => "exec.tab_step",
            Self::Variables => "exec.tab_variables",
            Self::Events => "exec.tab_events",
            Self::Try => "exec.tab_try",
            Self::Logs => "exec.tab_logs",
            Self::Source => "exec.tab_source",
        }
    }

    fn of(name: &str) -> Self {
        Self::ALL.iter().copied().find(|tab| tab.name() == name).unwrap_or_default()
    }
}

/// The events that the table shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct EventFilter {
    pub(super) kind: String,
    pub(super) of: String,
    pub(super) text: String,
    pub(super) from: Option<u64>,
}

impl EventFilter {
    pub(super) fn is_narrow(&self) -> bool {
        !(self.kind.is_empty() && self.of.is_empty() && self.text.is_empty())
    }
}

/// The step, and the item of its loop, whose variables an expression sees.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SeenBy {
    pub(super) step: Option<String>,
    pub(super) item: Option<u64>,
}

/// The part of the timeline that is shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct TimelineChoice {
    pub(super) expanded: Vec<String>,
    pub(super) is_critical: bool,
    pub(super) is_between: bool,
    /// The number of rows to leave out.
    pub(super) offset: usize,
}

/// The place that the visitor looks at.
#[derive(Debug, Clone)]
pub(super) struct Here {
    pub(super) execution: ExecutionId,
    /// The position; the end of the log if `None`.
    pub(super) at: Option<u64>,
    /// The position to compare with.
    pub(super) to: Option<u64>,
    pub(super) axis: LogAxis,
    pub(super) step: Option<String>,
    /// The command of the step that the inspector shows; the one that tells most if `None`.
    pub(super) command: Option<u64>,
    /// The item of the step's loop that the inspector shows.
    pub(super) item: Option<u64>,
    pub(super) tab: Tab,
    pub(super) filter: EventFilter,
    pub(super) expression: String,
    pub(super) seen_by: SeenBy,
    pub(super) timeline: TimelineChoice,
}

impl Here {
    pub(super) fn of(execution: ExecutionId, query: &PositionQuery) -> Self {
        let names = query.expand.split(',').filter(|name| !name.is_empty());
        Self {
            execution,
            at: query.at.parse().ok(),
            to: query.to.parse().ok(),
            axis: if query.axis == "time" { LogAxis::Time } else { LogAxis::Seq },
            step: Some(query.step.clone()).filter(|it| !it.is_empty()),
            command: query.command.parse().ok(),
            item: query.item.parse().ok(),
            tab: Tab::of(&query.tab),
            filter: EventFilter {
                kind: query.kind.clone(),
                of: query.of.clone(),
                text: query.text.clone(),
                from: query.from.parse().ok(),
            },
            expression: query.expression.clone(),
            seen_by: SeenBy {
                step: Some(query.by.clone()).filter(|it| !it.is_empty()),
                item: query.by_item.parse().ok(),
            },
            timeline: TimelineChoice {
                expanded: names.take(EXPANDED_MAX).map(str::to_owned).collect(),
                is_critical: query.critical == "on",
                is_between: query.between == "on",
                offset: query.rows.parse().unwrap_or(0),
            },
        }
    }

    /// Returns the address of this place.
    pub(super) fn address(&self) -> String {
        let pairs = self.pairs();
        let pairs: Vec<(&str, &str)> =
            pairs.iter().map(|(name, value)| (*name, value.as_str())).collect();
        with_query(&execution_address(self.execution), &pairs)
    }

    /// Returns the address of the live stream of this place after a position.
    pub(super) fn live_address(&self, after: u64) -> String {
        let mut pairs = self.pairs();
        pairs.push(("after", after.to_string()));
        let pairs: Vec<(&str, &str)> =
            pairs.iter().map(|(name, value)| (*name, value.as_str())).collect();
        with_query(&format!("{}/live", execution_address(self.execution)), &pairs)
    }

    /// Returns the query of the address; an empty value is left out of it.
    pub(super) fn pairs(&self) -> Vec<(&'static str, String)> {
        let number = |seq: Option<u64>| seq.map(|it| it.to_string()).unwrap_or_default();
        let on = |is_on: bool| if is_on { "on".to_owned() } else { String::new() };
        let tab = if self.tab == Tab::default() { "" } else { self.tab.name() };
        let axis = match self.axis {
            LogAxis::Seq => "",
            LogAxis::Time => "time",
        };
        let (filter, timeline) = (&self.filter, &self.timeline);
        let of_tab = |tab: Tab, text: &str| match self.tab == tab {
            true => text.to_owned(),
            false => String::new(),
        };
        // The tabs of events and of logs share their filter.
        let of_table = |text: &str| match self.tab {
            Tab::Events | Tab::Logs => text.to_owned(),
            Tab::Step | Tab::Variables | Tab::Try | Tab::Source => String::new(),
        };
        let offset = u64::try_from(timeline.offset).ok().filter(|offset| *offset > 0);
        vec![
            ("at", number(self.at)),
            ("to", number(self.to)),
            ("axis", axis.to_owned()),
            ("step", self.step.clone().unwrap_or_default()),
            ("command", number(self.command)),
            ("item", number(self.item)),
            ("tab", tab.to_owned()),
            ("kind", of_table(&filter.kind)),
            ("of", of_table(&filter.of)),
            ("text", of_table(&filter.text)),
            ("from", of_tab(Tab::Events, &number(filter.from))),
            ("expression", of_tab(Tab::Try, &self.expression)),
            ("by", of_tab(Tab::Try, self.seen_by.step.as_deref().unwrap_or_default())),
            ("by_item", of_tab(Tab::Try, &number(self.seen_by.item))),
            ("expand", timeline.expanded.join(",")),
            ("critical", on(timeline.is_critical)),
            ("between", on(timeline.is_between)),
            ("rows", number(offset)),
        ]
    }

    pub(super) fn at(&self, at: Option<u64>) -> Self {
        Self { at, ..self.clone() }
    }

    pub(super) fn to(&self, to: Option<u64>) -> Self {
        Self { to, ..self.clone() }
    }

    pub(super) fn axis(&self, axis: LogAxis) -> Self {
        Self { axis, ..self.clone() }
    }

    pub(super) fn tab(&self, tab: Tab) -> Self {
        Self { tab, ..self.clone() }
    }

    /// Returns the place with the table of events from another event on.
    pub(super) fn events_from(&self, from: u64) -> Self {
        Self { filter: EventFilter { from: Some(from), ..self.filter.clone() }, ..self.clone() }
    }

    /// Returns the place with another part of the timeline.
    pub(super) fn timeline(&self, timeline: TimelineChoice) -> Self {
        Self { timeline, ..self.clone() }
    }

    /// Returns the place with a step of the timeline expanded, or no longer.
    pub(super) fn toggled(&self, step: &str) -> Self {
        let mut timeline = self.timeline.clone();
        match timeline.expanded.iter().position(|name| name == step) {
            Some(index) => drop(timeline.expanded.remove(index)),
            None => timeline.expanded.push(step.to_owned()),
        }
        if timeline.expanded.len() > EXPANDED_MAX {
            timeline.expanded.remove(0);
        }
        self.timeline(timeline)
    }

    /// Returns the place with a step selected, in the tab that shows it.
    pub(super) fn step(&self, step: &str) -> Self {
        let tab = match self.tab {
            Tab::Step | Tab::Logs | Tab::Source => self.tab,
            Tab::Variables | Tab::Events | Tab::Try => Tab::Step,
        };
        Self { step: Some(step.to_owned()), command: None, item: None, tab, ..self.clone() }
    }

    /// Returns the place with a command of its step in the inspector.
    pub(super) fn command(&self, command: Option<u64>) -> Self {
        Self { command, item: None, ..self.clone() }
    }

    /// Returns the place with an item of its step in the inspector.
    pub(super) fn item(&self, item: Option<u64>) -> Self {
        Self { item, command: None, tab: Tab::Step, ..self.clone() }
    }

    /// Returns an address that leads to a place that is looked for from here.
    pub(super) fn seeking(&self, sought: SoughtPlace) -> String {
        let mut pairs = self.pairs();
        pairs.push(("seek", sought.name().to_owned()));
        let pairs: Vec<(&str, &str)> =
            pairs.iter().map(|(name, value)| (*name, value.as_str())).collect();
        with_query(&execution_address(self.execution), &pairs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_leads_back_to_its_place() {
        let execution = ExecutionId(7);
        let query = PositionQuery {
            at: "12".to_owned(),
            step: "a b".to_owned(),
            tab: "events".to_owned(),
            kind: "step.entered".to_owned(),
            ..PositionQuery::default()
        };
        let here = Here::of(execution, &query);
        let base = "/ui/executions/7?at=12&step=";
        assert_eq!(here.address(), format!("{base}a%20b&tab=events&kind=step.entered"));
        assert_eq!(here.at(None).tab(Tab::Step).address(), "/ui/executions/7?step=a%20b");
        assert_eq!(here.step("x").address(), format!("{base}x"));
        assert_eq!(here.step("x").toggled("y").address(), format!("{base}x&expand=y"));
        assert_eq!(here.step("x").toggled("y").toggled("y").address(), format!("{base}x"));
        let chosen = here.step("x").command(Some(3));
        assert_eq!(chosen.address(), format!("{base}x&command=3"));
        assert_eq!(chosen.step("y").address(), format!("{base}y"));
        let live = Here::of(execution, &PositionQuery::default()).live_address(9);
        assert_eq!(live, "/ui/executions/7/live?after=9");
    }
}
