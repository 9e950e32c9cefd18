//! Credentials: stored encrypted, shown without their secrets, and delivered to workers only.

use axum::extract::State;
use axum::http::StatusCode;
use axum::{Extension, Json};
use noetl_api::{AnyId, LeaseProof};
use noetl_app::{
    Credential, CredentialError, CredentialFilter, FoundSecret, LeaseRefusal, LeaseVerification,
    SecretError,
};
use noetl_model::{CredentialPolicy, ExecutionId, Permission};
use noetl_secrets::{
    DeliveryError, NewCredential, PolicyChange, SealedEnvelope, SecretAccess, SecretOperation,
    seal_for,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::Instant;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::access::Admitted;
use crate::request::command_holder::{SentProof, without_proof};
use crate::request::extract::{Body, InPath, InQuery};
use crate::request::worker_sender::WorkerSender;
use crate::response::error::ApiError;
use crate::state::AppState;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(put_credential, list_credentials))
        .routes(routes!(show_credential, remove_credential))
        .routes(routes!(deliver_credential))
}

#[derive(Deserialize, ToSchema)]
struct CredentialPut {
    name: String,
    /// Kind of the credential, such as `postgres` or `bearer`.
    #[serde(rename = "type")]
    kind: String,
    /// The secret fields.
    #[schema(value_type = Object)]
    data: Value,
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    meta: Option<Value>,
    #[serde(default)]
    tags: Option<Vec<String>>,
    #[serde(default)]
    description: Option<String>,
    /// The executions that may use the credential, by `paths` of playbooks, `labels` and `owners` (who
    /// starts them), and the `hosts` that it may be sent to. Without the field, a credential that is
    /// replaced keeps its policy; `null` removes it.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    policy: PolicyChange,
}

/// A credential; `data` only if requested.
#[derive(Serialize, ToSchema)]
pub(crate) struct CredentialShown {
    id: String,
    name: String,
    #[serde(rename = "type")]
    kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    meta: Option<Value>,
    tags: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    policy: Option<CredentialPolicy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    data: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    created_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_at: Option<String>,
}

impl From<Credential> for CredentialShown {
    fn from(credential: Credential) -> Self {
        Self {
            id: credential.id.to_string(),
            name: credential.name,
            kind: credential.kind,
            meta: credential.meta,
            tags: credential.tags,
            description: credential.description,
            policy: credential.policy,
            data: None,
            created_at: Some(credential.created_at.to_string()),
            updated_at: Some(credential.updated_at.to_string()),
        }
    }
}

impl From<FoundSecret> for CredentialShown {
    fn from(found: FoundSecret) -> Self {
        match found {
            FoundSecret::Stored { credential, data } => {
                Self { data: Some(Value::Object(data)), ..Self::from(*credential) }
            }
            FoundSecret::Keychain { alias, data } => Self {
                id: "0".to_owned(),
                description: Some(format!("`{alias}` of the playbook's keychain")),
                name: alias,
                kind: "keychain".to_owned(),
                meta: None,
                tags: Vec::new(),
                policy: None,
                data: Some(Value::Object(data)),
                created_at: None,
                updated_at: None,
            },
        }
    }
}

/// Stores a credential (replaces one with the same name).
#[utoipa::path(
    post, path = "/api/credentials", tag = "secrets", request_body = CredentialPut,
    responses((status = 200, body = CredentialShown))
)]
async fn put_credential(
    State(state): State<AppState>,
    Body(put): Body<CredentialPut>,
) -> Result<Json<CredentialShown>, ApiError> {
    let new = NewCredential {
        name: put.name,
        kind: put.kind,
        data: put.data,
        meta: put.meta,
        tags: put.tags.unwrap_or_default(),
        description: put.description,
        policy: put.policy,
    };
    Ok(Json(state.app().put_credential(new).await?.into()))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct CredentialListQuery {
    r#type: Option<String>,
    /// A part of the name or the description.
    q: Option<String>,
}

#[derive(Serialize, ToSchema)]
struct CredentialPage {
    items: Vec<CredentialShown>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    filter: Option<Value>,
}

/// Lists credentials, newest first, without their secrets.
#[utoipa::path(
    get, path = "/api/credentials", tag = "secrets", params(CredentialListQuery),
    responses((status = 200, body = CredentialPage))
)]
async fn list_credentials(
    State(state): State<AppState>,
    InQuery(query): InQuery<CredentialListQuery>,
) -> Result<Json<CredentialPage>, ApiError> {
    let filter = match (&query.r#type, &query.q) {
        (None, None) => None,
        (Some(kind), None) => Some(json!({ "type": kind })),
        (None, Some(text)) => Some(json!({ "q": text })),
        (Some(kind), Some(text)) => Some(json!({ "type": kind, "q": text })),
    };
    let wanted = CredentialFilter { kind: query.r#type, text: query.q };
    let items = state.app().list_credentials(&wanted).await?.into_iter().map(Into::into).collect();
    Ok(Json(CredentialPage { items, filter }))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct ShowQuery {
    /// True to include the secret fields.
    #[serde(default)]
    include_data: bool,
    /// The execution that uses the credential; the keychain of its playbook is searched too.
    #[param(value_type = Option<String>)]
    execution_id: Option<AnyId>,
    #[param(value_type = Option<String>)]
    parent_execution_id: Option<AnyId>,
}

/// Shows a credential by id or name; the secret fields only if requested.
#[utoipa::path(
    get, path = "/api/credentials/{identifier}", tag = "secrets",
    params(("identifier" = String, Path), ShowQuery),
    responses((status = 200, body = CredentialShown))
)]
async fn show_credential(
    State(state): State<AppState>,
    Extension(admitted): Extension<Admitted>,
    SentProof(proof): SentProof,
    sender: WorkerSender,
    InPath(identifier): InPath<String>,
    InQuery(query): InQuery<ShowQuery>,
) -> Result<Json<CredentialShown>, ApiError> {
    if !query.include_data {
        return Ok(Json(state.app().credential(&identifier).await?.into()));
    }
    let access = SecretAccess {
        worker: None,
        execution: query.execution_id.map(Into::into),
        parent_execution: query.parent_execution_id.map(Into::into),
    };
    let is_administrator = admitted.permits_everywhere(Permission::Administer);
    let reader = match access.execution {
        None if is_administrator => SecretReader::Administrator,
        Some(_) | None => SecretReader::Worker,
    };
    if let SecretReader::Worker = reader {
        check_holder(&state, &sender, access.execution, proof.as_ref()).await?;
    }
    let asked = (identifier.as_str(), SecretOperation::Read);
    let found = looked_up(&state, reader, asked, &access).await?;
    if let SecretReader::Worker = reader {
        check_keeps_hosts(&found, &access, proof.as_ref())?;
    }
    Ok(Json(found.into()))
}

/// The reader of a secret.
#[derive(Clone, Copy)]
enum SecretReader {
    Administrator,
    /// A worker, which gets what its playbook names.
    Worker,
}

/// Checks that a worker that asks for a secret holds a command of the execution. A subscription has
/// no commands, and is not served with the token of a worker.
async fn check_holder(
    state: &AppState,
    sender: &WorkerSender,
    execution: Option<ExecutionId>,
    proof: Option<&LeaseProof>,
) -> Result<(), ApiError> {
    let execution = execution.filter(|execution| execution.0 != 0);
    match (proof, execution) {
        (Some(proof), Some(execution)) if proof.held.execution == execution => {
            Ok(state.app().check_holder(proof).await?)
        }
        (Some(proof), Some(_) | None) => Err(LeaseRefusal::Wrong(proof.held).into()),
        (None, _) if sender.is_known() => Err(without_proof()),
        (None, None) => Ok(()),
        (None, Some(execution)) => match state.app().lease_verification() {
            LeaseVerification::Optional => Ok(()),
            LeaseVerification::Required if state.app().is_subscription(execution).await? => Ok(()),
            LeaseVerification::Required => Err(without_proof()),
        },
    }
}

/// Checks that a credential with hosts goes to a worker that sends it to no others: one that has the
/// secret of its lease, or one that fetches messages.
fn check_keeps_hosts(
    found: &FoundSecret,
    access: &SecretAccess,
    proof: Option<&LeaseProof>,
) -> Result<(), ApiError> {
    let is_of_subscription = access.execution.is_none_or(|execution| execution.0 == 0);
    if proof.is_some() || is_of_subscription || !found.has_hosts() {
        return Ok(());
    }
    let detail =
        "the credential may be sent to certain hosts only, which this worker does not know of";
    Err(ApiError::new(StatusCode::FORBIDDEN, "credential-not-permitted", detail))
}

/// Resolves a secret and records metrics of the lookup.
async fn looked_up(
    state: &AppState,
    reader: SecretReader,
    (alias, operation): (&str, SecretOperation),
    access: &SecretAccess,
) -> Result<FoundSecret, SecretError> {
    let begun = Instant::now();
    let secrets = state.app().secrets();
    let found = match reader {
        SecretReader::Administrator => secrets.find(alias, operation, access).await,
        SecretReader::Worker => {
            secrets.find_named(alias, operation, access).await.map(FoundSecret::with_hosts)
        }
    };
    let provider = match &found {
        Ok(FoundSecret::Stored { .. }) => "stored",
        Ok(FoundSecret::Keychain { .. }) => "keychain",
        Err(_) => "none",
    };
    state.meters().secret(provider, found.is_ok(), begun.elapsed());
    found
}

#[derive(Debug, Serialize, ToSchema)]
struct CredentialRemoved {
    message: String,
    id: String,
}

/// Deletes a credential.
#[utoipa::path(
    delete, path = "/api/credentials/{identifier}", tag = "secrets",
    params(("identifier" = String, Path)), responses((status = 200, body = CredentialRemoved))
)]
async fn remove_credential(
    State(state): State<AppState>,
    InPath(identifier): InPath<String>,
) -> Result<Json<CredentialRemoved>, ApiError> {
    let removed = state.app().remove_credential(&identifier).await?;
    let message = format!("the credential {} is gone", removed.name);
    Ok(Json(CredentialRemoved { message, id: removed.id.to_string() }))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct SealedQuery {
    /// The worker to encrypt for; it must have registered a public key.
    worker_id: String,
    #[param(value_type = Option<String>)]
    execution_id: Option<AnyId>,
    #[param(value_type = Option<String>)]
    parent_execution_id: Option<AnyId>,
}

/// Delivers a credential encrypted for one worker.
#[utoipa::path(
    get, path = "/api/credentials/{identifier}/sealed", tag = "secrets",
    params(("identifier" = String, Path), SealedQuery), responses((status = 200, body = Object))
)]
async fn deliver_credential(
    State(state): State<AppState>,
    SentProof(proof): SentProof,
    sender: WorkerSender,
    InPath(identifier): InPath<String>,
    InQuery(query): InQuery<SealedQuery>,
) -> Result<Json<SealedEnvelope>, ApiError> {
    sender.check_worker(&query.worker_id)?;
    let execution = query.execution_id.map(Into::into);
    check_holder(&state, &sender, execution, proof.as_ref()).await?;
    let public_key = state.app().worker_public_key(&query.worker_id).await?.ok_or_else(|| {
        let detail = format!("worker {} has registered no key", query.worker_id);
        ApiError::new(StatusCode::BAD_REQUEST, "no-worker-key", detail)
    })?;
    let access = SecretAccess {
        worker: Some(query.worker_id),
        execution,
        parent_execution: query.parent_execution_id.map(Into::into),
    };
    let asked = (identifier.as_str(), SecretOperation::ReadSealed);
    let found = looked_up(&state, SecretReader::Worker, asked, &access).await?;
    check_keeps_hosts(&found, &access, proof.as_ref())?;
    let plain = serde_json::to_vec(&CredentialShown::from(found)).expect("a credential is JSON");
    Ok(Json(seal_for(&public_key, &zeroize::Zeroizing::new(plain))?))
}

fn unknown(identifier: &str) -> ApiError {
    ApiError::not_found("unknown-credential", format!("there is no credential {identifier}"))
}

impl From<CredentialError> for ApiError {
    fn from(error: CredentialError) -> Self {
        let detail = error.to_string();
        match error {
            CredentialError::InvalidWord(_) => Self::invalid("credential-name", detail),
            CredentialError::InvalidTags => Self::invalid("credential-tags", detail),
            CredentialError::InvalidPolicy(_) => Self::invalid("credential-policy", detail),
            CredentialError::Unknown(name) => unknown(&name),
            CredentialError::Vault(error) => error.into(),
        }
    }
}

impl From<SecretError> for ApiError {
    fn from(error: SecretError) -> Self {
        match error {
            SecretError::Unknown(ref name) => unknown(name),
            SecretError::NotNamed(_) => {
                Self::new(StatusCode::FORBIDDEN, "credential-not-named", error.to_string())
            }
            SecretError::NotPermitted(ref name) => {
                Self::new(StatusCode::FORBIDDEN, "credential-not-permitted", error.to_string())
                    .with("credential", json!(name))
            }
            SecretError::Unsupported { .. } | SecretError::Entry { .. } => {
                Self::invalid("keychain-entry", error.to_string())
            }
            SecretError::Vault(error) => error.into(),
            SecretError::Load(error) => error.into(),
            SecretError::Payload(error) => error.into(),
        }
    }
}

impl From<DeliveryError> for ApiError {
    fn from(error: DeliveryError) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "worker-key", error.to_string())
    }
}
