//! Differential tests of the PostgreSQL store against the in-memory store.

use noetl_store::conformance::differential::answers_as_memory_does;

use crate::conformance::fresh;

/// One in this many cases is run, because each answer is a round trip to a server.
const ONE_CASE_IN: u32 = 32;

#[test]
fn both_stores_answer_alike() {
    answers_as_memory_does(fresh, ONE_CASE_IN);
}
