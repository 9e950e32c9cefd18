//! The state that a replay returns, in the shape of the API response.
//!
//! Invariant: unknown fields are omitted, never null; checksums depend on it.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::ser::SerializeStruct as _;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::canon::Checksum;
use super::commands::Commands;
use super::reference::{PayloadSummary, Reference};

/// Text shared by many entries.
pub(crate) type Word = Arc<str>;

/// The state of a replay up to some event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReplayState {
    pub tenant_id: String,
    pub organization_id: String,
    pub execution_id: i64,
    pub projection: String,
    pub event_count: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_event_id: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_event_type: Option<String>,
    pub execution: ReplayedExecution,
    pub stages: BTreeMap<Word, Stage>,
    pub frames: BTreeMap<Word, Frame>,
    pub commands: Commands,
    pub business_objects: BTreeMap<Word, BusinessObject>,
    pub loops: BTreeMap<Word, ProjectedLoop>,
    /// True if the log has more events than were requested.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    #[serde(flatten, default, skip_serializing_if = "Option::is_none")]
    pub checksums: Option<Checksums>,
}

impl ReplayState {
    /// Returns the projections as a JSON document, without counters and checksums.
    pub fn document(&self) -> Value {
        json!({
            "execution": self.execution,
            "stages": self.stages,
            "frames": self.frames,
            "commands": self.commands,
            "business_objects": self.business_objects,
            "loops": self.loops,
        })
    }
}

/// The digests of the whole state and of its parts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checksums {
    pub checksum: Checksum,
    pub projection_checksums: BTreeMap<String, Checksum>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReplayedExecution {
    pub status: Word,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_node_name: Option<Word>,
    pub payload_refs: Vec<ReferredPayload>,
}

/// A result stored outside its event.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ReferredPayload {
    pub event_id: i64,
    pub reference: Reference,
}

impl Serialize for ReferredPayload {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("ReferredPayload", 3)?;
        fields.serialize_field("event_id", &self.event_id)?;
        fields.serialize_field("reference", &self.reference)?;
        fields.serialize_field("summary", &self.reference.summary())?;
        fields.end()
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    pub stage_id: Word,
    pub status: Word,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Word>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_name: Option<Word>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_stage_id: Option<Word>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loop_event_id: Option<Word>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opened_event_id: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_event_id: Option<i64>,
    pub frame_count: i64,
    pub row_count: i64,
    pub events_emitted: i64,
    pub failed_count: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_event_id: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Frame {
    pub frame_id: Word,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage_id: Option<Word>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_frame_id: Option<Word>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command_id: Option<Word>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed_event_id: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminal_event_id: Option<i64>,
    pub status: Word,
    pub row_count: i64,
    pub attempts: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_event_id: Option<i64>,
    pub events_emitted: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_ref: Option<Reference>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_ref_summary: Option<PayloadSummary>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProjectedLoop {
    pub loop_id: Word,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_name: Option<Word>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<i64>,
    pub done: u64,
    pub failed: u64,
    pub completed: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_event_id: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BusinessObject {
    pub object_key: Word,
    pub object_type: Word,
    pub object_id: Word,
    pub status: Word,
    pub version: i64,
    pub event_count: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_event_id: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_event_id: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted_event_id: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_event_type: Option<Word>,
    pub attributes: Map<String, Value>,
    pub payload_refs: Vec<ReferredPayload>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_payload_ref: Option<ReferredPayload>,
}
