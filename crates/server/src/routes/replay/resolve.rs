//! Looks up the payloads that a replay refers to, without showing their values.

use noetl_compat::{PayloadSummary, Reference, ReplayState, canonical, digest_named};
use noetl_model::Digest;
use serde::Serialize;
use serde_json::Value;

use crate::response::error::ApiError;
use crate::state::AppState;

/// Maximum number of payloads looked up per answer.
const RESOLVED_MAX: usize = 100;

/// The payloads that were looked up.
#[derive(Debug, Serialize)]
pub(super) struct Resolved {
    payload_resolution: Vec<PayloadLookup>,
    payload_resolution_summary: ResolutionSummary,
}

#[derive(Debug, Serialize)]
struct PayloadLookup {
    scope: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    event_id: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    frame_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    object_key: Option<String>,
    reference_summary: PayloadSummary,
    resolution: Resolution,
}

#[derive(Debug, Clone, Default, Serialize)]
struct Resolution {
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

/// A reference to a payload and where it occurs.
struct Mention<'a> {
    scope: &'static str,
    event_id: Option<i64>,
    frame_id: Option<String>,
    object_key: Option<String>,
    reference: &'a Reference,
}

/// Looks up the payloads that a replay refers to, each once.
pub(super) async fn resolve(
    state: &AppState,
    replayed: &ReplayState,
) -> Result<Resolved, ApiError> {
    let mut seen: Vec<Option<Value>> = Vec::new();
    let mut found: Vec<PayloadLookup> = Vec::new();
    let mut truncated = false;
    for mention in mentions(replayed) {
        let summary = mention.reference.summary();
        if seen.contains(&summary.locator) {
            continue;
        }
        if found.len() == RESOLVED_MAX {
            truncated = true;
            break;
        }
        seen.push(summary.locator.clone());
        let resolution = look_up(state, mention.reference, summary.locator.clone()).await?;
        found.push(PayloadLookup {
            scope: mention.scope,
            event_id: mention.event_id,
            frame_id: mention.frame_id,
            object_key: mention.object_key,
            reference_summary: summary,
            resolution,
        });
    }
    let resolved = found.iter().filter(|lookup| lookup.resolution.resolved).count();
    let summary = ResolutionSummary {
        total: found.len(),
        resolved,
        unresolved: found.len() - resolved,
        unique_refs: seen.len(),
        all_resolved: resolved == found.len() && !truncated,
        checksum: Digest::of(canonical(&found).as_bytes()),
        truncated,
    };
    Ok(Resolved { payload_resolution: found, payload_resolution_summary: summary })
}

fn mentions(replayed: &ReplayState) -> impl Iterator<Item = Mention<'_>> {
    let nothing = |reference| Mention {
        scope: "execution",
        event_id: None,
        frame_id: None,
        object_key: None,
        reference,
    };
    let of_execution = replayed.execution.payload_refs.iter().map(move |payload| Mention {
        event_id: Some(payload.event_id),
        ..nothing(&payload.reference)
    });
    let of_frames = replayed.frames.values().filter_map(move |frame| {
        let reference = frame.output_ref.as_ref()?;
        Some(Mention {
            scope: "frame",
            event_id: frame.terminal_event_id,
            frame_id: Some(frame.frame_id.to_string()),
            ..nothing(reference)
        })
    });
    let of_objects = replayed.business_objects.values().flat_map(move |object| {
        object.payload_refs.iter().map(move |payload| Mention {
            scope: "business_object",
            event_id: Some(payload.event_id),
            object_key: Some(object.object_key.to_string()),
            ..nothing(&payload.reference)
        })
    });
    of_execution.chain(of_frames).chain(of_objects)
}

async fn look_up(
    state: &AppState,
    reference: &Reference,
    locator: Option<Value>,
) -> Result<Resolution, ApiError> {
    let missing = |error| Resolution {
        locator: locator.clone(),
        error: Some(error),
        ..Resolution::default()
    };
    let Some(digest) = digest_named(reference) else {
        return Ok(missing("not a value that this server keeps"));
    };
    let Some(bytes) = state.store().payload(&digest).await? else {
        return Ok(missing("the value is not there any more"));
    };
    let Ok(value) = serde_json::from_slice::<Value>(&bytes) else {
        return Ok(missing("the value is not JSON"));
    };
    let row_count = value.as_array().map(Vec::len);
    Ok(Resolution {
        resolved: true,
        checksum: Some(Digest::of(&bytes)),
        size_bytes: Some(bytes.len()),
        row_count,
        value_type: Some(type_of(&value)),
        ..Resolution { locator, ..Resolution::default() }
    })
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
