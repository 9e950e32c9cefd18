//! The person or program that sends a request.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use noetl_api::ACTOR_HEADER;
use noetl_app::{LinkMaker, StatedNames};
use noetl_model::{Actor, BadActor, Permission};

use crate::access::Admitted;
use crate::response::error::ApiError;

/// The name of the request's token.
#[derive(Debug, Clone)]
pub(crate) struct TokenName(pub(crate) Actor);

/// The mark of a name that a request with a token states itself, in events and in the audit log.
const UNVERIFIED: &str = "(unverified)";

/// The sender of a request, and how its name is known.
pub(crate) enum RequestCaller {
    /// The token of the request has this name.
    Named(Actor),
    /// The token has no name; the header `X-Noetl-Actor` states one.
    Stated(Actor),
    Unknown,
}

impl RequestCaller {
    /// Returns the name of the caller, and true if nobody has checked it. The name in a body counts only
    /// for a caller that has none otherwise.
    pub(crate) fn name_or(self, stated: Option<String>) -> (Option<String>, bool) {
        match self {
            RequestCaller::Named(name) => (Some(name.into()), false),
            RequestCaller::Stated(name) => (Some(name.into()), true),
            RequestCaller::Unknown => {
                let is_stated = stated.is_some();
                (stated, is_stated)
            }
        }
    }
}

/// The sender of a request, whose name is marked as unverified if the request has a token without a
/// name.
pub(crate) struct MarkedCaller {
    caller: RequestCaller,
    has_token: bool,
}

impl MarkedCaller {
    /// Returns the name of the caller. The name in a body counts only for a caller that has none
    /// otherwise.
    pub(crate) fn name_or(self, stated: Option<String>) -> Option<String> {
        let (name, is_stated) = self.caller.name_or(stated);
        let name = name.filter(|name| !name.trim().is_empty())?;
        Some(if is_stated && self.has_token { format!("{name} {UNVERIFIED}") } else { name })
    }
}

impl<S: Send + Sync> FromRequestParts<S> for MarkedCaller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let has_token = has_token(parts);
        let caller = RequestCaller::from_request_parts(parts, state).await?;
        Ok(Self { caller, has_token })
    }
}

fn has_token(parts: &Parts) -> bool {
    parts.extensions.get::<Admitted>().is_some_and(|sender| sender.token.is_some())
}

impl<S: Send + Sync> FromRequestParts<S> for RequestCaller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ApiError> {
        if let Some(TokenName(name)) = parts.extensions.get() {
            return Ok(Self::Named(name.clone()));
        }
        let Some(stated) = parts.headers.get(&ACTOR_HEADER) else { return Ok(Self::Unknown) };
        let invalid = |detail: String| ApiError::invalid("invalid-actor", detail);
        let stated = std::str::from_utf8(stated.as_bytes())
            .map_err(|_| invalid("`X-Noetl-Actor` is not UTF-8".to_owned()))?;
        let actor = Actor::new(stated).map_err(|error: BadActor| invalid(error.to_string()))?;
        Ok(Self::Stated(actor))
    }
}

/// The sender of a request: the name of its token. If the token has no name, the name that the header
/// `X-Noetl-Actor` states, marked as unverified. On a server that asks for no token every name is
/// stated, so none is marked.
pub(crate) struct RequestActor(pub(crate) Option<Actor>);

impl<S: Send + Sync> FromRequestParts<S> for RequestActor {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let has_token = has_token(parts);
        Ok(Self(match RequestCaller::from_request_parts(parts, state).await? {
            RequestCaller::Named(name) => Some(name),
            RequestCaller::Stated(name) if has_token => Some(unverified(&name)?),
            RequestCaller::Stated(name) => Some(name),
            RequestCaller::Unknown => None,
        }))
    }
}

/// The treatment of names that requests state: on a server that asks for tokens, they do not count as
/// those of approvers.
pub(crate) struct NamePolicy(pub(crate) StatedNames);

impl<S: Send + Sync> FromRequestParts<S> for NamePolicy {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        let token = parts.extensions.get::<Admitted>().and_then(|sender| sender.token.as_ref());
        Ok(Self(if token.is_some() { StatedNames::Refused } else { StatedNames::Accepted }))
    }
}

/// The sender of a request for a link.
pub(crate) struct LinkSender(pub(crate) LinkMaker);

impl<S: Send + Sync> FromRequestParts<S> for LinkSender {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let name = RequestActor::from_request_parts(parts, state).await?.0.map(String::from);
        let is_admin = parts
            .extensions
            .get::<Admitted>()
            .is_some_and(|sender| sender.permits_everywhere(Permission::Administer));
        if is_admin {
            return Ok(Self(LinkMaker::ForEveryone(name)));
        }
        let checked = parts.extensions.get::<TokenName>().map(|TokenName(name)| name.clone());
        Ok(Self(LinkMaker::ForHimself(checked.map(String::from))))
    }
}

fn unverified(name: &Actor) -> Result<Actor, ApiError> {
    let invalid = |error: BadActor| ApiError::invalid("invalid-actor", error.to_string());
    Actor::new(&format!("{name} {UNVERIFIED}")).map_err(invalid)
}
