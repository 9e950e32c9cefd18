//! Rewrites an expression so that nothing in it can grow or search without being measured.
//!
//! A recursive descent over minijinja's own grammar, run on text that minijinja has accepted.
//! `a + b`, `a * b` and `a ~ b` become filters; an operand that a comparison, a slice or an index
//! would walk passes through a filter that charges for the walk. On the way it collects the
//! variables mentioned and refuses filters, tests and functions that do not exist.

use std::collections::BTreeSet;

use crate::environment::{known_filter, known_function, known_test, nearest};
use crate::syntax::lexer::{Kind, Tag, Token};
use crate::syntax::{Fault, Path, PathStep};

/// What a template mentions, and which names are its own.
#[derive(Default)]
pub(super) struct Mentions {
    pub(super) variables: BTreeSet<String>,
    pub(super) roots: BTreeSet<String>,
    /// Names the template itself gives values to, innermost block last.
    pub(super) local: Vec<BTreeSet<String>>,
}

impl Mentions {
    fn is_local(&self, name: &str) -> bool {
        self.local.iter().any(|names| names.contains(name))
    }

    fn record(&mut self, path: &Path, steps: usize) {
        if self.is_local(&path.root) {
            return;
        }
        let mut name = path.root.clone();
        for step in path.steps.iter().take(steps) {
            match step {
                PathStep::Name(key) if is_identifier(key) => {
                    name.push('.');
                    name.push_str(key);
                }
                PathStep::Name(_) | PathStep::Index(_) => break,
            }
        }
        self.variables.insert(name);
        self.roots.insert(path.root.clone());
    }
}

/// A guarded expression.
pub(super) struct Guarded {
    pub(super) text: String,
    /// Set when it is a variable and a fixed way into it.
    pub(super) path: Option<Path>,
    /// How tightly it holds together.
    bond: Bond,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Bond {
    /// A text or number as written: costs nothing to compare with.
    Literal,
    /// A name, call, bracketed expression or chain of filters: a filter may follow.
    Tight,
    /// Operators at the top: brackets are needed before anything follows.
    Loose,
}

impl Guarded {
    fn new(text: String, bond: Bond) -> Self {
        Self { text, path: None, bond }
    }

    /// Its text, in brackets if it needs them before a filter.
    fn tight(self) -> String {
        match self.bond {
            Bond::Literal | Bond::Tight => self.text,
            Bond::Loose => format!("({})", self.text),
        }
    }
}

/// Guards the one expression of an output tag.
pub(super) fn expression(tag: &Tag<'_>, mentions: &mut Mentions) -> Result<Guarded, Fault> {
    let mut guard = Guard::new(tag, mentions);
    let guarded = guard.expression()?;
    guard.finish()?;
    Ok(guarded)
}

/// A place in the tokens of one tag.
pub(super) struct Guard<'t, 's> {
    tokens: &'t [Token<'s>],
    at: usize,
    pub(super) mentions: &'t mut Mentions,
}

impl<'t, 's> Guard<'t, 's> {
    pub(super) fn new(tag: &'t Tag<'s>, mentions: &'t mut Mentions) -> Self {
        Self { tokens: &tag.tokens, at: 0, mentions }
    }

    pub(super) fn peek(&self) -> Option<Token<'s>> {
        self.tokens.get(self.at).copied()
    }

    /// Whether this sign or word comes next.
    pub(super) fn sees(&self, text: &str) -> bool {
        self.peek().is_some_and(|it| it.text == text && it.kind != Kind::Text)
    }

    pub(super) fn eat(&mut self, text: &str) -> bool {
        let seen = self.sees(text);
        self.at += usize::from(seen);
        seen
    }

    pub(super) fn next(&mut self) -> Result<Token<'s>, Fault> {
        let token = self.peek().ok_or_else(|| self.unreadable())?;
        self.at += 1;
        Ok(token)
    }

    pub(super) fn is_done(&self) -> bool {
        self.at == self.tokens.len()
    }

    pub(super) fn finish(&self) -> Result<(), Fault> {
        if self.is_done() { Ok(()) } else { Err(self.unreadable()) }
    }

    fn expect(&mut self, text: &str) -> Result<(), Fault> {
        if self.eat(text) { Ok(()) } else { Err(self.unreadable()) }
    }

    /// Minijinja accepts it and we do not know it: refused rather than let through unguarded.
    pub(super) fn unreadable(&self) -> Fault {
        match self.peek().or_else(|| self.tokens.last().copied()) {
            Some(token) => fault(token, format!("unexpected `{}`", token.text)),
            None => Fault { message: "an empty tag".to_owned(), range: None },
        }
    }

    /// `a if b else c`
    pub(super) fn expression(&mut self) -> Result<Guarded, Fault> {
        let mut left = self.either()?;
        while self.eat("if") {
            let test = self.either()?;
            let mut text = format!("{} if {}", left.tight(), test.tight());
            if self.eat("else") {
                text.push_str(" else ");
                text.push_str(&self.expression()?.tight());
            }
            left = Guarded::new(text, Bond::Loose);
        }
        Ok(left)
    }

    /// `a or b`, which is all that may follow `in` and `if` in a statement.
    pub(super) fn either(&mut self) -> Result<Guarded, Fault> {
        let mut left = self.both()?;
        while self.eat("or") {
            let right = self.both()?;
            left = Guarded::new(format!("{} or {}", left.text, right.text), Bond::Loose);
        }
        Ok(left)
    }

    fn both(&mut self) -> Result<Guarded, Fault> {
        let mut left = self.negation()?;
        while self.eat("and") {
            let right = self.negation()?;
            left = Guarded::new(format!("{} and {}", left.text, right.text), Bond::Loose);
        }
        Ok(left)
    }

    fn negation(&mut self) -> Result<Guarded, Fault> {
        if self.eat("not") {
            let text = format!("not {}", self.negation()?.text);
            return Ok(Guarded::new(text, Bond::Loose));
        }
        self.comparison()
    }

    fn comparison(&mut self) -> Result<Guarded, Fault> {
        let first = self.sum()?;
        let mut rest = Vec::new();
        loop {
            let operator = match self.peek() {
                Some(token) if token.kind == Kind::Text => break,
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
            rest.push((operator, self.sum()?));
        }
        if rest.is_empty() {
            return Ok(first);
        }
        // Against a literal a comparison stops at the literal's length; a search does not.
        let searches = rest.iter().any(|(operator, _)| operator.ends_with("in"));
        let literals = usize::from(first.bond == Bond::Literal)
            + rest.iter().filter(|(_, it)| it.bond == Bond::Literal).count();
        let weigh = searches || literals < rest.len();
        let operand = |it: Guarded, guard: &str| match it.bond {
            Bond::Literal => it.text,
            Bond::Tight | Bond::Loose if weigh => format!("{}|{guard}", it.tight()),
            Bond::Tight | Bond::Loose => it.tight(),
        };
        let mut text = operand(first, "__weighed");
        for (operator, right) in rest {
            let guard = if operator.ends_with("in") { "__searched" } else { "__weighed" };
            text.push_str(&format!(" {operator} {}", operand(right, guard)));
        }
        Ok(Guarded::new(text, Bond::Loose))
    }

    fn sum(&mut self) -> Result<Guarded, Fault> {
        let mut left = self.concatenation()?;
        loop {
            if self.eat("+") {
                let right = self.concatenation()?;
                left = applied(left, "__plus", &right);
            } else if self.eat("-") {
                let right = self.concatenation()?;
                left = Guarded::new(format!("{} - {}", left.text, right.tight()), Bond::Loose);
            } else {
                return Ok(left);
            }
        }
    }

    fn concatenation(&mut self) -> Result<Guarded, Fault> {
        let mut left = self.product()?;
        while self.eat("~") {
            let right = self.product()?;
            left = applied(left, "__joined", &right);
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<Guarded, Fault> {
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
            left = Guarded::new(format!("{} {sign} {}", left.text, right.tight()), Bond::Loose);
        }
    }

    fn power(&mut self) -> Result<Guarded, Fault> {
        let mut left = self.filtered()?;
        while self.eat("**") {
            let right = self.filtered()?;
            left = Guarded::new(format!("{} ** {}", left.text, right.tight()), Bond::Loose);
        }
        Ok(left)
    }

    fn filtered(&mut self) -> Result<Guarded, Fault> {
        let mut value = self.signed()?;
        loop {
            if self.eat("|") {
                let base = value.tight();
                value = Guarded::new(self.filter(base)?, Bond::Tight);
            } else if self.eat("is") {
                value = self.test(value)?;
            } else {
                return Ok(value);
            }
        }
    }

    /// The name and arguments of a filter, put behind what it is applied to.
    pub(super) fn filter(&mut self, base: String) -> Result<String, Fault> {
        let name = self.next()?;
        if name.kind != Kind::Name || !known_filter(name.text) {
            return Err(unknown("filter", name, crate::filters::NAMES));
        }
        let arguments = if self.sees("(") { self.arguments()? } else { String::new() };
        let guard = if WALKING_FILTERS.contains(&name.text) { "|__weighed" } else { "" };
        Ok(format!("{base}{guard}|{}{arguments}", name.text))
    }

    fn test(&mut self, value: Guarded) -> Result<Guarded, Fault> {
        let negated = if self.eat("not") { "not " } else { "" };
        let name = self.next()?;
        if name.kind != Kind::Name || !known_test(name.text) {
            return Err(unknown("test", name, crate::environment::TESTS));
        }
        let arguments = if self.sees("(") {
            self.arguments()?
        } else if self.peek().is_some_and(begins_argument) {
            format!("({})", self.signed()?.text)
        } else {
            String::new()
        };
        let guard = if WALKING_TESTS.contains(&name.text) { "|__weighed" } else { "" };
        let text = format!("{}{guard} is {negated}{}{arguments}", value.tight(), name.text);
        // In brackets, since a word after a test would be taken for its argument.
        Ok(Guarded::new(format!("({text})"), Bond::Tight))
    }

    fn signed(&mut self) -> Result<Guarded, Fault> {
        if self.eat("-") {
            let operand = self.signed()?;
            let bond = if operand.bond == Bond::Literal { Bond::Literal } else { Bond::Tight };
            return Ok(Guarded::new(format!("(-{})", operand.tight()), bond));
        }
        let value = self.primary()?;
        self.postfix(value)
    }

    /// Attributes, indexes, slices and calls; what they follow never needs brackets.
    fn postfix(&mut self, mut value: Guarded) -> Result<Guarded, Fault> {
        // How many steps of the path have been taken when it stops being a path.
        let mut closed: Option<usize> = None;
        let mut path = value.path.take();
        loop {
            if self.eat(".") {
                let name = self.next()?;
                value.text = format!("{}.{}", value.text, name.text);
                match (&mut path, closed) {
                    (Some(path), None) => path.steps.push(match name.text.parse() {
                        Ok(index) => PathStep::Index(index),
                        Err(_) => PathStep::Name(name.text.to_owned()),
                    }),
                    (Some(_) | None, _) => {}
                }
            } else if self.sees("[") {
                let (text, step) = self.subscript(std::mem::take(&mut value.text))?;
                value.text = text;
                match (&mut path, step, closed) {
                    (Some(path), Some(step), None) => path.steps.push(step),
                    (Some(path), None, None) => closed = Some(path.steps.len()),
                    (Some(_) | None, _, _) => {}
                }
            } else if self.sees("(") {
                let callee = self.tokens.get(self.at.wrapping_sub(1)).copied();
                let arguments = self.arguments()?;
                if let (Some(path), None) = (&path, closed) {
                    closed = Some(path.steps.len().saturating_sub(1));
                    if path.steps.is_empty() {
                        self.check_function(&path.root, callee)?;
                    }
                }
                value.text.push_str(&arguments);
            } else {
                break;
            }
            value.bond = Bond::Tight;
        }
        if let Some(path) = path {
            let is_function =
                closed == Some(0) && known_function(&path.root) && path.steps.is_empty();
            if !is_function {
                self.mentions.record(&path, closed.unwrap_or(path.steps.len()));
            }
            let is_plain = closed.is_none() && !self.mentions.is_local(&path.root);
            value.path = is_plain.then_some(path);
        }
        Ok(value)
    }

    fn check_function(&self, name: &str, token: Option<Token<'_>>) -> Result<(), Fault> {
        if known_function(name) || self.mentions.is_local(name) {
            return Ok(());
        }
        match token {
            Some(token) => Err(unknown("function", token, crate::environment::FUNCTIONS)),
            None => Err(self.unreadable()),
        }
    }

    fn subscript(&mut self, base: String) -> Result<(String, Option<PathStep>), Fault> {
        self.expect("[")?;
        let first = self.peek();
        let start = if self.sees(":") { None } else { Some(self.expression()?) };
        if !self.sees(":") {
            self.expect("]")?;
            let index = start.ok_or_else(|| self.unreadable())?;
            let step = match (index.bond, first) {
                (Bond::Literal, Some(token)) => literal_step(token),
                (Bond::Literal | Bond::Tight | Bond::Loose, _) => None,
            };
            let guard = if step.is_some() { "" } else { "|__indexed" };
            let base = if guard.is_empty() { base } else { format!("({base}{guard})") };
            return Ok((format!("{base}[{}]", index.text), step));
        }
        let mut range = start.map_or(String::new(), |it| it.text);
        while self.eat(":") {
            range.push(':');
            if !self.sees(":") && !self.sees("]") {
                range.push_str(&self.expression()?.text);
            }
        }
        self.expect("]")?;
        Ok((format!("(({base}|__indexed)[{range}]|__kept)"), None))
    }

    fn arguments(&mut self) -> Result<String, Fault> {
        self.expect("(")?;
        let mut parts = Vec::new();
        while !self.eat(")") {
            let splat = ["**", "*"].into_iter().find(|sign| self.eat(sign)).unwrap_or("");
            let keyword = match (self.peek(), self.tokens.get(self.at + 1)) {
                (Some(name), Some(sign)) if name.kind == Kind::Name && sign.text == "=" => {
                    self.at += 2;
                    format!("{}=", name.text)
                }
                _ => String::new(),
            };
            let value = self.expression()?;
            let value =
                if splat.is_empty() { value.text } else { format!("{}|__kept", value.tight()) };
            parts.push(format!("{splat}{keyword}{value}"));
            if !self.eat(",") && !self.sees(")") {
                return Err(self.unreadable());
            }
        }
        Ok(format!("({})", parts.join(", ")))
    }

    fn primary(&mut self) -> Result<Guarded, Fault> {
        let token = self.next()?;
        match (token.kind, token.text) {
            (Kind::Number, text) => Ok(Guarded::new(text.to_owned(), Bond::Literal)),
            (Kind::Text, text) => {
                let mut written = Guarded::new(text.to_owned(), Bond::Literal);
                while let Some(more) = self.peek().filter(|it| it.kind == Kind::Text) {
                    self.at += 1;
                    written = Guarded::new(format!("{} {}", written.text, more.text), Bond::Tight);
                }
                Ok(written)
            }
            (Kind::Name, text @ ("true" | "True" | "false" | "False" | "none" | "None")) => {
                Ok(Guarded::new(text.to_owned(), Bond::Literal))
            }
            (Kind::Name, name) => {
                let path = Path { root: name.to_owned(), steps: Vec::new() };
                Ok(Guarded { text: name.to_owned(), path: Some(path), bond: Bond::Tight })
            }
            (Kind::Sign, "(") => self.sequence("(", ")"),
            (Kind::Sign, "[") => self.sequence("[", "]"),
            (Kind::Sign, "{") => self.map(),
            (Kind::Sign, _) => {
                self.at -= 1;
                Err(self.unreadable())
            }
        }
    }

    fn sequence(&mut self, open: &str, close: &str) -> Result<Guarded, Fault> {
        let mut text = open.to_owned();
        while !self.eat(close) {
            text.push_str(&self.expression()?.text);
            if self.eat(",") {
                text.push_str(", ");
            } else if !self.sees(close) {
                return Err(self.unreadable());
            }
        }
        text.push_str(close);
        Ok(Guarded::new(text, Bond::Tight))
    }

    fn map(&mut self) -> Result<Guarded, Fault> {
        let mut text = "{".to_owned();
        while !self.eat("}") {
            // A key is hashed, which walks it.
            let key = self.expression()?;
            match key.bond {
                Bond::Literal => text.push_str(&key.text),
                Bond::Tight | Bond::Loose => text.push_str(&format!("{}|__weighed", key.tight())),
            }
            self.expect(":")?;
            text.push_str(": ");
            text.push_str(&self.expression()?.text);
            if self.eat(",") {
                text.push_str(", ");
            } else if !self.sees("}") {
                return Err(self.unreadable());
            }
        }
        text.push('}');
        Ok(Guarded::new(text, Bond::Tight))
    }
}

/// Filters of minijinja's that compare or collect what they are given.
const WALKING_FILTERS: &[&str] = &[
    "dictsort",
    "groupby",
    "map",
    "max",
    "min",
    "reject",
    "rejectattr",
    "select",
    "selectattr",
    "sort",
    "unique",
];

/// Tests that compare.
const WALKING_TESTS: &[&str] =
    &["eq", "equalto", "ge", "gt", "in", "le", "lt", "ne", "sameas", "greaterthan", "lessthan"];

fn applied(left: Guarded, filter: &str, right: &Guarded) -> Guarded {
    Guarded::new(format!("{}|{filter}({})", left.tight(), right.text), Bond::Tight)
}

/// Whether a token after a test's name is its argument.
fn begins_argument(token: Token<'_>) -> bool {
    match token.kind {
        Kind::Text | Kind::Number => true,
        Kind::Name => !matches!(token.text, "and" | "or" | "else" | "is"),
        Kind::Sign => matches!(token.text, "+" | "-" | "[" | "{"),
    }
}

fn literal_step(token: Token<'_>) -> Option<PathStep> {
    match token.kind {
        Kind::Number => token.text.parse().ok().map(PathStep::Index),
        Kind::Text if !token.text.contains('\\') => {
            Some(PathStep::Name(token.text[1..token.text.len() - 1].to_owned()))
        }
        Kind::Text | Kind::Name | Kind::Sign => None,
    }
}

fn is_identifier(text: &str) -> bool {
    let is_more = |it: char| it.is_ascii_alphanumeric() || it == '_';
    text.chars().all(is_more) && text.starts_with(|it: char| !it.is_ascii_digit())
}

fn unknown(what: &str, token: Token<'_>, known: &[&str]) -> Fault {
    let hint = match nearest(token.text, known) {
        Some(name) => format!(", did you mean `{name}`?"),
        None => String::new(),
    };
    fault(token, format!("unknown {what} `{}`{hint}", token.text))
}

pub(super) fn fault(token: Token<'_>, message: String) -> Fault {
    Fault { message, range: Some(token.start..token.start + token.text.len()) }
}
