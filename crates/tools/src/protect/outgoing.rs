//! The HTTP client of all tools. It enforces the network policy, the size limits and the handling
//! of redirects for every request.

mod egress;
mod metadata;
mod save;

use std::error::Error as StdError;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use noetl_model::{ErrorKind, ToolError};
use reqwest::header::{
    ACCEPT, ACCEPT_CHARSET, ACCEPT_ENCODING, ACCEPT_LANGUAGE, CACHE_CONTROL, CONTENT_LENGTH,
    CONTENT_TYPE, HeaderMap, HeaderName, LOCATION, RANGE, TRANSFER_ENCODING, USER_AGENT,
};
use reqwest::{Client, Method, StatusCode, redirect};
use tokio::sync::OnceCell;
use url::Url;

use crate::protect::files::FileAccess;
use crate::run::memory::{CallMemory, too_large};
pub(crate) use egress::Unresolved;
use egress::{Blocked, Resolver};

pub(crate) use save::Saved;

pub use egress::{Egress, EgressRule, InvalidEgressRule};

/// The maximum length of a body, after decompression.
pub(crate) const BODY_BYTES_MAX: usize = 64 * 1024 * 1024;
/// The maximum number of redirects followed.
pub(crate) const REDIRECTS_MAX: usize = 10;
/// The headers that are sent along to another origin on a redirect. Any other may hold a secret.
const ACROSS_ORIGINS: &[HeaderName] =
    &[ACCEPT, ACCEPT_CHARSET, ACCEPT_ENCODING, ACCEPT_LANGUAGE, CACHE_CONTROL, RANGE, USER_AGENT];
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug, Clone)]
pub(crate) struct HttpRequest {
    pub(crate) method: Method,
    pub(crate) url: Url,
    /// The headers; a redirect to another origin keeps only [`ACROSS_ORIGINS`].
    pub(crate) headers: HeaderMap,
    pub(crate) body: Option<Vec<u8>>,
    pub(crate) redirects: Redirects,
    pub(crate) connection: ConnectionSettings,
}

impl HttpRequest {
    pub(crate) fn get(url: Url) -> Self {
        Self {
            method: Method::GET,
            url,
            headers: HeaderMap::new(),
            body: None,
            redirects: Redirects::Follow,
            connection: ConnectionSettings::default(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Redirects {
    Follow,
    Keep,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Certificates {
    Verify,
    Ignore,
}

/// The settings of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ConnectionSettings {
    pub(crate) certificates: Certificates,
    pub(crate) connect_timeout: Duration,
    /// The longest pause between two parts of a body.
    pub(crate) read_timeout: Option<Duration>,
}

impl Default for ConnectionSettings {
    fn default() -> Self {
        Self {
            certificates: Certificates::Verify,
            connect_timeout: CONNECT_TIMEOUT,
            read_timeout: None,
        }
    }
}

/// A response with its whole body.
#[derive(Debug)]
pub(crate) struct HttpResponse {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

/// The client, shared by all tools of a worker.
pub(crate) struct Outgoing {
    egress: Egress,
    proxy_from_environment: bool,
    usual: OnceCell<Client>,
}

impl Outgoing {
    pub(crate) fn new(egress: Egress, proxy_from_environment: bool) -> Self {
        Self { egress, proxy_from_environment, usual: OnceCell::new() }
    }

    /// Sends a request, follows redirects if allowed, and reads the whole response.
    pub(crate) async fn send(
        &self,
        request: HttpRequest,
        memory: &CallMemory,
    ) -> Result<HttpResponse, ToolError> {
        let (request, response) = self.open(request).await?;
        read(&request, response, memory).await
    }

    /// Sends a request and saves the body of a success to a file, completely or not at all.
    pub(crate) async fn save(
        &self,
        request: HttpRequest,
        file: (&Path, &FileAccess),
        memory: &CallMemory,
    ) -> Result<(HttpResponse, Option<Saved>), ToolError> {
        let (request, response) = self.open(request).await?;
        if !response.status().is_success() {
            return Ok((read(&request, response, memory).await?, None));
        }
        save::save(&request, response, file).await
    }

    /// Sends a request and follows redirects. Returns the final response with its body unread.
    async fn open(
        &self,
        mut request: HttpRequest,
    ) -> Result<(HttpRequest, reqwest::Response), ToolError> {
        let client = self.client(request.connection).await?;
        for _ in 0..=REDIRECTS_MAX {
            self.egress.check_url(&request.url).map_err(|error| refused(&request, &error))?;
            let mut sending = client
                .request(request.method.clone(), request.url.clone())
                .headers(request.headers.clone());
            if let Some(body) = &request.body {
                sending = sending.body(body.clone());
            }
            let response = sending.send().await.map_err(|error| failed(&request, &error))?;
            match redirect_target(&request, &response)? {
                Some(target) => follow(&mut request, target, response.status())?,
                None => return Ok((request, response)),
            }
        }
        Err(ToolError::new(
            ErrorKind::Connection,
            format!("{} leads to more than {REDIRECTS_MAX} redirects", named(&request)),
        ))
    }

    async fn client(&self, connection: ConnectionSettings) -> Result<Client, ToolError> {
        if connection == ConnectionSettings::default() {
            let client = self.usual.get_or_try_init(async || self.build(connection)).await?;
            return Ok(client.clone());
        }
        self.build(connection)
    }

    fn build(&self, connection: ConnectionSettings) -> Result<Client, ToolError> {
        // An error means that a provider is already installed, which is sufficient.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = Client::builder()
            .user_agent(concat!("noetl/", env!("CARGO_PKG_VERSION")))
            .redirect(redirect::Policy::none())
            .referer(false)
            .connect_timeout(connection.connect_timeout)
            .dns_resolver(Arc::new(Resolver::new(self.egress.clone())));
        if let Some(read_timeout) = connection.read_timeout {
            builder = builder.read_timeout(read_timeout);
        }
        if connection.certificates == Certificates::Ignore {
            builder = builder.tls_danger_accept_invalid_certs(true);
        }
        if !self.proxy_from_environment {
            builder = builder.no_proxy();
        }
        builder.build().map_err(|error| {
            let message = format!("cannot set up outgoing HTTP: {}", reason(&error));
            ToolError::new(ErrorKind::Config, message)
        })
    }
}

/// Returns the URL that a response redirects to, if redirects are followed.
fn redirect_target(
    request: &HttpRequest,
    response: &reqwest::Response,
) -> Result<Option<Url>, ToolError> {
    let is_redirect = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    let (Redirects::Follow, true, Some(location)) =
        (request.redirects, is_redirect, response.headers().get(LOCATION))
    else {
        return Ok(None);
    };
    let target = location.to_str().ok().and_then(|location| request.url.join(location).ok());
    target.map(Some).ok_or_else(|| {
        let message = format!("{} redirects to something that is no URL", named(request));
        ToolError::new(ErrorKind::Connection, message)
    })
}

/// Changes a request into the one that its redirect asks for. Another origin gets no body and only
/// the headers [`ACROSS_ORIGINS`]; fails if the redirect asks to send the body to another origin.
fn follow(request: &mut HttpRequest, target: Url, status: StatusCode) -> Result<(), ToolError> {
    let becomes_get = match status.as_u16() {
        303 => request.method != Method::HEAD,
        301 | 302 => request.method == Method::POST,
        _ => false,
    };
    if becomes_get {
        request.method = Method::GET;
        request.body = None;
        for name in [CONTENT_TYPE, CONTENT_LENGTH, TRANSFER_ENCODING] {
            request.headers.remove(name);
        }
    }
    if target.origin() != request.url.origin() {
        if request.body.is_some() {
            return Err(body_withheld(request, &target, status));
        }
        let headers = std::mem::take(&mut request.headers);
        let crossing = ACROSS_ORIGINS.iter().filter_map(|name| {
            let value = headers.get(name).filter(|value| !value.is_sensitive())?;
            Some((name.clone(), value.clone()))
        });
        request.headers = crossing.collect();
    }
    request.url = target;
    Ok(())
}

fn body_withheld(request: &HttpRequest, target: &Url, status: StatusCode) -> ToolError {
    let status = status.as_u16();
    let message = format!(
        "{} redirects to another origin, {}, with status {status}, which asks to send the body \
         there too; a body is sent only to the origin of `url`: set `url` to the address it \
         redirects to",
        named(request),
        target.origin().ascii_serialization(),
    );
    ToolError::new(ErrorKind::Connection, message)
}

/// Reads the whole body; an incomplete body is an error. Memory is reserved for each part.
async fn read(
    request: &HttpRequest,
    mut response: reqwest::Response,
    memory: &CallMemory,
) -> Result<HttpResponse, ToolError> {
    let (status, headers) = (response.status(), response.headers().clone());
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| failed(request, &error))? {
        if BODY_BYTES_MAX < body.len() + chunk.len() {
            let message =
                format!("{} answers with more than {BODY_BYTES_MAX} bytes", named(request));
            return Err(ToolError::new(ErrorKind::ClientError, message));
        }
        let held = memory.reserve(chunk.len()).await;
        held.map_err(|limit| too_large(&format!("the body of {}", named(request)), &limit))?;
        body.extend_from_slice(&chunk);
    }
    Ok(HttpResponse { status, headers, body })
}

/// Returns `GET https://host/path` without query and user, which may hold secrets.
pub(crate) fn named(request: &HttpRequest) -> String {
    let url = &request.url;
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    let host = url.host_str().unwrap_or_default();
    format!("{} {}://{host}{port}{}", request.method, url.scheme(), url.path())
}

fn refused(request: &HttpRequest, error: &Blocked) -> ToolError {
    ToolError::new(ErrorKind::Config, format!("{} is not allowed: {error}", named(request)))
}

fn failed(request: &HttpRequest, error: &reqwest::Error) -> ToolError {
    if let Some(blocked) = sources(error).find_map(|source| source.downcast_ref::<Blocked>()) {
        return refused(request, blocked);
    }
    if error.is_timeout() {
        return ToolError::new(ErrorKind::Timeout, format!("{} took too long", named(request)));
    }
    let doing = if error.is_connect() { "cannot connect" } else { "the connection broke" };
    ToolError::new(ErrorKind::Connection, format!("{}: {doing}: {}", named(request), reason(error)))
}

/// Returns the innermost cause, which is the most specific.
fn reason(error: &reqwest::Error) -> String {
    sources(error).last().map_or_else(|| "unknown reason".into(), ToString::to_string)
}

fn sources(error: &reqwest::Error) -> impl Iterator<Item = &(dyn StdError + 'static)> {
    std::iter::successors(error.source(), |&source| source.source())
}
