//! Tests of the audit log with the real binary: it is printed, and a change of it is found.

use std::process::Command;

use serde_json::Value;

use crate::sandbox::Sandbox;
use crate::tokens::{ROOT, guarded, run};

/// Runs SQL on the database of a sandbox; returns the error, if there is one.
fn sql(sandbox: &Sandbox, statements: &str) -> Option<String> {
    let script = format!(
        "import sqlite3\n\
         base = sqlite3.connect('history.db')\n\
         base.executescript(\"\"\"{statements}\"\"\")\n\
         base.commit()"
    );
    let output = Command::new("python3")
        .args(["-c", &script])
        .current_dir(sandbox.path("."))
        .output()
        .expect("Python runs");
    (!output.status.success()).then(|| String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn the_audit_log_is_printed_and_a_planted_change_is_found() {
    let sandbox = Sandbox::new();
    let server = guarded(&sandbox, &["--db", "history.db"]);
    let create = ["token", "create", "ci", "--role", "viewer"];
    let (_, secret, _) = run(&sandbox, &server, ROOT, &create);
    run(&sandbox, &server, secret.trim(), &["token", "revoke", "ci"]);
    run(&sandbox, &server, ROOT, &["token", "revoke", "ci"]);

    let (code, printed, told) = run(&sandbox, &server, ROOT, &["audit", "-o", "json"]);
    assert_eq!(code, 0, "{told}");
    let entries: Value = serde_json::from_str(&printed).expect("JSON");
    let outcomes: Vec<String> = entries
        .as_array()
        .expect("a list")
        .iter()
        .map(|it| format!("{} {} {}", it["number"], it["outcome"], it["detail"]))
        .collect();
    let expected = ["1 \"done\" \"201\"", "2 \"refused\" \"403\"", "3 \"done\" \"204\""];
    assert_eq!(outcomes, expected, "{entries}");
    assert_eq!(entries[1]["actor"], "ci");
    assert_eq!(entries[0]["source"], "127.0.0.1");
    let (_, newest, _) = run(&sandbox, &server, ROOT, &["audit", "--actor", "ci", "--limit", "1"]);
    assert!(newest.contains("DELETE /api/tokens/{name}"), "{newest}");
    assert_eq!(server.process.end(), Some(0));

    let verify = ["verify", "--all", "--db", "history.db"];
    let verified = sandbox.noetl(&verify);
    assert_eq!(verified.code, Some(0), "{}", verified.stderr);
    assert!(verified.stdout.contains("audit log verified: 3 entries"), "{}", verified.stdout);

    let change = "UPDATE audit_trail SET actor = 'eve' WHERE number = 2;";
    for refused in [change, "DELETE FROM audit_trail WHERE number = 3;", "DELETE FROM audit_head;"]
    {
        let error = sql(&sandbox, refused).expect("the trigger refuses it");
        assert!(error.contains("of the audit log cannot be"), "{error}");
    }
    assert_eq!(sql(&sandbox, &format!("DROP TRIGGER audit_trail_unchanged; {change}")), None);
    let found = sandbox.noetl(&verify);
    assert_eq!(found.code, Some(1), "{}", found.stdout);
    assert!(found.stdout.contains("entry 2 of the audit log"), "{}", found.stdout);
}

#[test]
fn commands_on_the_embedded_database_are_recorded_with_their_user() {
    let sandbox = Sandbox::new();
    let noetl = |args: &[&str]| {
        let mut command = sandbox.command(&[args, &["--db", "history.db"]].concat());
        command.env("USER", "ada").output().expect("the binary runs")
    };
    let text = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: a, path: a}\n\
        workflow:\n  - step: start\n    tool: {kind: noop}\n";
    std::fs::write(sandbox.path("a.yaml"), text).expect("the home is ours");
    assert!(noetl(&["register", "a.yaml"]).status.success());
    assert!(noetl(&["catalog", "list"]).status.success());
    assert!(noetl(&["catalog", "archive", "a"]).status.success());
    assert!(!noetl(&["catalog", "archive", "missing"]).status.success());
    assert!(noetl(&["token", "create", "ci", "--role", "viewer"]).status.success());
    let printed = noetl(&["audit", "-o", "json"]).stdout;
    let entries: Value = serde_json::from_slice(&printed).expect("JSON");
    let entries = entries.as_array().expect("a list").iter();
    let facts: Vec<String> = entries
        .map(|it| {
            ["actor", "action", "outcome"].map(|key| it[key].as_str().unwrap_or("-")).join(" ")
        })
        .collect();
    let expected = [
        "ada cli.register done",
        "ada cli.catalog.archive done",
        "ada cli.catalog.archive failed",
        "ada cli.token.create done",
    ];
    assert_eq!(facts, expected);
}
