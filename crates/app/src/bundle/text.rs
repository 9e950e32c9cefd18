//! The text of a bundle: one JSON object per line. The last line has the digest of all others.

use std::collections::BTreeMap;
use std::io::{BufRead, Read as _, Write};
use std::path::Path;

use noetl_model::{Digest, ExecutionId, ForkPoint, Recorded, Timestamp};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{
    BUNDLE_EVENTS_MAX, BUNDLE_FORMAT, Bundle, BundleError, BundledExecution, BundledPlaybook,
};

/// The beginning of every bundle.
const MARK: &str = "{\"begin\":{\"noetl_bundle\":";

/// A line of a bundle.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum BundleLine {
    Begin { noetl_bundle: u32, version: String, exported_at: Timestamp },
    Playbook(BundledPlaybook),
    Payload { digest: Digest, json: String },
    Execution { id: ExecutionId, fork: Option<ForkPoint>, head: Option<Digest> },
    Event(Box<Recorded>),
    End { digest: Digest },
}

/// True if a file begins as a bundle does.
pub fn is_bundle(file: &Path) -> bool {
    let mut start = [0; MARK.len()];
    let read = std::fs::File::open(file).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && start == *MARK.as_bytes()
}

/// A writer that knows the digest of its output.
struct DigestedWriter<W> {
    output: W,
    hasher: Sha256,
}

impl<W: Write> DigestedWriter<W> {
    fn line(&mut self, line: &BundleLine) -> std::io::Result<()> {
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        self.hasher.update(&text);
        self.output.write_all(&text)
    }
}

impl Bundle {
    /// Writes the bundle.
    pub fn write(&self, output: &mut impl Write) -> std::io::Result<()> {
        let mut writer = DigestedWriter { output, hasher: Sha256::new() };
        writer.line(&BundleLine::Begin {
            noetl_bundle: BUNDLE_FORMAT,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            exported_at: self.exported_at,
        })?;
        for playbook in &self.playbooks {
            writer.line(&BundleLine::Playbook(playbook.clone()))?;
        }
        for (digest, json) in &self.payloads {
            writer.line(&BundleLine::Payload { digest: *digest, json: json.clone() })?;
        }
        for BundledExecution { execution, fork, head, events } in &self.executions {
            writer.line(&BundleLine::Execution { id: *execution, fork: *fork, head: *head })?;
            for event in events {
                writer.line(&BundleLine::Event(Box::new(event.clone())))?;
            }
        }
        let digest = Digest::from_bytes(writer.hasher.clone().finalize().into());
        writer.line(&BundleLine::End { digest })
    }

    /// Reads a bundle and checks its digest; the logs are verified by [`Bundle::reader`].
    pub fn read(mut input: impl BufRead) -> Result<Self, BundleError> {
        let mut bundle: Option<Bundle> = None;
        let (mut hasher, mut text, mut events) = (Sha256::new(), Vec::new(), 0);
        for line in 1.. {
            text.clear();
            if input.read_until(b'\n', &mut text)? == 0 {
                break;
            }
            let read = parsed(&text, line)?;
            let Some(bundle) = &mut bundle else {
                bundle = Some(begun(read)?);
                hasher.update(&text);
                continue;
            };
            if let BundleLine::End { digest: written } = read {
                let found = Digest::from_bytes(hasher.finalize().into());
                let is_same = found == written;
                let empty = Bundle::empty(bundle.exported_at);
                let whole = std::mem::replace(bundle, empty);
                return is_same.then_some(whole).ok_or(BundleError::Changed { found, written });
            }
            hasher.update(&text);
            events += usize::from(matches!(read, BundleLine::Event(_)));
            if events > BUNDLE_EVENTS_MAX {
                return Err(BundleError::TooManyEvents);
            }
            bundle.add(read, line)?;
        }
        Err(if bundle.is_some() { BundleError::CutOff } else { BundleError::NotABundle })
    }

    fn empty(exported_at: Timestamp) -> Self {
        let (playbooks, executions) = (Vec::new(), Vec::new());
        Self { exported_at, playbooks, payloads: BTreeMap::new(), executions }
    }

    /// Adds the content of a line between the first and the last.
    fn add(&mut self, line: BundleLine, number: usize) -> Result<(), BundleError> {
        match line {
            BundleLine::Playbook(playbook) => self.playbooks.push(playbook),
            BundleLine::Payload { digest, json } => {
                if Digest::of(json.as_bytes()) != digest {
                    return Err(BundleError::ChangedValue(digest));
                }
                self.payloads.insert(digest, json);
            }
            BundleLine::Execution { id: execution, fork, head } => {
                let events = Vec::new();
                self.executions.push(BundledExecution { execution, fork, head, events });
            }
            BundleLine::Event(event) => {
                let last = self.executions.last_mut();
                last.ok_or(BundleError::LooseEvent(number))?.events.push(*event);
            }
            BundleLine::Begin { .. } | BundleLine::End { .. } => {
                return Err(BundleError::NotABundle);
            }
        }
        Ok(())
    }
}

fn parsed(text: &[u8], line: usize) -> Result<BundleLine, BundleError> {
    serde_json::from_slice(text).map_err(|source| match line {
        1 => BundleError::NotABundle,
        _ => BundleError::BadLine { line, source },
    })
}

/// Returns the bundle that a first line begins.
fn begun(first: BundleLine) -> Result<Bundle, BundleError> {
    match first {
        BundleLine::Begin { noetl_bundle: BUNDLE_FORMAT, version: _, exported_at } => {
            Ok(Bundle::empty(exported_at))
        }
        BundleLine::Begin { noetl_bundle, .. } => Err(BundleError::NewerFormat(noetl_bundle)),
        BundleLine::Playbook(_)
        | BundleLine::Payload { .. }
        | BundleLine::Execution { .. }
        | BundleLine::Event(_)
        | BundleLine::End { .. } => Err(BundleError::NotABundle),
    }
}
