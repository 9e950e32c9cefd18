//! The executions of a bulk job, newest first, page by page.

use std::time::Duration;

use noetl_model::{ExecutionId, Summary, Timestamp, first_id_at};
use noetl_store::{
    BulkAction, BulkFilter, BulkJob, BulkSelection, ExecutionFilter, PAGE_MAX, Page, PathFilter,
    StoreError,
};

use super::{BulkChoice, BulkRequest, EXECUTIONS_MAX, descending, selection_of};
use crate::app::App;

/// Maximum difference between the time in an execution's id and its start.
const ID_SLACK: Duration = Duration::from_secs(3600);
/// The mark at the end of a path that matches any rest.
const ANY_REST: char = '*';

/// A part of the executions of a selection.
pub(super) struct SelectedPage {
    /// In descending order.
    pub(super) executions: Vec<ExecutionId>,
    /// The execution below which the next page begins; `None` after the last page.
    pub(super) next: Option<ExecutionId>,
}

impl App {
    /// Counts the executions that a request selects, up to one more than a job may have.
    pub(super) async fn selected_count(
        &self,
        request: &BulkRequest,
        before: ExecutionId,
    ) -> Result<u64, StoreError> {
        if let BulkChoice::Ids(ids) = &request.choice {
            return Ok(descending(ids).len() as u64);
        }
        let selection = selection_of(&request.choice, before);
        let (mut count, mut cursor) = (0, None);
        loop {
            let page = self.selected(request.action, &selection, cursor, PAGE_MAX).await?;
            count += page.executions.len() as u64;
            match page.next {
                Some(next) if count <= EXECUTIONS_MAX => cursor = Some(next),
                Some(_) | None => return Ok(count),
            }
        }
    }

    /// Returns the next page of a job, after its cursor.
    pub(super) async fn next_of_job(
        &self,
        job: &BulkJob,
        limit: usize,
    ) -> Result<SelectedPage, StoreError> {
        self.selected(job.action, &job.selection, job.cursor, limit).await
    }

    /// Returns the selected executions among the next `limit` candidates below a cursor.
    async fn selected(
        &self,
        action: BulkAction,
        selection: &BulkSelection,
        cursor: Option<ExecutionId>,
        limit: usize,
    ) -> Result<SelectedPage, StoreError> {
        match selection {
            BulkSelection::Ids(ids) => {
                let left = ids.iter().filter(|id| cursor.is_none_or(|cursor| **id < cursor));
                let executions: Vec<ExecutionId> = left.take(limit).copied().collect();
                let next = executions.last().filter(|_| executions.len() == limit).copied();
                Ok(SelectedPage { executions, next })
            }
            BulkSelection::Filter { filter, before } => {
                let page = Page { before: below(filter, *before, cursor), limit };
                let found = self.control().list(&candidates(filter), page).await?;
                let oldest = oldest(filter);
                let is_last = found.len() < limit.min(PAGE_MAX);
                let next = found.last().map(|summary| summary.execution);
                let next = next.filter(|last| !is_last && *last >= oldest);
                let found =
                    found.into_iter().filter(|summary| is_selected(action, filter, summary));
                Ok(SelectedPage { executions: found.map(|it| it.execution).collect(), next })
            }
        }
    }
}

/// Returns the filter of the store that finds every selected execution, and maybe others.
fn candidates(filter: &BulkFilter) -> ExecutionFilter {
    let path = match (&filter.path, &filter.path_part) {
        (Some(path), _) => Some(match path.strip_suffix(ANY_REST) {
            Some(start) => PathFilter::Part(start.to_owned()),
            None => PathFilter::Whole(path.clone()),
        }),
        (None, Some(part)) => Some(PathFilter::Part(part.clone())),
        (None, None) => None,
    };
    let path = path.filter(|path| *path != PathFilter::Part(String::new()));
    let BulkFilter { status, catalog_id, parent, .. } = *filter;
    let (labels, actor, text) = (filter.labels.clone(), filter.actor.clone(), filter.text.clone());
    ExecutionFilter { status, path, catalog_id, parent, labels, actor, text }
}

/// Returns the id below which the next candidates are.
fn below(
    filter: &BulkFilter,
    before: ExecutionId,
    cursor: Option<ExecutionId>,
) -> Option<ExecutionId> {
    let latest = filter.started_before.map(|until| ExecutionId(first_id_at(until.after(ID_SLACK))));
    [Some(before), cursor, latest].into_iter().flatten().min()
}

/// Returns the lower bound of ids; ids contain their time of creation.
fn oldest(filter: &BulkFilter) -> ExecutionId {
    let slack = i64::try_from(ID_SLACK.as_micros()).expect("an hour fits");
    let earliest =
        |after: Timestamp| Timestamp::from_micros(after.as_micros().saturating_sub(slack));
    ExecutionId(filter.started_after.map_or(0, |after| first_id_at(earliest(after))))
}

/// True if a candidate is selected.
fn is_selected(action: BulkAction, filter: &BulkFilter, summary: &Summary) -> bool {
    let path = &summary.playbook.path;
    action.applies_to(summary.status)
        && filter.path.as_ref().is_none_or(|wanted| path_matches(wanted, path))
        && filter
            .path_part
            .as_ref()
            .is_none_or(|part| path.to_lowercase().contains(&part.to_lowercase()))
        && filter.started_after.is_none_or(|after| summary.started_at >= after)
        && filter.started_before.is_none_or(|before| summary.started_at < before)
}

/// True if a path is the wanted one; a trailing `*` matches any rest.
pub(crate) fn path_matches(wanted: &str, path: &str) -> bool {
    match wanted.strip_suffix(ANY_REST) {
        Some(start) => path.starts_with(start),
        None => path == wanted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_matches_exactly_or_by_its_beginning() {
        assert!(path_matches("team/*", "team/a/b"));
        assert!(!path_matches("team/*", "my/team/a"));
        assert!(path_matches("team/a", "team/a"));
        assert!(!path_matches("team/a", "team/ab"));
        assert!(path_matches("*", "anything"));
    }

    #[test]
    fn candidates_are_found_by_the_index_of_the_path() {
        let of =
            |path: &str| candidates(&BulkFilter { path: Some(path.into()), ..Default::default() });
        assert_eq!(of("team/a").path, Some(PathFilter::Whole("team/a".into())));
        assert_eq!(of("team/*").path, Some(PathFilter::Part("team/".into())));
        assert_eq!(of("*").path, None);
    }
}
