//! The proof of a request that its sender holds a command.

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use noetl_api::{LEASE_HEADER, LeaseProof};
use noetl_app::{LeaseRefusal, LeaseVerification, UnnamedValueError};
use noetl_model::{Held, Permission};

use super::worker_sender::WorkerSender;
use crate::access::Admitted;
use crate::response::error::ApiError;
use crate::state::AppState;

/// The proof in the header `X-Noetl-Lease`, not yet verified. It names the worker of the sender's token.
pub(crate) struct SentProof(pub(crate) Option<LeaseProof>);

impl<S: Send + Sync> FromRequestParts<S> for SentProof {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let Some(header) = parts.headers.get(LEASE_HEADER) else { return Ok(Self(None)) };
        let text = header.to_str().unwrap_or_default();
        let parsed: Result<LeaseProof, noetl_api::BadLeaseProof> = text.parse();
        let proof = parsed.map_err(|error| {
            ApiError::new(StatusCode::FORBIDDEN, "lease-secret-invalid", error.to_string())
        })?;
        let Ok(sender) = WorkerSender::from_request_parts(parts, state).await;
        sender.check_worker(proof.worker.as_str())?;
        Ok(Self(Some(proof)))
    }
}

/// The sender of a request for a value: a worker that holds a command, or anybody who may read.
pub(crate) enum CommandHolderOrReader {
    Holder(Held),
    /// Somebody who may read, or a worker that cannot prove what it holds, where that is accepted.
    Reader,
}

impl CommandHolderOrReader {
    /// Checks that the command of a worker names a stored value.
    pub(crate) async fn check_named(
        &self,
        state: &AppState,
        reference: &str,
    ) -> Result<(), ApiError> {
        match self {
            Self::Holder(held) => Ok(state.app().check_value_named(*held, reference).await?),
            Self::Reader => Ok(()),
        }
    }
}

impl From<UnnamedValueError> for ApiError {
    fn from(error: UnnamedValueError) -> Self {
        let detail = error.to_string();
        match error {
            UnnamedValueError::NotNamed(_) => {
                Self::new(StatusCode::FORBIDDEN, "value-not-named", detail)
            }
            UnnamedValueError::Load(error) => error.into(),
            UnnamedValueError::Payload(error) => error.into(),
        }
    }
}

impl FromRequestParts<AppState> for CommandHolderOrReader {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        let SentProof(proof) = SentProof::from_request_parts(parts, state).await?;
        if let Some(proof) = proof {
            state.app().check_holder(&proof).await?;
            return Ok(Self::Holder(proof.held));
        }
        let admitted = parts.extensions.get::<Admitted>();
        let is_reader = admitted.is_some_and(|it| it.permits_anywhere(Permission::Read));
        let Ok(sender) = WorkerSender::from_request_parts(parts, state).await;
        match sender.lease_verification(state) {
            LeaseVerification::Required if !is_reader => Err(without_proof()),
            LeaseVerification::Required | LeaseVerification::Optional => Ok(Self::Reader),
        }
    }
}

/// Returns the refusal of a worker that sends no proof.
pub(crate) fn without_proof() -> ApiError {
    let detail = "workers have to prove that they hold a command, with the header `X-Noetl-Lease`";
    ApiError::new(StatusCode::FORBIDDEN, "lease-secret-missing", detail)
}

impl From<LeaseRefusal> for ApiError {
    fn from(refusal: LeaseRefusal) -> Self {
        let detail = refusal.to_string();
        match refusal {
            LeaseRefusal::Missing(_) => {
                Self::new(StatusCode::FORBIDDEN, "lease-secret-missing", detail)
            }
            LeaseRefusal::Unsupported => {
                Self::new(StatusCode::FORBIDDEN, "lease-secret-missing", detail)
            }
            LeaseRefusal::Wrong(_) => {
                Self::new(StatusCode::FORBIDDEN, "lease-secret-invalid", detail)
            }
            LeaseRefusal::NotHeld(_) => Self::conflict("lease-not-held", detail),
            LeaseRefusal::Load(error) => error.into(),
        }
    }
}
