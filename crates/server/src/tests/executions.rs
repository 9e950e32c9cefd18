//! Tests of showing and ending executions.

use std::time::Duration;

use expect_test::expect;
use serde_json::{Value, json};

use super::{HELLO, PARENT, Server};

/// A playbook that sets a context value on an arc.
const SETTING: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: setting, path: tests/setting}
workflow:
  - step: start
    next: {arcs: [{step: second, set: {ctx.answer: 42}}]}
  - step: second
    tool: {kind: noop}
";

pub(super) async fn executions_are_listed_newest_first(server: Server) {
    server.register(HELLO).await;
    let first = server.start("tests/hello").await;
    let second = server.start("tests/hello").await;
    let list = async |query: &str| {
        let body = server.get(&format!("/api/executions{query}")).await.body;
        let items = body.as_array().expect("a list").clone();
        items
            .iter()
            .map(|it| it["execution_id"].as_str().expect("an id").to_owned())
            .collect::<Vec<String>>()
    };
    assert_eq!(list("").await, [second.clone(), first.clone()]);
    assert_eq!(list("?limit=1").await, [&*second]);
    assert_eq!(list("?limit=1&offset=1").await, [&*first]);
    assert_eq!(list("?path=HELLO&status=running").await.len(), 2);
    assert!(list("?status=FAILED").await.is_empty());
    assert!(list("?catalog_id=7").await.is_empty());
    let newest = server.get("/api/executions").await.body[0].clone();
    let version = newest["catalog_id"].as_str().expect("an id");
    server.register(&HELLO.replace("world", "moon")).await;
    server.start("tests/hello").await;
    assert_eq!(list(&format!("?limit=1&catalog_id={version}")).await, [&*second]);
    assert_eq!(list(&format!("?limit=1&offset=1&catalog_id={version}")).await, [&*first]);
    let far = server.get("/api/executions?offset=20001").await;
    assert_eq!(far.problem(), "422 offset-too-large");
    let answer = server.get("/api/executions?limit=1&offset=1").await;
    expect![[r#"
        200 [
          {
            "execution_id": "<id as text>",
            "origin": "native",
            "catalog_id": "<id as text>",
            "path": "tests/hello",
            "version": 1,
            "status": "RUNNING",
            "started_at": "<time>",
            "completed_at": null,
            "start_time": "<time>",
            "end_time": null,
            "duration_seconds": "<seconds>",
            "duration_human": "<duration>",
            "progress": 0,
            "parent_execution_id": null,
            "forked_from": null,
            "forked_at": null,
            "event_count": 3,
            "error": null
          }
        ]
    "#]]
    .assert_eq(&answer.shape());
    assert_eq!(server.get("/api/executions?status=odd").await.problem(), "422 invalid-status");
}

pub(super) async fn a_detail_has_the_workload_and_the_events(server: Server) {
    server.register(HELLO).await;
    let id = server.start("tests/hello").await;
    let mut answer = server.get(&format!("/api/executions/{id}")).await;
    let events = answer.body["events"].as_array().expect("events");
    assert_eq!(events.len(), 3);
    answer.body["events"] = json!([events[2]]);
    expect![[r#"
        200 {
          "execution_id": "<id as text>",
          "origin": "native",
          "catalog_id": "<id as text>",
          "path": "tests/hello",
          "version": 1,
          "status": "RUNNING",
          "started_at": "<time>",
          "completed_at": null,
          "start_time": "<time>",
          "end_time": null,
          "duration_seconds": "<seconds>",
          "duration_human": "<duration>",
          "progress": 0,
          "parent_execution_id": null,
          "forked_from": null,
          "forked_at": null,
          "event_count": 3,
          "error": null,
          "workload": {
            "name": "world"
          },
          "result": null,
          "events": [
            {
              "event_id": "<id as text>",
              "seq": 3,
              "event_type": "command.issued",
              "node_id": "start",
              "node_name": "start",
              "node_type": "python",
              "status": "PENDING",
              "created_at": "<time>",
              "timestamp": "<time>",
              "context": {
                "render_context": {
                  "workload": {
                    "name": "world"
                  }
                }
              },
              "result": null,
              "error": null,
              "meta": {
                "execution_pool": "shared",
                "command_id": "<id>:start:<id>"
              }
            }
          ],
          "events_endpoint": "/api/executions/<id>/events",
          "pagination": {
            "page": 1,
            "page_size": 2000,
            "total_events": 3,
            "total_pages": 1,
            "has_next": false,
            "has_prev": false
          }
        }
    "#]]
    .assert_eq(&answer.shape().replace(&id, "<id>"));
}

pub(super) async fn a_detail_shows_the_page_of_events_that_is_asked_for(server: Server) {
    server.register(HELLO).await;
    let id = server.start("tests/hello").await;
    let shown = async |query: &str| {
        let body = server.get(&format!("/api/executions/{id}?{query}")).await.body;
        let events = body["events"].as_array().expect("events").clone();
        let seqs: Vec<u64> = events.iter().filter_map(|it| it["seq"].as_u64()).collect();
        (seqs, body["pagination"].clone(), events)
    };
    let (seqs, pagination, events) = shown("page=1&page_size=2").await;
    assert_eq!(seqs, [3, 2]);
    assert_eq!((&pagination["total_pages"], &pagination["has_next"]), (&json!(2), &json!(true)));
    assert_eq!(shown("page=2&page_size=2").await.0, [1]);
    assert_eq!(shown("page=9&page_size=2").await.0, [0; 0]);
    let since = events[0]["event_id"].as_str().expect("an id").to_owned();
    assert_eq!(shown(&format!("since_event_id={since}")).await.0, [0; 0]);
    let since = events[1]["event_id"].as_str().expect("an id").to_owned();
    assert_eq!(shown(&format!("since_event_id={since}")).await.0, [3]);
    assert_eq!(shown("event_type=step.enter").await.0, [2]);
    let odd = server.get(&format!("/api/executions/{id}?page=x")).await;
    assert_eq!(odd.problem(), "400 invalid-query");
    assert_eq!(server.get("/api/executions/1").await.problem(), "404 unknown-execution");
}

pub(super) async fn existing_clients_find_the_fields_they_read(server: Server) {
    server.register(HELLO).await;
    let id = server.start("tests/hello").await;
    server.work().await;
    server.work().await;
    let status = server.get(&format!("/api/executions/{id}/status")).await.body;
    assert_eq!(status["completed_steps"], json!(["second", "start"]));
    assert_eq!((&status["completed"], &status["failed"]), (&json!(true), &json!(false)));
    let detail = server.get(&format!("/api/executions/{id}?page=1&page_size=50")).await.body;
    assert_eq!(detail["progress"], 100);
    assert_eq!(detail["start_time"], detail["started_at"]);
    let events = detail["events"].as_array().expect("events");
    assert_eq!(events[0]["event_type"], "playbook.completed", "the newest is first");
    let derived: Vec<&Value> =
        events.iter().filter(|it| it["derived"] == true).map(|it| &it["event_type"]).collect();
    assert_eq!(derived, ["call.done", "command.started", "call.done", "command.started"]);
    let ended = events.iter().find(|it| it["event_type"] == "command.completed");
    let ended = ended.expect("a command that has ended");
    assert!(ended["duration"].is_u64(), "{ended}");
    assert_eq!(ended["timestamp"], ended["created_at"]);

    let cancelled = server.start("tests/hello").await;
    let body = json!({ "reason": "enough" });
    server.post(&format!("/api/executions/{cancelled}/cancel"), body).await;
    let status = server.get(&format!("/api/executions/{cancelled}/status")).await.body;
    assert_eq!(status["failed"], true, "it is no success");
    assert_eq!(status["error"], "cancelled: enough");
}

pub(super) async fn events_come_in_pages(server: Server) {
    server.register(HELLO).await;
    let id = server.start("tests/hello").await;
    let page = async |query: &str| {
        let body = server.get(&format!("/api/executions/{id}/events{query}")).await.body;
        let seqs = body["events"].as_array().expect("events").iter().map(|it| it["seq"].clone());
        (seqs.collect::<Vec<Value>>(), body["next_after"].clone(), body["total"].clone())
    };
    assert_eq!(page("?limit=2").await, (vec![json!(1), json!(2)], json!(2), json!(3)));
    assert_eq!(page("?limit=2&after=2").await, (vec![json!(3)], Value::Null, json!(3)));
    assert_eq!(page("?after=3").await, (vec![], Value::Null, json!(3)));
    assert_eq!(server.get("/api/executions/1/events").await.problem(), "404 unknown-execution");
}

pub(super) async fn the_status_counts_steps(server: Server) {
    server.register(HELLO).await;
    let id = server.start("tests/hello").await;
    expect![[r#"
        200 {
          "execution_id": "<id as text>",
          "origin": "native",
          "path": "tests/hello",
          "status": "RUNNING",
          "current_step": "start",
          "progress": {
            "total_steps": 1,
            "completed_steps": 0,
            "running_steps": 1,
            "failed_steps": 0,
            "total_items": 0,
            "completed_items": 0,
            "failed_items": 0
          },
          "completed_steps": [],
          "is_cancelled": false,
          "completed": false,
          "failed": false,
          "error": null,
          "start_time": "<time>",
          "end_time": null,
          "duration_seconds": "<seconds>",
          "duration_human": "<duration>"
        }
    "#]]
    .assert_eq(&server.get(&format!("/api/executions/{id}/status")).await.shape());
    assert_eq!(server.get("/api/executions/1/status").await.problem(), "404 unknown-execution");
}

pub(super) async fn a_cancelled_execution_stays_cancelled(server: Server) {
    server.register(HELLO).await;
    let id = server.start("tests/hello").await;
    let path = format!("/api/executions/{id}/cancel");
    let answer = server.post(&path, json!({ "reason": "enough", "cascade": false })).await;
    assert_eq!(answer.body["cancelled_executions"], json!([id]));
    let check = server.get(&format!("/api/executions/{id}/cancellation-check")).await;
    assert_eq!(check.body["is_cancelled"], true);
    expect![[r#"
        playbook_started tests/hello STARTED
        step.enter start ENTERED
        command.issued start PENDING
        command.cancelled start CANCELLED
        playbook.cancelled playbook CANCELLED
    "#]]
    .assert_eq(&server.story(&id).await);
    let again = server.post(&path, json!({})).await;
    assert_eq!(again.problem(), "400 execution-ended");
    assert!(again.body["message"].is_string(), "existing clients print it");
    let finalize = format!("/api/executions/{id}/finalize");
    let finalized = server.post(&finalize, json!({ "status": "COMPLETED" })).await;
    assert_eq!(finalized.problem(), "409 execution-ended");
    assert_eq!(server.status(&id).await, "CANCELLED");
}

pub(super) async fn a_cancellation_needs_no_body_and_an_execution(server: Server) {
    server.register(HELLO).await;
    let id = server.start("tests/hello").await;
    let stop = axum::http::Request::post(format!("/api/executions/{id}/stop"));
    let answer = server.send(stop.body(axum::body::Body::empty()).expect("a request")).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let unknown = server.post("/api/executions/1/cancel", json!({})).await;
    assert_eq!(unknown.problem(), "404 unknown-execution");
    let check = server.get("/api/executions/1/cancellation-check").await;
    assert_eq!(check.body, json!({ "execution_id": "1", "is_cancelled": false }));
}

pub(super) async fn child_executions_are_cancelled_with_their_parent(server: Server) {
    server.register(HELLO).await;
    server.register(PARENT).await;
    let id = server.start("tests/parent").await;
    let children = format!("/api/executions?parent_execution_id={id}");
    let mut child = Value::Null;
    while child.is_null() {
        tokio::time::sleep(Duration::from_millis(10)).await;
        child = server.get(&children).await.body[0]["execution_id"].clone();
    }
    let answer = server.post(&format!("/api/executions/{id}/cancel"), json!({})).await;
    assert_eq!(answer.body["cancelled_executions"], json!([id, child]));
    while server.status(child.as_str().expect("an id")).await != "CANCELLED" {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Starts `tests/hello` below another execution; returns its id.
async fn start_below(server: &Server, above: &Value) -> String {
    let body = json!({ "path": "tests/hello", "parent_execution_id": above });
    let answer = server.post("/api/execute", body).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.body["execution_id"].as_str().expect("an id").to_owned()
}

pub(super) async fn an_execution_may_be_placed_below_another_that_does_not_wait(server: Server) {
    server.register(HELLO).await;
    let id = server.start("tests/hello").await;
    let number: i64 = id.parse().expect("a number");
    let below = start_below(&server, &json!(id)).await;
    start_below(&server, &json!(number)).await;
    let detail = server.get(&format!("/api/executions/{below}")).await.body;
    assert_eq!(detail["parent_execution_id"], id);
    let listed = server.get(&format!("/api/executions?parent_execution_id={id}")).await.body;
    assert_eq!(listed.as_array().map(Vec::len), Some(2));
    assert_eq!(listed[1]["execution_id"].as_str().expect("an id").to_owned(), below);
    let tree = server.get(&format!("/api/executions/{id}/tree")).await.body;
    assert_eq!(tree["children"][0]["execution_id"].as_str().expect("an id").to_owned(), below);
    let answer = server.post(&format!("/api/executions/{id}/cancel"), json!({})).await;
    assert_eq!(answer.body["cancelled_executions"].as_array().map(Vec::len), Some(3));
    while server.status(&below).await != "CANCELLED" {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let late = json!({ "path": "tests/hello", "parent_execution_id": id });
    assert_eq!(server.post("/api/execute", late).await.problem(), "409 parent-cancelled");
    // The runtime of a subscription names the subscription as the parent.
    start_below(&server, &json!(17)).await;
}

pub(super) async fn a_cancellation_without_cascade_leaves_what_is_below_alone(server: Server) {
    server.register(HELLO).await;
    server.register(PARENT).await;
    let id = server.start("tests/parent").await;
    let linked = start_below(&server, &json!(id)).await;
    let children = format!("/api/executions?parent_execution_id={id}");
    let mut below = Vec::new();
    while below.len() < 2 {
        tokio::time::sleep(Duration::from_millis(10)).await;
        let listed = server.get(&children).await.body;
        let listed = listed.as_array().expect("a list").iter();
        below = listed.map(|it| it["execution_id"].as_str().expect("an id").to_owned()).collect();
    }
    let path = format!("/api/executions/{id}/cancel");
    let answer = server.post(&path, json!({ "cascade": false })).await;
    assert_eq!(answer.body["cancelled_executions"], json!([id]));
    for _ in 0..4 {
        server.work().await;
    }
    assert!(below.contains(&linked), "{below:?}");
    for below in below {
        assert_eq!(server.status(&below).await, "COMPLETED");
    }
    assert_eq!(server.status(&id).await, "CANCELLED");
}

pub(super) async fn finalizing_adds_one_terminal_event_and_never_a_second(server: Server) {
    server.register(HELLO).await;
    let id = server.start("tests/hello").await;
    let finalize = async |body| server.post(&format!("/api/executions/{id}/finalize"), body).await;
    assert_eq!(finalize(json!({ "status": "CANCELLED" })).await.problem(), "422 not-an-end");
    let answer = finalize(json!({ "status": "FAILED", "error": "by hand" })).await;
    expect![[r#"
        200 {
          "execution_id": "<id as text>",
          "status": "FAILED",
          "message": "execution <id> is finalized as FAILED"
        }
    "#]]
    .assert_eq(&answer.shape().replace(&id, "<id>"));
    assert_eq!(finalize(json!({ "status": "COMPLETED" })).await.problem(), "409 execution-ended");
    assert_eq!(server.status(&id).await, "FAILED");
    let unknown = server.post("/api/executions/1/finalize", json!({ "status": "FAILED" })).await;
    assert_eq!(unknown.problem(), "404 unknown-execution");
}

pub(super) async fn a_rerun_has_the_same_workload_unless_it_is_given_another(server: Server) {
    server.register(HELLO).await;
    let body = json!({ "path": "tests/hello", "payload": { "name": "you" } });
    let id = server.post("/api/execute", body).await.body["execution_id"].clone();
    let path = format!("/api/executions/{}/rerun", id.as_str().expect("an id"));
    let workload = async |body| {
        let again = server.post(&path, body).await.body["execution_id"].clone();
        assert_ne!(again, id);
        let again = again.as_str().expect("an id").to_owned();
        server.get(&format!("/api/executions/{again}")).await.body["workload"]["name"].clone()
    };
    assert_eq!(workload(json!({})).await, "you");
    assert_eq!(workload(json!({ "workload": { "name": "me" } })).await, "me");
    let unknown = server.post("/api/executions/1/rerun", json!({})).await;
    assert_eq!(unknown.problem(), "404 unknown-execution");
}

pub(super) async fn executions_that_run_for_long_are_found_and_cancelled(server: Server) {
    server.register(HELLO).await;
    let id = server.start("tests/hello").await;
    tokio::time::sleep(Duration::from_millis(20)).await;
    let cleanup = async |body| server.post("/api/executions/cleanup", body).await;
    let dry = cleanup(json!({ "older_than_minutes": 0, "dry_run": true })).await.body;
    assert_eq!((&dry["cancelled_count"], &dry["execution_ids"]), (&json!(0), &json!([id])));
    let young = cleanup(json!({ "older_than_minutes": 60 })).await.body;
    assert_eq!(young["execution_ids"], json!([]));
    let done = cleanup(json!({ "older_than_minutes": 0 })).await.body;
    assert_eq!((&done["cancelled_count"], &done["execution_ids"]), (&json!(1), &json!([id])));
    assert_eq!(server.status(&id).await, "CANCELLED");
}

#[tokio::test(start_paused = true)]
async fn a_cleanup_cancels_what_has_run_for_long() {
    let server = Server::with_hello().await;
    let old = server.start("tests/hello").await;
    tokio::time::advance(Duration::from_secs(3600)).await;
    let young = server.start("tests/hello").await;
    let cleanup = async |body| server.post("/api/executions/cleanup", body).await.body;
    let dry = cleanup(json!({ "older_than_minutes": 30, "dry_run": true })).await;
    assert_eq!((&dry["cancelled_count"], &dry["execution_ids"]), (&json!(0), &json!([old])));
    let done = cleanup(json!({ "older_than_minutes": 30 })).await;
    assert_eq!((&done["cancelled_count"], &done["execution_ids"]), (&json!(1), &json!([old])));
    assert_eq!(server.status(&old).await, "CANCELLED");
    assert_eq!(server.status(&young).await, "RUNNING");
}

pub(super) async fn variables_are_what_the_execution_has_set(server: Server) {
    server.register(SETTING).await;
    let id = server.start("tests/setting").await;
    assert_eq!(server.get(&format!("/api/vars/{id}")).await.body, json!([]));
    server.work().await;
    let one = server.get(&format!("/api/vars/{id}/answer")).await.body;
    let expected = json!({
        "var_name": "answer", "var_type": "user_defined", "var_value": 42, "source_step": null,
        "created_at": null, "accessed_at": null, "access_count": 0,
    });
    assert_eq!(one, expected);
    assert_eq!(server.get(&format!("/api/vars/{id}")).await.body, json!([one]));
    let missing = server.get(&format!("/api/vars/{id}/x")).await;
    assert_eq!(missing.problem(), "404 unknown-variable");
    assert_eq!(server.get("/api/vars/1").await.problem(), "404 unknown-execution");
}

pub(super) async fn pages_follow_each_other_by_cursor_while_new_executions_start(server: Server) {
    server.register(HELLO).await;
    let mut started = Vec::new();
    for _ in 0..3 {
        started.push(server.start("tests/hello").await);
    }
    let page = async |query: &str| {
        let answer = server.get(&format!("/api/executions?limit=2{query}")).await;
        let ids: Vec<String> = answer
            .body
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["execution_id"].as_str().expect("an id").to_owned())
            .collect();
        let next = answer.headers.get("x-next-cursor");
        (ids, next.map(|next| next.to_str().unwrap().to_owned()))
    };
    let (first, next) = page("").await;
    assert_eq!(first, [&*started[2], &*started[1]]);
    server.start("tests/hello").await;
    let (second, end) = page(&format!("&cursor={}", next.unwrap())).await;
    assert_eq!((second, end), (vec![started[0].clone()], None));
}

#[tokio::test(start_paused = true)]
async fn executions_are_found_by_the_time_they_started_and_by_their_whole_path() {
    let server = Server::with_hello().await;
    let early = server.start("tests/hello").await;
    let between = server.state.now().after(Duration::from_secs(5));
    tokio::time::advance(Duration::from_secs(10)).await;
    let late = server.start("tests/hello").await;
    let list = async |query: String| -> Vec<String> {
        let body = server.get(&format!("/api/executions?{query}")).await.body;
        body.as_array()
            .unwrap()
            .iter()
            .map(|it| it["execution_id"].as_str().expect("an id").to_owned())
            .collect()
    };
    assert_eq!(list(format!("started_after={between}")).await, [&*late]);
    assert_eq!(list(format!("started_before={between}")).await, [&*early]);
    assert_eq!(list("path_exact=tests/hello".to_owned()).await.len(), 2);
    assert!(list("path_exact=tests/hell".to_owned()).await.is_empty());
    let odd = server.get("/api/executions?started_after=noon").await;
    assert_eq!(odd.problem(), "400 invalid-time");
}

pub(super) async fn executions_are_counted_by_time_and_status(server: Server) {
    server.register(HELLO).await;
    let cancelled = server.start("tests/hello").await;
    server.start("tests/hello").await;
    server.post(&format!("/api/executions/{cancelled}/cancel"), json!({})).await;
    let counts = async |query: &str| -> (u64, u64, usize) {
        let body = server.get(&format!("/api/executions/histogram?{query}")).await.body;
        assert_eq!(body["truncated"], false, "{body}");
        let buckets = body["buckets"].as_array().expect("buckets").clone();
        let sum = |name: &str| buckets.iter().map(|it| it[name].as_u64().expect("a count")).sum();
        assert_eq!((sum("completed"), sum("failed")), (0, 0));
        (sum("running"), sum("cancelled"), buckets.len())
    };
    assert_eq!(counts("").await, (1, 1, 48));
    assert_eq!(counts("buckets=24").await, (1, 1, 24));
    assert_eq!(counts("status=cancelled").await, (0, 1, 48));
    assert_eq!(counts("path=HELL&buckets=2").await, (1, 1, 2));
    assert_eq!(counts("path_exact=tests/hello&buckets=2").await, (1, 1, 2));
    assert_eq!(counts("path_exact=tests/hell&buckets=2").await, (0, 0, 2));
    assert_eq!(counts("parent_execution_id=7&buckets=2").await, (0, 0, 2));
    let past = "started_after=2026-01-01T00:00:00Z&started_before=2026-01-02T00:00:00Z";
    assert_eq!(counts(past).await, (0, 0, 48));
    let refused = async |query: &str| {
        server.get(&format!("/api/executions/histogram?{query}")).await.problem()
    };
    assert_eq!(refused("buckets=0").await, "422 invalid-buckets");
    assert_eq!(refused("buckets=201").await, "422 invalid-buckets");
    assert_eq!(refused("started_after=2999-01-01T00:00:00Z").await, "422 empty-time");
}

pub(super) async fn events_come_in_both_orders_and_by_type_and_step(server: Server) {
    server.register(HELLO).await;
    let id = server.start("tests/hello").await;
    let page = async |query: &str| {
        let body = server.get(&format!("/api/executions/{id}/events?{query}")).await.body;
        let events = body["events"].as_array().expect("events").clone();
        let seqs: Vec<u64> = events.iter().map(|it| it["seq"].as_u64().unwrap()).collect();
        (seqs, body["next_before"].as_u64())
    };
    assert_eq!(page("order=desc&limit=2").await, (vec![3, 2], Some(2)));
    assert_eq!(page("order=desc&limit=2&before=2").await, (vec![1], None));
    assert_eq!(page("event_type=step.enter").await, (vec![2], None));
    assert_eq!(page("order=desc&node_name=start").await, (vec![3, 2], None));
    assert_eq!(page("after=1&before=3").await, (vec![2], None));
}

#[tokio::test(start_paused = true)]
async fn the_tree_shows_what_was_started() {
    let server = Server::with_hello().await;
    server.register(PARENT).await;
    let id = server.start("tests/parent").await;
    let mut tree = Value::Null;
    for _ in 0..100 {
        tree = server.get(&format!("/api/executions/{id}/tree")).await.body;
        if tree["children"].as_array().is_some_and(|children| !children.is_empty()) {
            break;
        }
        tokio::time::advance(Duration::from_millis(100)).await;
    }
    assert_eq!(tree["execution_id"].as_str().expect("an id").to_owned(), id);
    assert_eq!(tree["children"][0]["path"], "tests/hello");
    assert_eq!(tree["children"][0]["children"], json!([]));
    assert_eq!(tree["truncated"], false);
}

pub(super) async fn executions_are_found_by_all_of_their_labels(server: Server) {
    server.register(super::HELLO).await;
    let start = async |labels: Value| {
        let body = json!({ "path": "tests/hello", "labels": labels });
        server.post("/api/execute", body).await
    };
    let both = start(json!({ "team": "ops", "region": "eu" })).await.body["execution_id"].clone();
    let one = start(json!({ "team": "ops" })).await.body["execution_id"].clone();
    start(json!({ "team": "hr" })).await;
    let found = async |query: &str| {
        let listed = server.get(&format!("/api/executions?{query}")).await.body;
        let listed = listed.as_array().cloned().unwrap_or_else(|| panic!("{listed}"));
        listed.into_iter().map(|it| it["execution_id"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(found("label=team:ops").await, [one, both.clone()]);
    assert_eq!(found("label=team:ops&label=region:eu").await, [both]);
    assert_eq!(found("label=team:ops&label=region:us").await, [json!(null); 0]);
    assert_eq!(server.get("/api/executions?label=team").await.status, 422);
    for labels in [json!({ "-a": "b" }), json!({ "a": "" }), json!({ "a": [1] })] {
        assert_eq!(start(labels.clone()).await.status, 422, "{labels}");
    }
}
