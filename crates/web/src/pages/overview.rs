//! The first page: is everything well?

mod template;
mod view;

use axum::response::Response;

use crate::error::PageError;
use crate::layout::{PageHead, Place};
use crate::request::PageRequest;
use view::OverviewView;

pub(super) async fn show(page: PageRequest) -> Result<Response, PageError> {
    let view = OverviewView::load(&page).await?;
    let head = PageHead { title: page.t("nav.overview"), place: Place::Overview };
    Ok(page.respond(&head, &template::overview(&page, &view)))
}
