//! The keys of `cache` of a step.

use super::{KeyTable, KeyType, now};

pub(crate) const CACHE: &KeyTable = &KeyTable {
    name: "cache",
    title: "`cache`",
    required: &["key", "ttl"],
    open: false,
    words: &[
        now("key", KeyType::Any, "Commands of the step with equal values share an output."),
        now("ttl", KeyType::Duration, "Maximum age of an output that is reused."),
    ],
};
