//! The shard of an execution: XXH64 with seed zero of its id's eight bytes, the same function that
//! gateways and other servers use.

use crate::ExecutionId;

const PRIME_1: u64 = 0x9E37_79B1_85EB_CA87;
const PRIME_2: u64 = 0xC2B2_AE3D_27D4_EB4F;
const PRIME_3: u64 = 0x1656_67B1_9E37_79F9;
const PRIME_4: u64 = 0x85EB_CA77_C2B2_AE63;
const PRIME_5: u64 = 0x27D4_EB2F_1656_67C5;

/// Returns the index of the execution's shard among `shards`.
pub fn shard_of(execution: ExecutionId, shards: usize) -> usize {
    let shards = u64::try_from(shards.max(1)).expect("a count of shards fits");
    let index = xxh64(execution.0.cast_unsigned()) % shards;
    usize::try_from(index).expect("an index of a list fits")
}

/// Returns XXH64 of a number's little-endian bytes.
fn xxh64(input: u64) -> u64 {
    let lane = input.wrapping_mul(PRIME_2).rotate_left(31).wrapping_mul(PRIME_1);
    let mixed = (PRIME_5.wrapping_add(8) ^ lane).rotate_left(27);
    let mixed = mixed.wrapping_mul(PRIME_1).wrapping_add(PRIME_4);
    let mixed = (mixed ^ (mixed >> 33)).wrapping_mul(PRIME_2);
    let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(PRIME_3);
    mixed ^ (mixed >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(execution: i64, shards: usize, expected: usize) {
        assert_eq!(shard_of(ExecutionId(execution), shards), expected, "{execution} of {shards}");
    }

    #[test]
    fn shards_match_the_published_vectors() {
        check(1, 16, 5);
        check(42, 16, 3);
        check(0, 16, 11);
        check(-1, 16, 9);
        check(i64::MAX, 16, 12);
        check(320_816_801_799_737_344, 16, 14);
        check(320_816_801_799_737_344, 4, 2);
    }

    #[test]
    fn one_shard_holds_everything() {
        check(42, 1, 0);
        check(42, 0, 0);
    }
}
