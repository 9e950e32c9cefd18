//! The playbook language: parses YAML into a validated graph, with diagnostics by line and column.
//!
//! Invariant: every [`Playbook`] value is valid. All problems of a document are reported at once,
//! in the words of the document; the engine can rely on names resolving and templates parsing.

mod cron;
mod diagnostic;
pub mod draw;
pub mod editing;
mod graph;
pub mod layout;
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
pub use diagnostic::{Diagnostic, DiagnosticCode, ProblemReport, Problems, Severity};
pub use graph::Graph;
pub use parse::{
    CheckedDocument, CheckedPlaybook, CheckedSchedule, CheckedSubscription, TargetWorkers,
    document_value, parse, parse_document, parse_document_for, parse_for,
};
pub use playbook::{
    ATTEMPTS_MAX, AdmitRule, Amount, Arc, AssignmentScope, BodyForm, DELAY_MAX, FrameProcess,
    FrameSettings, Loop, LoopSource, Metadata, OutputView, Playbook, Retry, RetryBackoff, Router,
    RouterMode, Rule, RuleAction, ScopeWord, Selected, SetAssignment, Step, StepIndex, StoreWord,
    Task,
};
pub use read::duration_of;
pub use schedule::{CatchUp, Overlap, Schedule, When};
pub use schema::schema;
pub use subscription::{
    Activation, Controls, Directive, Dispatch, DispatchLimits, Fetch, HeaderRules, IngressEndpoint,
    MessageDelivery, MessageOrder, MessageSource, OrderKey, PayloadFrom, Signed, Subscription,
    TraceRule, Verify,
};
pub use suggest::nearest;
pub use words::tools::WAIT_MAX;

#[cfg(test)]
mod tests;
