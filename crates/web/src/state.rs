//! The parts that all pages share.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use noetl_app::App;
use noetl_model::{Digest, Timestamp};
use tokio_util::sync::CancellationToken;

use crate::session::{EndedSessions, SessionKey};

/// The reason why a login fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoginError {
    UnknownToken,
    /// The stored tokens cannot be read.
    Unavailable,
    /// Too many logins from this address have failed; try again after this time.
    TooMany(Duration),
}

/// Checks the token of a login.
#[async_trait]
pub trait LoginGate: Send + Sync {
    /// Returns the digest of a token that the server knows.
    async fn log_in(&self, token: &str, address: IpAddr) -> Result<Digest, LoginError>;
}

/// The identification that pages ask for.
#[derive(Clone)]
pub enum SignIn {
    /// None: anyone who can reach the server may use the pages.
    Open,
    Token(Arc<dyn LoginGate>),
}

/// The protection of the connection; cookies of an encrypted one are never sent in the clear.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    Plain,
    Encrypted,
}

/// The parts that all pages share. Cheap to clone.
#[derive(Clone)]
pub struct WebState {
    pub app: App,
    pub sign_in: SignIn,
    pub wire: Wire,
    pub key: SessionKey,
    pub ended: EndedSessions,
    /// Cancelled when the server stops: live pages end.
    pub stopping: CancellationToken,
}

impl WebState {
    pub(crate) fn now(&self) -> Timestamp {
        self.app.now()
    }
}
