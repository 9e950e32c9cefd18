//! Tests of the `--help` texts.

use expect_test::expect;

use crate::sandbox::Sandbox;

/// Returns the commands below a command that its help lists.
fn listed(sandbox: &Sandbox, command: &[String]) -> Vec<Vec<String>> {
    let args: Vec<&str> = command.iter().map(String::as_str).chain(["--help"]).collect();
    let help = sandbox.noetl(&args).stdout;
    let Some((_, list)) = help.split_once("\nCommands:\n") else { return Vec::new() };
    let lines = list.lines().take_while(|line| !line.is_empty());
    // A long description continues on a line that is indented further.
    let names = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    names
        .filter(|name| !name.is_empty() && *name != "help")
        .map(|name| command.iter().cloned().chain([name.to_owned()]).collect())
        .collect()
}

/// Returns every command, also those below others.
fn all_commands(sandbox: &Sandbox) -> Vec<Vec<String>> {
    let (mut found, mut waiting) = (Vec::new(), listed(sandbox, &[]));
    while let Some(command) = waiting.pop() {
        waiting.extend(listed(sandbox, &command));
        found.push(command);
    }
    found
}

#[test]
fn the_help_of_every_command_shows_an_example() {
    let sandbox = Sandbox::new();
    let commands = all_commands(&sandbox);
    for known in [&["test", "record"][..], &["lsp"], &["init"], &["dev"], &["diff"], &["graph"]] {
        assert!(commands.iter().any(|command| command == known), "{known:?}");
    }
    let without: Vec<String> = commands
        .iter()
        .map(|command| command.join(" "))
        .filter(|command| {
            let args: Vec<&str> = command.split(' ').chain(["--help"]).collect();
            let ended = sandbox.noetl(&args);
            ended.code != Some(0) || !ended.stdout.contains("Examples:\n  noetl ")
        })
        .collect();
    assert_eq!(without, Vec::<String>::new());
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
    let commands = all_commands(&sandbox);
    for shell in ["bash", "zsh", "fish"] {
        let ended = sandbox.noetl(&["completions", shell]);
        assert_eq!(ended.code, Some(0));
        for name in commands.iter().filter_map(|command| command.last()) {
            assert!(ended.stdout.contains(name.as_str()), "{shell}: {name}");
        }
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
