//! Tests of notifications: real receivers of HTTP and mail, restarts, redirects, dead letters.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::sandbox::{Sandbox, eventually};
use crate::server::Server;

const PATIENCE: Duration = Duration::from_secs(60);

/// A receiver on this machine that answers every connection in the same way.
struct TestReceiver {
    port: u16,
    told: Receiver<String>,
}

impl TestReceiver {
    /// A web server that answers each request with a head such as `200 OK`.
    fn http(answers: Vec<&'static str>) -> Self {
        let mut answers = answers.into_iter();
        let mut last = "200 OK";
        Self::serving(move |stream, told| {
            last = answers.next().unwrap_or(last);
            let request = read_request(&stream)?;
            told.send(request).ok()?;
            let answer =
                format!("HTTP/1.1 {last}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            (&stream).write_all(answer.as_bytes()).ok()
        })
    }

    /// A mail server without encryption.
    fn smtp() -> Self {
        Self::serving(|stream, told| receive_mail(&stream, told))
    }

    fn serving(
        mut serve: impl FnMut(TcpStream, &Sender<String>) -> Option<()> + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = listener.local_addr().expect("it listens").port();
        let (tell, told) = channel();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let _ = serve(stream, &tell);
            }
        });
        Self { port, told }
    }

    fn next(&self) -> String {
        self.told.recv_timeout(PATIENCE).expect("a message arrives")
    }
}

/// A web server that takes requests and never answers.
fn silent() -> TestReceiver {
    let mut kept = Vec::new();
    TestReceiver::serving(move |stream, told| {
        told.send(String::new()).ok()?;
        kept.push(stream);
        Some(())
    })
}

fn read_request(stream: &TcpStream) -> Option<String> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let length = head.lines().find_map(|line| {
        line.to_ascii_lowercase().strip_prefix("content-length:").map(|it| it.trim().to_owned())
    });
    let mut body = vec![0; length.and_then(|it| it.parse().ok()).unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    Some(head + &String::from_utf8_lossy(&body))
}

fn receive_mail(stream: &TcpStream, told: &Sender<String>) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let say = |text: &str| (&*stream).write_all(format!("{text}\r\n").as_bytes()).ok();
    say("220 test")?;
    let mut mail = String::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.split_whitespace().next()?.to_ascii_uppercase().as_str() {
            "EHLO" | "HELO" => say("250 test")?,
            "DATA" => {
                say("354 go on")?;
                while !mail.ends_with("\r\n.\r\n") {
                    if reader.read_line(&mut mail).ok()? == 0 {
                        return None;
                    }
                }
                told.send(mail.clone()).ok()?;
                say("250 kept")?;
            }
            "QUIT" => {
                say("221 bye")?;
                return Some(());
            }
            _ => say("250 ok")?,
        }
    }
}

fn register(server: &Server, content: &str) {
    let registered = server.call("POST", "/api/catalog/register", &json!({ "content": content }));
    assert!(registered["path"].is_string(), "{registered}");
}

fn execute(server: &Server, path: &str) -> String {
    let started = server.call("POST", "/api/execute", &json!({ "path": path, "payload": {} }));
    started["execution_id"].as_str().unwrap_or_else(|| panic!("{started}")).to_owned()
}

fn failing(path: &str, on: &str) -> String {
    format!(
        "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {{name: t, path: {path}}}\n{on}\n\
         workflow:\n  - {{step: start, tool: {{kind: shell, command: exit 3}}}}\n"
    )
}

fn dead(server: &Server) -> Vec<Value> {
    let listed = server.call("GET", "/api/internal/outbox/messages?status=dead", &json!(null));
    listed["messages"].as_array().cloned().unwrap_or_default()
}

#[test]
fn a_failure_reaches_a_webhook_a_mailbox_and_a_playbook() {
    let (web, mail) = (TestReceiver::http(Vec::new()), TestReceiver::smtp());
    let sandbox = Sandbox::new();
    let server = Server::new(&sandbox, &[]);
    let credential = json!({
        "name": "mailer", "type": "smtp",
        "data": { "host": "127.0.0.1", "port": mail.port, "security": "none", "from": "noetl@example.com" },
    });
    server.call("POST", "/api/credentials", &credential);
    register(
        &server,
        "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: h, path: handlers/failed}\n\
         workflow:\n  - {step: start, tool: {kind: noop, result: 'told of {{ workload.about }}'}}\n",
    );
    let url = format!("http://127.0.0.1:{}/hook", web.port);
    let on = format!(
        "on:\n  failed:\n    - http: {{url: '{url}', headers: {{X-Step: '{{{{ execution.step }}}}'}}}}\n    \
         - mail: {{to: ops@example.com, subject: '{{{{ execution.path }}}} größe', credential: mailer}}\n    \
         - playbook: handlers/failed\n      workload: {{about: '{{{{ execution.id }}}}'}}\n"
    );
    register(&server, &failing("t/fails", &on));
    let id = execute(&server, "t/fails");
    let request = web.next();
    assert!(request.starts_with("POST /hook HTTP/1.1"), "{request}");
    assert!(request.to_lowercase().contains("x-step: start"), "{request}");
    assert!(request.to_lowercase().contains(&format!("idempotency-key: noetl-{id}-")), "{request}");
    assert!(request.contains("\"status\":\"FAILED\""), "{request}");
    let mail = mail.next();
    assert!(mail.contains("To: ops@example.com"), "{mail}");
    assert!(mail.contains(&format!("Message-ID: <noetl-{id}-")), "{mail}");
    assert!(mail.contains("t/fails failed in step start"), "{mail}");
    eventually("the playbook is started", || {
        let listed = server.call("GET", "/api/executions?path=handlers/failed", &json!(null));
        listed.to_string().contains("handlers/failed")
    });
    let events = sandbox.noetl(&["executions", "events", &id, "--server", &server.url()]);
    assert!(events.stdout.contains("notification.requested"), "{}", events.stdout);
    eventually("nothing is left in the outbox", || {
        let listed = server.call("GET", "/api/internal/outbox/messages", &json!(null));
        listed["messages"].as_array().is_some_and(Vec::is_empty)
    });
}

#[test]
fn a_refusal_and_a_redirect_are_dead_letters_at_once_and_an_outage_is_retried() {
    let refusing = TestReceiver::http(vec!["404 Not Found"]);
    let redirecting =
        TestReceiver::http(vec!["302 Found\r\nLocation: http://169.254.169.254/latest/meta-data"]);
    let failing_once = TestReceiver::http(vec!["503 Service Unavailable", "200 OK"]);
    let sandbox = Sandbox::new();
    let server = Server::new(&sandbox, &[]);
    let target =
        |it: &TestReceiver| format!("{{slack: {{url: 'http://127.0.0.1:{}/x'}}}}", it.port);
    let targets = [&refusing, &redirecting, &failing_once].map(target).join(", ");
    register(&server, &failing("t/fails", &format!("on: {{failed: [{targets}]}}")));
    execute(&server, "t/fails");
    eventually("two messages are dead", || dead(&server).len() == 2);
    let reasons: Vec<String> = dead(&server)
        .iter()
        .map(|it| it["last_error"].as_str().unwrap_or_default().to_owned())
        .collect();
    assert!(reasons.iter().any(|it| it.contains("404 Not Found")), "{reasons:?}");
    assert!(reasons.iter().any(|it| it.contains("redirect")), "{reasons:?}");
    let (first, second) = (failing_once.next(), failing_once.next());
    let key = |request: &str| {
        let line = request.lines().find(|it| it.to_lowercase().starts_with("idempotency-key"));
        line.expect("a key").to_owned()
    };
    assert_eq!(key(&first), key(&second), "both attempts have the same id");
    refusing.next();
    let id = dead(&server)[0]["outbox_id"].to_string();
    let retried = sandbox.noetl(&["outbox", "retry", &id, "--server", &server.url()]);
    assert_eq!(retried.code, Some(0), "{}", retried.stderr);
}

#[test]
fn a_document_notifies_about_every_execution_that_it_matches() {
    let web = TestReceiver::http(Vec::new());
    let sandbox = Sandbox::new();
    let server = Server::new(&sandbox, &[]);
    let document = format!(
        "apiVersion: noetl.io/v2\nkind: Notification\nmetadata: {{name: ops, path: notifications/ops}}\n\
         spec:\n  match: {{path: 't/*'}}\n  on: {{failed: {{slack: {{url: 'http://127.0.0.1:{}/x', text: 'look: {{{{ execution.path }}}}'}}}}}}\n",
        web.port
    );
    register(&server, &document);
    register(&server, &failing("t/one", ""));
    register(&server, &failing("other/one", ""));
    let url = server.url();
    let tested = sandbox.noetl(&["notifications", "test", "notifications/ops", "--server", &url]);
    assert_eq!(tested.code, Some(0), "{}", tested.stderr);
    assert!(web.next().contains("look: test/notification"));
    execute(&server, "other/one");
    execute(&server, "t/one");
    assert!(web.next().contains("look: t/one"));
    let paused = sandbox.noetl(&["notifications", "pause", "notifications/ops", "--server", &url]);
    assert_eq!(paused.code, Some(0), "{}", paused.stderr);
    let listed = sandbox.noetl(&["notifications", "list", "--server", &url]);
    assert!(listed.stdout.contains("paused"), "{}", listed.stdout);
    let silent = execute(&server, "t/one");
    let resumed =
        sandbox.noetl(&["notifications", "resume", "notifications/ops", "--server", &url]);
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    let told = execute(&server, "t/one");
    let request = web.next();
    assert!(request.contains(&told) && !request.contains(&silent), "{request}");
}

#[test]
fn a_receiver_that_never_answers_delays_no_other() {
    const EXECUTIONS: usize = 30;
    let (hanging, web) = (silent(), TestReceiver::http(Vec::new()));
    let sandbox = Sandbox::new();
    let server = Server::new(&sandbox, &[]);
    let target =
        |it: &TestReceiver| format!("{{slack: {{url: 'http://127.0.0.1:{}/x'}}}}", it.port);
    let targets = [&hanging, &web].map(target).join(", ");
    register(&server, &failing("t/fails", &format!("on: {{failed: [{targets}]}}")));
    let ids: Vec<String> = (0..EXECUTIONS).map(|_| execute(&server, "t/fails")).collect();
    let told: String = (0..EXECUTIONS).map(|_| web.next()).collect();
    assert!(ids.iter().all(|id| told.contains(id)), "every execution was told, once");
    hanging.next();
    let tried = hanging.told.try_iter().count();
    assert!(tried < 8, "{tried} connections to a receiver that does not answer");
}

#[test]
fn the_example_of_a_notification_is_valid_and_registered() {
    let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let read = |name: &str| std::fs::read_to_string(directory.join(name)).expect("an example");
    let sandbox = Sandbox::new()
        .with("failures.yaml", &read("notifications/failures.yaml"))
        .with("hello.yaml", &read("hello_world.yaml"));
    let valid = sandbox.noetl(&["validate", "failures.yaml"]);
    assert_eq!(valid.code, Some(0), "{}{}", valid.stdout, valid.stderr);
    let server = Server::new(&sandbox, &["--db", "server.db"]);
    let url = server.url();
    let registered = sandbox.noetl(&["register", "hello.yaml", "failures.yaml", "--server", &url]);
    assert_eq!(registered.code, Some(0), "{}", registered.stderr);
    let tested =
        sandbox.noetl(&["notifications", "test", "notifications/failures", "--server", &url]);
    assert_eq!(tested.code, Some(0), "{}{}", tested.stdout, tested.stderr);
}
