//! Runs the examples of the SQL tool pages as a reader would.

use std::path::Path;

use noetl_testkit::PostgresServer;

use crate::sandbox::Sandbox;

/// Runs the playbook of a page and checks that its output contains a text.
fn check(tool: &str, set: &[&str], variables: &[(&str, &str)], expected: &str) {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/tools/{tool}.md"));
    let page = std::fs::read_to_string(page).expect("the tool has a page");
    let example = page.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next());
    let sandbox = Sandbox::new().with("example.yaml", example.expect("the page has an example"));
    let mut arguments = vec!["run", "example.yaml", "--output", "json"];
    for assignment in set {
        arguments.extend(["--set", assignment]);
    }
    let mut command = sandbox.command(&arguments);
    let ended = command.envs(variables.iter().copied()).output().expect("the binary runs");
    let stdout = String::from_utf8_lossy(&ended.stdout);
    let stderr = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{tool}: {stdout}{stderr}");
    assert!(stdout.contains(expected), "{tool}: {stdout}");
}

#[test]
fn the_example_of_postgres_runs() {
    let database = format!("database={}", PostgresServer::shared().url("postgres"));
    check("postgres", &[&database], &[], "2 people");
}

#[test]
fn the_example_of_sqlite_runs() {
    check("sqlite", &[], &[], "2 orders");
}

#[test]
fn the_example_of_transfer_runs() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let place = format!("directory={}", directory.path().display());
    check("transfer", &[&place], &[], "2 orders in");
    let rows = std::fs::read_to_string(directory.path().join("orders.csv"));
    assert_eq!(rows.expect("the file is there"), "order_id,amount\n1,30\n2,12\n");
}

#[test]
fn the_example_of_duckdb_runs_where_the_library_is() {
    let Some(library) = std::env::var_os("NOETL_DUCKDB_LIBRARY") else {
        println!("skipped: NOETL_DUCKDB_LIBRARY names no library");
        return;
    };
    let library = library.to_string_lossy();
    check("duckdb", &[], &[("NOETL_DUCKDB_LIBRARY", &library)], "3 pages, the first with 34");
}
