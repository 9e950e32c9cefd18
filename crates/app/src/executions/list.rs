//! Lists of executions, newest first.

use std::time::Duration;

use noetl_model::{ExecutionId, PermittedPaths, Summary, Timestamp, first_id_at, instant_of_id};
use noetl_store::{ExecutionFilter, PAGE_MAX, Page, StoreError};

use super::KnownExecution;
use crate::app::App;

/// Default number of executions per page.
const LIMIT: usize = 200;
/// Maximum number of executions per page.
const LIMIT_MAX: usize = 1000;
/// Maximum number of executions read for one page; a search beyond it needs a narrower filter.
const LOOKED_AT_MAX: usize = 20_000;
/// Maximum difference between the time in an execution's id and its start.
const ID_SLACK: Duration = Duration::from_secs(3600);

/// Selects executions and a page of them.
#[derive(Debug, Clone, Default)]
pub struct ExecutionQuery {
    pub filter: ExecutionFilter,
    /// The earliest start.
    pub started_after: Option<Timestamp>,
    /// The latest start, exclusive.
    pub started_before: Option<Timestamp>,
    pub limit: Option<usize>,
    pub offset: usize,
    /// The last execution of the previous page.
    pub cursor: Option<ExecutionId>,
}

/// A page of executions.
#[derive(Debug, Clone)]
pub struct ExecutionList {
    pub executions: Vec<KnownExecution>,
    /// The cursor of the next page; `None` on the last page.
    pub next: Option<ExecutionId>,
}

/// The reason why executions are not listed.
#[derive(Debug, thiserror::Error)]
pub enum ListError {
    #[error("`offset` is at most {LOOKED_AT_MAX}; narrow the filter instead")]
    OffsetTooLarge,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ExecutionQuery {
    fn admits(&self, summary: &Summary) -> bool {
        self.started_after.is_none_or(|after| summary.started_at >= after)
            && self.started_before.is_none_or(|before| summary.started_at < before)
    }

    /// True if the range of starts is unbounded, so that all executions the store finds are listed.
    fn admits_all(&self) -> bool {
        self.started_after.is_none() && self.started_before.is_none()
    }

    /// Returns the exclusive upper bound of ids; ids contain their time of creation.
    fn newest(&self) -> Option<ExecutionId> {
        self.started_before.map(|before| ExecutionId(first_id_at(before.after(ID_SLACK))))
    }

    /// Returns the lower bound of ids.
    fn oldest(&self) -> ExecutionId {
        let slack = i64::try_from(ID_SLACK.as_micros()).expect("an hour fits");
        let earliest =
            |after: Timestamp| Timestamp::from_micros(after.as_micros().saturating_sub(slack));
        ExecutionId(self.started_after.map_or(0, |after| first_id_at(earliest(after))))
    }
}

impl App {
    /// Lists executions with permitted paths, newest first.
    pub async fn list_executions(
        &self,
        query: &ExecutionQuery,
        paths: &PermittedPaths,
    ) -> Result<ExecutionList, ListError> {
        if query.offset > LOOKED_AT_MAX {
            return Err(ListError::OffsetTooLarge);
        }
        let limit = query.limit.unwrap_or(LIMIT).min(LIMIT_MAX);
        let mut executions = Vec::new();
        if limit == 0 {
            return Ok(ExecutionList { executions, next: None });
        }
        let mut left_out = query.offset;
        let mut last_permitted = None;
        let mut before = query.cursor.into_iter().chain(query.newest()).min();
        for _page in 0..LOOKED_AT_MAX / PAGE_MAX {
            // The filters by time and by permitted paths are applied here, so the number of rows to read is not known in
            // advance.
            let is_unbounded = query.admits_all() && *paths == PermittedPaths::All;
            let needed = if is_unbounded { limit + left_out } else { PAGE_MAX };
            let page = Page { before, limit: PAGE_MAX.min(needed) };
            let listed = self.known_page(&query.filter, page).await?;
            let is_last = listed.len() < page.limit;
            for known in listed {
                let summary = &known.summary;
                if summary.execution < query.oldest() {
                    return Ok(ExecutionList { executions, next: None });
                }
                before = Some(summary.execution);
                if !query.admits(summary) || !paths.include(&summary.playbook.path) {
                    continue;
                }
                last_permitted = before;
                if left_out > 0 {
                    left_out -= 1;
                    continue;
                }
                executions.push(known);
                if executions.len() == limit {
                    return Ok(ExecutionList { executions, next: before });
                }
            }
            if is_last {
                return Ok(ExecutionList { executions, next: None });
            }
        }
        let next = before.map(|before| continuation(before, last_permitted, paths));
        Ok(ExecutionList { executions, next })
    }
}

/// Returns the cursor after a page for which too many executions were looked at. With restricted paths it
/// is no id of an execution that the caller may not see, only the millisecond of one.
fn continuation(
    before: ExecutionId,
    last_permitted: Option<ExecutionId>,
    paths: &PermittedPaths,
) -> ExecutionId {
    match paths {
        PermittedPaths::All => before,
        PermittedPaths::None | PermittedPaths::Some(_) => {
            let later = instant_of_id(before.0).after(Duration::from_millis(1));
            let rounded = ExecutionId(first_id_at(later));
            last_permitted.map_or(rounded, |last| last.min(rounded))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_of_a_restricted_list_names_no_other_execution_and_skips_none() {
        let at = Timestamp::from_millis(1_800_000_000_123);
        let foreign = ExecutionId(first_id_at(at) + 77);
        let next_milli = ExecutionId(first_id_at(at.after(Duration::from_millis(1))));
        let some = PermittedPaths::Some(Vec::new());
        assert_eq!(continuation(foreign, None, &PermittedPaths::All), foreign);
        assert_eq!(continuation(foreign, None, &some), next_milli);
        // A permitted execution of the same millisecond was listed and is not listed again.
        let listed = ExecutionId(foreign.0 + 5);
        assert_eq!(continuation(foreign, Some(listed), &some), listed);
        let earlier_listed = ExecutionId(next_milli.0 + 900);
        assert_eq!(continuation(foreign, Some(earlier_listed), &some), next_milli);
    }
}
