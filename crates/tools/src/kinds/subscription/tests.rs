use noetl_testkit::NatsServer;

use super::*;
use crate::protect::credentials::FixedCredentials;
use crate::testing::{call, show};

fn tool() -> SubscriptionTool {
    SubscriptionTool::new(
        Arc::new(NatsConnections::new(crate::Egress::Any)),
        Arc::new(FixedCredentials::default()),
    )
}

/// Starts a server with three orders in a stream, and a consumer of them.
async fn server() -> NatsServer {
    let server = NatsServer::start();
    let context = jetstream::new(async_nats::connect(server.url()).await.unwrap());
    let config = jetstream::stream::Config {
        name: "orders".into(),
        subjects: vec!["orders.>".into()],
        ..Default::default()
    };
    let orders = context.create_stream(config).await.unwrap();
    let consumer = jetstream::consumer::pull::Config {
        durable_name: Some("taker".into()),
        ..Default::default()
    };
    orders.create_consumer(consumer).await.unwrap();
    for text in ["{\"n\": 1}", "plain", "3"] {
        context.publish("orders.new", text.into()).await.unwrap().await.unwrap();
    }
    server
}

fn poll(more: Value) -> Value {
    let mut config = json!({"source": "nats", "stream": "orders", "consumer": "taker",
                            "timeout_ms": 300});
    let more = more.as_object().unwrap().clone();
    config.as_object_mut().unwrap().extend(more);
    config
}

async fn run(server: &NatsServer, mut config: Value) -> ToolResult {
    config["url"] = json!(server.url());
    tool().run(&call(config)).await
}

async fn output(server: &NatsServer, config: Value) -> Value {
    match run(server, config).await.outcome {
        noetl_model::Outcome::Completed { output } => (*output).clone(),
        noetl_model::Outcome::Failed { error, .. } => panic!("{error}"),
    }
}

#[tokio::test]
async fn waiting_messages_are_taken_once() {
    let server = server().await;
    let taken = output(&server, poll(json!({}))).await;
    let data: Vec<&Value> =
        taken["messages"].as_array().unwrap().iter().map(|message| &message["data"]).collect();
    assert_eq!(data, [&json!({"n": 1}), &json!("plain"), &json!(3)]);
    assert_eq!(taken["messages"][1]["id"], "orders:2");
    assert_eq!(taken["messages"][1]["metadata"]["subject"], "orders.new");
    assert_eq!(taken["metrics"], json!({"received": 3, "acked": 3, "pending": 0}));
    let nothing = output(&server, poll(json!({}))).await;
    assert_eq!((&nothing["count"], &nothing["messages"]), (&json!(0), &json!([])));
}

#[tokio::test]
async fn unacknowledged_messages_can_be_acknowledged_later() {
    let server = server().await;
    let taken = output(&server, poll(json!({"ack": "manual", "batch": 3}))).await;
    assert_eq!((&taken["acked"], &taken["ack_mode"]), (&json!(false), &json!("manual")));
    let ids = taken["ack_ids"].as_array().unwrap();
    for (operation, id) in [("ack", &ids[0]), ("term", &ids[1]), ("nack", &ids[2])] {
        let order = json!({"source": "nats", "operation": operation, "ack_ids": [id]});
        let told = output(&server, order).await;
        let expected = json!({"status": "success", "source": "nats", "operation": operation,
                              "requested": 1, "disposed": 1, "errors": []});
        assert_eq!(told, expected);
    }
    let again = output(&server, poll(json!({}))).await;
    assert_eq!(again["count"], 1, "only what was given back comes again: {again}");
    assert_eq!(again["messages"][0]["metadata"]["delivered"], 2);
}

#[tokio::test]
async fn an_impossible_operation_is_an_error_with_its_reason() {
    let server = server().await;
    for (config, expected) in [
        (json!({}), "failed config: subscription: `source` is missing"),
        (
            json!({"source": "kafka"}),
            "failed config: subscription: `source` is `kafka`; the one built in is nats",
        ),
        (
            json!({"source": "nats", "operation": "peek"}),
            "failed config: subscription: `operation` is `peek`; known are poll, ack, nack and term",
        ),
        (poll(json!({"ack": "maybe"})), "failed config: subscription: `ack` is `maybe`"),
        (
            poll(json!({"batch": 5000})),
            "failed config: subscription: `batch` must be a number from 1 to 1000, but is `5000`",
        ),
        (
            json!({"source": "nats", "operation": "ack", "ack_ids": ["orders.new"]}),
            "failed config: subscription: `ack_ids` must be a list of `ack_id`s",
        ),
        (poll(json!({"stream": "none"})), "failed not_found: nats: there is no stream `none`"),
        (poll(json!({"consumer": "no"})), "failed not_found: nats: there is no pull consumer `no`"),
    ] {
        let told = show(&run(&server, config).await);
        assert!(told.starts_with(expected), "{told}");
    }
}

#[tokio::test]
async fn a_source_that_is_down_is_worth_a_retry() {
    let mut config = poll(json!({}));
    config["url"] = json!("nats://127.0.0.1:1");
    let told = show(&tool().run(&call(config)).await);
    assert!(told.starts_with("failed connection: nats: cannot connect"), "{told}");
}
