//! Playbooks that several tests use.

pub(crate) const HELLO: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: hello, path: tests/hello}
workload: {name: world, from: {city: Oslo}}
workflow:
  - step: start
    tool: {kind: noop, result: {greeting: \"Hello, {{ workload.name }} from {{ workload.from.city }}!\"}}
    next: {arcs: [{step: end}]}
  - step: end
    tool: {kind: noop, result: \"{{ start.greeting }}\"}
";

pub(crate) const FAILING: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: failing}
workflow:
  - step: start
    loop: {in: [1, 0, 2], iterator: number, spec: {mode: sequential}}
    tool:
      kind: python
      input: {number: \"{{ number }}\"}
      code: |
        def share(number):
            return 10 / number

        print(\"sharing by\", number)
        result = share(number)
";

/// A step that writes the process id of its `sleep` to `pid`.
pub(crate) const SLEEPING: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: sleeping}
workflow:
  - step: start
    tool: {kind: shell, command: \"sleep 30 & echo $! > pid; wait\"}
";

/// A chain of steps, each adding its number to the total of the previous one; the last returns 190.
pub(crate) fn chain() -> String {
    let mut text = String::from(
        "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: chain}\n\
         workload: {zero: 0}\nworkflow:\n",
    );
    for number in 0..20 {
        let name = |number| if number == 0 { "start".to_owned() } else { format!("s{number}") };
        let before = match number {
            0 => "workload.zero".to_owned(),
            number => format!("{}.total", name(number - 1)),
        };
        text.push_str(&format!("  - step: {}\n    tool:\n", name(number)));
        text.push_str(&format!(
            "      kind: python\n      input: {{before: \"{{{{ {before} }}}}\"}}\n"
        ));
        text.push_str(&format!(
            "      code: |\n        import time\n        time.sleep(0.02)\n        \
             result = {{\"total\": before + {number}}}\n"
        ));
        if number < 19 {
            text.push_str(&format!("    next: {{arcs: [{{step: {}}}]}}\n", name(number + 1)));
        }
    }
    text
}
