//! Tokens: list, create and revoke. A secret is in the answer to the form that creates it, and
//! nowhere else.

mod template;

use std::collections::BTreeMap;

use axum::extract::Query;
use axum::http::{HeaderValue, StatusCode, header};
use noetl_api::wire::TokenView;
use noetl_app::{IssuedToken, NewToken, StoredTokenError};
use noetl_model::{Actor, RoleGrant};
use serde::Deserialize;

use crate::error::PageError;
use crate::form::{SignedForm, instant_of};
use crate::layout::{NavPlace, PageHead};
use crate::request::PageRequest;
use crate::response::{PageResult, see};

/// The address of the page and of its forms.
const ADDRESS: &str = "/ui/tokens";
/// Number of tokens on a page.
const TOKENS: usize = 100;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct TokenPageQuery {
    /// The last name of the page before.
    after: String,
}

/// The values of the page.
#[derive(Debug, Default)]
struct TokensPage {
    tokens: Vec<TokenView>,
    /// The last name of this page, if there are more.
    next: Option<String>,
    is_first: bool,
    /// The values of a form that was refused, and why.
    refused: Option<RefusedToken>,
}

/// The fields of a form, and why it did not create a token.
#[derive(Debug)]
struct RefusedToken {
    fields: BTreeMap<&'static str, String>,
    reason: String,
}

/// The fields of the form that creates a token.
const FIELDS: [&str; 5] = ["name", "owner", "role", "paths", "expires_at"];

impl TokensPage {
    async fn load(page: &PageRequest, after: &str) -> Result<Self, PageError> {
        let listed = page.app().list_tokens(after, TOKENS).await?;
        let next = listed.last().filter(|_| listed.len() == TOKENS).map(|it| it.name.to_string());
        let tokens = listed.iter().map(|token| page.app().token_view(token)).collect();
        Ok(Self { tokens, next, is_first: after.is_empty(), refused: None })
    }
}

pub(super) async fn show(page: PageRequest, Query(query): Query<TokenPageQuery>) -> PageResult {
    let view = TokensPage::load(&page, &query.after).await?;
    let head = PageHead { title: page.t("nav.tokens"), place: NavPlace::Tokens };
    Ok(page.respond(&head, &template::tokens(&page, &view)))
}

/// Creates or revokes a token.
pub(super) async fn act(page: PageRequest, form: SignedForm) -> PageResult {
    match form.get("action") {
        "create" => create(&page, &form).await,
        "revoke" => {
            page.app().revoke_token(form.get("name")).await?;
            Ok(see(ADDRESS))
        }
        other => Err(PageError::Unreadable(format!("there is no action `{other}`"))),
    }
}

async fn create(page: &PageRequest, form: &SignedForm) -> PageResult {
    let created = match token_of(page, form) {
        Ok(new) => page.app().create_token(new).await,
        Err(reason) => return refused(page, form, reason).await,
    };
    match created {
        Ok(IssuedToken { token, secret }) => {
            let head = PageHead { title: page.t("nav.tokens"), place: NavPlace::Tokens };
            let token = page.app().token_view(&token);
            let content = template::created(page, &token, &secret);
            let mut response = page.respond_with(StatusCode::CREATED, &head, &content);
            let no_store = HeaderValue::from_static("no-store");
            response.headers_mut().insert(header::CACHE_CONTROL, no_store);
            Ok(response)
        }
        Err(StoredTokenError::Store(error)) => Err(error.into()),
        Err(error) => refused(page, form, error.to_string()).await,
    }
}

/// Reads the form of a new token; the error says why it is none.
fn token_of(page: &PageRequest, form: &SignedForm) -> Result<NewToken, String> {
    let role = form.get("role").trim();
    let paths: Vec<&str> =
        form.get("paths").split([',', ' ']).map(str::trim).filter(|it| !it.is_empty()).collect();
    let grants = match paths.is_empty() {
        true => vec![role.to_owned()],
        false => paths.iter().map(|path| format!("{role}:{path}")).collect(),
    };
    let grants = grants.iter().map(|grant| grant.parse::<RoleGrant>());
    let expires_at = form
        .given("expires_at")
        .map(|text| instant_of(text).ok_or_else(|| format!("`{text}` is not a time")));
    Ok(NewToken {
        name: Actor::new(form.get("name").trim()).map_err(|error| error.to_string())?,
        owner: form.given("owner").map(str::to_owned),
        grants: grants.collect::<Result<_, _>>().map_err(|error| error.to_string())?,
        expires_at: expires_at.transpose()?,
        created_by: page.actor(),
    })
}

/// Answers a form that created nothing: its values stay on the page.
async fn refused(page: &PageRequest, form: &SignedForm, reason: String) -> PageResult {
    let fields = FIELDS.iter().map(|name| (*name, form.get(name).to_owned())).collect();
    let refused = Some(RefusedToken { fields, reason });
    let view = TokensPage { refused, ..TokensPage::load(page, "").await? };
    let head = PageHead { title: page.t("nav.tokens"), place: NavPlace::Tokens };
    let content = template::tokens(page, &view);
    Ok(page.respond_with(StatusCode::UNPROCESSABLE_ENTITY, &head, &content))
}

impl From<StoredTokenError> for PageError {
    fn from(error: StoredTokenError) -> Self {
        match error {
            StoredTokenError::NameTaken(_)
            | StoredTokenError::Roles
            | StoredTokenError::Owner
            | StoredTokenError::Expired(_)
            | StoredTokenError::TooMany => Self::Refused(error.to_string()),
            StoredTokenError::Unknown(_) => Self::NotFound(error.to_string()),
            StoredTokenError::Store(error) => error.into(),
        }
    }
}
