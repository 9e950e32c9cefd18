//! Checks that at every event of a log the fold from the first event, the fold that continues from
//! a snapshot and the live state are equal.

use noetl_engine::{Execution, begin, evolve};
use noetl_model::{Cutoff, ExecutionId, Recorded};

use super::EndedWorld;

/// The length of the checksum at the start of a snapshot.
const CHECKSUM_LEN: usize = 32;

impl EndedWorld<'_> {
    pub(super) async fn past(
        &self,
        execution: ExecutionId,
        log: &[Recorded],
    ) -> Result<(), String> {
        let mut scratch: Option<Execution> = None;
        // The state is saved and loaded after every event: if it is right everywhere, then so is a
        // fold that continues from any earlier snapshot.
        let mut reloaded: Option<Execution> = None;
        for recorded in log {
            let seq = recorded.seq;
            let wrong = |what: &str| format!("{what} event {seq} is not the fold up to there");
            let scratch = folded(execution, &mut scratch, recorded)?;
            let state = folded(execution, &mut reloaded, recorded)?;
            *state = stored_form(state)?;
            if state != scratch {
                return Err(wrong("the state that was saved and loaded at every event before"));
            }
            let shown = self.pages.shown.get(&(execution, seq));
            if shown.is_some_and(|shown| *shown != scratch.summary()) {
                return Err(wrong("what was shown at"));
            }
            // A state ahead of the log may have been saved.
            let saved = self
                .pages
                .snapshots
                .iter()
                .filter(|(of, it)| *of == execution && it.seq == seq && !self.pages.restored);
            for (_, snapshot) in saved {
                if &of_json(&snapshot.body[CHECKSUM_LEN..])? != scratch {
                    return Err(wrong("a snapshot at"));
                }
            }
            let served = self.control.state(execution, Cutoff::Seq(seq)).await;
            let served = served.map_err(|error| format!("no state at {seq}: {error:?}"))?;
            if served != *scratch {
                return Err(wrong("the state served for"));
            }
        }
        Ok(())
    }
}

/// Applies one more event to a state.
fn folded<'a>(
    execution: ExecutionId,
    state: &'a mut Option<Execution>,
    recorded: &Recorded,
) -> Result<&'a mut Execution, String> {
    match state {
        Some(state) => evolve(state, recorded).map_err(|illegal| illegal.to_string())?,
        None => *state = Some(begin(execution, recorded).map_err(|illegal| illegal.to_string())?),
    }
    Ok(state.as_mut().expect("it has seen an event"))
}

/// Returns a state after saving and loading it.
fn stored_form(state: &Execution) -> Result<Execution, String> {
    of_json(&serde_json::to_vec(state).map_err(|error| error.to_string())?)
}

fn of_json(json: &[u8]) -> Result<Execution, String> {
    serde_json::from_slice(json).map_err(|error| format!("a snapshot cannot be read: {error}"))
}
