//! Tests of credentials, their delivery, the encryption key and the audit log.

use axum::body::Body;
use axum::http::{Method, Request, header};
use expect_test::expect;
use noetl_secrets::{DeliveryKey, SealedEnvelope};
use serde_json::{Value, json};

use super::Server;
use crate::{Authentication, Hosts, Scope, Token};

/// A playbook with keychain entries of all kinds.
const KEYCHAIN: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: keys, path: tests/keys}
workload: {db: pg}
keychain:
  - {name: renamed, credential: '{{ workload.db }}'}
  - {name: mapped, credential: pg, map: {user: db_user, pass: pg.db_password, where: 'db {{ workload.db }}'}}
  - {name: cloud, provider: gcp}
  - {name: dangling, credential: nobody}
  - {name: empty}
  - {name: said, kind: bearer, token: 't-{{ workload.db }}'}
  - {name: plain, kind: static, map: {a: as.it.is, b: '{{ keychain.said.token }} {{ keychain.pg.db_user }}'}}
  - {name: round, kind: static, map: {a: '{{ keychain.about.a }}'}}
  - {name: about, kind: static, map: {a: '{{ keychain.round.a }}'}}
  - {name: got, kind: oauth2, endpoint: 'https://id/{{ workload.db }}', data: {grant_type: client_credentials, client_id: me}}
workflow:
  - step: start
    tool: {kind: noop}
";

/// A playbook whose steps name credentials: by name, by a template, and in a loop.
const NAMES: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: names, path: tests/names}
workload: {db: pg_rendered}
workflow:
  - step: start
    tool: {kind: http, url: 'https://a.example', auth: pg, headers: {x: '{{ keychain.none.token }}'}}
    next: second
  - step: second
    tool: {kind: http, url: 'https://a.example', auth: '{{ workload.db }}', json: {auth: pg_data}}
";

pub(super) async fn a_worker_gets_only_the_credentials_that_its_playbook_names(server: Server) {
    let server = with_postgres(server).await;
    for name in ["pg_rendered", "pg_data", "pg_other"] {
        let put = json!({ "name": name, "type": "bearer", "data": { "token": "s3cr3t" } });
        server.post("/api/credentials", put).await;
    }
    server.register(NAMES).await;
    let id = server.start("tests/names").await;
    let find = async |alias: &str| {
        let path = format!("/api/credentials/{alias}?include_data=true&execution_id={id}");
        let answer = server.get(&path).await;
        if answer.status == 200 { "200".to_owned() } else { answer.problem() }
    };
    const NOT_NAMED: &str = "403 credential-not-named";
    assert_eq!(find("pg").await, "200");
    assert_eq!(find("none").await, "404 unknown-credential");
    for other in ["pg_other", "pg_data", "absent"] {
        assert_eq!(find(other).await, NOT_NAMED, "{other}");
    }
    assert_eq!(find("pg_rendered").await, NOT_NAMED, "nobody holds its command");
    let ask = json!({ "worker": "w", "pool": "shared", "max": 1, "wait_ms": 10_000 });
    let lease = server.post("/api/worker/lease", ask.clone()).await.body["leases"][0].clone();
    let report = json!({
        "execution": lease["execution"], "command": lease["command"], "attempt": lease["attempt"],
        "worker": "w", "outcome": { "status": "completed", "output": {} },
    });
    server.post("/api/worker/report", json!({ "reports": [report] })).await;
    let leases = server.post("/api/worker/lease", ask).await.body;
    assert_eq!(leases["leases"][0]["step"], "second", "{leases}");
    assert_eq!(find("pg_rendered").await, "200");
    for other in ["pg_other", "pg_data"] {
        assert_eq!(find(other).await, NOT_NAMED, "{other}");
    }
    let trail = server.get("/api/internal/secret-audit?credential=pg_other").await.body;
    assert_eq!(trail["rows"][0]["outcome"], "not_named", "{trail}");
}

async fn with_postgres(server: Server) -> Server {
    let put = json!({
        "name": "pg", "type": "postgres", "tags": ["main"], "description": "the main database",
        "data": { "db_user": "ada", "db_password": "s3cr3t" },
    });
    let answer = server.post("/api/credentials", put).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    server
}

pub(super) async fn a_credential_is_shown_without_its_secret_unless_that_is_asked_for(
    server: Server,
) {
    let server = with_postgres(server).await;
    let shown = server.get("/api/credentials/pg").await;
    expect![[r#"
        200 {
          "id": "<id as text>",
          "name": "pg",
          "type": "postgres",
          "tags": [
            "main"
          ],
          "description": "the main database",
          "created_at": "<time>",
          "updated_at": "<time>"
        }
    "#]]
    .assert_eq(&shown.shape());
    let id = shown.body["id"].as_str().expect("ids are text");
    let whole = server.get(&format!("/api/credentials/{id}?include_data=true")).await.body;
    assert_eq!(whole["data"], json!({ "db_user": "ada", "db_password": "s3cr3t" }));
    let listed = server.get("/api/credentials?type=postgres&q=MAIN").await;
    assert!(!listed.body.to_string().contains("s3cr3t"));
    assert_eq!(listed.body["items"][0]["name"], "pg");
    assert_eq!(listed.body["filter"], json!({ "type": "postgres", "q": "MAIN" }));
    assert_eq!(server.get("/api/credentials?type=x").await.body["items"], json!([]));
}

pub(super) async fn a_credential_of_the_same_name_takes_its_place_and_keeps_its_id(server: Server) {
    let server = with_postgres(server).await;
    let id = server.get("/api/credentials/pg").await.body["id"].clone();
    let put = json!({ "name": "pg", "type": "bearer", "data": "t0ken" });
    assert_eq!(server.post("/api/credentials", put).await.body["id"], id);
    let whole = server.get("/api/credentials/pg?include_data=true").await.body;
    assert_eq!(whole["data"], json!({ "value": "t0ken" }), "workers read fields");
    let gone = server.call(Method::DELETE, "/api/credentials/pg", Value::Null).await;
    assert_eq!(gone.body["id"], id);
    assert_eq!(server.get("/api/credentials/pg").await.problem(), "404 unknown-credential");
    let again = server.call(Method::DELETE, "/api/credentials/pg", Value::Null).await;
    assert_eq!(again.problem(), "404 unknown-credential");
}

pub(super) async fn an_invalid_credential_is_refused_with_a_problem_code(server: Server) {
    let check = async |body: Value, expected: &str| {
        assert_eq!(server.post("/api/credentials", body).await.problem(), expected);
    };
    check(json!({ "name": "", "type": "x", "data": 1 }), "422 credential-name").await;
    check(json!({ "name": "a", "type": " ", "data": 1 }), "422 credential-name").await;
    check(json!({ "name": "a", "type": "x" }), "422 invalid-body").await;
    let tags = vec!["t"; 101];
    check(json!({ "name": "a", "type": "x", "data": 1, "tags": tags }), "422 credential-tags")
        .await;
    let large = "x".repeat(noetl_secrets::DATA_MAX);
    check(json!({ "name": "a", "type": "x", "data": large }), "422 secret-too-large").await;
}

pub(super) async fn only_the_worker_that_asks_can_read_what_is_delivered_sealed(server: Server) {
    let server = with_postgres(server).await;
    let key = DeliveryKey::generate();
    server.register(NAMES).await;
    let id = server.start("tests/names").await;
    let path = &format!("/api/credentials/pg/sealed?worker_id=w-1&execution_id={id}");
    assert_eq!(server.get(path).await.problem(), "400 no-worker-key");
    let register = json!({ "name": "w-1", "runtime": { "worker_public_key": key.public() } });
    server.post("/api/worker/pool/register", register).await;
    let envelope = server.get(path).await.body;
    assert!(!envelope.to_string().contains("s3cr3t"));
    let envelope: SealedEnvelope = serde_json::from_value(envelope).expect("an envelope");
    let opened: Value = serde_json::from_slice(&key.open(&envelope).unwrap()).expect("JSON");
    assert_eq!((&opened["name"], &opened["data"]["db_password"]), (&"pg".into(), &"s3cr3t".into()));
    let missing = format!("/api/credentials/none/sealed?worker_id=w-1&execution_id={id}");
    assert_eq!(server.get(&missing).await.problem(), "404 unknown-credential");
    let unnamed = server.get("/api/credentials/pg/sealed?worker_id=w-1").await;
    assert_eq!(unnamed.problem(), "403 credential-not-named");
    let weak = json!({ "name": "w-1", "runtime": { "worker_public_key": "AAAA" } });
    server.post("/api/worker/pool/register", weak).await;
    assert_eq!(server.get(path).await.problem(), "400 worker-key");
}

pub(super) async fn an_alias_of_the_playbooks_keychain_is_resolved(server: Server) {
    let server = with_postgres(server).await;
    server.register(KEYCHAIN).await;
    let id = server.start("tests/keys").await;
    let find = async |alias: &str| {
        let path = format!("/api/credentials/{alias}?include_data=true&execution_id={id}");
        server.get(&path).await
    };
    let renamed = find("renamed").await.body;
    assert_eq!((&renamed["id"], &renamed["type"]), (&"0".into(), &"keychain".into()));
    assert_eq!(renamed["data"]["db_password"], "s3cr3t");
    let mapped = json!({ "user": "ada", "pass": "s3cr3t", "where": "db pg" });
    assert_eq!(find("mapped").await.body["data"], mapped);
    assert_eq!(renamed["data"]["type"], "postgres");
    let said = json!({ "type": "bearer", "token": "t-pg" });
    assert_eq!(find("said").await.body["data"], said);
    let got = json!({ "client_id": "me", "type": "oauth2", "token_url": "https://id/pg" });
    assert_eq!(find("got").await.body["data"], got);
    let plain = json!({ "a": "as.it.is", "b": "t-pg ada" });
    assert_eq!(find("plain").await.body["data"], plain);
    let round = find("round").await;
    assert!(round.body.to_string().contains("names others that name it"), "{}", round.body);
    let cloud = find("cloud").await;
    assert_eq!(cloud.problem(), "422 keychain-entry");
    assert!(cloud.body["detail"].as_str().unwrap().contains("`gcp`"), "{}", cloud.body);
    assert_eq!(find("dangling").await.problem(), "422 keychain-entry");
    assert_eq!(find("empty").await.problem(), "422 keychain-entry");
    assert_eq!(find("nobody").await.problem(), "403 credential-not-named");
    let elsewhere = server.get("/api/credentials/renamed?include_data=true&execution_id=1").await;
    assert_eq!(elsewhere.problem(), "403 credential-not-named");
    let detail = server.get(&format!("/api/executions/{id}")).await.body;
    let catalog = detail["catalog_id"].as_str().expect("an id");
    let kept = json!({ "data": { "token": "fetched" }, "scope_type": "local", "execution_id": id });
    server.post(&format!("/api/keychain/{catalog}/cloud"), kept).await;
    assert_eq!(find("cloud").await.body["data"], json!({ "token": "fetched" }));
}

pub(super) async fn every_look_at_a_secret_is_in_the_audit(server: Server) {
    let server = with_postgres(server).await;
    server.register(NAMES).await;
    let id = server.start("tests/names").await;
    server.get(&format!("/api/credentials/pg?include_data=true&execution_id={id}")).await;
    let audit = async |query: &str| {
        let page = server.get(&format!("/api/internal/secret-audit{query}")).await.body;
        let rows = page["rows"].as_array().expect("rows").clone();
        rows.iter().map(|row| row["operation"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(audit("").await, ["read", "put"]);
    assert_eq!(audit(&format!("?execution_id={id}&credential=pg")).await, ["read"]);
    assert_eq!(audit("?limit=1").await, ["read"]);
    assert_eq!(audit("?from=2100-01-01T00:00:00Z").await, [""; 0]);
    let odd = server.get("/api/internal/secret-audit?from=soon").await;
    assert_eq!(odd.problem(), "400 invalid-query");
}

pub(super) async fn the_key_is_rotated_and_its_use_is_counted(server: Server) {
    let server = with_postgres(server).await;
    let status = server.get("/api/internal/wallet/key-status").await.body;
    let version = status["current"].as_str().expect("a version");
    assert_eq!(status["credential"][version], 1);
    let rotated = server.post("/api/internal/wallet/rotate-kek", json!({})).await.body;
    assert_eq!(rotated["credential"]["processed"], 0, "all are under the current key");
    assert_eq!(rotated["keychain"]["complete"], true);
}

pub(super) async fn no_secret_leaves_for_another_region(server: Server) {
    let body = json!({ "alias": "pg", "worker_public_key_b64": "x", "expected_entry_region": "" });
    let refused =
        with_postgres(server).await.post("/api/internal/cross-region/resolve", body).await;
    assert_eq!(refused.problem(), "403 cross-region");
}

#[tokio::test(start_paused = true)]
async fn secrets_and_internal_routes_want_a_token_of_their_scope() {
    let tokens = vec![
        Token::new("reader", [Scope::Read]),
        Token::new("worker", [Scope::Work]),
        Token::new("part", [Scope::Internal]),
    ];
    let server = Server::with(Authentication::Tokens(tokens), Hosts::Any);
    let check = async |token: &str, path: &str, expected: u16| {
        let request = Request::get(path).header(header::AUTHORIZATION, format!("Bearer {token}"));
        let answer = server.send(request.body(Body::empty()).expect("a request")).await;
        assert_eq!(answer.status.as_u16(), expected, "{token} {path}");
    };
    check("reader", "/api/credentials", 200).await;
    check("reader", "/api/credentials/pg?include_data=true", 403).await;
    check("reader", "/api/credentials/pg?include%5Fdata=true", 403).await;
    check("worker", "/api/credentials/pg?include_data=true", 403).await;
    check("reader", "/api/keychain/7/token", 403).await;
    check("worker", "/api/internal/secret-audit", 403).await;
    check("worker", "/api/internal/wallet/key-status", 403).await;
    check("reader", "/api/internal/objects/a", 403).await;
    check("worker", "/api/internal/objects/a", 403).await;
    check("part", "/api/internal/objects/a", 404).await;
    check("part", "/api/internal/secret-audit", 200).await;
}

#[tokio::test(start_paused = true)]
async fn the_secret_of_a_sender_is_a_stored_credential() {
    let server = with_postgres(Server::new()).await;
    let put = json!({ "name": "orders_key", "type": "secret", "data": { "secret": "s3cret" } });
    server.post("/api/credentials", put).await;
    let secrets: &dyn crate::SecretSource = server.state.app().secrets();
    assert_eq!(secrets.secret("orders_key").await, Ok("s3cret".to_owned()));
    assert!(secrets.secret("pg").await.is_err(), "it has no one secret");
    assert!(secrets.secret("nobody").await.is_err());
}
