//! Checks of requests that a browser page or a proxy sends to a server without tokens.
//!
//! Any web page that a user opens can send requests to this machine, and a proxy on this machine
//! can forward requests of other machines. Without a token, only these checks separate them from
//! requests of the local user.

use axum::body::HttpBody as _;
use axum::extract::Request;
use axum::http::{HeaderMap, Method, StatusCode, header};

use super::{Authentication, Hosts, INGRESS_PREFIX, Origins};
use crate::response::error::ApiError;
use crate::state::ServerSettings;

/// Headers that only a proxy adds.
const PROXY_HEADERS: &[&str] = &[
    "forwarded",
    "via",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-forwarded-port",
    "x-forwarded-server",
    "x-real-ip",
    "true-client-ip",
    "cf-connecting-ip",
];

/// Prefixes of paths that accept bodies of any type.
const RAW_PREFIXES: &[&str] = &["/api/internal/objects/", "/api/internal/plugins/"];

/// Content types that pages of other origins can send without a CORS preflight.
const PAGE_TYPES: &[&str] =
    &["text/plain", "multipart/form-data", "application/x-www-form-urlencoded"];

/// Rejects a request that a proxy has forwarded, if the server requires no token.
pub(super) fn check_direct(settings: &ServerSettings, headers: &HeaderMap) -> Result<(), ApiError> {
    match (&settings.access, settings.hosts) {
        (Authentication::Open, Hosts::Loopback) => {}
        (Authentication::Open, Hosts::Any) | (Authentication::Tokens(_), _) => return Ok(()),
    }
    let Some(name) = PROXY_HEADERS.iter().find(|name| headers.contains_key(**name)) else {
        return Ok(());
    };
    let detail = format!(
        "a proxy forwarded this request (it has the header `{name}`), and this server asks for no \
         token; set NOETL_API_TOKEN to answer requests from other machines"
    );
    Err(ApiError::new(StatusCode::FORBIDDEN, "forwarded", detail))
}

/// Rejects a request from a page of another origin, unless the operator has allowed the origin.
pub(super) fn check_origin(settings: &ServerSettings, request: &Request) -> Result<(), ApiError> {
    match (&settings.access, settings.hosts) {
        // A page has no token unless the user gives it one.
        (Authentication::Tokens(_), Hosts::Any) => return Ok(()),
        (Authentication::Open, _) | (Authentication::Tokens(_), Hosts::Loopback) => {}
    }
    let page = page_of(request.headers(), host_of(request), &settings.origins);
    let is_navigation = || {
        let is = |name: &str, word: &str| request.headers().get(name).is_some_and(|it| it == word);
        *request.method() == Method::GET
            && is("sec-fetch-mode", "navigate")
            && is("sec-fetch-dest", "document")
    };
    match page {
        PageOrigin::None | PageOrigin::Own | PageOrigin::Named => Ok(()),
        // A link to this server that a user follows; the page with the link cannot read the answer.
        PageOrigin::Other if request.headers().get(header::ORIGIN).is_none() && is_navigation() => {
            Ok(())
        }
        PageOrigin::Other => {
            let detail = "a page of another origin may not ask this server; an operator can name \
                          origins that may in NOETL_CORS_ORIGINS";
            Err(ApiError::new(StatusCode::FORBIDDEN, "wrong-origin", detail))
        }
    }
}

/// Rejects a change whose body is not JSON: pages of other origins can send other types without a
/// CORS preflight. A change without a body needs no type, unless a page of another origin sends it.
pub(super) fn check_type(settings: &ServerSettings, request: &Request) -> Result<(), ApiError> {
    let (method, path) = (request.method(), request.uri().path());
    let is_change = ![Method::GET, Method::HEAD, Method::OPTIONS].contains(method);
    let is_raw = RAW_PREFIXES.iter().any(|it| path.starts_with(it));
    // Pages of other origins need a CORS preflight for `PUT`.
    if !is_change || path.starts_with(INGRESS_PREFIX) || (is_raw && *method == Method::PUT) {
        return Ok(());
    }
    let given = request.headers().get(header::CONTENT_TYPE);
    let given = given.map(|it| String::from_utf8_lossy(it.as_bytes()).into_owned());
    let detail = match given {
        Some(given) if is_json(&given) => return Ok(()),
        Some(given) if is_raw && !PAGE_TYPES.contains(&essence(&given).as_str()) => return Ok(()),
        Some(given) => format!("the body is `{given}`; send JSON as `application/json`"),
        None if !is_raw && !request.body().is_end_stream() => {
            "the body has no type; send JSON as `application/json`".to_owned()
        }
        None => match page_of(request.headers(), host_of(request), &settings.origins) {
            PageOrigin::None | PageOrigin::Own | PageOrigin::Named => return Ok(()),
            PageOrigin::Other => "a page has to send `content-type: application/json`".to_owned(),
        },
    };
    Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "content-type", detail))
}

/// Rejects a form for a page that a page of another origin sends, whatever the server's settings.
pub(super) fn check_form(settings: &ServerSettings, request: &Request) -> Result<(), ApiError> {
    if [Method::GET, Method::HEAD].contains(request.method()) {
        return Ok(());
    }
    match page_of(request.headers(), host_of(request), &settings.origins) {
        PageOrigin::None | PageOrigin::Own => Ok(()),
        PageOrigin::Named | PageOrigin::Other => {
            let detail = "only a page of this server may send this form";
            Err(ApiError::new(StatusCode::FORBIDDEN, "wrong-origin", detail))
        }
    }
}

/// Returns a content type without its parameters.
fn essence(content_type: &str) -> String {
    content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn is_json(content_type: &str) -> bool {
    let essence = essence(content_type);
    let subtype = essence.strip_prefix("application/");
    subtype.is_some_and(|subtype| subtype == "json" || subtype.ends_with("+json"))
}

/// The origin of the page that sends a request, according to the browser's headers.
#[derive(Debug, PartialEq, Eq)]
enum PageOrigin {
    /// No page, or a browser that does not send the headers.
    None,
    /// A page of this server.
    Own,
    /// A page of an origin that the operator has allowed.
    Named,
    Other,
}

fn page_of(headers: &HeaderMap, host: Option<&str>, origins: &Origins) -> PageOrigin {
    let origin = headers.get(header::ORIGIN).map(|it| it.to_str().unwrap_or("null"));
    if let Some(origin) = origin {
        return match host {
            _ if origins.name(origin) => PageOrigin::Named,
            Some(host) if is_origin_of(origin, host) => PageOrigin::Own,
            Some(_) | None => PageOrigin::Other,
        };
    }
    match headers.get("sec-fetch-site").map(|it| it.as_bytes()) {
        None | Some(b"none") => PageOrigin::None,
        Some(b"same-origin") => PageOrigin::Own,
        Some(_) => PageOrigin::Other,
    }
}

/// Returns the host name that a request addresses.
pub(super) fn host_of(request: &Request) -> Option<&str> {
    let named = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    named.or_else(|| request.uri().authority().map(|authority| authority.as_str()))
}

/// True if an origin belongs to a host. The scheme is not compared: a server behind a TLS proxy
/// does not know it, and two schemes do not share a port.
fn is_origin_of(origin: &str, host: &str) -> bool {
    let Some((scheme, named)) = origin.split_once("://") else { return false };
    let port = match scheme {
        "http" => ":80",
        "https" => ":443",
        _ => return false,
    };
    let without_port = |name: &'_ str| name.strip_suffix(port).unwrap_or(name).to_ascii_lowercase();
    without_port(named) == without_port(host)
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    #[track_caller]
    fn check(given: &[(&'static str, &'static str)], expected: PageOrigin) {
        let headers = given
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        let origins = Origins(vec!["https://ops.example".to_owned()]);
        let page = page_of(&headers.collect(), Some("localhost:8082"), &origins);
        assert_eq!(page, expected, "{given:?}");
    }

    #[test]
    fn a_page_is_known_by_its_origin_and_else_by_what_its_browser_says_of_it() {
        check(&[], PageOrigin::None);
        check(&[("origin", "http://localhost:8082")], PageOrigin::Own);
        check(&[("origin", "http://LOCALHOST:8082")], PageOrigin::Own);
        check(&[("origin", "https://ops.example")], PageOrigin::Named);
        for other in [
            "http://localhost:3000",
            "http://127.0.0.1:8082",
            "http://localhost",
            "https://evil.example",
            "ftp://localhost:8082",
            "null",
            "",
        ] {
            check(&[("origin", other)], PageOrigin::Other);
        }
        check(&[("sec-fetch-site", "same-origin")], PageOrigin::Own);
        check(&[("sec-fetch-site", "none")], PageOrigin::None);
        check(&[("sec-fetch-site", "same-site")], PageOrigin::Other);
        check(&[("sec-fetch-site", "cross-site")], PageOrigin::Other);
        let both = [("origin", "https://ops.example"), ("sec-fetch-site", "cross-site")];
        check(&both, PageOrigin::Named);
    }

    #[test]
    fn the_port_of_a_scheme_may_be_left_out() {
        assert!(is_origin_of("http://localhost", "localhost:80"));
        assert!(is_origin_of("https://a.example", "a.example"));
        assert!(is_origin_of("https://a.example:443", "a.example"));
        assert!(!is_origin_of("http://a.example", "a.example:443"));
    }

    #[test]
    fn json_is_json_with_parameters_and_suffixes() {
        for json in ["application/json", "Application/JSON; charset=utf-8", "application/x+json"] {
            assert!(is_json(json), "{json}");
        }
        for other in ["", "text/plain", "text/plain;application/json", "application/x-json"] {
            assert!(!is_json(other), "{other}");
        }
    }
}
