//! The names that can exist at a place of a playbook.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use noetl_model::ADDED_KEYS;
use serde_json::Value;

use super::shapes::path_in;
use super::uses::{RenderMoment, RenderPlace};
use crate::inputs::DeclaredInput;
use crate::playbook::{
    AssignmentScope, BodyForm, FrameProcess, Playbook, RouterMode, Rule, RuleAction, SetAssignment,
    Step, StepIndex, Task,
};

/// Playbooks with more steps than this are not checked for the order of their steps.
pub(super) const ORDERED_STEPS_MAX: usize = 2_000;

/// The methods of a map, which may follow its name like keys.
pub(super) const METHODS: [&str; 4] = ["get", "items", "keys", "values"];
/// The names that every template can read.
pub(crate) const EVERYWHERE: &[&str] = &[
    "execution_id",
    "path",
    "catalog_id",
    "_now",
    "job",
    "vars",
    "workload",
    "ctx",
    "steps",
    "iter",
];
/// The names of a task's settings, besides its arguments.
const OF_SETTINGS: &[&str] = &[
    "_task",
    "_attempt",
    "input",
    "args",
    "keychain",
    "worker_id",
    "server_url",
    "command_id",
    "node_name",
    "action",
];
/// The fields of an error.
pub(crate) const ERROR_FIELDS: &[&str] = &[
    "kind",
    "message",
    "retryable",
    "code",
    "status",
    "status_code",
    "http_status",
    "exception_type",
    "pg_code",
    "details",
];
/// The names of a task's or step's output after its end.
pub(super) const OUTPUTS: &[&str] = &["output", "outcome", "result"];

/// The names that `set` defines.
#[derive(Debug, Default)]
struct SetNames {
    names: BTreeSet<String>,
    /// True if a name is itself a template, so that any name may be defined.
    is_open: bool,
}

impl SetNames {
    fn add(&mut self, key: &str) {
        if key.contains("{{") || key.contains("{%") {
            self.is_open = true;
        } else if let Some(first) = key.split('.').next() {
            self.names.insert(first.to_owned());
        }
    }

    fn has(&self, name: &str) -> bool {
        self.is_open || self.names.contains(name)
    }
}

/// The names of a playbook, by the place where they exist.
pub(crate) struct KnownNames<'p> {
    pub(crate) playbook: &'p Playbook,
    /// The variables of the whole execution.
    context: SetNames,
    /// The variables of a run of each step.
    of_step: Vec<SetNames>,
    /// The additional names of steps' outputs.
    aliases: BTreeSet<&'p str>,
    /// The steps that can be reached from a step, computed on demand.
    reached: RefCell<BTreeMap<StepIndex, BTreeSet<StepIndex>>>,
}

impl<'p> KnownNames<'p> {
    pub(crate) fn of(playbook: &'p Playbook) -> Self {
        let mut context = SetNames::default();
        let mut of_step = Vec::new();
        for step in &playbook.steps {
            of_step.push(set_by(step, &mut context));
        }
        let aliases = playbook.steps.iter().filter_map(|step| step.output.name.as_deref());
        let reached = RefCell::new(BTreeMap::new());
        Self { playbook, context, of_step, aliases: aliases.collect(), reached }
    }

    pub(crate) fn step_at(&self, place: RenderPlace) -> Option<&'p Step> {
        place.step.and_then(|step| self.playbook.steps.get(step.0))
    }

    /// True if no start can bring a name that the playbook does not have.
    pub(super) fn is_closed(&self) -> bool {
        self.playbook.inputs.as_ref().is_some_and(|inputs| !inputs.allows_others)
    }

    pub(super) fn in_workload(&self, name: &str) -> bool {
        let declared = self.playbook.inputs.as_ref();
        self.playbook.workload.contains_key(name)
            || declared.is_some_and(|inputs| inputs.find(name).is_some())
    }

    /// True if a bare name may be something else than the input of this name, at any place.
    fn hides_input(&self, name: &str) -> bool {
        let in_step = |step: &Step| {
            step.repeat.as_ref().is_some_and(|repeat| repeat.iterator == name)
                || step.tasks.iter().any(|task| task.label == name)
                || is_argument(step, name)
        };
        self.is_set(name)
            || EVERYWHERE.contains(&name)
            || self.aliases.contains(name)
            || self.playbook.index_of(name).is_some()
            || self.of_step.iter().any(|set| set.has(name))
            || self.playbook.steps.iter().any(in_step)
    }

    /// Returns the declared inputs with each path that means the input at every place of the playbook.
    pub(super) fn input_paths(&self) -> Vec<(String, &'p DeclaredInput)> {
        let mut paths = Vec::new();
        for input in self.playbook.inputs.iter().flat_map(|inputs| &inputs.inputs) {
            let name = input.name.as_str();
            paths.push((format!("workload.{name}"), input));
            if !self.is_set(name) {
                paths.push((format!("ctx.{name}"), input));
                paths.push((format!("vars.{name}"), input));
            }
            if !self.hides_input(name) {
                paths.push((name.to_owned(), input));
            }
        }
        paths
    }

    /// True if a `set` may define the variable of the whole execution.
    pub(super) fn is_set(&self, name: &str) -> bool {
        self.context.has(name)
    }

    pub(crate) fn in_context(&self, name: &str) -> bool {
        self.context.has(name) || self.in_workload(name)
    }

    /// True if a variable of the item exists in the loop of a step.
    pub(crate) fn in_item(&self, step: StepIndex, name: &str) -> bool {
        let iterator = self.playbook.steps[step.0].repeat.as_ref().map(|it| it.iterator.as_str());
        iterator == Some(name)
            || matches!(name, "index" | "_index" | "total" | "_total" | "parent")
            || self.of_step[step.0].has(name)
    }

    /// Returns the variables of the item of the loop at a place.
    pub(crate) fn item_names(&self, place: RenderPlace) -> Vec<&str> {
        let (Some(index), Some(step)) = (place.step, self.step_at(place)) else {
            return Vec::new();
        };
        let Some(repeat) = &step.repeat else { return Vec::new() };
        let set = self.of_step[index.0].names.iter().map(String::as_str);
        [repeat.iterator.as_str(), "index", "total", "parent"].into_iter().chain(set).collect()
    }

    /// True if a template at this place can read the name.
    pub(super) fn has(&self, name: &str, place: RenderPlace) -> bool {
        if place.moment == RenderMoment::Keychain {
            return matches!(name, "workload" | "keychain")
                || ADDED_KEYS.contains(&name)
                || self.in_workload(name);
        }
        EVERYWHERE.contains(&name)
            || name.starts_with("__")
            || self.of_moment(name, place)
            || self.of_run(name, place)
            || self.in_context(name)
            || self.aliases.contains(name)
            || ADDED_KEYS.contains(&name)
            || self.playbook.index_of(name).is_some_and(|step| self.may_have_run(step, place))
    }

    pub(super) fn of_moment(&self, name: &str, place: RenderPlace) -> bool {
        match place.moment {
            RenderMoment::Start | RenderMoment::StepEntry => false,
            RenderMoment::Keychain => name == "keychain",
            RenderMoment::Claim => OF_SETTINGS.contains(&name),
            RenderMoment::TaskStart => {
                OF_SETTINGS.contains(&name)
                    || (matches!(name, "output" | "_prev") && self.has_earlier_task(place))
            }
            RenderMoment::TaskEnd => OUTPUTS.contains(&name),
            RenderMoment::Rule => matches!(name, "output" | "outcome" | "error" | "_attempt"),
            RenderMoment::StepEnd => OUTPUTS.contains(&name) || matches!(name, "event" | "error"),
            RenderMoment::Notice => true,
        }
    }

    /// True if another task, or an earlier attempt, may have ended before the task starts.
    fn has_earlier_task(&self, place: RenderPlace) -> bool {
        let Some(step) = self.step_at(place) else { return true };
        place.task != Some(0) || repeats(step)
    }

    /// True if the run of the place's step has the name: its item, tasks, variables and arguments.
    pub(super) fn of_run(&self, name: &str, place: RenderPlace) -> bool {
        let (Some(index), Some(step)) = (place.step, self.step_at(place)) else { return false };
        let in_item = match place.moment {
            RenderMoment::TaskStart | RenderMoment::TaskEnd | RenderMoment::Rule => true,
            RenderMoment::Start
            | RenderMoment::StepEntry
            | RenderMoment::Claim
            | RenderMoment::StepEnd
            | RenderMoment::Keychain
            | RenderMoment::Notice => false,
        };
        let is_of_loop = step.repeat.as_ref().is_some_and(|repeat| {
            let is_frame = repeat.frame.process == FrameProcess::Frame;
            in_item
                && (name == repeat.iterator
                    || matches!(name, "_index" | "_total" | "loop_index")
                    || (name == "frame" && is_frame))
        });
        is_of_loop
            || matches!(name, "step" | "results")
            || self.of_step[index.0].has(name)
            || (in_item || place.moment == RenderMoment::StepEnd)
                && label_at(step, name).is_some_and(|task| may_have_ended(step, task, place))
            || is_argument_at(step, name, place)
    }

    /// Returns the step of which a task has an argument of this name, and the path that the argument is
    /// given, if it is nothing else.
    pub(super) fn argument_elsewhere(&self, name: &str) -> Option<(&'p str, Option<&'p str>)> {
        self.playbook.steps.iter().find_map(|step| {
            let value = argument_sources(step).find_map(|arguments| arguments.get(name))?;
            Some((step.name.as_str(), value.as_str().and_then(path_in)))
        })
    }

    /// Returns the task whose output is `output` and `_prev` when a task starts, if there is only one.
    pub(super) fn previous_task(&self, place: RenderPlace) -> Option<&'p Task> {
        let step = self.step_at(place)?;
        let previous = place.task?.checked_sub(1)?;
        let is_start = place.moment == RenderMoment::TaskStart;
        (is_start && !repeats(step)).then(|| step.tasks.get(previous)).flatten()
    }

    /// Returns the names of the secrets that the playbook declares.
    pub(super) fn secrets(&self) -> impl Iterator<Item = &'p str> {
        self.playbook.keychain.iter().filter_map(|entry| entry.get("name")?.as_str())
    }

    /// Returns the step whose run has a variable of this name.
    pub(super) fn step_that_sets(&self, name: &str) -> Option<&'p str> {
        let at = self.of_step.iter().position(|set| set.names.contains(name))?;
        Some(self.playbook.steps[at].name.as_str())
    }

    /// True if a step may have ended before the template at this place is rendered.
    pub(super) fn may_have_run(&self, step: StepIndex, place: RenderPlace) -> bool {
        let Some(here) = place.step else { return place.moment == RenderMoment::Notice };
        if step == here {
            let is_first_task = place.task.is_none_or(|task| task == 0);
            let may_start =
                matches!(place.moment, RenderMoment::StepEntry | RenderMoment::TaskStart);
            return !(may_start && is_first_task) || self.can_follow(step, here);
        }
        self.can_follow(step, here) || self.runs_beside(step, here)
    }

    fn can_follow(&self, first: StepIndex, then: StepIndex) -> bool {
        if self.playbook.steps.len() > ORDERED_STEPS_MAX {
            return true;
        }
        if let Some(last) = self.playbook.final_step
            && (last == then || self.reaches(last, then))
        {
            return true;
        }
        self.reaches(first, then)
    }

    /// True if both steps can be reached from a step that starts several branches at once.
    fn runs_beside(&self, one: StepIndex, other: StepIndex) -> bool {
        let steps = self.playbook.steps.iter().enumerate();
        let forks = steps.filter(|(_, step)| {
            step.next.mode == RouterMode::Inclusive && step.next.arcs.len() > 1
        });
        forks
            .map(|(index, _)| StepIndex(index))
            .any(|fork| self.reaches(fork, one) && self.reaches(fork, other))
    }

    fn reaches(&self, from: StepIndex, to: StepIndex) -> bool {
        let mut reached = self.reached.borrow_mut();
        let found = reached.entry(from).or_insert_with(|| {
            let mut found = BTreeSet::new();
            let mut waiting = vec![from];
            while let Some(StepIndex(index)) = waiting.pop() {
                for arc in &self.playbook.steps[index].next.arcs {
                    if found.insert(arc.to) {
                        waiting.push(arc.to);
                    }
                }
            }
            found
        });
        found.contains(&to)
    }

    /// Returns the names that a misspelt one at this place may mean.
    pub(crate) fn candidates(&self, place: RenderPlace) -> Vec<&str> {
        let mut names: Vec<&str> = self.workload_names();
        names.extend(self.context.names.iter().map(String::as_str));
        names.extend(EVERYWHERE);
        names.extend(&self.aliases);
        let steps = self.playbook.steps.iter().enumerate();
        names.extend(
            steps
                .filter(|(index, _)| self.may_have_run(StepIndex(*index), place))
                .map(|(_, step)| step.name.as_str()),
        );
        if let (Some(index), Some(step)) = (place.step, self.step_at(place)) {
            names.extend(self.of_step[index.0].names.iter().map(String::as_str));
            names.extend(step.repeat.iter().map(|repeat| repeat.iterator.as_str()));
            names.extend(step.tasks.iter().map(|task| task.label.as_str()));
            names.extend(["output", "_index", "_total", "_attempt", "results"]);
            for arguments in argument_sources(step) {
                names.extend(
                    arguments.as_object().into_iter().flatten().map(|(key, _)| key.as_str()),
                );
            }
        }
        names.retain(|name| self.has(name, place));
        names
    }

    pub(crate) fn workload_names(&self) -> Vec<&str> {
        let declared = self.playbook.inputs.iter().flat_map(|inputs| &inputs.inputs);
        let declared = declared.map(|input| input.name.as_str());
        self.playbook.workload.keys().map(String::as_str).chain(declared).collect()
    }

    pub(crate) fn context_names(&self) -> Vec<&str> {
        let mut names = self.workload_names();
        names.extend(self.context.names.iter().map(String::as_str));
        names
    }
}

/// True if a task of the step may run more than once.
fn repeats(step: &Step) -> bool {
    let again = |rule: &Rule| match rule.action {
        RuleAction::Retry(_) | RuleAction::Jump(_) => true,
        RuleAction::Continue | RuleAction::Break | RuleAction::Fail => false,
    };
    step.tasks.iter().flat_map(|task| &task.rules).any(again)
}

/// Returns the task of a pipeline with this label.
pub(super) fn label_at(step: &Step, name: &str) -> Option<usize> {
    let is_pipeline = step.form == BodyForm::Pipeline;
    step.tasks.iter().position(|task| is_pipeline && task.label == name)
}

/// True if a task may have ended before a template of its step is rendered.
pub(super) fn may_have_ended(step: &Step, task: usize, place: RenderPlace) -> bool {
    let Some(here) = place.task else { return true };
    let is_before = match place.moment {
        RenderMoment::TaskStart => task < here,
        RenderMoment::TaskEnd | RenderMoment::Rule => task <= here,
        RenderMoment::Start
        | RenderMoment::StepEntry
        | RenderMoment::Claim
        | RenderMoment::StepEnd
        | RenderMoment::Keychain
        | RenderMoment::Notice => true,
    };
    is_before || repeats(step)
}

/// True if a template at this place can read an argument of the name: of its own task, or of the step.
fn is_argument_at(step: &Step, name: &str, place: RenderPlace) -> bool {
    let task = match (place.moment, place.task) {
        (RenderMoment::TaskStart, Some(task)) => step.tasks.get(task),
        (RenderMoment::TaskStart | RenderMoment::Claim, _) => return is_argument(step, name),
        (
            RenderMoment::Start
            | RenderMoment::StepEntry
            | RenderMoment::TaskEnd
            | RenderMoment::Rule
            | RenderMoment::StepEnd
            | RenderMoment::Keychain
            | RenderMoment::Notice,
            _,
        ) => return false,
    };
    let of_task = task.into_iter().flat_map(arguments_of);
    step.input.iter().map(|input| input.source()).chain(of_task).any(|it| names(it, name))
}

/// Returns the values that define arguments of a task.
fn arguments_of(task: &Task) -> impl Iterator<Item = &Value> {
    let config = task.config.source();
    ["input", "args"].into_iter().filter_map(|key| config.get(key))
}

/// Returns the values that define arguments of the step's tasks.
fn argument_sources(step: &Step) -> impl Iterator<Item = &Value> {
    let of_tasks = step.tasks.iter().flat_map(arguments_of);
    step.input.iter().map(|input| input.source()).chain(of_tasks)
}

/// True if a name is an argument of one of the step's tasks; a template for all arguments may give
/// any name.
fn is_argument(step: &Step, name: &str) -> bool {
    argument_sources(step).any(|arguments| names(arguments, name))
}

fn names(arguments: &Value, name: &str) -> bool {
    match arguments {
        Value::Object(map) => map.keys().any(|key| key == name || key.contains("{{")),
        Value::String(_) => true,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => false,
    }
}

/// Returns the variables that a step sets for its own run; those of the whole execution are added to
/// `context`.
fn set_by(step: &Step, context: &mut SetNames) -> SetNames {
    let mut own = SetNames::default();
    let mut add = |set: &[SetAssignment], is_of_run: bool| {
        for SetAssignment { scope, key, .. } in set {
            match scope {
                AssignmentScope::Ctx => context.add(key),
                AssignmentScope::Iter | AssignmentScope::Step if is_of_run => own.add(key),
                AssignmentScope::Bare if is_of_run => own.add(key),
                AssignmentScope::Iter | AssignmentScope::Step | AssignmentScope::Bare => {
                    context.add(key);
                }
            }
        }
    };
    for task in &step.tasks {
        add(&task.set, true);
        for rule in &task.rules {
            let (bare, scoped): (Vec<_>, Vec<_>) =
                rule.set.iter().cloned().partition(|set| set.scope == AssignmentScope::Bare);
            add(&bare, false);
            add(&scoped, true);
        }
    }
    add(&step.set, false);
    step.next.arcs.iter().for_each(|arc| add(&arc.set, false));
    own
}
