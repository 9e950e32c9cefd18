//! The routes for callers in the same process, so that a command on its own database takes the same
//! path as one sent to a server.

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Method, Request, header};
use serde_json::Value;
use tower::ServiceExt as _;

use crate::{AppState, app};

/// Maximum size of an answer, in bytes.
const ANSWER_MAX: usize = 256 * 1024 * 1024;

/// The routes without a network.
pub struct Within {
    router: Router,
}

/// The answer of a route.
#[derive(Debug, Clone, PartialEq)]
pub struct Answered {
    pub status: u16,
    /// The JSON body; null if empty.
    pub body: Value,
}

impl Within {
    pub fn new(state: AppState) -> Self {
        Self { router: app(state) }
    }

    /// Calls a route; `path` may have a query.
    pub async fn ask(&self, method: Method, path: &str, body: Option<&Value>) -> Answered {
        let sent = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
        let request = Request::builder()
            .method(method)
            .uri(format!("/{path}"))
            .header(header::HOST, "localhost")
            .header(header::CONTENT_TYPE, "application/json")
            .body(sent)
            .expect("paths are made of encoded parts");
        let Ok(response) = self.router.clone().oneshot(request).await;
        let status = response.status().as_u16();
        let bytes = to_bytes(response.into_body(), ANSWER_MAX).await.unwrap_or_default();
        Answered { status, body: serde_json::from_slice(&bytes).unwrap_or_default() }
    }
}
