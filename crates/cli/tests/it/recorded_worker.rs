//! Compares a recorded exchange of the existing worker with our own tools: the playbook of the
//! recording runs twice on one server, once with the recorded events, once with the tools of this
//! program, and both executions must show the same outputs, errors and views.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::process::Stdio;

use noetl_testkit::PostgresServer;
use serde_json::{Map, Value, json};

use crate::sandbox::{Sandbox, eventually};
use crate::server::{KEY, Server};

const EXCHANGE: &str = include_str!("../../../compat/tests/golden/existing_worker_exchange.jsonl");
/// The address of the service in the recording.
const RECORDED_SERVICE: &str = "http://127.0.0.1:5555";
/// A pool that only the recorded worker serves.
const POOL: &str = "recorded";
/// The labels of the tasks of a pipeline in the recording.
const LABELS: [&str; 2] = ["one", "two"];

/// The parts of a step's views that differ, by the beginning of their paths, with the reason.
const DIFFERENCES: &[(&str, &[&str], &str)] = &[
    ("web404", &["/web404/error/message"], "the worker's words do not name the request"),
    ("webdown", &["/webdown/error/message"], "the worker's words"),
    ("shfail", &["/shfail/error/message"], "the worker's words do not name the command"),
    (
        "pyfail",
        &["/pyfail/error/message", "/pyfail/error/details/"],
        "lines of the worker's runner are counted, so the line of the code is not known",
    ),
    (
        "sqlfail",
        &["/sqlfail/error/message", "/sqlfail/error/details"],
        "the worker's words do not tell the position in the statement",
    ),
    (
        "sql",
        &[
            "/step/rows/0/n",
            "/step/rows/0/t",
            "/step/command_0/rows/0/n",
            "/step/command_0/rows/0/t",
            "/sql/data/rows/0/n",
            "/sql/data/rows/0/t",
            "/sql/data/command_0/rows/0/n",
            "/sql/data/command_0/rows/0/t",
        ],
        "the worker sends null for `numeric`, and the time is that of the recording",
    ),
    (
        "sqlmany",
        &["/step/command_", "/sqlmany/data/command_"],
        "the worker sends the result of the last statement only",
    ),
];

/// The calls of the recording: path, request and answer.
fn calls() -> impl Iterator<Item = (String, Value, Value)> {
    EXCHANGE.lines().map(|line| {
        let mut call: Value = serde_json::from_str(line).expect("JSON");
        let path = call["p"].as_str().expect("a path").to_owned();
        (path, call["req"].take(), call["res"].take())
    })
}

/// The tasks of the recorded playbook by step: name, and the tool with its settings.
fn tasks(service: &str) -> BTreeMap<String, Vec<(String, Value)>> {
    let mut tasks: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for (path, _, answer) in calls().filter(|(path, ..)| path.ends_with("/claim")) {
        let step = answer["node_name"].as_str().unwrap_or_else(|| panic!("{path}: {answer}"));
        let text = answer["context"]["tool_config"].to_string();
        let mut tool: Map<String, Value> =
            serde_json::from_str(&text.replace(RECORDED_SERVICE, service)).expect("JSON");
        tool.insert("kind".to_owned(), answer["action"].clone());
        if let Some(args) = tool.shift_remove("args") {
            tool.insert("input".to_owned(), args);
        }
        tasks.entry(step.to_owned()).or_default().push(Value::Object(tool));
    }
    let named = |(step, tools): (String, Vec<Value>)| {
        let names: Vec<String> = match tools.len() {
            1 => vec![step.clone()],
            _ => LABELS.iter().map(|label| (*label).to_owned()).collect(),
        };
        (step, names.into_iter().zip(tools).collect())
    };
    tasks.into_iter().map(named).collect()
}

/// The recorded playbook; each task keeps what its rules see in `ctx.seen_<task>`.
fn playbook(tasks: &BTreeMap<String, Vec<(String, Value)>>) -> Value {
    let with_rule = |(name, tool): &(String, Value)| {
        let mut tool = tool.clone();
        let set = json!({ format!("ctx.seen_{name}"): "{{ output }}" });
        let rule = json!({ "when": "{{ true }}", "then": { "do": "continue", "set": set } });
        tool["spec"] = json!({ "policy": { "rules": [rule] } });
        tool
    };
    let arcs: Vec<Value> =
        tasks.keys().filter(|step| *step != "start").map(|step| json!({ "step": step })).collect();
    let mut steps: Vec<Value> = tasks
        .iter()
        .map(|(step, tasks)| match tasks.as_slice() {
            [only] => json!({ "step": step, "tool": with_rule(only) }),
            several => {
                let tools = several.iter().map(|it| json!({ &it.0: with_rule(it) }));
                json!({ "step": step, "tool": tools.collect::<Vec<Value>>() })
            }
        })
        .collect();
    steps.sort_by_key(|step| step["step"] != "start");
    steps[0]["next"] = json!({ "spec": { "mode": "inclusive" }, "arcs": arcs });
    json!({
        "apiVersion": "noetl.io/v2", "kind": "Playbook",
        "metadata": { "name": "recorded", "path": "tests/recorded" },
        "workload": { "who": "ann" }, "workflow": steps,
    })
}

/// Starts the service of the recording, with its answers and headers; returns its address.
fn service() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut lines = BufReader::new(stream.try_clone().expect("a socket")).lines();
            let first = lines.next().and_then(Result::ok).unwrap_or_default();
            lines.map_while(Result::ok).take_while(|line| !line.is_empty()).for_each(drop);
            let (status, body) = match first.contains(" /health ") {
                true => ("200 OK", r#"{"status":"ok"}"#),
                false => ("404 Not Found", r#"{"detail":"Not Found"}"#),
            };
            // A client that has gone away does not matter.
            let _sent = write!(
                stream,
                "HTTP/1.1 {status}\r\ndate: Mon, 16 Nov 2026 06:31:23 GMT\r\nserver: uvicorn\r\n\
                 content-length: {}\r\ncontent-type: application/json\r\n\r\n{body}",
                body.len()
            );
        }
    });
    address
}

/// A server with the recorded playbook and its credential.
fn server(sandbox: &Sandbox, postgres: &PostgresServer, playbook: &Value) -> Server {
    let mut command = sandbox.command(&["server", "--listen", "127.0.0.1:0", "--db", "history.db"]);
    if let Some(library) = std::env::var_os("NOETL_DUCKDB_LIBRARY") {
        command.env("NOETL_DUCKDB_LIBRARY", library);
    }
    command.env("NOETL_ENCRYPTION_KEY", KEY).stdout(Stdio::piped()).stderr(Stdio::piped());
    let server = Server::of(command.spawn().expect("the binary runs"));
    let data = json!({ "dsn": postgres.url("postgres") });
    let credential = json!({ "name": "pg_k8s", "type": "postgres", "data": data });
    server.call("POST", "/api/credentials", &credential);
    let content = json!({ "content": playbook.to_string() });
    let registered = server.call("POST", "/api/catalog/register", &content);
    assert_eq!(registered["status"], "success", "{registered:#}");
    server
}

fn started(server: &Server, pool: Option<&str>) -> String {
    let body = json!({ "path": "tests/recorded", "execution_pool": pool });
    let answer = server.call("POST", "/api/execute", &body);
    answer["execution_id"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

fn await_end(server: &Server, id: &str) {
    let mut status = Value::Null;
    eventually("the execution ends", || {
        status = server.call("GET", &format!("/api/executions/{id}/status"), &Value::Null);
        status["status"] != "RUNNING"
    });
    assert_eq!(status["status"], "COMPLETED", "{status:#}");
}

/// Posts the recorded events about the commands of an execution, in their order.
fn replay_worker(server: &Server, id: &str) {
    let mut claimed: BTreeMap<String, Value> = BTreeMap::new();
    for (path, mut request, answer) in calls() {
        if path.ends_with("/claim") {
            let command = claim(server, id, &answer["node_name"], &request);
            let recorded = answer["meta"]["command_id"].as_str().expect("an id").to_owned();
            claimed.insert(recorded, command);
        } else if path == "/api/events" {
            let recorded = request["context"]["command_id"].as_str().expect("an id");
            let command = &claimed[recorded];
            request["execution_id"] = command["execution_id"].clone();
            request["context"]["command_id"] = command["meta"]["command_id"].clone();
            let taken = server.call("POST", &path, &request);
            assert_eq!(taken["status"], "ok", "{request:#}: {taken:#}");
        }
    }
}

/// Claims the latest command of a step, as the worker does that a notification names it to.
fn claim(server: &Server, id: &str, step: &Value, request: &Value) -> Value {
    let path = format!("/api/executions/{id}/events?event_type=command.issued");
    let page = server.call("GET", &path, &Value::Null);
    let mut issued = page["events"].as_array().expect("events").iter();
    let issued = issued.rfind(|event| event["node_name"] == *step);
    let event = issued.unwrap_or_else(|| panic!("{step} in {page:#}"))["event_id"].clone();
    let event = event.as_str().expect("an id");
    let claimed = server.call("POST", &format!("/api/commands/{event}/claim"), request);
    assert_eq!(claimed["status"], "ok", "{claimed:#}");
    claimed
}

/// Returns what templates see of a step: its value, and `output` in the rules of its tasks.
fn views(server: &Server, id: &str, step: &str, tasks: &[(String, Value)]) -> Value {
    let mut template = json!({ "step": format!("{{{{ {step} }}}}") });
    for (name, _) in tasks {
        template[name] = json!(format!("{{{{ ctx.seen_{name} }}}}"));
    }
    let path = format!("/api/executions/{id}/position/evaluate");
    let mut shown = server.call("POST", &path, &json!({ "template": template }));
    let mut value = shown["result"]["value"].take();
    assert!(value.is_object(), "{step}: {shown:#}");
    for (name, _) in tasks {
        // The time that a command took differs from run to run.
        value[name].as_object_mut().expect("an envelope").remove("meta");
    }
    value
}

/// Collects the leaves of a value by their paths.
fn leaves(value: &Value, path: &str, found: &mut BTreeMap<String, Value>) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            map.iter().for_each(|(key, value)| leaves(value, &format!("{path}/{key}"), found));
        }
        Value::Array(items) if !items.is_empty() => {
            let items = items.iter().enumerate();
            items.for_each(|(at, value)| leaves(value, &format!("{path}/{at}"), found));
        }
        Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_) => {
            found.insert(path.to_owned(), value.clone());
        }
    }
}

/// Returns the paths of the parts that two values do not share.
fn different(one: &Value, other: &Value) -> BTreeSet<String> {
    let (mut ones, mut others) = (BTreeMap::new(), BTreeMap::new());
    leaves(one, "", &mut ones);
    leaves(other, "", &mut others);
    let paths: BTreeSet<&String> = ones.keys().chain(others.keys()).collect();
    paths.into_iter().filter(|path| ones.get(*path) != others.get(*path)).cloned().collect()
}

/// Returns the paths without a reason, and the reasons that no path has.
fn unexplained(step: &str, found: &BTreeSet<String>) -> Vec<String> {
    let known = DIFFERENCES.iter().filter(|(of, ..)| *of == step);
    let known: Vec<&str> = known.flat_map(|(_, starts, _)| starts.iter().copied()).collect();
    let without_reason =
        found.iter().filter(|path| !known.iter().any(|start| path.starts_with(start))).cloned();
    let without_path = known
        .iter()
        .filter(|start| !found.iter().any(|path| path.starts_with(**start)))
        .map(|start| format!("nothing differs at {start}"));
    without_reason.chain(without_path).collect()
}

#[test]
fn a_recorded_worker_leaves_what_our_own_tools_leave() {
    let (sandbox, postgres) = (Sandbox::new(), PostgresServer::private());
    let tasks = tasks(&service());
    let server = server(&sandbox, &postgres, &playbook(&tasks));
    let (ours, recorded) = (started(&server, None), started(&server, Some(POOL)));
    replay_worker(&server, &recorded);
    await_end(&server, &recorded);
    await_end(&server, &ours);
    let mut wrong = Vec::new();
    for (step, tasks) in &tasks {
        if step == "duck" && std::env::var_os("NOETL_DUCKDB_LIBRARY").is_none() {
            println!("duckdb is skipped: NOETL_DUCKDB_LIBRARY names no library");
            continue;
        }
        let theirs = views(&server, &recorded, step, tasks);
        let own = views(&server, &ours, step, tasks);
        let found = different(&theirs, &own);
        let unexplained = unexplained(step, &found);
        if !unexplained.is_empty() {
            wrong.push(format!("{step}: {unexplained:#?}\nrecorded {theirs:#}\nours {own:#}"));
        }
    }
    assert!(wrong.is_empty(), "not as listed:\n{}", wrong.join("\n"));
}
