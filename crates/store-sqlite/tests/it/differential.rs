//! Differential tests of the embedded store against the in-memory store.

use noetl_store::conformance::differential::answers_as_memory_does;

use crate::conformance::fresh;

/// One in this many cases is run, because each case creates a database.
const ONE_CASE_IN: u32 = 16;

#[test]
fn both_stores_answer_alike() {
    answers_as_memory_does(fresh, ONE_CASE_IN);
}
