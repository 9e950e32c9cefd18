//! The credentials that documents name.

use expect_test::{Expect, expect};

use super::{document, playbook};
use crate::{CheckedDocument, CredentialNames, credential_names, parse_document};

#[track_caller]
fn check(names: &CredentialNames, expected: Expect) {
    let joined = |names: &std::collections::BTreeSet<String>| {
        names.iter().map(String::as_str).collect::<Vec<_>>().join(" ")
    };
    let (exact, templates) = (joined(&names.exact), joined(&names.templates));
    expected.assert_eq(&format!("{exact} | {templates}"));
}

#[test]
fn credentials_are_named_by_settings_of_tools_and_by_templates() {
    let yaml = document(
        "  - step: start
    tool:
      - one: {kind: http, url: 'https://a', auth: api, headers: {x: '{{ keychain.other.token }}'}}
      - two: {kind: postgres, auth: {pg: {source: credential, key: pg_main}}, query: select 1}
      - three: {kind: postgres, credential: '{{ workload.db }}', query: select 1}
      - four:
          kind: transfer
          source: {type: http, url: 'https://a', auth: {credential: from}}
          target: {type: postgres, auth: to, table: t}
      - five: {kind: secrets, secret_name: looked_at}
      - six: {kind: http, url: 'https://a', json: {auth: data, credential: data}}
      - seven: {kind: nats, operation: publish, subject: s, auth: '{{ which }}', data: 1}
",
    );
    check(
        &credential_names(&playbook(&yaml)),
        expect!["api from looked_at other pg_main to | {{ which }} {{ workload.db }}"],
    );
}

#[test]
fn entries_of_the_keychain_are_named_and_credentials_of_notifications_are_not() {
    let yaml = "apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: t}
keychain: [{name: said, kind: bearer, token: t}]
on: {failed: [{http: {url: 'https://a', credential: hook}}]}
workflow:
  - step: start
    input: {key: '{{ keychain.given.key }}'}
    tool: {kind: noop}
";
    check(&credential_names(&playbook(yaml)), expect!["given said | "]);
}

#[test]
fn a_loop_over_a_cursor_names_the_credential_of_its_claims() {
    let yaml = document(
        "  - step: start
    loop:
      cursor: {kind: postgres, auth: queue, claim: 'select 1'}
      iterator: row
    tool: {kind: noop}
",
    );
    check(&credential_names(&playbook(&yaml)), expect!["queue | "]);
}

#[test]
fn a_subscription_names_the_credential_of_its_source() {
    let yaml = "apiVersion: noetl.io/v1
kind: Subscription
metadata: {name: s, path: subs/s}
spec: {source: nats, mode: pull, stream: S, consumer: C, auth: broker, dispatch: {playbook: a}}
";
    let Ok(CheckedDocument::Subscription(checked)) = parse_document("s.yaml", yaml.as_bytes())
    else {
        panic!("it is a subscription")
    };
    check(&CredentialNames::of_subscription(&checked.subscription), expect!["broker | "]);
}
