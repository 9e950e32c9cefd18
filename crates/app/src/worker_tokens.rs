//! Short-lived tokens of workers: claims with a code, which every server with the same key verifies.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use noetl_model::{Digest, Pool, Timestamp, WorkerId};
use serde::{Deserialize, Serialize};

use crate::app::App;

/// The prefix of a token of a worker.
pub const WORKER_TOKEN_MARK: &str = "noetlw_";
/// The validity of a token of a worker.
pub const WORKER_TOKEN_VALID: Duration = Duration::from_secs(15 * 60);
/// The purpose of the key of the codes.
pub(crate) const PURPOSE: &str = "noetl worker tokens v1";
/// The maximum length of a token, in bytes.
const TOKEN_MAX: usize = 4096;

/// The facts that a token of a worker states.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerClaims {
    pub worker: WorkerId,
    pub pool: Pool,
    /// The digest of the token that the worker has enrolled with; the worker's token is refused once
    /// that one is.
    pub enrolment: Digest,
    pub expires_at: Timestamp,
}

impl App {
    /// Returns a token for a worker that has enrolled with another token, and its claims.
    pub fn issue_worker_token(
        &self,
        worker: WorkerId,
        pool: Pool,
        enrolment: Digest,
    ) -> (String, WorkerClaims) {
        let expires_at = self.now().after(WORKER_TOKEN_VALID);
        let claims = WorkerClaims { worker, pool, enrolment, expires_at };
        let said = serde_json::to_vec(&claims).expect("claims are JSON");
        let code = self.worker_token_codes().code(&[&said]);
        let [said, code] = [said, code].map(|part| URL_SAFE_NO_PAD.encode(part));
        (format!("{WORKER_TOKEN_MARK}{said}.{code}"), claims)
    }

    /// Returns the claims of a token that this server or another one with its key has issued; `None`
    /// for any other text, and for a token that has expired.
    pub fn worker_claims(&self, token: &str) -> Option<WorkerClaims> {
        if token.len() > TOKEN_MAX {
            return None;
        }
        let (said, code) = token.strip_prefix(WORKER_TOKEN_MARK)?.split_once('.')?;
        let said = URL_SAFE_NO_PAD.decode(said).ok()?;
        let code = URL_SAFE_NO_PAD.decode(code).ok()?;
        if !self.worker_token_codes().is_valid(&[&said], &code) {
            return None;
        }
        let claims: WorkerClaims = serde_json::from_slice(&said).ok()?;
        (self.now() < claims.expires_at).then_some(claims)
    }
}
