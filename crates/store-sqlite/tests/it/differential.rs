//! Whatever is done to it, the embedded store answers as the one in memory does.

use noetl_store::conformance::differential::answers_as_memory_does;

use crate::conformance::fresh;

/// Each case makes a database.
const ONE_CASE_IN: u32 = 16;

#[test]
fn both_stores_answer_alike() {
    answers_as_memory_does(fresh, ONE_CASE_IN);
}
