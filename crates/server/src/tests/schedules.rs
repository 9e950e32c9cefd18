//! Tests of the schedule routes.

use axum::http::StatusCode;
use expect_test::expect;
use serde_json::json;

use super::Server;

const NIGHTLY: &str = "\
apiVersion: noetl.io/v1
kind: Schedule
metadata: {name: nightly, path: schedules/nightly}
spec:
  cron: 30 2 * * *
  timezone: Europe/Berlin
  overlap: skip
  dispatch: {playbook: tests/hello, payload: {name: ada}}
";

async fn with_nightly(server: &Server) {
    server.register(super::HELLO).await;
    server.register(NIGHTLY).await;
}

pub(super) async fn a_schedule_is_shown_paused_and_resumed(server: Server) {
    with_nightly(&server).await;
    let shown = server.get("/api/schedules/at?path=schedules/nightly").await;
    expect![[r#"
        200 {
          "path": "schedules/nightly",
          "state": "ACTIVE",
          "playbook": "tests/hello",
          "timing": "cron 30 2 * * * Europe/Berlin",
          "next_at": "<time>",
          "last_instant": null,
          "last_execution_id": null,
          "queued_until": null,
          "trouble": null,
          "updated_at": "<time>"
        }
    "#]]
    .assert_eq(&shown.shape());
    let choice = json!({ "path": "schedules/nightly" });
    let paused = server.post("/api/schedules/pause", choice.clone()).await;
    assert_eq!((&paused.body["state"], &paused.body["next_at"]), (&json!("PAUSED"), &json!(null)));
    let listed = server.get("/api/schedules").await;
    assert_eq!(listed.body, json!({ "schedules": [paused.body] }));
    let resumed = server.post("/api/schedules/resume", choice).await;
    assert_eq!(resumed.body["state"], "ACTIVE");
    let events = server.get("/api/schedules/events?path=schedules/nightly&limit=2").await;
    let types: Vec<_> = events.body["events"]
        .as_array()
        .expect("events")
        .iter()
        .map(|it| it["event_type"].as_str().expect("a type"))
        .collect();
    assert_eq!(types, ["schedule.resumed", "schedule.paused"]);
}

pub(super) async fn instants_of_a_schedule_are_listed_and_backfilled_once(server: Server) {
    with_nightly(&server).await;
    let next = "/api/schedules/next?path=schedules/nightly&after=2027-03-27T12:00:00Z&limit=2";
    let instants = ["2027-03-28T01:00:00.000000Z", "2027-03-29T00:30:00.000000Z"];
    assert_eq!(server.get(next).await.body, json!({ "instants": instants }));

    let range = json!({
        "path": "schedules/nightly", "from": "2025-06-01T00:00:00Z", "until": "2025-06-02T12:00:00Z",
    });
    let filled = server.post("/api/schedules/backfill", range.clone()).await;
    assert_eq!(filled.status, StatusCode::OK, "{}", filled.body);
    let first = filled.body["instants"][0].clone();
    assert_eq!(first["instant"], "2025-06-01T00:30:00.000000Z");
    assert_eq!(first["started"], true);
    let id = first["execution_id"].as_str().expect("an id");
    let events = server.get(&format!("/api/executions/{id}/events")).await;
    let workload = &events.body["events"][0]["context"]["workload"];
    assert_eq!(workload["name"], "ada");
    assert_eq!(workload["schedule"]["instant"], first["instant"]);
    let again = server.post("/api/schedules/backfill", range).await;
    let expected = json!({ "instant": first["instant"], "execution_id": id, "started": false });
    assert_eq!(again.body["instants"][0], expected);
}

pub(super) async fn an_unknown_schedule_and_an_invalid_time_are_refused(server: Server) {
    with_nightly(&server).await;
    let choice = json!({ "path": "tests/hello" });
    let answer = server.post("/api/schedules/pause", choice).await;
    assert_eq!(answer.problem(), "404 unknown-schedule");
    let answer = server.get("/api/schedules/next?path=schedules/nightly&after=tomorrow").await;
    assert_eq!(answer.problem(), "422 bad-time");
    let backfill = async |from: &str, until: &str| {
        let body = json!({ "path": "schedules/nightly", "from": from, "until": until });
        server.post("/api/schedules/backfill", body).await.problem()
    };
    let ahead = backfill("2999-01-01T00:00:00Z", "2999-01-02T00:00:00Z").await;
    assert_eq!(ahead, "422 time-ahead");
    let long = backfill("2000-01-01T00:00:00Z", "2025-01-01T00:00:00Z").await;
    assert_eq!(long, "422 too-many-instants");
    let started = server.post("/api/execute", json!({ "path": "schedules/nightly" })).await;
    assert_eq!(started.status, StatusCode::NOT_FOUND, "{}", started.body);
}

const SECRETIVE: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: secretive, path: tests/secretive}
inputs:
  city: {type: string, default: Delft}
  token: {type: string, secret: true}
workflow:
- {step: start, tool: {kind: noop}}
";

pub(super) async fn a_schedule_that_gives_a_secret_input_is_refused(server: Server) {
    server.register(SECRETIVE).await;
    let of = |payload: &str| {
        let text = NIGHTLY.replace("tests/hello", "tests/secretive");
        json!({ "content": text.replace("{name: ada}", payload) })
    };
    let refused = server.post("/api/catalog/register", of("{token: hunter2-and-more}")).await;
    assert_eq!(refused.problem(), "422 secret-in-schedule");
    let told = refused.body["detail"].as_str().expect("a text").to_owned();
    assert!(told.contains("`token`, a secret input of tests/secretive"), "{told}");
    assert!(!told.contains("hunter2"), "{told}");
    let shown = server.get("/api/schedules/at?path=schedules/nightly").await;
    assert_eq!(shown.status, 404, "nothing is stored: {}", shown.body);
    let kept = server.post("/api/catalog/register", of("{city: Gouda}")).await;
    assert_eq!(kept.status, 200, "{}", kept.body);
}
