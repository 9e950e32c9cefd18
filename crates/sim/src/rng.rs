//! A seeded random generator, so that a seed determines a whole world.

use std::ops::Range;
use std::time::Duration;

/// The SplitMix64 generator: a counter and three multiplications.
#[derive(Debug)]
pub(crate) struct Rng {
    state: u64,
}

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Returns an independent generator, so that the draws of one part of the world do not depend
    /// on those of another.
    pub(crate) fn fork(&mut self) -> Self {
        Self { state: self.next() }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn between(&mut self, range: Range<u64>) -> u64 {
        assert!(!range.is_empty(), "there is something to draw from");
        range.start + self.next() % (range.end - range.start)
    }

    pub(crate) fn index(&mut self, len: usize) -> usize {
        let len = u64::try_from(len).expect("a length in memory fits");
        usize::try_from(self.between(0..len)).expect("below a length in memory")
    }

    pub(crate) fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.index(choices.len())]
    }

    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.between(0..100) < percent
    }

    pub(crate) fn millis(&mut self, range: Range<u64>) -> Duration {
        Duration::from_millis(self.between(range))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_draws_the_published_numbers() {
        let mut rng = Rng::new(1_234_567);
        let drawn: Vec<u64> = (0..3).map(|_| rng.next()).collect();
        assert_eq!(
            drawn,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }
}
