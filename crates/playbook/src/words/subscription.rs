//! The keys of a subscription.

use super::{Shape, Table, Word, now};

const fn table(name: &'static str, title: &'static str, words: &'static [Word]) -> Table {
    Table { name, title, required: &[], open: false, words }
}

pub(crate) const ROOT: &Table = &table(
    "subscription",
    "a subscription",
    &[
        now("apiVersion", Shape::OneOf(&["noetl.io/v1", "noetl.io/v2"]), "The version."),
        now("kind", Shape::OneOf(&["Subscription"]), "What the document is."),
        now("metadata", Shape::FreeMap, "How it is called: `name`, `path`, `description`."),
        now("spec", Shape::Any, "Where messages come from and what they start."),
    ],
);

/// Open, because each source has settings of its own.
pub(crate) const SPEC: &Table = &Table {
    open: true,
    ..table(
        "subscription_spec",
        "`spec`",
        &[
            now("source", Shape::Text, "nats, pubsub, kafka or webhook."),
            now("mode", Shape::Text, "pull or push."),
            now("activation", Shape::Text, "When messages are pulled: continuous or scheduled."),
            now("runtime", Shape::FreeMap, "How messages are pulled."),
            now("auth", Shape::Text, "The credential that the source is reached with."),
            now("url", Shape::Text, "The address of the source."),
            now("stream", Shape::Text, "The stream of NATS."),
            now("consumer", Shape::Text, "The durable consumer of NATS; made if there is none."),
            now("subject", Shape::Text, "The subjects of the stream, where not all are meant."),
            now("ingress", Shape::FreeMap, "Where messages are pushed to."),
            now("dispatch", Shape::FreeMap, "What a message starts."),
            now("headers", Shape::FreeMap, "What the headers of a message decide."),
            now("dedup", Shape::FreeMap, "Whether messages that come again are known."),
            now("limits", Shape::FreeMap, "How much is dispatched at most."),
            now("spool", Shape::FreeMap, "Where messages wait while nothing can be dispatched."),
        ],
    )
};

pub(crate) const RUNTIME: &Table = &table(
    "subscription_runtime",
    "`runtime`",
    &[
        now("target", Shape::Text, "Where messages are pulled, for those who deploy."),
        now("pool", Shape::Text, "The pool of workers that pulls, for those who deploy."),
        now("batch", Shape::Integer, "How many messages are fetched at once."),
        now("timeout_ms", Shape::Integer, "How long to wait for messages, in milliseconds."),
    ],
);

pub(crate) const INGRESS: &Table = &table(
    "subscription_ingress",
    "`ingress`",
    &[
        now("gateway_path", Shape::Text, "The absolute path that messages are posted to."),
        now("verify", Shape::FreeMap, "How a sender is known."),
    ],
);

pub(crate) const VERIFY: &Table = &table(
    "subscription_verify",
    "`verify`",
    &[
        now("type", Shape::Text, "hmac_sha256, bearer or pubsub_oidc."),
        now("header", Shape::Text, "The header of the signature or of the token."),
        now("secret", Shape::Text, "The name of the credential that holds the secret."),
        now("style", Shape::Text, "What is signed: body, or stripe for `t=…,v1=…`."),
        now("timestamp_header", Shape::Text, "The header of a time that is signed with the body."),
        now("tolerance_secs", Shape::Integer, "How old a signed time may be."),
        now("audience", Shape::Text, "Whom a token of Pub/Sub is for."),
        now("service_account", Shape::Text, "Whose token of Pub/Sub it is."),
    ],
);

pub(crate) const DISPATCH: &Table = &table(
    "subscription_dispatch",
    "`dispatch`",
    &[
        now("playbook", Shape::Text, "The path of the playbook that a message starts."),
        now("payload_from", Shape::Text, "message.json, message.body or message.attributes."),
        now("execution_pool", Shape::Text, "The pool of workers that the execution runs on."),
        now("batch_dispatch", Shape::Truth, "Whether messages are dispatched many at once."),
        now("batch_max", Shape::Integer, "How many at once."),
        now("max_failures", Shape::Integer, "After how many failures a message is dead."),
        now("ordering", Shape::Text, "Which messages keep their order: none, per_key or global."),
        now("ordering_key", Shape::Text, "What orders them: subject, headers.NAME, data.FIELD."),
    ],
);

pub(crate) const HEADERS: &Table = &table(
    "subscription_headers",
    "`headers`",
    &[
        now("normalize", Shape::Truth, "Header names are always compared in lower case."),
        now("directives", Shape::Any, "The headers that decide something."),
        now("trace", Shape::FreeMap, "Whether the sender's trace goes on in the execution."),
        now("passthrough", Shape::Text, "Where other headers go: data."),
    ],
);

pub(crate) const DIRECTIVE: &Table = &table(
    "subscription_directive",
    "a directive",
    &[
        now("header", Shape::Text, "The name of the header."),
        now("controls", Shape::Text, "What it decides."),
        now("allowed", Shape::Any, "What it may choose."),
        now("map", Shape::FreeMap, "The pool of each priority."),
    ],
);

pub(crate) const TRACE: &Table = &table(
    "subscription_trace",
    "`trace`",
    &[
        now("propagate", Shape::Text, "none or w3c."),
        now("baggage_allowlist", Shape::Any, "The entries of the baggage that are carried on."),
    ],
);

pub(crate) const DEDUP: &Table = &table(
    "subscription_dedup",
    "`dedup`",
    &[
        now("enabled", Shape::Truth, "Whether messages that come again start nothing."),
        now("window_secs", Shape::Integer, "For how long a message is known."),
    ],
);

pub(crate) const LIMITS: &Table = &table(
    "subscription_limits",
    "`limits`",
    &[
        now("max_in_flight", Shape::Integer, "How many messages are under way at most."),
        now("max_dispatch_per_sec", Shape::Integer, "How many executions start in a second."),
    ],
);

pub(crate) const SPOOL: &Table = &table(
    "subscription_spool",
    "`spool`",
    &[
        now("mode", Shape::Text, "off, buffer_and_ack or hybrid."),
        now("backend", Shape::Text, "nats_object, local_disk, gcs or s3."),
        now("bucket", Shape::Text, "The bucket of an object store."),
        now("path", Shape::Text, "The directory on a disk."),
        now("credential", Shape::Text, "The credential of the backend."),
        now("ordering", Shape::Text, "global, per_key or none."),
        now("ordering_key", Shape::Text, "What orders messages."),
        now("circuit", Shape::FreeMap, "When buffering begins and ends."),
        now("retention", Shape::FreeMap, "How much is buffered."),
        now("drain", Shape::FreeMap, "How the buffer is emptied."),
        now("hybrid_escalate_after_ms", Shape::Integer, "When a hybrid begins to acknowledge."),
    ],
);
