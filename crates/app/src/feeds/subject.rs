//! The subjects that feeds may be published on: only those below the operator's prefix.
//!
//! The server publishes with its own permissions, which may be those of a NATS administrator.

use std::fmt;

/// Maximum length of a subject, in bytes.
const SUBJECT_MAX: usize = 200;
/// Maximum length of the event type inserted into a subject.
const FILLED_MAX: usize = 200;
/// Prefixes of the subjects that servers and workers use among themselves.
const OWN_PREFIXES: [&str; 2] = ["noetl.commands", "noetl.hints"];

/// The prefix of all subjects of feeds, without its trailing full stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubjectPrefix(String);

/// The reason why a text is not a valid prefix or subject.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadSubject {
    #[error("`{0}` is not words with full stops between them, without spaces, `*`, `>` and `$`")]
    NotWords(String),
    #[error("subjects below `{0}` are the server's own")]
    Own(&'static str),
    #[error(
        "the subject `{subject}` is not below `{prefix}`, the prefix of feeds that the operator has set"
    )]
    NotBelow { subject: String, prefix: String },
    #[error("a subject has at most {SUBJECT_MAX} bytes")]
    TooLong,
}

impl Default for SubjectPrefix {
    fn default() -> Self {
        Self("noetl.events".to_owned())
    }
}

impl fmt::Display for SubjectPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl SubjectPrefix {
    /// Parses a prefix; a trailing full stop is optional.
    pub fn parse(text: &str) -> Result<Self, BadSubject> {
        let text = text.strip_suffix('.').unwrap_or(text);
        check_words(text)?;
        let overlaps = |own: &&str| is_below(own, text) || is_below(text, own) || text == *own;
        match OWN_PREFIXES.into_iter().find(overlaps) {
            Some(own) => Err(BadSubject::Own(own)),
            None => Ok(Self(text.to_owned())),
        }
    }

    /// Checks a subject, which may contain `{event_type}` and `{execution_id}`.
    pub(super) fn check(&self, subject: &str) -> Result<(), BadSubject> {
        if subject.len() > SUBJECT_MAX {
            return Err(BadSubject::TooLong);
        }
        check_words(&filled(subject, "a.b", "1"))
            .map_err(|_| BadSubject::NotWords(subject.to_owned()))?;
        if is_below(subject, &self.0) {
            return Ok(());
        }
        let (subject, prefix) = (subject.to_owned(), self.0.clone());
        Err(BadSubject::NotBelow { subject, prefix })
    }
}

fn is_below(subject: &str, prefix: &str) -> bool {
    subject.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('.'))
}

fn check_words(text: &str) -> Result<(), BadSubject> {
    let is_bad = |c: char| c.is_whitespace() || c.is_control() || "*>${}".contains(c);
    if text.split('.').all(|word| !word.is_empty() && !word.contains(is_bad)) {
        return Ok(());
    }
    Err(BadSubject::NotWords(text.to_owned()))
}

/// Returns the subject for an event. Other programs choose names of events too, so characters that
/// are not allowed in a subject are replaced.
pub(super) fn filled(subject: &str, event_type: &str, execution: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_".contains(c) { c } else { '_' };
    let words = event_type.split('.').filter(|word| !word.is_empty());
    let words: Vec<String> = words.map(|word| word.chars().map(plain).collect()).collect();
    let mut event_type = words.join(".");
    event_type.truncate(FILLED_MAX);
    let event_type = match event_type.trim_end_matches('.') {
        "" => "_",
        words => words,
    };
    subject.replace("{event_type}", event_type).replace("{execution_id}", execution)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(prefix: &str, subject: &str, expected: &str) {
        let checked = SubjectPrefix::parse(prefix).and_then(|prefix| prefix.check(subject));
        let said = match checked {
            Ok(()) => "ok",
            Err(BadSubject::NotWords(_)) => "not words",
            Err(BadSubject::Own(_)) => "own",
            Err(BadSubject::NotBelow { .. }) => "not below",
            Err(BadSubject::TooLong) => "too long",
        };
        assert_eq!(said, expected, "{prefix} {subject}");
    }

    #[test]
    fn a_subject_is_below_the_prefix_and_has_no_wildcards() {
        check("noetl.events", "noetl.events.{event_type}", "ok");
        check("noetl.events.", "noetl.events.{execution_id}.{event_type}", "ok");
        check("audit", "audit.all", "ok");
        check("noetl.events", "noetl.events", "not below");
        check("noetl.events", "noetl.eventsx.a", "not below");
        check("noetl.events", "orders.new", "not below");
        check("noetl.events", "{event_type}.a", "not below");
        check("noetl.events", "noetl.events.", "not words");
        for bad in ["$JS.API.STREAM.PURGE.X", "noetl.events.*", "noetl.events.>", "noetl.events.$x"]
        {
            check("noetl.events", bad, "not words");
        }
        check("noetl.events", "noetl.events.{other}", "not words");
        check("noetl.events", "noetl.events.a b", "not words");
        check("noetl.events", &format!("noetl.events.{}", "x".repeat(200)), "too long");
    }

    #[test]
    fn a_prefix_leads_to_nothing_that_servers_and_workers_say() {
        for own in ["noetl", "noetl.commands", "noetl.commands.x", "noetl.hints."] {
            check(own, "noetl.commands.shared", "own");
        }
        for bad in ["", ".", "*", "noetl.>", "$JS.API", "a..b"] {
            check(bad, "a.b", "not words");
        }
    }

    #[test]
    fn a_name_of_an_event_that_cannot_stand_in_a_subject_is_replaced() {
        let told = |event_type: &str| filled("e.{event_type}.{execution_id}", event_type, "7");
        assert_eq!(told("command.completed"), "e.command.completed.7");
        assert_eq!(told("a b.>.*"), "e.a_b._._.7");
        assert_eq!(told("..$JS..ä"), "e._JS._.7");
        assert_eq!(told(""), "e._.7");
    }
}
