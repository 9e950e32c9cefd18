use expect_test::{Expect, expect};
use serde_json::json;

use super::*;
use crate::testing::{call, eventually, is_alive, settings, show};

async fn check(config: Value, expected: Expect) {
    let ended = Shell::new(settings().environment, Isolation::off()).run(&call(config)).await;
    expected.assert_eq(&show(&ended));
}

#[tokio::test]
async fn a_command_runs_in_sh() {
    check(
        json!({"command": "echo one; echo two >&2"}),
        expect![[r#"
            completed {"exit_code":0,"stdout":"one\n","stderr":"two\n"}
            stdout| one
            stderr| two
        "#]],
    )
    .await;
}

#[tokio::test]
async fn another_shell_can_be_asked_for() {
    check(
        json!({"command": "[[ a == a ]] && echo yes", "shell": "bash"}),
        expect![[r#"
            completed {"exit_code":0,"stdout":"yes\n","stderr":""}
            stdout| yes
        "#]],
    )
    .await;
}

#[tokio::test]
async fn a_command_as_a_list_is_a_program_with_arguments() {
    check(
        json!({"command": ["printf", "%s|", "a b", "$HOME"]}),
        expect![[r#"
            completed {"exit_code":0,"stdout":"a b|$HOME|","stderr":""}
            stdout| a b|$HOME|
        "#]],
    )
    .await;
}

#[tokio::test]
async fn cmds_run_in_order_up_to_the_first_failure() {
    check(
        json!({"cmds": ["echo one", "echo why >&2; exit 3", "echo three"]}),
        expect![[r#"
            failed exception: `echo why >&2; exit 3` ended with exit code 3: why
            code 3
            output {"exit_code":3,"stdout":"one\n","stderr":"why\n"}
            stdout| one
            stderr| why
        "#]],
    )
    .await;
}

#[tokio::test]
async fn a_signal_is_a_failure() {
    check(
        json!({"cmds": "kill -9 $$"}),
        expect![[r#"
            failed exception: `kill -9 $$` ended with signal 9
            code 137
            output {"exit_code":137,"stdout":"","stderr":""}
        "#]],
    )
    .await;
}

#[tokio::test]
async fn stdin_cwd_and_env_are_passed_on() {
    check(
        json!({"command": "cat; pwd; echo $A", "stdin": {"x": 1}, "cwd": "/", "env": {"A": 5}}),
        expect![[r#"
            completed {"exit_code":0,"stdout":"{\"x\":1}/\n5\n","stderr":""}
            stdout| {"x":1}/
            stdout| 5
        "#]],
    )
    .await;
}

#[tokio::test]
async fn a_command_that_ignores_its_input_is_fine() {
    check(
        json!({"command": "exit 0", "stdin": "x".repeat(1 << 20)}),
        expect![[r#"
            completed {"exit_code":0,"stdout":"","stderr":""}
        "#]],
    )
    .await;
}

#[tokio::test]
async fn the_environment_is_what_is_listed_and_what_names_the_call() {
    let environment = BTreeMap::from([("PATH".to_owned(), std::env::var("PATH").unwrap())]);
    let config = json!({"command": "env | grep -v -e ^PATH -e ^PWD -e ^_ -e ^SHLVL | sort"});
    let ended = Shell::new(environment, Isolation::off()).run(&call(config)).await;
    expect![[r"
        NOETL_ATTEMPT=1
        NOETL_EXECUTION_ID=7
        NOETL_IDEMPOTENCY_KEY=7-1
        NOETL_STEP=fetch
        PYTHONUNBUFFERED=1
    "]]
    .assert_eq(&ended.logs.stdout);
}

#[tokio::test]
async fn a_command_that_cannot_be_run_is_a_config_error() {
    check(
        json!({}),
        expect![[r#"
        failed config: shell: `command` or `cmds` is missing
    "#]],
    )
    .await;
    check(
        json!({"cmds": [["a"]]}),
        expect![[r#"
        failed config: shell: `cmds` must be a list of texts, but is a list
    "#]],
    )
    .await;
    check(
        json!({"command": "x", "cwd": "/nowhere"}),
        expect![[r#"
        failed config: shell: `cwd` is not a directory: /nowhere
    "#]],
    )
    .await;
    check(json!({"command": ["echo one", "echo two"]}), expect![[r#"
        failed config: shell: cannot start `echo one`: No such file or directory (os error 2); as a list, `command` is a program and its arguments: use `cmds` for several commands
    "#]]).await;
}

#[tokio::test]
async fn a_flood_of_output_is_cut_in_the_middle() {
    let config = json!({"command": "echo begin; yes | head -c 30000000; echo end"});
    let ended = Shell::new(settings().environment, Isolation::off()).run(&call(config)).await;
    let ended = ended.redacted(&Redactor::default());
    let noetl_model::Outcome::Completed { output } = ended.outcome else { panic!("failed") };
    let stdout = output["stdout"].as_str().unwrap();
    assert!(stdout.starts_with("begin\ny\n") && stdout.ends_with("y\nend\n"));
    assert!(stdout.contains("bytes left out"));
    assert!(stdout.len() < crate::process::capture::CAPTURE_BYTES_MAX + 100);
    assert!(ended.logs.stdout.len() < noetl_model::LOG_BYTES_MAX + 100);
}

#[tokio::test]
async fn a_background_process_ends_with_its_command() {
    let config = json!({"command": "sleep 600 & echo $!"});
    let ended = Shell::new(settings().environment, Isolation::off()).run(&call(config)).await;
    let pid = ended.logs.stdout.trim().to_owned();
    eventually("the background process ends", || !is_alive(&pid)).await;
}

#[tokio::test]
async fn a_cancelled_command_ends_with_its_grandchildren_and_keeps_its_logs() {
    let directory = tempfile::tempdir().unwrap();
    let pid_file = directory.path().join("pid");
    let script = format!(
        "trap '' TERM; echo working; sh -c 'sleep 600 & echo $! > {}; wait'",
        pid_file.display()
    );
    let call = call(json!({"command": script}));
    let cancel = call.cancel.clone();
    let running = tokio::spawn(async move {
        Shell::new(settings().environment, Isolation::off()).run(&call).await
    });
    eventually("the grandchild runs", || {
        std::fs::read_to_string(&pid_file).is_ok_and(|text| text.ends_with('\n'))
    })
    .await;
    let pid = std::fs::read_to_string(&pid_file).unwrap().trim().to_owned();
    assert!(is_alive(&pid));
    cancel.cancel();
    assert_eq!(running.await.unwrap().logs.stdout, "working\n");
    eventually("the grandchild ends", || !is_alive(&pid)).await;
}
