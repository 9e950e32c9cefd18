//! Diagnostics about a document: all problems at once, each with its place in the text.
//!
//! Invariant: a message names the text of the document; `help`, if present, says what to write
//! instead. Codes are stable: people search for them and tools branch on them.

use std::fmt;
use std::ops::Range;

use serde::{Serialize, Serializer};

use crate::source::SourceText;
use crate::suppress::Suppressions;

/// The most findings kept of one document; further ones are only counted.
const FINDINGS_MAX: usize = 100;
/// The most characters of a line in a snippet.
const SNIPPET_CHARS_MAX: usize = 160;
/// Documents with longer lines than this are rendered without their source by fancy reporters.
const SNIPPET_LINE_BYTES_MAX: usize = 4096;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The document cannot be run.
    Error,
    /// The document can be run, though perhaps not as meant.
    Warning,
}

macro_rules! codes {
    ($($variant:ident = $text:literal, $about:literal;)+) => {
        /// The kind of a finding.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum DiagnosticCode {
            $(#[doc = $about] $variant,)+
        }

        impl DiagnosticCode {
            pub const ALL: &'static [DiagnosticCode] = &[$(DiagnosticCode::$variant,)+];

            pub const fn as_str(self) -> &'static str {
                match self {
                    $(DiagnosticCode::$variant => $text,)+
                }
            }

            /// Returns a sentence that explains the code.
            pub const fn about(self) -> &'static str {
                match self {
                    $(DiagnosticCode::$variant => $about,)+
                }
            }
        }
    };
}

codes! {
    ApiVersion = "api-version", "The document has an unknown version of the language.";
    BadCharacter = "bad-character", "The document holds a character that text does not have.";
    BadKey = "bad-key", "A key is not a plain word.";
    BadCode = "bad-code", "Code of a tool has a syntax error.";
    BadLoop = "bad-loop", "A loop has no items, or its items are not a list, map or number.";
    BadSql = "bad-sql", "A statement of a database tool cannot be read.";
    BadTemplate = "bad-template", "A template or condition does not parse.";
    BadValue = "bad-value", "A value is not allowed for its key.";
    ByteOrderMark = "byte-order-mark", "The document begins with a byte order mark.";
    ConstantComparison = "constant-comparison", "A comparison has the same result in every execution.";
    Contradiction = "contradiction", "Two keys have the same meaning; only one takes effect.";
    CustomTag = "custom-tag", "A value has a tag that only some program understands.";
    DuplicateKey = "duplicate-key", "A map has the same key twice.";
    DuplicateLabel = "duplicate-label", "Two tasks of one step have the same label.";
    DuplicateStep = "duplicate-step", "Two steps have the same name.";
    FilterArguments = "filter-arguments", "A filter is called with arguments that it does not take.";
    ForeignSource = "foreign-source", "A message source that is not built in.";
    ForeignTool = "foreign-tool", "A tool of the language that is not built in.";
    IgnoredKey = "ignored-key", "A key is known from older playbooks but has no effect.";
    MissingKey = "missing-key", "A required key is missing.";
    MissingTool = "missing-tool", "A step has neither a tool nor an arc.";
    NeverEntered = "never-entered", "No arc that leads to the step can be taken.";
    NotAPlaybook = "not-a-playbook", "The document is of another kind.";
    NotUtf8 = "not-utf-8", "The document is not UTF-8 text.";
    OldSpelling = "old-spelling", "An old spelling that is accepted; a newer one exists.";
    OutOfRange = "out-of-range", "A number is below or above what is allowed.";
    PlainSecret = "plain-secret", "A secret is written in the document.";
    RemovedKey = "removed-key", "A key that older playbooks had and that cannot be translated.";
    SeveralDocuments = "several-documents", "The file holds more than one document.";
    SharedVariable = "shared-variable", "Items that run at the same time write one variable.";
    ShellTemplate = "shell-template", "A value goes into a shell command without quotes.";
    Syntax = "syntax", "The document is not YAML.";
    TooDeep = "too-deep", "Lists and maps are nested too deeply.";
    TooLarge = "too-large", "The document, or what its aliases make of it, is too large.";
    Unchecked = "unchecked", "A part of the document exceeds a limit of the checks.";
    UnknownField = "unknown-field", "A template reads a field that its secret does not have.";
    UnknownKey = "unknown-key", "A key that does not exist at its place.";
    UnknownLabel = "unknown-label", "A jump leads to a task that the step does not have.";
    UnknownName = "unknown-name", "A template reads a name that does not exist at its place.";
    UnknownRule = "unknown-rule", "A comment suppresses a rule that does not exist.";
    UnknownStep = "unknown-step", "A step is named that does not exist.";
    UnknownTask = "unknown-task", "A workbook task is named that does not exist.";
    UnknownTool = "unknown-tool", "A tool kind that does not exist.";
    UnknownWord = "unknown-word", "A word that is not one of the allowed words.";
    UnreachableArc = "unreachable-arc", "An arc or rule comes after one that always holds.";
    UnreachableStep = "unreachable-step", "No arc leads to the step from where the playbook starts.";
    WrongType = "wrong-type", "A list, map, text or number stands where another is needed.";
}

impl DiagnosticCode {
    /// False if the line of a finding must not be printed, because it contains a secret.
    fn shows_source(self) -> bool {
        self != DiagnosticCode::PlainSecret
    }

    /// True if messages of this kind may quote keys, tags or other text of a document that could
    /// not be parsed into a tree.
    fn names_content(self) -> bool {
        matches!(
            self,
            DiagnosticCode::BadKey
                | DiagnosticCode::BadValue
                | DiagnosticCode::CustomTag
                | DiagnosticCode::DuplicateKey
        )
    }
}

impl fmt::Display for DiagnosticCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for DiagnosticCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// One error or warning about a document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Diagnostic {
    pub severity: Severity,
    pub code: DiagnosticCode,
    pub message: String,
    pub help: Option<String>,
    /// The byte range in the document.
    pub span: Range<usize>,
    /// The line, counted from 1.
    pub line: usize,
    /// The column, counted from 1, in characters.
    pub column: usize,
    /// The text that replaces `span` without a change of meaning, if there is one.
    pub fix: Option<String>,
    /// The text that was probably meant instead of the one in `span`.
    pub suggestion: Option<String>,
}

impl miette::Diagnostic for Diagnostic {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.code))
    }

    fn severity(&self) -> Option<miette::Severity> {
        Some(match self.severity {
            Severity::Error => miette::Severity::Error,
            Severity::Warning => miette::Severity::Warning,
        })
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help.as_ref().map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = miette::LabeledSpan> + '_>> {
        if !self.code.shows_source() {
            return None;
        }
        let label = miette::LabeledSpan::new_with_span(None, self.span.clone());
        Some(Box::new(std::iter::once(label)))
    }
}

/// All diagnostics of one document, in the order of the text.
///
/// `Display` renders them as plain text with source lines and carets; JSON is a list.
#[derive(Debug, Clone)]
pub struct Problems {
    source: SourceText,
    /// The permission to quote the text of the document.
    quotes: Quotes,
    list: Vec<Diagnostic>,
    omitted: usize,
}

/// The permission to quote the text of a document in diagnostics. A file that is not a NoETL
/// document may be anything, even a file of passwords.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quotes {
    Shown,
    Hidden,
}

impl Problems {
    /// Removes the findings that `is_kept` rejects; it may change the others.
    pub(crate) fn retain(&mut self, is_kept: impl FnMut(&mut Diagnostic) -> bool) {
        self.list.retain_mut(is_kept);
    }

    /// Adds findings to the problems, in the order of the text.
    pub(crate) fn extended(self, more: impl IntoIterator<Item = Finding>) -> Self {
        let Self { source, quotes, list, omitted } = self;
        let errors = list.iter().filter(|it| it.severity == Severity::Error).count();
        let mut findings = Findings { source, list, errors, omitted, is_mild: false, quotes };
        more.into_iter().for_each(|finding| findings.add(finding));
        findings.finish()
    }

    /// The text of the document.
    pub(crate) fn source(&self) -> &SourceText {
        &self.source
    }

    pub fn file(&self) -> &str {
        &self.source.file
    }

    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.list
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns the number of findings beyond those kept.
    pub fn omitted(&self) -> usize {
        self.omitted
    }

    pub fn count(&self, severity: Severity) -> usize {
        self.list.iter().filter(|diagnostic| diagnostic.severity == severity).count()
    }

    /// Returns the counts as text: `hello.yaml: 2 errors, 1 warning`.
    pub fn headline(&self) -> String {
        let plural = |n: usize, word: &str| match n {
            0 => None,
            1 => Some(format!("1 {word}")),
            n => Some(format!("{n} {word}s")),
        };
        let counts = [
            plural(self.count(Severity::Error), "error"),
            plural(self.count(Severity::Warning), "warning"),
            (self.omitted > 0).then(|| format!("{} more", self.omitted)),
        ];
        let counts: Vec<String> = counts.into_iter().flatten().collect();
        let counts = if counts.is_empty() { "no problems".to_owned() } else { counts.join(", ") };
        format!("{}: {counts}", self.source.file)
    }

    fn write_one(&self, f: &mut fmt::Formatter<'_>, diagnostic: &Diagnostic) -> fmt::Result {
        let word = match diagnostic.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        writeln!(f, "{word}[{}]: {}", diagnostic.code, diagnostic.message)?;
        let (line, column) = (diagnostic.line, diagnostic.column);
        writeln!(f, " --> {}:{line}:{column}", self.source.file)?;
        let number = line.to_string();
        let pad = " ".repeat(number.len());
        if self.quotes == Quotes::Shown && diagnostic.code.shows_source() {
            let snippet = Snippet::of(&self.source, diagnostic);
            writeln!(f, "{}", format!("{number} | {}", snippet.text).trim_end())?;
            let before = " ".repeat(snippet.before);
            writeln!(f, "{pad} | {before}{}", "^".repeat(snippet.carets))?;
        }
        match &diagnostic.help {
            Some(help) => writeln!(f, "{pad} = help: {help}"),
            None => Ok(()),
        }
    }
}

/// The part of a line around a finding, and the columns of the carets.
struct Snippet {
    text: String,
    before: usize,
    carets: usize,
}

impl Snippet {
    fn of(source: &SourceText, diagnostic: &Diagnostic) -> Self {
        let line = source.line_range(diagnostic.line);
        let chars: Vec<char> = source.text[line.clone()]
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        let at = diagnostic.column - 1;
        let start = at.saturating_sub(SNIPPET_CHARS_MAX / 2).min(at);
        let from = if chars.len() <= SNIPPET_CHARS_MAX { 0 } else { start };
        let text: String = chars.iter().skip(from).take(SNIPPET_CHARS_MAX).collect();
        let end = source.floor(diagnostic.span.end.min(line.end));
        let begin = source.floor(diagnostic.span.start).min(end);
        let width = source.text[begin..end].chars().count();
        let room = text.chars().count().saturating_sub(at - from);
        Self { text: text.trim_end().to_owned(), before: at - from, carets: width.min(room).max(1) }
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for diagnostic in &self.list {
            self.write_one(f, diagnostic)?;
        }
        if self.omitted > 0 {
            writeln!(f, "and {} more", self.omitted)?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

/// Problems for a terminal: a headline, with each finding and its source below it.
#[derive(Debug)]
pub struct ProblemReport {
    problems: Problems,
    named: miette::NamedSource<String>,
}

impl From<Problems> for ProblemReport {
    fn from(problems: Problems) -> Self {
        let SourceText { file, text, .. } = &problems.source;
        let named = miette::NamedSource::new(file, text.clone()).with_language("yaml");
        Self { problems, named }
    }
}

impl fmt::Display for ProblemReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problems.headline())
    }
}

impl std::error::Error for ProblemReport {}

impl miette::Diagnostic for ProblemReport {
    fn severity(&self) -> Option<miette::Severity> {
        Some(match self.problems.count(Severity::Error) {
            0 => miette::Severity::Warning,
            _ => miette::Severity::Error,
        })
    }

    fn source_code(&self) -> Option<&dyn miette::SourceCode> {
        if self.problems.quotes == Quotes::Hidden {
            return None;
        }
        let source = &self.problems.source;
        let longest = (1..=source.lines()).map(|line| source.line_range(line).len()).max();
        (longest < Some(SNIPPET_LINE_BYTES_MAX)).then_some(&self.named)
    }

    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn miette::Diagnostic> + 'a>> {
        let list = self.problems.list.iter();
        Some(Box::new(list.map(|diagnostic| diagnostic as &dyn miette::Diagnostic)))
    }
}

#[derive(Serialize)]
struct ProblemJson<'a> {
    file: &'a str,
    line: usize,
    column: usize,
    code: DiagnosticCode,
    severity: Severity,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
}

impl Serialize for Problems {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.list.iter().map(|diagnostic| ProblemJson {
            file: &self.source.file,
            line: diagnostic.line,
            column: diagnostic.column,
            code: diagnostic.code,
            severity: diagnostic.severity,
            message: &diagnostic.message,
            help: diagnostic.help.as_deref(),
            source: match self.quotes {
                Quotes::Shown if !diagnostic.code.shows_source() => None,
                Quotes::Shown => Some(Snippet::of(&self.source, diagnostic).text),
                Quotes::Hidden => None,
            },
        }))
    }
}

/// A diagnostic whose place is not yet converted to line and column.
#[derive(Debug)]
pub(crate) struct Finding {
    severity: Severity,
    code: DiagnosticCode,
    span: Range<usize>,
    message: String,
    help: Option<String>,
    fix: Option<String>,
    suggestion: Option<String>,
}

impl Finding {
    pub(crate) fn error(
        code: DiagnosticCode,
        span: &Range<usize>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            severity: Severity::Error,
            code,
            span: span.clone(),
            message: message.into(),
            help: None,
            fix: None,
            suggestion: None,
        }
    }

    pub(crate) fn warning(
        code: DiagnosticCode,
        span: &Range<usize>,
        message: impl Into<String>,
    ) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, span, message) }
    }

    pub(crate) fn help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }

    /// Adds the text that replaces the place of the finding without a change of meaning.
    pub(crate) fn fix(self, fix: impl Into<String>) -> Self {
        Self { fix: Some(fix.into()), ..self }
    }

    pub(crate) fn help_if(self, help: Option<String>) -> Self {
        Self { help, ..self }
    }

    /// Adds the text that was probably meant, if the help does not name it as [`meant`] reads it.
    pub(crate) fn suggest(self, suggestion: Option<String>) -> Self {
        Self { suggestion, ..self }
    }
}

/// Returns the text that a help asks about: ``did you mean `text`?``.
fn meant(help: &str) -> Option<&str> {
    let text = help.strip_prefix("did you mean `")?.strip_suffix("`?")?;
    (!text.contains('`')).then_some(text)
}

/// True if a part of a document is a word or a path, so that another one can replace it.
fn is_word(written: &str) -> bool {
    !written.is_empty() && !written.contains(|it: char| it.is_whitespace() || "{}|".contains(it))
}

/// Converts a sentence to the style of messages: lower case, no full stop.
fn as_fragment(sentence: &str) -> String {
    let mut chars = sentence.trim_end_matches('.').chars();
    let first = chars.next().map(|first| first.to_ascii_lowercase());
    first.into_iter().chain(chars).collect()
}

/// Collects the findings of one document.
pub(crate) struct Findings {
    pub(crate) source: SourceText,
    list: Vec<Diagnostic>,
    errors: usize,
    omitted: usize,
    /// True while errors are reported as warnings.
    pub(crate) is_mild: bool,
    pub(crate) quotes: Quotes,
}

impl Findings {
    pub(crate) fn new(source: SourceText) -> Self {
        let (list, quotes) = (Vec::new(), Quotes::Shown);
        Self { source, list, errors: 0, omitted: 0, is_mild: false, quotes }
    }

    pub(crate) fn add(&mut self, finding: Finding) {
        let Finding { severity, code, span, message, help, fix, suggestion } = finding;
        let severity = if self.is_mild { Severity::Warning } else { severity };
        if severity == Severity::Error {
            self.errors += 1;
        }
        if self.is_full() && !self.make_room(severity) {
            self.omit();
            return;
        }
        let start = self.source.floor(span.start);
        let span = start..self.source.floor(span.end).max(start);
        let position = self.source.position(start);
        let (line, column) = (position.line, position.column);
        // A part that several places use, such as a task of the workbook, is read once for each.
        let is_same = |it: &Diagnostic| it.code == code && it.span == span && it.message == message;
        if self.list.iter().any(is_same) {
            return;
        }
        let meant =
            help.as_deref().and_then(meant).filter(|_| is_word(&self.source.text[span.clone()]));
        let suggestion = suggestion.or_else(|| meant.map(str::to_owned));
        self.list.push(Diagnostic {
            severity,
            code,
            message,
            help,
            span,
            line,
            column,
            fix,
            suggestion,
        });
    }

    /// Drops the last warning to make room for an error; false if there is no room.
    fn make_room(&mut self, severity: Severity) -> bool {
        let warning = self.list.iter().rposition(|kept| kept.severity == Severity::Warning);
        match (severity, warning) {
            (Severity::Error, Some(at)) => {
                self.list.remove(at);
                self.omitted += 1;
                true
            }
            (Severity::Error, None) | (Severity::Warning, _) => false,
        }
    }

    /// True if only errors are still kept, so that a warning need not be computed.
    pub(crate) fn is_full(&self) -> bool {
        self.list.len() == FINDINGS_MAX
    }

    /// Counts a warning without keeping it.
    pub(crate) fn omit(&mut self) {
        self.omitted += 1;
    }

    pub(crate) fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// Returns the number of findings that are kept.
    pub(crate) fn count(&self) -> usize {
        self.list.len()
    }

    /// Makes warnings of the findings after the first `known` ones.
    pub(crate) fn soften(&mut self, known: usize) {
        let more = self.list.iter_mut().skip(known);
        more.for_each(|finding| finding.severity = Severity::Warning);
        self.count_errors();
    }

    fn count_errors(&mut self) {
        self.errors = self.list.iter().filter(|it| it.severity == Severity::Error).count();
    }

    /// Drops the findings that comments suppress, errors included: for a document that can be run.
    pub(crate) fn suppress(&mut self) {
        let suppressions = Suppressions::of(&self.source.text);
        self.list.retain(|it| !suppressions.covers(it.code, it.line));
        self.count_errors();
    }

    /// Returns the findings without the warnings that comments suppress.
    pub(crate) fn finish(mut self) -> Problems {
        let suppressions = Suppressions::of(&self.source.text);
        self.list
            .retain(|it| it.severity == Severity::Error || !suppressions.covers(it.code, it.line));
        self.list.sort_by_key(|diagnostic| (diagnostic.span.start, diagnostic.severity));
        if self.quotes == Quotes::Hidden {
            self.list.iter_mut().filter(|it| it.code.names_content()).for_each(|diagnostic| {
                diagnostic.message = as_fragment(diagnostic.code.about());
                diagnostic.help = None;
            });
        }
        let Self { source, quotes, list, omitted, .. } = self;
        Problems { source, quotes, list, omitted }
    }
}
