//! The `noetl` binary.
fn main() {}
