//! Tests of `run`: results, documents, workload values.

use expect_test::expect;
use serde_json::json;

use crate::playbooks::HELLO;
use crate::sandbox::Sandbox;

#[test]
fn the_result_is_on_stdout_and_the_talk_on_stderr() {
    let sandbox = Sandbox::new().with("hello.yaml", HELLO);
    let ended = sandbox.noetl(&["run", "hello.yaml"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    expect![["Hello, world from Oslo!\n"]].assert_eq(&ended.stdout);
    expect![[r#"
        TIME step start                 completed      0.0 s
        TIME step end                   completed      0.0 s
        completed in 0.0 s  execution ID of tests/hello
        history in ~/.local/share/noetl/noetl.db
        more: noetl executions get ID
    "#]]
    .assert_eq(&sandbox.normal(&ended.stderr));
}

#[test]
fn values_are_laid_over_the_workload() {
    let sandbox = Sandbox::new()
        .with("hello.yaml", HELLO)
        .with("values.yaml", "name: Grace\nfrom: {city: Lima}\n");
    let run = |args: &[&str]| {
        let ended = sandbox.noetl(&[&["run", "hello.yaml", "--quiet"], args].concat());
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
        ended.stdout
    };
    assert_eq!(run(&["--set", "name=Ada"]), "Hello, Ada from Oslo!\n");
    assert_eq!(run(&["--set", "from.city=Rome"]), "Hello, world from Rome!\n");
    assert_eq!(run(&["--payload", r#"{"name": "Alan"}"#]), "Hello, Alan from Oslo!\n");
    assert_eq!(run(&["--payload", "@values.yaml"]), "Hello, Grace from Lima!\n");
    assert_eq!(
        run(&["--payload", "@values.yaml", "--set", "name=7", "--set", "new=1", "--allow-extra"]),
        "Hello, 7 from Lima!\n"
    );
}

#[test]
fn a_name_that_the_workload_does_not_have_is_refused_with_the_nearest() {
    let sandbox = Sandbox::new().with("hello.yaml", HELLO);
    assert_eq!(sandbox.noetl(&["run", "hello.yaml", "-q"]).code, Some(0));
    for target in ["hello.yaml", "tests/hello"] {
        let refused = sandbox.noetl(&["run", target, "-q", "--set", "nme=Ada"]);
        assert_eq!(refused.code, Some(2));
        assert_eq!(
            refused.stderr,
            "error: the workload of tests/hello has no `nme`\n help: did you mean `name`? To set \
             it all the same, add --allow-extra\n"
        );
        let args = ["run", target, "-q", "--set", "nme=Ada", "--allow-extra"];
        assert_eq!(sandbox.noetl(&args).code, Some(0));
    }
    let count = sandbox.json(&["executions", "list", "-o", "json"]).as_array().map(Vec::len);
    assert_eq!(count, Some(3), "nothing is started by a refused command");
}

#[test]
fn a_payload_may_come_from_standard_input() {
    let sandbox = Sandbox::new().with("hello.yaml", HELLO).with("values", r#"{"name": "Edsger"}"#);
    let mut command = sandbox.command(&["run", "hello.yaml", "-q", "--payload", "-"]);
    let values = std::fs::File::open(sandbox.path("values")).unwrap();
    let output = command.stdin(values).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "Hello, Edsger from Oslo!\n");
}

#[test]
fn the_document_says_all_there_is() {
    let sandbox = Sandbox::new().with("hello.yaml", HELLO);
    let mut document = sandbox.json(&["run", "hello.yaml", "--output", "json"]);
    let id = document["execution_id"].take();
    assert!(id.as_str().is_some_and(|id| id.len() == 18));
    for time in ["started_at", "ended_at"] {
        assert!(document[time].take().as_str().is_some_and(|time| time.ends_with('Z')), "{time}");
    }
    assert!(document["duration_seconds"].take().is_number());
    for step in document["steps"].as_array_mut().unwrap() {
        assert!(step["duration_seconds"].take().is_number());
    }
    let step = |name: &str| {
        json!({"step": name, "status": "COMPLETED", "runs": 1, "duration_seconds": null,
               "error": null})
    };
    assert_eq!(
        document,
        json!({
            "execution_id": null, "status": "COMPLETED", "path": "tests/hello", "version": 1,
            "started_at": null, "ended_at": null, "duration_seconds": null,
            "output": "Hello, world from Oslo!", "error": null,
            "steps": [step("start"), step("end")],
            "db": sandbox.path(".local/share/noetl/noetl.db"),
        })
    );
}

#[test]
fn a_file_that_has_been_run_can_be_run_by_its_path_and_version() {
    let newer = HELLO.replace("Hello", "Goodbye");
    let sandbox = Sandbox::new().with("old.yaml", HELLO).with("new.yaml", &newer);
    for file in ["old.yaml", "new.yaml", "new.yaml"] {
        assert_eq!(sandbox.noetl(&["run", file, "-q"]).code, Some(0));
    }
    let run = |target| sandbox.noetl(&["run", target, "-q"]).stdout;
    assert_eq!(run("tests/hello"), "Goodbye, world from Oslo!\n");
    assert_eq!(run("tests/hello@1"), "Hello, world from Oslo!\n");
    let ended = sandbox.noetl(&["run", "tests/hello@3"]);
    assert_eq!(ended.code, Some(2));
}

#[test]
fn an_ephemeral_run_leaves_nothing_behind() {
    let sandbox = Sandbox::new().with("hello.yaml", HELLO);
    let document = sandbox.json(&["run", "hello.yaml", "--ephemeral", "--output", "json"]);
    assert_eq!(document["status"], "COMPLETED");
    assert!(document["db"].is_null());
    assert!(!sandbox.path(".local").exists());
}

#[test]
fn a_lenient_run_takes_a_failure_for_a_result() {
    let failing = HELLO.replace(
        "kind: noop, result: {greeting",
        "kind: python, code: \"raise ValueError('no')\", input: {greeting",
    );
    let sandbox = Sandbox::new().with("failing.yaml", &failing);
    let status = |mode| {
        let document =
            sandbox.json(&["run", "failing.yaml", "--error-mode", mode, "-q", "-o", "json"]);
        document["status"].as_str().unwrap().to_owned()
    };
    assert_eq!(status("strict"), "FAILED");
    assert_eq!(status("lenient"), "COMPLETED");
}

#[test]
fn a_playbook_from_elsewhere_is_called_once_it_is_named() {
    let parent = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: parent}
workflow:
  - step: start
    tool: {kind: playbook, return_result: true, path: tests/hello, input: {name: child}}
";
    let sandbox = Sandbox::new().with("parent.yaml", parent).with("other/hello.yaml", HELLO);
    let alone = sandbox.noetl(&["run", "parent.yaml"]);
    assert_eq!(alone.code, Some(1));
    assert!(alone.stderr.contains("--with FILE adds it"), "{}", alone.stderr);
    let ended = sandbox.noetl(&["run", "parent.yaml", "-q", "--with", "other/hello.yaml"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "Hello, child from Oslo!\n"));
}
