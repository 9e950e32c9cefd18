//! The playbooks that are measured.

use std::fmt::Write as _;

/// A step that does nothing, which a worker leases, runs and reports all the same.
pub(crate) const NOTHING: &str = "{kind: noop}";

/// A loop whose items run in parallel and each give themselves back.
pub(crate) fn fanout() -> String {
    fanout_of("bench/fanout", "{kind: noop, result: '{{ item }}'}")
}

/// A loop over the workload's `items` whose items run in parallel, all with the same tool.
pub(crate) fn fanout_of(path: &str, tool: &str) -> String {
    format!(
        "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {{name: measured_fanout, path: {path}}}
workload: {{items: []}}
workflow:
  - step: each
    loop:
      in: '{{{{ workload.items }}}}'
      iterator: item
      spec: {{mode: parallel}}
    tool: {tool}
"
    )
}

/// A playbook whose steps follow each other, all with the same tool.
pub(crate) fn chain_of(steps: u64, path: &str, tool: &str) -> String {
    let mut playbook = format!(
        "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {{name: measured, path: {path}}}\nworkflow:\n"
    );
    for step in 1..=steps {
        let next = match step {
            last if last == steps => String::new(),
            _ => format!("    next: {{arcs: [{{step: s{}}}]}}\n", step + 1),
        };
        write!(playbook, "  - step: s{step}\n    tool: {tool}\n{next}").expect("strings grow");
    }
    playbook
}

/// A loop over a thousand items, few of them open at a time, as many times as the workload says; then a
/// failure that is tried again in an hour. What it lists is as long in the last round as in the first.
pub(crate) const PAUSED: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: measured_history, path: bench/history}
workload: {items: 1, rounds: 1}
workflow:
  - step: each
    loop:
      in: '{{ workload.items }}'
      iterator: item
      spec: {mode: parallel, max_in_flight: 64}
    tool: {kind: noop}
    next: {arcs: [{step: again}]}
  - step: again
    tool: {kind: noop}
    set: {ctx.round: '{{ (ctx.round or 0) + 1 }}'}
    next:
      arcs:
        - {step: each, when: '{{ ctx.round < workload.rounds }}'}
        - {step: pause}
  - step: pause
    tool:
      kind: rhai
      code: throw \"later\"
      spec:
        policy:
          rules:
            - when: \"{{ output.status == 'error' }}\"
              then: {do: retry, attempts: 2, delay: 3600}
";
