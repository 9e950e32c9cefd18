//! Control and workers on simulated time, with a store and a bus that fail, by seed.
