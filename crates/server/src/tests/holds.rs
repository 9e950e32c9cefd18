//! Tests of pauses and limits over the API.

use std::time::Duration;

use serde_json::json;

use super::Server;

const SMALL: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: small, path: tests/small}
workflow:
  - step: start
    tool: {kind: noop}
";

const SINGLE: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: single, path: tests/single}
executor: {spec: {concurrency: {limit: 1}, priority: 7}}
workflow:
  - step: start
    tool: {kind: noop}
";

async fn started(server: &Server, playbook: &str, path: &str) -> String {
    server.register(playbook).await;
    server.start(path).await
}

/// Asks for a limit until a figure of it has a value, for at most ten seconds.
async fn until(server: &Server, path: &str, figure: &str, value: u64) {
    for _ in 0..500 {
        if server.get(path).await.body[figure] == json!(value) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("`{figure}` of {path} is not {value} in time");
}

async fn hint(server: &Server, execution: &str) -> String {
    let status = server.get(&format!("/api/executions/{execution}/status")).await.body;
    status["hint"].as_str().unwrap_or_default().to_owned()
}

pub(super) async fn an_execution_is_paused_and_resumed_by_its_caller(server: Server) {
    let execution = started(&server, SMALL, "tests/small").await;
    let pause = format!("/api/executions/{execution}/pause");
    for _ in 0..2 {
        let body = json!({ "actor": "ada", "reason": "repair" });
        let answer = server.post(&pause, body).await;
        assert_eq!(answer.body["status"], "paused", "{}", answer.body);
    }
    let told = hint(&server, &execution).await;
    assert!(told.starts_with("Paused by ada since 20") && told.ends_with(": repair"), "{told}");
    let position = server.get(&format!("/api/executions/{execution}/position")).await.body;
    let wait = &position["open"]["parts"][0]["wait"];
    assert_eq!((&wait["for"], &wait["actor"]), (&json!("resumption"), &json!("ada")), "{position}");
    let resume = format!("/api/executions/{execution}/resume");
    assert_eq!(server.post(&resume, json!({})).await.body["status"], "resumed");
    server.work().await;
    assert_eq!(server.status(&execution).await, "COMPLETED");
    let proven = server.get(&format!("/api/executions/{execution}/verify")).await.body;
    assert_eq!(proven["valid"], true, "{proven}");
    assert_eq!(server.post(&pause, json!({})).await.problem(), "409 execution-ended");
    let unknown = server.post("/api/executions/12345/pause", json!({})).await;
    assert_eq!(unknown.problem(), "404 unknown-execution");
    let long = "x".repeat(2000);
    let execution = server.start("tests/small").await;
    let pause = format!("/api/executions/{execution}/pause");
    let refused = server.post(&pause, json!({ "reason": long })).await;
    assert_eq!(refused.problem(), "422 reason-too-long");
}

pub(super) async fn a_playbook_and_a_pool_are_paused_and_listed(server: Server) {
    server.register(SMALL).await;
    let body = json!({ "path": "tests/small", "actor": "ada" });
    let paused = server.post("/api/catalog/pause", body.clone()).await;
    assert_eq!(paused.body["status"], "paused", "{}", paused.body);
    let pool = server.post("/api/pools/gpu/pause", json!({ "reason": "driver" })).await;
    assert_eq!(pool.body["status"], "paused", "{}", pool.body);
    let listed = server.get("/api/pauses").await.body;
    let names: Vec<_> =
        listed["pauses"].as_array().expect("a list").iter().map(|it| it["name"].clone()).collect();
    assert_eq!(names, [json!("tests/small"), json!("gpu")]);
    let execution = server.start("tests/small").await;
    let told = hint(&server, &execution).await;
    assert!(told.starts_with("Playbook paused by ada since 20"), "{told}");
    assert_eq!(server.post("/api/catalog/resume", body.clone()).await.body["status"], "resumed");
    assert_eq!(server.post("/api/catalog/resume", body).await.body["status"], "running");
    assert_eq!(server.post("/api/pools/gpu/resume", json!({})).await.body["status"], "resumed");
    server.work().await;
    assert_eq!(server.status(&execution).await, "COMPLETED");
    let unknown = server.post("/api/catalog/pause", json!({ "path": "tests/none" })).await;
    assert_eq!(unknown.problem(), "404 unknown-playbook");
}

pub(super) async fn a_limit_shows_its_holders_and_its_queue(server: Server) {
    let first = started(&server, SINGLE, "tests/single").await;
    let name = "playbook:tests%2Fsingle";
    let path = format!("/api/limits/{name}");
    until(&server, &path, "holders", 1).await;
    let second = server.start("tests/single").await;
    until(&server, &path, "queued", 1).await;
    let detail = server.get(&path).await.body;
    assert_eq!(detail["allows"], "1 at a time", "{detail}");
    assert_eq!(detail["slots"][0]["execution_id"], json!(first), "{detail}");
    assert_eq!(detail["queue"][0]["execution_id"], json!(second), "{detail}");
    assert_eq!(detail["queue"][0]["priority"], 7, "{detail}");
    let listed = server.get("/api/limits").await.body;
    assert_eq!(listed["limits"][0]["name"], "playbook:tests/single", "{listed}");
    let beyond = server.get(&format!("/api/limits?after={name}")).await.body;
    assert_eq!(beyond["limits"], json!([]), "{beyond}");
    let told = hint(&server, &second).await;
    let expected = "1st in the queue of limit `playbook:tests/single` since 20";
    assert!(told.starts_with(expected), "{told}");
    for execution in [&first, &second] {
        // The second begins once the first has given its slot back.
        server.work().await;
        assert_eq!(server.status(execution).await, "COMPLETED");
    }
    assert_eq!(server.get("/api/limits/nothing").await.problem(), "404 unknown-limit");
}

/// An execution of it has a limit of its own for each customer.
const KEYED: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: keyed, path: tests/keyed}
executor: {spec: {concurrency: {limit: 1, key: '{{ workload.customer }}'}}}
workload: {customer: 0}
workflow:
  - step: start
    limit: {name: zeta, max: 1}
    tool: {kind: noop}
";

#[tokio::test(start_paused = true)]
async fn limits_with_keys_do_not_hide_the_limits_that_steps_name() {
    let server = Server::new();
    server.register(KEYED).await;
    let starts = (0..230).map(|customer| {
        json!({ "path": "tests/keyed", "payload": { "customer": format!("c{customer:03}") } })
    });
    let batch = json!({ "executions": starts.collect::<Vec<_>>() });
    assert_eq!(server.post("/api/execute/batch", batch).await.status, 200);
    until(&server, "/api/limits/zeta", "queued", 229).await;
    let names = async |path: &str| -> (Vec<String>, serde_json::Value) {
        let page = server.get(path).await.body;
        let limits = page["limits"].as_array().expect("a list").iter();
        let name = |limit: &serde_json::Value| limit["name"].as_str().expect("a name").to_owned();
        (limits.map(name).collect(), page["next_after"].clone())
    };
    let (first, next) = names("/api/limits").await;
    assert_eq!((first[0].as_str(), first.len()), ("zeta", 200));
    let next = next.as_str().expect("there are more");
    let (second, last) = names(&format!("/api/limits?after={next}")).await;
    assert_eq!((second.len(), last), (31, json!(null)));
    let all: std::collections::BTreeSet<&String> = first.iter().chain(&second).collect();
    assert_eq!(all.len(), 231, "each limit is on one page");
    let metrics = server.get("/metrics").await.body;
    let metrics = metrics.as_str().expect("text");
    assert!(metrics.contains("\nnoetl_limit_queued{limit=\"zeta\"} 229\n"), "{metrics}");
}
