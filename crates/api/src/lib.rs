//! What a worker says to a control plane, and a control plane to a worker.
//!
//! Invariant: every call may be repeated. A worker that got no answer asks again, and the control
//! plane answers the second time as it did the first.

mod control_plane;

pub use control_plane::{
    Cancellation, ControlError, ControlPlane, HeartbeatAnswer, Held, LeaseRequest, LostReason,
    ReportAnswer,
};
