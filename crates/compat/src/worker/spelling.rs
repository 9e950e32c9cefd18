//! The keys of each tool as existing workers know them.

mod python;

use noetl_model::{ErrorKind, ToolError, ToolKind};
use serde_json::{Map, Value, json};

/// The key where existing workers expect a task's input.
const ARGS: &str = "args";

/// The keys of a statement, first match first.
const STATEMENT_KEYS: &[&str] =
    &["query", "command", "commands", "sql", "statement", "statements", "queries"];

/// The keys of a credential's alias within a map.
const ALIAS_KEYS: &[&str] = &["credential", "source", "key"];

/// Returns a rendered configuration with the keys that existing workers know. Fails if the worker
/// has no key for a setting that changes the result.
pub(super) fn spelled(
    tool: ToolKind,
    mut config: Map<String, Value>,
    input: Map<String, Value>,
) -> Result<Map<String, Value>, ToolError> {
    for key in ["kind", "spec", "output", "name"] {
        config.shift_remove(key);
    }
    alias_as_text(&mut config);
    match tool {
        ToolKind::Http => http(&mut config)?,
        ToolKind::Shell => shell(&mut config)?,
        ToolKind::Python => python::spell(&mut config, &input),
        ToolKind::Postgres => postgres(&mut config)?,
        ToolKind::Duckdb => duckdb(&mut config)?,
        ToolKind::Artifact => return artifact(config, input),
        ToolKind::ResultFetch => return result_fetch(config, input),
        ToolKind::Nats => {
            renamed(&mut config, &["action"], "operation");
            let writes = config.get("operation").and_then(Value::as_str) == Some("js_publish");
            if writes {
                renamed(&mut config, &["value", "payload"], "data");
            }
        }
        ToolKind::Agent
        | ToolKind::Container
        | ToolKind::Ducklake
        | ToolKind::Gateway
        | ToolKind::Gcs
        | ToolKind::Mcp
        | ToolKind::Noop
        | ToolKind::Playbook
        | ToolKind::Rhai
        | ToolKind::Script
        | ToolKind::Secrets
        | ToolKind::Snowflake
        | ToolKind::Sqlite
        | ToolKind::Subscription
        | ToolKind::Transfer
        | ToolKind::Approval
        | ToolKind::Wait
        | ToolKind::Wasm => {}
    }
    if !input.is_empty() {
        config.insert(ARGS.to_owned(), Value::Object(input));
    }
    Ok(config)
}

fn unknown(tool: ToolKind, key: &str) -> ToolError {
    let message =
        format!("{tool}: this worker does not know `{key}`; use a worker of this release");
    ToolError::new(ErrorKind::Config, message)
}

/// Moves the first of `keys` that is present to `name`, unless `name` is present.
fn renamed(config: &mut Map<String, Value>, keys: &[&str], name: &str) {
    for key in keys {
        if let Some(value) = config.shift_remove(*key) {
            config.entry(name).or_insert(value);
        }
    }
}

/// Replaces a map that only names a credential by its alias: existing workers look for a text.
fn alias_as_text(config: &mut Map<String, Value>) {
    for key in ["auth", "credential"] {
        let Some(Value::Object(map)) = config.get(key) else { continue };
        // A `key` without a `source` is itself a secret.
        let named = || map.get("key").filter(|_| map.get("source").is_some_and(Value::is_string));
        let alias = map.get("credential").or_else(named).and_then(Value::as_str);
        let is_alone = map.keys().all(|word| word == "type" || ALIAS_KEYS.contains(&word.as_str()));
        if let (Some(alias), true) = (alias.map(str::to_owned), is_alone) {
            config.insert(key.to_owned(), Value::String(alias));
        }
    }
}

fn http(config: &mut Map<String, Value>) -> Result<(), ToolError> {
    renamed(config, &["endpoint"], "url");
    renamed(config, &["query_params"], "params");
    for key in ["multipart", "body_base64", "body_file", "save_to"] {
        if config.get(key).is_some_and(|value| !value.is_null()) {
            return Err(unknown(ToolKind::Http, key));
        }
    }
    match config.shift_remove("timeout") {
        Some(Value::Object(limits)) => {
            let read = limits.get("read").cloned();
            if let Some(read) = read {
                config.entry("timeout_seconds").or_insert(read);
            }
        }
        Some(Value::Null) | None => {}
        Some(seconds) => {
            config.entry("timeout_seconds").or_insert(seconds);
        }
    }
    if config.get("response_type").and_then(Value::as_str) == Some("auto") {
        config.shift_remove("response_type");
    }
    http_body(config);
    for key in ["headers", "params"] {
        if let Some(Value::Object(map)) = config.get_mut(key) {
            map.retain(|_, value| !value.is_null());
            map.values_mut().for_each(as_text);
        }
    }
    Ok(())
}

/// Moves `data` and `payload` to the parameters of a GET, to `json` or to `body`.
fn http_body(config: &mut Map<String, Value>) {
    let is_get = config
        .get("method")
        .and_then(Value::as_str)
        .is_none_or(|method| method.trim().eq_ignore_ascii_case("get"));
    let has_body = ["json", "form", "body"].iter().any(|key| config.contains_key(*key));
    let body = config.shift_remove("data").or_else(|| config.shift_remove("payload"));
    match body {
        None | Some(Value::Null) => {}
        Some(_) if has_body => {}
        Some(Value::Object(map)) if is_get => {
            let params = config.entry("params").or_insert_with(|| json!({}));
            if let Some(params) = params.as_object_mut() {
                params.extend(map);
            }
        }
        Some(text @ Value::String(_)) => {
            config.insert("body".to_owned(), text);
        }
        Some(value) => {
            config.insert("json".to_owned(), value);
        }
    }
}

fn as_text(value: &mut Value) {
    if value.is_number() || value.is_boolean() {
        *value = Value::String(value.to_string());
    }
}

fn shell(config: &mut Map<String, Value>) -> Result<(), ToolError> {
    if config.get("stdin").is_some_and(|value| !value.is_null()) {
        return Err(unknown(ToolKind::Shell, "stdin"));
    }
    if let Some(Value::Array(words)) = config.get("command") {
        let words: Vec<String> = words.iter().map(|word| quoted(&text_of(word))).collect();
        config.insert("command".to_owned(), Value::String(words.join(" ")));
    }
    match config.shift_remove("cmds") {
        None => {}
        Some(Value::Array(commands)) => {
            let commands: Vec<String> = commands.iter().map(text_of).collect();
            config.entry("command").or_insert_with(|| Value::String(script_of(&commands)));
        }
        Some(command) => {
            config.entry("command").or_insert(command);
        }
    }
    Ok(())
}

/// Returns one script that runs commands in order, each in a shell of its own, until one fails.
fn script_of(commands: &[String]) -> String {
    match commands {
        [only] => only.clone(),
        _ => {
            let parts = commands.iter().map(|command| format!("(\n{command}\n) || exit $?"));
            parts.collect::<Vec<_>>().join("\n")
        }
    }
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn statement(tool: ToolKind, config: &mut Map<String, Value>) -> Result<(), ToolError> {
    let found = STATEMENT_KEYS.iter().find_map(|key| config.shift_remove(*key));
    for key in STATEMENT_KEYS {
        config.shift_remove(*key);
    }
    let text = match found {
        None => return Err(unknown(tool, "script")),
        Some(Value::Array(items)) => {
            Value::String(items.iter().map(text_of).collect::<Vec<_>>().join("\n;\n"))
        }
        Some(text) => text,
    };
    config.insert("query".to_owned(), text);
    Ok(())
}

fn postgres(config: &mut Map<String, Value>) -> Result<(), ToolError> {
    const CONNECTION: [(&str, &[&str]); 6] = [
        ("host", &["db_host", "hostname", "hostaddr"]),
        ("port", &["db_port"]),
        ("database", &["dbname", "db_name", "db_database", "db"]),
        ("user", &["db_user", "username", "db_username"]),
        ("password", &["db_password"]),
        ("connection_string", &["dsn", "db_url", "database_url", "url"]),
    ];
    statement(ToolKind::Postgres, config)?;
    if config.get("transaction") == Some(&Value::Bool(true)) {
        return Err(unknown(ToolKind::Postgres, "transaction"));
    }
    renamed(config, &["parameters"], "params");
    if config.get("params").is_some_and(Value::is_object) {
        return Err(unknown(ToolKind::Postgres, "params with names"));
    }
    match config.shift_remove("connection") {
        Some(Value::Object(connection)) => {
            for (key, value) in connection {
                config.entry(key).or_insert(value);
            }
        }
        Some(alias @ Value::String(_)) => {
            config.entry("auth").or_insert(alias);
        }
        Some(_) | None => {}
    }
    for (name, spellings) in CONNECTION {
        renamed(config, spellings, name);
    }
    Ok(())
}

fn duckdb(config: &mut Map<String, Value>) -> Result<(), ToolError> {
    statement(ToolKind::Duckdb, config)?;
    renamed(config, &["database", "database_path", "path", "file"], "db_path");
    Ok(())
}

/// Returns the reference in any of its spellings, as text.
fn reference(config: &Map<String, Value>, input: &Map<String, Value>) -> Option<Value> {
    let spellings = ["result_ref", "ref", "uri"];
    let find = |map: &Map<String, Value>| {
        spellings.iter().find_map(|key| map.get(*key).filter(|value| !value.is_null()).cloned())
    };
    let found = find(input).or_else(|| find(config))?;
    Some(found.get("ref").cloned().unwrap_or(found))
}

fn missing_reference(tool: ToolKind) -> ToolError {
    let message = format!(
        "{tool}: `result_ref` is missing: give it `{{{{ step._ref }}}}`, which results over 64 KB have"
    );
    ToolError::new(ErrorKind::Config, message)
}

fn artifact(
    config: Map<String, Value>,
    input: Map<String, Value>,
) -> Result<Map<String, Value>, ToolError> {
    let reference =
        reference(&config, &input).ok_or_else(|| missing_reference(ToolKind::Artifact))?;
    let action = config.get("action").or_else(|| config.get("operation")).cloned();
    let given = json!({ "result_ref": reference });
    let keys = [
        ("action", action.unwrap_or_else(|| json!("get"))),
        ("input", given.clone()),
        (ARGS, given),
    ];
    Ok(keys.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

fn result_fetch(
    config: Map<String, Value>,
    input: Map<String, Value>,
) -> Result<Map<String, Value>, ToolError> {
    let reference =
        reference(&config, &input).ok_or_else(|| missing_reference(ToolKind::ResultFetch))?;
    Ok([("ref".to_owned(), reference)].into_iter().collect())
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    #[track_caller]
    fn check(tool: ToolKind, config: Value, input: Value, expected: Expect) {
        let (Value::Object(config), Value::Object(input)) = (config, input) else {
            panic!("maps are expected");
        };
        expected.assert_eq(&match spelled(tool, config, input) {
            Ok(config) => Value::Object(config).to_string(),
            Err(error) => format!("{}: {}", error.kind.as_str(), error.message),
        });
    }

    #[test]
    fn a_request_has_its_body_and_parameters_where_the_worker_looks() {
        check(
            ToolKind::Http,
            json!({
                "kind": "http", "endpoint": "http://x", "method": "POST", "timeout": 5,
                "data": { "a": 1 }, "params": { "page": 2, "none": null }, "headers": { "n": 1 },
                "auth": { "type": "bearer", "credential": "api" },
            }),
            json!({ "x": 1 }),
            expect![[
                r#"{"method":"POST","params":{"page":"2"},"headers":{"n":"1"},"auth":"api","url":"http://x","timeout_seconds":5,"json":{"a":1},"args":{"x":1}}"#
            ]],
        );
        check(
            ToolKind::Http,
            json!({ "url": "http://x", "payload": { "q": 1 } }),
            json!({}),
            expect![[r#"{"url":"http://x","params":{"q":"1"}}"#]],
        );
        check(
            ToolKind::Http,
            json!({ "url": "http://x", "method": "put", "data": "raw", "timeout": { "read": 3 } }),
            json!({}),
            expect![[r#"{"url":"http://x","method":"put","timeout_seconds":3,"body":"raw"}"#]],
        );
        check(
            ToolKind::Http,
            json!({ "url": "http://x", "multipart": { "f": "a" } }),
            json!({}),
            expect![
                "config: http: this worker does not know `multipart`; use a worker of this release"
            ],
        );
    }

    #[test]
    fn several_commands_are_one_script() {
        check(
            ToolKind::Shell,
            json!({ "cmds": ["a", "b"] }),
            json!({}),
            expect![[r#"{"command":"(\na\n) || exit $?\n(\nb\n) || exit $?"}"#]],
        );
        check(ToolKind::Shell, json!({ "cmds": "a" }), json!({}), expect![[r#"{"command":"a"}"#]]);
        check(
            ToolKind::Shell,
            json!({ "command": ["echo", "it's"] }),
            json!({}),
            expect![[r#"{"command":"'echo' 'it'\\''s'"}"#]],
        );
    }

    #[test]
    fn statements_are_one_query_on_a_flat_connection() {
        check(
            ToolKind::Postgres,
            json!({ "commands": ["a", "b"], "connection": { "db_host": "h", "dbname": "d" } }),
            json!({}),
            expect![[r#"{"query":"a\n;\nb","host":"h","database":"d"}"#]],
        );
        check(
            ToolKind::Postgres,
            json!({ "sql": "a", "auth": "pg", "parameters": [1] }),
            json!({}),
            expect![[r#"{"auth":"pg","query":"a","params":[1]}"#]],
        );
        check(
            ToolKind::Postgres,
            json!({ "sql": "a", "transaction": true }),
            json!({}),
            expect![
                "config: postgres: this worker does not know `transaction`; use a worker of this release"
            ],
        );
        check(
            ToolKind::Duckdb,
            json!({ "command": "a", "database": "/x.db" }),
            json!({}),
            expect![[r#"{"query":"a","db_path":"/x.db"}"#]],
        );
    }

    #[test]
    fn a_reference_is_a_text_in_the_input() {
        let reference = json!({ "kind": "result_ref", "ref": "noetl://payload/x" });
        check(
            ToolKind::Artifact,
            json!({ "action": "get" }),
            json!({ "result_ref": reference }),
            expect![[
                r#"{"action":"get","input":{"result_ref":"noetl://payload/x"},"args":{"result_ref":"noetl://payload/x"}}"#
            ]],
        );
        check(
            ToolKind::Artifact,
            json!({}),
            json!({}),
            expect![
                "config: artifact: `result_ref` is missing: give it `{{ step._ref }}`, which results over 64 KB have"
            ],
        );
        check(ToolKind::ResultFetch, json!({ "uri": "u" }), json!({}), expect![[r#"{"ref":"u"}"#]]);
    }
}
