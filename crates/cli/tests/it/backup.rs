//! Tests of `noetl db backup`, `check` and `restore`, and of what `noetl executions delete` leaves in a
//! file, with the real binary.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::sandbox::{Ended, Sandbox, eventually};
use crate::server::Server;

/// A large value in a file, then a step that takes as long as its execution says.
const PLAYBOOK: &str = r#"
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: large, path: tests/large}
workload: {n: 0, seconds: 0}
workflow:
  - step: make
    tool: {kind: python, input: {n: "{{ workload.n }}"}, code: 'result = {"text": str(n) * 30000}'}
    next: {arcs: [{step: wait}]}
  - step: wait
    tool: {kind: shell, command: "sleep {{ workload.seconds }}"}
    next: {arcs: [{step: end}]}
  - step: end
    tool: {kind: noop, result: {length: "{{ make.text | length }}"}}
"#;

fn start(server: &Server, n: u64, seconds: u64) -> String {
    let request = json!({ "path": "tests/large", "workload": { "n": n, "seconds": seconds } });
    let started = server.call("POST", "/api/execute", &request);
    started["execution_id"].as_str().unwrap_or_else(|| panic!("{started}")).to_owned()
}

fn status(server: &Server, id: &str) -> Value {
    server.call("GET", &format!("/api/executions/{id}/status"), &Value::Null)["status"].clone()
}

/// Runs a command with a directory for large values.
fn noetl(sandbox: &Sandbox, payloads: &str, args: &[&str]) -> Ended {
    let mut command = sandbox.command(args);
    command.env("NOETL_PAYLOAD_DIR", sandbox.path(payloads));
    Ended::from(command.output().expect("the binary runs"))
}

#[track_caller]
fn done(ended: &Ended) {
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let paths = entries.map(|entry| entry.expect("it can be read").path());
    paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn a_backup_under_load_is_restored_elsewhere_verifies_and_goes_on() {
    let sandbox = Sandbox::new();
    let server = Server::new(&sandbox, &["--db", "history.db", "--payload-dir", "large"]);
    server.call("POST", "/api/catalog/register", &json!({ "content": PLAYBOOK }));
    let early = start(&server, 1, 0);
    eventually("the first execution ends", || status(&server, &early) == "COMPLETED");
    let slow = start(&server, 2, 5);
    let before: Vec<String> = (3..7).map(|n| start(&server, n, 0)).collect();
    std::thread::scope(|scope| {
        let load = scope.spawn(|| (7..13).map(|n| start(&server, n, 0)).collect::<Vec<_>>());
        done(&noetl(&sandbox, "large", &["db", "backup", "copy", "--db", "history.db"]));
        load.join().expect("the server answers");
    });
    assert_ne!(status(&server, &slow), "COMPLETED", "it was running during the backup");
    assert_eq!(server.process.end(), Some(0));
    done(&noetl(&sandbox, "large", &["db", "check", "copy"]));

    let place = ["--db", "other/history.db"];
    done(&noetl(&sandbox, "elsewhere", &[&["db", "restore", "copy"], &place[..]].concat()));
    done(&noetl(&sandbox, "elsewhere", &[&["verify", "--all"], &place[..]].concat()));
    let args = ["--db", "other/history.db", "--payload-dir", "elsewhere"];
    let server = Server::new(&sandbox, &args);
    assert_eq!(status(&server, &early), "COMPLETED");
    for id in before.iter().chain([&slow]) {
        eventually("it goes on to its end", || status(&server, id) == "COMPLETED");
    }
    let listed = server.call("GET", "/api/executions?status=FAILED", &Value::Null).to_string();
    assert!(!listed.contains("tests/large"), "{listed}");
    done(&noetl(&sandbox, "elsewhere", &[&["verify", "--all"], &place[..]].concat()));
    done(&noetl(&sandbox, "elsewhere", &[&["db", "check"], &place[..]].concat()));
}

/// Returns a sandbox with a backup `copy` of one execution with a large value.
fn backed_up() -> Sandbox {
    let sandbox = Sandbox::new().with("large.yaml", PLAYBOOK);
    done(&noetl(&sandbox, "large", &["run", "large.yaml", "-q", "--db", "history.db"]));
    done(&noetl(&sandbox, "large", &["db", "backup", "copy", "--db", "history.db"]));
    sandbox
}

#[test]
fn a_backup_that_is_damaged_or_not_complete_is_refused_and_changes_nothing() {
    let sandbox = backed_up();
    let restore = ["db", "restore", "copy", "--db", "other.db"];
    let payload = files(&sandbox.path("copy/payloads"));
    let payload = payload.first().expect("a large value");
    let whole = std::fs::read(payload).expect("it can be read");
    let mut damaged = whole.clone();
    damaged[100] ^= 1;
    for bytes in [Some(damaged), None] {
        match &bytes {
            Some(bytes) => std::fs::write(payload, bytes).expect("it is ours"),
            None => std::fs::remove_file(payload).expect("it is ours"),
        }
        let checked = noetl(&sandbox, "large", &["db", "check", "copy"]);
        assert_eq!(checked.code, Some(1), "{}{}", checked.stdout, checked.stderr);
        let refused = noetl(&sandbox, "elsewhere", &restore);
        assert_ne!(refused.code, Some(0));
        assert!(refused.stderr.contains("the backup is damaged"), "{}", refused.stderr);
        assert!(!sandbox.path("other.db").exists());
    }
    let again = noetl(&sandbox, "large", &["db", "backup", "copy", "--db", "history.db"]);
    assert!(again.stderr.contains("exists already"), "{}", again.stderr);
    let none = noetl(&sandbox, "large", &["db", "restore", "nowhere", "--db", "other.db"]);
    assert_ne!(none.code, Some(0));
}

#[test]
fn a_restore_replaces_a_database_on_request_and_one_that_was_interrupted_is_repeated() {
    let sandbox = backed_up();
    let restore = ["db", "restore", "copy", "--db", "history.db"];
    let refused = noetl(&sandbox, "large", &restore);
    assert_ne!(refused.code, Some(0));
    assert!(refused.stderr.contains("--replace"), "{}", refused.stderr);
    let replaced = noetl(&sandbox, "large", &[&restore[..], &["--replace"]].concat());
    done(&replaced);
    assert!(replaced.stderr.contains("history.db.replaced-1"), "{}", replaced.stderr);

    // As if the process had been killed after it had moved the database aside.
    let file = |suffix: &str| sandbox.path(&format!("history.db{suffix}"));
    std::fs::rename(file(""), file(".replaced-2")).expect("it is ours");
    std::fs::copy(sandbox.path("copy/noetl.db"), file(".restoring")).expect("it is ours");
    for args in [["executions", "list"], ["run", "large.yaml"]] {
        let refused = noetl(&sandbox, "large", &[&args[..], &["--db", "history.db"]].concat());
        assert_ne!(refused.code, Some(0));
        assert!(refused.stderr.contains("restore"), "{}", refused.stderr);
        assert!(!file("").exists(), "an empty database was created");
    }
    done(&noetl(&sandbox, "large", &restore));
    let listed = sandbox.json(&["executions", "list", "--db", "history.db", "-o", "json"]);
    assert!(listed.to_string().contains("COMPLETED"), "{listed}");
}

fn python(sandbox: &Sandbox, code: &str) -> String {
    let ended = Command::new("python3")
        .args(["-c", code])
        .current_dir(sandbox.path(""))
        .output()
        .expect("python runs");
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    String::from_utf8(ended.stdout).expect("text").trim().to_owned()
}

#[test]
fn a_database_and_a_backup_of_an_earlier_version_are_not_migrated() {
    let sandbox = backed_up();
    let last = "SELECT max(version) FROM _sqlx_migrations";
    let earlier = "import sqlite3\nfor path in ['history.db', 'copy/noetl.db']:\n\
         \x20   it = sqlite3.connect(path)\n\
         \x20   it.execute('DELETE FROM _sqlx_migrations WHERE version = (";
    python(&sandbox, &format!("{earlier}{last})')\n    it.commit()"));
    let version = || {
        python(
            &sandbox,
            &format!("import sqlite3\nprint(*sqlite3.connect('history.db').execute('{last}'))"),
        )
    };
    let before = version();
    for args in [
        &["db", "check", "--db", "history.db"][..],
        &["db", "check", "copy"],
        &["db", "backup", "again", "--db", "history.db"],
        &["db", "restore", "copy", "--db", "other.db"],
    ] {
        let ended = noetl(&sandbox, "large", args);
        done(&ended);
        let is_told = ended.stderr.contains("earlier version") || args == ["db", "check", "copy"];
        assert!(is_told, "{args:?}: {}", ended.stderr);
    }
    assert_eq!(version(), before, "nothing was migrated");
}

/// An execution with a few hundred events of a few kilobytes.
const BULKY: &str = r#"
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: bulky, path: tests/bulky}
workflow:
  - step: each
    loop: {in: 300, iterator: n, mode: parallel}
    tool: {kind: python, code: 'result = {"text": "x" * 3000}'}
"#;

#[test]
fn a_deleted_execution_leaves_no_rows_and_the_file_shrinks_and_a_kept_one_stays() {
    let bulky = BULKY.replace(
        "kind: python, code: 'result = {\"text\": \"x\" * 3000}'",
        &format!("kind: noop, result: {{text: \"{}\"}}", "x".repeat(3000)),
    );
    let sandbox = Sandbox::new().with("bulky.yaml", &bulky);
    let database = ["--db", "history.db"];
    for _ in 0..2 {
        done(&sandbox.noetl(&["run", "bulky.yaml", "-q", "--db", "history.db"]));
    }
    let listed = sandbox.json(&["executions", "list", "--db", "history.db", "-o", "json"]);
    let ids: Vec<String> = listed
        .as_array()
        .or_else(|| listed["executions"].as_array())
        .unwrap_or_else(|| panic!("{listed}"))
        .iter()
        .map(|it| {
            let id = &it["execution_id"];
            id.as_str().map_or_else(|| id.to_string(), str::to_owned)
        })
        .collect();
    let [kept, gone] = &ids[..] else { panic!("{listed}") };
    let reason = ["executions", "keep", kept, "--reason", "audit"];
    done(&sandbox.noetl(&[&reason[..], &database[..]].concat()));
    let size = || std::fs::metadata(sandbox.path("history.db")).expect("it is there").len();
    let before = size();
    let delete =
        |id: &str| sandbox.noetl(&["executions", "delete", id, "--yes", "--db", "history.db"]);
    let refused = delete(kept);
    assert!(refused.stderr.contains("deleted 0 executions; 1 unchanged"), "{}", refused.stderr);
    done(&delete(gone));
    let rows = "import sqlite3\nit = sqlite3.connect('history.db')\n\
        tables = ['event', 'snapshot', 'log_chunk', 'payload_reference', 'execution']\n\
        print([it.execute('SELECT count(*) FROM ' + table + ' WHERE execution_id = ?', (ID,)).fetchone()[0] for table in tables])";
    assert_eq!(python(&sandbox, &rows.replace("ID", gone)), "[0, 0, 0, 0, 0]");
    // Its large values stay for an hour.
    assert!(size() + 100_000 < before, "{before} bytes before, {} after", size());
    let free = "import sqlite3\n\
        print(*sqlite3.connect('history.db').execute('PRAGMA freelist_count').fetchone())";
    assert_eq!(python(&sandbox, free), "0", "free pages are returned");
    let told = sandbox.noetl(&["executions", "get", gone, "--db", "history.db"]);
    assert_ne!(told.code, Some(0));
    done(&sandbox.noetl(&["verify", kept, "--db", "history.db"]));
    done(&sandbox.noetl(&["executions", "keep", kept, "--end", "--db", "history.db"]));
    done(&delete(kept));
}
