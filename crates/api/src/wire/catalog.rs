//! Bodies of the catalog routes.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use crate::AnyId;

/// A playbook to register.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct RegisterRequest {
    /// The YAML text, plain or in base64.
    pub content: String,
    /// Ignored: the document names its own kind. Accepted for existing clients.
    #[serde(default)]
    pub resource_type: Option<String>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct RegisteredPlaybook {
    pub status: &'static str,
    pub message: String,
    pub path: String,
    pub version: u32,
    pub catalog_id: String,
    pub kind: String,
    /// True if the path was archived until now.
    pub restored: bool,
    /// Warnings for the author; the playbook can be run nevertheless.
    #[schema(value_type = Vec<Object>)]
    pub warnings: Value,
}

#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct RegisterBatch {
    pub items: Vec<RegisterRequest>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct RegisterBatchAnswer {
    pub registered: usize,
    pub failed: usize,
    /// Results, one per item, in order.
    pub results: Vec<BatchItem>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum BatchItem {
    Registered {
        index: usize,
        path: String,
        version: u32,
        catalog_id: String,
        /// True if the path was archived until now.
        restored: bool,
    },
    Error {
        index: usize,
        error: String,
        #[schema(value_type = Vec<Object>)]
        diagnostics: Value,
    },
}

/// Filters and page of a list of playbooks.
#[derive(Debug, Clone, Default, Deserialize, ToSchema, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct CatalogPage {
    /// The kind of the entries, ignoring case.
    #[serde(default)]
    pub resource_type: Option<String>,
    /// A part of the path, ignoring case.
    #[serde(default)]
    pub path: Option<String>,
    #[serde(default)]
    pub limit: Option<usize>,
    #[serde(default)]
    pub offset: usize,
    /// List paths after this one: `next_after` of the previous page.
    #[serde(default)]
    pub after: Option<String>,
    /// List archived playbooks instead of active ones.
    #[serde(default)]
    pub archived: bool,
}

impl CatalogPage {
    /// True if an entry of this kind at this path passes the filters.
    pub fn admits(&self, kind: &str, path: &str) -> bool {
        let is_kind = |wanted: &String| wanted.is_empty() || wanted.eq_ignore_ascii_case(kind);
        let is_part = |part: &String| path.to_lowercase().contains(&part.to_lowercase());
        self.resource_type.as_ref().is_none_or(is_kind) && self.path.as_ref().is_none_or(is_part)
    }
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct CatalogList {
    /// The newest version of each path, ordered by path.
    pub entries: Vec<CatalogEntry>,
    /// Pass as `after` for the next page; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_after: Option<String>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct CatalogEntry {
    pub catalog_id: String,
    pub path: String,
    pub kind: String,
    pub version: u32,
    /// The entry's text; absent in lists.
    pub content: Option<String>,
    #[schema(value_type = Option<Object>)]
    pub payload: Option<Value>,
    #[schema(value_type = Option<Object>)]
    pub meta: Option<Value>,
    pub created_at: String,
    /// The time at which the playbook was archived; absent if it is active.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub archived_at: Option<String>,
}

/// The playbook to archive or to restore.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct ArchiveRequest {
    /// The id of any version.
    #[serde(default, alias = "id")]
    pub catalog_id: Option<AnyId>,
    /// A path, or the name of exactly one playbook.
    #[serde(default)]
    pub path: Option<String>,
}

/// A playbook that was archived or restored, with all its versions.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ArchiveAnswer {
    /// `archived` or `restored`.
    pub status: &'static str,
    pub message: String,
    pub path: String,
    /// The newest version.
    pub version: u32,
    pub catalog_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub archived_at: Option<String>,
}

/// Selects a catalog entry by id, or by path and optional version.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct ResourceRequest {
    #[serde(default)]
    pub catalog_id: Option<AnyId>,
    #[serde(default)]
    pub path: Option<String>,
    /// A number, or `latest`.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub version: Option<Value>,
}

/// A form for starting a playbook.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct UiSchema {
    pub path: String,
    pub version: u32,
    pub kind: String,
    pub title: Option<String>,
    pub description_markdown: Option<String>,
    pub exposed_in_ui: bool,
    pub fields: Vec<UiField>,
    pub generated_at: String,
}

/// A field of the form, for one key of the playbook's workload.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct UiField {
    pub name: String,
    pub kind: &'static str,
    #[schema(value_type = Object)]
    pub default: Value,
    pub description: Option<String>,
    pub secret: bool,
    /// True if a start has to give a value.
    pub required: bool,
    pub credential_glob: Option<String>,
    pub options: Option<Vec<String>>,
    #[schema(no_recursion)]
    pub children: Option<Vec<UiField>>,
}
