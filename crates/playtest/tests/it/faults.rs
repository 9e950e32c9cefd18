//! The faults of tests that fail, and the problems of files that cannot be read.

use expect_test::{Expect, expect, expect_file};
use noetl_playtest::PlaybookLibrary;

use crate::files::{playbook, printed, run, test_file, workflow};

const STEPS: &str = "
  - step: start
    tool: {kind: http, url: 'http://x/{{ workload.id }}'}
    next:
      arcs:
        - {step: good, when: '{{ output.ok }}'}
        - {step: bad}
  - step: good
    tool: {kind: noop, result: {total: '{{ start.total }}', tags: [a, b]}}
  - step: bad
    tool: {kind: noop, result: bad}
  - step: ask
    tool: {kind: approval, title: Go on}
  - step: loop
    loop: {in: [1, 2], iterator: it}
    tool: [{name: one, kind: http, url: 'http://y'}, {name: two, kind: noop}]
";

/// Checks the faults of one test.
#[track_caller]
fn check(test: &str, expected: Expect) {
    let (playbook, library) = (workflow(STEPS), PlaybookLibrary::new());
    let outcomes = run(&playbook, &library, &format!("tests:\n  - name: t\n{test}"));
    expected.assert_eq(&outcomes.iter().map(printed).collect::<String>());
}

/// Checks the problems of a file.
#[track_caller]
fn check_file(file: &str, expected: Expect) {
    expected.assert_eq(&problems(file));
}

fn problems(file: &str) -> String {
    let (playbook, library) = (workflow(STEPS), PlaybookLibrary::new());
    test_file(&playbook, &library, file).expect_err("the file has problems")
}

#[test]
fn a_call_without_a_mock_ends_the_test() {
    check(
        "    workload: {id: 7}\n",
        expect![[r#"
        step `start` calls `http`, which has no mock
          + {"url":"http://x/7"}
          help: add `mocks: {start: {output: …}}`, or set `allow_unmocked: true`
    "#]],
    );
    check(
        "    mocks: {start: {attempt: 2, output: 1}}\n",
        expect![[r#"
        step `start` calls `http`, which has no matching mock
          + {"url":"http://x/"}
          help: add `mocks: {start: {output: …}}`, or set `allow_unmocked: true`
    "#]],
    );
    check("    allow_unmocked: true\n    expect: {output: bad}\n", expect![]);
}

#[test]
fn values_that_a_schedule_or_a_message_adds_need_no_declaration() {
    let yaml = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: t}\ninputs: {city: {type: string}}\n\
        workflow:\n  - {step: start, tool: {kind: noop, result: '{{ schedule.name }} {{ message.id }}'}}\n";
    let (playbook, library) = (playbook(yaml), PlaybookLibrary::new());
    let check = |workload: &str, expect: &str| {
        let test = format!("tests:\n  - {{name: t, workload: {workload}, expect: {expect}}}\n");
        let outcomes = run(&playbook, &library, &test);
        assert_eq!(outcomes.iter().map(printed).collect::<String>(), "", "{workload}");
    };
    check("{schedule: {name: nightly}}", "{output: 'nightly '}");
    check("{message: {id: 7}, source: nats, idempotency_key: a, city: Quito}", "{output: ' 7'}");
    check("{source: nats}", "{status: refused}");
    check("{other: 1}", "{status: refused}");
}

#[test]
fn every_difference_is_named() {
    check(
        "    mocks: {start: {output: {ok: true, total: 5}}}
    expect:
      status: failed
      output: {total: 6, tags: [a]}
      output_includes: {total: 5}
      executed: [start, bad]
      skipped: [bad]
      order: [good, start]
      outputs: {good: 1}
      context: {x: 1}
      duration: 5s
      calls:
        - {step: start, with: {url: 'http://x/1'}}
        - {step: good, times: 2}
        - {step: bad}
",
        expect![[r#"
            the status differs
              - failed
              + completed
            the output differs
                output.total
              - 6
              + 5
                output.tags[1]
              + "b"
            the executed steps differ
              - bad
              + good
            the skipped steps differ
              - bad
            the steps have another order
              - good, start
              + start, good
            no call of step `start` is as expected
                with.url
              - "http://x/1"
              + "http://x/"
            step `good` has another number of such calls
              - 2
              + 1
            step `bad` has no such call
            the output of step `good` differs
                good
              - 1
              + {"total":5,"tags":["a","b"]}
            `ctx.x` differs
                ctx.x
              - 1
              + null
            the duration differs
              - 5s
              + 0ns
        "#]],
    );
}

#[test]
fn an_unexpected_failure_is_shown_with_its_error() {
    check(
        "    mocks: {start: {error: {kind: timeout, message: slow}}}\n",
        expect![[r#"
        the status differs
          - completed
          + failed
          + timeout in start: slow
    "#]],
    );
    check(
        "    mocks: {start: {error: no}}
    expect: {error: {kind: timeout, message: slow, step: good}}
",
        expect![[r#"
            the error differs
                error.kind
              - timeout
              + exception
                error.message
              - slow
              + no
                error.step
              - good
              + start
        "#]],
    );
    check(
        "    mocks: {start: {rhai: 'nothing'}}\n",
        expect![[r#"
        the `rhai` mock of step `start` fails: Variable not found: nothing (line 1, position 1)
    "#]],
    );
}

#[test]
fn unknown_names_have_a_place_and_a_suggestion() {
    let file = "tests:
  - name: t
    mokcs: {}
    mocks:
      strat: {output: 1}
      ask: {output: 1}
      good: {item: 0, output: 1}
      loop: [{task: oen, output: 1}, {output: 1, rhai: x}, {delay: soon, output: 1}, {}]
      start: {error: {kind: timout}}
    decisions: [{step: good, verdict: approve}]
    signals: [{name: 'a b'}]
    children: {x/y: {}}
    now: today
    expect:
      status: done
      executed: [gut]
      error: {kind: rate_limt}
      calls: [{with: {}}]
";
    expect_file!["unknown_names.txt"].assert_eq(&problems(file));
}

#[test]
fn a_file_needs_tests_with_names_of_their_own() {
    check_file(
        "",
        expect![[r#"
        error[missing-key]: the document is empty
         --> t.test.yaml:1:1
        1 |
          | ^
    "#]],
    );
    check_file(
        "tests: []\n",
        expect![[r#"
        error[missing-key]: `tests` has no test
         --> t.test.yaml:1:8
        1 | tests: []
          |        ^^
    "#]],
    );
    check_file(
        "tests: {}\n",
        expect![[r#"
        error[wrong-type]: `tests` must be a list of tests, this is a map
         --> t.test.yaml:1:8
        1 | tests: {}
          |        ^^
    "#]],
    );
    check_file(
        "tests: [{name: a}, {name: a}, {expect: 5}]\n",
        expect![[r#"
        error[duplicate-key]: two tests have the name `a`
         --> t.test.yaml:1:20
        1 | tests: [{name: a}, {name: a}, {expect: 5}]
          |                    ^^^^^^^^^
        error[missing-key]: a test needs `name`
         --> t.test.yaml:1:31
        1 | tests: [{name: a}, {name: a}, {expect: 5}]
          |                               ^^^^^^^^^^^
        error[wrong-type]: `expect` must be a map, this is a number
         --> t.test.yaml:1:40
        1 | tests: [{name: a}, {name: a}, {expect: 5}]
          |                                        ^
    "#]],
    );
}

#[test]
fn an_execution_that_waits_for_ever_names_its_waits() {
    let steps = "
  - step: start
    tool: {kind: noop}
    next: {spec: {mode: inclusive}, arcs: [{step: ask}, {step: pay}]}
  - step: ask
    tool: {kind: approval, title: Go on, approvers: [ada]}
  - step: pay
    tool: {kind: wait, signal: paid}
";
    let (playbook, library) = (workflow(steps), PlaybookLibrary::new());
    let file = "tests:
  - name: nobody decides
  - name: the wrong person decides
    decisions: [{step: ask, verdict: approved, actor: bob}]
";
    let faults: String = run(&playbook, &library, file).iter().map(printed).collect();
    expect![[r#"
        the execution does not end: step `ask` waits for a decision about `Go on`, step `pay` waits for the signal `paid`
          help: add `decisions` to the test
        the decision about step `ask` is refused: bob may not decide; approvers are ada
    "#]].assert_eq(&faults);
}

#[test]
fn a_mocked_output_fits_the_schema_of_its_task() {
    let typed = workflow(
        "  - {step: start, tool: {kind: python, code: x, output_schema: {properties: {n: integer}, additionalProperties: false}}}\n",
    );
    let library = PlaybookLibrary::new();
    let file = |output: &str| {
        let text = format!("tests: [{{name: t, mocks: {{start: {{output: {output}}}}}}}]");
        test_file(&typed, &library, &text)
    };
    assert!(file("{n: 1}").is_ok());
    let refused = file("{n: many, m: 2}").expect_err("two problems");
    assert!(
        refused.contains("the output does not fit `output_schema`: `output.n` must be"),
        "{refused}"
    );
    assert!(refused.contains("`output` has no field `m`"), "{refused}");
}
