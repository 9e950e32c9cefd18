//! A playbook generator: parts that together use every kind of control flow.
//!
//! Every part ends in a step whose output has a number `n`, computed from the part before, so that
//! a missing or extra step changes the result.

use std::fmt::{Arguments, Write as _};

use noetl_model::{OnConflict, SignalName};

use super::{CRM_MAX, GeneratedPlaybook, RATE_LIMIT, SHARED_RATE, SharedRate};
use crate::rng::Rng;

/// A group of steps with one entry and one exit.
#[derive(Debug, Clone, Copy)]
pub(super) enum PlaybookPart {
    Plain,
    FanOut,
    Choice,
    Loop,
    /// A loop whose items need slots of a limit that all playbooks share.
    Limited,
    /// A loop whose items begin at a rate that all playbooks share.
    Rated,
    /// A step whose output later executions reuse.
    Cached,
    /// A loop of waits for a signal with a key that all playbooks share.
    SharedSignals,
    Pipeline,
    Flaky,
    Cycle,
    Handled,
    Broken,
    Large,
    Timeout,
    Pause,
    Signal,
    KeyedSignal,
    Approval,
    Once,
    Child,
    Children,
}

/// The signal that steps of all playbooks wait for with the same key.
pub(crate) const SHARED_SIGNAL: &str = "shared";
/// The key of [`SHARED_SIGNAL`].
pub(crate) const SHARED_KEY: &str = "all";

/// The number of executions of a playbook that run at a time.
#[derive(Debug, Clone, Copy)]
pub(super) struct SketchedConcurrency {
    pub(super) limit: u64,
    /// True if executions are counted by a value of their workload.
    pub(super) has_key: bool,
    pub(super) on_conflict: OnConflict,
}

/// The beginning of the names of steps that run at most once.
pub(crate) const ONCE: &str = "once_";

/// The parts that need no other playbook.
const OWN_PARTS: [PlaybookPart; 20] = [
    PlaybookPart::Limited,
    PlaybookPart::Rated,
    PlaybookPart::Cached,
    PlaybookPart::SharedSignals,
    PlaybookPart::Plain,
    PlaybookPart::FanOut,
    PlaybookPart::Choice,
    PlaybookPart::Loop,
    PlaybookPart::Pipeline,
    PlaybookPart::Flaky,
    PlaybookPart::Cycle,
    PlaybookPart::Handled,
    PlaybookPart::Broken,
    PlaybookPart::Large,
    PlaybookPart::Timeout,
    PlaybookPart::Pause,
    PlaybookPart::Signal,
    PlaybookPart::KeyedSignal,
    PlaybookPart::Approval,
    PlaybookPart::Once,
];

pub(super) struct PlaybookWriter<'a> {
    yaml: String,
    timed: bool,
    signals: Vec<SignalName>,
    keyed: Vec<SignalName>,
    has_shared: bool,
    /// The step whose number the next part starts from.
    last: String,
    leaves: &'a [GeneratedPlaybook],
}

impl<'a> PlaybookWriter<'a> {
    /// Creates a playbook that may call `leaves`.
    pub(super) fn new(leaves: &'a [GeneratedPlaybook]) -> Self {
        Self {
            yaml: String::new(),
            timed: false,
            signals: Vec::new(),
            keyed: Vec::new(),
            has_shared: false,
            last: "start".into(),
            leaves,
        }
    }

    /// Limits the time of an execution, and the number of executions at a time.
    pub(super) fn limits(&mut self, seconds: Option<u64>, executions: Option<SketchedConcurrency>) {
        self.timed |= seconds.is_some();
        // An execution that does not wait for its slot does not come to its own end.
        self.timed |= executions.is_some_and(|it| it.on_conflict != OnConflict::Queue);
        let timeout = seconds.map(|seconds| format!("timeout: {seconds}"));
        let limit = executions.map(|SketchedConcurrency { limit, has_key, on_conflict }| {
            let key = if has_key { ", key: '{{ workload.n % 2 }}'" } else { "" };
            let on_conflict = on_conflict.as_str();
            format!("concurrency: {{limit: {limit}, on_conflict: {on_conflict}{key}}}")
        });
        let spec: Vec<String> = timeout.into_iter().chain(limit).collect();
        if !spec.is_empty() {
            self.write(format_args!("executor: {{spec: {{{}}}}}", spec.join(", ")));
        }
    }

    pub(super) fn open(&mut self) {
        self.write(format_args!("workload: {{n: 0, blob: x}}\nworkflow:"));
        self.step("start", "{n: '{{ workload.n }}'}", "s0");
    }

    pub(super) fn choose(&self, rng: &mut Rng) -> PlaybookPart {
        if !self.leaves.is_empty() && rng.chance(30) {
            return *rng.pick(&[PlaybookPart::Child, PlaybookPart::Children]);
        }
        match rng.pick(&OWN_PARTS) {
            // Most playbooks should succeed.
            PlaybookPart::Broken | PlaybookPart::Timeout if rng.chance(60) => PlaybookPart::Plain,
            part => *part,
        }
    }

    pub(super) fn close(mut self, path: String) -> GeneratedPlaybook {
        let last = &self.last;
        let end =
            format!("  - {{step: end, tool: {{kind: noop, result: {{n: '{{{{ {last}.n }}}}'}}}}}}");
        self.write(format_args!("{end}"));
        let yaml = format!(
            "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {{name: {path}, path: {path}}}\n{}",
            self.yaml
        );
        let Self { timed, signals, keyed, has_shared, .. } = self;
        GeneratedPlaybook { path, yaml, timed, signals, keyed, has_shared }
    }

    /// Writes a part with the entry `name` that leads to `next`.
    pub(super) fn add(&mut self, rng: &mut Rng, part: PlaybookPart, name: &str, next: &str) {
        let last = self.last.clone();
        let exit = format!("{name}x");
        match part {
            PlaybookPart::Plain => self.count(name, &format!("{last}.n + 1"), &exit),
            PlaybookPart::FanOut => self.fan_out(rng, name, &exit),
            PlaybookPart::Choice => self.choice(name, &exit),
            PlaybookPart::Loop => self.repeat(rng, name, &exit, ""),
            PlaybookPart::Limited => {
                let limit = format!("\n    limit: {{name: crm, max: {CRM_MAX}}}");
                self.repeat(rng, name, &exit, &limit);
            }
            PlaybookPart::Rated => {
                let SharedRate { count, burst } = SHARED_RATE;
                let limit =
                    format!("\n    limit: {{name: {RATE_LIMIT}, rate: {count}, burst: {burst}}}");
                self.repeat(rng, name, &exit, &limit);
            }
            PlaybookPart::Cached => self.cached(name, &exit),
            PlaybookPart::SharedSignals => self.shared_signals(rng, name, &exit),
            PlaybookPart::Pipeline => self.pipeline(rng, name, &exit),
            PlaybookPart::Flaky => self.flaky(rng, name, &exit),
            PlaybookPart::Cycle => self.cycle(rng, name, &exit),
            PlaybookPart::Handled => self.handled(name, &exit),
            PlaybookPart::Broken => self.broken(name, &exit),
            PlaybookPart::Large => self.step(name, "{n: 1, blob: '{{ workload.blob }}!'}", &exit),
            PlaybookPart::Timeout => self.timeout(rng, name, &exit),
            PlaybookPart::Pause => self.pause(rng, name, &exit),
            PlaybookPart::Signal => self.signal(name, &exit),
            PlaybookPart::KeyedSignal => self.keyed_signal(name, &exit),
            PlaybookPart::Approval => self.approval(name, &exit),
            PlaybookPart::Once => self.once(name, &exit),
            PlaybookPart::Child => self.child(rng, name, &exit),
            PlaybookPart::Children => self.children(rng, name, &exit),
        }
        let number = match part {
            PlaybookPart::Plain | PlaybookPart::Flaky | PlaybookPart::Cached => format!("{name}.n"),
            PlaybookPart::FanOut => format!("{name}a.n + {name}b.n"),
            PlaybookPart::Choice | PlaybookPart::Handled => {
                format!("({name}a.n | default(0)) + ({name}b.n | default(0))")
            }
            PlaybookPart::Loop | PlaybookPart::Limited | PlaybookPart::Rated => {
                format!("{last}.n + {name}r.n")
            }
            PlaybookPart::SharedSignals => format!("{last}.n + {name}.stats.completed"),
            PlaybookPart::Pipeline => format!("{last}.n + {name}.page"),
            PlaybookPart::Cycle => format!("{last}.n + ctx.{name}"),
            PlaybookPart::Broken | PlaybookPart::Timeout | PlaybookPart::Pause => {
                format!("{last}.n")
            }
            PlaybookPart::Signal | PlaybookPart::KeyedSignal => {
                format!("{last}.n + {name}.body.n")
            }
            PlaybookPart::Approval => format!("{last}.n + {name}.values.n"),
            PlaybookPart::Once => format!("{ONCE}{name}.n"),
            PlaybookPart::Large => format!("{last}.n + ({name}.blob | length)"),
            PlaybookPart::Child => format!("{last}.n + ({name}.n | default(0))"),
            PlaybookPart::Children => format!("{last}.n + {name}.stats.completed"),
        };
        self.count(&exit, &number, next);
        self.last = exit;
    }

    fn fan_out(&mut self, rng: &mut Rng, name: &str, exit: &str) {
        let last = self.last.clone();
        self.write(format_args!(
            "  - {{step: {name}, tool: {{kind: noop}}, next: [{name}a, {name}b]}}"
        ));
        self.count(&format!("{name}a"), &format!("{last}.n + 1"), exit);
        if rng.chance(50) {
            self.count(&format!("{name}b"), &format!("{last}.n + 2"), exit);
        } else {
            self.count(&format!("{name}b"), &format!("{last}.n + 2"), &format!("{name}c"));
            self.count(&format!("{name}c"), "3", exit);
        }
    }

    /// Writes a step that no second worker may run.
    fn once(&mut self, name: &str, exit: &str) {
        let last = self.last.clone();
        self.write(format_args!(
            "  - {{step: {name}, tool: {{kind: noop}}, next: {ONCE}{name}}}
  - step: {ONCE}{name}
    run: at_most_once
    tool: {{kind: noop, result: {{n: '{{{{ {last}.n + 1 }}}}'}}}}
    next: {exit}"
        ));
    }

    fn choice(&mut self, name: &str, exit: &str) {
        let last = self.last.clone();
        self.write(format_args!(
            "  - step: {name}
    tool: {{kind: noop, result: {{n: '{{{{ {last}.n }}}}'}}}}
    next:
      spec: {{mode: exclusive}}
      arcs: [{{step: {name}a, when: '{{{{ output.n % 2 == 0 }}}}'}}, {{step: {name}b}}]"
        ));
        self.count(&format!("{name}a"), &format!("{last}.n + 1"), exit);
        self.count(&format!("{name}b"), &format!("{last}.n + 2"), exit);
    }

    fn repeat(&mut self, rng: &mut Rng, name: &str, exit: &str, limit: &str) {
        let items = rng.between(0..7);
        let spec = loop_spec(rng);
        let body = *rng.pick(&[
            "{kind: noop, result: '{{ it * 10 }}'}",
            "[{name: a, kind: noop, result: '{{ it + 1 }}'}, {name: b, kind: noop, \
             result: '{{ a * 2 }}', spec: {policy: {rules: [{else: {then: {do: break}}}]}}}]",
        ]);
        let result = if body.starts_with('[') { "stats.completed" } else { "results | sum" };
        self.write(format_args!(
            "  - step: {name}
    loop: {{in: {items}, iterator: it, spec: {spec}}}{limit}
    tool: {body}
    next: {name}r"
        ));
        // Sums up the items for the exit.
        self.step(&format!("{name}r"), &format!("{{n: '{{{{ {name}.{result} }}}}'}}"), exit);
    }

    /// Writes a pipeline that repeats its first task a few times.
    fn pipeline(&mut self, rng: &mut Rng, name: &str, exit: &str) {
        let pages = rng.between(1..4);
        self.write(format_args!(
            "  - step: {name}
    tool:
      - name: fetch
        kind: noop
        result: {{page: '{{{{ (iter.page | default(0)) + 1 }}}}'}}
        set: {{iter.page: '{{{{ output.page }}}}'}}
      - name: keep
        kind: noop
        result: '{{{{ fetch.page }}}}'
        spec:
          policy:
            rules:
              - {{when: '{{{{ iter.page < {pages} }}}}', then: {{do: jump, to: fetch}}}}
              - {{else: {{then: {{do: break}}}}}}
      - {{name: never, kind: noop}}
    next: {exit}"
        ));
    }

    /// Writes a task that fails at first and is retried, at once or later: often enough for a fork,
    /// whose tool fails at first again.
    fn flaky(&mut self, rng: &mut Rng, name: &str, exit: &str) {
        let (last, times, delay) = (self.last.clone(), rng.between(1..3), rng.between(0..6));
        self.write(format_args!(
            "  - step: {name}
    tool:
      kind: noop
      fail: {{message: busy, kind: connection, times: {times}}}
      result: {{n: '{{{{ {last}.n + 5 }}}}'}}
      spec:
        policy:
          rules:
            - when: '{{{{ output.status == \"error\" }}}}'
              then: {{do: retry, attempts: 6, delay: {delay}}}
    next: {exit}"
        ));
    }

    fn cycle(&mut self, rng: &mut Rng, name: &str, exit: &str) {
        let rounds = rng.between(1..5);
        self.write(format_args!(
            "  - step: {name}
    tool: {{kind: noop, result: {{n: '{{{{ (ctx.{name} | default(0)) + 1 }}}}'}}}}
    set: {{ctx.{name}: '{{{{ output.n }}}}'}}
    next:
      spec: {{mode: exclusive}}
      arcs: [{{step: {name}, when: '{{{{ ctx.{name} < {rounds} }}}}'}}, {{step: {exit}}}]"
        ));
    }

    fn handled(&mut self, name: &str, exit: &str) {
        let last = self.last.clone();
        self.write(format_args!(
            "  - step: {name}
    tool: {{kind: noop, fail: broken}}
    next:
      spec: {{mode: exclusive}}
      arcs: [{{step: {name}a, when: '{{{{ event.name == \"step.failed\" }}}}'}}, {{step: {name}b}}]"
        ));
        self.count(&format!("{name}a"), &format!("{last}.n + 7"), exit);
        self.count(&format!("{name}b"), &format!("{last}.n + 9"), exit);
    }

    fn broken(&mut self, name: &str, exit: &str) {
        self.write(format_args!(
            "  - {{step: {name}, tool: {{kind: noop, fail: broken}}, next: {exit}}}"
        ));
    }

    fn timeout(&mut self, rng: &mut Rng, name: &str, exit: &str) {
        self.timed = true;
        let seconds = rng.between(1..10);
        self.write(format_args!(
            "  - {{step: {name}, spec: {{timeout: {seconds}}}, tool: {{kind: noop}}, next: {exit}}}"
        ));
    }

    fn pause(&mut self, rng: &mut Rng, name: &str, exit: &str) {
        let seconds = rng.between(0..20);
        self.write(format_args!(
            "  - {{step: {name}, tool: {{kind: wait, for: {seconds}s}}, next: {exit}}}"
        ));
    }

    fn signal(&mut self, name: &str, exit: &str) {
        self.signals.push(name.parse().expect("the name of a step is the name of a signal"));
        self.write(format_args!(
            "  - {{step: {name}, tool: {{kind: wait, signal: {name}}}, next: {exit}}}"
        ));
    }

    /// Writes a wait that is found by a key of its execution.
    fn keyed_signal(&mut self, name: &str, exit: &str) {
        let key = "{{ execution_id }}";
        self.write(format_args!(
            "  - {{step: {name}, tool: {{kind: wait, signal: {name}, key: '{key}'}}, next: {exit}}}"
        ));
        self.keyed.push(name.parse().expect("a name"));
    }

    /// Writes waits that other executions have too: each gets one of the signals.
    fn shared_signals(&mut self, rng: &mut Rng, name: &str, exit: &str) {
        let items = rng.between(1..4);
        self.has_shared = true;
        self.write(format_args!(
            "  - step: {name}
    loop: {{in: {items}, iterator: it, spec: {{mode: parallel}}}}
    tool: {{kind: wait, signal: {SHARED_SIGNAL}, key: {SHARED_KEY}}}
    next: {exit}"
        ));
    }

    /// Writes a step whose output depends only on its key.
    fn cached(&mut self, name: &str, exit: &str) {
        let last = self.last.clone();
        self.write(format_args!(
            "  - step: {name}
    cache: {{key: '{{{{ {last}.n }}}}', ttl: 1h}}
    tool: {{kind: noop, result: {{n: '{{{{ {last}.n + 4 }}}}'}}}}
    next: {exit}"
        ));
    }

    /// Writes an approval whose form has a number.
    fn approval(&mut self, name: &str, exit: &str) {
        self.write(format_args!(
            "  - step: {name}
    tool:
      kind: approval
      title: {name}
      form: {{required: [n], properties: {{n: {{type: integer}}}}}}
    next: {exit}"
        ));
    }

    fn child(&mut self, rng: &mut Rng, name: &str, exit: &str) {
        let (last, path) = (self.last.clone(), self.leaf(rng));
        let other = format!("{name}o");
        self.write(format_args!(
            "  - step: {name}
    tool: {{kind: playbook, return_result: true, path: {path}, input: {{n: '{{{{ {last}.n }}}}'}}}}
    next:
      arcs: [{{step: {other}, when: '{{{{ event.name == \"step.failed\" }}}}'}}, {{step: {exit}}}]"
        ));
        self.count(&other, "0", exit);
    }

    fn children(&mut self, rng: &mut Rng, name: &str, exit: &str) {
        let (path, items, spec) = (self.leaf(rng), rng.between(1..4), loop_spec(rng));
        self.write(format_args!(
            "  - step: {name}
    loop: {{in: {items}, iterator: it, spec: {spec}}}
    tool: {{kind: playbook, return_result: true, path: {path}, input: {{n: '{{{{ it }}}}'}}}}
    next: {exit}"
        ));
    }

    fn leaf(&mut self, rng: &mut Rng) -> String {
        let leaf = rng.pick(self.leaves);
        self.timed |= leaf.timed;
        leaf.path.clone()
    }

    /// Writes a step whose output is a number.
    fn count(&mut self, name: &str, number: &str, next: &str) {
        self.step(name, &format!("{{n: '{{{{ {number} }}}}'}}"), next);
    }

    fn step(&mut self, name: &str, result: &str, next: &str) {
        self.write(format_args!(
            "  - {{step: {name}, tool: {{kind: noop, result: {result}}}, next: {next}}}"
        ));
    }

    fn write(&mut self, lines: Arguments<'_>) {
        writeln!(self.yaml, "{lines}").expect("a text grows");
    }
}

fn loop_spec(rng: &mut Rng) -> String {
    if rng.chance(50) {
        "{mode: sequential}".to_owned()
    } else {
        format!("{{mode: parallel, max_in_flight: {}}}", rng.between(1..5))
    }
}
