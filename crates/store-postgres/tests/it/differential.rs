//! Whatever is done to it, the PostgreSQL store answers as the one in memory does.

use noetl_store::conformance::differential::answers_as_memory_does;

use crate::conformance::fresh;

/// Each answer is a trip to a server.
const ONE_CASE_IN: u32 = 32;

#[test]
fn both_stores_answer_alike() {
    answers_as_memory_does(fresh, ONE_CASE_IN);
}
