//! Tests of the buffer between a running tool and its worker.

use super::*;
use crate::process::capture::Capture;
use crate::protect::redactor::{REDACTED, Redactor};

fn buffer() -> (Arc<LiveBuffer>, LiveLog) {
    let buffer = Arc::new(LiveBuffer::new(Arc::default()));
    (buffer.clone(), LiveLog::new(buffer))
}

fn texts(pieces: &[LivePiece]) -> Vec<(&'static str, &str)> {
    pieces.iter().map(|piece| (piece.stream.as_str(), piece.text.as_str())).collect()
}

fn all_text(pieces: &[LivePiece]) -> String {
    pieces.iter().map(|piece| piece.text.as_str()).collect()
}

#[tokio::test(start_paused = true)]
async fn whole_lines_are_taken_and_the_beginning_of_a_line_after_a_while() {
    let (buffer, log) = buffer();
    log.write(LogStream::Stdout, b"one\ntw");
    log.write(LogStream::Stderr, b"oh\n");
    let taken = buffer.take(LiveTake::Running, usize::MAX);
    assert_eq!(texts(&taken), [("stdout", "one\n"), ("stderr", "oh\n")]);
    assert!(buffer.take(LiveTake::Running, usize::MAX).is_empty());
    log.write(LogStream::Stdout, b"o\nthree");
    assert_eq!(texts(&buffer.take(LiveTake::Running, usize::MAX)), [("stdout", "two\n")]);
    tokio::time::advance(PARTIAL_AFTER).await;
    assert_eq!(texts(&buffer.take(LiveTake::Running, usize::MAX)), [("stdout", "three")]);
    log.write(LogStream::Stdout, b"!");
    assert_eq!(texts(&buffer.take(LiveTake::Ended, usize::MAX)), [("stdout", "!")]);
    assert_eq!(buffer.waiting(), 0);
}

#[tokio::test]
async fn the_oldest_output_beyond_the_bound_is_dropped_in_lines_and_counted() {
    let (buffer, log) = buffer();
    let line = format!("{}\n", "x".repeat(99));
    let lines = 30_000;
    for _ in 0..lines {
        log.write(LogStream::Stdout, line.as_bytes());
    }
    assert!(buffer.waiting() <= LIVE_BYTES_MAX);
    let taken = buffer.take(LiveTake::Ended, usize::MAX);
    let text = all_text(&taken);
    assert!(text.starts_with(&line), "dropped in whole lines");
    assert!(text.len() > LIVE_BYTES_MAX - 200, "no more is dropped than needed");
    let omitted = taken[0].omitted;
    assert_eq!(omitted.lines + text.lines().count() as u64, lines);
    assert_eq!(omitted.bytes + text.len() as u64, lines * 100);
    assert!(taken[1..].iter().all(|piece| piece.omitted.is_none()));
}

#[tokio::test]
async fn an_output_without_line_breaks_is_bounded_too() {
    let (buffer, log) = buffer();
    for _ in 0..3000 {
        log.write(LogStream::Stdout, &[b'x'; 1000]);
    }
    assert!(buffer.waiting() <= LIVE_BYTES_MAX);
    let taken = buffer.take(LiveTake::Running, usize::MAX);
    assert!(taken.iter().all(|piece| piece.text.len() <= LOG_CHUNK_MAX));
    let rest = buffer.take(LiveTake::Ended, usize::MAX);
    let bytes = all_text(&taken).len() + all_text(&rest).len();
    assert_eq!(bytes as u64 + taken[0].omitted.bytes, 3_000_000);
    assert_eq!(taken[0].omitted.lines, 0);
}

#[tokio::test]
async fn after_a_limit_only_the_end_is_kept() {
    let (buffer, log) = buffer();
    buffer.keep_end();
    buffer.count_omitted(OmittedOutput { lines: 2, bytes: 20 });
    for number in 0..20_000 {
        log.write(LogStream::Stdout, format!("{number:09}\n").as_bytes());
    }
    let taken = buffer.take(LiveTake::Ended, usize::MAX);
    let text = all_text(&taken);
    assert!(text.len() <= LOG_TAIL_MAX && text.ends_with("000019999\n"), "{}", text.len());
    assert_eq!(taken[0].omitted.bytes, 20 + 200_000 - text.len() as u64);
    buffer.count_omitted(OmittedOutput { lines: 1, bytes: 1 });
    let told = buffer.take(LiveTake::Ended, usize::MAX);
    assert_eq!(texts(&told), [("stdout", "")]);
    assert_eq!(told[0].omitted, OmittedOutput { lines: 1, bytes: 1 });
}

/// Writes bytes one at a time and takes after each.
async fn one_by_one(bytes: &[u8]) -> String {
    let (buffer, log) = buffer();
    let mut text = String::new();
    for byte in bytes {
        log.write(LogStream::Stdout, &[*byte]);
        tokio::time::advance(PARTIAL_AFTER).await;
        text.push_str(&all_text(&buffer.take(LiveTake::Running, usize::MAX)));
    }
    text.push_str(&all_text(&buffer.take(LiveTake::Ended, usize::MAX)));
    text
}

#[tokio::test(start_paused = true)]
async fn characters_are_never_split_and_other_bytes_are_replaced() {
    for text in ["aé€😀z", "\u{1b}[31mrot\0\r\n", "ß"] {
        assert_eq!(one_by_one(text.as_bytes()).await, text);
    }
    for (bytes, text) in [
        (&b"a\xffb"[..], "a\u{fffd}b"),
        (b"\xc3", "\u{fffd}"),
        (b"\xe2\x82", "\u{fffd}"),
        (b"\x80\x80\x80", "\u{fffd}\u{fffd}\u{fffd}"),
        (b"\xf0\x9f\x98z", "\u{fffd}z"),
    ] {
        assert_eq!(one_by_one(bytes).await, text, "{bytes:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_secret_split_at_any_byte_never_gets_out() {
    let secret = "hunter2-and-more";
    let credential = serde_json::json!({ "token": secret });
    let redactor = Redactor::of_credentials([credential.as_object().unwrap()]);
    let text = format!("a {secret}\nb {secret}{secret} hunter2-and-less\n");
    for split in 0..=text.len() {
        for size in [1, 3, text.len()] {
            let (buffer, log) = buffer();
            let mut capture = Capture::new(1024, &redactor);
            capture.send_to(log.stream(LogStream::Stdout));
            let mut sent = String::new();
            let (first, second) = text.as_bytes().split_at(split);
            for piece in first.chunks(size).chain(second.chunks(size)) {
                capture.push(piece);
                tokio::time::advance(PARTIAL_AFTER).await;
                sent.push_str(&all_text(&buffer.take(LiveTake::Running, usize::MAX)));
                assert!(!sent.contains("hunter2-and-m"), "{split} {size}: {sent}");
            }
            let kept = capture.take_text();
            sent.push_str(&all_text(&buffer.take(LiveTake::Ended, usize::MAX)));
            assert_eq!(sent, text.replace(secret, REDACTED), "{split} {size}");
            assert_eq!(sent, kept, "what is sent is what is reported");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_waits_for_space_only_for_a_short_time_in_total() {
    let (buffer, log) = buffer();
    let begun = Instant::now();
    for _ in 0..100 {
        log.write(LogStream::Stdout, &[b'x'; LOG_CHUNK_MAX]);
        log.has_space().await;
    }
    let waited = begun.elapsed();
    assert!(WAIT_MAX <= waited && waited < WAIT_MAX * 2, "{waited:?}");
    buffer.take(LiveTake::Ended, usize::MAX);
    log.has_space().await;
    assert_eq!(begun.elapsed(), waited);
}
