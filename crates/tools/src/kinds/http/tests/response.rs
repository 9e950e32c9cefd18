//! Tests of responses and of the failures they cause.

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

/// Checks the body of the output, or the error kind, for a response.
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
async fn an_unreachable_server_is_a_connection_error() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let ended = http(Egress::Any).run(&call(json!({"url": format!("http://{address}/")}))).await;
    let Outcome::Failed { error, .. } = ended.outcome else { panic!("completed") };
    assert_eq!((error.kind, error.retryable), (ErrorKind::Connection, true));
    assert!(error.message.contains("cannot connect"), "{error}");
}

/// Runs a call in a worker whose calls may hold 8 MiB each.
async fn run_small(answer: Vec<u8>) -> (ToolResult, crate::MemoryBudget) {
    let budget = crate::MemoryBudget::new(16 * 1024 * 1024);
    let server = Server::start(vec![answer]).await;
    let mut call = call(json!({"url": format!("http://{}/a", server.address)}));
    call.memory = budget.call();
    (http(Egress::Any).run(&call).await, budget)
}

#[tokio::test]
async fn a_short_body_that_is_a_large_value_is_refused_before_it_is_built() {
    // 600 kB of text become 300,000 values, in two copies.
    let body = format!("[{}0]", "0,".repeat(300_000));
    let (ended, budget) = run_small(answer("200 OK", &[], &body)).await;
    let Outcome::Failed { error, output: None } = ended.outcome else { panic!("completed") };
    assert_eq!(error.kind, ErrorKind::StorageQuota);
    let message = "cannot be held: it takes more than 8 MiB of memory, the limit for one call; ask \
                   for less at once, or raise `tools.memory_mb`";
    assert!(error.message.starts_with("the body of GET http://127.0.0.1:"), "{error}");
    assert!(error.message.ends_with(message), "{error}");
    assert_eq!(budget.free(), 8 * 1024 * 1024, "nothing is held any more");
}

#[tokio::test]
async fn a_body_longer_than_the_budget_is_not_read_to_its_end() {
    let (ended, _) = run_small(answer("200 OK", &[], &"x".repeat(9 * 1024 * 1024))).await;
    let Outcome::Failed { error, .. } = ended.outcome else { panic!("completed") };
    assert_eq!(error.kind, ErrorKind::StorageQuota);
}

#[tokio::test]
async fn the_status_of_an_error_matters_more_than_a_body_that_cannot_be_kept() {
    let body = format!("[{}0]", "0,".repeat(300_000));
    let (ended, _) = run_small(answer("404 Not Found", &[], &body)).await;
    let Outcome::Failed { error, output: None } = ended.outcome else { panic!("completed") };
    assert_eq!((error.kind, error.status), (ErrorKind::NotFound, Some(404)));
}
