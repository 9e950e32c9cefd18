//! Parses the operands of expressions: literals, names with attributes and calls, lists and maps.

use crate::environment::{FUNCTIONS, NOW, known_function};
use crate::facts::{Absence, MethodUse, NameUse};
use crate::syntax::guard::{BindingStrength, Guard, Guarded, unknown};
use crate::syntax::lexer::{TagToken, TagTokenKind};
use crate::syntax::{Path, PathStep, SyntaxFault};

impl Guard<'_, '_> {
    pub(super) fn signed(&mut self) -> Result<Guarded, SyntaxFault> {
        if self.eat("-") {
            let operand = self.signed()?;
            let binding = if operand.binding == BindingStrength::Literal {
                BindingStrength::Literal
            } else {
                BindingStrength::Tight
            };
            return Ok(Guarded::new(format!("(-{})", operand.tight()), binding));
        }
        let first = self.at;
        let value = self.primary()?;
        self.postfix(value, first)
    }

    /// Parses attributes, indexes, slices and calls after an operand, which never needs
    /// parentheses.
    fn postfix(&mut self, mut value: Guarded, first: usize) -> Result<Guarded, SyntaxFault> {
        // The number of path steps that were collected when the expression stopped being a fixed
        // path.
        let mut closed: Option<usize> = None;
        let mut path = value.path.take();
        let mut ends = vec![self.end_of_last()];
        loop {
            if self.eat(".") {
                let name = self.next()?;
                value.text = format!("{}.{}", value.text, name.text);
                if let (Some(path), None) = (&mut path, closed) {
                    path.steps.push(match name.text.parse() {
                        Ok(index) => PathStep::Index(index),
                        Err(_) => PathStep::Name(name.text.to_owned()),
                    });
                    ends.push(self.end_of_last());
                }
            } else if self.sees("[") {
                let (text, step) = self.subscript(std::mem::take(&mut value.text))?;
                value.text = text;
                match (&mut path, step, closed) {
                    (Some(path), Some(step), None) => {
                        path.steps.push(step);
                        ends.push(self.end_of_last());
                    }
                    (Some(path), None, None) => closed = Some(path.steps.len()),
                    (Some(_) | None, _, _) => {}
                }
            } else if self.sees("(") {
                let callee = self.tokens.get(self.at.wrapping_sub(1)).copied();
                let is_of_loop = path.as_ref().is_some_and(|it| self.mentions.is_local(&it.root));
                self.note_method(is_of_loop);
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
            value.binding = BindingStrength::Tight;
        }
        if let Some(path) = path {
            let is_function =
                closed == Some(0) && known_function(&path.root) && path.steps.is_empty();
            if is_function && path.root == "now" {
                self.mentions.need(NOW);
            }
            if !is_function {
                let steps = closed.unwrap_or(path.steps.len());
                self.mentions.record(&path, steps);
                self.note_name(&path, steps, (first, &ends));
                if self.mentions.is_strict && !self.handles_missing() {
                    value.text = format!("({}|__required(\"{}\"))", value.text, named(&path));
                    value.binding = BindingStrength::Tight;
                }
            }
            let is_plain = closed.is_none() && !self.mentions.is_local(&path.root);
            value.path = is_plain.then_some(path);
        }
        Ok(value)
    }

    /// Notes the call of a method, whose name was read last; a variable of the template itself, such as
    /// `loop`, may have methods of its own.
    fn note_method(&mut self, is_of_template: bool) {
        let Some([.., dot, name]) = self.tokens.get(..self.at) else { return };
        if dot.text == "." && name.kind == TagTokenKind::Name && !is_of_template {
            let range = name.start..name.start + name.text.len();
            self.mentions.facts.methods.push(MethodUse { name: name.text.to_owned(), range });
        }
    }

    /// Returns the end of the token that was read last.
    pub(super) fn end_of_last(&self) -> usize {
        let last = self.at.checked_sub(1).and_then(|at| self.tokens.get(at));
        last.map_or(0, |token| token.start + token.text.len())
    }

    /// Notes the use of a name, with the fixed part of its path.
    fn note_name(&mut self, path: &Path, steps: usize, (first, ends): (usize, &[usize])) {
        if self.mentions.may_be_local(&path.root) {
            return;
        }
        let mut names = vec![path.root.clone()];
        for step in path.steps.iter().take(steps) {
            match step {
                PathStep::Name(name) => names.push(name.clone()),
                PathStep::Index(_) => break,
            }
        }
        let start = self.tokens.get(first).map_or(0, |token| token.start);
        let ends: Vec<usize> = ends.iter().copied().take(names.len()).collect();
        let end = ends.last().copied().unwrap_or(start);
        let absence = if self.handles_missing() { Absence::Accepted } else { Absence::Unhandled };
        let filters = Vec::new();
        let (range, is_tested) = (start..end, false);
        let used = NameUse { path: names, range, ends, absence, filters, is_tested };
        self.mentions.facts.names.push(used);
    }

    /// True if a filter or test that accepts a missing value comes next.
    fn handles_missing(&self) -> bool {
        let word = |ahead: usize| self.tokens.get(self.at + ahead).map(|token| token.text);
        match (word(0), word(1)) {
            (Some("|"), Some("default" | "d")) => true,
            (Some("is"), Some("not")) => matches!(word(2), Some("defined" | "undefined" | "none")),
            (Some("is"), Some(test)) => matches!(test, "defined" | "undefined" | "none"),
            (Some(_) | None, _) => false,
        }
    }

    fn check_function(&self, name: &str, token: Option<TagToken<'_>>) -> Result<(), SyntaxFault> {
        if known_function(name) || self.mentions.is_local(name) {
            return Ok(());
        }
        match token {
            Some(token) => Err(unknown("function", token, FUNCTIONS)),
            None => Err(self.unreadable()),
        }
    }

    fn subscript(&mut self, base: String) -> Result<(String, Option<PathStep>), SyntaxFault> {
        self.expect("[")?;
        let first = self.peek();
        let known = self.mentions.facts.names.len();
        let start = if self.sees(":") { None } else { Some(self.expression()?) };
        // An index chooses a part of a value; it is not a part of the result.
        self.mark_tested(known);
        if !self.sees(":") {
            self.expect("]")?;
            let index = start.ok_or_else(|| self.unreadable())?;
            let step = match (index.binding, first) {
                (BindingStrength::Literal, Some(token)) => literal_step(token),
                (BindingStrength::Literal | BindingStrength::Tight | BindingStrength::Loose, _) => {
                    None
                }
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
        Ok((format!("(({base}|__indexed)[{range}]|__copied)"), None))
    }

    pub(super) fn arguments(&mut self) -> Result<String, SyntaxFault> {
        self.expect("(")?;
        let mut parts = Vec::new();
        while !self.eat(")") {
            let splat = ["**", "*"].into_iter().find(|sign| self.eat(sign)).unwrap_or("");
            let keyword = match (self.peek(), self.tokens.get(self.at + 1)) {
                (Some(name), Some(sign)) if name.kind == TagTokenKind::Name && sign.text == "=" => {
                    self.at += 2;
                    format!("{}=", name.text)
                }
                _ => String::new(),
            };
            let value = self.expression()?;
            let value =
                if splat.is_empty() { value.text } else { format!("{}|__spread", value.tight()) };
            parts.push(format!("{splat}{keyword}{value}"));
            if !self.eat(",") && !self.sees(")") {
                return Err(self.unreadable());
            }
        }
        Ok(format!("({})", parts.join(", ")))
    }

    fn primary(&mut self) -> Result<Guarded, SyntaxFault> {
        let token = self.next()?;
        match (token.kind, token.text) {
            (TagTokenKind::Number, text) => {
                Ok(Guarded::new(text.to_owned(), BindingStrength::Literal))
            }
            (TagTokenKind::Text, text) => {
                let mut written = Guarded::new(text.to_owned(), BindingStrength::Literal);
                while let Some(more) = self.peek().filter(|it| it.kind == TagTokenKind::Text) {
                    self.at += 1;
                    written = Guarded::new(
                        format!("{} {}", written.text, more.text),
                        BindingStrength::Tight,
                    );
                }
                Ok(written)
            }
            (
                TagTokenKind::Name,
                text @ ("true" | "True" | "false" | "False" | "none" | "None"),
            ) => Ok(Guarded::new(text.to_owned(), BindingStrength::Literal)),
            (TagTokenKind::Name, name) => {
                let path = Path { root: name.to_owned(), steps: Vec::new() };
                Ok(Guarded {
                    text: name.to_owned(),
                    path: Some(path),
                    binding: BindingStrength::Tight,
                })
            }
            (TagTokenKind::Sign, "(") => self.sequence("(", ")"),
            (TagTokenKind::Sign, "[") => self.sequence("[", "]"),
            (TagTokenKind::Sign, "{") => self.map(),
            (TagTokenKind::Sign, _) => {
                self.at -= 1;
                Err(self.unreadable())
            }
        }
    }

    fn sequence(&mut self, open: &str, close: &str) -> Result<Guarded, SyntaxFault> {
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
        Ok(Guarded::new(text, BindingStrength::Tight))
    }

    fn map(&mut self) -> Result<Guarded, SyntaxFault> {
        let mut text = "{".to_owned();
        while !self.eat("}") {
            // A key is hashed, which traverses it.
            let key = self.expression()?;
            match key.binding {
                BindingStrength::Literal => text.push_str(&key.text),
                BindingStrength::Tight | BindingStrength::Loose => {
                    text.push_str(&format!("{}|__weighed", key.tight()))
                }
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
        Ok(Guarded::new(text, BindingStrength::Tight))
    }
}

/// Returns a path as the argument of a filter; a name that a string cannot hold is left out.
fn named(path: &Path) -> String {
    path.to_string().replace(['"', '\\'], "?")
}

fn literal_step(token: TagToken<'_>) -> Option<PathStep> {
    match token.kind {
        TagTokenKind::Number => token.text.parse().ok().map(PathStep::Index),
        TagTokenKind::Text if !token.text.contains('\\') => {
            Some(PathStep::Name(token.text[1..token.text.len() - 1].to_owned()))
        }
        TagTokenKind::Text | TagTokenKind::Name | TagTokenKind::Sign => None,
    }
}
