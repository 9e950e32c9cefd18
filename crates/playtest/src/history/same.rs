//! The comparison of a decided event with a recorded one.

use noetl_model::{Event, Payload, Recorded};
use serde_json::Value;

use super::StoredValues;

/// True if two events say the same. Large values are compared by content, and messages of
/// notifications, which contain addresses of the server, are left out.
pub(super) fn is_same(decided: &Event, recorded: &Recorded, values: &StoredValues) -> bool {
    let Recorded { at, event: recorded, .. } = recorded;
    if let (
        Event::TimerSet { timer, purpose, .. },
        Event::TimerSet { timer: recorded, due_at, purpose: of },
    ) = (decided, recorded)
        && due_at < at
    {
        // The clock of the server had been set back, and the log does not have its time.
        return (timer, purpose) == (recorded, of);
    }
    if let (
        Event::NotificationRequested { reason: decided, document: None, .. },
        Event::NotificationRequested { reason: recorded, document: None, .. },
    ) = (decided, recorded)
    {
        return decided == recorded;
    }
    inlined(decided, values) == inlined(recorded, values)
}

/// Returns an event with its values in it.
fn inlined(event: &Event, values: &StoredValues) -> Event {
    let mut event = event.clone();
    for payload in event.payloads_mut() {
        if let Payload::Ref(reference) = payload
            && let Some(value) = values.get(&reference.digest)
        {
            *payload = Payload::Inline(value.clone());
        }
    }
    if let Event::ContextUpdated { values: inline, large, .. } = &mut event {
        for (name, reference) in std::mem::take(large) {
            let value = values.get(&reference.digest).map(|value| Value::clone(value));
            inline.insert(name, value.unwrap_or(Value::Null));
        }
    }
    event
}
