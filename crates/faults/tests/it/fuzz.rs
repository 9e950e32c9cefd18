//! Fuzzing of what comes from outside: documents, templates, conditions, stored events, cron.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use noetl_engine::{begin, evolve};
use noetl_expr::{Condition, Template, VariableSource};
use noetl_faults::fuzz;
use noetl_model::{ExecutionId, Recorded, Seq};
use noetl_playbook::Cron;
use serde_json::{Value, json};

/// Returns the contents of all files of a directory of the repository.
fn corpus(directory: &str, extension: &str) -> Vec<Vec<u8>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(directory);
    let entries = fs::read_dir(directory).expect("the directory is there").flatten();
    let mut files: Vec<_> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|it| it == extension))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no corpus");
    files.iter().map(|path| fs::read(path).expect("it is ours")).collect()
}

#[test]
fn mutated_documents_are_read_or_refused() {
    let count = fuzz(&corpus("examples", "yaml"), |source| {
        let problems = match noetl_playbook::parse("f.yaml", source) {
            Ok(checked) => checked.warnings,
            Err(problems) => problems,
        };
        for found in problems.diagnostics() {
            assert!(found.line > 0 && found.column > 0, "a finding has a place");
        }
        if let Ok(text) = std::str::from_utf8(source)
            && let Ok(formatted) = noetl_playbook::format_document("f.yaml", text)
        {
            let again = noetl_playbook::format_document("f.yaml", &formatted);
            assert_eq!(again.as_ref().ok(), Some(&formatted), "formatting twice changes nothing");
        }
    });
    println!("{count} documents");
}

/// Variables of templates.
struct Variables(BTreeMap<&'static str, Arc<Value>>);

impl VariableSource for Variables {
    fn get(&self, name: &str) -> Option<Arc<Value>> {
        self.0.get(name).cloned()
    }
}

fn variables() -> Variables {
    let values = [
        ("a", json!({ "b": [1, 2, { "c": "text" }], "keys": 1 })),
        ("items", json!([3, 1, 2])),
        ("text", json!("é{{ a }}\u{202e}")),
        ("n", json!(7)),
    ];
    Variables(values.into_iter().map(|(name, value)| (name, Arc::new(value))).collect())
}

#[test]
fn mutated_templates_and_conditions_end_within_their_limits() {
    let seeds = [
        "{{ a.b[2].c | upper }} and {{ items | sort | join(',') }}",
        "{% for i in items %}{{ loop.index }}:{{ i * n }}{% if i > 2 %}!{% endif %}{% endfor %}",
        "{{ (items | map('string') | list) ~ text[1:3] ~ n ** 2 // 3 }}",
        "{% set x = {'k': [n]} %}{{ x.k[0] == 7 and 'y' or 'z' }}",
        "{{ text | replace('é', 'e' * n) | length }}",
        "{% macro m(x) %}{{ x }}{{ m(x) }}{% endmacro %}{{ m(1) }}",
        "{{ a | tojson }} {{ missing | default('d') }} {{ items | batch(2) | list }}",
    ];
    let seeds: Vec<Vec<u8>> = seeds.iter().map(|seed| seed.as_bytes().to_vec()).collect();
    let variables = variables();
    let count = fuzz(&seeds, |bytes| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        if let Ok(template) = Template::parse(Value::from(text.clone())) {
            let (first, second) = (template.render(&variables), template.render(&variables));
            assert_eq!(first.ok(), second.ok(), "a template renders the same twice");
        }
        if let Ok(condition) = Condition::parse(Value::from(text)) {
            let (first, second) = (condition.holds(&variables), condition.holds(&variables));
            assert_eq!(first.ok(), second.ok(), "a condition holds the same twice");
        }
    });
    println!("{count} templates");
}

#[test]
fn mutated_events_are_refused_or_folded_and_never_a_panic() {
    let golden = corpus("crates/model/tests/golden", "json");
    let first: Recorded = golden
        .iter()
        .filter_map(|text| serde_json::from_slice::<Recorded>(text).ok())
        .find(|recorded| begin(ExecutionId(1), recorded).is_ok())
        .or_else(|| {
            let starts = golden.iter().filter_map(|text| serde_json::from_slice(text).ok());
            starts
                .map(|recorded: Recorded| Recorded { seq: Seq(1), ..recorded })
                .find(|recorded| begin(ExecutionId(1), recorded).is_ok())
        })
        .expect("an event starts an execution");
    let mut folded = 0_u64;
    let count = fuzz(&golden, |bytes| {
        let Ok(mut recorded) = serde_json::from_slice::<Recorded>(bytes) else { return };
        let stored = serde_json::to_vec(&recorded).expect("an event can be stored");
        let again: Recorded = serde_json::from_slice(&stored).expect("a stored event is read");
        assert_eq!(again, recorded);
        let mut state = begin(ExecutionId(1), &first).expect("it was just begun");
        recorded.seq = Seq(2);
        folded += u64::from(evolve(&mut state, &recorded).is_ok());
    });
    println!("{count} events, {folded} of them folded");
}

#[test]
fn mutated_cron_expressions_are_refused_or_kept_as_written() {
    let seeds =
        ["*/5 * * * *", "0 9 * * MON-FRI", "15,45 0-6/2 1 JAN,JUL *", "@daily", "0 0 29 2 *"];
    let seeds: Vec<Vec<u8>> = seeds.iter().map(|seed| seed.as_bytes().to_vec()).collect();
    let count = fuzz(&seeds, |bytes| {
        let text = String::from_utf8_lossy(bytes);
        if let Ok(cron) = Cron::parse(&text) {
            assert_eq!(
                Cron::parse(cron.as_str()).map(|it| it.as_str().to_owned()).ok().as_deref(),
                Some(cron.as_str())
            );
        }
    });
    println!("{count} cron expressions");
}
