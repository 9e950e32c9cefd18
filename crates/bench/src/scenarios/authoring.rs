//! The tools for authors: linting a directory, running tests, and an editor's keystrokes.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

use super::ScenarioParameters;
use crate::numbers::{median, percentile};
use crate::process::binary;
use crate::sheet::{AcceptedRange, Sheet};

const FILES: u64 = 1000;
/// The steps of each of these files; the kinds of their tools alternate.
const STEPS: u64 = 8;
/// The number of test files, of ten tests each.
const TEST_FILES: u64 = 100;
const TESTS_EACH: u64 = 10;
/// The steps of the edited playbook, of five lines each.
const EDITED_STEPS: u64 = 200;
const KEYSTROKES: u64 = 200;
/// The largest accepted time for all files, in seconds.
const LINT_MAX: f64 = 2.0;
/// The largest accepted time for all tests, in seconds.
const TESTS_MAX: f64 = 3.0;
/// The largest accepted time between a keystroke and its answer, in milliseconds.
const KEYSTROKE_MAX: f64 = 50.0;

pub(super) async fn measure(setting: &ScenarioParameters<'_>) -> Result<Sheet> {
    let (setting, mut sheet) = (*setting, setting.sheet());
    let directory = setting.directory.to_owned();
    // Nothing here waits for a network: the programs are children with pipes.
    tokio::task::block_in_place(|| {
        lint(&setting, &directory.join("lint"), &mut sheet)?;
        tests(&setting, &directory.join("tests"), &mut sheet)?;
        keystrokes(&setting, &directory, &mut sheet)
    })?;
    Ok(sheet)
}

fn lint(setting: &ScenarioParameters<'_>, directory: &Path, sheet: &mut Sheet) -> Result<()> {
    fs::create_dir(directory)?;
    let files = setting.size.of(FILES);
    for number in 0..files {
        fs::write(directory.join(format!("p{number}.yaml")), playbook(number))?;
    }
    let directory = directory.to_str().context("the directory has a plain name")?;
    let text = run(&["lint", "--no-code", "--deny-warnings", directory])?;
    let all = run(&["lint", "--deny-warnings", directory])?;
    sheet.figure(format!("lint of {files} files without their code"), text.as_secs_f64(), "s");
    let goal = format!("lint of {files} files with their code, s");
    sheet.goal(goal, all.as_secs_f64(), AcceptedRange::AtMost(LINT_MAX));
    Ok(())
}

fn tests(setting: &ScenarioParameters<'_>, directory: &Path, sheet: &mut Sheet) -> Result<()> {
    fs::create_dir(directory)?;
    let files = setting.size.of(TEST_FILES);
    for number in 0..files {
        fs::write(directory.join(format!("p{number}.yaml")), playbook(number))?;
        fs::write(directory.join(format!("p{number}.test.yaml")), test_file())?;
    }
    let directory = directory.to_str().context("the directory has a plain name")?;
    let tests = files * TESTS_EACH;
    let took = run(&["test", directory])?;
    let goal = format!("{tests} tests of {files} playbooks, s");
    sheet.goal(goal, took.as_secs_f64(), AcceptedRange::AtMost(TESTS_MAX));
    Ok(())
}

/// Runs the measured binary and returns how long it took. It must succeed.
fn run(args: &[&str]) -> Result<Duration> {
    let begun = Instant::now();
    let output = Command::new(binary()?).args(args).output().context("start noetl")?;
    let took = begun.elapsed();
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "noetl {}: {said}", args.join(" "));
    Ok(took)
}

/// Returns a playbook with code of several languages and templates that read earlier steps.
fn playbook(number: u64) -> String {
    let mut text = format!(
        "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {{name: p{number}, path: bench/p{number}}}\n\
         inputs:\n  customer: {{type: integer, default: {number}}}\nworkflow:\n"
    );
    for step in 0..STEPS {
        let name = if step == 0 { "start".to_owned() } else { format!("s{step}") };
        let tool = match step % 4 {
            0 => "kind: http\n      url: 'http://x/{{ workload.customer }}'",
            1 => {
                "kind: python\n      code: |\n        total = sum(range(10))\n        result = {'total': total}"
            }
            2 => "kind: shell\n      command: echo {{ workload.customer | string | shell_quote }}",
            _ => {
                "kind: rhai\n      code: |\n        let total = 0; for n in 0..10 { total += n; } total"
            }
        };
        let next = if step + 1 == STEPS { "end".to_owned() } else { format!("s{}", step + 1) };
        writeln!(text, "  - step: {name}\n    tool:\n      {tool}\n    next:\n      arcs:\n        - step: {next}")
            .expect("a text grows");
    }
    text + "  - step: end\n    tool:\n      kind: noop\n      result: '{{ start.status_code }}'\n"
}

/// Returns tests in which every step of [`playbook`] is executed.
fn test_file() -> String {
    let mut text = "tests:\n".to_owned();
    for number in 0..TESTS_EACH {
        write!(
            text,
            "  - name: customer {number}\n    workload: {{customer: {number}}}\n    mocks:\n"
        )
        .expect("a text grows");
        text += "      start: {output: {status_code: 200}}\n";
        for step in 1..STEPS {
            writeln!(text, "      s{step}: {{output: {{}}}}").expect("a text grows");
        }
        text += "    expect:\n      output: 200\n";
    }
    text
}

fn keystrokes(setting: &ScenarioParameters<'_>, home: &Path, sheet: &mut Sheet) -> Result<()> {
    let mut server = LanguageServer::start(home)?;
    let mut text = edited_playbook();
    let lines = text.lines().count();
    server.open(&text)?;
    let line =
        text.lines().position(|line| line.contains("s100")).context("a line in the middle")?;
    let (mut diagnosed, mut completed) = (Vec::new(), Vec::new());
    for version in 1..=i32::try_from(setting.size.of(KEYSTROKES))? {
        // A letter more in the name of a variable in the middle of the text.
        let at = text.find("workload.n").context("a template")? + "workload.n".len();
        text.insert(at, 'n');
        let begun = Instant::now();
        server.change(&text, version + 1)?;
        diagnosed.push(begun.elapsed());
        let begun = Instant::now();
        server.complete(line)?;
        completed.push(begun.elapsed());
    }
    server.end()?;
    let millis = |duration: Duration| duration.as_secs_f64() * 1e3;
    sheet.figure(format!("diagnostics of {lines} lines, median"), millis(median(&diagnosed)), "ms");
    sheet.figure(format!("completion in {lines} lines, median"), millis(median(&completed)), "ms");
    for (what, times) in [("diagnostics of", diagnosed), ("completion in", completed)] {
        let goal = format!("{what} {lines} lines after a keystroke, p95, ms");
        sheet.goal(goal, millis(percentile(&times, 95)), AcceptedRange::AtMost(KEYSTROKE_MAX));
    }
    Ok(())
}

/// Returns a playbook of a thousand lines.
fn edited_playbook() -> String {
    let head = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: a, path: a}\nworkflow:\n";
    let mut text = head.to_owned();
    for number in 0..EDITED_STEPS {
        let name = if number == 0 { "start".to_owned() } else { format!("s{number}") };
        let next = (number + 1).min(EDITED_STEPS - 1);
        write!(
            text,
            "  - step: {name}\n    tool:\n      kind: http\n      url: 'http://x/{{{{ workload.n }}}}'\n    next: s{next}\n"
        )
        .expect("a text grows");
    }
    text
}

/// `noetl lsp` as an editor runs it.
struct LanguageServer {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    requests: i64,
}

const URI: &str = "file:///bench/a.yaml";

impl LanguageServer {
    fn start(home: &Path) -> Result<Self> {
        let mut process = Command::new(binary()?)
            .arg("lsp")
            .current_dir(home)
            .env("HOME", home)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("start noetl lsp")?;
        let input = process.stdin.take().context("it has an input")?;
        let output = BufReader::new(process.stdout.take().context("it has an output")?);
        let mut server = Self { process, input, output, requests: 0 };
        server.ask("initialize", &json!({ "capabilities": {} }))?;
        server.tell("initialized", &json!({}))?;
        Ok(server)
    }

    fn open(&mut self, text: &str) -> Result<()> {
        let document = json!({ "uri": URI, "languageId": "yaml", "version": 1, "text": text });
        self.tell("textDocument/didOpen", &json!({ "textDocument": document }))?;
        self.await_diagnostics(1)
    }

    /// Sends the text after a keystroke and waits for its diagnostics.
    fn change(&mut self, text: &str, version: i32) -> Result<()> {
        let document = json!({ "uri": URI, "version": version });
        let changes = json!([{ "text": text }]);
        let params = json!({ "textDocument": document, "contentChanges": changes });
        self.tell("textDocument/didChange", &params)?;
        self.await_diagnostics(version)
    }

    fn complete(&mut self, line: usize) -> Result<()> {
        let params = json!({
            "textDocument": { "uri": URI }, "position": { "line": line, "character": 6 },
        });
        let answer = self.ask("textDocument/completion", &params)?;
        ensure!(answer.get("result").is_some(), "no completion: {answer}");
        Ok(())
    }

    fn end(mut self) -> Result<()> {
        self.ask("shutdown", &Value::Null)?;
        self.tell("exit", &Value::Null)?;
        let status = self.process.wait()?;
        ensure!(status.success(), "noetl lsp ended as {status}");
        Ok(())
    }

    fn await_diagnostics(&mut self, version: i32) -> Result<()> {
        loop {
            let message = self.read()?;
            if message["method"] == "textDocument/publishDiagnostics"
                && message["params"]["version"] == version
            {
                return Ok(());
            }
        }
    }

    fn ask(&mut self, method: &str, params: &Value) -> Result<Value> {
        self.requests += 1;
        let id = self.requests;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        loop {
            let message = self.read()?;
            if message["id"] == id {
                return Ok(message);
            }
        }
    }

    fn tell(&mut self, method: &str, params: &Value) -> Result<()> {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }))
    }

    fn send(&mut self, message: &Value) -> Result<()> {
        let body = message.to_string();
        write!(self.input, "Content-Length: {}\r\n\r\n{body}", body.len())?;
        Ok(self.input.flush()?)
    }

    fn read(&mut self) -> Result<Value> {
        let mut length = None;
        loop {
            let mut line = String::new();
            if self.output.read_line(&mut line)? == 0 {
                bail!("noetl lsp has ended");
            }
            match line.trim_end().split_once(": ") {
                Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                    length = Some(value.parse()?);
                }
                Some(_) => {}
                None => break,
            }
        }
        let mut body = vec![0; length.context("a message has a length")?];
        self.output.read_exact(&mut body)?;
        Ok(serde_json::from_slice(&body)?)
    }
}

impl Drop for LanguageServer {
    fn drop(&mut self) {
        // It may have ended already.
        let _ended = self.process.kill();
        let _buried = self.process.wait();
    }
}
