//! Tests of the state of an execution at a position.

use noetl_model::PAYLOAD_INLINE_MAX;
use serde_json::{Value, json};

use super::{HELLO, Server};

/// A playbook with a loop over three items, and a step that is skipped.
const BRANCHES: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: branches, path: tests/branches}
workload: {limit: 100}
workflow:
  - step: start
    tool: {kind: python, code: 'pass'}
    set: {ctx.total: '{{ output.total }}'}
    next:
      spec: {mode: inclusive}
      arcs:
        - {step: many, when: '{{ ctx.total > 0 }}'}
        - {step: rare}
        - {step: never, when: '{{ ctx.total > workload.limit }}'}
  - step: many
    loop: {in: [1, 2, 3], iterator: n, spec: {mode: parallel, max_in_flight: 2}}
    tool: {kind: python, code: 'pass'}
  - step: rare
    when: '{{ ctx.total > workload.limit }}'
    tool: {kind: python, code: 'pass'}
  - step: never
    tool: {kind: python, code: 'pass'}
";

/// Leases up to `max` commands.
pub(super) async fn lease(server: &Server, max: u32) -> Vec<Value> {
    let body = json!({ "worker": "w", "pool": "shared", "max": max, "wait_ms": 20_000 });
    let answer = server.post("/api/worker/lease", body).await;
    answer.body["leases"].as_array().expect("leases").clone()
}

/// Completes a leased command.
pub(super) async fn complete(server: &Server, lease: &Value, output: Value) {
    let mut report = lease.clone();
    report["worker"] = json!("w");
    report["outcome"] = json!({ "status": "completed", "output": output });
    let answer = server.post("/api/worker/report", json!({ "reports": [report] })).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
}

async fn position(server: &Server, id: &str, query: &str) -> Value {
    let answer = server.get(&format!("/api/executions/{id}/position{query}")).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.body
}

fn step<'a>(position: &'a Value, name: &str) -> &'a Value {
    let steps = position["steps"].as_array().expect("steps");
    steps.iter().find(|step| step["name"] == name).expect("the step")
}

/// Returns from, to and count of each arc.
fn arcs(position: &Value) -> Vec<String> {
    let arcs = position["arcs"].as_array().expect("arcs").iter();
    let word = |arc: &Value, key: &str| arc[key].as_str().expect("a name").to_owned();
    arcs.map(|arc| format!("{} -> {}: {}", word(arc, "from"), word(arc, "to"), arc["times"]))
        .collect()
}

pub(super) async fn a_position_shows_steps_arcs_and_open_work(server: Server) {
    server.register(HELLO).await;
    let id = server.start("tests/hello").await;
    let waiting = position(&server, &id, "").await;
    assert_eq!((&waiting["position"], &waiting["last"]), (&json!(3), &json!(3)));
    assert_eq!(waiting["execution_id"], json!(id));
    assert_eq!(step(&waiting, "start")["status"], "RUNNING");
    assert_eq!(step(&waiting, "second")["status"], Value::Null);
    assert_eq!(arcs(&waiting), ["start -> second: 0"]);
    let wait = &waiting["open"]["parts"][0]["wait"];
    assert_eq!((&wait["for"], &wait["pool"]), (&json!("worker"), &json!("shared")));
    assert!(wait["is_served"].is_boolean(), "{wait}");
    let leases = lease(&server, 1).await;
    let held = position(&server, &id, "").await;
    let wait = &held["open"]["groups"][0]["wait"];
    assert_eq!((&wait["for"], &wait["worker"]), (&json!("report"), &json!("w")));
    assert_eq!(step(&held, "start")["latest"]["attempts"], 1);
    complete(&server, &leases[0], json!({ "text": "hi" })).await;
    let after = position(&server, &id, "").await;
    assert_eq!(arcs(&after), ["start -> second: 1"]);
    assert_eq!(step(&after, "start")["output"]["value"], json!({ "text": "hi" }));
    assert_eq!(step(&after, "start")["latest"]["ended"], json!(6));
    let before = position(&server, &id, "?at=3").await;
    assert_eq!((&before["position"], &before["last"]), (&json!(3), &after["last"]));
    assert_eq!(step(&before, "start")["output"]["value"], Value::Null);
    let wait = &before["open"]["parts"][0]["wait"];
    assert_eq!((&wait["for"], &wait["is_served"]), (&json!("worker"), &Value::Null));
}

/// Starts `tests/branches`, with a total of 42.
pub(super) async fn branched(server: &Server) -> String {
    server.register(BRANCHES).await;
    let id = server.start("tests/branches").await;
    let leases = lease(server, 1).await;
    complete(server, &leases[0], json!({ "total": 42 })).await;
    id
}

pub(super) async fn a_position_counts_the_items_of_a_loop(server: Server) {
    let id = branched(&server).await;
    let items = async || {
        let shown = position(&server, &id, "").await;
        step(&shown, "many")["latest"]["items"].clone()
    };
    let expected = json!({ "total": 3, "completed": 0, "failed": 0, "running": 2 });
    assert_eq!(items().await, expected);
    let leases = lease(&server, 2).await;
    complete(&server, &leases[0], Value::Null).await;
    let expected = json!({ "total": 3, "completed": 1, "failed": 0, "running": 2 });
    assert_eq!(items().await, expected);
    complete(&server, &leases[1], Value::Null).await;
    let leases = lease(&server, 1).await;
    complete(&server, &leases[0], Value::Null).await;
    let expected = json!({ "total": 3, "completed": 3, "failed": 0, "running": 0 });
    assert_eq!(items().await, expected);
    let ended = position(&server, &id, "").await;
    assert_eq!((&ended["status"], &ended["open"]["total"]), (&json!("COMPLETED"), &json!(0)));
    assert_eq!(step(&ended, "many")["latest"]["attempts"], 3);
}

pub(super) async fn a_skipped_step_and_the_arc_to_it_are_shown(server: Server) {
    let id = branched(&server).await;
    let shown = position(&server, &id, "").await;
    assert_eq!(step(&shown, "rare")["status"], "SKIPPED");
    assert_eq!(step(&shown, "rare")["skipped"], "guard");
    assert_eq!(arcs(&shown), ["start -> many: 1", "start -> rare: 1", "start -> never: 0"]);
    assert_eq!(
        shown["ctx"][0],
        json!({ "name": "total", "value": { "form": "inline", "value": 42 } })
    );
    assert_eq!(shown["arcs"][0]["when"], "{{ ctx.total > 0 }}");
}

pub(super) async fn a_large_value_is_loaded_by_its_name(server: Server) {
    server.register(HELLO).await;
    let id = server.start("tests/hello").await;
    let leases = lease(&server, 1).await;
    for (len, is_first) in [(PAYLOAD_INLINE_MAX, true), (3000, false)] {
        let output = json!({ "text": "x".repeat(len) });
        let bytes = output.to_string().len();
        if is_first {
            complete(&server, &leases[0], output.clone()).await;
            let shown = position(&server, &id, "").await;
            assert_eq!(
                step(&shown, "start")["output"],
                json!({ "form": "left_out", "bytes": bytes })
            );
            let query = format!("/api/executions/{id}/position/value?name=steps.start");
            assert_eq!(server.get(&query).await.body["value"], output);
        } else {
            let next = lease(&server, 1).await;
            complete(&server, &next[0], output.clone()).await;
            let shown = position(&server, &id, "").await;
            assert_eq!(step(&shown, "second")["output"]["bytes"], json!(bytes));
            let query = format!("/api/executions/{id}/position/value?name=steps.second");
            assert_eq!(server.get(&query).await.body["value"], output);
        }
    }
    let query = format!("/api/executions/{id}/position/value?name=workload&at=1");
    assert_eq!(server.get(&query).await.body["value"], json!({ "name": "world" }));
}

pub(super) async fn an_invalid_position_has_a_problem_code(server: Server) {
    server.register(HELLO).await;
    let id = server.start("tests/hello").await;
    let problem = async |path: &str| server.get(&format!("/api/executions/{path}")).await.problem();
    assert_eq!(problem(&format!("{id}/position?at=0")).await, "404 unknown-position");
    assert_eq!(problem(&format!("{id}/position?at=4")).await, "404 unknown-position");
    assert_eq!(problem(&format!("{id}/position?at=x")).await, "400 invalid-query");
    assert_eq!(problem("5/position").await, "404 unknown-execution");
    let value = format!("{id}/position/value?name=");
    assert_eq!(problem(&format!("{value}iter.n")).await, "400 invalid-value-name");
    assert_eq!(problem(&format!("{value}ctx.n")).await, "404 unknown-value");
}

/// Returns the seq of the last event of a type, which may name a step.
async fn seq_of(server: &Server, id: &str, event_type: &str, step: &str) -> u64 {
    let last = position(server, id, "").await["last"].as_u64().expect("a seq");
    for at in (1..=last).rev() {
        let links = server.get(&format!("/api/executions/{id}/position/links?at={at}")).await;
        let event = &links.body["event"];
        if event["event_type"] == event_type && (step.is_empty() || event["step"] == step) {
            return at;
        }
    }
    panic!("there is no {event_type} of {step}");
}

pub(super) async fn a_change_shows_what_an_event_made_different(server: Server) {
    let id = branched(&server).await;
    let change = async |query: String| {
        let answer = server.get(&format!("/api/executions/{id}/position/change{query}")).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.body
    };
    let first = change("?at=1".to_owned()).await;
    assert_eq!((&first["from"], &first["to"]), (&json!(0), &json!(1)));
    assert_eq!(first["workload"]["after"]["value"], json!({ "limit": 100 }));
    let set = seq_of(&server, &id, "context.updated", "").await;
    let set = change(format!("?at={set}")).await;
    assert_eq!(
        set["ctx"],
        json!([{
            "name": "total", "before": null, "after": { "form": "inline", "value": 42 },
        }])
    );
    assert_eq!((&set["steps"], &set["status"]), (&json!([]), &Value::Null));
    let ended = seq_of(&server, &id, "step.completed", "start").await;
    let ended = change(format!("?at={ended}")).await;
    assert_eq!(ended["event"]["event_type"], "step.completed");
    let start = &ended["steps"][0];
    assert_eq!((&start["name"], &start["has_other_output"]), (&json!("start"), &json!(true)));
    let statuses = [&start["before"]["status"], &start["after"]["status"]];
    assert_eq!(statuses, [&json!("RUNNING"), &json!("COMPLETED")]);
    let skipped = seq_of(&server, &id, "step.skipped", "rare").await;
    let skipped = change(format!("?at={skipped}")).await;
    let arc = json!([{ "from": "start", "to": "rare", "times_before": 0, "times_after": 1 }]);
    assert_eq!(skipped["arcs"], arc);
}

pub(super) async fn two_positions_are_compared_in_either_order(server: Server) {
    let id = branched(&server).await;
    let last = position(&server, &id, "").await["last"].clone();
    let compared = async |from: &Value, to: &Value| {
        let query = format!("/api/executions/{id}/position/change?from={from}&to={to}");
        server.get(&query).await.body
    };
    let forward = compared(&json!(2), &last).await;
    assert_eq!(forward, compared(&last, &json!(2)).await);
    assert_eq!((&forward["from"], &forward["event"]), (&json!(2), &Value::Null));
    let names: Vec<&Value> =
        forward["steps"].as_array().unwrap().iter().map(|step| &step["name"]).collect();
    assert_eq!(names, ["many", "rare", "start"]);
    assert_eq!(compared(&last, &last).await["steps"], json!([]));
}

pub(super) async fn an_event_has_a_cause_and_effects(server: Server) {
    let id = branched(&server).await;
    let links = async |at: u64| {
        server.get(&format!("/api/executions/{id}/position/links?at={at}")).await.body
    };
    let ended = seq_of(&server, &id, "step.completed", "start").await;
    let entered = seq_of(&server, &id, "step.entered", "many").await;
    let of_entered = links(entered).await;
    assert_eq!(of_entered["cause"]["seq"], json!(ended));
    let effects: Vec<&Value> =
        of_entered["effects"].as_array().unwrap().iter().map(|it| &it["event_type"]).collect();
    assert_eq!(effects[0], "loop.opened");
    let of_ended = links(ended).await;
    assert_eq!(of_ended["cause"]["event_type"], "command.completed");
    let led_to: Vec<&Value> =
        of_ended["effects"].as_array().unwrap().iter().map(|it| &it["step"]).collect();
    assert_eq!(led_to, ["many", "rare"]);
    assert_eq!(links(1).await["cause"], Value::Null);
}

async fn evaluated(server: &Server, id: &str, body: Value) -> super::Answer {
    server.post(&format!("/api/executions/{id}/position/evaluate"), body).await
}

pub(super) async fn a_template_is_evaluated_at_a_position(server: Server) {
    let id = branched(&server).await;
    let answer = evaluated(&server, &id, json!({ "template": "{{ ctx.total + 1 }}" })).await.body;
    assert_eq!(answer["result"], json!({ "outcome": "value", "type": "number", "value": 43 }));
    let read = json!([{ "path": "ctx.total", "value": { "form": "inline", "value": 42 } }]);
    assert_eq!(answer["reads"], read);
    let early = json!({ "at": 2, "template": "{{ ctx.total is defined }}" });
    assert_eq!(evaluated(&server, &id, early).await.body["result"]["value"], json!(false));
    let many = json!({ "template": { "n": "{{ iter.n }}" }, "step": "many", "item": 1 });
    let answer = evaluated(&server, &id, many).await.body;
    assert_eq!(answer["result"]["value"], json!({ "n": 2 }));
    let wrong = json!({ "template": "{{ ctx.total / 0 }}" });
    let answer = evaluated(&server, &id, wrong).await.body;
    assert_eq!(answer["result"]["outcome"], "error", "{answer}");
}

pub(super) async fn guards_tell_why_an_arc_was_taken_and_a_step_skipped(server: Server) {
    let id = branched(&server).await;
    let guards = async |at: u64| {
        server.get(&format!("/api/executions/{id}/position/guards?at={at}")).await.body
    };
    let ended = seq_of(&server, &id, "step.completed", "start").await;
    let arcs = guards(ended).await;
    let results: Vec<String> = arcs["guards"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| format!("{} {}", it["subject"]["to"], it["result"]["outcome"]))
        .collect();
    assert_eq!(results, [r#""many" "held""#, r#""rare" "held""#, r#""never" "not_held""#]);
    let reads = arcs["guards"][2]["reads"].as_array().unwrap();
    let reads: Vec<String> =
        reads.iter().map(|it| format!("{} = {}", it["path"], it["value"]["value"])).collect();
    assert_eq!(reads, [r#""ctx.total" = 42"#, r#""workload.limit" = 100"#]);
    let skipped = seq_of(&server, &id, "step.skipped", "rare").await;
    let skipped = guards(skipped).await;
    let guard = &skipped["guards"][0];
    assert_eq!(
        (&guard["subject"]["of"], &guard["result"]["outcome"]),
        (&json!("step"), &json!("not_held"))
    );
    assert_eq!(guard["when"], "{{ ctx.total > workload.limit }}");
    assert_eq!(guards(1).await["step"], Value::Null);
}

pub(super) async fn an_invalid_request_for_an_explanation_has_a_problem_code(server: Server) {
    let id = branched(&server).await;
    let of = |path: &str| format!("/api/executions/{id}/position/{path}");
    let problem = async |path: &str| server.get(&of(path)).await.problem();
    assert_eq!(problem("change?at=2&from=1").await, "400 invalid-positions");
    assert_eq!(problem("change?from=1").await, "400 invalid-positions");
    assert_eq!(problem("change?from=1&to=1000").await, "404 unknown-position");
    assert_eq!(problem("links?at=1000").await, "404 unknown-position");
    assert_eq!(problem("guards?at=0").await, "404 unknown-position");
    let refused = async |body: Value| evaluated(&server, &id, body).await.problem();
    assert_eq!(refused(json!({ "template": "{{ a b }}" })).await, "422 invalid-template");
    let long = json!({ "template": "x".repeat(70_000) });
    assert_eq!(refused(long).await, "422 template-too-long");
    let closed = json!({ "template": "{{ 1 }}", "step": "start" });
    assert_eq!(refused(closed).await, "409 no-open-run");
}
