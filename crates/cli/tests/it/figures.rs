//! The time until a server answers, and its memory while idle.

use std::io::{BufRead as _, BufReader};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::sandbox::Sandbox;
use crate::server::Server;

const FIRST_ANSWER_MAX: Duration = Duration::from_secs(1);
/// The limit of idle memory. The code of a debug build is several times as large as that of a release,
/// so of a debug build only the memory without its code counts.
const IDLE_BYTES_MAX: u64 = if cfg!(debug_assertions) { 40 } else { 60 } * 1024 * 1024;
const COUNTED_MEMORY: &str = if cfg!(debug_assertions) { "RssAnon:" } else { "VmRSS:" };
/// The best of several tries counts, since the machine may be busy.
const TRIES: usize = 5;

#[test]
fn a_server_answers_within_a_second_and_idles_in_sixty_megabytes() {
    let (mut soonest, mut least) = (Duration::MAX, u64::MAX);
    for _ in 0..TRIES {
        let sandbox = Sandbox::new();
        let begun = Instant::now();
        let server = Server::new(&sandbox, &[]);
        assert_eq!(server.call("GET", "/api/health", &Value::Null)["status"], "ok");
        soonest = soonest.min(begun.elapsed());
        least = least.min(resident(server.process.0.id()));
        if soonest < FIRST_ANSWER_MAX && least < IDLE_BYTES_MAX {
            break;
        }
    }
    let mebibytes = least / 1024 / 1024;
    let figures = format!("first answer after {soonest:?}, {mebibytes} MiB resident");
    let mut written = std::io::stdout();
    std::io::Write::write_all(&mut written, format!("{figures}\n").as_bytes()).expect("it is open");
    assert!(soonest < FIRST_ANSWER_MAX && least < IDLE_BYTES_MAX, "{figures}");
}

/// Returns the resident memory of a process in bytes.
fn resident(pid: u32) -> u64 {
    let status = std::fs::File::open(format!("/proc/{pid}/status")).expect("it runs");
    let mut lines = BufReader::new(status).lines().map_while(Result::ok);
    let line = lines.find(|line| line.starts_with(COUNTED_MEMORY)).expect("Linux says it");
    let kibibytes: u64 = line.split_whitespace().nth(1).expect("a number").parse().expect("one");
    kibibytes * 1024
}
