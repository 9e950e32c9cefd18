//! The keys of a subscription.

use super::{KeyTable, KeyType, LanguageKey, now};

const fn table(name: &'static str, title: &'static str, words: &'static [LanguageKey]) -> KeyTable {
    KeyTable { name, title, required: &[], open: false, words }
}

pub(crate) const ROOT: &KeyTable = &table(
    "subscription",
    "a subscription",
    &[
        now("apiVersion", KeyType::OneOf(&["noetl.io/v1", "noetl.io/v2"]), "The version."),
        now("kind", KeyType::OneOf(&["Subscription"]), "What the document is."),
        now("metadata", KeyType::FreeMap, "How it is called: `name`, `path`, `description`."),
        now("spec", KeyType::Any, "Where messages come from and what they start."),
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
            now("activation", KeyType::Text, "When messages are pulled: continuous or scheduled."),
            now("runtime", KeyType::FreeMap, "How messages are pulled."),
            now("auth", KeyType::Text, "The credential that the source is reached with."),
            now("url", KeyType::Text, "The address of the source."),
            now("stream", KeyType::Text, "The stream of NATS."),
            now("consumer", KeyType::Text, "The durable consumer of NATS; made if there is none."),
            now("subject", KeyType::Text, "The subjects of the stream, where not all are meant."),
            now("ingress", KeyType::FreeMap, "Where messages are pushed to."),
            now("dispatch", KeyType::FreeMap, "What a message starts."),
            now("headers", KeyType::FreeMap, "What the headers of a message decide."),
            now("dedup", KeyType::FreeMap, "Whether messages that come again are known."),
            now("limits", KeyType::FreeMap, "How much is dispatched at most."),
            now("spool", KeyType::FreeMap, "Where messages wait while nothing can be dispatched."),
        ],
    )
};

pub(crate) const RUNTIME: &KeyTable = &table(
    "subscription_runtime",
    "`runtime`",
    &[
        now("target", KeyType::Text, "Where messages are pulled, for those who deploy."),
        now("pool", KeyType::Text, "The pool of workers that pulls, for those who deploy."),
        now("batch", KeyType::Integer, "How many messages are fetched at once."),
        now("timeout_ms", KeyType::Integer, "How long to wait for messages, in milliseconds."),
    ],
);

pub(crate) const INGRESS: &KeyTable = &table(
    "subscription_ingress",
    "`ingress`",
    &[
        now("gateway_path", KeyType::Text, "The absolute path that messages are posted to."),
        now("verify", KeyType::FreeMap, "How a sender is known."),
    ],
);

pub(crate) const VERIFY: &KeyTable = &table(
    "subscription_verify",
    "`verify`",
    &[
        now("type", KeyType::Text, "hmac_sha256, bearer or pubsub_oidc."),
        now("header", KeyType::Text, "The header of the signature or of the token."),
        now("secret", KeyType::Text, "The name of the credential that holds the secret."),
        now("style", KeyType::Text, "What is signed: body, or stripe for `t=…,v1=…`."),
        now(
            "timestamp_header",
            KeyType::Text,
            "The header of a time that is signed with the body.",
        ),
        now("tolerance_secs", KeyType::Integer, "How old a signed time may be."),
        now("audience", KeyType::Text, "Whom a token of Pub/Sub is for."),
        now("service_account", KeyType::Text, "Whose token of Pub/Sub it is."),
    ],
);

pub(crate) const DISPATCH: &KeyTable = &table(
    "subscription_dispatch",
    "`dispatch`",
    &[
        now("playbook", KeyType::Text, "The path of the playbook that a message starts."),
        now("signal", KeyType::Text, "Instead of `playbook`: the signal that a message becomes."),
        now("key", KeyType::Text, "The correlation key of that signal, a template."),
        now("payload_from", KeyType::Text, "message.json, message.body or message.attributes."),
        now("execution_pool", KeyType::Text, "The pool of workers that the execution runs on."),
        now("labels", KeyType::FreeMap, "Labels of the execution; values may be templates."),
        now("batch_dispatch", KeyType::Truth, "Whether messages are dispatched many at once."),
        now("batch_max", KeyType::Integer, "How many at once."),
        now("max_failures", KeyType::Integer, "After how many failures a message is dead."),
        now("ordering", KeyType::Text, "Which messages keep their order: none, per_key or global."),
        now("ordering_key", KeyType::Text, "What orders them: subject, headers.NAME, data.FIELD."),
    ],
);

pub(crate) const HEADERS: &KeyTable = &table(
    "subscription_headers",
    "`headers`",
    &[
        now("normalize", KeyType::Truth, "Header names are always compared in lower case."),
        now("directives", KeyType::Any, "The headers that decide something."),
        now("trace", KeyType::FreeMap, "Whether the sender's trace goes on in the execution."),
        now("passthrough", KeyType::Text, "Where other headers go: data."),
    ],
);

pub(crate) const DIRECTIVE: &KeyTable = &table(
    "subscription_directive",
    "a directive",
    &[
        now("header", KeyType::Text, "The name of the header."),
        now("controls", KeyType::Text, "What it decides."),
        now("allowed", KeyType::Any, "What it may choose."),
        now("map", KeyType::FreeMap, "The pool of each priority."),
    ],
);

pub(crate) const TRACE: &KeyTable = &table(
    "subscription_trace",
    "`trace`",
    &[
        now("propagate", KeyType::Text, "none or w3c."),
        now("baggage_allowlist", KeyType::Any, "The entries of the baggage that are carried on."),
    ],
);

pub(crate) const DEDUP: &KeyTable = &table(
    "subscription_dedup",
    "`dedup`",
    &[
        now("enabled", KeyType::Truth, "Whether messages that come again start nothing."),
        now("window_secs", KeyType::Integer, "For how long a message is known."),
    ],
);

pub(crate) const LIMITS: &KeyTable = &table(
    "subscription_limits",
    "`limits`",
    &[
        now("max_in_flight", KeyType::Integer, "How many messages are under way at most."),
        now("max_dispatch_per_sec", KeyType::Integer, "How many executions start in a second."),
    ],
);

pub(crate) const SPOOL: &KeyTable = &table(
    "subscription_spool",
    "`spool`",
    &[
        now("mode", KeyType::Text, "off, buffer_and_ack or hybrid."),
        now("backend", KeyType::Text, "nats_object, local_disk, gcs or s3."),
        now("bucket", KeyType::Text, "The bucket of an object store."),
        now("path", KeyType::Text, "The directory on a disk."),
        now("credential", KeyType::Text, "The credential of the backend."),
        now("ordering", KeyType::Text, "global, per_key or none."),
        now("ordering_key", KeyType::Text, "What orders messages."),
        now("circuit", KeyType::FreeMap, "When buffering begins and ends."),
        now("retention", KeyType::FreeMap, "How much is buffered."),
        now("drain", KeyType::FreeMap, "How the buffer is emptied."),
        now("hybrid_escalate_after_ms", KeyType::Integer, "When a hybrid begins to acknowledge."),
    ],
);
