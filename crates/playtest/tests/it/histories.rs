//! Recorded histories: replayed against a playbook, and written as tests.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use expect_test::{Expect, expect};
use noetl_model::{ExecutionId, Recorded, Seq};
use noetl_playbook::{Playbook, document_value};
use noetl_playtest::{
    PlaybookLibrary, RecordedPlaybook, RecordedTest, StoredValues, TestOutcome, record_test,
    replay_history, run_test,
};
use serde_json::{Value, json};

use crate::examples::examples;
use crate::files::{playbook, printed, run, test_file, workflow};

/// Calls a function with every example, its library and the outcome of each of its tests.
fn with_examples(mut see: impl FnMut(&Path, &Playbook, &PlaybookLibrary, &TestOutcome)) {
    let read = |file: &Path| std::fs::read_to_string(file).expect("a readable file");
    let files = examples();
    let library: PlaybookLibrary = files
        .iter()
        .map(|file| playbook(&read(file)))
        .map(|playbook| (playbook.metadata.path.clone(), playbook))
        .collect();
    for file in &files {
        let playbook = playbook(&read(file));
        for outcome in run(&playbook, &library, &read(&file.with_extension("test.yaml"))) {
            // A refused start has no history.
            if !outcome.log.is_empty() {
                see(file, &playbook, &library, &outcome);
            }
        }
    }
}

/// Returns a playbook without its document.
fn unread<'a>(playbook: &'a Playbook, file: Option<&'a str>) -> RecordedPlaybook<'a> {
    RecordedPlaybook { playbook, document: &Value::Null, file }
}

#[test]
fn the_history_of_every_example_is_the_same_when_it_is_replayed() {
    let mut events = 0;
    with_examples(|file, playbook, _, outcome| {
        let replayed = replay_history(playbook, ExecutionId(1), &outcome.log, &StoredValues::new());
        let replayed = replayed.expect("a history that can be replayed");
        assert_eq!(replayed.divergence, None, "{}", file.display());
        events += replayed.events;
    });
    assert!(events > 500, "only {events} events");
}

#[test]
fn a_test_recorded_from_an_example_passes() {
    with_examples(|file, playbook, library, outcome| {
        let values = StoredValues::new();
        let recorded = record_test(unread(playbook, None), &outcome.log, &values, "recorded");
        let RecordedTest { document, is_partial, .. } = recorded.expect("a log with a start");
        assert!(!is_partial, "{}", file.display());
        let text = document.to_string();
        let tests = test_file(playbook, library, &text);
        let tests = tests.unwrap_or_else(|problems| panic!("{}: {problems}", file.display()));
        let again = run_test(playbook, library, &tests.tests[0]);
        assert!(again.has_passed(), "{}\n{text}\n{}", file.display(), printed(&again));
    });
}

const STEPS: &str = "
  - step: start
    tool: {kind: http, url: 'http://x'}
    next:
      arcs:
        - {step: good, when: '{{ output.n > 5 }}'}
        - {step: bad}
  - step: good
    tool: {kind: noop, result: good}
  - step: bad
    tool: {kind: noop, result: bad}
";

/// Checks the first difference of a history when a part of its playbook is replaced.
#[track_caller]
fn check(part: &str, replacement: &str, expected: Expect) {
    let file = "tests: [{name: t, mocks: {start: {output: {n: 7}}}}]";
    let before = workflow(STEPS);
    let outcome = run(&before, &PlaybookLibrary::new(), file).remove(0);
    assert!(STEPS.contains(part));
    let after = workflow(&STEPS.replace(part, replacement));
    let replayed = replay_history(&after, ExecutionId(1), &outcome.log, &StoredValues::new());
    let replayed = replayed.expect("a history that can be replayed");
    let text = match replayed.divergence {
        None => "the same".to_owned(),
        Some(found) => {
            let shown = |event| serde_json::to_string(&event).expect("an event is JSON");
            format!("{}\n{}\n{}\n", found.seq, shown(found.recorded), shown(found.decided))
        }
    };
    expected.assert_eq(&text);
}

#[test]
fn a_change_that_changes_nothing_is_no_difference() {
    check("output.n > 5", "output.n > 6", expect![["the same"]]);
    // Results of tools are those of the history.
    check("http://x", "http://y", expect![["the same"]]);
    check("result: good", "result: better", expect![["the same"]]);
}

#[test]
fn the_first_event_that_differs_is_found() {
    check(
        "output.n > 5",
        "output.n > 7",
        expect![[r#"
        7
        {"type":"step.entered","run":1,"step":"good","from":["start"]}
        {"type":"step.entered","run":1,"step":"bad","from":["start"]}
    "#]],
    );
    check(
        "- step: good\n    tool: {kind: noop, result: good}",
        "- step: good\n    tool: {kind: noop, result: good}\n    next: {arcs: [{step: bad}]}",
        expect![[r#"
            12
            {"type":"execution.completed","output":{"inline":"good"}}
            {"type":"step.entered","run":2,"step":"bad","from":["good"]}
        "#]],
    );
}

#[test]
fn a_recorded_test_names_attempts_items_and_masks_secrets() {
    let steps = "
  - step: start
    tool:
      kind: http
      url: 'http://x'
      spec: {policy: {rules: [{when: \"{{ output.status == 'error' }}\", then: {do: retry, attempts: 2}}]}}
    next: {arcs: [{step: each}]}
  - step: each
    loop: {in: [1, 2], iterator: it}
    tool: [{name: one, kind: http, url: 'http://y'}, {name: two, kind: python, code: x}]
";
    let file = "tests:
  - name: t
    workload: {api_key: abc}
    mocks:
      start: [{attempt: 1, error: {kind: timeout, message: slow}}, {output: {access_token: t, n: 1}}]
      each: [{task: one, item: 0, output: a}, {task: one, output: b}, {task: two, output: c}]
";
    let playbook = workflow(steps);
    let outcome = run(&playbook, &PlaybookLibrary::new(), file).remove(0);
    let values = StoredValues::new();
    let recorded = record_test(unread(&playbook, Some("p.yaml")), &outcome.log, &values, "again");
    let recorded = recorded.expect("a log with a start");
    assert_eq!(recorded.masked, 2);
    let test = &recorded.document["tests"][0];
    let expected = json!({
        "start": [
            { "attempt": 1, "error": { "kind": "timeout", "message": "slow" } },
            { "attempt": 2, "output": { "access_token": "masked", "n": 1 } },
        ],
        "each": [
            { "task": "one", "item": 0, "output": "a" },
            { "task": "one", "item": 1, "output": "b" },
            { "task": "two", "output": "c" },
        ],
    });
    assert_eq!(test["mocks"], expected);
    assert_eq!(recorded.document["playbook"], "p.yaml");
    assert_eq!(test["workload"], json!({ "api_key": "masked" }));
    assert_eq!(test["expect"]["executed"], json!(["each", "start"]));
    assert_eq!(outcome.faults, []);
}

#[test]
fn a_recorded_test_holds_no_secret_of_its_execution() {
    let yaml = "apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: t}
workload: {db_password: pw-default-1}
workflow:
  - step: start
    tool: {kind: http, url: 'http://x', headers: {X-Auth: hdr-4711-x}}
    next: {spec: {mode: exclusive}, arcs: [{step: use, set: {ctx.session_token: '{{ output.t }}'}}]}
  - step: use
    tool: {kind: http, url: 'http://y'}
";
    let file = r#"tests:
  - name: t
    workload: {api_key: key/1234567, pin: '99ab', customer: Ada}
    mocks:
      start:
        output:
          t: ctx-secret-9
          headers: {Set-Cookie: [sid=cookie-55aa77], Authorization: Bearer bearer-123456}
          body: {echo: "got key/1234567", "k-key/1234567": 1, b64: eHh4a2V5LzEyMzQ1Njc=}
          text: '{"password": "json-pw-1"} and 99ab, not x99abx'
          credentials: {user: ada, generated: gen-8877665544}
      use:
        error:
          kind: auth
          code: key/1234567
          message: "key/1234567 bearer-123456 cookie-55aa77 gen-8877665544 pw-default-1 hdr-4711-x ctx-secret-9
            postgres://u:url-pw@h/ key%2F1234567 Authorization: Basic bmV2ZXI6c2Vlbg=="
"#;
    let (playbook, document) = (playbook(yaml), document_value(yaml.as_bytes()));
    let document = document.expect("a document");
    let outcome = run(&playbook, &PlaybookLibrary::new(), file).remove(0);
    let recorded = RecordedPlaybook { playbook: &playbook, document: &document, file: None };
    let recorded = record_test(recorded, &outcome.log, &StoredValues::new(), "again");
    let text = recorded.expect("a log with a start").document.to_string();
    for secret in [
        "key/1234567",
        "key%2F1234567",
        "a2V5LzEyMzQ1N",
        "bearer-123456",
        "cookie-55aa77",
        "gen-8877665544",
        "json-pw-1",
        "\"99ab",
        " 99ab",
        "pw-default-1",
        "hdr-4711-x",
        "ctx-secret-9",
        "url-pw",
        "bmV2ZXI",
    ] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
    for kept in ["Ada", "x99abx", "got masked", "\"kind\":\"auth\""] {
        assert!(text.contains(kept), "{kept} not in {text}");
    }
    let tests = test_file(&playbook, &PlaybookLibrary::new(), &text).expect("a valid test");
    let again = run_test(&playbook, &PlaybookLibrary::new(), &tests.tests[0]);
    assert!(again.has_passed(), "{}\n{text}", printed(&again));
}

/// Reads a history that `noetl executions events --output jsonl` has printed.
fn printed_history(text: &str) -> Vec<Recorded> {
    let events = text.lines().map(|line| {
        let mut line: Value = serde_json::from_str(line).expect("an event per line");
        let fields = line.as_object_mut().expect("a map");
        let mut taken = |key: &str| fields.remove(key).expect("a field of every event");
        let (seq, id, at) = (taken("seq"), taken("event_id"), taken("at"));
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        Recorded {
            seq: Seq(seq.as_u64().expect("a number")),
            event_id: text(&id).parse().expect("an id"),
            at: text(&at).parse().expect("a time"),
            event: serde_json::from_value(line).expect("an event"),
            prev: None,
        }
    });
    events.collect()
}

/// Returns a history as `noetl executions events --output jsonl` prints it.
fn history_text(log: &[Recorded]) -> String {
    let line = |recorded: &Recorded| {
        let mut line = json!({
            "seq": recorded.seq,
            "event_id": recorded.event_id.to_string(),
            "at": recorded.at.to_string(),
        });
        let event = serde_json::to_value(&recorded.event).expect("an event is JSON");
        let Value::Object(event) = event else { panic!("an event is a map") };
        line.as_object_mut().expect("a map").extend(event);
        format!("{line}\n")
    };
    log.iter().map(line).collect()
}

fn histories() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/histories")
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = directory.read_dir().expect("a directory");
    entries.map(|entry| entry.expect("an entry").path()).collect()
}

fn name_of(file: &Path) -> String {
    file.file_name().expect("a name").to_string_lossy().into_owned()
}

/// Replays the histories in `tests/histories`: a directory for each version of noetl, with the
/// playbooks `NAME.yaml` and the histories that the version has written, `NAME.ID.jsonl` of an
/// execution and `NAME.ID.TEST.jsonl` of a test.
#[test]
fn histories_of_every_version_are_the_same_with_this_one() {
    let mut count = 0;
    for file in files(&histories()).iter().flat_map(|version| files(version)) {
        let name = name_of(&file);
        let Some((stem, id)) = name.strip_suffix(".jsonl").and_then(|it| it.split_once('.')) else {
            continue;
        };
        let read = |file: &Path| std::fs::read_to_string(file).expect("a readable file");
        let playbook = playbook(&read(&file.with_file_name(format!("{stem}.yaml"))));
        let log = printed_history(&read(&file));
        let execution = id.split('.').next().unwrap_or(id).parse().expect("the id of an execution");
        let replayed = replay_history(&playbook, execution, &log, &StoredValues::new());
        assert_eq!(replayed.expect("a complete history").divergence, None, "{name}");
        count += 1;
    }
    assert!(count >= 80, "only {count} histories");
}

/// Checks that this version has histories of all tests of the examples; with `UPDATE_EXPECT=1`,
/// those that are missing are written. Existing ones stay as their version has written them.
#[test]
fn every_example_has_histories_of_this_version() {
    let directory = histories().join(env!("CARGO_PKG_VERSION"));
    let is_update = std::env::var_os("UPDATE_EXPECT").is_some();
    if is_update {
        std::fs::create_dir_all(&directory).expect("a writable directory");
    }
    let write = |file: PathBuf, text: &str| match is_update {
        true => std::fs::write(file, text).expect("a writable directory"),
        false => panic!("{} is missing; UPDATE_EXPECT=1 writes it", file.display()),
    };
    let mut numbers: BTreeMap<PathBuf, u32> = BTreeMap::new();
    with_examples(|file, _, _, outcome| {
        let number = numbers.entry(file.to_owned()).or_default();
        *number += 1;
        let kept = directory.join(name_of(file));
        if !kept.is_file() {
            write(kept.clone(), &std::fs::read_to_string(file).expect("a readable file"));
        }
        let history = kept.with_extension(format!("1.{number}.jsonl"));
        if !history.is_file() {
            write(history, &history_text(&outcome.log));
        }
    });
}
