//! The list of executions, with filters in the address.

mod actions;
mod filter;
mod template;
mod view;

use axum::extract::Query;

use crate::layout::{NavPlace, PageHead};
use crate::request::PageRequest;
use crate::response::PageResult;
pub(super) use actions::{cancel, pause, rerun, resume, retry};
pub(super) use filter::{FilterField, ListFilter};
use view::ExecutionsView;

pub(super) async fn show(page: PageRequest, Query(filter): Query<ListFilter>) -> PageResult {
    let view = ExecutionsView::load(&page, filter).await?;
    let head = PageHead { title: page.t("nav.executions"), place: NavPlace::Executions };
    Ok(page.respond(&head, &template::executions(&page, &view)))
}
