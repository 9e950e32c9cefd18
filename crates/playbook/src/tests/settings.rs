//! Diagnostics about the settings of each tool: none if they are correct, with help if they are
//! not.

use expect_test::{Expect, expect};
use noetl_model::ToolKind;

use super::document;
use crate::words::tools::{Form, ToolKeys, settings_of};
use crate::{Severity, TargetWorkers, parse, parse_for};

/// Checks the diagnostics about one tool, one per line: place, message and help.
#[track_caller]
fn check(tool: &str, expected: Expect) {
    let yaml = document(&format!("  - step: start\n    tool: {tool}\n"));
    let problems = match parse_for(TargetWorkers::Ours, "t.yaml", yaml.as_bytes()) {
        Ok(checked) => checked.warnings,
        Err(problems) => problems,
    };
    let said = problems.diagnostics().iter().map(|it| {
        let help = it.help.as_ref().map(|help| format!(" ({help})")).unwrap_or_default();
        let at = format!("{}:{}", it.line, it.column);
        format!("{at} {:?} {}: {}{help}\n", it.severity, it.code, it.message)
    });
    expected.assert_eq(&said.collect::<String>());
}

#[test]
fn settings_of_a_tool_are_errors_for_our_workers_and_warnings_for_others() {
    let yaml = document("  - {step: start, tool: {kind: http, headers: 7}}\n");
    assert_eq!(
        parse_for(TargetWorkers::Ours, "t.yaml", yaml.as_bytes())
            .unwrap_err()
            .count(Severity::Error),
        2
    );
    let checked = parse("t.yaml", yaml.as_bytes()).unwrap();
    assert_eq!(checked.warnings.count(Severity::Warning), 2);
}

#[track_caller]
fn good(tool: &str) {
    check(tool, expect![[""]]);
}

#[test]
fn settings_of_http_that_are_right() {
    good(
        "{kind: http, url: 'https://a/b', method: post, headers: {a: 1}, params: {q: [1, 2]}, json: {a: 1}, auth: api, timeout: 5s, follow_redirects: false, response_type: text}",
    );
    good(
        "{kind: http, url: '{{ u }}', headers: '{{ h }}', form: '{{ f }}', verify_ssl: '{{ v }}', timeout: {connect: 1, read: 2}}",
    );
}

#[test]
fn settings_of_http_that_are_wrong() {
    check(
        "{kind: http, uri: 'https://a', heders: {a: 1}}",
        expect![[r#"
            6:11 Error missing-key: http needs `url` (or `endpoint`)
            6:24 Warning unknown-key: http has no setting `uri` (did you mean `url`?)
            6:42 Warning unknown-key: http has no setting `heders` (did you mean `headers`?)
        "#]],
    );
    check(
        "{kind: http, url: [a], method: FETCH, headers: {a: [1]}, params: 7, follow_redirects: perhaps, response_type: xml}",
        expect![[r#"
            6:29 Error wrong-type: `url` of http must be text, this is a list
            6:42 Error unknown-word: `method` of http cannot be `FETCH` (it can be GET, POST, PUT, PATCH, DELETE, HEAD, OPTIONS)
            6:62 Error wrong-type: `a` in `headers` of http must be text, this is a list
            6:76 Error wrong-type: `params` of http must be a map, this is a number
            6:97 Error wrong-type: `follow_redirects` of http must be true or false, this is text
            6:121 Error unknown-word: `response_type` of http cannot be `xml` (it can be auto, json, text, binary)
        "#]],
    );
    check(
        "{kind: http, url: 'https://a', body: a, json: {a: 1}, form: {b: 2}}",
        expect![[r#"
            6:42 Warning contradiction: `body` has no effect next to `json`
            6:65 Warning contradiction: `form` has no effect next to `json`
        "#]],
    );
    check(
        "{kind: http, url: 'https://a', auth: [a], timeout: soon, colour: red}",
        expect![[r#"
            6:48 Error wrong-type: `auth` of http must be text or a map, this is a list
            6:62 Error wrong-type: a timeout must be a duration such as 30, 500ms, 30s or 5m, this is text
            6:68 Warning unknown-key: http has no setting `colour` (it is ignored; http has url, method, headers, params, query_params, json, form, multipart, body, body_base64, body_file, data, payload, follow_redirects, verify_ssl, verify, …)
        "#]],
    );
}

#[test]
fn settings_of_postgres_that_are_right() {
    good(
        "{kind: postgres, auth: pg, command: SELECT 1, params: [1], pool: {max_size: 4}, sslmode: require, statement_timeout: 3s}",
    );
    good(
        "{kind: postgres, connection_string: 'postgres://h/d', query: [SELECT 1, SELECT 2], params: {a: 1}, transaction: true, as_objects: false, schema: s}",
    );
}

#[test]
fn settings_of_postgres_that_are_wrong() {
    check(
        "{kind: postgres, auth: pg}",
        expect![[r#"
            6:11 Error missing-key: postgres needs `query` (or `command`, `commands`, `sql`, `statement`, `statements`, `queries`, `script`, `file`)
        "#]],
    );
    check(
        "{kind: postgres, auth: pg, comand: SELECT 1}",
        expect![[r#"
            6:11 Error missing-key: postgres needs `query` (or `command`, `commands`, `sql`, `statement`, `statements`, `queries`, `script`, `file`)
            6:38 Warning unknown-key: postgres has no setting `comand` (did you mean `command`?)
        "#]],
    );
    check(
        "{kind: postgres, query: {a: 1}, params: 7, port: db, transaction: 7, statement_timeout: soon, sslmode: on, pool: 5}",
        expect![[r#"
            6:35 Error wrong-type: `query` of postgres must be text or a list, this is a map
            6:51 Error wrong-type: `params` of postgres must be a list or a map, this is a number
            6:60 Error wrong-type: `port` of postgres must be a whole number, this is text
            6:77 Error wrong-type: `transaction` of postgres must be true or false, this is a number
            6:99 Error wrong-type: `statement_timeout` of postgres must be a duration such as 30, 500ms, 30s or 5m, this is text
            6:114 Error unknown-word: `sslmode` of postgres cannot be `on` (it can be disable, allow, prefer, require, verify-ca, verify-full)
            6:124 Error wrong-type: `pool` of postgres must be a map, this is a number
        "#]],
    );
    check(
        "{kind: postgres, query: SELECT 1, command: SELECT 2, pool: {max_siz: 1}}",
        expect![[r#"
            6:45 Warning contradiction: `command` has no effect next to `query`
            6:71 Warning unknown-key: `pool` has no setting `max_siz` (did you mean `max_size`?)
        "#]],
    );
}

#[test]
fn settings_of_sqlite_that_are_right() {
    good("{kind: sqlite, database: a.db, query: SELECT 1, read_only: true, params: [1]}");
}

#[test]
fn settings_of_sqlite_that_are_wrong() {
    check(
        "{kind: sqlite, databse: a.db, read_only: 7}",
        expect![[r#"
            6:11 Error missing-key: sqlite needs `query` (or `command`, `commands`, `sql`, `statement`, `statements`, `queries`, `script`, `file`)
            6:26 Warning unknown-key: sqlite has no setting `databse` (did you mean `database`?)
            6:52 Error wrong-type: `read_only` of sqlite must be true or false, this is a number
        "#]],
    );
    check(
        "{kind: sqlite, database: a.db, db_path: b.db, query: SELECT 1, params: x}",
        expect![[r#"
            6:42 Warning contradiction: `db_path` has no effect next to `database`
            6:82 Error wrong-type: `params` of sqlite must be a list or a map, this is text
        "#]],
    );
}

#[test]
fn settings_of_duckdb_that_are_right() {
    good("{kind: duckdb, database: ':memory:', commands: [SELECT 1]}");
}

#[test]
fn settings_of_duckdb_that_are_wrong() {
    check(
        "{kind: duckdb, qurey: SELECT 1}",
        expect![[r#"
            6:11 Error missing-key: duckdb needs `query` (or `command`, `commands`, `sql`, `statement`, `statements`, `queries`, `script`, `file`)
            6:26 Warning unknown-key: duckdb has no setting `qurey` (did you mean `query`?)
        "#]],
    );
    check(
        "{kind: duckdb, query: SELECT 1, database: [a]}",
        expect![[r#"
            6:53 Error wrong-type: `database` of duckdb must be text, this is a list
        "#]],
    );
}

#[test]
fn settings_of_python_that_are_right() {
    good(
        "{kind: python, code: 'result = 1', input: {a: 1}, libs: {np: numpy}, env: {A: 1}, cwd: /tmp, venv: /v}",
    );
    good("{kind: python, script: {uri: a.py, source: {type: file}}, libs: [json]}");
}

#[test]
fn settings_of_python_that_are_wrong() {
    check(
        "{kind: python, cod: 'result = 1'}",
        expect![[r#"
            6:11 Error missing-key: python needs `code` (or `script`)
            6:26 Warning unknown-key: python has no setting `cod` (did you mean `code`?)
        "#]],
    );
    check(
        "{kind: python, code: [a], env: [A], libs: 7, cwd: {a: 1}}",
        expect![[r#"
            6:32 Error wrong-type: `code` of python must be text, this is a list
            6:42 Error wrong-type: `env` of python must be a map, this is a list
            6:61 Error wrong-type: `cwd` of python must be text, this is a map
        "#]],
    );
    check(
        "{kind: python, code: x, script: a.py, venv: /v, python: python3}",
        expect![[r#"
            6:35 Warning contradiction: `script` has no effect next to `code`
            6:59 Error contradiction: give `venv` or `python`, not both
        "#]],
    );
}

#[test]
fn settings_of_script_that_are_right() {
    good("{kind: script, code: 'print(1)', interpreter: [python3, -u], args: [a], env: {A: b}}");
}

#[test]
fn settings_of_script_that_are_wrong() {
    check(
        "{kind: script, interpreter: {a: 1}, env: 7}",
        expect![[r#"
            6:11 Error missing-key: script needs `code` (or `script`)
            6:39 Error wrong-type: `interpreter` of script must be text or a list, this is a map
            6:52 Error wrong-type: `env` of script must be a map, this is a number
        "#]],
    );
}

#[test]
fn settings_of_shell_that_are_right() {
    good("{kind: shell, command: ls, env: {A: 1}, cwd: /, stdin: {a: 1}, shell: bash}");
    good("{kind: shell, cmds: [ls, pwd]}");
}

#[test]
fn settings_of_shell_that_are_wrong() {
    check(
        "{kind: shell, cmd: ls}",
        expect![[r#"
            6:11 Error missing-key: shell needs `command` (or `cmds`)
            6:25 Warning unknown-key: shell has no setting `cmd` (did you mean `cmds`?)
        "#]],
    );
    check(
        "{kind: shell, command: {a: 1}, env: x}",
        expect![[r#"
            6:34 Error wrong-type: `command` of shell must be text or a list, this is a map
            6:47 Error wrong-type: `env` of shell must be a map, this is text
        "#]],
    );
    check(
        "{kind: shell, command: ls, cmds: [pwd]}",
        expect![[r#"
            6:38 Warning contradiction: `cmds` has no effect next to `command`
        "#]],
    );
}

#[test]
fn settings_of_rhai_that_are_right() {
    good("{kind: rhai, code: '1 + 1', input: {a: 1}}");
}

#[test]
fn settings_of_rhai_that_are_wrong() {
    check(
        "{kind: rhai, script: '1'}",
        expect![[r#"
            6:11 Error missing-key: rhai needs `code`
            6:24 Warning unknown-key: rhai has no setting `script` (it is ignored; rhai has code, …)
        "#]],
    );
    check(
        "{kind: rhai, code: {a: 1}}",
        expect![[r#"
            6:30 Error wrong-type: `code` of rhai must be text, this is a map
        "#]],
    );
}

#[test]
fn settings_of_noop_that_are_right() {
    good("{kind: noop, result: {a: 1}}");
    good("{kind: noop}");
}

#[test]
fn settings_of_noop_that_are_wrong() {
    check(
        "{kind: noop, mesage: a}",
        expect![[r#"
            6:24 Warning unknown-key: noop has no setting `mesage` (did you mean `message`?)
        "#]],
    );
    check(
        "{kind: noop, result: 1, message: a}",
        expect![[r#"
            6:35 Warning contradiction: `message` has no effect next to `result`
        "#]],
    );
}

#[test]
fn settings_of_playbook_that_are_right() {
    good("{kind: playbook, path: a/b, version: 2, input: {a: 1}, return_step: end}");
}

#[test]
fn settings_of_playbook_that_are_wrong() {
    check(
        "{kind: playbook, input: {a: 1}}",
        expect![[r#"
            6:11 Error missing-key: playbook needs `path` (or `catalog_id`)
        "#]],
    );
    check(
        "{kind: playbook, path: [a], return_step: [b], input: {a: 1}, payload: {b: 1}}",
        expect![[r#"
            6:34 Error wrong-type: `path` of playbook must be text, this is a list
            6:52 Error wrong-type: `return_step` of playbook must be text, this is a list
            6:72 Warning contradiction: `payload` has no effect next to `input`
        "#]],
    );
}

#[test]
fn settings_of_secrets_that_are_right() {
    good("{kind: secrets, credential: pg, fields: [db_user]}");
}

#[test]
fn settings_of_secrets_that_are_wrong() {
    check(
        "{kind: secrets, fields: [a]}",
        expect![[r#"
            6:11 Error missing-key: secrets needs `credential` (or `auth`, `secret_name`, `name`, `key`)
        "#]],
    );
    check(
        "{kind: secrets, credential: pg, fields: {a: 1}}",
        expect![[r#"
            6:51 Error wrong-type: `fields` of secrets must be text or a list, this is a map
        "#]],
    );
}

#[test]
fn settings_of_artifact_that_are_right() {
    good("{kind: artifact, action: get, input: {result_ref: '{{ a._ref }}'}}");
    good("{kind: result_fetch, ref: 'noetl://payload/x'}");
    good("{kind: artifact, input: '{{ reference }}'}");
}

#[test]
fn settings_of_artifact_that_are_wrong() {
    check(
        "{kind: artifact, action: get}",
        expect![[r#"
            6:11 Error missing-key: artifact needs `result_ref` (or `ref`, `uri`, `input.result_ref`, `input.ref`, `input.uri`)
        "#]],
    );
    check(
        "{kind: artifact, action: put, input: {result_ref: x}}",
        expect![[r#"
            6:36 Error unknown-word: `action` of artifact cannot be `put` (it can be get)
        "#]],
    );
}

#[test]
fn settings_of_nats_that_are_right() {
    good("{kind: nats, auth: n, operation: kv_put, bucket: b, key: k, value: {a: 1}}");
    good("{kind: nats, url: 'nats://h', operation: '{{ op }}'}");
    good("{kind: nats, auth: n, operation: js_get_msg, stream: s, seq: 3}");
}

#[test]
fn settings_of_nats_that_are_wrong() {
    check(
        "{kind: nats, auth: n}",
        expect![[r#"
            6:11 Error missing-key: nats needs `operation` (or `action`)
        "#]],
    );
    check(
        "{kind: nats, auth: n, operation: kv_pt, bucket: b}",
        expect![[r#"
            6:44 Error unknown-word: `operation` of nats cannot be `kv_pt` (did you mean `kv_put`?)
        "#]],
    );
    check(
        "{kind: nats, auth: n, operation: kv_put, bucket: b}",
        expect![[r#"
            6:11 Error missing-key: nats with `operation: kv_put` needs `key`
            6:11 Error missing-key: nats with `operation: kv_put` needs `value`
        "#]],
    );
    check(
        "{kind: nats, auth: n, operation: js_consume, batch: many, ack: perhaps, headers: [a]}",
        expect![[r#"
            6:11 Error missing-key: nats with `operation: js_consume` needs `stream`
            6:11 Error missing-key: nats with `operation: js_consume` needs `consumer`
            6:63 Error wrong-type: `batch` of nats must be a whole number, this is text
            6:74 Error wrong-type: `ack` of nats must be true or false, this is text
            6:92 Error wrong-type: `headers` of nats must be a map, this is a list
        "#]],
    );
}

#[test]
fn settings_of_subscription_that_are_right() {
    good(
        "{kind: subscription, source: nats, auth: n, stream: s, consumer: c, ack: manual, batch: 5}",
    );
    good("{kind: subscription, source: nats, auth: n, operation: ack, ack_ids: '{{ p.ack_ids }}'}");
}

#[test]
fn settings_of_subscription_that_are_wrong() {
    check(
        "{kind: subscription, auth: n}",
        expect![[r#"
            6:11 Error missing-key: subscription needs `source`
            6:11 Error missing-key: subscription needs `stream`
            6:11 Error missing-key: subscription needs `consumer` (or `subscription`)
        "#]],
    );
    check(
        "{kind: subscription, source: kafka, stream: s, consumer: c, ack: later, batch: 100000}",
        expect![[r#"
            6:40 Warning foreign-tool: `source` of subscription is `kafka`, which is not built in
            6:76 Error unknown-word: `ack` of subscription cannot be `later` (it can be on_success, auto, manual, defer, none)
            6:90 Error out-of-range: `batch` of subscription must be between 0 and 1000
        "#]],
    );
    check(
        "{kind: subscription, source: nats, operation: nack}",
        expect![[r#"
            6:11 Error missing-key: subscription with `operation: nack` needs `ack_ids` (or `ack_id`)
        "#]],
    );
}

#[test]
fn settings_of_transfer_that_are_right() {
    good(
        "{kind: transfer, source: {type: postgres, auth: a, query: SELECT 1}, target: {type: file, path: a.csv}}",
    );
    good(
        "{kind: transfer, source: {type: http, url: u, data_path: d}, target: {type: sqlite, database: d, table: t, keys: [a]}, mode: upsert}",
    );
    good("{kind: transfer, source: '{{ s }}', target: '{{ t }}', chunk_size: 10}");
}

#[test]
fn settings_of_transfer_that_are_wrong() {
    check(
        "{kind: transfer, source: {type: postgres}, target: {table: t}}",
        expect![[r#"
            6:36 Error missing-key: `source` with `type: postgres` needs `query` (or `command`, `commands`, `sql`, `statement`, `statements`, `queries`, `script`, `file`)
            6:62 Error missing-key: `target` needs `type` (or `tool`, `kind`)
        "#]],
    );
    check(
        "{kind: transfer, source: {type: ftp, path: a}, target: {type: postgres, tabel: t}, mode: upsert}",
        expect![[r#"
            6:11 Error missing-key: transfer with `mode: upsert` needs `keys` (or `key`, `key_columns`, `target.keys`, `target.key`, `target.key_columns`)
            6:43 Error unknown-word: `type` of `source` cannot be `ftp` (it can be postgres, sqlite, duckdb, http, file, csv, jsonl, snowflake)
            6:66 Error missing-key: `target` with `type: postgres` needs `table`
            6:83 Warning unknown-key: `target` has no setting `tabel` (did you mean `table`?)
        "#]],
    );
    check(
        "{kind: transfer, source: {type: snowflake, query: SELECT 1}, target: [a], mode: move, chunk_size: 1.5}",
        expect![[r#"
            6:43 Warning foreign-tool: `type` of `source` is `snowflake`, which is not built in
            6:80 Error wrong-type: `target` of transfer must be a map, this is a list
            6:91 Error unknown-word: `mode` of transfer cannot be `move` (it can be append, insert, replace, overwrite, upsert, merge)
            6:109 Error bad-value: `chunk_size` of transfer must be a whole number
        "#]],
    );
}

/// Reads a page of the tool documentation.
fn page(name: &str) -> String {
    let file = format!("{}/../../docs/tools/{name}.md", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// Returns the keys in the table of a tool's page.
fn keys_of_page(tool: ToolKind) -> Vec<String> {
    let page = page(tool.as_str());
    let table = page.lines().skip_while(|line| !line.starts_with("| Key")).skip(2);
    let rows = table.take_while(|line| line.starts_with('|'));
    let cells = rows.filter_map(|row| row.split('|').nth(1));
    let words = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    words.map(str::to_owned).collect()
}

/// True if a key, or a dotted path of keys, is a setting.
fn is_setting(settings: &'static ToolKeys, path: &str) -> bool {
    match path.split_once('.') {
        None => settings.setting(path).is_some(),
        Some((head, rest)) => match settings.setting(head).map(|setting| setting.form) {
            Some(Form::Nested(below)) => is_setting(below, rest),
            Some(_) => true,
            None => false,
        },
    }
}

#[test]
fn every_key_on_a_tools_page_is_one_of_its_settings() {
    for tool in ToolKind::ALL.iter().filter(|tool| tool.is_built_in()) {
        if *tool == ToolKind::ResultFetch {
            continue;
        }
        let settings = settings_of(*tool).expect("it is built in");
        let keys = keys_of_page(*tool);
        assert!(!keys.is_empty(), "{tool}");
        // The page lists the keys of a transfer's two ends without `source.` or `target.`.
        let known = |key: &String| {
            is_setting(settings, key) || is_setting(settings, &format!("source.{key}"))
        };
        let unknown: Vec<String> = keys.into_iter().filter(|key| !known(key)).collect();
        assert!(unknown.is_empty(), "{tool}: {unknown:?}");
    }
}

#[test]
fn every_setting_of_a_tool_is_on_its_page_or_on_the_one_they_share() {
    let shared = page("README");
    for tool in ToolKind::ALL {
        let Some(settings) = settings_of(*tool) else { continue };
        let own = match tool {
            ToolKind::ResultFetch => page("artifact"),
            other => page(other.as_str()),
        };
        let is_on = |page: &str, name: &str| {
            page.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(|word| word == name)
        };
        let names = settings.all().map(|setting| setting.name);
        let absent: Vec<_> =
            names.filter(|name| !is_on(&own, name) && !is_on(&shared, name)).collect();
        assert!(absent.is_empty(), "{tool}: {absent:?}");
    }
}
