//! The client with which a server sends notifications: HTTP and mail, under the same network policy
//! as the tools of a worker.
//!
//! Redirects are not followed: a message goes to the address that was written, or nowhere.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use lettre::message::header::ContentType;
use lettre::message::{Mailbox, Message};
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Tls, TlsParameters};
use lettre::{AsyncSmtpTransport, AsyncTransport as _, Tokio1Executor};
use noetl_model::{ErrorKind, ToolError};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, StatusCode};
use serde_json::{Map, Value};
use url::Url;

use crate::kinds::http::auth::{Auth, AuthHeader, is_destination};
use crate::protect::allowed_hosts::AllowedHosts;
use crate::protect::outgoing::{
    ConnectionSettings, Egress, HttpRequest, HttpResponse, Outgoing, Redirects, Unresolved, named,
};
use crate::run::keys::{ToolConfig, scalar_text};
use crate::run::memory::MemoryBudget;

/// The memory for the answer of a receiver.
const ANSWER_BYTES_MAX: usize = 1024 * 1024;
/// The most characters of an answer in an error.
const ANSWER_CHARS_MAX: usize = 200;
/// The time limit of one command to a mail server.
const MAIL_TIMEOUT: Duration = Duration::from_secs(10);
const PORT_SUBMISSION: u16 = 587;
const PORT_TLS: u16 = 465;

/// The reason why a message was not delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Undelivered {
    /// The receiver or the network policy refuses the message: another attempt would fail too.
    Refused(String),
    /// Another attempt may succeed.
    Temporary(String),
    /// The receiver does not answer.
    Unreachable(String),
}

/// The client, shared by all notifications of a server.
pub struct NoticeClient {
    egress: Egress,
    outgoing: Outgoing,
    memory: MemoryBudget,
}

/// A mail to deliver.
#[derive(Debug, Clone)]
pub struct OutgoingMail {
    /// The same for every attempt; becomes the message id.
    pub id: String,
    pub to: Vec<String>,
    pub subject: String,
    pub body: String,
}

impl NoticeClient {
    pub fn new(egress: Egress, proxy_from_environment: bool) -> Self {
        let outgoing = Outgoing::new(egress.clone(), proxy_from_environment);
        Self { egress, outgoing, memory: MemoryBudget::new(ANSWER_BYTES_MAX) }
    }

    /// Calls a URL with a JSON body, if there is one. `credential` authenticates the call.
    pub async fn call(
        &self,
        (method, url): (&str, &str),
        headers: &BTreeMap<String, String>,
        body: Option<&Value>,
        credential: Option<&Map<String, Value>>,
    ) -> Result<(), Undelivered> {
        let refused = |reason: String| Undelivered::Refused(reason);
        let url: Url = url
            .parse()
            .map_err(|error: url::ParseError| refused(format!("`url` is not a URL: {error}")))?;
        let method = Method::from_bytes(method.as_bytes())
            .map_err(|_| refused(format!("`{method}` is not a method")))?;
        let mut request = HttpRequest {
            method,
            url,
            headers: header_map(headers)?,
            body: body.map(|body| body.to_string().into_bytes()),
            redirects: Redirects::Keep,
            connection: ConnectionSettings::default(),
        };
        if body.is_some() && !request.headers.contains_key(CONTENT_TYPE) {
            let json = HeaderValue::from_static("application/json");
            request.headers.insert(CONTENT_TYPE, json);
        }
        let has_other_host = |fields: &&Map<String, Value>| !is_destination(fields, &request.url);
        if credential.filter(has_other_host).is_some() {
            return Err(Undelivered::Refused(
                "the credential names another host than `url`, and is sent only there".to_owned(),
            ));
        }
        if let Some(fields) = credential {
            AllowedHosts::of(fields).check_url(&request.url).map_err(undelivered)?;
        }
        if let Some((name, value)) = credential.map(authentication).transpose()?.flatten() {
            request.headers.insert(name, value);
        }
        let name = named(&request);
        let memory = self.memory.call();
        let response = self.outgoing.send(request, &memory).await.map_err(undelivered)?;
        answered(&name, &response)
    }

    /// Delivers a mail through the server that a credential names.
    pub async fn mail(
        &self,
        mail: &OutgoingMail,
        credential: &Map<String, Value>,
    ) -> Result<(), Undelivered> {
        let server = MailServer::of(credential)?;
        AllowedHosts::of(credential).check(&server.host, server.port).map_err(undelivered)?;
        let message = message_of(mail, &server)?;
        let address = self.address_of(&server.host, server.port).await?;
        let tls = server.tls()?;
        let mut builder =
            AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(address.ip().to_string())
                .port(server.port)
                .tls(tls)
                .timeout(Some(MAIL_TIMEOUT));
        if let Some((user, password)) = server.login {
            builder = builder.credentials(Credentials::new(user, password));
        }
        let host = server.host;
        builder.build().send(message).await.map(|_| ()).map_err(|error| {
            let reason = format!("mail server {host}: {}", in_full(&error));
            if error.is_permanent() {
                Undelivered::Refused(reason)
            } else if error.is_transient() || error.is_response() {
                Undelivered::Temporary(reason)
            } else {
                Undelivered::Unreachable(reason)
            }
        })
    }

    /// Returns an address of a mail server that the network policy allows.
    async fn address_of(&self, host: &str, port: u16) -> Result<SocketAddr, Undelivered> {
        let found = self.egress.resolve(host, port).await.map_err(|error| match error {
            Unresolved::Lookup(error) => {
                Undelivered::Unreachable(format!("cannot resolve mail server {host}: {error}"))
            }
            Unresolved::Blocked(blocked) => {
                Undelivered::Refused(format!("mail server {host} is not allowed: {blocked}"))
            }
        })?;
        Ok(found[0])
    }
}

/// A mail server, as a credential describes it.
struct MailServer {
    host: String,
    port: u16,
    login: Option<(String, String)>,
    from: Mailbox,
    security: MailSecurity,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MailSecurity {
    None,
    StartTls,
    Tls,
}

impl MailServer {
    fn of(fields: &Map<String, Value>) -> Result<Self, Undelivered> {
        let field = |names: &[&str]| {
            let found = names.iter().find_map(|name| fields.get(*name).and_then(scalar_text));
            found.filter(|text| !text.is_empty())
        };
        let refused = |reason: &str| Undelivered::Refused(format!("the credential {reason}"));
        let host =
            field(&["host", "server", "smtp_host"]).ok_or_else(|| refused("has no `host`"))?;
        let port = match field(&["port", "smtp_port"]) {
            Some(port) => port.parse().map_err(|_| refused("has a `port` that is no number"))?,
            None => PORT_SUBMISSION,
        };
        let security = match field(&["security", "tls"]).as_deref() {
            Some("none" | "false") => MailSecurity::None,
            Some("starttls") => MailSecurity::StartTls,
            Some("tls" | "ssl" | "true") => MailSecurity::Tls,
            Some(_) => return Err(refused("has a `security` other than starttls, tls and none")),
            None if port == PORT_TLS => MailSecurity::Tls,
            None => MailSecurity::StartTls,
        };
        let user = field(&["username", "user"]);
        let login = user.clone().zip(field(&["password"]));
        let from = field(&["from", "sender"]).or(user).ok_or_else(|| refused("has no `from`"))?;
        let from = from.parse().map_err(|_| refused("has a `from` that is no address"))?;
        Ok(Self { host, port, login, from, security })
    }

    fn tls(&self) -> Result<Tls, Undelivered> {
        let parameters = || {
            // An error means that a provider is already installed, which is sufficient.
            let _ = rustls::crypto::ring::default_provider().install_default();
            TlsParameters::new(self.host.clone()).map_err(|error| {
                Undelivered::Refused(format!("cannot set up TLS for {}: {error}", self.host))
            })
        };
        Ok(match self.security {
            MailSecurity::None => Tls::None,
            MailSecurity::StartTls => Tls::Required(parameters()?),
            MailSecurity::Tls => Tls::Wrapper(parameters()?),
        })
    }
}

fn message_of(mail: &OutgoingMail, server: &MailServer) -> Result<Message, Undelivered> {
    if mail.to.is_empty() {
        return Err(Undelivered::Refused("`to` names no address".to_owned()));
    }
    let domain = server.from.email.domain();
    let mut builder = Message::builder()
        .from(server.from.clone())
        .subject(mail.subject.clone())
        .message_id(Some(format!("<{}@{domain}>", mail.id)))
        .header(ContentType::TEXT_PLAIN);
    for address in &mail.to {
        let mailbox: Mailbox = address
            .parse()
            .map_err(|_| Undelivered::Refused(format!("`{address}` is not a mail address")))?;
        builder = builder.to(mailbox);
    }
    builder
        .body(mail.body.clone())
        .map_err(|error| Undelivered::Refused(format!("the mail cannot be written: {error}")))
}

fn header_map(headers: &BTreeMap<String, String>) -> Result<HeaderMap, Undelivered> {
    headers
        .iter()
        .map(|(name, value)| {
            let bad =
                || Undelivered::Refused(format!("`{name}` is no header, or its value is none"));
            let value = HeaderValue::from_str(value).map_err(|_| bad())?;
            Ok((HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?, value))
        })
        .collect()
}

/// Returns the header that authenticates a call.
fn authentication(
    fields: &Map<String, Value>,
) -> Result<Option<(HeaderName, HeaderValue)>, Undelivered> {
    let empty = Map::new();
    let keys = ToolConfig::new("http", &empty);
    let refused = |error: ToolError| Undelivered::Refused(error.message);
    match Auth::of(keys, fields).map_err(refused)? {
        Auth::Header(AuthHeader::None) => Ok(None),
        Auth::Header(header) => header.header(keys).map_err(refused),
        Auth::Grant(_) => Err(Undelivered::Refused(
            "a credential of type oauth2 cannot be used here: use bearer, basic or api_key"
                .to_owned(),
        )),
    }
}

/// Judges the answer of a receiver.
fn answered(name: &str, response: &HttpResponse) -> Result<(), Undelivered> {
    let status = response.status;
    if status.is_success() {
        return Ok(());
    }
    let body = String::from_utf8_lossy(&response.body);
    let body: String = body.chars().take(ANSWER_CHARS_MAX).collect();
    let reason = format!("{name} answers with {status}: {body}");
    let is_temporary = status.is_server_error()
        || matches!(
            status,
            StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_EARLY | StatusCode::TOO_MANY_REQUESTS
        );
    if status.is_redirection() {
        return Err(Undelivered::Refused(format!(
            "{name} answers with a redirect ({status}), which is not followed: set `url` to the \
             address it leads to"
        )));
    }
    Err(if is_temporary { Undelivered::Temporary(reason) } else { Undelivered::Refused(reason) })
}

fn undelivered(error: ToolError) -> Undelivered {
    match error.kind {
        ErrorKind::Config | ErrorKind::ClientError | ErrorKind::Policy => {
            Undelivered::Refused(error.message)
        }
        ErrorKind::Connection | ErrorKind::Timeout => Undelivered::Unreachable(error.message),
        ErrorKind::Auth
        | ErrorKind::Child
        | ErrorKind::DbConnection
        | ErrorKind::DbConstraint
        | ErrorKind::DbDeadlock
        | ErrorKind::DbTimeout
        | ErrorKind::Exception
        | ErrorKind::Limit
        | ErrorKind::NotFound
        | ErrorKind::Parse
        | ErrorKind::RateLimit
        | ErrorKind::Rejected
        | ErrorKind::Schema
        | ErrorKind::ServerError
        | ErrorKind::StorageAccess
        | ErrorKind::StorageQuota
        | ErrorKind::Template
        | ErrorKind::Transform
        | ErrorKind::Unknown
        | ErrorKind::WorkerLost => Undelivered::Temporary(error.message),
    }
}

fn in_full(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |said, cause| format!("{said}: {cause}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn a_notice_is_not_sent_to_an_address_that_the_network_policy_refuses() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("it listens").port();
        let client = NoticeClient::new(Egress::Public, false);
        let body = json!({ "status": "FAILED" });
        for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "169.254.169.254"] {
            let url = format!("http://{host}:{port}/");
            let none = BTreeMap::new();
            let sent = client.call(("POST", &url), &none, Some(&body), None).await;
            assert!(matches!(sent, Err(Undelivered::Refused(_))), "{host}: {sent:?}");
        }
        let mail = OutgoingMail {
            id: "1".into(),
            to: vec!["ada@example.com".into()],
            subject: "s".into(),
            body: "b".into(),
        };
        let server = json!({
            "host": "127.0.0.1", "port": port, "security": "none", "from": "noetl@example.com"
        });
        let sent = client.mail(&mail, server.as_object().expect("a map")).await;
        assert!(matches!(sent, Err(Undelivered::Refused(_))), "{sent:?}");
        let connected = tokio::time::timeout(Duration::from_millis(100), listener.accept()).await;
        assert!(connected.is_err(), "somebody has connected");
    }

    fn client() -> NoticeClient {
        NoticeClient::new(Egress::Any, false)
    }

    #[track_caller]
    fn check_refused(sent: Result<(), Undelivered>) {
        let Err(Undelivered::Refused(reason)) = sent else { panic!("{sent:?}") };
        assert!(reason.starts_with("the credential may not be sent to"), "{reason}");
    }

    #[tokio::test]
    async fn a_credential_of_a_call_is_sent_to_the_hosts_of_its_policy_only() {
        let fields = json!({"type": "bearer", "token": "t", "_hosts": ["api.example"]});
        let target = ("POST", "http://127.0.0.1:1/hook");
        let nothing = BTreeMap::new();
        check_refused(client().call(target, &nothing, None, fields.as_object()).await);
        // The secret address of a webhook has no other credential.
        let address = json!({"type": "none", "_hosts": ["api.example"]});
        check_refused(client().call(target, &nothing, None, address.as_object()).await);
        let allowed = json!({"type": "none", "_hosts": ["127.0.0.1:1"]});
        let sent = client().call(target, &nothing, None, allowed.as_object()).await;
        assert!(matches!(sent, Err(Undelivered::Unreachable(_))), "{sent:?}");
    }

    #[tokio::test]
    async fn a_login_of_a_mail_server_is_sent_to_the_hosts_of_its_policy_only() {
        let fields = json!({
            "host": "127.0.0.1", "port": 1, "username": "a@b.example", "password": "p",
            "_hosts": ["mail.example"],
        });
        let mail = OutgoingMail {
            id: "1".to_owned(),
            to: vec!["c@d.example".to_owned()],
            subject: "s".to_owned(),
            body: "b".to_owned(),
        };
        check_refused(client().mail(&mail, fields.as_object().expect("a map")).await);
    }
}
