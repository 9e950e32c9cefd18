//! The page of a link with which a person without access decides about one approval.
//!
//! Invariants: the page shows nothing but its approval; loading it decides nothing, only its form
//! does; once the approval is decided, the page has no form.

use axum::extract::Path;
use maud::{Markup, html};
use noetl_api::wire::ApprovalView;
use noetl_app::{ApprovalTicket, DecideError, LinkError, StatedNames};

use super::waiting::{SentDecision, refusal_page};
use crate::components::approval::{Decider, approval_form, decision};
use crate::components::time::utc_text;
use crate::error::PageError;
use crate::form::SignedForm;
use crate::layout::{NavPlace, PageHead};
use crate::request::PageRequest;
use crate::response::{PageResult, see};

pub(super) async fn show(page: PageRequest, Path(link): Path<String>) -> PageResult {
    let (ticket, view) = page.app().open_approval_link(&link).await?;
    let place = if page.visitor.may.read { NavPlace::None } else { NavPlace::Outside };
    let head = PageHead { title: &view.title, place };
    Ok(page.respond(&head, &template(&page, &link, &ticket, &view)))
}

pub(super) async fn decide(
    page: PageRequest,
    Path(link): Path<String>,
    form: SignedForm,
) -> PageResult {
    let (ticket, view) = page.app().open_approval_link(&link).await?;
    if view.decision.is_some() {
        return Ok(see(&address(&link)));
    }
    let decider = decider(&ticket);
    let mut sent = SentDecision::of(&form, &view, (&decider, false))?;
    sent.decision.link_by = Some(ticket.made_by.clone());
    let decision = sent.decision.clone();
    match page.app().decide_approval(ticket.execution, decision, StatedNames::Refused).await {
        // The page shows the decision, which may be that of another person.
        Ok(_) | Err(DecideError::Decided(_)) => Ok(see(&address(&link))),
        Err(error) => {
            let refused = sent.refused(error)?;
            Ok(refusal_page(&page, &view, &address(&link), &decider, &refused))
        }
    }
}

fn address(link: &str) -> String {
    format!("/ui/decide/{link}")
}

fn decider(ticket: &ApprovalTicket) -> Decider {
    ticket.actor.clone().map_or(Decider::Asked, Decider::Known)
}

fn template(
    page: &PageRequest,
    link: &str,
    ticket: &ApprovalTicket,
    view: &ApprovalView,
) -> Markup {
    html! {
        header.page-head { h1 { (view.title) } }
        article.panel.waiting {
            @match &view.decision {
                Some(decided) => (decision(page, decided)),
                None => (approval_form(page, &address(link), view, &decider(ticket), None)),
            }
        }
    }
}

impl From<LinkError> for PageError {
    fn from(error: LinkError) -> Self {
        match error {
            LinkError::Invalid => Self::not_found("waiting.bad_link", Vec::new()),
            LinkError::Expired(at) => {
                Self::not_found("waiting.old_link", vec![("time", utc_text(at))])
            }
            LinkError::TooLong
            | LinkError::BadActor
            | LinkError::Decided
            | LinkError::NotForOthers
            | LinkError::NoApprover(_) => Self::Refused(error.to_string()),
            LinkError::Show(error) => error.into(),
        }
    }
}
