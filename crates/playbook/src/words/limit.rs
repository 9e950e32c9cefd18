//! The keys of limits: `executor.spec.concurrency` and `limit` of a step.

use super::{CONFLICTS, KeyTable, KeyType, now};

pub(crate) const CONCURRENCY: &KeyTable = &KeyTable {
    name: "concurrency",
    title: "`concurrency`",
    required: &["limit"],
    open: false,
    words: &[
        now("limit", KeyType::Integer, "How many executions run at a time."),
        now("key", KeyType::Any, "Executions with different values do not count together."),
        now(
            "on_conflict",
            KeyType::OneOf(CONFLICTS),
            "What an execution does if none is free: wait, end, fail, or cancel the oldest.",
        ),
    ],
};

pub(crate) const LIMIT: &KeyTable = &KeyTable {
    name: "limit",
    title: "`limit`",
    required: &["name"],
    open: false,
    words: &[
        now("name", KeyType::Text, "The name that playbooks share the limit by."),
        now("max", KeyType::Integer, "How many commands run at a time."),
        now("rate", KeyType::Integer, "How many commands start per second, or in `per`."),
        now("per", KeyType::Duration, "The period of `rate`; one second by default."),
        now("burst", KeyType::Integer, "How many commands may start at once after a rest."),
    ],
};
