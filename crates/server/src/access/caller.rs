//! The sender of a request, as its token identifies it, and what it may do.

use std::sync::Arc;

use noetl_app::{StoredToken, TokensUnavailable};
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
}

impl KnownToken {
    pub(crate) fn name(&self) -> Option<&Actor> {
        match self {
            KnownToken::Settings(token) => token.name(),
            KnownToken::Stored(token) => Some(&token.name),
        }
    }

    pub(crate) fn digest(&self) -> &Digest {
        match self {
            KnownToken::Settings(token) => token.digest(),
            KnownToken::Stored(token) => &token.digest,
        }
    }

    /// Returns the paths for which the token has one of the needed permissions.
    pub(crate) fn paths(&self, needed: &[Permission]) -> PermittedPaths {
        let of = |permission: Permission| match self {
            KnownToken::Settings(token) if token.includes(permission) => PermittedPaths::All,
            KnownToken::Settings(_) => PermittedPaths::None,
            KnownToken::Stored(token) => PermittedPaths::of(&token.grants, permission),
        };
        needed.iter().fold(PermittedPaths::None, |paths, it| paths.or(of(*it)))
    }

    /// Returns the roles of a token with roles for some paths and none for all.
    pub(crate) fn restricted(&self) -> Option<RestrictedToken> {
        match self {
            KnownToken::Settings(_) => None,
            KnownToken::Stored(token) => {
                let is_restricted = token.grants.iter().all(|it| it.paths != PathPattern::All);
                is_restricted.then(|| RestrictedToken {
                    name: token.name.clone(),
                    grants: token.grants.clone(),
                })
            }
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

/// Returns the tokens of the settings; those of an open server only count for internal routes.
pub(super) fn settings_tokens(state: &AppState) -> impl Iterator<Item = &Token> {
    let settings = state.settings();
    let tokens = match &settings.access {
        Authentication::Open => &[][..],
        Authentication::Tokens(tokens) => &tokens[..],
    };
    tokens.iter().chain(&settings.internal)
}
