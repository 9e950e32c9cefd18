//! Templates: JSON values whose strings may contain Jinja, compiled once.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::sync::Arc;

use minijinja::value::ValueKind;
use minijinja::{Environment, Error, ErrorKind, Expression, Value};
use serde_json::{Map, Value as Json};

use crate::bounds::{FUEL_MAX, TEXT_MAX, text_too_long, uncharged};
use crate::budget::{BUDGET, INSTRUCTION_WORK};
use crate::environment::ENVIRONMENT;
use crate::operators::missing_value;
use crate::print::to_json;
use crate::syntax::{self, ParsedTemplate, Path, PathStep, SyntaxFault, TemplateShape};
use crate::value::{from_variable, loop_results};
use crate::{Budget, MissingValues, ParseError, RenderError, VariableSource};

/// A JSON value whose strings may contain templates.
#[derive(Clone)]
pub struct Template(Arc<Compiled>);

struct Compiled {
    source: Json,
    part: TemplatePart,
    variables: BTreeSet<String>,
    roots: BTreeSet<String>,
}

/// A part of the JSON value: fixed, a template, or a container of parts.
enum TemplatePart {
    Fixed(Json),
    Leaf(Leaf),
    List(Vec<TemplatePart>),
    Map(Vec<(KeyPart, TemplatePart)>),
}

enum KeyPart {
    Fixed(String),
    Leaf(Leaf),
}

/// A string that contains a template.
pub(crate) struct Leaf {
    source: String,
    code: CompiledLeaf,
    roots: BTreeSet<String>,
    missing: MissingValues,
}

enum CompiledLeaf {
    Path(Path),
    Expression(Expression<'static, 'static>),
    /// An environment that holds the template under [`NAME`].
    Text(Box<Environment<'static>>),
}

/// The name of a text template in its environment.
const NAME: &str = "text";

impl Template {
    /// Compiles every string that contains a template; all other values are kept as they are.
    pub fn parse(source: Json) -> Result<Self, ParseError> {
        Self::parse_with(source, MissingValues::Empty)
    }

    /// Compiles every string that contains a template, with the given treatment of missing values.
    pub fn parse_with(source: Json, missing: MissingValues) -> Result<Self, ParseError> {
        let mut found = FoundVariables { missing, ..FoundVariables::default() };
        let part = found.part(&source, &mut String::new())?;
        let FoundVariables { variables, roots, .. } = found;
        Ok(Self(Arc::new(Compiled { source, part, variables, roots })))
    }

    /// Compiles one expression written without braces.
    pub(crate) fn parse_bare(
        source: Json,
        expression: &str,
        missing: MissingValues,
    ) -> Result<Self, ParseError> {
        let compile = || {
            let reading = syntax::read_bare(expression, missing)?;
            let (variables, roots) = (reading.variables.clone(), reading.roots.clone());
            let part = TemplatePart::Leaf(Leaf::compile(expression, reading, missing)?);
            Ok(Compiled { source, part, variables, roots })
        };
        compile().map(|it| Self(Arc::new(it))).map_err(|mut fault: SyntaxFault| {
            // The closing braces were added by `read_bare`, so a message must not name them.
            fault.message = fault.message.replace("`}}`", "the end of the condition");
            fault.at("")
        })
    }

    /// The value as written.
    pub fn source(&self) -> &Json {
        &self.0.source
    }

    /// The variables that the template refers to, with their attributes where they are fixed:
    /// `workload.url`, `item`.
    pub fn variables(&self) -> &BTreeSet<String> {
        &self.0.variables
    }

    /// True if the template refers to a variable.
    pub(crate) fn refers_to(&self, name: &str) -> bool {
        self.0.roots.contains(name)
    }

    /// Returns the value with every template replaced by its result.
    pub fn render(&self, variables: &dyn VariableSource) -> Result<Json, RenderError> {
        self.0.part.render(&self.scope(variables, None))
    }

    /// Returns the value with every template replaced by its result. Charges the work to a budget.
    pub fn render_within(
        &self,
        variables: &dyn VariableSource,
        budget: &Budget,
    ) -> Result<Json, RenderError> {
        self.0.part.render(&self.scope(variables, Some(budget)))
    }

    /// Returns the source of a template that renders to the same value once the withheld variables
    /// are known: a string that refers to none of them is rendered, any other is kept and begins
    /// with the statements that define its withheld variables, if they have any. A string without
    /// templates of its own is quoted if it looks like one.
    pub(crate) fn render_except(
        &self,
        variables: &dyn VariableSource,
        withheld: &BTreeMap<String, String>,
    ) -> Result<Json, RenderError> {
        let scope = RenderScope { withheld: Some(withheld), ..self.scope(variables, None) };
        self.0.part.render(&scope)
    }

    /// True if the template renders to a value that counts as true.
    pub(crate) fn holds(
        &self,
        variables: &dyn VariableSource,
        budget: Option<&Budget>,
    ) -> Result<bool, RenderError> {
        match &self.0.part {
            TemplatePart::Fixed(json) => Ok(is_true(json)),
            TemplatePart::Leaf(leaf) => leaf.holds(&self.scope(variables, budget)),
            TemplatePart::List(parts) => Ok(!parts.is_empty()),
            TemplatePart::Map(parts) => Ok(!parts.is_empty()),
        }
    }

    fn scope<'t>(
        &'t self,
        variables: &dyn VariableSource,
        budget: Option<&'t Budget>,
    ) -> RenderScope<'t> {
        let get = |name| variables.get(name).map(|value| (name, value));
        let values = self.0.roots.iter().filter_map(|name| get(name.as_str())).collect();
        RenderScope { values, context: OnceCell::new(), budget, withheld: None }
    }
}

impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Template").field(&self.0.source).finish()
    }
}

/// The variables collected while the templates of a value are compiled.
#[derive(Default)]
struct FoundVariables {
    variables: BTreeSet<String>,
    roots: BTreeSet<String>,
    missing: MissingValues,
}

impl FoundVariables {
    fn part(&mut self, json: &Json, pointer: &mut String) -> Result<TemplatePart, ParseError> {
        match json {
            Json::Null | Json::Bool(_) | Json::Number(_) => Ok(TemplatePart::Fixed(json.clone())),
            Json::String(text) if syntax::is_template(text) => {
                Ok(TemplatePart::Leaf(self.leaf(text, pointer)?))
            }
            Json::String(_) => Ok(TemplatePart::Fixed(json.clone())),
            Json::Array(items) => {
                let mut parts = Vec::with_capacity(items.len());
                for (place, item) in items.iter().enumerate() {
                    parts.push(self.below(item, &place.to_string(), pointer)?);
                }
                let is_fixed = parts.iter().all(TemplatePart::is_fixed);
                Ok(if is_fixed {
                    TemplatePart::Fixed(json.clone())
                } else {
                    TemplatePart::List(parts)
                })
            }
            Json::Object(members) => {
                let mut parts = Vec::with_capacity(members.len());
                for (key, member) in members {
                    let part = self.below(member, key, pointer)?;
                    parts.push((self.key(key, pointer)?, part));
                }
                let is_fixed = |(key, part): &(KeyPart, TemplatePart)| match key {
                    KeyPart::Fixed(_) => part.is_fixed(),
                    KeyPart::Leaf(_) => false,
                };
                let is_fixed = parts.iter().all(is_fixed);
                Ok(if is_fixed {
                    TemplatePart::Fixed(json.clone())
                } else {
                    TemplatePart::Map(parts)
                })
            }
        }
    }

    fn below(
        &mut self,
        json: &Json,
        step: &str,
        pointer: &mut String,
    ) -> Result<TemplatePart, ParseError> {
        let length = pointer.len();
        pointer.push('/');
        pointer.push_str(&step.replace('~', "~0").replace('/', "~1"));
        let part = self.part(json, pointer)?;
        pointer.truncate(length);
        Ok(part)
    }

    fn key(&mut self, key: &str, pointer: &str) -> Result<KeyPart, ParseError> {
        if syntax::is_template(key) {
            return Ok(KeyPart::Leaf(self.leaf(key, pointer)?));
        }
        Ok(KeyPart::Fixed(key.to_owned()))
    }

    fn leaf(&mut self, text: &str, pointer: &str) -> Result<Leaf, ParseError> {
        let reading = syntax::read(text, self.missing).map_err(|fault| fault.at(pointer))?;
        self.variables.extend(reading.variables.iter().cloned());
        self.roots.extend(reading.roots.iter().cloned());
        Leaf::compile(text, reading, self.missing).map_err(|fault| fault.at(pointer))
    }
}

impl TemplatePart {
    fn is_fixed(&self) -> bool {
        match self {
            Self::Fixed(_) => true,
            Self::Leaf(_) | Self::List(_) | Self::Map(_) => false,
        }
    }

    fn render(&self, scope: &RenderScope<'_>) -> Result<Json, RenderError> {
        match self {
            Self::Fixed(json) => Ok(json.clone()),
            Self::Leaf(leaf) => leaf.render_or_keep(scope),
            Self::List(parts) => {
                let items = parts.iter().enumerate().map(|(index, part)| {
                    part.render(scope).map_err(|error| error.below(&format!("[{index}]")))
                });
                Ok(Json::Array(items.collect::<Result<_, _>>()?))
            }
            Self::Map(parts) => {
                let mut members = Map::new();
                for (key, part) in parts {
                    let below = |error: RenderError| error.below(key.source());
                    members.insert(
                        key.render(scope).map_err(below)?,
                        part.render(scope).map_err(below)?,
                    );
                }
                Ok(Json::Object(members))
            }
        }
    }
}

impl KeyPart {
    /// The key as written.
    fn source(&self) -> &str {
        match self {
            Self::Fixed(key) => key,
            Self::Leaf(leaf) => &leaf.source,
        }
    }

    fn render(&self, scope: &RenderScope<'_>) -> Result<String, RenderError> {
        match self {
            Self::Fixed(key) => Ok(key.clone()),
            Self::Leaf(leaf) => Ok(match leaf.render_or_keep(scope)? {
                Json::String(key) => key,
                Json::Null => String::new(),
                other => other.to_string(),
            }),
        }
    }
}

/// The variables of one rendering.
struct RenderScope<'t> {
    values: BTreeMap<&'t str, Arc<Json>>,
    /// The variables as a value of the template engine, created on first use.
    context: OnceCell<Value>,
    /// The budget that is charged for the work, if several templates share one.
    budget: Option<&'t Budget>,
    /// The variables whose templates are kept, if any are, with the statements that define each.
    withheld: Option<&'t BTreeMap<String, String>>,
}

impl RenderScope<'_> {
    fn context(&self) -> Value {
        let make = || {
            let values = self.values.iter().map(|(name, value)| (*name, from_variable(value)));
            let budget = self.budget.map(|it| (BUDGET, Value::from_object(it.clone())));
            Value::from_pairs(values.chain(budget))
        };
        self.context.get_or_init(make).clone()
    }

    fn spend(&self, units: u64) {
        if let Some(budget) = self.budget {
            budget.spend(units);
        }
    }

    /// Charges for copying a value.
    fn spend_copy(&self, json: &Json) {
        if let Some(budget) = self.budget {
            budget.spend_copy(json);
        }
    }

    /// Returns the value at a path.
    fn find(&self, path: &Path) -> Option<Cow<'_, Json>> {
        let mut json = &**self.values.get(path.root.as_str())?;
        let mut steps = path.steps.iter();
        while let Some(step) = steps.next() {
            json = match (json, step) {
                (Json::Object(members), PathStep::Name(key)) => members.get(key)?,
                (Json::Array(items), PathStep::Index(index)) => items.get(*index)?,
                (Json::Object(_), PathStep::Index(index)) => loop_results(json)?.get(*index)?,
                // An index into a string gives a string of one character.
                (Json::String(text), PathStep::Index(index)) => {
                    let letter = text.chars().nth(*index)?.to_string();
                    let stays = steps.all(|step| matches!(step, PathStep::Index(0)));
                    return stays.then_some(Cow::Owned(Json::String(letter)));
                }
                _ => return None,
            };
        }
        Some(Cow::Borrowed(json))
    }
}

impl Leaf {
    fn compile(
        source: &str,
        reading: ParsedTemplate,
        missing: MissingValues,
    ) -> Result<Self, SyntaxFault> {
        let fault = |error: Error| SyntaxFault { message: detail(&error), range: None };
        let roots = reading.roots;
        let code = match reading.shape {
            TemplateShape::Path(path) => CompiledLeaf::Path(path),
            TemplateShape::Expression(text) => {
                CompiledLeaf::Expression(ENVIRONMENT.compile_expression_owned(text).map_err(fault)?)
            }
            TemplateShape::Text(text) => {
                let mut environment = ENVIRONMENT.clone();
                environment.add_template_owned(NAME, text).map_err(fault)?;
                CompiledLeaf::Text(Box::new(environment))
            }
        };
        Ok(Self { source: source.to_owned(), code, roots, missing })
    }

    /// Renders the template, or returns its source if it refers to a withheld variable.
    fn render_or_keep(&self, scope: &RenderScope<'_>) -> Result<Json, RenderError> {
        let Some(withheld) = scope.withheld else { return self.render(scope) };
        let kept: Vec<&str> =
            self.roots.iter().filter_map(|name| withheld.get(name).map(String::as_str)).collect();
        if kept.is_empty() {
            return self.render(scope).map(syntax::quoted);
        }
        Ok(Json::String(kept.concat() + &self.source))
    }

    fn render(&self, scope: &RenderScope<'_>) -> Result<Json, RenderError> {
        match &self.code {
            CompiledLeaf::Path(path) => {
                let found = self.value_at(path, scope)?.unwrap_or(Cow::Owned(Json::Null));
                scope.spend_copy(&found);
                Ok(found.into_owned())
            }
            CompiledLeaf::Expression(expression) => {
                self.spend_source(scope);
                let value = expression.eval(scope.context()).and_then(|it| to_json(&it));
                let json = value.map_err(|error| self.error(&error))?;
                scope.spend_copy(&json);
                Ok(json)
            }
            CompiledLeaf::Text(environment) => Ok(Json::String(self.text(environment, scope)?)),
        }
    }

    /// Returns the value at a path; fails if it is missing and must not be.
    fn value_at<'s>(
        &self,
        path: &Path,
        scope: &'s RenderScope<'_>,
    ) -> Result<Option<Cow<'s, Json>>, RenderError> {
        match (scope.find(path), self.missing) {
            (None, MissingValues::Fail) => Err(self.error(&missing_value(&path.to_string()))),
            (found, MissingValues::Empty | MissingValues::Fail) => Ok(found),
        }
    }

    /// Charges for the instructions of an expression: it has no loop, so they are fewer than its
    /// bytes.
    fn spend_source(&self, scope: &RenderScope<'_>) {
        scope.spend(u64::try_from(self.source.len()).unwrap_or(u64::MAX));
    }

    fn holds(&self, scope: &RenderScope<'_>) -> Result<bool, RenderError> {
        match &self.code {
            CompiledLeaf::Path(path) => {
                Ok(self.value_at(path, scope)?.is_some_and(|it| is_true(&it)))
            }
            CompiledLeaf::Expression(expression) => {
                self.spend_source(scope);
                let value = expression.eval(scope.context()).map_err(|it| self.error(&it))?;
                Ok(match value.kind() {
                    ValueKind::String => value.as_str().is_some_and(is_true_text),
                    _ => value.is_true(),
                })
            }
            CompiledLeaf::Text(environment) => Ok(is_true_text(&self.text(environment, scope)?)),
        }
    }

    fn text(
        &self,
        environment: &Environment<'static>,
        scope: &RenderScope<'_>,
    ) -> Result<String, RenderError> {
        let mut page = BoundedBuffer::default();
        let mut run = || {
            let template = environment.get_template(NAME)?;
            let rendered = template.render_captured_to(scope.context(), &mut page)?;
            scope.spend(uncharged(rendered.state()));
            Ok(())
        };
        let result: Result<(), Error> = run();
        if result.as_ref().is_err_and(|error| error.kind() == ErrorKind::OutOfFuel) {
            scope.spend(FUEL_MAX * INSTRUCTION_WORK);
        }
        match result {
            _ if page.is_full => Err(self.error(&text_too_long())),
            Err(error) => Err(self.error(&error)),
            Ok(()) => Ok(String::from_utf8_lossy(&page.text).into_owned()),
        }
    }

    /// Returns an error with the cause and the source of the template.
    fn error(&self, error: &Error) -> RenderError {
        const SHOWN_MAX: usize = 120;
        let source = self.source.trim();
        let mut shown = source.floor_char_boundary(SHOWN_MAX);
        shown = source[..shown].find('\n').unwrap_or(shown);
        let more = if shown < source.len() { "…" } else { "" };
        let message = format!("{} in `{}{more}`", detail(error), &source[..shown]);
        RenderError { message, path: String::new() }
    }
}

/// Returns minijinja's description of an error, without its heading.
fn detail(error: &Error) -> String {
    match (error.kind(), error.detail()) {
        (ErrorKind::OutOfFuel, _) => "template takes too many steps".to_owned(),
        (_, Some(detail)) => detail.to_owned(),
        (kind, None) => kind.to_string(),
    }
}

/// A buffer for rendered text, up to [`TEXT_MAX`] bytes.
#[derive(Default)]
struct BoundedBuffer {
    text: Vec<u8>,
    is_full: bool,
}

impl io::Write for &mut BoundedBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.text.len() + bytes.len() > TEXT_MAX {
            self.is_full = true;
            return Err(io::Error::other("the text is too long"));
        }
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// True if a value counts as true: not null, zero or empty, and no word such as `false` or `no`.
pub(crate) fn is_true(json: &Json) -> bool {
    match json {
        Json::Null => false,
        Json::Bool(it) => *it,
        Json::Number(it) => it.as_f64() != Some(0.0),
        Json::String(it) => is_true_text(it),
        Json::Array(it) => !it.is_empty(),
        Json::Object(it) => !it.is_empty(),
    }
}

fn is_true_text(text: &str) -> bool {
    const FALSE: &[&str] = &["", "false", "0", "no", "none", "null", "off", "{}", "[]"];
    !FALSE.contains(&text.trim().to_lowercase().as_str())
}
