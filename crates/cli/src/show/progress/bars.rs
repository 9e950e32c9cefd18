//! Progress on a terminal: a line for each running step, a bar for each loop.

use std::collections::BTreeMap;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use noetl_model::ExecutionId;

use super::{NAME_WIDTH, write_line};
use crate::show::overview::{Overview, OverviewChange, StepView};
use crate::show::terminal::shown;

/// Interval of the animation.
const TICK: Duration = Duration::from_millis(100);
/// The most redraws per second.
const DRAWS_PER_SECOND: u8 = 15;
const STEP: &str = "{spinner} {prefix}  running    {elapsed:>8}";
const LOOP: &str = "{spinner} {prefix}  [{bar:24}] {pos}/{len}  {elapsed:>8}";
const CURSOR: &str = "{spinner} {prefix}  {pos} items  {elapsed:>8}";

/// A step of an execution, by its index in the overview.
type RunningStep = (ExecutionId, usize);

/// The lines of the running steps.
pub(crate) struct Bars {
    all: MultiProgress,
    running: BTreeMap<RunningStep, ProgressBar>,
    color: bool,
}

impl Bars {
    pub(super) fn new(color: bool) -> Self {
        let target = ProgressDrawTarget::stderr_with_hz(DRAWS_PER_SECOND);
        Self { all: MultiProgress::with_draw_target(target), running: BTreeMap::new(), color }
    }

    pub(super) fn update(&mut self, overview: &Overview, change: OverviewChange) {
        let execution = overview.execution;
        match change {
            OverviewChange::Nothing | OverviewChange::Retrying(..) => {}
            OverviewChange::StepEntered(step) => {
                self.begin((execution, step), &overview.steps[step])
            }
            OverviewChange::ItemsEnded(step) => {
                self.count((execution, step), &overview.steps[step])
            }
            OverviewChange::StepEnded(step) => self.end((execution, step)),
            OverviewChange::ExecutionEnded => {
                (0..overview.steps.len()).for_each(|step| self.end((execution, step)));
            }
        }
    }

    /// Prints a line above the bars.
    pub(super) fn say(&self, text: &str) {
        self.all.suspend(|| write_line(self.color, text));
    }

    pub(super) fn finish(self) {
        let _unheard = self.all.clear();
    }

    fn begin(&mut self, step: RunningStep, view: &StepView) {
        let bar = self.all.add(ProgressBar::no_length());
        bar.set_style(style(STEP));
        bar.set_prefix(shown(&format!("step {:NAME_WIDTH$}", view.step.as_str()), false));
        bar.enable_steady_tick(TICK);
        if let Some(earlier) = self.running.insert(step, bar) {
            earlier.finish_and_clear();
        }
    }

    fn count(&self, step: RunningStep, view: &StepView) {
        let (Some(bar), Some(items)) = (self.running.get(&step), view.items) else { return };
        if items.ended() == 0 {
            bar.set_style(style(if items.total.is_some() { LOOP } else { CURSOR }));
        }
        if let Some(total) = items.total {
            bar.set_length(total);
        }
        bar.set_position(items.ended());
    }

    fn end(&mut self, step: RunningStep) {
        if let Some(bar) = self.running.remove(&step) {
            bar.finish_and_clear();
            self.all.remove(&bar);
        }
    }
}

fn style(template: &str) -> ProgressStyle {
    let style = ProgressStyle::with_template(template).expect("the templates are well formed");
    style.progress_chars("━╸ ")
}
