//! Commands and results of existing workers by tool: rendered settings, the shapes of results, and
//! the calls of newer workers, on every kind of store.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::Server;
use super::existing_worker::{Worker, issued};

/// Registers a playbook, starts it, and claims its first command.
async fn begun<'a>(worker: &Worker<'a>, playbook: &str, path: &str) -> (String, Value) {
    worker.server.register(playbook).await;
    let id = worker.server.start(path).await;
    let claimed = claimed(worker, &id).await;
    (id, claimed)
}

/// Claims the latest command of an execution.
async fn claimed(worker: &Worker<'_>, id: &str) -> Value {
    let answer = worker.claim(&issued(worker.server, id).await).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    answer.body
}

fn config(claimed: &Value) -> &Value {
    &claimed["context"]["tool_config"]
}

const TEMPLATES: &str = r#"
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: templates, path: tests/templates}
workload: {db: pg_main, host: svc, page: 2, tags: [b, a]}
workflow:
  - step: start
    tool:
      kind: http
      method: POST
      url: 'http://{{ workload.host }}/pages/{{ workload.page }}'
      auth: '{{ workload.db }}'
      headers: {X-Page: '{{ workload.page }}'}
      params: {tags: '{{ workload.tags | sort | join("+") }}'}
      data: {options: '{{ workload.options | default({"size": 10}) }}'}
      input: {next: '{{ workload.page + 1 }}'}
    next: query
  - step: query
    tool:
      kind: postgres
      connection: {db_host: '{{ workload.host }}', db_name: '{{ workload.db | upper }}'}
      command: 'select {{ workload.page }}'
    next: named
  - step: named
    tool:
      kind: postgres
      credential: '{{ workload.db }}'
      command: select 1
    next: code
  - step: code
    tool: {kind: python, code: 'pass', args: {pages: '{{ [workload.page, start.data.pages] }}'}}
"#;

pub(super) async fn every_template_of_a_command_is_rendered_for_it(server: Server) {
    let worker = Worker { server: &server, name: "w-1" };
    let (id, start) = begun(&worker, TEMPLATES, "tests/templates").await;
    assert_eq!(
        *config(&start),
        json!({
            "method": "POST", "url": "http://svc/pages/2", "auth": "pg_main",
            "headers": { "X-Page": "2" }, "params": { "tags": "a+b" },
            "json": { "options": { "size": 10 } }, "args": { "next": 3 },
        })
    );
    let body = json!({ "pages": 9 });
    let tool = json!({ "status": "success", "data": { "status_code": 200, "body": body } });
    worker.finish(&start, "success", tool).await;
    let rows =
        json!({ "status": "success", "data": { "columns": [], "rows": [], "row_count": 0 } });
    let query = claimed(&worker, &id).await;
    let expected = json!({ "query": "select 2", "host": "svc", "database": "PG_MAIN" });
    assert_eq!(*config(&query), expected);
    worker.finish(&query, "success", rows.clone()).await;
    let named = claimed(&worker, &id).await;
    assert_eq!(*config(&named), json!({ "credential": "pg_main", "query": "select 1" }));
    worker.finish(&named, "success", rows).await;
    let code = claimed(&worker, &id).await;
    assert_eq!(config(&code)["args"], json!({ "pages": [2, 9] }), "inputs are rendered here");
}

const SECRET: &str = "
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: secret, path: tests/secret}
workload: {host: svc}
workflow:
  - step: start
    tool:
      kind: http
      url: 'http://{{ workload.host }}'
      headers: {Authorization: 'Bearer {{ keychain.api.token }}'}
";

pub(super) async fn a_template_with_a_secret_stays_a_template(server: Server) {
    let worker = Worker { server: &server, name: "w-1" };
    let (_, start) = begun(&worker, SECRET, "tests/secret").await;
    let expected = json!({
        "url": "http://svc", "headers": { "Authorization": "Bearer {{ keychain.api.token }}" },
    });
    assert_eq!(*config(&start), expected);
}

const RESULTS: &str = "
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: results, path: tests/results}
workflow:
  - step: fetch
    tool: {kind: http, url: 'http://svc'}
    output: {output_select: [data.page_records]}
    next: each
  - step: each
    loop: {in: '{{ fetch.page_records }}', iterator: rec}
    tool: {kind: postgres, auth: pg, command: 'select {{ rec.id }}'}
    next: validate
  - step: validate
    tool: {kind: python, code: 'pass', input: {rows: '{{ each }}'}}
    next: end
  - step: end
    tool:
      kind: noop
      message: '{{ fetch.status_code }} {{ fetch.body.total }} {{ validate.status }}'
";

pub(super) async fn results_of_its_tools_are_read_like_those_of_ours(server: Server) {
    let worker = Worker { server: &server, name: "w-1" };
    let (id, fetch) = begun(&worker, RESULTS, "tests/results").await;
    let body = json!({ "page_records": [{ "id": 7 }], "total": 1 });
    let tool = json!({
        "status": "success", "exit_code": 0, "duration_ms": 4, "stdout": body.to_string(),
        "data": { "status_code": 200, "headers": { "content-type": "application/json" }, "body": body },
    });
    worker.finish(&fetch, "success", tool).await;
    let each = claimed(&worker, &id).await;
    assert_eq!(config(&each)["query"], "select 7", "the loop has the records of the body");
    let rows = json!({ "columns": ["n"], "row_count": 1, "rows": [{ "n": 7 }] });
    worker.finish(&each, "success", json!({ "status": "success", "data": rows })).await;
    let validate = claimed(&worker, &id).await;
    let item = &config(&validate)["args"]["rows"]["results"][0];
    assert_eq!((&item["rows"][0]["n"], &item["command_0"]["row_count"]), (&json!(7), &json!(1)));
    let tool = json!({
        "status": "success", "exit_code": 0, "stdout": "checked\n", "stderr": "",
        "data": { "status": "validated" },
    });
    worker.finish(&validate, "success", tool).await;
    let end = claimed(&worker, &id).await;
    assert_eq!(config(&end)["message"], "200 1 validated");
}

const RULES: &str = r#"
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: rules, path: tests/rules}
workflow:
  - step: start
    tool:
      kind: http
      url: 'http://svc'
      spec:
        policy:
          rules:
            - when: '{{ output.http.status == 404 and not output.error.retryable }}'
              then: {do: continue, set: {ctx.first: '{{ output.error.kind }}'}}
            - else: {then: {do: fail}}
    next: pipeline
  - step: pipeline
    tool:
      - read:
          kind: postgres
          auth: pg
          command: select 1
          spec:
            policy:
              rules:
                - when: '{{ output.status == "error" and output.error.retryable }}'
                  then: {do: continue, set: {ctx.second: '{{ output.error.kind }}'}}
                - else: {then: {do: fail}}
      - make: {kind: noop, result: {n: 3}}
      - tell: {kind: noop, message: '{{ ctx.first }} {{ ctx.second }} {{ results.make.n }} {{ make.n }} {{ _prev.n }}'}
"#;

pub(super) async fn rules_see_the_status_and_the_error_of_its_results(server: Server) {
    let worker = Worker { server: &server, name: "w-1" };
    let (id, start) = begun(&worker, RULES, "tests/rules").await;
    let tool = json!({
        "status": "error", "error": "HTTP 404 response", "exit_code": 1,
        "data": { "status_code": 404, "headers": {}, "body": { "detail": "Not Found" } },
    });
    worker.finish(&start, "error", tool).await;
    let read = claimed(&worker, &id).await;
    let error = json!({ "call_index": 0, "error": "Database error: connection refused" });
    for name in ["call.error", "command.failed"] {
        let answer = worker.post(&read, name, "FAILED", error.clone()).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    }
    let make = claimed(&worker, &id).await;
    worker.finish(&make, "success", json!({ "status": "success", "data": { "n": 3 } })).await;
    let tell = claimed(&worker, &id).await;
    assert_eq!(config(&tell)["message"], "not_found db_connection 3 3 3");
}

const ARTIFACT: &str = "
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: artifact, path: tests/artifact}
workflow:
  - step: make
    tool: {kind: python, code: 'pass'}
    next: read
  - step: read
    tool: {kind: artifact, action: get, input: {result_ref: '{{ make._ref }}'}}
";

pub(super) async fn a_reference_of_a_large_result_has_the_keys_it_knows(server: Server) {
    let worker = Worker { server: &server, name: "w-1" };
    let (id, make) = begun(&worker, ARTIFACT, "tests/artifact").await;
    let data = json!({ "text": "x".repeat(70_000) });
    worker.finish(&make, "success", json!({ "status": "success", "data": data })).await;
    let read = claimed(&worker, &id).await;
    let reference = config(&read)["input"]["result_ref"].as_str().expect("a text").to_owned();
    assert_eq!(
        *config(&read),
        json!({
            "action": "get", "input": { "result_ref": reference },
            "args": { "result_ref": reference },
        })
    );
    let resolved = server.get(&format!("/api/result/resolve?ref={reference}")).await;
    assert_eq!(resolved.status, StatusCode::OK, "{}", resolved.body);
}

pub(super) async fn a_tool_that_fails_in_it_is_shown_with_its_message(server: Server) {
    let worker = Worker { server: &server, name: "w-1" };
    let (id, make) = begun(&worker, ARTIFACT, "tests/artifact").await;
    let stderr = "Traceback (most recent call last):\nNameError: name 'time' is not defined\n";
    let tool = json!({
        "status": "error", "error": "Python script exited with code 1", "exit_code": 1,
        "stderr": stderr, "data": { "stdout": "", "stderr": stderr },
    });
    worker.finish(&make, "error", tool).await;
    assert_eq!(server.status(&id).await, "FAILED");
    let detail = server.get(&format!("/api/executions/{id}")).await.body;
    assert_eq!(detail["error"], "NameError: name 'time' is not defined");
}

pub(super) async fn a_status_in_an_output_is_not_the_status_of_the_tool(server: Server) {
    let worker = Worker { server: &server, name: "w-1" };
    let (id, make) = begun(&worker, ARTIFACT, "tests/artifact").await;
    // The envelope says how the tool ended, the output has a status of its own.
    let output = json!({ "status": "failed", "order": 7 });
    let done = json!({ "result": { "status": "success", "context": output } });
    for (name, status, more) in [
        ("call.done", "COMPLETED", done),
        ("command.completed", "success", json!({ "status": "success" })),
    ] {
        let answer = worker.post(&make, name, status, more).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    }
    let body = json!({ "template": "{{ make }}" });
    let path = format!("/api/executions/{id}/position/evaluate");
    let shown = server.post(&path, body).await.body;
    assert_eq!(shown["result"]["value"], output, "{shown}");
}

pub(super) async fn newer_workers_go_on_without_the_calls_that_are_not_served(server: Server) {
    let cells = server.get("/api/internal/cells?execution_id=1&step=start").await;
    assert_eq!(cells.status, StatusCode::NOT_FOUND, "{}", cells.body);
}
