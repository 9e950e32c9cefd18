//! The syntax of embedded code, checked without running it: Python in one process of the configured
//! interpreter, rhai in this process, shell commands with `sh -n` or `bash -n`.

use std::collections::{BTreeSet, HashMap};
use std::io::{self, Read as _, Write as _};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use noetl_playbook::{CodeFault, CodeLanguage, EmbeddedCode, LintedDocument};
use noetl_tools::{RhaiSyntax, python_compilation};
use serde::Deserialize;

/// The longest time that an interpreter checks code.
const CHECK_MAX: Duration = Duration::from_secs(20);
/// The most shells that run at once.
const THREADS_MAX: usize = 16;

/// The modules that compilation needs.
const PYTHON_MODULES: &str = "import ast, json, linecache, sys, types, warnings\nBODY = 'body'\n";
/// Reads a list of texts from standard input and prints a list of errors, one per text. Each is compiled
/// as the runner of steps does it.
const PYTHON_CHECK: &str = r#"
warnings.simplefilter("ignore")
def fault(text):
    try:
        compile_code(text, "step")
    except SyntaxError as error:
        return {"line": error.lineno or 1, "message": error.msg}
    except (ValueError, RecursionError) as error:
        return {"line": 1, "message": str(error)}
json.dump([fault(text) for text in json.load(sys.stdin)], sys.stdout)
"#;

/// An error as the script prints it.
#[derive(Deserialize)]
struct PythonFault {
    line: usize,
    message: String,
}

/// The interpreters that check code.
pub(crate) struct CodeSyntax {
    python: String,
    rhai: RhaiSyntax,
}

impl CodeSyntax {
    /// `python` is the program that checks Python.
    pub(crate) fn new(python: &str) -> Self {
        Self { python: python.to_owned(), rhai: RhaiSyntax::new() }
    }

    /// Returns the syntax error of each text, in order; `None` where there is none.
    pub(crate) fn faults(
        &self,
        language: CodeLanguage,
        texts: &[&str],
    ) -> io::Result<Vec<Option<CodeFault>>> {
        match language {
            CodeLanguage::Python => python_faults(&self.python, texts),
            CodeLanguage::Rhai => {
                let fault = |text: &&str| {
                    self.rhai.fault(text).map(|(line, message)| CodeFault { line, message })
                };
                Ok(texts.iter().map(fault).collect())
            }
            CodeLanguage::Shell => shell_faults("sh", texts),
            CodeLanguage::Bash => shell_faults("bash", texts),
        }
    }

    /// Adds the syntax errors of all embedded code to documents. Returns a note for each language that
    /// cannot be checked.
    pub(crate) fn check(&self, documents: &mut [&mut LintedDocument]) -> Vec<String> {
        let mut notes = Vec::new();
        for language in CodeLanguage::ALL {
            let of_language = |code: &&EmbeddedCode| code.language == language;
            let code = documents.iter().flat_map(|document| document.code());
            let texts: BTreeSet<&str> =
                code.filter(of_language).flat_map(|code| code.readings()).collect();
            let texts: Vec<&str> = texts.into_iter().collect();
            let faults = match self.faults(language, &texts) {
                Ok(faults) => faults,
                Err(error) => {
                    notes.push(self.note(language, &error));
                    continue;
                }
            };
            let texts = texts.into_iter().map(str::to_owned);
            let known: HashMap<String, Option<CodeFault>> = texts.zip(faults).collect();
            for document in documents.iter_mut() {
                document.add_faults(|code| {
                    let result = |text: &str| known.get(text).map(Option::as_ref);
                    of_language(&code).then(|| code.fault(result)).flatten()
                });
            }
        }
        notes
    }

    /// Returns the message that code of a language cannot be checked.
    pub(crate) fn note(&self, language: CodeLanguage, error: &io::Error) -> String {
        match language {
            CodeLanguage::Python => {
                let python = &self.python;
                format!("cannot check Python code with {python}: {error}; set `tools.python`")
            }
            CodeLanguage::Rhai => format!("cannot check rhai code: {error}"),
            CodeLanguage::Shell => format!("cannot check shell commands with sh: {error}"),
            CodeLanguage::Bash => format!("cannot check shell commands with bash: {error}"),
        }
    }
}

fn python_faults(python: &str, texts: &[&str]) -> io::Result<Vec<Option<CodeFault>>> {
    if texts.is_empty() {
        return Ok(Vec::new());
    }
    let request = serde_json::to_vec(texts).map_err(io::Error::other)?;
    let program = [PYTHON_MODULES, python_compilation(), PYTHON_CHECK].concat();
    let printed = output_of(Command::new(python).args(["-I", "-c", &program]), &request)?;
    if !printed.status.success() {
        let told = String::from_utf8_lossy(&printed.stderr);
        let last = told.lines().last().unwrap_or("it failed").to_owned();
        return Err(io::Error::other(last));
    }
    let found: Vec<Option<PythonFault>> =
        serde_json::from_slice(&printed.stdout).map_err(io::Error::other)?;
    let fault = |PythonFault { line, message }| CodeFault { line, message };
    Ok(found.into_iter().map(|found| found.map(fault)).collect())
}

/// Starts one process per text, several at a time.
fn shell_faults(shell: &str, texts: &[&str]) -> io::Result<Vec<Option<CodeFault>>> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX);
    let share = texts.len().div_ceil(threads).max(1);
    let parts: Vec<io::Result<Vec<Option<CodeFault>>>> = std::thread::scope(|scope| {
        let check = |part: &[&str]| part.iter().map(|text| shell_fault(shell, text)).collect();
        let parts = texts.chunks(share);
        let running: Vec<_> = parts.map(|part| scope.spawn(move || check(part))).collect();
        let joined = running.into_iter().map(|thread| thread.join());
        joined.map(|part| part.expect("no check panics")).collect()
    });
    let parts: io::Result<Vec<Vec<Option<CodeFault>>>> = parts.into_iter().collect();
    Ok(parts?.into_iter().flatten().collect())
}

fn shell_fault(shell: &str, text: &str) -> io::Result<Option<CodeFault>> {
    let printed = output_of(Command::new(shell).arg("-n"), text.as_bytes())?;
    if printed.status.success() {
        return Ok(None);
    }
    let told = String::from_utf8_lossy(&printed.stderr);
    Ok(Some(told_fault(told.lines().next().unwrap_or_default())))
}

/// Reads the first line that a shell prints about an error: `sh: 2: Syntax error: …` or
/// `sh: line 2: syntax error …`.
fn told_fault(told: &str) -> CodeFault {
    let mut parts = told.splitn(3, ": ");
    let (_, place, message) = (parts.next(), parts.next(), parts.next());
    let line = place.and_then(|place| place.trim_start_matches("line ").parse().ok());
    match (line, message) {
        (Some(line), Some(message)) => CodeFault { line, message: message.to_owned() },
        (Some(_) | None, _) => CodeFault { line: 1, message: told.to_owned() },
    }
}

/// Runs a program on an input; ends it if it takes too long.
fn output_of(command: &mut Command, input: &[u8]) -> io::Result<Output> {
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn()?;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (ended, waited) = channel();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            // A program that ends early has its reason in its output.
            let _unread = stdin.map(|mut stdin| stdin.write_all(input));
        });
        let told = scope.spawn(move || {
            let mut told = Vec::new();
            stderr.map_or(Ok(0), |mut stderr| stderr.read_to_end(&mut told)).map(|_| told)
        });
        let printed = scope.spawn(move || {
            let mut printed = Vec::new();
            let read = stdout.map_or(Ok(0), |mut stdout| stdout.read_to_end(&mut printed));
            let _not_awaited = ended.send(());
            read.map(|_| printed)
        });
        let is_late = waited.recv_timeout(CHECK_MAX).is_err();
        if is_late {
            child.kill()?;
        }
        let status = child.wait()?;
        let joined = |thread: std::thread::ScopedJoinHandle<'_, io::Result<Vec<u8>>>| {
            thread.join().expect("reading does not panic")
        };
        let (stdout, stderr) = (joined(printed)?, joined(told)?);
        if is_late {
            let limit = CHECK_MAX.as_secs();
            return Err(io::Error::new(
                io::ErrorKind::TimedOut,
                format!("it did not end within {limit} s"),
            ));
        }
        Ok(Output { status, stdout, stderr })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_a_shell_is_found() {
        let fault = told_fault("sh: 2: Syntax error: end of file unexpected (expecting \"done\")");
        assert_eq!((fault.line, fault.message.starts_with("Syntax error")), (2, true));
        assert_eq!(told_fault("sh: line 7: syntax error near `x'").line, 7);
        assert_eq!(told_fault("nonsense").line, 1);
    }

    #[test]
    fn python_is_compiled_as_a_step_compiles_it() {
        let texts = [
            ("x = 1\nreturn x", None),
            ("from __future__ import annotations\nx = 1\nreturn x", None),
            ("from math import *\nresult = sqrt(4)", None),
            ("async def main():\n  await f()", None),
            ("x = 1\nawait f()", Some(2)),
            ("nonlocal x", Some(1)),
            ("from math import *\nreturn sqrt(4)", Some(1)),
            ("def f(:\n  pass", Some(1)),
            ("x = 1\n  y = 2", Some(2)),
            ("break", Some(1)),
        ];
        let faults = python_faults("python3", &texts.map(|(text, _)| text)).unwrap();
        for ((text, line), fault) in texts.into_iter().zip(faults) {
            assert_eq!(fault.map(|fault| fault.line), line, "{text}");
        }
    }

    #[test]
    fn shell_commands_are_read_one_by_one() {
        let syntax = CodeSyntax::new("python3");
        let faults = syntax.faults(CodeLanguage::Shell, &["echo a", "if true"]).unwrap();
        assert_eq!((faults[0].is_none(), faults[1].is_some()), (true, true));
    }
}
