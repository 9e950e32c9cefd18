//! Common mistakes of new users, and the error messages.

use expect_test::{Expect, expect};

use crate::playbooks::{FAILING, HELLO};
use crate::sandbox::Sandbox;

/// Runs a command that fails and checks its exit code and its message.
#[track_caller]
fn check(sandbox: &Sandbox, args: &[&str], code: i32, expected: &Expect) {
    let ended = sandbox.noetl(args);
    expected.assert_eq(&sandbox.normal(&ended.stderr));
    assert_eq!(ended.code, Some(code));
    assert_eq!(ended.stdout, "");
}

#[test]
fn a_missing_file_comes_with_the_one_that_was_meant() {
    check(
        &Sandbox::new().with("hello.yaml", HELLO),
        &["run", "helo.yaml"],
        2,
        &expect![[r#"
            error: there is no file helo.yaml
             help: did you mean hello.yaml?
        "#]],
    );
}

#[test]
fn wrong_yaml_is_shown_with_a_caret() {
    check(
        &Sandbox::new().with("bad.yaml", &HELLO.replace("kind: Playbook", "kind Playbook")),
        &["run", "bad.yaml"],
        2,
        &expect![[r#"
            error[syntax]: simple key expected ':'
             --> bad.yaml:2:1
            2 | kind Playbook
              | ^
            bad.yaml: 1 error
        "#]],
    );
}

#[test]
fn an_unknown_tool_comes_with_a_suggestion() {
    check(
        &Sandbox::new().with("bad.yaml", &FAILING.replace("kind: python", "kind: pyton")),
        &["run", "bad.yaml"],
        2,
        &expect![[r#"
            error[unknown-tool]: there is no tool `pyton`
             --> bad.yaml:8:13
            8 |       kind: pyton
              |             ^^^^^
              = help: did you mean `python`?
            bad.yaml: 1 error
        "#]],
    );
}

#[test]
fn a_failing_python_step_shows_its_item_its_traceback_and_what_it_printed() {
    let sandbox = Sandbox::new().with("failing.yaml", FAILING);
    let ended = sandbox.noetl(&["run", "failing.yaml"]);
    assert_eq!(ended.code, Some(1));
    assert_eq!(ended.stdout, "");
    // The marks below a line depend on the version of the interpreter.
    let is_mark =
        |line: &&str| !line.trim().is_empty() && line.trim().bytes().all(|b| b"^~".contains(&b));
    let said = sandbox.normal(&ended.stderr);
    let said: Vec<&str> = said.lines().filter(|line| !is_mark(line)).collect();
    expect![[r#"
        TIME step start                 failed         0.0 s  2 of 3 items, 1 failed  ZeroDivisionError: division by zero (line 2)
        step start failed at item 1 (python): exception
          ZeroDivisionError: division by zero (line 2)

          Traceback (most recent call last):
            File "<start>", line 5, in <module>
              result = share(number)
            File "<start>", line 2, in share
              return 10 / number
          ZeroDivisionError: division by zero

          stdout
          sharing by 0

        failed in 0.0 s  execution ID of failing
        history in ~/.local/share/noetl/noetl.db
        more: noetl executions events ID"#]].assert_eq(&said.join("\n"));
}

#[test]
fn a_failing_command_shows_what_it_wrote_to_stderr() {
    let failing = HELLO.replace(
        "kind: noop, result: {greeting",
        "kind: shell, command: \"echo almost; echo no such luck >&2; exit 3\", env: {greeting",
    );
    check(
        &Sandbox::new().with("failing.yaml", &failing),
        &["run", "failing.yaml"],
        1,
        &expect![[r#"
            warning[unknown-name]: the output of step `start` has no `greeting`
             --> failing.yaml:10:36
            10 |     tool: {kind: noop, result: "{{ start.greeting }}"}
               |                                    ^^^^^^^^^^^^^^
               = help: it has exit_code, stdout, stderr
            failing.yaml: 1 warning
            TIME step start                 failed         0.0 s  `echo almost; echo no such luck >&2; exit 3` ended with exit code 3: no such luck
            step start failed (shell): exception
              `echo almost; echo no such luck >&2; exit 3` ended with exit code 3: no such luck

              stderr
              no such luck

              stdout
              almost

            failed in 0.0 s  execution ID of tests/hello
            history in ~/.local/share/noetl/noetl.db
            more: noetl executions events ID
        "#]],
    );
}

#[test]
fn a_missing_interpreter_comes_with_the_way_out() {
    let sandbox = Sandbox::new().with("failing.yaml", FAILING);
    let mut command = sandbox.command(&["run", "failing.yaml", "-q"]);
    let output = command.env("NOETL_PYTHON", "/no/such/python").output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(said.contains("/no/such/python") && said.contains("NOETL_PYTHON"), "{said}");
}

#[test]
fn a_value_without_a_name_is_refused() {
    let sandbox = Sandbox::new().with("hello.yaml", HELLO);
    let ended = sandbox.noetl(&["run", "hello.yaml", "--set", "Ada"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("`Ada` has no `=`; write it like name=Ada"));
}

#[test]
fn a_payload_that_cannot_be_read_is_refused() {
    let sandbox = Sandbox::new().with("hello.yaml", HELLO);
    check(
        &sandbox,
        &["run", "hello.yaml", "--payload", "@values.json"],
        2,
        &expect![[r#"
            error: cannot read values.json: No such file or directory (os error 2)
        "#]],
    );
    check(
        &sandbox,
        &["run", "hello.yaml", "--payload", "{name: Ada}"],
        2,
        &expect![[r#"
            error: --payload is not JSON; for a file, write --payload @FILE: key must be a string at line 1 column 2
        "#]],
    );
}

#[test]
fn a_path_that_is_not_in_the_catalog_comes_with_one_that_is() {
    let sandbox = Sandbox::new().with("hello.yaml", HELLO);
    assert_eq!(sandbox.noetl(&["run", "hello.yaml"]).code, Some(0));
    check(
        &sandbox,
        &["run", "tests/helo"],
        2,
        &expect![[r#"
            error: there is no file and no playbook tests/helo
             help: did you mean tests/hello?
        "#]],
    );
}

#[test]
fn a_history_that_is_not_there_yet_is_explained() {
    check(
        &Sandbox::new(),
        &["executions", "list"],
        2,
        &expect![[r#"
            error: there is no database at HOME/.local/share/noetl/noetl.db
             help: `noetl run FILE` makes it; --db PATH or NOETL_DB name another
        "#]],
    );
}

#[test]
fn an_unknown_execution_is_explained() {
    let sandbox = Sandbox::new().with("hello.yaml", HELLO);
    assert_eq!(sandbox.noetl(&["run", "hello.yaml"]).code, Some(0));
    check(
        &sandbox,
        &["executions", "get", "12"],
        2,
        &expect![[r#"
            error: there is no execution 12 in this database
             help: `noetl executions list` lists the executions
        "#]],
    );
}
