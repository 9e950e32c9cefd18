//! The first page: is everything well?

mod template;
mod view;

use noetl_control::{PlaybookChoice, StartRequest};
use serde_json::Map;

use crate::components::id::execution_address;
use crate::form::SignedForm;
use crate::layout::{NavPlace, PageHead};
use crate::request::PageRequest;
use crate::response::{PageResult, see};
use view::OverviewView;

/// The example that the page of a new machine offers to run.
const EXAMPLE: &str = include_str!("../../../../examples/hello_world.yaml");

pub(super) async fn show(page: PageRequest) -> PageResult {
    let view = OverviewView::load(&page).await?;
    let head = PageHead { title: page.t("nav.overview"), place: NavPlace::Overview };
    Ok(page.respond(&head, &template::overview(&page, &view)))
}

/// Registers the example and runs it.
pub(super) async fn run_example(page: PageRequest, _form: SignedForm) -> PageResult {
    let registered = page.app().register(EXAMPLE).await?;
    let playbook = PlaybookChoice::Id(registered.entry.catalog_id);
    let started = page.app().start(StartRequest::new(playbook, Map::new())).await?;
    Ok(see(&execution_address(started.execution)))
}
