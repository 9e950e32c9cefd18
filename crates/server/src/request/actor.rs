//! The person or program that sends a request.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use noetl_api::ACTOR_HEADER;
use noetl_model::{Actor, BadActor};

use crate::access::Admitted;
use crate::response::error::ApiError;

/// The name of the request's token.
#[derive(Debug, Clone)]
pub(crate) struct TokenName(pub(crate) Actor);

/// The mark of a name that a request with a token states itself, in events and in the audit log.
const UNVERIFIED: &str = "(unverified)";

/// The sender of a request: the name of its token. If the token has no name, the name that the header
/// `X-Noetl-Actor` states, marked as unverified. On a server that asks for no token every name is
/// stated, so none is marked.
pub(crate) struct RequestActor(pub(crate) Option<Actor>);

impl<S: Send + Sync> FromRequestParts<S> for RequestActor {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ApiError> {
        if let Some(TokenName(name)) = parts.extensions.get() {
            return Ok(Self(Some(name.clone())));
        }
        let Some(stated) = parts.headers.get(&ACTOR_HEADER) else { return Ok(Self(None)) };
        let invalid = |detail: String| ApiError::invalid("invalid-actor", detail);
        let stated = std::str::from_utf8(stated.as_bytes())
            .map_err(|_| invalid("`X-Noetl-Actor` is not UTF-8".to_owned()))?;
        let bad = |error: BadActor| invalid(error.to_string());
        let actor = Actor::new(stated).map_err(bad)?;
        Ok(Self(Some(match parts.extensions.get::<Admitted>() {
            Some(Admitted { token: Some(_), .. }) => {
                Actor::new(&format!("{actor} {UNVERIFIED}")).map_err(bad)?
            }
            Some(Admitted { token: None, .. }) | None => actor,
        })))
    }
}
