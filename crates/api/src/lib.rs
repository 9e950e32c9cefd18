//! Interfaces of the control plane for workers and clients, and the bodies of its HTTP API.
//!
//! Invariant: every call of a worker may be repeated and gets the same answer again.

mod actor_header;
mod client;
mod client_tls;
mod control_plane;
mod id;
mod intake_control;
mod lease_proof;
mod public_event;
mod remote;
pub mod text;
pub mod wire;

pub use actor_header::ACTOR_HEADER;
pub use client::{
    CatalogItem, Client, ClientError, ClientSettings, RegisteredAs, ServerReadiness,
    StreamedLogEntries,
};
pub use client_tls::{ClientIdentity, ClientTls, ClientTlsError};
pub use control_plane::{Cancellation, ControlError, ControlPlane, LeaseRequest, WorkerNotice};
pub use id::AnyId;
pub use intake_control::{Assignment, FetchMode, FetchOrder, IntakeControl};
pub use lease_proof::{BadLeaseProof, LEASE_HEADER, LeaseProof};
pub use public_event::{EventSource, PublicEvent, value_or_reference};
pub use remote::RemoteControl;
pub use reqwest::Method;
