//! A test client of event streams, on any store.

use axum::body::Body;
use axum::http::{Method, Request};
use futures::StreamExt as _;
use futures::stream::BoxStream;
use serde_json::Value;
use tower::ServiceExt as _;

use super::{Server, Way};

/// A client that reads a stream of events.
pub(super) struct Listener {
    frames: BoxStream<'static, Vec<u8>>,
    heard: String,
}

/// An event received from the stream.
pub(super) struct Heard {
    pub(super) id: String,
    pub(super) event: String,
    pub(super) data: Value,
}

impl Listener {
    /// Connects to a stream, resuming after an event if one is given.
    pub(super) async fn at(server: &Server, path: &str, last: Option<&str>) -> Self {
        let mut request = Request::get(path);
        if let Some(last) = last {
            request = request.header("last-event-id", last);
        }
        let request = request.body(Body::empty()).expect("a request");
        server.note(&Method::GET, request.uri().path());
        let frames = match &server.way {
            Way::Direct(router) => {
                let response = router.as_ref().clone().oneshot(request).await.expect("an answer");
                assert_eq!(response.status(), 200);
                let frames = response.into_body().into_data_stream();
                frames.map(|frame| frame.expect("bytes").to_vec()).boxed()
            }
            Way::Socket { base, http } => {
                let (parts, _body) = request.into_parts();
                let asked = http.get(format!("{base}{}", parts.uri)).headers(parts.headers);
                let response = asked.send().await.expect("an answer");
                assert_eq!(response.status(), 200);
                response.bytes_stream().map(|frame| frame.expect("bytes").to_vec()).boxed()
            }
        };
        Self { frames, heard: String::new() }
    }

    /// Reads the next block of lines, which may be only an id.
    pub(super) async fn block(&mut self) -> Heard {
        while !self.heard.contains("\n\n") {
            let frame = self.frames.next().await.expect("the stream goes on");
            self.heard.push_str(&String::from_utf8(frame).expect("text"));
        }
        let (block, rest) = self.heard.split_once("\n\n").expect("a block");
        let line = |name: &str| {
            let mut lines = block.lines();
            lines.find_map(|line| line.strip_prefix(name)).unwrap_or_default().to_owned()
        };
        let data = serde_json::from_str(&line("data: ")).unwrap_or(Value::Null);
        let heard = Heard { id: line("id: "), event: line("event: "), data };
        self.heard = rest.to_owned();
        heard
    }

    /// Reads the next `count` events.
    pub(super) async fn events(&mut self, count: usize) -> Vec<Heard> {
        let mut events = Vec::new();
        while events.len() < count {
            let block = self.block().await;
            if !block.data.is_null() {
                events.push(block);
            }
        }
        events
    }
}
