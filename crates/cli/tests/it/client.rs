//! The command line as a client of a server: the same output, the same exit codes.

use serde_json::{Value, json};

use crate::playbooks::{FAILING, HELLO, SLEEPING};
use crate::sandbox::{Sandbox, await_end, eventually, is_running, signal};
use crate::server::Server;

fn sandbox() -> Sandbox {
    Sandbox::new()
        .with("hello.yaml", HELLO)
        .with("failing.yaml", FAILING)
        .with("sleeping.yaml", SLEEPING)
}

/// Checks that a command prints the same, with the same exit code, on the embedded database and on
/// a server, which also has a page of the execution.
#[track_caller]
fn check_same(args: &[&str], with: &[&str]) {
    let sandbox = sandbox();
    let server = Server::new(&sandbox, &["--db", "server.db"]);
    let url = server.url();
    let here = sandbox.noetl(&[args, &["--db", "own.db"], with].concat());
    let there = sandbox.noetl(&[args, &["--server", &url], with].concat());
    assert_eq!(here.code, there.code, "{}\n{}", here.stderr, there.stderr);
    assert_eq!(sandbox.normal(&here.stdout), sandbox.normal(&there.stdout));
    let page = format!("page: {url}/ui/executions/");
    assert!(there.stderr.lines().any(|it| it.starts_with(&page)), "{}", there.stderr);
    let other = ["history", "more", "page: "];
    let talk = |text: &str| {
        let lines = sandbox.normal(text);
        let kept = lines.lines().filter(|it| !other.iter().any(|start| it.starts_with(start)));
        kept.map(|line| format!("{line}\n")).collect::<String>()
    };
    assert_eq!(talk(&here.stderr), talk(&there.stderr));
}

#[test]
fn a_run_on_a_server_prints_what_a_run_here_prints() {
    check_same(&["run", "hello.yaml"], &["--set", "name=Ada"]);
}

#[test]
fn a_failure_on_a_server_is_shown_like_a_local_one() {
    check_same(&["run", "failing.yaml"], &[]);
}

#[test]
fn a_path_that_the_server_does_not_know_comes_with_one_it_knows() {
    let sandbox = sandbox();
    let server = Server::new(&sandbox, &[]);
    let url = server.url();
    assert_eq!(sandbox.noetl(&["register", "hello.yaml", "--server", &url]).code, Some(0));
    let ended = sandbox.noetl(&["run", "tests/helo", "--server", &url]);
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert!(ended.stderr.contains("did you mean tests/hello?"), "{}", ended.stderr);
}

#[test]
fn executions_of_a_server_can_be_listed_shown_and_rerun() {
    let sandbox = sandbox();
    let server = Server::new(&sandbox, &[]);
    let url = server.url();
    let on = |args: &[&str]| sandbox.noetl(&[args, &["--server", &url]].concat());
    let json = |args: &[&str]| sandbox.json(&[args, &["--server", &url, "-o", "json"]].concat());
    assert_eq!(on(&["run", "hello.yaml", "-q"]).code, Some(0));
    let listed = json(&["executions", "list"]);
    assert_eq!(listed[0]["status"], "COMPLETED");
    let (id, playbook) = (&listed[0]["execution_id"], &listed[0]["catalog_id"]);
    let narrowed = |flag, id: &Value| json(&["executions", "list", flag, id.as_str().unwrap()]);
    assert_eq!(narrowed("--catalog-id", playbook), listed);
    assert_eq!(narrowed("--parent", id), json!([]));
    let got = json(&["executions", "get", "last"]);
    assert_eq!(got["output"], "Hello, world from Oslo!");
    assert_eq!(got["server"], format!("{url}/"));
    let events = on(&["executions", "events", "last", "--follow"]);
    assert!(events.stdout.contains("playbook.completed"), "{}", events.stdout);
    let replayed = json(&["replay", "last"]);
    assert_eq!(replayed["execution"]["status"], "COMPLETED");
    let third = json(&["replay", "last", "--at-event", "3", "--projection", "command"]);
    assert_eq!((&third["event_count"], &third["projection"]), (&3.into(), &"command".into()));
    let rerun = json(&["executions", "rerun", "last", "-q", "--set", "name=Ada"]);
    assert_eq!(rerun["output"], "Hello, Ada from Oslo!");
    let status = on(&["status"]);
    assert!(status.stdout.contains("completed in "), "{}", status.stdout);
    assert_eq!(json(&["catalog", "list"])[0]["path"], "tests/hello");
    assert_eq!(on(&["catalog", "get", "tests/hello"]).stdout, HELLO);
    assert_eq!(on(&["executions", "get", "12"]).code, Some(2));
}

#[test]
fn a_server_can_be_configured_and_passed_over() {
    let sandbox = sandbox();
    let server = Server::new(&sandbox, &["--db", "server.db"]);
    let text = format!("[contexts.dev]\nserver = \"{}\"\n", server.url());
    std::fs::write(sandbox.path("noetl.toml"), text).expect("the home is ours");
    assert_eq!(sandbox.noetl(&["config", "trust"]).code, Some(0));
    assert_eq!(sandbox.noetl(&["run", "hello.yaml", "-q", "--context", "dev"]).code, Some(0));
    let listed = sandbox.json(&["executions", "list", "--context", "dev", "-o", "json"]);
    assert_eq!(listed.as_array().map(Vec::len), Some(1));
    let here = sandbox.noetl(&["executions", "list", "--context", "dev", "--local"]);
    assert!(here.stderr.contains("there is no database"), "{}", here.stderr);
}

#[test]
fn a_database_that_a_server_has_is_reached_through_it() {
    let sandbox = sandbox();
    let server = Server::new(&sandbox, &[]);
    let mut run = sandbox.spawn(&["run", "sleeping.yaml"]);
    let sleep = sandbox.await_file("pid");
    let ended = sandbox.noetl(&["cancel", "last", "--reason", "enough"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(await_end(&mut run).code(), Some(130));
    eventually("the sleep is gone", || !is_running(&sleep));
    assert_eq!(server.process.end(), Some(0));
    let left: Vec<_> = std::fs::read_dir(sandbox.path(".local/share/noetl"))
        .expect("the database is there")
        .filter(|entry| {
            entry.as_ref().is_ok_and(|it| it.path().extension() == Some("server".as_ref()))
        })
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn ctrl_c_cancels_on_the_server() {
    let sandbox = sandbox();
    let server = Server::new(&sandbox, &["--db", "server.db"]);
    let url = server.url();
    let mut run = sandbox.spawn(&["run", "sleeping.yaml", "--server", &url]);
    let sleep = sandbox.await_file("pid");
    signal(&run, "INT");
    assert_eq!(await_end(&mut run).code(), Some(130));
    eventually("the sleep is gone", || !is_running(&sleep));
    let status = sandbox.noetl(&["status", "--server", &url]);
    assert_eq!(status.code, Some(130), "{}", status.stdout);
}

#[test]
fn a_token_that_is_missing_and_a_server_that_is_not_there_are_explained() {
    let sandbox = sandbox();
    let child = sandbox
        .command(&["server", "--listen", "127.0.0.1:0"])
        .env("NOETL_API_TOKEN", "hunter2")
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let server = Server::of(child);
    let ended = sandbox.noetl(&["executions", "list", "--server", &server.url()]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("NOETL_API_TOKEN"), "{}", ended.stderr);
    let doctor = sandbox.noetl(&["doctor", "--server", &server.url()]);
    assert_eq!(doctor.code, Some(0), "{}", doctor.stdout);
    assert!(doctor.stdout.contains("warn  access"), "{}", doctor.stdout);
    let url = server.url();
    assert_eq!(server.process.end(), Some(0));
    let ended = sandbox.noetl(&["executions", "list", "--server", &url]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("cannot be reached"), "{}", ended.stderr);
    assert!(ended.stderr.contains("noetl server"), "{}", ended.stderr);
    assert_eq!(sandbox.noetl(&["doctor", "--server", &url]).code, Some(1));
}

#[test]
fn a_directory_is_registered_as_a_whole_or_not_at_all() {
    let sandbox = Sandbox::new().with("books/hello.yaml", HELLO).with("books/more/x.yaml", FAILING);
    let entries = sandbox.json(&["register", "books", "-o", "json"]);
    assert_eq!(entries.as_array().map(Vec::len), Some(2), "{entries}");
    std::fs::write(sandbox.path("books/bad.yaml"), "kind: Playbook\n").expect("the home is ours");
    let ended = sandbox.noetl(&["register", "books", "--db", "other.db"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("1 of 3 files cannot be registered"), "{}", ended.stderr);
    assert!(!sandbox.path("other.db").exists());
}

#[test]
fn a_shell_is_offered_ids_and_paths() {
    let sandbox = sandbox();
    assert_eq!(sandbox.noetl(&["run", "hello.yaml", "-q"]).code, Some(0));
    let offered = |words: &[&str]| {
        let index = (words.len() - 1).to_string();
        let args = [&["--"], words].concat();
        let output = sandbox
            .command(&args)
            .env("COMPLETE", "bash")
            .env("_CLAP_COMPLETE_INDEX", index)
            .env("_CLAP_COMPLETE_COMP_TYPE", "9")
            .env("_CLAP_COMPLETE_SPACE", "true")
            .env("_CLAP_IFS", "\n")
            .output()
            .expect("the binary runs");
        String::from_utf8(output.stdout).expect("text")
    };
    assert!(offered(&["noetl", "catalog", "get", ""]).contains("tests/hello"));
    let ids = offered(&["noetl", "executions", "get", ""]);
    assert!(ids.contains("last"), "{ids}");
    assert_eq!(ids.lines().filter(|line| line.len() == 18).count(), 1, "{ids}");
}
