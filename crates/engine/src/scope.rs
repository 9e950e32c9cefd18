//! The variables that templates can read at each point of an execution.
//!
//! Names are looked up from the inside out: values of the point (`output`, `event`), the loop
//! item, the pipeline's tasks and variables, `ctx`, finished steps, the workload. Only values that
//! a template mentions are fetched, and of maps only the mentioned parts.

mod copies;
mod view;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::sync::{Arc, LazyLock};

use noetl_expr::{Condition, RenderError, Template};
use noetl_model::{
    Bindings, Digest, ErrorKind, ItemSource, Origin, Payload, RunId, SEALED, SealedMark, StepName,
    ToolError, ToolKind,
};
use noetl_playbook::{FrameProcess, OutputView, Step};
use serde_json::{Map, Value, json};

use crate::state::{LoopItem, LoopRun, Pipeline, Run, RunBody, SetVariables, TaskResult};
use crate::value::put_at;
use crate::{DecisionArgs, Execution};

pub(crate) use copies::TemplateWork;
use view::View;
pub(crate) use view::{EndWay, StatusSpelling, StepEnd, failed_result};

/// The reason why a template could not be evaluated.
#[derive(Debug)]
pub(crate) enum EvalError {
    /// Values stored by reference are missing; the whole decision is repeated with them.
    Needs(BTreeSet<Digest>),
    /// The template does not work with these values.
    Fails(ToolError),
    /// The templates of the decision exceed the work limit.
    Exceeded { step: Option<StepName>, what: String },
}

impl EvalError {
    pub(crate) fn template(what: impl Display, message: impl Display) -> Self {
        EvalError::Fails(ToolError::new(ErrorKind::Template, format!("{what}: {message}")))
    }
}

/// The point of execution at which a template is evaluated.
#[derive(Debug, Clone, Copy)]
pub(crate) enum EvalPoint<'a> {
    /// Before a step or a task begins.
    Before,
    /// A task's `set` after its end: `output` is the task's output.
    TaskSet(&'a TaskResult),
    /// A task's rules after its end: `output` also has the status and the error.
    Rule { result: &'a TaskResult, tool: ToolKind, retry: u32 },
    /// A step's `set` and arcs after its end.
    StepEnd(&'a StepEnd<'a>),
}

/// The variables visible at a place in an execution.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExecutionScope<'a> {
    pub(crate) state: &'a Execution,
    pub(crate) given: DecisionArgs<'a>,
    pub(crate) work: &'a TemplateWork,
    pub(crate) run: Option<RunId>,
    pub(crate) item: Option<u64>,
    pub(crate) point: EvalPoint<'a>,
}

impl<'a> ExecutionScope<'a> {
    /// Returns the scope of the execution as a whole.
    pub(crate) fn outside(
        state: &'a Execution,
        given: DecisionArgs<'a>,
        work: &'a TemplateWork,
    ) -> Self {
        Self { state, given, work, run: None, item: None, point: EvalPoint::Before }
    }

    pub(crate) fn inside(self, run: RunId, item: Option<u64>) -> Self {
        Self { run: Some(run), item, ..self }
    }

    /// Renders a template; `what` names it in an error.
    pub(crate) fn render(
        self,
        what: impl Display,
        template: &Template,
    ) -> Result<Value, EvalError> {
        let variables = self.fetch(template.variables(), StatusSpelling::default())?;
        let rendered = template.render_within(&variables, &self.work.budget);
        let rendered = self.within_budget(&what, rendered)?;
        if quotes_sealed(&rendered) {
            let message = "a secret input is a part of a text, which only a tool may make; pass it on \
                           whole, as in `{{ workload.token }}`";
            return Err(EvalError::template(what, message));
        }
        Ok(rendered)
    }

    /// Renders a template that reads one path, with the spelling of a condition.
    pub(crate) fn read(self, path: &Template, words: StatusSpelling) -> Result<Value, EvalError> {
        let variables = self.fetch(path.variables(), words)?;
        self.within_budget("a value", path.render_within(&variables, &self.work.budget))
    }

    /// True if the condition holds; `what` names it in an error.
    pub(crate) fn holds(
        self,
        what: impl Display,
        condition: &Condition,
    ) -> Result<bool, EvalError> {
        let variables = self.fetch(condition.variables(), StatusSpelling::of(condition))?;
        self.within_budget(what, condition.holds_within(&variables, &self.work.budget))
    }

    /// Returns the values that a condition mentions and that are not loaded.
    pub(crate) fn lacks(self, condition: &Condition) -> BTreeSet<Digest> {
        match self.fetch(condition.variables(), StatusSpelling::of(condition)) {
            Err(EvalError::Needs(needs)) => needs,
            Ok(_) | Err(EvalError::Fails(_) | EvalError::Exceeded { .. }) => BTreeSet::new(),
        }
    }

    fn within_budget<T>(
        self,
        what: impl Display,
        result: Result<T, RenderError>,
    ) -> Result<T, EvalError> {
        if self.work.budget.is_exceeded() {
            let step = self.current_run().map(|run| run.step.clone());
            return Err(EvalError::Exceeded { step, what: what.to_string() });
        }
        result.map_err(|error| EvalError::template(what, error))
    }

    /// Returns the values of some variables; large ones stay references.
    pub(crate) fn bind(self, variables: &BTreeSet<String>) -> Result<Bindings, EvalError> {
        let reader = ScopeReader {
            scope: self,
            words: StatusSpelling::default(),
            needs: RefCell::default(),
        };
        let mut bindings = BTreeMap::new();
        for (name, paths) in by_root(variables) {
            if let Some(payload) = reader.binding(name, &paths) {
                bindings.insert(name.to_owned(), payload);
            }
        }
        reader.finish(Bindings(bindings))
    }

    /// Returns the names of all steps with a record, for code that may read any of them.
    pub(crate) fn finished_steps(self) -> impl Iterator<Item = &'a str> {
        self.state.steps.keys().map(noetl_model::StepName::as_str)
    }

    fn fetch(
        self,
        variables: &BTreeSet<String>,
        words: StatusSpelling,
    ) -> Result<FetchedVariables, EvalError> {
        let reader = ScopeReader { scope: self, words, needs: RefCell::default() };
        let mut fetched = BTreeMap::new();
        for (name, paths) in by_root(variables) {
            if let Some(value) = reader.value(name, &paths) {
                fetched.insert(name.to_owned(), value);
            }
        }
        reader.finish(FetchedVariables(fetched))
    }

    fn current_run(self) -> Option<&'a Run> {
        self.run.and_then(|run| self.state.runs.get(&run))
    }

    fn current_loop(self) -> Option<(&'a LoopRun, u64)> {
        match (&self.current_run()?.body, self.item) {
            (RunBody::Loop(repeat), Some(index)) => Some((repeat, index)),
            (RunBody::Loop(_) | RunBody::Tasks(_), _) => None,
        }
    }

    fn current_item(self) -> Option<&'a LoopItem> {
        let (repeat, index) = self.current_loop()?;
        repeat.open.get(&index)
    }

    fn current_pipeline(self) -> Option<&'a Pipeline> {
        match (&self.current_run()?.body, self.item) {
            (RunBody::Tasks(pipeline), _) => Some(pipeline),
            (RunBody::Loop(_), _) => self.current_item().map(|item| &item.pipeline),
        }
    }

    fn current_step(self) -> Option<&'a Step> {
        let name = self.current_run()?.step.as_str();
        self.given.playbook.index_of(name).map(|index| self.given.playbook.step(index))
    }
}

/// True if a text within a value contains the written form of a sealed value.
fn quotes_sealed(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
        Value::String(text) => text.contains(SEALED),
        Value::Array(items) => items.iter().any(quotes_sealed),
        Value::Object(_) if SealedMark::of(value).is_some() => false,
        Value::Object(fields) => fields.values().any(quotes_sealed),
    }
}

/// Variables fetched for one evaluation.
struct FetchedVariables(BTreeMap<String, Arc<Value>>);

impl noetl_expr::VariableSource for FetchedVariables {
    fn get(&self, name: &str) -> Option<Arc<Value>> {
        self.0.get(name).cloned()
    }
}

/// Returns copies of the variables; large values stay references.
fn copied(variables: Option<&SetVariables>) -> impl Iterator<Item = (String, Payload)> {
    variables.into_iter().flatten().map(|(name, value)| (name.clone(), value.clone()))
}

/// Returns the paths mentioned below each variable; an empty path means the whole variable.
fn by_root(variables: &BTreeSet<String>) -> BTreeMap<&str, Vec<Vec<&str>>> {
    let mut roots: BTreeMap<&str, Vec<Vec<&str>>> = BTreeMap::new();
    for variable in variables {
        let mut segments = variable.split('.');
        let root = segments.next().unwrap_or_default();
        roots.entry(root).or_default().push(segments.collect());
    }
    roots
}

/// Looks up names and collects the digests of values that must be loaded first.
struct ScopeReader<'a> {
    scope: ExecutionScope<'a>,
    words: StatusSpelling,
    needs: RefCell<BTreeSet<Digest>>,
}

impl<'a> ScopeReader<'a> {
    fn finish<T>(self, found: T) -> Result<T, EvalError> {
        let needs = self.needs.into_inner();
        if needs.is_empty() { Ok(found) } else { Err(EvalError::Needs(needs)) }
    }

    fn binding(&self, name: &str, paths: &[Vec<&str>]) -> Option<Payload> {
        match self.view(name)? {
            View::Stored(payload) | View::Variable(payload) if paths.iter().any(Vec::is_empty) => {
                Some(payload.clone())
            }
            view => self.pruned(&view, paths).map(Payload::Inline),
        }
    }

    fn value(&self, name: &str, paths: &[Vec<&str>]) -> Option<Arc<Value>> {
        let view = self.view(name)?;
        view.shared(self, paths).or_else(|| self.pruned(&view, paths))
    }

    /// Returns the requested parts of a view, at their paths; large copies are reused.
    fn pruned(&self, view: &View<'a>, paths: &[Vec<&str>]) -> Option<Arc<Value>> {
        let parts_of = || view.parts_of(self, paths);
        self.scope.work.copied(parts_of, paths, || self.cut(view, paths))
    }

    fn cut(&self, view: &View<'a>, paths: &[Vec<&str>]) -> Option<Arc<Value>> {
        if paths.iter().any(Vec::is_empty) {
            let whole = view.whole(self)?;
            return if paths.len() == 1 {
                Some(whole)
            } else {
                Some(self.with_aliases(view, whole, paths))
            };
        }
        let mut parts = Value::Object(Map::new());
        for path in paths {
            match view.part(self, path) {
                Some((0, value)) => return Some(Arc::new(value)),
                Some((depth, value)) => put_at(&mut parts, &path[..depth], value),
                None => {}
            }
        }
        Some(Arc::new(parts))
    }

    /// Returns the whole view together with the requested parts that exist only as aliases.
    fn with_aliases(&self, view: &View<'a>, whole: Arc<Value>, paths: &[Vec<&str>]) -> Arc<Value> {
        if !whole.is_object() {
            return whole;
        }
        let mut value = (*whole).clone();
        for path in paths.iter().filter(|path| !path.is_empty()) {
            if let Some((depth, part)) = view.part(self, path).filter(|(depth, _)| *depth > 0) {
                put_at(&mut value, &path[..depth], part);
            }
        }
        Arc::new(value)
    }

    /// Looks a name up from the inside out. `execution_id` cannot be shadowed; the other built-in
    /// names are shadowed by every name that a playbook defines.
    fn view(&self, name: &str) -> Option<View<'a>> {
        if name == "execution_id" {
            return Some(View::Plain(Arc::new(json!(self.scope.state.id.to_string()))));
        }
        self.of_moment(name)
            .or_else(|| self.of_item(name))
            .or_else(|| self.of_pipeline(name))
            .or_else(|| self.of_execution(name))
            .or_else(|| self.built_in(name))
    }

    fn built_in(&self, name: &str) -> Option<View<'a>> {
        let state = self.scope.state;
        let value = match name {
            "catalog_id" => json!(state.playbook.catalog_id.to_string()),
            "path" => json!(state.playbook.path),
            "_now" => json!(self.scope.given.now.to_string()),
            "job" => json!({ "uuid": state.id.to_string(), "id": state.id.to_string() }),
            "loop_index" => json!(self.scope.current_loop()?.1),
            "vars" => return Some(View::Context(state)),
            _ => return None,
        };
        Some(View::Plain(Arc::new(value)))
    }

    fn of_moment(&self, name: &str) -> Option<View<'a>> {
        match (self.scope.point, name) {
            (EvalPoint::TaskSet(result), "output" | "outcome" | "result") => {
                Some(View::Stored(&result.output))
            }
            (EvalPoint::Rule { result, tool, retry }, "output" | "outcome") => {
                Some(View::Envelope { result, tool, retry })
            }
            (EvalPoint::Rule { result, .. }, "error") => {
                let error = result.error.as_ref()?;
                Some(View::Plain(Arc::new(view::error_value(error))))
            }
            (EvalPoint::Rule { retry, .. }, "_attempt") => {
                Some(View::Plain(Arc::new(json!(retry + 1))))
            }
            (EvalPoint::StepEnd(end), "output" | "outcome" | "result") => {
                Some(View::End(end, self.shown(end.step.as_str())))
            }
            (EvalPoint::StepEnd(end), "event") => {
                Some(View::Plain(Arc::new(json!({ "name": self.words.event(end) }))))
            }
            (EvalPoint::StepEnd(end), "error") => {
                end.error.map(|error| View::Plain(Arc::new(view::error_value(error))))
            }
            (EvalPoint::StepEnd(end), name) if name == end.step.as_str() => {
                Some(View::End(end, self.shown(name)))
            }
            (EvalPoint::Before, "output" | "_prev") => {
                let pipeline = self.scope.current_pipeline()?;
                let last = pipeline.results.get(&pipeline.last?)?;
                Some(View::Stored(&last.output))
            }
            (
                EvalPoint::Before
                | EvalPoint::TaskSet(_)
                | EvalPoint::Rule { .. }
                | EvalPoint::StepEnd(_),
                _,
            ) => None,
        }
    }

    fn of_item(&self, name: &str) -> Option<View<'a>> {
        let Some((repeat, index)) = self.scope.current_loop() else {
            return (name == "iter").then(|| self.iter_outside_loops()).flatten();
        };
        let step = self.scope.current_step()?;
        let declared = step.repeat.as_ref()?;
        let plain = |value: Value| Some(View::Plain(Arc::new(value)));
        match name {
            name if name == declared.iterator => {
                let written = self.scope.current_item().and_then(|item| item.variables.get(name));
                match written {
                    Some(value) => Some(View::Variable(value)),
                    None => plain(self.item_value(repeat, index)?),
                }
            }
            "iter" => self.iter_fields(repeat, index, &declared.iterator),
            "_index" => plain(json!(index)),
            "_total" => plain(json!(repeat.total())),
            "frame" if declared.frame.process == FrameProcess::Frame => {
                plain(json!({ "rows": self.item_value(repeat, index)?, "index": index }))
            }
            _ => None,
        }
    }

    fn iter_fields(&self, repeat: &LoopRun, index: u64, iterator: &str) -> Option<View<'a>> {
        let total = repeat.total();
        let counted = [("index", index), ("_index", index), ("total", total), ("_total", total)];
        let mut fields = vec![(iterator.to_owned(), self.item_value(repeat, index)?)];
        fields.extend(counted.map(|(name, number)| (name.to_owned(), json!(number))));
        fields.extend(self.parent_iter().map(|parent| ("parent".to_owned(), parent.clone())));
        let fields = fields.into_iter().map(|(name, value)| (name, Payload::inline(value)));
        let set = self.scope.current_item().map(|item| &item.variables);
        Some(View::Fields(fields.chain(copied(set)).collect()))
    }

    /// Returns `iter` in a step without a loop: the variables of the pipeline merged into the
    /// parent's item.
    fn iter_outside_loops(&self) -> Option<View<'a>> {
        let set = self.scope.current_run().map(|run| &run.variables);
        let parent = self.parent_iter().and_then(Value::as_object);
        if parent.is_none() && set.is_none_or(SetVariables::is_empty) {
            return None;
        }
        let inherited = parent.into_iter().flatten();
        let inherited =
            inherited.map(|(name, value)| (name.clone(), Payload::inline(value.clone())));
        Some(View::Fields(inherited.chain(copied(set)).collect()))
    }

    fn parent_iter(&self) -> Option<&'a Value> {
        match &self.scope.state.origin {
            Origin::Request
            | Origin::Linked { .. }
            | Origin::Schedule { .. }
            | Origin::Rerun { .. } => None,
            Origin::Parent { iter, .. } => iter.as_ref(),
        }
    }

    fn item_value(&self, repeat: &LoopRun, index: u64) -> Option<Value> {
        let of_list = |values: &Payload, at: u64| {
            let values = self.load(values)?;
            usize::try_from(at).ok().and_then(|at| values.get(at).cloned())
        };
        match &repeat.items {
            ItemSource::Range(_) => Some(json!(index)),
            ItemSource::List { values, .. } => of_list(values, index),
            ItemSource::Cursor => {
                let frame = repeat.frame.as_ref()?;
                let rows = self.load(&frame.rows)?;
                match self.scope.current_step()?.repeat.as_ref()?.frame.process {
                    FrameProcess::Frame => Some((*rows).clone()),
                    FrameProcess::Row => of_list(&frame.rows, index.checked_sub(frame.first)?),
                }
            }
        }
    }

    fn of_pipeline(&self, name: &str) -> Option<View<'a>> {
        let run = self.scope.current_run()?;
        if name == "step" {
            return Some(match run.variables.is_empty() {
                true => View::Plain(Arc::new(json!(run.step))),
                false => View::Fields(copied(Some(&run.variables)).collect()),
            });
        }
        let written = self
            .scope
            .current_item()
            .and_then(|item| item.variables.get(name))
            .or_else(|| run.variables.get(name));
        if let Some(value) = written {
            return Some(View::Variable(value));
        }
        let pipeline = self.scope.current_pipeline()?;
        let step = self.scope.current_step()?;
        if name == "results" {
            return Some(View::Labels { step, pipeline });
        }
        let task = step.tasks.iter().position(|task| task.label == name)?;
        let result = pipeline.results.get(&u32::try_from(task).ok()?)?;
        Some(View::Stored(&result.output))
    }

    fn of_execution(&self, name: &str) -> Option<View<'a>> {
        let state = self.scope.state;
        if let Some(value) = state.context.get(name) {
            return Some(View::Variable(value));
        }
        if let Some(record) = state.steps.get(name) {
            return Some(View::Step(record, self.shown(name)));
        }
        match name {
            "workload" => Some(View::Stored(&state.workload)),
            "ctx" => Some(View::Context(state)),
            "steps" => Some(View::Steps(state)),
            name => {
                if let Some(step) = self.called(name) {
                    return Some(step);
                }
                let workload = self.load(&state.workload)?;
                let value = workload.get(name)?;
                Some(View::Plain(Arc::new(value.clone())))
            }
        }
    }

    /// Returns the step whose output also has this name.
    fn called(&self, name: &str) -> Option<View<'a>> {
        let steps = &self.scope.given.playbook.steps;
        let step = steps.iter().find(|step| step.output.name.as_deref() == Some(name))?;
        let record = self.scope.state.steps.get(step.name.as_str())?;
        Some(View::Step(record, &step.output))
    }

    /// Returns the output options of a step.
    fn shown(&self, step: &str) -> &'a OutputView {
        static USUAL: LazyLock<OutputView> = LazyLock::new(OutputView::default);
        let playbook = self.scope.given.playbook;
        playbook.index_of(step).map_or(&USUAL, |index| &playbook.step(index).output)
    }

    /// Returns the value of a payload; if it is not loaded, its digest is collected.
    fn load(&self, payload: &Payload) -> Option<Arc<Value>> {
        match payload {
            Payload::Inline(value) => Some(value.clone()),
            Payload::Ref(reference) => self.load_digest(reference.digest),
        }
    }

    fn load_digest(&self, digest: Digest) -> Option<Arc<Value>> {
        let loaded = self.scope.given.loaded.payloads.get(&digest).cloned();
        if loaded.is_none() {
            self.needs.borrow_mut().insert(digest);
        }
        loaded
    }
}
