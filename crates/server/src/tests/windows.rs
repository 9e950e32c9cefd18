//! Tests of parts of a log: density, timeline, live updates.

use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};

use super::positions::{branched, complete, lease};
use super::{HELLO, Server};

async fn of(server: &Server, id: &str, path: &str) -> Value {
    let answer = server.get(&format!("/api/executions/{id}/{path}")).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.body
}

/// Fails the first command of `tests/hello`.
async fn failed(server: &Server) -> String {
    server.register(HELLO).await;
    let id = server.start("tests/hello").await;
    let mut report = lease(server, 1).await[0].clone();
    report["worker"] = json!("w");
    let error = json!({ "kind": "exception", "message": "no", "retryable": false });
    report["outcome"] = json!({ "status": "failed", "error": error });
    let answer = server.post("/api/worker/report", json!({ "reports": [report] })).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    id
}

pub(super) async fn the_density_of_events_is_counted_by_seq_and_by_time(server: Server) {
    let id = failed(&server).await;
    let by_seq = of(&server, &id, "density?buckets=3").await;
    let to = by_seq["to"].as_u64().expect("a seq");
    assert_eq!((&by_seq["from"], &by_seq["is_exact"]), (&json!(1), &json!(true)));
    let counts = |density: &Value, key: &str| -> u64 {
        let buckets = density["buckets"].as_array().expect("buckets").iter();
        buckets.map(|bucket| bucket[key].as_u64().expect("a number")).sum()
    };
    assert_eq!(by_seq["buckets"].as_array().unwrap().len(), 3);
    assert_eq!(counts(&by_seq, "events"), to);
    // The command, the step and the execution.
    assert_eq!(counts(&by_seq, "failures"), 3);
    let kinds: Vec<&Value> =
        by_seq["marks"].as_array().unwrap().iter().map(|mark| &mark["kind"]).collect();
    assert_eq!(kinds, ["failure", "failure", "failure"]);
    let by_time = of(&server, &id, "density?axis=time&buckets=10").await;
    assert_eq!((counts(&by_time, "events"), &by_time["axis"]), (to, &json!("time")));
    let part = of(&server, &id, "density?from=2&to=3").await;
    assert_eq!(counts(&part, "events"), 2);
}

pub(super) async fn a_timeline_distinguishes_waiting_from_running(server: Server) {
    let id = branched(&server).await;
    let leases = lease(&server, 2).await;
    complete(&server, &leases[0], Value::Null).await;
    let timeline = of(&server, &id, "timeline?expand=many").await;
    let names: Vec<&Value> =
        timeline["rows"].as_array().unwrap().iter().map(|row| &row["step"]["name"]).collect();
    assert_eq!(names, ["start", "many", "rare"]);
    let many = &timeline["rows"][1];
    let last = many["segments"].as_array().unwrap().last().expect("a segment");
    assert_eq!((&last["activity"], &last["to_at"]), (&json!("running"), &Value::Null));
    let attempts = many["attempts"].as_array().unwrap();
    let ended = attempts.iter().find(|it| it["activity"] == "running" && it["item"] == 0);
    assert!(ended.is_some_and(|it| it["to_at"].is_string()), "{attempts:?}");
    let group = &many["groups"][0];
    assert_eq!((&group["first"], &group["completed"]), (&json!(0), &json!(1)));
    assert_eq!(timeline["rows"][0]["attempts"], json!([]));
    // Work that began before the part is in it.
    let to = timeline["to"].as_u64().unwrap();
    let end = of(&server, &id, &format!("timeline?from={to}&offset=1&limit=1")).await;
    assert_eq!((&end["total"], end["rows"].as_array().unwrap().len()), (&json!(3), 1));
    assert!(!end["rows"][0]["segments"].as_array().unwrap().is_empty());
}

/// Reads a live stream to its end; returns the updates.
async fn updates(server: &Server, id: &str, last: Option<u64>) -> Vec<Value> {
    let mut request = Request::get(format!("/api/executions/{id}/live"));
    if let Some(last) = last {
        request = request.header("last-event-id", last.to_string());
    }
    let answer = server.send(request.body(Body::empty()).expect("a request")).await;
    let text = answer.body.as_str().unwrap_or_default().to_owned();
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    data.map(|data| serde_json::from_str(data).expect("JSON")).collect()
}

pub(super) async fn live_updates_tell_what_has_changed_and_end(server: Server) {
    server.register(HELLO).await;
    let id = server.start("tests/hello").await;
    let cancel = format!("/api/executions/{id}/cancel");
    let (heard, _) = tokio::join!(updates(&server, &id, None), server.post(&cancel, json!({})));
    let last = heard.last().expect("an update");
    assert_eq!((&last["status"], &last["position"]), (&json!("CANCELLED"), &json!(5)));
    assert_eq!(last["steps"][0]["status"], "CANCELLED");
    assert_eq!(last["open"]["total"], 0);
}

pub(super) async fn live_updates_resume_after_a_position(server: Server) {
    server.register(HELLO).await;
    let id = server.start("tests/hello").await;
    server.post(&format!("/api/executions/{id}/cancel"), json!({})).await;
    let heard = updates(&server, &id, Some(3)).await;
    let positions: Vec<&Value> = heard.iter().map(|update| &update["position"]).collect();
    assert_eq!(positions, [5]);
    let over = server.get(&format!("/api/executions/{id}/live?after=5")).await;
    assert_eq!(over.status, 204);
    let unknown = server.get("/api/executions/5/live").await;
    assert_eq!(unknown.problem(), "404 unknown-execution");
}

pub(super) async fn an_invalid_part_of_a_log_has_a_problem_code(server: Server) {
    let id = failed(&server).await;
    let problem =
        async |path: &str| server.get(&format!("/api/executions/{id}/{path}")).await.problem();
    assert_eq!(problem("density?buckets=0").await, "422 invalid-buckets");
    assert_eq!(problem("density?buckets=1001").await, "422 invalid-buckets");
    assert_eq!(problem("density?from=3&to=2").await, "422 invalid-part");
    assert_eq!(problem("density?from=0").await, "404 unknown-position");
    assert_eq!(problem("timeline?to=1000").await, "404 unknown-position");
    let many = vec!["a"; 21].join(",");
    assert_eq!(problem(&format!("timeline?expand={many}")).await, "422 too-many-expanded");
    assert_eq!(problem("density?axis=colour").await, "400 invalid-query");
}
