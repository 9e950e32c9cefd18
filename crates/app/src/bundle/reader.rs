//! Executions of a bundle in memory, for every command that reads.

use std::collections::BTreeMap;
use std::sync::Arc;

use noetl_control::CopiedLog;
use noetl_model::{ExecutionId, Recorded, Seq};
use noetl_store::{Append, CatalogEntry, EventLog as _, MemoryStore, SystemClock};

use super::{Bundle, BundleError, BundledExecution, BundledPlaybook};
use crate::store_reader::StoreReader;

impl Bundle {
    /// Verifies every log and returns a reader of the bundle's executions and playbooks.
    pub async fn reader(self) -> Result<StoreReader, BundleError> {
        let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
        for BundledPlaybook { catalog_id, path, version, content } in self.playbooks {
            store.insert_version(CatalogEntry {
                catalog_id,
                path,
                version,
                kind: "Playbook".to_owned(),
                content,
                created_at: self.exported_at,
                archived_at: None,
            });
        }
        let mut logs = WholeLogs::default();
        for bundled in self.executions {
            let execution = bundled.execution;
            let mut append = logs.append(&bundled)?;
            let digests = bundled.events.iter().flat_map(|it| it.event.payload_digests());
            for digest in digests {
                if let Some(json) = self.payloads.get(&digest) {
                    append.payloads.push((digest, Arc::new(json.clone().into_bytes())));
                }
            }
            logs.add(bundled)?;
            let written = store.append(&[append]).await?;
            let failed = written.into_iter().find_map(Result::err);
            if let Some(source) = failed {
                return Err(BundleError::Append { execution, source });
            }
        }
        Ok(StoreReader::new(store))
    }
}

/// The logs read so far, for the forks that follow.
#[derive(Default)]
struct WholeLogs {
    executions: BTreeMap<ExecutionId, WholeLog>,
}

/// A log with the events that it shares with its origin.
struct WholeLog {
    root: ExecutionId,
    events: Vec<Recorded>,
}

impl WholeLogs {
    /// Verifies the log of an execution and returns the append that writes it.
    fn append(&self, bundled: &BundledExecution) -> Result<Append, BundleError> {
        let BundledExecution { execution, head, events, .. } = bundled;
        let (root, shared) = self.shared(bundled)?;
        let copied =
            CopiedLog { execution: *execution, root, shared: &shared, own: events, head: *head };
        copied.append(Vec::new()).map_err(|fault| BundleError::Log { execution: *execution, fault })
    }

    /// Keeps a log that was verified.
    fn add(&mut self, bundled: BundledExecution) -> Result<(), BundleError> {
        let (root, mut events) = self.shared(&bundled)?;
        events.extend(bundled.events);
        self.executions.insert(bundled.execution, WholeLog { root, events });
        Ok(())
    }

    /// Returns the oldest origin of an execution, and the events that it shares with its origin.
    fn shared(
        &self,
        bundled: &BundledExecution,
    ) -> Result<(ExecutionId, Vec<Recorded>), BundleError> {
        let Some(fork) = bundled.fork else { return Ok((bundled.execution, Vec::new())) };
        let (execution, origin) = (bundled.execution, fork.execution);
        let log = self.executions.get(&origin);
        let WholeLog { root, events, .. } =
            log.ok_or(BundleError::NoOrigin { execution, origin })?;
        let until = |seq: Seq| events.partition_point(|recorded| recorded.seq <= seq);
        Ok((*root, events[..until(fork.seq)].to_vec()))
    }
}
