//! Tests of stored tokens with the real binary: create, use, revoke, without a restart.

use serde_json::{Value, json};

use crate::sandbox::Sandbox;
use crate::server::{KEY, Server};

pub(crate) const ROOT: &str = "root-secret-of-the-tests";

/// Starts a server that asks for tokens.
pub(crate) fn guarded(sandbox: &Sandbox, more: &[&str]) -> Server {
    let args = [&["server", "--listen", "127.0.0.1:0", "--no-worker"], more].concat();
    let mut command = sandbox.command(&args);
    command.env("NOETL_ENCRYPTION_KEY", KEY).env("NOETL_API_TOKEN", ROOT);
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    Server::of(command.spawn().expect("the binary runs"))
}

/// Runs a command against a server with a token; returns its exit code, output and errors.
pub(crate) fn run(
    sandbox: &Sandbox,
    server: &Server,
    token: &str,
    args: &[&str],
) -> (i32, String, String) {
    let url = server.url();
    let args = [args, &["--server", &url]].concat();
    let mut command = sandbox.command(&args);
    command.env("NOETL_API_TOKEN", token).env("NOETL_API_TOKEN_ORIGIN", &url);
    let output = command.output().expect("the binary runs");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (output.status.code().expect("a code"), text(output.stdout), text(output.stderr))
}

#[test]
fn a_token_is_created_used_and_revoked_while_the_server_runs() {
    let sandbox = Sandbox::new();
    let server = guarded(&sandbox, &[]);
    let list = ["executions", "list", "-o", "json"];
    let create = ["token", "create", "ci", "--role", "viewer", "--expires", "30d"];
    let (code, secret, told) = run(&sandbox, &server, ROOT, &create);
    assert_eq!((code, told.contains("created token ci: viewer")), (0, true), "{told}");
    let secret = secret.trim();
    assert_eq!(run(&sandbox, &server, secret, &list), (0, "[]\n".to_owned(), String::new()));
    let (code, _, told) = run(&sandbox, &server, secret, &["token", "list"]);
    assert!(code != 0 && told.contains("lacks the role `admin`"), "{code} {told}");

    let (_, listed, _) = run(&sandbox, &server, ROOT, &["token", "list", "-o", "json"]);
    let listed: Value = serde_json::from_str(&listed).expect("JSON");
    assert_eq!(listed[0]["roles"], json!(["viewer"]));
    assert!(listed[0]["used_at"].is_string() && listed[0]["expires_at"].is_string(), "{listed}");
    let (_, table, _) = run(&sandbox, &server, ROOT, &["token", "list"]);
    assert!(table.starts_with("TOKEN  ROLES   OWNER"), "{table}");

    assert_eq!(run(&sandbox, &server, ROOT, &["token", "revoke", "ci"]).0, 0);
    let (code, _, told) = run(&sandbox, &server, secret, &list);
    assert!(code != 0 && told.contains("this token is not known"), "{code} {told}");
    let (code, _, told) = run(&sandbox, &server, ROOT, &["token", "revoke", "ci"]);
    assert!(code != 0 && told.contains("there is no token `ci`"), "{code} {told}");
    assert_eq!(server.process.end(), Some(0));
}

#[test]
fn a_token_of_the_embedded_database_has_every_role_for_every_path() {
    let sandbox = Sandbox::new();
    let create = [
        "token",
        "create",
        "ci",
        "--role",
        "viewer",
        "--role",
        "operator",
        "--path",
        "team-a/*",
        "--path",
        "team-b/import",
        "--owner",
        "Team A",
        "-o",
        "json",
    ];
    let created = sandbox.json(&create);
    let roles =
        ["viewer:team-a/*", "viewer:team-b/import", "operator:team-a/*", "operator:team-b/import"];
    assert_eq!(created["roles"], json!(roles));
    assert!(created["secret"].as_str().is_some_and(|it| it.starts_with("noetl_")), "{created}");
    let refused = sandbox.noetl(&["token", "create", "w", "--role", "worker", "--path", "a/*"]);
    assert!(refused.stderr.contains("the role `worker` has no paths"), "{}", refused.stderr);
    assert_eq!(refused.code, Some(2));
}
