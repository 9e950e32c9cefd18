//! Results of existing workers and the outcomes of our tools for the same calls.

use std::collections::BTreeMap;

use expect_test::{Expect, expect, expect_file};
use serde_json::{Value, json};

use super::*;
use crate::worker::{Returned, failed, issued_by, returned};

#[track_caller]
fn check(tool: ToolKind, result: Value, expected: Expect) {
    let context = json!({ "result": { "status": result["status"], "context": result } });
    let told = match returned(tool, &context).expect("a known status") {
        Returned::Ended { outcome, .. } => serde_json::to_string(&outcome).expect("JSON"),
        Returned::Pending => "pending".to_owned(),
    };
    expected.assert_eq(&told);
}

#[track_caller]
fn check_error(tool: ToolKind, text: &str, expected: Expect) {
    let error = normalized_error(tool, text);
    expected.assert_eq(&format!(
        "{} {:?} {} {}",
        error.kind.as_str(),
        error.code,
        if error.retryable { "again" } else { "final" },
        error.message
    ));
}

#[test]
fn a_response_has_its_body_twice_and_its_status_in_the_error() {
    let response = |status: u16, body: Value| {
        let is_success = (200..300).contains(&status);
        json!({
            "status": if is_success { "success" } else { "error" },
            "error": if is_success { Value::Null } else { json!(format!("HTTP {status} response")) },
            "data": { "status_code": status, "headers": { "retry-after": "3" }, "body": body },
        })
    };
    check(
        ToolKind::Http,
        response(200, json!({ "n": 1 })),
        expect![[
            r#"{"status":"completed","output":{"status_code":200,"headers":{"retry-after":"3"},"body":{"n":1},"data":{"n":1}}}"#
        ]],
    );
    check(
        ToolKind::Http,
        response(404, json!("no")),
        expect![[
            r#"{"status":"failed","error":{"kind":"not_found","message":"HTTP 404 from the service","retryable":false,"code":"404","status":404,"details":{"retry_after":"3"}},"output":{"status_code":404,"headers":{"retry-after":"3"},"body":"no","data":"no"}}"#
        ]],
    );
    check(
        ToolKind::Http,
        response(429, Value::Null),
        expect![[
            r#"{"status":"failed","error":{"kind":"rate_limit","message":"HTTP 429 from the service","retryable":true,"code":"429","status":429,"details":{"retry_after":"3"}},"output":{"status_code":429,"headers":{"retry-after":"3"},"body":null,"data":null}}"#
        ]],
    );
    check(
        ToolKind::Http,
        response(503, Value::Null),
        expect![[
            r#"{"status":"failed","error":{"kind":"server_error","message":"HTTP 503 from the service","retryable":true,"code":"503","status":503,"details":{"retry_after":"3"}},"output":{"status_code":503,"headers":{"retry-after":"3"},"body":null,"data":null}}"#
        ]],
    );
}

#[test]
fn rows_are_shown_at_the_top_and_under_their_statement() {
    check(
        ToolKind::Postgres,
        json!({ "status": "success", "data": { "columns": ["a"], "row_count": 1, "rows": [{ "a": 1 }] } }),
        expect![[
            r#"{"status":"completed","output":{"status":"success","columns":["a"],"row_count":1,"rows":[{"a":1}],"command_0":{"status":"success","columns":["a"],"row_count":1,"rows":[{"a":1}]}}}"#
        ]],
    );
    check(
        ToolKind::Postgres,
        json!({ "status": "success", "data": { "affected_rows": 3 } }),
        expect![[
            r#"{"status":"completed","output":{"status":"success","columns":[],"rows":[],"row_count":3,"affected_rows":3,"command_0":{"status":"success","columns":[],"rows":[],"row_count":3,"affected_rows":3}}}"#
        ]],
    );
    check(
        ToolKind::Postgres,
        json!({ "status": "success", "data": {
            "command_0": { "affected_rows": 2 },
            "command_1": { "columns": ["i"], "rows": [{ "i": 7 }], "row_count": 1 },
        } }),
        expect![[
            r#"{"status":"completed","output":{"status":"success","columns":["i"],"row_count":1,"rows":[{"i":7}],"command_0":{"status":"success","columns":[],"rows":[],"row_count":2,"affected_rows":2},"command_1":{"status":"success","columns":["i"],"row_count":1,"rows":[{"i":7}]}}}"#
        ]],
    );
}

#[test]
fn an_exception_is_named_by_the_last_line_of_its_traceback() {
    let raised = |stderr: &str| {
        json!({
            "status": "error", "error": "Python script exited with code 1", "exit_code": 1,
            "stderr": stderr, "data": { "stdout": "", "stderr": stderr },
        })
    };
    check(
        ToolKind::Python,
        raised("Traceback (most recent call last):\nrequests.exceptions.Timeout: too slow\n"),
        expect![[
            r#"{"status":"failed","error":{"kind":"exception","message":"Timeout: too slow","retryable":false,"code":"Timeout","details":{"traceback":"Traceback (most recent call last):\nrequests.exceptions.Timeout: too slow"}}}"#
        ]],
    );
    check(
        ToolKind::Python,
        raised("Traceback:\nKeyError\n"),
        expect![[
            r#"{"status":"failed","error":{"kind":"exception","message":"KeyError","retryable":false,"code":"KeyError","details":{"traceback":"Traceback:\nKeyError"}}}"#
        ]],
    );
    check(
        ToolKind::Python,
        raised("Segmentation fault (core dumped)"),
        expect![[
            r#"{"status":"failed","error":{"kind":"exception","message":"Python script exited with code 1","retryable":false}}"#
        ]],
    );
}

#[test]
fn a_failed_command_of_a_shell_has_its_exit_code() {
    check(
        ToolKind::Shell,
        json!({
            "status": "error", "error": "Command exited with code 3", "exit_code": 3,
            "stderr": "oops\n", "data": { "exit_code": 3, "stdout": "", "stderr": "oops\n" },
        }),
        expect![[
            r#"{"status":"failed","error":{"kind":"exception","message":"Command exited with code 3: oops","retryable":false,"code":"3"},"output":{"exit_code":3,"stdout":"","stderr":"oops\n"}}"#
        ]],
    );
    check(
        ToolKind::Shell,
        json!({ "status": "timeout", "error": "too slow" }),
        expect![[
            r#"{"status":"failed","error":{"kind":"timeout","message":"too slow","retryable":true}}"#
        ]],
    );
}

#[test]
fn an_error_of_an_mcp_server_is_a_failure() {
    check(
        ToolKind::Mcp,
        json!({ "status": "success", "data": { "status": "error", "error": "no such tool" } }),
        expect![[
            r#"{"status":"failed","error":{"kind":"exception","message":"no such tool","retryable":false},"output":{"status":"error","error":"no such tool"}}"#
        ]],
    );
}

#[test]
fn errors_in_words_have_the_kinds_of_our_tools() {
    check_error(
        ToolKind::Postgres,
        "Database error: Query failed: ERROR: relation \"x\" does not exist (SQLSTATE 42P01)",
        expect![[
            r#"schema Some("42P01") final Query failed: ERROR: relation "x" does not exist (SQLSTATE 42P01)"#
        ]],
    );
    check_error(
        ToolKind::Postgres,
        "Database error: connection refused",
        expect!["db_connection None again connection refused"],
    );
    check_error(
        ToolKind::Http,
        "HTTP error: error sending request",
        expect!["connection None again HTTP error: error sending request"],
    );
    check_error(
        ToolKind::Http,
        "HTTP error: operation timed out",
        expect!["timeout None again HTTP error: operation timed out"],
    );
    check_error(
        ToolKind::Shell,
        "Execution timed out after 3 seconds",
        expect!["timeout None again Execution timed out after 3 seconds"],
    );
    check_error(
        ToolKind::Shell,
        "Configuration error: no command",
        expect!["config None final Configuration error: no command"],
    );
    check_error(
        ToolKind::Http,
        "Authentication error: no token",
        expect!["auth None final Authentication error: no token"],
    );
    check_error(
        ToolKind::Python,
        "Template error: bad",
        expect!["template None final Template error: bad"],
    );
    check_error(ToolKind::Noop, "something else", expect!["exception None final something else"]);
}

/// Every result of the recorded exchange, by step.
#[test]
fn the_recorded_results_have_the_outcomes_of_our_tools() {
    let exchange = include_str!("../../../tests/golden/existing_worker_exchange.jsonl");
    let mut tools: BTreeMap<i64, ToolKind> = BTreeMap::new();
    let mut told = String::new();
    for line in exchange.lines() {
        let call: Value = serde_json::from_str(line).expect("JSON");
        let (path, request) = (call["p"].as_str().expect("a path"), &call["req"]);
        if path.ends_with("/claim") {
            let tool = call["res"]["action"].clone();
            let issued = call["res"]["event_id"].as_i64().expect("an id");
            tools.insert(issued, serde_json::from_value(tool).expect("a kind"));
        }
        let context = &request["context"];
        let event = context["command_id"].as_str().and_then(issued_by);
        let Some(tool) = event.and_then(|event| tools.get(&event.0)).copied() else { continue };
        let outcome = match request["event_type"].as_str() {
            Some("call.done") => match returned(tool, context).expect("a known status") {
                Returned::Ended { outcome, .. } => outcome,
                Returned::Pending => panic!("nothing is pending"),
            },
            Some("call.error" | "command.failed") => failed(tool, context),
            _ => continue,
        };
        let outcome = serde_json::to_string_pretty(&outcome).expect("JSON");
        told.push_str(&format!(
            "{} {tool} {}: {outcome}\n",
            request["step"], request["event_type"]
        ));
    }
    expect_file!["../../../tests/golden/existing_worker_outcomes.txt"].assert_eq(&told);
}
