//! Errors as problem documents (RFC 9457): complete for the client's mistakes, without details for
//! internal errors.
//!
//! Invariant: every error response is a problem document, also before a handler is reached;
//! internal causes are logged and never sent.

use std::any::Any;
use std::error::Error as StdError;
use std::num::NonZeroU16;
use std::time::Duration;

use axum::Json;
use axum::extract::rejection::{JsonRejection, PathRejection, QueryRejection};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use noetl_api::wire::Problem;
use noetl_app::{StoreError, WriteFault};
use noetl_control::{
    LoadError, PLAYBOOK_ARCHIVED, PayloadError, RegisterError, StartError, SubmitError,
};
use noetl_engine::Refusal;
use noetl_model::LogOrigin;
use noetl_playbook::{Diagnostic, Problems, Severity};
use noetl_secrets::VaultError;
use serde_json::{Map, Value, json};

use crate::request::body::is_late;

/// Default `Retry-After`, in seconds.
const RETRY_AFTER: NonZeroU16 = NonZeroU16::MIN;

/// `Retry-After` while the storage needs an operator.
const STORAGE_RETRY_AFTER: Duration = Duration::from_secs(10);

/// An error response.
#[derive(Debug)]
pub(crate) struct ApiError {
    status: StatusCode,
    code: &'static str,
    detail: String,
    more: Map<String, Value>,
    /// Value of `Retry-After`, in seconds.
    retry_after: Option<NonZeroU16>,
}

impl ApiError {
    pub(crate) fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Self {
        let retry_after = (status == StatusCode::SERVICE_UNAVAILABLE).then_some(RETRY_AFTER);
        Self { status, code, detail: detail.into(), more: Map::new(), retry_after }
    }

    /// Creates an error that a later retry can resolve.
    pub(crate) fn later(
        status: StatusCode,
        code: &'static str,
        detail: impl Into<String>,
        wait: Duration,
    ) -> Self {
        Self { retry_after: Some(whole_seconds(wait)), ..Self::new(status, code, detail) }
    }

    pub(crate) fn not_found(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, code, detail)
    }

    /// Creates an error for a request that is well-formed and not valid.
    pub(crate) fn invalid(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, code, detail)
    }

    pub(crate) fn conflict(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, code, detail)
    }

    /// Creates an error for a temporary failure; the cause is logged.
    pub(crate) fn unavailable(cause: &(dyn StdError + 'static)) -> Self {
        tracing::warn!(error = cause, "request refused for now; the client may retry");
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", "try again in a moment")
    }

    /// Converts an error of the store; the client receives only causes that are safe to show.
    fn of_store(error: &StoreError) -> Self {
        match error {
            StoreError::Unavailable(_) => Self::unavailable(error),
            StoreError::TimedOut { .. } | StoreError::OutOfReach { .. } => {
                tracing::warn!(
                    error = error as &(dyn StdError + 'static),
                    "request refused for now; the client may retry"
                );
                let detail = format!("{error}; try again in a moment");
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", detail)
            }
            StoreError::Unwritable { fault, .. } => {
                tracing::error!(
                    error = error as &(dyn StdError + 'static),
                    "cannot store a request"
                );
                let code = match fault {
                    WriteFault::Full => "storage-full",
                    WriteFault::ReadOnly => "storage-read-only",
                    WriteFault::Failing => "storage-failing",
                };
                let detail = format!("{error}; repeat the request once the operator has solved it");
                Self::later(StatusCode::INSUFFICIENT_STORAGE, code, detail, STORAGE_RETRY_AFTER)
            }
            StoreError::Corrupt { .. } => Self::internal(error),
        }
    }

    /// Creates an internal error; the cause is logged and not sent.
    pub(crate) fn internal(cause: &(dyn StdError + 'static)) -> Self {
        tracing::error!(error = cause, "request failed");
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal",
            "internal error; the log of the server has the details",
        )
    }

    #[must_use]
    pub(crate) fn with(mut self, name: &str, value: Value) -> Self {
        self.more.insert(name.to_owned(), value);
        self
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }

    pub(crate) fn code(&self) -> &'static str {
        self.code
    }

    pub(crate) fn detail(&self) -> &str {
        &self.detail
    }

    pub(crate) fn more(&self, name: &str) -> Option<&Value> {
        self.more.get(name)
    }

    /// Creates an error for an invalid playbook, with all diagnostics.
    pub(crate) fn of_problems(problems: &Problems) -> Self {
        Self::invalid("invalid-playbook", problems.headline())
            .with("errors", json!(texts_of(problems, Severity::Error)))
            .with("diagnostics", json!(problems))
    }
}

/// Returns the findings of a severity as texts, each with its place.
pub(crate) fn texts_of(problems: &Problems, severity: Severity) -> Vec<String> {
    let findings = problems.diagnostics().iter().filter(|it| it.severity == severity);
    let text = |it: &Diagnostic| {
        format!("line {}, column {}: {} ({})", it.line, it.column, it.message, it.code)
    };
    findings.map(text).collect()
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let problem = Problem {
            kind: format!("urn:noetl:problem:{}", self.code),
            title: self.status.canonical_reason().unwrap_or("Error").to_owned(),
            status: self.status.as_u16(),
            detail: self.detail.clone(),
            code: self.code.to_owned(),
            error: self.detail,
            more: self.more,
        };
        let mut response = (self.status, Json(problem)).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some(wait) = self.retry_after {
            headers.insert(header::RETRY_AFTER, wait.get().into());
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

/// Rounds up to whole seconds, so that a client that waits that long has waited long enough.
fn whole_seconds(wait: Duration) -> NonZeroU16 {
    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    let seconds = u16::try_from(seconds).unwrap_or(u16::MAX);
    NonZeroU16::new(seconds).unwrap_or(RETRY_AFTER)
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        Self::of_store(&error)
    }
}

impl From<VaultError> for ApiError {
    fn from(error: VaultError) -> Self {
        match error {
            VaultError::Store(error) => error.into(),
            VaultError::TooLarge => Self::invalid("secret-too-large", error.to_string()),
            VaultError::Contended(_) => Self::unavailable(&error),
            VaultError::Unreadable { .. } => {
                tracing::error!(
                    error = &error as &(dyn StdError + 'static),
                    "cannot decrypt a secret"
                );
                let detail = "this secret cannot be opened with the keys of this server; the \
                              operator finds the reason in its log";
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, "secret-unreadable", detail)
            }
        }
    }
}

impl From<LoadError> for ApiError {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::NotFound(_) => Self::not_found("unknown-execution", error.to_string()),
            LoadError::Deleted { execution, at } => {
                Self::new(StatusCode::GONE, "execution-deleted", error.to_string())
                    .with("execution_id", json!(execution.to_string()))
                    .with("deleted_at", json!(at.to_string()))
            }
            LoadError::NotNative { origin, .. } => {
                let code = match origin {
                    LogOrigin::Native => "unknown-execution",
                    LogOrigin::Imported => "imported-execution",
                    LogOrigin::Subscription => "subscription-execution",
                };
                Self::conflict(code, error.to_string())
            }
            LoadError::Unavailable(source) => Self::of_store(&source),
            LoadError::Rewound { .. } => Self::conflict("log-rewound", error.to_string()),
            LoadError::Corrupt { .. } => Self::internal(&error),
        }
    }
}

impl From<SubmitError> for ApiError {
    fn from(error: SubmitError) -> Self {
        match error {
            SubmitError::Load(error) => error.into(),
            SubmitError::Busy(_) | SubmitError::Contended(_) | SubmitError::Stopped => {
                Self::unavailable(&error)
            }
        }
    }
}

impl From<StartError> for ApiError {
    fn from(error: StartError) -> Self {
        match error {
            StartError::UnknownPlaybook(_) => {
                Self::not_found("unknown-playbook", error.to_string())
            }
            StartError::ArchivedPlaybook(ref path) => {
                Self::conflict(PLAYBOOK_ARCHIVED, error.to_string()).with("path", json!(path))
            }
            StartError::AmbiguousName(ref names) => {
                Self::conflict("ambiguous-name", error.to_string())
                    .with("candidates", json!(names.paths))
            }
            StartError::ParentCancelled(_) => Self::conflict("parent-cancelled", error.to_string()),
            StartError::TooDeep { .. } => Self::invalid("too-deep", error.to_string()),
            StartError::InvalidInputs(ref problems) => {
                Self::invalid("invalid-inputs", error.to_string()).with("problems", json!(problems))
            }
            StartError::PayloadTooLarge | StartError::PayloadTooNested => {
                Self::invalid("payload-too-large", error.to_string())
            }
            StartError::CredentialNotPermitted(ref name) => {
                let detail = error.to_string();
                Self::new(StatusCode::FORBIDDEN, "credential-not-permitted", detail)
                    .with("credential", json!(name))
            }
            StartError::KeyTaken(holder) => Self::conflict("key-taken", error.to_string())
                .with("execution_id", json!(holder.execution.to_string())),
            StartError::Refused(refusal) => refusal.into(),
            StartError::BacklogFull(ref full) => {
                let (status, wait) = (StatusCode::TOO_MANY_REQUESTS, full.retry_after);
                Self::later(status, "backlog-full", error.to_string(), wait)
                    .with("pool", json!(full.pool.as_str()))
                    .with("waiting", json!(full.waiting))
                    .with("limit", json!(full.limit))
            }
            StartError::Submit(error) => error.into(),
        }
    }
}

impl From<RegisterError> for ApiError {
    fn from(error: RegisterError) -> Self {
        match error {
            RegisterError::SecretPayload { .. } => {
                Self::invalid("secret-in-schedule", error.to_string())
            }
            RegisterError::Invalid(problems) => Self::of_problems(&problems),
            RegisterError::Subscription(error) => error.into(),
            RegisterError::Schedule(error) => error.into(),
            RegisterError::Store(error) => error.into(),
        }
    }
}

impl From<PayloadError> for ApiError {
    fn from(error: PayloadError) -> Self {
        match error {
            PayloadError::Missing(_) => Self::not_found("unknown-payload", error.to_string()),
            PayloadError::Unavailable(source) => Self::of_store(&source),
            PayloadError::Damaged(_) => Self::internal(&error),
        }
    }
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        let detail = refusal.to_string();
        match refusal {
            Refusal::Finished(_) => Self::conflict("execution-ended", detail),
            Refusal::CommandFinished(_) => Self::conflict("command-ended", detail),
            Refusal::Superseded { .. } => Self::conflict("superseded", detail),
            Refusal::AlreadyClaimed(_) => Self::conflict("already-claimed", detail),
            Refusal::Blocked(_) => Self::conflict("paused", detail),
            Refusal::SlotNotAwaited(_) => Self::conflict("slot-not-awaited", detail),
            Refusal::NotAwaited(_) | Refusal::NothingAwaited(_) => {
                Self::conflict("no-callback-awaited", detail)
            }
            Refusal::SignalKeyReused(_) => Self::conflict("key-reused", detail),
            Refusal::TooManySignals(_) => Self::conflict("too-many-signals", detail),
            Refusal::SignalNotAwaited(_) => Self::conflict("signal-not-awaited", detail),
            Refusal::NoApproval(_) => Self::not_found("unknown-approval", detail),
            Refusal::AlreadyDecided(_) => Self::conflict("already-decided", detail),
            Refusal::NotAnApprover { .. } => {
                Self::new(StatusCode::FORBIDDEN, "not-an-approver", detail)
            }
            Refusal::UnfitDecision(problems) => {
                let problems: Vec<Value> = problems
                    .iter()
                    .map(|it| json!({ "field": it.field, "message": it.message }))
                    .collect();
                Self::invalid("invalid-decision", detail).with("problems", json!(problems))
            }
            Refusal::JobEnded(_) => Self::conflict("job-ended", detail),
            Refusal::UnknownCommand(_) => Self::not_found("unknown-command", detail),
            Refusal::UnknownTimer(_) => Self::not_found("unknown-timer", detail),
            Refusal::NotDue(_) => Self::conflict("timer-not-due", detail),
            Refusal::NotAnEnd(_) => Self::invalid("not-an-end", detail),
            Refusal::Labels(_) => Self::invalid("invalid-label", detail),
        }
    }
}

impl From<JsonRejection> for ApiError {
    fn from(rejection: JsonRejection) -> Self {
        if is_late(&rejection) {
            let detail = "the body took too long to arrive";
            return Self::new(StatusCode::REQUEST_TIMEOUT, "body-too-slow", detail);
        }
        let code = match &rejection {
            JsonRejection::JsonDataError(_) => "invalid-body",
            JsonRejection::JsonSyntaxError(_) => "not-json",
            JsonRejection::MissingJsonContentType(_) => "content-type",
            _ if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE => "body-too-large",
            _ => "unreadable-body",
        };
        Self::new(rejection.status(), code, rejection.body_text())
    }
}

impl From<PathRejection> for ApiError {
    fn from(rejection: PathRejection) -> Self {
        Self::new(rejection.status(), "invalid-path", rejection.body_text())
    }
}

impl From<QueryRejection> for ApiError {
    fn from(rejection: QueryRejection) -> Self {
        Self::new(rejection.status(), "invalid-query", rejection.body_text())
    }
}

/// Answers a path without a route.
pub(crate) async fn unknown_path() -> ApiError {
    ApiError::not_found("unknown-path", "there is nothing at this path")
}

/// Answers a method that the path's route does not have.
pub(crate) async fn wrong_method() -> ApiError {
    ApiError::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "wrong-method",
        "this path does not answer to this method",
    )
}

/// Answers after a panic in a handler; the panic hook has logged the panic.
pub(crate) fn panicked(_panic: Box<dyn Any + Send + 'static>) -> Response {
    ApiError::internal(&Panicked).into_response()
}

#[derive(Debug, thiserror::Error)]
#[error("a handler panicked")]
struct Panicked;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_panic_of_a_handler_is_not_shown_to_the_client() {
        let response = panicked(Box::new("a secret"));
        assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(response.headers()[header::CONTENT_TYPE], "application/problem+json");
    }

    #[test]
    fn a_disk_that_is_full_is_named() {
        let (place, fault) = ("the database".to_owned(), WriteFault::Full);
        let source = "could not extend file base/1/2: No space left".into();
        let error = Arc::new(StoreError::Unwritable { place, fault, source });
        let error = ApiError::from(StartError::from(LoadError::Unavailable(error)));
        assert_eq!((error.status.as_u16(), error.code), (507, "storage-full"));
        assert_eq!(
            error.detail,
            "the database cannot be written: the disk is full; repeat the request once the operator \
             has solved it"
        );
        assert!(error.retry_after.is_some());
    }

    #[test]
    fn a_store_that_does_not_answer_in_time_is_asked_again_later() {
        let error = ApiError::from(StoreError::TimedOut { deadline: Duration::from_secs(10) });
        assert_eq!((error.status.as_u16(), error.code), (503, "unavailable"));
        assert!(error.retry_after.is_some());
        assert!(error.detail.contains("10 s"), "{}", error.detail);
    }

    #[test]
    fn internal_errors_are_not_shown_to_clients() {
        let error = StoreError::Unavailable("SELECT secret FROM somewhere".into());
        let error = ApiError::from(error);
        assert_eq!((error.status.as_u16(), error.code), (503, "unavailable"));
        assert!(!error.detail.contains("SELECT"), "{}", error.detail);
    }
}
