//! Subscriptions: their state, and the messages that started nothing.

mod template;
mod view;

use axum::extract::Path;
use noetl_app::IntakeError;
use noetl_engine::SubscriptionAction;
use noetl_model::ExecutionId;

use crate::error::PageError;
use crate::form::SignedForm;
use crate::layout::{NavPlace, PageHead};
use crate::request::PageRequest;
use crate::response::{PageResult, see};
pub(super) use view::FAILED_SHOWN_MAX;
use view::SubscriptionDetail;

pub(super) async fn show(page: PageRequest) -> PageResult {
    let lines = view::lines(&page).await?;
    let head = PageHead { title: page.t("nav.subscriptions"), place: NavPlace::Subscriptions };
    Ok(page.respond(&head, &template::subscriptions(&page, &lines)))
}

pub(super) async fn show_one(page: PageRequest, Path(id): Path<String>) -> PageResult {
    let detail = SubscriptionDetail::load(&page, id_of(&id)?).await?;
    let path = &detail.line.subscription.path;
    let head = PageHead { title: path, place: NavPlace::Subscriptions };
    Ok(page.respond(&head, &template::subscription(&page, &detail)))
}

/// Changes the state of a subscription, or retries or drops its dead messages.
pub(super) async fn act(page: PageRequest, Path(id): Path<String>, form: SignedForm) -> PageResult {
    let id = id_of(&id)?;
    let action = form.get("action");
    let names: Vec<String> = form.given("message").map(str::to_owned).into_iter().collect();
    let known = SubscriptionAction::ALL.iter().find(|it| it.as_str() == action);
    match (known, action) {
        (Some(known), _) => page.app().move_subscription(id, *known).await.map(drop)?,
        (None, "retry") => page.app().intake().retry_dead(id, &names).await.map(drop)?,
        (None, "drop") => page.app().intake().drop_dead(id, &names).await.map(drop)?,
        (None, other) => {
            return Err(PageError::Unreadable(format!("there is no action `{other}`")));
        }
    }
    Ok(see(form.get("return_to")))
}

fn id_of(text: &str) -> Result<ExecutionId, PageError> {
    text.parse().map_err(|_| PageError::UnknownPage)
}

impl From<IntakeError> for PageError {
    fn from(error: IntakeError) -> Self {
        match error {
            IntakeError::Subscription(error) => error.into(),
            IntakeError::Pushed { .. } | IntakeError::Closed { .. } => {
                Self::Refused(error.to_string())
            }
            IntakeError::Unavailable(error) => error.into(),
        }
    }
}
