//! Tests of rules: continue, retry, jump, break, fail, and the values they can test and set.

use expect_test::expect;
use noetl_model::Payload;
use serde_json::json;

use crate::{check, told};

#[test]
fn a_rule_may_let_an_error_pass() {
    check(
        "
  - step: start
    tool:
      kind: http
      fail: {kind: not_found, status: 404, message: gone}
      result: {status_code: 404, body: {hint: moved}}
      set: {seen: '{{ output.body.hint }}'}
      spec:
        policy:
          rules:
            - when: '{{ output.error.kind == \"not_found\" and output.http.status == 404 }}'
              then: {do: continue, set: {ctx.missing: true}}
    next: {arcs: [{step: end}]}
  - {step: end, tool: {kind: noop, result: '{{ missing and start.body.hint }}'}}
",
        expect![[r#"
            enter start
            issue 0: start (http)
            fail 0: gone (not_found)
            set ctx: {"missing":true}
            set step: {"seen":"moved"}
            leave start
            enter end from start
            issue 1: end (noop)
            done 1: "moved"
            leave end
            COMPLETED "moved"
        "#]],
    );
}

#[test]
fn a_retry_waits_for_its_timer_and_then_tries_again() {
    check(
        "
  - step: start
    tool:
      kind: http
      fail: {kind: server_error, status: 503, message: busy, times: 2}
      result: {n: 1}
      spec:
        policy:
          rules:
            - when: '{{ output.status == \"error\" and output.error.retryable }}'
              then: {do: retry, attempts: 5, backoff: exponential, delay: 2}
            - when: '{{ output.status == \"error\" }}'
              then: {do: fail}
",
        expect![[r#"
            enter start
            issue 0: start (http)
            fail 0: busy (server_error)
            timer 0 set (retry)
            timer 0 fired
            issue 1: start retry 1 (http)
            fail 1: busy (server_error)
            timer 1 set (retry)
            timer 1 fired
            issue 2: start retry 2 (http)
            done 2: {"n":1}
            leave start
            COMPLETED {"n":1}
        "#]],
    );
}

#[test]
fn delays_grow_by_their_backoff() {
    let delays = |backoff: &str| {
        let story = told(&format!(
            "
  - step: start
    tool:
      kind: noop
      fail: no
      spec: {{policy: {{rules: [{{else: {{then: {{do: retry, attempts: 5, delay: 2{backoff}}}}}}}]}}}}
"
        ));
        let issued: Vec<i64> = story
            .log
            .iter()
            .filter(|it| matches!(it.event, noetl_model::Event::CommandIssued { .. }))
            .map(|it| it.at.as_millis())
            .collect();
        issued.windows(2).map(|pair| (pair[1] - pair[0]) / 1000).collect::<Vec<_>>()
    };
    assert_eq!(delays(""), [2, 2, 2, 2]);
    assert_eq!(delays(", backoff: fixed"), [2, 2, 2, 2]);
    assert_eq!(delays(", backoff: linear"), [2, 4, 6, 8]);
    assert_eq!(delays(", backoff: exponential"), [2, 4, 8, 16]);
}

#[test]
fn exhausted_retries_fail_with_the_last_error() {
    check(
        "
  - step: start
    tool: {kind: noop, fail: {message: always}, retry: {max_attempts: 2, delay: 0}}
",
        expect![[r#"
            enter start
            issue 0: start (noop)
            fail 0: always (exception)
            issue 1: start retry 1 (noop)
            fail 1: always (exception)
            step start failed: always
            FAILED always
        "#]],
    );
}

#[test]
fn the_rules_after_a_retry_that_is_used_up_are_looked_at_and_an_else_is_not() {
    let end = |rule: &str| {
        let story = told(&format!(
            "
  - step: start
    tool:
      kind: noop
      fail: {{message: always}}
      spec:
        policy:
          rules:
            - {{when: '{{{{ output.status == \"error\" }}}}', then: {{do: retry, attempts: 2, delay: 0}}}}
            - {rule}
    next: {{arcs: [{{step: end}}]}}
  - {{step: end, tool: {{kind: noop, result: '{{{{ ctx.given_up }}}}'}}}}
"
        ));
        let issued = story.log.iter().map(|it| &it.event);
        let issued = issued.filter(|it| matches!(it, noetl_model::Event::CommandIssued { .. }));
        (story.status().to_string(), issued.count(), story.state.step_runs("end"))
    };
    let tolerated = "{when: '{{ output.status == \"error\" }}', then: {do: continue, set: {ctx.given_up: true}}}";
    assert_eq!(end(tolerated), ("COMPLETED".to_owned(), 3, 1));
    assert_eq!(end("{else: {then: {do: continue}}}"), ("FAILED".to_owned(), 2, 0));
    let other = "{when: '{{ output.status == \"success\" }}', then: {do: continue}}";
    assert_eq!(end(other), ("FAILED".to_owned(), 2, 0));
}

#[test]
fn a_rule_may_retry_a_success_until_it_is_as_wanted() {
    check(
        "
  - step: start
    tool:
      kind: noop
      result: {ready: false}
      spec:
        policy:
          rules:
            - {when: '{{ not output.data.ready }}', then: {do: retry, attempts: 2, delay: 1}}
",
        expect![[r#"
            enter start
            issue 0: start (noop)
            done 0: {"ready":false}
            timer 0 set (retry)
            timer 0 fired
            issue 1: start retry 1 (noop)
            done 1: {"ready":false}
            step start failed: still not as the rule wants it after 2 attempts
            FAILED still not as the rule wants it after 2 attempts
        "#]],
    );
}

#[test]
fn jump_and_break_make_a_loop_inside_a_pipeline() {
    let story = check(
        "
  - step: start
    tool:
      - name: fetch
        kind: noop
        result: {page: '{{ (iter.page | default(0)) + 1 }}'}
        set: {iter.page: '{{ output.page }}'}
      - name: keep
        kind: noop
        result: '{{ fetch.page }}'
        spec:
          policy:
            rules:
              - {when: '{{ iter.page < 3 }}', then: {do: jump, to: fetch}}
              - {else: {then: {do: break}}}
      - {name: never, kind: noop}
",
        expect![[r#"
            enter start
            issue 0: start (noop)
            done 0: {"page":1}
            set step: {"page":1}
            issue 1: start task 1 (noop)
            done 1: 1
            issue 2: start (noop)
            done 2: {"page":2}
            set step: {"page":2}
            issue 3: start task 1 (noop)
            done 3: 2
            issue 4: start (noop)
            done 4: {"page":3}
            set step: {"page":3}
            issue 5: start task 1 (noop)
            done 5: 3
            leave start: {"page":3,"fetch":{"page":3},"keep":3}
            COMPLETED {"page":3,"fetch":{"page":3},"keep":3}
        "#]],
    );
    assert_eq!(story.worker.ran.len(), 6);
}

#[test]
fn a_rule_may_call_a_success_a_failure() {
    check(
        "
  - step: start
    tool:
      - name: load
        kind: noop
        result: {rows: 0}
        spec: {policy: {rules: [{when: '{{ output.data.rows == 0 }}', then: {do: fail}}]}}
      - {name: never, kind: noop}
",
        expect![[r#"
            enter start
            issue 0: start (noop)
            done 0: {"rows":0}
            step start failed: a rule of `load` says that this is a failure
            FAILED a rule of `load` says that this is a failure
        "#]],
    );
}

#[test]
fn a_condition_matches_its_word() {
    let taken = |when: &str| {
        let story = told(&format!(
            "
  - step: start
    tool:
      kind: noop
      result: {{n: 1}}
      spec: {{policy: {{rules: [{{when: \"{{{{ {when} }}}}\", then: {{do: continue, set: {{ctx.hit: true}}}}}}]}}}}
"
        ));
        story.state.context().next().is_some()
    };
    assert!(taken("output.status == 'ok'"));
    assert!(taken("output.status == 'success'"));
    assert!(!taken("output.status != 'ok'"));
    assert!(!taken("output.status != 'success'"));
    assert!(!taken("output.status == 'error'"));
    assert!(taken("output.status != 'error'"));
}

#[test]
fn rules_see_the_error_the_attempt_and_the_body() {
    let story = told(
        "
  - step: start
    tool:
      - name: call
        kind: http
        fail: {kind: rate_limit, status: 429, code: slow, message: later, times: 1}
        result: {status_code: 429, headers: {retry-after: '3'}, body: {meta: {page: 7}}, data: {meta: {page: 7}}}
        spec:
          policy:
            rules:
              - when: true
                then:
                  do: continue
                  set:
                    ctx.kind: '{{ output.error.kind }}'
                    ctx.code: '{{ output.error.code }}'
                    ctx.retryable: '{{ output.error.retryable }}'
                    ctx.status: '{{ output.error.status }}'
                    ctx.message: '{{ output.error.message }}'
                    ctx.http: '{{ output.http.status }}'
                    ctx.after: '{{ output.http.headers[\"retry-after\"] }}'
                    ctx.page: '{{ output.data.meta.page }}'
                    ctx.body_page: '{{ output.data.data.meta.page }}'
                    ctx.attempt: '{{ _attempt }}'
",
    );
    let context: serde_json::Value = story
        .state
        .context()
        .map(|(key, value)| (key.clone(), (**value.as_inline().unwrap()).clone()))
        .collect();
    assert_eq!(
        context,
        json!({
            "after": "3", "attempt": 1, "body_page": 7, "code": "slow", "http": 429,
            "kind": "rate_limit", "message": "later", "page": 7, "retryable": true, "status": 429,
        })
    );
}

#[test]
fn the_rules_of_a_single_tool_may_name_their_own_step() {
    let story = told(
        "
  - step: load
    tool:
      kind: noop
      result: {rows: 5}
      spec: {policy: {rules: [{else: {then: {do: continue, set: {ctx.n: '{{ load.rows }}'}}}}]}}
",
    );
    let n = story.state.context().next().map(|(_, value)| value.clone());
    assert_eq!(n, Some(Payload::inline(json!(5))));
}

#[test]
fn a_rule_that_does_not_render_fails_its_task() {
    check(
        "
  - step: start
    tool:
      kind: noop
      spec: {policy: {rules: [{when: '{{ 1 + {} }}', then: {do: continue}}]}}
",
        expect![[r#"
            enter start
            issue 0: start (noop)
            done 0: {"status":"ok"}
            step start failed: a rule's `when`: `+` does not work on number and map in `{{ 1 + {} }}`
            FAILED a rule's `when`: `+` does not work on number and map in `{{ 1 + {} }}`
        "#]],
    );
}

#[test]
fn how_often_and_how_slowly_to_try_again_may_be_templates() {
    check(
        "
  - step: start
    tool:
      kind: http
      fail: {kind: server_error, status: 503, message: busy}
      spec:
        policy:
          rules:
            - when: '{{ error.retryable }}'
              then: {do: retry, attempts: '{{ 1 + 1 }}', delay: '{{ 0.5 * _attempt }}'}
",
        expect![[r#"
            enter start
            issue 0: start (http)
            fail 0: busy (server_error)
            timer 0 set (retry)
            timer 0 fired
            issue 1: start retry 1 (http)
            fail 1: busy (server_error)
            step start failed: busy
            FAILED busy
        "#]],
    );
}

#[test]
fn a_number_of_attempts_that_is_none_fails_the_task() {
    check(
        "
  - step: start
    tool:
      kind: noop
      fail: no luck
      spec: {policy: {rules: [{when: true, then: {do: retry, attempts: '{{ who }}'}}]}}
",
        expect![[r#"
            enter start
            issue 0: start (noop)
            fail 0: no luck (exception)
            step start failed: `attempts` must be a number, not `null`
            FAILED `attempts` must be a number, not `null`
        "#]],
    );
}

#[test]
fn a_rule_knows_how_long_the_task_took() {
    let story = told(
        "
  - step: start
    tool:
      kind: noop
      result: 1
      spec: {policy: {rules: [{when: true, then: {do: continue, set: {ctx.ms: '{{ output.meta.duration_ms }}'}}}]}}
    next: end
  - {step: end, tool: {kind: noop, result: '{{ ctx.ms }}'}}
",
    );
    assert_eq!(story.output("end"), json!(0));
}
