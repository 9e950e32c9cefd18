//! Contract tests of the routes, on an in-memory store with simulated time, and on every other
//! store over a socket.

mod abuse;
mod access;
mod approvals;
mod audit;
mod bulk;
mod callback;
mod callers;
mod catalog;
mod comparison;
mod compat_views;
mod contract;
mod credential_policies;
mod credentials;
mod dashboard;
mod delivery;
mod editor;
mod everything;
mod execute;
mod executions;
mod existing_clients;
mod existing_worker;
mod existing_worker_tools;
mod feeds;
mod health;
mod holds;
mod imported;
mod ingress;
mod inputs;
mod intake;
mod keychain;
mod lease_secrets;
mod listener;
mod native_worker;
mod network;
mod notifications;
mod objects;
mod openapi;
mod outbox;
mod pages;
mod positions;
mod postgres;
mod projector;
mod proof;
mod remote;
mod replay;
mod results;
mod retention;
mod round_trips;
mod schedules;
mod seed_differences;
mod signals;
mod start_keys;
mod status;
mod stored;
mod stores;
mod stream;
mod subscriptions;
mod system;
mod tamper;
mod tokens;
mod upgrade;
mod vars;
mod waited;
mod windows;
mod worker_tokens;

use std::collections::BTreeSet;
use std::num::NonZeroU64;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Method, Request, StatusCode, header};
use noetl_app::{App, AppSettings, Services};
use noetl_bus::LocalBus;
use noetl_control::{Control, ControlSettings};
use noetl_model::{IdGenerator, Timestamp};
use noetl_secrets::{EncryptionKey, Keyring, Vault};
use noetl_store::{Clock, MemoryStore, Records, Store};
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};
use tower::ServiceExt as _;

use crate::{AppState, Authentication, Hosts, ServerSettings, app};

const LEASE: Duration = Duration::from_secs(30);

/// A playbook with two steps; the second outputs the first one's text.
const HELLO: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: hello, path: tests/hello}
workload: {name: world}
workflow:
  - step: start
    tool: {kind: python, code: 'pass', input: {name: '{{ workload.name }}'}}
    next: second
  - step: second
    tool: {kind: noop, message: '{{ start.text }}'}
";

/// A playbook with a step that waits for an execution of `tests/hello`.
const PARENT: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: parent, path: tests/parent}
workflow:
  - step: start
    tool: {kind: playbook, return_result: true, path: tests/hello}
";

/// A clock that follows tokio's time, which tests pause.
struct SimulatedClock {
    begun: Instant,
}

impl Clock for SimulatedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(1_800_000_000_000).after(self.begun.elapsed())
    }
}

/// A server for one test.
struct Server {
    way: Way,
    state: AppState,
    store: Arc<dyn Store>,
    records: Arc<dyn Records>,
    /// Stops the server's loops.
    stop: CancellationToken,
    _loops: DropGuard,
    calls: Calls,
}

/// The requests sent so far: method and path, without the query.
type Calls = Arc<Mutex<BTreeSet<(String, String)>>>;

/// Transport of the test's requests.
enum Way {
    /// A call of the router, without a network.
    Direct(Box<Router>),
    Socket {
        base: String,
        http: reqwest::Client,
    },
}

/// A response with its whole body.
#[derive(Debug)]
struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Value,
}

/// A store with all traits a server needs.
trait Everything: Store + Records {}

impl<T: Store + Records> Everything for T {}

/// Creates an in-memory store on tokio's clock.
fn in_memory() -> (Arc<dyn Everything>, Arc<dyn Clock>) {
    let clock = Arc::new(SimulatedClock { begun: Instant::now() });
    (Arc::new(MemoryStore::new(clock.clone())), clock)
}

/// Interval of saved replays, small so that short replays use saved ones too.
const REPLAY_SAVED_EVERY: NonZeroU64 = NonZeroU64::new(5).expect("not zero");

fn settings(access: Authentication, hosts: Hosts) -> TestSettings {
    TestSettings { server: ServerSettings::new(access, hosts), app: app_settings(LEASE) }
}

fn app_settings(lease: Duration) -> AppSettings {
    AppSettings {
        replay_saved_every: REPLAY_SAVED_EVERY,
        replay_alone_from: 0,
        ..AppSettings::new(lease)
    }
}

/// The settings of a server and of its operations.
#[derive(Clone)]
struct TestSettings {
    server: ServerSettings,
    app: AppSettings,
}

impl From<ServerSettings> for TestSettings {
    fn from(server: ServerSettings) -> Self {
        Self { server, app: AppSettings::new(LEASE) }
    }
}

impl Server {
    fn new() -> Self {
        Self::with(Authentication::Open, Hosts::Any)
    }

    /// Creates a server whose loops do not run.
    fn without_loops() -> Self {
        let (store, clock) = in_memory();
        let settings = settings(Authentication::Open, Hosts::Any);
        Self::idle(settings, store, Arc::new(LocalBus::new()), clock)
    }

    fn with(access: Authentication, hosts: Hosts) -> Self {
        Self::set(settings(access, hosts))
    }

    fn set(settings: impl Into<TestSettings>) -> Self {
        let (store, clock) = in_memory();
        Self::on(settings, store, Arc::new(LocalBus::new()), clock)
    }

    fn on(
        settings: impl Into<TestSettings>,
        store: Arc<dyn Everything>,
        bus: Arc<dyn noetl_bus::Bus>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let server = Self::idle(settings, store, bus, clock);
        let (control, stop) = (server.state.control().clone(), server.stop.clone());
        tokio::spawn(async move { control.run(stop).await });
        server
    }

    /// Creates a server whose control plane runs no loops.
    fn idle(
        settings: impl Into<TestSettings>,
        store: Arc<dyn Everything>,
        bus: Arc<dyn noetl_bus::Bus>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let (store, records): (Arc<dyn Store>, Arc<dyn Records>) = (store.clone(), store);
        let settings = settings.into();
        let of_control = ControlSettings { lease: settings.app.lease, ..Default::default() };
        let ids = Arc::new(IdGenerator::new(1));
        let control =
            Control::new(store.clone(), bus.clone(), clock.clone(), ids.clone(), of_control);
        Self::over(settings, (control, ids), (store, records), (bus, clock))
    }

    /// Creates a server of a control plane, which shares the generator of ids.
    fn over(
        settings: impl Into<TestSettings>,
        (control, ids): (Control, Arc<IdGenerator>),
        (store, records): (Arc<dyn Store>, Arc<dyn Records>),
        (bus, clock): (Arc<dyn noetl_bus::Bus>, Arc<dyn Clock>),
    ) -> Self {
        let stop = CancellationToken::new();
        let keyring = Keyring::new(EncryptionKey::generate(), Vec::new());
        let vault = Arc::new(Vault::new(records.clone(), keyring, ids.clone(), clock));
        let services =
            Services { control, store: store.clone(), records: records.clone(), vault, bus, ids };
        let TestSettings { server, app: of_app } = settings.into();
        let state = AppState::new(App::new(services, of_app), server);
        let way = Way::Direct(Box::new(app(state.clone())));
        let calls = Calls::default();
        let (running, _loops) = (stop.clone(), stop.drop_guard());
        Self { way, state, store, records, stop: running, _loops, calls }
    }

    /// Creates a second server on the same store, with other settings; it is called directly.
    fn beside(&self, settings: impl Into<TestSettings>, of_control: ControlSettings) -> Self {
        let (store, records) = (self.store.clone(), self.records.clone());
        let (bus, clock) = (Arc::new(LocalBus::new()), store.clock());
        let ids = Arc::new(IdGenerator::new(2));
        let control =
            Control::new(store.clone(), bus.clone(), clock.clone(), ids.clone(), of_control);
        Self::over(settings, (control, ids), (store, records), (bus, clock))
    }

    /// Changes the state before it is shared.
    fn changed(self, change: impl FnOnce(AppState) -> AppState) -> Self {
        let Self { way, state, store, records, stop, _loops, calls } = self;
        drop(way);
        let state = change(state);
        let way = Way::Direct(Box::new(app(state.clone())));
        Self { way, state, store, records, stop, _loops, calls }
    }

    /// Sends the requests to a listening server.
    fn at(self, base: String) -> Self {
        // An error means that another test of this process has installed a provider.
        let _installed = rustls::crypto::ring::default_provider().install_default();
        Self { way: Way::Socket { base, http: reqwest::Client::new() }, ..self }
    }

    /// Creates a server with the playbook [`HELLO`].
    async fn with_hello() -> Self {
        let server = Self::new();
        server.register(HELLO).await;
        server
    }

    async fn register(&self, content: &str) {
        let answer = self.post("/api/catalog/register", json!({ "content": content })).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    }

    /// Starts an execution; returns its id.
    async fn start(&self, path: &str) -> String {
        let answer = self.post("/api/execute", json!({ "path": path })).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        answer.body["execution_id"].as_str().expect("an id").to_owned()
    }

    async fn get(&self, path: &str) -> Answer {
        self.send(Request::get(path).body(Body::empty()).expect("a request")).await
    }

    async fn post(&self, path: &str, body: Value) -> Answer {
        self.call(Method::POST, path, body).await
    }

    /// Sends a request of a client that states its name.
    async fn post_as(&self, actor: &str, path: &str, body: Value) -> Answer {
        let request = Request::builder()
            .method(Method::POST)
            .uri(path)
            .header(header::CONTENT_TYPE, "application/json")
            .header("X-Noetl-Actor", actor)
            .body(Body::from(body.to_string()));
        self.send(request.expect("a request")).await
    }

    async fn call(&self, method: Method, path: &str, body: Value) -> Answer {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::CONTENT_TYPE, "application/json")
            .body(Body::from(body.to_string()));
        self.send(request.expect("a request")).await
    }

    async fn send(&self, request: Request<Body>) -> Answer {
        let path = request.uri().path().to_owned();
        self.note(request.method(), &path);
        let (status, headers, bytes) = match &self.way {
            Way::Direct(router) => {
                let response = router.clone().oneshot(request).await.expect("an answer");
                let (parts, body) = response.into_parts();
                let bytes = to_bytes(body, usize::MAX).await.expect("a whole body");
                (parts.status, parts.headers, bytes)
            }
            Way::Socket { base, http } => {
                let (parts, body) = request.into_parts();
                let body = to_bytes(body, usize::MAX).await.expect("a whole body");
                let asked = http
                    .request(parts.method, format!("{base}{}", parts.uri))
                    .headers(parts.headers)
                    .body(body);
                let response = asked.send().await.expect("an answer");
                let (status, headers) = (response.status(), response.headers().clone());
                (status, headers, response.bytes().await.expect("a whole body"))
            }
        };
        let body = serde_json::from_slice(&bytes)
            .unwrap_or_else(|_| json!(String::from_utf8_lossy(&bytes)));
        if !INTEGER_IDS.iter().any(|prefix| path.starts_with(prefix)) {
            assert_exact_integers(&path, &body);
        }
        Answer { status, headers, body }
    }

    /// Sends a request directly and returns its answer with the body still open.
    async fn open(&self, request: Request<Body>) -> axum::response::Response {
        let router = app(self.state.clone());
        router.oneshot(request).await.expect("an answer")
    }

    /// Records a request.
    fn note(&self, method: &Method, path: &str) {
        let mut calls = self.calls.lock().expect("nobody panics while it notes");
        calls.insert((method.to_string(), path.to_owned()));
    }

    /// Leases one command and completes it with a null output.
    async fn work(&self) {
        let body = json!({ "worker": "w", "pool": "shared", "max": 1, "wait_ms": 20_000 });
        let mut report = self.post("/api/worker/lease", body).await.body["leases"][0].clone();
        report["worker"] = json!("w");
        report["outcome"] = json!({ "status": "completed", "output": null });
        let answer = self.post("/api/worker/report", json!({ "reports": [report] })).await;
        assert_eq!(answer.body, json!({ "answers": ["accepted"] }));
    }

    /// Returns name, step and status of the events of an execution.
    async fn story(&self, execution: &str) -> String {
        let page = self.get(&format!("/api/executions/{execution}/events")).await;
        let events = page.body["events"].as_array().expect("events");
        let word = |event: &Value, key: &str| event[key].as_str().unwrap_or("-").to_owned();
        events
            .iter()
            .map(|it| {
                let [name, step, status] =
                    ["event_type", "node_name", "status"].map(|key| word(it, key));
                format!("{name} {step} {status}\n")
            })
            .collect()
    }

    async fn status(&self, execution: &str) -> String {
        let answer = self.get(&format!("/api/executions/{execution}/status")).await;
        answer.body["status"].as_str().unwrap_or("-").to_owned()
    }
}

impl Answer {
    /// Checks that the response is a problem document; returns its status and code.
    #[track_caller]
    fn problem(&self) -> String {
        let content_type = self.headers.get(header::CONTENT_TYPE).expect("a content type");
        assert_eq!(content_type, "application/problem+json", "{}", self.body);
        for key in ["type", "title", "detail", "error"] {
            assert!(self.body[key].is_string(), "{key} in {}", self.body);
        }
        assert_eq!(self.body["status"], json!(self.status.as_u16()));
        assert_eq!(self.body["error"], self.body["detail"]);
        format!("{} {}", self.status.as_u16(), self.body["code"].as_str().expect("a code"))
    }

    /// Returns the body with ids and times replaced.
    fn shape(&self) -> String {
        let mut body = self.body.clone();
        blank(&mut body);
        let text = serde_json::to_string_pretty(&body).expect("JSON");
        format!("{} {text}\n", self.status.as_u16())
    }
}

/// Routes whose ids are integers, because workers, publishers and the command line parse them as
/// such, or because the bytes of the response are published.
const INTEGER_IDS: &[&str] = &[
    "/api/commands/",
    "/api/events",
    "/api/internal/",
    "/api/native/",
    "/api/replay/",
    "/api/runtime/",
    "/api/worker/",
];

/// Checks that a browser reads every integer of a response exactly.
#[track_caller]
fn assert_exact_integers(path: &str, value: &Value) {
    const EXACT_MAX: u64 = 1 << 53;
    match value {
        Value::Number(number) => {
            let is_exact =
                number.is_f64() || number.as_i64().is_some_and(|it| it.unsigned_abs() <= EXACT_MAX);
            assert!(is_exact, "{path} has the integer {number}");
        }
        Value::Array(items) => items.iter().for_each(|item| assert_exact_integers(path, item)),
        Value::Object(map) => map.values().for_each(|item| assert_exact_integers(path, item)),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// Replaces ids and times by placeholders.
fn blank(value: &mut Value) {
    const FIRST_ID: i64 = 1 << 40;
    match value {
        Value::Number(number) if number.as_i64().is_some_and(|it| it > FIRST_ID) => {
            *value = json!("<id as number>");
        }
        Value::String(text) if text.parse::<i64>().is_ok_and(|it| it > FIRST_ID) => {
            *value = json!("<id as text>");
        }
        Value::String(text) if text.parse::<Timestamp>().is_ok() => *value = json!("<time>"),
        Value::String(text) => *text = without_ids(text),
        Value::Array(items) => items.iter_mut().for_each(blank),
        Value::Object(map) => {
            if let Some(seconds) = map.get_mut("duration_seconds") {
                *seconds = json!("<seconds>");
            }
            if let Some(text) = map.get_mut("duration_human") {
                *text = json!("<duration>");
            }
            if let Some(millis) = map.get_mut("duration") {
                *millis = json!("<milliseconds>");
            }
            map.values_mut().for_each(blank);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Replaces the ids in a text by placeholders.
fn without_ids(text: &str) -> String {
    const DIGITS: usize = 15;
    let parts: Vec<&str> = text.split_inclusive(|c: char| !c.is_ascii_digit()).collect();
    let blanked = parts.iter().map(|part| {
        let digits = part.trim_end_matches(|c: char| !c.is_ascii_digit());
        if digits.len() < DIGITS { (*part).to_owned() } else { part.replace(digits, "<id>") }
    });
    blanked.collect()
}
