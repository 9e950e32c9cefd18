//! Tests of redirects and of the headers and bodies that are not sent along.

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
        noetl-attempt: 1
        user-agent: noetl/0.1.0
        host: server
        content-length: 2

        {}
        ---
        GET /b HTTP/1.1
        authorization: Bearer t
        noetl-attempt: 1
        idempotency-key: 7-1
        user-agent: noetl/0.1.0
        host: server"#]]
    .assert_eq(&server.seen());
}

/// Follows a redirect to another origin; returns the requests seen there.
async fn across_origins(status: &str, config: Value) -> String {
    let other = Server::start(vec![answer("200 OK", &[], "there")]).await;
    let target = format!("http://{}/b", other.address);
    let server = Server::start(vec![redirect(status, &target)]).await;
    let shown = exchange(&server, config).await;
    assert!(shown.contains(r#""body":"there""#), "{shown}");
    other.seen()
}

#[tokio::test]
async fn only_safe_headers_follow_to_another_origin() {
    let headers = json!({"X-Api-Key": "hunter2", "Cookie": "c=1", "X-Other": "o",
                         "Authorization": "Basic eA==", "User-Agent": "mine/1", "Range": "bytes=0-"});
    for (status, method, body) in [
        ("307 Temporary Redirect", "DELETE", Value::Null),
        ("308 Permanent Redirect", "GET", Value::Null),
        ("302 Found", "POST", json!("x")),
        ("303 See Other", "PUT", json!("x")),
    ] {
        let config = json!({"url": "http://{server}/a", "method": method, "body": body,
                            "headers": headers, "auth": {"type": "api_key", "value": "v"}});
        let method = if body.is_null() { method } else { "GET" };
        let expected =
            format!("{method} /b HTTP/1.1\nrange: bytes=0-\nuser-agent: mine/1\nhost: server");
        assert_eq!(across_origins(status, config).await, expected, "{status}");
    }
}

#[tokio::test]
async fn a_body_does_not_follow_to_another_origin() {
    for status in ["307 Temporary Redirect", "308 Permanent Redirect"] {
        let other = Server::start(vec![answer("200 OK", &[], "there")]).await;
        let target = format!("http://{}/b?signed=1", other.address);
        let server = Server::start(vec![redirect(status, &target)]).await;
        let config = json!({"url": "http://{server}/a", "method": "PUT", "body": "x"});
        let shown = exchange(&server, config).await.replace(&other.address, "other");
        assert_eq!(
            shown,
            format!(
                "failed connection: PUT http://server/a redirects to another origin, http://other, \
                 with status {}, which asks to send the body there too; a body is sent only to the \
                 origin of `url`: set `url` to the address it redirects to\n",
                &status[..3]
            )
        );
        assert_eq!(other.seen(), "");
    }
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
