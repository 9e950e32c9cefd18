//! Reads `next` into a router, in all supported spellings.

use std::rc::Rc;

use noetl_expr::Condition;

use super::DocumentReader;
use crate::diagnostic::{DiagnosticCode, Finding};
use crate::playbook::{Arc, AssignmentScope, Router, RouterMode, SetAssignment};
use crate::words::{ARC, NEXT, NEXT_SPEC};
use crate::yaml::{Yaml, YamlNode};

pub(super) const MODES: &[(&str, RouterMode)] =
    &[("exclusive", RouterMode::Exclusive), ("inclusive", RouterMode::Inclusive)];

/// The step an arc leaves, with its settings about arcs.
pub(super) struct ArcOrigin<'a> {
    pub(super) step: &'a str,
    /// The mode from `spec.next_mode`.
    pub(super) mode: Option<RouterMode>,
}

impl DocumentReader<'_> {
    pub(super) fn router(&mut self, node: Option<&Rc<YamlNode>>, origin: &ArcOrigin<'_>) -> Router {
        let exclusive = origin.mode.unwrap_or(RouterMode::Exclusive);
        let Some(node) = node else { return Router { mode: exclusive, arcs: Vec::new() } };
        let router = match &node.yaml {
            Yaml::Null => Router { mode: exclusive, arcs: Vec::new() },
            Yaml::Text { .. } | Yaml::Number(_) | Yaml::Bool(_) => {
                Router { mode: exclusive, arcs: self.plain_arc(node).into_iter().collect() }
            }
            Yaml::List(items) => self.list(items, origin),
            Yaml::Map(_) => self.router_map(node, origin),
        };
        self.find_unreachable_arcs(&router, node);
        router
    }

    fn router_map(&mut self, node: &Rc<YamlNode>, origin: &ArcOrigin<'_>) -> Router {
        let mut mode = origin.mode;
        if node.get("step").is_some() && node.get("arcs").is_none() {
            let message = "`next` with a single `step` is an old spelling";
            let finding = Finding::warning(DiagnosticCode::OldSpelling, &node.span, message);
            self.add(finding.help("write `next: {arcs: [{step: …}]}`"));
            let arcs = self.arc(node, origin).into_iter().collect();
            return Router { mode: mode.unwrap_or(RouterMode::Exclusive), arcs };
        }
        self.map(node, NEXT);
        if let Some(spec) = node.get("spec") {
            self.map(spec, NEXT_SPEC);
        }
        let written =
            node.get("spec").and_then(|spec| spec.get("mode")).or_else(|| node.get("mode"));
        if let Some(written) = written {
            mode = self.word(written, "the mode of `next`", MODES);
        }
        let arcs = match node.get("arcs") {
            Some(arcs) => self.arcs(arcs, origin),
            None => {
                self.missing(node, "`next`", "arcs");
                Vec::new()
            }
        };
        Router { mode: mode.unwrap_or(RouterMode::Exclusive), arcs }
    }

    fn arcs(&mut self, node: &Rc<YamlNode>, origin: &ArcOrigin<'_>) -> Vec<Arc> {
        match &node.yaml {
            Yaml::Null => Vec::new(),
            Yaml::List(items) => items.iter().filter_map(|item| self.arc(item, origin)).collect(),
            Yaml::Bool(_) | Yaml::Number(_) | Yaml::Text { .. } | Yaml::Map(_) => {
                self.wrong_type(node, "`arcs`", "a list");
                Vec::new()
            }
        }
    }

    /// Reads a list of targets. A list of names takes all of them; a list of maps is evaluated in
    /// order.
    fn list(&mut self, items: &[Rc<YamlNode>], origin: &ArcOrigin<'_>) -> Router {
        let all_names = items.iter().all(|item| item.entries().is_none());
        let is_case =
            |item: &Rc<YamlNode>| item.get("then").is_some() || item.get("else").is_some();
        let mut mode = match origin.mode {
            Some(mode) => mode,
            None if all_names && items.len() > 1 => RouterMode::Inclusive,
            None => RouterMode::Exclusive,
        };
        if let Some(first) = items.first().filter(|_| !all_names) {
            let message = "a list of conditions under `next` is an old spelling";
            let finding = Finding::warning(DiagnosticCode::OldSpelling, &first.span, message);
            self.add(finding.help("write `next: {arcs: [{step: …, when: …}]}`"));
        }
        let mut arcs = Vec::new();
        for item in items {
            if is_case(item) {
                let targets = self.case(item, origin);
                if targets.len() > 1 && items.len() == 1 {
                    mode = RouterMode::Inclusive;
                } else if targets.len() > 1 && mode == RouterMode::Exclusive {
                    let message = "only the first of these steps would be entered";
                    let finding = Finding::error(DiagnosticCode::BadValue, &item.span, message);
                    self.add(finding.help("write `next: {spec: {mode: inclusive}, arcs: […]}`"));
                }
                arcs.extend(targets);
            } else {
                arcs.extend(self.arc(item, origin));
            }
        }
        Router { mode, arcs }
    }

    /// Reads `{when, then: targets}` or `{else: targets}`.
    fn case(&mut self, item: &YamlNode, origin: &ArcOrigin<'_>) -> Vec<Arc> {
        let guard = item.get("when").and_then(|when| self.condition(when));
        let targets = item.get("then").or_else(|| item.get("else"));
        let targets: Vec<Rc<YamlNode>> = match targets {
            Some(node) => match (node.get("then"), node.list()) {
                (Some(then), _) => vec![Rc::clone(then)],
                (None, Some(items)) => items.to_vec(),
                (None, None) => vec![Rc::clone(node)],
            },
            None => Vec::new(),
        };
        let arcs = targets.iter().filter_map(|target| self.arc(target, origin));
        arcs.map(|arc| {
            let tests_failure =
                guard.as_ref().is_some_and(|guard| tests_failure(guard, origin.step));
            Arc { when: guard.clone(), tests_failure, ..arc }
        })
        .collect()
    }

    fn plain_arc(&mut self, node: &YamlNode) -> Option<Arc> {
        let to = self.step_named(node)?;
        Some(Arc { to, when: None, set: Vec::new(), tests_failure: false })
    }

    fn arc(&mut self, node: &Rc<YamlNode>, origin: &ArcOrigin<'_>) -> Option<Arc> {
        if node.entries().is_none() {
            return self.plain_arc(node);
        }
        let entries = self.map(node, ARC)?;
        let to = match node.get("step") {
            Some(step) => self.step_named(step),
            None => {
                self.missing(node, "an arc", "step");
                None
            }
        };
        let when = node.get("when").filter(|when| !when.is_null());
        let when = when.and_then(|when| self.condition(when));
        let mut set: Vec<SetAssignment> = Vec::new();
        for entry in entries {
            if matches!(entry.key.text.as_str(), "set" | "args" | "input" | "with") {
                set.extend(self.assignments(&entry.value, AssignmentScope::Bare));
            }
        }
        let tests_failure = when.as_ref().is_some_and(|guard| tests_failure(guard, origin.step));
        Some(Arc { to: to?, when, set, tests_failure })
    }

    fn find_unreachable_arcs(&mut self, router: &Router, node: &YamlNode) {
        let always = router.arcs.iter().position(|arc| arc.when.is_none());
        let shadowed = always.is_some_and(|at| at + 1 < router.arcs.len());
        let in_order = router.mode == RouterMode::Exclusive && !self.findings.has_errors();
        if shadowed && in_order {
            let message = "no arc after one without `when` is ever taken";
            let finding = Finding::warning(DiagnosticCode::UnreachableArc, &node.span, message);
            self.add(
                finding.help("put the arc without `when` last, or use `spec: {mode: inclusive}`"),
            );
        }
    }
}

/// True if a guard reads the outcome of the step.
fn tests_failure(guard: &Condition, step: &str) -> bool {
    guard.variables().iter().any(|variable| {
        let (root, rest) = variable.split_once('.').unwrap_or((variable, ""));
        let attribute = rest.split('.').next().unwrap_or("");
        let of_outcome = attribute == "status" || attribute.starts_with("error");
        match root {
            "event" | "error" => true,
            "output" | "outcome" | "result" => of_outcome,
            _ => root == step && of_outcome,
        }
    })
}
