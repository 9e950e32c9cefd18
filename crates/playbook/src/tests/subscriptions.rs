//! Documents of `kind: Subscription`.

use std::time::Duration;

use expect_test::{Expect, expect};

use crate::{
    CheckedDocument, Controls, Fetch, MessageDelivery, MessageOrder, OrderKey, Signed,
    Subscription, TraceRule, Verify, parse_document,
};

#[track_caller]
fn check(spec: &str, expected: Expect) {
    let yaml = format!(
        "apiVersion: noetl.io/v1\nkind: Subscription\nmetadata: {{name: s, path: subs/s}}\nspec:\n{spec}"
    );
    let said = match parse_document("s.yaml", yaml.as_bytes()) {
        Ok(CheckedDocument::Subscription(checked)) => checked.warnings.to_string(),
        Ok(
            CheckedDocument::Playbook(_)
            | CheckedDocument::Schedule(_)
            | CheckedDocument::Notification(_),
        ) => {
            panic!("it is a subscription")
        }
        Err(problems) => problems.to_string(),
    };
    let heads = said.lines().filter(|line| line.starts_with("error") || line.starts_with("warn"));
    expected.assert_eq(&heads.map(|line| format!("{line}\n")).collect::<String>());
}

fn read(yaml: &str) -> Subscription {
    match parse_document("s.yaml", yaml.as_bytes()) {
        Ok(CheckedDocument::Subscription(checked)) => checked.subscription,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_pushed_subscription_reads_whole() {
    let subscription = read(
        "apiVersion: noetl.io/v1
kind: Subscription
metadata: {name: orders, path: subscriptions/orders}
spec:
  source: webhook
  mode: push
  ingress:
    gateway_path: /ingress/orders/
    verify: {type: hmac_sha256, header: X-Signature, secret: key, timestamp_header: X-Time}
  dispatch: {playbook: a/b, execution_pool: subscription}
  headers:
    directives:
      - {header: X-Route, controls: dispatch.playbook, allowed: [a/b, a/c]}
    trace: {propagate: w3c, baggage_allowlist: [tenant]}
  dedup: {enabled: true, window_secs: 600}
  limits: {max_in_flight: 10}
",
    );
    let MessageDelivery::Push(ingress) = &subscription.delivery else { panic!("it is pushed to") };
    assert_eq!(ingress.listener(), "orders");
    let Verify::Hmac { header, signed, .. } = &ingress.verify else { panic!("it is signed") };
    assert_eq!(header, "x-signature");
    assert_eq!(*signed, Signed::TimeAndBody { time_header: "x-time".to_owned() });
    let allowed = vec!["a/b".to_owned(), "a/c".to_owned()];
    assert_eq!(subscription.headers.directives[0].controls, Controls::Playbook { allowed });
    assert_eq!(subscription.headers.trace, TraceRule::W3c { baggage: vec!["tenant".to_owned()] });
    assert_eq!(subscription.dedup.map(|window| window.as_secs()), Some(600));
    assert_eq!(subscription.limits.in_flight_max, Some(10));
}

#[test]
fn settings_that_only_the_source_knows_are_kept_without_a_diagnostic() {
    check(
        "  {source: nats, mode: pull, stream: S, consumer: C, runtime: {batch: 5}, dispatch: {playbook: a}}",
        expect![""],
    );
}

#[test]
fn all_problems_are_found_at_once() {
    check(
        "  source: natz
  mode: push
  ingress: {gateway_path: orders, verify: {type: none}}
  dispatch: {payload_from: message.xml, batch_max: 1001}
  dedup: {enabled: true, window_secs: 0}
  limits: {max_in_flight: 0}
  headers: {directives: [{header: x, controls: dispatch.playbook}, {controls: priority}]}
",
        expect![[r#"
            error[unknown-word]: `source` cannot be `natz`
            error[bad-value]: `gateway_path` must be an absolute path, this is `orders`
            error[bad-value]: `verify.type` cannot be `none`: anybody could start executions
            error[missing-key]: `dispatch` needs `playbook`
            error[unknown-word]: `payload_from` cannot be `message.xml`
            error[out-of-range]: `batch_max` must be between 1 and 1000
            error[out-of-range]: `window_secs` must be more than 0
            error[out-of-range]: `max_in_flight` must be between 1 and 1000000
            error[missing-key]: a directive that chooses needs `allowed`
            error[missing-key]: a directive needs `header`
        "#]],
    );
}

#[test]
fn a_misspelt_key_gets_a_warning() {
    check(
        "  {source: nats, mode: pull, stream: S, consumer: C, dispatch: {playbok: b, playbook: a}}",
        expect![[r#"
            warning[unknown-key]: `dispatch` has no key `playbok`
        "#]],
    );
}

#[test]
fn interleaving_breaks_a_global_order() {
    check(
        "  source: nats
  mode: pull
  stream: S
  consumer: C
  dispatch: {playbook: a}
  spool: {mode: hybrid, backend: s3, ordering: global, drain: {on_recovery: interleave}}
",
        expect![[r#"
            error[missing-key]: this backend needs `bucket`
            error[bad-value]: `interleave` breaks the order that `ordering: global` asks for
        "#]],
    );
}

#[test]
fn a_pulled_subscription_says_how_its_source_is_read() {
    let subscription = read(
        "apiVersion: noetl.io/v1
kind: Subscription
metadata: {name: s}
spec:
  source: nats
  mode: pull
  stream: S
  consumer: C
  runtime: {target: dedicated-pool, pool: subscription, batch: 50, timeout_ms: 2000}
  dispatch: {playbook: a, max_failures: 3, ordering: per_key, ordering_key: headers.X-Device}
",
    );
    assert_eq!(subscription.fetch, Fetch { batch: 50, wait: Duration::from_secs(2) });
    assert_eq!(subscription.failures_max, 3);
    assert_eq!(subscription.order, MessageOrder::PerKey(OrderKey::Header("x-device".to_owned())));
}

#[test]
fn an_order_is_also_read_where_older_documents_have_it() {
    let order = |rest: &str| {
        let head = "apiVersion: noetl.io/v1\nkind: Subscription\nmetadata: {name: s}\n";
        let spec = "source: nats, mode: pull, stream: S, consumer: C, dispatch: {playbook: a}";
        read(&format!("{head}spec: {{{spec}{rest}}}\n")).order
    };
    assert_eq!(order(""), MessageOrder::None);
    assert_eq!(order(", spool: {mode: off, ordering: none}"), MessageOrder::None);
    assert_eq!(order(", spool: {ordering: global}"), MessageOrder::Global);
    assert_eq!(order(", spool: {ordering: per_key}"), MessageOrder::PerKey(OrderKey::Subject));
    let field = OrderKey::Field(vec!["a".to_owned(), "b".to_owned()]);
    let key = ", spool: {ordering: per_key, ordering_key: data.a.b}";
    assert_eq!(order(key), MessageOrder::PerKey(field));
}

#[test]
fn a_missing_setting_of_a_source_is_an_error() {
    check(
        "  source: nats
  mode: pull
  runtime: {batch: 0, timeout_ms: 60000}
  dispatch: {playbook: a, max_failures: 101, ordering: per_key, ordering_key: data..x}
",
        expect![[r#"
            error[missing-key]: a source of nats needs `stream`
            error[missing-key]: a source of nats needs `consumer`
            error[out-of-range]: `batch` must be between 1 and 1000
            error[out-of-range]: `timeout_ms` must be between 0 and 30 seconds
            error[out-of-range]: `max_failures` must be between 1 and 100
            error[bad-value]: `data..x` names no part of a message
        "#]],
    );
    check(
        "  {source: webhook, mode: pull, dispatch: {playbook: a}}",
        expect![[r#"
            error[bad-value]: messages of a webhook cannot be pulled
        "#]],
    );
    check(
        "  {source: kafka, mode: pull, topic: t, group: g, dispatch: {playbook: a}}",
        expect![[r#"
            warning[foreign-source]: no runtime of this system pulls from kafka
        "#]],
    );
}
