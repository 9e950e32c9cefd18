//! The keys of a schedule.

use super::{KeyTable, KeyType, LanguageKey, now};

const fn table(name: &'static str, title: &'static str, words: &'static [LanguageKey]) -> KeyTable {
    KeyTable { name, title, required: &[], open: false, words }
}

pub(crate) const ROOT: &KeyTable = &table(
    "schedule",
    "a schedule",
    &[
        now("apiVersion", KeyType::OneOf(&["noetl.io/v1", "noetl.io/v2"]), "The version."),
        now("kind", KeyType::OneOf(&["Schedule"]), "What the document is."),
        now("metadata", KeyType::FreeMap, "How it is called: `name`, `path`, `description`."),
        now("spec", KeyType::Any, "When executions start, and which."),
    ],
);

pub(crate) const SPEC: &KeyTable = &table(
    "schedule_spec",
    "`spec`",
    &[
        now("cron", KeyType::Text, "Minute, hour, day, month, day of the week."),
        now("timezone", KeyType::Text, "The time zone of `cron`, such as Europe/Berlin."),
        now("every", KeyType::Any, "The time between two executions."),
        now("at", KeyType::Text, "The one instant at which an execution starts."),
        now("jitter", KeyType::Any, "By how much later an execution starts at most."),
        now("overlap", KeyType::Text, "allow, skip, queue or cancel."),
        now("catch_up", KeyType::Text, "none, last or all."),
        now("dispatch", KeyType::FreeMap, "What starts."),
    ],
);

pub(crate) const DISPATCH: &KeyTable = &table(
    "schedule_dispatch",
    "`dispatch`",
    &[
        now("playbook", KeyType::Text, "The path of the playbook that starts."),
        now("execution_pool", KeyType::Text, "The pool of workers that it runs on."),
        now("payload", KeyType::FreeMap, "What it is started with."),
        now("labels", KeyType::FreeMap, "The labels of its executions."),
    ],
);
