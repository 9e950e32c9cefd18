//! Tests of `init`, `diff` and `lsp`.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::sandbox::{Sandbox, await_end, signal};

#[test]
fn a_new_project_is_valid_formatted_tested_and_runs() {
    let sandbox = Sandbox::new();
    let ended = sandbox.noetl(&["init", "shop", "--name", "order"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    for file in ["order.yaml", "order.test.yaml", "playbook.schema.json", "noetl.toml", "README.md"]
    {
        assert!(ended.stdout.contains(&format!("created shop/{file}")), "{}", ended.stdout);
    }
    assert!(ended.stderr.contains("cd shop && noetl test"), "{}", ended.stderr);
    for command in
        [&["lint", "--deny-warnings", "shop"][..], &["fmt", "--check", "shop"], &["test", "shop"]]
    {
        let ended = sandbox.noetl(command);
        assert_eq!(ended.code, Some(0), "{command:?}: {}{}", ended.stdout, ended.stderr);
    }
    let ended = sandbox.noetl(&["run", "shop/order.yaml", "--set", "name=Ada"]);
    assert!(ended.stdout.contains("Hello, Ada!"), "{}{}", ended.stdout, ended.stderr);
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

/// Returns a message of the protocol with its header.
fn framed(message: &Value) -> String {
    let body = message.to_string();
    format!("Content-Length: {}\r\n\r\n{body}", body.len())
}

#[test]
fn the_language_server_speaks_on_standard_input_and_output() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command(&["lsp"]);
    let mut server =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("noetl starts");
    let mut input = server.stdin.take().expect("a pipe");
    let mut output = BufReader::new(server.stdout.take().expect("a pipe"));
    let mut receive = || {
        let mut length = 0;
        loop {
            let mut line = String::new();
            output.read_line(&mut line).expect("a header");
            match line.trim_end().strip_prefix("Content-Length: ") {
                Some(number) => length = number.parse().expect("a length"),
                None => break,
            }
        }
        let mut body = vec![0; length];
        output.read_exact(&mut body).expect("a body");
        serde_json::from_slice::<Value>(&body).expect("JSON")
    };
    let mut send = |message: Value| input.write_all(framed(&message).as_bytes()).expect("a pipe");
    send(
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": { "capabilities": {} } }),
    );
    assert_eq!(receive()["result"]["serverInfo"]["name"], "noetl");
    send(json!({ "jsonrpc": "2.0", "method": "initialized", "params": {} }));
    let document = json!({ "uri": "file:///a.yaml", "languageId": "yaml", "version": 1,
        "text": OLD.replace("next: end", "next: ende") });
    send(json!({ "jsonrpc": "2.0", "method": "textDocument/didOpen",
        "params": { "textDocument": document } }));
    let published = receive();
    assert_eq!(published["params"]["diagnostics"][0]["code"], "unknown-step", "{published}");
    send(json!({ "jsonrpc": "2.0", "id": 2, "method": "shutdown" }));
    assert_eq!(receive()["id"], 2);
    send(json!({ "jsonrpc": "2.0", "method": "exit" }));
    assert!(server.wait().expect("the server ends").success());
}
