//! A playbook as the engine reads it: validated, with every name resolved and every template
//! parsed.
//!
//! Alternative spellings of a document are normalised: a single tool is a list of one task, `retry`
//! is a rule, `next` is a router, old spellings are gone.

use std::time::Duration;

use noetl_expr::{Condition, MissingValues, Template};
use noetl_model::{ErrorMode, LimitDefinition, LoopMode, OnConflict, Priority, StepName, ToolKind};
use serde_json::{Map, Value};

use crate::graph::Graph;
use crate::inputs::{DeclaredInputs, ValueRule};
use crate::notification::NoticeRules;

/// The index of a step in [`Playbook::steps`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StepIndex(pub usize);

#[derive(Debug, Clone)]
pub struct Playbook {
    pub metadata: Metadata,
    /// Default parameters, with the defaults of the inputs. Never rendered.
    pub workload: Map<String, Value>,
    /// The declared inputs; `None` if a start may give any values.
    pub inputs: Option<DeclaredInputs>,
    pub steps: Vec<Step>,
    pub entry: StepIndex,
    /// The step entered after all other steps have ended.
    pub final_step: Option<StepIndex>,
    /// True if a branch fails the execution when it ends at a step with arcs of which none matched.
    pub no_next_is_error: bool,
    /// The time limit of an execution.
    pub timeout: Option<Duration>,
    /// The time after which a running execution is late.
    pub expected_within: Option<Duration>,
    /// The error mode of the document; a start request may override it.
    pub error_mode: Option<ErrorMode>,
    /// The treatment of missing values in templates.
    pub missing: MissingValues,
    /// The priority of the document; a start request may override it.
    pub priority: Option<Priority>,
    /// The limit on executions of the playbook at a time.
    pub concurrency: Option<Concurrency>,
    /// Notifications about executions of this playbook.
    pub on: NoticeRules,
    /// Credential declarations, as written.
    pub keychain: Vec<Value>,
    pub graph: Graph,
}

/// The limit on executions of a playbook at a time.
#[derive(Debug, Clone)]
pub struct Concurrency {
    pub limit: u32,
    /// Executions with different values of this template do not count together.
    pub key: Option<Template>,
    pub on_conflict: OnConflict,
}

#[derive(Debug, Clone)]
pub struct Metadata {
    pub name: String,
    /// The catalog path: `metadata.path`, else the name.
    pub path: String,
    pub description: Option<String>,
    /// The labels of every execution, by key, rendered when it starts.
    pub labels: Vec<(String, Template)>,
    /// Everything under `metadata`, as written.
    pub all: Map<String, Value>,
}

#[derive(Debug, Clone)]
pub struct Step {
    pub name: StepName,
    pub description: Option<String>,
    /// If present and false, the step is skipped.
    pub when: Option<Condition>,
    /// The first rule whose condition holds decides; no match admits.
    pub admit: Vec<AdmitRule>,
    /// Step-level `input` (or `args`): variables for every task of the step.
    pub input: Option<Template>,
    /// The tasks that run once, or once per item of the loop. Never empty.
    pub tasks: Vec<Task>,
    pub form: BodyForm,
    pub repeat: Option<Loop>,
    /// Assignments made when the step has completed, before its arcs are evaluated.
    pub set: Vec<SetAssignment>,
    pub next: Router,
    pub timeout: Option<Duration>,
    /// The limit that each command of the step needs a slot of.
    pub limit: Option<LimitDefinition>,
    pub run: RunPromise,
    pub cache: Option<OutputCache>,
    pub output: OutputView,
    /// The declared shape of the step's output.
    pub output_schema: Option<ValueRule>,
}

impl Step {
    /// Returns the declared shape of the step's output: its own, or that of its only tool.
    pub fn output_rule(&self) -> Option<&ValueRule> {
        let of_tool = || match (self.form, self.tasks.as_slice()) {
            (BodyForm::Single, [task]) if self.repeat.is_none() => task.output_schema.as_ref(),
            (BodyForm::Single | BodyForm::Pipeline, _) => None,
        };
        self.output_schema.as_ref().or_else(of_tool)
    }
}

/// The number of times that a command of a step may run if its worker is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RunPromise {
    /// Another worker runs the command again.
    #[default]
    AtLeastOnce,
    /// The command fails; nobody knows if it took effect.
    AtMostOnce,
}

/// The reuse of a step's output by later commands of the step, in any execution.
#[derive(Debug, Clone)]
pub struct OutputCache {
    /// Commands with equal values reuse each other's output. A missing value is an error.
    pub key: Template,
    /// The greatest age of an output that is reused.
    pub ttl: Duration,
}

/// The view of a step's output in templates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputView {
    /// Parts of the output that have names of their own.
    pub selected: Vec<Selected>,
    /// Output whose JSON is longer than this many bytes is shown by reference: `_ref`, `_store`,
    /// `_preview`.
    pub reference_above: u64,
    /// The most bytes in `_preview`.
    pub preview_max: usize,
    /// The value of `_store`; chosen by size if `None`.
    pub store: Option<StoreWord>,
    /// The value of `_ref.scope`.
    pub scope: ScopeWord,
    /// An additional name of the output, besides the step's name.
    pub name: Option<String>,
}

/// The `scope` of a large output, as written. Only shown as `_ref.scope`: outputs of an execution
/// are always stored together.
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

/// The storage tier of a large output, as written.
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

/// A part of an output, and its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selected {
    pub name: String,
    /// Keys of maps and indexes of lists.
    pub path: Vec<String>,
}

/// The form of the tasks in the document, which decides the shape of the step's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyForm {
    /// One tool: the step's output is the tool's.
    Single,
    /// A list: the step's output has one key per label.
    Pipeline,
}

#[derive(Debug, Clone)]
pub struct AdmitRule {
    /// The condition; `None` always holds (`else`).
    pub when: Option<Condition>,
    pub allow: bool,
}

#[derive(Debug, Clone)]
pub struct Task {
    /// The item's `name` or key, else `task_<index>`; the step's name for a single tool.
    pub label: String,
    pub tool: ToolKind,
    /// The settings that the tool itself reads (`input` included), templates unrendered. Without
    /// `kind`, `name`, `set`, `spec`, `retry`.
    pub config: Template,
    pub set: Vec<SetAssignment>,
    /// The rules of `spec.policy`, then the rule made from `retry`.
    pub rules: Vec<Rule>,
    pub timeout: Option<Duration>,
    /// The declared shape of the task's output.
    pub output_schema: Option<ValueRule>,
}

/// An entry `scope.key: value` of a `set` block.
#[derive(Debug, Clone)]
pub struct SetAssignment {
    pub scope: AssignmentScope,
    /// The target without the scope's prefix. Dots make nested maps.
    pub key: String,
    pub value: Template,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AssignmentScope {
    Ctx,
    Iter,
    Step,
    /// No prefix: the innermost variables at the place of the assignment.
    Bare,
}

/// One rule of `spec.policy.rules`.
#[derive(Debug, Clone)]
pub struct Rule {
    /// The condition; `None` always holds (`else`).
    pub when: Option<Condition>,
    pub set: Vec<SetAssignment>,
    pub action: RuleAction,
}

#[derive(Debug, Clone)]
pub enum RuleAction {
    /// The task counts as succeeded, whatever its outcome.
    Continue,
    Retry(Retry),
    /// Continue with the task at this index of [`Step::tasks`].
    Jump(usize),
    /// Skip the rest of the pipeline; the step succeeds.
    Break,
    Fail,
}

/// The limits of a retry rule: number of attempts, and delay between two.
pub const ATTEMPTS_MAX: u32 = 100;
pub const DELAY_MAX: Duration = Duration::from_secs(3600);

/// A literal value, or a template that is rendered when the value is needed.
#[derive(Debug, Clone)]
pub enum Amount<T> {
    Literal(T),
    Rendered(Template),
}

#[derive(Debug, Clone)]
pub struct Retry {
    /// The number of attempts, the first one included.
    pub attempts: Amount<u32>,
    pub backoff: RetryBackoff,
    pub delay: Amount<Duration>,
    /// The upper limit of a growing delay.
    pub delay_max: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryBackoff {
    Constant,
    Linear,
    Exponential,
}

#[derive(Debug, Clone)]
pub struct Loop {
    pub source: LoopSource,
    /// The variable that holds the current item.
    pub iterator: String,
    pub mode: LoopMode,
    /// A number, perhaps templated; `None` for the default of the mode.
    pub in_flight_max: Option<Template>,
    pub frame: FrameSettings,
}

#[derive(Debug, Clone)]
pub enum LoopSource {
    /// `in`: a list, a map, a number, or a template for one.
    In(Template),
    /// `cursor`: a tool that claims the next rows.
    Cursor(Box<Task>),
}

/// The settings by which a cursor loop claims and processes rows.
#[derive(Debug, Clone)]
pub struct FrameSettings {
    /// The most rows that one claim asks for: `__frame_max_rows` in the claim.
    pub max_rows: Option<Template>,
    /// The number of rows processed concurrently.
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
    /// Take the first arc whose guard holds.
    Exclusive,
    /// Take every arc whose guard holds.
    Inclusive,
}

#[derive(Debug, Clone)]
pub struct Arc {
    pub to: StepIndex,
    pub when: Option<Condition>,
    pub set: Vec<SetAssignment>,
    /// True if the guard reads the outcome of the step, so that the arc can handle a failure.
    pub tests_failure: bool,
}

impl Playbook {
    pub fn step(&self, index: StepIndex) -> &Step {
        &self.steps[index.0]
    }

    /// Returns all arcs with the step they leave, in the order of the document.
    pub fn arcs(&self) -> impl Iterator<Item = (StepIndex, &Arc)> {
        let steps = self.steps.iter().enumerate();
        steps
            .flat_map(|(index, step)| step.next.arcs.iter().map(move |arc| (StepIndex(index), arc)))
    }

    pub fn index_of(&self, name: &str) -> Option<StepIndex> {
        self.graph.index_of(name)
    }
}
