//! The memory that a process uses for values is bounded, whatever a service returns.

use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::sandbox::Sandbox;
use crate::server::{Process, Server};

const MIB: u64 = 1024 * 1024;

/// A web service with compressed bodies: `/zeros/N` is a list of zeros, `/rows/N` is a list of
/// maps, `/text/N` is a text, each of about N million bytes.
const SERVICE: &str = r#"
import gzip, json
from http.server import BaseHTTPRequestHandler, HTTPServer

class Service(BaseHTTPRequestHandler):
    def do_GET(self):
        _, kind, size = self.path.split("/")
        size = int(size) * 1_000_000
        if kind == "zeros":
            body = b"[" + b"0," * (size // 2) + b"0]"
        elif kind == "rows":
            row = {"id": 12345, "name": "somebody", "city": "somewhere", "amount": 12.5, "open": True}
            body = json.dumps([row] * (size // len(json.dumps(row)))).encode()
        else:
            body = b"x" * size
        body = gzip.compress(body, 1)
        self.send_response(200)
        self.send_header("content-encoding", "gzip")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass

server = HTTPServer(("127.0.0.1", 0), Service)
print(server.server_port, flush=True)
server.serve_forever()
"#;

const FETCH: &str = r#"
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: fetch, path: tests/fetch}
workload: {url: ""}
workflow:
  - step: start
    tool: {kind: http, url: "{{ workload.url }}"}
    next: {arcs: [{step: end}]}
  - step: end
    tool: {kind: noop, result: {status: "{{ start.status_code }}"}}
"#;

fn service() -> (Process, String) {
    use std::io::BufRead as _;
    let mut child: Child = Command::new("python3")
        .args(["-c", SERVICE])
        .stdout(Stdio::piped())
        .spawn()
        .expect("there is a Python");
    let mut port = String::new();
    let mut stdout = std::io::BufReader::new(child.stdout.take().expect("it is piped"));
    stdout.read_line(&mut port).expect("it says its port");
    (Process(child), format!("http://127.0.0.1:{}", port.trim()))
}

/// Returns the peak memory of a process so far, in bytes.
fn peak(server: &Server) -> u64 {
    let path = format!("/proc/{}/status", server.process.0.id());
    let status = std::fs::read_to_string(path).expect("it runs");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("Linux tells");
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok()).expect("a number") * 1024
}

/// Fetches a body on a new server; returns the execution and the memory it used.
fn fetch(path: &str) -> (Value, u64) {
    let sandbox = Sandbox::new().with("fetch.yaml", FETCH);
    let (_service, url) = service();
    let server = Server::new(&sandbox, &["--db", "history.db"]);
    let before = peak(&server);
    let address = server.url();
    let set = format!("url={url}{path}");
    let args = ["run", "fetch.yaml", "-q", "-o", "json", "--server", &address, "--set", &set];
    let ended = sandbox.json(&args);
    let taken = peak(&server) - before;
    (ended, taken)
}

#[test]
fn a_small_body_that_is_a_huge_value_is_refused_and_takes_little_memory() {
    for path in ["/zeros/20", "/zeros/60"] {
        let (ended, taken) = fetch(path);
        println!("{path}: {} MiB", taken / MIB);
        assert_eq!(ended["status"], "FAILED", "{ended:#}");
        let error = ended["error"].to_string();
        assert!(error.contains("storage_quota"), "{error}");
        assert!(error.contains("cannot be held"), "{error}");
        assert!(error.contains("the limit for one"), "{error}");
        assert!(taken < 256 * MIB, "{path} took {} MiB", taken / MIB);
    }
}

#[test]
fn a_large_body_takes_the_memory_of_its_value_and_no_more() {
    let (ended, taken) = fetch("/zeros/3");
    println!("/zeros/3: {} MiB", taken / MIB);
    assert_eq!(ended["output"], json!({ "status": 200 }), "{ended:#}");
    // 1.5 million values of 72 bytes, as `body` and as `data`, and their JSON.
    assert!(taken < 450 * MIB, "took {} MiB", taken / MIB);
    let (ended, taken) = fetch("/text/20");
    println!("/text/20: {} MiB", taken / MIB);
    assert_eq!(ended["output"], json!({ "status": 200 }), "{ended:#}");
    assert!(taken < 450 * MIB, "took {} MiB", taken / MIB);
}
