//! Checksums of replay states, over the public canonical form of JSON: keys sorted by code points,
//! no spaces, unescaped characters, numbers in their shortest form.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::state::{Checksums, ReplayState, ReplayedExecution};

/// A digest and its algorithm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checksum {
    #[serde(rename = "type")]
    pub kind: String,
    /// Lower-case hexadecimal digits.
    pub value: String,
}

impl Checksum {
    fn of(hash: Sha256) -> Self {
        let mut value = String::with_capacity(64);
        for byte in hash.finalize() {
            write!(value, "{byte:02x}").expect("writing to text does not fail");
        }
        Self { kind: "sha256".to_owned(), value }
    }
}

/// Returns the canonical form of a value.
pub fn canonical(value: &impl Serialize) -> String {
    let mut text = String::new();
    write(&mut text, &serde_json::to_value(value).expect("states are plain data"));
    text
}

fn write(out: &mut String, value: &Value) {
    match value {
        Value::Null | Value::Bool(_) | Value::String(_) => {
            write!(out, "{value}").expect("writing to text does not fail");
        }
        Value::Number(number) if number.is_f64() => {
            // The canonical form has no plus sign in an exponent; serde_json may write one.
            out.push_str(&number.to_string().replace("e+", "e"));
        }
        Value::Number(number) => write!(out, "{number}").expect("writing to text does not fail"),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(out, item);
            }
            out.push(']');
        }
        Value::Object(members) => {
            let mut members: Vec<(&String, &Value)> = members.iter().collect();
            members.sort_by_key(|(name, _)| name.as_str());
            out.push('{');
            for (index, (name, member)) in members.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_name(out, name);
                write(out, member);
            }
            out.push('}');
        }
    }
}

fn write_name(out: &mut String, name: &str) {
    let name = serde_json::to_string(name).expect("text is plain data");
    out.push_str(&name);
    out.push(':');
}

/// Returns the digests of a state and of each of its parts. Map entries are serialized one at a
/// time, so that a large state is not held in memory twice.
pub(crate) fn checksums(state: &ReplayState) -> Checksums {
    let mut whole = Members::new();
    let stage = part_of(&state.stages);
    let business_object = whole.part("business_objects", &state.business_objects);
    let commands = state.commands.iter().map(|command| (command.command_id.clone(), command));
    let command = whole.part("commands", commands);
    whole.member("event_count", &state.event_count);
    let execution = whole.execution(&state.execution);
    whole.member("execution_id", &state.execution_id);
    let frame = whole.part("frames", &state.frames);
    whole.optional("last_event_id", state.last_event_id.as_ref());
    whole.optional("last_event_type", state.last_event_type.as_ref());
    let repeat = whole.part("loops", &state.loops);
    whole.member("organization_id", &state.organization_id);
    whole.member("projection", &state.projection);
    let projection_checksums: BTreeMap<String, Checksum> = [
        ("execution", execution),
        ("stage", stage),
        ("frame", frame),
        ("command", command),
        ("business_object", business_object),
        ("loop", repeat),
    ]
    .map(|(name, checksum)| (name.to_owned(), checksum))
    .into();
    whole.member("projection_checksums", &projection_checksums);
    whole.part("stages", &state.stages);
    whole.member("tenant_id", &state.tenant_id);
    whole.optional("truncated", state.truncated.then_some(&true));
    Checksums { checksum: whole.end(), projection_checksums }
}

/// Returns the digest of a map.
fn part_of(map: impl IntoIterator<Item = (impl AsRef<str>, impl Serialize)>) -> Checksum {
    let mut members = Members::new();
    for (name, value) in map {
        members.member(name.as_ref(), &value);
    }
    members.end()
}

/// The running digest of an object whose members are added in key order.
struct Members {
    hash: Sha256,
    buffer: String,
    is_empty: bool,
}

impl Members {
    fn new() -> Self {
        Self { hash: Sha256::new_with_prefix("{"), buffer: String::new(), is_empty: true }
    }

    fn begin(&mut self, name: &str) {
        self.buffer.clear();
        if !self.is_empty {
            self.buffer.push(',');
        }
        self.is_empty = false;
        write_name(&mut self.buffer, name);
    }

    fn member(&mut self, name: &str, value: &impl Serialize) {
        self.begin(name);
        let value = serde_json::to_value(value).expect("states are plain data");
        write(&mut self.buffer, &value);
        self.hash.update(&self.buffer);
    }

    fn optional(&mut self, name: &str, value: Option<&impl Serialize>) {
        if let Some(value) = value {
            self.member(name, value);
        }
    }

    /// Adds the execution, one payload reference at a time. Returns the execution's own digest.
    fn execution(&mut self, execution: &ReplayedExecution) -> Checksum {
        let ReplayedExecution { last_node_name, payload_refs, status } = execution;
        self.begin("execution");
        self.hash.update(&self.buffer);
        let mut alone = Sha256::new();
        let mut both = |text: &str| {
            self.hash.update(text);
            alone.update(text);
        };
        both("{");
        if let Some(name) = last_node_name {
            both(&format!("\"last_node_name\":{},", canonical(name)));
        }
        both("\"payload_refs\":[");
        for (index, payload) in payload_refs.iter().enumerate() {
            if index > 0 {
                both(",");
            }
            both(&canonical(payload));
        }
        both(&format!("],\"status\":{}}}", canonical(status)));
        Checksum::of(alone)
    }

    /// Adds a member that is a map. Returns the map's own digest.
    fn part(
        &mut self,
        name: &str,
        map: impl IntoIterator<Item = (impl AsRef<str>, impl Serialize)>,
    ) -> Checksum {
        self.begin(name);
        self.buffer.push('{');
        self.hash.update(&self.buffer);
        let mut alone = Members::new();
        for (name, value) in map {
            alone.member(name.as_ref(), &value);
            self.hash.update(&alone.buffer);
        }
        self.hash.update("}");
        alone.end()
    }

    fn end(mut self) -> Checksum {
        self.hash.update("}");
        Checksum::of(self.hash)
    }
}
