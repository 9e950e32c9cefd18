//! The catalog as a tree of paths.

mod template;
mod tree;

use std::collections::BTreeSet;

use axum::extract::Query;
use noetl_api::wire::CatalogPage;
use noetl_app::EntryContents;
use serde::Deserialize;

use crate::address::with_query;
use crate::layout::{NavPlace, PageHead};
use crate::request::PageRequest;
use crate::response::PageResult;
use tree::Folder;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CatalogFilter {
    /// A part of the path.
    q: String,
    /// `on` shows archived playbooks.
    archived: String,
    /// The last path of the page before.
    after: String,
}

/// A page of the catalog.
#[derive(Debug)]
struct PlaybooksView {
    filter: CatalogFilter,
    root: Folder,
    /// The paths of the paused playbooks.
    paused: BTreeSet<String>,
    /// The last path of this page, if there are more.
    next: Option<String>,
}

impl CatalogFilter {
    fn page(&self) -> CatalogPage {
        let given = |text: &str| Some(text.trim().to_owned()).filter(|it| !it.is_empty());
        CatalogPage {
            path: given(&self.q),
            after: Some(self.after.clone()).filter(|it| !it.is_empty()),
            archived: self.archived == "on",
            ..CatalogPage::default()
        }
    }

    /// Returns the address of the page after a path; of the first page without one.
    fn address(&self, after: &str) -> String {
        let query = [("q", self.q.as_str()), ("archived", &self.archived), ("after", after)];
        with_query("/ui/playbooks", &query)
    }
}

pub(super) async fn show(page: PageRequest, Query(filter): Query<CatalogFilter>) -> PageResult {
    let listed = page.app().list_catalog(&filter.page(), &EntryContents::Omitted).await?;
    let root = Folder::of(listed.entries);
    let paused = page.app().pause_list().await?.pauses.into_iter();
    let paused = paused.filter(|it| it.kind == "playbook" && !it.is_ending).map(|it| it.name);
    let view = PlaybooksView { filter, root, paused: paused.collect(), next: listed.next_after };
    let head = PageHead { title: page.t("nav.playbooks"), place: NavPlace::Playbooks };
    Ok(page.respond(&head, &template::playbooks(&page, &view)))
}
