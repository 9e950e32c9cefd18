//! The server and its parts: database, bus, outbox, keys, settings, and the retention.

mod template;
mod view;

use crate::layout::{NavPlace, PageHead};
use crate::request::PageRequest;
use crate::response::PageResult;
use view::SystemView;

pub(super) async fn show(page: PageRequest) -> PageResult {
    let view = SystemView::load(&page).await?;
    let head = PageHead { title: page.t("nav.system"), place: NavPlace::System };
    Ok(page.respond(&head, &template::system(&page, &view)))
}
