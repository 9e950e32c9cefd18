//! The texts of the documents that the editor has open, and the addresses of playbooks and their tests.

use std::collections::HashMap;

use lsp_types::Uri;

/// The largest number of open documents.
pub(crate) const DOCUMENTS_MAX: usize = 1000;
/// The endings of test files, and the one of the playbook beside them.
const TEST_ENDINGS: [(&str, &str); 2] = [(".test.yaml", ".yaml"), (".test.yml", ".yml")];

/// The text of a document, and the version of the editor.
#[derive(Debug)]
pub(crate) struct OpenDocument {
    pub(crate) text: String,
    pub(crate) version: i32,
}

/// The open documents, by address.
#[derive(Debug, Default)]
pub(crate) struct OpenDocuments {
    by_uri: HashMap<String, OpenDocument>,
}

impl OpenDocuments {
    /// Stores a document; false if too many are open.
    pub(crate) fn set(&mut self, uri: &Uri, document: OpenDocument) -> bool {
        let is_new = !self.by_uri.contains_key(uri.as_str());
        if is_new && self.by_uri.len() >= DOCUMENTS_MAX {
            return false;
        }
        self.by_uri.insert(uri.as_str().to_owned(), document);
        true
    }

    pub(crate) fn close(&mut self, uri: &Uri) {
        self.by_uri.remove(uri.as_str());
    }

    pub(crate) fn get(&self, uri: &Uri) -> Option<&OpenDocument> {
        self.by_address(uri.as_str())
    }

    pub(crate) fn by_address(&self, uri: &str) -> Option<&OpenDocument> {
        self.by_uri.get(uri)
    }
}

/// True if a document has the name of a test file.
pub(crate) fn is_test_file(uri: &str) -> bool {
    TEST_ENDINGS.iter().any(|(test, _)| uri.ends_with(test))
}

/// Returns the address of the playbook beside a test file.
pub(crate) fn playbook_of(uri: &str) -> Option<String> {
    TEST_ENDINGS.iter().find_map(|(test, playbook)| {
        let stem = uri.strip_suffix(test)?;
        Some(format!("{stem}{playbook}"))
    })
}

/// Returns the address of the test file beside a playbook; `None` if it is a test file itself.
pub(crate) fn tests_of(uri: &str) -> Option<String> {
    if is_test_file(uri) {
        return None;
    }
    TEST_ENDINGS.iter().find_map(|(test, playbook)| {
        let stem = uri.strip_suffix(playbook)?;
        Some(format!("{stem}{test}"))
    })
}
