use expect_test::{Expect, expect};
use futures::FutureExt as _;
use noetl_model::ErrorKind;
use noetl_model::ToolKind;
use serde_json::json;

use super::*;
use crate::protect::credentials::{FixedCredentials, RecordingResolver};
use crate::testing::{bindings, lease};

fn prepare(lease: &Lease, values: Value) -> Result<Call, ToolError> {
    let api = r#"{"type": "bearer", "token": "t0ken"}"#;
    let variables = [("NOETL_CREDENTIAL_API".to_owned(), api.to_owned())];
    let credentials = RecordingResolver(Arc::new(FixedCredentials::from_environment(variables)));
    let options = CallOptions {
        timeout_default: Duration::from_secs(300),
        cancel: CancellationToken::new(),
        used: UsedCredentials::default(),
        memory: crate::MemoryBudget::default().call(),
        files: FileAccess::default(),
        live: Default::default(),
        identity: &WorkerIdentity {
            worker: Some("w-1".to_owned()),
            server_url: Some("http://plane:8082".to_owned()),
        },
    };
    let templates = Templates::new();
    let preparing = templates.prepare(lease, bindings(values), &credentials, options);
    preparing.now_or_never().expect("these credentials are at hand")
}

fn check(config: Value, values: Value, expected: Expect) {
    let actual = match prepare(&lease(ToolKind::Python, config), values) {
        Ok(call) => {
            format!("input {}\nconfig {}\n", Value::Object(call.input), Value::Object(call.config))
        }
        Err(error) => format!("{}: {error}\n", error.kind),
    };
    expected.assert_eq(&actual);
}

#[test]
fn a_command_knows_who_runs_it_unless_the_playbook_has_words_of_its_own() {
    check(
        json!({"input": {"who": "{{ worker_id }} {{ server_url }} {{ node_name }} {{ action }}"}}),
        json!({"action": "mine"}),
        expect![[r#"
            input {"who":"w-1 http://plane:8082 fetch mine"}
            config {}
        "#]],
    );
}

#[test]
fn arguments_are_variables_for_the_rest() {
    check(
        json!({
            "input": {"n": "{{ workload.count + 1 }}", "who": "{{ name }}"},
            "code": "result = {{ n }} # {{ who }} {{ input.n }} {{ name }}",
        }),
        json!({"workload": {"count": 2}, "name": "ann"}),
        expect![[r#"
            input {"n":3,"who":"ann"}
            config {"code":"result = 3 # ann 3 ann"}
        "#]],
    );
}

#[test]
fn input_wins_over_args() {
    check(
        json!({"args": {"a": 1, "b": 2}, "input": {"a": "{{ x }}"}}),
        json!({"x": [1]}),
        expect![[r#"
            input {"a":[1],"b":2}
            config {}
        "#]],
    );
}

#[test]
fn arguments_may_come_from_one_template() {
    check(
        json!({"input": "{{ row }}", "url": "u/{{ id }}"}),
        json!({"row": {"id": 5}}),
        expect![[r#"
            input {"id":5}
            config {"url":"u/5"}
        "#]],
    );
}

#[test]
fn arguments_that_are_no_map_are_refused() {
    check(
        json!({"input": "{{ row }}"}),
        json!({"row": 5}),
        expect![[r#"
            config: `input` must be a map of arguments, but is 5
        "#]],
    );
}

#[test]
fn a_list_of_args_is_the_tools_own() {
    check(
        json!({"args": ["-l", "{{ x }}"]}),
        json!({"x": 1}),
        expect![[r#"
            input {}
            config {"args":["-l",1]}
        "#]],
    );
}

#[test]
fn a_template_that_cannot_be_rendered_is_not_retried() {
    let lease = lease(ToolKind::Python, json!({"code": "{{ 1 / 0 }}"}));
    let error = prepare(&lease, json!({})).unwrap_err();
    assert_eq!((error.kind, error.retryable), (ErrorKind::Template, false));
}

#[test]
fn a_parsed_configuration_is_kept() {
    let templates = Templates::new();
    let of = |code: &str| lease(ToolKind::Python, json!({ "code": code }));
    let first = templates.parse(&of("{{ a }}")).unwrap();
    assert!(Arc::ptr_eq(&first, &templates.parse(&of("{{ a }}")).unwrap()));
    assert!(!Arc::ptr_eq(&first, &templates.parse(&of("{{ b }}")).unwrap()));
    let strict = Lease { is_strict: true, ..of("{{ a }}") };
    assert!(!Arc::ptr_eq(&first, &templates.parse(&strict).unwrap()));
}

#[test]
fn the_shortest_time_limit_holds() {
    let check = |leased: Option<u64>, config: Value, seconds: u64| {
        let lease = Lease { timeout_ms: leased, ..lease(ToolKind::Http, config.clone()) };
        let call = prepare(&lease, json!({})).unwrap();
        assert_eq!(call.timeout, Duration::from_secs(seconds), "{leased:?} {config}");
    };
    check(None, json!({}), 300);
    check(Some(5000), json!({}), 5);
    check(Some(5000), json!({"timeout": 2}), 2);
    check(Some(5000), json!({"timeout": "30s"}), 5);
    check(None, json!({"timeout": {"connect": 1}}), 300);
    check(None, json!({"timeout_seconds": "20"}), 20);
}

#[test]
fn a_template_names_a_field_of_a_credential() {
    check(
        json!({"input": {"auth": "Bearer {{ keychain.api.token }}"}, "url": "u?k={{ keychain.api.token }}"}),
        json!({}),
        expect![[r#"
            input {"auth":"Bearer t0ken"}
            config {"url":"u?k=t0ken"}
        "#]],
    );
}

#[test]
fn a_credential_that_a_template_names_is_noted_and_is_no_variable() {
    let lease = lease(ToolKind::Python, json!({"code": "{{ keychain.api.token }}"}));
    let call = prepare(&lease, json!({"a": 1})).unwrap();
    assert_eq!(json!(call.used.fields()), json!([{"type": "bearer", "token": "t0ken"}]));
    assert_eq!(call.variables.keys().collect::<Vec<_>>(), ["a"]);
}

#[test]
fn a_credential_that_is_not_there_fails_the_command() {
    check(
        json!({"code": "{{ keychain.other.token }}"}),
        json!({}),
        expect![[r#"
            config: there is no credential `other`: set the variable NOETL_CREDENTIAL_OTHER
        "#]],
    );
}

#[test]
fn a_variable_called_keychain_is_the_playbooks_own() {
    check(
        json!({"code": "{{ keychain.other }}"}),
        json!({"keychain": {"other": 1}}),
        expect![[r#"
            input {}
            config {"code":1}
        "#]],
    );
}
