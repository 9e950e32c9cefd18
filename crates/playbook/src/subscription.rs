//! A subscription: the source of messages, how senders are authenticated, and what is started.

use std::collections::BTreeMap;
use std::time::Duration;

use noetl_model::SignalName;
use serde_json::{Map, Value};

use crate::playbook::Metadata;

/// A validated document of `kind: Subscription`.
#[derive(Debug, Clone)]
pub struct Subscription {
    pub metadata: Metadata,
    pub source: MessageSource,
    pub delivery: MessageDelivery,
    pub dispatch: Dispatch,
    pub headers: HeaderRules,
    /// The time for which duplicates of a message are recognised; `None` if they are not.
    pub dedup: Option<Duration>,
    pub limits: DispatchLimits,
    pub fetch: Fetch,
    pub order: MessageOrder,
    /// The number of failures after which a message is dead.
    pub failures_max: u32,
    /// `spec` as written, for settings that only the source reads.
    pub spec: Map<String, Value>,
}

/// The kind of system that messages come from.
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

/// The way messages arrive.
#[derive(Debug, Clone, PartialEq)]
pub enum MessageDelivery {
    /// A worker fetches messages.
    Pull(Activation),
    /// Senders post messages.
    Push(IngressEndpoint),
}

/// The times at which a worker fetches messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activation {
    Continuous,
    Scheduled,
}

/// The endpoint to which senders post messages.
#[derive(Debug, Clone, PartialEq)]
pub struct IngressEndpoint {
    /// An absolute path.
    pub path: String,
    pub verify: Verify,
}

impl IngressEndpoint {
    /// Returns the name under which gateways look up the endpoint: the last part of its path.
    pub fn listener(&self) -> &str {
        let path = self.path.trim_end_matches('/');
        path.rsplit('/').next().unwrap_or(path)
    }
}

/// The authentication of a sender. Secrets are named, never written.
#[derive(Debug, Clone, PartialEq)]
pub enum Verify {
    /// The sender signs the body with a shared secret.
    Hmac { header: String, secret: String, signed: Signed, tolerance: Duration },
    /// The sender sends the secret itself.
    Bearer { header: String, secret: String },
    /// Google signs an OIDC token for the sender.
    PubsubOidc { audience: String, service_account: String },
}

/// The content that a signature covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signed {
    /// The body alone, in hexadecimal, perhaps with the prefix `sha256=`, as GitHub signs.
    Body,
    /// The time from a separate header, a full stop, and the body.
    TimeAndBody { time_header: String },
    /// The time and the body, in one header `t=<time>,v1=<signature>`, as Stripe signs.
    Stripe,
}

/// The effect of a message: it starts an execution, or it is delivered to one that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dispatch {
    pub target: DispatchTarget,
    pub payload_from: PayloadFrom,
    pub pool: Option<String>,
    /// The labels of a started execution: keys with templates over the parts of the message. They parse.
    pub labels: Vec<(String, Value)>,
    /// The most messages dispatched at once; `None` to dispatch each by itself.
    pub batch_max: Option<u32>,
}

/// The target of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DispatchTarget {
    /// The path of the playbook that the message starts.
    Playbook(String),
    Signal(SignalDispatch),
}

/// The signal that a message becomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignalDispatch {
    pub name: SignalName,
    /// The template of the correlation key, over the parts of the message. It parses.
    pub key: String,
}

/// The part of a message that an execution is started with.
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

/// The settings that headers of a message may override.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HeaderRules {
    pub directives: Vec<Directive>,
    pub trace: TraceRule,
}

/// The propagation of a message's trace context to its execution.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum TraceRule {
    #[default]
    Dropped,
    /// Propagate the W3C trace context, with these baggage entries.
    W3c { baggage: Vec<String> },
}

/// A header that overrides a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directive {
    /// The header's name in lower case.
    pub header: String,
    pub controls: Controls,
}

/// The setting that a header overrides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Controls {
    Playbook {
        allowed: Vec<String>,
    },
    Pool {
        allowed: Vec<String>,
    },
    /// The pool for each value of the header.
    Priority {
        pools: BTreeMap<String, String>,
    },
    IdempotencyKey,
    ContentType,
    SchemaHint,
}

/// The limits of dispatching.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DispatchLimits {
    pub in_flight_max: Option<u32>,
    pub dispatches_per_second_max: Option<u32>,
}

/// The settings of fetching.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fetch {
    /// The most messages per fetch.
    pub batch: u32,
    /// The wait for the first message.
    pub wait: Duration,
}

/// The messages that start their executions in the order of arrival.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum MessageOrder {
    #[default]
    None,
    /// Messages with the same key.
    PerKey(OrderKey),
    /// All messages.
    Global,
}

/// The ordering key of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OrderKey {
    /// The subject or topic of the message.
    Subject,
    /// A header, in lower case.
    Header(String),
    /// A field of a JSON body, by its path.
    Field(Vec<String>),
}
