//! The catalog as a tree of paths.

mod template;
mod tree;

use axum::extract::Query;
use noetl_api::wire::CatalogPage;
use serde::Deserialize;

use crate::layout::{NavPlace, PageHead};
use crate::request::PageRequest;
use crate::response::PageResult;
use tree::Folder;

/// Maximum number of paths in the tree; a search narrows it.
const PATHS_MAX: usize = 1000;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CatalogFilter {
    /// A part of the path.
    q: String,
    /// `on` shows archived playbooks.
    archived: String,
}

pub(super) async fn show(page: PageRequest, Query(filter): Query<CatalogFilter>) -> PageResult {
    let wanted = CatalogPage {
        archived: filter.archived == "on",
        limit: Some(PATHS_MAX),
        ..CatalogPage::default()
    };
    let mut entries = page.app().list_catalog(&wanted).await?.entries;
    let part = filter.q.to_lowercase();
    entries.retain(|entry| entry.path.to_lowercase().contains(&part));
    let view = Folder::of(entries);
    let head = PageHead { title: page.t("nav.playbooks"), place: NavPlace::Playbooks };
    Ok(page.respond(&head, &template::playbooks(&page, &filter, &view)))
}
