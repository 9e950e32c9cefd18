//! Tests of `noetl verify`: every manipulation of a database is found and named.

use std::process::Command;

use crate::sandbox::Sandbox;

/// An execution of about a thousand events, one large value among them.
const LOOP: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: loop, path: tests/loop}
workload: {text: x}
workflow:
  - step: start
    tool: {kind: python, code: 'result = {\"text\": \"x\" * 20000}'}
    next: each
  - step: each
    loop: {in: 250, iterator: n, mode: parallel}
    tool: {kind: noop, n: '{{ n }}'}
";

fn python(sandbox: &Sandbox, code: &str) {
    let ended = Command::new("python3")
        .args(["-c", code])
        .current_dir(sandbox.path(""))
        .output()
        .expect("python runs");
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
}

/// Returns the output of `verify` on a copy of the database with some statements applied.
fn verified(sandbox: &Sandbox, statements: &str) -> (String, Option<i32>) {
    python(
        sandbox,
        &format!(
            "import os, sqlite3\n\
             if os.path.exists('copy.db'): os.remove('copy.db')\n\
             sqlite3.connect('noetl.db').execute(\"VACUUM INTO 'copy.db'\")\n\
             copy = sqlite3.connect('copy.db')\n\
             copy.executescript(\"\"\"{statements}\"\"\")\n\
             copy.commit()\n"
        ),
    );
    let ended = sandbox.noetl(&["verify", "last", "--db", "copy.db"]);
    (sandbox.normal(&ended.stdout) + &ended.stderr, ended.code)
}

#[test]
fn every_change_to_a_log_of_a_thousand_events_is_found_and_named() {
    let sandbox = Sandbox::new().with("loop.yaml", LOOP);
    let ran = sandbox.noetl(&["run", "loop.yaml", "-q", "--db", "noetl.db"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let honest = sandbox.json(&["verify", "last", "--db", "noetl.db", "-o", "json"]);
    assert_eq!(honest["valid"], true, "{honest}");
    assert!(honest["events"].as_u64().expect("a number") > 1000);
    let head = honest["head"].as_str().expect("a digest").to_owned();

    let check = |statements: &str, expected: &str| {
        let (said, code) = verified(&sandbox, statements);
        assert!(said.contains(expected), "{statements}: {said}");
        assert_eq!(code, Some(1), "{statements}");
    };
    let middle = "(SELECT min(seq) FROM event WHERE seq >= 500 AND event_type = 'command.claimed')";
    check(
        &format!(
            "UPDATE event SET body = replace(body, 'embedded', 'Embedded') WHERE seq = {middle}"
        ),
        "(command.claimed, id ID) is not what was written",
    );
    check("DELETE FROM event WHERE seq = 500", "ID wrong: event 500 is missing");
    check("UPDATE execution SET status = 'FAILED'", "the summary says that `status` is \"FAILED\"");
    check(
        "UPDATE execution SET head_digest = zeroblob(32)",
        "or the digest that is kept of it is not what was written",
    );
    check("UPDATE payload SET body = x'31'", "is not what was stored");

    let ok = sandbox.noetl(&["verify", "last", "--db", "noetl.db", "--expect", &head]);
    assert_eq!(ok.code, Some(0), "{}", ok.stdout);
    let other = sandbox.noetl(&["verify", "last", "--db", "noetl.db", "--expect", &"0".repeat(64)]);
    assert_eq!(other.code, Some(1), "{}", other.stdout);
    let all = sandbox.noetl(&["verify", "--all", "--db", "noetl.db"]);
    assert_eq!(all.code, Some(0), "{}", all.stdout);
    // The command that ran the playbook has an entry.
    assert!(all.stdout.starts_with("audit log verified: 1 entries, head "), "{}", all.stdout);
    assert!(all.stdout.ends_with("\n1 executions checked, 0 wrong\n"), "{}", all.stdout);
}

#[test]
fn events_from_before_there_were_digests_are_not_wrong() {
    let sandbox = Sandbox::new().with("loop.yaml", &LOOP.replace("250", "3"));
    assert_eq!(sandbox.noetl(&["run", "loop.yaml", "-q", "--db", "noetl.db"]).code, Some(0));
    let (said, code) = verified(
        &sandbox,
        "UPDATE event SET prev_digest = NULL; UPDATE execution SET head_digest = NULL; \
         DELETE FROM snapshot",
    );
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("nothing is proved"), "{said}");
}
