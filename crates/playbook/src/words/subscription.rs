//! The keys of a subscription.

use super::{KeyTable, KeyType, LanguageKey, now};

const fn table(name: &'static str, title: &'static str, words: &'static [LanguageKey]) -> KeyTable {
    KeyTable { name, title, required: &[], open: false, words }
}

pub(crate) const ROOT: &KeyTable = &table(
    "subscription",
    "a subscription",
    &[
        now(
            "apiVersion",
            KeyType::OneOf(&["noetl.io/v1", "noetl.io/v2"]),
            "Version of the language.",
        ),
        now("kind", KeyType::OneOf(&["Subscription"]), "Kind of the document."),
        now("metadata", KeyType::FreeMap, "Name, path and description of the subscription."),
        now("spec", KeyType::Any, "Source of the messages, and the playbook or signal for each."),
    ],
);

/// Open, because each source has settings of its own.
pub(crate) const SPEC: &KeyTable = &KeyTable {
    open: true,
    ..table(
        "subscription_spec",
        "`spec`",
        &[
            now("source", KeyType::Text, "nats, pubsub, kafka or webhook."),
            now("mode", KeyType::Text, "pull or push."),
            now("activation", KeyType::Text, "Activation of the pull: continuous or scheduled."),
            now("runtime", KeyType::FreeMap, "Settings of the pull."),
            now("auth", KeyType::Text, "Credential for the source."),
            now("url", KeyType::Text, "Address of the source."),
            now("stream", KeyType::Text, "NATS stream."),
            now("consumer", KeyType::Text, "Durable NATS consumer; created if it does not exist."),
            now(
                "subject",
                KeyType::Text,
                "Subjects to consume; default: all subjects of the stream.",
            ),
            now("ingress", KeyType::FreeMap, "Endpoint for pushed messages."),
            now("dispatch", KeyType::FreeMap, "Playbook or signal for each message."),
            now("headers", KeyType::FreeMap, "Use of message headers."),
            now("dedup", KeyType::FreeMap, "Deduplication of redelivered messages."),
            now("limits", KeyType::FreeMap, "Limits of dispatch."),
            now("spool", KeyType::FreeMap, "Buffer for messages that cannot be dispatched."),
        ],
    )
};

pub(crate) const RUNTIME: &KeyTable = &table(
    "subscription_runtime",
    "`runtime`",
    &[
        now(
            "target",
            KeyType::Text,
            "Deployment that fetches the messages (a note for operators).",
        ),
        now("pool", KeyType::Text, "Worker pool that fetches the messages (a note for operators)."),
        now("batch", KeyType::Integer, "Maximum number of messages per fetch."),
        now("timeout_ms", KeyType::Integer, "Maximum wait for messages, in milliseconds."),
    ],
);

pub(crate) const INGRESS: &KeyTable = &table(
    "subscription_ingress",
    "`ingress`",
    &[
        now("gateway_path", KeyType::Text, "Absolute path of the endpoint."),
        now("verify", KeyType::FreeMap, "Authentication of senders."),
    ],
);

pub(crate) const VERIFY: &KeyTable = &table(
    "subscription_verify",
    "`verify`",
    &[
        now("type", KeyType::Text, "hmac_sha256, bearer or pubsub_oidc."),
        now("header", KeyType::Text, "Header with the signature or the token."),
        now("secret", KeyType::Text, "Name of the credential with the secret."),
        now("style", KeyType::Text, "Signed content: body, or stripe for `t=…,v1=…`."),
        now("timestamp_header", KeyType::Text, "Header with the signed time."),
        now("tolerance_secs", KeyType::Integer, "Maximum age of a signed time, in seconds."),
        now("audience", KeyType::Text, "Expected audience of a Pub/Sub token."),
        now("service_account", KeyType::Text, "Expected service account of a Pub/Sub token."),
    ],
);

pub(crate) const DISPATCH: &KeyTable = &table(
    "subscription_dispatch",
    "`dispatch`",
    &[
        now("playbook", KeyType::Text, "Path of the playbook that a message starts."),
        now("signal", KeyType::Text, "Signal that a message sends, instead of `playbook`."),
        now("key", KeyType::Text, "Correlation key of the signal, a template."),
        now("payload_from", KeyType::Text, "message.json, message.body or message.attributes."),
        now("execution_pool", KeyType::Text, "Worker pool of the execution."),
        now("labels", KeyType::FreeMap, "Labels of the execution; values may be templates."),
        now("batch_dispatch", KeyType::Truth, "If true, messages are dispatched in batches."),
        now("batch_max", KeyType::Integer, "Maximum number of messages per batch."),
        now("max_failures", KeyType::Integer, "Number of failures after which a message is dead."),
        now("ordering", KeyType::Text, "Ordering of messages: none, per_key or global."),
        now("ordering_key", KeyType::Text, "Ordering key: subject, headers.NAME or data.FIELD."),
    ],
);

pub(crate) const HEADERS: &KeyTable = &table(
    "subscription_headers",
    "`headers`",
    &[
        now("normalize", KeyType::Truth, "Compare header names in lower case (always on)."),
        now("directives", KeyType::Any, "Headers that change the dispatch."),
        now("trace", KeyType::FreeMap, "Continuation of the sender's trace."),
        now("passthrough", KeyType::Text, "Destination of other headers: data."),
    ],
);

pub(crate) const DIRECTIVE: &KeyTable = &table(
    "subscription_directive",
    "a directive",
    &[
        now("header", KeyType::Text, "Name of the header."),
        now("controls", KeyType::Text, "Setting that the header changes."),
        now("allowed", KeyType::Any, "Allowed values."),
        now("map", KeyType::FreeMap, "Worker pool for each priority."),
    ],
);

pub(crate) const TRACE: &KeyTable = &table(
    "subscription_trace",
    "`trace`",
    &[
        now("propagate", KeyType::Text, "none or w3c."),
        now("baggage_allowlist", KeyType::Any, "Baggage entries that are passed on."),
    ],
);

pub(crate) const DEDUP: &KeyTable = &table(
    "subscription_dedup",
    "`dedup`",
    &[
        now("enabled", KeyType::Truth, "If true, redelivered messages start nothing."),
        now("window_secs", KeyType::Integer, "Time for which a message is remembered, in seconds."),
    ],
);

pub(crate) const LIMITS: &KeyTable = &table(
    "subscription_limits",
    "`limits`",
    &[
        now("max_in_flight", KeyType::Integer, "Maximum number of messages in flight."),
        now("max_dispatch_per_sec", KeyType::Integer, "Maximum number of starts per second."),
    ],
);

pub(crate) const SPOOL: &KeyTable = &table(
    "subscription_spool",
    "`spool`",
    &[
        now("mode", KeyType::Text, "off, buffer_and_ack or hybrid."),
        now("backend", KeyType::Text, "nats_object, local_disk, gcs or s3."),
        now("bucket", KeyType::Text, "Bucket of the object store."),
        now("path", KeyType::Text, "Directory of the buffer."),
        now("credential", KeyType::Text, "Credential of the backend."),
        now("ordering", KeyType::Text, "global, per_key or none."),
        now("ordering_key", KeyType::Text, "Ordering key of the buffer."),
        now("circuit", KeyType::FreeMap, "Conditions that start and end buffering."),
        now("retention", KeyType::FreeMap, "Maximum size of the buffer."),
        now("drain", KeyType::FreeMap, "Settings for emptying the buffer."),
        now(
            "hybrid_escalate_after_ms",
            KeyType::Integer,
            "Time after which a hybrid acknowledges buffered messages.",
        ),
    ],
);
