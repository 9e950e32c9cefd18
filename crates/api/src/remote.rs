//! A control plane over HTTP: the client side of the native worker protocol.

mod held_secrets;
mod intake_control;
mod report_body;
mod worker_token;

use std::error::Error as StdError;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt as _;
use noetl_model::{
    HeartbeatAnswer, Held, Lease, LogAnswer, LogBatch, PayloadRef, Report, ReportAnswer, WorkerId,
};
use reqwest::header::CONTENT_TYPE;
use reqwest::{RequestBuilder, Response, StatusCode};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::sync::broadcast;
use url::Url;

use self::held_secrets::HeldSecrets;
use self::report_body::report_bodies;
use self::worker_token::WorkerToken;

use crate::wire::{
    HeartbeatCall, HeartbeatReply, LeaseCall, LeaseReply, LogsCall, LogsReply, PoolRegistration,
    ReleaseCall, ReleaseReply, ReportReply,
};
use crate::{
    Cancellation, ClientTls, ControlError, ControlPlane, LEASE_HEADER, LeaseRequest, WorkerNotice,
};

/// Time allowed for an answer, in addition to the wait that the request asks for.
const ANSWER_WAIT: Duration = Duration::from_secs(30);
/// Time an idle connection is kept: shorter than the server's, so that no request is sent on a
/// connection that is being closed.
const IDLE_MAX: Duration = Duration::from_secs(20);
/// Pause before reconnecting to the stream of cancellations.
const LISTEN_AGAIN: Duration = Duration::from_secs(1);
/// Capacity of the channel of cancellations, for a slow worker.
const CANCELLATIONS_MAX: usize = 1024;
/// The most secrets that are sent when a worker ends.
const RELEASE_PROOFS_MAX: usize = 1000;
/// Maximum length of one line of the stream, in bytes.
const LINE_MAX: usize = 64 * 1024;

/// The part of a credential that tools use.
#[derive(Deserialize)]
struct DeliveredCredential {
    #[serde(rename = "type")]
    kind: String,
    data: Map<String, Value>,
}

/// A control plane at an address.
pub struct RemoteControl {
    http: reqwest::Client,
    base: Url,
    token: WorkerToken,
    cancellations: broadcast::Sender<Cancellation>,
    secrets: HeldSecrets,
}

impl RemoteControl {
    /// Creates a client of the control plane at `base`, such as `http://localhost:8082`. The token
    /// is sent with every request.
    pub fn new(base: Url, token: Option<String>) -> Result<Self, ControlError> {
        Self::with_tls(base, token, &ClientTls::default())
    }

    /// Creates a client with its own certificates.
    pub fn with_tls(
        base: Url,
        token: Option<String>,
        tls: &ClientTls,
    ) -> Result<Self, ControlError> {
        let builder = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .pool_idle_timeout(IDLE_MAX);
        let builder = tls.apply(builder).map_err(ControlError::unavailable)?;
        let http = builder.build().map_err(ControlError::unavailable)?;
        let cancellations = broadcast::Sender::new(CANCELLATIONS_MAX);
        Ok(Self {
            http,
            base,
            token: WorkerToken::new(token),
            cancellations,
            secrets: HeldSecrets::new(),
        })
    }

    /// Forwards cancellations to the subscribers for as long as the future is polled.
    pub async fn hear(&self) {
        loop {
            if let Err(error) = self.listen().await {
                tracing::debug!(%error, "cannot listen for cancellations; heartbeats report them");
            }
            tokio::time::sleep(LISTEN_AGAIN).await;
        }
    }

    async fn listen(&self) -> Result<(), ControlError> {
        let request = self.http.get(self.at("api/worker/cancellations")?);
        let response = answered(self.sent(request).await?).await?;
        let mut chunks = response.bytes_stream();
        let mut line = Vec::new();
        while let Some(chunk) = chunks.next().await {
            for byte in chunk.map_err(ControlError::unavailable)? {
                if byte != b'\n' {
                    line.push(byte);
                } else {
                    self.pass_on(&line);
                    line.clear();
                }
                if line.len() > LINE_MAX {
                    return Err(ControlError::Refused { reason: "a line has no end".to_owned() });
                }
            }
        }
        Ok(())
    }

    fn pass_on(&self, line: &[u8]) {
        let data = line.strip_prefix(b"data:");
        if let Some(cancelled) = data.and_then(|data| serde_json::from_slice(data).ok()) {
            // Sending fails only without a receiver: before the worker starts or after it ends.
            let _unheard = self.cancellations.send(cancelled);
        }
    }

    async fn call<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
        wait: Duration,
    ) -> Result<T, ControlError> {
        let request = self.http.post(self.at(path)?).json(body).timeout(wait + ANSWER_WAIT);
        let response = answered(self.sent(request).await?).await?;
        response.json().await.map_err(ControlError::unavailable)
    }

    /// Posts a body that is JSON already.
    async fn call_with<T: DeserializeOwned>(
        &self,
        path: &str,
        json: Vec<u8>,
    ) -> Result<T, ControlError> {
        let request = self.http.post(self.at(path)?).header(CONTENT_TYPE, "application/json");
        let response = answered(self.sent(request.body(json).timeout(ANSWER_WAIT)).await?).await?;
        response.json().await.map_err(ControlError::unavailable)
    }

    /// Sends a request with the token of the worker. One that the server no longer knows is replaced,
    /// once.
    async fn sent(&self, request: RequestBuilder) -> Result<Response, ControlError> {
        let Some(token) = self.token.get(&self.http, &self.base).await else {
            return request.send().await.map_err(ControlError::unavailable);
        };
        let again = request.try_clone();
        let sent = request.bearer_auth(&token).send().await.map_err(ControlError::unavailable)?;
        match again {
            Some(again)
                if sent.status() == StatusCode::UNAUTHORIZED
                    && self.token.refused(&token).await =>
            {
                let token = self.token.get(&self.http, &self.base).await.unwrap_or(token);
                again.bearer_auth(token).send().await.map_err(ControlError::unavailable)
            }
            Some(_) | None => Ok(sent),
        }
    }

    /// Returns a request for something that a command needs.
    fn get_for(&self, held: Held, url: Url) -> RequestBuilder {
        let request = self.http.get(url).timeout(ANSWER_WAIT);
        match self.secrets.proof(held) {
            Some(proof) => request.header(LEASE_HEADER, proof.to_string()),
            None => request,
        }
    }

    /// Keeps the secrets of the commands that were leased with reports.
    fn keep_continued(&self, reports: &[Report], answers: &[ReportAnswer]) {
        for (report, answer) in reports.iter().zip(answers) {
            match answer {
                ReportAnswer::Continued(lease) => self.secrets.keep(&report.worker, lease),
                ReportAnswer::Accepted
                | ReportAnswer::Superseded
                | ReportAnswer::Unknown
                | ReportAnswer::Refused { .. } => {}
            }
        }
    }

    fn at(&self, path: &str) -> Result<Url, ControlError> {
        self.base.join(path).map_err(|error| ControlError::Refused { reason: error.to_string() })
    }
}

/// Returns a successful response, or its problem document as an error.
async fn answered(response: Response) -> Result<Response, ControlError> {
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let problem: Value = response.json().await.unwrap_or_default();
    let reason = problem["detail"].as_str().unwrap_or("no reason given").to_owned();
    let passes = status.is_server_error()
        || [StatusCode::TOO_MANY_REQUESTS, StatusCode::REQUEST_TIMEOUT].contains(&status);
    let reason = format!("{status}: {reason}");
    Err(if passes {
        ControlError::unavailable(Box::<dyn StdError + Send + Sync>::from(reason))
    } else {
        ControlError::Refused { reason }
    })
}

#[async_trait]
impl ControlPlane for RemoteControl {
    async fn lease(&self, request: LeaseRequest) -> Result<Vec<Lease>, ControlError> {
        let LeaseRequest { worker, pool, scope, max, wait } = request;
        self.token.set_worker(&worker, &pool);
        let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        let call = LeaseCall { worker, pool, scope, max, wait_ms };
        let reply: LeaseReply = self.call("api/worker/lease", &call, wait).await?;
        reply.leases.iter().for_each(|lease| self.secrets.keep(&call.worker, lease));
        Ok(reply.leases)
    }

    async fn heartbeat(
        &self,
        worker: &WorkerId,
        held: &[Held],
    ) -> Result<Vec<HeartbeatAnswer>, ControlError> {
        let call = HeartbeatCall {
            worker: worker.clone(),
            held: held.to_vec(),
            proofs: self.secrets.proofs(held.iter().copied()),
        };
        let reply: HeartbeatReply =
            self.call("api/worker/heartbeat", &call, Duration::ZERO).await?;
        Ok(reply.answers)
    }

    async fn report(&self, reports: &[Report]) -> Result<Vec<ReportAnswer>, ControlError> {
        let mut answers = Vec::with_capacity(reports.len());
        for body in report_bodies(reports) {
            let count = body.count;
            let sent = &reports[answers.len()..answers.len() + count];
            let proofs = self.secrets.proofs(sent.iter().map(Held::from));
            match self.call_with::<ReportReply>("api/worker/report", body.closed(&proofs)).await {
                Ok(reply) => {
                    self.keep_continued(sent, &reply.answers);
                    answers.extend(reply.answers);
                }
                // The reports of the other requests are not affected.
                Err(ControlError::Refused { reason }) if count < reports.len() => {
                    answers.extend(vec![ReportAnswer::Refused { reason }; count]);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(answers)
    }

    async fn logs(&self, batches: &[LogBatch]) -> Result<Vec<LogAnswer>, ControlError> {
        let call = LogsCall {
            batches: batches.to_vec(),
            proofs: self.secrets.proofs(batches.iter().map(|batch| batch.source.held())),
        };
        let reply: LogsReply = self.call("api/worker/logs", &call, Duration::ZERO).await?;
        Ok(reply.answers)
    }

    async fn payload(
        &self,
        held: Held,
        reference: &PayloadRef,
    ) -> Result<Arc<Value>, ControlError> {
        let url = self.at(&format!("api/payloads/{}", reference.digest))?;
        let response = self.sent(self.get_for(held, url)).await?;
        if response.status() == StatusCode::NOT_FOUND {
            return Err(ControlError::PayloadMissing(*reference));
        }
        let value = answered(response).await?.json().await;
        value.map(Arc::new).map_err(ControlError::unavailable)
    }

    async fn named_result(&self, held: Held, name: &str) -> Result<Arc<Value>, ControlError> {
        let mut url = self.at("api/result/resolve")?;
        url.query_pairs_mut().append_pair("ref", name);
        let response = self.sent(self.get_for(held, url)).await?;
        if response.status() == StatusCode::NOT_FOUND {
            return Err(ControlError::ResultMissing(name.to_owned()));
        }
        let value = answered(response).await?.json().await;
        value.map(Arc::new).map_err(ControlError::unavailable)
    }

    async fn announce(&self, notice: &WorkerNotice) -> Result<(), ControlError> {
        self.token.set_worker(&notice.worker, &notice.pool);
        let call = PoolRegistration::of(notice);
        let _kept: Value = self.call("api/worker/pool/register", &call, Duration::ZERO).await?;
        Ok(())
    }

    async fn release(&self, worker: &WorkerId) -> Result<(), ControlError> {
        let call = ReleaseCall {
            worker: worker.clone(),
            proofs: self.secrets.proofs_of(worker, RELEASE_PROOFS_MAX),
        };
        let ReleaseReply { released: _ } =
            self.call("api/worker/release", &call, Duration::ZERO).await?;
        Ok(())
    }

    async fn credential(
        &self,
        held: Held,
        alias: &str,
    ) -> Result<Map<String, Value>, ControlError> {
        let mut url = self.at("api/credentials")?;
        if let Ok(mut path) = url.path_segments_mut() {
            path.push(alias);
        }
        url.query_pairs_mut()
            .append_pair("include_data", "true")
            .append_pair("execution_id", &held.execution.to_string());
        let response = self.sent(self.get_for(held, url)).await?;
        if response.status() == StatusCode::NOT_FOUND {
            return Err(ControlError::CredentialMissing(alias.to_owned()));
        }
        let answer = answered(response).await?.json().await;
        let DeliveredCredential { kind, mut data } = answer.map_err(ControlError::unavailable)?;
        data.entry("type").or_insert(Value::String(kind));
        Ok(data)
    }

    fn cancellations(&self) -> broadcast::Receiver<Cancellation> {
        self.cancellations.subscribe()
    }
}
