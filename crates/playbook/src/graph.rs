//! The graph of a playbook: which steps can precede which.

use std::collections::{BTreeMap, BTreeSet};

use noetl_model::StepName;

use crate::playbook::{Router, Step, StepIndex};

/// The steps by name, and the predecessors of each step.
#[derive(Debug, Clone, Default)]
pub struct Graph {
    by_name: BTreeMap<StepName, StepIndex>,
    predecessors: Vec<BTreeSet<StepIndex>>,
}

/// A set of steps, one bit each.
#[derive(Debug, Clone)]
struct Steps(Vec<u64>);

impl Steps {
    fn none_of(count: usize) -> Self {
        Self(vec![0; count.div_ceil(64)])
    }

    /// Adds a step; false if it was already present.
    fn insert(&mut self, step: StepIndex) -> bool {
        let (word, bit) = (step.0 / 64, 1 << (step.0 % 64));
        let is_new = self.0[word] & bit == 0;
        self.0[word] |= bit;
        is_new
    }
}

impl Graph {
    pub fn of(steps: &[Step]) -> Self {
        let routers: Vec<(&StepName, &Router)> =
            steps.iter().map(|step| (&step.name, &step.next)).collect();
        let mut predecessors = vec![BTreeSet::new(); steps.len()];
        for (index, (_, router)) in routers.iter().enumerate() {
            for arc in &router.arcs {
                predecessors[arc.to.0].insert(StepIndex(index));
            }
        }
        let by_name = routers
            .iter()
            .enumerate()
            .map(|(index, (name, _))| ((*name).clone(), StepIndex(index)))
            .collect();
        Self { by_name, predecessors }
    }

    pub fn index_of(&self, name: &str) -> Option<StepIndex> {
        self.by_name.get(name).copied()
    }

    pub fn predecessors(&self, step: StepIndex) -> &BTreeSet<StepIndex> {
        &self.predecessors[step.0]
    }

    /// True if arcs from several steps lead to a step.
    pub fn is_join(&self, step: StepIndex) -> bool {
        self.predecessors[step.0].len() > 1
    }

    /// True if `join`, at which arcs from `arrived` have arrived, must wait for a live step: one
    /// that is, or can still lead to, a predecessor that has not arrived, without passing `join`
    /// itself.
    ///
    /// Searches backwards from those predecessors until a live step is found; visits every arc at
    /// most once.
    pub fn must_wait(
        &self,
        join: StepIndex,
        arrived: &BTreeSet<StepIndex>,
        is_live: impl Fn(StepIndex) -> bool,
    ) -> bool {
        if !self.is_join(join) {
            return false;
        }
        let mut seen = Steps::none_of(self.predecessors.len());
        let mut waiting: Vec<StepIndex> =
            self.predecessors[join.0].difference(arrived).copied().collect();
        while let Some(step) = waiting.pop() {
            if step == join || !seen.insert(step) {
                continue;
            }
            if is_live(step) {
                return true;
            }
            waiting.extend(self.predecessors[step.0].iter().copied());
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::playbook::StepIndex;

    /// Checks if a join waits, given arcs as `from>to`, the arrived steps and the live steps.
    #[track_caller]
    fn check(arcs: &str, join: &str, arrived: &str, live: &str, expected: bool) {
        let pairs: Vec<(&str, &str)> =
            arcs.split_whitespace().map(|arc| arc.split_once('>').unwrap()).collect();
        let names: BTreeSet<&str> = pairs.iter().flat_map(|(from, to)| [*from, *to]).collect();
        let mut yaml = crate::tests::document("");
        for name in names {
            let to = pairs.iter().filter(|(from, _)| *from == name).map(|(_, to)| *to);
            let to = to.collect::<Vec<_>>().join(", ");
            yaml.push_str(&format!("  - {{step: {name}, tool: {{kind: noop}}, next: [{to}]}}\n"));
        }
        let graph = crate::parse("t.yaml", yaml.as_bytes()).unwrap().playbook.graph;
        let steps = |names: &str| -> BTreeSet<StepIndex> {
            names.split_whitespace().map(|name| graph.index_of(name).unwrap()).collect()
        };
        let join = graph.index_of(join).unwrap();
        let live = steps(live);
        let waits = graph.must_wait(join, &steps(arrived), |step| live.contains(&step));
        assert_eq!(waits, expected);
    }

    #[test]
    fn a_join_waits_for_a_live_branch() {
        check("a>b a>c b>d c>d", "d", "b", "c", true);
        check("a>b a>c b>d c>d", "d", "b c", "", false);
    }

    #[test]
    fn a_join_does_not_wait_for_a_branch_that_was_not_taken() {
        check("a>b a>c c>e b>d e>d", "d", "b", "", false);
        check("a>b a>c c>e b>d e>d", "d", "b", "c", true);
    }

    #[test]
    fn a_join_does_not_wait_for_what_only_it_leads_to() {
        check("a>b b>c c>b", "b", "a", "b", false);
        check("a>b b>c c>b", "b", "a", "c", true);
    }
}
