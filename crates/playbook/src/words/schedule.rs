//! The keys of a schedule.

use super::{KeyTable, KeyType, LanguageKey, now};

const fn table(name: &'static str, title: &'static str, words: &'static [LanguageKey]) -> KeyTable {
    KeyTable { name, title, required: &[], open: false, words }
}

pub(crate) const ROOT: &KeyTable = &table(
    "schedule",
    "a schedule",
    &[
        now(
            "apiVersion",
            KeyType::OneOf(&["noetl.io/v1", "noetl.io/v2"]),
            "Version of the language.",
        ),
        now("kind", KeyType::OneOf(&["Schedule"]), "Kind of the document."),
        now("metadata", KeyType::FreeMap, "Name, path and description of the schedule."),
        now("spec", KeyType::Any, "Times and playbook of the schedule."),
    ],
);

pub(crate) const SPEC: &KeyTable = &table(
    "schedule_spec",
    "`spec`",
    &[
        now("cron", KeyType::Text, "Cron expression: minute, hour, day, month, day of the week."),
        now("timezone", KeyType::Text, "Time zone of `cron`, such as Europe/Berlin."),
        now("every", KeyType::Any, "Time between two executions."),
        now("at", KeyType::Text, "Time of the only execution."),
        now("jitter", KeyType::Any, "Maximum random delay of each start."),
        now("overlap", KeyType::Text, "allow, skip, queue or cancel."),
        now("catch_up", KeyType::Text, "none, last or all."),
        now("dispatch", KeyType::FreeMap, "Playbook to start, and its parameters."),
    ],
);

pub(crate) const DISPATCH: &KeyTable = &table(
    "schedule_dispatch",
    "`dispatch`",
    &[
        now("playbook", KeyType::Text, "Path of the playbook."),
        now("execution_pool", KeyType::Text, "Worker pool of the executions."),
        now("payload", KeyType::FreeMap, "Parameters of the executions."),
        now("labels", KeyType::FreeMap, "Labels of the executions."),
    ],
);
