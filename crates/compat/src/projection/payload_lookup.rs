//! Metadata of the payloads that a replay refers to, in the published form.

use noetl_model::Digest;
use serde::Serialize;
use serde_json::Value;

use super::canon::canonical;
use super::{PayloadSummary, Reference, ReplayState};

/// Maximum number of payloads looked up for one replay.
const LOOKUPS_MAX: usize = 100;

/// A reference to a payload and the place of a replay in which it occurs.
#[derive(Debug)]
pub struct PayloadMention<'a> {
    pub reference: &'a Reference,
    summary: PayloadSummary,
    scope: &'static str,
    event_id: Option<i64>,
    frame_id: Option<String>,
    object_key: Option<String>,
}

/// References of a replay to different payloads.
#[derive(Debug)]
pub struct PayloadMentions<'a> {
    pub list: Vec<PayloadMention<'a>>,
    /// True if the replay refers to more payloads than are looked up.
    pub is_truncated: bool,
}

/// The result of looking a payload up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PayloadLookup {
    /// The reference names another place than this server's payload store.
    Elsewhere,
    Deleted,
    Stored(Vec<u8>),
}

/// The payloads that were looked up.
#[derive(Debug, Serialize)]
pub struct ResolvedPayloads {
    payload_resolution: Vec<ResolvedPayload>,
    payload_resolution_summary: ResolutionSummary,
}

#[derive(Debug, Serialize)]
pub struct ResolvedPayload {
    scope: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    event_id: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    frame_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    object_key: Option<String>,
    reference_summary: PayloadSummary,
    resolution: PayloadMetadata,
}

#[derive(Debug, Clone, Default, Serialize)]
struct PayloadMetadata {
    #[serde(rename = "ref")]
    locator: Option<Value>,
    resolved: bool,
    checksum: Option<Digest>,
    size_bytes: Option<usize>,
    row_count: Option<usize>,
    value_type: Option<&'static str>,
    error: Option<&'static str>,
}

#[derive(Debug, Serialize)]
struct ResolutionSummary {
    total: usize,
    resolved: usize,
    unresolved: usize,
    unique_refs: usize,
    all_resolved: bool,
    checksum: Digest,
    /// True if there are more references than were looked up.
    truncated: bool,
}

/// Returns the references of a replay to different payloads.
pub fn distinct_payload_mentions(state: &ReplayState) -> PayloadMentions<'_> {
    let mut list: Vec<PayloadMention<'_>> = Vec::new();
    for mention in mentions(state) {
        if list.iter().any(|known| known.summary.locator == mention.summary.locator) {
            continue;
        }
        if list.len() == LOOKUPS_MAX {
            return PayloadMentions { list, is_truncated: true };
        }
        list.push(mention);
    }
    PayloadMentions { list, is_truncated: false }
}

fn mentions(state: &ReplayState) -> impl Iterator<Item = PayloadMention<'_>> {
    let of_execution = state.execution.payload_refs.iter().map(|payload| PayloadMention {
        event_id: Some(payload.event_id),
        ..PayloadMention::new("execution", &payload.reference)
    });
    let of_frames = state.frames.values().filter_map(|frame| {
        let reference = frame.output_ref.as_ref()?;
        Some(PayloadMention {
            event_id: frame.terminal_event_id,
            frame_id: Some(frame.frame_id.to_string()),
            ..PayloadMention::new("frame", reference)
        })
    });
    let of_objects = state.business_objects.values().flat_map(|object| {
        object.payload_refs.iter().map(|payload| PayloadMention {
            event_id: Some(payload.event_id),
            object_key: Some(object.object_key.to_string()),
            ..PayloadMention::new("business_object", &payload.reference)
        })
    });
    of_execution.chain(of_frames).chain(of_objects)
}

impl<'a> PayloadMention<'a> {
    fn new(scope: &'static str, reference: &'a Reference) -> Self {
        let summary = reference.summary();
        Self { reference, summary, scope, event_id: None, frame_id: None, object_key: None }
    }

    /// Describes the payload by the result of its lookup.
    pub fn resolved(self, lookup: &PayloadLookup) -> ResolvedPayload {
        let locator = self.summary.locator.clone();
        ResolvedPayload {
            scope: self.scope,
            event_id: self.event_id,
            frame_id: self.frame_id,
            object_key: self.object_key,
            reference_summary: self.summary,
            resolution: PayloadMetadata { locator, ..PayloadMetadata::of(lookup) },
        }
    }
}

impl PayloadMetadata {
    fn of(lookup: &PayloadLookup) -> Self {
        let missing = |error| Self { error: Some(error), ..Self::default() };
        let bytes = match lookup {
            PayloadLookup::Elsewhere => return missing("the value is not stored by this server"),
            PayloadLookup::Deleted => return missing("the value was deleted"),
            PayloadLookup::Stored(bytes) => bytes,
        };
        let Ok(value) = serde_json::from_slice::<Value>(bytes) else {
            return missing("the value is not JSON");
        };
        Self {
            resolved: true,
            checksum: Some(Digest::of(bytes)),
            size_bytes: Some(bytes.len()),
            row_count: value.as_array().map(Vec::len),
            value_type: Some(type_of(&value)),
            ..Self::default()
        }
    }
}

impl ResolvedPayloads {
    pub fn new(payloads: Vec<ResolvedPayload>, is_truncated: bool) -> Self {
        let total = payloads.len();
        let resolved = payloads.iter().filter(|payload| payload.resolution.resolved).count();
        let payload_resolution_summary = ResolutionSummary {
            total,
            resolved,
            unresolved: total - resolved,
            unique_refs: total,
            all_resolved: resolved == total && !is_truncated,
            checksum: Digest::of(canonical(&payloads).as_bytes()),
            truncated: is_truncated,
        };
        Self { payload_resolution: payloads, payload_resolution_summary }
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
