//! The keys of limits: `executor.spec.concurrency` and `limit` of a step.

use super::{CONFLICTS, KeyTable, KeyType, now};

pub(crate) const CONCURRENCY: &KeyTable = &KeyTable {
    name: "concurrency",
    title: "`concurrency`",
    required: &["limit"],
    open: false,
    words: &[
        now("limit", KeyType::Integer, "Maximum number of executions at a time."),
        now(
            "key",
            KeyType::Any,
            "Value that is counted separately: a template, such as a customer.",
        ),
        now(
            "on_conflict",
            KeyType::OneOf(CONFLICTS),
            "Reaction of a new execution if no slot is free: queue, skip, fail, or cancel the \
             oldest.",
        ),
    ],
};

pub(crate) const LIMIT: &KeyTable = &KeyTable {
    name: "limit",
    title: "`limit`",
    required: &["name"],
    open: false,
    words: &[
        now("name", KeyType::Text, "Name of the limit, shared by playbooks."),
        now("max", KeyType::Integer, "Maximum number of commands at a time."),
        now("rate", KeyType::Integer, "Maximum number of starts of commands per period (`per`)."),
        now("per", KeyType::Duration, "Period of `rate`; default: 1 second."),
        now(
            "burst",
            KeyType::Integer,
            "Maximum burst: commands that may start at once after idle time.",
        ),
    ],
};
