//! Traces: a request's context reaches the collector through the server and a worker.

use std::process::Stdio;

use noetl_testkit::Collector;
use serde_json::{Value, json};

use crate::playbooks::HELLO;
use crate::sandbox::{Sandbox, eventually};
use crate::server::{Process, Server};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const ABOVE: &str = "b7ad6b7169203331";

#[test]
fn a_request_its_turns_and_its_tools_are_spans_of_one_trace() {
    let (collector, sandbox) = (Collector::start(), Sandbox::new());
    let listen = ["server", "--listen", "127.0.0.1:0", "--no-worker"];
    let mut command = sandbox.command(&listen);
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let server = Server::of(command.spawn().expect("the binary runs"));
    let mut command = sandbox.command(&["worker", "--server", &server.url()]);
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url());
    let worker = Process(command.spawn().expect("the binary runs"));
    server.call("POST", "/api/catalog/register", &json!({ "content": HELLO }));
    let context = format!("00-{TRACE}-{ABOVE}-01");
    let headers = [("traceparent", context.as_str())];
    let body = json!({ "path": "tests/hello" });
    let started = server.call_with("POST", "/api/execute", &headers, &body);
    let id = started["execution_id"].as_str().expect("an id").to_owned();
    eventually("the execution ends", || {
        let path = format!("/api/executions/{id}/status");
        server.call("GET", &path, &Value::Null)["completed"] == true
    });
    assert_eq!(worker.end(), Some(0));
    assert_eq!(server.process.end(), Some(0));
    let spans = collector.spans();
    let of_trace: Vec<&Value> = spans.iter().filter(|it| it["traceId"] == TRACE).collect();
    for name in ["request", "turn", "tool"] {
        let span = of_trace.iter().find(|it| it["name"] == name);
        let span = span.unwrap_or_else(|| panic!("no {name} in {spans:#?}"));
        assert_eq!(span["parentSpanId"], ABOVE, "{span}");
    }
    assert!(spans.len() > of_trace.len(), "other requests have traces of their own");
}
