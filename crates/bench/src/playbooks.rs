//! The measured playbooks.

use std::fmt::Write as _;

/// A tool that does nothing, which a worker still leases, runs and reports.
pub(crate) const NOTHING: &str = "{kind: noop}";

/// Returns a parallel loop whose items return themselves.
pub(crate) fn fanout() -> String {
    fanout_of("bench/fanout", "{kind: noop, result: '{{ item }}'}")
}

/// Returns a parallel loop over the workload's `items`, all with the same tool.
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

/// Returns a playbook of consecutive steps, all with the same tool.
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

/// A loop over a thousand items with few open at a time, repeated as the workload says; then a
/// failure that is retried in an hour. The item list has the same length in every round.
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

/// Returns a playbook of steps in layers, each with arcs to two steps of the next layer.
pub(crate) fn layered(steps: u64, path: &str) -> String {
    const LAYER: u64 = 10;
    let mut playbook = format!(
        "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {{name: layered, path: {path}}}\nworkflow:\n"
    );
    for step in 0..steps {
        let layer = step / LAYER * LAYER;
        let below = [step, step + 1].map(|it| layer + LAYER + it % LAYER);
        let arcs: Vec<String> =
            below.iter().filter(|it| **it < steps).map(|it| format!("{{step: s{it}}}")).collect();
        let next = match arcs.is_empty() {
            true => String::new(),
            false => {
                format!("    next: {{spec: {{mode: inclusive}}, arcs: [{}]}}\n", arcs.join(", "))
            }
        };
        write!(playbook, "  - step: s{step}\n    tool: {NOTHING}\n{next}").expect("strings grow");
    }
    playbook
}
