//! Who may do what: one decision at the root, before any route is looked for.
//!
//! Invariants: a path is open only if it is listed here; a path that no rule names needs the widest
//! scope; tokens are compared in constant time.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use noetl_model::Digest;
use subtle::ConstantTimeEq as _;

use crate::error::ApiError;
use crate::state::AppState;

/// What a token is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Looking at everything that is not secret.
    Read,
    /// Registering, starting and cancelling, and looking.
    Run,
    /// Taking commands and reporting on them.
    Work,
    /// Everything.
    Admin,
}

impl Scope {
    pub const ALL: &'static [Scope] = &[Scope::Read, Scope::Run, Scope::Work, Scope::Admin];

    fn covers(self, needed: Scope) -> bool {
        match self {
            Scope::Admin => true,
            Scope::Run => matches!(needed, Scope::Run | Scope::Read),
            Scope::Read | Scope::Work => self == needed,
        }
    }
}

/// A secret and what it is good for. Only its digest is kept.
#[derive(Debug, Clone)]
pub struct Token {
    digest: Digest,
    scopes: Vec<Scope>,
}

impl Token {
    pub fn new(secret: &str, scopes: impl Into<Vec<Scope>>) -> Self {
        Self { digest: Digest::of(secret.as_bytes()), scopes: scopes.into() }
    }
}

/// Who is let in.
#[derive(Debug, Clone)]
pub enum Access {
    /// Everybody who can reach the address.
    Open,
    /// Those who know a token.
    Tokens(Vec<Token>),
}

/// Under which names the server may be addressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hosts {
    /// Those of this machine, so that no web page can reach it under a name of its own.
    Loopback,
    Any,
}

/// Paths that everybody may ask, token or not.
const PUBLIC_PATHS: &[&str] = &["/health", "/api/health", "/livez", "/readyz", "/api/openapi.json"];

/// Paths that are only read although they are posted to.
const READ_POSTS: &[&str] = &["/api/catalog/list", "/api/catalog/resource"];

/// Where paths begin that workers use.
const WORK_PREFIXES: &[&str] = &["/api/worker/", "/api/commands/", "/api/events", "/api/payloads/"];

/// Where paths begin that programs of the operator use.
const INTERNAL_PREFIX: &str = "/api/internal/";

/// Which of these scopes a request needs one of; nothing if everybody may make it.
fn needed(method: &Method, path: &str) -> Option<&'static [Scope]> {
    if PUBLIC_PATHS.contains(&path) {
        return None;
    }
    if path.starts_with(INTERNAL_PREFIX) {
        return Some(&[Scope::Admin]);
    }
    let is_read = [Method::GET, Method::HEAD].contains(method);
    if WORK_PREFIXES.iter().any(|prefix| path.starts_with(prefix)) {
        return Some(if is_read { &[Scope::Work, Scope::Read] } else { &[Scope::Work] });
    }
    let by_hand = path.ends_with("/finalize") || path == "/api/executions/cleanup";
    Some(match *method {
        _ if is_read => &[Scope::Read],
        Method::POST if READ_POSTS.contains(&path) => &[Scope::Read],
        Method::POST if by_hand => &[Scope::Admin],
        Method::POST => &[Scope::Run],
        _ => &[Scope::Admin],
    })
}

/// Lets a request through, or answers it.
pub(crate) async fn admit(
    State(state): State<AppState>,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    check_host(state.settings().hosts, &request)?;
    if let Some(scopes) = needed(request.method(), request.uri().path()) {
        check_token(&state.settings().access, request.headers(), scopes)?;
    }
    Ok(next.run(request).await)
}

fn check_token(access: &Access, headers: &HeaderMap, needed: &[Scope]) -> Result<(), ApiError> {
    let tokens = match access {
        Access::Open => return Ok(()),
        Access::Tokens(tokens) => tokens,
    };
    let refused = |detail| ApiError::new(StatusCode::UNAUTHORIZED, "unauthorized", detail);
    let secret =
        bearer(headers).ok_or_else(|| refused("send a token: Authorization: Bearer <token>"))?;
    let given = Digest::of(secret.as_bytes());
    // Every token is compared, so that the time tells nothing about which one was nearly right.
    let known = tokens.iter().fold(None, |known, token| {
        let same = bool::from(token.digest.as_bytes().ct_eq(given.as_bytes()));
        if same { Some(token) } else { known }
    });
    let known = known.ok_or_else(|| refused("this token is not known"))?;
    if needed.iter().any(|needed| known.scopes.iter().any(|scope| scope.covers(*needed))) {
        return Ok(());
    }
    let needed: Vec<&str> = needed.iter().map(|scope| scope_name(*scope)).collect();
    let detail = format!("this token lacks the scope `{}`", needed.join("` or `"));
    Err(ApiError::new(StatusCode::FORBIDDEN, "forbidden", detail))
}

fn scope_name(scope: Scope) -> &'static str {
    match scope {
        Scope::Read => "read",
        Scope::Run => "run",
        Scope::Work => "work",
        Scope::Admin => "admin",
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, secret) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| secret.trim()).filter(|it| !it.is_empty())
}

fn check_host(hosts: Hosts, request: &Request) -> Result<(), ApiError> {
    match hosts {
        Hosts::Any => return Ok(()),
        Hosts::Loopback => {}
    }
    let named = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    let named = named.or_else(|| request.uri().authority().map(|authority| authority.as_str()));
    if !named.is_some_and(is_loopback) {
        return Err(ApiError::new(
            StatusCode::MISDIRECTED_REQUEST,
            "wrong-host",
            "this server listens on this machine only; address it as localhost",
        ));
    }
    // Browsers say which page a request comes from.
    let origin = request.headers().get(header::ORIGIN).map(|origin| origin.to_str());
    let is_foreign =
        |origin: &str| !origin.split_once("://").is_some_and(|(_scheme, host)| is_loopback(host));
    if origin.is_some_and(|origin| origin.map_or(true, is_foreign)) {
        let detail = "a page of another site may not ask this server";
        return Err(ApiError::new(StatusCode::FORBIDDEN, "wrong-origin", detail));
    }
    Ok(())
}

/// Whether a `Host` header names this machine.
fn is_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.rsplit_once(':').map_or(host, |(name, _port)| name),
    };
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(method: Method, path: &str, expected: &[Scope]) {
        assert_eq!(needed(&method, path).unwrap_or_default(), expected, "{method} {path}");
    }

    #[test]
    fn health_is_for_everybody() {
        check(Method::GET, "/health", &[]);
        check(Method::GET, "/readyz", &[]);
    }

    #[test]
    fn a_path_that_only_begins_like_a_public_one_is_not_public() {
        check(Method::GET, "/health/../api/executions", &[Scope::Read]);
        check(Method::GET, "/healthz", &[Scope::Read]);
    }

    #[test]
    fn looking_needs_read_and_starting_needs_run() {
        check(Method::GET, "/api/executions", &[Scope::Read]);
        check(Method::POST, "/api/catalog/list", &[Scope::Read]);
        check(Method::POST, "/api/execute", &[Scope::Run]);
    }

    #[test]
    fn ending_by_hand_needs_admin() {
        check(Method::POST, "/api/executions/1/finalize", &[Scope::Admin]);
        check(Method::POST, "/api/executions/cleanup", &[Scope::Admin]);
    }

    #[test]
    fn commands_and_events_are_for_workers() {
        check(Method::POST, "/api/commands/1/claim", &[Scope::Work]);
        check(Method::POST, "/api/events/batch", &[Scope::Work]);
        check(Method::DELETE, "/api/worker/pool/deregister", &[Scope::Work]);
    }

    #[test]
    fn what_is_internal_is_for_the_operator_alone() {
        check(Method::GET, "/api/internal/outbox/pending-count", &[Scope::Admin]);
        check(Method::POST, "/api/internal/outbox/claim", &[Scope::Admin]);
    }

    #[test]
    fn large_values_are_for_workers_and_for_readers() {
        check(Method::GET, "/api/payloads/1", &[Scope::Work, Scope::Read]);
    }

    #[test]
    fn only_names_of_this_machine_are_loopback() {
        for host in ["localhost", "LOCALHOST:8082", "127.0.0.1:1", "127.9.9.9", "[::1]:8082"] {
            assert!(is_loopback(host), "{host}");
        }
        for host in ["", "evil.example", "localhost.evil.example:80", "10.0.0.1", "[::2]:1"] {
            assert!(!is_loopback(host), "{host}");
        }
    }
}
