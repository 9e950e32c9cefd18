//! Automation: test, tidy, bench.
fn main() {}
