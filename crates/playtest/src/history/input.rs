//! The inputs behind the events of a log, with the values that the log stores elsewhere.

use noetl_engine::{EventOrigin, Execution, StartInput, origin_of, recorded_form};
use noetl_model::{Event, Payload, Recorded};
use serde_json::{Map, Value};

use super::{HistoryError, StoredValues};

/// Returns the start that a recorded first event describes.
pub(super) fn start_input(
    event: &Event,
    values: &StoredValues,
) -> Result<StartInput, HistoryError> {
    let Event::ExecutionStarted { workload, .. } = event else {
        return Err(HistoryError::NoStart);
    };
    StartInput::recorded(event, object(workload, values)?).ok_or(HistoryError::NoStart)
}

/// Returns the origin of an event that no earlier decision explains.
pub(super) fn undecided_origin(
    state: &Execution,
    recorded: &Recorded,
    values: &StoredValues,
) -> Result<EventOrigin, HistoryError> {
    let form = match recorded_form(&recorded.event) {
        Some(form) => object(form, values)?,
        None => Map::new(),
    };
    Ok(origin_of(state, recorded, form))
}

fn object(payload: &Payload, values: &StoredValues) -> Result<Map<String, Value>, HistoryError> {
    let value = match payload {
        Payload::Inline(value) => value,
        Payload::Ref(reference) => {
            values.get(&reference.digest).ok_or(HistoryError::MissingValue(reference.digest))?
        }
    };
    Ok(value.as_object().cloned().unwrap_or_default())
}
