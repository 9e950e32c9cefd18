//! The rules of the retention settings: how long ended executions are kept.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use noetl_model::{ExecutionStatus, Label, Summary, Timestamp};

use crate::path_matches;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// Maximum number of rules.
const RULES_MAX: usize = 100;
/// Maximum number of days of a rule.
const DAYS_MAX: u32 = 36_500;

/// The time for which executions that match a rule are kept after their end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetentionPeriod {
    For(Duration),
    Forever,
}

/// One rule: a period, and the conditions of the executions that it applies to, all of which hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetentionRule {
    pub period: RetentionPeriod,
    pub status: Option<ExecutionStatus>,
    /// The playbook's path; a trailing `*` matches any rest.
    pub path: Option<String>,
    pub labels: Vec<Label>,
}

/// The rules in order: the first that applies to an execution decides. Without one it is kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RetentionRules(Vec<RetentionRule>);

/// The reason why a text is not a list of rules.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadRetentionRule {
    #[error("a rule begins with a number of days such as `30d`, or with `keep`, not with `{0}`")]
    NoPeriod(String),
    #[error(
        "`{0}` is not a condition; a rule has status=S, path=P (a trailing * matches any rest) and \
         label=KEY:VALUE"
    )]
    NoCondition(String),
    #[error("there are at most {RULES_MAX} rules")]
    TooMany,
}

impl RetentionRule {
    fn applies_to(&self, summary: &Summary) -> bool {
        self.status.is_none_or(|status| summary.status == status)
            && self.path.as_ref().is_none_or(|path| path_matches(path, &summary.playbook.path))
            && self.labels.iter().all(|label| summary.labels.has(label))
    }
}

impl RetentionRules {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &RetentionRule> {
        self.0.iter()
    }

    /// Returns the rule that decides about an execution; `None` if it is kept for want of one.
    pub fn rule_of(&self, summary: &Summary) -> Option<&RetentionRule> {
        self.0.iter().find(|rule| rule.applies_to(summary))
    }

    /// Returns the shortest period: younger executions are kept by every rule. `None` if every
    /// execution is kept.
    pub fn shortest(&self) -> Option<Duration> {
        let periods = self.0.iter().filter_map(|rule| match rule.period {
            RetentionPeriod::For(period) => Some(period),
            RetentionPeriod::Forever => None,
        });
        periods.min()
    }

    /// True if an execution has ended and its period has passed.
    pub fn is_expired(&self, summary: &Summary, now: Timestamp) -> bool {
        let Some(ended_at) = summary.ended_at.filter(|_| summary.status.is_terminal()) else {
            return false;
        };
        match self.rule_of(summary).map(|rule| rule.period) {
            Some(RetentionPeriod::For(period)) => now.since(ended_at) >= period,
            Some(RetentionPeriod::Forever) | None => false,
        }
    }
}

/// Parses rules that are separated by semicolons, such as `keep path=audit/*; 30d status=COMPLETED`.
impl FromStr for RetentionRules {
    type Err = BadRetentionRule;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let rules = text.split(';').map(str::trim).filter(|rule| !rule.is_empty());
        let rules = rules.map(str::parse).collect::<Result<Vec<_>, _>>()?;
        if rules.len() > RULES_MAX {
            return Err(BadRetentionRule::TooMany);
        }
        Ok(Self(rules))
    }
}

impl FromStr for RetentionRule {
    type Err = BadRetentionRule;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut words = text.split_whitespace();
        let first = words.next().unwrap_or_default();
        let days = first.strip_suffix('d').and_then(|days| days.parse::<u32>().ok());
        let period = match (first, days) {
            ("keep", _) => RetentionPeriod::Forever,
            (_, Some(days)) if (1..=DAYS_MAX).contains(&days) => RetentionPeriod::For(DAY * days),
            (_, Some(_) | None) => return Err(BadRetentionRule::NoPeriod(first.to_owned())),
        };
        let mut rule = Self { period, status: None, path: None, labels: Vec::new() };
        for word in words {
            let bad = || BadRetentionRule::NoCondition(word.to_owned());
            match word.split_once('=').ok_or_else(bad)? {
                ("status", status) => {
                    let status = status.to_uppercase().parse::<ExecutionStatus>();
                    rule.status = Some(status.map_err(|_| bad())?);
                }
                ("path", path) if !path.is_empty() => rule.path = Some(path.to_owned()),
                ("label", label) => rule.labels.push(label.parse().map_err(|_| bad())?),
                (_, _) => return Err(bad()),
            }
        }
        Ok(rule)
    }
}

/// Writes a rule as it is parsed.
impl fmt::Display for RetentionRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.period {
            RetentionPeriod::For(period) => write!(f, "{}d", period.as_secs() / DAY.as_secs())?,
            RetentionPeriod::Forever => f.write_str("keep")?,
        }
        if let Some(status) = self.status {
            write!(f, " status={}", status.as_str())?;
        }
        if let Some(path) = &self.path {
            write!(f, " path={path}")?;
        }
        self.labels.iter().try_for_each(|label| write!(f, " label={label}"))
    }
}

#[cfg(test)]
mod tests {
    use noetl_model::{CatalogId, ExecutionId, ItemCounts, Labels, PlaybookRef, Seq, StepCounts};

    use super::*;

    /// Returns the instant some seconds after the end of the executions.
    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_millis(1_767_225_600_000).after(Duration::from_secs(seconds))
    }

    fn ended(path: &str, status: ExecutionStatus) -> Summary {
        Summary {
            execution: ExecutionId(7),
            playbook: PlaybookRef { catalog_id: CatalogId(7), path: path.to_owned(), version: 1 },
            status,
            seq: Seq(1),
            started_at: at(0),
            ended_at: status.is_terminal().then(|| at(0)),
            parent: None,
            current_step: None,
            steps: StepCounts::default(),
            items: ItemCounts::default(),
            error: None,
            head: None,
            fork: None,
            labels: Labels::default(),
            actor: None,
        }
    }

    /// Checks which of three executions is expired some days after their end.
    #[track_caller]
    fn check(rules: &str, days: u64, expected: [bool; 3]) {
        let rules: RetentionRules = rules.parse().expect("valid rules");
        let executions = [
            ended("team/a", ExecutionStatus::Completed),
            ended("audit/b", ExecutionStatus::Failed),
            ended("team/c", ExecutionStatus::Running),
        ];
        let now = at(days * 24 * 60 * 60);
        assert_eq!(executions.map(|it| rules.is_expired(&it, now)), expected, "{rules:?}");
    }

    #[test]
    fn the_first_rule_that_applies_decides_and_running_executions_are_kept() {
        check("", 1000, [false, false, false]);
        check("30d", 29, [false, false, false]);
        check("30d", 30, [true, true, false]);
        check("30d status=completed", 30, [true, false, false]);
        check("keep path=audit/*; 30d", 40, [true, false, false]);
        check("60d path=team/a; 30d", 40, [false, true, false]);
        check("30d label=team:ops", 40, [false, false, false]);
    }

    #[test]
    fn an_invalid_rule_is_named() {
        for text in ["30", "0d", "forever", "30d state=x", "30d status=done", "30d path="] {
            assert!(text.parse::<RetentionRules>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_rule_is_written_as_it_is_parsed() {
        for text in
            ["30d", "keep path=audit/*", "7d status=FAILED path=a/b label=team:ops label=x:y"]
        {
            assert_eq!(text.parse::<RetentionRule>().expect("a rule").to_string(), text);
        }
    }

    #[test]
    fn the_shortest_period_is_known() {
        let shortest = |text: &str| text.parse::<RetentionRules>().expect("rules").shortest();
        assert_eq!(shortest("60d path=a; 30d"), Some(DAY * 30));
        assert_eq!(shortest("keep"), None);
    }
}
