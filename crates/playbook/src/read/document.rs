//! Reads a whole playbook: its head, its steps, and the graph of their arcs.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use noetl_expr::{MissingValues, Template};
use noetl_model::{ErrorMode, Label, Priority, check_label_key};
use serde_json::{Map, Value};

use super::DocumentReader;
use super::foreign::ForeignTools;
use super::secrets::SecretFields;
use super::workbook::Workbook;
use crate::analysis::{AnalysisLevel, RenderMoment, TemplateUses, analyse};
use crate::diagnostic::{DiagnosticCode, Finding, Findings};
use crate::graph::Graph;
use crate::inputs::DeclaredInputs;
use crate::notification::NoticeRules;
use crate::parse::ParseOptions;
use crate::playbook::{Concurrency, Metadata, Playbook, Step, StepIndex};
use crate::suggest::nearest;
use crate::words::{EXECUTOR, EXECUTOR_SPEC, EXPECT, METADATA, ROOT};
use crate::yaml::{YamlNode, to_object};

/// The most steps in a playbook.
const STEPS_MAX: usize = 10_000;
/// The most arcs of all steps together.
const ARCS_MAX: usize = 50_000;
/// The kinds of documents.
pub(crate) const KINDS: &[&str] = &["Playbook", "Subscription", "Schedule", "Notification"];
/// The default entry step.
const START: &str = "start";

const ERROR_MODES: &[(&str, ErrorMode)] =
    &[("strict", ErrorMode::Strict), ("lenient", ErrorMode::Lenient)];

const UNDEFINED_MODES: &[(&str, MissingValues)] =
    &[("empty", MissingValues::Empty), ("strict", MissingValues::Fail)];

/// Returns the treatment of missing values that a document asks for; a wrong word is reported by
/// [`DocumentReader::executor`].
fn missing_values(root: &YamlNode) -> MissingValues {
    let spec = root.get("executor").and_then(|executor| executor.get("spec"));
    let word = spec.and_then(|spec| spec.get("undefined")).and_then(|word| word.text());
    let known = UNDEFINED_MODES.iter().find(|(name, _)| Some(*name) == word);
    known.map(|(_, missing)| *missing).unwrap_or_default()
}

/// Returns the playbook of a document; `None` if there is an error among the findings.
pub(crate) fn read(
    root: &Rc<YamlNode>,
    options: ParseOptions,
    findings: &mut Findings,
) -> Option<Playbook> {
    let (playbook, uses) = read_templates(root, options, findings)?;
    if options.analysis != AnalysisLevel::Off && !findings.has_errors() {
        analyse(&playbook, &uses, findings);
    }
    (!findings.has_errors()).then_some(playbook)
}

/// Returns the playbook of a document and its templates, without analysing them. If there is an error
/// among the findings, the playbook lacks the parts that cannot be read; `None` if it lacks a step.
pub(crate) fn read_templates(
    root: &Rc<YamlNode>,
    options: ParseOptions,
    findings: &mut Findings,
) -> Option<(Playbook, TemplateUses)> {
    let mut reader = DocumentReader {
        findings,
        steps: BTreeMap::new(),
        workbook: Workbook::default(),
        foreign: ForeignTools::of(options.workers),
        secrets: SecretFields::default(),
        secret_inputs: Vec::new(),
        bare_rule_sets: Vec::new(),
        missing: MissingValues::Empty,
        uses: TemplateUses::new(options.analysis),
    };
    let playbook = reader.document(root)?;
    Some((playbook, reader.uses))
}

fn secret_names(inputs: Option<&DeclaredInputs>) -> Vec<String> {
    let secrets = inputs.into_iter().flat_map(DeclaredInputs::secrets);
    secrets.map(|input| input.name.clone()).collect()
}

/// A step of the list, with its name.
struct NamedStep {
    name: String,
    node: Rc<YamlNode>,
}

/// The settings of `executor.spec`.
#[derive(Default)]
struct Executor {
    entry: Option<StepIndex>,
    final_step: Option<StepIndex>,
    no_next_is_error: bool,
    timeout: Option<Duration>,
    error_mode: Option<ErrorMode>,
    priority: Option<Priority>,
    concurrency: Option<Concurrency>,
}

impl DocumentReader<'_> {
    fn document(&mut self, root: &Rc<YamlNode>) -> Option<Playbook> {
        if root.entries().is_none() {
            self.wrong_type(root, "a playbook", "a map");
            return None;
        }
        self.check_kind(root)?;
        self.missing = missing_values(root);
        self.map(root, ROOT);
        self.check_version(root);
        let metadata = self.metadata(root);
        let mut workload = self.workload(root);
        let inputs = self.inputs(root, &mut workload);
        self.secret_inputs = secret_names(inputs.as_ref());
        let keychain = self.keychain(root);
        self.secrets = SecretFields::of(&keychain);
        self.keychain_templates(root);
        if let Some(workbook) = root.get("workbook") {
            self.workbook = self.read_workbook(workbook);
        }
        let named = self.names(root)?;
        let executor = self.executor(root);
        let mut steps: Vec<Option<Step>> = Vec::with_capacity(named.len());
        for (index, NamedStep { name, node }) in named.iter().enumerate() {
            self.uses.place.step = Some(StepIndex(index));
            self.uses.step_names.push(node.get("step").map_or(&node.span, |it| &it.span).clone());
            steps.push(self.step(name, node));
        }
        self.uses.place.step = None;
        self.check_unused_tasks();
        let steps: Vec<Step> = steps.into_iter().collect::<Option<_>>()?;
        self.check_arcs(root, &steps)?;
        let entry =
            executor.entry.or_else(|| self.steps.get(START).copied()).unwrap_or(StepIndex(0));
        let places: Vec<_> = named.iter().map(|named| named.node.span.clone()).collect();
        self.note_foreign(root, &places, &steps, entry);
        if !self.findings.has_errors() {
            self.find_unreachable(&steps, &named, [Some(entry), executor.final_step]);
        }
        let graph = Graph::of(&steps);
        Some(Playbook {
            metadata: metadata?,
            workload,
            inputs,
            steps,
            entry,
            final_step: executor.final_step,
            no_next_is_error: executor.no_next_is_error,
            timeout: executor.timeout,
            expected_within: self.expected_within(root),
            on: match root.get("on").filter(|on| !on.is_null()) {
                Some(on) => self.at(RenderMoment::Notice, |reader| reader.notice_rules(on)),
                None => NoticeRules::new(),
            },
            error_mode: executor.error_mode,
            missing: self.missing,
            priority: executor.priority,
            concurrency: executor.concurrency,
            keychain,
            graph,
        })
    }

    fn check_kind(&mut self, root: &YamlNode) -> Option<()> {
        let Some(kind) = root.get("kind") else {
            let finding =
                Finding::error(DiagnosticCode::MissingKey, &root.span, "a playbook needs `kind`");
            self.add(finding.help("write `kind: Playbook`"));
            return Some(());
        };
        let text = self.text(kind, "`kind`")?;
        if text == "Playbook" {
            return Some(());
        }
        let message = format!("this is a document of kind `{text}`, not a playbook");
        let help = nearest(&text, KINDS.iter().copied()).filter(|kind| *kind != text);
        let help = help.map(|kind| format!("did you mean `{kind}`?"));
        self.add(Finding::error(DiagnosticCode::NotAPlaybook, &kind.span, message).help_if(help));
        None
    }

    fn check_version(&mut self, root: &YamlNode) {
        let Some(version) = root.get("apiVersion") else {
            let finding = Finding::error(
                DiagnosticCode::MissingKey,
                &root.span,
                "a playbook needs `apiVersion`",
            );
            self.add(finding.help("write `apiVersion: noetl.io/v2`"));
            return;
        };
        let finding = match self.text(version, "`apiVersion`").as_deref() {
            None | Some("noetl.io/v2") => return,
            Some("noetl.io/v10") => {
                let message = "`noetl.io/v10` is read as `noetl.io/v2`";
                let finding = Finding::warning(DiagnosticCode::ApiVersion, &version.span, message);
                finding.fix("noetl.io/v2")
            }
            Some(other) => {
                let message = format!("`{other}` is not a version of the language");
                Finding::error(DiagnosticCode::ApiVersion, &version.span, message)
            }
        };
        self.add(finding.help("write `apiVersion: noetl.io/v2`"));
    }

    fn metadata(&mut self, root: &YamlNode) -> Option<Metadata> {
        let Some(node) = root.get("metadata") else {
            self.missing(root, "a playbook", "metadata");
            return None;
        };
        let entries = self.map(node, METADATA)?;
        let Some(name) = node.get("name") else {
            self.missing(node, "metadata", "name");
            return None;
        };
        let name = self.name(name, "a playbook's name")?;
        let path = match node.get("path").filter(|path| !path.is_null()) {
            Some(path) => self.name(path, "a playbook's path")?,
            None => name.clone(),
        };
        let description = node.get("description").and_then(|text| text.text()).map(str::to_owned);
        let labels = node.get("labels").map(|labels| self.labels(labels)).unwrap_or_default();
        Some(Metadata { name, path, description, labels, all: to_object(entries) })
    }

    /// Reads `metadata.labels`. A label that no execution can have is left out with a warning.
    pub(super) fn labels(&mut self, node: &YamlNode) -> Vec<(String, Template)> {
        if node.is_null() {
            return Vec::new();
        }
        let Some(entries) = node.entries() else {
            let message = "`labels` is not a map, so executions get no labels from it";
            let finding = Finding::warning(DiagnosticCode::BadValue, &node.span, message);
            self.add(finding.help("write `labels: {team: ops}`"));
            return Vec::new();
        };
        let mut labels = Vec::new();
        for entry in entries {
            let key = &entry.key.text;
            let Some(template) = self.template(&entry.value) else { continue };
            let fault = check_label_key(key).err().or_else(|| {
                let is_fixed = template.variables().is_empty();
                let value = template.source();
                let has_code = |text: &str| text.contains("{{") || text.contains("{%");
                let is_template = value.as_str().is_some_and(has_code);
                (is_fixed && !is_template).then(|| Label::from_json(key, value).err()).flatten()
            });
            match fault {
                None => labels.push((key.clone(), template)),
                Some(fault) => {
                    let message = format!("{fault}; executions do not get this label");
                    self.add(Finding::warning(
                        DiagnosticCode::BadValue,
                        &entry.value.span,
                        message,
                    ));
                }
            }
        }
        labels
    }

    /// Returns `workload`, with missing keys added from the older `vars`.
    fn workload(&mut self, root: &YamlNode) -> Map<String, Value> {
        let mut workload = Map::new();
        for key in ["workload", "vars"] {
            let node = root.get(key);
            let entries = node.and_then(|node| self.any_map(node, &format!("`{key}`")));
            for entry in entries.unwrap_or_default() {
                workload.entry(entry.key.text.clone()).or_insert_with(|| entry.value.to_json());
            }
        }
        workload
    }

    fn keychain(&mut self, root: &YamlNode) -> Vec<Value> {
        let Some(node) = root.get("keychain").filter(|node| !node.is_null()) else {
            return Vec::new();
        };
        if node.list().is_none() {
            self.wrong_type(node, "`keychain`", "a list");
        }
        node.list().unwrap_or_default().iter().map(|entry| entry.to_json()).collect()
    }

    /// Checks the templates of the keychain, which are rendered when a secret is looked up.
    fn keychain_templates(&mut self, root: &YamlNode) {
        let entries = root.get("keychain").and_then(|node| node.list());
        for entry in entries.unwrap_or_default() {
            self.at(RenderMoment::Keychain, |reader| reader.template(entry));
        }
    }

    /// Collects the names of all steps first, so that arcs can refer to later steps.
    fn names(&mut self, root: &YamlNode) -> Option<Vec<NamedStep>> {
        let Some(workflow) = root.get("workflow") else {
            self.missing(root, "a playbook", "workflow");
            return None;
        };
        let Some(items) = workflow.list() else {
            self.wrong_type(workflow, "`workflow`", "a list of steps");
            return None;
        };
        if items.is_empty() {
            self.add(Finding::error(
                DiagnosticCode::MissingKey,
                &workflow.span,
                "`workflow` has no steps",
            ));
            return None;
        }
        if let Some(extra) = items.get(STEPS_MAX) {
            let message = format!("a playbook has at most {STEPS_MAX} steps");
            self.add(Finding::error(DiagnosticCode::TooLarge, &extra.span, message));
            return None;
        }
        let mut named: Vec<NamedStep> = Vec::new();
        for item in items {
            let Some(name) = self.step_name(item) else { continue };
            match self.steps.get(&name) {
                Some(first) => {
                    let line = self.findings.source.line(named[first.0].node.span.start);
                    let message = format!("step `{name}` is already there, on line {line}");
                    let at = item.get("step").map_or(&item.span, |name| &name.span);
                    self.add(Finding::error(DiagnosticCode::DuplicateStep, at, message));
                }
                None => {
                    self.steps.insert(name.clone(), StepIndex(named.len()));
                }
            }
            named.push(NamedStep { name, node: Rc::clone(item) });
        }
        Some(named)
    }

    fn check_arcs(&mut self, root: &YamlNode, steps: &[Step]) -> Option<()> {
        let arcs: usize = steps.iter().map(|step| step.next.arcs.len()).sum();
        if arcs <= ARCS_MAX {
            return Some(());
        }
        let message = format!("a playbook has at most {ARCS_MAX} arcs, this one has {arcs}");
        self.add(Finding::error(DiagnosticCode::TooLarge, &root.span, message));
        None
    }

    fn step_name(&mut self, item: &YamlNode) -> Option<String> {
        if item.entries().is_none() {
            self.wrong_type(item, "a step", "a map");
            return None;
        }
        match item.get("step") {
            Some(name) => self.name(name, "a step's name"),
            None => {
                let finding = Finding::error(
                    DiagnosticCode::MissingKey,
                    &item.span,
                    "a step needs `step`, its name",
                );
                let help = item.get("name").map(|_| "write `step` instead of `name`".to_owned());
                self.add(finding.help_if(help));
                None
            }
        }
    }

    fn executor(&mut self, root: &YamlNode) -> Executor {
        let mut executor = Executor::default();
        let Some(node) = root.get("executor") else { return executor };
        self.map(node, EXECUTOR);
        let Some(spec) = node.get("spec") else { return executor };
        self.map(spec, EXECUTOR_SPEC);
        let given = |key| spec.get(key).filter(|node| !node.is_null());
        executor.entry = given("entry_step").and_then(|node| self.step_named(node));
        executor.final_step = given("final_step").and_then(|node| self.step_named(node));
        let no_next =
            given("no_next_is_error").and_then(|node| self.truth(node, "`no_next_is_error`"));
        executor.no_next_is_error = no_next.unwrap_or(false);
        executor.timeout = given("timeout").and_then(|node| self.timeout(node));
        executor.error_mode =
            given("error_mode").and_then(|node| self.word(node, "`error_mode`", ERROR_MODES));
        if let Some(node) = given("undefined") {
            self.word(node, "`undefined`", UNDEFINED_MODES);
        }
        executor.priority = given("priority").and_then(|node| self.priority(node));
        executor.concurrency = given("concurrency").and_then(|node| self.concurrency(node));
        executor
    }

    /// Reads `expect`: by when an execution should have ended.
    fn expected_within(&mut self, root: &YamlNode) -> Option<Duration> {
        let node = root.get("expect").filter(|node| !node.is_null())?;
        self.map(node, EXPECT)?;
        match node.get("within").filter(|within| !within.is_null()) {
            Some(within) => self.timeout(within),
            None => {
                self.missing(node, "`expect`", "within");
                None
            }
        }
    }

    fn find_unreachable(
        &mut self,
        steps: &[Step],
        named: &[NamedStep],
        from: [Option<StepIndex>; 2],
    ) {
        let mut reached = vec![false; steps.len()];
        let mut waiting: Vec<StepIndex> = from.into_iter().flatten().collect();
        while let Some(StepIndex(index)) = waiting.pop() {
            if !std::mem::replace(&mut reached[index], true) {
                waiting.extend(steps[index].next.arcs.iter().map(|arc| arc.to));
            }
        }
        let start = from.into_iter().flatten().next().map_or("", |start| &named[start.0].name);
        let lost = named.iter().zip(&reached).filter(|(_, reached)| !**reached);
        for (NamedStep { name, node }, _) in lost {
            let at = node.get("step").map_or(&node.span, |name| &name.span);
            let message = format!("step `{name}` cannot be reached from `{start}`");
            self.add(Finding::warning(DiagnosticCode::UnreachableStep, at, message));
        }
    }
}
