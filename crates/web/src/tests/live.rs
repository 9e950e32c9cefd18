//! The live stream of the page of an execution.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use axum::http::{Request, StatusCode};
use futures::StreamExt as _;
use noetl_model::{ErrorKind, Outcome, ToolError};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};
use tower::ServiceExt as _;

use super::Site;
use super::execution::{started, work};

/// An open stream of updates.
struct Updates {
    body: BodyDataStream,
    text: String,
}

/// An update as the browser receives it.
struct ReceivedUpdate {
    name: String,
    id: u64,
    parts: Value,
}

impl Updates {
    async fn open(site: &Site, path: &str, last: Option<u64>) -> Self {
        let mut request = Request::get(path);
        if let Some(last) = last {
            request = request.header("last-event-id", last.to_string());
        }
        let mut request = request.body(Body::empty()).expect("a request");
        request.extensions_mut().insert(site.visitor.clone());
        let response = site.router.clone().oneshot(request).await.expect("an answer");
        assert_eq!(response.status(), StatusCode::OK);
        Self { body: response.into_body().into_data_stream(), text: String::new() }
    }

    /// Waits for the next update; `None` at the end of the stream.
    async fn next(&mut self) -> Option<ReceivedUpdate> {
        loop {
            if let Some((message, rest)) = self.text.split_once("\n\n") {
                let field = |name: &str| {
                    let line = message.lines().find_map(|line| line.strip_prefix(name));
                    line.map(|value| value.trim_start().to_owned())
                };
                let data = field("data:").filter(|_| field("event:").as_deref() != Some("alive"));
                let update = data.map(|data| ReceivedUpdate {
                    name: field("event:").expect("a name"),
                    id: field("id:").and_then(|id| id.parse().ok()).expect("an id"),
                    parts: serde_json::from_str::<Value>(&data).expect("JSON")["parts"].clone(),
                });
                self.text = rest.to_owned();
                if update.is_some() {
                    return update;
                }
                continue;
            }
            let chunk = self.body.next().await?.expect("bytes");
            self.text.push_str(std::str::from_utf8(&chunk).expect("text"));
        }
    }
}

fn completed() -> Outcome {
    Outcome::Completed { output: Arc::new(json!({ "total": 42 })) }
}

#[tokio::test(start_paused = true)]
async fn a_stream_has_what_changed_and_ends_with_the_execution() {
    let (site, execution) = started().await;
    let last = site.app.execution(execution).await.expect("an execution").seq.0;
    let path = format!("/ui/executions/{execution}/live?after={last}");
    let mut updates = Updates::open(&site, &path, None).await;
    // The reader has this position, so nothing is sent until something happens.
    assert!(timeout(Duration::from_millis(900), updates.next()).await.is_err());
    work(&site, completed(), "").await;
    let begun = Instant::now();
    let update = updates.next().await.expect("an update");
    assert_eq!(update.name, "update");
    assert!(update.id > last && begun.elapsed() <= Duration::from_millis(200));
    let scrubber = update.parts["scrubber"].as_str().expect("a part");
    assert!(scrubber.contains(&format!("Event {} of", update.id)), "{scrubber}");
    assert!(update.parts.get("exec-failure").is_none(), "it has not changed");

    let error = ToolError::new(ErrorKind::Exception, "no address");
    work(&site, Outcome::Failed { error, output: None }, "").await;
    let mut end = updates.next().await.expect("an update");
    while end.name != "end" {
        end = updates.next().await.expect("the end");
    }
    assert!(end.parts["exec-failure"].as_str().is_some_and(|it| it.contains("no address")));
    assert!(updates.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_reconnects_receives_what_it_missed() {
    let (site, execution) = started().await;
    work(&site, completed(), "").await;
    let path = format!("/ui/executions/{execution}/live?after=1");
    let last = site.app.execution(execution).await.expect("an execution").seq.0;
    let update = Updates::open(&site, &path, Some(3)).await.next().await.expect("an update");
    assert_eq!((update.name.as_str(), update.id), ("update", last));
    assert_eq!(update.parts.as_object().map(|parts| parts.len()), Some(7));
}

#[tokio::test(start_paused = true)]
async fn updates_come_at_most_ten_times_a_second() {
    let (site, execution) = started().await;
    let path = format!("/ui/executions/{execution}/live?after=1");
    let mut updates = Updates::open(&site, &path, None).await;
    let mut last = Instant::now() - Duration::from_secs(1);
    for _ in 0..5 {
        updates.next().await.expect("an update: times on the page change");
        assert!(last.elapsed() >= Duration::from_millis(100));
        last = Instant::now();
    }
}
