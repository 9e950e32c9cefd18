//! The keys of the language: every map that has a fixed set of keys, and what each key is for.
//!
//! The same tables are used to find unknown and deprecated keys, to suggest corrections, and to
//! build the JSON Schema for editors.

pub(crate) mod cache;
pub(crate) mod filters;
pub(crate) mod inputs;
pub(crate) mod limit;
pub(crate) mod notification;
pub(crate) mod output;
pub(crate) mod schedule;
pub(crate) mod subscription;
pub(crate) mod test_file;
pub(crate) mod tool_pages;
pub(crate) mod tools;

use noetl_model::ToolKind;

/// A key of a map of the language.
#[derive(Debug)]
pub(crate) struct LanguageKey {
    pub(crate) name: &'static str,
    pub(crate) shape: KeyType,
    pub(crate) status: KeyStatus,
    pub(crate) about: &'static str,
}

/// The status of a key: current, deprecated or ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyStatus {
    Current,
    /// Accepted but deprecated; holds the current spelling.
    Old(&'static str),
    /// Accepted without effect; holds the reason.
    Ignored(&'static str),
}

/// The type of a key's value, as far as the JSON Schema describes it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum KeyType {
    Any,
    Text,
    Truth,
    /// A boolean, or text with a template.
    Condition,
    Integer,
    /// A number, or text with a template for one.
    Number,
    /// Seconds, or text like `500ms`, `30s`, `5m`.
    Duration,
    FreeMap,
    /// A map from targets such as `ctx.name` to values that may hold templates.
    Assignments,
    OneOf(&'static [&'static str]),
    /// A tool, by its kind.
    Tool,
    /// The map of this name in [`TABLES`].
    Table(&'static str),
    ListOf(&'static str),
    /// A value with several forms, defined by hand in the schema under this name.
    Special(&'static str),
}

/// A map with a fixed set of keys.
#[derive(Debug)]
pub(crate) struct KeyTable {
    pub(crate) name: &'static str,
    /// The name of the map in messages: `a step`.
    pub(crate) title: &'static str,
    pub(crate) required: &'static [&'static str],
    /// True if other keys are allowed too, so that unknown keys get no warning.
    pub(crate) open: bool,
    pub(crate) words: &'static [LanguageKey],
}

impl KeyTable {
    pub(crate) fn word(&self, name: &str) -> Option<&'static LanguageKey> {
        self.words.iter().find(|word| word.name == name)
    }
}

const fn now(name: &'static str, shape: KeyType, about: &'static str) -> LanguageKey {
    LanguageKey { name, shape, status: KeyStatus::Current, about }
}

const fn old(
    name: &'static str,
    shape: KeyType,
    instead: &'static str,
    about: &'static str,
) -> LanguageKey {
    LanguageKey { name, shape, status: KeyStatus::Old(instead), about }
}

const fn ignored(
    name: &'static str,
    shape: KeyType,
    why: &'static str,
    about: &'static str,
) -> LanguageKey {
    LanguageKey { name, shape, status: KeyStatus::Ignored(why), about }
}

pub(crate) const VERBS: &[&str] = &["continue", "retry", "jump", "break", "fail"];
pub(crate) const BACKOFFS: &[&str] = &["none", "fixed", "constant", "linear", "exponential"];
pub(crate) const LOOP_MODES: &[&str] = &["sequential", "parallel", "cursor"];
pub(crate) const ROUTER_MODES: &[&str] = &["exclusive", "inclusive"];
pub(crate) const ERROR_MODES: &[&str] = &["strict", "lenient"];
pub(crate) const UNDEFINED_MODES: &[&str] = &["empty", "strict"];
const CONFLICTS: &[&str] = &["queue", "skip", "fail", "cancel_running"];
pub(crate) const STEP_RUNS: &[&str] = &["at_least_once", "at_most_once"];
pub(crate) const PROCESSES: &[&str] = &["row", "frame"];
pub(crate) const STORES: &[&str] =
    &["auto", "memory", "kv", "disk", "object", "s3", "gcs", "db", "duckdb", "eventlog"];
pub(crate) const SCOPES: &[&str] = &["step", "execution", "workflow", "permanent"];
/// The targets of a jump that mean the previous task.
pub(crate) const PREVIOUS: &[&str] = &["previous", "prev", "_previous", "@previous"];

/// Kinds that older playbooks use and that are not tools, with the replacement.
pub(crate) const NOT_TOOLS: &[(&str, &str)] = &[
    ("iterator", "give the step a `loop` and its tool a kind of its own"),
    ("task_sequence", "give it `tasks`, or write `tool` as a list of tools"),
    ("playbooks", "use `kind: playbook` in a step with a `loop`"),
    ("snowflake_transfer", "use `kind: transfer`"),
];

/// The tool kind that refers to a task of the workbook.
pub(crate) const WORKBOOK: &str = "workbook";

pub(crate) fn tool_kinds() -> Vec<&'static str> {
    ToolKind::ALL.iter().map(|kind| kind.as_str()).chain([WORKBOOK]).collect()
}

const OUTPUT_SCHEMA: &str = "JSON Schema of the output. Templates that read the output and \
                             mocked outputs of tests are checked against it.";
const RULES_INSTEAD: &str = "`spec.policy.rules` of the tool";

pub(crate) const ROOT: &KeyTable = &KeyTable {
    name: "playbook",
    title: "a playbook",
    required: &["apiVersion", "kind", "metadata", "workflow"],
    open: false,
    words: &[
        now(
            "apiVersion",
            KeyType::OneOf(&["noetl.io/v2", "noetl.io/v10"]),
            "The version of the language.",
        ),
        now("kind", KeyType::OneOf(&["Playbook"]), "Kind of the document."),
        now(
            "metadata",
            KeyType::Table("metadata"),
            "Name, catalog path and labels of the playbook.",
        ),
        now(
            "inputs",
            KeyType::Special("inputs"),
            "Inputs of the playbook: names, types and limits of the values that a start may \
             pass.",
        ),
        now(
            "workload_schema",
            KeyType::Any,
            "Inputs as a JSON Schema of the workload, instead of `inputs`.",
        ),
        now(
            "workload",
            KeyType::FreeMap,
            "Default parameters. They are values: templates in them are not rendered.",
        ),
        now("workflow", KeyType::ListOf("step"), "Steps of the playbook."),
        now(
            "workbook",
            KeyType::Special("workbook"),
            "Tasks that several steps use, with `kind: workbook`.",
        ),
        now("keychain", KeyType::Any, "Credentials that the playbook needs."),
        now("executor", KeyType::Table("executor"), "Settings of the whole execution."),
        now("expect", KeyType::Table("expect"), "Time by which an execution should have ended."),
        now("on", KeyType::Table("on"), "Notifications about executions of the playbook."),
        old("vars", KeyType::FreeMap, "`workload`", "Further default parameters."),
    ],
};

pub(crate) const METADATA: &KeyTable = &KeyTable {
    name: "metadata",
    title: "metadata",
    required: &["name"],
    open: true,
    words: &[
        now("name", KeyType::Text, "Name of the playbook."),
        now("path", KeyType::Text, "Path of the playbook in the catalog; default: `name`."),
        now("description", KeyType::Text, "Purpose of the playbook."),
        now(
            "labels",
            KeyType::FreeMap,
            "Labels of every execution, used as filters; values may be templates.",
        ),
        now("tags", KeyType::Any, "Tags of the playbook, for searches in the catalog."),
        now(
            "version",
            KeyType::Any,
            "Version number of the author; the catalog has its own numbers.",
        ),
    ],
};

pub(crate) const EXECUTOR: &KeyTable = &KeyTable {
    name: "executor",
    title: "the executor",
    required: &[],
    open: false,
    words: &[
        now("kind", KeyType::Text, "Runtime that the playbook was written for; not checked."),
        now("profile", KeyType::Text, "Runtime that the playbook was written for; not checked."),
        now("version", KeyType::Any, "Version of that runtime; not checked."),
        now("requires", KeyType::Any, "Tools that only your own workers provide."),
        now(
            "spec",
            KeyType::Table("executor-spec"),
            "Entry step, final step, timeout and limits of an execution.",
        ),
    ],
};

pub(crate) const EXECUTOR_SPEC: &KeyTable = &KeyTable {
    name: "executor-spec",
    title: "the executor's spec",
    required: &[],
    open: false,
    words: &[
        now("entry_step", KeyType::Text, "First step; default: `start`, or the first in the list."),
        now("final_step", KeyType::Text, "Step that runs after all other steps have ended."),
        now(
            "no_next_is_error",
            KeyType::Truth,
            "If true, a branch without a matching arc fails the execution.",
        ),
        now("timeout", KeyType::Duration, "Maximum duration of an execution."),
        now(
            "error_mode",
            KeyType::OneOf(ERROR_MODES),
            "`strict` (default): an error of a tool fails its step; `lenient`: it does not.",
        ),
        now(
            "undefined",
            KeyType::OneOf(UNDEFINED_MODES),
            "`strict`: a missing value in a template is an error; `empty` (default): it is empty.",
        ),
        now(
            "priority",
            KeyType::Integer,
            "0 to 9: commands of executions with a higher one are leased first; 5 by default.",
        ),
        now(
            "concurrency",
            KeyType::Table("concurrency"),
            "Maximum number of executions of the playbook at a time.",
        ),
        now("policy", KeyType::Any, "Settings of other runtimes (no effect)."),
    ],
};

pub(crate) const EXPECT: &KeyTable = &KeyTable {
    name: "expect",
    title: "`expect`",
    required: &["within"],
    open: false,
    words: &[now(
        "within",
        KeyType::Duration,
        "Time after which a running execution counts as late. It is not stopped; use \
             `timeout` to stop it.",
    )],
};

pub(crate) const STEP: &KeyTable = &KeyTable {
    name: "step",
    title: "a step",
    required: &["step"],
    open: false,
    words: &[
        now(
            "step",
            KeyType::Text,
            "Name of the step: unique in the playbook, used by templates to read its output.",
        ),
        now("desc", KeyType::Text, "Purpose of the step."),
        now("description", KeyType::Text, "Purpose of the step."),
        now("when", KeyType::Condition, "The step is skipped unless this condition is true."),
        now("input", KeyType::FreeMap, "Variables for every task of the step."),
        now("loop", KeyType::Table("loop"), "Runs the step once for each item."),
        now(
            "tool",
            KeyType::Special("tool-or-list"),
            "Work of the step: one tool, or a list of tools that run in order.",
        ),
        now("set", KeyType::Assignments, "Variables to write after the step has completed."),
        now("next", KeyType::Special("next"), "Arcs to the next steps."),
        now("spec", KeyType::Table("step-spec"), "Timeout and admission of the step."),
        now(
            "run",
            KeyType::OneOf(STEP_RUNS),
            "Reaction to a lost worker: repeat the step (`at_least_once`, default) or fail it \
             with `worker_lost` (`at_most_once`).",
        ),
        now("timeout", KeyType::Duration, "Maximum duration of the step."),
        now("limit", KeyType::Table("limit"), "Limit that playbooks share by its name."),
        now("cache", KeyType::Table("cache"), "Reuses an earlier output of the step."),
        now("output", KeyType::Table("output"), "Form in which templates see the output."),
        now("output_select", KeyType::Any, "Parts of the output with a name of their own."),
        now("output_schema", KeyType::Special("input-or-type"), OUTPUT_SCHEMA),
        old("args", KeyType::FreeMap, "`input`", "Variables for every task of the step."),
        old("with", KeyType::FreeMap, "`input`", "Variables for every task of the step."),
        old(
            "type",
            KeyType::Tool,
            "`tool: {kind: …}`",
            "Kind of the tool, with its settings beside it.",
        ),
        old("call", KeyType::FreeMap, "`tool: {kind: …}`", "Tool of the step."),
        old(
            "retry",
            KeyType::Special("retry-or-count"),
            RULES_INSTEAD,
            "Maximum number of attempts of each task.",
        ),
        old("set_ctx", KeyType::FreeMap, "`set` with keys `ctx.…`", "Variables of the execution."),
        old(
            "set_iter",
            KeyType::FreeMap,
            "`set` with keys `iter.…`",
            "Variables of the loop item.",
        ),
        old("set_vars", KeyType::FreeMap, "`set` with keys `ctx.…`", "Variables of the execution."),
        old("vars", KeyType::FreeMap, "`set` with keys `ctx.…`", "Variables of the execution."),
        ignored(
            "sink",
            KeyType::Any,
            "store results with a tool of their own",
            "Destination of the results (no effect).",
        ),
        ignored(
            "save",
            KeyType::Any,
            "store results with a tool of their own",
            "Destination of the results (no effect).",
        ),
        ignored(
            "on_error",
            KeyType::Any,
            "use `spec.policy.rules` of the tool, or an arc on failure",
            "Reaction to an error (no effect).",
        ),
    ],
};

pub(crate) const STEP_SPEC: &KeyTable = &KeyTable {
    name: "step-spec",
    title: "a step's spec",
    required: &[],
    open: false,
    words: &[
        now("timeout", KeyType::Duration, "Maximum duration of the step."),
        now(
            "next_mode",
            KeyType::OneOf(ROUTER_MODES),
            "Mode of a list under `next`: first matching arc, or all.",
        ),
        now("policy", KeyType::Table("step-policy"), "Condition for entering the step."),
        ignored(
            "on_error",
            KeyType::Any,
            "use `spec.policy.rules` of the tool, or an arc on failure",
            "Reaction to an error (no effect).",
        ),
    ],
};

pub(crate) const STEP_POLICY: &KeyTable = &KeyTable {
    name: "step-policy",
    title: "a step's policy",
    required: &[],
    open: false,
    words: &[
        now("admit", KeyType::Special("admit"), "Rules that enter or skip the step."),
        old(
            "rules",
            KeyType::Special("rules"),
            RULES_INSTEAD,
            "Rules that choose the reaction to the end of a task.",
        ),
    ],
};

pub(crate) const TOOL: &KeyTable = &KeyTable {
    name: "tool",
    title: "a tool",
    required: &["kind"],
    open: true,
    words: &[
        now("kind", KeyType::Tool, "Kind of the tool."),
        now(
            "name",
            KeyType::Text,
            "Label of the task in a list; for `kind: workbook`, the workbook task.",
        ),
        now("input", KeyType::Any, "Variables for this task."),
        now("set", KeyType::Assignments, "Variables to write after the task has succeeded."),
        now(
            "spec",
            KeyType::Table("tool-spec"),
            "Timeout of the task, and rules that choose the reaction to its end.",
        ),
        now("timeout", KeyType::Duration, "Maximum duration of the task."),
        now("timeout_seconds", KeyType::Number, "Maximum duration of the task, in seconds."),
        now("auth", KeyType::Any, "Name of a credential, or several credentials."),
        now("output_select", KeyType::Any, "Fields of the output that are kept inline."),
        now("output_schema", KeyType::Special("input-or-type"), OUTPUT_SCHEMA),
        old("type", KeyType::Tool, "`kind`", "Kind of the tool."),
        old("args", KeyType::Any, "`input`", "Variables for this task."),
        old("with", KeyType::Any, "`input`", "Variables for this task."),
        old(
            "retry",
            KeyType::Special("retry-or-count"),
            "`spec.policy.rules`",
            "Maximum number of attempts.",
        ),
        old("set_ctx", KeyType::FreeMap, "`set` with keys `ctx.…`", "Variables of the execution."),
        old(
            "set_iter",
            KeyType::FreeMap,
            "`set` with keys `iter.…`",
            "Variables of the loop item.",
        ),
        old("set_vars", KeyType::FreeMap, "`set` with keys `ctx.…`", "Variables of the execution."),
        ignored(
            "eval",
            KeyType::Any,
            "use `spec.policy.rules`",
            "Rules that choose the reaction to the end of the task.",
        ),
    ],
};

pub(crate) const TOOL_SPEC: &KeyTable = &KeyTable {
    name: "tool-spec",
    title: "a tool's spec",
    required: &[],
    open: true,
    words: &[
        now(
            "policy",
            KeyType::Special("policy-or-rules"),
            "Rules, evaluated in order after the task has ended.",
        ),
        now("timeout", KeyType::Duration, "Maximum duration of the task."),
        now(
            "result",
            KeyType::Any,
            "Hints for storing the output; large outputs are stored by reference in any case.",
        ),
    ],
};

pub(crate) const POLICY: &KeyTable = &KeyTable {
    name: "policy",
    title: "a policy",
    required: &[],
    open: false,
    words: &[now(
        "rules",
        KeyType::Special("rules"),
        "Rules; the first whose condition is true decides.",
    )],
};

pub(crate) const RULE: &KeyTable = &KeyTable {
    name: "rule",
    title: "a rule",
    required: &[],
    open: false,
    words: &[
        now(
            "when",
            KeyType::Condition,
            "Condition of the rule; `output` is the result of the task.",
        ),
        now("then", KeyType::Table("then"), "Reaction to the end of the task."),
        now("else", KeyType::Special("else"), "Reaction if no other rule applies."),
        old("expr", KeyType::Condition, "`when`", "Condition of the rule."),
    ],
};

pub(crate) const THEN: &KeyTable = &KeyTable {
    name: "then",
    title: "`then`",
    required: &["do"],
    open: false,
    words: &[
        now("do", KeyType::OneOf(VERBS), "Reaction: continue, retry, jump, break or fail."),
        now("attempts", KeyType::Number, "Maximum number of attempts for `retry`; default: 3."),
        now("backoff", KeyType::OneOf(BACKOFFS), "Growth of the delay for `retry`."),
        now("delay", KeyType::Duration, "Delay before the next attempt; default: 1 second."),
        now("max_delay", KeyType::Duration, "Maximum delay."),
        now("to", KeyType::Text, "Label of the next task for `jump`, or `previous`."),
        now("set", KeyType::Assignments, "Variables to write."),
        old("target", KeyType::Text, "`to`", "Label of the next task."),
        old("set_ctx", KeyType::FreeMap, "`set` with keys `ctx.…`", "Variables of the execution."),
        old(
            "set_iter",
            KeyType::FreeMap,
            "`set` with keys `iter.…`",
            "Variables of the loop item.",
        ),
        old("set_vars", KeyType::FreeMap, "`set` with keys `ctx.…`", "Variables of the execution."),
    ],
};

pub(crate) const RETRY: &KeyTable = &KeyTable {
    name: "retry",
    title: "`retry`",
    required: &[],
    open: false,
    words: &[
        now("attempts", KeyType::Number, "Maximum number of attempts."),
        now("max_attempts", KeyType::Number, "Maximum number of attempts."),
        now("max_retries", KeyType::Integer, "Maximum number of further attempts."),
        now("delay", KeyType::Duration, "Delay before the next attempt."),
        now("initial_delay", KeyType::Duration, "Delay before the second attempt."),
        now("delay_seconds", KeyType::Number, "Delay before the next attempt."),
        now("initial_delay_ms", KeyType::Number, "Delay before the second attempt."),
        now("max_delay", KeyType::Duration, "Maximum delay."),
        now("backoff", KeyType::OneOf(BACKOFFS), "Growth of the delay."),
        now(
            "backoff_multiplier",
            KeyType::Number,
            "Factor of the delay: 1 keeps it constant, any other value doubles it.",
        ),
        now("when", KeyType::Condition, "Failures that are retried."),
        now("retry_when", KeyType::Condition, "Failures that are retried."),
        now("on_error", KeyType::Table("retry"), "The same settings, one level down."),
        ignored(
            "stop_when",
            KeyType::Any,
            "use `spec.policy.rules` of the tool",
            "Condition that ends the attempts.",
        ),
        ignored(
            "on_success",
            KeyType::Any,
            "use a `jump` in `spec.policy.rules`",
            "Condition for another attempt.",
        ),
    ],
};

pub(crate) const ADMIT_RULE: &KeyTable = &KeyTable {
    name: "admit-rule",
    title: "an admission rule",
    required: &[],
    open: false,
    words: &[
        now("when", KeyType::Condition, "Condition of the rule."),
        now(
            "then",
            KeyType::Table("allow"),
            "If true, the step is entered; otherwise it is skipped.",
        ),
        now("else", KeyType::Special("admit-else"), "Decision if no other rule applies."),
    ],
};

pub(crate) const ALLOW: &KeyTable = &KeyTable {
    name: "allow",
    title: "`then`",
    required: &["allow"],
    open: false,
    words: &[now(
        "allow",
        KeyType::Truth,
        "If true, the step is entered; otherwise it is skipped.",
    )],
};

pub(crate) const LOOP: &KeyTable = &KeyTable {
    name: "loop",
    title: "a loop",
    required: &["iterator"],
    open: false,
    words: &[
        now("in", KeyType::Any, "Items: a list, a map, a number, or a template of one of these."),
        now("iterator", KeyType::Text, "Name of the item in templates."),
        now("cursor", KeyType::Table("cursor"), "Tool that claims the next rows, instead of `in`."),
        now("spec", KeyType::Table("loop-spec"), "Order and concurrency of the items."),
        old("collection", KeyType::Any, "`in`", "Items of the loop."),
        old("items", KeyType::Any, "`in`", "Items of the loop."),
        old("element", KeyType::Text, "`iterator`", "Name of the item in templates."),
        old(
            "mode",
            KeyType::OneOf(LOOP_MODES),
            "`spec.mode`",
            "Order of the items: sequential or parallel.",
        ),
        old(
            "max_in_flight",
            KeyType::Number,
            "`spec.max_in_flight`",
            "Maximum number of items at a time.",
        ),
        ignored(
            "pagination",
            KeyType::Any,
            "use a `jump` in `spec.policy.rules`, or an arc back",
            "Pagination (no effect).",
        ),
    ],
};

pub(crate) const LOOP_SPEC: &KeyTable = &KeyTable {
    name: "loop-spec",
    title: "a loop's spec",
    required: &[],
    open: false,
    words: &[
        now(
            "mode",
            KeyType::OneOf(LOOP_MODES),
            "Order of the items: sequential, parallel, or by claims.",
        ),
        now("max_in_flight", KeyType::Number, "Maximum number of items at a time."),
        now(
            "policy",
            KeyType::Any,
            "Placement of the items (no effect: every worker of the pool takes items).",
        ),
        now("frame", KeyType::Table("frame"), "Number of rows per claim, and their concurrency."),
    ],
};

pub(crate) const CURSOR: &KeyTable = &KeyTable {
    name: "cursor",
    title: "a cursor",
    required: &["claim"],
    open: true,
    words: &[
        now("kind", KeyType::Tool, "Kind of the tool that claims; default: postgres."),
        now("claim", KeyType::Text, "Statement that claims the next rows and returns them."),
        now("auth", KeyType::Any, "Name of a credential, or several credentials."),
    ],
};

pub(crate) const FRAME: &KeyTable = &KeyTable {
    name: "frame",
    title: "a frame",
    required: &[],
    open: false,
    words: &[
        now("max_rows", KeyType::Number, "Maximum number of rows per claim: `__frame_max_rows`."),
        now("row_concurrency", KeyType::Number, "Maximum number of rows at a time."),
        now("process", KeyType::OneOf(PROCESSES), "Run the tool once per row, or once per frame."),
        now("max_seconds", KeyType::Number, "Hint (no effect)."),
        now("max_bytes", KeyType::Number, "Hint (no effect)."),
        now("lease_seconds", KeyType::Number, "Hint (no effect)."),
        now("heartbeat_seconds", KeyType::Number, "Hint (no effect)."),
    ],
};

pub(crate) const NEXT: &KeyTable = &KeyTable {
    name: "router",
    title: "`next`",
    required: &["arcs"],
    open: false,
    words: &[
        now("arcs", KeyType::ListOf("arc"), "Arcs, in order."),
        now(
            "spec",
            KeyType::Table("router-spec"),
            "Number of arcs taken: the first that matches, or all.",
        ),
        old(
            "mode",
            KeyType::OneOf(ROUTER_MODES),
            "`spec.mode`",
            "Number of arcs taken: the first that matches, or all.",
        ),
    ],
};

pub(crate) const NEXT_SPEC: &KeyTable = &KeyTable {
    name: "router-spec",
    title: "the spec of `next`",
    required: &[],
    open: false,
    words: &[
        now(
            "mode",
            KeyType::OneOf(ROUTER_MODES),
            "`exclusive`: the first arc that holds. `inclusive`: all of them.",
        ),
        now(
            "on_no_match",
            KeyType::Text,
            "Reaction if no arc matches (no effect: the branch ends).",
        ),
    ],
};

pub(crate) const ARC: &KeyTable = &KeyTable {
    name: "arc",
    title: "an arc",
    required: &["step"],
    open: false,
    words: &[
        now("step", KeyType::Text, "Name of the next step."),
        now("when", KeyType::Condition, "Guard: the arc is taken only if this condition is true."),
        now("set", KeyType::Assignments, "Variables to write when the arc is taken."),
        now("desc", KeyType::Text, "Purpose of the arc."),
        now("description", KeyType::Text, "Purpose of the arc."),
        old("args", KeyType::FreeMap, "`set`", "Variables to write when the arc is taken."),
        old("input", KeyType::FreeMap, "`set`", "Variables to write when the arc is taken."),
        old("with", KeyType::FreeMap, "`set`", "Variables to write when the arc is taken."),
    ],
};

pub(crate) const TABLES: &[&KeyTable] = &[
    ROOT,
    METADATA,
    EXECUTOR,
    EXECUTOR_SPEC,
    limit::CONCURRENCY,
    EXPECT,
    notification::ON,
    notification::TARGET,
    notification::HTTP,
    notification::MAIL,
    notification::SLACK,
    STEP,
    limit::LIMIT,
    cache::CACHE,
    output::OUTPUT,
    output::STORE,
    output::SELECTED,
    STEP_SPEC,
    STEP_POLICY,
    TOOL,
    TOOL_SPEC,
    POLICY,
    RULE,
    THEN,
    RETRY,
    ADMIT_RULE,
    ALLOW,
    LOOP,
    LOOP_SPEC,
    CURSOR,
    FRAME,
    NEXT,
    NEXT_SPEC,
    ARC,
    inputs::INPUT,
];
