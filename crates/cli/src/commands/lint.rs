//! `noetl lint`: checks documents by all rules, with the code that they contain.

mod report;

use std::path::{Path, PathBuf};

use noetl_playbook::{LintLevels, LintedDocument, Problems, Severity, fixed};

use super::test;
use crate::args::{LintArgs, LintFormat};
use crate::config::Config;
use crate::input::code_syntax::CodeSyntax;
use crate::input::files;
use crate::show::failure::{Exit, Failure};
use crate::show::output::problems;
use crate::show::terminal::Terminal;

/// The most threads that check documents.
const THREADS_MAX: usize = 16;

/// A file with its checked document.
struct LintedFile {
    path: PathBuf,
    source: Vec<u8>,
    checked: LintedContent,
}

/// The findings about a file.
enum LintedContent {
    Document(Box<LintedDocument>),
    /// The findings about a test file, which has no code and no fixes; `None` if there are none.
    Tests(Option<Problems>),
}

pub(crate) fn lint(
    args: &LintArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let levels = args.level.iter().cloned().fold(config.lint_levels()?, LintLevels::with);
    let paths = files::documents(&args.paths)?;
    let mut linted = lint_all(&paths)?;
    let syntax = (!args.no_code).then(|| CodeSyntax::new(config.python()));
    if let Some(syntax) = &syntax {
        check_code(&mut linted, syntax, terminal);
    }
    let files = linted.len();
    let mut found = Vec::with_capacity(files);
    let mut fixes = 0;
    for file in linted {
        let LintedFile { path, source, checked } = file;
        let document = match checked {
            LintedContent::Document(document) => document,
            LintedContent::Tests(problems) => {
                found.extend(problems);
                continue;
            }
        };
        let mut problems = document.finish_at(&levels);
        if args.fix
            && let Some((text, count)) = fixed(&String::from_utf8_lossy(&source), &problems)
        {
            files::write(&path, &text)?;
            fixes += count;
            let mut again = LintedDocument::new(&path.display().to_string(), text.as_bytes());
            if let Some(syntax) = &syntax {
                say_notes(&syntax.check(&mut [&mut again]), terminal);
            }
            problems = again.finish_at(&levels);
        }
        found.push(problems);
    }
    show(args, &found, terminal)?;
    let count = |severity| found.iter().map(|problems| problems.count(severity)).sum::<usize>();
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    if args.format == LintFormat::Human {
        terminal.say(summary(files, errors, warnings, fixes));
    }
    let is_bad = errors > 0 || (args.deny_warnings && warnings > 0);
    Ok(if is_bad { Exit::Failed } else { Exit::Completed })
}

impl LintedFile {
    fn read(path: &Path) -> Result<Self, Failure> {
        let source = files::read(path)?;
        let checked = if files::is_test_file(path) {
            match test::load(path) {
                Ok(_) => LintedContent::Tests(None),
                Err(Failure::Invalid(problems)) => LintedContent::Tests(Some(problems)),
                Err(failure) => return Err(failure),
            }
        } else {
            let document = LintedDocument::new(&path.display().to_string(), &source);
            LintedContent::Document(Box::new(document))
        };
        Ok(Self { path: path.to_owned(), source, checked })
    }
}

/// Adds the syntax errors of all embedded code.
fn check_code(files: &mut [LintedFile], syntax: &CodeSyntax, terminal: &mut Terminal) {
    let documents = files.iter_mut().filter_map(|file| match &mut file.checked {
        LintedContent::Document(document) => Some(&mut **document),
        LintedContent::Tests(_) => None,
    });
    let mut documents: Vec<&mut LintedDocument> = documents.collect();
    say_notes(&syntax.check(&mut documents), terminal);
}

fn say_notes(notes: &[String], terminal: &mut Terminal) {
    notes.iter().for_each(|note| terminal.say(format!("{note}, or use --no-code")));
}

/// Checks all files, on several threads.
fn lint_all(paths: &[PathBuf]) -> Result<Vec<LintedFile>, Failure> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX);
    let share = paths.len().div_ceil(threads).max(1);
    let parts: Vec<Result<Vec<LintedFile>, Failure>> = std::thread::scope(|scope| {
        let running: Vec<_> = paths
            .chunks(share)
            .map(|part| scope.spawn(|| part.iter().map(|path| LintedFile::read(path)).collect()))
            .collect();
        let joined = running.into_iter().map(|thread| thread.join());
        joined.map(|part| part.expect("no check panics")).collect()
    });
    let parts: Result<Vec<Vec<LintedFile>>, Failure> = parts.into_iter().collect();
    Ok(parts?.into_iter().flatten().collect())
}

fn show(args: &LintArgs, found: &[Problems], terminal: &mut Terminal) -> Result<(), Failure> {
    match args.format {
        LintFormat::Human => {
            for problems in found.iter().filter(|problems| !problems.is_empty()) {
                let text = problems::render(problems, terminal.stdout_color);
                terminal.data(&text)?;
            }
        }
        LintFormat::Json => terminal.data(&report::json(found))?,
        LintFormat::Sarif => terminal.data(&report::sarif(found))?,
        LintFormat::Github => terminal.data(&report::github(found))?,
    }
    Ok(())
}

fn summary(files: usize, errors: usize, warnings: usize, fixes: usize) -> String {
    let plural = |count: usize, word: &str| match count {
        1 => format!("1 {word}"),
        count => format!("{count} {word}s"),
    };
    let fixed = match fixes {
        0 => String::new(),
        fixes => format!(", {} applied", plural(fixes, "fix").replace("fixs", "fixes")),
    };
    format!(
        "{}: {}, {}{fixed}",
        plural(files, "document"),
        plural(errors, "error"),
        plural(warnings, "warning")
    )
}
