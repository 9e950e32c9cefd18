//! Tests of `init`, `diff` and `lsp`.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::sandbox::{Sandbox, await_end, eventually, signal};

#[test]
fn a_new_project_is_valid_formatted_tested_and_runs() {
    let sandbox = Sandbox::new();
    let ended = sandbox.noetl(&["init", "shop", "--name", "order"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let schemas = ["playbook.schema.json", "test.schema.json"];
    for file in ["order.yaml", "order.test.yaml", "noetl.toml", "README.md"].iter().chain(&schemas)
    {
        assert!(ended.stdout.contains(&format!("created shop/{file}")), "{}", ended.stdout);
    }
    assert!(ended.stderr.contains("cd shop && noetl test"), "{}", ended.stderr);
    for (file, schema) in ["order.yaml", "order.test.yaml"].iter().zip(schemas) {
        let text = std::fs::read_to_string(sandbox.path(&format!("shop/{file}"))).unwrap();
        assert!(text.starts_with(&format!("# yaml-language-server: $schema={schema}\n")), "{text}");
    }
    let of_tests = sandbox.json(&["schema", "test"]);
    assert_eq!(of_tests["$defs"]["test"]["required"], json!(["name"]));
    for command in
        [&["lint", "--deny-warnings", "shop"][..], &["fmt", "--check", "shop"], &["test", "shop"]]
    {
        let ended = sandbox.noetl(command);
        assert_eq!(ended.code, Some(0), "{command:?}: {}{}", ended.stdout, ended.stderr);
    }
    let ended = sandbox.noetl(&["run", "shop/order.yaml", "--set", "name=Ada"]);
    assert!(ended.stdout.contains("Hello, Ada!"), "{}{}", ended.stdout, ended.stderr);
}

/// The guide whose first steps a new user takes.
const GUIDE: &str = include_str!("../../../../docs/editors.md");

/// Returns the text of the first block of a language after a headline of the guide.
fn block<'g>(headline: &str, language: &str) -> &'g str {
    let (_, rest) = GUIDE.split_once(&format!("\n## {headline}\n")).expect("a headline");
    let (_, rest) = rest.split_once(&format!("```{language}\n")).expect("a block");
    rest.split_once("```").expect("the end of the block").0
}

#[test]
fn the_first_steps_of_the_guide_lead_to_a_schedule_that_a_server_runs() {
    let sandbox = Sandbox::new();
    let shop = sandbox.path("shop");
    let begin = |line: &str| {
        let args: Vec<&str> = line.split_whitespace().skip(1).collect();
        let mut command = sandbox.command(&args);
        // The first command creates the directory that the others run in.
        command.current_dir(if shop.is_dir() { shop.clone() } else { sandbox.path("") });
        command
    };
    let run = |line: &str| {
        let output = begin(line).output().expect("the binary runs");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
        let (printed, told) = (text(output.stdout), text(output.stderr));
        assert!(output.status.success(), "{line}: {printed}{told}");
        printed
    };
    for line in block("Begin a project", "sh").lines().filter(|line| !line.starts_with("cd ")) {
        let printed = run(line);
        assert!(!line.contains(" run ") || printed.contains("Hello, Ada!"), "{printed}");
    }
    run("noetl lint --deny-warnings");
    run("noetl fmt --check");
    // Every morning is too far away for a test.
    let schedule = block("Run it every morning", "yaml");
    let sooner = schedule.replace("  cron: \"0 7 * * mon-fri\"\n", "  every: 1s\n");
    let sooner = sooner.replace("  timezone: Europe/Berlin\n", "");
    assert_ne!(schedule, sooner);
    std::fs::write(shop.join("morning.yaml"), schedule).unwrap();
    run("noetl fmt --check");
    run("noetl register .");
    std::fs::write(shop.join("morning.yaml"), sooner).unwrap();
    for line in block("Run it every morning", "sh").lines().filter(|line| *line != "noetl server") {
        run(line);
    }
    let mut server = begin("noetl server --listen 127.0.0.1:0");
    let server = server.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let mut server = server.expect("the server starts");
    eventually("the schedule starts the playbook", || {
        let listed =
            begin("noetl executions list --output json").output().expect("the binary runs");
        let listed: Vec<Value> = serde_json::from_slice(&listed.stdout).unwrap_or_default();
        // The first execution is that of `noetl run`.
        listed.iter().filter(|it| it["status"] == "COMPLETED").count() > 1
    });
    signal(&server, "TERM");
    assert!(await_end(&mut server).success());
}

#[test]
fn test_files_are_formatted_with_the_documents() {
    let test = "tests:\n-   name: a # the first\n    mocks:   {}\n";
    let sandbox = Sandbox::new()
        .with("a.yaml", OLD)
        .with("a.test.yaml", test)
        .with("other.yaml", "services:   {}\n");
    let check = sandbox.noetl(&["fmt", "--check"]);
    assert_eq!(check.code, Some(1), "{}", check.stderr);
    assert!(check.stdout.contains("a.test.yaml"), "{}", check.stdout);
    assert!(!check.stdout.contains("other.yaml"), "{}", check.stdout);
    let ended = sandbox.noetl(&["fmt"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let text = std::fs::read_to_string(sandbox.path("a.test.yaml")).unwrap();
    assert!(text != test && text.contains("name: a # the first"), "{text}");
    assert_eq!(sandbox.noetl(&["fmt", "--check"]).code, Some(0));
}

#[test]
fn files_that_exist_are_kept() {
    let sandbox = Sandbox::new().with("README.md", "mine\n");
    let ended = sandbox.noetl(&["init"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stdout.contains("README.md"), "{}", ended.stdout);
    assert_eq!(std::fs::read_to_string(sandbox.path("README.md")).unwrap(), "mine\n");
    let again = sandbox.noetl(&["init"]);
    assert_eq!(again.code, Some(2), "{}", again.stdout);
    assert!(again.stderr.contains("greet.yaml exists already"), "{}", again.stderr);
    let second = sandbox.noetl(&["init", "--name", "second"]);
    assert_eq!(second.code, Some(0), "{}", second.stderr);
    let bad = sandbox.noetl(&["init", "--name", "../up"]);
    assert_eq!(bad.code, Some(2), "{}", bad.stdout);
}

const OLD: &str = "apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: a, path: a}
workflow:
  - step: start
    tool: {kind: http, url: 'http://a/'}
    next: end
  - step: end
    tool: {kind: noop}
";

#[test]
fn playbooks_are_compared_by_meaning() {
    let same = OLD.replace("next: end", "next: {arcs: [{step: end}]} # the end");
    let other =
        OLD.replace("http://a/", "http://b/").replace("kind: noop", "kind: noop, result: 1");
    let sandbox =
        Sandbox::new().with("old.yaml", OLD).with("same.yaml", &same).with("other.yaml", &other);
    let ended = sandbox.noetl(&["diff", "old.yaml", "same.yaml"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""), "{}", ended.stderr);
    let ended = sandbox.noetl(&["diff", "old.yaml", "other.yaml"]);
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert_eq!(
        ended.stdout,
        "~ step start › tool › url: \"http://a/\" → \"http://b/\"\n+ step end › tool › result: 1\n"
    );
    let ended = sandbox.noetl(&["diff", "old.yaml", "other.yaml", "--format", "json"]);
    let changes: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(
        changes[1],
        json!({ "path": ["steps", "end", "tool", "result"], "change": "added", "to": 1 })
    );
    sandbox.noetl(&["register", "old.yaml"]);
    sandbox.noetl(&["register", "other.yaml"]);
    let ended = sandbox.noetl(&["diff", "a@1", "a@2"]);
    assert_eq!(ended.stdout.lines().count(), 2, "{}{}", ended.stdout, ended.stderr);
}

#[test]
fn a_directory_is_served_registered_and_tested_on_every_change() {
    let sandbox = Sandbox::new();
    sandbox.noetl(&["init", "shop", "--name", "order"]);
    let mut command = sandbox.command(&["dev", "shop", "--no-browser", "--listen", "127.0.0.1:0"]);
    let mut server =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("noetl starts");
    let mut said = BufReader::new(server.stderr.take().expect("a pipe"));
    let mut await_line = |part: &str| {
        let mut seen = String::new();
        while !seen.contains(part) {
            assert!(said.read_line(&mut seen).expect("a line") > 0, "{part} is missing in {seen}");
        }
    };
    await_line("web interface: http://127.0.0.1:");
    await_line("order@1");
    await_line("waiting for a change");
    let file = sandbox.path("shop/order.yaml");
    let written = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, written.replace("step: end", "step: ende")).unwrap();
    await_line("order@2");
    std::fs::write(&file, written.replace("workload.name", "workload.nobody")).unwrap();
    await_line("order.yaml is not registered");
    await_line("waiting for a change");
    let ran = sandbox.noetl(&["run", "order", "--set", "name=Ada"]);
    assert!(ran.stdout.contains("Hello, Ada!"), "{}{}", ran.stdout, ran.stderr);
    signal(&server, "TERM");
    let mut tests = String::new();
    server.stdout.take().expect("a pipe").read_to_string(&mut tests).expect("text");
    assert!(tests.contains("3 passed"), "{tests}");
    assert!(await_end(&mut server).success());
}

#[test]
fn tests_run_again_when_a_file_changes() {
    let sandbox = Sandbox::new();
    sandbox.noetl(&["init", "shop", "--name", "order"]);
    let mut command = sandbox.command(&["test", "--watch", "shop"]);
    let mut runner =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("noetl starts");
    let mut said = BufReader::new(runner.stderr.take().expect("a pipe"));
    let mut await_run = || {
        let mut seen = String::new();
        while !seen.contains("waiting for a change") {
            assert!(said.read_line(&mut seen).expect("a line") > 0, "it ended: {seen}");
        }
    };
    await_run();
    let file = sandbox.path("shop/order.yaml");
    let written = std::fs::read_to_string(&file).unwrap();
    // A rename shows the new text at once.
    let save = |text: &str| {
        std::fs::write(sandbox.path("saved"), text).unwrap();
        std::fs::rename(sandbox.path("saved"), &file).unwrap();
    };
    save(&written.replace("| trim", "| upper"));
    await_run();
    save(&written);
    await_run();
    signal(&runner, "TERM");
    let mut printed = String::new();
    runner.stdout.take().expect("a pipe").read_to_string(&mut printed).expect("text");
    assert!(await_end(&mut runner).success(), "{printed}");
    let runs: Vec<&str> = printed.lines().filter(|line| line.ends_with(" s")).collect();
    let has_failed: Vec<bool> = runs.iter().map(|line| line.contains("failed")).collect();
    assert_eq!(has_failed, [false, true, false], "{printed}");
}

/// Returns a message of the protocol with its header.
fn framed(message: &Value) -> String {
    let body = message.to_string();
    format!("Content-Length: {}\r\n\r\n{body}", body.len())
}

/// A language server on pipes.
struct LanguageServer {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl LanguageServer {
    /// Starts a server and begins its session.
    fn start(sandbox: &Sandbox, arguments: &[&str]) -> Self {
        let arguments: Vec<&str> = ["lsp"].iter().chain(arguments).copied().collect();
        let mut command = sandbox.command(&arguments);
        let mut process =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("noetl starts");
        let input = process.stdin.take().expect("a pipe");
        let output = BufReader::new(process.stdout.take().expect("a pipe"));
        let mut server = Self { process, input, output };
        let answer = server.ask(1, "initialize", json!({ "capabilities": {} }));
        assert_eq!(answer["serverInfo"]["name"], "noetl");
        server.send(json!({ "jsonrpc": "2.0", "method": "initialized", "params": {} }));
        server
    }

    fn send(&mut self, message: Value) {
        self.input.write_all(framed(&message).as_bytes()).expect("a pipe");
    }

    fn receive(&mut self) -> Value {
        let mut length = 0;
        loop {
            let mut line = String::new();
            self.output.read_line(&mut line).expect("a header");
            match line.trim_end().strip_prefix("Content-Length: ") {
                Some(number) => length = number.parse().expect("a length"),
                None => break,
            }
        }
        let mut body = vec![0; length];
        self.output.read_exact(&mut body).expect("a body");
        serde_json::from_slice(&body).expect("JSON")
    }

    /// Opens a document and returns its diagnostics.
    fn open(&mut self, text: &str) -> Value {
        let document =
            json!({ "uri": "file:///a.yaml", "languageId": "yaml", "version": 1, "text": text });
        self.send(json!({ "jsonrpc": "2.0", "method": "textDocument/didOpen",
            "params": { "textDocument": document } }));
        self.receive()["params"]["diagnostics"].clone()
    }

    fn ask(&mut self, id: u32, method: &str, params: Value) -> Value {
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        let answer = self.receive();
        assert_eq!(answer["id"], id, "{answer}");
        answer["result"].clone()
    }

    /// Asks about the place behind a part of a text.
    fn ask_behind(&mut self, id: u32, method: &str, text: &str, part: &str) -> Value {
        let before = &text[..text.find(part).expect("the part") + part.len()];
        let line = before.matches('\n').count();
        let character = before.len() - before.rfind('\n').map_or(0, |at| at + 1);
        let position = json!({ "line": line, "character": character });
        let document = json!({ "uri": "file:///a.yaml" });
        self.ask(id, method, json!({ "textDocument": document, "position": position }))
    }

    fn end(mut self) {
        self.send(json!({ "jsonrpc": "2.0", "id": 99, "method": "shutdown" }));
        assert_eq!(self.receive()["id"], 99);
        self.send(json!({ "jsonrpc": "2.0", "method": "exit" }));
        assert!(self.process.wait().expect("the server ends").success());
    }
}

#[test]
fn the_language_server_speaks_on_standard_input_and_output() {
    let sandbox = Sandbox::new();
    let mut server = LanguageServer::start(&sandbox, &[]);
    let found = server.open(&OLD.replace("next: end", "next: ende"));
    assert_eq!(found[0]["code"], "unknown-step", "{found}");
    // There is no database: an editor works offline.
    let text = OLD.replace("url: 'http://a/'", "url: 'http://a/', auth: c");
    server.open(&text);
    let offered = server.ask_behind(3, "textDocument/completion", &text, "auth: c");
    assert_eq!(offered, json!([]));
    server.end();
}

const VALUES: &str = "apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: v, path: v}
workload: {city: Quito}
workflow:
  - step: start
    tool: {kind: noop, result: {city: '{{ workload.city }}', people: 3}}
    next: each
  - step: each
    loop: {in: '{{ start.people }}', iterator: n}
    tool: {kind: noop, result: '{{ n }} {{ start.city }}'}
    next: end
  - step: end
    tool: {kind: noop, result: '{{ each.results }}', auth: w}
    next: last
  - step: last
    tool: {kind: playbook, path: v}
    when: false
";

#[test]
fn the_editor_shows_names_of_the_database_and_values_of_an_execution() {
    let sandbox =
        Sandbox::new().with("v.yaml", VALUES).with("w.json", r#"{"token": "0123456789"}"#);
    for command in [
        &["run", "v.yaml", "--set", "city=Oslo"][..],
        &["credential", "set", "warehouse", "--type", "bearer", "--data", "@w.json"],
    ] {
        let ended = sandbox.noetl(command);
        assert_eq!(ended.code, Some(0), "{command:?}: {}{}", ended.stdout, ended.stderr);
    }
    let mut server = LanguageServer::start(&sandbox, &["--execution", "last"]);
    assert_eq!(server.open(VALUES), json!([]));
    let labels = |found: &Value| {
        let items = found.as_array().into_iter().flatten();
        items.filter_map(|it| Some(it["label"].as_str()?.to_owned())).collect::<Vec<_>>()
    };
    let offered = server.ask_behind(2, "textDocument/completion", VALUES, "auth: w");
    assert_eq!(labels(&offered), ["warehouse"]);
    let offered = server.ask_behind(3, "textDocument/completion", VALUES, "playbook, path: v");
    assert_eq!(labels(&offered), ["v"]);
    let mut id = 3;
    let mut shown = |part: &str| {
        id += 1;
        let found = server.ask_behind(id, "textDocument/hover", VALUES, part);
        found["contents"]["value"].as_str().unwrap_or_default().to_owned()
    };
    let city = shown("{{ workload.city");
    assert!(city.contains("`workload.city` in execution") && city.contains("\"Oslo\""), "{city}");
    let people = shown("'{{ start.people");
    assert!(people.contains("\n3\n"), "{people}");
    let item = shown("result: '{{ n");
    assert!(item.contains("\n2\n"), "the last item: {item}");
    let results = shown("{{ each.results");
    assert!(results.contains("\"1 Oslo\""), "{results}");
    server.end();
}

/// Runs the extension for VS Code in Node, if there is one, against this program.
#[test]
fn the_extension_for_vs_code_serves_an_editor() {
    let sandbox = Sandbox::new();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../editors/vscode/test/run.js");
    let mut node = Command::new("node");
    let sandboxed = sandbox.command(&[]);
    let variables = sandboxed.get_envs().filter_map(|(name, value)| Some((name, value?)));
    node.args([script, env!("CARGO_BIN_EXE_noetl")]).current_dir(sandbox.path(".")).envs(variables);
    let ended = match node.output() {
        Ok(ended) => ended,
        Err(error) => {
            eprintln!("not checked: Node cannot be started: {error}");
            return;
        }
    };
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{said}");
    let answers: Value = serde_json::from_slice(&ended.stdout).expect("JSON");
    let expected = json!({
        "found": [["unknown-step", 0, "noetl"]],
        "fixes": [["Change `ende` to `end`", "end"]],
        "fixed": 0,
        "offered": [["end", 17, "end"]],
        "hover": "**step `start`**\n\nruns noop\n\nleads to `end`",
        "defined": 7,
        "references": 2,
        "placeholder": "start",
        "renamed": ["begin", "begin"],
        "formatted": 0,
        "symbols": ["start", "end"],
    });
    assert_eq!(answers, expected);
}
