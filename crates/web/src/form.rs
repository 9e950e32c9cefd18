//! Forms: read from the body and checked for the token that the page put into them.

use std::collections::BTreeMap;

use axum::extract::{Form, FromRequest, Request};
use noetl_model::Timestamp;

use crate::cookies::cookie;
use crate::error::PageError;
use crate::session::BROWSER_COOKIE;
use crate::state::WebState;

/// The name of the field with the token.
pub(crate) const TOKEN_FIELD: &str = "form_token";

/// The fields of a form that a page of this server has sent. The only way to read a form, so that
/// none is read without the check.
#[derive(Debug)]
pub(crate) struct SignedForm {
    fields: BTreeMap<String, String>,
}

impl SignedForm {
    /// Returns a field; empty if the form has none of this name.
    pub(crate) fn get(&self, name: &str) -> &str {
        self.fields.get(name).map_or("", String::as_str)
    }

    /// Returns a field without the white space around it, if it has a value.
    pub(crate) fn given(&self, name: &str) -> Option<&str> {
        Some(self.get(name).trim()).filter(|it| !it.is_empty())
    }

    /// Returns the fields whose name begins with a prefix, without it.
    pub(crate) fn under<'a>(
        &'a self,
        prefix: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a str)> + 'a {
        self.fields.iter().filter_map(move |(name, value)| {
            name.strip_prefix(prefix).map(|name| (name, value.as_str()))
        })
    }
}

/// Parses an instant; a field for local dates and times leaves out seconds and zone, which is UTC.
pub(crate) fn instant_of(text: &str) -> Option<Timestamp> {
    let text = Some(text.trim()).filter(|it| !it.is_empty())?;
    let forms =
        [text.to_owned(), format!("{text}Z"), format!("{text}:00Z"), format!("{text}T00:00:00Z")];
    forms.iter().find_map(|form| form.parse().ok())
}

impl FromRequest<WebState> for SignedForm {
    type Rejection = PageError;

    async fn from_request(request: Request, state: &WebState) -> Result<Self, PageError> {
        let browser = cookie(request.headers(), BROWSER_COOKIE).map(str::to_owned);
        let form = Form::<Vec<(String, String)>>::from_request(request, state).await;
        let Form(pairs) = form.map_err(|rejection| PageError::Unreadable(rejection.to_string()))?;
        let fields: BTreeMap<String, String> = pairs.into_iter().collect();
        let token = fields.get(TOKEN_FIELD).map_or("", String::as_str);
        match browser {
            Some(browser) if state.key.admits_form(&browser, token) => Ok(Self { fields }),
            Some(_) | None => Err(PageError::StaleForm),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_read_with_and_without_seconds_and_zone() {
        let expected = "2026-11-17T10:30:00Z".parse().ok();
        for text in ["2026-11-17T10:30:00Z", "2026-11-17T10:30:00", "2026-11-17T10:30"] {
            assert_eq!(instant_of(text), expected, "{text}");
        }
        assert_eq!(instant_of("2026-11-17"), "2026-11-17T00:00:00Z".parse().ok());
        assert_eq!(instant_of("soon"), None);
    }
}
