//! What comes back, and what of it is a failure.

use super::*;

#[tokio::test]
async fn json_is_parsed() {
    check_response(
        get(),
        answer("200 OK", &["content-type: application/json", "x: 1", "x: 2"], r#"{"a": 1}"#),
        expect![[r#"
            completed {"status_code":200,"headers":{"content-length":"8","connection":"close","content-type":"application/json","x":"1, 2"},"body":{"a":1},"data":{"a":1}}
        "#]],
    )
    .await;
}

/// Checks what body an answer is taken for.
async fn check_body(config: Value, headers: &[&str], body: &str, expected: Value) {
    let server = Server::start(vec![answer("200 OK", headers, body)]).await;
    let text = config.to_string().replace("{server}", &server.address);
    let call = call(serde_json::from_str(&text).unwrap());
    match http(Egress::Any).run(&call).await.outcome {
        Outcome::Completed { output } => assert_eq!(output["body"], expected, "{body}"),
        Outcome::Failed { error, .. } => assert_eq!(json!(error.kind), expected, "{body}"),
    }
}

#[tokio::test]
async fn the_body_is_taken_for_what_it_is_or_what_is_wanted() {
    let wanted = |kind: &str| json!({"url": "http://{server}/", "response_type": kind});
    check_body(get(), &["content-type: text/plain"], "hello", json!("hello")).await;
    check_body(get(), &["content-type: text/plain"], "[1]", json!([1])).await;
    check_body(get(), &["content-type: application/json"], "", json!(null)).await;
    check_body(get(), &["content-type: application/json"], "{oops", json!("{oops")).await;
    check_body(wanted("text"), &[], "[1]", json!("[1]")).await;
    check_body(wanted("json"), &[], "{oops", json!("parse")).await;
    let binary = |kind: &str| json!({"base64": "UE5H", "content_type": kind, "size": 3});
    check_body(get(), &["content-type: image/png"], "PNG", binary("image/png")).await;
    check_body(wanted("binary"), &[], "PNG", binary("")).await;
}

#[tokio::test]
async fn a_status_that_is_no_success_fails_with_its_kind_and_keeps_the_output() {
    check_response(
        get(),
        answer("503 Service Unavailable", &["retry-after: 7"], r#"{"why": "busy"}"#),
        expect![[r#"
            failed server_error: HTTP 503 from GET http://server/a
            code 503
            details {
              "retry_after": "7"
            }
            output {"status_code":503,"headers":{"content-length":"15","connection":"close","retry-after":"7"},"body":{"why":"busy"},"data":{"why":"busy"}}
        "#]],
    )
    .await;
    for (status, kind, retryable) in [
        ("400 Bad Request", ErrorKind::ClientError, false),
        ("401 Unauthorized", ErrorKind::Auth, false),
        ("403 Forbidden", ErrorKind::Auth, false),
        ("404 Not Found", ErrorKind::NotFound, false),
        ("429 Too Many Requests", ErrorKind::RateLimit, true),
        ("500 Internal Server Error", ErrorKind::ServerError, true),
    ] {
        let server = Server::start(vec![answer(status, &[], "")]).await;
        let url = format!("http://{}/", server.address);
        let ended = http(Egress::Any).run(&call(json!({"url": url}))).await;
        let Outcome::Failed { error, .. } = ended.outcome else { panic!("completed") };
        assert_eq!((error.kind, error.retryable), (kind, retryable), "{status}");
        assert_eq!(error.status.map(|code| status.starts_with(&code.to_string())), Some(true));
    }
}

#[tokio::test]
async fn a_body_that_is_cut_short_is_an_error() {
    check_response(
        get(),
        b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n[1,2".to_vec(),
        expect![[r#"
            failed connection: GET http://server/a: the connection broke: end of file before message length reached
        "#]],
    )
    .await;
}

#[tokio::test]
async fn a_compressed_body_is_unpacked() {
    // `gzip` of `[1]`.
    let packed = [
        0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 3, 0x8b, 0x36, 0x8c, 5, 0, 0xb8, 0x32, 0x2f, 0x4c, 3, 0,
        0, 0,
    ];
    let mut answer = format!(
        "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n",
        packed.len()
    )
    .into_bytes();
    answer.extend(packed);
    check_response(
        get(),
        answer,
        expect![[r#"
            completed {"status_code":200,"headers":{},"body":[1],"data":[1]}
        "#]],
    )
    .await;
}

#[tokio::test]
async fn nobody_there_is_a_connection_error() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let ended = http(Egress::Any).run(&call(json!({"url": format!("http://{address}/")}))).await;
    let Outcome::Failed { error, .. } = ended.outcome else { panic!("completed") };
    assert_eq!((error.kind, error.retryable), (ErrorKind::Connection, true));
    assert!(error.message.contains("cannot connect"), "{error}");
}
