//! Credentials: names, kinds and when each was used; never a value.

mod connection_test;
mod template;
mod view;

use noetl_app::CredentialError;
use noetl_model::{CredentialPolicy, InvalidHost};
use noetl_secrets::{NewCredential, PolicyChange, VaultError};

use crate::error::PageError;
use crate::form::SignedForm;
use crate::layout::{NavPlace, PageHead};
use crate::request::PageRequest;
use crate::response::{PageResult, see};
use view::CredentialsView;

pub(super) async fn show(page: PageRequest) -> PageResult {
    let view = CredentialsView::load(&page).await?;
    let head = PageHead { title: page.t("nav.credentials"), place: NavPlace::Credentials };
    Ok(page.respond(&head, &template::credentials(&page, &view)))
}

/// Stores or deletes a credential.
pub(super) async fn act(page: PageRequest, form: SignedForm) -> PageResult {
    match form.get("action") {
        "test" => return connection_test::test_connection(&page, &form).await,
        "put" => page.app().put_credential(credential_of(&form)?).await.map(drop)?,
        "remove" => page.app().remove_credential(form.get("name")).await.map(drop)?,
        other => return Err(PageError::Unreadable(format!("there is no action `{other}`"))),
    }
    Ok(see("/ui/credentials"))
}

/// Reads a credential; a message never contains a part of the secret.
fn credential_of(form: &SignedForm) -> Result<NewCredential, PageError> {
    let data = serde_json::from_str(form.get("data")).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        PageError::Unreadable(format!("the secret is not JSON at line {line}, column {column}"))
    })?;
    let policy = policy_of(form)?;
    Ok(NewCredential {
        name: form.get("name").trim().to_owned(),
        kind: form.get("type").trim().to_owned(),
        data,
        meta: None,
        tags: Vec::new(),
        description: form.given("description").map(str::to_owned),
        policy,
    })
}

/// Reads the playbooks that may use a credential and the hosts that it may be sent to, each a list with
/// commas or spaces. Without any, those of a stored credential stay.
fn policy_of(form: &SignedForm) -> Result<PolicyChange, PageError> {
    let words = |name: &str| {
        let given = form.given(name).unwrap_or_default().to_owned();
        let words = given.split([',', ' ', '\n', '\r']).filter(|word| !word.is_empty());
        words.map(str::to_owned).collect::<Vec<String>>()
    };
    let hosts = words("hosts").iter().map(|host| host.parse()).collect::<Result<_, InvalidHost>>();
    let policy = CredentialPolicy {
        paths: words("paths"),
        hosts: hosts.map_err(|error| PageError::Refused(error.to_string()))?,
        ..CredentialPolicy::default()
    };
    Ok(match policy == CredentialPolicy::default() {
        true => PolicyChange::Keep,
        false => PolicyChange::Set(policy),
    })
}

impl From<CredentialError> for PageError {
    fn from(error: CredentialError) -> Self {
        match error {
            CredentialError::InvalidWord(_)
            | CredentialError::InvalidTags
            | CredentialError::InvalidPolicy(_) => Self::Refused(error.to_string()),
            CredentialError::Unknown(_) => Self::NotFound(error.to_string()),
            CredentialError::Vault(error) => error.into(),
        }
    }
}

impl From<VaultError> for PageError {
    fn from(error: VaultError) -> Self {
        match error {
            VaultError::Store(error) => error.into(),
            VaultError::TooLarge => Self::Refused(error.to_string()),
            VaultError::Contended(_) => Self::Unavailable,
            VaultError::Unreadable { .. } => Self::internal(&error),
        }
    }
}
