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

const OUTPUT_SCHEMA: &str = "The shape of the output, as JSON Schema: templates that read it are \
                             checked, and so are the mocked outputs of tests.";
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
        now("kind", KeyType::OneOf(&["Playbook"]), "What the document is."),
        now(
            "metadata",
            KeyType::Table("metadata"),
            "What the playbook is called and where it is kept.",
        ),
        now(
            "inputs",
            KeyType::Special("inputs"),
            "The inputs of the playbook: names, types and limits of what a start may give it.",
        ),
        now(
            "workload_schema",
            KeyType::Any,
            "The inputs as a JSON Schema of the workload, instead of `inputs`.",
        ),
        now(
            "workload",
            KeyType::FreeMap,
            "Default parameters. They are values: templates in them are not rendered.",
        ),
        now("workflow", KeyType::ListOf("step"), "The steps."),
        now(
            "workbook",
            KeyType::Special("workbook"),
            "Tasks that several steps use, with `kind: workbook`.",
        ),
        now("keychain", KeyType::Any, "Credentials the playbook needs."),
        now("executor", KeyType::Table("executor"), "How the playbook as a whole is run."),
        now("expect", KeyType::Table("expect"), "By when an execution should have ended."),
        now("on", KeyType::Table("on"), "Who is notified when something happens to an execution."),
        old("vars", KeyType::FreeMap, "`workload`", "Further default parameters."),
    ],
};

pub(crate) const METADATA: &KeyTable = &KeyTable {
    name: "metadata",
    title: "metadata",
    required: &["name"],
    open: true,
    words: &[
        now("name", KeyType::Text, "The playbook's name."),
        now("path", KeyType::Text, "Its place in the catalog; the name if left out."),
        now("description", KeyType::Text, "What it is for."),
        now(
            "labels",
            KeyType::FreeMap,
            "Labels of every execution, to find it by; values may hold templates.",
        ),
        now("tags", KeyType::Any, "More words to find it by."),
        now("version", KeyType::Any, "The author's own version; the catalog counts for itself."),
    ],
};

pub(crate) const EXECUTOR: &KeyTable = &KeyTable {
    name: "executor",
    title: "the executor",
    required: &[],
    open: false,
    words: &[
        now("kind", KeyType::Text, "Which runtime the author had in mind."),
        now("profile", KeyType::Text, "Which runtime the author had in mind."),
        now("version", KeyType::Any, "Its version."),
        now(
            "requires",
            KeyType::Any,
            "What it has to offer: the tools that workers of your own bring.",
        ),
        now(
            "spec",
            KeyType::Table("executor-spec"),
            "Where to start, where to end, and for how long.",
        ),
    ],
};

pub(crate) const EXECUTOR_SPEC: &KeyTable = &KeyTable {
    name: "executor-spec",
    title: "the executor's spec",
    required: &[],
    open: false,
    words: &[
        now(
            "entry_step",
            KeyType::Text,
            "The step to start with, instead of `start` or the first.",
        ),
        now("final_step", KeyType::Text, "The step to run once everything else has come to rest."),
        now(
            "no_next_is_error",
            KeyType::Truth,
            "A branch none of whose arcs match fails the execution.",
        ),
        now("timeout", KeyType::Duration, "How long an execution may take."),
        now("error_mode", KeyType::OneOf(ERROR_MODES), "Whether a tool's error fails its step."),
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
            "How many executions of the playbook run at a time.",
        ),
        now("policy", KeyType::Any, "Kept for other runtimes."),
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
        "After this time a running execution is late. It goes on; `timeout` would end it.",
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
            "The step's name: unique in the playbook, and how templates reach its output.",
        ),
        now("desc", KeyType::Text, "What the step is for."),
        now("description", KeyType::Text, "What the step is for."),
        now("when", KeyType::Condition, "The step is skipped unless this condition is true."),
        now("input", KeyType::FreeMap, "Variables for every task of the step."),
        now("loop", KeyType::Table("loop"), "Do the step once for each item."),
        now(
            "tool",
            KeyType::Special("tool-or-list"),
            "What the step does: one tool, or a list of them in order.",
        ),
        now("set", KeyType::Assignments, "Variables to write once the step has completed."),
        now("next", KeyType::Special("next"), "Where to go from here."),
        now("spec", KeyType::Table("step-spec"), "Timeout and admission."),
        now(
            "run",
            KeyType::OneOf(STEP_RUNS),
            "What a lost worker means: another attempt (`at_least_once`), or a failure of the step \
             with the error `worker_lost` (`at_most_once`).",
        ),
        now("timeout", KeyType::Duration, "How long the step may take."),
        now("limit", KeyType::Table("limit"), "A limit that playbooks share by its name."),
        now("cache", KeyType::Table("cache"), "Reuses an earlier output of the step."),
        now("output", KeyType::Table("output"), "How templates see what the step produced."),
        now("output_select", KeyType::Any, "Parts of the output that get a name of their own."),
        now("output_schema", KeyType::Special("input-or-type"), OUTPUT_SCHEMA),
        old("args", KeyType::FreeMap, "`input`", "Variables for every task of the step."),
        old("with", KeyType::FreeMap, "`input`", "Variables for every task of the step."),
        old(
            "type",
            KeyType::Tool,
            "`tool: {kind: …}`",
            "The tool's kind, its settings next to it.",
        ),
        old("call", KeyType::FreeMap, "`tool: {kind: …}`", "The tool."),
        old(
            "retry",
            KeyType::Special("retry-or-count"),
            RULES_INSTEAD,
            "How often to try each task.",
        ),
        old("set_ctx", KeyType::FreeMap, "`set` with keys `ctx.…`", "Variables of the execution."),
        old(
            "set_iter",
            KeyType::FreeMap,
            "`set` with keys `iter.…`",
            "Variables of the iteration.",
        ),
        old("set_vars", KeyType::FreeMap, "`set` with keys `ctx.…`", "Variables of the execution."),
        old("vars", KeyType::FreeMap, "`set` with keys `ctx.…`", "Variables of the execution."),
        ignored(
            "sink",
            KeyType::Any,
            "store results with a tool of their own",
            "Where results went.",
        ),
        ignored(
            "save",
            KeyType::Any,
            "store results with a tool of their own",
            "Where results went.",
        ),
        ignored(
            "on_error",
            KeyType::Any,
            "use `spec.policy.rules` of the tool, or an arc on failure",
            "What an error meant.",
        ),
    ],
};

pub(crate) const STEP_SPEC: &KeyTable = &KeyTable {
    name: "step-spec",
    title: "a step's spec",
    required: &[],
    open: false,
    words: &[
        now("timeout", KeyType::Duration, "How long the step may take."),
        now("next_mode", KeyType::OneOf(ROUTER_MODES), "How a list under `next` is read."),
        now("policy", KeyType::Table("step-policy"), "Whether the step may be entered."),
        ignored(
            "on_error",
            KeyType::Any,
            "use `spec.policy.rules` of the tool, or an arc on failure",
            "What an error meant.",
        ),
    ],
};

pub(crate) const STEP_POLICY: &KeyTable = &KeyTable {
    name: "step-policy",
    title: "a step's policy",
    required: &[],
    open: false,
    words: &[
        now("admit", KeyType::Special("admit"), "Rules that let the step in or pass it over."),
        old(
            "rules",
            KeyType::Special("rules"),
            RULES_INSTEAD,
            "What follows from how a task ended.",
        ),
    ],
};

pub(crate) const TOOL: &KeyTable = &KeyTable {
    name: "tool",
    title: "a tool",
    required: &["kind"],
    open: true,
    words: &[
        now("kind", KeyType::Tool, "Which tool."),
        now(
            "name",
            KeyType::Text,
            "The task's label in a list; the workbook task for `kind: workbook`.",
        ),
        now("input", KeyType::Any, "Variables for this task."),
        now("set", KeyType::Assignments, "Variables to write once the task has succeeded."),
        now("spec", KeyType::Table("tool-spec"), "Rules for what follows from how the task ended."),
        now("timeout", KeyType::Duration, "How long the task may take."),
        now("timeout_seconds", KeyType::Number, "How long the task may take."),
        now("auth", KeyType::Any, "A credential's name, or credentials."),
        now("output_select", KeyType::Any, "Fields of the output to keep at hand."),
        now("output_schema", KeyType::Special("input-or-type"), OUTPUT_SCHEMA),
        old("type", KeyType::Tool, "`kind`", "Which tool."),
        old("args", KeyType::Any, "`input`", "Variables for this task."),
        old("with", KeyType::Any, "`input`", "Variables for this task."),
        old(
            "retry",
            KeyType::Special("retry-or-count"),
            "`spec.policy.rules`",
            "How often to try.",
        ),
        old("set_ctx", KeyType::FreeMap, "`set` with keys `ctx.…`", "Variables of the execution."),
        old(
            "set_iter",
            KeyType::FreeMap,
            "`set` with keys `iter.…`",
            "Variables of the iteration.",
        ),
        old("set_vars", KeyType::FreeMap, "`set` with keys `ctx.…`", "Variables of the execution."),
        ignored(
            "eval",
            KeyType::Any,
            "use `spec.policy.rules`",
            "What followed from how the task ended.",
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
            "Rules, looked at in order once the task has ended.",
        ),
        now("timeout", KeyType::Duration, "How long the task may take."),
        now(
            "result",
            KeyType::Any,
            "Hints for storing the output; large output is stored by size on its own.",
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
        "The first rule whose condition holds decides.",
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
            "Whether the rule applies; `output` is how the task ended.",
        ),
        now("then", KeyType::Table("then"), "What follows."),
        now("else", KeyType::Special("else"), "A rule that always applies."),
        old("expr", KeyType::Condition, "`when`", "Whether the rule applies."),
    ],
};

pub(crate) const THEN: &KeyTable = &KeyTable {
    name: "then",
    title: "`then`",
    required: &["do"],
    open: false,
    words: &[
        now("do", KeyType::OneOf(VERBS), "What to do next."),
        now("attempts", KeyType::Number, "How often to try in all, for `retry`. 3 if left out."),
        now("backoff", KeyType::OneOf(BACKOFFS), "How the delay grows, for `retry`."),
        now(
            "delay",
            KeyType::Duration,
            "How long to wait before the next attempt. A second if left out.",
        ),
        now("max_delay", KeyType::Duration, "No delay grows beyond this."),
        now("to", KeyType::Text, "The label to go on with, for `jump`, or `previous`."),
        now("set", KeyType::Assignments, "Variables to write."),
        old("target", KeyType::Text, "`to`", "The label to go on with."),
        old("set_ctx", KeyType::FreeMap, "`set` with keys `ctx.…`", "Variables of the execution."),
        old(
            "set_iter",
            KeyType::FreeMap,
            "`set` with keys `iter.…`",
            "Variables of the iteration.",
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
        now("attempts", KeyType::Number, "How often to try in all."),
        now("max_attempts", KeyType::Number, "How often to try in all."),
        now("max_retries", KeyType::Integer, "How often to try again."),
        now("delay", KeyType::Duration, "How long to wait before the next attempt."),
        now("initial_delay", KeyType::Duration, "How long to wait before the second attempt."),
        now("delay_seconds", KeyType::Number, "How long to wait before the next attempt."),
        now("initial_delay_ms", KeyType::Number, "How long to wait before the second attempt."),
        now("max_delay", KeyType::Duration, "No delay grows beyond this."),
        now("backoff", KeyType::OneOf(BACKOFFS), "How the delay grows."),
        now(
            "backoff_multiplier",
            KeyType::Number,
            "By how much the delay grows: once is constant, else it doubles.",
        ),
        now("when", KeyType::Condition, "Which failures are tried again."),
        now("retry_when", KeyType::Condition, "Which failures are tried again."),
        now("on_error", KeyType::Table("retry"), "The same, one level down."),
        ignored("stop_when", KeyType::Any, "use `spec.policy.rules` of the tool", "When to stop."),
        ignored(
            "on_success",
            KeyType::Any,
            "use a `jump` in `spec.policy.rules`",
            "When to go on.",
        ),
    ],
};

pub(crate) const ADMIT_RULE: &KeyTable = &KeyTable {
    name: "admit-rule",
    title: "an admission rule",
    required: &[],
    open: false,
    words: &[
        now("when", KeyType::Condition, "Whether the rule applies."),
        now("then", KeyType::Table("allow"), "Whether the step may be entered."),
        now("else", KeyType::Special("admit-else"), "A rule that always applies."),
    ],
};

pub(crate) const ALLOW: &KeyTable = &KeyTable {
    name: "allow",
    title: "`then`",
    required: &["allow"],
    open: false,
    words: &[now("allow", KeyType::Truth, "Whether the step may be entered.")],
};

pub(crate) const LOOP: &KeyTable = &KeyTable {
    name: "loop",
    title: "a loop",
    required: &["iterator"],
    open: false,
    words: &[
        now(
            "in",
            KeyType::Any,
            "The items: a list, a map, a number, or a template for one of them.",
        ),
        now("iterator", KeyType::Text, "The name an item has in templates."),
        now(
            "cursor",
            KeyType::Table("cursor"),
            "A tool that claims the next rows, instead of `in`.",
        ),
        now("spec", KeyType::Table("loop-spec"), "How the items are worked on."),
        old("collection", KeyType::Any, "`in`", "The items."),
        old("items", KeyType::Any, "`in`", "The items."),
        old("element", KeyType::Text, "`iterator`", "The name an item has in templates."),
        old(
            "mode",
            KeyType::OneOf(LOOP_MODES),
            "`spec.mode`",
            "One after another, or side by side.",
        ),
        old("max_in_flight", KeyType::Number, "`spec.max_in_flight`", "How many items at once."),
        ignored(
            "pagination",
            KeyType::Any,
            "use a `jump` in `spec.policy.rules`, or an arc back",
            "How pages were read.",
        ),
    ],
};

pub(crate) const LOOP_SPEC: &KeyTable = &KeyTable {
    name: "loop-spec",
    title: "a loop's spec",
    required: &[],
    open: false,
    words: &[
        now("mode", KeyType::OneOf(LOOP_MODES), "One after another, side by side, or by claims."),
        now("max_in_flight", KeyType::Number, "How many items are worked on at once."),
        now("policy", KeyType::Any, "Where the items are worked on; any worker may take any."),
        now(
            "frame",
            KeyType::Table("frame"),
            "How many rows a claim takes, and how they are worked on.",
        ),
    ],
};

pub(crate) const CURSOR: &KeyTable = &KeyTable {
    name: "cursor",
    title: "a cursor",
    required: &["claim"],
    open: true,
    words: &[
        now("kind", KeyType::Tool, "Which tool claims; postgres if left out."),
        now("claim", KeyType::Text, "A statement that takes the next rows and returns them."),
        now("auth", KeyType::Any, "A credential's name, or credentials."),
    ],
};

pub(crate) const FRAME: &KeyTable = &KeyTable {
    name: "frame",
    title: "a frame",
    required: &[],
    open: false,
    words: &[
        now("max_rows", KeyType::Number, "How many rows one claim asks for: `__frame_max_rows`."),
        now("row_concurrency", KeyType::Number, "How many rows are worked on at once."),
        now(
            "process",
            KeyType::OneOf(PROCESSES),
            "Whether the tool runs once per row or once per frame.",
        ),
        now("max_seconds", KeyType::Number, "A hint."),
        now("max_bytes", KeyType::Number, "A hint."),
        now("lease_seconds", KeyType::Number, "A hint."),
        now("heartbeat_seconds", KeyType::Number, "A hint."),
    ],
};

pub(crate) const NEXT: &KeyTable = &KeyTable {
    name: "router",
    title: "`next`",
    required: &["arcs"],
    open: false,
    words: &[
        now("arcs", KeyType::ListOf("arc"), "Where to go, in order."),
        now("spec", KeyType::Table("router-spec"), "Whether one arc is taken or all that hold."),
        old(
            "mode",
            KeyType::OneOf(ROUTER_MODES),
            "`spec.mode`",
            "Whether one arc is taken or all that hold.",
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
        now("on_no_match", KeyType::Text, "What no match means; the branch ends."),
    ],
};

pub(crate) const ARC: &KeyTable = &KeyTable {
    name: "arc",
    title: "an arc",
    required: &["step"],
    open: false,
    words: &[
        now("step", KeyType::Text, "The step to go to."),
        now("when", KeyType::Condition, "The guard: the arc is taken only if this holds."),
        now("set", KeyType::Assignments, "Variables to write when the arc is taken."),
        now("desc", KeyType::Text, "What the arc is for."),
        now("description", KeyType::Text, "What the arc is for."),
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
