//! Rewrites an expression so that every operation that can make or search large values is metered.
//!
//! A recursive-descent parser for minijinja's grammar, run on text that minijinja has accepted.
//! Sums, products and concatenations become filters; an operand that a comparison, a slice or an
//! index would traverse passes through a filter that charges for it. The parser also collects the
//! variables used, and rejects unknown filters, tests and functions.

use std::ops::Range;

use serde_json::Value;

use crate::environment::{TESTS, known_filter, known_test, nearest};
use crate::facts::{
    Absence, ComparisonSign, FilterArgument, FilterUse, Operand, TemplateComparison,
};
use crate::filters;
use crate::syntax::lexer::{Tag, TagToken, TagTokenKind};
use crate::syntax::mentions::Mentions;
use crate::syntax::{Path, PathStep, SyntaxFault};

/// A rewritten expression.
pub(super) struct Guarded {
    pub(super) text: String,
    /// Set if the expression is a variable with a fixed path into it.
    pub(super) path: Option<Path>,
    /// The binding strength of the expression, which decides whether it needs parentheses.
    pub(super) binding: BindingStrength,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum BindingStrength {
    /// A string or number literal, which is free to compare with.
    Literal,
    /// A name, call, parenthesized expression or chain of filters: a filter may follow directly.
    Tight,
    /// An expression with operators at the top level: needs parentheses before a filter.
    Loose,
}

impl Guarded {
    pub(super) fn new(text: String, binding: BindingStrength) -> Self {
        Self { text, path: None, binding }
    }

    /// Returns the text, in parentheses if a filter could not follow it otherwise.
    pub(super) fn tight(self) -> String {
        match self.binding {
            BindingStrength::Literal | BindingStrength::Tight => self.text,
            BindingStrength::Loose => format!("({})", self.text),
        }
    }
}

/// Rewrites the expression of an output tag.
pub(super) fn expression(tag: &Tag<'_>, mentions: &mut Mentions) -> Result<Guarded, SyntaxFault> {
    let mut guard = Guard::new(tag, mentions);
    let guarded = guard.expression()?;
    guard.finish()?;
    Ok(guarded)
}

/// A parser position in the tokens of one tag.
pub(super) struct Guard<'t, 's> {
    pub(super) tokens: &'t [TagToken<'s>],
    pub(super) at: usize,
    pub(super) mentions: &'t mut Mentions,
}

impl<'t, 's> Guard<'t, 's> {
    pub(super) fn new(tag: &'t Tag<'s>, mentions: &'t mut Mentions) -> Self {
        Self { tokens: &tag.tokens, at: 0, mentions }
    }

    pub(super) fn peek(&self) -> Option<TagToken<'s>> {
        self.tokens.get(self.at).copied()
    }

    /// True if the next token is this sign or word.
    pub(super) fn sees(&self, text: &str) -> bool {
        self.peek().is_some_and(|it| it.text == text && it.kind != TagTokenKind::Text)
    }

    pub(super) fn eat(&mut self, text: &str) -> bool {
        let seen = self.sees(text);
        self.at += usize::from(seen);
        seen
    }

    pub(super) fn next(&mut self) -> Result<TagToken<'s>, SyntaxFault> {
        let token = self.peek().ok_or_else(|| self.unreadable())?;
        self.at += 1;
        Ok(token)
    }

    pub(super) fn is_done(&self) -> bool {
        self.at == self.tokens.len()
    }

    pub(super) fn finish(&self) -> Result<(), SyntaxFault> {
        if self.is_done() { Ok(()) } else { Err(self.unreadable()) }
    }

    pub(super) fn expect(&mut self, text: &str) -> Result<(), SyntaxFault> {
        if self.eat(text) { Ok(()) } else { Err(self.unreadable()) }
    }

    /// The error for syntax that minijinja accepts and this parser does not know. Such syntax is
    /// rejected, because it would not be metered.
    pub(super) fn unreadable(&self) -> SyntaxFault {
        match self.peek().or_else(|| self.tokens.last().copied()) {
            Some(token) => fault(token, format!("unexpected `{}`", token.text)),
            None => SyntaxFault { message: "an empty tag".to_owned(), range: None },
        }
    }

    /// Parses `a if b else c`.
    pub(super) fn expression(&mut self) -> Result<Guarded, SyntaxFault> {
        let mut left = self.either()?;
        while self.eat("if") {
            let known = self.mentions.facts.names.len();
            let test = self.either()?;
            self.mark_tested(known);
            let mut text = format!("{} if {}", left.tight(), test.tight());
            if self.eat("else") {
                text.push_str(" else ");
                text.push_str(&self.expression()?.tight());
            }
            left = Guarded::new(text, BindingStrength::Loose);
        }
        Ok(left)
    }

    /// Parses `a or b`, the only kind of expression allowed after `in` and `if` in a statement.
    pub(super) fn either(&mut self) -> Result<Guarded, SyntaxFault> {
        let known = self.mentions.facts.names.len();
        let mut left = self.both()?;
        while self.eat("or") {
            // The right side is used if the left side is missing.
            for used in self.mentions.facts.names.iter_mut().skip(known) {
                used.absence = used.absence.max(Absence::Replaced);
            }
            let right = self.both()?;
            left = Guarded::new(format!("{} or {}", left.text, right.text), BindingStrength::Loose);
        }
        Ok(left)
    }

    fn both(&mut self) -> Result<Guarded, SyntaxFault> {
        let mut left = self.negation()?;
        while self.eat("and") {
            let right = self.negation()?;
            left =
                Guarded::new(format!("{} and {}", left.text, right.text), BindingStrength::Loose);
        }
        Ok(left)
    }

    fn negation(&mut self) -> Result<Guarded, SyntaxFault> {
        if self.eat("not") {
            let known = self.mentions.facts.names.len();
            let text = format!("not {}", self.negation()?.text);
            self.mark_tested(known);
            return Ok(Guarded::new(text, BindingStrength::Loose));
        }
        self.comparison()
    }

    /// Marks the names since the one at `known` as read for a choice only.
    pub(super) fn mark_tested(&mut self, known: usize) {
        self.mentions.facts.names.iter_mut().skip(known).for_each(|used| used.is_tested = true);
    }

    fn comparison(&mut self) -> Result<Guarded, SyntaxFault> {
        let known = self.mentions.facts.names.len();
        let begin = self.at;
        let first = self.sum()?;
        let mut left = (begin..self.at, self.operand(&first, begin));
        let mut rest = Vec::new();
        loop {
            let operator = match self.peek() {
                Some(token) if token.kind == TagTokenKind::Text => break,
                Some(token) if token.text == "not" => {
                    self.at += 1;
                    self.expect("in")?;
                    "not in"
                }
                Some(token)
                    if matches!(token.text, "==" | "!=" | "<" | "<=" | ">" | ">=" | "in") =>
                {
                    self.at += 1;
                    token.text
                }
                Some(_) | None => break,
            };
            let begin = self.at;
            let right = self.sum()?;
            let described = (begin..self.at, self.operand(&right, begin));
            self.note_comparison(&left, operator, &described);
            left = described;
            rest.push((operator, right));
        }
        if rest.is_empty() {
            return Ok(first);
        }
        self.mark_tested(known);
        // A comparison with a literal stops at the length of the literal; a search does not.
        let searches = rest.iter().any(|(operator, _)| operator.ends_with("in"));
        let literals = usize::from(first.binding == BindingStrength::Literal)
            + rest.iter().filter(|(_, it)| it.binding == BindingStrength::Literal).count();
        let weigh = searches || literals < rest.len();
        let operand = |it: Guarded, guard: &str| match it.binding {
            BindingStrength::Literal => it.text,
            BindingStrength::Tight | BindingStrength::Loose if weigh => {
                format!("{}|{guard}", it.tight())
            }
            BindingStrength::Tight | BindingStrength::Loose => it.tight(),
        };
        let mut text = operand(first, "__weighed");
        for (operator, right) in rest {
            let guard = if operator.ends_with("in") { "__searched" } else { "__weighed" };
            text.push_str(&format!(" {operator} {}", operand(right, guard)));
        }
        Ok(Guarded::new(text, BindingStrength::Loose))
    }

    /// Describes the operand that was read since the token `begin`.
    fn operand(&self, read: &Guarded, begin: usize) -> Operand {
        let tokens = &self.tokens[begin..self.at];
        match (&read.path, tokens) {
            (Some(path), _) => {
                let steps = path.steps.iter().map(|step| match step {
                    PathStep::Name(name) => name.clone(),
                    PathStep::Index(index) => index.to_string(),
                });
                Operand::Path(std::iter::once(path.root.clone()).chain(steps).collect())
            }
            (None, [base @ .., bar, name])
                if bar.text == "|" && matches!(name.text, "length" | "count" | "len") =>
            {
                Operand::Length(self.path_of(base))
            }
            (None, tokens) => literal_of(tokens).map_or(Operand::Other, Operand::Literal),
        }
    }

    /// Returns the path that the tokens are, if they are one.
    fn path_of(&self, tokens: &[TagToken<'_>]) -> Option<Vec<String>> {
        let (first, last) = (tokens.first()?, tokens.last()?);
        let place = first.start..last.start + last.text.len();
        let used = self.mentions.facts.names.iter().rev().find(|used| used.range == place);
        used.map(|used| used.path.clone())
    }

    fn note_comparison(
        &mut self,
        (from, left): &(Range<usize>, Operand),
        sign: &str,
        (to, right): &(Range<usize>, Operand),
    ) {
        let start = self.tokens.get(from.start).map_or(0, |token| token.start);
        let last = to.end.checked_sub(1).and_then(|at| self.tokens.get(at));
        let end = last.map_or(start, |token| token.start + token.text.len());
        self.mentions.facts.comparisons.push(TemplateComparison {
            left: left.clone(),
            sign: ComparisonSign::of(sign),
            right: right.clone(),
            range: start..end,
        });
    }

    fn sum(&mut self) -> Result<Guarded, SyntaxFault> {
        let mut left = self.concatenation()?;
        loop {
            if self.eat("+") {
                let right = self.concatenation()?;
                left = applied(left, "__plus", &right);
            } else if self.eat("-") {
                let right = self.concatenation()?;
                left = Guarded::new(
                    format!("{} - {}", left.text, right.tight()),
                    BindingStrength::Loose,
                );
            } else {
                return Ok(left);
            }
        }
    }

    fn concatenation(&mut self) -> Result<Guarded, SyntaxFault> {
        let mut left = self.product()?;
        while self.eat("~") {
            let right = self.product()?;
            left = applied(left, "__joined", &right);
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<Guarded, SyntaxFault> {
        let mut left = self.power()?;
        loop {
            if self.eat("*") {
                let right = self.power()?;
                left = applied(left, "__times", &right);
                continue;
            }
            let Some(sign) = ["/", "//", "%"].into_iter().find(|sign| self.sees(sign)) else {
                return Ok(left);
            };
            self.at += 1;
            let right = self.power()?;
            left = Guarded::new(
                format!("{} {sign} {}", left.text, right.tight()),
                BindingStrength::Loose,
            );
        }
    }

    fn power(&mut self) -> Result<Guarded, SyntaxFault> {
        let mut left = self.filtered()?;
        while self.eat("**") {
            let right = self.filtered()?;
            left =
                Guarded::new(format!("{} ** {}", left.text, right.tight()), BindingStrength::Loose);
        }
        Ok(left)
    }

    fn filtered(&mut self) -> Result<Guarded, SyntaxFault> {
        let known = self.mentions.facts.names.len();
        let mut value = self.signed()?;
        loop {
            if self.eat("|") {
                let base = value.tight();
                let before = self.mentions.facts.names.len();
                value = Guarded::new(self.filter(base)?, BindingStrength::Tight);
                let facts = &mut self.mentions.facts;
                let Some(filter) = facts.filters.last() else { continue };
                for used in facts.names.iter_mut().take(before).skip(known) {
                    if matches!(filter.name.as_str(), "default" | "d") {
                        used.absence = used.absence.max(Absence::Replaced);
                    }
                    used.filters.push(filter.clone());
                }
            } else if self.eat("is") {
                value = self.test(value)?;
                self.mark_tested(known);
            } else {
                return Ok(value);
            }
        }
    }

    /// Parses the name and arguments of a filter, and appends them to `base`.
    pub(super) fn filter(&mut self, base: String) -> Result<String, SyntaxFault> {
        let name = self.next()?;
        if name.kind != TagTokenKind::Name || !known_filter(name.text) {
            return Err(unknown("filter", name, filters::NAMES));
        }
        let begin = self.at;
        let arguments = if self.sees("(") { self.arguments()? } else { String::new() };
        self.mentions.facts.filters.push(FilterUse {
            name: name.text.to_owned(),
            range: name.start..name.start + name.text.len(),
            arguments: arguments_of(&self.tokens[begin..self.at]),
        });
        Ok(format!("{base}|{}{arguments}", name.text))
    }

    fn test(&mut self, value: Guarded) -> Result<Guarded, SyntaxFault> {
        let negated = if self.eat("not") { "not " } else { "" };
        let name = self.next()?;
        if name.kind != TagTokenKind::Name || !known_test(name.text) {
            return Err(unknown("test", name, TESTS));
        }
        let arguments = if name.text == "in" {
            format!("({}|__searched)", self.signed()?.text)
        } else if self.sees("(") {
            self.arguments()?
        } else if self.peek().is_some_and(begins_argument) {
            format!("({})", self.signed()?.text)
        } else {
            String::new()
        };
        let guard = if WALKING_TESTS.contains(&name.text) { "|__weighed" } else { "" };
        let text = format!("{}{guard} is {negated}{}{arguments}", value.tight(), name.text);
        // In parentheses, since a word after a test would be taken as its argument.
        Ok(Guarded::new(format!("({text})"), BindingStrength::Tight))
    }
}

/// Returns the value of a literal; `None` for a name or a text with escapes.
fn literal(token: TagToken<'_>) -> Option<Value> {
    match (token.kind, token.text) {
        (TagTokenKind::Text, text) if !text.contains('\\') => {
            Some(Value::from(&text[1..text.len() - 1]))
        }
        (TagTokenKind::Number, text) => text.parse().ok().map(Value::Number),
        (TagTokenKind::Name, "true" | "True") => Some(Value::Bool(true)),
        (TagTokenKind::Name, "false" | "False") => Some(Value::Bool(false)),
        (TagTokenKind::Name, "none" | "None") => Some(Value::Null),
        (TagTokenKind::Text | TagTokenKind::Name | TagTokenKind::Sign, _) => None,
    }
}

/// Returns the value of an expression that is a literal or a list of them.
fn literal_of(tokens: &[TagToken<'_>]) -> Option<Value> {
    match tokens {
        [only] => literal(*only),
        [sign, only] if sign.text == "-" => match literal(*only) {
            Some(Value::Number(number)) => number.as_f64().map(|it| Value::from(-it)),
            Some(_) | None => None,
        },
        [open, items @ .., close] if open.text == "[" && close.text == "]" => literals(items),
        // One value in parentheses is no list.
        [open, items @ .., close] if open.text == "(" && close.text == ")" && items.len() != 1 => {
            literals(items)
        }
        _ => None,
    }
}

/// Returns the list of literals between brackets; `None` if there is anything else.
fn literals(tokens: &[TagToken<'_>]) -> Option<Value> {
    let mut items = Vec::new();
    for (place, token) in tokens.iter().enumerate() {
        match (place % 2, token.text) {
            (0, _) => items.push(literal(*token)?),
            (_, ",") => {}
            (_, _) => return None,
        }
    }
    Some(Value::Array(items))
}

/// Returns the arguments in parentheses; `None` if one of them unpacks a list.
fn arguments_of(tokens: &[TagToken<'_>]) -> Option<Vec<FilterArgument>> {
    let is_sign = |token: &TagToken<'_>, signs: &[&str]| {
        token.kind == TagTokenKind::Sign && signs.contains(&token.text)
    };
    let [_, inside @ .., _] = tokens else { return Some(Vec::new()) };
    let mut depth = 0_usize;
    let parts = inside.split(|token| {
        if is_sign(token, &["(", "[", "{"]) {
            depth += 1;
        } else if is_sign(token, &[")", "]", "}"]) {
            depth = depth.saturating_sub(1);
        }
        depth == 0 && is_sign(token, &[","])
    });
    // A comma after the last argument is followed by nothing.
    let parts = parts.filter(|part| !part.is_empty());
    parts
        .map(|part| {
            if is_sign(&part[0], &["*", "**"]) {
                return None;
            }
            let (keyword, value) = match part {
                [name, sign, value @ ..]
                    if name.kind == TagTokenKind::Name && is_sign(sign, &["="]) =>
                {
                    (Some(name.text.to_owned()), value)
                }
                value => (None, value),
            };
            Some(FilterArgument { keyword, literal: literal_of(value) })
        })
        .collect()
}

/// The tests that traverse the whole value they are applied to.
const WALKING_TESTS: &[&str] = &[
    "eq",
    "equalto",
    "ge",
    "gt",
    "in",
    "le",
    "lt",
    "ne",
    "sameas",
    "greaterthan",
    "lessthan",
    "lower",
    "upper",
];

fn applied(left: Guarded, filter: &str, right: &Guarded) -> Guarded {
    Guarded::new(format!("{}|{filter}({})", left.tight(), right.text), BindingStrength::Tight)
}

/// True if a token after the name of a test is the argument of the test.
fn begins_argument(token: TagToken<'_>) -> bool {
    match token.kind {
        TagTokenKind::Text | TagTokenKind::Number => true,
        TagTokenKind::Name => !matches!(token.text, "and" | "or" | "else" | "is"),
        TagTokenKind::Sign => matches!(token.text, "+" | "-" | "[" | "{"),
    }
}

pub(super) fn unknown(what: &str, token: TagToken<'_>, known: &[&str]) -> SyntaxFault {
    let hint = match nearest(token.text, known) {
        Some(name) => format!(", did you mean `{name}`?"),
        None => String::new(),
    };
    fault(token, format!("unknown {what} `{}`{hint}", token.text))
}

pub(super) fn fault(token: TagToken<'_>, message: String) -> SyntaxFault {
    SyntaxFault { message, range: Some(token.start..token.start + token.text.len()) }
}
