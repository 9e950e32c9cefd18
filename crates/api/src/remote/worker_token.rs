//! The token with which a worker sends requests: its own, which it renews, else the configured one.
//!
//! Invariants: one request at a time asks for a token; while it does, others send the token that is
//! still valid; a server that gives none is not asked again for a while.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use noetl_model::{Pool, WorkerId};
use reqwest::StatusCode;
use tokio::time::Instant;
use url::Url;

use crate::wire::{WorkerTokenCall, WorkerTokenReply};

/// Time allowed for an answer.
const ANSWER_WAIT: Duration = Duration::from_secs(10);
/// Pause before a server that gives no tokens to workers is asked again.
const ASK_AGAIN: Duration = Duration::from_secs(60);
/// Pause before a server that did not answer is asked again.
const ASK_AGAIN_SOON: Duration = Duration::from_secs(5);

/// The tokens of a worker.
pub(super) struct WorkerToken {
    /// The configured token, with which the worker enrols.
    enrolment: Option<String>,
    worker: Mutex<Option<WorkerTokenCall>>,
    own: tokio::sync::Mutex<OwnToken>,
}

#[derive(Default)]
struct OwnToken {
    token: Option<String>,
    /// The time from which the server is asked for another token.
    ask_at: Option<Instant>,
}

impl WorkerToken {
    pub(super) fn new(enrolment: Option<String>) -> Self {
        Self { enrolment, worker: Mutex::default(), own: tokio::sync::Mutex::default() }
    }

    /// Sets the worker that sends the requests; only the first call has an effect.
    pub(super) fn set_worker(&self, worker: &WorkerId, pool: &Pool) {
        let mut known = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
        known.get_or_insert_with(|| WorkerTokenCall { worker: worker.clone(), pool: pool.clone() });
    }

    /// Returns the token to send, renewed once half of its time has passed. The configured token is
    /// sent by a client that is not a worker, and to a server that gives no tokens to workers.
    pub(super) async fn get(&self, http: &reqwest::Client, base: &Url) -> Option<String> {
        let enrolment = self.enrolment.as_deref()?;
        let call = self.worker.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(call) = call else { return Some(enrolment.to_owned()) };
        let mut own = self.own.lock().await;
        if own.ask_at.is_none_or(|at| at <= Instant::now()) {
            own.ask_at = Some(Instant::now() + ASK_AGAIN_SOON);
            if own.token.is_some() {
                drop(own);
                let answer = asked(http, base, enrolment, &call).await;
                own = self.own.lock().await;
                own.apply(answer);
            } else {
                // Without a token the other requests wait for this one.
                own.apply(asked(http, base, enrolment, &call).await);
            }
        }
        Some(own.token.as_deref().unwrap_or(enrolment).to_owned())
    }

    /// Discards a token that the server has refused; true if another one can be tried.
    pub(super) async fn refused(&self, token: &str) -> bool {
        let mut own = self.own.lock().await;
        if own.token.as_deref() == Some(token) {
            *own = OwnToken::default();
        }
        self.enrolment.as_deref() != Some(token)
    }
}

impl OwnToken {
    fn apply(&mut self, answer: Result<WorkerTokenReply, NotGiven>) {
        let now = Instant::now();
        match answer {
            Ok(reply) => {
                let valid = Duration::from_secs(reply.expires_in_seconds);
                *self = Self { token: Some(reply.token), ask_at: Some(now + valid / 2) };
            }
            Err(NotGiven::Never) => *self = Self { token: None, ask_at: Some(now + ASK_AGAIN) },
            // The last token is valid for a while.
            Err(NotGiven::Now) => self.ask_at = Some(now + ASK_AGAIN_SOON),
        }
    }
}

/// The reason why a server gives no token.
enum NotGiven {
    /// The server does not know such tokens, or refuses this worker.
    Never,
    /// The server cannot be reached, or is overloaded.
    Now,
}

async fn asked(
    http: &reqwest::Client,
    base: &Url,
    enrolment: &str,
    call: &WorkerTokenCall,
) -> Result<WorkerTokenReply, NotGiven> {
    let url = base.join("api/worker/token").map_err(|_| NotGiven::Never)?;
    let request = http.post(url).bearer_auth(enrolment).json(call).timeout(ANSWER_WAIT);
    let response = request.send().await.map_err(|_| NotGiven::Now)?;
    let status = response.status();
    if status.is_success() {
        return response.json().await.map_err(|_| NotGiven::Now);
    }
    if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
        return Err(NotGiven::Now);
    }
    tracing::debug!(%status, "the server gives workers no tokens of their own");
    Err(NotGiven::Never)
}
