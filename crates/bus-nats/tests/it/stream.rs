//! Tests of the stream and its messages.

use std::error::Error as _;

use async_nats::jetstream::stream::{Config, StorageType};
use noetl_bus::BusError;

use super::*;

#[tokio::test]
async fn a_worker_that_pulls_gets_the_exact_message() {
    let nats = NatsServer::start();
    let bus = bus_on(&nats).await;
    let worker = Worker::new(&nats, "noetl.commands.shared.>").await;
    bus.notify(&notification(1, "gpu")).await.unwrap();
    bus.notify(&notification(2, "shared")).await.unwrap();

    let message = worker.pull().await;
    assert_eq!(message.subject.as_str(), "noetl.commands.shared.7");
    let body = r#"{"execution_id":7,"event_id":102,"command_id":"7:start:102","step":"start","server_url":"http://127.0.0.1:58082"}"#;
    assert_eq!(str::from_utf8(&message.payload).unwrap(), body);
    let headers = message.headers.expect("headers");
    assert_eq!(headers.get("Nats-Msg-Id").expect("an id").as_str(), "102-2");
}

#[tokio::test]
async fn a_missing_stream_is_created_with_both_subjects_and_a_limit() {
    let nats = NatsServer::start();
    let _bus = bus_on(&nats).await;
    let mut stream = outsider(&nats).await.get_stream("noetl_commands").await.unwrap();
    let config = &stream.info().await.unwrap().config;
    assert_eq!(config.subjects, ["noetl.commands", "noetl.commands.>"]);
    assert_eq!(config.storage, StorageType::File);
    assert_eq!(config.max_age, Duration::from_secs(7 * 24 * 3600));
}

/// Connects a bus to a server with a stream of `subjects`, and returns the stream's configuration
/// afterwards.
async fn config_after(subjects: &[&str]) -> Config {
    let nats = NatsServer::start();
    let made = Config {
        name: "noetl_commands".to_owned(),
        subjects: subjects.iter().map(ToString::to_string).collect(),
        max_age: Duration::from_secs(3600),
        storage: StorageType::Memory,
        max_messages: 4711,
        ..Default::default()
    };
    let outsider = outsider(&nats).await;
    outsider.create_stream(made).await.expect("a stream");
    let bus = bus_on(&nats).await;
    bus.notify(&notification(1, "shared")).await.expect("a stream that takes it");
    let mut stream = outsider.get_stream("noetl_commands").await.expect("the stream");
    stream.info().await.expect("its configuration").config.clone()
}

#[tokio::test]
async fn a_stream_with_the_bare_subject_is_widened_and_else_left_as_it_is() {
    let config = config_after(&["noetl.commands"]).await;
    assert_eq!(config.subjects, ["noetl.commands", "noetl.commands.>"]);
    assert_eq!(config.max_age, Duration::from_secs(3600));
    assert_eq!(config.storage, StorageType::Memory);
    assert_eq!(config.max_messages, 4711);
}

#[tokio::test]
async fn subjects_that_would_overlap_are_replaced() {
    let config = config_after(&["noetl.commands.shared.>", "other"]).await;
    assert_eq!(config.subjects, ["other", "noetl.commands", "noetl.commands.>"]);
}

#[tokio::test]
async fn a_stream_that_is_wide_enough_is_not_touched() {
    assert_eq!(config_after(&["noetl.>"]).await.subjects, ["noetl.>"]);
}

#[tokio::test]
async fn a_repetition_is_dropped_and_counts_as_sent() {
    let nats = NatsServer::start();
    let (first, second) = (bus_on(&nats).await, bus_on(&nats).await);
    for bus in [&first, &first, &second] {
        bus.notify(&notification(1, "shared")).await.unwrap();
    }
    second.notify(&notification(2, "shared")).await.unwrap();
    let mut stream = outsider(&nats).await.get_stream("noetl_commands").await.unwrap();
    assert_eq!(stream.info().await.unwrap().state.messages, 2);
}

#[tokio::test]
async fn a_deleted_stream_is_created_again() {
    let nats = NatsServer::start();
    let bus = bus_on(&nats).await;
    outsider(&nats).await.delete_stream("noetl_commands").await.unwrap();
    let error = bus.notify(&notification(1, "shared")).await.unwrap_err();
    assert!(matches!(error, BusError::Unavailable(_)), "{error:?}");
    assert_eq!(error.source().unwrap().to_string(), "no stream found for given subject");
    connected(&bus).await;
    bus.notify(&notification(1, "shared")).await.unwrap();
    let worker = Worker::new(&nats, "noetl.commands.>").await;
    assert_eq!(worker.pull().await.subject.as_str(), "noetl.commands.shared.7");
}

#[tokio::test]
async fn a_message_too_large_is_refused_and_others_are_not() {
    let nats = NatsServer::start();
    let bus = bus_on(&nats).await;
    let mut large = notification(1, "shared");
    large.command.step = StepName::new("x".repeat(1024 * 1024));
    let error = bus.notify(&large).await.unwrap_err();
    assert!(matches!(error, BusError::Refused(_)), "{error:?}");
    bus.notify(&notification(2, "shared")).await.unwrap();
}

#[tokio::test]
async fn credentials_in_the_address_are_used() {
    let nats = NatsServer::start_with_password("op", "p@ss/word");
    let url = nats.url().replace("nats://", "nats://op:p%40ss%2Fword@");
    let bus = NatsBus::connect(NatsSettings::at(url)).await.unwrap();
    connected(&bus).await;
    bus.notify(&notification(1, "shared")).await.unwrap();
}
