//! The worker that sends a request, if its token is that of a worker.

use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use noetl_app::LeaseVerification;
use noetl_model::Pool;

use crate::access::{Admitted, EnrolledWorker, KnownToken};
use crate::response::error::ApiError;
use crate::state::AppState;

/// The sender of a request, as far as its token says which worker it is.
pub(crate) struct WorkerSender(Option<Arc<EnrolledWorker>>);

impl<S: Send + Sync> FromRequestParts<S> for WorkerSender {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        let admitted = parts.extensions.get::<Admitted>();
        Ok(Self(match admitted.and_then(|admitted| admitted.token.as_ref()) {
            Some(KnownToken::Worker(worker)) => Some(worker.clone()),
            Some(KnownToken::Settings(_) | KnownToken::Stored(_)) | None => None,
        }))
    }
}

impl WorkerSender {
    /// True if the token says which worker the sender is.
    pub(crate) fn is_known(&self) -> bool {
        self.0.is_some()
    }

    /// Returns the requirement of secrets of leases. Every worker with a token of its own has them.
    pub(crate) fn lease_verification(&self, state: &AppState) -> LeaseVerification {
        match self.is_known() {
            true => LeaseVerification::Required,
            false => state.app().lease_verification(),
        }
    }

    /// Checks that the sender is the worker that a request names.
    pub(crate) fn check_worker(&self, worker: &str) -> Result<(), ApiError> {
        match &self.0 {
            Some(sender) if sender.claims.worker.as_str() != worker => {
                let own = &sender.claims.worker;
                Err(refused(format!("this token is that of worker {own}, not of {worker}")))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Checks that the sender is in the pool that a request names.
    pub(crate) fn check_pool(&self, pool: &Pool) -> Result<(), ApiError> {
        match &self.0 {
            Some(sender) if sender.claims.pool != *pool => {
                let own = &sender.claims.pool;
                Err(refused(format!("this token is for pool {own}, not for {pool}")))
            }
            Some(_) | None => Ok(()),
        }
    }
}

fn refused(detail: String) -> ApiError {
    ApiError::new(StatusCode::FORBIDDEN, "not-this-worker", detail)
}
