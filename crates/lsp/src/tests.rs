//! Sessions of an editor with the server, message by message.

use std::sync::mpsc::Receiver;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use expect_test::{Expect, expect};
use lsp_server::{Connection, Message, Notification, Request};
use noetl_playbook::editing::{OutsideName, TemplatePath};
use noetl_playbook::{CodeFault, CodeLanguage, Diagnostic, LintLevels, parse, parse_test_file};
use serde_json::{Value, json};

use crate::{
    BackgroundChecks, EditedTest, EditorContext, EditorServices, OfflineContext, ServeError, serve,
};

const URI: &str = "file:///greet.yaml";
/// The longest wait for a message of the server.
const WAIT_MAX: Duration = Duration::from_secs(30);

const PLAYBOOK: &str = r#"apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: größe😀, path: greet}
workload: {city: Paris}
workflow:
  - step: start
    tool: {kind: http, url: "http://127.0.0.1/{{ workload.city }}"}
    next: end
  - step: end
    tool: {kind: noop, result: "{{ start.status_code }}"}
"#;

/// An editor with one open document.
struct Editor {
    connection: Connection,
    server: JoinHandle<Result<(), ServeError>>,
    last_id: i32,
}

impl Editor {
    fn start(context: Box<dyn EditorContext>) -> Self {
        Self::start_with(EditorServices {
            context,
            checks: None,
            read_file: |_| None,
            levels: LintLevels::default(),
        })
    }

    fn start_with(services: EditorServices) -> Self {
        let (server, connection) = Connection::memory();
        let server = std::thread::spawn(move || serve(&server, services));
        let mut editor = Self { connection, server, last_id: 0 };
        let initialized = editor.ask("initialize", json!({ "capabilities": {} }));
        assert_eq!(initialized["serverInfo"]["name"], "noetl");
        editor.tell("initialized", json!({}));
        editor
    }

    /// Opens a document and returns its diagnostics.
    fn open(text: &str) -> (Self, Value) {
        Self::open_in(Box::new(OfflineContext), text)
    }

    fn open_in(context: Box<dyn EditorContext>, text: &str) -> (Self, Value) {
        let editor = Self::start(context);
        let found = editor.open_at(URI, text);
        (editor, found)
    }

    /// Opens another document and returns its first diagnostics.
    fn open_at(&self, uri: &str, text: &str) -> Value {
        let document = json!({ "uri": uri, "languageId": "yaml", "version": 1, "text": text });
        self.tell("textDocument/didOpen", json!({ "textDocument": document }));
        self.published()["diagnostics"].clone()
    }

    fn tell(&self, method: &str, params: Value) {
        let message = Notification { method: method.to_owned(), params };
        self.connection.sender.send(message.into()).expect("the server listens");
    }

    fn next(&self) -> Message {
        self.connection.receiver.recv_timeout(WAIT_MAX).expect("the server answers")
    }

    fn published(&self) -> Value {
        match self.next() {
            Message::Notification(it) if it.method == "textDocument/publishDiagnostics" => {
                it.params
            }
            other => panic!("{other:?}"),
        }
    }

    /// Sends a request and returns its result, or its error.
    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.last_id += 1;
        let request = Request { id: self.last_id.into(), method: method.to_owned(), params };
        self.connection.sender.send(request.into()).expect("the server listens");
        match self.next() {
            Message::Response(response) => {
                assert_eq!(response.id, self.last_id.into());
                let written = serde_json::to_value(&response).expect("JSON");
                let error = written.get("error").map(|error| json!({ "error": error["message"] }));
                error.or_else(|| written.get("result").cloned()).unwrap_or(Value::Null)
            }
            other => panic!("{other:?}"),
        }
    }

    /// Sends a request about a position of the document.
    fn ask_at(&mut self, method: &str, (line, character): (u32, u32), more: Value) -> Value {
        let mut params = json!({
            "textDocument": { "uri": URI },
            "position": { "line": line, "character": character },
        });
        let params_of = params.as_object_mut().expect("a map");
        params_of.extend(more.as_object().cloned().unwrap_or_default());
        self.ask(method, params)
    }

    fn end(mut self) {
        assert_eq!(self.ask("shutdown", Value::Null), Value::Null);
        self.tell("exit", Value::Null);
        self.server.join().expect("no panic").expect("the session ends");
    }
}

#[track_caller]
fn check(found: &Value, expected: Expect) {
    expected.assert_eq(&found.to_string());
}

fn labels(items: &Value) -> Vec<&str> {
    items.as_array().into_iter().flatten().filter_map(|it| it["label"].as_str()).collect()
}

#[test]
fn diagnostics_follow_the_text() {
    let (editor, found) = Editor::open(&PLAYBOOK.replace("workload.city", "workload.citi"));
    check(
        &found,
        expect![[
            r#"[{"range":{"start":{"line":6,"character":49},"end":{"line":6,"character":62}},"severity":2,"code":"unknown-name","source":"noetl","message":"`workload` has no `citi`; only a start could give it\nhelp: did you mean `workload.city`?"}]"#
        ]],
    );
    let change = |version: i32, text: &str| {
        editor.tell(
            "textDocument/didChange",
            json!({
                "textDocument": { "uri": URI, "version": version },
                "contentChanges": [{ "text": text }],
            }),
        );
        editor.published()
    };
    let right = change(2, PLAYBOOK);
    assert_eq!((&right["diagnostics"], &right["version"]), (&json!([]), &json!(2)));
    assert_eq!(change(3, "services: {web: {image: nginx}}\n")["diagnostics"], json!([]));
    editor.tell("textDocument/didClose", json!({ "textDocument": { "uri": URI } }));
    assert_eq!(editor.published()["diagnostics"], json!([]));
    editor.end();
}

#[test]
fn the_severities_of_the_project_hold_in_the_editor() {
    let text = PLAYBOOK.replace("noetl.io/v2", "noetl.io/v10");
    for (levels, expected) in
        [("", json!([2])), ("api-version=error", json!([1])), ("api-version=off", json!([]))]
    {
        let editor = Editor::start_with(EditorServices {
            context: Box::new(OfflineContext),
            checks: None,
            read_file: |_| None,
            levels: levels.parse().expect("levels"),
        });
        let found = editor.open_at(URI, &text);
        let severities = found.as_array().into_iter().flatten().map(|it| it["severity"].clone());
        assert_eq!(severities.collect::<Value>(), expected, "{levels}: {found}");
        editor.end();
    }
}

#[test]
fn keys_steps_variables_and_filters_are_completed() {
    let (mut editor, _) = Editor::open(PLAYBOOK);
    let mut complete = |at| editor.ask_at("textDocument/completion", at, json!({}));
    let steps = complete((7, 11));
    assert_eq!(labels(&steps), ["end"]);
    check(
        &steps[0],
        expect![[
            r#"{"label":"end","kind":18,"sortText":"0000","textEdit":{"range":{"start":{"line":7,"character":10},"end":{"line":7,"character":13}},"newText":"end"}}"#
        ]],
    );
    assert_eq!(labels(&complete((6, 53))), ["workload"]);
    assert_eq!(labels(&complete((9, 43))), ["status", "status_code", "_store"]);
    assert_eq!(labels(&complete((4, 4)))[0], "workflow");
    assert!(labels(&complete((999, 999))).contains(&"executor"), "keys at the end of the text");
    editor.end();
    let (mut editor, _) = Editor::open(&PLAYBOOK.replace("{{ start.", "{{ start | shell"));
    let found = editor.ask_at("textDocument/completion", (9, 48), json!({}));
    assert_eq!(labels(&found), ["shell_quote"]);
    editor.end();
    // Neither a mistake elsewhere nor a text that is not YAML hides the variables.
    for (part, mistake) in [("next: end", "next: ende"), ("metadata: {", "metadata: [{")] {
        let (mut editor, found) = Editor::open(&PLAYBOOK.replace(part, mistake));
        assert_ne!(found, json!([]));
        let found = editor.ask_at("textDocument/completion", (6, 62), json!({}));
        assert_eq!(labels(&found), ["city"], "{mistake}");
        editor.end();
    }
}

#[test]
fn a_step_is_explained_found_and_renamed() {
    let (mut editor, _) = Editor::open(PLAYBOOK);
    let template = (9, 36);
    check(
        &editor.ask_at("textDocument/hover", template, json!({})),
        expect![[
            r#"{"contents":{"kind":"markdown","value":"**step `start`**\n\nruns http\n\nleads to `end`"},"range":{"start":{"line":9,"character":35},"end":{"line":9,"character":40}}}"#
        ]],
    );
    check(
        &editor.ask_at("textDocument/definition", template, json!({})),
        expect![[
            r#"{"uri":"file:///greet.yaml","range":{"start":{"line":5,"character":10},"end":{"line":5,"character":15}}}"#
        ]],
    );
    let context = json!({ "context": { "includeDeclaration": true } });
    let places = editor.ask_at("textDocument/references", (5, 12), context);
    assert_eq!(places.as_array().map(Vec::len), Some(2));
    check(
        &editor.ask_at("textDocument/prepareRename", (5, 12), json!({})),
        expect![[
            r#"{"range":{"start":{"line":5,"character":10},"end":{"line":5,"character":15}},"placeholder":"start"}"#
        ]],
    );
    let name = json!({ "newName": "fetch" });
    check(
        &editor.ask_at("textDocument/rename", (5, 12), name),
        expect![[
            r#"{"changes":{"file:///greet.yaml":[{"range":{"start":{"line":5,"character":10},"end":{"line":5,"character":15}},"newText":"fetch"},{"range":{"start":{"line":9,"character":35},"end":{"line":9,"character":40}},"newText":"fetch"}]}}"#
        ]],
    );
    let taken = json!({ "newName": "end" });
    check(
        &editor.ask_at("textDocument/rename", (5, 12), taken),
        expect![[r#"{"error":"the playbook has a step `end` already"}"#]],
    );
    let symbols =
        editor.ask("textDocument/documentSymbol", json!({ "textDocument": { "uri": URI } }));
    let names = symbols.as_array().into_iter().flatten().filter_map(|it| it["name"].as_str());
    assert_eq!(names.collect::<Vec<_>>(), ["start", "end"]);
    assert_eq!(editor.ask_at("textDocument/definition", (0, 0), json!({})), Value::Null);
    editor.end();
}

/// A context that answers a request about names only after it was told to.
struct SlowContext {
    go_on: Receiver<()>,
}

impl EditorContext for SlowContext {
    fn names(&mut self, kind: OutsideName) -> Vec<String> {
        self.go_on.recv().expect("the test tells it to go on");
        match kind {
            OutsideName::Credential => vec!["crm".to_owned(), "warehouse".to_owned()],
            OutsideName::Playbook => vec!["demo/greet".to_owned(), "shop/order".to_owned()],
        }
    }

    fn has_values(&self) -> bool {
        true
    }

    fn value(&mut self, path: &TemplatePath) -> Option<String> {
        let step = path.step.as_deref().unwrap_or("the start");
        (path.path != "nothing").then(|| format!("value of {} in {step}", path.path))
    }
}

const NAMES: &str = "apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: a, path: a}
workflow:
  - step: start
    tool: {kind: http, url: 'http://x/', auth: c}
    next: end
  - step: end
    tool:
      kind: playbook
      path: shop/
";

#[test]
fn names_of_the_context_are_completed_and_delay_nothing_else() {
    let (go_on, told) = std::sync::mpsc::channel();
    let (mut editor, _) = Editor::open_in(Box::new(SlowContext { go_on: told }), NAMES);
    let place = json!({
        "textDocument": { "uri": URI }, "position": { "line": 5, "character": 48 },
    });
    let request = Request::new(77.into(), "textDocument/completion".to_owned(), place);
    editor.connection.sender.send(request.into()).expect("the server listens");
    // The names are still on their way while another request is answered.
    assert_ne!(editor.ask_at("textDocument/definition", (6, 11), json!({})), Value::Null);
    go_on.send(()).expect("the context waits");
    let Message::Response(answer) = editor.next() else { panic!("an answer") };
    assert_eq!(answer.id, 77.into());
    assert_eq!(labels(&json!(answer)["result"]), ["crm"]);
    go_on.send(()).expect("the context waits");
    let found = editor.ask_at("textDocument/completion", (10, 17), json!({}));
    assert_eq!(labels(&found), ["shop/order"]);
    editor.end();
}

#[test]
fn the_value_of_a_variable_is_shown() {
    let (_, told) = std::sync::mpsc::channel();
    let (mut editor, _) = Editor::open_in(Box::new(SlowContext { go_on: told }), PLAYBOOK);
    let mut shown = |at| {
        let found = editor.ask_at("textDocument/hover", at, json!({}));
        found["contents"]["value"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(shown((6, 62)), "value of workload.city in start");
    assert_eq!(
        shown((6, 51)),
        "**`workload`**\n\nThe parameters of the execution.\n\nvalue of workload in start"
    );
    assert_eq!(shown((9, 45)), "value of start.status_code in end");
    assert_eq!(
        shown((9, 36)),
        "**step `start`**\n\nruns http\n\nleads to `end`\n\nvalue of start in end"
    );
    assert_eq!(shown((1, 2)), "**`kind`** (required)\n\nKind of the document.");
    editor.end();
}

#[test]
fn fixes_and_formatting_are_offered() {
    let old = "apiVersion: noetl.io/v10\nkind: Playbook\nmetadata: {name: a, path: a}\nworkflow:\n    - step: start\n      tool:\n        kind: shell\n        command: echo\n";
    let (mut editor, found) = Editor::open(old);
    check(
        &found,
        expect![[
            r#"[{"range":{"start":{"line":0,"character":12},"end":{"line":0,"character":24}},"severity":2,"code":"api-version","source":"noetl","message":"`noetl.io/v10` is read as `noetl.io/v2`\nhelp: write `apiVersion: noetl.io/v2`"}]"#
        ]],
    );
    let whole = json!({
        "start": { "line": 0, "character": 0 }, "end": { "line": 99, "character": 0 },
    });
    let params = json!({
        "textDocument": { "uri": URI }, "range": whole, "context": { "diagnostics": [] },
    });
    let actions = editor.ask("textDocument/codeAction", params);
    let edits = actions.as_array().into_iter().flatten().map(|it| &it["edit"]["changes"][URI]);
    check(
        &json!(edits.collect::<Vec<_>>()),
        expect![[
            r#"[[{"range":{"start":{"line":0,"character":12},"end":{"line":0,"character":24}},"newText":"noetl.io/v2"}]]"#
        ]],
    );
    let options = json!({ "tabSize": 2, "insertSpaces": true });
    let params = json!({ "textDocument": { "uri": URI }, "options": options });
    check(
        &editor.ask("textDocument/formatting", params),
        expect![[
            r#"[{"range":{"start":{"line":0,"character":0},"end":{"line":8,"character":0}},"newText":"apiVersion: noetl.io/v10\nkind: Playbook\nmetadata: {name: a, path: a}\nworkflow:\n  - step: start\n    tool:\n      kind: shell\n      command: echo\n"}]"#
        ]],
    );
    editor.end();
}

#[test]
fn a_text_that_was_probably_meant_is_offered() {
    let misspelt = PLAYBOOK
        .replace("workload.city", "workload.citi")
        .replace("next: end", "next: ende")
        .replace("workload: {", "wrokload: {");
    let (mut editor, _) = Editor::open(&misspelt.replace("next: ende", "next: end"));
    let whole = json!({
        "start": { "line": 0, "character": 0 }, "end": { "line": 99, "character": 0 },
    });
    let params = json!({
        "textDocument": { "uri": URI }, "range": whole, "context": { "diagnostics": [] },
    });
    let titles = |actions: &Value| -> Vec<(String, Value)> {
        let list = actions.as_array().into_iter().flatten();
        let title = |it: &Value| it["title"].as_str().unwrap_or_default().to_owned();
        list.map(|it| (title(it), it["isPreferred"].clone())).collect()
    };
    let found = titles(&editor.ask("textDocument/codeAction", params.clone()));
    assert_eq!(found, [("Change `wrokload` to `workload`".to_owned(), json!(false))]);
    editor.end();
    let (mut editor, _) = Editor::open(&misspelt.replace("wrokload", "workload"));
    let found = titles(&editor.ask("textDocument/codeAction", params));
    assert_eq!(found, [("Change `ende` to `end`".to_owned(), json!(false))]);
    editor.end();
}

#[test]
fn requests_that_cannot_be_answered_get_an_error_and_the_server_goes_on() {
    let (mut editor, _) = Editor::open("a: [");
    check(
        &editor.ask("textDocument/nothing", json!({})),
        expect![[r#"{"error":"the server does not have the method textDocument/nothing"}"#]],
    );
    check(
        &editor.ask("textDocument/hover", json!({ "position": 1 })),
        expect![[r#"{"error":"invalid type: integer `1`, expected struct Position"}"#]],
    );
    let elsewhere = json!({
        "textDocument": { "uri": "file:///other.yaml" },
        "position": { "line": 0, "character": 0 },
    });
    check(
        &editor.ask("textDocument/hover", elsewhere),
        expect![[
            r#"{"error":"the document is not open; at most 1000 documents are open at a time"}"#
        ]],
    );
    let params = json!({ "textDocument": { "uri": URI }, "options": {} });
    check(
        &editor.ask("textDocument/formatting", params),
        expect![[r#"{"error":"missing field `tabSize`"}"#]],
    );
    editor.tell("textDocument/didChange", json!({ "contentChanges": 3 }));
    editor.tell("$/unknown", json!({}));
    assert_eq!(editor.ask_at("textDocument/hover", (0, 0), json!({})), Value::Null);
    editor.end();
}

const FOREIGN: [&str; 9] = [
    "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {replicas: 1}\n",
    "apiVersion: v1\nkind: \n",
    "on: push\njobs:\n  test: {runs-on: ubuntu-latest, steps: [{run: 'echo {{'}]}\n",
    "services:\n  web:\n    image: nginx\n",
    "name: {{ .Values.name }}\nimage: {{ .Values.image }}\n{{- end }}\n",
    "- hosts: all\n  tasks: []\n",
    "a: 1\n---\nb: 2\n",
    "openapi: 3.1.0\ninfo: {title: x}\npaths: {}\n",
    "a: [\n",
];

#[test]
fn a_document_of_another_program_has_neither_diagnostics_nor_completions() {
    for text in FOREIGN {
        let (mut editor, found) = Editor::open(text);
        assert_eq!(found, json!([]), "{text}");
        let end = (u32::try_from(text.lines().count()).expect("a short text"), 0);
        assert_eq!(editor.ask_at("textDocument/completion", end, json!({})), json!([]), "{text}");
        assert_eq!(editor.ask_at("textDocument/hover", (0, 2), json!({})), Value::Null, "{text}");
        let options = json!({ "tabSize": 2, "insertSpaces": true });
        let params = json!({ "textDocument": { "uri": URI }, "options": options });
        assert_eq!(editor.ask("textDocument/formatting", params), json!([]), "{text}");
        editor.end();
    }
    for text in ["", "# a comment\n", "kind: Play\n", "metadata: {name: a}\n"] {
        let (mut editor, _) = Editor::open(text);
        let end = (u32::try_from(text.lines().count()).expect("a short text"), 0);
        let found = editor.ask_at("textDocument/completion", end, json!({}));
        assert!(labels(&found).contains(&"workflow"), "{text}: {found}");
        editor.end();
    }
}

#[test]
fn a_notification_has_its_own_keys() {
    let text = "apiVersion: noetl.io/v2\nkind: Notification\nmetadata: {name: a, path: a}\nspec:\n  on:\n    failed:\n      slack: {url: 'http://x/', text: hi}\n  \n";
    let (mut editor, found) = Editor::open(text);
    assert_eq!(found, json!([]));
    let keys = editor.ask_at("textDocument/completion", (7, 2), json!({}));
    assert_eq!(labels(&keys), ["match"]);
    let about = editor.ask_at("textDocument/hover", (5, 6), json!({}));
    assert!(about["contents"]["value"].as_str().is_some_and(|it| it.contains("failed")), "{about}");
    editor.end();
}

/// Checks that find the word `wrong`, and that count how often code is checked.
#[derive(Default)]
struct WordChecks;

impl BackgroundChecks for WordChecks {
    fn code_faults(&mut self, _: CodeLanguage, texts: &[&str]) -> Vec<Option<CodeFault>> {
        let fault = |text: &&str| {
            let line = text.lines().position(|line| line.contains("wrong"))?;
            Some(CodeFault { line: line + 1, message: "a wrong word".to_owned() })
        };
        texts.iter().map(fault).collect()
    }

    fn test_findings(&mut self, test: &EditedTest) -> Result<Vec<Diagnostic>, String> {
        let playbook = test.playbook.as_deref().ok_or("there is no playbook")?;
        let playbook = parse("greet.yaml", playbook.as_bytes()).map_err(|it| it.to_string())?;
        let nothing = |_: &str| None;
        let read = parse_test_file("t", test.text.as_bytes(), &playbook.playbook, &nothing);
        Ok(read.err().map(|problems| problems.diagnostics().to_vec()).unwrap_or_default())
    }
}

fn checked_editor() -> Editor {
    let (context, checks) = (Box::new(OfflineContext), Some(Box::new(WordChecks) as Box<_>));
    Editor::start_with(EditorServices {
        context,
        checks,
        read_file: |_| None,
        levels: LintLevels::default(),
    })
}

const CODE: &str = "apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: a, path: a}
workflow:
  - step: start
    tool:
      kind: python
      code: |
        x = 1
        right
";

#[test]
fn embedded_code_is_checked_after_the_keystroke() {
    let editor = checked_editor();
    let change = |version: i32, text: &str| {
        editor.tell(
            "textDocument/didChange",
            json!({
                "textDocument": { "uri": URI, "version": version },
                "contentChanges": [{ "text": text }],
            }),
        );
        editor.published()["diagnostics"].clone()
    };
    assert_eq!(editor.open_at(URI, CODE), json!([]));
    // The result of the check: nothing.
    assert_eq!(editor.published()["diagnostics"], json!([]));
    let wrong = CODE.replace("right", "wrong");
    assert_eq!(change(2, &wrong), json!([]), "the keystroke does not wait for the check");
    let found = editor.published();
    assert_eq!(found["version"], 2);
    check(
        &found["diagnostics"],
        expect![[
            r#"[{"range":{"start":{"line":9,"character":8},"end":{"line":9,"character":13}},"severity":1,"code":"bad-code","source":"noetl","message":"Python cannot read this: a wrong word"}]"#
        ]],
    );
    // Code that has not changed keeps its error, at its new place.
    let moved = change(3, &wrong.replace("workflow:", "workload: {n: 1}\nworkflow:"));
    assert_eq!(moved[0]["range"]["start"]["line"], 10);
    assert_eq!(change(4, CODE), json!([]), "the right code was checked before");
    editor.end();
}

const TEST_URI: &str = "file:///greet.test.yaml";
const TEST: &str = "tests:
  - name: a
    mocks:
      strat: {output: {status_code: 200}}
    expect:
      executed: [start, end]
    \n";

#[test]
fn a_test_file_is_checked_and_completed_with_its_playbook() {
    let mut editor = checked_editor();
    editor.open_at(URI, PLAYBOOK);
    assert_eq!(editor.open_at(TEST_URI, TEST), json!([]));
    let found = editor.published();
    assert_eq!(found["uri"], TEST_URI);
    check(
        &found["diagnostics"],
        expect![[
            r#"[{"range":{"start":{"line":3,"character":6},"end":{"line":3,"character":11}},"severity":1,"code":"unknown-step","source":"noetl","message":"playbook `greet` has no step `strat`\nhelp: did you mean `start`?"}]"#
        ]],
    );
    let mut ask = |method: &str, (line, character): (u32, u32)| {
        let position = json!({ "line": line, "character": character });
        let params = json!({ "textDocument": { "uri": TEST_URI }, "position": position });
        editor.ask(method, params)
    };
    assert_eq!(labels(&ask("textDocument/completion", (3, 8))), ["start"]);
    assert_eq!(labels(&ask("textDocument/completion", (5, 17))), ["start", "end"]);
    assert!(labels(&ask("textDocument/completion", (6, 4))).contains(&"decisions"));
    assert_eq!(labels(&ask("textDocument/completion", (4, 6))), ["expect"]);
    let about = ask("textDocument/hover", (2, 5));
    assert_eq!(about["contents"]["value"], "**`mocks`**\n\nMocked results, by step.");
    let step = ask("textDocument/hover", (5, 18));
    assert!(step["contents"]["value"].as_str().is_some_and(|it| it.contains("runs http")));
    let defined = ask("textDocument/definition", (5, 18));
    assert_eq!((&defined["uri"], &defined["range"]["start"]["line"]), (&json!(URI), &json!(5)));
    editor.end();
}

#[test]
fn a_step_is_renamed_in_the_test_beside_its_playbook() {
    let test = TEST.replace("strat", "start");
    let (mut editor, _) = Editor::open(PLAYBOOK);
    assert_eq!(editor.open_at(TEST_URI, &test), json!([]));
    let edit = editor.ask_at("textDocument/rename", (5, 12), json!({ "newName": "fetch" }));
    let places = edit["changes"][TEST_URI].as_array().expect("edits").iter();
    let places: Vec<(u64, u64)> = places
        .map(|it| {
            let start = &it["range"]["start"];
            (start["line"].as_u64().unwrap(), start["character"].as_u64().unwrap())
        })
        .collect();
    assert_eq!(places, [(3, 6), (5, 17)]);
    assert_eq!(edit["changes"][URI].as_array().map(Vec::len), Some(2));
    editor.end();
}

const VARIABLES: &str = r#"apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: a, path: a}
inputs:
  city: {type: string, default: Paris}
keychain:
  - {name: crm, kind: secret_manager, map: {api_key: k}}
workflow:
  - step: start
    tool:
      - {name: ask, kind: http, url: "http://x/{{ workload.city | upper }}"}
      - {name: tell, kind: http, url: "http://y/{{ ask.status_code }}"}
    set: {ctx.seen: "{{ output.tell }}"}
    next:
      arcs:
        - {step: end, when: "{{ event.name == 'step.done' and not error.kind }}"}
  - step: end
    tool: {kind: noop, result: "{{ ctx.seen }} {{ keychain.crm.api_key }}"}
"#;

#[test]
fn variables_are_found_explained_and_completed() {
    let (mut editor, _) = Editor::open(VARIABLES);
    let place = |part: &str| {
        let at = VARIABLES.find(part).expect("a part of the text") + part.len();
        let before = &VARIABLES[..at];
        let line = before.matches('\n').count();
        let column = at - before.rfind('\n').map_or(0, |it| it + 1);
        (u32::try_from(line).unwrap(), u32::try_from(column).unwrap())
    };
    for (part, line) in [("workload.ci", 4), ("{{ as", 10), ("{{ ctx.se", 12), ("keychain.cr", 6)] {
        let found = editor.ask_at("textDocument/definition", place(part), json!({}));
        assert_eq!(found["range"]["start"]["line"], line, "{part}: {found}");
    }
    for (part, expected) in [
        ("| upp", "**filter `upper`**"),
        ("{{ work", "**`workload`**"),
        ("{{ eve", "**`event`**"),
        ("kind: http, ur", "**`url`** (required)\n\nthe URL; `endpoint`"),
    ] {
        let found = editor.ask_at("textDocument/hover", place(part), json!({}));
        let text = found["contents"]["value"].as_str().unwrap_or_default();
        assert!(text.starts_with(expected), "{part}: {text}");
    }
    for (part, expected) in [
        ("event.na", "name"),
        ("error.ki", "kind"),
        ("keychain.cr", "crm"),
        ("crm.api", "api_key"),
        ("ask.status", "status_code"),
        ("output.te", "tell"),
    ] {
        let found = editor.ask_at("textDocument/completion", place(part), json!({}));
        assert!(labels(&found).contains(&expected), "{part}: {found}");
    }
    editor.end();
}

#[test]
#[ignore = "measures time: cargo test -p noetl-lsp --release -- --ignored --nocapture"]
fn a_text_of_a_thousand_lines_is_answered_quickly() {
    let head = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: a, path: a}\nworkflow:\n";
    let step = |number: usize| {
        format!(
            "  - step: s{number}\n    tool:\n      kind: http\n      url: 'http://x/{{{{ workload.n }}}}'\n    next: s{}\n",
            (number + 1).min(199)
        )
    };
    let text: String = std::iter::once(head.to_owned()).chain((0..200).map(step)).collect();
    let (mut editor, _) = Editor::open(&text);
    let begun = Instant::now();
    let change = json!({
        "textDocument": { "uri": URI, "version": 2 }, "contentChanges": [{ "text": text }],
    });
    editor.tell("textDocument/didChange", change);
    editor.published();
    let diagnosed = begun.elapsed();
    let begun = Instant::now();
    editor.ask_at("textDocument/completion", (7, 30), json!({}));
    println!("diagnostics {diagnosed:?}, completion {:?}", begun.elapsed());
    editor.end();
}
