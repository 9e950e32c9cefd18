//! Stored tokens: create, list and revoke.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use noetl_api::wire::{CreateToken, CreatedToken, StoredTokenList, TokenView};
use noetl_app::{IssuedToken, NewToken, PAGE_MAX, StoredTokenError};
use noetl_model::{Actor, ParseTimestampError, RoleGrant};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::request::actor::RequestActor;
use crate::request::extract::{InPath, InQuery};
use crate::request::strict::StrictBody;
use crate::response::error::ApiError;
use crate::state::AppState;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(create_token, list_tokens)).routes(routes!(revoke_token))
}

/// Creates a token. The answer is the only place where its secret is shown.
#[utoipa::path(
    post, path = "/api/tokens", tag = "tokens", request_body = CreateToken,
    responses((status = 201, body = CreatedToken))
)]
async fn create_token(
    State(state): State<AppState>,
    RequestActor(created_by): RequestActor,
    StrictBody(request): StrictBody<CreateToken>,
) -> Result<(StatusCode, Json<CreatedToken>), ApiError> {
    let CreateToken { name, owner, roles, expires_at } = request;
    let invalid = |code, detail: String| ApiError::invalid(code, detail);
    let name = Actor::new(&name).map_err(|error| invalid("invalid-name", error.to_string()))?;
    let grants = roles.iter().map(|role| role.parse::<RoleGrant>());
    let grants = grants.collect::<Result<Vec<RoleGrant>, _>>();
    let grants = grants.map_err(|error| invalid("invalid-role", error.to_string()))?;
    let expires_at = expires_at.map(|at| at.parse()).transpose();
    let expires_at =
        expires_at.map_err(|error: ParseTimestampError| invalid("bad-time", error.to_string()))?;
    let new = NewToken { name, owner, grants, expires_at, created_by };
    let IssuedToken { token, secret } = state.app().create_token(new).await?;
    let token = state.app().token_view(&token);
    Ok((StatusCode::CREATED, Json(CreatedToken { token, secret })))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct TokensQuery {
    /// List tokens whose name follows this one.
    after: Option<String>,
    limit: Option<usize>,
}

/// Lists tokens by name, without their secrets.
#[utoipa::path(
    get, path = "/api/tokens", tag = "tokens", params(TokensQuery),
    responses((status = 200, body = StoredTokenList))
)]
async fn list_tokens(
    State(state): State<AppState>,
    InQuery(query): InQuery<TokensQuery>,
) -> Result<Json<StoredTokenList>, ApiError> {
    let limit = query.limit.unwrap_or(PAGE_MAX).clamp(1, PAGE_MAX);
    let listed = state.app().list_tokens(query.after.as_deref().unwrap_or(""), limit).await?;
    let next = listed.last().filter(|_| listed.len() == limit).map(|it| it.name.to_string());
    let tokens: Vec<TokenView> = listed.iter().map(|it| state.app().token_view(it)).collect();
    Ok(Json(StoredTokenList { tokens, next }))
}

/// Revokes a token: this server refuses it from now on, other servers within seconds.
#[utoipa::path(
    delete, path = "/api/tokens/{name}", tag = "tokens", params(("name" = String, Path)),
    responses((status = 204))
)]
async fn revoke_token(
    State(state): State<AppState>,
    InPath(name): InPath<String>,
) -> Result<StatusCode, ApiError> {
    state.app().revoke_token(&name).await?;
    Ok(StatusCode::NO_CONTENT)
}

impl From<StoredTokenError> for ApiError {
    fn from(error: StoredTokenError) -> Self {
        let detail = error.to_string();
        match error {
            StoredTokenError::NameTaken(_) => ApiError::conflict("name-taken", detail),
            StoredTokenError::Roles => ApiError::invalid("invalid-roles", detail),
            StoredTokenError::Owner => ApiError::invalid("invalid-owner", detail),
            StoredTokenError::Expired(_) => ApiError::invalid("already-expired", detail),
            StoredTokenError::TooMany => ApiError::conflict("too-many-tokens", detail),
            StoredTokenError::Unknown(_) => ApiError::not_found("unknown-token", detail),
            StoredTokenError::Store(error) => error.into(),
        }
    }
}
