//! Tests that every statement fits the schema, and that no frequent one scans a table.

use std::path::Path;
use std::sync::Arc;

use noetl_model::{
    Attempt, CommandId, Digest, ExecutionId, ExecutionStatus, Message, Parent, Pool, Seq, TimerId,
    WorkerId,
};
use noetl_store::conformance::TestClock;
use noetl_store::conformance::given::{add_to, at, start};
use noetl_store::{Append, EventLog as _, QueueChange, Snapshot, StartKey, TimerChange};
use sqlx::{AssertSqlSafe, Executor as _, PgConnection, SqlSafeStr as _, query_scalar};

use crate::database::{Database, execute};

/// Statements that may scan a table, with the reason.
const MAY_SCAN: &[(&str, &str)] = &[
    ("count_executions.sql", "a figure for people, over no more rows than its limit"),
    ("count_messages.sql", "a figure for people, over what is owed only"),
    ("count_pending_messages.sql", "where all of it waits, a walk beats the index"),
    ("claim_messages.sql", "what is owed only, and one walk may beat a look-up for each message"),
    ("collect_results.sql", "asked once a minute; a batch may be found best in one walk"),
    ("forget_imported.sql", "asked once a minute; a batch may be found best in one walk"),
    ("stalled_executions.sql", "asked seldom, and one walk may beat a look-up for each execution"),
];
/// The first id of the executions, in the month of the test clock, and their number.
const FIRST_ID: i64 = 264_905_529_753_600_000;
const EXECUTIONS: i64 = 3000;
/// A bound on the index entries read to find the different paths.
const PATHS_MAX: u64 = 10;

/// Returns every file of a directory of this crate, by name.
pub(crate) fn files(directory: &str) -> Vec<(String, String)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join(directory);
    let entries = std::fs::read_dir(directory).expect("the directory is there");
    let mut files: Vec<_> = entries
        .map(|entry| entry.expect("the directory can be read").path())
        .filter(|path| path.is_file())
        .map(|path| {
            let name = path.file_name().expect("a file has a name").to_string_lossy().into_owned();
            (name, std::fs::read_to_string(path).expect("a statement is text"))
        })
        .collect();
    files.sort();
    files
}

/// Returns every file of `sql/`, by name.
fn statements() -> Vec<(String, String)> {
    files("sql")
}

#[tokio::test]
async fn every_statement_can_be_prepared_on_the_migrated_schema() {
    let database = Database::migrated().await;
    let mut connection = database.connect().await;
    let statements = statements();
    assert!(!statements.is_empty());
    for (name, statement) in statements {
        let prepared = (&mut connection).prepare(AssertSqlSafe(statement).into_sql_str()).await;
        assert!(prepared.is_ok(), "{name}: {:?}", prepared.err());
    }
}

#[tokio::test]
async fn no_statement_walks_a_table_that_grows() {
    let database = filled().await;
    let mut connection = database.connect().await;
    execute(&mut connection, "ANALYZE").await;
    let mut walks = Vec::new();
    for (name, statement) in statements() {
        if MAY_SCAN.iter().all(|(allowed, _)| *allowed != name) {
            let plan = plan_of(&mut connection, &name, &statement).await;
            walks.extend(walks_of(&plan).map(|line| format!("{name}: {line}")));
        }
    }
    assert!(walks.is_empty(), "{walks:#?}");
}

/// A scan by primary key would read all executions to find the few that match.
#[tokio::test]
async fn a_filtered_list_goes_by_the_index_of_its_filter() {
    let database = filled().await;
    let mut connection = database.connect().await;
    execute(&mut connection, "ANALYZE").await;
    let mut by_key = Vec::new();
    for (name, statement) in statements() {
        if name.starts_with("list_executions_by_") {
            let plan = plan_of(&mut connection, &name, &statement).await;
            let walks =
                plan.iter().filter(|line| line.contains("Backward using execution_2026_01_pkey"));
            by_key.extend(walks.map(|line| format!("{name}: {line}")));
        }
    }
    assert!(by_key.is_empty(), "{by_key:#?}");
}

/// Executions with a rare status of a path, version or parent are found without reading the others.
#[tokio::test]
async fn a_list_at_a_status_looks_at_no_other() {
    let database = filled().await;
    let mut connection = database.connect().await;
    execute(&mut connection, "ANALYZE").await;
    for (name, statement) in statements() {
        let has_own_index = name == "list_executions_by_property.sql";
        let is_by_status = statement.contains("wanted.status") && !has_own_index;
        if name.starts_with("list_executions_by_") && is_by_status {
            let plan = plan_of(&mut connection, &name, &statement).await;
            let by_status = |line: &&String| {
                line.contains("Index Cond") && line.contains("(status = wanted.status)")
            };
            assert!(plan.iter().any(|line| by_status(&line)), "{name}: {plan:#?}");
        }
    }
}

/// The counts of a day among many days: the bars read entries of the index by status and time, no
/// more than they count, and no row of the table.
#[tokio::test]
async fn a_histogram_reads_no_more_of_its_index_than_it_counts() {
    let database = filled().await;
    let mut connection = database.connect().await;
    execute(&mut connection, "VACUUM ANALYZE noetl.execution").await;
    execute(&mut connection, "SET plan_cache_mode = force_generic_plan").await;
    let statement = include_str!("../../sql/count_by_time.sql");
    execute(&mut connection, &format!("PREPARE counting AS {statement}")).await;
    // Ten buckets of a hundred executions; a bar counts at most twenty.
    let (from, width) = (FIRST_ID + (500 << 22), 100i64 << 22);
    let until = from + 10 * width;
    let run = format!(
        "EXPLAIN (ANALYZE, TIMING OFF) EXECUTE counting
            ({from}, {until}, {from}, {width}, 10, 20, '{{RUNNING,COMPLETED}}')"
    );
    let plan: Vec<String> =
        query_scalar(AssertSqlSafe(run)).fetch_all(&mut connection).await.expect("a plan");
    let scans: Vec<&String> =
        plan.iter().filter(|line| line.contains(" on execution_2026_01")).collect();
    assert!(!scans.is_empty(), "{plan:#?}");
    assert!(scans.iter().all(|line| line.contains("Index Only Scan using")), "{plan:#?}");
    let read: u64 = scans.iter().map(|line| rows_of(line)).sum();
    assert_eq!(read, 10 * (10 + 20), "{plan:#?}");
    assert!(!plan.iter().any(|line| line.contains("Rows Removed")), "{plan:#?}");
}

/// A histogram of a path, version or parent reads the index of the filter at a status and a time.
#[tokio::test]
async fn a_filtered_histogram_goes_by_the_index_of_its_filter() {
    let database = filled().await;
    let mut connection = database.connect().await;
    execute(&mut connection, "ANALYZE").await;
    for (name, statement) in statements() {
        if name.starts_with("count_by_time_of_") && name != "count_by_time_of_property.sql" {
            let plan = plan_of(&mut connection, &name, &statement).await;
            let by_status = |line: &&String| {
                line.contains("Index Cond")
                    && line.contains("(status = wanted.status)")
                    && line.contains("((- execution_id) <= ")
            };
            assert!(plan.iter().any(|line| by_status(&line)), "{name}: {plan:#?}");
        }
    }
}

/// The maximum number of rows that one queue query may read: the index skips from execution to
/// execution.
const LEASE_ROWS_MAX: u64 = 1000;

/// One large execution next to many small ones: the cost of leasing depends on the limit, not on
/// the number of waiting commands.
#[tokio::test]
async fn leasing_does_not_walk_what_waits() {
    let database = filled().await;
    let mut connection = database.connect().await;
    let large = FIRST_ID + (1 << 22);
    let fill = format!(
        "INSERT INTO noetl.command
            (execution_id, command_id, pool, step_name, attempt, status, created_at)
        SELECT {large}, n, 'pool-1', 'fetch', 0, 'ISSUED', now()
        FROM generate_series(10, 200000) AS n;
        INSERT INTO noetl.command
            (execution_id, command_id, pool, step_name, attempt, status, created_at)
        SELECT execution_id, 5, 'pool-1', 'fetch', 0, 'ISSUED', now()
        FROM noetl.execution"
    );
    execute(&mut connection, &fill).await;
    let statement = include_str!("../../sql/ready_commands.sql");
    for known in ["SELECT 1", "ANALYZE noetl.command"] {
        execute(&mut connection, known).await;
        execute(&mut connection, "SET plan_cache_mode = force_generic_plan").await;
        execute(&mut connection, &format!("PREPARE leasing AS {statement}")).await;
        let run = format!(
            "EXPLAIN (ANALYZE, TIMING OFF) EXECUTE leasing ('pool-1', '2026-01-01Z', 50, {large}, 10)"
        );
        let plan: Vec<String> =
            query_scalar(AssertSqlSafe(run)).fetch_all(&mut connection).await.expect("a plan");
        execute(&mut connection, "DEALLOCATE leasing").await;
        let scans: Vec<&String> = plan.iter().filter(|line| line.contains(" on command")).collect();
        assert!(!scans.iter().any(|line| line.contains("Seq Scan")), "{plan:#?}");
        let looked_at: u64 = scans.iter().map(|line| rows_of(line)).sum();
        assert!((50..=LEASE_ROWS_MAX).contains(&looked_at), "{looked_at}: {plan:#?}");
        assert!(!plan.iter().any(|line| line.contains("Rows Removed")), "{plan:#?}");
    }
}

/// Returns the rows of a line of an executed plan, summed over its loops.
fn rows_of(line: &str) -> u64 {
    let number = |name: &str| {
        let rest = line.rsplit_once(name).map_or("0", |(_, rest)| rest);
        let digits = rest.split([' ', ')']).next().unwrap_or_default();
        digits.parse::<f64>().unwrap_or_default()
    };
    format!("{:.0}", number("rows=") * number("loops=")).parse().expect("a whole number")
}

#[tokio::test]
async fn every_statement_that_looks_something_up_has_an_index_for_it() {
    let database = filled().await;
    let mut connection = database.connect().await;
    // Without table statistics, and with sequential scans as the last resort.
    execute(&mut connection, "SET enable_seqscan = off").await;
    let mut walks = Vec::new();
    for (name, statement) in statements() {
        let plan = plan_of(&mut connection, &name, &statement).await;
        walks.extend(walks_of(&plan).map(|line| format!("{name}: {line}")));
    }
    assert!(walks.is_empty(), "{walks:#?}");
}

/// Creates a database with thousands of executions in one month, most of them ended.
pub(crate) async fn filled() -> Database {
    let database = Database::own().await;
    let store = database.open(TestClock::default()).await;
    let ids: Vec<i64> = (0..EXECUTIONS).collect();
    for ids in ids.chunks(500) {
        let batch: Vec<Append> = ids.iter().map(|number| of_execution(*number)).collect();
        let answers = store.append(&batch).await.expect("the store appends");
        assert!(answers.iter().all(Result::is_ok));
        for append in batch {
            let snapshot = Snapshot { seq: Seq(1), shape: 1, body: vec![1] };
            store.save(append.execution, &snapshot).await.expect("the store saves");
        }
    }
    store.close().await;
    execute(&mut database.connect().await, RECORDS).await;
    database
}

/// Thousands of rows in the tables outside the event log.
const RECORDS: &str = "
    INSERT INTO noetl.credential
    SELECT n, 'c' || n, 'bearer', 'c' || n, NULL, '{}', NULL, 'k1', '\\x00', '\\x00', now(), now()
    FROM generate_series(1, 3000) AS n;
    INSERT INTO noetl.keychain
    SELECT 'k' || n, 'k', n % 100, 'global', n, 'k1', '\\x00', '\\x00', '2026-01-01', false, NULL, 0,
        NULL, now()
    FROM generate_series(1, 3000) AS n;
    INSERT INTO noetl.secret_audit
    SELECT n, now(), 'c', 'read', 'ok' FROM generate_series(1, 3000) AS n;
    INSERT INTO noetl.runtime
    SELECT n, 'worker_pool', 'w' || n, NULL, 'ready', NULL, NULL, NULL, NULL, now(), now(), now()
    FROM generate_series(1, 3000) AS n;
    INSERT INTO noetl.object_store
    SELECT 'o' || n, 'text/plain', sha256('x'), '\\x00', now(), '2026-01-01'
    FROM generate_series(1, 3000) AS n;
    INSERT INTO noetl.transient
    SELECT execution_id, 'v', 'computed', '1', NULL, now(), NULL, 0 FROM noetl.execution;
    INSERT INTO noetl.replay_fold
    SELECT execution_id, 'all', 50000, 1, now(), 1, '\\x00' FROM noetl.execution;
    INSERT INTO noetl.execution_index
    SELECT 'label', 'team:' || execution_id % 7, execution_id, -1, now() FROM noetl.execution;
    INSERT INTO noetl.execution_index
    SELECT 'signal', 'paid', execution_id, 1, started_at FROM noetl.execution;
    INSERT INTO noetl.result_ref
    SELECT execution_id, 'r', 1, sha256('x'), 'execution', NULL, now(), now()
    FROM noetl.execution;
    INSERT INTO noetl.log_total
    SELECT execution_id, 4, 4, started_at FROM noetl.execution;
    INSERT INTO noetl.log_source
    SELECT execution_id, 1, 1, 'start', 'start', NULL, 1, 4, 4 FROM noetl.execution;
    INSERT INTO noetl.log_chunk
    SELECT execution_id, position, 1, 1, 'stdout', started_at, 0, 0, 0, 'x'
    FROM noetl.execution, generate_series(1, 4) AS position;
    INSERT INTO noetl.imported_execution
    SELECT n, CASE WHEN n % 100 = 0 THEN 'FAILED' ELSE 'COMPLETED' END, 'p/' || n % 3, 'p/' || n % 3,
        n % 4, n % 5, now(), '{}'
    FROM generate_series(1, 20000) AS n";

/// Lookups of the index read no more entries than they return, however many there are, in tables of
/// which the database has statistics or not.
#[tokio::test]
async fn a_page_of_the_index_reads_no_other_entries() {
    let database = filled().await;
    let mut connection = database.connect().await;
    let fill = format!(
        "INSERT INTO noetl.execution_index
        SELECT kind, 'k' || n % 3, {FIRST_ID} + n, n % 2, timestamptz '2026-01-01Z' + n * '1 s'::interval
        FROM generate_series(1, 30000) AS n, unnest(ARRAY['signal', 'approval']) AS kind"
    );
    execute(&mut connection, &fill).await;
    let middle = FIRST_ID + 15_000;
    let lookups = [
        ("list_index_newest.sql", format!("('signal', 'k1', {middle}, 0, 50)")),
        ("list_index_oldest.sql", format!("('signal', 'k1', {middle}, 0, 50)")),
        ("list_open_index.sql", format!("('approval', '2026-01-01 04:00Z', {middle}, 0, '', 50)")),
    ];
    for known in ["SELECT 1", "VACUUM ANALYZE noetl.execution_index"] {
        execute(&mut connection, known).await;
        for (name, arguments) in &lookups {
            let (_, statement) =
                statements().into_iter().find(|(it, _)| it == name).expect("a file");
            execute(&mut connection, "SET plan_cache_mode = force_generic_plan").await;
            execute(&mut connection, &format!("PREPARE looking AS {statement}")).await;
            let run = format!("EXPLAIN (ANALYZE, TIMING OFF) EXECUTE looking {arguments}");
            let plan: Vec<String> =
                query_scalar(AssertSqlSafe(run)).fetch_all(&mut connection).await.expect("a plan");
            execute(&mut connection, "DEALLOCATE looking").await;
            let scans = plan.iter().filter(|line| line.contains(" on execution_index_2026_01"));
            let read: u64 = scans.map(|line| rows_of(line)).sum();
            assert_eq!(read, 50, "{name}: {plan:#?}");
            assert!(!plan.iter().any(|line| line.contains("Rows Removed")), "{name}: {plan:#?}");
        }
    }
}

/// A label that every execution has, and a status that few have: the list reads the index entries of
/// that status and the executions they name, and no others.
#[tokio::test]
async fn a_list_by_label_and_status_reads_only_what_it_returns() {
    let database = filled().await;
    let mut connection = database.connect().await;
    let fill = "INSERT INTO noetl.execution_index
        SELECT 'label', 'team:ops ' || status, execution_id, -1, started_at FROM noetl.execution";
    execute(&mut connection, fill).await;
    for known in ["SELECT 1", "VACUUM ANALYZE noetl.execution_index"] {
        execute(&mut connection, known).await;
        execute(&mut connection, "SET plan_cache_mode = force_generic_plan").await;
        let statement = include_str!("../../sql/list_executions_by_property.sql");
        execute(&mut connection, &format!("PREPARE listing AS {statement}")).await;
        let run = "EXPLAIN (ANALYZE, TIMING OFF) EXECUTE listing (9223372036854775807, NULL, 20,
            '{RUNNING}', NULL, NULL, NULL, NULL, NULL, 'label', 'team:ops')";
        let plan: Vec<String> =
            query_scalar(AssertSqlSafe(run)).fetch_all(&mut connection).await.expect("a plan");
        execute(&mut connection, "DEALLOCATE listing").await;
        for table in [" on execution_index_2026_01", " on execution_2026_01"] {
            let scans = plan.iter().filter(|line| line.contains(table));
            let read: u64 = scans.map(|line| rows_of(line)).sum();
            assert_eq!(read, 20, "{table}: {plan:#?}");
        }
    }
}

/// A word that every execution has, and a status that few have: the search reads the entries of that
/// status and the executions they name, and no others. The histogram reads no more than it counts.
#[tokio::test]
async fn a_search_for_words_at_a_status_reads_only_what_it_returns() {
    let database = filled().await;
    let mut connection = database.connect().await;
    let fill = "INSERT INTO noetl.execution_index
        SELECT 'word', word || ' ' || status, execution_id, -1, started_at
        FROM noetl.execution, unnest(ARRAY['timeout', 'db']) AS word";
    execute(&mut connection, fill).await;
    let last = FIRST_ID + (EXECUTIONS << 22);
    let searches = [
        (
            include_str!("../../sql/list_executions_by_text.sql"),
            "9223372036854775807, NULL, 20, '{RUNNING}', NULL, NULL, NULL, NULL, NULL, '{timeout}'"
                .to_owned(),
            20,
        ),
        (
            include_str!("../../sql/count_by_time_of_text.sql"),
            format!(
                "{FIRST_ID}, {last}, {FIRST_ID}, {}, 1, 50, '{{RUNNING}}', NULL, NULL, NULL, NULL, \
                 NULL, NULL, '{{timeout}}'",
                last - FIRST_ID
            ),
            50,
        ),
    ];
    for known in ["SELECT 1", "VACUUM ANALYZE noetl.execution_index"] {
        execute(&mut connection, known).await;
        execute(&mut connection, "SET plan_cache_mode = force_generic_plan").await;
        for (statement, arguments, expected) in &searches {
            execute(&mut connection, &format!("PREPARE searching AS {statement}")).await;
            let run = format!("EXPLAIN (ANALYZE, TIMING OFF) EXECUTE searching ({arguments})");
            let plan: Vec<String> =
                query_scalar(AssertSqlSafe(run)).fetch_all(&mut connection).await.expect("a plan");
            execute(&mut connection, "DEALLOCATE searching").await;
            let scans =
                plan.iter().filter(|line| line.contains(" on execution_index_2026_01 entry"));
            let read: u64 = scans.map(|line| rows_of(line)).sum();
            assert_eq!(read, *expected, "{plan:#?}");
            // Each of them names an execution, and each of the page is read once more.
            let rows = plan.iter().filter(|line| line.contains(" on execution_2026_01"));
            let read: u64 = rows.map(|line| rows_of(line)).sum();
            assert!(read <= 2 * expected + PATHS_MAX, "{read} rows: {plan:#?}");
        }
    }
}

/// The indexes that the lists of imported executions use. A scan by primary key would read all of
/// them to find the few that match.
const IMPORTED_LISTS: [(&str, &str); 6] = [
    ("list_imported.sql", "imported_execution_pkey"),
    ("list_imported_by_status.sql", "imported_execution_status"),
    ("list_imported_by_path.sql", "imported_execution_path"),
    ("list_imported_by_part.sql", "imported_execution_path"),
    ("list_imported_by_catalog.sql", "imported_execution_catalog"),
    ("list_imported_by_parent.sql", "imported_execution_parent_newest"),
];

#[tokio::test]
async fn a_list_of_imported_executions_goes_by_the_index_of_its_filter() {
    let database = filled().await;
    let mut connection = database.connect().await;
    for known in ["SELECT 1", "ANALYZE"] {
        execute(&mut connection, known).await;
        for (name, index) in IMPORTED_LISTS {
            let statements = statements();
            let (_, statement) = statements.iter().find(|(it, _)| it == name).expect("a file");
            let plan = plan_of(&mut connection, name, statement).await;
            let scans: Vec<&String> = plan
                .iter()
                .filter(|line| line.contains(" on imported_execution"))
                // The body of a row that was found is read by its key.
                .filter(|line| !(name.contains("_part") && line.contains("_pkey")))
                .collect();
            let by_index = format!(" using {index} ");
            assert!(!scans.is_empty(), "{name}: {plan:#?}");
            assert!(scans.iter().all(|line| line.contains(&by_index)), "{name}: {plan:#?}");
            let by_status = |line: &String| {
                line.contains("Index Cond") && line.contains("(status = wanted.status)")
            };
            let wants_status = statement.contains("wanted.status");
            assert!(!wants_status || plan.iter().any(by_status), "{name}: {plan:#?}");
        }
    }
}

/// The statements that take messages differ only in the messages they leave to others. They are two
/// files because a condition with a parameter could not use the index of either.
#[test]
fn the_statements_that_take_messages_differ_only_in_their_condition() {
    let text = |name: &str| {
        let statements = statements();
        let (_, text) = statements.into_iter().find(|(it, _)| it == name).expect("a file");
        let code: Vec<&str> = text.lines().filter(|line| !line.starts_with("--")).collect();
        code.join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let internal = text("take_internal_messages.sql");
    let condition = " AND message ->> 'type' <> 'command_ready'";
    assert_eq!(internal.matches(condition).count(), 2);
    assert_eq!(internal.replace(condition, ""), text("take_messages.sql"));
}

fn of_execution(number: i64) -> Append {
    let id = FIRST_ID + (number << 22);
    let bytes = number.to_string().into_bytes();
    let claimed = QueueChange::Lease {
        command: CommandId(2),
        attempt: Attempt(1),
        worker: WorkerId::new(format!("worker-{}", number % 100)),
        lease: std::time::Duration::from_secs(30),
    };
    let pool = || Pool::new(format!("pool-{}", number % 50));
    let mut append = Append {
        queue: vec![add_to(pool(), 1), add_to(pool(), 2), claimed],
        timers: vec![TimerChange::Set { timer: TimerId(1), due_at: at(number.unsigned_abs()) }],
        outbox: vec![Message::CommandCancelled { command: CommandId(1) }],
        payloads: vec![(Digest::of(&bytes), Arc::new(bytes))],
        key: Some(StartKey {
            scope: "0".into(),
            name: number.to_string(),
            keep: std::time::Duration::from_secs(300 + number.unsigned_abs()),
            request: None,
        }),
        ..start(ExecutionId(id))
    };
    append.events[0].event_id.0 = id + 1;
    append.summary.parent = Some(Parent::of(ExecutionId(FIRST_ID + number), Some(CommandId(1))));
    if number % 10 > 0 {
        append.summary.status = ExecutionStatus::Completed;
    }
    append
}

#[tokio::test]
async fn only_what_may_be_forgotten_leaves_the_disk_behind() {
    let database = Database::migrated().await;
    let mut connection = database.connect().await;
    let mut lazy = Vec::new();
    for (name, statement) in statements() {
        if !statement.contains("synchronous_commit', 'off'") {
            continue;
        }
        let execute_it = prepared(&mut connection, &statement).await;
        execute(&mut connection, "BEGIN").await;
        execute(&mut connection, &execute_it).await;
        let waits: String = query_scalar("SELECT current_setting('synchronous_commit')")
            .fetch_one(&mut connection)
            .await
            .unwrap();
        execute(&mut connection, "ROLLBACK; DEALLOCATE explained").await;
        assert_eq!(waits, "off", "{name}");
        lazy.push(name);
    }
    let expected = [
        "claim_messages.sql",
        "extend_leases.sql",
        "lock_log_totals.sql",
        "postpone_messages.sql",
        "put_replay_fold.sql",
        "put_snapshot.sql",
        "release_leases.sql",
        "remove_messages.sql",
        "renew_leases.sql",
        "take_internal_messages.sql",
        "take_messages.sql",
        "take_notifications.sql",
    ];
    assert_eq!(lazy, expected);
}

/// Returns the generic plan of a prepared statement.
pub(crate) async fn plan_of(
    connection: &mut PgConnection,
    name: &str,
    statement: &str,
) -> Vec<String> {
    if !can_be_explained(statement) {
        return Vec::new();
    }
    execute(connection, "SET plan_cache_mode = force_generic_plan").await;
    let explained = format!("EXPLAIN {}", prepared(connection, statement).await);
    let plan = query_scalar(AssertSqlSafe(explained)).fetch_all(&mut *connection).await;
    execute(connection, "DEALLOCATE explained").await;
    plan.unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn can_be_explained(statement: &str) -> bool {
    !["SET ", "INSERT INTO noetl.catalog"].iter().any(|start| is(statement, start))
}

/// Prepares a statement and returns the text that executes it with sample arguments.
async fn prepared(connection: &mut PgConnection, statement: &str) -> String {
    execute(connection, &format!("PREPARE explained AS {statement}")).await;
    let types: Vec<String> = query_scalar(
        "SELECT unnest(parameter_types)::text FROM pg_prepared_statements WHERE name = 'explained'",
    )
    .fetch_all(&mut *connection)
    .await
    .expect("a statement has parameters");
    let samples: Vec<String> = types.iter().map(|of| sample(of)).collect();
    let arguments =
        if samples.is_empty() { String::new() } else { format!("({})", samples.join(", ")) };
    format!("EXECUTE explained {arguments}")
}

/// True if the statement starts with these words, ignoring comments.
fn is(statement: &str, start: &str) -> bool {
    let text = statement.lines().find(|line| !line.starts_with("--"));
    text.is_some_and(|line| line.starts_with(start))
}

/// Returns a sample argument of a type, within the month that has rows.
fn sample(of: &str) -> String {
    match of {
        "bigint" => format!("{}", FIRST_ID + (1 << 22)),
        "bigint[]" => format!("ARRAY[{FIRST_ID}, {}]", FIRST_ID + (1 << 22)),
        "timestamp with time zone" => "'2026-01-01 00:00:00Z'".to_owned(),
        "integer" => "1".to_owned(),
        "text" => "'pool-1'".to_owned(),
        "bytea" => "'\\x00'".to_owned(),
        "interval" => "'1 second'".to_owned(),
        "noetl.changed_execution[]" => {
            format!("ARRAY[ROW({}, NULL, 1, NULL)]::{of}", FIRST_ID + (1 << 22))
        }
        "noetl.index_row[]" => {
            let id = FIRST_ID + (1 << 22);
            format!("ARRAY[ROW('label', 'team:ops', {id}, -1, now())]::{of}")
        }
        "boolean" => "true".to_owned(),
        "boolean[]" => "ARRAY[true, false]".to_owned(),
        array if array.ends_with("[]") => "'{}'".to_owned(),
        other => panic!("no sample of {other}"),
    }
}

/// Returns the lines of a plan that scan a growing, non-empty table.
pub(crate) fn walks_of(plan: &[String]) -> impl Iterator<Item = &String> {
    let grows = |relation: &str| {
        ["command", "timer", "outbox", "start_key", "imported_execution"].contains(&relation)
            || relation.ends_with("_2026_01")
    };
    plan.iter().filter(move |line| {
        let walked = line.split_once("Seq Scan on ").map(|(_, rest)| rest);
        walked.and_then(|rest| rest.split(' ').next()).is_some_and(grows)
    })
}

#[test]
fn a_walk_is_recognised() {
    let lines = [
        "  ->  Seq Scan on command  (cost=0.00..1.00 rows=1 width=8)",
        "  ->  Parallel Seq Scan on event_2026_01 event_1  (cost=0.00..1.00 rows=1 width=8)",
        "  ->  Seq Scan on event_default event_4  (cost=0.00..1.00 rows=1 width=8)",
        "  ->  Index Scan using command_lease on command  (cost=0.15..8.17 rows=1 width=8)",
    ]
    .map(str::to_owned);
    assert_eq!(walks_of(&lines).collect::<Vec<_>>(), [&lines[0], &lines[1]]);
}
