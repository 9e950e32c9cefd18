//! The choices of a visitor, stored by a form of every page.

use std::time::Duration;

use axum::response::Response;

use crate::cookies::stored;
use crate::error::PageError;
use crate::form::SignedForm;
use crate::preferences::{Language, PREFERENCES_COOKIE, Preferences, Theme, TimeStyle};
use crate::request::PageRequest;
use crate::response::see_with_cookie;

/// The time for which choices are kept.
const KEPT: Duration = Duration::from_secs(365 * 24 * 3600);

pub(super) async fn choose(page: PageRequest, form: SignedForm) -> Result<Response, PageError> {
    let before = page.preferences;
    let chosen = Preferences {
        theme: Theme::of(form.get("theme")).unwrap_or(before.theme),
        language: Language::of(form.get("language")).unwrap_or(before.language),
        times: TimeStyle::of(form.get("times")).unwrap_or(before.times),
    };
    let cookie = stored(PREFERENCES_COOKIE, &chosen.written(), KEPT, page.state.wire);
    Ok(see_with_cookie(form.get("return_to"), cookie))
}
