//! Interfaces of the control plane for workers and clients, and the bodies of its HTTP API.
//!
//! Invariants: every call of a worker may be repeated and gets the same answer again; foreign
//! spellings of ids, events and statuses are translated here and never stored.

mod client;
mod client_tls;
mod control_plane;
mod desk;
mod envelope;
mod id;
mod names;
mod remote;
mod replay;
mod view;
pub mod wire;
mod wording;

pub use client::{CatalogItem, Client, ClientError, ClientSettings, RegisteredAs, ServerReadiness};
pub use client_tls::{ClientIdentity, ClientTls, ClientTlsError};
pub use control_plane::{
    Cancellation, ControlError, ControlPlane, HeartbeatAnswer, Held, LeaseRequest, LostReason,
    ReportAnswer, WorkerNotice,
};
pub use desk::{Assignment, Desk, Line, Pace};
pub use envelope::{BadEnvelope, envelope_of, posted_envelope_of};
pub use id::AnyId;
pub use names::{Posted, log_name, name_of, public_name};
pub use remote::RemoteControl;
pub use replay::{
    DEFAULT_TENANT, REPLAY_EVENTS_MAX, ReplayQuestion, Replayer, SavedFold, UnusableFold, Wanted,
    digest_named,
};
pub use reqwest::Method;
pub use view::{PublicEvent, Teller, command_id, value_or_reference};
