//! The shape of the value at a place of a document: which keys it may have and which words it may
//! be, from the tables of the language.

use std::sync::LazyLock;

use noetl_model::{ErrorKind, ToolKind};

use super::outline::{Container, Outline, PathPart};
use crate::words::inputs::INPUT;
use crate::words::tools::{Form, ToolKeys, settings_of};
use crate::words::{
    ADMIT_RULE, ALLOW, ARC, KeyStatus, KeyTable, KeyType, LanguageKey, NEXT, POLICY, RETRY, ROOT,
    RULE, TABLES, THEN, TOOL, notification, schedule, subscription, test_file, tool_kinds,
};

/// The shape of a value.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shape {
    Table(&'static KeyTable),
    /// A list of such maps.
    TablesIn(&'static KeyTable),
    /// A map from names of the author to such maps.
    TablesByName(&'static KeyTable),
    /// A tool, whose settings depend on its kind.
    Tool,
    ToolOrList,
    /// An item of a list of tools: a tool, or a label with a tool.
    LabelledTool,
    Settings(&'static ToolKeys),
    Next,
    /// An item of a list under `next`: the name of a step, or an arc.
    NextItem,
    PolicyOrRules,
    /// `else`: a map with `then`, or what follows itself.
    Else(&'static KeyTable),
    Admit,
    /// One such map, or a list of them.
    TableOrTables(&'static KeyTable),
    /// A map from steps to mocks.
    MocksByStep,
    /// A map from paths of playbooks to mocks by step.
    MocksByPath,
    /// A map from steps to any values.
    ValuesByStep,
    StepNames,
    Words(&'static [&'static str]),
    Truth,
    ToolKindName,
    StepName,
    /// The name of something that is stored outside of the document.
    Outside(OutsideName),
    /// Anything: the language has nothing to offer.
    Free,
}

/// A thing that a document names and that is stored on a server or in a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutsideName {
    /// A credential, by its name.
    Credential,
    /// A registered playbook, by its path.
    Playbook,
}

/// A key that fits into a map.
#[derive(Debug, Clone, Copy)]
pub(super) struct OfferedKey {
    pub(super) name: &'static str,
    pub(super) about: Option<&'static str>,
    /// True if the value begins on the next line, because it is a map or a list.
    pub(super) opens: bool,
    pub(super) is_required: bool,
}

/// The kinds of errors.
static ERROR_KINDS: LazyLock<Vec<&'static str>> =
    LazyLock::new(|| ErrorKind::ALL.iter().map(|kind| kind.as_str()).collect());

const TRUTHS: &[&str] = &["true", "false"];

/// Tables of schedules and subscriptions, by the table and the key that lead to them.
const BELOW: &[(&str, &str, &KeyTable)] = &[
    ("notification", "spec", notification::SPEC),
    ("notification_spec", "match", notification::MATCH),
    ("schedule", "spec", schedule::SPEC),
    ("schedule_spec", "dispatch", schedule::DISPATCH),
    ("subscription", "spec", subscription::SPEC),
    ("subscription_spec", "runtime", subscription::RUNTIME),
    ("subscription_spec", "ingress", subscription::INGRESS),
    ("subscription_ingress", "verify", subscription::VERIFY),
    ("subscription_spec", "dispatch", subscription::DISPATCH),
    ("subscription_spec", "headers", subscription::HEADERS),
    ("subscription_spec", "dedup", subscription::DEDUP),
    ("subscription_spec", "limits", subscription::LIMITS),
    ("subscription_spec", "spool", subscription::SPOOL),
];

/// The form of a document that is edited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EditedForm {
    /// A document with a `kind`.
    Document,
    Test,
}

/// Returns the shape of the value that a path leads to.
pub(super) fn shape_at(form: EditedForm, outline: &Outline, path: &[PathPart]) -> Shape {
    let kind = outline.containers.first().and_then(|root| root.value("kind"));
    let root = match kind {
        _ if form == EditedForm::Test => test_file::ROOT,
        Some(kind) if kind.eq_ignore_ascii_case("notification") => notification::ROOT,
        Some(kind) if kind.eq_ignore_ascii_case("schedule") => schedule::ROOT,
        Some(kind) if kind.eq_ignore_ascii_case("subscription") => subscription::ROOT,
        Some(_) | None => ROOT,
    };
    let mut shape = Shape::Table(root);
    for PathPart { container, key } in path {
        shape = shape.below(key.as_deref(), &outline.containers[*container]);
    }
    shape
}

/// Returns the kind of the tool that a map describes.
fn tool_settings(map: Option<&Container>) -> Option<&'static ToolKeys> {
    let kind: ToolKind = map?.value("kind")?.parse().ok()?;
    settings_of(kind)
}

impl Shape {
    /// Returns the shape of the value of a key, or of an item of a list.
    pub(super) fn below(self, key: Option<&str>, container: &Container) -> Self {
        match (self, key) {
            (Self::Table(table), Some(key)) => of_key(table, key),
            (Self::TablesIn(table), None) | (Self::TablesByName(table), Some(_)) => {
                Self::Table(table)
            }
            (Self::Tool | Self::ToolOrList, Some(key)) => of_tool_key(container, key),
            (Self::TableOrTables(table), Some(key)) => of_key(table, key),
            (Self::TableOrTables(table), None) => Self::Table(table),
            (Self::MocksByStep, Some(_)) => Self::TableOrTables(test_file::MOCK),
            (Self::MocksByPath, Some(_)) => Self::MocksByStep,
            (Self::StepNames, None) => Self::StepName,
            (Self::ToolOrList, None) => Self::LabelledTool,
            (Self::LabelledTool, Some(key)) => {
                let is_tool = container.value("kind").is_some() || TOOL.word(key).is_some();
                if is_tool { of_tool_key(container, key) } else { Self::Tool }
            }
            (Self::Settings(settings), Some(key)) => {
                settings.setting(key).map_or(Self::Free, |it| of_form(it.form))
            }
            (Self::Next, Some(key)) => {
                of_key(if NEXT.word(key).is_some() { NEXT } else { ARC }, key)
            }
            (Self::Next, None) => Self::NextItem,
            (Self::NextItem, Some(key)) => of_key(ARC, key),
            (Self::PolicyOrRules, Some(key)) => of_key(POLICY, key),
            (Self::PolicyOrRules, None) => Self::Table(RULE),
            (Self::Else(then), Some("then")) => Self::Table(then),
            (Self::Else(then), Some(key)) => of_key(then, key),
            (Self::Admit, Some("rules")) => Self::TablesIn(ADMIT_RULE),
            (Self::Admit, None) => Self::Table(ADMIT_RULE),
            (
                Self::Table(_)
                | Self::TablesIn(_)
                | Self::TablesByName(_)
                | Self::Tool
                | Self::LabelledTool
                | Self::Settings(_)
                | Self::NextItem
                | Self::Else(_)
                | Self::Admit
                | Self::MocksByStep
                | Self::MocksByPath
                | Self::ValuesByStep
                | Self::StepNames
                | Self::Words(_)
                | Self::Truth
                | Self::ToolKindName
                | Self::StepName
                | Self::Outside(_)
                | Self::Free,
                _,
            ) => Self::Free,
        }
    }

    /// Returns the keys of a map of this shape; `map` has the keys that it has already.
    pub(super) fn keys(self, map: Option<&Container>) -> Vec<OfferedKey> {
        match self {
            Self::Table(table) | Self::TableOrTables(table) => keys_of(table),
            Self::Tool | Self::ToolOrList | Self::LabelledTool => {
                let settings = tool_settings(map);
                let mut keys = settings.map(settings_keys).unwrap_or_default();
                for key in keys_of(TOOL) {
                    match keys.iter_mut().find(|it| it.name == key.name) {
                        Some(known) => known.about = key.about,
                        None => keys.push(key),
                    }
                }
                keys
            }
            Self::Settings(settings) => settings_keys(settings),
            Self::Next => keys_of(NEXT),
            Self::NextItem => keys_of(ARC),
            Self::PolicyOrRules => keys_of(POLICY),
            Self::Else(_) => {
                vec![OfferedKey { name: "then", about: None, opens: true, is_required: true }]
            }
            Self::Admit => {
                vec![OfferedKey { name: "rules", about: None, opens: true, is_required: true }]
            }
            Self::TablesIn(_)
            | Self::TablesByName(_)
            | Self::MocksByStep
            | Self::MocksByPath
            | Self::ValuesByStep
            | Self::StepNames
            | Self::Words(_)
            | Self::Truth
            | Self::ToolKindName
            | Self::StepName
            | Self::Outside(_)
            | Self::Free => Vec::new(),
        }
    }

    /// Returns the words that a scalar of this shape may be.
    pub(super) fn words(self) -> Vec<&'static str> {
        match self {
            Self::Words(words) => words.to_vec(),
            Self::Truth => TRUTHS.to_vec(),
            Self::ToolKindName => tool_kinds(),
            Self::Table(_)
            | Self::TablesIn(_)
            | Self::TablesByName(_)
            | Self::Tool
            | Self::ToolOrList
            | Self::LabelledTool
            | Self::Settings(_)
            | Self::Next
            | Self::NextItem
            | Self::PolicyOrRules
            | Self::Else(_)
            | Self::Admit
            | Self::TableOrTables(_)
            | Self::MocksByStep
            | Self::MocksByPath
            | Self::ValuesByStep
            | Self::StepNames
            | Self::StepName
            | Self::Outside(_)
            | Self::Free => Vec::new(),
        }
    }

    /// Returns the kind of thing outside of the document that a scalar of this shape names.
    pub(super) fn outside_name(self) -> Option<OutsideName> {
        match self {
            Self::Outside(name) => Some(name),
            Self::Table(_)
            | Self::TablesIn(_)
            | Self::TablesByName(_)
            | Self::Tool
            | Self::ToolOrList
            | Self::LabelledTool
            | Self::Settings(_)
            | Self::Next
            | Self::NextItem
            | Self::PolicyOrRules
            | Self::Else(_)
            | Self::Admit
            | Self::TableOrTables(_)
            | Self::MocksByStep
            | Self::MocksByPath
            | Self::ValuesByStep
            | Self::StepNames
            | Self::Words(_)
            | Self::Truth
            | Self::ToolKindName
            | Self::StepName
            | Self::Free => None,
        }
    }

    /// True if a scalar of this shape is the name of a step.
    pub(super) fn is_step_name(self) -> bool {
        matches!(self, Self::StepName | Self::Next | Self::NextItem)
    }

    /// True if the keys of a map of this shape are names of steps.
    pub(super) fn has_steps_as_keys(self) -> bool {
        matches!(self, Self::MocksByStep | Self::ValuesByStep)
    }

    /// True if a map of this shape describes a tool.
    pub(super) fn is_tool(self) -> bool {
        matches!(self, Self::Tool | Self::ToolOrList | Self::LabelledTool)
    }
}

fn keys_of(table: &'static KeyTable) -> Vec<OfferedKey> {
    let current = table.words.iter().filter(|word| word.status == KeyStatus::Current);
    let offered = |word: &'static LanguageKey| OfferedKey {
        name: word.name,
        about: Some(word.about),
        opens: opens(word.shape),
        is_required: table.required.contains(&word.name),
    };
    current.map(offered).collect()
}

fn settings_keys(settings: &'static ToolKeys) -> Vec<OfferedKey> {
    let needed = |name: &str| settings.needs.iter().any(|group| group.contains(&name));
    let offered = |key: &'static crate::words::tools::ToolKey| OfferedKey {
        name: key.name,
        about: None,
        opens: matches!(key.form, Form::Map | Form::Texts | Form::Nested(_) | Form::ListOrMap),
        is_required: needed(key.name),
    };
    settings.all().map(offered).collect()
}

fn opens(shape: KeyType) -> bool {
    match shape {
        KeyType::FreeMap
        | KeyType::Assignments
        | KeyType::Table(_)
        | KeyType::ListOf(_)
        | KeyType::Special(_) => true,
        KeyType::Any
        | KeyType::Text
        | KeyType::Truth
        | KeyType::Condition
        | KeyType::Integer
        | KeyType::Number
        | KeyType::Duration
        | KeyType::OneOf(_)
        | KeyType::Tool => false,
    }
}

fn table_named(name: &str) -> Option<&'static KeyTable> {
    TABLES.iter().chain(test_file::TABLES).copied().find(|table| table.name == name)
}

fn of_key(table: &'static KeyTable, key: &str) -> Shape {
    let below = BELOW.iter().find(|(above, name, _)| *above == table.name && *name == key);
    if let Some((_, _, table)) = below {
        return Shape::Table(table);
    }
    let Some(word) = table.word(key) else { return Shape::Free };
    match word.shape {
        KeyType::Table(name) => table_named(name).map_or(Shape::Free, Shape::Table),
        KeyType::ListOf(name) => table_named(name).map_or(Shape::Free, Shape::TablesIn),
        KeyType::OneOf(words) => Shape::Words(words),
        KeyType::Tool => Shape::ToolKindName,
        KeyType::Truth => Shape::Truth,
        KeyType::Special(name) => of_special(name),
        KeyType::Text if names_a_step(table, key) => Shape::StepName,
        KeyType::Any | KeyType::Text if outside_name(table, key).is_some() => {
            outside_name(table, key).map_or(Shape::Free, Shape::Outside)
        }
        KeyType::Any
        | KeyType::Text
        | KeyType::Condition
        | KeyType::Integer
        | KeyType::Number
        | KeyType::Duration
        | KeyType::FreeMap
        | KeyType::Assignments => Shape::Free,
    }
}

fn names_a_step(table: &KeyTable, key: &str) -> bool {
    [
        ("arc", "step"),
        ("executor-spec", "entry_step"),
        ("executor-spec", "final_step"),
        ("test_decision", "step"),
        ("test_call", "step"),
        ("test_expected_error", "step"),
    ]
    .contains(&(table.name, key))
}

/// Returns the kind of thing outside of the document that a key names.
fn outside_name(table: &KeyTable, key: &str) -> Option<OutsideName> {
    let credentials = [
        ("tool", "auth"),
        ("cursor", "auth"),
        ("subscription_spec", "auth"),
        ("subscription_verify", "secret"),
        ("subscription_spool", "credential"),
        ("notification-http", "credential"),
        ("notification-mail", "credential"),
        ("notification-slack", "credential"),
    ];
    let playbooks = [("schedule_dispatch", "playbook"), ("subscription_dispatch", "playbook")];
    let place = (table.name, key);
    let is_credential = credentials.contains(&place);
    let credential = is_credential.then_some(OutsideName::Credential);
    credential.or(playbooks.contains(&place).then_some(OutsideName::Playbook))
}

/// Returns the shape of a value with several forms, by its name in the schema.
fn of_special(name: &str) -> Shape {
    match name {
        "tool-or-list" => Shape::ToolOrList,
        "next" => Shape::Next,
        "policy-or-rules" => Shape::PolicyOrRules,
        "rules" => Shape::TablesIn(RULE),
        "else" => Shape::Else(THEN),
        "admit" => Shape::Admit,
        "admit-else" => Shape::Else(ALLOW),
        "retry-or-count" => Shape::Table(RETRY),
        "workbook" => Shape::ToolOrList,
        "inputs" => Shape::TablesByName(INPUT),
        "input-or-type" => Shape::Table(INPUT),
        "notification-targets" => Shape::TableOrTables(notification::TARGET),
        "test-mocks" => Shape::MocksByStep,
        "test-children" => Shape::MocksByPath,
        "test-outputs" => Shape::ValuesByStep,
        "test-steps" => Shape::StepNames,
        "test-error-or-text" => Shape::Table(test_file::ERROR),
        "test-expected-error-or-text" => Shape::Table(test_file::EXPECTED_ERROR),
        "test-error-kind" => Shape::Words(&ERROR_KINDS),
        _ => Shape::Free,
    }
}

fn of_tool_key(container: &Container, key: &str) -> Shape {
    match (container.value("kind"), key) {
        (Some("playbook"), "path") => return Shape::Outside(OutsideName::Playbook),
        (_, "credential") => return Shape::Outside(OutsideName::Credential),
        (_, _) => {}
    }
    let setting = tool_settings(Some(container)).and_then(|it| it.setting(key));
    match setting.map(|it| of_form(it.form)) {
        None | Some(Shape::Free) => of_key(TOOL, key),
        Some(shape) => shape,
    }
}

fn of_form(form: Form) -> Shape {
    match form {
        Form::Truth => Shape::Truth,
        Form::Word(words) | Form::WordOrTruth(words) => Shape::Words(words),
        Form::Nested(settings) => Shape::Settings(settings),
        Form::Any
        | Form::Text
        | Form::Whole(_)
        | Form::Duration(_)
        | Form::Time
        | Form::Map
        | Form::DecisionSchema
        | Form::Texts
        | Form::TextOrMap
        | Form::TextOrList
        | Form::TextListOrMap
        | Form::ListOrMap => Shape::Free,
    }
}
