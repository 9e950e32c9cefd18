//! Conformance cases of the output of running tools.

use noetl_model::{
    Attempt, CommandId, ExecutionId, Held, LOG_TAIL_MAX, LogAnswer, LogBatch, LogChunk, LogSource,
    LogStream, OmittedOutput, StepName, StoredLog,
};

use super::Subject;
use super::given::{A, B, add, after, at, lease, remove, start};
use crate::{Append, LOG_READ_MAX, LogLimits, LogOrder, LogRead};

fn source(execution: ExecutionId, command: u64, attempt: u32) -> LogSource {
    LogSource {
        execution,
        command: CommandId(command),
        attempt: Attempt(attempt),
        step: StepName::new(format!("step {command}")),
        label: "größe".into(),
        item: (command == 2).then_some(7),
        number: attempt,
    }
}

fn chunk(index: u64, text: &str) -> LogChunk {
    let (stream, omitted) = (LogStream::Stdout, OmittedOutput::default());
    LogChunk { index, stream, age_ms: 0, text: text.into(), omitted, is_end: false }
}

fn batch(source: LogSource, texts: &[&str]) -> LogBatch {
    let chunks = (0..).zip(texts).map(|(index, text)| chunk(index, text)).collect();
    LogBatch { source, chunks }
}

async fn append(subject: &Subject, batches: &[LogBatch]) -> Vec<LogAnswer> {
    append_within(subject, batches, LogLimits::default()).await
}

async fn append_within(
    subject: &Subject,
    batches: &[LogBatch],
    limits: LogLimits,
) -> Vec<LogAnswer> {
    subject.records.append_logs(batches, limits).await.expect("the store appends logs")
}

async fn read(subject: &Subject, execution: ExecutionId, page: &LogRead) -> Vec<StoredLog> {
    let read = subject.records.read_logs(execution, page).await;
    read.expect("the store reads logs")
}

fn all() -> LogRead {
    LogRead { limit: usize::MAX, ..LogRead::default() }
}

async fn texts(subject: &Subject, execution: ExecutionId, page: &LogRead) -> Vec<(u64, String)> {
    let logs = read(subject, execution, page).await;
    logs.into_iter().map(|log| (log.position, log.text)).collect()
}

fn shown(found: &[(u64, String)]) -> Vec<(u64, &str)> {
    found.iter().map(|(position, text)| (*position, text.as_str())).collect()
}

/// Starts two executions with the commands 1 and 2, leased for the first time.
async fn begun(subject: &Subject) {
    for execution in [A, B] {
        let queue = vec![add(1), add(2)];
        subject.append(Append { queue, ..start(execution) }).await.expect("the store appends");
        let queue = vec![lease(1, 1, 30), lease(2, 1, 30)];
        subject.append(Append { queue, ..after(execution, 1) }).await.expect("the store appends");
    }
}

pub async fn chunks_are_read_in_the_order_of_their_arrival(subject: Subject) {
    begun(&subject).await;
    subject.at(100);
    let mut first = batch(source(A, 1, 1), &["a\n", "b\0\u{1b}[31mé\n"]);
    first.chunks[1] = LogChunk {
        stream: LogStream::Stderr,
        age_ms: 1500,
        omitted: OmittedOutput { lines: 3, bytes: 40 },
        ..first.chunks[1].clone()
    };
    let other = batch(source(B, 1, 1), &["other\n"]);
    assert_eq!(append(&subject, &[first, other]).await, [LogAnswer::Stored; 2]);
    assert_eq!(append(&subject, &[batch(source(A, 2, 1), &["c"])]).await, [LogAnswer::Stored]);
    let logs = read(&subject, A, &all()).await;
    assert_eq!(logs.len(), 3);
    let expected = StoredLog {
        position: 1,
        source: source(A, 1, 1),
        stream: LogStream::Stdout,
        at: at(100),
        text: "a\n".into(),
        omitted: OmittedOutput::default(),
        is_late: false,
    };
    assert_eq!(logs[0], expected);
    assert_eq!(logs[1].at.as_micros(), at(100).as_micros() - 1_500_000);
    assert_eq!(logs[1].omitted, OmittedOutput { lines: 3, bytes: 40 });
    assert_eq!((logs[1].stream, logs[2].source.item), (LogStream::Stderr, Some(7)));
    assert!(logs[1].text.ends_with("\u{1b}[31mé\n"), "{:?}", logs[1].text);
    let other = texts(&subject, B, &all()).await;
    assert_eq!(shown(&other), [(1, "other\n")]);
}

pub async fn a_repeated_delivery_of_chunks_changes_nothing(subject: Subject) {
    begun(&subject).await;
    let sent = batch(source(A, 1, 1), &["a", "b"]);
    for _ in 0..3 {
        assert_eq!(append(&subject, std::slice::from_ref(&sent)).await, [LogAnswer::Stored]);
    }
    let more = batch(source(A, 1, 1), &["a", "b", "c"]);
    assert_eq!(append(&subject, &[more.clone(), more]).await, [LogAnswer::Stored; 2]);
    let later = LogBatch { source: source(A, 1, 1), chunks: vec![chunk(9, "j"), chunk(9, "j")] };
    assert_eq!(append(&subject, &[later]).await, [LogAnswer::Stored]);
    let found = texts(&subject, A, &all()).await;
    assert_eq!(shown(&found), [(1, "a"), (2, "b"), (3, "c"), (4, "j")]);
}

pub async fn logs_of_a_superseded_or_ended_attempt_are_kept_and_marked(subject: Subject) {
    begun(&subject).await;
    assert_eq!(append(&subject, &[batch(source(A, 1, 1), &["in time"])]).await.len(), 1);
    subject.at(1000);
    let queue = vec![lease(1, 2, 30), remove(2)];
    subject.append(Append { queue, ..after(A, 2) }).await.expect("the store appends");
    let late = LogBatch { source: source(A, 1, 1), chunks: vec![chunk(1, "late")] };
    let second = batch(source(A, 1, 2), &["second"]);
    let ended = batch(source(A, 2, 1), &["ended"]);
    assert_eq!(append(&subject, &[late, second, ended]).await, [LogAnswer::Stored; 3]);
    let logs = read(&subject, A, &all()).await;
    let marked: Vec<_> = logs.iter().map(|log| (&*log.text, log.is_late)).collect();
    assert_eq!(marked, [("in time", false), ("late", true), ("second", false), ("ended", true)]);
}

pub async fn logs_have_limits_by_command_and_by_execution(subject: Subject) {
    begun(&subject).await;
    let limits = LogLimits { command_bytes_max: 4, execution_bytes_max: 100 };
    let sent = batch(source(A, 1, 1), &["abc", "d", "e"]);
    let answers = append_within(&subject, std::slice::from_ref(&sent), limits).await;
    assert_eq!(answers, [LogAnswer::Full { kept: 2 }]);
    assert_eq!(append_within(&subject, &[sent], limits).await, [LogAnswer::Full { kept: 2 }]);
    let end = LogChunk { is_end: true, ..chunk(7, "the end") };
    let end = LogBatch { source: source(A, 1, 1), chunks: vec![end] };
    assert_eq!(append_within(&subject, &[end.clone(), end], limits).await, [LogAnswer::Stored; 2]);
    let long = LogChunk { is_end: true, ..chunk(8, &"x".repeat(LOG_TAIL_MAX)) };
    let long = LogBatch { source: source(A, 1, 1), chunks: vec![long] };
    assert_eq!(append_within(&subject, &[long], limits).await, [LogAnswer::Full { kept: 0 }]);
    let limits = LogLimits { command_bytes_max: 100, execution_bytes_max: 12 };
    let other = batch(source(A, 2, 1), &["f", "g"]);
    assert_eq!(append_within(&subject, &[other], limits).await, [LogAnswer::Full { kept: 1 }]);
    let found = texts(&subject, A, &all()).await;
    assert_eq!(shown(&found), [(1, "abc"), (2, "d"), (3, "the end"), (4, "f")]);
    let unknown = batch(source(ExecutionId(99), 1, 1), &["x"]);
    let known = batch(source(B, 1, 1), &["y"]);
    let answers = append(&subject, &[unknown.clone(), known]).await;
    assert_eq!(answers, [LogAnswer::Unknown, LogAnswer::Stored]);
    assert_eq!(append(&subject, &[unknown]).await, [LogAnswer::Unknown]);
    assert_eq!(read(&subject, ExecutionId(99), &all()).await, []);
}

pub async fn logs_are_read_by_page_and_by_filter(subject: Subject) {
    begun(&subject).await;
    for (second, command) in [(10, 1), (20, 2), (30, 1), (40, 2)] {
        subject.at(second);
        let mut sent = batch(source(A, command, 1), &[]);
        let mut printed = chunk(second, &format!("{second}"));
        if second == 30 {
            printed.stream = LogStream::Stderr;
        }
        sent.chunks = vec![printed];
        assert_eq!(append(&subject, &[sent]).await, [LogAnswer::Stored]);
    }
    let positions = async |page: LogRead| {
        read(&subject, A, &page).await.iter().map(|log| log.position).collect::<Vec<_>>()
    };
    assert_eq!(positions(LogRead { limit: 2, ..all() }).await, [1, 2]);
    assert_eq!(positions(LogRead { after: 2, ..all() }).await, [3, 4]);
    assert_eq!(positions(LogRead { after: 4, ..all() }).await, [0; 0]);
    let back = LogRead { order: LogOrder::NewestFirst, ..all() };
    assert_eq!(positions(LogRead { limit: 2, ..back.clone() }).await, [4, 3]);
    assert_eq!(positions(LogRead { before: Some(3), ..back.clone() }).await, [2, 1]);
    assert_eq!(positions(LogRead { until: Some(at(20)), ..back }).await, [2, 1]);
    let step = Some(StepName::new("step 2"));
    assert_eq!(positions(LogRead { step, ..all() }).await, [2, 4]);
    assert_eq!(positions(LogRead { command: Some(CommandId(1)), ..all() }).await, [1, 3]);
    assert_eq!(positions(LogRead { stream: Some(LogStream::Stderr), ..all() }).await, [3]);
    assert_eq!(positions(LogRead { number: Some(2), ..all() }).await, [0; 0]);
    assert_eq!(LOG_READ_MAX, 1000, "a page is bounded");
    let commands = [CommandId(1), CommandId(5)];
    let sources = subject.records.log_sources(A, &commands).await;
    let (execution, command) = (A, CommandId(1));
    assert_eq!(sources.expect("found"), [Held { execution, command, attempt: Attempt(1) }]);
}

pub async fn logs_are_forgotten_by_age(subject: Subject) {
    begun(&subject).await;
    for (second, execution) in [(10, A), (20, B)] {
        subject.at(second);
        append(&subject, &[batch(source(execution, 1, 1), &["a"])]).await;
    }
    let forget = async |seconds, limit| {
        subject.records.forget_logs(at(seconds), limit).await.expect("the store forgets")
    };
    assert_eq!(forget(10, 10).await, 0);
    assert_eq!(forget(15, 10).await, 1);
    assert_eq!(read(&subject, A, &all()).await, []);
    assert_eq!(read(&subject, B, &all()).await.len(), 1);
    assert_eq!(append(&subject, &[batch(source(A, 1, 1), &["b"])]).await, [LogAnswer::Stored]);
    let found = texts(&subject, A, &all()).await;
    assert_eq!(shown(&found), [(1, "b")]);
}

pub async fn positions_of_concurrent_writers_become_visible_in_order(subject: Subject) {
    begun(&subject).await;
    let mut writers = tokio::task::JoinSet::new();
    for command in [1, 2] {
        let subject = subject.clone();
        writers.spawn(async move {
            for index in 0..20 {
                let chunks = vec![chunk(index, "x")];
                append(&subject, &[LogBatch { source: source(A, command, 1), chunks }]).await;
            }
        });
    }
    let mut seen = 0;
    while seen < 40 {
        for log in read(&subject, A, &LogRead { after: seen, ..all() }).await {
            assert_eq!(log.position, seen + 1, "no position appears behind a later one");
            seen = log.position;
        }
        tokio::task::yield_now().await;
    }
    while writers.join_next().await.transpose().expect("a writer ends").is_some() {}
}
