//! Tests of background loops: timers, lost leases, stalls.

use std::sync::Mutex;

use expect_test::expect;
use noetl_engine::signal_index_key;
use noetl_model::{CommandId, Event, EventId, Priority};
use noetl_store::{
    Access, Append, AppendError, EventLog as _, KeyedSignal, QueueChange, SentSignals as _,
    SignalState, SignalTarget, StoreError, StoredSignal, Wrapper,
};
use serde_json::json;

use super::*;
use crate::SignalByKey;

pub(super) const FLAKY: &str = r#"
workflow:
  - step: start
    tool:
      kind: noop
      fail: {message: busy, kind: connection, times: 1}
      spec:
        policy:
          rules:
            - when: "{{ output.status == 'error' }}"
              then: {do: retry, attempts: 3, delay: 7}
"#;

#[tokio::test(start_paused = true)]
async fn a_retry_waits_for_its_time_and_not_longer() {
    let plane = World::new().running();
    register(&plane.control, FLAKY).await;
    let execution = start(&plane.control).await;
    let begun = Instant::now();
    work(&plane.control, execution).await;
    let waited = begun.elapsed();
    assert!((7000..7100).contains(&waited.as_millis()), "waited {waited:?}");
    let log = log(&plane.control, execution).await;
    let due_at = log.iter().find_map(|recorded| match recorded.event {
        Event::TimerSet { due_at, .. } => Some(due_at),
        _ => None,
    });
    let fired_at = log.iter().find_map(|recorded| match recorded.event {
        Event::TimerFired { .. } => Some(recorded.at),
        _ => None,
    });
    assert!(fired_at.unwrap() >= due_at.unwrap(), "never early");
    plane.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_timer_that_fell_due_while_nobody_ran_fires_after_the_restart() {
    let world = World::new();
    let first = world.running();
    register(&first.control, FLAKY).await;
    let execution = start(&first.control).await;
    let leased = lease(&first.control, "w", 1).await.pop().expect("a command");
    let outcome = run(&first.control, &leased, &mut ScriptedWorker::default()).await;
    first.control.report(report(&leased, "w", outcome)).await.unwrap();
    first.stop().await;
    tokio::time::sleep(Duration::from_secs(3600)).await;

    let second = world.running();
    let begun = Instant::now();
    let again = lease(&second.control, "w", 1).await.pop().expect("the second try");
    assert!(begun.elapsed() < Duration::from_millis(10));
    second.control.report(report(&again, "w", completed(Value::Null))).await.unwrap();
    assert_eq!(ended(&second.control, execution).await, Some(ExecutionStatus::Completed));
    second.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_step_that_takes_too_long_fails() {
    let plane = World::new().running();
    register(&plane.control, "workflow: [{step: start, spec: {timeout: 5}, tool: {kind: noop}}]\n")
        .await;
    let execution = start(&plane.control).await;
    let leased = lease(&plane.control, "w", 1).await;
    assert_eq!(leased.len(), 1);
    let mut follow = plane.control.events_follow(execution, Seq::ZERO);
    while ended(&plane.control, execution).await.is_none() {
        follow.next().await.unwrap();
    }
    expect![[r#"
        enter start
        timer 0 set (step timeout)
        issue 0: start (noop)
        timer 0 fired
        cancel 0: the step has timed out
        step start failed: step `start` took longer than 5s
        FAILED step `start` took longer than 5s
    "#]]
    .assert_eq(&history(&plane.control, execution).await);
    plane.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_execution_without_open_work_is_reported_as_stalled() {
    let world = World::new();
    let plane = world.running();
    register(&plane.control, FLAKY).await;
    // A log that no decision would leave: a step is entered and no command issued.
    let execution = ExecutionId(5);
    let events: Vec<Recorded> = log(&plane.control, start(&plane.control).await)
        .await
        .into_iter()
        .take(2)
        .map(|recorded| Recorded { event_id: EventId(recorded.event_id.0 - 1_000_000), ..recorded })
        .collect();
    let state = noetl_engine::replay(execution, events.clone()).unwrap().unwrap();
    let append = Append {
        execution,
        expected: Seq::ZERO,
        events,
        summary: state.summary(),
        queue: Vec::new(),
        timers: Vec::new(),
        outbox: Vec::new(),
        index: Vec::new(),
        payloads: Vec::new(),
        key: None,
    };
    world.store.append(&[append]).await.unwrap()[0].clone().unwrap();
    let mut follow = plane.control.events_follow(execution, Seq(2));
    let noticed = tokio::time::timeout(Duration::from_secs(61), follow.next()).await;
    noticed.expect("within two looks").unwrap();
    expect![[r#"
        enter start
        stalled: no command is open, no timer is set and no message is pending
    "#]]
    .assert_eq(&history(&plane.control, execution).await);
    plane.stop().await;
}

/// Adds a command to the queue that is not in the log of its execution.
async fn misplace(world: &World, control: &Control, execution: ExecutionId) {
    let state = control.state(execution, noetl_model::Cutoff::Latest).await.unwrap();
    let last = log(control, execution).await.pop().expect("an event");
    let recorded = Recorded {
        seq: state.seq().next(),
        event_id: EventId(last.event_id.0 + 1_000_000),
        at: last.at,
        event: Event::Reported { name: "note".to_owned(), step: None, body: Value::Null },
        prev: Some(state.head()),
    };
    let mut after = state.clone();
    noetl_engine::evolve(&mut after, &recorded).unwrap();
    let command = noetl_model::CommandId(99);
    let append = Append {
        execution,
        expected: state.seq(),
        events: vec![recorded],
        summary: after.summary(),
        queue: vec![QueueChange::Add {
            command,
            pool: Pool::shared(),
            step: "start".to_owned(),
            priority: Priority::default(),
            is_parked: false,
        }],
        timers: Vec::new(),
        outbox: Vec::new(),
        index: Vec::new(),
        payloads: Vec::new(),
        key: None,
    };
    world.store.append(&[append]).await.unwrap()[0].clone().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_command_that_stays_ready_although_workers_wait_is_reported_as_stalled() {
    let world = World::new();
    let plane = world.running();
    register(&plane.control, FLAKY).await;
    let execution = start(&plane.control).await;
    work(&plane.control, execution).await;
    misplace(&world, &plane.control, execution).await;
    let written = log(&plane.control, execution).await.len() as u64;
    let mut follow = plane.control.events_follow(execution, Seq(written));
    let waiting = async {
        loop {
            assert_eq!(lease(&plane.control, "w", 1).await, []);
        }
    };
    let noticed = tokio::select! {
        noticed = follow.next() => noticed.unwrap(),
        () = waiting => unreachable!("it waits for ever"),
        () = tokio::time::sleep(Duration::from_secs(100)) => panic!("nobody has noticed"),
    };
    let expected = "command 99 has been ready in pool `shared` for 30 s or more; workers wait for \
                    commands of this pool and none gets it; by the log it has ended";
    assert_eq!(noticed.event, Event::ExecutionStalled { detail: expected.to_owned() });
    plane.stop().await;
}

const KEYED: &str = "workflow: [{step: start, tool: {kind: wait, signal: go, \
                     key: '{{ workload.key }}'}, next: end}, {step: end, tool: {kind: noop}}]";

/// Starts an execution that waits for the signal `go` with a key.
async fn waits_for(control: &Control, key: &str) -> SignalTarget {
    let payload = json!({ "key": key }).as_object().expect("a map").clone();
    let execution = start_with(control, payload).await;
    SignalTarget { execution, command: CommandId(0) }
}

fn sent(key: &str, body: i32) -> SignalByKey {
    let (name, key) = ("go".parse().expect("a name"), key.parse().expect("a key"));
    let (sender, actor) = (None, Some("ada".parse().expect("a name")));
    SignalByKey { name, key, body: json!(body), sender, actor, once: None, kept_for: None }
}

/// Stores a signal as a server leaves it that stops before it delivers it.
async fn left(world: &World, (id, key, body): (i64, &str, i32), state: SignalState) {
    let SignalByKey { name, key, body, sender, actor, .. } = sent(key, body);
    let received_at = world.clock.now();
    let index_key = signal_index_key(&name, Some(&key));
    let signal = StoredSignal {
        id,
        once: Some(format!("{index_key}\n{id}")),
        index_key,
        state,
        expires_at: received_at.after(Duration::from_secs(3600)),
        signal: KeyedSignal { name, key, body, sender, actor, received_at },
    };
    world.store.add_signal(&signal).await.expect("it is stored");
}

async fn state_of(world: &World, id: i64) -> Option<SignalState> {
    world.store.find_signal(id).await.expect("an answer").map(|it| it.state)
}

/// Returns the body of the signal that a wait has taken.
async fn taken(control: &Control, execution: ExecutionId) -> Option<Value> {
    log(control, execution).await.iter().find_map(|recorded| {
        let Event::CommandCompleted { output, .. } = &recorded.event else { return None };
        let output = output.as_inline().map(|value| (**value).clone());
        output.map(|output| output["body"].clone())
    })
}

#[tokio::test(start_paused = true)]
async fn a_signal_by_key_that_another_delivery_has_is_answered_with_its_wait() {
    let world = World::new();
    let plane = world.running();
    let control = &plane.control;
    register(control, KEYED).await;
    let target = waits_for(control, "k").await;
    left(&world, (1, "k", 1), SignalState::Assigned(target)).await;
    let repeated = SignalByKey { once: Some("1".to_owned()), ..sent("k", 1) };
    assert_eq!(control.signal_by_key(repeated).await.expect("an answer"), Some(target));
    assert_eq!(state_of(&world, 1).await, Some(SignalState::Delivered(target)));
    work(control, target.execution).await;
    plane.stop().await;
}

/// The earlier signal is assigned to the wait by a server that was killed before it delivered it.
#[tokio::test(start_paused = true)]
async fn a_later_signal_of_a_key_never_overtakes_an_earlier_one() {
    let world = World::new();
    let plane = world.running();
    let control = &plane.control;
    register(control, KEYED).await;
    let first = waits_for(control, "k").await;
    left(&world, (1, "k", 1), SignalState::Assigned(first)).await;
    assert_eq!(control.signal_by_key(sent("k", 2)).await.expect("an answer"), None);
    assert_eq!(taken(control, first.execution).await, Some(json!(1)));
    let second = waits_for(control, "k").await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(taken(control, second.execution).await, Some(json!(2)));
    let received = log(control, second.execution).await.into_iter().find_map(|it| match it.event {
        Event::SignalReceived { actor, .. } => Some(actor.map(String::from)),
        _ => None,
    });
    assert_eq!(received, Some(Some("ada".to_owned())), "the actor is recorded");
    plane.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_delivered_signal_is_forgotten_soon_unless_its_request_can_be_repeated() {
    let world = World::new();
    let plane = world.running();
    let control = &plane.control;
    register(control, KEYED).await;
    let later = world.clock.now().after(Duration::from_secs(365 * 86_400));
    for (once, seconds, left) in [(None, 30, 0), (Some("1"), 30, 1), (Some("2"), 3700, 0)] {
        let target = waits_for(control, "k").await;
        let signal = SignalByKey { once: once.map(str::to_owned), ..sent("k", 1) };
        assert_eq!(control.signal_by_key(signal).await.expect("an answer"), Some(target));
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        let stored = world.store.forget_signals(later, 10).await.expect("an answer");
        assert_eq!(stored, left, "{once:?} after {seconds} s");
    }
    plane.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_key_that_no_step_waits_for_does_not_keep_signals_from_the_others() {
    let world = World::new();
    let plane = world.running();
    let control = &plane.control;
    for number in 0..crate::KEPT_SIGNALS_OF_KEY_MAX {
        let number = i32::try_from(number).expect("few");
        assert_eq!(
            control.signal_by_key(sent("misspelt", number)).await.expect("it is kept"),
            None
        );
    }
    let refused = control.signal_by_key(sent("misspelt", 0)).await;
    assert!(matches!(refused, Err(crate::SendSignalError::TooManyOfKey(..))), "{refused:?}");
    assert_eq!(control.signal_by_key(sent("other", 1)).await.expect("it is kept"), None);
    plane.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_signal_whose_execution_is_gone_is_kept_for_the_next_wait() {
    let world = World::new();
    let plane = world.running();
    let control = &plane.control;
    register(control, KEYED).await;
    let lost = SignalTarget { execution: ExecutionId(77), command: CommandId(0) };
    left(&world, (1, "k", 1), SignalState::Assigned(lost)).await;
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(state_of(&world, 1).await, Some(SignalState::Kept));
    let target = waits_for(control, "k").await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(state_of(&world, 1).await, Some(SignalState::Delivered(target)));
    assert_eq!(taken(control, target.execution).await, Some(json!(1)));
    plane.stop().await;
}

/// A store that cannot write one execution.
struct OneOutOfReach {
    store: Arc<MemoryStore>,
    lost: Mutex<Option<ExecutionId>>,
}

impl Wrapper for OneOutOfReach {
    type Inner = MemoryStore;

    fn inner(&self) -> &MemoryStore {
        &self.store
    }

    async fn call<T: Send>(
        &self,
        _access: Access,
        answer: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        answer.await
    }

    async fn append(&self, batch: &[Append]) -> Result<Vec<Result<(), AppendError>>, StoreError> {
        let lost = *self.lost.lock().expect("no panic");
        if batch.iter().any(|append| Some(append.execution) == lost) {
            return Err(StoreError::Unavailable("connection reset".into()));
        }
        self.store.append(batch).await
    }
}

#[tokio::test(start_paused = true)]
async fn a_signal_that_cannot_be_delivered_does_not_hold_up_those_of_other_keys() {
    let world = World::new();
    let store = Arc::new(OneOutOfReach { store: world.store.clone(), lost: Mutex::new(None) });
    let plane = Running::of(world.control_on(store.clone(), ControlSettings::default()));
    let control = &plane.control;
    register(control, KEYED).await;
    let (lost, reached) = (waits_for(control, "a").await, waits_for(control, "b").await);
    *store.lost.lock().expect("no panic") = Some(lost.execution);
    left(&world, (1, "a", 1), SignalState::Kept).await;
    left(&world, (2, "b", 2), SignalState::Kept).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(state_of(&world, 2).await, Some(SignalState::Delivered(reached)));
    assert_eq!(state_of(&world, 1).await, Some(SignalState::Assigned(lost)));
    *store.lost.lock().expect("no panic") = None;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(state_of(&world, 1).await, Some(SignalState::Delivered(lost)));
    plane.stop().await;
}
