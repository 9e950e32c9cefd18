//! Tests of `noetl test`.

use std::process::Command;

use expect_test::expect;
use serde_json::Value;

use crate::sandbox::Sandbox;

const PLAYBOOK: &str = r#"apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: order, path: shop/order}
workload: {customer: Ada}
workflow:
  - step: start
    tool: {kind: shell, command: "echo {{ workload.customer }}"}
    next:
      arcs:
        - {step: ship, when: "{{ output.exit_code == 0 }}"}
        - {step: stop}
  - step: ship
    tool: {kind: noop, result: "to {{ workload.customer }}"}
  - step: stop
    tool: {kind: noop, result: stopped}
"#;

const TESTS: &str = r"tests:
  - name: ships
    mocks: {start: {output: {exit_code: 0}}}
    expect: {output: to Ada, executed: [start, ship]}
  - name: stops
    mocks: {start: {output: {exit_code: 0}}}
    expect: {output: stopped}
  - name: forgets its mock
";

fn sandbox() -> Sandbox {
    Sandbox::new().with("shop/order.yaml", PLAYBOOK).with("shop/order.test.yaml", TESTS)
}

/// Replaces the time that the tests took.
fn without_time(text: &str) -> String {
    let lines = text.lines().map(|line| match line.split_once(" in ") {
        Some((counts, took)) if took.ends_with(" s") => format!("{counts} in TIME\n"),
        Some(_) | None => format!("{line}\n"),
    });
    lines.collect()
}

#[test]
fn failed_tests_are_shown_with_their_difference() {
    let ended = sandbox().noetl(&["test", "--jobs", "2"]);
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    expect![[r#"
        failed shop/order.test.yaml (2 of 3 tests)
          stops shop/order.test.yaml:5
            the output differs
                output
              - "stopped"
              + "to Ada"
            steps: start, ship
          forgets its mock shop/order.test.yaml:8
            step `start` calls `shell`, which has no mock
              + {"command":"echo Ada"}
             help: add `mocks: {start: {output: …}}`, or set `allow_unmocked: true`
            steps: start
        1 passed, 2 failed in TIME
    "#]]
    .assert_eq(&without_time(&ended.stdout));
}

#[test]
fn a_filter_chooses_tests_and_coverage_names_what_they_miss() {
    let ended = sandbox().noetl(&["test", "shop/order.yaml", "--filter", "ships", "--coverage"]);
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    expect![[r#"
        ok shop/order.test.yaml (1 test)
        coverage
          shop/order  steps 2/3  arcs 1/2  guards 1/2
            step `stop` never runs
            arc `start` → `stop` is never taken
            guard of `start` → `ship` always holds: {{ output.exit_code == 0 }}
        1 passed in TIME
    "#]]
    .assert_eq(&without_time(&ended.stdout));
    let none = sandbox().noetl(&["test", "--filter", "sinks"]);
    assert_eq!(none.code, Some(2));
    assert!(none.stderr.contains("no test has `sinks` in its name"), "{}", none.stderr);
}

#[test]
fn programs_read_json_and_junit() {
    let sandbox = sandbox();
    let document = sandbox.json(&["test", "--format", "json", "--coverage"]);
    assert_eq!(document["passed"], 1);
    assert_eq!(document["failed"], 2);
    assert_eq!(document["files"][0]["tests"][1]["faults"][0]["message"], "the output differs");
    assert_eq!(document["coverage"][0]["steps_missed"][0], "stop");
    let xml = sandbox.noetl(&["test", "--format", "junit"]).stdout;
    assert!(
        xml.contains("<testsuites name=\"noetl test\" tests=\"3\" failures=\"2\" errors=\"0\""),
        "{xml}"
    );
    assert!(xml.contains("<failure message=\"the output differs\">"), "{xml}");
    assert!(xml.contains("- &quot;stopped&quot;"), "{xml}");
}

#[test]
fn a_file_that_is_not_valid_does_not_hide_the_others() {
    let sandbox = sandbox()
        .with("shop/wrong.yaml", PLAYBOOK)
        .with("shop/wrong.test.yaml", "tests: [{name: a, mocks: {strat: {output: 1}}}]\n")
        .with("lonely.test.yaml", "tests: [{name: a}]\n");
    let ended = sandbox.noetl(&["test", "--filter", "ships"]);
    assert_eq!(ended.code, Some(2));
    expect![[r#"
        invalid lonely.test.yaml
            lonely.test.yaml: there is no playbook lonely.yaml
        ok shop/order.test.yaml (1 test)
        invalid shop/wrong.test.yaml
            error[unknown-step]: playbook `shop/order` has no step `strat`
             --> shop/wrong.test.yaml:1:27
            1 | tests: [{name: a, mocks: {strat: {output: 1}}}]
              |                           ^^^^^
              = help: did you mean `start`?
        1 passed, 2 files not valid in TIME
    "#]]
    .assert_eq(&without_time(&ended.stdout));
}

#[test]
fn validate_checks_test_files() {
    let sandbox = sandbox()
        .with("shop/wrong.yaml", PLAYBOOK)
        .with("shop/wrong.test.yaml", "tests: [{name: a, mock: {}}]\n");
    let files = ["validate", "shop/order.yaml", "shop/order.test.yaml", "shop/wrong.test.yaml"];
    let ended = sandbox.noetl(&files);
    assert_eq!(ended.code, Some(2));
    assert!(
        ended.stdout.starts_with("ok shop/order.yaml\nok shop/order.test.yaml\n"),
        "{}",
        ended.stdout
    );
    assert!(ended.stdout.contains("did you mean `mocks`?"), "{}", ended.stdout);
}

#[test]
fn test_files_are_not_registered() {
    let sandbox = sandbox();
    let ended = sandbox.noetl(&["register", "shop"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(ended.stdout.lines().count(), 1, "{}", ended.stdout);
}

#[test]
fn a_real_execution_becomes_a_test_and_a_history_to_compare_with() {
    let sandbox = Sandbox::new().with("order.yaml", PLAYBOOK);
    let run = sandbox.noetl(&["run", "order.yaml", "--set", "customer=Grace"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let recorded = sandbox.noetl(&["test", "record", "last", "--name", "a real one"]);
    assert_eq!(recorded.code, Some(0), "{}{}", recorded.stdout, recorded.stderr);
    assert_eq!(recorded.stdout, "ok wrote order.test.yaml, the test passes\n");
    let test = std::fs::read_to_string(sandbox.path("order.test.yaml")).expect("a test file");
    assert!(test.contains("customer: Grace"), "{test}");
    let again = sandbox.noetl(&["test", "record", "last"]);
    assert_eq!(again.code, Some(2));
    assert!(again.stderr.contains("order.test.yaml exists"), "{}", again.stderr);
    let tested = sandbox.noetl(&["test"]);
    assert_eq!(tested.code, Some(0), "{}", tested.stdout);

    let same = sandbox.noetl(&["test", "replay", "last"]);
    assert_eq!(same.code, Some(0), "{}{}", same.stdout, same.stderr);
    assert!(same.stdout.contains("events are the same"), "{}", same.stdout);
    let changed = PLAYBOOK.replace("exit_code == 0", "exit_code == 1");
    let sandbox = sandbox.with("changed.yaml", &changed);
    let differs = sandbox.noetl(&["test", "replay", "last", "--playbook", "changed.yaml"]);
    assert_eq!(differs.code, Some(1), "{}", differs.stderr);
    assert!(differs.stdout.contains("(step `ship`) differs"), "{}", differs.stdout);
    assert!(differs.stdout.contains("+ \"stop\""), "{}", differs.stdout);

    let events = sandbox.noetl(&["executions", "events", "last", "--output", "jsonl"]);
    let sandbox = sandbox.with("histories/1.jsonl", &events.stdout);
    let args = ["test", "replay", "histories", "--playbook", "order.yaml"];
    let same = sandbox.noetl(&args);
    assert_eq!(same.code, Some(0), "{}{}", same.stdout, same.stderr);
}

#[test]
fn a_recorded_test_has_no_secret_that_the_execution_echoed() {
    let playbook = r#"apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: leaky}
workload: {api_key: "", customer: Ada}
inputs:
  door_code: {type: string, secret: true}
workflow:
  - step: start
    tool:
      kind: shell
      command: |
        echo "{\"headers\": {\"X-Auth\": \"hdr-31337-z\"}, \"said\": \"{{ workload.api_key }} {{ door_code }}\"}"
    next: {arcs: [{step: fail}]}
  - step: fail
    tool:
      kind: python
      code: raise ValueError("refused {{ workload.api_key }} hdr-31337-z {{ door_code }} for {{ workload.customer }}")
"#;
    let sandbox = Sandbox::new().with("leaky.yaml", playbook);
    let values = ["--set", "api_key=KEY-99887766", "--set", "door_code=DOOR-4242xyz"];
    let run = sandbox.noetl(&[&["run", "leaky.yaml"], &values[..]].concat());
    assert_eq!(run.code, Some(1), "{}{}", run.stdout, run.stderr);
    let recorded = sandbox.noetl(&["test", "record", "last"]);
    let test = std::fs::read_to_string(sandbox.path("leaky.test.yaml")).expect("a test file");
    let all = format!("{test}{}{}", recorded.stdout, recorded.stderr);
    for secret in ["KEY-99887766", "DOOR-4242xyz", "hdr-31337-z", "noetl:sealed"] {
        assert!(!all.contains(secret), "{secret} in {all}");
    }
    assert!(test.contains("refused masked masked") && test.contains("for Ada"), "{test}");
    assert_eq!(recorded.code, Some(0), "{}{}", recorded.stdout, recorded.stderr);
}

#[test]
fn a_history_that_cannot_be_read_is_a_failure_of_its_own() {
    let sandbox = Sandbox::new().with("order.yaml", PLAYBOOK);
    sandbox.noetl(&["run", "order.yaml"]);
    let events = sandbox.noetl(&["executions", "events", "last", "--output", "jsonl"]).stdout;
    let (start, _) = events.split_once('\n').expect("several events");
    let without_start = events.replacen(start, "", 1);
    let sandbox = sandbox
        .with("histories/1.jsonl", "no event")
        .with("histories/2.jsonl", &events)
        .with("histories/3.jsonl", &without_start);
    let args = ["test", "replay", "histories", "--playbook", "order.yaml"];
    let ended = sandbox.noetl(&args);
    assert_eq!(ended.code, Some(2), "{}{}", ended.stdout, ended.stderr);
    let lines: Vec<&str> = ended.stdout.lines().filter(|it| !it.starts_with(' ')).collect();
    assert_eq!(lines.len(), 3, "{}", ended.stdout);
    assert!(
        lines[0].starts_with("failed histories/1.jsonl: histories/1.jsonl, line 1"),
        "{lines:?}"
    );
    assert!(lines[1].starts_with("ok histories/2.jsonl: all"), "{lines:?}");
    assert!(lines[2].contains("does not begin with `execution.started`"), "{lines:?}");
}

#[test]
fn the_junit_report_is_xml_with_every_failed_invalid_and_skipped_test() {
    let odd = "tests:\n  - name: \"<odd> & ]]>\"\n    mocks: {start: {error: \"a\\nb \\a ]]>\"}}\n";
    let sandbox = sandbox()
        .with("shop/odd.yaml", PLAYBOOK)
        .with("shop/odd.test.yaml", odd)
        .with("lonely.test.yaml", "tests: [{name: a}]\n");
    let report = sandbox.noetl(&["test", "--format", "junit", "--filter", "o"]).stdout;
    std::fs::write(sandbox.path("report.xml"), report).expect("a file");
    let counted = Command::new("python3")
        .args([
            "-c",
            "import xml.etree.ElementTree as tree\n\
             root = tree.parse('report.xml').getroot()\n\
             for it in [root, *root]:\n\
             \x20   print(*(it.attrib[key] for key in ('tests', 'failures', 'errors', 'skipped')))\n\
             kinds = [child.tag for suite in root for case in suite for child in case]\n\
             print(*sorted(kinds))",
        ])
        .current_dir(sandbox.path(""))
        .output()
        .expect("python runs");
    let text = String::from_utf8_lossy(&counted.stdout);
    expect![[r"
        5 3 1 0
        1 0 1 0
        1 1 0 0
        3 2 0 0
        error failure failure failure
    "]]
    .assert_eq(&text);
    let report = sandbox.noetl(&["test", "--format", "junit", "--filter", "ships"]).stdout;
    assert!(report.contains("errors=\"1\" skipped=\"3\""), "{report}");
    assert!(report.contains("<skipped message=\"left out by --filter\"/>"), "{report}");
}

#[test]
fn a_report_is_the_same_with_one_thread_and_with_many() {
    let examples = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let examples = examples.to_str().expect("a path of text");
    let report = |jobs: &str| {
        let args = ["test", examples, "--jobs", jobs, "--format", "json", "--coverage"];
        let ended = Sandbox::new().noetl(&args);
        let mut report: Value = serde_json::from_str(&ended.stdout).expect("a report");
        report["seconds"] = Value::Null;
        let files = report["files"].as_array_mut().expect("files").iter_mut();
        let tests = files.flat_map(|file| file["tests"].as_array_mut().expect("tests"));
        tests.for_each(|test| test["seconds"] = Value::Null);
        report
    };
    let alone = report("1");
    assert!(alone["passed"].as_u64() > Some(50), "{}", alone["passed"]);
    for _ in 0..3 {
        assert_eq!(report("16"), alone);
    }
}

#[test]
fn a_saved_history_has_the_values_that_are_stored_apart() {
    let playbook = r#"apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: large}
workflow:
  - step: start
    tool: {kind: python, code: "result = {'text': 'x' * 200000, 'n': 7}"}
    next: {arcs: [{step: good, when: "{{ output.text | length == 200000 }}"}]}
  - step: good
    tool: {kind: noop, result: "{{ start.n }}"}
"#;
    let sandbox = Sandbox::new().with("large.yaml", playbook);
    let run = sandbox.noetl(&["run", "large.yaml"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let saved = sandbox.noetl(&["test", "save", "last", "--directory", "histories"]);
    assert_eq!(saved.code, Some(0), "{}", saved.stderr);
    let file = saved.stdout.trim();
    let text = std::fs::read_to_string(sandbox.path(file)).expect("a history");
    assert!(text.contains("{\"digest\":"), "a value is stored apart");
    let args = ["test", "replay", "histories", "--playbook", "large.yaml"];
    let same = sandbox.noetl(&args);
    assert_eq!(same.code, Some(0), "{}{}", same.stdout, same.stderr);
    assert!(same.stdout.contains("events are the same"), "{}", same.stdout);
}
