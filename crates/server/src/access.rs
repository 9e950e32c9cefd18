//! Authentication and authorization: one check at the root of the app, before routing.
//!
//! Invariants: a path is public only if it is listed here; a path without a rule needs the widest
//! permission; tokens are compared in constant time; a token whose roles are restricted to paths is
//! refused by every route without a rule for paths.

mod audited;
mod browser;
mod caller;
mod records;
mod restricted;
mod token_streams;
mod worker_routes;

use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use noetl_app::{TokensUnavailable, WORKER_TOKEN_MARK};
use noetl_model::{Actor, Digest, Permission, PermittedPaths, Role};
use noetl_web::Visitor;
use tokio::time::{Instant, sleep_until};

use crate::listen::rate::{Limiter, Rate};
use crate::listen::serve::Peer;
use crate::pages;
use crate::request::actor::{RequestActor, TokenName};
use crate::response::error::ApiError;
use crate::state::{AppState, ServerSettings};
use crate::tokens::{Scope, Token};

use audited::AuditedRequest;
pub(crate) use caller::{EnrolledWorker, KnownToken, known_token};
use caller::{settings_tokens, worker_token};

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
const ADMIN_PATHS: &[&str] =
    &["/api/postgres/execute", "/api/db/init", "/api/db/validate", "/api/tokens", "/api/audit"];

/// Prefixes of paths that change how the server itself runs, and for whom.
const ADMIN_PREFIXES: &[&str] = &["/api/profiler/memory/", "/api/tokens/", "/api/audit/"];

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

/// Prefixes of the paths for writing playbooks, for `PUT` and `DELETE`.
const WRITE_PREFIXES: &[&str] = &["/api/catalog/playbook", "/api/playbook-tests/"];

/// Paths that register, archive or restore documents.
const WRITE_POSTS: &[&str] = &[
    "/api/catalog/register",
    "/api/catalog/register/batch",
    "/api/catalog/delete",
    "/api/catalog/restore",
    "/api/subscriptions",
    "/api/subscriptions/register",
    "/api/feeds",
];

/// Prefixes of the paths of bulk jobs, which `DELETE` stops, and of signals that no step has taken.
const OPERATE_DELETES: &[&str] = &["/api/executions/bulk/", "/api/kept-signals/"];

/// Prefixes of the paths for workers.
const WORK_PREFIXES: &[&str] = &["/api/worker/", "/api/commands/", "/api/events", "/api/payloads/"];

/// Prefix of the paths that messages are posted to; their senders are authenticated by signature.
const INGRESS_PREFIX: &str = "/ingress/";

/// Returns the permissions of which a request needs one; `None` if the request is public.
pub(crate) fn needed(method: &Method, path: &str) -> Option<&'static [Permission]> {
    if PUBLIC_PATHS.contains(&path) {
        return None;
    }
    if *method == Method::POST && path.starts_with(INGRESS_PREFIX) {
        return None;
    }
    if let Some(permissions) = records::needed(method, path, "") {
        return Some(permissions);
    }
    if path.starts_with(INTERNAL_PREFIX) {
        return Some(&[Permission::Internal]);
    }
    if ADMIN_PATHS.contains(&path) || ADMIN_PREFIXES.iter().any(|it| path.starts_with(it)) {
        return Some(&[Permission::Administer]);
    }
    let is_read = [Method::GET, Method::HEAD].contains(method);
    if WORK_PREFIXES.iter().any(|prefix| path.starts_with(prefix)) {
        return Some(if is_read {
            &[Permission::Work, Permission::Read]
        } else {
            &[Permission::Work]
        });
    }
    let by_hand = path.ends_with("/finalize") || BY_HAND_POSTS.contains(&path);
    Some(match *method {
        _ if is_read => &[Permission::Read],
        Method::POST if READ_POSTS.contains(&path) => &[Permission::Read],
        Method::POST if READ_POST_ENDS.iter().any(|end| path.ends_with(end)) => &[Permission::Read],
        Method::POST if by_hand => &[Permission::Administer],
        Method::POST if WRITE_POSTS.contains(&path) => &[Permission::Write],
        Method::POST => &[Permission::Operate],
        Method::DELETE if OPERATE_DELETES.iter().any(|prefix| path.starts_with(prefix)) => {
            &[Permission::Operate]
        }
        _ if WRITE_PREFIXES.iter().any(|prefix| path.starts_with(prefix)) => &[Permission::Write],
        _ => &[Permission::Administer],
    })
}

/// Rate limits per client: requests, failed authentications, and forms that anybody may send.
#[derive(Debug)]
pub(crate) struct ClientLimits {
    requests: Option<Limiter<ClientAddress>>,
    refusals: Limiter<IpAddr>,
    public_forms: Limiter<IpAddr>,
}

/// The limit of forms that need no token, for one address: each leaves an entry in the audit log.
const PUBLIC_FORMS: Rate = Rate { burst: 60, every: Duration::from_secs(2) };

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
            public_forms: Limiter::new(PUBLIC_FORMS),
        }
    }

    /// Counts a failed authentication; fails with the time to wait if there were too many.
    pub(crate) fn refused(&self, address: IpAddr) -> Result<(), Duration> {
        self.refusals.take(address)
    }
}

/// The paths of playbooks for which a request is permitted; none if it did not pass the guard.
pub(crate) struct CallerPaths(pub(crate) PermittedPaths);

impl<S: Send + Sync> FromRequestParts<S> for CallerPaths {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        let admitted = parts.extensions.get::<Admitted>();
        Ok(Self(admitted.map_or(PermittedPaths::None, |it| it.paths.clone())))
    }
}

/// The paths of playbooks that the sender of a request may write.
pub(crate) struct WritablePaths(pub(crate) PermittedPaths);

impl<S: Send + Sync> FromRequestParts<S> for WritablePaths {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        let paths = match parts.extensions.get::<Admitted>() {
            Some(Admitted { token: Some(token), .. }) => token.paths(&[Permission::Write]),
            Some(Admitted { token: None, paths }) => paths.clone(),
            None => PermittedPaths::None,
        };
        Ok(Self(paths))
    }
}

/// The result of a successful check.
#[derive(Clone)]
pub(crate) struct Admitted {
    /// The request's token; `None` if the request needs none.
    pub(crate) token: Option<KnownToken>,
    paths: PermittedPaths,
}

impl Admitted {
    /// True if the sender has a permission for some path.
    pub(crate) fn permits_anywhere(&self, permission: Permission) -> bool {
        match &self.token {
            Some(token) => token.paths(&[permission]) != PermittedPaths::None,
            None => self.paths != PermittedPaths::None,
        }
    }

    /// True if the sender has a permission for all paths, as everybody has on an open server.
    pub(crate) fn permits_everywhere(&self, permission: Permission) -> bool {
        match &self.token {
            Some(token) => token.permits_everywhere(permission),
            None => self.paths == PermittedPaths::All,
        }
    }
}

/// Passes a request on if it is allowed; otherwise answers with the refusal.
pub(crate) async fn admit(
    State(state): State<AppState>,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let begun = Instant::now();
    let is_page = pages::is_page(state.settings(), request.uri().path());
    let audited = AuditedRequest::of(&request, is_page);
    let (mut request, admitted) = match check(&state, request, is_page).await {
        Ok(checked) => checked,
        Err(RefusedRequest { request, error, token }) => {
            if let Some(audited) = audited {
                let actor = token.as_ref().and_then(KnownToken::name).cloned();
                audited.record(&state, actor, error.status()).await;
            }
            return match is_page {
                true => Ok(pages::refused(&state, request, &error, token.as_ref())),
                false => Err(error),
            };
        }
    };
    if let Some(KnownToken::Stored(token)) = &admitted.token {
        state.app().note_token_use(token);
    }
    if is_page {
        let address = address_of(&request);
        pages::add_visitor(&state, &mut request, admitted.token.as_ref(), address);
    } else if let Some(name) = admitted.token.as_ref().and_then(KnownToken::name) {
        request.extensions_mut().insert(TokenName(name.clone()));
    }
    let (paths, token) = (admitted.paths.clone(), admitted.token.clone());
    let needed = needed_by(&request, is_page).unwrap_or_default();
    request.extensions_mut().insert(admitted);
    let (actor, request) = match &audited {
        Some(_) => stated_actor(request).await,
        None => (None, request),
    };
    let is_kept_safe = needed.iter().any(|it| AUDITED_FIRST.contains(it));
    if let Some(audited) =
        audited.as_ref().filter(|_| is_kept_safe && state.app().audit_is_failing())
    {
        let error = audit_unavailable();
        // The entry of the refusal tries whether the log can be written again.
        audited.record_later(&state, actor, error.status());
        return match is_page {
            true => Ok(pages::refused(&state, request, &error, token.as_ref())),
            false => Err(error),
        };
    }
    let answer = match restricted::check_object(&state, request, &paths).await {
        Ok(request) => next.run(request).await,
        Err(error) => error.into_response(),
    };
    if let Some(audited) = audited {
        audited.record(&state, actor, answer.status()).await;
    }
    if answer.status() == StatusCode::NOT_FOUND && paths != PermittedPaths::All {
        sleep_until(begun + padded(begun.elapsed())).await;
    }
    Ok(match token {
        Some(token) => token_streams::checked_while_open(&state, &token, needed, answer),
        None => answer,
    })
}

/// The step to which the time of an answer is rounded up if a token with restricted paths asked for
/// something that does not exist, or that it may not see.
const DENIAL_STEP: Duration = Duration::from_millis(50);

/// Returns the time after which a denial is sent. The time of the lookups behind it, which may tell whether
/// the object exists, is hidden in it.
fn padded(spent: Duration) -> Duration {
    let steps = spent.as_millis() / DENIAL_STEP.as_millis() + 1;
    DENIAL_STEP * u32::try_from(steps).unwrap_or(u32::MAX)
}

/// The permissions whose requests change nothing while the audit log cannot be written.
const AUDITED_FIRST: &[Permission] = &[Permission::Write, Permission::Administer];

fn audit_unavailable() -> ApiError {
    let detail = "the audit log cannot be written, and a change without an entry is not made";
    ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "audit-unavailable", detail)
}

/// Returns the actor that a request names; none if the name is not valid.
async fn stated_actor(request: Request) -> (Option<Actor>, Request) {
    let (mut parts, body) = request.into_parts();
    let actor = RequestActor::from_request_parts(&mut parts, &()).await;
    let of_page = parts.extensions.get::<Visitor>().and_then(|visitor| visitor.actor.clone());
    let actor = of_page.or(actor.ok().and_then(|RequestActor(actor)| actor));
    (actor, Request::from_parts(parts, body))
}

/// A request that was refused, with its token if the server knows it.
struct RefusedRequest {
    request: Request,
    error: ApiError,
    token: Option<KnownToken>,
}

/// Checks that a request is allowed.
async fn check(
    state: &AppState,
    request: Request,
    is_page: bool,
) -> Result<(Request, Admitted), RefusedRequest> {
    let asked = match check_sender(state, &request, is_page) {
        Ok(Some(asked)) => asked,
        Ok(None) => {
            return match check_public_form(state, &request) {
                Ok(()) => Ok((request, Admitted { token: None, paths: PermittedPaths::None })),
                Err(error) => Err(RefusedRequest { request, error, token: None }),
            };
        }
        Err(error) => return Err(RefusedRequest { request, error, token: None }),
    };
    let needed = asked.needed;
    let identity = match identify(state, asked).await {
        Ok(identity) => identity,
        Err(error) => return Err(RefusedRequest { request, error, token: None }),
    };
    let token = match &identity {
        SenderIdentity::Token(_, token) => Some(token.clone()),
        SenderIdentity::Anybody(_) | SenderIdentity::NoToken | SenderIdentity::UnknownToken => None,
    };
    match check_client(state, &request, identity, needed, is_page) {
        Ok(admitted) => Ok((request, admitted)),
        Err(error) => Err(RefusedRequest { request, error, token }),
    }
}

/// Returns the permissions of which a request needs one; `None` if it is public.
fn needed_by(request: &Request, is_page: bool) -> Option<&'static [Permission]> {
    let (method, path) = (request.method(), request.uri().path());
    let query = request.uri().query().unwrap_or_default();
    match is_page {
        true => pages::needed_permissions(method, path),
        false => records::needed(method, path, query).or_else(|| needed(method, path)),
    }
}

/// The permissions of which a request needs one, and the secret that it brings.
struct AskedAccess {
    needed: &'static [Permission],
    secret: GivenSecret,
}

enum GivenSecret {
    None,
    Bearer(Digest),
    /// A short-lived token of a worker.
    Worker(String),
    /// A cookie of pages.
    Session(String),
}

/// Checks the host and the page that send a request. Returns the access that it asks for, unless it
/// is public.
fn check_sender(
    state: &AppState,
    request: &Request,
    is_page: bool,
) -> Result<Option<AskedAccess>, ApiError> {
    let settings = state.settings();
    check_host(settings, request)?;
    browser::check_origin(settings, request)?;
    if is_page {
        browser::check_form(settings, request)?;
    }
    let Some(needed) = needed_by(request, is_page) else { return Ok(None) };
    let (method, path) = (request.method(), request.uri().path());
    if !has_own_token(settings, needed) {
        browser::check_direct(settings, request.headers())?;
    }
    let secret = match bearer(request.headers()) {
        Some(secret) if secret.starts_with(WORKER_TOKEN_MARK) => {
            GivenSecret::Worker(secret.to_owned())
        }
        Some(secret) => GivenSecret::Bearer(Digest::of(secret.as_bytes())),
        None if pages::takes_session(method, path, needed) => {
            let cookie = pages::session_cookie(request.headers());
            cookie.map_or(GivenSecret::None, |it| GivenSecret::Session(it.to_owned()))
        }
        None => GivenSecret::None,
    };
    Ok(Some(AskedAccess { needed, secret }))
}

/// The sender of a request.
enum SenderIdentity {
    /// No token is required here. The digest is that of a token that was sent nevertheless.
    Anybody(Option<Digest>),
    NoToken,
    UnknownToken,
    Token(Digest, KnownToken),
}

async fn identify(state: &AppState, asked: AskedAccess) -> Result<SenderIdentity, ApiError> {
    let settings = state.settings();
    let is_open = match settings.access {
        Authentication::Open => !has_own_token(settings, asked.needed),
        Authentication::Tokens(_) => false,
    };
    let unavailable = |error: TokensUnavailable| ApiError::unavailable(&error);
    let given = match asked.secret {
        GivenSecret::None if is_open => return Ok(SenderIdentity::Anybody(None)),
        GivenSecret::Session(_) if is_open => return Ok(SenderIdentity::Anybody(None)),
        GivenSecret::Bearer(given) if is_open => return Ok(SenderIdentity::Anybody(Some(given))),
        GivenSecret::Worker(_) if is_open => return Ok(SenderIdentity::Anybody(None)),
        GivenSecret::None => return Ok(SenderIdentity::NoToken),
        GivenSecret::Bearer(given) => given,
        GivenSecret::Worker(token) => {
            let given = Digest::of(token.as_bytes());
            let known = worker_token(state, &token).await.map_err(unavailable)?;
            return Ok(match known {
                Some(known) => SenderIdentity::Token(given, known),
                None => SenderIdentity::UnknownToken,
            });
        }
        GivenSecret::Session(cookie) => match pages::session_token(state, &cookie) {
            Some(given) => given,
            None => return Ok(SenderIdentity::NoToken),
        },
    };
    let known = known_token(state, &given).await.map_err(unavailable)?;
    Ok(known.map_or(SenderIdentity::UnknownToken, |token| SenderIdentity::Token(given, token)))
}

/// Checks the permissions of a request and the rate of its client.
fn check_client(
    state: &AppState,
    request: &Request,
    identity: SenderIdentity,
    needed: &[Permission],
    is_page: bool,
) -> Result<Admitted, ApiError> {
    let settings = state.settings();
    let address = address_of(request);
    let (given, admitted) =
        check_identity(state, identity, needed).map_err(|refusal| match refusal {
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
    if let Some(KnownToken::Worker(_)) = &admitted.token {
        worker_routes::check(request)?;
    }
    restricted::check(request, &admitted.paths, is_page)?;
    if !is_page {
        browser::check_type(settings, request)?;
    }
    Ok(admitted)
}

/// Checks the rate of an address for forms that need no token.
fn check_public_form(state: &AppState, request: &Request) -> Result<(), ApiError> {
    if !audited::is_public_form(request) {
        return Ok(());
    }
    let limit = &state.client_limits().public_forms;
    limit.take(address_of(request)).map_err(too_many_requests)
}

fn address_of(request: &Request) -> IpAddr {
    request.extensions().get().map_or(NO_ADDRESS, |Peer(address)| *address)
}

/// True if the route needs the internal token, even on a server that requires no other token.
fn has_own_token(settings: &ServerSettings, needed: &[Permission]) -> bool {
    needed == [Permission::Internal] && settings.internal.is_some()
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

fn check_identity(
    state: &AppState,
    identity: SenderIdentity,
    needed: &[Permission],
) -> Result<(Option<Digest>, Admitted), Denial> {
    let is_internal = needed == [Permission::Internal];
    let includes = |token: &Token| needed.iter().any(|it| token.includes(*it));
    let no_token_is_good = || {
        let detail = "no token is good for internal routes; set NOETL_INTERNAL_API_TOKEN";
        ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "no-internal-token", detail)
    };
    let refused = |detail| {
        // Existing parts of the system expect 403 for a missing or wrong token.
        let (status, code) = match is_internal {
            true => (StatusCode::FORBIDDEN, "forbidden"),
            false => (StatusCode::UNAUTHORIZED, "unauthorized"),
        };
        Denial::Unknown(ApiError::new(status, code, detail))
    };
    match identity {
        SenderIdentity::Anybody(given) => {
            Ok((given, Admitted { token: None, paths: PermittedPaths::All }))
        }
        SenderIdentity::Token(given, token) if token.paths(needed) != PermittedPaths::None => {
            let paths = token.paths(needed);
            Ok((Some(given), Admitted { token: Some(token), paths }))
        }
        SenderIdentity::NoToken | SenderIdentity::UnknownToken | SenderIdentity::Token(..)
            if is_internal && !settings_tokens(state).any(includes) =>
        {
            Err(Denial::Unable(no_token_is_good()))
        }
        SenderIdentity::NoToken => Err(refused("send a token: Authorization: Bearer <token>")),
        SenderIdentity::UnknownToken => Err(refused("this token is not known")),
        SenderIdentity::Token(_, token) => {
            let detail = lacking(&token, needed);
            Err(Denial::Unable(ApiError::new(StatusCode::FORBIDDEN, "forbidden", detail)))
        }
    }
}

/// Returns the reason why a token does not permit a request.
fn lacking(token: &KnownToken, needed: &[Permission]) -> String {
    match token {
        KnownToken::Settings(_) => {
            format!("this token lacks the scope `{}`", scope_names(needed).join("` or `"))
        }
        KnownToken::Worker(_) => "a token of a worker only permits to work".to_owned(),
        KnownToken::Stored(_) => {
            let roles = Role::ALL.iter().filter(|role| needed.iter().any(|it| role.includes(*it)));
            let roles: Vec<&str> = roles.map(|role| role.as_str()).collect();
            format!("this token lacks the role `{}`", roles.join("` or `"))
        }
    }
}

/// Returns the names of the scopes of which a request needs one.
pub(crate) fn scope_names(needed: &[Permission]) -> Vec<&'static str> {
    needed.iter().map(|it| Scope::of(*it).name()).collect()
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
    fn check(method: Method, path: &str, expected: &[Permission]) {
        assert_eq!(needed(&method, path).unwrap_or_default(), expected, "{method} {path}");
    }

    #[test]
    fn health_is_for_everybody() {
        check(Method::GET, "/health", &[]);
        check(Method::GET, "/readyz", &[]);
    }

    #[test]
    fn a_path_that_only_begins_like_a_public_one_is_not_public() {
        check(Method::GET, "/health/../api/executions", &[Permission::Read]);
        check(Method::GET, "/healthz", &[Permission::Read]);
    }

    #[test]
    fn looking_needs_read_and_starting_needs_run() {
        check(Method::GET, "/api/executions", &[Permission::Read]);
        check(Method::POST, "/api/catalog/list", &[Permission::Read]);
        check(Method::POST, "/api/execute", &[Permission::Operate]);
    }

    #[test]
    fn ending_by_hand_needs_admin() {
        check(Method::POST, "/api/executions/1/finalize", &[Permission::Administer]);
        check(Method::POST, "/api/executions/cleanup", &[Permission::Administer]);
        check(Method::POST, "/api/executions/bulk/delete", &[Permission::Administer]);
        check(Method::DELETE, "/api/executions/1", &[Permission::Administer]);
        check(Method::PUT, "/api/executions/1/keep", &[Permission::Administer]);
    }

    #[test]
    fn signals_are_dropped_by_those_who_may_send_them() {
        check(Method::GET, "/api/kept-signals", &[Permission::Read]);
        check(Method::DELETE, "/api/kept-signals/1", &[Permission::Operate]);
    }

    #[test]
    fn commands_and_events_are_for_workers() {
        check(Method::POST, "/api/commands/1/claim", &[Permission::Work]);
        check(Method::POST, "/api/events/batch", &[Permission::Work]);
        check(Method::DELETE, "/api/worker/pool/deregister", &[Permission::Work]);
    }

    #[test]
    fn internal_paths_and_the_database_are_not_for_everybody_who_reads_or_runs() {
        check(Method::GET, "/api/internal/objects/a", &[Permission::Internal]);
        check(Method::POST, "/api/internal/outbox/claim", &[Permission::Internal]);
        check(Method::POST, "/api/postgres/execute", &[Permission::Administer]);
        check(Method::GET, "/api/db/validate", &[Permission::Administer]);
    }

    #[test]
    fn senders_are_known_by_their_signature_and_not_by_a_token() {
        check(Method::POST, "/ingress/orders", &[]);
        check(Method::GET, "/ingress/orders", &[Permission::Read]);
        check(Method::POST, "/ingress", &[Permission::Operate]);
    }

    #[test]
    fn large_values_are_for_workers_and_for_readers() {
        check(Method::GET, "/api/payloads/1", &[Permission::Work, Permission::Read]);
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
