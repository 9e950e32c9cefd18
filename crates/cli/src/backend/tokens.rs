//! Stored tokens, here or on a server.

use async_trait::async_trait;
use noetl_api::wire::{CreateToken, CreatedToken, StoredTokenList, TokenView};
use noetl_app::{IssuedToken, NewToken, PAGE_MAX, StoredTokenError};
use noetl_model::{Actor, RoleGrant, Timestamp};
use serde_json::json;

use super::local::Session;
use super::remote::Remote;
use super::url::segment;
use crate::show::failure::Failure;

/// A token to be created.
#[derive(Debug, Clone)]
pub(crate) struct TokenRequest {
    pub(crate) name: Actor,
    pub(crate) owner: Option<String>,
    pub(crate) grants: Vec<RoleGrant>,
    pub(crate) expires_at: Option<Timestamp>,
}

/// The operations on stored tokens.
#[async_trait]
pub(crate) trait StoredTokens {
    async fn create_token(&self, request: TokenRequest) -> Result<CreatedToken, Failure>;

    /// Lists all tokens by name.
    async fn tokens(&self) -> Result<Vec<TokenView>, Failure>;

    async fn revoke_token(&self, name: &str) -> Result<(), Failure>;
}

fn failed(error: StoredTokenError) -> Failure {
    match error {
        StoredTokenError::NameTaken(_)
        | StoredTokenError::Roles
        | StoredTokenError::Owner
        | StoredTokenError::Expired(_)
        | StoredTokenError::TooMany
        | StoredTokenError::Unknown(_) => Failure::bad_input(error),
        StoredTokenError::Store(_) => Failure::broken(error),
    }
}

#[async_trait]
impl StoredTokens for Session {
    async fn create_token(&self, request: TokenRequest) -> Result<CreatedToken, Failure> {
        let TokenRequest { name, owner, grants, expires_at } = request;
        let new = NewToken { name, owner, grants, expires_at, created_by: None };
        let IssuedToken { token, secret } = self.app().create_token(new).await.map_err(failed)?;
        Ok(CreatedToken { token: self.app().token_view(&token), secret })
    }

    async fn tokens(&self) -> Result<Vec<TokenView>, Failure> {
        let mut tokens: Vec<TokenView> = Vec::new();
        loop {
            let after = tokens.last().map_or("", |token| token.name.as_str());
            let page = self.app().list_tokens(after, PAGE_MAX).await.map_err(Failure::broken)?;
            tokens.extend(page.iter().map(|token| self.app().token_view(token)));
            if page.len() < PAGE_MAX {
                return Ok(tokens);
            }
        }
    }

    async fn revoke_token(&self, name: &str) -> Result<(), Failure> {
        self.app().revoke_token(name).await.map_err(failed)
    }
}

#[async_trait]
impl StoredTokens for Remote {
    async fn create_token(&self, request: TokenRequest) -> Result<CreatedToken, Failure> {
        let TokenRequest { name, owner, grants, expires_at } = request;
        let body = CreateToken {
            name: name.into(),
            owner,
            roles: grants.into_iter().map(String::from).collect(),
            expires_at: expires_at.map(|at| at.to_string()),
        };
        self.post("api/tokens", &json!(body)).await
    }

    async fn tokens(&self) -> Result<Vec<TokenView>, Failure> {
        let mut tokens: Vec<TokenView> = Vec::new();
        let mut address = "api/tokens".to_owned();
        loop {
            let StoredTokenList { tokens: page, next } = self.get(&address).await?;
            tokens.extend(page);
            match next {
                Some(next) => address = format!("api/tokens?after={}", segment(&next)),
                None => return Ok(tokens),
            }
        }
    }

    async fn revoke_token(&self, name: &str) -> Result<(), Failure> {
        self.delete(&format!("api/tokens/{}", segment(name))).await
    }
}
