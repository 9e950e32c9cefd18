//! Tests of the web interface behind the server's checks.

use axum::body::Body;
use axum::http::{Method, Request, StatusCode, header};
use noetl_control::{PlaybookChoice, StartRequest};
use serde_json::Map;

use super::{Answer, Server, tokens};
use crate::{Authentication, Hosts, Pages, Scope, ServerSettings, Token, Wire};

fn guarded() -> Server {
    let tokens = vec![Token::new("reader", [Scope::Read]), Token::new("runner", [Scope::Run])];
    Server::with(Authentication::Tokens(tokens), Hosts::Any)
}

/// A browser: it keeps the cookies that it is given.
struct Browser<'a> {
    server: &'a Server,
    cookies: Vec<String>,
}

impl Browser<'_> {
    async fn get(&mut self, path: &str) -> Answer {
        self.send(Request::get(path), String::new()).await
    }

    async fn post(&mut self, path: &str, fields: &str) -> Answer {
        let page = self.get("/ui/login").await.body.as_str().unwrap_or_default().to_owned();
        let token = page.split("name=\"form_token\" value=\"").nth(1);
        let token = token.and_then(|rest| rest.split('"').next()).unwrap_or_default();
        let request =
            Request::post(path).header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        self.send(request, format!("form_token={token}&{fields}")).await
    }

    async fn send(&mut self, request: axum::http::request::Builder, body: String) -> Answer {
        let request = request
            .header(header::COOKIE, self.cookies.join("; "))
            .header(header::ACCEPT, "text/html")
            .body(Body::from(body));
        let answer = self.server.send(request.expect("a request")).await;
        let stored = answer.headers.get_all(header::SET_COOKIE).into_iter();
        let stored = stored.filter_map(|it| it.to_str().ok()?.split(';').next());
        self.cookies.extend(stored.map(str::to_owned));
        answer
    }
}

fn location(answer: &Answer) -> &str {
    answer.headers.get(header::LOCATION).map_or("", |it| it.to_str().expect("text"))
}

#[tokio::test(start_paused = true)]
async fn a_browser_without_a_session_is_led_to_the_login_and_back() {
    let server = guarded();
    let mut browser = Browser { server: &server, cookies: Vec::new() };
    let refused = browser.get("/ui/executions?status=FAILED").await;
    assert_eq!(location(&refused), "/ui/login?next=/ui/executions%3Fstatus%3DFAILED");
    let admitted = browser.post("/ui/login", "token=reader&next=/ui/executions").await;
    assert_eq!((admitted.status, location(&admitted)), (StatusCode::SEE_OTHER, "/ui/executions"));
    assert_eq!(browser.get("/ui/executions").await.status, StatusCode::OK);
}

#[tokio::test(start_paused = true)]
async fn a_session_has_the_scopes_of_its_token_and_changes_nothing_through_the_api() {
    let server = guarded();
    let mut reader = Browser { server: &server, cookies: Vec::new() };
    reader.post("/ui/login", "token=reader").await;
    let refused = reader.post("/ui/example", "").await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    assert!(refused.body.as_str().unwrap_or_default().contains("lacks the scope <code>run</code>"));
    assert_eq!(reader.get("/api/executions").await.status, StatusCode::OK);
    let mut runner = Browser { server: &server, cookies: Vec::new() };
    runner.post("/ui/login", "token=runner").await;
    assert_eq!(runner.post("/ui/example", "").await.status, StatusCode::SEE_OTHER);
    let request = Request::post("/api/execute").header(header::CONTENT_TYPE, "application/json");
    let through_the_api = runner.send(request, "{}".to_owned()).await;
    assert_eq!(through_the_api.problem(), "401 unauthorized");
}

#[tokio::test(start_paused = true)]
async fn a_form_of_another_origin_is_refused_even_with_a_session() {
    let server = guarded();
    let mut browser = Browser { server: &server, cookies: Vec::new() };
    browser.post("/ui/login", "token=runner").await;
    let request = Request::post("/ui/example")
        .header(header::HOST, "noetl.example")
        .header(header::ORIGIN, "https://evil.example");
    assert_eq!(browser.send(request, String::new()).await.status, StatusCode::FORBIDDEN);
}

#[tokio::test(start_paused = true)]
async fn the_root_redirects_browsers_to_the_pages_only() {
    let server = Server::new();
    let mut browser = Browser { server: &server, cookies: Vec::new() };
    assert_eq!(location(&browser.get("/").await), "/ui/");
    assert_eq!(server.get("/").await.problem(), "404 unknown-path");
}

#[tokio::test(start_paused = true)]
async fn pages_can_be_turned_off() {
    let settings = ServerSettings::new(Authentication::Open, Hosts::Any);
    let server = Server::set(ServerSettings { pages: Pages::Hidden, ..settings });
    assert_eq!(server.get("/ui/").await.problem(), "404 unknown-path");
}

#[tokio::test(start_paused = true)]
async fn files_of_pages_are_kept_for_ever_under_their_digest() {
    let server = guarded();
    let page = server.get("/ui/login").await.body.as_str().unwrap_or_default().to_owned();
    let style = page.split("rel=\"stylesheet\" href=\"").nth(1).and_then(|it| it.split('"').next());
    let answer = server.get(style.expect("a style sheet")).await;
    assert_eq!(answer.headers[header::CACHE_CONTROL], "public, max-age=31536000, immutable");
    let other = server.get("/ui/assets/0/page.css").await;
    assert_eq!(other.headers[header::CACHE_CONTROL], "no-store");
}

/// A playbook that waits for a worker.
const PLAYBOOK: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: greet, path: tests/greet}
workflow:
  - step: greet
    tool: {kind: shell, command: 'echo hello'}
";

#[tokio::test(start_paused = true)]
async fn a_token_that_may_only_operate_forks_no_edited_playbook() {
    let server = guarded();
    server.state.app().register(PLAYBOOK).await.expect("a playbook");
    let playbook = PlaybookChoice::Path { path: "tests/greet".to_owned(), version: None };
    let started = server.state.app().start(StartRequest::new(playbook, Map::new())).await;
    let form = format!("/ui/executions/{}/fork", started.expect("an execution").execution);
    let secret = tokens::secret_of(&server, "ada", &["operator"]).await;
    let mut operator = Browser { server: &server, cookies: Vec::new() };
    operator.post("/ui/login", &format!("token={secret}")).await;
    let page = operator.get(&format!("{form}?at=2")).await;
    assert!(page.body.as_str().is_some_and(|it| it.contains("name=\"workload\"")), "{}", page.body);
    assert!(!page.body.as_str().unwrap_or_default().contains("name=\"playbook\""));
    let encoded = |text: &str| text.bytes().map(|byte| format!("%{byte:02X}")).collect::<String>();
    let edited = encoded(&PLAYBOOK.replace("hello", "owned"));
    let refused = operator.post(&form, &format!("at=2&playbook={edited}")).await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN, "{}", refused.body);
    assert!(refused.body.as_str().unwrap_or_default().contains("may not write playbooks"));
    let unchanged = encoded(PLAYBOOK);
    let forked = operator.post(&form, &format!("at=2&playbook={unchanged}")).await;
    assert_eq!(forked.status, StatusCode::SEE_OTHER, "{}", forked.body);
}

#[tokio::test(start_paused = true)]
async fn a_session_that_has_logged_out_is_refused_with_its_old_cookie() {
    let server = guarded();
    let mut browser = Browser { server: &server, cookies: Vec::new() };
    browser.post("/ui/login", "token=runner").await;
    let stolen = browser.cookies.clone();
    let mut other = Browser { server: &server, cookies: Vec::new() };
    other.post("/ui/login", "token=runner").await;
    assert_eq!(browser.get("/ui/executions").await.status, StatusCode::OK);
    browser.post("/ui/logout", "").await;
    let mut thief = Browser { server: &server, cookies: stolen };
    assert_eq!(location(&thief.get("/ui/executions").await), "/ui/login?next=/ui/executions");
    assert_eq!(other.get("/ui/executions").await.status, StatusCode::OK, "another session");
}

#[tokio::test(start_paused = true)]
async fn behind_a_proxy_with_tls_a_session_is_sent_over_tls_only() {
    for (wire, secure) in [(Wire::Plain, false), (Wire::Encrypted, true)] {
        let tokens = Authentication::Tokens(vec![Token::new("reader", [Scope::Read])]);
        let settings = ServerSettings::new(tokens, Hosts::Any);
        let server = Server::set(ServerSettings { public_wire: wire, ..settings });
        let mut browser = Browser { server: &server, cookies: Vec::new() };
        let admitted = browser.post("/ui/login", "token=reader").await;
        let cookies = admitted.headers.get_all(header::SET_COOKIE).into_iter();
        let mut cookies = cookies.filter_map(|it| it.to_str().ok());
        let session = cookies.find(|it| it.starts_with("noetl_session=")).expect("a session");
        assert_eq!(session.ends_with("; Secure"), secure, "{session}");
    }
}

#[tokio::test(start_paused = true)]
async fn forms_that_need_no_token_are_limited_and_fill_no_audit_log() {
    let server = Server::set(super::tokens::guarded());
    let mut browser = Browser { server: &server, cookies: Vec::new() };
    let mut last = StatusCode::OK;
    for path in ["/ui/logout", "/ui/decide/a.b"].iter().cycle().take(200) {
        let request =
            Request::post(*path).header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        last = browser.send(request, String::new()).await.status;
    }
    assert_eq!(last, StatusCode::TOO_MANY_REQUESTS);
    let log = super::tokens::ask(&server, "root", Method::GET, "/api/audit?limit=1000").await;
    let entries = log.body["entries"].as_array().expect("a list").len();
    assert!((1..=60).contains(&entries), "{entries} entries");
    let text = log.body.to_string();
    assert!(text.contains("/ui/decide/…") && !text.contains("a.b"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_token_that_is_restricted_to_paths_is_told_its_paths_and_logs_out() {
    let server = Server::set(tokens::guarded());
    let secret = tokens::secret_of(&server, "ci", &["operator:team-a/*", "viewer:shared"]).await;
    let mut browser = Browser { server: &server, cookies: Vec::new() };
    let admitted = browser.post("/ui/login", &format!("token={secret}&next=/ui/system")).await;
    assert_eq!(location(&admitted), "/ui/system");
    for path in ["/ui/system", "/ui/", "/ui/tokens"] {
        let shown = browser.get(path).await;
        assert_eq!(shown.status, StatusCode::FORBIDDEN, "{path}");
        let body = shown.body.as_str().unwrap_or_default();
        for part in ["operator:team-a/*", "viewer:shared", "noetl run", "action=\"/ui/logout\""] {
            assert!(body.contains(part), "{path}: {part}: {body}");
        }
        assert!(!body.contains(&secret), "{path}");
    }
    let left = browser.post("/ui/logout", "").await;
    assert_eq!(location(&left), "/ui/login");
}

#[tokio::test(start_paused = true)]
async fn only_an_administrator_sees_tokens_and_audit_log_and_deletes_executions() {
    let server = Server::set(tokens::guarded());
    let secret = tokens::secret_of(&server, "op", &["author"]).await;
    let mut browser = Browser { server: &server, cookies: Vec::new() };
    browser.post("/ui/login", &format!("token={secret}")).await;
    for path in ["/ui/tokens", "/ui/audit"] {
        let shown = browser.get(path).await;
        assert_eq!(shown.status, StatusCode::FORBIDDEN, "{path}");
        assert!(!shown.body.as_str().unwrap_or_default().contains("<td"), "{path}");
    }
    let created = browser.post("/ui/tokens", "action=create&name=x&role=admin").await;
    assert_eq!(created.status, StatusCode::FORBIDDEN);
    let deleted = browser.post("/ui/executions/1/retention", "action=delete").await;
    assert_eq!(deleted.status, StatusCode::FORBIDDEN);
    let mut root = Browser { server: &server, cookies: Vec::new() };
    root.post("/ui/login", "token=root").await;
    assert_eq!(root.get("/ui/audit").await.status, StatusCode::OK);
    let names = server.state.app().list_tokens("", 10).await.expect("tokens");
    assert_eq!(names.len(), 1, "nothing was created");
}
