//! A request for a page: the parts that every handler and every template need.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use noetl_app::App;
use noetl_control::PauseCaller;
use noetl_model::{Actor, Timestamp};

use crate::cookies::cookie;
use crate::error::PageError;
use crate::form::SignedForm;
use crate::preferences::Preferences;
use crate::session::{BROWSER_COOKIE, SESSION_COOKIE, random_name};
use crate::state::{SignIn, WebState};
use crate::visitor::Visitor;
use crate::words::Words;

/// A request for a page.
#[derive(Clone)]
pub(crate) struct PageRequest {
    pub(crate) state: WebState,
    pub(crate) visitor: Visitor,
    pub(crate) preferences: Preferences,
    pub(crate) words: &'static Words,
    /// Path and query.
    pub(crate) address: String,
    /// The time at which the page is drawn.
    pub(crate) now: Timestamp,
    pub(crate) browser: Browser,
    /// The cookie of a session, which may not be valid.
    pub(crate) session: Option<String>,
}

/// The random name of a browser, for which forms are signed.
#[derive(Debug, Clone)]
pub(crate) enum Browser {
    Known(String),
    /// A browser without the cookie; the response stores it.
    New(String),
}

impl Browser {
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Known(name) | Self::New(name) => name,
        }
    }
}

impl PageRequest {
    pub(crate) fn app(&self) -> &App {
        &self.state.app
    }

    /// Returns a text of the visitor's language.
    pub(crate) fn t<'a>(&self, key: &'a str) -> &'a str {
        self.words.t(key)
    }

    /// Returns the token that a form on this page carries.
    pub(crate) fn form_token(&self) -> String {
        self.state.key.form_token(self.browser.name())
    }

    /// Returns the name of the visitor, for the events of a form.
    pub(crate) fn actor(&self) -> Option<Actor> {
        self.visitor.actor.clone()
    }

    /// Fails if the visitor may not write playbooks.
    pub(crate) fn must_write(&self) -> Result<(), PageError> {
        match self.visitor.may.write {
            true => Ok(()),
            false => {
                let reason = "this token may not write playbooks".to_owned();
                Err(PageError::Denied { status: 403, reason })
            }
        }
    }

    /// Returns the caller of a pause or resumption, with the reason that the form states.
    pub(crate) fn pause_caller(&self, form: &SignedForm) -> PauseCaller {
        let reason = form.given("reason").map(str::to_owned);
        PauseCaller { actor: self.actor().map(String::from), reason }
    }

    /// True if visitors log in with a token.
    pub(crate) fn has_login(&self) -> bool {
        match self.state.sign_in {
            SignIn::Open => false,
            SignIn::Token(_) => true,
        }
    }

    pub(crate) fn of(state: &WebState, parts: &Parts) -> Self {
        let preferences = Preferences::of(&parts.headers);
        let browser = match cookie(&parts.headers, BROWSER_COOKIE) {
            Some(name) if !name.is_empty() => Browser::Known(name.to_owned()),
            Some(_) | None => Browser::New(random_name()),
        };
        let address = parts.uri.path_and_query().map_or("/ui/", |it| it.as_str());
        Self {
            state: state.clone(),
            visitor: parts.extensions.get().cloned().unwrap_or(Visitor::UNKNOWN),
            preferences,
            words: Words::of(preferences.language),
            address: address.to_owned(),
            now: state.now(),
            browser,
            session: cookie(&parts.headers, SESSION_COOKIE).map(str::to_owned),
        }
    }
}

impl FromRequestParts<WebState> for PageRequest {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(
        parts: &mut Parts,
        state: &WebState,
    ) -> Result<Self, Self::Rejection> {
        Ok(Self::of(state, parts))
    }
}
