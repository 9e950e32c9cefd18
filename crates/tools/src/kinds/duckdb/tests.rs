//! Tests that need the DuckDB library (`noetl tools install duckdb`). Without the library they are
//! skipped with a message, unless NOETL_TEST_DUCKDB is set.

use expect_test::{Expect, expect};
use noetl_model::Outcome;
use serde_json::{Value, json};

use super::*;
use crate::testing::{call, settings, show};

fn tool() -> Option<Duckdb> {
    let settings = settings();
    let engine = Engine::new(settings.duckdb_library, settings.library_places);
    let missing = engine::is_missing(&engine);
    if missing && std::env::var_os("NOETL_TEST_DUCKDB").is_none() {
        eprintln!("skipped: DuckDB's library is not installed");
        return None;
    }
    Some(Duckdb::new(Arc::new(engine)))
}

async fn check(config: Value, expected: Expect) {
    let Some(tool) = tool() else { return };
    expected.assert_eq(&show(&tool.run(&call(config)).await));
}

async fn output(tool: &Duckdb, config: Value) -> Value {
    match tool.run(&call(config)).await.outcome {
        Outcome::Completed { output } => (*output).clone(),
        Outcome::Failed { error, .. } => panic!("{error:?}"),
    }
}

#[tokio::test]
async fn every_type_comes_back_without_loss() {
    let Some(tool) = tool() else { return };
    for (sql, expected) in [
        ("true", json!(true)),
        ("1::TINYINT", json!(1)),
        ("(-32768)::SMALLINT", json!(-32768)),
        ("9223372036854775807", json!(9_223_372_036_854_775_807_i64)),
        ("18446744073709551615::UBIGINT", json!(18_446_744_073_709_551_615_u64)),
        ("sum(1)", json!(1)),
        (
            "170141183460469231731687303715884105727::HUGEINT",
            json!("170141183460469231731687303715884105727"),
        ),
        ("0.1::FLOAT", json!(0.1)),
        ("0.1::DOUBLE", json!(0.1)),
        ("'nan'::DOUBLE", json!("NaN")),
        ("-1.50::DECIMAL(10,2)", json!("-1.50")),
        ("12345678901234567890.123456789::DECIMAL(38,9)", json!("12345678901234567890.123456789")),
        ("0.05::DECIMAL(4,2)", json!("0.05")),
        ("'short'", json!("short")),
        (
            "'a text that is longer than twelve bytes'",
            json!("a text that is longer than twelve bytes"),
        ),
        ("'\\x00\\xFF'::BLOB", json!("AP8=")),
        ("NULL", json!(null)),
        ("DATE '2024-02-29'", json!("2024-02-29")),
        ("TIME '12:34:56.789'", json!("12:34:56.789")),
        ("TIMESTAMP '2024-02-29 12:00:00.5'", json!("2024-02-29T12:00:00.5")),
        ("TIMESTAMP_NS '2024-02-29 12:00:00.000000001'", json!("2024-02-29T12:00:00.000000001")),
        ("TIMESTAMPTZ '2024-02-29 12:00:00+00'", json!("2024-02-29T12:00:00+00:00")),
        ("INTERVAL '1 year 2 months 3 days 4 hours'", json!("P1Y2M3DT4H")),
        (
            "'11111111-2222-3333-4444-555555555555'::UUID",
            json!("11111111-2222-3333-4444-555555555555"),
        ),
        ("'ok'::ENUM('sad', 'ok')", json!("ok")),
        ("[1, NULL, 3]", json!([1, null, 3])),
        ("[[1], []]", json!([[1], []])),
        ("[1, 2]::INTEGER[2]", json!([1, 2])),
        ("{'a': 1, 'b': ['x']}", json!({"a": 1, "b": ["x"]})),
        ("MAP {'a': 1}", json!({"a": 1})),
        ("MAP {1: 'a'}", json!([{"key": 1, "value": "a"}])),
        ("'0101'::BIT", json!("0101")),
        ("union_value(n := 5)", json!(5)),
    ] {
        let found = output(&tool, json!({"query": format!("SELECT {sql} AS v")})).await;
        assert_eq!(found["rows"][0]["v"], expected, "{sql}");
    }
}

#[tokio::test]
async fn a_script_gives_every_result() {
    let Some(tool) = tool() else { return };
    let query = "
        CREATE TABLE users (id INTEGER, name VARCHAR, age INTEGER);
        INSERT INTO users VALUES (1, 'Al;ice', 30), (2, 'Bob', 25), (3, 'Charlie', 35);
        SELECT name, age FROM users WHERE age >= :age ORDER BY age;";
    let found =
        output(&tool, json!({"database": ":memory:", "query": query, "params": {"age": 30}})).await;
    assert_eq!(
        found["rows"],
        json!([{"name": "Al;ice", "age": 30}, {"name": "Charlie", "age": 35}])
    );
    assert_eq!(found["command_1"]["affected_rows"], 3);
    assert_eq!(found["command_0"]["affected_rows"], 0);
}

#[tokio::test]
async fn a_file_keeps_what_a_call_wrote_and_a_failed_transaction_nothing() {
    let Some(tool) = tool() else { return };
    let directory = tempfile::tempdir().unwrap();
    let database = directory.path().join("a.duckdb");
    output(&tool, json!({"database": database, "commands": ["CREATE TABLE t (v INT UNIQUE)", "INSERT INTO t VALUES (?)"], "params": [7]})).await;
    let failed = tool.run(&call(json!({"database": database, "transaction": true, "query": "INSERT INTO t VALUES (8); INSERT INTO t VALUES (7)"}))).await;
    assert!(
        show(&failed).starts_with("failed db_constraint: DuckDB says: Constraint Error"),
        "{failed:?}"
    );
    let found = output(
        &tool,
        json!({"db_path": database, "read_only": true, "query": "FROM t", "as_objects": false}),
    )
    .await;
    assert_eq!(found["rows"], json!([[7]]));
}

#[tokio::test]
async fn a_database_error_has_its_kind() {
    let Some(tool) = tool() else { return };
    for (config, expected) in [
        (
            json!({"query": "SELECT * FROM nowhere"}),
            "failed schema: DuckDB says: Catalog Error: Table with name nowhere does not exist!",
        ),
        (
            json!({"query": "SELEC 1"}),
            "failed client_error: DuckDB says: Parser Error: syntax error",
        ),
        (json!({"query": "SELECT 'a'::INT"}), "failed client_error: DuckDB says: Conversion Error"),
        (
            json!({"query": "SELECT 1; SELECT 'a'::INT FROM range(3)"}),
            "failed client_error: DuckDB says: Conversion Error",
        ),
        (
            json!({"query": "SELECT 1", "database": "/nowhere/a.duckdb"}),
            "failed storage_access: cannot open /nowhere/a.duckdb: DuckDB says: IO Error",
        ),
        (
            json!({"query": "SELECT ?", "params": []}),
            "failed config: duckdb: a statement asks for parameter 1, but `params` has only 0",
        ),
        (json!({"query": "SELECT $1"}), "failed config: duckdb: parameter 1 has no value"),
        (json!({}), "failed config: duckdb: `query` is missing: the statements to run"),
    ] {
        let shown = show(&tool.run(&call(config.clone())).await);
        assert!(shown.starts_with(expected), "{config}: {shown}");
    }
}

#[tokio::test]
async fn a_statement_that_never_ends_is_stopped() {
    let Some(tool) = tool() else { return };
    let endless = "SELECT count(*) FROM range(100000000) a, range(100000000) b";
    let work = call(json!({ "query": endless }));
    let cancel = work.cancel.clone();
    let running = tokio::spawn(async move { tool.run(&work).await });
    tokio::task::yield_now().await;
    cancel.cancel();
    assert_eq!(show(&running.await.unwrap()), "failed unknown: stopped before it was done\n");
}

#[tokio::test]
async fn an_answer_that_is_too_large_is_refused_with_the_way_out() {
    check(
        json!({"query": "SELECT repeat('x', 1000000) FROM range(100)"}),
        expect![[r#"
            failed storage_quota: the rows take more than 67108864 bytes: add a LIMIT, or move them with the `transfer` tool
        "#]],
    )
    .await;
}

#[tokio::test]
async fn a_missing_library_is_an_error_with_the_way_to_get_it() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("libduckdb.so");
    std::fs::write(&file, "no library").unwrap();
    let tool = Duckdb::new(Arc::new(Engine::new(Some(file.clone()), Vec::new())));
    let shown = show(&tool.run(&call(json!({"query": "SELECT 1"}))).await);
    let expected =
        format!("failed config: duckdb: {} cannot be used as DuckDB's library:", file.display());
    assert!(shown.starts_with(&expected), "{shown}");
    assert_eq!(
        noetl_duckdb::LibraryMissing::NotFound.to_string(),
        "DuckDB's library is not installed here: run `noetl tools install duckdb`, or set NOETL_DUCKDB_LIBRARY to its file"
    );
}
