//! Reads one step.

use std::rc::Rc;
use std::time::Duration;

use noetl_expr::Template;
use noetl_model::{LoopMode, StepName, ToolKind};
use serde_json::{Map, Value};

use super::DocumentReader;
use super::arcs::{ArcOrigin, MODES};
use super::task::{StepTasks, TaskPosition};
use crate::analysis::RenderMoment;
use crate::diagnostic::{DiagnosticCode, Finding};
use crate::playbook::{
    AssignmentScope, BodyForm, Loop, Rule, RuleAction, RunPromise, SetAssignment, Step, Task,
};
use crate::words::{KeyStatus, STEP, STEP_POLICY, STEP_SPEC};
use crate::yaml::{YamlEntry, YamlNode};

const RUN_PROMISES: &[(&str, RunPromise)] =
    &[("at_least_once", RunPromise::AtLeastOnce), ("at_most_once", RunPromise::AtMostOnce)];

impl DocumentReader<'_> {
    /// Reads a step whose name is already known.
    pub(super) fn step(&mut self, name: &str, node: &Rc<YamlNode>) -> Option<Step> {
        let entries = node.entries()?;
        let settings_here = node.get("type").is_some()
            || node.get("tool").is_some_and(|tool| tool.text().is_some());
        self.step_keys(entries, settings_here);
        let spec = node.get("spec");
        if let Some(spec) = spec {
            self.map(spec, STEP_SPEC);
        }
        let policy = spec.and_then(|spec| spec.get("policy"));
        if let Some(policy) = policy {
            self.map(policy, STEP_POLICY);
        }
        self.bare_rule_sets.clear();
        let body = self.step_body(name, node);
        let body = body.map(|body| self.with_step_rules(body, node, policy));
        let mode = spec.and_then(|spec| spec.get("next_mode"));
        let mode = mode.and_then(|mode| self.word(mode, "`next_mode`", MODES));
        let next = self.at(RenderMoment::StepEnd, |reader| {
            reader.router(node.get("next"), &ArcOrigin { step: name, mode })
        });
        let input = self.at(RenderMoment::TaskStart, |reader| reader.step_input(node));
        let when = node.get("when").filter(|when| !when.is_null());
        let when = when.and_then(|when| self.at(RenderMoment::StepEntry, |it| it.condition(when)));
        let admit = policy.and_then(|policy| policy.get("admit"));
        let admit =
            admit.map(|admit| self.at(RenderMoment::StepEntry, |reader| reader.admit(admit)));
        let repeat = node.get("loop").filter(|repeat| !repeat.is_null());
        let repeat =
            repeat.and_then(|repeat| self.at(RenderMoment::StepEntry, |it| it.repeat(repeat)));
        self.check_rule_sets(repeat.as_ref());
        let set = self.at(RenderMoment::StepEnd, |reader| reader.step_set(node));
        let timeout = self.step_timeout(node);
        let limit = node.get("limit").filter(|limit| !limit.is_null());
        let limit = limit.and_then(|limit| self.limit(limit));
        let run = node.get("run").filter(|run| !run.is_null());
        let run = run.and_then(|run| self.word(run, "`run`", RUN_PROMISES)).unwrap_or_default();
        let cache = node.get("cache").filter(|cache| !cache.is_null());
        let tasks = body.as_ref().map(|body| body.tasks.as_slice());
        let cache = cache.and_then(|cache| self.cache(cache, tasks));
        let output = self.step_output(node);
        let output_schema = self.output_schema(node);
        let description = node.get("desc").or_else(|| node.get("description"));
        let description = description.and_then(|text| text.text()).map(str::to_owned);
        let StepTasks { tasks, form } = body?;
        Some(Step {
            name: StepName::new(name),
            description,
            when,
            admit: admit.unwrap_or_default(),
            input,
            tasks,
            form,
            repeat,
            set,
            next,
            timeout,
            limit,
            run,
            cache,
            output,
            output_schema,
        })
    }

    /// Warns about rules that set a variable without a prefix in a parallel loop: such a variable
    /// belongs to the whole execution, so concurrent items overwrite each other's values.
    fn check_rule_sets(&mut self, repeat: Option<&Loop>) {
        let keys = std::mem::take(&mut self.bare_rule_sets);
        let is_parallel = repeat.is_some_and(|repeat| match repeat.mode {
            LoopMode::Sequential => false,
            LoopMode::Parallel => true,
            LoopMode::Cursor => repeat.frame.row_concurrency.is_some(),
        });
        for key in keys.into_iter().filter(|_| is_parallel) {
            let name = &key.text;
            let message = format!(
                "a rule in a loop whose items run at the same time sets `{name}` for all of them"
            );
            let help = format!(
                "write `iter.{name}` for the item alone, or `ctx.{name}` for the whole execution"
            );
            self.add(Finding::error(DiagnosticCode::SharedVariable, &key.span, message).help(help));
        }
    }

    fn step_keys(&mut self, entries: &[YamlEntry], settings_here: bool) {
        for entry in entries {
            let key = &entry.key;
            match STEP.word(&key.text) {
                Some(word) => self.note_status(key, word),
                None if key.text == "case" => {
                    let message = "`case` is no longer part of the language";
                    let finding = Finding::error(DiagnosticCode::RemovedKey, &key.span, message);
                    self.add(
                        finding
                            .help("write its conditions as `next: {arcs: [{step: …, when: …}]}`"),
                    );
                }
                None if settings_here && key.text != "arcs" => {}
                None => self.unknown_key(key, STEP),
            }
        }
    }

    fn step_body(&mut self, name: &str, node: &Rc<YamlNode>) -> Option<StepTasks> {
        if let Some(tool) = self.tool_of(node) {
            return self.body(name, &tool);
        }
        if node.get("next").is_none_or(|next| next.is_null()) {
            let message = format!("step `{name}` has neither `tool` nor `next`");
            let finding = Finding::error(DiagnosticCode::MissingTool, &node.span, message);
            self.add(finding.help("a step that only marks a place is `tool: {kind: noop}`"));
            return None;
        }
        let empty = Value::Object(Map::new());
        let config = Template::parse(empty).expect("an empty map holds no template");
        let (label, rules, set) = (name.to_owned(), Vec::new(), Vec::new());
        let tool = ToolKind::Noop;
        let task = Task { label, tool, config, set, rules, timeout: None, output_schema: None };
        Some(StepTasks { tasks: vec![task], form: BodyForm::Single })
    }

    /// Returns a step's tool as a map or a list, from any of its spellings.
    fn tool_of(&mut self, node: &Rc<YamlNode>) -> Option<Rc<YamlNode>> {
        let kind = match (node.get("tool"), node.get("type"), node.get("call")) {
            (Some(tool), _, _) if !tool.is_null() => match tool.text() {
                Some(kind) => {
                    let message = "a tool given by its kind alone is an old spelling";
                    let finding =
                        Finding::warning(DiagnosticCode::OldSpelling, &tool.span, message);
                    self.add(
                        finding.help(format!("write `tool: {{kind: {kind}}}`, its settings below")),
                    );
                    tool
                }
                None => return Some(Rc::clone(tool)),
            },
            (_, Some(kind), _) => kind,
            (_, None, Some(call)) => return Some(Rc::clone(call)),
            (_, None, None) => return None,
        };
        let settings = node.entries()?.iter().filter(|entry| match STEP.word(&entry.key.text) {
            None => entry.key.text != "arcs",
            Some(word) => matches!(word.status, KeyStatus::Current) && word.name == "timeout",
        });
        let key = node.entries()?.first()?.key.renamed("kind");
        let kind = YamlEntry { key, value: Rc::clone(kind) };
        let entries = std::iter::once(kind).chain(settings.cloned()).collect();
        Some(Rc::new(YamlNode::map(node.span.clone(), entries)))
    }

    /// Applies the step's `retry` and rules to each task that has none of its own.
    fn with_step_rules(
        &mut self,
        mut body: StepTasks,
        node: &YamlNode,
        policy: Option<&Rc<YamlNode>>,
    ) -> StepTasks {
        let labels: Vec<String> = body.tasks.iter().map(|task| task.label.clone()).collect();
        let rules = policy.and_then(|policy| policy.get("rules"));
        let retry = node.get("retry");
        let retry: Option<Rule> =
            retry.and_then(|retry| self.at(RenderMoment::Rule, |reader| reader.retry_rule(retry)));
        for (index, task) in body.tasks.iter_mut().enumerate() {
            let position = TaskPosition { labels: &labels, index };
            if let Some(rules) = rules.filter(|_| task.rules.is_empty()) {
                self.uses.place.task = Some(index);
                task.rules = self.at(RenderMoment::Rule, |reader| reader.rules(rules, &position));
                self.uses.place.task = None;
            }
            let retries = task.rules.iter().any(|rule| matches!(rule.action, RuleAction::Retry(_)));
            if !retries {
                task.rules.extend(retry.clone());
            }
        }
        body
    }

    fn step_input(&mut self, node: &YamlNode) -> Option<Template> {
        let input = ["input", "args", "with"].into_iter().find_map(|key| node.get(key))?;
        if input.is_null() {
            return None;
        }
        if input.entries().is_none() && input.text().is_none() {
            self.wrong_type(input, "a step's input", "a map");
        }
        self.template(input)
    }

    fn step_set(&mut self, node: &YamlNode) -> Vec<SetAssignment> {
        let mut set = self.set_blocks(node.entries().unwrap_or_default());
        if let Some(vars) = node.get("vars") {
            set.extend(self.assignments(vars, AssignmentScope::Ctx));
        }
        set
    }

    fn step_timeout(&mut self, node: &YamlNode) -> Option<Duration> {
        let spec = node.get("spec").and_then(|spec| spec.get("timeout"));
        let written = node.get("timeout").or(spec).filter(|timeout| !timeout.is_null())?;
        self.timeout(written)
    }
}
