//! Tests of approvals: the list, the decision, repeated and different decisions, links.

use serde_json::{Value, json};

use super::Server;

const RELEASE: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: release, path: tests/release}
workflow:
  - step: start
    tool:
      kind: approval
      title: Release
      approvers: [ada]
      form: {required: [share], properties: {share: {type: integer, maximum: 100}}}
    next: second
  - step: second
    tool: {kind: noop, message: '{{ start.actor }}'}
";

const OPEN: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: open, path: tests/open}
workflow:
  - step: start
    tool: {kind: approval, title: Anyone}
";

async fn started(server: &Server, playbook: &str, path: &str) -> String {
    server.register(playbook).await;
    server.start(path).await
}

fn approve(share: i64) -> Value {
    json!({ "decision": "approve", "comment": "go", "values": { "share": share } })
}

pub(super) async fn an_approval_is_listed_and_decided_once(server: Server) {
    let execution = started(&server, RELEASE, "tests/release").await;
    let status = server.get(&format!("/api/executions/{execution}/status")).await.body;
    let hint = status["hint"].as_str().unwrap_or_else(|| panic!("{status}"));
    assert!(hint.starts_with("Waiting for approval `Release` since 20"), "{hint}");
    let list = server.get("/api/approvals?approver=ada").await.body;
    assert_eq!(list["approvals"][0]["title"], "Release", "{list}");
    assert_eq!(list["approvals"][0]["execution_id"], json!(execution), "{list}");
    assert_eq!(server.get("/api/approvals?approver=eve").await.body["approvals"], json!([]));
    let of_it = server.get(&format!("/api/approvals?execution_id={execution}")).await.body;
    assert_eq!(of_it["approvals"][0]["command"], 0, "{of_it}");

    let path = format!("/api/approvals/{execution}/0");
    let decision = format!("{path}/decision");
    let by = async |actor: &str, body: Value| server.post_as(actor, &decision, body).await;
    assert_eq!(by("eve", approve(20)).await.problem(), "403 not-an-approver");
    let unfit =
        by("ada", json!({ "decision": "approve", "values": { "share": 101, "x": 1 } })).await;
    assert_eq!(unfit.problem(), "422 invalid-decision");
    assert_eq!(unfit.body["problems"].as_array().map(Vec::len), Some(2), "{}", unfit.body);
    for _ in 0..2 {
        let decided = by("ada", approve(20)).await;
        assert_eq!(decided.status, 200, "{}", decided.body);
        assert_eq!(decided.body["decision"]["decision"], "approved");
        assert_eq!(decided.body["decision"]["actor"], "ada");
    }
    let different = by("ada", json!({ "decision": "reject" })).await;
    assert_eq!(different.problem(), "409 already-decided");
    assert_eq!(different.body["approval"]["decision"]["values"], json!({ "share": 20 }));
    assert_eq!(server.get("/api/approvals").await.body["approvals"], json!([]));

    server.work().await;
    assert_eq!(server.status(&execution).await, "COMPLETED");
    assert_eq!(by("ada", approve(20)).await.status, 200, "a repetition after the end");
    assert_eq!(by("ada", approve(21)).await.problem(), "409 already-decided");
    let shown = server.get(&path).await.body;
    assert_eq!(shown["step"], "start", "{shown}");
    let story = server.story(&execution).await;
    assert_eq!(story.matches("approval.decided").count(), 1, "{story}");
    let proven = server.get(&format!("/api/executions/{execution}/verify")).await.body;
    assert_eq!(proven["valid"], true, "{proven}");
}

pub(super) async fn decisions_that_cannot_be_made_say_why(server: Server) {
    let execution = started(&server, OPEN, "tests/open").await;
    let refused = async |id: &str, command: u64| {
        let path = format!("/api/approvals/{id}/{command}/decision");
        server.post(&path, json!({ "decision": "approve" })).await.problem()
    };
    assert_eq!(refused(&execution, 9).await, "404 unknown-command");
    assert_eq!(refused("12345", 0).await, "404 unknown-execution");
    let path = format!("/api/approvals/{execution}/0/decision");
    assert_eq!(server.post(&path, json!({ "decision": "maybe" })).await.status, 422);
    let shown = server.get(&format!("/api/approvals/{execution}/7")).await;
    assert_eq!(shown.problem(), "404 unknown-approval");
    server.post(&format!("/api/executions/{execution}/cancel"), json!({})).await;
    assert_eq!(refused(&execution, 0).await, "409 execution-ended");
    assert_eq!(server.get("/api/approvals").await.body["approvals"], json!([]));
}

pub(super) async fn approvals_are_listed_page_by_page(server: Server) {
    server.register(OPEN).await;
    let mut started = Vec::new();
    for _ in 0..5 {
        started.push(server.start("tests/open").await);
    }
    let (mut found, mut after) = (Vec::new(), String::new());
    loop {
        let page = server.get(&format!("/api/approvals?limit=2{after}")).await.body;
        let approvals = page["approvals"].as_array().expect("a list").clone();
        assert!(approvals.len() <= 2, "{page}");
        found.extend(approvals.iter().map(|it| it["execution_id"].as_str().unwrap().to_owned()));
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => break,
        }
    }
    started.sort();
    found.sort();
    assert_eq!(found, started);
}

pub(super) async fn a_link_is_made_only_for_an_approval_that_waits(server: Server) {
    let execution = started(&server, RELEASE, "tests/release").await;
    let path = format!("/api/approvals/{execution}/0/link");
    let link = async |body: Value| server.post(&path, body).await;
    assert_eq!(link(json!({})).await.problem(), "422 not-an-approver");
    assert_eq!(link(json!({ "actor": "eve" })).await.problem(), "422 not-an-approver");
    let long = json!({ "actor": "ada", "valid_for": "365d" });
    assert_eq!(link(long).await.problem(), "422 link-too-long");
    let wrong = json!({ "actor": "ada", "valid_for": "soon" });
    assert_eq!(link(wrong).await.problem(), "422 invalid-duration");
    let made = link(json!({ "actor": "ada", "valid_for": "2h" })).await;
    assert_eq!(made.status, 200, "{}", made.body);
    let address = made.body["path"].as_str().expect("a path").to_owned();
    assert!(address.starts_with("/ui/decide/"), "{address}");
    let decision = format!("/api/approvals/{execution}/0/decision");
    server.post_as("ada", &decision, approve(5)).await;
    assert_eq!(link(json!({ "actor": "ada" })).await.problem(), "409 already-decided");
}
