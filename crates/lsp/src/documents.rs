//! The texts of the documents that the editor has open.

use std::collections::HashMap;

use lsp_types::Uri;

/// The largest number of open documents.
pub(crate) const DOCUMENTS_MAX: usize = 1000;

/// The texts of the open documents, by address.
#[derive(Debug, Default)]
pub(crate) struct OpenDocuments {
    by_uri: HashMap<String, String>,
}

impl OpenDocuments {
    /// Stores the text of a document; false if too many are open.
    pub(crate) fn set(&mut self, uri: &Uri, text: String) -> bool {
        let is_new = !self.by_uri.contains_key(uri.as_str());
        if is_new && self.by_uri.len() >= DOCUMENTS_MAX {
            return false;
        }
        self.by_uri.insert(uri.as_str().to_owned(), text);
        true
    }

    pub(crate) fn close(&mut self, uri: &Uri) {
        self.by_uri.remove(uri.as_str());
    }

    pub(crate) fn text(&self, uri: &Uri) -> Option<&str> {
        self.by_uri.get(uri.as_str()).map(String::as_str)
    }
}
