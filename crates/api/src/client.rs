//! A client of the public HTTP API, as used by the command line.
//!
//! Invariant: calls that may be repeated are repeated if the server asks for it. Other calls are
//! repeated only if the server rejected them before doing anything.

use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBuilder};
use noetl_model::{
    Actor, CatalogId, ChildExecutions, ExecutionId, PayloadRef, Recorded, Seq, SignalName,
};
use reqwest::header::RETRY_AFTER;
use reqwest::{Certificate, Method, Response, StatusCode};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use url::Url;

use crate::AnyId;
use crate::wire::{
    Dedup, ExecuteAnswer, ExecuteRequest, ForkAnswer, ForkBody, KeyedSignalAnswer,
    KeyedSignalQuery, LogEntry, LogQuery, LogReply, SignalQuery, StepLogQuery, SummariesQuery,
    SummariesReply, SummaryReply, Verification, VerificationQuery,
};

/// Time allowed for an answer, in addition to the wait that the request asks for.
const ANSWER_WAIT: Duration = Duration::from_secs(30);
const CONNECT_WAIT: Duration = Duration::from_secs(10);
/// The number of retries of a call that may be repeated.
const RETRIES_MAX: usize = 3;
/// The delay before the first retry; it doubles with each further one.
const RETRY_DELAY: Duration = Duration::from_millis(250);
/// The longest delay, whatever a server asks for.
const DELAY_MAX: Duration = Duration::from_secs(10);

/// Timeout for verifying an execution of a million events.
const VERIFY_WAIT: Duration = Duration::from_mins(10);

/// Address, token and certificates for reaching a server.
#[derive(Debug, Clone)]
pub struct ClientSettings {
    /// Base URL, such as `https://noetl.example.org:8082`.
    pub base: Url,
    /// Bearer token, sent with every request.
    pub token: Option<String>,
    /// The name of the person or program, sent with every request.
    pub actor: Option<Actor>,
    /// Certificate authorities to trust in addition to the default ones, in PEM.
    pub ca: Option<Vec<u8>>,
}

/// The readiness of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerReadiness {
    pub is_ready: bool,
    /// Causes of the failed readiness checks, one per check.
    pub causes: Vec<String>,
}

/// The error of a call to a server.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("the authority's certificate is not PEM")]
    Ca(#[source] reqwest::Error),
    #[error("cannot set up HTTP")]
    Setup(#[source] reqwest::Error),
    #[error("{base} cannot be reached")]
    Unreachable {
        base: Url,
        #[source]
        source: reqwest::Error,
    },
    /// The server refused the request; `detail` is its explanation.
    #[error("{detail}")]
    Refused { status: u16, code: String, detail: String },
    #[error("{base} does not answer like a noetl server")]
    Foreign { base: Url },
}

/// The catalog entry that a registered playbook was stored as.
#[derive(Debug, Clone, Deserialize)]
pub struct RegisteredAs {
    pub catalog_id: AnyId,
    pub path: String,
    pub version: u32,
}

/// A playbook of the catalog.
#[derive(Debug, Clone, Deserialize)]
pub struct CatalogItem {
    pub catalog_id: AnyId,
    pub path: String,
    pub version: u32,
    pub kind: String,
    /// The playbook's text; absent in lists.
    #[serde(default)]
    pub content: Option<String>,
    pub created_at: String,
    /// The time at which the playbook was archived; `None` if it is active.
    #[serde(default)]
    pub archived_at: Option<String>,
}

#[derive(Deserialize)]
struct CatalogItems {
    entries: Vec<CatalogItem>,
}

/// The condition under which a call may be repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Repeat {
    Always,
    /// Repeat only if the server rejected the request unread.
    TurnedAway,
}

/// A client of the server at one address.
#[derive(Debug, Clone)]
pub struct Client {
    http: reqwest::Client,
    base: Url,
    token: Option<String>,
}

impl Client {
    pub fn new(settings: ClientSettings) -> Result<Self, ClientError> {
        let ClientSettings { mut base, token, actor, ca } = settings;
        // Relative paths are joined after the base's last slash, so a base with a path needs one at
        // its end.
        if !base.path().ends_with('/') {
            base.set_path(&format!("{}/", base.path()));
        }
        let mut builder = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT_WAIT);
        if let Some(name) =
            actor.as_ref().and_then(|actor| crate::actor_header::actor_header(actor.as_str()))
        {
            builder = builder.default_headers([(crate::ACTOR_HEADER, name)].into_iter().collect());
        }
        if let Some(ca) = ca {
            for authority in Certificate::from_pem_bundle(&ca).map_err(ClientError::Ca)? {
                builder = builder.add_root_certificate(authority);
            }
        }
        let http = builder.build().map_err(ClientError::Setup)?;
        Ok(Self { http, base, token })
    }

    pub fn base(&self) -> &Url {
        &self.base
    }

    /// Returns the server's answer to `GET /api/health`.
    pub async fn health(&self) -> Result<Value, ClientError> {
        self.get("api/health", Duration::ZERO).await
    }

    /// Loads the server's readiness and the causes of its failed checks.
    pub async fn readiness(&self) -> Result<ServerReadiness, ClientError> {
        let answer = self.once(Method::GET, "readyz", None, Duration::ZERO).await?;
        let is_ready = answer.status().is_success();
        let source = |source: reqwest::Error| source.without_url();
        let body = answer.bytes().await.map_err(|error| ClientError::Unreachable {
            base: self.base.clone(),
            source: source(error),
        })?;
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        let checks = body["checks"].as_array().cloned().unwrap_or_default();
        let failed = checks.iter().filter(|check| check["ok"] == false);
        let causes = failed.map(|check| {
            let cause = check["cause"].as_str().or(check["name"].as_str());
            cause.unwrap_or("an unnamed check").to_owned()
        });
        Ok(ServerReadiness { is_ready, causes: causes.collect() })
    }

    /// True if the server shows the web interface: its login is a page, or leads to another one.
    pub async fn shows_pages(&self) -> bool {
        let answer = self.once(Method::GET, "ui/login", None, Duration::ZERO).await;
        let status = answer.map(|answer| answer.status());
        status.is_ok_and(|status| status.is_success() || status.is_redirection())
    }

    /// Registers a playbook. Registering the same text again returns the same version.
    pub async fn register(&self, content: &str) -> Result<RegisteredAs, ClientError> {
        let body = json!({ "content": content, "resource_type": "Playbook" });
        self.post("api/catalog/register", &body, Repeat::Always).await
    }

    /// Lists playbooks ordered by path, skipping the first `offset`.
    pub async fn catalog(
        &self,
        path: Option<&str>,
        archived: bool,
        limit: usize,
        offset: usize,
    ) -> Result<Vec<CatalogItem>, ClientError> {
        let body = json!({
            "path": path, "archived": archived, "limit": limit, "offset": offset,
        });
        let CatalogItems { entries } = self.post("api/catalog/list", &body, Repeat::Always).await?;
        Ok(entries)
    }

    /// Loads a playbook with its text, in its newest version unless one is named; `None` if absent.
    pub async fn catalog_item(
        &self,
        path: &str,
        version: Option<u32>,
    ) -> Result<Option<CatalogItem>, ClientError> {
        let body = json!({ "path": path, "version": version });
        found(self.post("api/catalog/resource", &body, Repeat::Always).await)
    }

    /// Archives the playbook at a path, or restores it.
    pub async fn set_archived(&self, path: &str, archived: bool) -> Result<(), ClientError> {
        let route = if archived { "api/catalog/delete" } else { "api/catalog/restore" };
        let _answer: Value = self.post(route, &json!({ "path": path }), Repeat::Always).await?;
        Ok(())
    }

    /// Starts an execution once, even if the request is repeated because an answer was lost: a
    /// request without a start key gets one that no other request has.
    pub async fn start(&self, mut request: ExecuteRequest) -> Result<ExecutionId, ClientError> {
        request.dedup.get_or_insert_with(Dedup::unique);
        let answer: ExecuteAnswer = self.post("api/execute", &request, Repeat::Always).await?;
        answer.execution_id.parse().map_err(|_| self.foreign())
    }

    pub async fn summary(
        &self,
        execution: ExecutionId,
    ) -> Result<Option<SummaryReply>, ClientError> {
        let path = format!("api/native/executions/{execution}");
        found(self.get(&path, Duration::ZERO).await)
    }

    /// Loads a page of executions, newest first.
    pub async fn summaries(&self, query: &SummariesQuery) -> Result<SummariesReply, ClientError> {
        let path = with_query("api/native/executions", query);
        self.get(&path, Duration::ZERO).await
    }

    /// Loads events after `after`; waits up to `wait` for the first one.
    pub async fn events(
        &self,
        execution: ExecutionId,
        after: Seq,
        wait: Duration,
    ) -> Result<Vec<Recorded>, ClientError> {
        let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        let query = LogQuery { after: after.0, wait_ms };
        let path = with_query(&format!("api/native/executions/{execution}/events"), &query);
        let reply: LogReply = self.get(&path, wait).await?;
        Ok(reply.events)
    }

    /// Streams the output of an execution's steps, from the position of `query` on.
    pub async fn step_logs(
        &self,
        execution: ExecutionId,
        query: &StepLogQuery,
    ) -> Result<StreamedLogEntries, ClientError> {
        let path = with_query(&format!("api/executions/{execution}/logs"), query);
        let url = self.base.join(&path).map_err(|_| self.foreign())?;
        let mut request = self.http.get(url);
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        let sent = request.send().await;
        let response = sent.map_err(|source| self.unreachable(source))?;
        if !response.status().is_success() {
            let _: Value = self.read(response).await?;
            return Err(self.foreign());
        }
        Ok(StreamedLogEntries { base: self.base.clone(), response, begun: Vec::new() })
    }

    fn unreachable(&self, source: reqwest::Error) -> ClientError {
        ClientError::Unreachable { base: self.base.clone(), source: source.without_url() }
    }

    /// Loads a payload that is stored by reference.
    pub async fn payload(&self, reference: &PayloadRef) -> Result<Value, ClientError> {
        self.get(&format!("api/payloads/{}", reference.digest), Duration::ZERO).await
    }

    /// Cancels an execution, and its descendants if `below` says so.
    pub async fn cancel(
        &self,
        execution: ExecutionId,
        reason: &str,
        below: ChildExecutions,
    ) -> Result<(), ClientError> {
        let path = format!("api/executions/{execution}/cancel");
        let body = json!({ "reason": reason, "cascade": below.is_cancelled() });
        let _told: Value = self.post(&path, &body, Repeat::TurnedAway).await?;
        Ok(())
    }

    /// Sends a signal to an execution. A signal with a key is repeated until it is answered.
    pub async fn signal(
        &self,
        execution: ExecutionId,
        name: &SignalName,
        body: &Value,
        query: &SignalQuery,
    ) -> Result<(), ClientError> {
        let path = with_query(&format!("api/executions/{execution}/signals/{name}"), query);
        let has_key = query.idempotency_key.is_some();
        let repeat = if has_key { Repeat::Always } else { Repeat::TurnedAway };
        let _told: Value = self.post(&path, body, repeat).await?;
        Ok(())
    }

    /// Sends a signal to the step that waits with a correlation key. A signal with an idempotency key
    /// is repeated until it is answered.
    pub async fn signal_by_key(
        &self,
        name: &SignalName,
        body: &Value,
        query: &KeyedSignalQuery,
    ) -> Result<KeyedSignalAnswer, ClientError> {
        let path = with_query(&format!("api/signals/{name}"), query);
        let has_key = query.idempotency_key.is_some();
        let repeat = if has_key { Repeat::Always } else { Repeat::TurnedAway };
        self.post(&path, body, repeat).await
    }

    /// Forks an execution; returns the id of the new one.
    pub async fn fork(
        &self,
        origin: ExecutionId,
        body: &ForkBody,
    ) -> Result<ExecutionId, ClientError> {
        let path = format!("api/executions/{origin}/fork");
        let answer: ForkAnswer = self.post(&path, body, Repeat::TurnedAway).await?;
        Ok(answer.execution_id.into())
    }

    /// Verifies the stored events of an execution against their digests.
    pub async fn verification(
        &self,
        execution: ExecutionId,
        query: &VerificationQuery,
    ) -> Result<Verification, ClientError> {
        let path = with_query(&format!("api/executions/{execution}/verify"), query);
        self.get(&path, VERIFY_WAIT).await
    }

    /// Calls a route that has no method here; the call is repeated on failure, so the route must be
    /// idempotent. Returns null for an answer without a body.
    pub async fn ask<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        wait: Duration,
    ) -> Result<T, ClientError> {
        self.call(method, path, body, wait, Repeat::Always).await
    }

    async fn get<T: DeserializeOwned>(&self, path: &str, wait: Duration) -> Result<T, ClientError> {
        self.call(Method::GET, path, None, wait, Repeat::Always).await
    }

    async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
        repeat: Repeat,
    ) -> Result<T, ClientError> {
        let body = serde_json::to_value(body).expect("our bodies are plain data");
        self.call(Method::POST, path, Some(&body), Duration::ZERO, repeat).await
    }

    async fn call<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        wait: Duration,
        repeat: Repeat,
    ) -> Result<T, ClientError> {
        let retries = ExponentialBuilder::new()
            .with_min_delay(RETRY_DELAY)
            .with_max_times(RETRIES_MAX)
            .with_jitter();
        let mut delays = retries.build();
        loop {
            let answer = self.once(method.clone(), path, body, wait).await;
            let asked = match &answer {
                Ok(response) => wants_again(response, repeat),
                // Without a connection the server has received nothing, so every call may be
                // repeated.
                Err(ClientError::Unreachable { source, .. }) => {
                    (repeat == Repeat::Always || source.is_connect()).then_some(None)
                }
                Err(_) => None,
            };
            match asked.and_then(|asked| Some(asked.unwrap_or(delays.next()?))) {
                Some(delay) => tokio::time::sleep(delay.min(DELAY_MAX)).await,
                None => return self.read(answer?).await,
            }
        }
    }

    async fn once(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        wait: Duration,
    ) -> Result<Response, ClientError> {
        let url = self.base.join(path).map_err(|_| self.foreign())?;
        let mut request = self.http.request(method, url).timeout(wait + ANSWER_WAIT);
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        if let Some(body) = body {
            request = request.json(body);
        }
        let base = || self.base.clone();
        request.send().await.map_err(|source| ClientError::Unreachable { base: base(), source })
    }

    async fn read<T: DeserializeOwned>(&self, response: Response) -> Result<T, ClientError> {
        let status = response.status();
        let bytes = response.bytes().await;
        let bytes = bytes.map_err(|source| ClientError::Unreachable {
            base: self.base.clone(),
            source: source.without_url(),
        })?;
        if status.is_success() {
            let bytes = if bytes.is_empty() { &b"null"[..] } else { &bytes[..] };
            return serde_json::from_slice(bytes).map_err(|_| self.foreign());
        }
        let problem: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        match (problem["code"].as_str(), problem["detail"].as_str()) {
            (Some(code), Some(detail)) => Err(ClientError::Refused {
                status: status.as_u16(),
                code: code.to_owned(),
                detail: detail.to_owned(),
            }),
            _ => Err(self.foreign()),
        }
    }

    fn foreign(&self) -> ClientError {
        ClientError::Foreign { base: self.base.clone() }
    }
}

/// The output of steps as a server sends it.
#[derive(Debug)]
pub struct StreamedLogEntries {
    base: Url,
    response: Response,
    /// The beginning of a line whose end was not received yet.
    begun: Vec<u8>,
}

impl StreamedLogEntries {
    /// Waits for the next entries; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<Vec<LogEntry>>, ClientError> {
        loop {
            let chunk = self.response.chunk().await.map_err(|source| ClientError::Unreachable {
                base: self.base.clone(),
                source: source.without_url(),
            })?;
            let Some(chunk) = chunk else { return Ok(None) };
            self.begun.extend_from_slice(&chunk);
            let Some(end) = self.begun.iter().rposition(|byte| *byte == b'\n') else { continue };
            let rest = self.begun.split_off(end + 1);
            let lines = std::mem::replace(&mut self.begun, rest);
            let lines = lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
            let entries = lines.map(serde_json::from_slice).collect::<Result<Vec<LogEntry>, _>>();
            let foreign = |_| ClientError::Foreign { base: self.base.clone() };
            return entries.map(Some).map_err(foreign);
        }
    }
}

/// Decides if a call is repeated; `Some(Some(pause))` if the server also names the pause.
fn wants_again(response: &Response, repeat: Repeat) -> Option<Option<Duration>> {
    let again = match response.status() {
        StatusCode::TOO_MANY_REQUESTS => true,
        StatusCode::SERVICE_UNAVAILABLE => repeat == Repeat::Always,
        _ => false,
    };
    let after = response.headers().get(RETRY_AFTER).and_then(|after| after.to_str().ok());
    let after = after.and_then(|after| after.parse().ok()).map(Duration::from_secs);
    again.then_some(after)
}

/// Turns status 404 into `None`.
fn found<T>(answer: Result<T, ClientError>) -> Result<Option<T>, ClientError> {
    match answer {
        Ok(found) => Ok(Some(found)),
        Err(ClientError::Refused { status: 404, .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

fn with_query(path: &str, query: &impl Serialize) -> String {
    let mut text = url::form_urlencoded::Serializer::new(String::new());
    let query = serde_json::to_value(query).expect("our queries are plain data");
    for (name, value) in query.as_object().into_iter().flatten() {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        text.append_pair(name, &value);
    }
    format!("{path}?{}", text.finish())
}

impl From<RegisteredAs> for CatalogId {
    fn from(registered: RegisteredAs) -> Self {
        registered.catalog_id.into()
    }
}

#[cfg(test)]
mod tests;
