use std::sync::Mutex;

use expect_test::{Expect, expect};
use noetl_model::{ErrorKind, Outcome};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;
use crate::credentials::FixedCredentials;
use crate::outgoing::Egress;
use crate::testing::{call, show};

/// A server that answers each connection with the next of its answers, byte for byte, and keeps what
/// it was asked.
struct Server {
    address: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    async fn start(answers: Vec<Vec<u8>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = requests.clone();
        tokio::spawn(async move {
            for answer in answers {
                let (mut stream, _) = listener.accept().await.unwrap();
                let request = read_request(&mut stream).await;
                seen.lock().unwrap().push(request);
                stream.write_all(&answer).await.unwrap();
            }
        });
        Self { address, requests }
    }

    /// What it was asked, with its own address left out.
    fn seen(&self) -> String {
        self.requests.lock().unwrap().join("\n---\n").replace(&self.address, "server")
    }
}

async fn read_request(stream: &mut tokio::net::TcpStream) -> String {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if length.map_or(0, |length| length.parse().unwrap()) <= body.len() {
                let lines = head.lines().filter(|line| !line.starts_with("accept"));
                let head: Vec<&str> = lines.collect();
                return format!("{}\n\n{body}", head.join("\n")).trim_end().to_owned();
            }
        }
        assert!(0 < stream.read_buf(&mut bytes).await.unwrap(), "request cut short: {text}");
    }
}

fn answer(status: &str, headers: &[&str], body: &str) -> Vec<u8> {
    let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
    format!(
        "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n{headers}\r\n{body}",
        body.len()
    )
    .into_bytes()
}

fn http(egress: Egress) -> Http {
    let credentials = FixedCredentials::from_environment([(
        "NOETL_CREDENTIAL_MY_API".to_owned(),
        r#"{"type": "bearer", "data": {"token": "sesame"}}"#.to_owned(),
    )]);
    Http::new(Arc::new(Outgoing::new(egress, false)), Arc::new(credentials))
}

/// Runs a configuration against a server; `{server}` in it stands for the server's address.
async fn exchange(server: &Server, config: Value) -> String {
    let text = config.to_string().replace("{server}", &server.address);
    let call = call(serde_json::from_str(&text).unwrap());
    show(&http(Egress::Any).run(&call).await).replace(&server.address, "server")
}

async fn check_request(config: Value, expected: Expect) {
    let server = Server::start(vec![answer("204 No Content", &[], "")]).await;
    let shown = exchange(&server, config).await;
    expected.assert_eq(&format!(
        "{}\n",
        if shown.starts_with("completed") { server.seen() } else { shown }
    ));
}

async fn check_response(config: Value, answer: Vec<u8>, expected: Expect) {
    let server = Server::start(vec![answer]).await;
    expected.assert_eq(&exchange(&server, config).await);
}

fn get() -> Value {
    json!({"url": "http://{server}/a?key=secret"})
}

mod request {
    use super::*;

    #[tokio::test]
    async fn params_are_added_to_the_url() {
        check_request(
            json!({
                "endpoint": "http://{server}/a?x=1",
                "params": {"n": 2, "gone": null, "tag": ["a b", "c"], "on": true},
                "headers": {"X-Page": 3, "X-None": null},
            }),
            expect![[r#"
                GET /a?x=1&n=2&tag=a+b&tag=c&on=true HTTP/1.1
                x-page: 3
                user-agent: noetl/0.1.0
                host: server
            "#]],
        )
        .await;
    }

    #[tokio::test]
    async fn json_is_sent_with_its_type_and_an_idempotency_key() {
        check_request(
            json!({"url": "http://{server}/a", "method": "post", "json": {"b": [1, null]}}),
            expect![[r#"
                POST /a HTTP/1.1
                content-type: application/json
                idempotency-key: 7-1
                user-agent: noetl/0.1.0
                host: server
                content-length: 14

                {"b":[1,null]}
            "#]],
        )
        .await;
    }

    #[tokio::test]
    async fn a_form_is_encoded() {
        check_request(
            json!({"url": "http://{server}/", "method": "PUT", "form": {"a": "x y", "b": [1, 2]},
                   "headers": {"Idempotency-Key": "mine"}}),
            expect![[r#"
                PUT / HTTP/1.1
                idempotency-key: mine
                content-type: application/x-www-form-urlencoded
                user-agent: noetl/0.1.0
                host: server
                content-length: 13

                a=x+y&b=1&b=2
            "#]],
        )
        .await;
    }

    #[tokio::test]
    async fn data_goes_into_the_query_of_a_get_and_the_body_of_a_post() {
        check_request(
            json!({"url": "http://{server}/", "data": {"q": 1}}),
            expect![[r#"
                GET /?q=1 HTTP/1.1
                user-agent: noetl/0.1.0
                host: server
            "#]],
        )
        .await;
        check_request(
            json!({"url": "http://{server}/", "method": "PATCH", "payload": {"q": 1}}),
            expect![[r#"
                PATCH / HTTP/1.1
                content-type: application/json
                idempotency-key: 7-1
                user-agent: noetl/0.1.0
                host: server
                content-length: 7

                {"q":1}
            "#]],
        )
        .await;
    }

    #[tokio::test]
    async fn a_text_body_is_sent_as_it_is() {
        check_request(
            json!({"url": "http://{server}/", "method": "POST", "body": "<x/>",
                   "headers": {"Content-Type": "text/xml"}}),
            expect![[r#"
                POST / HTTP/1.1
                content-type: text/xml
                idempotency-key: 7-1
                user-agent: noetl/0.1.0
                host: server
                content-length: 4

                <x/>
            "#]],
        )
        .await;
    }

    #[tokio::test]
    async fn every_kind_of_auth_becomes_a_header() {
        let check = |auth: Value, expected: &'static str| async move {
            let server = Server::start(vec![answer("204 No Content", &[], "")]).await;
            exchange(&server, json!({"url": "http://{server}/", "auth": auth})).await;
            assert!(server.seen().contains(expected), "{}", server.seen());
        };
        check(json!({"type": "bearer", "token": "t"}), "authorization: Bearer t\n").await;
        check(
            json!({"type": "basic", "username": "u", "password": "p"}),
            "authorization: Basic dTpw\n",
        )
        .await;
        check(json!({"type": "api_key", "value": "v"}), "x-api-key: v\n").await;
        check(json!({"type": "api_key", "header": "X-Mine", "key": "v"}), "x-mine: v\n").await;
        check(json!("my-api"), "authorization: Bearer sesame\n").await;
        check(json!({"credential": "my-api", "type": "bearer"}), "authorization: Bearer sesame\n")
            .await;
    }

    #[tokio::test]
    async fn what_makes_no_request_is_a_config_error() {
        for (config, message) in [
            (json!({}), "http: `url` is missing"),
            (
                json!({"url": "a b"}),
                "http: `url` is not a URL: relative URL without a base: \"a b\"",
            ),
            (
                json!({"url": "http://{server}", "method": "BREW"}),
                "http: `method` is `BREW`; known are GET, POST, PUT, PATCH, DELETE, HEAD and OPTIONS",
            ),
            (
                json!({"url": "http://{server}", "headers": {"a b": 1}}),
                "http: `headers.a b` is not the name of a header",
            ),
            (
                json!({"url": "http://{server}", "auth": "other"}),
                "there is no credential `other`: set the variable NOETL_CREDENTIAL_OTHER",
            ),
            (
                json!({"url": "http://{server}", "auth": {"type": "gcp_adc"}}),
                "http: `auth.type` is `gcp_adc`; known are bearer, basic, api_key and none",
            ),
            (
                json!({"url": "ftp://{server}/a"}),
                "GET ftp://server/a is not allowed: only http and https are spoken",
            ),
        ] {
            let server = Server::start(vec![]).await;
            assert_eq!(exchange(&server, config).await, format!("failed config: {message}\n"));
        }
    }
}

mod response {
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
            0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 3, 0x8b, 0x36, 0x8c, 5, 0, 0xb8, 0x32, 0x2f, 0x4c, 3,
            0, 0, 0,
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
        let ended =
            http(Egress::Any).run(&call(json!({"url": format!("http://{address}/")}))).await;
        let Outcome::Failed { error, .. } = ended.outcome else { panic!("completed") };
        assert_eq!((error.kind, error.retryable), (ErrorKind::Connection, true));
        assert!(error.message.contains("cannot connect"), "{error}");
    }
}

mod redirect {
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
        assert_eq!(
            shown,
            "failed connection: GET http://server/a leads to more than 10 redirects\n"
        );
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
}

#[tokio::test]
async fn a_public_only_worker_connects_to_no_private_address() {
    let server = Server::start(vec![answer("200 OK", &[], "")]).await;
    let port = server.address.rsplit(':').next().unwrap();
    for host in ["127.0.0.1", "localhost", "[::1]", "2130706433"] {
        let call = call(json!({"url": format!("http://{host}:{port}/")}));
        let shown = show(&http(Egress::Public).run(&call).await);
        assert!(shown.starts_with("failed config: GET http://"), "{shown}");
        assert!(shown.contains("the host is not on the public internet"), "{shown}");
    }
    assert_eq!(server.seen(), "");
}
