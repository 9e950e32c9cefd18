//! One limit: its holders, its queue, and how long each has waited.

mod template;

use std::collections::BTreeMap;

use axum::extract::Path;
use noetl_api::wire::LimitDetail;
use noetl_model::{ExecutionId, LimitName};

use crate::error::PageError;
use crate::layout::{NavPlace, PageHead};
use crate::request::PageRequest;
use crate::response::PageResult;

/// A limit with the playbooks of its holders and of its queue.
#[derive(Debug)]
struct LimitPage {
    detail: LimitDetail,
    /// The path of the playbook of each execution.
    paths: BTreeMap<ExecutionId, String>,
}

pub(super) async fn show(page: PageRequest, Path(name): Path<String>) -> PageResult {
    let parsed: LimitName = name.parse().map_err(|_| PageError::UnknownPage)?;
    let head = PageHead { title: parsed.as_str(), place: NavPlace::Workers };
    let content = match page.app().limit_detail(&parsed).await? {
        Some(detail) => {
            let paths = paths_of(&page, &detail).await?;
            template::limit(&page, &LimitPage { detail, paths })
        }
        None => template::unused(&page, parsed.as_str()),
    };
    Ok(page.respond(&head, &content))
}

/// Loads the paths of the playbooks of a limit's executions, whose number the detail bounds.
async fn paths_of(
    page: &PageRequest,
    detail: &LimitDetail,
) -> Result<BTreeMap<ExecutionId, String>, PageError> {
    let mut paths = BTreeMap::new();
    for slot in detail.slots.iter().chain(&detail.queue) {
        let execution = ExecutionId::from(slot.execution_id);
        if paths.contains_key(&execution) {
            continue;
        }
        if let Some(summary) = page.app().find_execution(execution).await? {
            paths.insert(execution, summary.playbook.path);
        }
    }
    Ok(paths)
}
