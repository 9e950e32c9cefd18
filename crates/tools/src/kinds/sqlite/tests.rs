use expect_test::{Expect, expect};
use noetl_model::Outcome;
use serde_json::{Value, json};

use noetl_isolation::HiddenFiles;

use super::*;
use crate::protect::files::FileAccess;
use crate::testing::{call, show};

async fn run(config: Value) -> ToolResult {
    Sqlite.run(&call(config)).await
}

async fn check(config: Value, expected: Expect) {
    expected.assert_eq(&show(&run(config).await));
}

async fn output(config: Value) -> Value {
    match run(config).await.outcome {
        Outcome::Completed { output } => (*output).clone(),
        Outcome::Failed { error, .. } => panic!("{error:?}"),
    }
}

#[tokio::test]
async fn every_kind_of_value_comes_back() {
    let query = "SELECT 1 AS i, 9223372036854775807 AS big, 0.1 AS r, 'a;b' AS t, x'00ff' AS b, NULL AS n, 1e999 AS inf, 1 AS i";
    let found = output(json!({ "query": query })).await;
    assert_eq!(
        found["rows"][0],
        json!({"i": 1, "big": 9_223_372_036_854_775_807_i64, "r": 0.1, "t": "a;b", "b": "AP8=", "n": null, "inf": "inf", "i_2": 1})
    );
}

#[tokio::test]
async fn a_script_keeps_its_triggers_whole_and_counts_what_changed() {
    let directory = tempfile::tempdir().unwrap();
    let database = directory.path().join("shop.db");
    let query = "
        CREATE TABLE orders (id INTEGER PRIMARY KEY, amount INT);
        CREATE TABLE log (line TEXT);
        CREATE TRIGGER noted AFTER INSERT ON orders BEGIN
            INSERT INTO log VALUES ('first;'); INSERT INTO log VALUES ('second'); END;
        INSERT INTO orders (amount) VALUES (:a), (:b) RETURNING id;
        UPDATE orders SET amount = amount + 1;
        DROP TABLE IF EXISTS nowhere;
        SELECT * FROM orders WHERE false";
    let found =
        output(json!({"database": database, "query": query, "params": {"a": 5, "b": [1]}})).await;
    assert_eq!(found["command_3"]["rows"], json!([{"id": 1}, {"id": 2}]));
    assert_eq!(
        (&found["command_4"]["affected_rows"], &found["command_5"]["affected_rows"]),
        (&json!(2), &json!(0))
    );
    assert_eq!((&found["columns"], &found["rows"]), (&json!(["id", "amount"]), &json!([])));
    let again = output(json!({"database": database, "read_only": true, "query": "SELECT count(*) AS n FROM log WHERE line = ?", "params": ["first;"]})).await;
    assert_eq!(again["rows"], json!([{"n": 2}]));
}

#[tokio::test]
async fn a_transaction_is_all_or_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let database = directory.path().join("a.db");
    output(json!({"database": database, "query": "CREATE TABLE t (v INT UNIQUE)"})).await;
    check(
        json!({"database": database, "transaction": true, "query": "INSERT INTO t VALUES (1);\nINSERT INTO t VALUES (1)"}),
        expect![[r#"
            failed db_constraint: SQLite says: UNIQUE constraint failed: t.v (statement 2, line 2)
            code 2067
        "#]],
    )
    .await;
    let count = output(json!({"database": database, "query": "SELECT count(*) AS n FROM t"})).await;
    assert_eq!(count["rows"], json!([{"n": 0}]));
}

#[tokio::test]
async fn a_database_error_has_its_kind() {
    let directory = tempfile::tempdir().unwrap();
    let text = directory.path().join("text.db");
    std::fs::write(&text, "this is not a database, but a text of some length").unwrap();
    for (config, expected) in [
        (
            json!({"query": "SELECT * FROM nowhere"}),
            "failed schema: SQLite says: no such table: nowhere\ncode 1\n",
        ),
        (
            json!({"query": "SELEC 1"}),
            "failed client_error: SQLite says: near \"SELEC\": syntax error\ncode 1\n",
        ),
        (
            json!({"query": "SELECT 1", "database": "/nowhere/a.db"}),
            "failed storage_access: cannot open /nowhere/a.db: SQLite says: unable to open database file\ncode 14\n",
        ),
        (
            json!({"query": "SELECT 1", "database": "/nowhere.db", "read_only": true}),
            "failed storage_access: cannot open /nowhere.db: SQLite says: unable to open database file\ncode 14\n",
        ),
        (
            json!({"query": "CREATE TABLE a (b)", "database": text}),
            "failed storage_access: SQLite says: file is not a database\ncode 26\n",
        ),
        (json!({}), "failed config: sqlite: `query` is missing: the statements to run\n"),
        (
            json!({"query": "BEGIN"}),
            "failed config: sqlite: statement 1 begins a transaction that no other ends: add COMMIT, or leave it out and say `transaction: true`\n",
        ),
        (
            json!({"query": "SELECT ?", "params": []}),
            "failed config: sqlite: a statement asks for parameter 1, but `params` has only 0\n",
        ),
        (
            json!({"query": "SELECT 1", "database": ["a"]}),
            "failed config: sqlite: `database` must be a text, but is a list\n",
        ),
    ] {
        assert_eq!(show(&run(config.clone()).await), expected, "{config}");
    }
}

#[tokio::test]
async fn a_statement_that_never_ends_is_stopped() {
    let endless =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
    let work = call(json!({ "query": endless }));
    let cancel = work.cancel.clone();
    let running = tokio::spawn(async move { Sqlite.run(&work).await });
    tokio::task::yield_now().await;
    cancel.cancel();
    assert!(show(&running.await.unwrap()).starts_with("failed"));
}

/// A call that may open the files below `work` and none below `work/hidden`.
fn confined(work: &std::path::Path, config: Value) -> Call {
    let hidden = HiddenFiles::new(vec![work.join("hidden")]).with_database(&work.join("server.db"));
    Call { files: FileAccess::below(vec![work.to_owned()], hidden), ..call(config) }
}

/// Runs a script beside a database of the server. Returns the result and what the script left.
async fn attack(script: impl Fn(&str) -> String) -> (String, Vec<String>) {
    let directory = tempfile::tempdir().unwrap();
    let work = directory.path().canonicalize().unwrap();
    std::fs::create_dir(work.join("hidden")).unwrap();
    let server = work.join("server.db");
    output(json!({"database": server, "query": "CREATE TABLE secret AS SELECT 'hunter2' AS s"}))
        .await;
    std::os::unix::fs::symlink(&server, work.join("link.db")).unwrap();
    let call = confined(&work, json!({"query": script(&work.display().to_string())}));
    let shown = show(&Sqlite.run(&call).await);
    let left = std::fs::read_dir(work.join("hidden")).unwrap().flatten();
    (shown, left.map(|it| it.file_name().to_string_lossy().into_owned()).collect())
}

#[tokio::test]
async fn no_spelling_of_a_statement_opens_a_file_of_the_server() {
    let read = "SELECT s FROM x.secret";
    let attacks: &[&dyn Fn(&str) -> String] = &[
        &|work| format!("ATTACH '{work}/server.db' AS x; {read}"),
        &|work| format!("\u{feff}ATTACH '{work}/server.db' AS x; {read}"),
        &|work| format!(";/* c */ -- d\nattach\tDATABASE \"{work}/server.db\" AS x; {read}"),
        &|work| format!("ATTACH [{work}/server.db] AS x; {read}"),
        &|work| format!("ATTACH `{work}/./hidden/../server.db` AS x; {read}"),
        &|work| format!("ATTACH '{work}/link.db' AS x; {read}"),
        &|work| format!("ATTACH '/proc/self/root{work}/server.db' AS x; {read}"),
        &|work| format!("ATTACH 'file:{work}/server.db?mode=ro' AS x; {read}"),
        &|work| format!("ATTACH 'FILE:{work}/server.db' AS x; {read}"),
        &|work| format!("ATTACH '{work}/' || 'server.db' AS x; {read}"),
        &|work| format!("ATTACH (SELECT '{work}/server.db') AS x; {read}"),
        &|work| format!("ATTACH '{work}/server.db-wal' AS x"),
        &|work| format!("VACUUM INTO '{work}/hidden/planted.db'"),
        &|work| format!("VACUUM main INTO 'file:{work}/hidden/planted.db'"),
        &|work| format!("VACUUM INTO '{work}/hid' || 'den/planted.db'"),
        &|work| {
            let trigger = "CREATE TABLE t (a); CREATE TRIGGER r AFTER INSERT ON t BEGIN SELECT \
                           CASE WHEN 1 THEN 2 END; END";
            format!("{trigger}; ATTACH '{work}/server.db' AS x; {read}")
        },
        &|work| format!("SELECT 1 AS \"end; ATTACH '{work}/server.db' AS x; {read}"),
        &|work| format!("EXPLAIN ATTACH '{work}/server.db' AS x"),
        &|_| "ATTACH '/etc/passwd' AS x".into(),
        &|_| "PRAGMA temp_store_directory = '/'".into(),
        &|_| "PRAGMA Hard_Heap_Limit = 1".into(),
    ];
    for (index, script) in attacks.iter().enumerate() {
        let (shown, left) = attack(script).await;
        assert!(shown.starts_with("failed"), "attack {index}: {shown}");
        assert!(!shown.contains("hunter2"), "attack {index}: {shown}");
        assert_eq!(left, Vec::<String>::new(), "attack {index}");
    }
}

#[tokio::test]
async fn a_link_to_a_database_of_the_server_is_not_opened() {
    let directory = tempfile::tempdir().unwrap();
    let work = directory.path().canonicalize().unwrap();
    let server = work.join("server.db");
    output(json!({"database": server, "query": "CREATE TABLE secret (s)"})).await;
    std::os::unix::fs::symlink(&server, work.join("soft.db")).unwrap();
    std::fs::hard_link(&server, work.join("hard.db")).unwrap();
    for name in ["soft.db", "hard.db", "server.db", "./hard.db"] {
        let database = work.join(name);
        let call = confined(&work, json!({"database": database, "query": "SELECT s FROM secret"}));
        let shown = show(&Sqlite.run(&call).await);
        assert!(shown.contains("belongs to the server"), "{name}: {shown}");
    }
}

#[tokio::test]
async fn other_files_are_attached_and_written() {
    let directory = tempfile::tempdir().unwrap();
    let work = directory.path().canonicalize().unwrap();
    let other = work.join("other.db");
    output(json!({"database": other, "query": "CREATE TABLE t AS SELECT 7 AS n"})).await;
    let shown = work.display();
    for (query, expected) in [
        (format!("ATTACH '{shown}/other.db' AS o; SELECT n FROM o.t"), "7"),
        (
            "ATTACH ':memory:' AS o; CREATE TABLE o.t AS SELECT 8 AS n; SELECT n FROM o.t".into(),
            "8",
        ),
        (format!("VACUUM INTO '{shown}/copy.db'; SELECT 9 AS n"), "9"),
        ("CREATE TABLE t (n); VACUUM; SELECT 10 AS n".into(), "10"),
    ] {
        let call = confined(&work, json!({"query": query}));
        let found = Sqlite.run(&call).await;
        assert!(show(&found).contains(&format!("\"n\":{expected}")), "{query}: {}", show(&found));
    }
    assert!(work.join("copy.db").exists());
}
