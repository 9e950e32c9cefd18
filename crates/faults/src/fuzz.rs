//! Fuzzing without instrumentation: mutations of a corpus for a limited time.

use std::io::Write as _;
use std::time::{Duration, Instant};

use crate::chance::Chance;
use crate::size::is_full_size;

/// The time for a target in the gate, and at full size.
const SHORT: Duration = Duration::from_secs(2);
const FULL: Duration = Duration::from_secs(60);
/// The largest input.
const INPUT_MAX: usize = 16 * 1024;
/// The longest time that an input may take, doubled for a busy machine several times over.
const TAKES_MAX: Duration = Duration::from_secs(10);

/// Bytes that parsers treat in a special way.
const SPECIAL: &[u8] =
    b"\0\x01\t\n\r \"'{}[]():;,.|>&*!%#@`\\/<=+-_~0123456789eE\x7f\x80\xbf\xc3\xe2\xf0\xff";

/// The input under test; printed if the check panics.
struct FuzzInput<'a> {
    bytes: &'a [u8],
    round: u64,
}

impl Drop for FuzzInput<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let text = self.bytes.escape_ascii();
            let _unread = writeln!(std::io::stderr(), "input {}: b\"{text}\"", self.round);
        }
    }
}

/// Checks mutated inputs for two seconds, or a minute at full size. `NOETL_FAULTS_SEED=n` sets the
/// seed. Returns the number of inputs.
///
/// # Panics
///
/// If the check panics, or takes too long, with the input on standard error.
pub fn fuzz(corpus: &[Vec<u8>], mut check: impl FnMut(&[u8])) -> u64 {
    let seed = std::env::var("NOETL_FAULTS_SEED").map_or(1, |seed| seed.parse().expect("a number"));
    let mut chance = Chance::new(seed);
    let mut corpus = corpus.to_vec();
    corpus.push(Vec::new());
    let begun = Instant::now();
    let time = if is_full_size() { FULL } else { SHORT };
    let mut round = 0;
    while begun.elapsed() < time {
        let mut bytes = corpus[chance.index(corpus.len())].clone();
        for _ in 0..=chance.below(6) {
            mutate(&mut bytes, &corpus, &mut chance);
            bytes.truncate(INPUT_MAX);
        }
        let input = FuzzInput { bytes: &bytes, round };
        let before = Instant::now();
        check(input.bytes);
        let took = before.elapsed();
        assert!(took < TAKES_MAX, "an input took {took:?}");
        drop(input);
        round += 1;
    }
    round
}

/// Changes an input in one place.
fn mutate(bytes: &mut Vec<u8>, corpus: &[Vec<u8>], chance: &mut Chance) {
    let start = chance.index(bytes.len() + 1);
    let end = (start + chance.index(24)).min(bytes.len());
    match chance.below(7) {
        0 if start < bytes.len() => bytes[start] ^= 1 << chance.below(8),
        1 if start < bytes.len() => bytes[start] = SPECIAL[chance.index(SPECIAL.len())],
        2 => bytes.insert(start, SPECIAL[chance.index(SPECIAL.len())]),
        3 => drop(bytes.drain(start..end)),
        4 => {
            let piece = bytes[start..end].to_vec();
            let times = 1 + chance.index(40);
            bytes.splice(start..start, piece.repeat(times));
        }
        5 => {
            let other = &corpus[chance.index(corpus.len())];
            let from = chance.index(other.len() + 1);
            let to = (from + chance.index(60)).min(other.len());
            bytes.splice(start..end, other[from..to].iter().copied());
        }
        _ => {
            let number =
                ["-1", "0", "9223372036854775808", "1e999", "-0.0", "18446744073709551616"];
            bytes.splice(start..end, number[chance.index(number.len())].bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_behind_two_bytes_is_found() {
        let found = std::panic::catch_unwind(|| {
            fuzz(&[b"{\"ab\": 1}".to_vec()], |bytes| {
                assert!(!bytes.windows(2).any(|pair| pair == b"{{"), "found");
            })
        });
        assert!(found.is_err(), "not found");
    }
}
