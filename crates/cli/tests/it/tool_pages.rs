//! The example of a tool's page, as its reader would run it.

use std::path::Path;

use noetl_testkit::NatsServer;

use crate::sandbox::Sandbox;

/// Runs the playbook on a page, with credentials in the environment.
fn check(page: &str, environment: &[(&str, String)]) -> serde_json::Value {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tools").join(page);
    let text = std::fs::read_to_string(file).expect("the page is there");
    let (_, block) = text.split_once("```yaml\n").expect("a page has an example");
    let (playbook, _) = block.split_once("```").expect("a block ends");
    let sandbox = Sandbox::new().with("example.yaml", playbook);
    let mut command = sandbox.command(&["run", "example.yaml", "--output", "json"]);
    command.envs(environment.iter().map(|(name, value)| (name, value)));
    let ended = command.output().expect("the binary runs");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(0), "{page}: {said}");
    serde_json::from_slice(&ended.stdout).unwrap_or_else(|error| panic!("{page}: {error}: {said}"))
}

#[test]
fn pages_of_tools_that_need_nothing() {
    for page in ["noop.md", "python.md", "rhai.md", "script.md", "shell.md"] {
        check(page, &[]);
    }
}

#[test]
fn the_page_of_artifact() {
    let told = check("artifact.md", &[]);
    assert!(told.to_string().contains(r#""count":2000"#), "{told}");
}

#[tokio::test]
async fn the_page_of_nats() {
    let server = NatsServer::start();
    server.make_bucket("sessions").await;
    let credential = format!(r#"{{"type": "nats", "nats_url": "{}"}}"#, server.url());
    let told = check("nats.md", &[("NOETL_CREDENTIAL_BROKER", credential)]);
    assert!(told.to_string().contains(r#""visits":1"#), "{told}");
}

#[test]
fn the_page_of_secrets() {
    let credential = r#"{"type": "postgres", "db_host": "h", "db_password": "hunter2"}"#;
    let told = check("secrets.md", &[("NOETL_CREDENTIAL_WAREHOUSE", credential.to_owned())]);
    assert!(told.to_string().contains("postgres is ready"), "{told}");
    assert!(!told.to_string().contains("hunter2"), "{told}");
}
