//! The keys of notifications: `on` of a playbook, and documents of `kind: Notification`.

use super::{KeyTable, KeyType, LanguageKey, now};

const fn table(name: &'static str, title: &'static str, words: &'static [LanguageKey]) -> KeyTable {
    KeyTable { name, title, required: &[], open: false, words }
}

const TARGETS: KeyType = KeyType::Special("notification-targets");

pub(crate) const ON: &KeyTable = &table(
    "on",
    "`on`",
    &[
        now("failed", TARGETS, "The execution has failed."),
        now("completed", TARGETS, "The execution has completed."),
        now("cancelled", TARGETS, "The execution was cancelled."),
        now("late", TARGETS, "The execution has not ended by the time of `expect`."),
        now("waiting", TARGETS, "The execution has begun to wait for a signal or an approval."),
    ],
);

/// One target: a map with one of these keys.
pub(crate) const TARGET: &KeyTable = &table(
    "notification-target",
    "a target",
    &[
        now("playbook", KeyType::Text, "The path of a playbook that is started."),
        now("workload", KeyType::FreeMap, "What the playbook is started with."),
        now("http", KeyType::Table("notification-http"), "A URL that is called."),
        now("mail", KeyType::Table("notification-mail"), "A mail that is sent."),
        now("slack", KeyType::Table("notification-slack"), "A webhook that takes a text."),
    ],
);

pub(crate) const HTTP: &KeyTable = &KeyTable {
    required: &["url"],
    ..table(
        "notification-http",
        "`http`",
        &[
            now("url", KeyType::Text, "The URL."),
            now("method", KeyType::OneOf(METHODS), "The method; POST if left out."),
            now("headers", KeyType::FreeMap, "Headers of the call."),
            now("body", KeyType::Any, "The body; the facts about the execution if left out."),
            now("credential", KeyType::Text, "The credential that authenticates the call."),
        ],
    )
};

pub(crate) const METHODS: &[&str] = &["GET", "POST", "PUT", "PATCH"];

pub(crate) const MAIL: &KeyTable = &KeyTable {
    required: &["to", "credential"],
    ..table(
        "notification-mail",
        "`mail`",
        &[
            now("to", KeyType::Any, "The address, or a list of addresses."),
            now("subject", KeyType::Text, "The subject."),
            now("body", KeyType::Text, "The text."),
            now("credential", KeyType::Text, "The credential with the mail server and sender."),
        ],
    )
};

pub(crate) const SLACK: &KeyTable = &table(
    "notification-slack",
    "`slack`",
    &[
        now("credential", KeyType::Text, "The credential that has the address of the webhook."),
        now("url", KeyType::Text, "The address, if it is no secret."),
        now("text", KeyType::Text, "The text."),
    ],
);

pub(crate) const ROOT: &KeyTable = &table(
    "notification",
    "a notification",
    &[
        now("apiVersion", KeyType::OneOf(&["noetl.io/v1", "noetl.io/v2"]), "The version."),
        now("kind", KeyType::OneOf(&["Notification"]), "What the document is."),
        now("metadata", KeyType::FreeMap, "How it is called: `name`, `path`, `description`."),
        now("spec", KeyType::Any, "Which executions it is about, and what is sent."),
    ],
);

pub(crate) const SPEC: &KeyTable = &table(
    "notification_spec",
    "`spec`",
    &[
        now("match", KeyType::FreeMap, "The executions; all if left out."),
        now("on", KeyType::Table("on"), "The targets of each reason."),
    ],
);

pub(crate) const MATCH: &KeyTable = &table(
    "notification_match",
    "`match`",
    &[
        now("path", KeyType::Any, "A path, or a list of paths; `*` stands for any characters."),
        now(
            "labels",
            KeyType::FreeMap,
            "Labels that an execution must have; `*` in a value stands for any characters.",
        ),
    ],
);
