//! `noetl validate`: reports all problems of all files, without running them.

use std::path::Path;

use noetl_playbook::{Problems, TargetWorkers, parse_document_for};
use serde::Serialize;

use crate::args::ValidateArgs;
use crate::input::files;
use crate::show::failure::{Exit, Failure};
use crate::show::output::{document, problems};
use crate::show::terminal::{GOOD, Terminal, paint};

/// The result for one file.
#[derive(Serialize)]
struct FileResult {
    file: String,
    valid: bool,
    problems: Problems,
}

pub(crate) fn validate(args: &ValidateArgs, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let mut exit = Exit::Completed;
    let mut verdicts = Vec::new();
    for file in &args.files {
        match verdict(file) {
            Ok(verdict) => verdicts.push(verdict),
            Err(failure) => {
                failure.explain(terminal);
                exit = failure.exit();
            }
        }
    }
    match args.output.document() {
        Some(format) => terminal.data(&document(format, &verdicts))?,
        None => {
            for verdict in &verdicts {
                let text = text(verdict, terminal.stdout_color);
                terminal.data(&text)?;
            }
        }
    }
    let all_valid = verdicts.iter().all(|verdict| verdict.valid);
    Ok(if all_valid { exit } else { Exit::BadInput })
}

fn verdict(file: &Path) -> Result<FileResult, Failure> {
    let source = files::read(file)?;
    let file = file.display().to_string();
    let (valid, problems) = match parse_document_for(TargetWorkers::Ours, &file, &source) {
        Ok(document) => (true, document.into_warnings()),
        Err(problems) => (false, problems),
    };
    Ok(FileResult { file, valid, problems })
}

fn text(verdict: &FileResult, color: bool) -> String {
    if verdict.problems.is_empty() {
        format!("{} {}", paint(GOOD, "ok"), verdict.file)
    } else {
        problems::render(&verdict.problems, color)
    }
}
