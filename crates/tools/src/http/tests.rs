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
                "http: `auth.type` is `gcp_adc`; known are bearer, basic, api_key, oauth2 and none",
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

mod bodies {
    use super::*;

    #[tokio::test]
    async fn parts_are_fields_and_files() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("a.bin");
        std::fs::write(&file, "file!").unwrap();
        let config = json!({"url": "http://{server}/", "method": "POST", "multipart": {
            "n": 7, "none": null, "tag": ["a", "b"], "up\"load": {"file": file},
            "note": {"content": {"x": 1}, "filename": "n.json", "content_type": "application/json"},
            "raw": {"base64": "aGk="},
        }});
        let server = Server::start(vec![answer("204 No Content", &[], "")]).await;
        let told = exchange(&server, config).await;
        assert!(told.starts_with("completed"), "{told}");
        let seen = server.seen();
        let (head, body) = seen.split_once("\n\n").unwrap();
        let boundary = head
            .lines()
            .find_map(|line| line.strip_prefix("content-type: multipart/form-data; boundary="));
        let boundary = boundary.unwrap_or_else(|| panic!("{head}"));
        let body = body.replace(boundary, "BOUNDARY").replace("\r\n", "\n");
        expect![[r#"
            --BOUNDARY
            content-disposition: form-data; name="n"

            7
            --BOUNDARY
            content-disposition: form-data; name="tag"

            a
            --BOUNDARY
            content-disposition: form-data; name="tag"

            b
            --BOUNDARY
            content-disposition: form-data; name="up%22load"; filename="a.bin"
            content-type: application/octet-stream

            file!
            --BOUNDARY
            content-disposition: form-data; name="note"; filename="n.json"
            content-type: application/json

            {"x":1}
            --BOUNDARY
            content-disposition: form-data; name="raw"; filename="raw"
            content-type: application/octet-stream

            hi
            --BOUNDARY--
        "#]]
        .assert_eq(&format!("{body}\n"));
    }

    #[tokio::test]
    async fn bytes_are_sent_as_they_are() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("a.bin");
        std::fs::write(&file, "raw bytes").unwrap();
        for (key, value) in [("body_file", json!(file)), ("body_base64", json!("cmF3IGJ5dGVz"))] {
            let server = Server::start(vec![answer("204 No Content", &[], "")]).await;
            let mut config = json!({"url": "http://{server}/", "method": "PUT"});
            config[key] = value;
            exchange(&server, config).await;
            let seen = server.seen();
            assert!(seen.contains("content-type: application/octet-stream"), "{seen}");
            assert!(seen.ends_with("\n\nraw bytes"), "{seen}");
        }
    }

    #[tokio::test]
    async fn what_cannot_be_sent_says_why() {
        for (key, value, expected) in [
            ("multipart", json!([1]), "`multipart` must be a map, but is a list"),
            ("multipart", json!({"a": {}}), "`multipart.a` must be a text, or a map with `file`"),
            ("multipart", json!({"a": {"base64": "?"}}), "`multipart.a.base64` is not base64"),
            ("multipart", json!({"a": {"file": "/no/such"}}), "cannot read the file /no/such"),
            ("body_file", json!("/no/such"), "cannot read the file /no/such"),
            ("body_file", json!(7), "`body_file` must be a text"),
            ("body_base64", json!("?"), "`body_base64` is not base64"),
        ] {
            let mut config = json!({"url": "http://127.0.0.1:1/", "method": "POST"});
            config[key] = value;
            let told = show(&http(Egress::Any).run(&call(config)).await);
            assert!(told.starts_with(&format!("failed config: http: {expected}")), "{told}");
        }
    }
}

mod saved {
    use super::*;

    #[tokio::test]
    async fn the_body_of_a_success_goes_into_a_file() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("deep/page.html");
        let server =
            Server::start(vec![answer("200 OK", &["content-type: text/html"], "<p>")]).await;
        let told = exchange(&server, json!({"url": "http://{server}/", "save_to": &file})).await;
        assert!(told.contains(r#"page.html","size":3,"content_type":"text/html"}"#), "{told}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "<p>");
    }

    #[tokio::test]
    async fn a_failure_or_half_a_body_leaves_no_file() {
        let half = b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf".to_vec();
        for (answer, expected) in [
            (answer("404 Not Found", &[], "gone"), "failed not_found: HTTP 404"),
            (half, "failed connection: GET http://server/: the connection broke"),
        ] {
            let directory = tempfile::tempdir().unwrap();
            let file = directory.path().join("page.html");
            let server = Server::start(vec![answer]).await;
            let told =
                exchange(&server, json!({"url": "http://{server}/", "save_to": &file})).await;
            assert!(told.starts_with(expected), "{told}");
            assert_eq!(directory.path().read_dir().unwrap().count(), 0, "{told}");
        }
    }

    #[tokio::test]
    async fn a_place_that_cannot_be_written_says_so() {
        let server = Server::start(vec![answer("200 OK", &[], "x")]).await;
        let told =
            exchange(&server, json!({"url": "http://{server}/", "save_to": "/proc/no/x"})).await;
        assert!(told.starts_with("failed storage_access: cannot write /proc/no/x"), "{told}");
    }
}

mod oauth2 {
    use super::*;

    fn granted(expires_in: u32) -> Vec<u8> {
        let body = format!(r#"{{"access_token": "t{expires_in}", "expires_in": {expires_in}}}"#);
        answer("200 OK", &["content-type: application/json"], &body)
    }

    fn config(more: Value) -> Value {
        let mut auth = json!({"type": "oauth2", "token_url": "http://{server}/token",
                              "client_id": "me", "client_secret": "s ecret",
                              "scopes": ["read", "write"]});
        auth.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"url": "http://{server}/data", "auth": auth})
    }

    /// Calls with one tool, one after the other; what the server was asked for, with the proof.
    async fn asked(calls: usize, config: Value, answers: Vec<Vec<u8>>) -> Vec<String> {
        let server = Server::start(answers).await;
        let tool = http(Egress::Any);
        for _ in 0..calls {
            let text = config.to_string().replace("{server}", &server.address);
            tool.run(&call(serde_json::from_str(&text).unwrap())).await;
        }
        let requests = server.requests.lock().unwrap();
        let line = |request: &String| {
            let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
            let proof = request.lines().find_map(|line| line.strip_prefix("authorization: "));
            format!("{path} {}", proof.unwrap_or("nobody"))
        };
        requests.iter().map(line).collect()
    }

    #[tokio::test]
    async fn a_token_is_got_once_and_used_until_shortly_before_it_expires() {
        let fine = || answer("200 OK", &[], "1");
        let told = asked(2, config(json!({})), vec![granted(3600), fine(), fine()]).await;
        let expected =
            ["/token Basic bWU6cytlY3JldA==", "/data Bearer t3600", "/data Bearer t3600"];
        assert_eq!(told, expected);
        let told =
            asked(2, config(json!({})), vec![granted(10), fine(), granted(20), fine()]).await;
        assert_eq!(told[1], "/data Bearer t10");
        assert_eq!(told[3], "/data Bearer t20");
    }

    #[tokio::test]
    async fn a_token_that_is_refused_is_not_used_again() {
        let no = answer("401 Unauthorized", &[], "");
        let fine = answer("200 OK", &[], "1");
        let told = asked(2, config(json!({})), vec![granted(3600), no, granted(900), fine]).await;
        assert_eq!(told[3], "/data Bearer t900");
    }

    #[tokio::test]
    async fn id_and_secret_go_where_the_server_looks_for_them() {
        let server = Server::start(vec![granted(60), answer("200 OK", &[], "1")]).await;
        exchange(&server, config(json!({"client_auth": "body", "audience": "api"}))).await;
        let seen = server.seen();
        let form = "grant_type=client_credentials&scope=read+write&audience=api&client_id=me&client_secret=s+ecret";
        assert!(seen.contains(form), "{seen}");
    }

    #[tokio::test]
    async fn no_token_no_call() {
        for (reply, expected) in [
            (
                answer(
                    "401 No",
                    &[],
                    r#"{"error": "invalid_client", "error_description": "s ecret"}"#,
                ),
                "failed auth: no token: HTTP 401 from POST http://server/token: invalid_client",
            ),
            (
                answer("503 No", &[], ""),
                "failed server_error: no token: HTTP 503 from POST http://server/token",
            ),
            (
                answer("200 OK", &[], "{}"),
                "failed auth: no token: POST http://server/token answers without `access_token`",
            ),
        ] {
            let server = Server::start(vec![reply]).await;
            let told = exchange(&server, config(json!({}))).await;
            assert_eq!(told.trim_end(), expected);
        }
        for (more, expected) in [
            (json!({"client_secret": null}), "http: auth: `client_secret` is missing"),
            (json!({"token_url": "x"}), "http: auth: `token_url` is not a URL"),
            (
                json!({"client_auth": "x"}),
                "http: auth: `client_auth` is `x`; known are basic and body",
            ),
        ] {
            let told = show(&http(Egress::Any).run(&call(config(more))).await);
            assert!(told.starts_with(&format!("failed config: {expected}")), "{told}");
        }
    }
}
