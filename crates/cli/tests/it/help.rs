//! Tests of the `--help` texts.

use expect_test::expect;

use crate::sandbox::Sandbox;

#[test]
fn the_help_of_every_command_shows_an_example() {
    let sandbox = Sandbox::new();
    for command in [
        "run",
        "validate",
        "lint",
        "explain",
        "fmt",
        "graph",
        "executions",
        "status",
        "cancel",
        "logs",
        "signal",
        "resume",
        "replay",
        "register",
        "catalog",
        "catalog list",
        "catalog get",
        "catalog archive",
        "catalog restore",
        "config",
        "config show",
        "config trust",
        "server",
        "ui",
        "demo",
        "worker",
        "schema",
        "completions",
        "doctor",
        "executions list",
        "executions get",
        "executions events",
        "executions timeline",
        "executions cancel",
        "executions rerun",
        "executions resume",
        "executions pause",
        "executions unpause",
        "catalog pause",
        "catalog resume",
        "pools",
        "pools pause",
        "limits",
        "limits show",
        "token",
        "audit",
        "token create",
        "token list",
        "token revoke",
    ] {
        let args: Vec<&str> = command.split(' ').chain(["--help"]).collect();
        let ended = sandbox.noetl(&args);
        assert_eq!(ended.code, Some(0), "{command}");
        assert!(ended.stdout.contains("Examples:\n  noetl "), "{command}: {}", ended.stdout);
    }
}

#[test]
fn without_a_command_the_help_is_shown_and_the_exit_code_is_2() {
    let ended = Sandbox::new().noetl(&[]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("Usage: noetl [OPTIONS] <COMMAND>"));
}

#[test]
fn a_misspelt_command_is_corrected() {
    let ended = Sandbox::new().noetl(&["rnu", "x.yaml"]);
    assert_eq!(ended.code, Some(2));
    expect![[r#"
        error: unrecognized subcommand 'rnu'

        Usage: noetl [OPTIONS] <COMMAND>

        For more information, try '--help'.
    "#]]
    .assert_eq(&ended.stderr);
}

#[test]
fn completions_know_the_commands() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish"] {
        let ended = sandbox.noetl(&["completions", shell]);
        assert_eq!(ended.code, Some(0));
        assert!(ended.stdout.contains("executions"), "{shell}");
    }
}

#[test]
fn the_schema_is_json() {
    let schema = Sandbox::new().json(&["schema"]);
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
}

#[test]
fn a_healthy_machine_passes_every_check() {
    let sandbox = Sandbox::new();
    let checks = sandbox.json(&["doctor", "--output", "json"]);
    let names: Vec<&str> =
        checks.as_array().unwrap().iter().map(|check| check["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "version",
            "settings",
            "clock",
            "open files",
            "data directory",
            "disk",
            "shell",
            "python",
            "isolation",
            "database"
        ]
    );
    assert_eq!(sandbox.noetl(&["doctor"]).code, Some(0));
}

#[test]
fn a_database_that_is_none_fails_the_check_with_a_way_out() {
    let sandbox = Sandbox::new().with("notes.txt", "not a database, though long enough to be read");
    let ended = sandbox.noetl(&["doctor", "--db", "notes.txt"]);
    assert_eq!(ended.code, Some(1));
    let line = ended.stdout.lines().find(|line| line.starts_with("fail")).unwrap();
    assert!(line.contains("notes.txt is not a noetl database; name another with --db"), "{line}");
}
