//! Commands that the documentation and the examples show: each is understood.

use std::path::{Path, PathBuf};

use clap::Parser as _;

use super::Arguments;

fn files(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).expect("a directory").flatten() {
        let path = entry.path();
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
}

/// Returns the commands in the shell blocks of a page, or in the comment of an example.
fn commands(file: &Path, text: &str) -> Vec<String> {
    let is_page = file.extension().is_some_and(|it| it == "md");
    let mut is_shell = !is_page;
    let mut found = Vec::new();
    // A command may go on in the next line.
    let whole = text.replace("\\\n", " ");
    for line in whole.lines() {
        if is_page && line.trim_start().starts_with("```") {
            is_shell = ["```sh", "```console"].contains(&line.trim());
        }
        let line = line.trim_start().trim_start_matches("# ").trim_start();
        let line = line.strip_prefix("$ ").unwrap_or(line);
        if is_shell && line.starts_with("noetl ") {
            found.push(line.to_owned());
        }
    }
    found
}

/// Splits a line at blanks outside quotes, up to a comment, a redirection or another command.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for c in line.chars() {
        let last = words.last_mut().expect("there is a word");
        match (quote, c) {
            (Some(open), _) if open == c => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, '#' | '<' | '>' | '&' | '|') if last.is_empty() => break,
            (None, ' ') if last.is_empty() => {}
            (None, ' ') => words.push(String::new()),
            (Some(_) | None, _) => last.push(c),
        }
    }
    // An example may name something, or leave something out.
    let named = |word: &String| match word.as_str() {
        "ID" => "478775660589088776".to_owned(),
        "DIGEST" => "0".repeat(64),
        other => other.to_owned(),
    };
    words.iter().filter(|word| !word.is_empty()).map(named).collect()
}

#[test]
fn every_command_of_the_documentation_and_of_the_examples_is_understood() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = vec![root.join("README.md")];
    for directory in ["docs", "examples"] {
        files(&root.join(directory), &mut found);
    }
    let (mut count, mut wrong) = (0, Vec::new());
    for file in found {
        let Ok(text) = std::fs::read_to_string(&file) else { continue };
        for line in commands(&file, &text) {
            count += 1;
            let is_help = |kind| {
                [clap::error::ErrorKind::DisplayHelp, clap::error::ErrorKind::DisplayVersion]
                    .contains(&kind)
            };
            match Arguments::try_parse_from(words(&line)) {
                Err(error) if !is_help(error.kind()) => {
                    let name = file.file_name().unwrap_or_default().display();
                    let error = error.to_string();
                    wrong.push(format!("{name}: {line}: {}", error.lines().next().unwrap_or("")));
                }
                Ok(_) | Err(_) => {}
            }
        }
    }
    assert!(count > 150, "{count} commands were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
