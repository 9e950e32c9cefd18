//! The tree of an execution and its descendants.

use axum::Json;
use axum::extract::State;
use noetl_api::AnyId;
use noetl_api::wire::ExecutionItem;
use noetl_app::{ExecutionNode, ExecutionTree};
use noetl_model::Timestamp;
use serde::Serialize;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::item_of;
use crate::request::extract::InPath;
use crate::response::error::ApiError;
use crate::state::AppState;

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
    let ExecutionTree { root, is_truncated } = state.app().execution_tree(id.into()).await?;
    Ok(Json(Tree { root: node(root, state.now()), truncated: is_truncated }))
}

fn node(ExecutionNode { known, children }: ExecutionNode, now: Timestamp) -> Node {
    let children = children.into_iter().map(|child| node(child, now)).collect();
    Node { execution: item_of(known, None, now), children }
}
