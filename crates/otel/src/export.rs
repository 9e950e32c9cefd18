//! The exporter: sends spans in batches, with a few retries for an unreachable collector.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBuilder};
use reqwest::Client;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::layer::Traces;
use crate::span::Span;

/// The capacity of the span queue.
const WAITING_MAX: usize = 8192;
/// The maximum number of spans in one request.
const BATCH_MAX: usize = 512;
/// The time to wait for a batch to fill.
const BATCH_WAIT: Duration = Duration::from_secs(2);
/// The number of retries before a batch is dropped.
const RETRIES_MAX: usize = 2;
/// The delay before the first retry; it doubles with each further one.
const RETRY_DELAY: Duration = Duration::from_millis(500);
/// The timeout of one request.
const REQUEST_MAX: Duration = Duration::from_secs(10);

/// The settings of the exporter.
#[derive(Debug, Clone)]
pub struct ExporterSettings {
    /// The collector, such as `http://localhost:4318`; spans go to `v1/traces` below it.
    pub endpoint: Url,
    /// Headers of every request, such as a token, as `name=value` separated by commas.
    pub headers: String,
    /// The service name of this program.
    pub service: String,
}

/// Sends the spans of a [`Traces`] layer.
pub struct Exporter {
    spans: mpsc::Receiver<Span>,
    dropped: Arc<AtomicU64>,
    client: Client,
    url: Url,
    resource: Value,
}

/// The error of an invalid header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadHeaders(String);

impl std::fmt::Display for BadHeaders {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}` is not a header, which is written name=value", self.0)
    }
}

impl std::error::Error for BadHeaders {}

impl Exporter {
    /// Creates a layer, and the exporter that has to run beside it.
    pub fn new(settings: &ExporterSettings) -> Result<(Traces, Self), BadHeaders> {
        let (sender, spans) = mpsc::channel(WAITING_MAX);
        let dropped = Arc::new(AtomicU64::new(0));
        let client = Client::builder()
            .timeout(REQUEST_MAX)
            // The headers may contain a key, which must not reach another host.
            .redirect(reqwest::redirect::Policy::none())
            .default_headers(headers(&settings.headers)?)
            .build()
            .expect("a client without files and proxies can be built");
        let mut url = settings.endpoint.clone();
        let below = url.path().trim_end_matches('/').to_owned();
        url.set_path(&format!("{below}/v1/traces"));
        let attribute =
            |key: &str, value: &str| json!({ "key": key, "value": { "stringValue": value } });
        let resource = json!({ "attributes": [
            attribute("service.name", &settings.service),
            attribute("service.version", env!("CARGO_PKG_VERSION")),
        ]});
        let traces = Traces { spans: sender, dropped: dropped.clone() };
        Ok((traces, Self { spans, dropped, client, url, resource }))
    }

    /// Sends spans until `stop` is cancelled, then sends the rest.
    pub async fn run(mut self, stop: CancellationToken) {
        let mut batch = Vec::with_capacity(BATCH_MAX);
        while !stop.is_cancelled() {
            tokio::select! {
                biased;
                () = stop.cancelled() => {}
                received = self.spans.recv_many(&mut batch, BATCH_MAX) => {
                    if received == 0 {
                        break;
                    }
                    self.fill(&mut batch, &stop).await;
                }
            }
            self.send(&mut batch).await;
        }
        while let Ok(span) = self.spans.try_recv() {
            batch.push(span);
            if batch.len() == BATCH_MAX {
                self.send(&mut batch).await;
            }
        }
        self.send(&mut batch).await;
    }

    /// Waits for more spans, so that a request carries many.
    async fn fill(&mut self, batch: &mut Vec<Span>, stop: &CancellationToken) {
        let filling = async {
            while batch.len() < BATCH_MAX {
                let room = BATCH_MAX - batch.len();
                if self.spans.recv_many(batch, room).await == 0 {
                    return;
                }
            }
        };
        tokio::select! {
            () = filling => {}
            () = tokio::time::sleep(BATCH_WAIT) => {}
            () = stop.cancelled() => {}
        }
    }

    async fn send(&self, batch: &mut Vec<Span>) {
        if batch.is_empty() {
            return;
        }
        let spans: Vec<Value> = batch.iter().map(Span::to_json).collect();
        let body = json!({ "resourceSpans": [{
            "resource": self.resource,
            "scopeSpans": [{ "scope": { "name": "noetl" }, "spans": spans }],
        }]});
        let retries = ExponentialBuilder::new()
            .with_min_delay(RETRY_DELAY)
            .with_max_times(RETRIES_MAX)
            .with_jitter();
        let mut delays = retries.build();
        loop {
            let sent = self.client.post(self.url.clone()).json(&body).send().await;
            match sent.and_then(reqwest::Response::error_for_status) {
                Ok(answer) if answer.status().is_redirection() => {
                    let status = answer.status().as_u16();
                    tracing::warn!(
                        status,
                        spans = batch.len(),
                        "spans not exported: the collector redirects, and its headers go to no other address"
                    );
                    break;
                }
                Ok(_) => break,
                Err(error) => match delays.next() {
                    Some(delay) => tokio::time::sleep(delay).await,
                    None => {
                        let error: &dyn std::error::Error = &error.without_url();
                        tracing::warn!(error, spans = batch.len(), "spans not exported");
                        break;
                    }
                },
            }
        }
        batch.clear();
        let dropped = self.dropped.swap(0, Ordering::Relaxed);
        if dropped > 0 {
            tracing::warn!(dropped, "the collector is slower than spans are made");
        }
    }
}

/// Parses `name=value` pairs separated by commas.
fn headers(text: &str) -> Result<HeaderMap, BadHeaders> {
    let mut headers = HeaderMap::new();
    for pair in text.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
        let name = pair.split('=').next().unwrap_or_default().trim();
        // The value may be a secret, so the error only shows the name.
        let bad = || BadHeaders(name.to_owned());
        let (_, value) = pair.split_once('=').ok_or_else(bad)?;
        let mut value = HeaderValue::from_str(value.trim()).map_err(|_| bad())?;
        value.set_sensitive(true);
        headers.insert(name.parse::<HeaderName>().map_err(|_| bad())?, value);
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use noetl_testkit::Collector;
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    #[test]
    fn headers_are_pairs() {
        let read = headers("x-token=a=b, y=c").expect("headers");
        assert_eq!(
            (&read["x-token"], &read["y"]),
            (&"a=b".parse().unwrap(), &"c".parse().unwrap())
        );
        assert_eq!(
            headers("secret").expect_err("no pair").to_string(),
            "`secret` is not a header, which is written name=value"
        );
    }

    /// Runs a closure and returns the spans that a collector receives.
    async fn exported(runs: impl FnOnce()) -> Vec<Value> {
        // Another test of this process may have installed the provider.
        let _installed = rustls::crypto::ring::default_provider().install_default();
        let collector = Collector::start();
        let settings = ExporterSettings {
            endpoint: collector.url().parse().expect("a URL"),
            headers: "authorization=Bearer t".to_owned(),
            service: "test".to_owned(),
        };
        let (traces, exporter) = Exporter::new(&settings).expect("settings");
        let subscriber = tracing_subscriber::registry().with(traces);
        tracing::subscriber::with_default(subscriber, runs);
        let stop = CancellationToken::new();
        stop.cancel();
        exporter.run(stop).await;
        assert_eq!(collector.authorizations(), ["Bearer t"]);
        collector.spans()
    }

    #[tokio::test]
    async fn a_span_goes_to_the_collector_with_its_trace_and_its_fields() {
        let spans = exported(|| {
            let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
            let span = tracing::error_span!(
                "request",
                traceparent = parent,
                method = "GET",
                status = tracing::field::Empty
            );
            span.record("status", 503_u64);
            span.in_scope(|| drop(tracing::error_span!("turn")));
        })
        .await;
        let request = spans.iter().find(|it| it["name"] == "request").expect("the request");
        assert_eq!(request["traceId"], "0af7651916cd43dd8448eb211c80319c");
        assert_eq!(request["parentSpanId"], "b7ad6b7169203331");
        assert_eq!((&request["kind"], &request["status"]["code"]), (&json!(2), &json!(2)));
        let turn = spans.iter().find(|it| it["name"] == "turn").expect("the turn");
        assert_eq!(turn["parentSpanId"], request["spanId"]);
        assert_eq!(turn["traceId"], request["traceId"]);
    }

    #[tokio::test]
    async fn unsampled_spans_are_not_sent() {
        let spans = exported(|| {
            let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";
            drop(tracing::error_span!("request", traceparent = parent));
            drop(tracing::error_span!("turn"));
        })
        .await;
        let names: Vec<&Value> = spans.iter().map(|it| &it["name"]).collect();
        assert_eq!(names, ["turn"]);
    }
}
