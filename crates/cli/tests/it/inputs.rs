//! Tests of declared inputs on the command line.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::sandbox::{Sandbox, eventually};
use crate::server::Server;

const EXAMPLE: &str = include_str!("../../../../examples/inputs.yaml");

const REQUIRED: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: required, path: tests/required}
inputs:
  zip: {type: string, required: true, description: The code of the town.}
  days: {type: integer, default: 3, max: 9}
workflow:
  - step: start
    tool: {kind: noop, result: '{{ workload.zip }} for {{ workload.days + 1 }}'}
";

#[test]
fn arguments_have_the_declared_types() {
    let sandbox = Sandbox::new().with("required.yaml", REQUIRED);
    let ended = sandbox.noetl(&["run", "required.yaml", "--set", "zip=01234", "--set", "days=5"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stdout.contains("01234 for 6"), "{}", ended.stdout);
}

#[test]
fn all_problems_are_shown_and_nothing_starts() {
    let sandbox = Sandbox::new().with("inputs.yaml", EXAMPLE);
    let set = ["--set", "dyas=5", "--set", "format=htm", "--set", "readers=[{\"mail\": 1}]"];
    let refused = sandbox.noetl(&[&["run", "inputs.yaml", "--quiet"], &set[..]].concat());
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    for words in [
        "`format` cannot be text: `htm`; it is one of text, html (did you mean `html`?)",
        "`readers[0].mail` must be text, this is 1",
        "there is no input `dyas` (did you mean `days`?)",
    ] {
        assert!(refused.stderr.contains(words), "{}", refused.stderr);
    }
}

#[test]
fn a_missing_input_is_not_asked_for_without_a_terminal() {
    let sandbox = Sandbox::new().with("required.yaml", REQUIRED);
    let refused = sandbox.noetl(&["run", "required.yaml", "--ephemeral", "--no-input"]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(refused.stderr.contains("`zip` is required: text"), "{}", refused.stderr);
    assert!(refused.stderr.contains("--set zip=VALUE"), "{}", refused.stderr);
}

/// Runs a command on a terminal and answers its questions: pairs of the end of a question and the answer
/// to it. Prints what the terminal shows.
#[cfg(unix)]
const ON_TERMINAL: &str = r#"
import json, os, pty, sys
answers = json.loads(sys.argv[1])
child, terminal = pty.fork()
if child == 0:
    os.execv(sys.argv[2], sys.argv[2:])
shown, answered = b"", 0
while True:
    try:
        read = os.read(terminal, 4096)
    except OSError:
        break
    if not read:
        break
    shown += read
    if answers and answers[0][0].encode() in shown[answered:]:
        answered = len(shown)
        os.write(terminal, answers.pop(0)[1].encode() + b"\n")
_, status = os.waitpid(child, 0)
sys.stdout.buffer.write(shown)
sys.exit(os.waitstatus_to_exitcode(status))
"#;

#[cfg(unix)]
const ASKED: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: asked, path: tests/asked}
inputs:
  zip: {type: string, required: true, description: The code of the town.}
  env: {enum: [dev, prod], required: true}
  token: {type: string, secret: true, required: true}
workflow:
  - step: start
    tool:
      kind: shell
      env: {TOKEN: '{{ workload.token }}', PLACE: '{{ workload.zip }} in {{ workload.env }}'}
      command: test \"$TOKEN\" = 'hunter2-and-more' && echo \"known for $PLACE\"
";

#[cfg(unix)]
#[test]
fn missing_inputs_are_asked_for_on_a_terminal_and_a_secret_is_not_shown() {
    use crate::sandbox::Ended;
    let sandbox = Sandbox::new().with("asked.yaml", ASKED);
    // An answer that does not fit is asked for again; a number chooses.
    let answers = json!([
        ["zip: ", ""],
        ["zip: ", "01234"],
        ["env: ", "3"],
        ["env: ", "2"],
        ["token: ", SECRET],
    ]);
    let noetl = sandbox.command(&["run", "asked.yaml"]);
    let mut terminal = std::process::Command::new("python3");
    terminal.env_clear().args(["-c", ON_TERMINAL, &answers.to_string()]);
    terminal.arg(noetl.get_program()).args(noetl.get_args());
    terminal.envs(noetl.get_envs().filter_map(|(name, value)| Some((name, value?))));
    terminal.env("NO_COLOR", "1").current_dir(sandbox.path(""));
    let ended = Ended::from(terminal.output().expect("Python runs"));
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    for shown in
        ["The code of the town.", "a value is needed", "  2) prod", "it is one of dev, prod"]
    {
        assert!(ended.stdout.contains(shown), "{shown}: {}", ended.stdout);
    }
    assert!(ended.stdout.contains("known for 01234 in prod"), "{}", ended.stdout);
    assert!(!ended.stdout.contains(SECRET), "{}", ended.stdout);
}

const SECRET: &str = "hunter2-and-more";

const PARENT: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: parent, path: tests/parent}
inputs:
  token: {type: string, secret: true, required: true}
  name: {type: string, default: ada}
workflow:
  - step: start
    set: {ctx.kept: '{{ workload.token }}'}
    tool:
      kind: shell
      command: 'printf \"%s has %s\" \"{{ workload.token }}\" $(printf %s \"{{ token }}\" | wc -c)'
    next: again
  - step: again
    tool: {kind: shell, command: 'printf %s \"{{ ctx.kept }}\" | wc -c; echo {{ ctx.kept }} >&2'}
    next: child
  - step: child
    tool:
      kind: playbook
      path: tests/child
      return_step: start
      input: {token: '{{ workload.token }}'}
";

const CHILD: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: child, path: tests/child}
inputs:
  token: {type: string, secret: true, required: true}
workflow:
  - step: start
    tool: {kind: shell, command: 'printf %s \"{{ workload.token }}\" | wc -c; echo \"{{ token }}\"'}
";

fn files(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).expect("a directory").flatten() {
        let path = entry.path();
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
}

/// Checks that no file of the sandbox contains the secret.
#[track_caller]
fn check_files(sandbox: &Sandbox) {
    let mut found = Vec::new();
    files(&sandbox.path(""), &mut found);
    assert!(!found.is_empty());
    for file in found {
        // A socket cannot be read, and holds nothing.
        let bytes = std::fs::read(&file).unwrap_or_default();
        let shown = bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes());
        assert!(!shown, "{} contains the secret", file.display());
    }
}

fn completed(server: &Server, id: &str) -> Value {
    let mut shown = Value::Null;
    eventually("the execution ends", || {
        shown = server.call("GET", &format!("/api/executions/{id}"), &json!(null));
        shown["status"] != "RUNNING"
    });
    assert_eq!(shown["status"], "COMPLETED", "{shown}");
    shown
}

#[test]
fn a_secret_input_reaches_tools_children_reruns_and_forks_and_nothing_else() {
    let sandbox = Sandbox::new();
    let server = Server::new(&sandbox, &[]);
    for content in [CHILD, PARENT] {
        server.call("POST", "/api/catalog/register", &json!({ "content": content }));
    }
    let start = json!({ "path": "tests/parent", "payload": { "token": SECRET } });
    let started = server.call("POST", "/api/execute", &start);
    let id = started["execution_id"].as_str().unwrap_or_else(|| panic!("{started}")).to_owned();
    let shown = completed(&server, &id).to_string();
    assert!(!shown.contains(SECRET), "{shown}");
    // The tools had the value: its length is right, and it is masked where it was printed.
    for words in ["[REDACTED] has 16", "16\\n", "noetl:sealed"] {
        assert!(shown.contains(words), "no {words} in {shown}");
    }
    let rerun = server.call("POST", &format!("/api/executions/{id}/rerun"), &json!({}));
    let rerun = rerun["execution_id"].as_str().unwrap_or_else(|| panic!("{rerun}")).to_owned();
    assert!(completed(&server, &rerun).to_string().contains("[REDACTED] has 16"));
    let changes = json!({ "at_event": 2, "workload": { "name": "bob" } });
    let fork = server.call("POST", &format!("/api/executions/{id}/fork"), &changes);
    let fork = fork["execution_id"].as_str().unwrap_or_else(|| panic!("{fork}")).to_owned();
    assert!(completed(&server, &fork).to_string().contains("[REDACTED] has 16"));
    // A sealed value that was copied from one execution starts no other one.
    let sealed = server.call("GET", &format!("/api/executions/{id}"), &json!(null));
    let stolen = json!({ "token": sealed["workload"]["token"] });
    let theft = json!({ "path": "tests/parent", "payload": stolen });
    let refused = server.call("POST", "/api/execute", &theft);
    assert_eq!(refused["code"], "invalid-inputs", "{refused}");
    let below = json!({ "path": "tests/child", "payload": stolen, "parent_execution_id": id });
    let refused = server.call("POST", "/api/execute", &below);
    assert_eq!(refused["code"], "invalid-inputs", "{refused}");
    assert_eq!(server.process.end(), Some(0));
    check_files(&sandbox);
}

#[test]
fn a_secret_input_of_a_run_on_a_laptop_is_masked() {
    let sandbox = Sandbox::new().with("child.yaml", CHILD);
    let payload = format!("{{\"token\": \"{SECRET}\"}}");
    let ended = sandbox.noetl(&["run", "child.yaml", "--payload", &payload]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stdout.contains("[REDACTED]"), "{}", ended.stdout);
    assert!(!format!("{}{}", ended.stdout, ended.stderr).contains(SECRET));
    let short = sandbox.noetl(&["run", "child.yaml", "--set", "token=pin"]);
    assert_eq!(short.code, Some(2), "{}", short.stderr);
    assert!(short.stderr.contains("could not be masked"), "{}", short.stderr);
    check_files(&sandbox);
}

const TAKER: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: taker, path: tests/taker}
inputs:
  token: {type: string, secret: true, required: true}
  count: {type: integer, required: true}
  customer: {type: string}
workflow:
  - step: start
    tool:
      kind: shell
      env: {TOKEN: '{{ workload.token }}', AGAIN: '{{ message.data.token }}'}
      command: test \"$TOKEN\" = \"$AGAIN\" && printf %s \"$TOKEN\" | wc -c
";

const SECRET_ORDERS: &str = "\
apiVersion: noetl.io/v1
kind: Subscription
metadata: {name: orders, path: subscriptions/orders}
spec:
  source: nats
  mode: pull
  stream: ORDERS
  consumer: drain
  dispatch: {playbook: tests/taker, max_failures: 1, labels: {customer: '{{ customer }}'}}
";

#[test]
fn a_secret_input_of_a_message_is_never_stored_in_clear_text() {
    let sandbox = Sandbox::new();
    let server = Server::new(&sandbox, &[]);
    for content in [TAKER, SECRET_ORDERS] {
        server.call("POST", "/api/catalog/register", &json!({ "content": content }));
    }
    let registered = json!({ "path": "subscriptions/orders" });
    let registered = server.call("POST", "/api/subscriptions/register", &registered);
    let id = registered["subscription_id"].as_str().expect("an id").to_owned();
    server.call("POST", &format!("/api/subscriptions/{id}/activate"), &json!({}));
    let message = |number: u32, body: Value| {
        json!({
            "id": format!("ORDERS:{number}"),
            "once": format!("ORDERS:{number}@7"),
            "headers": { "authorization": format!("Bearer {SECRET}") },
            "body": { "text": body.to_string() },
        })
    };
    let messages = json!([
        message(1, json!({ "token": SECRET, "count": 1, "customer": "ada" })),
        message(2, json!({ "token": SECRET, "count": "many", "customer": "ada" })),
        message(3, json!({ "token": SECRET, "count": 3, "customer": SECRET })),
        message(4, json!({ "token": [SECRET], "count": 4, "customer": "ada" })),
    ]);
    let number: i64 = id.parse().expect("a number");
    let body = json!({ "runtime": "r1", "subscription": number, "messages": messages });
    let taken = server.call("POST", "/api/worker/subscriptions/messages", &body);
    let verdicts = taken["verdicts"].as_array().expect("verdicts");
    let words: Vec<&str> = verdicts.iter().filter_map(|it| it["verdict"].as_str()).collect();
    assert_eq!(words, ["started", "dead", "dead", "dead"], "{taken}");
    assert!(!taken.to_string().contains(SECRET), "{taken}");
    let shown = completed(&server, &verdicts[0]["execution"].to_string());
    assert!(!shown.to_string().contains(SECRET), "{shown}");
    assert!(shown.to_string().contains("16"), "the step has read it twice: {shown}");
    let dead = format!("/api/subscriptions/{id}/dead");
    let listed = server.call("GET", &dead, &json!(null));
    assert_eq!(
        listed["messages"][0]["message"]["body"],
        json!({ "text": "[REDACTED]" }),
        "{listed}"
    );
    assert!(!listed.to_string().contains(SECRET), "{listed}");
    check_files(&sandbox);

    // A sealed message is retried with its values.
    let mended = TAKER.replace("count: {type: integer, required: true}", "count: {}");
    server.call("POST", "/api/catalog/register", &json!({ "content": mended }));
    let names = json!({ "names": ["ORDERS:2@7"] });
    let retried = server.call("POST", &format!("{dead}/retry"), &names);
    assert_eq!(retried["started"], 1, "{retried}");
    eventually("both have completed", || {
        let all = server.call("GET", "/api/executions?status=COMPLETED", &json!(null));
        all.as_array().map(Vec::len) == Some(2)
    });
    assert_eq!(server.process.end(), Some(0));
    check_files(&sandbox);
}
