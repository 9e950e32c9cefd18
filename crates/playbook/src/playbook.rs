//! A playbook as the engine reads it: validated, with every name resolved and every template parsed.
//!
//! What a document may say in several ways is said here in one: a single tool is a list of one
//! task, `retry` is a rule, `next` is a router, old spellings are gone.

use std::time::Duration;

use noetl_expr::{Condition, Template};
use noetl_model::{ErrorMode, LoopMode, StepName, ToolKind};
use serde_json::{Map, Value};

use crate::graph::Graph;

/// A step's place in [`Playbook::steps`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StepIndex(pub usize);

#[derive(Debug, Clone)]
pub struct Playbook {
    pub metadata: Metadata,
    /// Default parameters. Never rendered.
    pub workload: Map<String, Value>,
    pub steps: Vec<Step>,
    pub entry: StepIndex,
    /// Entered once everything else has come to rest.
    pub final_step: Option<StepIndex>,
    /// A branch that ends at a step with arcs of which none matched fails the execution.
    pub no_next_is_error: bool,
    /// How long an execution may take.
    pub timeout: Option<Duration>,
    /// What the document asks for; who starts the execution may ask otherwise.
    pub error_mode: Option<ErrorMode>,
    /// Credential declarations, as written.
    pub keychain: Vec<Value>,
    pub graph: Graph,
}

#[derive(Debug, Clone)]
pub struct Metadata {
    pub name: String,
    /// The catalog path: `metadata.path`, else the name.
    pub path: String,
    pub description: Option<String>,
    /// Everything under `metadata`, as written.
    pub all: Map<String, Value>,
}

#[derive(Debug, Clone)]
pub struct Step {
    pub name: StepName,
    pub description: Option<String>,
    /// Passed over when false.
    pub when: Option<Condition>,
    /// The first rule whose condition holds decides; no match admits.
    pub admit: Vec<AdmitRule>,
    /// Step-level `input` (or `args`): variables for every task of the step.
    pub input: Option<Template>,
    /// What the step does, once or per item of its loop. Never empty.
    pub tasks: Vec<Task>,
    pub form: BodyForm,
    pub repeat: Option<Loop>,
    /// Written once the step has completed, before its arcs are looked at.
    pub set: Vec<Assignment>,
    pub next: Router,
    pub timeout: Option<Duration>,
    pub output: OutputView,
}

/// How templates see what a step produced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputView {
    /// Parts that have a name of their own on the step's output.
    pub selected: Vec<Selected>,
    /// Output whose JSON is longer than so many bytes shows where it is kept: `_ref`, `_store`,
    /// `_preview`.
    pub reference_above: u64,
    /// How many bytes `_preview` shows.
    pub preview_max: usize,
    /// What `_store` says, if not by size.
    pub store: Option<StoreWord>,
    /// What `_ref.scope` says.
    pub scope: ScopeWord,
    /// Another name of the output, besides the step's.
    pub name: Option<String>,
}

/// The author's word for who may read a large output. All that is kept of an execution is kept
/// together, so it changes nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ScopeWord {
    Step,
    #[default]
    Execution,
    Workflow,
    Permanent,
}

impl ScopeWord {
    pub const fn as_str(self) -> &'static str {
        match self {
            ScopeWord::Step => "step",
            ScopeWord::Execution => "execution",
            ScopeWord::Workflow => "workflow",
            ScopeWord::Permanent => "permanent",
        }
    }
}

/// The author's word for where a large output is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreWord {
    Memory,
    Kv,
    Disk,
    Db,
    Eventlog,
}

impl StoreWord {
    pub const fn as_str(self) -> &'static str {
        match self {
            StoreWord::Memory => "memory",
            StoreWord::Kv => "kv",
            StoreWord::Disk => "disk",
            StoreWord::Db => "db",
            StoreWord::Eventlog => "eventlog",
        }
    }
}

impl Default for OutputView {
    fn default() -> Self {
        Self {
            selected: Vec::new(),
            reference_above: 64 * 1024,
            preview_max: 1024,
            store: None,
            scope: ScopeWord::default(),
            name: None,
        }
    }
}

/// A part of an output, and what it is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selected {
    pub name: String,
    /// Keys of maps and places in lists.
    pub path: Vec<String>,
}

/// How the tasks were written, which decides the shape of the step's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyForm {
    /// One tool: the step's output is the tool's.
    Single,
    /// A list: the step's output has one key per label.
    Pipeline,
}

#[derive(Debug, Clone)]
pub struct AdmitRule {
    /// `None` always holds: an `else`.
    pub when: Option<Condition>,
    pub allow: bool,
}

#[derive(Debug, Clone)]
pub struct Task {
    /// The item's `name` or key, else `task_<index>`; the step's name for a single tool.
    pub label: String,
    pub tool: ToolKind,
    /// Everything the tool itself reads (`input` included), templates unrendered. Without `kind`,
    /// `name`, `set`, `spec`, `retry`.
    pub config: Template,
    pub set: Vec<Assignment>,
    /// Rules of `spec.policy`, then what `retry` means.
    pub rules: Vec<Rule>,
    pub timeout: Option<Duration>,
}

/// `scope.key: value` of a `set` block.
#[derive(Debug, Clone)]
pub struct Assignment {
    pub scope: AssignmentScope,
    /// Without the scope's prefix. Dots make nested maps.
    pub key: String,
    pub value: Template,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AssignmentScope {
    Ctx,
    Iter,
    Step,
    /// No prefix: the innermost variables of where it is written.
    Bare,
}

/// One rule of `spec.policy.rules`.
#[derive(Debug, Clone)]
pub struct Rule {
    /// `None` always holds: an `else`.
    pub when: Option<Condition>,
    pub set: Vec<Assignment>,
    pub verdict: Verdict,
}

#[derive(Debug, Clone)]
pub enum Verdict {
    /// Whatever happened, the task has succeeded.
    Continue,
    Retry(Retry),
    /// Go on with the task at this index of [`Step::tasks`].
    Jump(usize),
    /// The rest of the pipeline is left out; the step succeeds.
    Break,
    Fail,
}

/// How often a rule may have a task done, and how long it may wait in between.
pub const ATTEMPTS_MAX: u32 = 100;
pub const DELAY_MAX: Duration = Duration::from_secs(3600);

/// A setting as written, or a template that gives it when it is needed.
#[derive(Debug, Clone)]
pub enum Amount<T> {
    Said(T),
    Rendered(Template),
}

#[derive(Debug, Clone)]
pub struct Retry {
    /// How often the task is done in all, the first time included.
    pub attempts: Amount<u32>,
    pub backoff: Backoff,
    pub delay: Amount<Duration>,
    /// No delay grows beyond this.
    pub delay_max: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backoff {
    Constant,
    Linear,
    Exponential,
}

#[derive(Debug, Clone)]
pub struct Loop {
    pub source: LoopSource,
    /// The name an item is bound to.
    pub iterator: String,
    pub mode: LoopMode,
    /// A number, perhaps templated. `None`: the default of the mode.
    pub in_flight_max: Option<Template>,
    pub frame: Frame,
}

#[derive(Debug, Clone)]
pub enum LoopSource {
    /// `in`: a list, a map, a number, or a template for one.
    In(Template),
    /// `cursor`: a tool that claims the next rows.
    Cursor(Box<Task>),
}

/// How a cursor loop takes its rows.
#[derive(Debug, Clone)]
pub struct Frame {
    /// How many rows one claim asks for: `__frame_max_rows` in the claim.
    pub max_rows: Option<Template>,
    /// How many rows are worked on at once.
    pub row_concurrency: Option<Template>,
    pub process: FrameProcess,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameProcess {
    /// The body runs once per row.
    Row,
    /// The body runs once per frame, with `frame.rows`.
    Frame,
}

#[derive(Debug, Clone)]
pub struct Router {
    pub mode: RouterMode,
    pub arcs: Vec<Arc>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouterMode {
    /// The first arc whose guard holds.
    Exclusive,
    /// Every arc whose guard holds.
    Inclusive,
}

#[derive(Debug, Clone)]
pub struct Arc {
    pub to: StepIndex,
    pub when: Option<Condition>,
    pub set: Vec<Assignment>,
    /// Whether the guard asks how the step ended, so that it may take care of a failure.
    pub tests_failure: bool,
}

impl Playbook {
    pub fn step(&self, index: StepIndex) -> &Step {
        &self.steps[index.0]
    }

    pub fn index_of(&self, name: &str) -> Option<StepIndex> {
        self.graph.index_of(name)
    }
}
