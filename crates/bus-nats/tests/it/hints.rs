//! Tests of hints between servers.

use noetl_bus::HintReceiver;

use super::*;

/// Returns the next hint other than [`Hint::LookAgain`], which a new connection may send at any
/// time.
async fn heard(hints: &mut HintReceiver) -> Hint {
    loop {
        match soon(hints.next()).await {
            Hint::LookAgain => {}
            hint @ (Hint::CommandReady { .. }
            | Hint::CommandCancelled { .. }
            | Hint::ExecutionAdvanced { .. }) => return hint,
        }
    }
}

#[tokio::test]
async fn a_hint_reaches_every_server_once() {
    let nats = NatsServer::start();
    let (here, there) = (bus_on(&nats).await, bus_on(&nats).await);
    let (mut at_home, mut abroad) = (here.subscribe(), there.subscribe());
    let first = Hint::CommandReady { pool: Pool::shared() };
    let second = Hint::ExecutionAdvanced { execution: ExecutionId(7) };
    for hint in [&first, &second] {
        here.publish(hint.clone()).await;
    }
    for receiver in [&mut at_home, &mut abroad] {
        assert_eq!(heard(receiver).await, first);
        assert_eq!(heard(receiver).await, second);
    }
}

#[tokio::test]
async fn a_hint_that_nobody_understands_says_to_look_again() {
    let nats = NatsServer::start();
    let bus = bus_on(&nats).await;
    let mut hints = bus.subscribe();
    let client = outsider(&nats).await.client();
    client.publish("noetl.hints.news", r#"{"hint":"from_the_future"}"#.into()).await.unwrap();
    assert_eq!(soon(hints.next()).await, Hint::LookAgain);
}

#[tokio::test]
async fn hints_stay_at_home_while_nats_is_gone() {
    let mut nats = NatsServer::start();
    nats.kill();
    let bus = NatsBus::connect(settings(&nats)).await.unwrap();
    let mut hints = bus.subscribe();
    let hint = Hint::CommandReady { pool: Pool::shared() };
    bus.publish(hint.clone()).await;
    assert_eq!(heard(&mut hints).await, hint);
}
