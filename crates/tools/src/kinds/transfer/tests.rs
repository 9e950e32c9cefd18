use noetl_model::Outcome;
use noetl_testkit::PostgresServer;
use serde_json::{Value, json};
use std::path::Path;

use super::*;
use crate::protect::credentials::FixedCredentials;
use crate::protect::outgoing::{Egress, Outgoing};
use crate::testing::{call, settings, show};

fn tool() -> Transfer {
    let settings = settings();
    let credentials: Arc<dyn CredentialResolver> = Arc::new(FixedCredentials::default());
    let outgoing = Arc::new(Outgoing::new(Egress::Any, false));
    Transfer {
        pools: Arc::new(Pools::new(crate::Egress::Any)),
        duckdb: Arc::new(Engine::new(settings.duckdb_library, settings.library_places)),
        http: Http::new(outgoing, credentials.clone()),
        credentials,
    }
}

async fn run(config: Value) -> ToolResult {
    tool().run(&call(config)).await
}

async fn output(config: Value) -> Value {
    match run(config.clone()).await.outcome {
        Outcome::Completed { output } => (*output).clone(),
        Outcome::Failed { error, .. } => panic!("{config}: {error:?}"),
    }
}

/// Runs SQL on an SQLite file and returns the rows.
async fn sqlite(path: &Path, query: &str) -> Value {
    let ended = crate::kinds::sqlite::Sqlite
        .run(&call(json!({"database": path, "query": query, "as_objects": false})))
        .await;
    match ended.outcome {
        Outcome::Completed { output } => output["rows"].clone(),
        Outcome::Failed { error, .. } => panic!("{query}: {error:?}"),
    }
}

async fn postgres(query: &str) -> Value {
    let url = PostgresServer::shared().url("postgres");
    let credentials = Arc::new(FixedCredentials::default());
    let tool = crate::kinds::postgres::Postgres::new(
        Arc::new(Pools::new(crate::Egress::Any)),
        credentials,
    );
    let config = json!({"connection_string": url, "query": query, "as_objects": false});
    match tool.run(&call(config)).await.outcome {
        Outcome::Completed { output } => output["rows"].clone(),
        Outcome::Failed { error, .. } => panic!("{query}: {error:?}"),
    }
}

#[tokio::test]
async fn a_file_goes_into_a_table_and_back_without_loss() {
    let directory = tempfile::tempdir().unwrap();
    let (csv, db) = (directory.path().join("in.csv"), directory.path().join("a.db"));
    let text = "id,name,note\n1,Ada,\"a \"\"b\"\", c\nnext\"\n2,,\"\"\n\n3,Grace,plain\n";
    std::fs::write(&csv, text).unwrap();
    sqlite(&db, "CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT, note TEXT)").await;
    let done = output(json!({
        "source": {"type": "file", "path": csv},
        "target": {"type": "sqlite", "database": db, "table": "people"},
        "chunk_size": 2,
    }))
    .await;
    assert_eq!(
        done,
        json!({"status": "success", "direction": "file_to_sqlite", "source_type": "file", "target_type": "sqlite", "target_table": "people", "mode": "append", "rows_transferred": 3, "chunks_processed": 2, "columns": ["id", "name", "note"]})
    );
    let rows = sqlite(&db, "SELECT * FROM people ORDER BY id").await;
    assert_eq!(rows, json!([[1, "Ada", "a \"b\", c\nnext"], [2, null, ""], [3, "Grace", "plain"]]));
    let back = directory.path().join("back.csv");
    output(json!({
        "source": {"type": "sqlite", "database": db, "query": "SELECT * FROM people ORDER BY id"},
        "target": {"type": "file", "path": back},
        "mode": "replace",
    }))
    .await;
    assert_eq!(std::fs::read_to_string(&back).unwrap(), text.replace("\n\n3", "\n3"));
}

#[tokio::test]
async fn an_upsert_changes_the_rows_whose_key_is_there() {
    let directory = tempfile::tempdir().unwrap();
    let (lines, db) = (directory.path().join("in.jsonl"), directory.path().join("a.db"));
    std::fs::write(&lines, "{\"id\": 1, \"v\": \"new\"}\n{\"id\": 2, \"v\": \"first\"}\n{\"id\": 2, \"v\": \"last\"}\n").unwrap();
    let table = "CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT, kept TEXT DEFAULT 'k')";
    sqlite(&db, &format!("{table}; INSERT INTO t VALUES (1, 'old', 'mine')")).await;
    let schema = format!("transfer_upsert_{}", std::process::id());
    let table = table.replace("TABLE t", &format!("TABLE {schema}.t"));
    postgres(&format!(
        "CREATE SCHEMA {schema}; {table}; INSERT INTO {schema}.t VALUES (1, 'old', 'mine')"
    ))
    .await;
    let url = PostgresServer::shared().url("postgres");
    for target in [
        json!({"type": "sqlite", "database": db, "table": "t"}),
        json!({"type": "postgres", "connection": url, "table": format!("{schema}.t")}),
    ] {
        let source = json!({"type": "file", "path": lines});
        let done =
            output(json!({"source": source, "target": target, "mode": "upsert", "keys": ["id"]}))
                .await;
        assert_eq!(done["rows_transferred"], 3);
    }
    let expected = json!([[1, "new", "mine"], [2, "last", "k"]]);
    assert_eq!(sqlite(&db, "SELECT * FROM t ORDER BY id").await, expected);
    assert_eq!(postgres(&format!("SELECT * FROM {schema}.t ORDER BY id")).await, expected);
    postgres(&format!("DROP SCHEMA {schema} CASCADE")).await;
}

#[tokio::test]
async fn postgres_types_survive_the_way_there_and_back() {
    let schema = format!("transfer_types_{}", std::process::id());
    let columns = "n numeric, j jsonb, a text[], b bytea, t timestamptz, f float8, x text";
    postgres(&format!(
        "CREATE SCHEMA {schema}; CREATE TABLE {schema}.a ({columns}); CREATE TABLE {schema}.b ({columns});
         INSERT INTO {schema}.a VALUES (1.10, '{{\"k\": [1]}}', '{{\"x,y\",NULL}}', '\\x00ff', '2024-01-01 00:00Z', 'NaN', E'tab\\there\\\\\\n'), (NULL, NULL, NULL, NULL, NULL, NULL, NULL)"
    ))
    .await;
    let url = PostgresServer::shared().url("postgres");
    let done = output(json!({
        "source": {"kind": "postgres", "connection": url, "query": format!("SELECT * FROM {schema}.a")},
        "target": {"kind": "postgres", "connection": url, "table": format!("{schema}.b")},
        "mode": "replace",
    }))
    .await;
    assert_eq!(done["rows_transferred"], 2);
    let differs = postgres(&format!("(SELECT * FROM {schema}.a EXCEPT SELECT * FROM {schema}.b) UNION ALL (SELECT * FROM {schema}.b EXCEPT SELECT * FROM {schema}.a)")).await;
    assert_eq!(differs, json!([]));
    postgres(&format!("DROP SCHEMA {schema} CASCADE")).await;
}

#[tokio::test]
async fn a_replace_that_fails_leaves_everything_as_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let (csv, db, kept) = (
        directory.path().join("in.csv"),
        directory.path().join("a.db"),
        directory.path().join("kept.csv"),
    );
    std::fs::write(&csv, "id\n5\n6\n7,8\n").unwrap();
    std::fs::write(&kept, "old\n").unwrap();
    sqlite(&db, "CREATE TABLE t (id INT); INSERT INTO t VALUES (1)").await;
    let schema = format!("transfer_replace_{}", std::process::id());
    postgres(&format!("CREATE SCHEMA {schema}; CREATE TABLE {schema}.t (id INT); INSERT INTO {schema}.t VALUES (1)")).await;
    let url = PostgresServer::shared().url("postgres");
    for target in [
        json!({"type": "sqlite", "database": db, "table": "t"}),
        json!({"type": "postgres", "connection": url, "table": format!("{schema}.t")}),
        json!({"type": "file", "path": kept}),
    ] {
        let source = json!({"type": "file", "path": csv});
        let config =
            json!({"source": source, "target": target, "mode": "replace", "chunk_size": 1});
        let expected = format!(
            "failed parse: {}, line 4: 2 values, but 1 columns; nothing was replaced, the target is as it was\ndetails {{\n  \"rows_written\": 0\n}}\n",
            csv.display()
        );
        assert_eq!(show(&run(config).await), expected);
    }
    assert_eq!(sqlite(&db, "SELECT * FROM t").await, json!([[1]]));
    assert_eq!(postgres(&format!("SELECT * FROM {schema}.t")).await, json!([[1]]));
    assert_eq!(std::fs::read_to_string(&kept).unwrap(), "old\n");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 3);
    postgres(&format!("DROP SCHEMA {schema} CASCADE")).await;
}

#[tokio::test]
async fn an_append_that_fails_says_how_far_it_came() {
    let directory = tempfile::tempdir().unwrap();
    let (csv, db) = (directory.path().join("in.csv"), directory.path().join("a.db"));
    std::fs::write(&csv, "id\n1\n2\n3\n3\n").unwrap();
    sqlite(&db, "CREATE TABLE t (id INT UNIQUE)").await;
    let shown = show(
        &run(json!({
            "source": {"type": "file", "path": csv},
            "target": {"type": "sqlite", "database": db, "table": "t"},
            "chunk_size": 2,
        }))
        .await,
    );
    assert!(shown.starts_with("failed db_constraint: SQLite says: UNIQUE constraint failed: t.id; 2 rows had been written\n"), "{shown}");
    assert_eq!(sqlite(&db, "SELECT count(*) FROM t").await, json!([[2]]));
}

#[tokio::test]
async fn many_rows_travel_in_chunks_and_none_is_lost() {
    let directory = tempfile::tempdir().unwrap();
    let lines = directory.path().join("out.jsonl");
    let source = json!({
        "type": "sqlite",
        "query": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000) SELECT i, i * 2 AS twice FROM n",
    });
    let done = output(json!({"source": source, "target": {"type": "file", "path": lines}})).await;
    assert_eq!(
        (&done["rows_transferred"], &done["chunks_processed"]),
        (&json!(50_000), &json!(51))
    );
    let text = std::fs::read_to_string(&lines).unwrap();
    assert_eq!(text.lines().count(), 50_000);
    assert_eq!(text.lines().last(), Some("{\"i\":50000,\"twice\":100000}"));
}

#[tokio::test]
async fn duckdb_is_a_source_and_a_target() {
    let transfer = tool();
    if crate::kinds::duckdb::engine::is_missing(&transfer.duckdb)
        && std::env::var_os("NOETL_TEST_DUCKDB").is_none()
    {
        eprintln!("skipped: DuckDB's library is not installed");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let database = directory.path().join("a.duckdb");
    let duckdb = crate::kinds::duckdb::Duckdb::new(transfer.duckdb.clone());
    let made = duckdb.run(&call(json!({"database": database, "query": "CREATE TABLE t (i INT PRIMARY KEY, v DECIMAL(6,2))"}))).await;
    assert!(show(&made).starts_with("completed"), "{made:?}");
    let source =
        json!({"type": "duckdb", "query": "SELECT range AS i, range / 4 AS v FROM range(3000)"});
    let target = json!({"type": "duckdb", "database": database, "table": "t"});
    for mode in ["append", "upsert", "replace"] {
        let done =
            output(json!({"source": source, "target": target, "mode": mode, "keys": "i"})).await;
        assert_eq!(done["rows_transferred"], 3000, "{mode}");
    }
    let lines = directory.path().join("out.jsonl");
    output(json!({
        "source": {"type": "duckdb", "database": database, "query": "SELECT * FROM t WHERE i < :n ORDER BY i", "params": {"n": 2}},
        "target": {"type": "file", "path": lines, "mapping": {"value": "v"}},
    }))
    .await;
    assert_eq!(
        std::fs::read_to_string(&lines).unwrap(),
        "{\"value\":\"0.00\"}\n{\"value\":\"0.25\"}\n"
    );
}

#[tokio::test]
async fn an_impossible_configuration_is_refused() {
    let csv = json!({"type": "file", "path": "/nowhere.csv"});
    for (config, expected) in [
        (json!({}), "failed config: transfer: `source` is missing: a map with its `type`"),
        (
            json!({"source": csv, "target": {"type": "kafka"}}),
            "failed config: transfer: target: `type` is `kafka`; known are postgres, sqlite, duckdb and file",
        ),
        (
            json!({"source": {"type": "ftp"}, "target": csv}),
            "failed config: transfer: source: `type` is `ftp`; known are postgres, sqlite, duckdb, http and file",
        ),
        (
            json!({"source": csv, "target": csv, "mode": "swap"}),
            "failed config: transfer: `mode` is `swap`; known are append, replace and upsert",
        ),
        (
            json!({"source": csv, "target": {"type": "sqlite"}}),
            "failed config: transfer: target: `table` is missing",
        ),
        (
            json!({"source": csv, "target": {"type": "sqlite", "table": "t"}, "mode": "upsert"}),
            "failed config: transfer: `mode: upsert` needs `keys`: the columns that tell rows apart",
        ),
        (
            json!({"source": csv, "target": {"type": "file", "path": "a.csv"}, "mode": "upsert"}),
            "failed config: transfer: `mode: upsert` needs a table; a file can be appended to or replaced",
        ),
        (
            json!({"source": csv, "target": {"type": "file", "path": "a.txt"}}),
            "failed config: transfer: target: `format` is `txt`; known are csv and jsonl",
        ),
        (
            json!({"source": {"type": "sqlite", "query": "SELECT 1; SELECT 2"}, "target": {"type": "sqlite", "table": "t"}}),
            "failed config: transfer: source: `query` must be one statement that returns the rows",
        ),
        (
            json!({"source": csv, "target": {"type": "sqlite", "table": "t"}, "chunk_size": 0}),
            "failed config: transfer: `chunk_size` must be a number from 1 to 100000, but is `0`",
        ),
        (
            json!({"source": csv, "target": {"type": "sqlite", "table": "t"}}),
            "failed not_found: /nowhere.csv: No such file or directory",
        ),
        (
            json!({"source": {"type": "sqlite", "query": "SELECT 1 AS a"}, "target": {"type": "sqlite", "table": "t"}}),
            "failed schema: SQLite says: no such table: t; 0 rows had been written",
        ),
        (
            json!({"source": {"type": "sqlite", "query": "SELECT 1 AS a"}, "target": {"type": "sqlite", "table": "t", "mapping": {"b": "c"}}}),
            "failed config: `target.mapping` names `c`, but the source has only: a",
        ),
        (
            json!({"source": {"type": "http", "url": "http://127.0.0.1:1/"}, "target": {"type": "sqlite", "table": "t"}}),
            "failed connection: GET http://127.0.0.1:1/: cannot connect",
        ),
    ] {
        let shown = show(&run(config.clone()).await);
        assert!(shown.starts_with(expected), "{config}: {shown}");
    }
}
