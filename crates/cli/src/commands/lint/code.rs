//! Checks the syntax of embedded code without running it: Python in one process of the configured
//! interpreter, rhai in this process, shell commands with `sh -n`.

use std::io::{self, Write as _};
use std::process::{Command, Stdio};

use noetl_playbook::{CodeFault, CodeLanguage};
use noetl_tools::RhaiSyntax;
use serde::Deserialize;

use super::LintedFile;
use crate::show::terminal::Terminal;

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

/// A part of a file: the index of the file, and of the part in its document.
type PartIndex = (usize, usize);

/// Adds the syntax errors of all embedded code to the documents.
pub(super) fn check(files: &mut [LintedFile], python: &str, terminal: &mut Terminal) {
    let of = |language: CodeLanguage, files: &[LintedFile]| -> Vec<(PartIndex, String)> {
        let parts = files.iter().enumerate().flat_map(|(file, linted)| {
            let parts = linted.document.code().iter().enumerate();
            parts
                .filter(move |(_, code)| code.language == language)
                .map(move |(part, code)| ((file, part), code.text.clone()))
        });
        parts.collect()
    };
    let mut faults: Vec<(PartIndex, CodeFault)> = Vec::new();
    let parts = of(CodeLanguage::Python, files);
    match python_faults(python, &parts) {
        Ok(found) => faults.extend(found),
        Err(error) => {
            terminal.say(format!(
                "cannot check Python code with {python}: {error}; set `tools.python`, or use --no-code"
            ));
        }
    }
    let rhai = RhaiSyntax::new();
    for (part, text) in of(CodeLanguage::Rhai, files) {
        let fault = rhai.fault(&text);
        faults.extend(fault.map(|(line, message)| (part, CodeFault { line, message })));
    }
    for (part, text) in of(CodeLanguage::Shell, files) {
        match shell_fault(&text) {
            Ok(fault) => faults.extend(fault.map(|fault| (part, fault))),
            Err(error) => {
                terminal.say(format!("cannot check shell commands with sh: {error}"));
                break;
            }
        }
    }
    for ((file, part), fault) in faults {
        files[file].document.add_fault(part, &fault);
    }
}

fn python_faults(
    python: &str,
    parts: &[(PartIndex, String)],
) -> io::Result<Vec<(PartIndex, CodeFault)>> {
    if parts.is_empty() {
        return Ok(Vec::new());
    }
    let texts: Vec<&str> = parts.iter().map(|(_, text)| text.as_str()).collect();
    let request = serde_json::to_vec(&texts).map_err(io::Error::other)?;
    let printed = output_of(Command::new(python).args(["-I", "-c", PYTHON_CHECK]), &request)?;
    if !printed.status.success() {
        let told = String::from_utf8_lossy(&printed.stderr);
        let last = told.lines().last().unwrap_or("it failed").to_owned();
        return Err(io::Error::other(last));
    }
    let found: Vec<Option<PythonFault>> =
        serde_json::from_slice(&printed.stdout).map_err(io::Error::other)?;
    let faults = parts.iter().zip(found).filter_map(|((part, _), fault)| {
        let PythonFault { line, message } = fault?;
        Some((*part, CodeFault { line, message }))
    });
    Ok(faults.collect())
}

fn shell_fault(text: &str) -> io::Result<Option<CodeFault>> {
    let printed = output_of(Command::new("sh").arg("-n"), text.as_bytes())?;
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

/// Runs a program that reads all of its input before it prints.
fn output_of(command: &mut Command, input: &[u8]) -> io::Result<std::process::Output> {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that ends early has its reason in its output.
        let _unread = stdin.write_all(input);
    }
    child.wait_with_output()
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
        let parts = [
            ((0, 0), "x = 1\nreturn x".to_owned()),
            ((0, 1), "from __future__ import annotations\nawait f()".to_owned()),
            ((0, 2), "def f(:\n  pass".to_owned()),
            ((0, 3), "x = 1\n  y = 2".to_owned()),
        ];
        let faults = python_faults("python3", &parts).unwrap();
        let lines: Vec<_> = faults.iter().map(|(part, fault)| (part.1, fault.line)).collect();
        assert_eq!(lines, [(2, 1), (3, 2)]);
    }
}
