//! Tests with servers whose clocks are wrong, and with a store whose clock is changed.

use std::sync::atomic::{AtomicI64, Ordering};

use noetl_model::Event;
use noetl_store::WorkQueue as _;

use super::waiting::FLAKY;
use super::*;
use crate::Skew;

const TWO_HOURS: Duration = Duration::from_secs(7200);

/// The clock of the runtime plus an offset in seconds.
struct SetClock {
    clock: Arc<SimulatedClock>,
    seconds: AtomicI64,
}

impl SetClock {
    fn by(world: &World, seconds: i64) -> Arc<Self> {
        Arc::new(Self { clock: world.clock.clone(), seconds: AtomicI64::new(seconds) })
    }

    fn set(&self, seconds: i64) {
        self.seconds.store(seconds, Ordering::Relaxed);
    }
}

impl Clock for SetClock {
    fn now(&self) -> Timestamp {
        let seconds = self.seconds.load(Ordering::Relaxed);
        Timestamp::from_micros(self.clock.now().as_micros() + seconds * 1_000_000)
    }
}

/// Runs a server on a machine whose clock is wrong by `seconds`.
fn server(world: &World, seconds: i64) -> Running {
    let machine = SetClock::by(world, seconds);
    let ids = Arc::new(IdGenerator::new(u16::try_from(seconds.rem_euclid(1000)).unwrap()));
    let settings = ControlSettings::default();
    let store = world.store.clone();
    Running::of(Control::new(store, world.bus.clone(), machine, ids, settings))
}

#[tokio::test(start_paused = true)]
async fn a_retry_waits_for_its_time_although_servers_are_two_hours_apart() {
    let world = World::new();
    let (behind, ahead) = (server(&world, -7200), server(&world, 7201));
    register(&behind.control, FLAKY).await;
    let begun = Instant::now();
    let execution = start(&behind.control).await;
    // Each server sets a timer that the other may fire, and takes part in the execution.
    work(&ahead.control, execution).await;
    let waited = begun.elapsed();
    assert!((7000..8100).contains(&waited.as_millis()), "waited {waited:?}");
    let log = log(&ahead.control, execution).await;
    assert!(log.is_sorted_by_key(|recorded| recorded.at), "time does not go back");
    let summary = ahead.control.summary(execution).await.unwrap().unwrap();
    let took = summary.ended_at.unwrap().since(summary.started_at);
    assert!(took < Duration::from_secs(9), "it took {took:?}");
    assert_eq!(behind.control.clock_skew(), Some(Skew::Behind(TWO_HOURS)));
    behind.stop().await;
    ahead.stop().await;
}

/// Returns a world whose store uses this clock.
fn on(clock: &Arc<SetClock>, world: World) -> World {
    World { store: Arc::new(MemoryStore::new(clock.clone())), ..world }
}

#[tokio::test(start_paused = true)]
async fn times_of_an_execution_do_not_go_back_with_the_stores_clock() {
    let world = World::new();
    let clock = SetClock::by(&world, 0);
    let world = on(&clock, world);
    let plane = world.running();
    register(&plane.control, FLAKY).await;
    let execution = start(&plane.control).await;
    let started_at = log(&plane.control, execution).await[0].at;
    clock.set(-3600);
    let leased = lease(&plane.control, "w", 1).await.pop().expect("a command");
    // The lease has its full length: no other worker gets the command.
    assert_eq!(world.store.ready(&Pool::shared(), None, 10).await.unwrap(), []);
    assert_eq!(leased.lease_until.since(started_at), ControlSettings::default().lease);
    let outcome = run(&plane.control, &leased, &mut ScriptedWorker::default()).await;
    let begun = Instant::now();
    plane.control.report(report(&leased, "w", outcome)).await.unwrap();
    let timer = log(&plane.control, execution).await.iter().find_map(|it| match it.event {
        Event::TimerSet { due_at, .. } => Some(due_at),
        _ => None,
    });
    let store_now = world.store.time().await.unwrap();
    assert_eq!(timer.unwrap().since(store_now), Duration::from_secs(7), "by the store's clock");
    let again = loop {
        if let Some(leased) = lease(&plane.control, "w", 1).await.pop() {
            break leased;
        }
    };
    plane.control.report(report(&again, "w", completed(Value::Null))).await.unwrap();
    assert!(begun.elapsed() < Duration::from_secs(9), "the retry is not delayed");
    let log = log(&plane.control, execution).await;
    assert!(log.is_sorted_by_key(|recorded| recorded.at), "time does not go back");
    plane.stop().await;
}
