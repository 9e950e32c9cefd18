//! Authentication and authorization: one check at the root of the app, before routing.
//!
//! Invariants: a path is public only if it is listed here; a path without a rule needs the widest
//! scope; tokens are compared in constant time.

mod browser;
mod records;

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use noetl_model::{Actor, Digest};

use crate::listen::rate::Limiter;
use crate::listen::serve::Peer;
use crate::pages;
use crate::request::actor::TokenName;
use crate::response::error::ApiError;
use crate::state::{AppState, ServerSettings};
use crate::tokens::{Scope, Token};

/// The authentication that the server requires.
#[derive(Debug, Clone)]
pub enum Authentication {
    /// No authentication: anyone who can reach the address has access.
    Open,
    /// A bearer token out of this list is required.
    Tokens(Vec<Token>),
}

/// The `Host` names under which the server may be addressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hosts {
    /// Only names of this machine, as protection against DNS rebinding by web pages.
    Loopback,
    Any,
}

/// Origins that may send requests from a browser, in addition to the server's own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origins(pub Vec<String>);

impl Origins {
    fn name(&self, origin: &str) -> bool {
        self.0.iter().any(|known| known == origin)
    }
}

/// Paths that need no token.
const PUBLIC_PATHS: &[&str] = &[
    "/",
    "/ui",
    "/health",
    "/api/health",
    "/livez",
    "/readyz",
    "/api/openapi.json",
    "/api/docs",
    "/api/docs/page.css",
    "/api/docs/page.js",
];

/// Prefix of the paths for other parts of the system.
const INTERNAL_PREFIX: &str = "/api/internal/";

/// Paths that need the admin scope, for every method.
const ADMIN_PATHS: &[&str] = &["/api/postgres/execute", "/api/db/init", "/api/db/validate"];

/// Prefixes of paths that change how the server itself runs.
const ADMIN_PREFIXES: &[&str] = &["/api/profiler/memory/"];

/// Paths that only read although they are called with POST.
const READ_POSTS: &[&str] = &[
    "/api/catalog/list",
    "/api/catalog/agents/list",
    "/api/catalog/resource",
    "/api/catalog/playbooks/validate",
    "/api/executions/bulk/count",
    "/api/auth/login",
    "/api/auth/validate",
    "/api/auth/check-access",
    "/api/catalog/playbooks/analyze",
    "/api/catalog/playbooks/complete",
];

/// Ends of the paths that only read although they are called with POST.
const READ_POST_ENDS: &[&str] = &["/position/evaluate"];

/// Paths that end or delete executions by hand.
const BY_HAND_POSTS: &[&str] = &["/api/executions/cleanup", "/api/executions/bulk/delete"];

/// Prefixes of the paths for writing playbooks and for stopping bulk jobs, for every method.
const WRITE_PREFIXES: &[&str] =
    &["/api/catalog/playbook", "/api/playbook-tests/", "/api/executions/bulk/"];

/// Prefixes of the paths for workers.
const WORK_PREFIXES: &[&str] = &["/api/worker/", "/api/commands/", "/api/events", "/api/payloads/"];

/// Prefix of the paths that messages are posted to; their senders are authenticated by signature.
const INGRESS_PREFIX: &str = "/ingress/";

/// Returns the scopes of which a request needs one; `None` if the request is public.
pub(crate) fn needed(method: &Method, path: &str) -> Option<&'static [Scope]> {
    if PUBLIC_PATHS.contains(&path) {
        return None;
    }
    if *method == Method::POST && path.starts_with(INGRESS_PREFIX) {
        return None;
    }
    if let Some(scopes) = records::needed(method, path, "") {
        return Some(scopes);
    }
    if path.starts_with(INTERNAL_PREFIX) {
        return Some(&[Scope::Internal]);
    }
    if ADMIN_PATHS.contains(&path) || ADMIN_PREFIXES.iter().any(|it| path.starts_with(it)) {
        return Some(&[Scope::Admin]);
    }
    let is_read = [Method::GET, Method::HEAD].contains(method);
    if WORK_PREFIXES.iter().any(|prefix| path.starts_with(prefix)) {
        return Some(if is_read { &[Scope::Work, Scope::Read] } else { &[Scope::Work] });
    }
    let by_hand = path.ends_with("/finalize") || BY_HAND_POSTS.contains(&path);
    Some(match *method {
        _ if is_read => &[Scope::Read],
        Method::POST if READ_POSTS.contains(&path) => &[Scope::Read],
        Method::POST if READ_POST_ENDS.iter().any(|end| path.ends_with(end)) => &[Scope::Read],
        Method::POST if by_hand => &[Scope::Admin],
        Method::POST => &[Scope::Run],
        _ if WRITE_PREFIXES.iter().any(|prefix| path.starts_with(prefix)) => &[Scope::Run],
        _ => &[Scope::Admin],
    })
}

/// Rate limits per client: requests, and failed authentications.
#[derive(Debug)]
pub(crate) struct ClientLimits {
    requests: Option<Limiter<ClientAddress>>,
    refusals: Limiter<IpAddr>,
}

/// The key under which a client's requests are counted.
#[derive(Debug, PartialEq, Eq, Hash)]
enum ClientAddress {
    Token([u8; 32]),
    Address(IpAddr),
}

impl ClientLimits {
    pub(crate) fn new(settings: &ServerSettings) -> Self {
        Self {
            requests: settings.limits.requests.map(Limiter::new),
            refusals: Limiter::new(settings.limits.refusals),
        }
    }

    /// Counts a failed authentication; fails with the time to wait if there were too many.
    pub(crate) fn refused(&self, address: IpAddr) -> Result<(), Duration> {
        self.refusals.take(address)
    }
}

/// Passes a request on if it is allowed; otherwise answers with the refusal.
pub(crate) async fn admit(
    State(state): State<AppState>,
    mut request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let is_page = pages::is_page(state.settings(), request.uri().path());
    match check(&state, &request, is_page) {
        Ok(token) if is_page => {
            let address = address_of(&request);
            pages::add_visitor(&state, &mut request, token.as_ref(), address);
            Ok(next.run(request).await)
        }
        Ok(token) => {
            if let Some(name) = token_name(state.settings(), token.as_ref()) {
                request.extensions_mut().insert(TokenName(name.clone()));
            }
            Ok(next.run(request).await)
        }
        Err(error) if is_page => Ok(pages::refused(&state, request, &error)),
        Err(error) => Err(error),
    }
}

/// Returns the name of the token with a digest.
pub(crate) fn token_name<'a>(
    settings: &'a ServerSettings,
    given: Option<&Digest>,
) -> Option<&'a Actor> {
    match &settings.access {
        Authentication::Open => None,
        Authentication::Tokens(tokens) => {
            tokens.iter().find(|token| given.is_some_and(|given| token.is(given)))?.name()
        }
    }
}

/// Checks that a request is allowed; returns the digest of its token.
fn check(state: &AppState, request: &Request, is_page: bool) -> Result<Option<Digest>, ApiError> {
    let settings = state.settings();
    check_host(settings, request)?;
    browser::check_origin(settings, request)?;
    let (path, query) = (request.uri().path(), request.uri().query().unwrap_or_default());
    let scopes = match is_page {
        true => {
            browser::check_form(settings, request)?;
            pages::scopes(request.method(), path)
        }
        false => records::needed(request.method(), path, query)
            .or_else(|| needed(request.method(), path)),
    };
    let secret = bearer(request.headers());
    let given = secret.map(|secret| Digest::of(secret.as_bytes()));
    let Some(scopes) = scopes else { return Ok(given) };
    let given = match given {
        None if pages::takes_session(request.method(), path, scopes) => {
            pages::session_token(state, request.headers())
        }
        given => given,
    };
    check_client(state, request, given.as_ref(), scopes)?;
    if !is_page {
        browser::check_type(settings, request)?;
    }
    Ok(given)
}

/// Checks the token of a request and the rate of its client.
fn check_client(
    state: &AppState,
    request: &Request,
    given: Option<&Digest>,
    scopes: &[Scope],
) -> Result<(), ApiError> {
    let settings = state.settings();
    if !has_own_token(settings, scopes) {
        browser::check_direct(settings, request.headers())?;
    }
    let address = address_of(request);
    check_token(settings, given, scopes).map_err(|refusal| match refusal {
        Denial::Unknown(error) => {
            state.client_limits().refused(address).map_or_else(too_many_refusals, |()| error)
        }
        Denial::Unable(error) => error,
    })?;
    let client =
        given.map_or(ClientAddress::Address(address), |it| ClientAddress::Token(*it.as_bytes()));
    if let Some(requests) = &state.client_limits().requests {
        requests.take(client).map_err(too_many_requests)?;
    }
    Ok(())
}

fn address_of(request: &Request) -> IpAddr {
    request.extensions().get().map_or(NO_ADDRESS, |Peer(address)| *address)
}

/// True if the route needs the internal token, even on a server that requires no other token.
fn has_own_token(settings: &ServerSettings, needed: &[Scope]) -> bool {
    needed == [Scope::Internal] && settings.internal.is_some()
}

/// Address of requests that did not arrive over a network.
const NO_ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

fn too_many_refusals(wait: Duration) -> ApiError {
    let detail = "too many requests without a token that is known came from this address";
    ApiError::later(StatusCode::TOO_MANY_REQUESTS, "too-many-refusals", detail, wait)
}

fn too_many_requests(wait: Duration) -> ApiError {
    let detail = "too many requests; wait as long as Retry-After says";
    ApiError::later(StatusCode::TOO_MANY_REQUESTS, "too-many-requests", detail, wait)
}

/// The reason for refusing a request, by its effect on the limit of refusals.
enum Denial {
    /// The client is not authenticated; counted, because it may be guessing tokens.
    Unknown(ApiError),
    /// The client is authenticated, or its identity does not matter; not counted.
    Unable(ApiError),
}

fn check_token(
    settings: &ServerSettings,
    given: Option<&Digest>,
    needed: &[Scope],
) -> Result<(), Denial> {
    let is_internal = needed == [Scope::Internal];
    let tokens = match (&settings.access, &settings.internal) {
        (Authentication::Open, Some(_)) if is_internal => &[][..],
        (Authentication::Open, _) => return Ok(()),
        (Authentication::Tokens(tokens), _) => &tokens[..],
    };
    let known = || tokens.iter().chain(&settings.internal);
    let is_enough = |token: &Token| needed.iter().any(|needed| token.covers(*needed));
    if is_internal && !known().any(is_enough) {
        let detail = "no token is good for internal routes; set NOETL_INTERNAL_API_TOKEN";
        let error = ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "no-internal-token", detail);
        return Err(Denial::Unable(error));
    }
    // Existing parts of the system expect 403 for a missing or wrong token.
    let (status, code) = match is_internal {
        true => (StatusCode::FORBIDDEN, "forbidden"),
        false => (StatusCode::UNAUTHORIZED, "unauthorized"),
    };
    let refused = |detail| Denial::Unknown(ApiError::new(status, code, detail));
    let given = given.ok_or_else(|| refused("send a token: Authorization: Bearer <token>"))?;
    // All tokens are compared, so that the duration does not reveal a near match.
    let known =
        known().fold(None, |known, token| if token.is(given) { Some(token) } else { known });
    let known = known.ok_or_else(|| refused("this token is not known"))?;
    if is_enough(known) {
        return Ok(());
    }
    let needed: Vec<&str> = needed.iter().map(|scope| scope.name()).collect();
    let detail = format!("this token lacks the scope `{}`", needed.join("` or `"));
    Err(Denial::Unable(ApiError::new(StatusCode::FORBIDDEN, "forbidden", detail)))
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, secret) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| secret.trim()).filter(|it| !it.is_empty())
}

fn check_host(settings: &ServerSettings, request: &Request) -> Result<(), ApiError> {
    match settings.hosts {
        Hosts::Any => return Ok(()),
        Hosts::Loopback => {}
    }
    if browser::host_of(request).is_some_and(is_loopback) {
        return Ok(());
    }
    Err(ApiError::new(
        StatusCode::MISDIRECTED_REQUEST,
        "wrong-host",
        "this server listens on this machine only; address it as localhost",
    ))
}

/// True if a `Host` header names this machine.
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
        check(Method::POST, "/api/executions/bulk/delete", &[Scope::Admin]);
        check(Method::DELETE, "/api/executions/1", &[Scope::Admin]);
        check(Method::PUT, "/api/executions/1/keep", &[Scope::Admin]);
    }

    #[test]
    fn commands_and_events_are_for_workers() {
        check(Method::POST, "/api/commands/1/claim", &[Scope::Work]);
        check(Method::POST, "/api/events/batch", &[Scope::Work]);
        check(Method::DELETE, "/api/worker/pool/deregister", &[Scope::Work]);
    }

    #[test]
    fn internal_paths_and_the_database_are_not_for_everybody_who_reads_or_runs() {
        check(Method::GET, "/api/internal/objects/a", &[Scope::Internal]);
        check(Method::POST, "/api/internal/outbox/claim", &[Scope::Internal]);
        check(Method::POST, "/api/postgres/execute", &[Scope::Admin]);
        check(Method::GET, "/api/db/validate", &[Scope::Admin]);
    }

    #[test]
    fn senders_are_known_by_their_signature_and_not_by_a_token() {
        check(Method::POST, "/ingress/orders", &[]);
        check(Method::GET, "/ingress/orders", &[Scope::Read]);
        check(Method::POST, "/ingress", &[Scope::Run]);
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
