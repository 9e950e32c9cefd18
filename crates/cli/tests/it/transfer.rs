//! A transfer uses the same memory for many rows as for few.
//!
//! `NOETL_TEST_TRANSFER_ROWS=1000000` moves a million rows.

use std::time::Duration;

use noetl_testkit::PostgresServer;

use crate::sandbox::Sandbox;

const ROWS: u32 = 30_000;
/// The most additional memory for all rows compared with a tenth of them.
const GROWTH_MAX_KB: u64 = 16 * 1024;

const PLAYBOOK: &str = r#"
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: move}
workload: {rows: 10, database: ""}
workflow:
  - step: to_file
    tool:
      kind: transfer
      timeout: 10m
      source:
        type: sqlite
        query: >
          WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {{ workload.rows }})
          SELECT i AS id, 'somebody called number ' || i AS name FROM n
      target: {type: file, path: rows.csv}
      mode: replace
    next: {arcs: [{step: table}]}
  - step: table
    tool:
      kind: postgres
      connection_string: "{{ workload.database }}"
      query: [DROP TABLE IF EXISTS moved_rows, "CREATE TABLE moved_rows (id int PRIMARY KEY, name text)"]
    next: {arcs: [{step: to_table}]}
  - step: to_table
    tool:
      kind: transfer
      timeout: 10m
      source: {type: file, path: rows.csv}
      target: {type: postgres, connection_string: "{{ workload.database }}", table: moved_rows}
    next: {arcs: [{step: back}]}
  - step: back
    tool:
      kind: transfer
      timeout: 10m
      source: {type: postgres, connection_string: "{{ workload.database }}", query: SELECT * FROM moved_rows}
      target: {type: file, path: back.jsonl}
      mode: replace
    next: {arcs: [{step: end}]}
  - step: end
    tool: {kind: noop, result: "{{ back.rows_transferred }}"}
"#;

/// Returns the peak memory of moving `rows` rows, in kilobytes.
fn memory(sandbox: &Sandbox, rows: u32, database: &str) -> u64 {
    let (rows_said, database) = (format!("rows={rows}"), format!("database={database}"));
    let args = ["run", "move.yaml", "--ephemeral", "--set", &rows_said, "--set", &database];
    let mut child = sandbox.spawn(&args);
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while child.try_wait().expect("it is ours").is_none() {
        let status = std::fs::read_to_string(&status).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
        peak = peak.max(kilobytes.unwrap_or_default());
        std::thread::sleep(Duration::from_millis(5));
    }
    let output = child.wait_with_output().expect("it is ours");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let back = std::fs::read_to_string(sandbox.path("back.jsonl")).expect("it was written");
    assert_eq!(back.lines().count(), usize::try_from(rows).expect("it fits"));
    peak
}

#[test]
fn many_rows_take_no_more_memory_than_few() {
    let wanted = std::env::var("NOETL_TEST_TRANSFER_ROWS").ok();
    let rows = wanted.map_or(ROWS, |rows| rows.parse().expect("a number of rows"));
    let server = PostgresServer::private_on_a_port();
    let sandbox = Sandbox::new().with("move.yaml", PLAYBOOK);
    let database = server.url("postgres");
    let few = memory(&sandbox, rows / 10, &database);
    let many = memory(&sandbox, rows, &database);
    println!("{} rows: {few} kB, {rows} rows: {many} kB", rows / 10);
    assert!(many < few + GROWTH_MAX_KB, "{} rows took {few} kB, {rows} took {many} kB", rows / 10);
}
