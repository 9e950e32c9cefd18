//! Many listeners of one execution whose connections are cut again and again.

use std::net::SocketAddr;
use std::time::Duration;

use futures::future::join_all;
use noetl_testkit::Proxy;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;

use crate::sandbox::Sandbox;
use crate::server::Server;

/// An execution of more than a thousand events.
const MANY_EVENTS: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: many, path: tests/many}
workflow:
  - step: each
    loop: {in: 300, iterator: n, mode: parallel}
    tool: {kind: noop, result: '{{ n }}'}
";

/// The interval at which all connections are cut.
const CUT_EVERY: Duration = Duration::from_millis(300);
/// The time after which the listeners count as stuck.
const PATIENCE: Duration = Duration::from_secs(120);

fn is_full_size() -> bool {
    std::env::var("NOETL_FAULTS").is_ok_and(|size| size == "full")
}

/// The events that a listener has received, and the way it ended.
struct Listener {
    ids: Vec<u64>,
    cuts: u32,
}

/// Listens to an execution until the server says that there is nothing more, and resumes after the
/// last event whenever the connection is cut.
async fn listen(address: SocketAddr, host: &str, execution: &str) -> Listener {
    let mut heard = Listener { ids: Vec::new(), cuts: 0 };
    loop {
        match resumed(address, host, execution, &mut heard.ids).await {
            Ok(true) => return heard,
            Ok(false) | Err(_) => heard.cuts += 1,
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Reads one connection to its end. Returns true if the server has said that there is nothing more.
async fn resumed(
    address: SocketAddr,
    host: &str,
    execution: &str,
    ids: &mut Vec<u64>,
) -> std::io::Result<bool> {
    let mut stream = TcpStream::connect(address).await?;
    let last = ids.last().map_or_else(String::new, |id| format!("last-event-id: {id}\r\n"));
    // An answer to HTTP/1.0 comes without lengths of chunks between the lines.
    let request =
        format!("GET /api/executions/{execution}/stream HTTP/1.0\r\nhost: {host}\r\n{last}\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut lines = BufReader::new(stream).lines();
    let Some(status) = lines.next_line().await? else { return Ok(false) };
    if status.contains(" 204 ") {
        return Ok(true);
    }
    assert!(status.contains(" 200 "), "{status}");
    let mut id: Option<u64> = None;
    while let Some(line) = lines.next_line().await? {
        match line.strip_prefix("id: ") {
            Some(number) => id = number.parse().ok(),
            // An event is complete with its empty line.
            None if line.is_empty() => ids.extend(id.take()),
            None => {}
        }
    }
    Ok(false)
}

#[test]
fn listeners_whose_streams_are_cut_again_and_again_see_every_event_once_and_in_order() {
    let sandbox = Sandbox::new();
    let server = Server::new(&sandbox, &["--db", "history.db"]);
    server.call("POST", "/api/catalog/register", &json!({ "content": MANY_EVENTS }));
    let started = server.call("POST", "/api/execute", &json!({ "path": "tests/many" }));
    let execution = started["execution_id"].as_str().unwrap_or_else(|| panic!("{started}"));
    let (listeners, cuts_max) = if is_full_size() { (200, 100) } else { (40, 12) };
    let runtime = Runtime::new().expect("a runtime starts");
    let heard = runtime.block_on(async {
        let proxy = Proxy::to_address(server.address.parse().expect("an address")).await;
        let all = (0..listeners).map(|_| listen(proxy.address(), &server.address, execution));
        let cut = async {
            for _ in 0..cuts_max {
                tokio::time::sleep(CUT_EVERY).await;
                proxy.reset_connections();
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            heard = tokio::time::timeout(PATIENCE, join_all(all)) => heard.expect("they end"),
            () = cut => unreachable!("it never ends"),
        }
    });
    let status = server.call("GET", &format!("/api/executions/{execution}/status"), &Value::Null);
    assert_eq!(status["status"], "COMPLETED", "{status}");
    let last = heard[0].ids.len() as u64;
    assert!(last > 600, "{last} events");
    let expected: Vec<u64> = (1..=last).collect();
    for listener in &heard {
        assert_eq!(listener.ids, expected, "after {} cuts", listener.cuts);
    }
    let cuts: u32 = heard.iter().map(|listener| listener.cuts).sum();
    println!("{listeners} listeners, {last} events, {cuts} cuts");
    assert!(cuts > listeners, "the streams were not cut");
}
