//! `noetl validate`: reports all problems of all files, without running them.

use std::path::Path;

use noetl_playbook::{AnalysisLevel, ParseOptions, Problems, TargetWorkers, parse_document_with};
use serde::{Serialize, Serializer};

use super::test;
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
    /// The problems; `None` if there are none.
    #[serde(serialize_with = "listed")]
    problems: Option<Problems>,
}

/// Serializes problems as a list, which may be empty.
fn listed<S: Serializer>(problems: &Option<Problems>, serializer: S) -> Result<S::Ok, S::Error> {
    match problems {
        Some(problems) => problems.serialize(serializer),
        None => serializer.collect_seq(std::iter::empty::<()>()),
    }
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
    if files::is_test_file(file) {
        return tests_verdict(file);
    }
    let source = files::read(file)?;
    let file = file.display().to_string();
    let options = ParseOptions { workers: TargetWorkers::Ours, analysis: AnalysisLevel::Full };
    let (valid, problems) = match parse_document_with(options, &file, &source) {
        Ok(document) => (true, document.into_warnings()),
        Err(problems) => (false, problems),
    };
    let problems = Some(problems).filter(|problems| !problems.is_empty());
    Ok(FileResult { file, valid, problems })
}

/// Checks a test file, together with its playbook.
fn tests_verdict(file: &Path) -> Result<FileResult, Failure> {
    let name = file.display().to_string();
    match test::load(file) {
        Ok(_) => Ok(FileResult { file: name, valid: true, problems: None }),
        Err(Failure::Invalid(problems)) => {
            Ok(FileResult { file: name, valid: false, problems: Some(problems) })
        }
        Err(failure) => Err(failure),
    }
}

fn text(verdict: &FileResult, color: bool) -> String {
    match &verdict.problems {
        None => format!("{} {}", paint(GOOD, "ok"), verdict.file),
        Some(problems) => problems::render(problems, color),
    }
}
