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
        now("playbook", KeyType::Text, "Path of a playbook to start."),
        now("workload", KeyType::FreeMap, "Parameters of the started playbook."),
        now("http", KeyType::Table("notification-http"), "HTTP call."),
        now("mail", KeyType::Table("notification-mail"), "Mail."),
        now("slack", KeyType::Table("notification-slack"), "Slack-compatible webhook."),
    ],
);

pub(crate) const HTTP: &KeyTable = &KeyTable {
    required: &["url"],
    ..table(
        "notification-http",
        "`http`",
        &[
            now("url", KeyType::Text, "URL of the call."),
            now("method", KeyType::OneOf(METHODS), "HTTP method; default: POST."),
            now("headers", KeyType::FreeMap, "Headers of the call."),
            now("body", KeyType::Any, "Body; default: the summary of the execution."),
            now("credential", KeyType::Text, "Credential that authenticates the call."),
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
            now("to", KeyType::Any, "Address, or a list of addresses."),
            now("subject", KeyType::Text, "Subject of the mail."),
            now("body", KeyType::Text, "Text of the mail."),
            now("credential", KeyType::Text, "Credential with the mail server and the sender."),
        ],
    )
};

pub(crate) const SLACK: &KeyTable = &table(
    "notification-slack",
    "`slack`",
    &[
        now("credential", KeyType::Text, "Credential with the address of the webhook."),
        now("url", KeyType::Text, "Address of the webhook, if it is not secret."),
        now("text", KeyType::Text, "Text of the message."),
    ],
);

pub(crate) const ROOT: &KeyTable = &table(
    "notification",
    "a notification",
    &[
        now(
            "apiVersion",
            KeyType::OneOf(&["noetl.io/v1", "noetl.io/v2"]),
            "Version of the language.",
        ),
        now("kind", KeyType::OneOf(&["Notification"]), "Kind of the document."),
        now("metadata", KeyType::FreeMap, "Name, path and description of the notification."),
        now("spec", KeyType::Any, "Matching executions and their notifications."),
    ],
);

pub(crate) const SPEC: &KeyTable = &table(
    "notification_spec",
    "`spec`",
    &[
        now("match", KeyType::FreeMap, "Filter of executions; default: all."),
        now("on", KeyType::Table("on"), "Targets for each reason."),
    ],
);

pub(crate) const MATCH: &KeyTable = &table(
    "notification_match",
    "`match`",
    &[
        now("path", KeyType::Any, "Path, or a list of paths; `*` matches any characters."),
        now(
            "labels",
            KeyType::FreeMap,
            "Labels that an execution must have; `*` in a value matches any characters.",
        ),
    ],
);
