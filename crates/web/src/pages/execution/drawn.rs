//! Playbooks with their layout, kept for the versions that were shown last.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use noetl_app::{App, EntryChoice};
use noetl_model::CatalogId;
use noetl_playbook::Playbook;
use noetl_playbook::layout::{GraphLayout, GraphShape, NodeSize, layout};

use crate::error::PageError;

/// Maximum number of playbooks that are kept.
const KEPT_MAX: usize = 64;

pub(super) const NODE: NodeSize = NodeSize { width: 184.0, height: 52.0, loop_height: 68.0 };

/// A version of a playbook: its text, its meaning and the places of its steps.
#[derive(Debug)]
pub(super) struct DrawnPlaybook {
    pub(super) content: String,
    /// The playbook; `None` if this server cannot read the version.
    pub(super) graph: Option<(Playbook, GraphLayout)>,
}

/// The playbooks shown last, by their id in the catalog.
#[derive(Debug, Clone, Default)]
pub(crate) struct DrawnPlaybooks {
    kept: Arc<Mutex<BTreeMap<CatalogId, Arc<DrawnPlaybook>>>>,
}

impl DrawnPlaybooks {
    pub(super) async fn load(
        &self,
        app: &App,
        id: CatalogId,
    ) -> Result<Arc<DrawnPlaybook>, PageError> {
        if let Some(drawn) = self.lock().get(&id) {
            return Ok(drawn.clone());
        }
        let entry = app.catalog_entry(&EntryChoice::Id(id)).await?;
        let parsed = noetl_playbook::parse(&entry.path, entry.content.as_bytes());
        let graph = parsed.ok().map(|checked| {
            let places = layout(&GraphShape::of(&checked.playbook, NODE, |_| 0.0));
            (checked.playbook, places)
        });
        let drawn = Arc::new(DrawnPlaybook { content: entry.content, graph });
        let mut kept = self.lock();
        if kept.len() >= KEPT_MAX {
            kept.pop_first();
        }
        kept.insert(id, drawn.clone());
        Ok(drawn)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<CatalogId, Arc<DrawnPlaybook>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
