use std::sync::atomic::{AtomicU32, Ordering};

use expect_test::{Expect, expect};
use noetl_model::{ErrorKind, Outcome};
use noetl_testkit::PostgresServer;
use serde_json::{Value, json};

use super::*;
use crate::protect::credentials::FixedCredentials;
use crate::testing::{call, show};

fn tool() -> Postgres {
    Postgres::new(Arc::new(Pools::new(crate::Egress::Any)), Arc::new(FixedCredentials::default()))
}

fn server() -> String {
    PostgresServer::shared().url("postgres")
}

/// Returns a unique schema name, so that tests do not interfere.
fn schema() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("tools_{}_{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

async fn run(mut config: Value) -> ToolResult {
    config["connection_string"] = server().into();
    tool().run(&call(config)).await
}

async fn output(config: Value) -> Value {
    match run(config).await.outcome {
        Outcome::Completed { output } => (*output).clone(),
        Outcome::Failed { error, .. } => panic!("{error:?}"),
    }
}

async fn check(config: Value, expected: Expect) {
    expected.assert_eq(&show(&run(config).await));
}

/// Checks the JSON of one SQL value.
async fn check_value(sql: &str, expected: Value) {
    let output = output(json!({"query": format!("SELECT {sql} AS v")})).await;
    assert_eq!(output["rows"][0]["v"], expected, "{sql}");
}

#[tokio::test]
async fn every_type_comes_back_without_loss() {
    for (sql, expected) in [
        ("1::int2", json!(1)),
        ("2147483647", json!(2_147_483_647)),
        ("9223372036854775807", json!(9_223_372_036_854_775_807_i64)),
        ("1.5::float4", json!(1.5)),
        ("0.1::float8", json!(0.1)),
        ("'NaN'::float8", json!("NaN")),
        ("12345678901234567890.123456789", json!("12345678901234567890.123456789")),
        ("true", json!(true)),
        ("NULL::int", json!(null)),
        ("'a'::text", json!("a")),
        ("'a'::char(3)", json!("a  ")),
        ("'\\x00ff'::bytea", json!("AP8=")),
        (
            "'11111111-2222-3333-4444-555555555555'::uuid",
            json!("11111111-2222-3333-4444-555555555555"),
        ),
        ("'2024-02-29'::date", json!("2024-02-29")),
        ("'12:34:56.789'::time", json!("12:34:56.789")),
        ("'12:34:56+02'::timetz", json!("12:34:56+02")),
        ("'2024-02-29 12:00:00.000001'::timestamp", json!("2024-02-29T12:00:00.000001")),
        ("'2024-07-01 12:00:00Z'::timestamptz", json!("2024-07-01T09:30:00-02:30")),
        ("'infinity'::timestamptz", json!("infinity")),
        ("'1 year 2 mons 3 days 04:05:06.7'::interval", json!("1 year 2 mons 3 days 04:05:06.7")),
        (
            "'{\"b\": [1, {\"c\": null}], \"a\": \"x\"}'::json",
            json!({"b": [1, {"c": null}], "a": "x"}),
        ),
        ("'[1, 2.5]'::jsonb", json!([1, 2.5])),
        ("ARRAY[1, NULL, 3]", json!([1, null, 3])),
        ("ARRAY[[1,2],[3,4]]", json!([[1, 2], [3, 4]])),
        (
            "ARRAY['a,b', 'c\"d', 'e\\f', NULL, 'NULL', '']",
            json!(["a,b", "c\"d", "e\\f", null, "NULL", ""]),
        ),
        ("ARRAY['{\"a\": 1}'::jsonb]", json!([{"a": 1}])),
        ("ARRAY[1.10, 2]", json!(["1.10", "2"])),
        ("'{}'::text[]", json!([])),
        ("'[1,5)'::int4range", json!("[1,5)")),
        ("'10.0.0.0/8'::cidr", json!("10.0.0.0/8")),
        ("'1.5'::money", json!("$1.50")),
        ("B'101'", json!("101")),
        ("point(1,2)", json!("(1,2)")),
        ("ROW(1, 'a')", json!("(1,a)")),
        ("'1'::xml", json!("1")),
        ("'a b'::tsvector", json!("'a' 'b'")),
        ("pg_sleep(0)", json!(null)),
        ("'x'::\"char\"", json!("x")),
        ("'pg_class'::regclass", json!("pg_class")),
    ] {
        check_value(sql, expected).await;
    }
}

#[tokio::test]
async fn enums_and_domains_and_arrays_of_them_come_back() {
    let schema = schema();
    let query = format!(
        "CREATE SCHEMA {schema};
         CREATE TYPE {schema}.mood AS ENUM ('sad', 'ok');
         CREATE DOMAIN {schema}.small AS int CHECK (VALUE < 10);
         SELECT 'ok'::{schema}.mood AS e, ARRAY['sad', 'ok']::{schema}.mood[] AS es,
                3::{schema}.small AS d, ARRAY[1, 2]::{schema}.small[] AS ds;
         DROP SCHEMA {schema} CASCADE"
    );
    let found = output(json!({ "query": query })).await;
    let row = &found["command_3"]["rows"][0];
    assert_eq!(row, &json!({"e": "ok", "es": ["sad", "ok"], "d": 3, "ds": [1, 2]}));
    assert_eq!(found["row_count"], 0);
}

#[tokio::test]
async fn parameters_are_passed_by_place_and_by_name_as_what_they_are() {
    let sql = "SELECT $1::int4 + 1 AS a, $2::numeric AS b, $3::text AS c, $4::jsonb AS d, $5::text[] AS e, $6::bytea AS f, $7::uuid AS g, $8::bool AS h";
    let uuid = "11111111-2222-3333-4444-555555555555";
    let params = json!([1, "1.10", "it's \\ -- $1", {"k": [1]}, ["x", null], "AP8=", uuid, true]);
    let found = output(json!({"query": sql, "params": params})).await;
    assert_eq!(
        found["rows"][0],
        json!({"a": 2, "b": "1.10", "c": "it's \\ -- $1", "d": {"k": [1]}, "e": ["x", null], "f": "AP8=", "g": uuid, "h": true})
    );
    let sql = "SELECT :n::int AS n, :s AS s, %(n)s + 1 AS m, ':n' AS q";
    let found = output(json!({"query": sql, "params": {"n": 4, "s": null}})).await;
    assert_eq!(found["rows"][0], json!({"n": 4, "s": null, "m": 5, "q": ":n"}));
}

#[tokio::test]
async fn a_hostile_parameter_is_just_a_text() {
    for text in ["'; DROP TABLE x; --", "\\'; SELECT 1; --", "$$;$1", "a\nb", "\u{1F600}", "E'\\''"]
    {
        let found = output(json!({"query": "SELECT $1 AS v", "params": [text]})).await;
        assert_eq!(found["rows"][0]["v"], text);
    }
}

#[tokio::test]
async fn rows_come_from_whatever_returns_rows() {
    let schema = schema();
    let found = output(json!({"query": format!(
        "-- a comment first
         CREATE SCHEMA {schema};
         CREATE TABLE {schema}.t (id serial PRIMARY KEY, v text);
         INSERT INTO {schema}.t (v) VALUES ('a'), ('b') RETURNING id;
         WITH changed AS (UPDATE {schema}.t SET v = 'c' WHERE id = 1 RETURNING *) SELECT * FROM changed;
         UPDATE {schema}.t SET v = 'd';
         SELECT * FROM {schema}.t WHERE false;
         VACUUM {schema}.t;
         DO $$ BEGIN RAISE NOTICE 'hello; there'; END $$;
         DELETE FROM {schema}.t")}))
    .await;
    assert_eq!(found["command_2"]["rows"], json!([{"id": 1}, {"id": 2}]));
    assert_eq!(found["command_3"]["rows"], json!([{"id": 1, "v": "c"}]));
    assert_eq!(found["command_4"]["affected_rows"], 2);
    assert_eq!(found["command_5"]["columns"], json!(["id", "v"]));
    assert_eq!(found["command_5"]["row_count"], 0);
    assert_eq!((&found["row_count"], &found["affected_rows"]), (&json!(2), &json!(2)));
    output(json!({"query": format!("DROP SCHEMA {schema} CASCADE")})).await;
}

#[tokio::test]
async fn a_transaction_is_all_or_nothing_and_one_left_open_is_refused() {
    let schema = schema();
    output(
        json!({"query": format!("CREATE SCHEMA {schema}; CREATE TABLE {schema}.t (v int UNIQUE)")}),
    )
    .await;
    let script = "INSERT INTO t VALUES (1); INSERT INTO t VALUES (1)";
    for (whole, left) in [(true, 0), (false, 1)] {
        let ended = run(json!({"query": script, "schema": schema, "transaction": whole})).await;
        assert!(show(&ended).contains("23505"), "{ended:?}");
        let count = output(json!({"query": "SELECT count(*) FROM t", "schema": schema})).await;
        assert_eq!(count["rows"][0]["count"], left, "transaction: {whole}");
    }
    check(
        json!({"query": "BEGIN; SELECT 1"}),
        expect![[r#"
            failed config: postgres: statement 1 begins a transaction that no other ends: add COMMIT, or leave it out and say `transaction: true`
        "#]],
    )
    .await;
    output(json!({"query": format!("DROP SCHEMA {schema} CASCADE")})).await;
}

#[tokio::test]
async fn a_call_leaves_nothing_behind_for_the_next() {
    let tool = tool();
    let mut config = json!({
        "connection_string": server(),
        "query": "SET application_name = 'left'; CREATE TEMP TABLE left_over (a int); SELECT pg_backend_pid() AS pid",
    });
    let first = show(&tool.run(&call(config.clone())).await);
    let pid = first.rsplit("\"pid\":").next().unwrap().split('}').next().unwrap().to_owned();
    config["query"] = "SELECT pg_backend_pid() AS pid, current_setting('application_name') AS name, to_regclass('left_over') AS left_over".into();
    let second = show(&tool.run(&call(config)).await);
    assert!(
        second.contains(&format!("{{\"pid\":{pid},\"name\":\"noetl\",\"left_over\":null}}")),
        "{second}"
    );
}

#[tokio::test]
async fn notices_are_logs() {
    check(
        json!({"query": "DO $$ BEGIN RAISE NOTICE 'half-way'; END $$"}),
        expect![[r#"
            completed {"status":"success","columns":[],"rows":[],"row_count":0,"affected_rows":0,"command_0":{"status":"success","columns":[],"rows":[],"row_count":0,"affected_rows":0}}
            stderr| NOTICE: half-way
        "#]],
    )
    .await;
}

#[tokio::test]
async fn an_error_of_the_server_has_its_kind_its_code_and_its_place() {
    check(
        json!({"query": "SELECT 1;\nSELECT *\nFROM nowhere"}),
        expect![[r#"
            failed schema: PostgreSQL says: relation "nowhere" does not exist (statement 2, line 3)
            code 42P01
            details {
              "position": 15
            }
        "#]],
    )
    .await;
    for (sql, kind, retryable) in [
        ("SELECT 1/0", ErrorKind::ClientError, false),
        ("SELEC 1", ErrorKind::ClientError, false),
        ("SELECT nothing", ErrorKind::Schema, false),
        ("DO $$ BEGIN RAISE EXCEPTION 'no'; END $$", ErrorKind::Exception, false),
        ("DO $$ BEGIN RAISE deadlock_detected; END $$", ErrorKind::DbDeadlock, true),
        ("DO $$ BEGIN RAISE serialization_failure; END $$", ErrorKind::DbDeadlock, true),
        ("DO $$ BEGIN RAISE check_violation; END $$", ErrorKind::DbConstraint, false),
        ("DO $$ BEGIN RAISE insufficient_privilege; END $$", ErrorKind::Auth, false),
        ("DO $$ BEGIN RAISE disk_full; END $$", ErrorKind::StorageQuota, false),
        ("COPY pg_class TO STDOUT", ErrorKind::DbConnection, true),
    ] {
        let Outcome::Failed { error, .. } = run(json!({"query": sql})).await.outcome else {
            panic!("{sql} completed");
        };
        assert_eq!((error.kind, error.retryable), (kind, retryable), "{sql}: {error}");
    }
}

#[tokio::test]
async fn a_statement_that_takes_too_long_ends_on_the_server() {
    check(
        json!({"query": "SELECT pg_sleep(600)", "statement_timeout": "100ms"}),
        expect![[r#"
            failed db_timeout: PostgreSQL says: canceling statement due to statement timeout
            code 57014
        "#]],
    )
    .await;
}

#[tokio::test]
async fn a_call_that_is_cancelled_ends_its_statement_on_the_server() {
    let mark = schema();
    let work = call(json!({
        "connection_string": server(),
        "query": format!("SELECT pg_sleep(600) AS {mark}"),
    }));
    let cancel = work.cancel.clone();
    let running = tokio::spawn(async move { tool().run(&work).await });
    let seen = format!(
        "SELECT count(*) AS n FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%{mark}%' AND pid <> pg_backend_pid()"
    );
    let count = async || output(json!({ "query": seen })).await["rows"][0]["n"].as_i64().unwrap();
    let until = async |wanted: i64| {
        let reached = async { while count().await != wanted {} };
        let waited = tokio::time::timeout(Duration::from_secs(20), reached).await;
        waited.expect("the statement shows on the server");
    };
    until(1).await;
    cancel.cancel();
    let ended = running.await.unwrap();
    assert!(show(&ended).contains("stopped before it was done"), "{ended:?}");
    until(0).await;
}

#[tokio::test]
async fn connection_errors_are_told_apart() {
    let nowhere =
        json!({"host": "127.0.0.1", "port": 1, "query": "SELECT 1", "password": "hunter2"});
    let ended = tool().run(&call(nowhere)).await;
    expect![[r#"
        failed db_connection: 127.0.0.1:1/postgres: cannot talk to PostgreSQL: Connection refused (os error 111)
    "#]]
    .assert_eq(&show(&ended));

    let no_database = PostgresServer::shared().url("nowhere");
    let ended =
        tool().run(&call(json!({"connection_string": no_database, "query": "SELECT 1"}))).await;
    assert!(show(&ended).starts_with("failed not_found:") && show(&ended).contains("code 3D000"));

    check(
        json!({"query": "SELECT pg_terminate_backend(pg_backend_pid())"}),
        expect![[r#"
            failed db_connection: PostgreSQL says: terminating connection due to administrator command
            code 57P01
        "#]],
    )
    .await;
}

#[tokio::test]
async fn a_secret_in_a_message_of_the_server_is_masked() {
    let config = json!({
        "connection_string": server(),
        "password": "hunter2",
        "query": "SELECT 'hunter2'::int",
    });
    let shown = show(&tool().run(&call(config)).await);
    assert!(shown.contains("invalid input syntax for type integer: \"***\""), "{shown}");
}

#[tokio::test]
async fn an_answer_that_is_too_large_is_refused_with_the_way_out() {
    check(
        json!({"query": "SELECT repeat('x', 1000000) FROM generate_series(1, 100)"}),
        expect![[r#"
            failed storage_quota: the rows take more than 67108864 bytes: add a LIMIT, or move them with the `transfer` tool
        "#]],
    )
    .await;
}

#[tokio::test]
async fn a_pool_has_so_many_connections_and_no_more() {
    let tool = Arc::new(tool());
    let config = |query: &str| {
        call(
            json!({"connection_string": server(), "query": query, "pool": {"max_size": 1, "timeout": "100ms"}}),
        )
    };
    let work = config("SELECT pg_sleep(600)");
    let (first, cancel) = (tool.clone(), work.cancel.clone());
    let running = tokio::spawn(async move { first.run(&work).await });
    let refused = loop {
        let shown = show(&tool.run(&config("SELECT 1")).await);
        if shown.starts_with("failed") {
            break shown;
        }
    };
    assert!(refused.contains("all 1 connections to"), "{refused}");
    cancel.cancel();
    running.await.unwrap();
    assert!(show(&tool.run(&config("SELECT 1")).await).starts_with("completed"));
}

#[tokio::test]
async fn an_impossible_configuration_is_refused() {
    for (config, expected) in [
        (json!({}), "postgres: `query` is missing: the statements to run"),
        (json!({"query": "  "}), "postgres: there is no statement to run"),
        (json!({"query": 5}), "postgres: `query` must be a text or a list of texts, but is `5`"),
        (json!({"commands": ["SELECT 1", 2]}), "postgres: `commands` must be a list of texts"),
        (
            json!({"query": "SELECT $1", "params": []}),
            "postgres: a statement asks for parameter 1, but `params` has only 0",
        ),
        (
            json!({"query": "SELECT $1::bytea", "params": ["?"]}),
            "postgres: parameter 1 is bytes, so it must be base64 or hexadecimal after \\x",
        ),
        (
            json!({"query": "SELECT 1", "as_objects": "maybe"}),
            "postgres: `as_objects` must be true or false, but is \"maybe\"",
        ),
        (
            json!({"query": "SELECT 1", "pool": {"max_size": 0}}),
            "postgres: pool: `max_size` must be a number from 1 to 100, but is `0`",
        ),
        (
            json!({"query": "SELECT 1", "statement_timeout": "soon"}),
            "postgres: `statement_timeout` must be seconds above 0 and up to 7 days, but is \"soon\"",
        ),
        (
            json!({"script": "/nowhere.sql"}),
            "cannot read /nowhere.sql: No such file or directory (os error 2)",
        ),
    ] {
        let shown = show(&run(config.clone()).await);
        assert!(shown.contains(expected), "{config}: {shown}");
    }
}

#[tokio::test]
async fn statements_come_from_a_list_or_a_file_too() {
    let found =
        output(json!({"commands": ["SELECT 1 AS a -- one", "SELECT 2 AS b; SELECT 3 AS c"]})).await;
    assert_eq!(
        (&found["command_0"]["rows"], &found["rows"]),
        (&json!([{"a": 1}]), &json!([{"c": 3}]))
    );
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("work.sql");
    std::fs::write(&path, "SELECT 4 AS d").unwrap();
    let found =
        output(json!({"script": {"uri": path, "source": {"type": "file"}}, "as_objects": false}))
            .await;
    assert_eq!(found["rows"], json!([[4]]));
}

/// Configures a server to accept only TLS connections with the password `hunter2`.
async fn guard(server: &PostgresServer, certificate: &str, key: &str) {
    let file = |name: &str, text: &str| {
        format!(
            "COPY (SELECT unnest(string_to_array($x${text}$x$, E'\\n'))) TO PROGRAM 'umask 077; cat > {name}'"
        )
    };
    let rules = "local all all trust\nhostssl all all 127.0.0.1/32 scram-sha-256";
    let commands = [
        file("tls.crt", certificate),
        file("tls.key", key),
        file("pg_hba.conf", rules),
        "ALTER SYSTEM SET ssl_cert_file = 'tls.crt'".to_owned(),
        "ALTER SYSTEM SET ssl_key_file = 'tls.key'".to_owned(),
        "ALTER SYSTEM SET ssl = on".to_owned(),
        "ALTER ROLE noetl PASSWORD 'hunter2'".to_owned(),
        "SELECT pg_reload_conf()".to_owned(),
    ];
    let run = async |commands: Value| {
        let config = json!({"connection_string": server.url("postgres"), "commands": commands});
        show(&tool().run(&call(config)).await)
    };
    let done = run(json!(commands)).await;
    assert!(done.starts_with("completed"), "{done}");
    let guarded = async { while !run(json!(["SHOW ssl"])).await.contains("\"ssl\":\"on\"") {} };
    tokio::time::timeout(Duration::from_secs(20), guarded).await.expect("the server is guarded");
}

#[tokio::test]
async fn a_guarded_server_is_reached_by_tls_with_its_password_only() {
    let directory = tempfile::tempdir().unwrap();
    let signed = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let root = directory.path().join("root.pem");
    std::fs::write(&root, signed.cert.pem()).unwrap();
    let server = PostgresServer::private_on_a_port();
    let port = server.port();
    guard(&server, &signed.cert.pem(), &signed.signing_key.serialize_pem()).await;

    let query = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
    for (host, mode, trusted, password, expected) in [
        ("localhost", "prefer", None, "hunter2", "completed"),
        ("localhost", "require", None, "hunter2", "completed"),
        ("localhost", "verify-full", Some(&root), "hunter2", "completed"),
        ("127.0.0.1", "verify-ca", Some(&root), "hunter2", "completed"),
        ("127.0.0.1", "verify-full", Some(&root), "hunter2", "failed auth: 127.0.0.1"),
        ("localhost", "verify-ca", None, "hunter2", "failed auth: localhost"),
        ("localhost", "disable", None, "hunter2", "failed auth: localhost"),
        ("localhost", "require", None, "hunter3", "failed auth: localhost"),
    ] {
        let config = json!({
            "host": host, "port": port, "user": "noetl", "password": password,
            "sslmode": mode, "sslrootcert": trusted, "query": query,
        });
        let shown = show(&tool().run(&call(config)).await);
        assert!(shown.starts_with(expected), "{host} {mode} {password}: {shown}");
        assert!(!shown.contains(password), "{shown}");
        assert!(!expected.starts_with("completed") || shown.contains("\"ssl\":true"), "{shown}");
    }
}

#[tokio::test]
async fn a_host_that_the_network_policy_refuses_is_not_connected_to() {
    let credentials = Arc::new(FixedCredentials::default());
    let tool = Postgres::new(Arc::new(Pools::new(crate::Egress::Public)), credentials);
    for host in ["127.0.0.1", "localhost", "169.254.169.254", "::ffff:127.0.0.1", "0x7f000001"] {
        let config = json!({"host": host, "port": 1, "query": "SELECT 1"});
        let shown = show(&tool.run(&call(config)).await);
        assert!(shown.starts_with("failed config") && shown.contains("is not allowed"), "{shown}");
    }
}

#[tokio::test]
async fn a_socket_of_the_server_is_not_opened() {
    let hidden = noetl_isolation::HiddenFiles::new(vec!["/srv/sockets".into()]);
    let hidden = hidden.with_database(std::path::Path::new("/tmp/.s.PGSQL.6000"));
    let files = crate::protect::files::FileAccess::any(hidden);
    for (config, expected) in [
        (json!({"host": "/srv/sockets", "query": "SELECT 1"}), "belongs to the server"),
        (json!({"dsn": "host=/srv/../srv/sockets", "query": "SELECT 1"}), "belongs to the server"),
        (json!({"host": "/tmp", "port": 6000, "query": "SELECT 1"}), "belongs to the server"),
        (json!({"host": "/tmp", "port": 6001, "query": "SELECT 1"}), "cannot talk to PostgreSQL"),
        (json!({"host": "@pg", "query": "SELECT 1"}), "abstract socket"),
    ] {
        let call = Call { files: files.clone(), ..call(config) };
        let shown = show(&tool().run(&call).await);
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
}
