//! The playbook language: parses YAML into a validated graph, with diagnostics by line and column.
//!
//! Invariant: every [`Playbook`] value is valid. All problems of a document are reported at once,
//! in the words of the document; the engine can rely on names resolving and templates parsing.

mod cron;
mod diagnostic;
pub mod draw;
mod graph;
mod parse;
mod playbook;
mod read;
mod schedule;
mod schema;
mod source;
mod subscription;
mod suggest;
mod words;
mod yaml;

pub use cron::Cron;
pub use diagnostic::{Code, Diagnostic, Problems, Report, Severity};
pub use graph::Graph;
pub use parse::{
    Checked, CheckedSchedule, CheckedSubscription, Document, Workers, parse, parse_document,
    parse_document_for, parse_for,
};
pub use playbook::{
    ATTEMPTS_MAX, AdmitRule, Amount, Arc, Assignment, AssignmentScope, Backoff, BodyForm,
    DELAY_MAX, Frame, FrameProcess, Loop, LoopSource, Metadata, OutputView, Playbook, Retry,
    Router, RouterMode, Rule, ScopeWord, Selected, Step, StepIndex, StoreWord, Task, Verdict,
};
pub use schedule::{CatchUp, Overlap, Schedule, When};
pub use schema::schema;
pub use subscription::{
    Activation, Controls, Delivery, Directive, Dispatch, Fetch, HeaderRules, Ingress, Limits,
    MessageSource, Order, OrderKey, PayloadFrom, Signed, Subscription, TraceRule, Verify,
};
pub use suggest::nearest;

#[cfg(test)]
mod tests;
