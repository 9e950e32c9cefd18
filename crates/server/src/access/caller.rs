//! The sender of a request, as its token identifies it, and what it may do.

use std::sync::Arc;

use noetl_app::{StoredToken, TokensUnavailable, WorkerClaims};
use noetl_model::{Actor, Digest, PathPattern, Permission, PermittedPaths};
use noetl_web::RestrictedToken;

use super::Authentication;
use crate::state::AppState;
use crate::tokens::Token;

/// A token that the server knows.
#[derive(Debug, Clone)]
pub(crate) enum KnownToken {
    /// A token of the settings, with scopes for all paths.
    Settings(Token),
    Stored(Arc<StoredToken>),
    /// A short-lived token of a worker.
    Worker(Arc<EnrolledWorker>),
}

/// A worker, and the token that it has enrolled with.
#[derive(Debug)]
pub(crate) struct EnrolledWorker {
    pub(crate) claims: WorkerClaims,
    enrolment: KnownToken,
}

impl KnownToken {
    pub(crate) fn name(&self) -> Option<&Actor> {
        match self {
            KnownToken::Settings(token) => token.name(),
            KnownToken::Stored(token) => Some(&token.name),
            KnownToken::Worker(worker) => worker.enrolment.name(),
        }
    }

    /// Returns the paths for which the token has one of the needed permissions.
    pub(crate) fn paths(&self, needed: &[Permission]) -> PermittedPaths {
        let of = |permission: Permission| match self {
            KnownToken::Settings(token) if token.includes(permission) => PermittedPaths::All,
            KnownToken::Settings(_) => PermittedPaths::None,
            KnownToken::Stored(token) => PermittedPaths::of(&token.grants, permission),
            KnownToken::Worker(worker) if permission == Permission::Work => {
                worker.enrolment.paths(&[Permission::Work])
            }
            KnownToken::Worker(_) => PermittedPaths::None,
        };
        needed.iter().fold(PermittedPaths::None, |paths, it| paths.or(of(*it)))
    }

    /// Returns the roles of a token with roles for some paths and none for all. A token of a worker has
    /// no roles.
    pub(crate) fn restricted(&self) -> Option<RestrictedToken> {
        match self {
            KnownToken::Settings(_) | KnownToken::Worker(_) => None,
            KnownToken::Stored(token) => {
                let is_restricted = token.grants.iter().all(|it| it.paths != PathPattern::All);
                is_restricted.then(|| RestrictedToken {
                    name: token.name.clone(),
                    grants: token.grants.clone(),
                })
            }
        }
    }

    /// Returns the digest under which a worker enrols with the token; `None` for a token of a worker.
    pub(crate) fn enrolment(&self) -> Option<Digest> {
        match self {
            KnownToken::Settings(token) => Some(*token.digest()),
            KnownToken::Stored(token) => Some(token.digest),
            KnownToken::Worker(_) => None,
        }
    }

    /// True if the token has a permission for all paths.
    pub(crate) fn permits_everywhere(&self, permission: Permission) -> bool {
        self.paths(&[permission]) == PermittedPaths::All
    }
}

/// Returns the token whose secret has a digest, if the server knows it.
pub(crate) async fn known_token(
    state: &AppState,
    given: &Digest,
) -> Result<Option<KnownToken>, TokensUnavailable> {
    // All tokens of the settings are compared, so that the duration does not reveal a near match.
    let known = settings_tokens(state)
        .fold(None, |known, token| if token.is(given) { Some(token) } else { known });
    if let Some(token) = known {
        return Ok(Some(KnownToken::Settings(token.clone())));
    }
    Ok(state.app().token_of(given).await?.map(KnownToken::Stored))
}

/// Returns the token of a worker, if the server has issued it and still knows the token that the worker
/// has enrolled with.
pub(super) async fn worker_token(
    state: &AppState,
    token: &str,
) -> Result<Option<KnownToken>, TokensUnavailable> {
    match state.app().worker_claims(token) {
        Some(claims) => with_enrolment(state, claims).await,
        None => Ok(None),
    }
}

async fn with_enrolment(
    state: &AppState,
    claims: WorkerClaims,
) -> Result<Option<KnownToken>, TokensUnavailable> {
    let enrolment = known_token(state, &claims.enrolment).await?;
    Ok(enrolment
        .map(|enrolment| KnownToken::Worker(Arc::new(EnrolledWorker { claims, enrolment }))))
}

/// Returns a token as it is now, if the server still knows it.
pub(super) async fn known_still(
    state: &AppState,
    token: &KnownToken,
) -> Result<Option<KnownToken>, TokensUnavailable> {
    match token {
        KnownToken::Settings(token) => known_token(state, token.digest()).await,
        KnownToken::Stored(token) => known_token(state, &token.digest).await,
        KnownToken::Worker(worker) if worker.claims.expires_at <= state.now() => Ok(None),
        KnownToken::Worker(worker) => with_enrolment(state, worker.claims.clone()).await,
    }
}

/// Returns the tokens of the settings; those of an open server only count for internal routes.
pub(super) fn settings_tokens(state: &AppState) -> impl Iterator<Item = &Token> {
    let settings = state.settings();
    let tokens = match &settings.access {
        Authentication::Open => &[][..],
        Authentication::Tokens(tokens) => &tokens[..],
    };
    tokens.iter().chain(&settings.internal)
}
