//! Answers that lead elsewhere, and what does not follow them.

use super::*;

fn redirect(status: &str, location: &str) -> Vec<u8> {
    answer(status, &[&format!("location: {location}")], "")
}

#[tokio::test]
async fn a_redirect_is_followed_within_its_origin_with_the_secrets() {
    let server =
        Server::start(vec![redirect("302 Found", "/b"), answer("200 OK", &[], "there")]).await;
    let config = json!({"url": "http://{server}/a", "method": "POST", "json": {},
                        "auth": {"type": "bearer", "token": "t"}});
    let shown = exchange(&server, config).await;
    assert!(shown.contains(r#""body":"there""#), "{shown}");
    expect![[r#"
        POST /a HTTP/1.1
        authorization: Bearer t
        content-type: application/json
        idempotency-key: 7-1
        user-agent: noetl/0.1.0
        host: server
        content-length: 2

        {}
        ---
        GET /b HTTP/1.1
        authorization: Bearer t
        idempotency-key: 7-1
        user-agent: noetl/0.1.0
        host: server"#]]
    .assert_eq(&server.seen());
}

#[tokio::test]
async fn secrets_do_not_follow_to_another_origin() {
    let other = Server::start(vec![answer("200 OK", &[], "there")]).await;
    let target = format!("http://{}/b", other.address);
    let server = Server::start(vec![redirect("307 Temporary Redirect", &target)]).await;
    let config = json!({"url": "http://{server}/a", "method": "PUT", "body": "x",
                        "headers": {"Cookie": "c=1", "X-Other": "kept"},
                        "auth": {"type": "api_key", "value": "v"}});
    exchange(&server, config).await;
    expect![[r#"
        PUT /b HTTP/1.1
        x-other: kept
        idempotency-key: 7-1
        user-agent: noetl/0.1.0
        host: server
        content-length: 1

        x"#]]
    .assert_eq(&other.seen());
}

#[tokio::test]
async fn a_redirect_can_be_kept() {
    let server = Server::start(vec![redirect("302 Found", "/b")]).await;
    let config = json!({"url": "http://{server}/a", "follow_redirects": false});
    let shown = exchange(&server, config).await;
    assert!(shown.starts_with("failed client_error: HTTP 302 from GET"), "{shown}");
}

#[tokio::test]
async fn an_endless_redirect_is_given_up() {
    let server = Server::start(vec![redirect("302 Found", "/a"); 20]).await;
    let shown = exchange(&server, json!({"url": "http://{server}/a"})).await;
    assert_eq!(shown, "failed connection: GET http://server/a leads to more than 10 redirects\n");
}

#[tokio::test]
async fn a_redirect_to_another_scheme_is_refused() {
    let server = Server::start(vec![redirect("302 Found", "file:///etc/passwd")]).await;
    let shown = exchange(&server, json!({"url": "http://{server}/a"})).await;
    assert_eq!(
        shown,
        "failed config: GET file:///etc/passwd is not allowed: only http and https are spoken\n"
    );
}
