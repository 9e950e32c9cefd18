//! Reads rules: the reaction to a task's outcome, and the conditions for entering a step.

use std::rc::Rc;
use std::time::Duration;

use noetl_expr::Condition;
use serde_json::Value;

use super::DocumentReader;
use super::set::is_bare;
use super::task::TaskPosition;
use crate::diagnostic::{DiagnosticCode, Finding};
use crate::playbook::{ATTEMPTS_MAX, DELAY_MAX};
use crate::playbook::{AdmitRule, Amount, Retry, RetryBackoff, Rule, RuleAction};
use crate::suggest::nearest;
use crate::words::{ADMIT_RULE, ALLOW, BACKOFFS, POLICY, PREVIOUS, RETRY, RULE, THEN, VERBS};
use crate::yaml::{Yaml, YamlEntry, YamlKey, YamlNode};

const ATTEMPTS_DEFAULT: u32 = 3;
const DELAY_DEFAULT: Duration = Duration::from_secs(1);

/// The default condition of `retry`.
const ANY_FAILURE: &str = "{{ output.status == 'error' }}";

/// Returns the targets of a rule's `set` that have no prefix.
fn bare_targets(then: &[YamlEntry]) -> impl Iterator<Item = YamlKey> {
    let blocks = then.iter().filter(|entry| entry.key.text == "set");
    let targets = blocks.flat_map(|block| block.value.entries().unwrap_or_default());
    targets.map(|entry| entry.key.clone()).filter(|key| is_bare(&key.text))
}

impl DocumentReader<'_> {
    /// Reads the rules of `spec.policy`: below `rules`, or directly there.
    pub(super) fn policy(&mut self, node: &Rc<YamlNode>, position: &TaskPosition<'_>) -> Vec<Rule> {
        if node.list().is_some() {
            return self.rules(node, position);
        }
        self.map(node, POLICY);
        node.get("rules").map(|rules| self.rules(rules, position)).unwrap_or_default()
    }

    pub(super) fn rules(&mut self, node: &YamlNode, position: &TaskPosition<'_>) -> Vec<Rule> {
        let mut rules: Vec<Rule> = Vec::new();
        for item in self.rule_items(node) {
            let is_settled = rules.last().is_some_and(|rule| rule.when.is_none());
            if is_settled && !self.findings.has_errors() {
                let message = "no rule after an `else` is looked at";
                self.add(Finding::warning(DiagnosticCode::UnreachableArc, &item.span, message));
            }
            rules.extend(self.rule(item, position));
        }
        rules
    }

    fn rule_items<'n>(&mut self, node: &'n YamlNode) -> &'n [Rc<YamlNode>] {
        if node.list().is_none() && !node.is_null() {
            self.wrong_type(node, "`rules`", "a list");
        }
        node.list().unwrap_or_default()
    }

    fn rule(&mut self, item: &Rc<YamlNode>, position: &TaskPosition<'_>) -> Option<Rule> {
        let (when, then) = match item.get("else") {
            Some(otherwise) => (None, otherwise.get("then").unwrap_or(otherwise)),
            None => {
                let when = item.get("when").or_else(|| item.get("expr"));
                if item.entries().is_some() && when.is_none() {
                    self.missing(item, "a rule", "when");
                }
                let when = when.and_then(|when| self.condition(when));
                (when, item.get("then").unwrap_or(item))
            }
        };
        if Rc::ptr_eq(then, item) {
            self.inline_rule(item)?;
        } else {
            self.map(item, RULE)?;
            self.map(then, THEN)?;
        }
        let entries = then.entries()?;
        let set = self.set_blocks(entries);
        self.bare_rule_sets.extend(bare_targets(entries));
        let action = self.action(then, position)?;
        Some(Rule { when, set, action })
    }

    /// Reads a rule whose `do` is next to its `when`.
    fn inline_rule(&mut self, item: &YamlNode) -> Option<()> {
        for entry in self.any_map(item, RULE.title)? {
            match RULE.word(&entry.key.text).or_else(|| THEN.word(&entry.key.text)) {
                Some(word) => self.note_status(&entry.key, word),
                None => self.unknown_key(&entry.key, RULE),
            }
        }
        match item.entries()?.iter().find(|entry| entry.key.text == "do") {
            Some(entry) => {
                self.old_spelling(&entry.key, "`then: {do: …}`");
                Some(())
            }
            None => {
                self.missing(item, "a rule", "then");
                None
            }
        }
    }

    fn action(&mut self, then: &YamlNode, position: &TaskPosition<'_>) -> Option<RuleAction> {
        let Some(verb) = then.get("do") else {
            let message = "`then` needs `do`";
            let finding = Finding::error(DiagnosticCode::MissingKey, &then.span, message);
            self.add(finding.help(format!("it can be {}", VERBS.join(", "))));
            return None;
        };
        match self.text(verb, "`do`")?.as_str() {
            "continue" => Some(RuleAction::Continue),
            "break" => Some(RuleAction::Break),
            "fail" => Some(RuleAction::Fail),
            "retry" => {
                Some(RuleAction::Retry(self.retry(then, then.get("attempts"), then.get("delay"))))
            }
            "jump" => self.jump(then, position).map(RuleAction::Jump),
            other => {
                self.unknown_word(verb, "`do`", other, VERBS);
                None
            }
        }
    }

    fn jump(&mut self, then: &YamlNode, position: &TaskPosition<'_>) -> Option<usize> {
        let Some(to) = then.get("to").or_else(|| then.get("target")) else {
            self.missing(then, "a jump", "to");
            return None;
        };
        let label = self.name(to, "a label")?;
        if let Some(index) = position.labels.iter().position(|known| *known == label) {
            return Some(index);
        }
        let (message, help) = if PREVIOUS.contains(&label.as_str()) {
            match position.index.checked_sub(1) {
                Some(previous) => return Some(previous),
                None => ("there is no task before the first".to_owned(), None),
            }
        } else {
            let help = match nearest(&label, position.labels.iter().map(String::as_str)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("its tasks are {}", position.labels.join(", ")),
            };
            (format!("this step has no task `{label}`"), Some(help))
        };
        self.add(Finding::error(DiagnosticCode::UnknownLabel, &to.span, message).help_if(help));
        None
    }

    fn retry(
        &mut self,
        node: &YamlNode,
        attempts: Option<&Rc<YamlNode>>,
        delay: Option<&Rc<YamlNode>>,
    ) -> Retry {
        let attempts = attempts.and_then(|node| {
            self.amount(node, |reader| reader.count(node, "the number of attempts", ATTEMPTS_MAX))
        });
        let delay = delay.and_then(|node| {
            self.amount(node, |reader| reader.duration(node, "a delay", 1.0, DELAY_MAX))
        });
        let delay_max = node.get("max_delay");
        let delay_max = delay_max.and_then(|node| self.duration(node, "a delay", 1.0, DELAY_MAX));
        Retry {
            attempts: attempts.unwrap_or(Amount::Literal(ATTEMPTS_DEFAULT)),
            backoff: node.get("backoff").map_or(RetryBackoff::Constant, |node| self.backoff(node)),
            delay: delay.unwrap_or(Amount::Literal(DELAY_DEFAULT)),
            delay_max: delay_max.unwrap_or(DELAY_MAX),
        }
    }

    /// Returns the value as read, or the template that will give it.
    fn amount<T>(
        &mut self,
        node: &YamlNode,
        read: impl FnOnce(&mut Self) -> Option<T>,
    ) -> Option<Amount<T>> {
        if node.is_template() {
            return self.template(node).map(Amount::Rendered);
        }
        read(self).map(Amount::Literal)
    }

    /// Reads `backoff`. An unknown word gets a warning and means a constant delay.
    fn backoff(&mut self, node: &YamlNode) -> RetryBackoff {
        match self.text(node, "`backoff`").as_deref() {
            None | Some("none" | "fixed" | "constant") => RetryBackoff::Constant,
            Some("linear") => RetryBackoff::Linear,
            Some("exponential") => RetryBackoff::Exponential,
            Some(other) => {
                let help = nearest(other, BACKOFFS.iter().copied());
                let help = help.map(|near| format!("did you mean `{near}`?"));
                let message = format!("`{other}` is no way to back off; the delay stays constant");
                self.add(
                    Finding::warning(DiagnosticCode::UnknownWord, &node.span, message)
                        .help_if(help),
                );
                RetryBackoff::Constant
            }
        }
    }

    /// Converts `retry`, a number of attempts or a map, into a rule.
    pub(super) fn retry_rule(&mut self, node: &Rc<YamlNode>) -> Option<Rule> {
        let (retry, when) = match &node.yaml {
            Yaml::Null | Yaml::Bool(false) => return None,
            Yaml::Bool(true) => (self.retry(node, None, None), None),
            Yaml::Number(_) | Yaml::Text { .. } => (self.retry(node, Some(node), None), None),
            Yaml::List(_) | Yaml::Map(_) => {
                self.map(node, RETRY)?;
                let inner = node.get("on_error").filter(|inner| inner.entries().is_some());
                let map = inner.unwrap_or(node);
                (self.retry_map(map), map.get("when").or_else(|| map.get("retry_when")))
            }
        };
        let when = match when {
            Some(when) => self.condition(when)?,
            None => Condition::parse(Value::from(ANY_FAILURE)).expect("the words are a condition"),
        };
        Some(Rule { when: Some(when), set: Vec::new(), action: RuleAction::Retry(retry) })
    }

    fn retry_map(&mut self, map: &YamlNode) -> Retry {
        let attempts = map.get("max_attempts").or_else(|| map.get("attempts"));
        let delay = map
            .get("delay")
            .or_else(|| map.get("initial_delay"))
            .or_else(|| map.get("delay_seconds"));
        let mut retry = self.retry(map, attempts, delay);
        if let (None, Some(again)) = (attempts, map.get("max_retries")) {
            let again = self.count(again, "the number of retries", ATTEMPTS_MAX - 1);
            retry.attempts = Amount::Literal(again.map_or(ATTEMPTS_DEFAULT, |again| again + 1));
        }
        if let (None, Some(delay)) = (delay, map.get("initial_delay_ms")) {
            let delay = self.duration(delay, "a delay", 0.001, DELAY_MAX);
            retry.delay = Amount::Literal(delay.unwrap_or(DELAY_DEFAULT));
        }
        if let Some(Yaml::Number(factor)) = map.get("backoff_multiplier").map(|node| &node.yaml)
            && factor.as_f64() > Some(1.0)
        {
            retry.backoff = RetryBackoff::Exponential;
        }
        retry
    }

    /// Reads the rules for entering a step: below `rules`, or directly a list.
    pub(super) fn admit(&mut self, node: &YamlNode) -> Vec<AdmitRule> {
        let rules = node.get("rules").map_or(node, |rules| rules);
        let items = self.rule_items(rules).to_vec();
        items.iter().filter_map(|item| self.admit_rule(item)).collect()
    }

    fn admit_rule(&mut self, item: &YamlNode) -> Option<AdmitRule> {
        let entries: &[YamlEntry] = self.map(item, ADMIT_RULE)?;
        let otherwise = entries.iter().find(|entry| entry.key.text == "else");
        let (when, then) = match otherwise {
            Some(YamlEntry { value, .. }) => (None, Some(value.get("then").unwrap_or(value))),
            None => (item.get("when"), item.get("then")),
        };
        let Some(then) = then else {
            self.missing(item, ADMIT_RULE.title, "then");
            return None;
        };
        self.map(then, ALLOW)?;
        let Some(allow) = then.get("allow") else {
            self.missing(then, ADMIT_RULE.title, "allow");
            return None;
        };
        let allow = self.truth(allow, "`allow`")?;
        let when = when.and_then(|when| self.condition(when));
        Some(AdmitRule { when, allow })
    }
}
