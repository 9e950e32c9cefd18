//! The intake runtime on simulated time, with a scripted control plane and a scripted source.

use std::collections::VecDeque;
use std::sync::Mutex;

use async_trait::async_trait;
use noetl_model::{Arrival, Bytes, ErrorKind, ExecutionId, MessageOutcome};
use noetl_tools::{FetchedMessage, Receipt};
use serde_json::{Map, Value, json};
use tokio::sync::watch;

use super::*;

/// A log of the calls made, one line of text each.
#[derive(Default)]
struct Told {
    lines: Mutex<Vec<String>>,
    count: watch::Sender<usize>,
}

impl Told {
    fn say(&self, line: String) {
        self.lines.lock().unwrap().push(line);
        self.count.send_modify(|count| *count += 1);
    }

    /// Waits until `line` has been logged `times` times.
    async fn heard(&self, line: &str, times: usize) {
        let mut count = self.count.subscribe();
        loop {
            let said = self.lines.lock().unwrap().iter().filter(|said| *said == line).count();
            if said >= times {
                return;
            }
            count.changed().await.unwrap();
        }
    }

    fn all(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }
}

struct World {
    told: Told,
    assignment: Mutex<Assignment>,
    /// The messages waiting at the source.
    waiting: Mutex<VecDeque<String>>,
    /// Scripted outcomes by message, in order; a message without one starts an execution.
    answers: Mutex<Vec<(String, MessageOutcome)>>,
    /// The number of calls that fail before messages are taken.
    silent: Mutex<u32>,
}

fn assignment() -> Assignment {
    Assignment {
        subscription: ExecutionId(1),
        path: "s".to_owned(),
        state: SubscriptionState::Active,
        version: 1,
        source: "fake".to_owned(),
        settings: Map::new(),
        broker_url: None,
        batch: 10,
        wait_ms: 1000,
        in_flight_max: 100,
        per_second_max: None,
        chunk: 10,
        line: FetchOrder::Any,
        pace: FetchMode::UntilEmpty,
    }
}

impl World {
    fn new(assignment: Assignment, messages: &[&str]) -> Arc<Self> {
        Arc::new(Self {
            told: Told::default(),
            assignment: Mutex::new(assignment),
            waiting: Mutex::new(messages.iter().map(ToString::to_string).collect()),
            answers: Mutex::default(),
            silent: Mutex::default(),
        })
    }

    fn answer(&self, message: &str, verdict: MessageOutcome) {
        self.answers.lock().unwrap().push((message.to_owned(), verdict));
    }

    fn runtime(self: &Arc<Self>) -> IntakeRuntime {
        IntakeRuntime {
            control: Arc::new(FakeIntake(self.clone())),
            sources: Arc::new(FakeSources(self.clone())),
            id: WorkerId::new("r"),
            path: "s".to_owned(),
        }
    }

    async fn run(self: &Arc<Self>) -> IntakeEnd {
        self.runtime().run(CancellationToken::new()).await
    }
}

struct FakeIntake(Arc<World>);

#[async_trait]
impl IntakeControl for FakeIntake {
    async fn attend(&self, _runtime: &WorkerId, _path: &str) -> Result<Assignment, ControlError> {
        Ok(self.0.assignment.lock().unwrap().clone())
    }

    async fn take(
        &self,
        _runtime: &WorkerId,
        _subscription: ExecutionId,
        arrivals: Vec<Arrival>,
    ) -> Result<Vec<MessageOutcome>, ControlError> {
        {
            let mut silent = self.0.silent.lock().unwrap();
            if *silent > 0 {
                *silent -= 1;
                self.0.told.say("no answer".to_owned());
                return Err(ControlError::unavailable("busy"));
            }
        }
        let names: Vec<&str> = arrivals.iter().map(|it| it.id.as_str()).collect();
        self.0.told.say(format!("take {}", names.join(" ")));
        let mut answers = self.0.answers.lock().unwrap();
        let verdicts = arrivals.iter().map(|it| {
            let said = answers.iter().position(|(id, _)| *id == it.id);
            match said {
                Some(at) => answers.remove(at).1,
                None => MessageOutcome::Started { execution: ExecutionId(7) },
            }
        });
        Ok(verdicts.collect())
    }

    async fn leave(
        &self,
        _runtime: &WorkerId,
        _subscription: ExecutionId,
    ) -> Result<(), ControlError> {
        self.0.told.say("leave".to_owned());
        Ok(())
    }
}

struct FakeSources(Arc<World>);

#[async_trait]
impl PullSources for FakeSources {
    async fn open(
        &self,
        _subscription: ExecutionId,
        _kind: &str,
        _settings: &Map<String, Value>,
        _broker_url: Option<&str>,
    ) -> Result<Arc<dyn PullSource>, ToolError> {
        self.0.told.say("open".to_owned());
        Ok(Arc::new(FakeSource(self.0.clone())))
    }
}

struct FakeSource(Arc<World>);

#[async_trait]
impl PullSource for FakeSource {
    async fn fetch(&self, max: usize, wait: Duration) -> Result<Vec<FetchedMessage>, ToolError> {
        let found: Vec<String> = {
            let mut waiting = self.0.waiting.lock().unwrap();
            let count = max.min(waiting.len());
            waiting.drain(..count).collect()
        };
        if found.is_empty() {
            tokio::time::sleep(wait).await;
            return Ok(Vec::new());
        }
        if found[0] == "broken" {
            return Err(ToolError::new(ErrorKind::Connection, "gone"));
        }
        self.0.told.say(format!("fetch {}", found.len()));
        let fetched = found.into_iter().map(|id| FetchedMessage {
            receipt: Receipt::new(id.clone()),
            arrival: Arrival {
                once: id.clone(),
                id,
                headers: Map::new(),
                attributes: Map::new(),
                metadata: Map::new(),
                body: Bytes(json!({}).to_string().into_bytes()),
            },
        });
        Ok(fetched.collect())
    }

    async fn ack(&self, receipt: &Receipt) -> Result<(), ToolError> {
        self.0.told.say(format!("ack {}", receipt.as_str()));
        Ok(())
    }

    async fn nak(&self, receipt: &Receipt, delay: Duration) -> Result<(), ToolError> {
        self.0.told.say(format!("nak {} {}ms", receipt.as_str(), delay.as_millis()));
        Ok(())
    }

    async fn terminate(&self, receipt: &Receipt) -> Result<(), ToolError> {
        self.0.told.say(format!("dead {}", receipt.as_str()));
        Ok(())
    }

    async fn in_progress(&self, receipt: &Receipt) -> Result<(), ToolError> {
        self.0.told.say(format!("hold {}", receipt.as_str()));
        Ok(())
    }

    fn ack_wait(&self) -> Duration {
        Duration::from_secs(6)
    }
}

fn later(after_ms: u64) -> MessageOutcome {
    MessageOutcome::Later { reason: "not now".to_owned(), after_ms }
}

#[tokio::test(start_paused = true)]
async fn a_source_gets_the_outcome_of_each_message() {
    let world = World::new(assignment(), &["a", "b", "c", "d"]);
    world.answer("b", MessageOutcome::Duplicate { execution: ExecutionId(7) });
    world.answer("c", MessageOutcome::Dead { reason: "bad".to_owned() });
    world.answer("d", later(2000));
    assert_eq!(world.run().await, IntakeEnd::Empty);
    let told = ["open", "fetch 4", "take a b c d", "ack a", "ack b", "dead c", "nak d 2000ms"];
    assert_eq!(world.told.all(), told);
}

#[tokio::test(start_paused = true)]
async fn an_unanswered_message_is_sent_again_and_held_meanwhile() {
    let world = World::new(assignment(), &["a"]);
    *world.silent.lock().unwrap() = 4;
    assert_eq!(world.run().await, IntakeEnd::Empty);
    let told = world.told.all();
    assert_eq!(told.iter().filter(|line| *line == "no answer").count(), 4);
    assert!(told.contains(&"hold a".to_owned()), "{told:?}");
    assert_eq!(told.iter().filter(|line| *line == "ack a").count(), 1, "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn messages_of_a_line_stay_in_hand_in_their_order() {
    let ordered = Assignment { line: FetchOrder::Assigned, ..assignment() };
    let world = World::new(ordered, &["a", "b"]);
    world.answer("a", later(1000));
    world.answer("b", later(1000));
    assert_eq!(world.run().await, IntakeEnd::Empty);
    let told = ["open", "fetch 2", "take a b", "take a b", "ack a", "ack b", "leave"];
    assert_eq!(world.told.all(), told);
}

#[tokio::test(start_paused = true)]
async fn no_more_is_fetched_than_may_be_in_hand() {
    let narrow = Assignment { in_flight_max: 2, chunk: 1, ..assignment() };
    let world = World::new(narrow, &["a", "b", "c"]);
    assert_eq!(world.run().await, IntakeEnd::Empty);
    let fetches: Vec<String> =
        world.told.all().into_iter().filter(|line| line.starts_with("fetch")).collect();
    assert_eq!(fetches, ["fetch 2", "fetch 1"]);
}

#[tokio::test(start_paused = true)]
async fn no_more_is_fetched_than_a_second_allows() {
    let slow = Assignment { per_second_max: Some(2), ..assignment() };
    let world = World::new(slow, &["a", "b", "c", "d", "e", "f"]);
    let begun = Instant::now();
    assert_eq!(world.run().await, IntakeEnd::Empty);
    // Two at once, then two per second, then one second without messages.
    assert!(begun.elapsed() >= Duration::from_secs(2), "{:?}", begun.elapsed());
    let fetched: Vec<String> =
        world.told.all().into_iter().filter(|line| line.starts_with("fetch")).collect();
    assert!(fetched.iter().all(|line| ["fetch 1", "fetch 2"].contains(&line.as_str())));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_fetched_while_the_subscription_is_paused() {
    let continuous = Assignment { pace: FetchMode::Continuous, ..assignment() };
    let world = World::new(continuous.clone(), &["a"]);
    let set =
        |state| *world.assignment.lock().unwrap() = Assignment { state, ..continuous.clone() };
    set(SubscriptionState::Paused);
    let runtime = world.runtime();
    let running = tokio::spawn(async move { runtime.run(CancellationToken::new()).await });
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(world.told.all(), [""; 0]);
    set(SubscriptionState::Active);
    world.told.heard("ack a", 1).await;
    set(SubscriptionState::Paused);
    tokio::time::sleep(Duration::from_secs(5)).await;
    world.waiting.lock().unwrap().push_back("b".to_owned());
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert!(!world.told.all().contains(&"take b".to_owned()));
    set(SubscriptionState::Draining);
    let end = running.await.unwrap();
    assert_eq!(end, IntakeEnd::Over(SubscriptionState::Draining));
}

#[tokio::test(start_paused = true)]
async fn a_source_that_breaks_is_opened_again() {
    let world = World::new(assignment(), &["broken", "a"]);
    // With a batch size of 1, the first fetch returns only the broken message.
    *world.assignment.lock().unwrap() = Assignment { batch: 1, ..assignment() };
    assert_eq!(world.run().await, IntakeEnd::Empty);
    let told = ["open", "open", "fetch 1", "take a", "ack a"];
    assert_eq!(world.told.all(), told);
}

#[tokio::test(start_paused = true)]
async fn a_stopping_intake_returns_its_messages() {
    let ordered =
        Assignment { line: FetchOrder::Assigned, pace: FetchMode::Continuous, ..assignment() };
    let world = World::new(ordered, &["a"]);
    for _ in 0..100 {
        world.answer("a", later(1000));
    }
    let stop = CancellationToken::new();
    let (runtime, stopping) = (world.runtime(), stop.clone());
    let running = tokio::spawn(async move { runtime.run(stopping).await });
    world.told.heard("take a", 1).await;
    stop.cancel();
    assert_eq!(running.await.unwrap(), IntakeEnd::Stopped);
    let told = world.told.all();
    assert_eq!(told[told.len() - 2..], ["nak a 0ms", "leave"]);
}
