//! Access tokens: their scopes, and the format in which an operator lists them.
//!
//! Invariant: only the digest of a secret is kept in memory.

use std::str::FromStr;

use noetl_model::{Actor, Digest, Permission};
use subtle::ConstantTimeEq as _;
use thiserror::Error;

/// The permissions of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Reading everything that is not secret.
    Read,
    /// Registering, starting and cancelling, and reading.
    Run,
    /// Leasing commands and reporting on them.
    Work,
    /// The routes between parts of the system, below `/api/internal/`.
    Internal,
    /// Everything.
    Admin,
}

impl Scope {
    pub const ALL: &'static [Scope] =
        &[Scope::Read, Scope::Run, Scope::Work, Scope::Internal, Scope::Admin];

    pub(crate) fn includes(self, permission: Permission) -> bool {
        match self {
            Scope::Admin => true,
            Scope::Run => {
                matches!(permission, Permission::Read | Permission::Operate | Permission::Write)
            }
            Scope::Read => permission == Permission::Read,
            Scope::Work => permission == Permission::Work,
            Scope::Internal => permission == Permission::Internal,
        }
    }

    /// Returns the narrowest scope that includes a permission.
    pub(crate) fn of(permission: Permission) -> Scope {
        match permission {
            Permission::Read => Scope::Read,
            Permission::Operate | Permission::Write => Scope::Run,
            Permission::Work => Scope::Work,
            Permission::Internal => Scope::Internal,
            Permission::Administer => Scope::Admin,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Scope::Read => "read",
            Scope::Run => "run",
            Scope::Work => "work",
            Scope::Internal => "internal",
            Scope::Admin => "admin",
        }
    }
}

impl FromStr for Scope {
    type Err = TokenError;

    fn from_str(word: &str) -> Result<Self, TokenError> {
        let known = Scope::ALL.iter().find(|scope| scope.name() == word);
        known.copied().ok_or_else(|| TokenError::UnknownScope(word.to_owned()))
    }
}

/// A secret and its scopes. Only the digest of the secret is kept.
#[derive(Debug, Clone)]
pub struct Token {
    /// The name of the person or program that has the secret.
    name: Option<Actor>,
    digest: Digest,
    scopes: Vec<Scope>,
}

/// The error of parsing a list of tokens; messages never contain the secrets.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TokenError {
    #[error("token {0} has no `=`; write it as `<scopes>=<secret>`, such as `read+run=…`")]
    NoScopes(usize),
    #[error("token {0} has no secret behind its `=`")]
    NoSecret(usize),
    #[error("`{0}` is not a scope; the scopes are read, run, work, internal and admin")]
    UnknownScope(String),
    #[error("token {0} has an empty name before its `@`, or one that is too long")]
    BadName(usize),
    #[error("token {0} has a digest that is not 64 hexadecimal digits")]
    NotADigest(usize),
}

/// Prefix of a secret that is given as its SHA-256.
const DIGEST_MARK: &str = "sha256:";

impl Token {
    pub fn new(secret: &str, scopes: impl Into<Vec<Scope>>) -> Self {
        Self { name: None, digest: Digest::of(secret.as_bytes()), scopes: scopes.into() }
    }

    /// Parses a list of `[<name>@]<scope>[+<scope>…]=<secret>`, separated by white space or commas; a
    /// secret may be given as `sha256:<hex>`, and lines that start with `#` are comments.
    pub fn read_all(text: &str) -> Result<Vec<Token>, TokenError> {
        let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
        let words = lines.flat_map(|line| line.split([',', ' ', '\t'])).filter(|it| !it.is_empty());
        words.enumerate().map(|(index, word)| Self::read(index + 1, word)).collect()
    }

    fn read(number: usize, word: &str) -> Result<Token, TokenError> {
        let (scopes, secret) = word.split_once('=').ok_or(TokenError::NoScopes(number))?;
        let (name, scopes) = match scopes.rsplit_once('@') {
            Some((name, scopes)) => {
                (Some(Actor::new(name).map_err(|_| TokenError::BadName(number))?), scopes)
            }
            None => (None, scopes),
        };
        let scopes = scopes.split('+').map(str::parse).collect::<Result<Vec<Scope>, _>>()?;
        if secret.is_empty() {
            return Err(TokenError::NoSecret(number));
        }
        match secret.strip_prefix(DIGEST_MARK) {
            None => Ok(Token { name, ..Token::new(secret, scopes) }),
            Some(hex) => {
                let digest = digest_of(hex).ok_or(TokenError::NotADigest(number))?;
                Ok(Token { name, digest, scopes })
            }
        }
    }

    /// True if the digest is that of the secret; compared in constant time.
    pub(crate) fn is(&self, given: &Digest) -> bool {
        self.digest.as_bytes().ct_eq(given.as_bytes()).into()
    }

    pub(crate) fn name(&self) -> Option<&Actor> {
        self.name.as_ref()
    }

    pub(crate) fn digest(&self) -> &Digest {
        &self.digest
    }

    pub(crate) fn includes(&self, permission: Permission) -> bool {
        self.scopes.iter().any(|scope| scope.includes(permission))
    }
}

fn digest_of(hex: &str) -> Option<Digest> {
    serde_json::from_value(serde_json::Value::String(hex.to_ascii_lowercase())).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parses tokens and compares their scopes; `!` marks the token with the secret `s3cret`.
    #[track_caller]
    fn check(text: &str, expected: Result<&str, TokenError>) {
        let given = Digest::of(b"s3cret");
        let read = Token::read_all(text).map(|tokens| {
            let told = tokens.iter().map(|token| {
                let scopes: Vec<&str> = token.scopes.iter().map(|scope| scope.name()).collect();
                let mark = if token.is(&given) { "!" } else { "" };
                format!("{}{mark}", scopes.join("+"))
            });
            told.collect::<Vec<String>>().join(" ")
        });
        assert_eq!(read, expected.map(str::to_owned));
    }

    #[test]
    fn a_token_has_scopes_and_a_secret() {
        check("read=s3cret", Ok("read!"));
        check("run+work=other", Ok("run+work"));
        check("read=a=b", Ok("read"));
    }

    #[test]
    fn tokens_stand_apart_by_space_comma_or_line_and_remarks_are_left_out() {
        check("read=a, work=s3cret\n# of the cluster\nadmin=b", Ok("read work! admin"));
        check("", Ok(""));
    }

    #[test]
    fn a_secret_may_be_given_as_its_sha_256() {
        let hex = Digest::of(b"s3cret").to_string();
        check(&format!("read=sha256:{hex}"), Ok("read!"));
        check(&format!("read=sha256:{}", hex.to_uppercase()), Ok("read!"));
        check("read=sha256:abc", Err(TokenError::NotADigest(1)));
    }

    #[test]
    fn an_invalid_token_is_named_by_its_number_and_not_by_its_secret() {
        check("read=a b", Err(TokenError::NoScopes(2)));
        check("read=", Err(TokenError::NoSecret(1)));
        check("write=a", Err(TokenError::UnknownScope("write".to_owned())));
    }
}
