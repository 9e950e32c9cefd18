//! Snowflake ids: 41 bits of milliseconds since 2024, 10 bits of machine, 12 bits of sequence.

use std::sync::{Mutex, PoisonError};

use crate::Timestamp;

/// 2024-01-01T00:00:00Z in milliseconds since 1970.
const EPOCH_MS: i64 = 1_704_067_200_000;
const SEQUENCE_BITS: u32 = 12;
const MACHINE_BITS: u32 = 10;
const MACHINE_MASK: u64 = (1 << MACHINE_BITS) - 1;
const MILLIS_MAX: i64 = (1 << 41) - 1;
const SEQUENCE_MAX: i64 = (1 << SEQUENCE_BITS) - 1;

/// Generates ids that are unique per machine and strictly increasing.
///
/// A clock that moves back is ignored until it has caught up with the last millisecond used. If a
/// millisecond runs out of sequence numbers, the next one is used early.
#[derive(Debug)]
pub struct IdGenerator {
    last: Mutex<LastId>,
}

#[derive(Debug, Clone, Copy)]
struct LastId {
    machine: i64,
    millis: i64,
    sequence: i64,
}

impl IdGenerator {
    /// Creates a generator; `machine` is taken modulo 1024.
    pub fn new(machine: u16) -> Self {
        Self { last: Mutex::new(LastId { machine: bits_of(machine), millis: 0, sequence: -1 }) }
    }

    /// Changes the machine number (modulo 1024); ids keep increasing.
    pub fn renumber(&self, machine: u16) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        *last = LastId { machine: bits_of(machine), millis: last.millis + 1, sequence: -1 };
    }

    /// Returns the next id at `now`. A clock before 2024 counts as 2024.
    pub fn next(&self, now: Timestamp) -> i64 {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let millis = (now.as_millis() - EPOCH_MS).max(0);
        *last = if millis > last.millis {
            LastId { millis, sequence: 0, ..*last }
        } else if last.sequence < SEQUENCE_MAX {
            LastId { sequence: last.sequence + 1, ..*last }
        } else {
            LastId { millis: last.millis + 1, sequence: 0, ..*last }
        };
        (last.millis << (MACHINE_BITS + SEQUENCE_BITS))
            | (last.machine << SEQUENCE_BITS)
            | last.sequence
    }
}

fn bits_of(machine: u16) -> i64 {
    i64::from(machine) & MACHINE_MASK.cast_signed()
}

/// Returns the machine number of a host name: the low ten bits of its FNV-1a hash.
pub fn machine_id_of(host: &str) -> u16 {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    let hash = host.bytes().fold(OFFSET, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME));
    u16::try_from(hash & MACHINE_MASK).unwrap_or_default()
}

/// Returns the smallest id that can be generated at an instant.
pub fn first_id_at(instant: Timestamp) -> i64 {
    (instant.as_millis() - EPOCH_MS).clamp(0, MILLIS_MAX) << (MACHINE_BITS + SEQUENCE_BITS)
}

/// Returns the instant at which an id was generated, to the millisecond.
pub fn instant_of_id(id: i64) -> Timestamp {
    Timestamp::from_millis(EPOCH_MS + (id >> (MACHINE_BITS + SEQUENCE_BITS)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn layout_is_the_public_one() {
        let at = Timestamp::from_millis(EPOCH_MS + 90_658_166_407);
        assert_eq!(IdGenerator::new(7).next(at), 380_247_909_993_574_400);
    }

    #[test]
    fn no_id_of_an_instant_is_below_its_first() {
        let at = Timestamp::from_millis(EPOCH_MS + 90_658_166_407);
        assert_eq!(first_id_at(at), IdGenerator::new(0).next(at));
        assert_eq!(first_id_at(Timestamp::from_millis(0)), 0);
        assert!(first_id_at(Timestamp::from_micros(i64::MAX)) > 0);
    }

    #[test]
    fn machine_numbers_match_the_published_vectors() {
        assert_eq!(machine_id_of("noetl-server-local"), 465);
        assert_eq!(machine_id_of("noetl-server-0"), 862);
    }

    #[test]
    fn five_thousand_ids_in_one_millisecond_are_distinct_and_grow() {
        let ids = IdGenerator::new(1);
        let now = Timestamp::from_millis(EPOCH_MS + 1);
        let drawn: Vec<i64> = (0..5000).map(|_| ids.next(now)).collect();
        assert!(drawn.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn ids_of_another_number_are_greater_than_those_before() {
        let ids = IdGenerator::new(900);
        let now = Timestamp::from_millis(EPOCH_MS + 1);
        let before = ids.next(now);
        ids.renumber(3);
        let after = ids.next(now);
        assert!(after > before);
        assert_eq!([before, after].map(|id| (id >> SEQUENCE_BITS) & 1023), [900, 3]);
    }

    proptest! {
        #[test]
        fn ids_grow_whatever_the_clock_does(clock in prop::collection::vec(0i64..20_000, 1..200)) {
            let ids = IdGenerator::new(3);
            let drawn: Vec<i64> =
                clock.iter().map(|ms| ids.next(Timestamp::from_millis(EPOCH_MS + ms))).collect();
            prop_assert!(drawn.windows(2).all(|pair| pair[0] < pair[1]));
        }
    }
}
