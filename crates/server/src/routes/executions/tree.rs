//! The tree of an execution and its descendants.

use std::collections::{BTreeMap, VecDeque};

use axum::Json;
use axum::extract::State;
use noetl_api::AnyId;
use noetl_api::wire::ExecutionItem;
use noetl_model::{ExecutionId, Summary};
use noetl_store::{ExecutionFilter, PAGE_MAX, Page};
use serde::Serialize;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{item_of, known};
use crate::error::ApiError;
use crate::extract::InPath;
use crate::state::AppState;

/// Maximum number of executions in a tree.
const TREE_MAX: usize = 1000;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(execution_tree))
}

/// An execution with its children, oldest first.
#[derive(Serialize)]
struct Node {
    #[serde(flatten)]
    execution: ExecutionItem,
    children: Vec<Node>,
}

#[derive(Serialize)]
struct Tree {
    #[serde(flatten)]
    root: Node,
    /// True if there are more executions than shown.
    truncated: bool,
}

/// Shows an execution with all its descendants.
#[utoipa::path(
    get, path = "/api/executions/{execution_id}/tree", tag = "executions",
    params(("execution_id" = String, Path)), responses((status = 200, body = Object))
)]
async fn execution_tree(
    State(state): State<AppState>,
    InPath(id): InPath<AnyId>,
) -> Result<Json<Tree>, ApiError> {
    let root = known(&state, id.into()).await?;
    let mut below: BTreeMap<ExecutionId, Vec<Summary>> = BTreeMap::new();
    let mut open = VecDeque::from([root.execution]);
    let (mut count, mut truncated) = (1, false);
    while let Some(parent) = open.pop_front() {
        let (mut children, more) = children_of(&state, parent, TREE_MAX - count).await?;
        truncated |= more;
        count += children.len();
        children.reverse();
        open.extend(children.iter().map(|child| child.execution));
        below.insert(parent, children);
    }
    Ok(Json(Tree { root: node(root, &mut below), truncated }))
}

/// Loads up to `limit` children, newest first; the flag is true if there are more.
async fn children_of(
    state: &AppState,
    parent: ExecutionId,
    limit: usize,
) -> Result<(Vec<Summary>, bool), ApiError> {
    let filter = ExecutionFilter { parent: Some(parent), ..ExecutionFilter::default() };
    let mut children: Vec<Summary> = Vec::new();
    loop {
        let before = children.last().map(|child| child.execution);
        let page = Page { before, limit: PAGE_MAX };
        let found = state.control().list(&filter, page).await?;
        let is_last = found.len() < page.limit;
        children.extend(found);
        if children.len() > limit {
            children.truncate(limit);
            return Ok((children, true));
        }
        if is_last {
            return Ok((children, false));
        }
    }
}

fn node(summary: Summary, below: &mut BTreeMap<ExecutionId, Vec<Summary>>) -> Node {
    let children = below.remove(&summary.execution).unwrap_or_default();
    let children = children.into_iter().map(|child| node(child, below)).collect();
    Node { execution: item_of(summary), children }
}
