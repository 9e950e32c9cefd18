//! Rewrites whole templates: text is copied, tags are rewritten, and names are scoped to blocks.
//!
//! The statements `if`, `for`, `set`, `with`, `filter` and `raw` are allowed, because they stay
//! inside one template. Macros, includes and blocks are rejected. A loop inside a captured block is
//! also rejected, because the limit on output does not see captured text.

use std::collections::BTreeSet;

use crate::syntax::SyntaxFault;
use crate::syntax::guard::{self, Guard};
use crate::syntax::lexer::{Tag, TagTokenKind, TemplatePiece};
use crate::syntax::mentions::{LocalNames, Mentions};

/// Rewrites every tag of a template.
pub(super) fn guarded(
    pieces: &[TemplatePiece<'_>],
    mentions: &mut Mentions,
) -> Result<String, SyntaxFault> {
    let mut text = String::new();
    let mut blocks = Vec::new();
    mentions.local.push(LocalNames::default());
    for piece in pieces {
        match piece {
            TemplatePiece::Text(it) | TemplatePiece::Comment(it) => text.push_str(it),
            TemplatePiece::Output(tag) => {
                let guarded = guard::expression(tag, mentions)?;
                text.push_str(&format!("{} {} {}", tag.open, guarded.text, tag.close));
            }
            TemplatePiece::Statement(tag) => {
                let guarded = statement(tag, mentions, &mut blocks)?;
                text.push_str(&format!("{} {guarded} {}", tag.open, tag.close));
            }
        }
    }
    Ok(text)
}

/// An open block.
enum Block {
    Plain,
    /// A block whose text goes into a variable or through a filter instead of the output.
    Captured,
    /// An `if`. A name that a branch assigns still exists after the block.
    Choice(ReadBranches),
}

/// The branches of an `if` that were read.
#[derive(Default)]
struct ReadBranches {
    /// The names after one of them; `None` before the end of the first.
    names: Option<LocalNames>,
    has_else: bool,
}

impl ReadBranches {
    fn end_branch(&mut self, branch: LocalNames) {
        self.names = Some(match self.names.take() {
            Some(others) => others.either(branch),
            None => branch,
        });
    }

    /// Returns the names after the whole block.
    fn after(self) -> LocalNames {
        let names = self.names.unwrap_or_default();
        if self.has_else { names } else { names.either(LocalNames::default()) }
    }
}

fn statement(
    tag: &Tag<'_>,
    mentions: &mut Mentions,
    blocks: &mut Vec<Block>,
) -> Result<String, SyntaxFault> {
    let mut guard = Guard::new(tag, mentions);
    let word = guard.next()?;
    let mut opened = None;
    let text = match word.text {
        "if" | "elif" => {
            let known = guard.mentions.facts.names.len();
            let test = guard.either()?;
            guard.mark_tested(known);
            format!("{} {}", word.text, test.text)
        }
        "for" => {
            if blocks.iter().any(|block| matches!(block, Block::Captured)) {
                let message = "a loop cannot stand inside a `set` or `filter` block";
                return Err(guard::fault(word, message.to_owned()));
            }
            for_loop(&mut guard)?
        }
        "set" => {
            let (text, block) = set(&mut guard)?;
            opened = block;
            text
        }
        "with" => with(&mut guard)?,
        "filter" => format!("filter __copied | {}", filter_chain(&mut guard)?),
        "else" | "endif" | "endfor" | "endset" | "endwith" | "endfilter" | "break" | "continue" => {
            word.text.to_owned()
        }
        _ => {
            let message = format!("`{}` is not available in templates", word.text);
            return Err(guard::fault(word, message));
        }
    };
    guard.finish()?;
    scope(word.text, opened, mentions, blocks);
    Ok(text)
}

/// Opens and closes the blocks of a statement; `opened` is the block of a `set`.
fn scope(word: &str, opened: Option<Block>, mentions: &mut Mentions, blocks: &mut Vec<Block>) {
    match word {
        "if" | "filter" => mentions.local.push(LocalNames::default()),
        "set" if opened.is_some() => mentions.local.push(LocalNames::default()),
        "elif" | "else" => {
            let branch = mentions.local.pop().unwrap_or_default();
            if let Some(Block::Choice(read)) = blocks.last_mut() {
                read.end_branch(branch);
                read.has_else |= word == "else";
            }
            mentions.local.push(LocalNames::default());
        }
        "endif" | "endfor" | "endset" | "endwith" | "endfilter" => {
            let last = mentions.local.pop().unwrap_or_default();
            if let Some(Block::Choice(mut read)) = blocks.pop() {
                read.end_branch(last);
                if let Some(outer) = mentions.local.last_mut() {
                    outer.add(read.after());
                }
            }
        }
        _ => {}
    }
    blocks.extend(match word {
        "if" => Some(Block::Choice(ReadBranches::default())),
        "for" | "with" => Some(Block::Plain),
        "filter" => Some(Block::Captured),
        _ => opened,
    });
}

/// Parses `for target in list if test`. The names it defines are in scope until the end of the
/// loop.
fn for_loop(guard: &mut Guard<'_, '_>) -> Result<String, SyntaxFault> {
    let (target, mut names) = targets(guard, "in")?;
    let list = guard.either()?;
    names.insert("loop".to_owned());
    guard.mentions.local.push(LocalNames::of(names));
    let mut text = format!("for {target} in {}", list.text);
    if guard.eat("if") {
        text.push_str(" if ");
        text.push_str(&guard.expression()?.text);
    }
    match guard.peek() {
        Some(token) if token.text == "recursive" => {
            Err(guard::fault(token, "`recursive` is not available in templates".to_owned()))
        }
        Some(_) | None => Ok(text),
    }
}

/// Parses `set target = value`, or the head of a `set` block.
fn set(guard: &mut Guard<'_, '_>) -> Result<(String, Option<Block>), SyntaxFault> {
    let (target, names) = targets(guard, "=")?;
    let mut block = Some(Block::Captured);
    let text = if guard.is_done() {
        format!("set {target} | __copied")
    } else if guard.eat("|") {
        format!("set {target} | __copied | {}", filter_chain(guard)?)
    } else {
        block = None;
        let mut values = vec![guard.expression()?.text];
        while guard.eat(",") {
            if !guard.is_done() {
                values.push(guard.expression()?.text);
            }
        }
        let tuple = if values.len() > 1 { "," } else { "" };
        format!("set {target} = ({}{tuple})|__kept", values.join(", "))
    };
    // The name is added after its value was parsed, so `set x = x + 1` refers to an outer `x`.
    if let Some(scope) = guard.mentions.local.last_mut() {
        scope.names.extend(names);
    }
    Ok((text, block))
}

fn with(guard: &mut Guard<'_, '_>) -> Result<String, SyntaxFault> {
    let mut parts = Vec::new();
    guard.mentions.local.push(LocalNames::default());
    while !guard.is_done() {
        let (target, names) = targets(guard, "=")?;
        let value = guard.expression()?;
        parts.push(format!("{target} = ({})|__kept", value.text));
        if let Some(scope) = guard.mentions.local.last_mut() {
            scope.names.extend(names);
        }
        if !guard.eat(",") {
            break;
        }
    }
    Ok(format!("with {}", parts.join(", ")))
}

fn filter_chain(guard: &mut Guard<'_, '_>) -> Result<String, SyntaxFault> {
    let mut chain = guard.filter(String::new())?;
    while guard.eat("|") {
        chain = guard.filter(chain)?;
    }
    // Each filter is preceded by `|`; the first filter of a block must not be.
    Ok(chain.trim_start_matches('|').to_owned())
}

/// Parses the names to be assigned, up to and including the sign `end`.
fn targets(
    guard: &mut Guard<'_, '_>,
    end: &str,
) -> Result<(String, BTreeSet<String>), SyntaxFault> {
    let mut text = String::new();
    let mut names = BTreeSet::new();
    let mut after_dot = false;
    while !guard.eat(end) {
        if guard.is_done() || guard.sees("|") {
            break;
        }
        let token = guard.next()?;
        match token.kind {
            TagTokenKind::Name if !after_dot => {
                names.insert(token.text.to_owned());
            }
            TagTokenKind::Name | TagTokenKind::Sign => {}
            TagTokenKind::Text | TagTokenKind::Number => return Err(guard.unreadable()),
        }
        after_dot = token.text == ".";
        text.push_str(token.text);
    }
    Ok((text, names))
}
