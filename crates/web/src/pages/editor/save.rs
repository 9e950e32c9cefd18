//! Saving the text of the editor as a version.

use noetl_app::{CatalogError, EntryPath};
use noetl_control::RegisterError;
use noetl_model::ExecutionId;

use super::view::{EditedDocument, EditorNotice};
use crate::error::PageError;
use crate::request::PageRequest;

/// A version that has the text of the editor.
pub(super) struct SavedVersion {
    pub(super) path: String,
    pub(super) version: u32,
    /// True if the version was made by this form.
    pub(super) is_new: bool,
    /// The execution of it that was started.
    pub(super) run: Option<ExecutionId>,
}

/// Saves a text as the next version of its path, unless somebody has saved another one meanwhile.
pub(super) async fn save(
    page: &PageRequest,
    document: &EditedDocument,
    content: &str,
) -> Result<SavedVersion, EditorNotice> {
    let (expected, base) = match document {
        EditedDocument::New => (None, None),
        EditedDocument::Existing { path, base } => {
            (Some(EntryPath::Named(path.clone())), Some(*base))
        }
    };
    match page.app().save_edited(content, expected, base).await {
        Ok(registered) => {
            let entry = registered.entry;
            let is_new = base != Some(entry.version);
            Ok(SavedVersion { path: entry.path, version: entry.version, is_new, run: None })
        }
        Err(CatalogError::Register(RegisterError::Invalid(_))) => Err(EditorNotice::Invalid),
        Err(CatalogError::Changed { path, newest, .. }) => Err(match document {
            EditedDocument::New => EditorNotice::Exists { path, version: newest },
            EditedDocument::Existing { .. } => EditorNotice::Conflict { newest },
        }),
        Err(error) => Err(EditorNotice::of(page, &PageError::from(error))),
    }
}
