//! The findings of `noetl lint` for other programs: JSON, SARIF, annotations of GitHub Actions.

use noetl_playbook::{Diagnostic, Problems, RULES, Severity};
use serde_json::{Value, json};

use crate::show::output::pretty;

/// Returns all findings with the name of their file.
fn all(found: &[Problems]) -> impl Iterator<Item = (&str, &Diagnostic)> {
    found.iter().flat_map(|it| it.diagnostics().iter().map(move |found| (it.file(), found)))
}

/// Returns one list of findings.
pub(super) fn json(found: &[Problems]) -> String {
    let finding = |(file, it): (&str, &Diagnostic)| {
        json!({
            "file": file,
            "line": it.line,
            "column": it.column,
            "code": it.code,
            "severity": it.severity,
            "message": it.message,
            "help": it.help,
            "fixable": it.fix.is_some(),
        })
    };
    pretty(&Value::Array(all(found).map(finding).collect()))
}

/// Returns a log in SARIF 2.1.0.
pub(super) fn sarif(found: &[Problems]) -> String {
    let level = |severity: Severity| match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let rules = RULES.iter().map(|rule| {
        json!({
            "id": rule.code.as_str(),
            "shortDescription": { "text": rule.code.about() },
            "help": { "text": rule.why },
            "defaultConfiguration": { "level": level(rule.severity) },
        })
    });
    let result = |(file, it): (&str, &Diagnostic)| {
        let text = match &it.help {
            Some(help) => format!("{}; {help}", it.message),
            None => it.message.clone(),
        };
        json!({
            "ruleId": it.code.as_str(),
            "level": level(it.severity),
            "message": { "text": text },
            "locations": [{ "physicalLocation": {
                "artifactLocation": { "uri": file.trim_start_matches("./") },
                "region": { "startLine": it.line, "startColumn": it.column },
            }}],
        })
    };
    pretty(&json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "noetl",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules.collect::<Vec<_>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "results": all(found).map(result).collect::<Vec<_>>(),
        }],
    }))
}

/// Returns one workflow command per finding.
pub(super) fn github(found: &[Problems]) -> String {
    let text = |text: &str| text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    let property = |value: &str| text(value).replace(':', "%3A").replace(',', "%2C");
    let line = |(file, it): (&str, &Diagnostic)| {
        let level = match it.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let message = match &it.help {
            Some(help) => format!("{}\n{help}", it.message),
            None => it.message.clone(),
        };
        format!(
            "::{level} file={},line={},col={},title={}::{}\n",
            property(file),
            it.line,
            it.column,
            it.code,
            text(&message)
        )
    };
    all(found).map(line).collect()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use noetl_playbook::LintedDocument;
    use serde_json::Value;

    use super::*;

    fn found() -> Vec<Problems> {
        let text = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: t}\nworkflow:\n  \
                    - {step: a, tool: {kind: noop, args: {x: '{{ steps.b }}'}}}\n";
        vec![LintedDocument::new("./a,b.yaml", text.as_bytes()).finish()]
    }

    #[test]
    fn annotations_are_escaped() {
        expect![[r#"
            ::warning file=./a%2Cb.yaml,line=5,col=34,title=old-spelling::`args` is an old spelling%0Awrite `input`
            ::error file=./a%2Cb.yaml,line=5,col=48,title=unknown-name::there is no step `b`
        "#]]
        .assert_eq(&github(&found()));
    }

    #[test]
    fn every_finding_is_in_json_and_in_sarif() {
        let list: Value = serde_json::from_str(&json(&found())).unwrap();
        assert_eq!(list[0]["fixable"], true);
        assert_eq!(list[1]["code"], "unknown-name");
        let log: Value = serde_json::from_str(&sarif(&found())).unwrap();
        let run = &log["runs"][0];
        assert_eq!(run["tool"]["driver"]["rules"].as_array().unwrap().len(), RULES.len());
        assert_eq!(run["results"][1]["ruleId"], "unknown-name");
        let region = &run["results"][1]["locations"][0]["physicalLocation"]["region"];
        assert_eq!(region["startLine"], 5);
    }
}
