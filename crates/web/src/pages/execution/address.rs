//! Addresses of the page: the position, the second position, the selected step and the tab.

use noetl_model::ExecutionId;
use serde::Deserialize;

use crate::address::with_query;
use crate::components::id::execution_address;

/// The query of the page, as the address has it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(in crate::pages) struct PositionQuery {
    pub(super) at: String,
    pub(super) to: String,
    pub(super) step: String,
    pub(super) tab: String,
    /// The first event of the table of events.
    pub(super) from: String,
    /// The kind of events that the table shows.
    pub(super) kind: String,
    /// The text that events of the table contain.
    pub(super) text: String,
    /// The expression to try.
    pub(super) expression: String,
    /// The execution that this one repeats.
    pub(super) original: String,
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

/// Returns the address of an execution that repeats another one.
pub(in crate::pages) fn repeated_address(execution: ExecutionId, original: ExecutionId) -> String {
    with_query(&execution_address(execution), &[("original", &original.to_string())])
}

/// The place that the visitor looks at.
#[derive(Debug, Clone)]
pub(super) struct Here {
    pub(super) execution: ExecutionId,
    /// The position; the end of the log if `None`.
    pub(super) at: Option<u64>,
    /// The position to compare with.
    pub(super) to: Option<u64>,
    pub(super) step: Option<String>,
    pub(super) tab: Tab,
    /// The execution that this one repeats, as the form that started it knew.
    pub(super) original: Option<ExecutionId>,
}

impl Here {
    pub(super) fn of(execution: ExecutionId, query: &PositionQuery) -> Self {
        Self {
            execution,
            at: query.at.parse().ok(),
            to: query.to.parse().ok(),
            step: Some(query.step.clone()).filter(|it| !it.is_empty()),
            tab: Tab::of(&query.tab),
            original: query.original.parse().ok(),
        }
    }

    /// Returns the address of this place.
    pub(super) fn address(&self) -> String {
        let number = |seq: Option<u64>| seq.map(|it| it.to_string()).unwrap_or_default();
        let tab = if self.tab == Tab::default() { "" } else { self.tab.name() };
        let original = self.original.map(|it| it.to_string()).unwrap_or_default();
        with_query(
            &execution_address(self.execution),
            &[
                ("at", &number(self.at)),
                ("to", &number(self.to)),
                ("step", self.step.as_deref().unwrap_or_default()),
                ("tab", tab),
                ("original", &original),
            ],
        )
    }

    pub(super) fn at(&self, at: Option<u64>) -> Self {
        Self { at, ..self.clone() }
    }

    pub(super) fn to(&self, to: Option<u64>) -> Self {
        Self { to, ..self.clone() }
    }

    pub(super) fn tab(&self, tab: Tab) -> Self {
        Self { tab, ..self.clone() }
    }

    /// Returns the place with a step selected, in the tab that shows it.
    pub(super) fn step(&self, step: &str) -> Self {
        let tab = match self.tab {
            Tab::Step | Tab::Logs | Tab::Source => self.tab,
            Tab::Variables | Tab::Events | Tab::Try => Tab::Step,
        };
        Self { step: Some(step.to_owned()), tab, ..self.clone() }
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
            ..PositionQuery::default()
        };
        let here = Here::of(execution, &query);
        assert_eq!(here.address(), "/ui/executions/7?at=12&step=a%20b&tab=events");
        assert_eq!(here.at(None).tab(Tab::Step).address(), "/ui/executions/7?step=a%20b");
        assert_eq!(here.step("x").address(), "/ui/executions/7?at=12&step=x");
    }
}
