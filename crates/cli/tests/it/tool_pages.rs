//! Runs the examples of the tool pages as a reader would.

use std::path::Path;

use noetl_testkit::{MockApi, NatsServer};

use crate::sandbox::Sandbox;

/// Runs the playbook on a page, with credentials in the environment.
fn check(page: &str, environment: &[(&str, String)]) -> serde_json::Value {
    check_with(page, environment, &[])
}

fn check_with(page: &str, environment: &[(&str, String)], more: &[&str]) -> serde_json::Value {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tools").join(page);
    let text = std::fs::read_to_string(file).expect("the page is there");
    let (_, block) = text.split_once("```yaml\n").expect("a page has an example");
    let (playbook, _) = block.split_once("```").expect("a block ends");
    let sandbox = Sandbox::new().with("example.yaml", playbook);
    let args = [&["run", "example.yaml", "--output", "json"], more].concat();
    let mut command = sandbox.command(&args);
    command.envs(environment.iter().map(|(name, value)| (name, value)));
    let ended = command.output().expect("the binary runs");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(0), "{page}: {said}");
    serde_json::from_slice(&ended.stdout).unwrap_or_else(|error| panic!("{page}: {error}: {said}"))
}

#[test]
fn pages_of_tools_that_need_nothing() {
    for page in
        ["approval.md", "noop.md", "python.md", "rhai.md", "script.md", "shell.md", "wait.md"]
    {
        check(page, &[]);
    }
}

#[test]
fn pages_of_what_several_tools_do_together() {
    let told = check("task_sequence.md", &[]);
    assert!(told.to_string().contains("6 rows, 6 in all"), "{told}");
    let told = check("workbook.md", &[]);
    assert!(told.to_string().contains("Quito false, Cairo true"), "{told}");
}

#[test]
fn the_page_of_playbook() {
    let child =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/sub_playbook_child.yaml");
    let child = child.display().to_string();
    let told = check_with("playbook.md", &[], &["--with", &child]);
    assert!(told.to_string().contains("Quito"), "{told}");
}

#[test]
fn the_page_of_http() {
    let api = MockApi::start();
    let told = check_with("http.md", &[], &["--set", &format!("api={}", api.url())]);
    assert!(told.to_string().contains("COMPLETED"), "{told}");
    // The page describes the result if nothing listens at the address.
    let told = check_with("http.md", &[], &["--set", "api=http://127.0.0.1:1"]);
    assert!(told.to_string().contains("127.0.0.1:1"), "{told}");
}

#[tokio::test]
async fn the_page_of_subscription() {
    let server = NatsServer::start();
    let client = async_nats::connect(server.url()).await.expect("it listens");
    let jetstream = async_nats::jetstream::new(client);
    let stream = async_nats::jetstream::stream::Config {
        name: "orders".into(),
        subjects: vec!["orders.*".into()],
        ..Default::default()
    };
    let stream = jetstream.create_stream(stream).await.expect("a stream");
    let consumer = async_nats::jetstream::consumer::pull::Config {
        durable_name: Some("billing".into()),
        ..Default::default()
    };
    stream.create_consumer(consumer).await.expect("a consumer");
    for id in [1, 2] {
        let sent = jetstream.publish("orders.new", format!(r#"{{"id": {id}}}"#).into()).await;
        sent.expect("it is sent").await.expect("it is stored");
    }
    let credential = format!(r#"{{"type": "nats", "nats_url": "{}"}}"#, server.url());
    let told = check("subscription.md", &[("NOETL_CREDENTIAL_BROKER", credential)]);
    assert!(told.to_string().contains(r#""disposed":2"#), "{told}");
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
