//! Reads limits: `limit` of a step, `concurrency` and `priority` of the executor.

use std::time::Duration;

use noetl_model::{
    LIMIT_RATE_MAX, LIMIT_SLOTS_MAX, LimitAmount, LimitDefinition, LimitName, OnConflict, Priority,
};

use super::DocumentReader;
use crate::diagnostic::{DiagnosticCode, Finding};
use crate::playbook::Concurrency;
use crate::words::limit::{CONCURRENCY, LIMIT};
use crate::yaml::YamlNode;

/// The treatment of an execution that finds no free slot, by its word.
const CONFLICTS: &[(&str, OnConflict)] = &[
    ("queue", OnConflict::Queue),
    ("skip", OnConflict::Skip),
    ("fail", OnConflict::Fail),
    ("cancel_running", OnConflict::CancelRunning),
];

/// The longest period of a rate.
const PERIOD_MAX: Duration = Duration::from_secs(86_400);

impl DocumentReader<'_> {
    pub(super) fn priority(&mut self, node: &YamlNode) -> Option<Priority> {
        let highest = u32::from(Priority::HIGHEST.level());
        let level = self.whole(node, "`priority`", 0..=highest)?;
        u8::try_from(level).ok().and_then(|level| Priority::try_from(level).ok())
    }

    pub(super) fn concurrency(&mut self, node: &YamlNode) -> Option<Concurrency> {
        self.map(node, CONCURRENCY)?;
        let given = |key| node.get(key).filter(|node| !node.is_null());
        let limit = match given("limit") {
            Some(limit) => self.count(limit, "`limit`", LIMIT_SLOTS_MAX),
            None => {
                self.lacks_key(
                    node,
                    "`concurrency` needs `limit`: how many executions run at a time",
                );
                None
            }
        };
        let key = given("key").map(|key| self.template(key));
        let on_conflict = given("on_conflict")
            .map(|word| self.word(word, "`on_conflict`", CONFLICTS))
            .unwrap_or(Some(OnConflict::Queue));
        let key = match key {
            Some(key) => Some(key?),
            None => None,
        };
        Some(Concurrency { limit: limit?, key, on_conflict: on_conflict? })
    }

    pub(super) fn limit(&mut self, node: &YamlNode) -> Option<LimitDefinition> {
        self.map(node, LIMIT)?;
        let given = |key| node.get(key).filter(|node| !node.is_null());
        let name = match given("name") {
            Some(name) => self.limit_name(name),
            None => {
                self.lacks_key(node, "`limit` needs `name`: playbooks share a limit by its name");
                None
            }
        };
        let amount = match (given("max"), given("rate")) {
            (Some(max), None) => {
                for key in ["per", "burst"] {
                    if let Some(of_rate) = given(key) {
                        let message = format!("`{key}` belongs to `rate`, not to `max`");
                        self.bad_value(of_rate, message);
                    }
                }
                self.count(max, "`max`", LIMIT_SLOTS_MAX).map(|max| LimitAmount::Slots { max })
            }
            (None, Some(rate)) => {
                self.rate(rate, given("per").map(|it| &**it), given("burst").map(|it| &**it))
            }
            (Some(max), Some(_)) => {
                self.bad_value(max, "`limit` has either `max` or `rate`".to_owned());
                None
            }
            (None, None) => {
                self.lacks_key(
                    node,
                    "`limit` needs `max` (how many at a time) or `rate` (how many per second)",
                );
                None
            }
        };
        Some(LimitDefinition { name: name?, amount: amount? })
    }

    fn rate(
        &mut self,
        rate: &YamlNode,
        per: Option<&YamlNode>,
        burst: Option<&YamlNode>,
    ) -> Option<LimitAmount> {
        let count = self.count(rate, "`rate`", LIMIT_RATE_MAX.saturating_mul(86_400))?;
        let per = match per {
            Some(node) => self.duration(node, "`per`", 1.0, PERIOD_MAX)?,
            None => Duration::from_secs(1),
        };
        let per_ms = u64::try_from(per.as_millis()).unwrap_or(u64::MAX);
        let per_second = u64::from(count).saturating_mul(1000).checked_div(per_ms);
        if per_second.is_none_or(|count| count > u64::from(LIMIT_RATE_MAX)) {
            let message = format!("a rate is at most {LIMIT_RATE_MAX} per second");
            self.bad_value(rate, message);
            return None;
        }
        let burst = match burst {
            Some(node) => self.count(node, "`burst`", LIMIT_SLOTS_MAX)?,
            // A tenth of a second, so that a server that looks a little late loses nothing.
            None => u32::try_from(per_second.unwrap_or(1) / 10).unwrap_or(1).max(1),
        };
        Some(LimitAmount::Rate { count, per_ms, burst })
    }

    fn limit_name(&mut self, node: &YamlNode) -> Option<LimitName> {
        let name = self.name(node, "the name of a limit")?;
        if name.starts_with("playbook:") {
            let message = "names that begin with `playbook:` belong to `concurrency`".to_owned();
            self.bad_value(node, message);
            return None;
        }
        match name.parse() {
            Ok(name) => Some(name),
            Err(error) => {
                let error: noetl_model::BadLimitName = error;
                self.bad_value(node, error.to_string());
                None
            }
        }
    }

    fn lacks_key(&mut self, node: &YamlNode, message: &str) {
        self.add(Finding::error(DiagnosticCode::MissingKey, &node.span, message));
    }

    fn bad_value(&mut self, node: &YamlNode, message: String) {
        self.add(Finding::error(DiagnosticCode::BadValue, &node.span, message));
    }
}
