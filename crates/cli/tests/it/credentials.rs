//! Credentials on the command line, and in a run that uses them.

use crate::sandbox::Sandbox;

const SHELL: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: fetch, path: tests/fetch}
workflow:
  - step: start
    tool: {kind: http, url: 'http://127.0.0.1:1/', auth: api}
";

fn with_credential() -> Sandbox {
    let sandbox = Sandbox::new()
        .with("api.json", r#"{"type": "bearer", "data": {"token": "s3cr3t-t0ken"}}"#)
        .with("fetch.yaml", SHELL);
    let set = sandbox.noetl(&["credential", "set", "api", "--data", "@api.json"]);
    assert_eq!(set.code, Some(0), "{}", set.stderr);
    assert!(!set.stderr.contains("s3cr3t"), "{}", set.stderr);
    sandbox
}

#[test]
fn a_credential_is_set_listed_shown_and_deleted() {
    let sandbox = with_credential();
    let listed = sandbox.noetl(&["credential", "list"]).stdout;
    assert!(listed.contains("api   bearer"), "{listed}");
    let shown = sandbox.noetl(&["credential", "get", "api"]).stdout;
    assert!(shown.contains("type: bearer") && !shown.contains("s3cr3t"), "{shown}");
    let whole = sandbox.noetl(&["credential", "get", "api", "--include-data", "-o", "json"]).stdout;
    assert!(whole.contains("\"token\": \"s3cr3t-t0ken\""), "{whole}");
    assert_eq!(sandbox.noetl(&["credential", "delete", "api"]).code, Some(0));
    let gone = sandbox.noetl(&["credential", "get", "api"]);
    assert_eq!(gone.code, Some(2));
    assert!(gone.stderr.contains("there is no credential api"), "{}", gone.stderr);
}

#[test]
fn credentials_of_a_server_are_managed_remotely() {
    let sandbox = Sandbox::new().with("api.json", r#"{"type": "bearer", "token": "s3cr3t-t0ken"}"#);
    let server = crate::server::Server::new(&sandbox, &[]);
    let url = format!("http://{}", server.address);
    let noetl = |args: &[&str]| sandbox.noetl(&[args, &["--server", &url]].concat());
    let set = noetl(&["credential", "set", "api", "--data", "@api.json"]);
    assert_eq!(set.code, Some(0), "{}", set.stderr);
    let whole = noetl(&["credential", "get", "api", "--include-data", "-o", "json"]).stdout;
    assert!(whole.contains("\"token\": \"s3cr3t-t0ken\""), "{whole}");
    assert!(noetl(&["credential", "list"]).stdout.contains("api   bearer"));
    let rotated = noetl(&["credential", "rotate"]);
    assert!(rotated.stderr.contains("credentials: 0 re-encrypted with key"), "{}", rotated.stderr);
    assert_eq!(noetl(&["credential", "delete", "api"]).code, Some(0));
    let gone = noetl(&["credential", "delete", "api"]);
    assert_eq!(gone.code, Some(2));
    assert!(gone.stderr.contains("there is no credential api"), "{}", gone.stderr);
}

#[test]
fn a_run_whose_playbook_may_not_use_a_credential_is_not_started() {
    let sandbox = with_credential();
    let server = crate::server::Server::new(&sandbox, &[]);
    let url = format!("http://{}", server.address);
    for to in [&[][..], &["--server", &url]] {
        let noetl = |args: &[&str]| sandbox.noetl(&[args, to].concat());
        let set = |more: &[&str]| {
            let set = noetl(&[&["credential", "set", "api", "--data", "@api.json"], more].concat());
            assert_eq!(set.code, Some(0), "{}", set.stderr);
        };
        let policy = || {
            let shown = noetl(&["credential", "get", "api", "-o", "json"]).stdout;
            let shown: serde_json::Value = serde_json::from_str(&shown).expect("JSON");
            shown["policy"].clone()
        };
        set(&[
            "--path",
            "billing/*",
            "--label",
            "env=live",
            "--owner",
            "ada",
            "--host",
            "*.x.example",
        ]);
        let expected = serde_json::json!({
            "paths": ["billing/*"], "labels": ["env:live"], "owners": ["ada"],
            "hosts": ["*.x.example"],
        });
        assert_eq!(policy(), expected);
        let ran = noetl(&["run", "fetch.yaml", "--quiet"]);
        assert!(ran.stderr.contains("may not use the credential `api`"), "{}", ran.stderr);
        set(&[]);
        assert_eq!(policy(), expected, "a new secret keeps the policy");
        set(&["--path", "tests/*", "--host", "other.example"]);
        let ran = noetl(&["run", "fetch.yaml", "--quiet"]);
        assert!(ran.stderr.contains("may not be sent to 127.0.0.1:1"), "{}", ran.stderr);
        set(&["--no-policy"]);
        assert_eq!(policy(), serde_json::Value::Null);
        let ran = noetl(&["run", "fetch.yaml", "--quiet"]);
        assert!(ran.stderr.contains("127.0.0.1:1"), "it got as far as connecting: {}", ran.stderr);
    }
}

#[test]
fn a_secret_is_nowhere_in_the_database() {
    let sandbox = with_credential();
    let data = sandbox.path(".local/share/noetl");
    for entry in std::fs::read_dir(data).expect("it was made") {
        let path = entry.expect("it can be read").path();
        let bytes = std::fs::read(&path).expect("a file");
        let found = bytes.windows(12).any(|window| window == b"s3cr3t-t0ken");
        assert!(!found, "{}", path.display());
    }
}

#[test]
fn a_run_uses_what_is_stored_and_says_what_is_missing() {
    let sandbox = with_credential();
    let ran = sandbox.noetl(&["run", "fetch.yaml", "--quiet"]);
    assert!(ran.stderr.contains("127.0.0.1:1"), "it got as far as connecting: {}", ran.stderr);
    sandbox.noetl(&["credential", "delete", "api"]);
    let ran = sandbox.noetl(&["run", "fetch.yaml", "--quiet"]);
    assert!(ran.stderr.contains("noetl credential set api"), "{}", ran.stderr);
    assert!(ran.stderr.contains("NOETL_CREDENTIAL_API"), "{}", ran.stderr);
}

#[test]
fn a_secret_on_the_command_line_is_refused() {
    let sandbox = Sandbox::new();
    let set = sandbox.noetl(&["credential", "set", "api", "--type", "bearer", "--data", "{}"]);
    assert_eq!(set.code, Some(2));
    assert!(set.stderr.contains("@FILE"), "{}", set.stderr);
}

#[test]
fn a_new_key_takes_over_with_the_old_one_at_hand() {
    let sandbox = with_credential();
    let key = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
    let run = |args: &[&str]| {
        let output = sandbox.command(args).env("NOETL_ENCRYPTION_KEY", key).output();
        String::from_utf8(output.expect("the binary runs").stderr).expect("text")
    };
    let rotated = run(&["credential", "rotate"]);
    assert!(rotated.contains("credentials: 1 re-encrypted with key"), "{rotated}");
    std::fs::remove_file(sandbox.path(".local/share/noetl/noetl.db.key")).expect("the old key");
    let output = sandbox
        .command(&["credential", "get", "api", "--include-data"])
        .env("NOETL_ENCRYPTION_KEY", key)
        .output()
        .expect("the binary runs");
    assert!(String::from_utf8_lossy(&output.stdout).contains("s3cr3t-t0ken"), "{output:?}");
}

#[test]
fn a_type_that_looks_misspelt_is_refused_with_the_nearest() {
    let sandbox = Sandbox::new().with("db.json", r#"{"db_password": "s3cr3t-t0ken"}"#);
    let set = |more: &[&str]| {
        let args = ["credential", "set", "db", "--data", "@db.json", "--type"];
        sandbox.noetl(&[&args[..], more].concat())
    };
    let refused = set(&["postgress"]);
    assert_eq!(refused.code, Some(2));
    assert_eq!(
        refused.stderr,
        "error: no tool knows the type `postgress`; did you mean `postgres`? --any-type keeps it as \
         it is\n"
    );
    assert_eq!(set(&["postgress", "--any-type"]).code, Some(0));
    assert_eq!(set(&["Postgres"]).code, Some(0));
    assert_eq!(set(&["our_own_kind"]).code, Some(0));
}
