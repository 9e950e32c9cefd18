//! The steps, arcs and guards of a playbook that its tests have used.

use std::collections::BTreeMap;

use noetl_engine::{GuardResult, GuardSubject, StepExplanation};
use noetl_model::{Event, StepName};
use noetl_playbook::{Playbook, Step};
use serde::Serialize;

/// The uses of the parts of one playbook.
#[derive(Debug, Clone, Default)]
pub struct Coverage {
    /// The number of runs of each step.
    steps: BTreeMap<StepName, u64>,
    /// The number of times that each arc was taken.
    arcs: BTreeMap<(StepName, usize), u64>,
    /// The number of times that each guard held, and that it did not.
    guards: BTreeMap<(StepName, GuardPlace), (u64, u64)>,
}

/// The place of a guard in its step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum GuardPlace {
    StepWhen,
    AdmitRule(usize),
    Arc(usize),
}

impl Coverage {
    /// Counts an event of a step and the guards behind it.
    pub(crate) fn add(&mut self, event: &Event, explained: Option<StepExplanation>) {
        if let Event::StepEntered { step, .. } = event {
            *self.steps.entry(step.clone()).or_default() += 1;
        }
        let Some(StepExplanation { step, guards }) = explained else { return };
        for guard in guards {
            let place = match guard.subject {
                GuardSubject::StepWhen => GuardPlace::StepWhen,
                GuardSubject::AdmitRule { index, .. } => GuardPlace::AdmitRule(index),
                GuardSubject::Arc { index, .. } => GuardPlace::Arc(index),
            };
            let (held, failed) = match guard.result {
                GuardResult::Held => (1, 0),
                GuardResult::NotHeld | GuardResult::Error(_) => (0, 1),
                GuardResult::NotEvaluated => continue,
            };
            if let (GuardPlace::Arc(index), 1) = (place, held) {
                *self.arcs.entry((step.clone(), index)).or_default() += 1;
            }
            if guard.when.is_some() {
                let count = self.guards.entry((step.clone(), place)).or_default();
                *count = (count.0 + held, count.1 + failed);
            }
        }
    }

    /// Adds the uses of another run of the same playbook.
    pub fn merge(&mut self, other: &Coverage) {
        for (step, runs) in &other.steps {
            *self.steps.entry(step.clone()).or_default() += runs;
        }
        for (arc, taken) in &other.arcs {
            *self.arcs.entry(arc.clone()).or_default() += taken;
        }
        for (guard, (held, failed)) in &other.guards {
            let count = self.guards.entry(guard.clone()).or_default();
            *count = (count.0 + held, count.1 + failed);
        }
    }
}

/// The coverage of one playbook, part by part.
#[derive(Debug, Clone, Serialize)]
pub struct CoverageReport {
    pub playbook: String,
    pub steps_covered: usize,
    pub steps: usize,
    pub arcs_covered: usize,
    pub arcs: usize,
    /// Each guard counts twice: once for each of its results.
    pub guards_covered: usize,
    pub guards: usize,
    /// The steps that never ran.
    pub steps_missed: Vec<StepName>,
    /// The arcs that were never taken.
    pub arcs_missed: Vec<ArcCoverage>,
    /// The guards that never held, or always did.
    pub guards_missed: Vec<CoveredGuard>,
}

/// An arc that was never taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ArcCoverage {
    pub from: StepName,
    pub to: StepName,
}

/// A guard of which a result was never seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CoveredGuard {
    pub step: StepName,
    /// The step that the guarded arc leads to; `None` for a guard of the step itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<StepName>,
    pub when: String,
    pub has_held: bool,
    pub has_not_held: bool,
}

/// Returns the coverage of a playbook.
pub fn coverage_report(playbook: &Playbook, coverage: &Coverage) -> CoverageReport {
    let ran = |step: &Step| coverage.steps.contains_key(&step.name);
    let missed = playbook.steps.iter().filter(|step| !ran(step));
    let steps_missed: Vec<StepName> = missed.map(|step| step.name.clone()).collect();
    let mut arcs = 0;
    let (mut arcs_missed, mut guards) = (Vec::new(), Vec::new());
    for step in &playbook.steps {
        for (index, arc) in step.next.arcs.iter().enumerate() {
            arcs += 1;
            let (from, to) = (step.name.clone(), playbook.step(arc.to).name.clone());
            if !coverage.arcs.contains_key(&(from.clone(), index)) {
                arcs_missed.push(ArcCoverage { from, to });
            }
        }
        guards.extend(guards_of(playbook, step, coverage));
    }
    let seen = |guard: &CoveredGuard| usize::from(guard.has_held) + usize::from(guard.has_not_held);
    CoverageReport {
        playbook: playbook.metadata.path.clone(),
        steps_covered: playbook.steps.len() - steps_missed.len(),
        steps: playbook.steps.len(),
        arcs_covered: arcs - arcs_missed.len(),
        arcs,
        guards_covered: guards.iter().map(seen).sum(),
        guards: 2 * guards.len(),
        steps_missed,
        arcs_missed,
        guards_missed: guards.into_iter().filter(|guard| seen(guard) < 2).collect(),
    }
}

fn guards_of(playbook: &Playbook, step: &Step, coverage: &Coverage) -> Vec<CoveredGuard> {
    let own = step.when.iter().map(|when| (GuardPlace::StepWhen, when, None));
    let admit = step.admit.iter().enumerate().filter_map(|(index, rule)| {
        Some((GuardPlace::AdmitRule(index), rule.when.as_ref()?, None))
    });
    let arcs = step.next.arcs.iter().enumerate().filter_map(|(index, arc)| {
        let to = playbook.step(arc.to).name.clone();
        Some((GuardPlace::Arc(index), arc.when.as_ref()?, Some(to)))
    });
    let guards = own.chain(admit).chain(arcs).map(|(place, when, to)| {
        let seen = coverage.guards.get(&(step.name.clone(), place));
        let (held, not_held) = seen.copied().unwrap_or_default();
        CoveredGuard {
            step: step.name.clone(),
            to,
            when: when.source().as_str().map_or_else(|| when.source().to_string(), str::to_owned),
            has_held: held > 0,
            has_not_held: not_held > 0,
        }
    });
    guards.collect()
}
