//! Facts about a template for static checks: the names that it reads, the filters that it calls and
//! the comparisons that it makes, each with its place in the source.
//!
//! The parser that rewrites templates (`syntax/guard.rs`) collects the facts; a template that does
//! not parse has none.

use std::ops::Range;

use serde_json::Value;

use crate::filters::fault_of;
use crate::syntax;
use crate::{MissingValues, ParseError};

/// The facts of one template string.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TemplateFacts {
    pub names: Vec<NameUse>,
    pub filters: Vec<FilterUse>,
    pub methods: Vec<MethodUse>,
    pub comparisons: Vec<TemplateComparison>,
}

/// A name that a template reads, with its fixed attributes.
#[derive(Debug, Clone, PartialEq)]
pub struct NameUse {
    /// The name, then its attributes; never empty.
    pub path: Vec<String>,
    /// The byte range of the name and its attributes.
    pub range: Range<usize>,
    /// The end of each segment of `path`.
    pub ends: Vec<usize>,
    /// The treatment of a missing value by the expression around the name.
    pub absence: Absence,
    /// The filters applied to the value, in order.
    pub filters: Vec<FilterUse>,
    /// True if the value only decides about the result, and is no part of it: in the condition of an
    /// `if`, in a comparison, as an index.
    pub is_tested: bool,
}

/// The treatment of a missing value by the expression that reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Absence {
    /// A missing value renders as nothing; with [`MissingValues::Fail`] it is an error.
    Unhandled,
    /// Another value takes the place of a missing one, by `or` or by `default` after a larger
    /// expression. With [`MissingValues::Fail`] it is an error, because the name is read first.
    Replaced,
    /// A missing value is accepted: the name is followed by `default`, `is defined` or `is none`.
    Accepted,
}

impl Absence {
    /// True if a missing value is expected, for the given treatment of missing values.
    pub fn is_handled(self, missing: MissingValues) -> bool {
        match (self, missing) {
            (Absence::Unhandled, _) | (Absence::Replaced, MissingValues::Fail) => false,
            (Absence::Replaced, MissingValues::Empty) | (Absence::Accepted, _) => true,
        }
    }
}

/// A call of a method: `value.name(…)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MethodUse {
    pub name: String,
    /// The byte range of the method's name.
    pub range: Range<usize>,
}

/// A call of a filter.
#[derive(Debug, Clone, PartialEq)]
pub struct FilterUse {
    pub name: String,
    /// The byte range of the filter's name.
    pub range: Range<usize>,
    /// The arguments; `None` if a list of arguments is unpacked.
    pub arguments: Option<Vec<FilterArgument>>,
}

/// An argument of a filter.
#[derive(Debug, Clone, PartialEq)]
pub struct FilterArgument {
    /// The name, if the argument is given by name.
    pub keyword: Option<String>,
    /// The value, if it is a literal.
    pub literal: Option<Value>,
}

/// A comparison of two operands.
#[derive(Debug, Clone, PartialEq)]
pub struct TemplateComparison {
    pub left: Operand,
    pub sign: ComparisonSign,
    pub right: Operand,
    pub range: Range<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComparisonSign {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
    NotIn,
}

/// A side of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub enum Operand {
    /// A text, number, boolean or none; a list of these as a JSON array.
    Literal(Value),
    /// A name with its fixed attributes.
    Path(Vec<String>),
    /// The number of elements of a value: `x | length`, with the path of `x` if it is one.
    Length(Option<Vec<String>>),
    Other,
}

/// The form in which an expression is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TemplateForm {
    /// Text with expressions in braces.
    Braces,
    /// One expression without braces, as a condition may be written.
    Bare,
}

impl TemplateFacts {
    /// Returns the facts of a template; empty for text without a template.
    pub fn of(text: &str, form: TemplateForm) -> Result<Self, ParseError> {
        let reading = match form {
            TemplateForm::Bare if !syntax::is_template(text) => {
                syntax::read_bare(text, MissingValues::Empty)
            }
            TemplateForm::Bare | TemplateForm::Braces if syntax::is_template(text) => {
                syntax::read(text, MissingValues::Empty)
            }
            TemplateForm::Bare | TemplateForm::Braces => return Ok(Self::default()),
        };
        reading.map(|parsed| parsed.facts).map_err(|fault| fault.at(""))
    }

    /// Moves all places to the left, for a source that was written behind a prefix.
    pub(crate) fn moved(mut self, by: usize) -> Self {
        let back = |range: &mut Range<usize>| {
            *range = range.start.saturating_sub(by)..range.end.saturating_sub(by);
        };
        for name in &mut self.names {
            back(&mut name.range);
            name.ends.iter_mut().for_each(|end| *end = end.saturating_sub(by));
        }
        self.methods.iter_mut().for_each(|method| back(&mut method.range));
        self.filters.iter_mut().for_each(|filter| back(&mut filter.range));
        self.comparisons.iter_mut().for_each(|comparison| back(&mut comparison.range));
        self
    }
}

impl FilterUse {
    /// Returns the fault of a call that fails whatever its values are: the number of its arguments, an
    /// unknown name, a literal of the wrong type.
    pub fn fault(&self) -> Option<String> {
        fault_of(&self.name, self.arguments.as_deref()?)
    }
}

impl ComparisonSign {
    pub(crate) fn of(sign: &str) -> Self {
        match sign {
            "==" => Self::Equal,
            "!=" => Self::NotEqual,
            "<" => Self::Less,
            "<=" => Self::LessOrEqual,
            ">" => Self::Greater,
            ">=" => Self::GreaterOrEqual,
            "in" => Self::In,
            _ => Self::NotIn,
        }
    }
}
