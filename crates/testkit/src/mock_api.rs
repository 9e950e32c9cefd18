//! A web service with pages, failures, rate limits and delays, for playbooks that call one.
//!
//! Answers depend only on the request, apart from resettable counters, one-second windows and
//! random filler text.

mod chain;
mod failures;
mod heavy;
mod lists;
mod patients;
mod pft;
mod probe;
mod query;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use axum::Router;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use md5::{Digest as _, Md5};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use failures::{PageRequests, RateWindow};
use probe::Probe;

/// The default number of requests a second on the patient records and flow routes.
const RATE_LIMIT: i64 = 50;

/// The service, on its own port until it is dropped.
pub struct MockApi {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    serving: Option<JoinHandle<()>>,
}

impl MockApi {
    /// Starts the service on a free local port.
    pub fn start() -> Self {
        let (stop, stopped) = oneshot::channel();
        let (found, address) = std::sync::mpsc::channel();
        let serving = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime starts").block_on(async move {
                let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
                found.send(listener.local_addr()).expect("its starter waits");
                let stopped = async { drop(stopped.await) };
                let served = axum::serve(listener, router()).with_graceful_shutdown(stopped);
                // Open requests still get an answer; nothing joins this thread.
                let _ended = served.await;
            });
        });
        let address = address.recv().expect("it starts").expect("it has an address");
        Self { address, stop: Some(stop), serving: Some(serving) }
    }

    /// Returns the base URL, without a trailing slash.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for MockApi {
    fn drop(&mut self) {
        drop(self.stop.take());
        drop(self.serving.take());
    }
}

/// The state of the service between requests.
#[derive(Default)]
struct MockState {
    attempts: Mutex<PageRequests>,
    probe: Mutex<Probe>,
    limited: Mutex<RateWindow>,
    records: Mutex<RateWindow>,
    flow: Mutex<RateWindow>,
}

type SharedMockState = axum::extract::State<Arc<MockState>>;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn router() -> Router {
    Router::new()
        .route("/health", get(lists::health))
        .route("/api/v1/assessments", get(lists::assessments))
        .route("/api/v1/users", get(lists::users))
        .route("/api/v1/events", get(lists::events))
        .route("/api/v1/flaky", get(failures::flaky))
        .route("/api/v1/flaky/reset", post(failures::reset))
        .route("/api/v1/flaky/stats", get(failures::stats))
        .route("/api/v1/errors", get(failures::errors))
        .route("/api/v1/rate-limited", get(failures::rate_limited))
        .route("/api/v1/concurrency/reset", post(probe::reset))
        .route("/api/v1/concurrency/probe", get(probe::probe))
        .route("/api/v1/concurrency/stats", get(probe::stats))
        .route("/api/v1/heavy", get(heavy::heavy))
        .route("/api/v1/heavy/stats", get(heavy::stats))
        .route("/api/v1/reference-chain/items", get(chain::items))
        .route("/api/v1/reference-chain/detail/{record_id}", get(chain::detail))
        .route("/api/v1/patient-records", get(patients::records))
        .route("/api/v1/patient/demographics", get(pft::demographics))
        .route("/api/v1/patient/{data_type}", get(pft::patient))
        .route("/api/v1/mds/assessment_ids", get(pft::assessment_ids))
        .route("/api/v1/mds/assessment/{assessment_id}", get(pft::assessment))
        .route("/api/v1/pft/mds/details", get(pft::details))
        .route("/api/v1/pft/batch/{data_type}", get(pft::batch))
        .route("/api/internal/callback", post(lists::health))
        .route("/api/internal/callback/async", post(lists::health))
        .fallback(|| async { MockResponse::detail(StatusCode::NOT_FOUND, "Not Found") })
        .method_not_allowed_fallback(|| async {
            MockResponse::detail(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed")
        })
        .with_state(Arc::default())
}

/// A JSON response with a status and an optional `Retry-After`.
#[derive(Debug)]
struct MockResponse {
    status: StatusCode,
    retry_after: Option<i64>,
    body: Value,
}

/// The result of a handler; an error response ends it early.
type HandlerResult = Result<MockResponse, MockResponse>;

impl MockResponse {
    fn new(status: StatusCode, body: Value) -> Self {
        Self { status, retry_after: None, body }
    }

    fn detail(status: StatusCode, text: &str) -> Self {
        Self::new(status, json!({ "detail": text }))
    }

    fn retry_after(mut self, seconds: i64) -> Self {
        self.retry_after = Some(seconds);
        self
    }
}

impl From<Value> for MockResponse {
    fn from(body: Value) -> Self {
        Self::new(StatusCode::OK, body)
    }
}

impl IntoResponse for MockResponse {
    fn into_response(self) -> Response {
        let mut response = (self.status, axum::Json(self.body)).into_response();
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

/// Returns the MD5 of a text as a number: random-looking but deterministic.
fn seed(text: &str) -> u128 {
    u128::from_be_bytes(Md5::digest(text.as_bytes()).into())
}

/// Returns a number from `low` to `high`, derived from a text.
fn chosen(text: &str, low: u128, high: u128) -> i64 {
    let number = low + seed(text) % (high - low + 1);
    i64::try_from(number).expect("bounds are small")
}

#[cfg(test)]
mod tests;
