//! The keys of a test file.

use super::{KeyTable, KeyType, LanguageKey, now};

/// Every map of a test file.
pub(crate) const TABLES: &[&KeyTable] =
    &[ROOT, TEST, MOCK, ERROR, SIGNAL, DECISION, EXPECT, EXPECTED_ERROR, CALL];

const fn table(
    name: &'static str,
    title: &'static str,
    required: &'static [&'static str],
    words: &'static [LanguageKey],
) -> KeyTable {
    KeyTable { name, title, required, open: false, words }
}

pub(crate) const ROOT: &KeyTable = &table(
    "test_file",
    "a test file",
    &["tests"],
    &[
        now(
            "playbook",
            KeyType::Text,
            "File of the playbook; default: the one beside the test file.",
        ),
        now("workload", KeyType::FreeMap, "Workload of every test."),
        now("mocks", KeyType::Special("test-mocks"), "Mocked results for every test, by step."),
        now("allow_unmocked", KeyType::Truth, "If true, calls without a mock succeed."),
        now("tests", KeyType::ListOf("test"), "The tests."),
    ],
);

pub(crate) const TEST: &KeyTable = &table(
    "test",
    "a test",
    &["name"],
    &[
        now("name", KeyType::Text, "Name of the test."),
        now("workload", KeyType::FreeMap, "Workload of the test."),
        now("now", KeyType::Text, "The time of the start, such as 2026-01-31T09:30:00Z."),
        now("mocks", KeyType::Special("test-mocks"), "Mocked results, by step."),
        now(
            "children",
            KeyType::Special("test-children"),
            "Mocked results of child playbooks, by path and step.",
        ),
        now("allow_unmocked", KeyType::Truth, "If true, calls without a mock succeed."),
        now("error_mode", KeyType::OneOf(super::ERROR_MODES), "strict or lenient."),
        now("signals", KeyType::ListOf("test_signal"), "Signals to the execution."),
        now("decisions", KeyType::ListOf("test_decision"), "Decisions about approvals."),
        now("expect", KeyType::Table("test_expect"), "Expected steps, calls and result."),
    ],
);

pub(crate) const MOCK: &KeyTable = &table(
    "test_mock",
    "a mock",
    &[],
    &[
        now("task", KeyType::Text, "The label of the task in a pipeline."),
        now("item", KeyType::Special("test-count"), "The index of the loop item, from 0."),
        now("attempt", KeyType::Integer, "The attempt at a task, from 1."),
        now("call", KeyType::Integer, "The call of the task within the test, from 1."),
        now("delay", KeyType::Duration, "Duration of the call."),
        now("output", KeyType::Any, "Output of the tool."),
        now(
            "error",
            KeyType::Special("test-error-or-text"),
            "The error of the tool: a message, or kind and message.",
        ),
        now("rhai", KeyType::Text, "Rhai script that computes the output."),
    ],
);

pub(crate) const ERROR: &KeyTable = &table(
    "test_error",
    "`error`",
    &[],
    &[
        now("kind", KeyType::Special("test-error-kind"), "The kind of the error, such as timeout."),
        now("message", KeyType::Text, "The message."),
        now("retryable", KeyType::Truth, "If true, a retry may succeed."),
        now("code", KeyType::Text, "Error code of the tool, such as the type of an exception."),
        now("status", KeyType::Integer, "The HTTP status."),
    ],
);

pub(crate) const SIGNAL: &KeyTable = &table(
    "test_signal",
    "a signal",
    &["name"],
    &[
        now("name", KeyType::Text, "The name of the signal."),
        now("key", KeyType::Text, "The correlation key."),
        now("at", KeyType::Duration, "Time after the start."),
        now("body", KeyType::Any, "The data of the signal."),
        now("sender", KeyType::Text, "Name of the sender."),
    ],
);

pub(crate) const DECISION: &KeyTable = &table(
    "test_decision",
    "a decision",
    &["step", "verdict"],
    &[
        now("step", KeyType::Text, "The step of the approval."),
        now("verdict", KeyType::OneOf(VERDICTS), "The decision."),
        now("after", KeyType::Duration, "The time after the request."),
        now("actor", KeyType::Text, "Name of the person who decides."),
        now("comment", KeyType::Text, "The comment."),
        now("values", KeyType::FreeMap, "The values of the form."),
    ],
);

const STATUSES: &[&str] = &["completed", "failed", "cancelled", "refused"];

const VERDICTS: &[&str] = &["approved", "rejected"];

pub(crate) const EXPECT: &KeyTable = &table(
    "test_expect",
    "`expect`",
    &[],
    &[
        now("status", KeyType::OneOf(STATUSES), "completed, failed, cancelled or refused."),
        now("output", KeyType::Any, "Output, exactly."),
        now("output_includes", KeyType::Any, "Part of the output."),
        now(
            "error",
            KeyType::Special("test-expected-error-or-text"),
            "The error: kind, part of the message, step.",
        ),
        now("executed", KeyType::Special("test-steps"), "Exactly the steps that run."),
        now("skipped", KeyType::Special("test-steps"), "Exactly the steps that are skipped."),
        now("order", KeyType::Special("test-steps"), "Steps that are entered in this order."),
        now("calls", KeyType::ListOf("test_call"), "Calls of tools, with rendered settings."),
        now("events", KeyType::Any, "Events of the log, each with a part of its fields."),
        now("outputs", KeyType::Special("test-outputs"), "Outputs of steps, exactly."),
        now("context", KeyType::FreeMap, "Values of `ctx` at the end."),
        now("duration", KeyType::Duration, "The virtual time from start to end."),
    ],
);

pub(crate) const EXPECTED_ERROR: &KeyTable = &table(
    "test_expected_error",
    "`error`",
    &[],
    &[
        now("kind", KeyType::Special("test-error-kind"), "The kind of the error."),
        now("message", KeyType::Text, "A part of the message."),
        now("step", KeyType::Text, "A step that failed."),
    ],
);

pub(crate) const CALL: &KeyTable = &table(
    "test_call",
    "a call",
    &["step"],
    &[
        now("step", KeyType::Text, "The step that calls the tool."),
        now("task", KeyType::Text, "The label of the task in a pipeline."),
        now("item", KeyType::Special("test-count"), "The index of the loop item, from 0."),
        now("attempt", KeyType::Integer, "The attempt at a task, from 1."),
        now("with", KeyType::Any, "A part of the rendered settings."),
        now(
            "times",
            KeyType::Special("test-count"),
            "The number of such calls; at least one if left out.",
        ),
    ],
);
