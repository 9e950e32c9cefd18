//! Tests of notifications to external workers, with a bus that may be down or reject messages.

use std::sync::Mutex;

use async_trait::async_trait;
use expect_test::{Expect, expect};
use noetl_bus::{Bus, BusError, Hint, HintReceiver, Notification, NotificationReason, Reach};
use noetl_store::{Outbox as _, OutboxConsumer, Take};
use serde_json::json;
use tokio::sync::watch;

use super::*;
use crate::NotificationSender;
use crate::loops::relay::VISIBILITY_MAX;

const CHAIN: &str = r#"
workflow:
  - step: start
    tool: {kind: noop}
    next: {arcs: [{step: each}]}
  - step: each
    loop: {in: [a, b], iterator: it, spec: {mode: sequential}}
    tool: {kind: noop}
    next: {arcs: [{step: end}]}
  - step: end
    tool: {kind: noop}
"#;

/// The state of the broker.
#[derive(Debug, Clone, PartialEq)]
enum Broker {
    Up,
    Down,
    /// The broker rejects notifications about this step.
    Without(&'static str),
}

struct BrokeredBus {
    hints: LocalBus,
    broker: Mutex<Broker>,
    heard: watch::Sender<Vec<Notification>>,
}

impl BrokeredBus {
    fn new(broker: Broker) -> Arc<Self> {
        let heard = watch::Sender::new(Vec::new());
        Arc::new(Self { hints: LocalBus::new(), broker: Mutex::new(broker), heard })
    }

    fn set(&self, broker: Broker) {
        *self.broker.lock().unwrap() = broker;
    }

    /// Waits for `count` notifications and returns one line for each: pool, step and item.
    async fn heard(&self, count: usize) -> String {
        let mut heard = self.heard.subscribe();
        let heard = heard.wait_for(|heard| heard.len() >= count).await.unwrap();
        let line = |notification: &Notification| {
            let Notification { pool, command, .. } = notification;
            match command.item {
                Some(item) => format!("{pool} {} {item}\n", command.step),
                None => format!("{pool} {}\n", command.step),
            }
        };
        heard.iter().map(line).collect()
    }
}

#[async_trait]
impl Bus for BrokeredBus {
    async fn publish(&self, hint: Hint) {
        self.hints.publish(hint).await;
    }

    async fn notify(&self, notification: &Notification) -> Result<(), BusError> {
        match &*self.broker.lock().unwrap() {
            Broker::Down => return Err(BusError::Unavailable("connection refused".into())),
            Broker::Without(step) if notification.command.step.as_str() == *step => {
                return Err(BusError::Refused("too large".into()));
            }
            Broker::Up | Broker::Without(_) => {}
        }
        self.heard.send_modify(|heard| heard.push(notification.clone()));
        Ok(())
    }

    fn subscribe(&self) -> HintReceiver {
        self.hints.subscribe()
    }

    fn reach(&self) -> Reach {
        match &*self.broker.lock().unwrap() {
            Broker::Down => Reach::Disconnected,
            Broker::Up | Broker::Without(_) => Reach::Connected,
        }
    }
}

fn plane_with(world: &World, bus: Arc<BrokeredBus>) -> Running {
    let ids = Arc::new(IdGenerator::new(1));
    let settings = ControlSettings::default();
    Running::of(Control::new(world.store.clone(), bus, world.clock.clone(), ids, settings))
}

#[tokio::test(start_paused = true)]
async fn notifications_left_to_an_external_program_wait_for_it_in_order() {
    let world = World::new();
    let bus = BrokeredBus::new(Broker::Up);
    let plane = externally_notified(&world, bus.clone());
    register(&plane.control, CHAIN).await;
    let execution = start(&plane.control).await;
    assert_eq!(work(&plane.control, execution).await, ExecutionStatus::Completed);
    let take = Take { consumer: OutboxConsumer::Publisher, limit: 9, hold: VISIBILITY_MAX };
    let rows = world.store.take(take).await.unwrap();
    let steps: Vec<String> =
        rows.iter().filter_map(crate::notification).map(|it| it.command.step.to_string()).collect();
    assert_eq!(steps, ["start", "each", "each", "end"]);
    assert!(bus.heard.borrow().is_empty(), "the relay has sent none of them");
}

#[tokio::test(start_paused = true)]
async fn a_command_whose_worker_died_is_left_to_an_external_program_once_more() {
    let world = World::new();
    let plane = externally_notified(&world, world.bus.clone());
    register(&plane.control, CHAIN).await;
    start(&plane.control).await;
    let publish = async || {
        let take = Take { consumer: OutboxConsumer::Publisher, limit: 9, hold: VISIBILITY_MAX };
        let rows = world.store.take(take).await.unwrap();
        let ids: Vec<i64> = rows.iter().map(|row| row.id).collect();
        world.store.sent(&ids).await.unwrap();
        rows.iter().filter_map(crate::notification).map(|it| it.command).collect::<Vec<_>>()
    };
    let first = publish().await;
    assert_eq!(first.len(), 1);
    assert_eq!(lease(&plane.control, "dies", 1).await.len(), 1);
    tokio::time::sleep(Duration::from_secs(29)).await;
    assert_eq!(publish().await, [], "the worker may live");
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert_eq!(publish().await, first);
    tokio::time::sleep(Duration::from_secs(300)).await;
    assert_eq!(publish().await, first, "one reminder waits, however long it takes to publish it");
    plane.stop().await;
}

/// Runs a control plane whose notifications an external program publishes.
fn externally_notified(world: &World, bus: Arc<dyn Bus>) -> Running {
    let notifications = NotificationSender::External;
    let settings = ControlSettings { notifications, ..ControlSettings::default() };
    let ids = Arc::new(IdGenerator::new(1));
    Running::of(Control::new(world.store.clone(), bus, world.clock.clone(), ids, settings))
}

/// Runs a playbook and checks the `count` notifications sent on `bus`.
async fn check(bus: &Arc<BrokeredBus>, workflow: &str, count: usize, expected: Expect) {
    let plane = plane_with(&World::new(), bus.clone());
    register(&plane.control, workflow).await;
    let execution = start(&plane.control).await;
    assert_eq!(work(&plane.control, execution).await, ExecutionStatus::Completed);
    expected.assert_eq(&bus.heard(count).await);
    plane.stop().await;
}

#[tokio::test(start_paused = true)]
async fn every_command_is_notified_in_its_pool_with_its_item() {
    check(
        &BrokeredBus::new(Broker::Up),
        CHAIN,
        4,
        expect![[r#"
            shared start
            shared each 0
            shared each 1
            shared end
        "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn commands_of_the_control_plane_itself_are_not_notified() {
    let bus = BrokeredBus::new(Broker::Up);
    let plane = plane_with(&World::new(), bus.clone());
    register_at(&plane.control, "child", "workflow: [{step: start, tool: {kind: noop}}]\n").await;
    let call =
        "workflow: [{step: call, tool: {kind: playbook, return_result: true, path: child}}]\n";
    register(&plane.control, call).await;
    let execution = start(&plane.control).await;
    // A waiting worker would get the child's command without a notification.
    assert_eq!(bus.heard(1).await, "shared start\n");
    assert_eq!(work(&plane.control, execution).await, ExecutionStatus::Completed);
    plane.stop().await;
    assert_eq!(bus.heard.borrow().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn without_a_broker_executions_go_on_and_notifications_follow_once_it_is_back() {
    let bus = BrokeredBus::new(Broker::Down);
    let world = World::new();
    let plane = plane_with(&world, bus.clone());
    register(&plane.control, CHAIN).await;
    let begun = Instant::now();
    let execution = start(&plane.control).await;
    assert_eq!(work(&plane.control, execution).await, ExecutionStatus::Completed);
    assert!(begun.elapsed() < Duration::from_secs(1), "took {:?}", begun.elapsed());

    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(world.store.owed().await.unwrap(), 4);
    let again = start(&plane.control).await;
    assert_eq!(work(&plane.control, again).await, ExecutionStatus::Completed);

    bus.set(Broker::Up);
    let back = Instant::now();
    bus.heard(8).await;
    assert!(back.elapsed() <= VISIBILITY_MAX + ControlSettings::default().poll);
    plane.stop().await;
    assert_eq!(bus.heard.borrow().len(), 8, "each is sent once");
    assert_eq!(world.store.owed().await.unwrap(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_notification_that_is_refused_holds_up_no_other() {
    let bus = BrokeredBus::new(Broker::Without("start"));
    check(
        &bus,
        CHAIN,
        3,
        expect![[r#"
            shared each 0
            shared each 1
            shared end
        "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_notification_names_its_command_and_carries_the_trace_of_the_start() {
    let bus = BrokeredBus::new(Broker::Up);
    let plane = plane_with(&World::new(), bus.clone());
    register(
        &plane.control,
        "workflow: [{step: call, tool: {kind: playbook, return_result: true, path: child}}]\n",
    )
    .await;
    register_at(&plane.control, "child", CHAIN).await;
    let trace = json!({ "traceparent": "00-1-2-01" });
    let mut request = StartRequest::new(by_path("p"), Map::new());
    (request.input.pool, request.input.trace) = (Pool::new("gpu"), Some(trace.clone()));
    plane.control.start(request).await.unwrap();
    bus.heard(1).await;

    let heard = bus.heard.borrow().first().cloned().unwrap();
    assert_eq!((heard.pool, heard.trace.as_deref()), (Pool::new("gpu"), Some(&trace)));
    let child = log(&plane.control, heard.command.execution).await;
    let issued = child.iter().find(|recorded| recorded.event_id == heard.command.event_id);
    assert_eq!(issued.unwrap().event.tag().as_str(), "command.issued");
    plane.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_command_whose_worker_died_is_named_to_workers_again() {
    let bus = BrokeredBus::new(Broker::Up);
    let plane = plane_with(&World::new(), bus.clone());
    register(&plane.control, CHAIN).await;
    start(&plane.control).await;
    assert_eq!(lease(&plane.control, "dies", 1).await.len(), 1);
    let begun = Instant::now();
    bus.heard(2).await;
    let waited = begun.elapsed();
    assert!((30..=32).contains(&waited.as_secs()), "named again after {waited:?}");
    let heard = bus.heard.borrow().clone();
    assert_eq!(heard[0].command, heard[1].command);
    let again = NotificationReason::Reminder { attempt: noetl_model::Attempt(1), count: 0 };
    assert_eq!(heard[1].reason, again);
    plane.stop().await;
}

#[tokio::test(start_paused = true)]
async fn commands_that_the_broker_has_lost_are_announced_again() {
    let bus = BrokeredBus::new(Broker::Up);
    let plane = plane_with(&World::new(), bus.clone());
    register(&plane.control, CHAIN).await;
    start(&plane.control).await;
    let begun = Instant::now();
    bus.heard(3).await;
    let waited = begun.elapsed();
    assert!((60..=64).contains(&waited.as_secs()), "named twice more after {waited:?}");
    plane.stop().await;
}
