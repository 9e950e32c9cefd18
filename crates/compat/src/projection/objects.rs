//! Business objects: entities outside the execution that events describe.

use serde_json::{Map, Value};

use super::reference::sorted;
use super::state::{BusinessObject, ReferredPayload};
use super::{ReplayEvent, fold::InternedTexts};

impl BusinessObject {
    pub(crate) fn see(
        &mut self,
        event: &ReplayEvent<'_>,
        words: &mut InternedTexts,
        payload: Option<&ReferredPayload>,
    ) {
        self.first_event_id.get_or_insert(event.event_id);
        self.last_event_id = Some(event.event_id);
        self.last_event_type = Some(words.of(&event.event_type));
        self.event_count += 1;
        let nested = event.meta.get("business_object");
        let version = nested.and_then(|it| it.get("version")?.as_i64());
        let version = version.or_else(|| event.meta_integer("business_object_version"));
        self.version = version.unwrap_or(self.event_count);
        if let Some(status) = status_after(event) {
            self.status = words.of(status);
            if status == "DELETED" {
                self.deleted_event_id = Some(event.event_id);
            }
        }
        let object = |key: &str| nested.and_then(|it| it.get(key)?.as_object());
        if let Some(state) = object("state") {
            self.attributes = in_order(state.clone());
        }
        if let Some(patch) = object("patch").or_else(|| object("attributes")) {
            let mut attributes = std::mem::take(&mut self.attributes);
            attributes.extend(patch.iter().map(|(name, value)| (name.clone(), value.clone())));
            self.attributes = in_order(attributes);
        }
        if let Some(payload) = payload {
            self.payload_refs.push(payload.clone());
            self.last_payload_ref = Some(payload.clone());
        }
    }
}

/// Returns the status of an object after an event; `None` if the event does not change it.
fn status_after<'a>(event: &'a ReplayEvent<'_>) -> Option<&'a str> {
    if !event.status.is_empty() {
        return Some(&event.status);
    }
    let ends = |suffixes: &[&str]| suffixes.iter().any(|suffix| event.event_type.ends_with(suffix));
    if ends(&[".deleted", ".removed"]) {
        return Some("DELETED");
    }
    ends(&[".created", ".updated", ".upserted"]).then_some("ACTIVE")
}

fn in_order(attributes: Map<String, Value>) -> Map<String, Value> {
    let Value::Object(attributes) = sorted(&Value::Object(attributes)) else {
        unreachable!("an object stays one")
    };
    attributes
}
