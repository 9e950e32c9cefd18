//! Tests of OAuth2 tokens.

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

/// Runs a number of calls with one tool; returns the path and the authentication of each request.
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
    let expected = ["/token Basic bWU6cytlY3JldA==", "/data Bearer t3600", "/data Bearer t3600"];
    assert_eq!(told, expected);
    let told = asked(2, config(json!({})), vec![granted(10), fine(), granted(20), fine()]).await;
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
            answer("401 No", &[], r#"{"error": "invalid_client", "error_description": "s ecret"}"#),
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
        (json!({"client_auth": "x"}), "http: auth: `client_auth` is `x`; known are basic and body"),
    ] {
        let told = show(&http(Egress::Any).run(&call(config(more))).await);
        assert!(told.starts_with(&format!("failed config: {expected}")), "{told}");
    }
}
