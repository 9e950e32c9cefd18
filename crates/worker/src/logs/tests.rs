//! Tests of sending the output of running commands.

use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use noetl_api::{Cancellation, LeaseRequest, WorkerNotice};
use noetl_model::{
    Attempt, Bindings, CommandId, ExecutionId, HeartbeatAnswer, LogStream, PayloadRef, Report,
    ReportAnswer, StepName, Timestamp, ToolKind, WorkerId,
};
use serde_json::Value;
use tokio::sync::broadcast;
use tokio::task::JoinSet;

use super::*;

/// A control plane that only takes output.
#[derive(Default)]
struct TestPlane {
    calls: AtomicUsize,
    /// The number of calls that fail before one is answered.
    failing: AtomicUsize,
    /// The answer to every batch; `stored` if there is none.
    answer: Option<LogAnswer>,
    received: Mutex<Vec<LogBatch>>,
}

#[async_trait]
impl ControlPlane for TestPlane {
    async fn logs(&self, batches: &[LogBatch]) -> Result<Vec<LogAnswer>, ControlError> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        let failing = self.failing.load(Ordering::SeqCst);
        if failing > 0 {
            self.failing.store(failing - 1, Ordering::SeqCst);
            return Err(ControlError::unavailable("the disk is full"));
        }
        self.received.lock().unwrap().extend_from_slice(batches);
        Ok(vec![self.answer.unwrap_or(LogAnswer::Stored); batches.len()])
    }

    async fn lease(&self, _: LeaseRequest) -> Result<Vec<Lease>, ControlError> {
        unreachable!("nothing is leased")
    }

    async fn heartbeat(
        &self,
        _: &WorkerId,
        _: &[Held],
    ) -> Result<Vec<HeartbeatAnswer>, ControlError> {
        unreachable!("nothing is leased")
    }

    async fn report(&self, _: &[Report]) -> Result<Vec<ReportAnswer>, ControlError> {
        unreachable!("nothing is reported")
    }

    async fn payload(&self, _: Held, _: &PayloadRef) -> Result<Arc<Value>, ControlError> {
        unreachable!("nothing is fetched")
    }

    async fn announce(&self, _: &WorkerNotice) -> Result<(), ControlError> {
        unreachable!("nobody is announced")
    }

    async fn release(&self, _: &WorkerId) -> Result<(), ControlError> {
        unreachable!("nothing is leased")
    }

    fn cancellations(&self) -> broadcast::Receiver<Cancellation> {
        broadcast::Sender::new(1).subscribe()
    }
}

fn lease(command: u64) -> Lease {
    Lease {
        execution: ExecutionId(7),
        command: CommandId(command),
        attempt: Attempt(1),
        lease_until: Timestamp::from_millis(0),
        step: StepName::new("train"),
        label: "train".into(),
        tool: ToolKind::Shell,
        config: Value::Null,
        bindings: Bindings::default(),
        is_strict: false,
        timeout_ms: None,
        idempotency_key: "7-1".into(),
        key_attempt: 1,
        item: None,
        trace: None,
        secrets: Default::default(),
        secret: None,
    }
}

struct Sent {
    plane: Arc<TestPlane>,
    logs: Arc<LiveLogs>,
    _sending: JoinSet<()>,
}

fn sending(plane: TestPlane) -> Sent {
    let (plane, logs) = (Arc::new(plane), Arc::<LiveLogs>::default());
    let mut sending = JoinSet::new();
    sending.spawn(LogSender::new(plane.clone(), logs.clone()).run());
    Sent { plane, logs, _sending: sending }
}

impl Sent {
    fn calls(&self) -> usize {
        self.plane.calls.load(Ordering::SeqCst)
    }

    fn text(&self) -> String {
        let received = self.plane.received.lock().unwrap();
        let chunks = received.iter().flat_map(|batch| &batch.chunks);
        chunks.map(|chunk| chunk.text.as_str()).collect()
    }
}

async fn flushed() {
    tokio::time::sleep(FLUSH_INTERVAL * 2).await;
}

#[tokio::test(start_paused = true)]
async fn a_quiet_or_short_command_costs_no_call() {
    let sent = sending(TestPlane::default());
    let (_, quiet) = sent.logs.begin(&lease(1));
    flushed().await;
    quiet.finish(AfterEnd::Reported).await;
    let (live, short) = sent.logs.begin(&lease(2));
    live.write(LogStream::Stdout, b"done\n");
    short.finish(AfterEnd::Reported).await;
    flushed().await;
    assert_eq!(sent.calls(), 0);
    assert!(sent.logs.lock().is_empty());
}

#[tokio::test(start_paused = true)]
async fn output_of_several_commands_is_sent_together_while_they_run() {
    let sent = sending(TestPlane::default());
    let (first, first_log) = sent.logs.begin(&lease(1));
    let (second, second_log) = sent.logs.begin(&lease(2));
    first.write(LogStream::Stdout, b"a\n");
    second.write(LogStream::Stderr, b"b\n");
    first.write(LogStream::Stdout, b"c\n");
    flushed().await;
    assert_eq!((sent.calls(), &*sent.text()), (1, "a\nc\nb\n"));
    first.write(LogStream::Stdout, b"end");
    first_log.finish(AfterEnd::Reported).await;
    assert_eq!(sent.text(), "a\nc\nb\nend", "sent before the report");
    second_log.finish(AfterEnd::Lost).await;
    let received = sent.plane.received.lock().unwrap().clone();
    let indexes: Vec<_> =
        received.iter().map(|it| (it.source.command.0, it.chunks[0].index)).collect();
    assert_eq!(indexes, [(1, 0), (2, 0), (1, 1)]);
    assert!(received[2].chunks[0].is_end);
}

#[tokio::test(start_paused = true)]
async fn the_output_of_a_lost_command_is_sent_even_if_it_is_short() {
    let sent = sending(TestPlane::default());
    let (live, log) = sent.logs.begin(&lease(1));
    live.write(LogStream::Stdout, b"half");
    log.finish(AfterEnd::Lost).await;
    assert_eq!(sent.text(), "half");
    let (live, log) = sent.logs.begin(&lease(2));
    live.write(LogStream::Stdout, b" dropped");
    drop(log);
    flushed().await;
    assert_eq!(sent.text(), "half dropped");
    assert!(sent.logs.lock().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_failed_call_is_repeated_and_then_dropped_and_counted() {
    let sent = sending(TestPlane { failing: AtomicUsize::new(3), ..TestPlane::default() });
    let (live, log) = sent.logs.begin(&lease(1));
    live.write(LogStream::Stdout, b"a\n");
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!((sent.calls(), &*sent.text()), (4, "a\n"));
    sent.plane.failing.store(usize::MAX, Ordering::SeqCst);
    live.write(LogStream::Stdout, b"b\n");
    tokio::time::sleep(REPEAT_MAX * 2).await;
    sent.plane.failing.store(0, Ordering::SeqCst);
    live.write(LogStream::Stdout, b"c\n");
    flushed().await;
    tokio::time::sleep(REPEAT_MAX).await;
    log.finish(AfterEnd::Reported).await;
    assert_eq!(sent.text(), "a\nc\n");
    let received = sent.plane.received.lock().unwrap().clone();
    assert_eq!(received[1].chunks[0].omitted, OmittedOutput { lines: 1, bytes: 2 });
}

#[tokio::test(start_paused = true)]
async fn a_report_does_not_wait_long_for_a_control_plane_that_fails() {
    let sent = sending(TestPlane { failing: AtomicUsize::new(usize::MAX), ..TestPlane::default() });
    let (live, log) = sent.logs.begin(&lease(1));
    live.write(LogStream::Stdout, b"a\n");
    flushed().await;
    let begun = Instant::now();
    log.finish(AfterEnd::Reported).await;
    assert!(begun.elapsed() <= END_WAIT);
}

#[tokio::test(start_paused = true)]
async fn after_a_limit_only_the_end_of_the_output_is_sent() {
    let answer = Some(LogAnswer::Full { kept: 0 });
    let sent = sending(TestPlane { answer, ..TestPlane::default() });
    let (live, log) = sent.logs.begin(&lease(1));
    live.write(LogStream::Stdout, b"a\n");
    flushed().await;
    for _ in 0..10 {
        live.write(LogStream::Stdout, b"b\n");
        flushed().await;
    }
    assert_eq!(sent.calls(), 1);
    log.finish(AfterEnd::Reported).await;
    let received = sent.plane.received.lock().unwrap().clone();
    let end = &received[1].chunks[0];
    assert_eq!((end.text.len(), end.omitted.lines, end.is_end), (20, 1, true));
}

#[tokio::test(start_paused = true)]
async fn a_control_plane_without_logs_is_asked_once_per_command() {
    let sent = sending(TestPlane { answer: Some(LogAnswer::Unknown), ..TestPlane::default() });
    let (live, log) = sent.logs.begin(&lease(1));
    for _ in 0..10 {
        live.write(LogStream::Stdout, b"b\n");
        flushed().await;
    }
    log.finish(AfterEnd::Reported).await;
    assert_eq!(sent.calls(), 1);
    assert!(sent.logs.lock().is_empty());
}
