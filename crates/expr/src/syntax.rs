//! Analyses and rewrites template source before minijinja compiles it.
//!
//! The operators of minijinja cannot be replaced, so the compiled text differs from the source:
//! wherever an operator, a slice or an assignment could make or traverse a large value, it is
//! replaced by a filter or its operand is checked by one (`operators.rs`). The original source is
//! parsed by minijinja first, so that errors refer to the text the author wrote.

mod guard;
mod lexer;
mod mentions;
mod operand;
mod statement;

pub use lexer::TemplateParts;

use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

use minijinja::Environment;
use minijinja::syntax::SyntaxConfig;

use crate::bounds::{ELIF_MAX, OPERATORS_MAX, SOURCE_MAX, TAGS_MAX};
use crate::facts::TemplateFacts;
use crate::syntax::lexer::{Tag, TagToken, TagTokenKind, TemplatePiece};
use crate::syntax::mentions::Mentions;
use crate::{MissingValues, ParseError};

/// A template string after analysis, ready to be compiled.
pub(crate) struct ParsedTemplate {
    pub(crate) shape: TemplateShape,
    /// The variables that the template refers to, with their attributes where they are fixed.
    pub(crate) variables: BTreeSet<String>,
    /// The first names of `variables`.
    pub(crate) roots: BTreeSet<String>,
    pub(crate) facts: TemplateFacts,
}

pub(crate) enum TemplateShape {
    /// A string that is only `{{ a.b[0] }}`.
    Path(Path),
    /// A string that is only `{{ expression }}`: the rewritten expression.
    Expression(String),
    /// Any other template: the rewritten text.
    Text(String),
}

/// A variable and a fixed path into its value.
#[derive(Debug, Clone)]
pub(crate) struct Path {
    pub(crate) root: String,
    pub(crate) steps: Vec<PathStep>,
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.root)?;
        self.steps.iter().try_for_each(|step| match step {
            PathStep::Name(name) => write!(f, ".{name}"),
            PathStep::Index(index) => write!(f, "[{index}]"),
        })
    }
}

#[derive(Debug, Clone)]
pub(crate) enum PathStep {
    Name(String),
    Index(usize),
}

/// An error in a template, with its byte range.
pub(crate) struct SyntaxFault {
    pub(crate) message: String,
    pub(crate) range: Option<Range<usize>>,
}

impl SyntaxFault {
    pub(crate) fn at(self, pointer: &str) -> ParseError {
        ParseError { message: self.message, range: self.range, pointer: pointer.to_owned() }
    }
}

/// True if a string contains template syntax. An unclosed `{#`, as in the shell's `${#list}`, does
/// not count.
pub(crate) fn is_template(text: &str) -> bool {
    let has_comment = || text.split_once("{#").is_some_and(|(_, rest)| rest.contains("#}"));
    text.contains("{{") || text.contains("{%") || has_comment()
}

/// Returns a value whose strings render to the given ones: the delimiters of templates are quoted.
pub(crate) fn quoted(value: Value) -> Value {
    match value {
        Value::String(text) if is_template(&text) => Value::String(quoted_text(&text)),
        Value::Array(items) => items.into_iter().map(quoted).collect(),
        Value::Object(members) => members
            .into_iter()
            .map(|(key, member)| {
                let key = if is_template(&key) { quoted_text(&key) } else { key };
                (key, quoted(member))
            })
            .collect(),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

fn quoted_text(text: &str) -> String {
    const OPENINGS: [&str; 3] = ["{{", "{%", "{#"];
    let (mut quoted, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = OPENINGS.iter().filter_map(|opening| rest.find(opening)).min() {
        let (before, after) = rest.split_at(at);
        let (opening, after) = after.split_at(2);
        quoted.push_str(before);
        quoted.push_str(&format!("{{{{ \"{opening}\" }}}}"));
        rest = after;
    }
    quoted + rest
}

/// The delimiters of templates: Jinja's defaults, with a trailing newline kept.
pub(crate) fn dialect() -> SyntaxConfig {
    SyntaxConfig::builder()
        .keep_trailing_newline(true)
        .build()
        .expect("the default delimiters are valid")
}

/// Analyses and rewrites a template string.
pub(crate) fn read(source: &str, missing: MissingValues) -> Result<ParsedTemplate, SyntaxFault> {
    if source.len() > SOURCE_MAX {
        let message =
            format!("a template may be {SOURCE_MAX} bytes long, this one is {}", source.len());
        return Err(SyntaxFault { message, range: None });
    }
    let cut = lexer::cut(source);
    check_counts(&cut.pieces)?;
    check_grammar(source)?;
    if !cut.complete {
        return Err(SyntaxFault { message: "a tag that cannot be read".to_owned(), range: None });
    }
    let is_strict = missing == MissingValues::Fail;
    let mut mentions = Mentions { is_strict, ..Mentions::default() };
    let shape = match lone_tag(&cut.pieces) {
        Some(tag) => {
            let lone = guard::expression(tag, &mut mentions)?;
            lone.path.map_or(TemplateShape::Expression(lone.text), TemplateShape::Path)
        }
        None => TemplateShape::Text(statement::guarded(&cut.pieces, &mut mentions)?),
    };
    let Mentions { variables, roots, facts, .. } = mentions;
    Ok(ParsedTemplate { shape, variables, roots, facts })
}

/// Analyses and rewrites an expression written without braces.
pub(crate) fn read_bare(
    source: &str,
    missing: MissingValues,
) -> Result<ParsedTemplate, SyntaxFault> {
    const OPEN: &str = "{{ ";
    let moved = |at: usize| at.saturating_sub(OPEN.len()).min(source.len());
    let parsed = read(&format!("{OPEN}{source} }}}}"), missing).map_err(|fault| SyntaxFault {
        message: fault.message,
        range: fault.range.map(|it| moved(it.start)..moved(it.end)),
    })?;
    Ok(ParsedTemplate { facts: parsed.facts.moved(OPEN.len()), ..parsed })
}

/// Fails if a template would make minijinja's parser recurse too deep. Runs before that parser.
fn check_counts(pieces: &[TemplatePiece<'_>]) -> Result<(), SyntaxFault> {
    let mut elifs = 0;
    if pieces.len() > TAGS_MAX {
        return Err(SyntaxFault { message: format!("more than {TAGS_MAX} tags"), range: None });
    }
    for piece in pieces {
        let tag = match piece {
            TemplatePiece::Text(_) | TemplatePiece::Comment(_) => continue,
            TemplatePiece::Output(tag) | TemplatePiece::Statement(tag) => tag,
        };
        elifs += usize::from(tag.tokens.first().is_some_and(|it| it.text == "elif"));
        let operators = tag.tokens.iter().enumerate().filter(|(place, token)| match token.kind {
            TagTokenKind::Sign => match token.text {
                "(" | "[" => *place > 0 && ends_operand(tag.tokens[place - 1]),
                "," | ":" | ")" | "]" | "{" | "}" => false,
                _ => true,
            },
            TagTokenKind::Name => {
                matches!(token.text, "not" | "and" | "or" | "if" | "else" | "in" | "is")
            }
            TagTokenKind::Text | TagTokenKind::Number => false,
        });
        if operators.count() > OPERATORS_MAX {
            let start = tag.tokens.first().map_or(0, |it| it.start);
            let message = format!("more than {OPERATORS_MAX} operators in one expression");
            return Err(SyntaxFault { message, range: Some(start..start) });
        }
    }
    if elifs > ELIF_MAX {
        return Err(SyntaxFault {
            message: format!("more than {ELIF_MAX} `elif` branches"),
            range: None,
        });
    }
    Ok(())
}

/// True if a bracket after this token is a call or an index, and not a list.
fn ends_operand(token: TagToken<'_>) -> bool {
    match token.kind {
        TagTokenKind::Name | TagTokenKind::Text | TagTokenKind::Number => true,
        TagTokenKind::Sign => matches!(token.text, ")" | "]" | "}"),
    }
}

/// Checks the syntax of the source with minijinja's parser.
fn check_grammar(source: &str) -> Result<(), SyntaxFault> {
    let mut environment = Environment::empty();
    environment.set_syntax(dialect());
    match environment.template_from_str(source) {
        Ok(_) => Ok(()),
        Err(error) => {
            let range = error.range().map(|it| clamp(source, it.start)..clamp(source, it.end));
            let message = error.detail().map_or_else(|| error.kind().to_string(), plain_words);
            Err(SyntaxFault { message, range })
        }
    }
}

/// Replaces the parser's terms in a message of minijinja by the characters an author writes.
fn plain_words(detail: &str) -> String {
    let message = detail
        .replace("end of variable block", "`}}`")
        .replace("end of block", "`%}`")
        .replace("end of input", "end of the text");
    let hint = if message.starts_with("unexpected `=`") { "; `==` compares" } else { "" };
    message + hint
}

fn clamp(source: &str, at: usize) -> usize {
    source.floor_char_boundary(at)
}

/// Returns the only tag of a template that has nothing but whitespace and comments around it.
fn lone_tag<'p, 's>(pieces: &'p [TemplatePiece<'s>]) -> Option<&'p Tag<'s>> {
    let mut found = None;
    for piece in pieces {
        match piece {
            TemplatePiece::Text(text) if text.trim().is_empty() => {}
            TemplatePiece::Comment(_) => {}
            TemplatePiece::Output(tag) if found.is_none() => found = Some(tag),
            TemplatePiece::Text(_) | TemplatePiece::Output(_) | TemplatePiece::Statement(_) => {
                return None;
            }
        }
    }
    found
}
