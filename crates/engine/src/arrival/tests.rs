//! Tests of the executions that messages request.

use expect_test::{Expect, expect};
use noetl_model::Bytes;
use noetl_playbook::{CheckedDocument, parse_document};

use super::*;

fn subscription(rest: &str) -> Subscription {
    let yaml = format!(
        "apiVersion: noetl.io/v1
kind: Subscription
metadata: {{name: s, path: subs/s}}
spec:
  source: nats
  mode: pull
  stream: S
  consumer: C
{rest}"
    );
    match parse_document("s.yaml", yaml.as_bytes()) {
        Ok(CheckedDocument::Subscription(checked)) => checked.subscription,
        other => panic!("{other:?}"),
    }
}

fn arrival(headers: &[(&str, &str)], body: &str) -> Arrival {
    let headers: Map<String, Value> =
        headers.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
    Arrival {
        id: "S:7".to_owned(),
        once: "S:7@9".to_owned(),
        attributes: headers.clone(),
        headers,
        metadata: Map::from_iter([("subject".to_owned(), json!("s.a"))]),
        body: Bytes(body.as_bytes().to_vec()),
    }
}

const DIRECTIVES: &str = "  dispatch: {playbook: a, execution_pool: p}
  headers:
    directives:
      - {header: X-Route, controls: dispatch.playbook, allowed: [a, b]}
      - {header: x-pool, controls: dispatch.execution_pool, allowed: [fast]}
      - {header: x-priority, controls: priority, map: {high: urgent}}
      - {header: x-key, controls: idempotency_key}
      - {header: content-type, controls: content_type}
    trace: {propagate: w3c, baggage_allowlist: [tenant]}
";

/// Checks the execution that a message with these headers requests.
fn check(headers: &[(&str, &str)], expected: Expect) {
    let said = match message_request("subs/s", &subscription(DIRECTIVES), &arrival(headers, "{}")) {
        Ok(request) => format!(
            "{} on {} as {:?}, trace {}",
            match request.target {
                MessageTarget::Playbook(playbook) => playbook,
                MessageTarget::Signal(signal) => format!("signal {}", signal.name),
            },
            request.pool.unwrap_or_default(),
            request.idempotency_key,
            request.trace.unwrap_or_default()
        ),
        Err(error) => error.to_string(),
    };
    expected.assert_eq(&said);
}

#[test]
fn without_headers_the_subscription_decides() {
    check(&[], expect!["a on p as None, trace null"]);
}

#[test]
fn a_header_chooses_what_it_may() {
    check(&[("x-route", "b"), ("x-key", "k")], expect![[r#"b on p as Some("k"), trace null"#]]);
    check(&[("x-route", "c")], expect!["the header `x-route` may not choose `c`"]);
    check(&[("x-pool", "slow")], expect!["the header `x-pool` may not choose `slow`"]);
    check(&[("x-key", "")], expect!["the idempotency key is empty or longer than 500 bytes"]);
}

#[test]
fn a_pool_wins_over_a_priority_and_an_unknown_priority_is_none() {
    check(&[("x-priority", "high")], expect!["a on urgent as None, trace null"]);
    check(&[("x-priority", "high"), ("x-pool", "fast")], expect!["a on fast as None, trace null"]);
    check(&[("x-priority", "low")], expect!["a on p as None, trace null"]);
}

#[test]
fn a_trace_goes_on_with_the_baggage_that_is_allowed() {
    check(&[("tracestate", "x")], expect!["a on p as None, trace null"]);
    check(
        &[("traceparent", "00-1"), ("tracestate", "x"), ("baggage", "tenant=t;p=1, user=u")],
        expect![[
            r#"a on p as None, trace {"traceparent":"00-1","tracestate":"x","baggage":"tenant=t;p=1"}"#
        ]],
    );
}

fn check_payload(from: &str, body: &str, expected: Expect) {
    let rules = subscription(&format!("  dispatch: {{playbook: a, payload_from: {from}}}\n"));
    let said = match message_request("subs/s", &rules, &arrival(&[("k", "v")], body)) {
        Ok(request) => Value::Object(request.payload).to_string(),
        Err(error) => error.to_string(),
    };
    expected.assert_eq(&said);
}

#[test]
fn the_body_is_merged_with_the_message_and_hides_no_key() {
    check_payload(
        "message.json",
        r#"{"n":1,"source":"mine"}"#,
        expect![[
            r#"{"message":{"id":"S:7","data":{"n":1,"source":"mine"},"headers":{"k":"v"},"attributes":{"k":"v"},"metadata":{"subject":"s.a","subscription":"subs/s"}},"subscription":"subs/s","source":"nats","n":1}"#
        ]],
    );
    check_payload("message.json", "not JSON", expect!["the body is not JSON"]);
}

#[test]
fn a_payload_that_is_not_a_map_becomes_the_body() {
    check_payload(
        "message.body",
        "not JSON",
        expect![[
            r#"{"message":{"id":"S:7","data":"not JSON","headers":{"k":"v"},"attributes":{"k":"v"},"metadata":{"subject":"s.a","subscription":"subs/s"}},"subscription":"subs/s","source":"nats","body":"not JSON"}"#
        ]],
    );
    check_payload(
        "message.attributes",
        "not JSON",
        expect![[
            r#"{"message":{"id":"S:7","data":{"k":"v"},"headers":{"k":"v"},"attributes":{"k":"v"},"metadata":{"subject":"s.a","subscription":"subs/s"}},"subscription":"subs/s","source":"nats","k":"v"}"#
        ]],
    );
}

fn check_once(dedup: &str, headers: &[(&str, &str)], expected: &str) {
    let rules = subscription(&format!("{DIRECTIVES}{dedup}"));
    let arrival = arrival(headers, "{}");
    let request = message_request("subs/s", &rules, &arrival).expect("a message");
    let (name, keep) = start_key(&rules, &request, &arrival);
    assert_eq!(format!("{name} for {}s", keep.as_secs()), expected);
}

#[test]
fn a_message_is_known_by_its_key_if_it_is_asked_for_else_by_itself() {
    let dedup = "  dedup: {enabled: true, window_secs: 60}\n";
    check_once(dedup, &[("x-key", "k")], "key k for 60s");
    check_once(dedup, &[], "message S:7@9 for 604800s");
    check_once("", &[("x-key", "k")], "message S:7@9 for 604800s");
}

fn check_posted(dedup: &str, tolerance: Option<u64>, key: Option<&str>, expected: &str) {
    let rules = subscription(&format!("{DIRECTIVES}{dedup}"));
    let headers: Vec<(&str, &str)> = key.map(|key| ("x-key", key)).into_iter().collect();
    let request = message_request("subs/s", &rules, &arrival(&headers, "{}")).expect("a message");
    let tolerance = tolerance.map(Duration::from_secs);
    let digest = Digest::of(b"{}");
    let check = |signed: Option<&SignedPart>, expected: &str| {
        let known = posted_start_key(&rules, &request, signed);
        let known = known.map(|(name, keep)| format!("{name} for {}s", keep.as_secs()));
        let known = known.unwrap_or_default().replace(&digest.to_string(), "DIGEST");
        assert_eq!(known, expected, "{dedup:?} {key:?} {signed:?}");
    };
    check(Some(&SignedPart { digest, tolerance }), expected);
    let unsigned = match (key, dedup) {
        (None, _) => String::new(),
        (Some(key), "") => format!("{key} for 86400s"),
        (Some(key), _) => format!("{key} for 60s"),
    };
    check(None, &unsigned);
}

#[test]
fn a_signed_message_is_known_by_what_is_signed_whatever_its_headers_say() {
    let dedup = "  dedup: {enabled: true, window_secs: 60}\n";
    for key in [None, Some("k")] {
        check_posted("", None, key, "signed DIGEST for 86400s");
        check_posted(dedup, None, key, "signed DIGEST for 60s");
        check_posted("", Some(300), key, "signed DIGEST for 600s");
        check_posted(dedup, Some(300), key, "signed DIGEST for 600s");
    }
}

fn check_order(ordering: &str, body: &str, expected: Option<&str>) {
    let rules = subscription(&format!("  dispatch: {{playbook: a{ordering}}}\n"));
    let key = order_key(&rules.order, &arrival(&[("x-device", "d1")], body));
    assert_eq!(key.as_deref(), expected, "{ordering}");
}

#[test]
fn messages_wait_in_the_line_of_their_key() {
    check_order("", "{}", None);
    check_order(", ordering: global", "{}", Some(""));
    check_order(", ordering: per_key", "{}", Some("s.a"));
    check_order(", ordering: per_key, ordering_key: headers.X-Device", "{}", Some("d1"));
    check_order(", ordering: per_key, ordering_key: a.b", r#"{"a":{"b":7}}"#, Some("7"));
    check_order(", ordering: per_key, ordering_key: a.b", "not JSON", Some(""));
}

/// Checks the signal that a message becomes.
#[track_caller]
fn check_signal(key: &str, body: &str, expected: &str) {
    let rest = format!("  dispatch: {{signal: payment, key: '{key}'}}\n");
    let said = match message_request("subs/s", &subscription(&rest), &arrival(&[], body)) {
        Ok(MessageRequest { target: MessageTarget::Signal(signal), .. }) => {
            format!("{} {} {}", signal.name, signal.key, signal.body)
        }
        Ok(other) => format!("{other:?}"),
        Err(error) => error.to_string(),
    };
    assert_eq!(said, expected);
}

#[test]
fn a_message_becomes_a_signal_with_a_key_from_its_parts() {
    let body = r#"{"order":"A-1","n":7,"list":[]}"#;
    check_signal("{{ message.data.order }}", body, &format!("payment A-1 {body}"));
    check_signal("{{ order }}-{{ n }}", body, &format!("payment A-1-7 {body}"));
    check_signal("{{ n }}", body, &format!("payment 7 {body}"));
    let failed = "the correlation key of the signal cannot be read from the message: ";
    check_signal(
        "{{ list }}",
        body,
        &format!("{failed}it is [], and a text or a number is needed"),
    );
}

/// Checks the labels of the execution that a message starts.
#[track_caller]
fn check_labels(labels: &str, body: &str, expected: &str) {
    let rest = format!("  dispatch: {{playbook: a, labels: {{{labels}}}}}\n");
    let said = match message_request("subs/s", &subscription(&rest), &arrival(&[], body)) {
        Ok(request) => {
            let labels: Vec<String> = request.labels.iter().map(ToString::to_string).collect();
            labels.join(" ")
        }
        Err(error) => error.to_string(),
    };
    assert_eq!(said, expected, "{labels}");
}

#[test]
fn the_labels_of_a_started_execution_are_rendered_over_the_message() {
    let body = r#"{"tenant":"acme","n":7,"list":[]}"#;
    check_labels("source: orders, n: '{{ n }}'", body, "n:7 source:orders");
    check_labels("tenant: '{{ message.data.tenant }}'", body, "tenant:acme");
    check_labels("none: '{{ message.data.nothing }}', tier: 1", body, "tier:1");
    let failed = "the labels cannot be read from the message: ";
    let list = "the value of label `l` is a list; a text, a number or a boolean is needed";
    check_labels("l: '{{ list }}'", body, &format!("{failed}{list}"));
    check_labels(
        "l: '{{ \"x\" * 300 }}'",
        body,
        &format!("{failed}the value of label `l` has 300 bytes; 200 are allowed"),
    );
}
