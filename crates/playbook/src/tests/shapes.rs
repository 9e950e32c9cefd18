//! Different spellings of the same playbook are read as the same model.

use expect_test::{Expect, expect};

use super::{document, playbook, show_step};

/// Checks how the first step of a workflow is read. Steps `b` and `c` exist as targets.
#[track_caller]
fn check(step: &str, expected: Expect) {
    let indented: String = step.lines().map(|line| format!("    {line}\n")).collect();
    let workflow = format!(
        "  - step: a\n{indented}  - {{step: b, tool: {{kind: noop}}}}\n  - {{step: c, tool: {{kind: noop}}}}\n"
    );
    let playbook = playbook(&document(&workflow));
    expected.assert_eq(&show_step(&playbook, &playbook.steps[0]));
}

/// Checks how a `next` is read.
#[track_caller]
fn check_next(next: &str, expected: Expect) {
    check(&format!("next: {next}"), expected);
}

#[track_caller]
fn check_loop(repeat: &str, expected: Expect) {
    check(&format!("tool: {{kind: noop}}\nloop: {repeat}"), expected);
}

#[test]
fn a_task_sequence_is_a_list_of_tools() {
    let written = "  - step: start\n    tool: {kind: task_sequence, tasks: [{a: {kind: noop}}, {name: b, kind: noop}]}\n";
    let playbook = crate::parse("t.yaml", document(written).as_bytes()).unwrap().playbook;
    let step = &playbook.steps[0];
    let labels: Vec<&str> = step.tasks.iter().map(|task| task.label.as_str()).collect();
    assert_eq!((labels, step.form), (vec!["a", "b"], crate::BodyForm::Pipeline));
}

#[test]
fn next_is_a_name() {
    check_next(
        "b",
        expect![[r#"
        single a: noop {}
        next Exclusive
          b
    "#]],
    );
}

#[test]
fn next_is_a_list_of_names_and_means_all_of_them() {
    check_next(
        "[b, c]",
        expect![[r#"
        single a: noop {}
        next Inclusive
          b
          c
    "#]],
    );
}

#[test]
fn next_is_a_list_of_one_name() {
    check_next(
        "[b]",
        expect![[r#"
        single a: noop {}
        next Exclusive
          b
    "#]],
    );
}

#[test]
fn next_is_a_single_step() {
    check_next(
        "{step: b, args: {n: 1}}",
        expect![[r#"
            single a: noop {}
            next Exclusive
              b
                set n = 1
        "#]],
    );
}

#[test]
fn next_is_a_list_of_targets_in_order() {
    check_next(
        "[{step: b, when: '{{ x }}', args: {n: '{{ x }}'}}, {step: c}]",
        expect![[r#"
            single a: noop {}
            next Exclusive
              b when "{{ x }}"
                set n = "{{ x }}"
              c
        "#]],
    );
}

#[test]
fn next_is_a_list_of_targets_and_the_step_says_all() {
    check(
        "next: [{step: b, when: '{{ x }}'}, c]\nspec: {next_mode: inclusive}",
        expect![[r#"
        single a: noop {}
        next Inclusive
          b when "{{ x }}"
          c
    "#]],
    );
}

#[test]
fn next_is_a_list_of_cases() {
    check_next(
        "[{when: '{{ x }}', then: b}, {else: [{step: c}]}]",
        expect![[r#"
        single a: noop {}
        next Exclusive
          b when "{{ x }}"
          c
    "#]],
    );
}

#[test]
fn next_is_one_case_with_several_targets() {
    check_next(
        "[{when: '{{ x }}', then: [{step: b}, c]}]",
        expect![[r#"
        single a: noop {}
        next Inclusive
          b when "{{ x }}"
          c when "{{ x }}"
    "#]],
    );
}

#[test]
fn next_is_a_router() {
    check_next(
        "{spec: {mode: inclusive}, arcs: [{step: b, when: true, set: {ctx.n: 1}}, {step: a}]}",
        expect![[r#"
            single a: noop {}
            next Inclusive
              b when true
                set ctx.n = 1
              a
        "#]],
    );
}

#[test]
fn next_is_a_router_without_a_spec() {
    check_next(
        "{arcs: [{step: b, when: '{{ x }}'}, c]}",
        expect![[r#"
        single a: noop {}
        next Exclusive
          b when "{{ x }}"
          c
    "#]],
    );
}

#[test]
fn guards_that_ask_how_the_step_ended() {
    check_next(
        r#"{arcs: [
  {step: b, when: "{{ event.name == 'step.failed' }}"},
  {step: b, when: "{{ output.status == 'error' }}"},
  {step: b, when: "{{ output.error.kind == 'auth' }}"},
  {step: b, when: "{{ a.status == 'error' }}"},
  {step: b, when: "a.error is defined"},
  {step: b, when: "{{ b.status == 'error' }}"},
  {step: b, when: "{{ output.data.status == 'error' }}"},
  {step: b, when: "{{ workload.status }}"},
  {step: c}]}"#,
        expect![[r#"
            single a: noop {}
            next Exclusive
              b when "{{ event.name == 'step.failed' }}" (failure)
              b when "{{ output.status == 'error' }}" (failure)
              b when "{{ output.error.kind == 'auth' }}" (failure)
              b when "{{ a.status == 'error' }}" (failure)
              b when "a.error is defined" (failure)
              b when "{{ b.status == 'error' }}"
              b when "{{ output.data.status == 'error' }}"
              b when "{{ workload.status }}"
              c
        "#]],
    );
}

#[test]
fn a_loop_over_a_template() {
    check_loop(
        "{in: '{{ rows }}', iterator: row, spec: {mode: parallel, max_in_flight: '{{ n }}', policy: {exec: distributed}}}",
        expect![[r#"
            single a: noop {}
            loop row in "{{ rows }}" Parallel max "{{ n }}" rows null Row
        "#]],
    );
}

#[test]
fn a_loop_over_literals() {
    check_loop(
        "{in: [1, {x: '{{ y }}'}], iterator: i}",
        expect![[r#"
        single a: noop {}
        loop i in [1,{"x":"{{ y }}"}] Sequential max null rows null Row
    "#]],
    );
    check_loop(
        "{in: {a: 1}, iterator: i}",
        expect![[r#"
        single a: noop {}
        loop i in {"a":1} Sequential max null rows null Row
    "#]],
    );
    check_loop(
        "{in: 5, iterator: i}",
        expect![[r#"
        single a: noop {}
        loop i in 5 Sequential max null rows null Row
    "#]],
    );
}

#[test]
fn a_loop_in_old_spelling() {
    check_loop(
        "{collection: '{{ rows }}', element: row, mode: parallel, max_in_flight: 3}",
        expect![[r#"
            single a: noop {}
            loop row in "{{ rows }}" Parallel max 3 rows null Row
        "#]],
    );
}

#[test]
fn a_cursor_loop() {
    check_loop(
        "{cursor: {kind: postgres, auth: pg, claim: 'UPDATE t'}, iterator: row, spec: {frame: {max_rows: 50, row_concurrency: 2, process: frame}}}",
        expect![[r#"
            single a: noop {}
            loop row in claim: postgres {"auth":"pg","command":"UPDATE t"} Cursor max null rows 50 Frame
        "#]],
    );
}

#[test]
fn one_tool() {
    check(
        "tool: {kind: http, url: '{{ u }}', timeout: 5, name: x}",
        expect![[r#"
        single a: http {"url":"{{ u }}","timeout":5,"name":"x"} timeout 5s
    "#]],
    );
}

#[test]
fn a_list_of_tools() {
    check(
        r#"tool:
  - {name: get, kind: http, url: u}
  - shape: {kind: python, code: "result = 1", set: {iter.n: 1}}
  - {kind: noop}"#,
        expect![[r#"
            task get: http {"url":"u"}
            task shape: python {"code":"result = 1"}
              set iter.n = 1
            task task_2: noop {}
        "#]],
    );
}

#[test]
fn no_tool_but_somewhere_to_go() {
    check(
        "next: b",
        expect![[r#"
        single a: noop {}
        next Exclusive
          b
    "#]],
    );
}

#[test]
fn a_tool_in_old_spelling() {
    check(
        "tool: http\nurl: u\nmethod: GET\nargs: {x: 1}",
        expect![[r#"
        single a: http {"url":"u","method":"GET"}
        input {"x":1}
    "#]],
    );
    check(
        "type: http\nurl: u\ntimeout: 5",
        expect![[r#"
        single a: http {"url":"u","timeout":5} timeout 5s
        timeout 5s
    "#]],
    );
    check(
        "call: {type: http, url: u}",
        expect![[r#"
        single a: http {"url":"u"}
    "#]],
    );
}

#[test]
fn input_by_its_older_names() {
    check(
        "input: {a: 1}\ntool: {kind: python, args: {b: 2}, input: {b: 3}, code: x}",
        expect![[r#"
            single a: python {"input":{"b":3},"code":"x"}
            input {"a":1}
        "#]],
    );
    check(
        "with: {a: 1}\ntool: {kind: container, args: [x], image: i}",
        expect![[r#"
        single a: container {"args":["x"],"image":"i"}
        input {"a":1}
    "#]],
    );
    check(
        "tool: {kind: http, endpoint: u}",
        expect![[r#"
        single a: http {"url":"u"}
    "#]],
    );
}

#[test]
fn settings_below_spec_are_lifted() {
    check(
        "tool: {kind: python, spec: {code: x, input: {a: 1}, timeout: 500ms}}",
        expect![[r#"
        single a: python {"code":"x","input":{"a":1}} timeout 500ms
    "#]],
    );
}

#[test]
fn rules_of_a_single_tool() {
    check(
        r#"tool:
  kind: http
  url: u
  spec:
    policy:
      rules:
        - {when: "{{ output.http.status == 429 }}", then: {do: retry, attempts: 5, backoff: exponential, delay: 0.5}}
        - {when: "{{ x }}", then: {do: retry}}
        - {when: "{{ z }}", then: {do: retry, attempts: "{{ n }}", delay: "{{ d }}"}}
        - {when: true, then: {do: retry, backoff: fixed, delay: 2s, max_delay: 1m}}
        - {when: "{{ y }}", then: {do: jump, to: a}}
        - else: {then: {do: continue, set: {ctx.n: "{{ output.data }}", m: 1}}}"#,
        expect![[r#"
            single a: http {"url":"u"}
              rule "{{ output.http.status == 429 }}" -> Retry 5 Exponential 500ms <= 3600s
              rule "{{ x }}" -> Retry 3 Constant 1s <= 3600s
              rule "{{ z }}" -> Retry "{{ n }}" Constant "{{ d }}" <= 3600s
              rule true -> Retry 3 Constant 2s <= 60s
              rule "{{ y }}" -> Jump(0)
              rule "else" -> Continue; set ctx.n = "{{ output.data }}"; set m = 1
        "#]],
    );
}

#[test]
fn rules_of_a_list() {
    check(
        r#"tool:
  - {name: one, kind: noop}
  - name: two
    kind: noop
    spec:
      policy:
        - {when: "{{ a }}", then: {do: jump, to: previous, set_iter: {page: 1}}}
        - {when: "{{ b }}", then: {do: jump, to: two, set_ctx: {page: 1}}}
        - {when: "{{ c }}", do: break}
        - else: {do: fail}"#,
        expect![[r#"
            task one: noop {}
            task two: noop {}
              rule "{{ a }}" -> Jump(0); set iter.page = 1
              rule "{{ b }}" -> Jump(1); set ctx.page = 1
              rule "{{ c }}" -> Break
              rule "else" -> Fail
        "#]],
    );
}

#[test]
fn retry_is_a_rule() {
    check(
        "tool: {kind: noop, retry: 5}",
        expect![[r#"
            single a: noop {}
              rule "{{ output.status == 'error' }}" -> Retry 5 Constant 1s <= 3600s
        "#]],
    );
    check(
        "tool: {kind: noop}\nretry: {max_attempts: 4, initial_delay_ms: 250, backoff_multiplier: 2.0}",
        expect![[r#"
            single a: noop {}
              rule "{{ output.status == 'error' }}" -> Retry 4 Exponential 250ms <= 3600s
        "#]],
    );
    check(
        "tool: {kind: noop, retry: {max_retries: 2, delay: 1m, backoff: linear, retry_when: '{{ z }}'}}",
        expect![[r#"
            single a: noop {}
              rule "{{ z }}" -> Retry 3 Linear 60s <= 3600s
        "#]],
    );
}

#[test]
fn admission_and_timeout() {
    check(
        r#"tool: {kind: noop}
when: "{{ enabled }}"
spec:
  timeout: 5m
  policy:
    admit:
      rules:
        - {when: "{{ x }}", then: {allow: false}}
        - else: {then: {allow: true}}"#,
        expect![[r#"
            single a: noop {}
            when "{{ enabled }}"
            admit false "{{ x }}"
            admit true "else"
            timeout 300s
        "#]],
    );
}

#[test]
fn every_way_to_set() {
    check(
        r#"tool: {kind: noop, set: {n: 1}}
set: {ctx.a.b: 1, iter.c: 2, step.d: 3, e: "{{ output }}", ctx: {f: 4}}
set_ctx: {g: 5}
vars: {h: 6}"#,
        expect![[r#"
            single a: noop {}
              set n = 1
            set ctx.a.b = 1
            set iter.c = 2
            set step.d = 3
            set e = "{{ output }}"
            set ctx.f = 4
            set ctx.g = 5
            set ctx.h = 6
        "#]],
    );
}

/// Checks how a workbook task is read that the first step uses.
#[track_caller]
fn check_workbook(workbook: &str, tool: &str, expected: Expect) {
    let yaml =
        format!("{}workbook: {workbook}\n", document(&format!("  - {{step: a, tool: {tool}}}\n")));
    let playbook = playbook(&yaml);
    expected.assert_eq(&show_step(&playbook, &playbook.steps[0]));
}

#[test]
fn a_workbook_task_takes_the_place_of_the_tool() {
    let list = "[{name: flag, tool: {kind: python, code: x, input: {a: 1, b: 2}}}]";
    let map = "{tasks: {flag: {kind: python, code: x, input: {a: 1, b: 2}}}}";
    let alone = "{kind: workbook, name: flag, input: {b: 3}, timeout: 5}";
    check_workbook(
        list,
        alone,
        expect![[r#"
        single a: python {"code":"x","input":{"a":1,"b":3},"timeout":5} timeout 5s
    "#]],
    );
    check_workbook(
        map,
        alone,
        expect![[r#"
        single a: python {"code":"x","input":{"a":1,"b":3},"timeout":5} timeout 5s
    "#]],
    );
    check_workbook(
        list,
        "[{kind: workbook, name: flag}, {kind: noop}]",
        expect![[r#"
        task flag: python {"code":"x","input":{"a":1,"b":2}}
        task task_1: noop {}
    "#]],
    );
}

#[test]
fn merge_keys_and_aliases() {
    check(
        r#"tool:
  - &base {name: one, kind: http, url: u, headers: &h {x: 1}}
  - {<<: *base, name: two, url: v}
  - {<<: [*base, {method: PUT}], name: three, headers: *h}"#,
        expect![[r#"
            task one: http {"url":"u","headers":{"x":1}}
            task two: http {"url":"v","headers":{"x":1}}
            task three: http {"headers":{"x":1},"url":"u","method":"PUT"}
        "#]],
    );
}

/// Checks the entry step of a document.
#[track_caller]
fn check_entry(executor: &str, names: [&str; 2], expected: &str) {
    let steps: String =
        names.iter().map(|name| format!("  - {{step: {name}, tool: {{kind: noop}}}}\n")).collect();
    let playbook = playbook(&format!("{}{executor}\n", document(&steps)));
    assert_eq!(playbook.step(playbook.entry).name.as_str(), expected);
}

#[test]
fn the_entry_is_named_or_start_or_the_first() {
    check_entry("executor: {spec: {entry_step: y}}", ["start", "y"], "y");
    check_entry("", ["x", "start"], "start");
    check_entry("", ["x", "y"], "x");
}

#[test]
fn the_executor_says_how_the_whole_is_run() {
    let steps = "  - {step: start, tool: {kind: noop}}\n  - {step: last, tool: {kind: noop}}\n";
    let spec = "{final_step: last, no_next_is_error: true, timeout: 1h, error_mode: lenient}";
    let playbook = playbook(&format!("{}executor: {{spec: {spec}}}\n", document(steps)));
    let said =
        (playbook.final_step, playbook.no_next_is_error, playbook.timeout, playbook.error_mode);
    expect![[r#"
        (
            Some(
                StepIndex(
                    1,
                ),
            ),
            true,
            Some(
                3600s,
            ),
            Some(
                Lenient,
            ),
        )
    "#]]
    .assert_debug_eq(&said);
}

#[test]
fn the_head_is_kept_as_written() {
    let yaml = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: n, path: a/n, description: d, tags: [x]}\nworkload: {z: '{{ raw }}', a: 1}\nvars: {a: 2, b: 3}\nkeychain: [{name: k}]\nworkflow: [{step: s, tool: {kind: noop}}]\n";
    let playbook = playbook(yaml);
    let metadata = &playbook.metadata;
    expect![[r#"
        (
            "n",
            "a/n",
            Some(
                "d",
            ),
            "{\"name\":\"n\",\"path\":\"a/n\",\"description\":\"d\",\"tags\":[\"x\"]}",
            "{\"z\":\"{{ raw }}\",\"a\":1,\"b\":3}",
            "[{\"name\":\"k\"}]",
        )
    "#]]
    .assert_debug_eq(&(
        &metadata.name,
        &metadata.path,
        &metadata.description,
        serde_json::to_string(&metadata.all).unwrap(),
        serde_json::to_string(&playbook.workload).unwrap(),
        serde_json::to_string(&playbook.keychain).unwrap(),
    ));
}
