//! Tests that every statement fits the schema, and that no frequent one scans a whole table.

use std::path::Path;

use noetl_model::{ExecutionId, TimerId, Timestamp};
use noetl_store::conformance::given::{add, lease, start};
use noetl_store::{Append, EventLog as _, TimerChange};
use sqlx::{AssertSqlSafe, Executor as _, Row as _, SqlSafeStr as _, query};

use crate::{connect, fresh_path, open};

/// Statements that may scan a table, with the reason.
const MAY_SCAN: &[(&str, &str)] = &[
    ("count_messages.sql", "a figure for people, over what is owed only"),
    ("count_credential_keys.sql", "a figure for people"),
    ("count_keychain_keys.sql", "a figure for people"),
    ("list_accesses.sql", "for people; in the order of the table and up to a limit"),
    ("list_credentials.sql", "for people; in the order of the table and up to a limit"),
];

/// Returns every file of `sql/`, by name.
fn statements() -> Vec<(String, String)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("sql");
    let entries = std::fs::read_dir(directory).expect("there are statements");
    let mut statements: Vec<_> = entries
        .map(|entry| {
            let path = entry.expect("the directory can be read").path();
            let name = path.file_name().expect("a file has a name").to_string_lossy().into_owned();
            (name, std::fs::read_to_string(path).expect("a statement is text"))
        })
        .collect();
    statements.sort();
    statements
}

#[tokio::test]
async fn every_statement_can_be_prepared_on_the_migrated_schema() {
    let (path, _keep) = fresh_path();
    let _store = open(&path).await;
    let mut connection = connect(&path).await;
    let statements = statements();
    assert!(!statements.is_empty());
    for (name, statement) in statements {
        let prepared = (&mut connection).prepare(AssertSqlSafe(statement).into_sql_str()).await;
        assert!(prepared.is_ok(), "{name}: {:?}", prepared.err());
    }
}

/// A limit that is only a parameter makes SQLite prepare the statement again at every use, to plan
/// for its value.
#[test]
fn no_statement_is_prepared_for_one_limit_only() {
    for (name, statement) in statements() {
        assert!(!statement.contains("LIMIT ?"), "{name}: write `LIMIT +?n`");
    }
}

#[tokio::test]
async fn no_statement_walks_a_table_that_grows() {
    let (path, _keep) = fresh_path();
    let store = open(&path).await;
    let batch: Vec<Append> = (1..=200)
        .map(|id| Append {
            queue: vec![add(1), add(2), lease(2, 1, 30)],
            timers: vec![TimerChange::Set {
                timer: TimerId(1),
                due_at: Timestamp::from_micros(id),
            }],
            ..start(ExecutionId(id))
        })
        .collect();
    assert!(store.append(&batch).await.unwrap().iter().all(Result::is_ok));

    let mut connection = connect(&path).await;
    let mut walks = Vec::new();
    for (name, statement) in statements() {
        if MAY_SCAN.iter().any(|(allowed, _)| *allowed == name) {
            continue;
        }
        let explained = AssertSqlSafe(format!("EXPLAIN QUERY PLAN {statement}"));
        let plan = query(explained).fetch_all(&mut connection).await.unwrap();
        walks.extend(
            plan.iter()
                .map(|row| row.get::<String, _>("detail"))
                .filter(|detail| is_walk(detail))
                .map(|detail| format!("{name}: {detail}")),
        );
    }
    assert!(walks.is_empty(), "{walks:#?}");
}

/// Executions with a rare status of a path, version or parent are found without reading the others.
#[tokio::test]
async fn a_list_at_a_status_looks_at_no_other() {
    let (path, _keep) = fresh_path();
    let _store = open(&path).await;
    let mut connection = connect(&path).await;
    for by in ["catalog", "parent", "path", "part", "text"] {
        let name = format!("list_executions_by_{by}.sql");
        let statements = statements();
        let (_, statement) = statements.iter().find(|(it, _)| *it == name).expect("it is there");
        let explained = AssertSqlSafe(format!("EXPLAIN QUERY PLAN {statement}"));
        let plan = query(explained).fetch_all(&mut connection).await.unwrap();
        let plan: Vec<String> = plan.iter().map(|row| row.get("detail")).collect();
        let by_status = |line: &String| {
            line.starts_with("SEARCH one USING ") && line.ends_with("AND status=? AND rowid<?)")
        };
        assert!(plan.iter().any(by_status), "{name}: {plan:#?}");
    }
}

/// A bar of a histogram is a range of an index, by status and time.
#[tokio::test]
async fn a_bar_of_a_histogram_is_a_range_of_an_index() {
    let (path, _keep) = fresh_path();
    let _store = open(&path).await;
    let mut connection = connect(&path).await;
    // Labels and actors have an index of their own.
    let histograms = statements().into_iter().filter(|(name, _)| {
        name.starts_with("count_by_time") && name != "count_by_time_of_property.sql"
    });
    for (name, statement) in histograms {
        let explained = AssertSqlSafe(format!("EXPLAIN QUERY PLAN {statement}"));
        let plan = query(explained).fetch_all(&mut connection).await.unwrap();
        let plan: Vec<String> = plan.iter().map(|row| row.get("detail")).collect();
        let by_range = |line: &String| {
            line.starts_with("SEARCH one USING ")
                && line.contains("status=? AND ")
                && line.ends_with(">? AND rowid<?)") | line.ends_with(">? AND execution_id<?)")
        };
        assert!(plan.iter().any(by_range), "{name}: {plan:#?}");
    }
}

/// The indexes that the lists of imported executions use; `one` is the search within a filter.
const IMPORTED_LISTS: [(&str, &str); 6] = [
    ("list_imported.sql", "SEARCH imported_execution USING INTEGER PRIMARY KEY (rowid<?)"),
    (
        "list_imported_by_status.sql",
        "SEARCH imported_execution USING INDEX imported_execution_status (status=? AND rowid<?)",
    ),
    (
        "list_imported_by_path.sql",
        "SEARCH one USING INDEX imported_execution_path (path_folded=? AND status=? AND rowid<?)",
    ),
    (
        "list_imported_by_part.sql",
        "SEARCH one USING COVERING INDEX imported_execution_path (path_folded=? AND status=? AND \
         rowid<?)",
    ),
    (
        "list_imported_by_catalog.sql",
        "SEARCH one USING INDEX imported_execution_catalog (catalog_id=? AND status=? AND rowid<?)",
    ),
    (
        "list_imported_by_parent.sql",
        "SEARCH one USING INDEX imported_execution_parent_status (parent_execution_id=? AND \
         status=? AND rowid<?)",
    ),
];

#[tokio::test]
async fn a_list_of_imported_executions_goes_by_the_index_of_its_filter() {
    let (path, _keep) = fresh_path();
    let _store = open(&path).await;
    let mut connection = connect(&path).await;
    let fill = "
        WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 3000)
        INSERT INTO imported_execution
        SELECT n, iif(n % 100 = 0, 'FAILED', 'COMPLETED'), 'p/' || n % 30, 'p/' || n % 30, n % 20,
            n % 15, 0, '{}'
        FROM numbers";
    (&mut connection).execute(fill).await.unwrap();
    for known in ["SELECT 1", "ANALYZE"] {
        (&mut connection).execute(known).await.unwrap();
        for (name, expected) in IMPORTED_LISTS {
            let statements = statements();
            let (_, statement) = statements.iter().find(|(it, _)| it == name).expect("a file");
            let explained = AssertSqlSafe(format!("EXPLAIN QUERY PLAN {statement}"));
            let plan = query(explained).fetch_all(&mut connection).await.unwrap();
            let plan: Vec<String> = plan.iter().map(|row| row.get("detail")).collect();
            assert!(plan.iter().any(|line| line == expected), "{name}: {plan:#?}");
        }
    }
}

/// The indexes that the lookups of index entries use, without a sort.
const INDEX_LOOKUPS: [(&str, &str); 8] = [
    (
        "list_executions_by_text.sql",
        "SEARCH entry USING PRIMARY KEY (kind=? AND key=? AND execution_id<?)",
    ),
    (
        "count_by_time_of_text.sql",
        "SEARCH entry USING PRIMARY KEY (kind=? AND key=? AND execution_id>? AND execution_id<?)",
    ),
    (
        "list_executions_by_property.sql",
        "SEARCH entry USING PRIMARY KEY (kind=? AND key=? AND execution_id<?)",
    ),
    (
        "count_by_time_of_property.sql",
        "SEARCH entry USING PRIMARY KEY (kind=? AND key=? AND execution_id>? AND execution_id<?)",
    ),
    (
        "list_index_newest.sql",
        "SEARCH execution_index USING PRIMARY KEY (kind=? AND key=? AND execution_id<?)",
    ),
    (
        "list_index_oldest.sql",
        "SEARCH execution_index USING PRIMARY KEY (kind=? AND key=? AND execution_id>?)",
    ),
    (
        "list_open_index.sql",
        "SEARCH execution_index USING COVERING INDEX execution_index_open (kind=? AND \
         (created_at,execution_id,command_id,key)>(?,?,?,?))",
    ),
    (
        "remove_index.sql",
        "SEARCH execution_index USING PRIMARY KEY (kind=? AND key=? AND execution_id=?",
    ),
];

#[tokio::test]
async fn a_lookup_of_index_entries_goes_by_an_index() {
    let (path, _keep) = fresh_path();
    let _store = open(&path).await;
    let mut connection = connect(&path).await;
    let fill = "
        WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 3000)
        INSERT INTO execution_index
        SELECT iif(n % 3 = 0, 'label', 'signal'), 'k' || n % 5, n, iif(n % 3 = 0, -1, 2), n
        FROM numbers";
    (&mut connection).execute(fill).await.unwrap();
    for known in ["SELECT 1", "ANALYZE"] {
        (&mut connection).execute(known).await.unwrap();
        for (name, expected) in INDEX_LOOKUPS {
            let statements = statements();
            let (_, statement) = statements.iter().find(|(it, _)| it == name).expect("a file");
            let explained = AssertSqlSafe(format!("EXPLAIN QUERY PLAN {statement}"));
            let plan = query(explained).fetch_all(&mut connection).await.unwrap();
            let plan: Vec<String> = plan.iter().map(|row| row.get("detail")).collect();
            assert!(plan.iter().any(|line| line.starts_with(expected)), "{name}: {plan:#?}");
            // A page of summaries and the union of two searches are sorted; the searches are not.
            let is_sorted = plan.iter().any(|line| line.contains("TEMP B-TREE"));
            let may_sort = name.starts_with("list_executions") || name.ends_with("_of_text.sql");
            assert!(!is_sorted || may_sort, "{name}: {plan:#?}");
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

/// True if a line of a query plan scans a table that grows with use. Scanning a partial index of
/// only the wanted rows is allowed.
fn is_walk(detail: &str) -> bool {
    let grows = [
        "event",
        "execution",
        "child",
        "command",
        "timer",
        "outbox",
        "payload",
        "snapshot",
        "start_key",
        "credential",
        "keychain",
        "secret_audit",
        "transient",
        "runtime",
        "result_ref",
        "object_store",
        "bulk_job",
        "slot_limit",
        "slot",
        "bulk_item",
        "imported_execution",
        "execution_index",
        "sent_signal",
    ];
    detail.strip_prefix("SCAN ").is_some_and(|rest| {
        let table = rest.split(' ').next().unwrap_or_default();
        let wanted_only = [
            "outbox_fresh",
            "outbox_fresh_internal",
            "outbox_fresh_relayed",
            "outbox_notification",
            "bulk_job_open",
            "sent_signal_open",
        ];
        grows.contains(&table) && !wanted_only.iter().any(|index| rest.ends_with(index))
    })
}

#[test]
fn a_walk_is_recognised() {
    assert!(is_walk("SCAN event"));
    assert!(is_walk("SCAN outbox USING COVERING INDEX outbox_execution"));
    assert!(!is_walk("SCAN outbox USING COVERING INDEX outbox_fresh"));
    assert!(!is_walk("SEARCH event USING INTEGER PRIMARY KEY (rowid=?)"));
    assert!(!is_walk("SCAN json_each VIRTUAL TABLE INDEX 1:"));
}
