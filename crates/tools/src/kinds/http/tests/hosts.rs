//! Tests of credentials that may be sent to certain hosts only.

use super::*;

/// Returns a tool whose credentials may be sent to a host.
fn limited(host: &str, token_url: &str) -> Http {
    let api = json!({"type": "bearer", "token": "sesame", "_hosts": [host]});
    let key = json!({"type": "api_key", "key": "sesame", "_hosts": [host]});
    let grant = json!({
        "type": "oauth2", "token_url": token_url, "client_id": "me", "client_secret": "sesame",
        "_hosts": [host],
    });
    let variables = [("API", api), ("KEY", key), ("GRANT", grant)]
        .map(|(name, fields)| (format!("NOETL_CREDENTIAL_{name}"), fields.to_string()));
    let credentials = FixedCredentials::from_environment(variables);
    Http::new(Arc::new(Outgoing::new(Egress::Any, false)), Arc::new(credentials))
}

async fn run(tool: &Http, auth: &str, url: String) -> String {
    show(&tool.run(&call(json!({"url": url, "auth": auth}))).await)
}

const REFUSED: &str = "failed policy: the credential may not be sent to";

#[tokio::test]
async fn a_credential_is_sent_to_the_hosts_of_its_policy_only() {
    for auth in ["api", "key"] {
        let server = Server::start(vec![answer("200 OK", &[], "1")]).await;
        let tool = limited(&server.address, "http://unused");
        let url = format!("http://{}/a", server.address);
        assert!(run(&tool, auth, url).await.starts_with("completed"));
        assert!(server.seen().contains("sesame"), "{}", server.seen());
        let other = Server::start(vec![answer("200 OK", &[], "1")]).await;
        let told = run(&tool, auth, format!("http://{}/a", other.address)).await;
        assert!(told.starts_with(REFUSED), "{told}");
        assert_eq!(other.seen(), "", "nothing is sent");
    }
}

#[tokio::test]
async fn a_redirect_to_another_host_does_not_take_the_credential_along() {
    for auth in ["api", "key"] {
        let other = Server::start(vec![answer("200 OK", &[], "1")]).await;
        let location = format!("location: http://{}/b", other.address);
        let server = Server::start(vec![answer("302 Found", &[&location], "")]).await;
        let tool = limited(&server.address, "http://unused");
        let told = run(&tool, auth, format!("http://{}/a", server.address)).await;
        assert!(told.starts_with("completed"), "{told}");
        assert!(!other.seen().is_empty());
        assert!(!other.seen().contains("sesame"), "{}", other.seen());
    }
}

#[tokio::test]
async fn a_client_secret_is_sent_to_the_hosts_of_its_policy_only() {
    let evil = Server::start(vec![answer("200 OK", &[], "1")]).await;
    let tool = limited("id.example", &format!("http://{}/token", evil.address));
    let told = run(&tool, "grant", "http://id.example/data".to_owned()).await;
    assert!(told.starts_with(REFUSED), "{told}");
    assert_eq!(evil.seen(), "");
}

#[tokio::test]
async fn a_template_cannot_read_a_credential_with_hosts() {
    let keychain = KeychainVariable(limited("api.example", "http://unused"));
    for alias in ["api", "grant"] {
        let error = keychain.resolve(&call(json!({})), alias).await.expect_err(alias);
        assert_eq!(error.kind, ErrorKind::Policy);
        assert!(!error.message.contains("sesame"), "{}", error.message);
    }
}
