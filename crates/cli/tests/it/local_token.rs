//! The token of a server with an embedded database, which commands of the same user send.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;

use crate::playbooks::HELLO;
use crate::sandbox::Sandbox;
use crate::server::Server;

/// Returns a project as `noetl init` writes it, with a playbook.
fn project() -> Sandbox {
    let sandbox = Sandbox::new().with("hello.yaml", HELLO);
    let made = sandbox.noetl(&["init", "--name", "first"]);
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    sandbox
}

#[test]
fn a_server_of_a_project_answers_commands_of_its_user_and_nobody_else() {
    let sandbox = project();
    let server = Server::new(&sandbox, &[]);
    let url = server.url();
    for path in ["/api/executions", "/api/catalog/playbooks", "/api/status"] {
        let refused = server.call("GET", path, &Value::Null);
        assert_eq!(refused["code"], "unauthorized", "{path}: {refused}");
    }
    let token = sandbox.path(".local/share/noetl/noetl.db.token");
    let mode = std::fs::metadata(&token).expect("the server wrote it").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    for arguments in [&["run", "hello.yaml", "--server", &url][..], &["run", "hello.yaml"]] {
        let ended = sandbox.noetl(arguments);
        assert_eq!(ended.code, Some(0), "{arguments:?}: {}", ended.stderr);
    }
    let other = Sandbox::new().with("hello.yaml", HELLO);
    let refused = other.noetl(&["run", "hello.yaml", "--server", &url]);
    assert_ne!(refused.code, Some(0), "{}", refused.stdout);
    assert!(refused.stderr.contains("token"), "{}", refused.stderr);
    assert_eq!(server.process.end(), Some(0));
}

#[test]
fn a_project_file_asks_for_a_token_and_turns_none_off() {
    let sandbox = Sandbox::new()
        .with("noetl.toml", "[server]\naccess = \"open\"\n")
        .with(".config/noetl/noetl.toml", "[server]\naccess = \"token\"\n");
    let refused = sandbox.noetl(&["server", "--listen", "127.0.0.1:0"]);
    assert_eq!(refused.code, Some(2), "{}", refused.stdout);
    assert!(refused.stderr.contains("noetl.toml sets server.access"), "{}", refused.stderr);
}

#[test]
fn a_step_cannot_read_the_local_token() {
    let step = "apiVersion: noetl.io/v2\nkind: Playbook\n\
                metadata: {name: thief, path: tests/thief}\nworkflow:\n  - step: start\n    \
                tool:\n      kind: http\n      method: POST\n      url: http://127.0.0.1:9/\n      \
                body_file: .local/share/noetl/noetl.db.token\n";
    let sandbox = project().with("thief.yaml", step);
    let server = Server::new(&sandbox, &[]);
    let ended = sandbox.noetl(&["run", "thief.yaml"]);
    let shown = format!("{}{}", ended.stdout, ended.stderr);
    assert!(shown.contains("belongs to the server"), "{shown}");
    assert_eq!(server.process.end(), Some(0));
}
