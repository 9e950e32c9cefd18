//! `noetl validate`: reports all problems of all files, without running them.

use std::path::Path;

use noetl_playbook::{LintedDocument, Problems, Severity};
use serde::{Serialize, Serializer};

use super::test;
use crate::args::ValidateArgs;
use crate::config::Config;
use crate::input::code_syntax::CodeSyntax;
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

/// A file that was read.
enum ReadFile {
    Document(String, Box<LintedDocument>),
    Tests(FileResult),
}

pub(crate) fn validate(
    args: &ValidateArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let mut exit = Exit::Completed;
    let mut found = Vec::new();
    for file in &args.files {
        match read(file) {
            Ok(file) => found.push(file),
            Err(failure) => {
                failure.explain(terminal);
                exit = failure.exit();
            }
        }
    }
    if !args.no_code {
        check_code(&mut found, config, terminal);
    }
    let verdicts: Vec<FileResult> = found.into_iter().map(verdict).collect();
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

fn read(file: &Path) -> Result<ReadFile, Failure> {
    if files::is_test_file(file) {
        return tests_verdict(file).map(ReadFile::Tests);
    }
    let source = files::read(file)?;
    let file = file.display().to_string();
    let document = LintedDocument::to_validate(&file, &source);
    Ok(ReadFile::Document(file, Box::new(document)))
}

/// Adds the syntax errors of the code in all documents.
fn check_code(found: &mut [ReadFile], config: &Config, terminal: &mut Terminal) {
    let documents = found.iter_mut().filter_map(|file| match file {
        ReadFile::Document(_, document) => Some(&mut **document),
        ReadFile::Tests(_) => None,
    });
    let mut documents: Vec<&mut LintedDocument> = documents.collect();
    for note in CodeSyntax::new(config.python()).check(&mut documents) {
        terminal.say(format!("{note}, or use --no-code"));
    }
}

fn verdict(file: ReadFile) -> FileResult {
    match file {
        ReadFile::Tests(result) => result,
        ReadFile::Document(file, document) => {
            let problems = document.finish();
            let valid = problems.count(Severity::Error) == 0;
            let problems = Some(problems).filter(|problems| !problems.is_empty());
            FileResult { file, valid, problems }
        }
    }
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
