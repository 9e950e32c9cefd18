//! Actions: a button that is a form, asked again where the effect cannot be undone.

use maud::{Markup, html};

use crate::layout::form_fields;
use crate::request::PageRequest;

/// An action of a page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Action<'a> {
    /// The address that the form is sent to.
    pub(crate) address: &'a str,
    pub(crate) label: &'a str,
    /// Further fields of the form.
    pub(crate) fields: &'a [(&'a str, &'a str)],
}

/// Draws an action that takes effect at once.
pub(crate) fn action(page: &PageRequest, action: &Action<'_>) -> Markup {
    html! {
        form.action method="post" action=(action.address) {
            (fields(page, action))
            button type="submit" { (action.label) }
        }
    }
}

/// Draws an action that asks before it takes effect.
pub(crate) fn confirmed_action(page: &PageRequest, action: &Action<'_>, question: &str) -> Markup {
    confirmed_as(page, action, question, action.label)
}

/// Draws an action that asks before it takes effect, with another label where it asks: to `Cancel` may
/// mean to go back.
pub(crate) fn confirmed_as(
    page: &PageRequest,
    action: &Action<'_>,
    question: &str,
    label: &str,
) -> Markup {
    html! {
        details.confirm {
            summary { (action.label) }
            form.action method="post" action=(action.address) {
                (fields(page, action))
                p { (question) }
                button.danger type="submit" { (label) }
            }
        }
    }
}

/// Maximum length of a reason in a form, in characters.
const REASON_MAX: usize = 250;

/// Draws an action that asks for a reason, which may be left out.
pub(crate) fn reasoned_action(page: &PageRequest, action: &Action<'_>) -> Markup {
    html! {
        details.confirm {
            summary { (action.label) }
            form.action method="post" action=(action.address) {
                (fields(page, action))
                label { span { (page.t("bulk.reason")) } input name="reason" maxlength=(REASON_MAX); }
                button type="submit" { (action.label) }
            }
        }
    }
}

fn fields(page: &PageRequest, action: &Action<'_>) -> Markup {
    html! {
        (form_fields(page))
        @for (name, value) in action.fields { input type="hidden" name=(name) value=(value); }
    }
}
