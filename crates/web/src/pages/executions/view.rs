//! The values of the list.

use noetl_model::ExecutionId;

use super::filter::ListFilter;
use crate::components::execution_table::{listed, query_executions};
use crate::components::progress::ExecutionLine;
use crate::error::PageError;
use crate::request::PageRequest;

#[derive(Debug)]
pub(super) struct ExecutionsView {
    pub(super) filter: ListFilter,
    pub(super) executions: Vec<ExecutionLine>,
    /// The last execution of this page, if there are more.
    pub(super) next: Option<ExecutionId>,
}

impl ExecutionsView {
    pub(super) async fn load(page: &PageRequest, filter: ListFilter) -> Result<Self, PageError> {
        let list = query_executions(page, &filter.query()).await?;
        let executions = listed(page, list.executions).await?;
        Ok(Self { filter, executions, next: list.next })
    }
}
