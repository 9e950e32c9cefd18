//! The keys of a schedule.

use super::{Shape, Table, Word, now};

const fn table(name: &'static str, title: &'static str, words: &'static [Word]) -> Table {
    Table { name, title, required: &[], open: false, words }
}

pub(crate) const ROOT: &Table = &table(
    "schedule",
    "a schedule",
    &[
        now("apiVersion", Shape::OneOf(&["noetl.io/v1", "noetl.io/v2"]), "The version."),
        now("kind", Shape::OneOf(&["Schedule"]), "What the document is."),
        now("metadata", Shape::FreeMap, "How it is called: `name`, `path`, `description`."),
        now("spec", Shape::Any, "When executions start, and which."),
    ],
);

pub(crate) const SPEC: &Table = &table(
    "schedule_spec",
    "`spec`",
    &[
        now("cron", Shape::Text, "Minute, hour, day, month, day of the week."),
        now("timezone", Shape::Text, "The time zone of `cron`, such as Europe/Berlin."),
        now("every", Shape::Any, "The time between two executions."),
        now("at", Shape::Text, "The one instant at which an execution starts."),
        now("jitter", Shape::Any, "By how much later an execution starts at most."),
        now("overlap", Shape::Text, "allow, skip, queue or cancel."),
        now("catch_up", Shape::Text, "none, last or all."),
        now("dispatch", Shape::FreeMap, "What starts."),
    ],
);

pub(crate) const DISPATCH: &Table = &table(
    "schedule_dispatch",
    "`dispatch`",
    &[
        now("playbook", Shape::Text, "The path of the playbook that starts."),
        now("execution_pool", Shape::Text, "The pool of workers that it runs on."),
        now("payload", Shape::FreeMap, "What it is started with."),
    ],
);
