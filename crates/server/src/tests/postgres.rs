//! Tests of manual SQL.

use std::sync::Arc;

use async_trait::async_trait;
use noetl_control::ControlSettings;
use noetl_model::{ErrorKind, ToolError};
use serde_json::{Value, json};

use super::{Server, settings};
use crate::{Authentication, Hosts, Statement, Statements};

pub(super) async fn sql_by_hand_is_off_unless_an_operator_names_a_database(server: Server) {
    let answer = server.post("/api/postgres/execute", json!({ "query": "SELECT 1" })).await;
    assert_eq!(answer.problem(), "501 no-sql");
    let detail = answer.body["detail"].as_str().unwrap_or_default();
    assert!(detail.contains("NOETL_SQL_DSN"), "{detail}");
}

/// A runner that returns the statement as its row, or fails if the SQL names an error.
struct Echo;

#[async_trait]
impl Statements for Echo {
    async fn run(&self, statement: Statement) -> Result<Vec<Value>, ToolError> {
        let Statement { sql, parameters, schema, credential } = statement;
        let failed = |kind, message: &str| Err(ToolError::new(kind, message).with_code("42P01"));
        match sql.as_str() {
            "unreachable" => failed(ErrorKind::DbConnection, "no route to 10.1.2.3 as root"),
            "slow" => failed(ErrorKind::DbTimeout, "the statement took too long"),
            "wrong" => failed(ErrorKind::Schema, "there is no table x"),
            _ => Ok(vec![json!({
                "sql": sql, "parameters": parameters, "schema": schema, "credential": credential,
            })]),
        }
    }
}

fn with_sql() -> Server {
    Server::new().changed(|state| state.with_statements(Arc::new(Echo)))
}

async fn ask(body: Value) -> super::Answer {
    with_sql().post("/api/postgres/execute", body).await
}

pub(super) async fn a_table_has_rows_as_lists_and_the_names_of_its_columns(server: Server) {
    let server = server
        .beside(settings(Authentication::Open, Hosts::Any), ControlSettings::default())
        .changed(|state| state.with_statements(Arc::new(Echo)));
    let ask = async |format: &str| {
        let body = json!({ "query": "SELECT 1", "format": format });
        server.post("/api/postgres/execute", body).await.body
    };
    let answer = ask("table").await;
    assert_eq!(answer["columns"], json!(["sql", "parameters", "schema", "credential"]));
    assert_eq!(answer["result"], json!([["SELECT 1", null, null, null]]));
    assert_eq!(ask("json").await["result"][0]["sql"], "SELECT 1");
}

#[tokio::test(start_paused = true)]
async fn a_statement_is_taken_in_each_of_its_spellings() {
    for (body, sql) in [
        (json!({ "query": "SELECT 1" }), "SELECT 1"),
        (json!({ "query_base64": "U0VMRUNUIDE=" }), "SELECT 1"),
        (json!({ "procedure": "tidy" }), "CALL tidy()"),
    ] {
        let answer = ask(body).await;
        assert_eq!(
            (&answer.body["status"], &answer.body["result"][0]["sql"]),
            (&json!("ok"), &json!(sql))
        );
    }
    let body = json!({ "query": "SELECT $1", "parameters": [1], "db_schema": "noetl" });
    let told = ask(body).await.body["result"][0].clone();
    assert_eq!((&told["parameters"], &told["schema"]), (&json!([1]), &json!("noetl")));
}

#[tokio::test(start_paused = true)]
async fn an_invalid_statement_is_refused() {
    for body in [
        json!({}),
        json!({ "query": " " }),
        json!({ "query": "a", "procedure": "b" }),
        json!({ "query_base64": "%%%" }),
    ] {
        assert_eq!(ask(body).await.problem(), "422 invalid-statement");
    }
    let elsewhere = json!({ "query": "a", "connection_string": "postgres://x" });
    assert_eq!(ask(elsewhere).await.problem(), "422 not-supported");
    let unknown = json!({ "query": "a", "credential": "none" });
    assert_eq!(ask(unknown).await.problem(), "404 unknown-credential");
}

#[tokio::test(start_paused = true)]
async fn a_failed_statement_tells_caller_and_database_errors_apart() {
    let wrong = ask(json!({ "query": "wrong" })).await;
    assert_eq!(wrong.problem(), "422 sql-failed");
    assert_eq!(wrong.body["sqlstate"], "42P01");
    assert_eq!(ask(json!({ "query": "slow" })).await.problem(), "504 sql-too-slow");
    let unreachable = ask(json!({ "query": "unreachable" })).await;
    assert_eq!(unreachable.problem(), "502 no-database");
    assert!(!unreachable.body.to_string().contains("10.1.2.3"), "{}", unreachable.body);
}

#[tokio::test(start_paused = true)]
async fn a_stored_credential_names_another_database() {
    let server = with_sql();
    let credential = json!({ "name": "pg", "type": "postgres", "data": { "db_host": "db" } });
    server.post("/api/credentials", credential).await;
    let answer =
        server.post("/api/postgres/execute", json!({ "query": "a", "credential": "pg" })).await;
    assert_eq!(answer.body["result"][0]["credential"]["db_host"], "db");
    let audit = server.get("/api/internal/secret-audit?credential=pg").await.body;
    assert_eq!(audit["rows"][0]["operation"], "read", "{audit}");
}
