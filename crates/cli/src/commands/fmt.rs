//! `noetl fmt`: formats documents and test files without changing their values or comments.

use std::io::Read as _;
use std::path::Path;

use anyhow::anyhow;
use noetl_playbook::{FormatError, format_document};

use crate::args::FmtArgs;
use crate::input::files;
use crate::show::failure::{Exit, Failure};
use crate::show::terminal::Terminal;

/// The most bytes of standard input.
const STDIN_BYTES_MAX: u64 = 4 << 20;

pub(crate) fn fmt(args: &FmtArgs, terminal: &mut Terminal) -> Result<Exit, Failure> {
    if args.stdin {
        return from_stdin(terminal);
    }
    let (mut changed, mut exit) = (0, Exit::Completed);
    let paths = files::documents_and_tests(&args.paths)?;
    for path in &paths {
        let text = match formatted(path) {
            Ok(Some(text)) => text,
            Ok(None) => continue,
            Err(failure) => {
                failure.explain(terminal);
                exit = Exit::BadInput;
                continue;
            }
        };
        if !args.check {
            files::write(path, &text)?;
        }
        changed += 1;
        terminal.data(&format!("{}\n", path.display()))?;
    }
    let verb = if args.check { "not formatted" } else { "formatted" };
    terminal.say(format!("{changed} of {} {verb}", paths.len()));
    Ok(match exit {
        Exit::Completed if args.check && changed > 0 => Exit::Failed,
        exit => exit,
    })
}

/// Returns the formatted text of a file; `None` if it is formatted already.
fn formatted(path: &Path) -> Result<Option<String>, Failure> {
    let text = String::from_utf8(files::read(path)?)
        .map_err(|_| Failure::bad_input(anyhow!("{} is not UTF-8 text", path.display())))?;
    let formatted = format(&path.display().to_string(), &text)?;
    Ok((formatted != text).then_some(formatted))
}

fn format(name: &str, text: &str) -> Result<String, Failure> {
    format_document(name, text).map_err(|error| match error {
        FormatError::NotYaml(problems) => Failure::Invalid(*problems),
        FormatError::WouldChange => {
            Failure::bad_input(anyhow::Error::new(error).context(name.to_owned()))
        }
    })
}

fn from_stdin(terminal: &mut Terminal) -> Result<Exit, Failure> {
    let mut text = String::new();
    std::io::stdin().take(STDIN_BYTES_MAX).read_to_string(&mut text)?;
    terminal.file(&format("standard input", &text)?)?;
    Ok(Exit::Completed)
}
