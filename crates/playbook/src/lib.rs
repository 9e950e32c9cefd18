//! The playbook language: parses YAML into a validated graph, with diagnostics by line and column.
//!
//! Invariant: every [`Playbook`] value is valid. All problems of a document are reported at once,
//! in the words of the document; the engine can rely on names resolving and templates parsing.

mod analysis;
mod credentials;
mod cron;
mod decision_form;
mod diagnostic;
mod difference;
pub mod draw;
pub mod editing;
mod format;
mod graph;
mod inputs;
pub mod layout;
mod lint;
mod notification;
mod parse;
mod playbook;
mod read;
mod schedule;
mod schema;
mod source;
mod subscription;
mod suggest;
mod suppress;
mod test_file;
mod words;
mod yaml;

pub use analysis::AnalysisLevel;
pub use credentials::{CredentialNames, credential_names};
pub use cron::Cron;
pub use decision_form::{
    Completeness, DecisionForm, FORM_FIELDS_MAX, FORM_LEN_MAX, FORM_VALUES_MAX, FormField,
    FormFieldKind, FormProblem, TextFormat,
};
pub use diagnostic::{Diagnostic, DiagnosticCode, ProblemReport, Problems, Severity};
pub use difference::{ChangedPart, PlaybookChange, playbook_changes};
pub use format::{FormatError, format_document};
pub use graph::Graph;
pub use inputs::{
    DeclaredInput, DeclaredInputs, INPUT_PROBLEMS_MAX, INPUTS_MAX, InputProblem, InputProblems,
    InputType, SECRET_BYTES_MAX, SECRET_BYTES_MIN, ValueRule,
};
pub use lint::{
    CodeFault, CodeLanguage, EmbeddedCode, LintLevelError, LintLevels, LintedDocument, RULES,
    RuleDoc, fixed, has_same_meaning, secret_spans,
};
pub use notification::{
    HttpVerb, NOTICE_TARGETS_MAX, NoticeMatch, NoticeRules, NoticeTemplate, NotificationDocument,
};
pub use parse::{
    CheckedDocument, CheckedNotification, CheckedPlaybook, CheckedSchedule, CheckedSubscription,
    ParseOptions, TargetWorkers, document_value, parse, parse_document, parse_document_for,
    parse_document_with, parse_for, parse_test_file, parse_with,
};
pub use playbook::{
    ATTEMPTS_MAX, AdmitRule, Amount, Arc, AssignmentScope, BodyForm, Concurrency, DELAY_MAX,
    FrameProcess, FrameSettings, Loop, LoopSource, Metadata, OutputCache, OutputView, Playbook,
    Retry, RetryBackoff, Router, RouterMode, Rule, RuleAction, RunPromise, ScopeWord, Selected,
    SetAssignment, Step, StepIndex, StoreWord, Task,
};
pub use read::duration_of;
pub use schedule::{CatchUp, Overlap, Schedule, When};
pub use schema::{schema, test_schema};
pub use subscription::{
    Activation, Controls, Directive, Dispatch, DispatchLimits, DispatchTarget, Fetch, HeaderRules,
    IngressEndpoint, MessageDelivery, MessageOrder, MessageSource, OrderKey, PayloadFrom,
    SignalDispatch, Signed, Subscription, TraceRule, Verify,
};
pub use suggest::nearest;
pub use test_file::{
    ExpectedCall, ExpectedError, ExpectedStatus, MockResult, PlaybookTest, StepMock, StepMocks,
    TESTS_MAX, TestDecision, TestExpectations, TestFile, TestSignal,
};
pub use words::tools::WAIT_MAX;

#[cfg(test)]
mod tests;
