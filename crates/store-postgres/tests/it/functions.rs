//! Tests of the functions in the database: which versions exist, and the plans of their statements.

use noetl_model::{ExecutionId, Seq};
use noetl_store::EventLog as _;
use noetl_store::conformance::TestClock;
use noetl_store::conformance::given::start;
use sqlx::migrate::Migrator;
use sqlx::{AssertSqlSafe, PgConnection, query_scalar};

use crate::database::{Database, execute};
use crate::statements::{filled, plan_of, walks_of};

/// The last migration of the version that called `noetl.append`.
const LAST_OF_VERSION_2: i64 = 96;
const CURRENT: &str = "append_v5";

const PREVIOUS: &str = "append_v4";

/// Appends the first event of execution 7 by a function with the arguments of version 2.
const APPEND_AS_PREVIOUS: &str = "
    SELECT noetl.append_v4(
        NULL,
        ARRAY[ROW(7, 1, 'tests/hello', 'tests/hello', 1, now(), NULL, NULL, NULL, NULL,
            ROW('RUNNING', 1, now(), NULL, NULL, 0, 0, 0, 0, 0, 0, 0, NULL, NULL))
        ]::noetl.started_execution[],
        ARRAY[ROW(7, 1, 70, 'execution.cancelled', NULL, now(), '{}', NULL)]::noetl.appended_event[],
        NULL, NULL, true, NULL, NULL, NULL, NULL, NULL, now(), false
    )";

/// Returns the names of the functions that insert events.
async fn writers(connection: &mut PgConnection) -> Vec<String> {
    let statement = "SELECT proname::text FROM pg_proc
        WHERE pronamespace = 'noetl'::regnamespace AND prosrc ~ 'INSERT INTO noetl.event\\M'
        ORDER BY proname";
    query_scalar(statement).fetch_all(connection).await.expect("the server answers")
}

/// Creates a database as a server of version 2 leaves it.
async fn of_version_2() -> Database {
    let database = Database::empty().await;
    let mut migrator: Migrator = sqlx_macros::migrate!();
    migrator.create_schema("noetl");
    migrator.dangerous_set_table_name("noetl.schema_migration");
    migrator.migrations.to_mut().retain(|migration| migration.version <= LAST_OF_VERSION_2);
    let migrated = migrator.run_direct(None, &mut database.connect().await, false).await;
    migrated.expect("the migrations apply");
    database
}

/// Creates a database as an upgrade from version 2 to the previous version leaves it. The function of
/// the previous version is that of version 2 with its own name.
async fn of_previous_version() -> Database {
    let database = of_version_2().await;
    let mut connection = database.connect().await;
    let definition: String = query_scalar(
        "SELECT pg_get_functiondef(oid) FROM pg_proc
        WHERE pronamespace = 'noetl'::regnamespace AND proname = 'append'
            AND prosrc ~ 'INSERT INTO noetl.event\\M'",
    )
    .fetch_one(&mut connection)
    .await
    .expect("version 2 has its function");
    let previous = definition.replacen("noetl.append(", &format!("noetl.{PREVIOUS}("), 1);
    execute(&mut connection, &previous).await;
    database
}

#[tokio::test]
async fn a_new_database_has_one_append_function() {
    let database = Database::empty().await;
    let store = database.open(TestClock::default()).await;
    let mut connection = database.connect().await;
    assert_eq!(writers(&mut connection).await, [CURRENT]);
    let reopened = database.open(TestClock::default()).await;
    assert_eq!(writers(&mut connection).await, [CURRENT]);
    let answers = store.append(&[start(ExecutionId(7))]).await.expect("the store appends");
    assert_eq!(answers, [Ok(())]);
    store.close().await;
    reopened.close().await;
}

#[tokio::test]
async fn servers_of_the_previous_version_append_during_an_upgrade() {
    let database = of_previous_version().await;
    let store = database.open(TestClock::default()).await;
    let mut connection = database.connect().await;
    assert_eq!(writers(&mut connection).await, [PREVIOUS, CURRENT]);
    execute(&mut connection, APPEND_AS_PREVIOUS).await;
    let seq: i64 = query_scalar("SELECT seq FROM noetl.event WHERE execution_id = 7")
        .fetch_one(&mut connection)
        .await
        .expect("the event is stored");
    assert_eq!(seq, 1);
    let answers = store.append(&[start(ExecutionId(8))]).await.expect("the store appends");
    assert_eq!(answers, [Ok(())]);
    assert_eq!(store.read(ExecutionId(8), Seq::ZERO, 10).await.expect("a log").len(), 1);
    store.close().await;
}

/// Version 5 drops version 2 and keeps version 4.
#[tokio::test]
async fn an_upgrade_drops_the_versions_before_the_previous_one() {
    let database = of_version_2().await;
    let mut connection = database.connect().await;
    assert_eq!(writers(&mut connection).await, ["append", "append"]);
    database.open(TestClock::default()).await.close().await;
    assert_eq!(writers(&mut connection).await, [CURRENT]);
}

/// The tables of the statements of `functions/append.sql`, in order.
const TABLES: &[&str] = &[
    "start_key",
    "start_key",
    "start_key",
    "execution",
    "execution",
    "event",
    "event_place",
    "feed_batch",
    "child",
    "command",
    "command",
    "timer",
    "timer",
    "outbox",
    "payload_reference",
    "result_store",
    "execution_index",
    "execution_index",
];

#[tokio::test]
async fn no_statement_of_the_append_function_walks_a_table() {
    let database = filled().await;
    let mut connection = database.connect().await;
    let statements = inner_statements(include_str!("../../sql/functions/append.sql"));
    let tables: Vec<&str> = statements.iter().map(|statement| table_of(statement)).collect();
    assert_eq!(tables, TABLES);
    let mut walks = Vec::new();
    let session =
        query_scalar::<_, String>(AssertSqlSafe(include_str!("../../sql/set_session.sql")))
            .bind("60000")
            .bind("60000");
    session.fetch_one(&mut connection).await.expect("the session is set up");
    // Empty tables when the plan was made, and filled ones.
    for known in ["SELECT 1", "ANALYZE"] {
        execute(&mut connection, known).await;
        for statement in &statements {
            let plan = plan_of(&mut connection, table_of(statement), statement).await;
            assert!(!plan.is_empty(), "{statement}");
            walks.extend(walks_of(&plan).map(|line| format!("{statement}: {line}")));
        }
    }
    assert!(walks.is_empty(), "{walks:#?}");
}

/// Returns the statements in the body of a function, with parameters in place of its arguments and
/// variables.
fn inner_statements(function: &str) -> Vec<String> {
    let text: String = function
        .lines()
        .filter(|line| !line.trim_start().starts_with("--"))
        .map(|line| format!("{line}\n"))
        .collect();
    let (head, rest) = text.split_once("BEGIN\n").expect("a function has a body");
    let arguments = head.split_once('(').and_then(|(_, rest)| rest.split_once("\n)"));
    let (arguments, _) = arguments.expect("a function has arguments");
    let mut variables: Vec<(&str, &str)> = arguments
        .lines()
        .filter_map(|line| line.trim().trim_end_matches(',').split_once(' '))
        .collect();
    variables.push(("lag", "interval"));
    let starts = ["INSERT INTO", "UPDATE noetl", "DELETE FROM", "PERFORM"];
    rest.split(';')
        .filter_map(|piece| {
            let from = starts.iter().filter_map(|start| piece.find(start)).min()?;
            Some(with_parameters(&piece[from..].replacen("PERFORM", "SELECT", 1), &variables))
        })
        .collect()
}

/// Replaces each variable in a statement by a numbered parameter of its type.
fn with_parameters(statement: &str, variables: &[(&str, &str)]) -> String {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let mut used: Vec<&str> = Vec::new();
    let mut replaced = String::new();
    let mut rest = statement;
    while let Some(from) = rest.find(is_name) {
        let (between, tail) = rest.split_at(from);
        let (word, tail) = tail.split_at(tail.find(|c| !is_name(c)).unwrap_or(tail.len()));
        replaced.push_str(between);
        match variables.iter().find(|(name, _)| *name == word) {
            Some((name, of)) => {
                let known = used.iter().position(|it| it == name);
                let place = known.unwrap_or_else(|| {
                    used.push(name);
                    used.len() - 1
                });
                replaced.push_str(&format!("(${}::{of})", place + 1));
            }
            None => replaced.push_str(word),
        }
        rest = tail;
    }
    replaced.push_str(rest);
    replaced
}

/// Returns the table that a statement writes or, for a query, joins.
fn table_of(statement: &str) -> &str {
    let (_, rest) = statement.split_once("noetl.").expect("a statement names a table");
    let (_, rest) = match rest.split_once("noetl.") {
        Some((before, after)) if before.starts_with("kept_key[]") => (before, after),
        Some(_) | None => ("", rest),
    };
    rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default()
}
