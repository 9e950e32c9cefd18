//! A subscription: where messages come from, how their senders are known, and what they start.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::playbook::Metadata;

/// A validated document of `kind: Subscription`.
#[derive(Debug, Clone)]
pub struct Subscription {
    pub metadata: Metadata,
    pub source: MessageSource,
    pub delivery: Delivery,
    pub dispatch: Dispatch,
    pub headers: HeaderRules,
    /// For how long a message that comes again is known; nothing if it is not looked for.
    pub dedup: Option<Duration>,
    pub limits: Limits,
    pub fetch: Fetch,
    pub order: Order,
    /// After how many failures a message is dead.
    pub failures_max: u32,
    /// `spec` as it is written, for what a source alone understands.
    pub spec: Map<String, Value>,
}

/// What messages come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageSource {
    Nats,
    Pubsub,
    Kafka,
    Webhook,
}

impl MessageSource {
    pub fn as_str(self) -> &'static str {
        match self {
            MessageSource::Nats => "nats",
            MessageSource::Pubsub => "pubsub",
            MessageSource::Kafka => "kafka",
            MessageSource::Webhook => "webhook",
        }
    }
}

/// How messages arrive.
#[derive(Debug, Clone, PartialEq)]
pub enum Delivery {
    /// A worker fetches them.
    Pull(Activation),
    /// Their senders post them.
    Push(Ingress),
}

/// When a worker fetches messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activation {
    Continuous,
    Scheduled,
}

/// Where senders post messages.
#[derive(Debug, Clone, PartialEq)]
pub struct Ingress {
    /// An absolute path.
    pub path: String,
    pub verify: Verify,
}

impl Ingress {
    /// The name under which gateways ask for it: the last part of its path.
    pub fn listener(&self) -> &str {
        let path = self.path.trim_end_matches('/');
        path.rsplit('/').next().unwrap_or(path)
    }
}

/// How a sender is known. Secrets are named, never written.
#[derive(Debug, Clone, PartialEq)]
pub enum Verify {
    /// The sender signs the body with a secret that both know.
    Hmac { header: String, secret: String, signed: Signed, tolerance: Duration },
    /// The sender sends the secret itself.
    Bearer { header: String, secret: String },
    /// Google signs for the sender.
    PubsubOidc { audience: String, service_account: String },
}

/// What a signature is made over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signed {
    /// The body alone, in hexadecimal, perhaps behind `sha256=`, as GitHub signs.
    Body,
    /// The time in a header of its own, a full stop, and the body.
    TimeAndBody { time_header: String },
    /// The same in one header `t=<time>,v1=<signature>`, as Stripe signs.
    Stripe,
}

/// What a message starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dispatch {
    pub playbook: String,
    pub payload_from: PayloadFrom,
    pub pool: Option<String>,
    /// How many messages are dispatched at once; nothing if each by itself.
    pub batch_max: Option<u32>,
}

/// Which part of a message an execution is started with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PayloadFrom {
    Json,
    Body,
    Attributes,
}

impl PayloadFrom {
    pub fn as_str(self) -> &'static str {
        match self {
            PayloadFrom::Json => "message.json",
            PayloadFrom::Body => "message.body",
            PayloadFrom::Attributes => "message.attributes",
        }
    }
}

/// What the headers of a message may decide.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HeaderRules {
    pub directives: Vec<Directive>,
    pub trace: TraceRule,
}

/// Whether a message's trace goes on in its execution.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum TraceRule {
    #[default]
    Dropped,
    /// With these entries of its baggage.
    W3c { baggage: Vec<String> },
}

/// A header that decides something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directive {
    /// In lower case.
    pub header: String,
    pub controls: Controls,
}

/// What a header decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Controls {
    Playbook {
        allowed: Vec<String>,
    },
    Pool {
        allowed: Vec<String>,
    },
    /// The pool of each value.
    Priority {
        pools: BTreeMap<String, String>,
    },
    IdempotencyKey,
    ContentType,
    SchemaHint,
}

/// How much is dispatched at most.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    pub in_flight_max: Option<u32>,
    pub dispatches_per_second_max: Option<u32>,
}

/// How messages are fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fetch {
    /// How many at once at most.
    pub batch: u32,
    /// How long to wait for the first.
    pub wait: Duration,
}

/// Which messages start their executions in the order they came.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Order {
    #[default]
    None,
    /// Those with the same key.
    PerKey(OrderKey),
    /// All of them.
    Global,
}

/// What orders a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OrderKey {
    /// What it was published on.
    Subject,
    /// A header, in lower case.
    Header(String),
    /// A field of a JSON body, by its path.
    Field(Vec<String>),
}
