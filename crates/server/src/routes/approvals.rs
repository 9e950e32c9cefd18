//! Approvals: steps that wait for the decision of a person.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use noetl_api::AnyId;
use noetl_api::wire::{
    ApprovalLink, ApprovalLinkBody, ApprovalList, ApprovalView, ApprovalsQuery, DecisionBody,
};
use noetl_app::{ApprovalError, ApprovalQuery, DecideError, LinkError};
use noetl_engine::ApprovalDecision;
use noetl_model::CommandId;
use noetl_playbook::duration_of;
use serde_json::json;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::request::actor::{LinkSender, NamePolicy, RequestCaller};
use crate::request::extract::{Body, InPath, InQuery, MaybeBody};
use crate::response::error::ApiError;
use crate::state::AppState;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_approvals))
        .routes(routes!(get_approval))
        .routes(routes!(decide_approval))
        .routes(routes!(make_link))
}

/// Lists the approvals that wait for a decision, oldest first.
#[utoipa::path(
    get, path = "/api/approvals", tag = "approvals", params(ApprovalsQuery),
    responses((status = 200, body = ApprovalList))
)]
async fn list_approvals(
    State(state): State<AppState>,
    InQuery(query): InQuery<ApprovalsQuery>,
) -> Result<Json<ApprovalList>, ApiError> {
    let ApprovalsQuery { after, limit, approver, execution_id } = query;
    if let Some(execution) = execution_id {
        let approvals = state.app().approvals_of(execution.into()).await?;
        return Ok(Json(ApprovalList { approvals, next: None }));
    }
    let found = state.app().open_approvals(&ApprovalQuery { after, limit, approver }).await?;
    Ok(Json(ApprovalList { approvals: found.approvals, next: found.next }))
}

/// Returns an approval that waits for its decision, or was decided.
#[utoipa::path(
    get, path = "/api/approvals/{execution_id}/{command}", tag = "approvals",
    params(
        ("execution_id" = String, Path),
        ("command" = u64, Path, description = "The number of the command within its execution"),
    ),
    responses((status = 200, body = ApprovalView))
)]
async fn get_approval(
    State(state): State<AppState>,
    InPath((id, command)): InPath<(AnyId, u64)>,
) -> Result<Json<ApprovalView>, ApiError> {
    Ok(Json(state.app().approval(id.into(), CommandId(command)).await?))
}

/// Decides about an approval. If it has approvers and the server asks for tokens, the name of the token
/// counts, and a name that the request states is refused with 403. The same decision may be sent again and returns the first one; a
/// different decision is refused with 409 and the first decision in `approval`.
#[utoipa::path(
    post, path = "/api/approvals/{execution_id}/{command}/decision", tag = "approvals",
    params(
        ("execution_id" = String, Path),
        ("command" = u64, Path, description = "The number of the command within its execution"),
    ),
    request_body = DecisionBody,
    responses((status = 200, body = ApprovalView))
)]
async fn decide_approval(
    State(state): State<AppState>,
    InPath((id, command)): InPath<(AnyId, u64)>,
    caller: RequestCaller,
    NamePolicy(names): NamePolicy,
    Body(body): Body<DecisionBody>,
) -> Result<Json<ApprovalView>, ApiError> {
    let (actor, actor_stated) = caller.name_or(body.actor);
    let decision = ApprovalDecision {
        command: CommandId(command),
        verdict: body.decision.into(),
        actor,
        actor_stated,
        link_by: None,
        comment: body.comment.filter(|comment| !comment.trim().is_empty()),
        values: body.values,
    };
    Ok(Json(state.app().decide_approval(id.into(), decision, names).await?))
}

/// Makes a link with which one person decides about this approval, without access to the server. If the
/// approval has approvers, only the token of that person or of an administrator may make it. The
/// page of the link decides only when its form is sent, and only once.
#[utoipa::path(
    post, path = "/api/approvals/{execution_id}/{command}/link", tag = "approvals",
    params(
        ("execution_id" = String, Path),
        ("command" = u64, Path, description = "The number of the command within its execution"),
    ),
    request_body = Option<ApprovalLinkBody>,
    responses((status = 200, body = ApprovalLink))
)]
async fn make_link(
    State(state): State<AppState>,
    InPath((id, command)): InPath<(AnyId, u64)>,
    LinkSender(maker): LinkSender,
    MaybeBody(body): MaybeBody<ApprovalLinkBody>,
) -> Result<Json<ApprovalLink>, ApiError> {
    let valid_for = body.valid_for.map(|valid_for| {
        duration_of(&valid_for).ok_or_else(|| {
            let detail =
                format!("`valid_for` is a duration such as 3600, 30m or 2d, not `{valid_for}`");
            ApiError::invalid("invalid-duration", detail)
        })
    });
    let valid_for = valid_for.transpose()?;
    let (app, command) = (state.app(), CommandId(command));
    Ok(Json(app.approval_link(id.into(), command, body.actor, valid_for, &maker).await?))
}

impl From<ApprovalError> for ApiError {
    fn from(error: ApprovalError) -> Self {
        let detail = error.to_string();
        match error {
            ApprovalError::Unknown(..) => Self::not_found("unknown-approval", detail),
            ApprovalError::Load(error) => error.into(),
            ApprovalError::Store(error) => error.into(),
        }
    }
}

impl From<DecideError> for ApiError {
    fn from(error: DecideError) -> Self {
        let detail = error.to_string();
        match error {
            DecideError::BadActor => Self::invalid("invalid-actor", detail),
            DecideError::NameNotChecked(_) => {
                Self::new(StatusCode::FORBIDDEN, "name-not-checked", detail)
            }
            DecideError::Decided(first) => {
                Self::conflict("already-decided", detail).with("approval", json!(first))
            }
            DecideError::Refused(refusal) => refusal.into(),
            DecideError::Show(error) => error.into(),
            DecideError::Submit(error) => error.into(),
        }
    }
}

impl From<LinkError> for ApiError {
    fn from(error: LinkError) -> Self {
        let detail = error.to_string();
        match error {
            LinkError::TooLong => Self::invalid("link-too-long", detail),
            LinkError::BadActor => Self::invalid("invalid-actor", detail),
            LinkError::NoApprover(_) => Self::invalid("not-an-approver", detail),
            LinkError::NotForOthers => Self::new(StatusCode::FORBIDDEN, "link-for-another", detail),
            LinkError::Decided => Self::conflict("already-decided", detail),
            LinkError::Invalid | LinkError::Expired(_) => Self::not_found("invalid-link", detail),
            LinkError::Show(error) => error.into(),
        }
    }
}
