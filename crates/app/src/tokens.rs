//! Stored tokens: creating, listing and revoking them, and the table by which a server knows the
//! senders of requests.
//!
//! Invariants: a secret is returned once and never stored; a revoked token is refused at once by the
//! server that revoked it and within [`TABLE_USED_MAX`] and [`READ_MAX`] by all others, also while
//! the database cannot be reached.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use noetl_api::wire::TokenView;
use noetl_model::{Actor, Digest, GRANTS_MAX, RoleGrant, Timestamp};
use noetl_store::{PAGE_MAX, Records, StoreError, StoredToken};
use tokio::time::timeout;

use crate::app::App;
use crate::refreshed::Refreshed;

/// The maximum number of tokens that are stored.
const TOKENS_MAX: usize = 10_000;
/// The maximum length of an owner, in bytes.
const OWNER_MAX: usize = 200;
/// The number of random bytes of a secret.
const SECRET_BYTES: usize = 32;
/// The prefix of a secret, by which scanners of source code find it.
const SECRET_MARK: &str = "noetl_";
/// The age of the table from which it is read again, while requests use it.
const TABLE_AGE_MAX: Duration = Duration::from_secs(2);
/// The age of the table from which requests wait until it is read again.
const TABLE_USED_MAX: Duration = Duration::from_secs(5);
/// The maximum duration of reading the table, and of a request's wait for it.
const READ_MAX: Duration = Duration::from_secs(3);
/// The maximum number of waits of a request; the table is discarded when a token changes.
const WAITS_MAX: usize = 3;
/// The step in which last uses are recorded.
const USE_STEP_MICROS: i64 = 60_000_000;

/// The token to be created.
#[derive(Debug, Clone)]
pub struct NewToken {
    pub name: Actor,
    pub owner: Option<String>,
    pub grants: Vec<RoleGrant>,
    pub expires_at: Option<Timestamp>,
    pub created_by: Option<Actor>,
}

/// A created token with its secret, which is not stored.
pub struct IssuedToken {
    pub token: StoredToken,
    pub secret: String,
}

/// The reason why an operation on a token fails.
#[derive(Debug, thiserror::Error)]
pub enum StoredTokenError {
    #[error("there is a token `{0}`; revoke it first, or choose another name")]
    NameTaken(Actor),
    #[error("a token has 1 to {GRANTS_MAX} roles")]
    Roles,
    #[error("the owner of a token has 1 to {OWNER_MAX} bytes without control characters")]
    Owner,
    #[error("the token would have expired at {0}; give a time in the future")]
    Expired(Timestamp),
    #[error("there are {TOKENS_MAX} tokens; revoke those that are not used any more")]
    TooMany,
    #[error("there is no token `{0}`")]
    Unknown(String),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The error of looking up a token while the stored tokens cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the stored tokens cannot be read")]
pub struct TokensUnavailable;

/// The stored tokens as last read, by digest.
type TokenTable = HashMap<Digest, Arc<StoredToken>>;

/// The stored tokens as far as this process knows them.
#[derive(Debug, Default)]
pub(crate) struct KnownTokens {
    table: Arc<Refreshed<Arc<TokenTable>>>,
    /// The last uses that this process has recorded, by token.
    used: Mutex<BTreeMap<i64, Timestamp>>,
}

impl App {
    /// Creates a token and returns its secret.
    pub async fn create_token(&self, new: NewToken) -> Result<IssuedToken, StoredTokenError> {
        let NewToken { name, owner, mut grants, expires_at, created_by } = new;
        grants.sort();
        grants.dedup();
        if grants.is_empty() || grants.len() > GRANTS_MAX {
            return Err(StoredTokenError::Roles);
        }
        let owner = owner.map(|owner| owner.trim().to_owned());
        let is_valid = |owner: &String| {
            (1..=OWNER_MAX).contains(&owner.len()) && !owner.chars().any(char::is_control)
        };
        if !owner.as_ref().is_none_or(is_valid) {
            return Err(StoredTokenError::Owner);
        }
        let now = self.now();
        if let Some(at) = expires_at.filter(|at| *at <= now) {
            return Err(StoredTokenError::Expired(at));
        }
        if all_tokens(self.records()).await?.len() >= TOKENS_MAX {
            return Err(StoredTokenError::TooMany);
        }
        let secret = new_secret();
        let token = StoredToken {
            id: self.next_id(),
            name,
            owner,
            digest: Digest::of(secret.as_bytes()),
            grants,
            created_by,
            created_at: now,
            expires_at,
            used_at: None,
        };
        if !self.records().add_token(&token).await? {
            return Err(StoredTokenError::NameTaken(token.name));
        }
        self.known_tokens().table.discard();
        Ok(IssuedToken { token, secret })
    }

    /// Lists the tokens whose name follows `after`, by name.
    pub async fn list_tokens(
        &self,
        after: &str,
        limit: usize,
    ) -> Result<Vec<StoredToken>, StoreError> {
        self.records().tokens(after, limit.clamp(1, PAGE_MAX)).await
    }

    /// Converts a token for clients.
    pub fn token_view(&self, token: &StoredToken) -> TokenView {
        TokenView {
            name: token.name.to_string(),
            owner: token.owner.clone(),
            roles: token.grants.iter().map(RoleGrant::to_string).collect(),
            created_by: token.created_by.as_ref().map(Actor::to_string),
            created_at: token.created_at.to_string(),
            expires_at: token.expires_at.map(|at| at.to_string()),
            is_expired: token.expires_at.is_some_and(|at| at <= self.now()),
            used_at: token.used_at.map(|at| at.to_string()),
        }
    }

    /// Revokes a token: requests with it are refused from now on.
    pub async fn revoke_token(&self, name: &str) -> Result<(), StoredTokenError> {
        let is_removed = self.records().remove_token(name).await;
        // The token may be removed although the answer of the database was lost.
        self.known_tokens().table.discard();
        match is_removed? {
            true => Ok(()),
            false => Err(StoredTokenError::Unknown(name.to_owned())),
        }
    }

    /// Returns the token whose secret has a digest, unless it has expired.
    ///
    /// The table is indexed by digests, which a sender cannot choose, so the duration of the lookup
    /// reveals nothing about the secrets.
    pub async fn token_of(
        &self,
        given: &Digest,
    ) -> Result<Option<Arc<StoredToken>>, TokensUnavailable> {
        let table = self.token_table().await?;
        let now = self.now();
        let found = table.get(given).filter(|it| it.expires_at.is_none_or(|at| now < at));
        Ok(found.cloned())
    }

    /// Records the use of a token, in the background and once per minute.
    pub fn note_token_use(&self, token: &StoredToken) {
        let now = self.now().as_micros();
        let minute = Timestamp::from_micros(now - now.rem_euclid(USE_STEP_MICROS));
        if token.used_at >= Some(minute) {
            return;
        }
        {
            let used = &self.known_tokens().used;
            let mut used = used.lock().unwrap_or_else(PoisonError::into_inner);
            if used.insert(token.id, minute) >= Some(minute) {
                return;
            }
            // Tokens that were revoked leave no trace.
            used.retain(|_, at| *at == minute);
        }
        let (records, id) = (self.shared_records().clone(), token.id);
        drop(tokio::spawn(async move {
            if let Err(error) = records.touch_token(id, minute).await {
                let error: &dyn std::error::Error = &error;
                tracing::debug!(error, "cannot record the use of a token");
            }
        }));
    }

    async fn token_table(&self) -> Result<Arc<TokenTable>, TokensUnavailable> {
        let table = &self.known_tokens().table;
        let waits = std::iter::once(Duration::ZERO).chain([READ_MAX; WAITS_MAX]);
        for wait in waits {
            let records = self.shared_records().clone();
            let known = table.get(TABLE_AGE_MAX, wait, read_table(records)).await;
            if let Some(known) = known.filter(|it| it.at.elapsed() <= TABLE_USED_MAX) {
                return Ok(known.value);
            }
        }
        Err(TokensUnavailable)
    }
}

async fn read_table(records: Arc<dyn Records>) -> Option<Arc<TokenTable>> {
    let tokens = match timeout(READ_MAX, all_tokens(&*records)).await {
        Ok(Ok(tokens)) => tokens,
        Ok(Err(error)) => {
            let error: &dyn std::error::Error = &error;
            tracing::warn!(error, "cannot read the stored tokens; will retry");
            return None;
        }
        Err(_) => {
            tracing::warn!("the stored tokens were not read in time; will retry");
            return None;
        }
    };
    let by_digest = tokens.into_iter().map(|token| (token.digest, Arc::new(token)));
    Some(Arc::new(by_digest.collect()))
}

/// Reads all tokens, which are bounded by the check in [`App::create_token`].
async fn all_tokens(records: &dyn Records) -> Result<Vec<StoredToken>, StoreError> {
    let mut tokens: Vec<StoredToken> = Vec::new();
    loop {
        let after = tokens.last().map_or("", |token| token.name.as_str());
        let page = records.tokens(after, PAGE_MAX).await?;
        let is_last = page.len() < PAGE_MAX;
        tokens.extend(page);
        if is_last {
            return Ok(tokens);
        }
    }
}

fn new_secret() -> String {
    let mut bytes = [0; SECRET_BYTES];
    getrandom::fill(&mut bytes).expect("the system has randomness");
    format!("{SECRET_MARK}{}", URL_SAFE_NO_PAD.encode(bytes))
}
