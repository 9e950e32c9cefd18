//! The shape of a playbook: who can come before whom.

use std::collections::{BTreeMap, BTreeSet};

use noetl_model::StepName;

use crate::playbook::{Router, Step, StepIndex};

/// The arcs of a playbook, turned around, and what each join may have to wait for.
#[derive(Debug, Clone, Default)]
pub struct Graph {
    by_name: BTreeMap<StepName, StepIndex>,
    predecessors: Vec<BTreeSet<StepIndex>>,
    /// For a step with several predecessors: from where each can still be reached.
    upstream: BTreeMap<StepIndex, Vec<(StepIndex, Steps)>>,
}

/// A set of steps, one bit each: a large playbook has thousands of such sets.
#[derive(Debug, Clone)]
struct Steps(Vec<u64>);

impl Steps {
    fn none_of(count: usize) -> Self {
        Self(vec![0; count.div_ceil(64)])
    }

    /// Adds a step; false if it was there.
    fn insert(&mut self, step: StepIndex) -> bool {
        let (word, bit) = (step.0 / 64, 1 << (step.0 % 64));
        let is_new = self.0[word] & bit == 0;
        self.0[word] |= bit;
        is_new
    }

    fn contains(&self, step: StepIndex) -> bool {
        self.0[step.0 / 64] & (1 << (step.0 % 64)) != 0
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
        let joins = (0..steps.len()).map(StepIndex).filter(|step| predecessors[step.0].len() > 1);
        let upstream = joins
            .map(|join| {
                let per_predecessor = predecessors[join.0]
                    .iter()
                    .map(|&from| (from, ancestors(from, join, &predecessors)))
                    .collect();
                (join, per_predecessor)
            })
            .collect();
        let by_name = routers
            .iter()
            .enumerate()
            .map(|(index, (name, _))| ((*name).clone(), StepIndex(index)))
            .collect();
        Self { by_name, predecessors, upstream }
    }

    pub fn index_of(&self, name: &str) -> Option<StepIndex> {
        self.by_name.get(name).copied()
    }

    pub fn predecessors(&self, step: StepIndex) -> &BTreeSet<StepIndex> {
        &self.predecessors[step.0]
    }

    /// Whether `join`, which `arrived` have led to, must wait for one of the `live` steps: one that
    /// is, or can still lead to, a predecessor that has not arrived, without passing `join` itself.
    pub fn must_wait(
        &self,
        join: StepIndex,
        arrived: &BTreeSet<StepIndex>,
        live: &BTreeSet<StepIndex>,
    ) -> bool {
        self.upstream.get(&join).is_some_and(|per_predecessor| {
            per_predecessor
                .iter()
                .filter(|(from, _)| !arrived.contains(from))
                .any(|(_, sources)| live.iter().any(|step| sources.contains(*step)))
        })
    }
}

/// Every step from which `to` can be reached without passing `avoid`; `to` included.
fn ancestors(to: StepIndex, avoid: StepIndex, predecessors: &[BTreeSet<StepIndex>]) -> Steps {
    let mut found = Steps::none_of(predecessors.len());
    let mut waiting = vec![to];
    while let Some(step) = waiting.pop() {
        if step != avoid && found.insert(step) {
            waiting.extend(predecessors[step.0].iter().copied());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::playbook::StepIndex;

    /// Checks whether a join waits, given arcs as `from>to`, who has arrived and who is still live.
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
        assert_eq!(graph.must_wait(join, &steps(arrived), &steps(live)), expected);
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
