//! The filter of the list, as the address holds it.

use noetl_app::{ExecutionFilter, ExecutionQuery, HistogramQuery, PathFilter};
use noetl_model::{Actor, ExecutionId, ExecutionStatus, Label, SearchText};
use serde::Deserialize;

use crate::address::with_query;
use crate::components::labels::label_parts;
use crate::form::instant_of;

/// Number of executions per page.
const PER_PAGE: usize = 50;

/// A parameter of the list that selects executions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::pages) struct FilterField<'a> {
    pub(in crate::pages) name: &'static str,
    /// The key of its label in the catalogues.
    pub(in crate::pages) word: &'static str,
    /// The text of the field; empty if it selects nothing.
    pub(in crate::pages) text: &'a str,
    /// False if the text cannot be read; the list is not narrowed by it then.
    pub(in crate::pages) is_valid: bool,
}

/// The parameters of the list. Empty ones are not set; invalid ones are named above the list, which
/// ignores them, and no bulk action accepts them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(in crate::pages) struct ListFilter {
    pub(super) status: String,
    /// A part of the playbook's path.
    pub(super) playbook: String,
    pub(super) from: String,
    pub(super) until: String,
    pub(super) parent: String,
    /// Labels such as `team:ops`, separated by commas.
    pub(super) label: String,
    /// The person or program that requested the start.
    pub(super) actor: String,
    /// Words to search for.
    pub(super) text: String,
    /// The last execution of the page before.
    pub(super) after: String,
    /// `on` keeps the list fresh.
    pub(super) live: String,
    /// The execution that another one is compared with.
    pub(super) compare: String,
}

impl ListFilter {
    /// Returns the filter of a form or an address, by the names of its fields.
    pub(in crate::pages) fn of(field: &impl Fn(&str) -> String) -> Self {
        Self {
            status: field("status"),
            playbook: field("playbook"),
            from: field("from"),
            until: field("until"),
            parent: field("parent"),
            label: field("label"),
            actor: field("actor"),
            text: field("text"),
            after: String::new(),
            live: String::new(),
            compare: String::new(),
        }
    }

    /// Returns the fields that select executions, without those of the page.
    pub(in crate::pages) fn fields(&self) -> [FilterField<'_>; 8] {
        let field = |name, word, text, is_valid: fn(&str) -> bool| {
            let is_valid = given(text).is_none_or(is_valid);
            FilterField { name, word, text, is_valid }
        };
        [
            field("status", "executions.status", &self.status, |it| {
                it.parse::<ExecutionStatus>().is_ok()
            }),
            field("playbook", "executions.playbook", &self.playbook, |_| true),
            field("from", "executions.from", &self.from, |it| instant_of(it).is_some()),
            field("until", "executions.until", &self.until, |it| instant_of(it).is_some()),
            field("parent", "executions.parent", &self.parent, |it| {
                it.parse::<ExecutionId>().is_ok()
            }),
            field("label", "executions.label", &self.label, |it| {
                label_parts(it).iter().all(|part| part.parse::<Label>().is_ok())
            }),
            field("actor", "executions.actor", &self.actor, |it| it.parse::<Actor>().is_ok()),
            field("text", "executions.text", &self.text, |it| it.parse::<SearchText>().is_ok()),
        ]
    }

    /// Returns the fields whose text cannot be read.
    pub(in crate::pages) fn invalid(&self) -> Vec<FilterField<'_>> {
        self.fields().into_iter().filter(|field| !field.is_valid).collect()
    }

    /// Returns the query of the list.
    pub(in crate::pages) fn query(&self) -> ExecutionQuery {
        ExecutionQuery {
            filter: ExecutionFilter {
                status: self.status(),
                path: given(&self.playbook).map(|part| PathFilter::Part(part.to_owned())),
                catalog_id: None,
                parent: given(&self.parent).and_then(|it| it.parse().ok()),
                labels: labels(&self.label),
                actor: given(&self.actor).and_then(|it| it.parse().ok()),
                text: given(&self.text).and_then(|it| it.parse().ok()),
            },
            started_after: instant_of(&self.from),
            started_before: instant_of(&self.until),
            limit: Some(PER_PAGE),
            offset: 0,
            cursor: self.after.parse().ok(),
        }
    }

    /// Returns the query of the histogram above the list.
    pub(super) fn histogram(&self) -> HistogramQuery {
        let ExecutionQuery { filter, started_after, started_before, .. } = self.query();
        HistogramQuery { filter, started_after, started_before, buckets: None }
    }

    /// Returns the filter of the first page for a time.
    pub(super) fn within(&self, from: &str, until: &str) -> Self {
        Self { from: from.to_owned(), until: until.to_owned(), ..self.first() }
    }

    pub(super) fn status(&self) -> Option<ExecutionStatus> {
        given(&self.status).and_then(|it| it.parse().ok())
    }

    /// Returns the execution that another one is compared with.
    pub(super) fn compared(&self) -> Option<ExecutionId> {
        self.compare.parse().ok()
    }

    /// Returns the filter with an execution to compare with.
    pub(super) fn comparing(&self, execution: Option<ExecutionId>) -> Self {
        let compare = execution.map(|it| it.to_string()).unwrap_or_default();
        Self { compare, ..self.clone() }
    }

    pub(super) fn is_live(&self) -> bool {
        self.live == "on"
    }

    /// True if the list is narrowed in any way.
    pub(super) fn is_narrow(&self) -> bool {
        let aside = Self {
            after: self.after.clone(),
            live: self.live.clone(),
            compare: self.compare.clone(),
            ..Self::default()
        };
        *self != aside
    }

    /// Returns the address of the list with this filter.
    pub(in crate::pages) fn address(&self) -> String {
        with_query(
            "/ui/executions",
            &[
                ("status", &self.status),
                ("playbook", &self.playbook),
                ("from", &self.from),
                ("until", &self.until),
                ("parent", &self.parent),
                ("label", &self.label),
                ("actor", &self.actor),
                ("text", &self.text),
                ("after", &self.after),
                ("live", &self.live),
                ("compare", &self.compare),
            ],
        )
    }

    /// Returns the filter of the next page.
    pub(super) fn next(&self, last: ExecutionId) -> Self {
        Self { after: last.to_string(), live: String::new(), ..self.clone() }
    }

    /// Returns the filter of the first page.
    pub(in crate::pages) fn first(&self) -> Self {
        Self { after: String::new(), ..self.clone() }
    }
}

fn labels(text: &str) -> Vec<Label> {
    label_parts(text).iter().filter_map(|part| part.parse().ok()).collect()
}

fn given(text: &str) -> Option<&str> {
    Some(text.trim()).filter(|it| !it.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_survives_its_address_and_empty_parameters_are_left_out() {
        let filter =
            ListFilter { playbook: "a b".into(), status: "FAILED".into(), ..ListFilter::default() };
        assert_eq!(filter.address(), "/ui/executions?status=FAILED&playbook=a%20b");
        assert_eq!(ListFilter::default().address(), "/ui/executions");
        assert!(filter.is_narrow());
        assert!(!ListFilter { live: "on".into(), ..ListFilter::default() }.is_narrow());
    }

    #[test]
    fn labels_are_separated_by_commas() {
        let read = |text: &str| labels(text).iter().map(Label::to_string).collect::<Vec<_>>();
        assert_eq!(read("team:ops, env=prod"), ["team:ops", "env:prod"]);
        assert_eq!(read("note:a,b"), ["note:a,b"]);
        assert!(read("").is_empty());
        assert!(read("team").is_empty());
    }

    #[test]
    fn fields_that_cannot_be_read_are_named() {
        let filter = ListFilter {
            status: "DONE".into(),
            from: "soon".into(),
            until: "2026-11-17".into(),
            parent: "x".into(),
            label: "team:ops, env".into(),
            ..ListFilter::default()
        };
        let names: Vec<_> = filter.invalid().iter().map(|field| field.name).collect();
        assert_eq!(names, ["status", "from", "parent"], "a label may contain a comma");
        let label = ListFilter { label: "team".into(), ..ListFilter::default() };
        assert_eq!(label.invalid().first().map(|field| field.name), Some("label"));
        let blank = ListFilter { parent: " ".into(), label: " ,".into(), ..ListFilter::default() };
        assert!(blank.invalid().is_empty());
    }
}
