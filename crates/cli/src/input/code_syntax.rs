//! The syntax of embedded code, checked without running it: Python in one process of the configured
//! interpreter, rhai in this process, shell commands with `sh -n` or `bash -n`.

use std::io::{self, Read as _, Write as _};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use noetl_playbook::{CodeFault, CodeLanguage, LintedDocument};
use noetl_tools::RhaiSyntax;
use serde::Deserialize;

/// The longest time that an interpreter checks code.
const CHECK_MAX: Duration = Duration::from_secs(20);

/// Reads a list of texts from standard input and prints a list of errors, one per text. A text may
/// return at its top level, as the code of a step may.
const PYTHON_CHECK: &str = r#"
import ast, json, sys, warnings
warnings.simplefilter("ignore")
def fault(text):
    try:
        tree = ast.parse(text)
        body = ast.parse("async def step(): pass").body[0]
        body.body = [it for it in tree.body if getattr(it, "module", "") != "__future__"] or body.body
        compile(ast.Module(body=[body], type_ignores=[]), "step", "exec", dont_inherit=True)
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
            CodeLanguage::Shell => texts.iter().map(|text| shell_fault("sh", text)).collect(),
            CodeLanguage::Bash => texts.iter().map(|text| shell_fault("bash", text)).collect(),
        }
    }

    /// Adds the syntax errors of all embedded code to documents. Returns a note for each language that
    /// cannot be checked.
    pub(crate) fn check(&self, documents: &mut [&mut LintedDocument]) -> Vec<String> {
        let mut notes = Vec::new();
        for language in CodeLanguage::ALL {
            let mut places = Vec::new();
            let mut texts = Vec::new();
            for (document, linted) in documents.iter().enumerate() {
                for (part, code) in linted.code().iter().enumerate() {
                    if code.language == language {
                        places.push((document, part));
                        texts.push(code.text.clone());
                    }
                }
            }
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            match self.faults(language, &texts) {
                Ok(faults) => {
                    for ((document, part), fault) in places.into_iter().zip(faults) {
                        if let Some(fault) = fault {
                            documents[document].add_fault(part, &fault);
                        }
                    }
                }
                Err(error) => notes.push(self.note(language, &error)),
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
    let printed = output_of(Command::new(python).args(["-I", "-c", PYTHON_CHECK]), &request)?;
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
    fn python_may_return_and_await_at_the_top() {
        let texts = [
            "x = 1\nreturn x",
            "from __future__ import annotations\nawait f()",
            "def f(:\n  pass",
            "x = 1\n  y = 2",
        ];
        let faults = python_faults("python3", &texts).unwrap();
        let lines: Vec<_> = faults.iter().map(|it| it.as_ref().map(|it| it.line)).collect();
        assert_eq!(lines, [None, None, Some(1), Some(2)]);
    }

    #[test]
    fn shell_commands_are_read_one_by_one() {
        let syntax = CodeSyntax::new("python3");
        let faults = syntax.faults(CodeLanguage::Shell, &["echo a", "if true"]).unwrap();
        assert_eq!((faults[0].is_none(), faults[1].is_some()), (true, true));
    }
}
