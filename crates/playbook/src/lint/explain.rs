//! The documentation of every rule: its usual severity, the reason for it, and an example.

use crate::diagnostic::{DiagnosticCode, Severity};

/// The documentation of a rule.
#[derive(Debug, Clone, Copy)]
pub struct RuleDoc {
    pub code: DiagnosticCode,
    /// The severity of most findings of the rule.
    pub severity: Severity,
    pub why: &'static str,
    /// A part of a document that breaks the rule.
    pub instead_of: &'static str,
    /// The same part as it should be.
    pub write: &'static str,
}

impl RuleDoc {
    /// Returns the documentation of a code.
    pub fn find(code: &str) -> Option<&'static RuleDoc> {
        RULES.iter().find(|rule| rule.code.as_str() == code)
    }
}

const fn rule(
    code: DiagnosticCode,
    severity: Severity,
    why: &'static str,
    instead_of: &'static str,
    write: &'static str,
) -> RuleDoc {
    RuleDoc { code, severity, why, instead_of, write }
}

/// All rules, in the order of their codes.
#[rustfmt::skip]
pub const RULES: &[RuleDoc] = &[
    rule(
        DiagnosticCode::ApiVersion, Severity::Error,
        "`apiVersion` says which version of the language the document is written in. `noetl.io/v2` is the only one; `noetl.io/v10` is read as it, with a warning.",
        "apiVersion: noetl.io/v3", "apiVersion: noetl.io/v2",
    ),
    rule(
        DiagnosticCode::BadCharacter, Severity::Error,
        "Control characters do not belong in a document; most come from copying out of a terminal or a word processor.",
        "name: a\\u0007b", "name: ab",
    ),
    rule(
        DiagnosticCode::BadKey, Severity::Error,
        "A key of a map is a word. Most often a value that begins with `{{` is not in quotes, so that YAML reads it as a map.",
        "result: {{ x }}", "result: \"{{ x }}\"",
    ),
    rule(
        DiagnosticCode::BadCode, Severity::Error,
        "The code of a tool is compiled, but not run: Python with the configured interpreter (`tools.python`), rhai by the built-in interpreter, shell commands with `sh -n`. Code with statements of a template (`{% … %}`) is not checked, because it is known only when it is rendered.",
        "code: |\n  result = {\"a\": 1", "code: |\n  result = {\"a\": 1}",
    ),
    rule(
        DiagnosticCode::BadLoop, Severity::Error,
        "A loop runs over a list, a map, a whole number of at least 0 or a text; a boolean or a fraction has no items. It is a warning if the items are probably not the ones that were meant: an empty list, one text, a path without braces, the fields of a whole output.",
        "loop: {in: -1, iterator: i}", "loop: {in: 3, iterator: i}",
    ),
    rule(
        DiagnosticCode::BadSql, Severity::Warning,
        "Statements of `postgres`, `sqlite` and `duckdb` tools that read or change rows are parsed in the dialect of their database. A template stands for any part of a statement that may be in its place. A database reads more than the parser knows, so a finding is a warning.",
        "query: SELECT id FORM orders WHERE id = $1", "query: SELECT id FROM orders WHERE id = $1",
    ),
    rule(
        DiagnosticCode::BadTemplate, Severity::Error,
        "A template or condition cannot be parsed, or names a filter, test or function that does not exist.",
        "when: \"{{ output.x = 1 }}\"", "when: \"{{ output.x == 1 }}\"",
    ),
    rule(
        DiagnosticCode::BadValue, Severity::Error,
        "The value is of the right type, but its place cannot use it.",
        "cron: \"61 * * * *\"", "cron: \"1 * * * *\"",
    ),
    rule(
        DiagnosticCode::ByteOrderMark, Severity::Error,
        "A document is UTF-8 without a byte order mark.",
        "(EF BB BF) apiVersion: …", "apiVersion: …",
    ),
    rule(
        DiagnosticCode::ConstantComparison, Severity::Warning,
        "Both sides are fixed, or one side can never have the value of the other: a word that `event.name`, `output.status` or an error's `kind` does not have, a choice or type that a declared input does not have, a number outside of its limits, a type that the default of the workload does not have.",
        "when: \"{{ event.name == 'step.faild' }}\"", "when: \"{{ event.name == 'step.failed' }}\"",
    ),
    rule(
        DiagnosticCode::Contradiction, Severity::Warning,
        "Two settings exclude each other, and only one of them is used.",
        "tool: {kind: shell, command: a, cmds: [b]}", "tool: {kind: shell, cmds: [a, b]}",
    ),
    rule(
        DiagnosticCode::CustomTag, Severity::Error,
        "Tags of other programs, such as `!secret`, mean nothing in a playbook.",
        "token: !secret api", "token: \"{{ keychain.api.token }}\"",
    ),
    rule(
        DiagnosticCode::DuplicateKey, Severity::Error,
        "A map has the same key twice; only one value could be used.",
        "tool: {kind: noop, kind: http}", "tool: {kind: http}",
    ),
    rule(
        DiagnosticCode::DuplicateLabel, Severity::Error,
        "Tasks of a step are read by their labels, so each has its own.",
        "tool: [{name: a, kind: noop}, {name: a, kind: noop}]", "tool: [{name: a, kind: noop}, {name: b, kind: noop}]",
    ),
    rule(
        DiagnosticCode::DuplicateStep, Severity::Error,
        "Arcs and templates name steps, so each has its own name.",
        "- {step: a, …}\n- {step: a, …}", "- {step: a, …}\n- {step: b, …}",
    ),
    rule(
        DiagnosticCode::FilterArguments, Severity::Error,
        "A filter fails when it is called with a number of arguments that it does not take, with an argument that it does not know by this name, or with a literal of another type.",
        "{{ name | replace('a') }}", "{{ name | replace('a', 'b') }}",
    ),
    rule(
        DiagnosticCode::ForeignSource, Severity::Warning,
        "Messages of this source are not pulled by `noetl`; another program has to deliver them.",
        "source: {kind: kafka}", "source: {kind: nats}",
    ),
    rule(
        DiagnosticCode::ForeignTool, Severity::Warning,
        "The tool belongs to the language, but no worker of `noetl` has it. It is an error if every execution reaches the step.",
        "tool: {kind: snowflake}", "executor: {requires: [snowflake]}",
    ),
    rule(
        DiagnosticCode::IgnoredKey, Severity::Warning,
        "The key is known from older playbooks and has no effect. Remove it.",
        "sink: {…}", "(nothing)",
    ),
    rule(
        DiagnosticCode::MissingKey, Severity::Error,
        "A required key is absent.",
        "loop: {in: [1, 2]}", "loop: {in: [1, 2], iterator: item}",
    ),
    rule(
        DiagnosticCode::MissingTool, Severity::Error,
        "A step has a tool to run or arcs to follow.",
        "- {step: a}", "- {step: a, tool: {kind: noop}}",
    ),
    rule(
        DiagnosticCode::NeverEntered, Severity::Warning,
        "Every arc to the step has a guard that is never true, or comes after an arc that always matches.",
        "next: {arcs: [{step: a, when: false}]}", "next: {arcs: [{step: a}]}",
    ),
    rule(
        DiagnosticCode::NotAPlaybook, Severity::Error,
        "The document is of another kind, or not a document of `noetl` at all.",
        "kind: Playbok", "kind: Playbook",
    ),
    rule(
        DiagnosticCode::NotUtf8, Severity::Error,
        "Documents are UTF-8 text.",
        "(bytes of Latin-1)", "(UTF-8)",
    ),
    rule(
        DiagnosticCode::OldSpelling, Severity::Warning,
        "Understood as before, but there is a current spelling. `noetl lint --fix` replaces the key where that changes nothing else.",
        "tool: {kind: python, args: {a: 1}, code: …}", "tool: {kind: python, input: {a: 1}, code: …}",
    ),
    rule(
        DiagnosticCode::OutOfRange, Severity::Error,
        "The number is outside of its limits.",
        "timeout: 0", "timeout: 30s",
    ),
    rule(
        DiagnosticCode::PlainSecret, Severity::Warning,
        "Everyone who can read the document, its versions in the catalog or the repository can read the secret. The rule looks at keys such as `password` and `token`, and at texts with the form of well-known keys.",
        "api_key: 0f8fad5bd9cb", "api_key: \"{{ keychain.partner.api_key }}\"",
    ),
    rule(
        DiagnosticCode::RemovedKey, Severity::Error,
        "A key of older versions that cannot be translated.",
        "case: […]", "next: {arcs: [{step: …, when: …}]}",
    ),
    rule(
        DiagnosticCode::SeveralDocuments, Severity::Error,
        "A file holds one document; a second one would be ignored.",
        "…\n---\n…", "(two files)",
    ),
    rule(
        DiagnosticCode::SharedVariable, Severity::Error,
        "In a parallel loop, a rule that sets a name without a prefix writes one variable of the whole execution from all items at once.",
        "set: {failed: true}", "set: {iter.failed: true}",
    ),
    rule(
        DiagnosticCode::ShellTemplate, Severity::Warning,
        "A value with spaces, quotes or `;` changes the meaning of the command, and a value from outside can run any program. The filter `shell_quote` makes it one word.",
        "command: \"grep {{ workload.word }} file\"", "command: \"grep {{ workload.word | shell_quote }} file\"",
    ),
    rule(
        DiagnosticCode::Syntax, Severity::Error,
        "The document is not YAML.",
        "a: b: c", "a: \"b: c\"",
    ),
    rule(
        DiagnosticCode::TooDeep, Severity::Error,
        "Lists and maps are nested more than 64 levels deep.",
        "[[[[ … ]]]]", "(less nesting)",
    ),
    rule(
        DiagnosticCode::TooLarge, Severity::Error,
        "The document, or what its aliases make of it, exceeds a limit.",
        "(a document of 4 MiB)", "(large data in a file or a table)",
    ),
    rule(
        DiagnosticCode::Unchecked, Severity::Warning,
        "The checks have limits, so that a document of any size is checked in bounded time: 20,000 templates, 1,000 parts of code, the order of 2,000 steps, 64 KiB of SQL in one place and 8 MiB of SQL to parse in all. What is beyond a limit is not checked.",
        "query: (a script of 100 KiB)", "script: seed.sql",
    ),
    rule(
        DiagnosticCode::UnknownField, Severity::Error,
        "The entry of the playbook's own `keychain` has no such field.",
        "{{ keychain.api.tokn }}", "{{ keychain.api.token }}",
    ),
    rule(
        DiagnosticCode::UnknownKey, Severity::Warning,
        "The key is ignored. It is often misspelt.",
        "tol: {kind: noop}", "tool: {kind: noop}",
    ),
    rule(
        DiagnosticCode::UnknownLabel, Severity::Error,
        "A rule jumps to a task that its step does not have.",
        "then: {do: jump, to: ftech}", "then: {do: jump, to: fetch}",
    ),
    rule(
        DiagnosticCode::UnknownName, Severity::Warning,
        "Nothing defines the name at this place, so that the template renders nothing. It is an error if it is certain: a step, label or field that does not exist, or an unknown name in a playbook whose `inputs` list everything that a start may give. It is a warning if a start could give the value. A name that some template handles with `default`, `is defined` or `or` is optional and not reported.",
        "{{ workload.ctiy }}", "{{ workload.city }}",
    ),
    rule(
        DiagnosticCode::UnknownRule, Severity::Warning,
        "The comment suppresses nothing, because no rule has this code.",
        "# noetl: ignore[unkown-name]", "# noetl: ignore[unknown-name]",
    ),
    rule(
        DiagnosticCode::UnknownStep, Severity::Error,
        "An arc or setting names a step that does not exist.",
        "next: [edn]", "next: [end]",
    ),
    rule(
        DiagnosticCode::UnknownTask, Severity::Error,
        "The workbook has no task of this name.",
        "tool: {kind: workbook, name: add_tx}", "tool: {kind: workbook, name: add_tax}",
    ),
    rule(
        DiagnosticCode::UnknownTool, Severity::Error,
        "There is no tool of this kind.",
        "tool: {kind: pyhton}", "tool: {kind: python}",
    ),
    rule(
        DiagnosticCode::UnknownWord, Severity::Error,
        "Only a few words are allowed here.",
        "spec: {mode: paralel}", "spec: {mode: parallel}",
    ),
    rule(
        DiagnosticCode::UnreachableArc, Severity::Warning,
        "An arc or rule after one that always matches is never used.",
        "arcs: [{step: a}, {step: b, when: …}]", "arcs: [{step: b, when: …}, {step: a}]",
    ),
    rule(
        DiagnosticCode::UnreachableStep, Severity::Warning,
        "No chain of arcs leads to the step from the entry step.",
        "- {step: lost, tool: {kind: noop}}", "(an arc to it, or no such step)",
    ),
    rule(
        DiagnosticCode::WrongType, Severity::Error,
        "A list, map, text or number stands where another is needed.",
        "workflow: {start: {…}}", "workflow: [{step: start, …}]",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_is_documented() {
        let documented: Vec<DiagnosticCode> = RULES.iter().map(|rule| rule.code).collect();
        assert_eq!(documented, DiagnosticCode::ALL);
    }

    #[test]
    fn the_page_about_rules_names_every_rule() {
        let page = include_str!("../../../../docs/lint.md");
        for rule in RULES {
            let row = format!("| `{}` |", rule.code);
            assert!(page.contains(&row), "docs/lint.md lacks {row}");
        }
    }
}
