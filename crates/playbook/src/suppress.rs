//! Comments that suppress findings: `# noetl: ignore[CODE, …]` for its own line, or the next one if
//! it stands alone; `# noetl: ignore-file[CODE, …]` for the whole document.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::diagnostic::{DiagnosticCode, Finding};
use crate::suggest::nearest;

const MARK: &str = "# noetl: ignore";

/// The rules that a comment suppresses.
#[derive(Debug, Default, Clone)]
struct RuleSet {
    codes: Vec<DiagnosticCode>,
    /// True for a comment without a list: all rules.
    is_all: bool,
}

impl RuleSet {
    fn add(&mut self, other: RuleSet) {
        self.codes.extend(other.codes);
        self.is_all |= other.is_all;
    }

    fn has(&self, code: DiagnosticCode) -> bool {
        self.is_all || self.codes.contains(&code)
    }
}

/// The suppressed rules of a document.
#[derive(Debug, Default)]
pub(crate) struct Suppressions {
    of_file: RuleSet,
    of_line: BTreeMap<usize, RuleSet>,
    unknown: Vec<(String, Range<usize>)>,
}

impl Suppressions {
    pub(crate) fn of(text: &str) -> Self {
        let mut found = Self::default();
        if !text.contains(MARK) {
            return found;
        }
        let mut start = 0;
        for (index, line) in text.split('\n').enumerate() {
            if let Some(at) = line.find(MARK) {
                found.comment(line, at, start, index + 1);
            }
            start += line.len() + 1;
        }
        found
    }

    fn comment(&mut self, line: &str, at: usize, start: usize, number: usize) {
        let rest = &line[at + MARK.len()..];
        let (is_file, rest) = match rest.strip_prefix("-file") {
            Some(rest) => (true, rest),
            None => (false, rest),
        };
        let mut rules = RuleSet::default();
        match rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((list, _)) => {
                let from = start + line.len() - rest.len() + 1;
                for name in list.split(',') {
                    let offset = name.as_ptr() as usize - list.as_ptr() as usize;
                    let lead = name.len() - name.trim_start().len();
                    let name = name.trim();
                    match DiagnosticCode::ALL.iter().find(|code| code.as_str() == name) {
                        Some(code) => rules.codes.push(*code),
                        None => {
                            let at = from + offset + lead;
                            self.unknown.push((name.to_owned(), at..at + name.len()));
                        }
                    }
                }
            }
            None => rules.is_all = rest.trim().is_empty() || rest.starts_with(' '),
        }
        let is_alone = line[..at].trim().is_empty();
        if is_file {
            self.of_file.add(rules);
        } else {
            let line = if is_alone { number + 1 } else { number };
            self.of_line.entry(line).or_default().add(rules);
        }
    }

    /// True if a finding of this rule on this line is not reported.
    pub(crate) fn covers(&self, code: DiagnosticCode, line: usize) -> bool {
        self.of_file.has(code) || self.of_line.get(&line).is_some_and(|rules| rules.has(code))
    }

    /// Returns a warning for each rule that does not exist.
    pub(crate) fn unknown_rules(&self) -> Vec<Finding> {
        let codes = || DiagnosticCode::ALL.iter().map(|code| code.as_str());
        let finding = |(name, span): &(String, Range<usize>)| {
            let message = format!("there is no rule `{name}`");
            let help = match nearest(name, codes()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "`noetl explain` lists all rules".to_owned(),
            };
            Finding::warning(DiagnosticCode::UnknownRule, span, message).help(help)
        };
        self.unknown.iter().map(finding).collect()
    }
}
