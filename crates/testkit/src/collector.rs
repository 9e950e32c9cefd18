//! An OTLP span collector over HTTP for one test.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use axum::Json;
use axum::Router;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::routing::post;
use serde_json::{Value, json};
use tokio::net::TcpListener;

type ReceivedSpans = Arc<Mutex<Vec<(Option<String>, Value)>>>;

/// A collector on its own port until the end of the process.
pub struct Collector {
    address: SocketAddr,
    received: ReceivedSpans,
}

impl Collector {
    /// Starts a collector on a free local port.
    pub fn start() -> Self {
        let received = ReceivedSpans::default();
        let router = Router::new().route("/v1/traces", post(take)).with_state(received.clone());
        let (found, address) = std::sync::mpsc::channel();
        // The thread ends with the process.
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime starts").block_on(async move {
                let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
                found.send(listener.local_addr()).expect("its starter waits");
                let _ended = axum::serve(listener, router).await;
            });
        });
        let address = address.recv().expect("it starts").expect("it has an address");
        Self { address, received }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns every span received so far.
    pub fn spans(&self) -> Vec<Value> {
        let received = self.received.lock().unwrap_or_else(PoisonError::into_inner);
        let batches = received.iter().map(|(_, batch)| batch);
        let of = |value: &Value, key: &str| value[key].as_array().cloned().unwrap_or_default();
        let resources = batches.flat_map(|batch| of(batch, "resourceSpans"));
        let scopes = resources.flat_map(|resource| of(&resource, "scopeSpans"));
        scopes.flat_map(|scope| of(&scope, "spans")).collect()
    }

    /// Returns the `Authorization` header of each request.
    pub fn authorizations(&self) -> Vec<String> {
        let received = self.received.lock().unwrap_or_else(PoisonError::into_inner);
        received.iter().filter_map(|(shown, _)| shown.clone()).collect()
    }
}

async fn take(
    State(received): State<ReceivedSpans>,
    headers: HeaderMap,
    Json(batch): Json<Value>,
) -> Json<Value> {
    let shown = headers.get("authorization").and_then(|it| it.to_str().ok()).map(str::to_owned);
    received.lock().unwrap_or_else(PoisonError::into_inner).push((shown, batch));
    Json(json!({}))
}
