//! Tokens: what a secret is good for, and how an operator writes them down.
//!
//! Invariant: only the digest of a secret is kept, so that nothing here can give it away.

use std::str::FromStr;

use noetl_model::Digest;
use subtle::ConstantTimeEq as _;
use thiserror::Error;

/// What a token is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Looking at everything that is not secret.
    Read,
    /// Registering, starting and cancelling, and looking.
    Run,
    /// Taking commands and reporting on them.
    Work,
    /// What parts of the system say to each other, below `/api/internal/`.
    Internal,
    /// Everything.
    Admin,
}

impl Scope {
    pub const ALL: &'static [Scope] =
        &[Scope::Read, Scope::Run, Scope::Work, Scope::Internal, Scope::Admin];

    pub(crate) fn covers(self, needed: Scope) -> bool {
        match self {
            Scope::Admin => true,
            Scope::Run => matches!(needed, Scope::Run | Scope::Read),
            Scope::Read | Scope::Work | Scope::Internal => self == needed,
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

/// A secret and what it is good for. Only its digest is kept.
#[derive(Debug, Clone)]
pub struct Token {
    digest: Digest,
    scopes: Vec<Scope>,
}

/// Why a list of tokens cannot be read. The secrets themselves are never told.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TokenError {
    #[error("token {0} has no `=`; write it as `<scopes>=<secret>`, such as `read+run=…`")]
    NoScopes(usize),
    #[error("token {0} has no secret behind its `=`")]
    NoSecret(usize),
    #[error("`{0}` is not a scope; the scopes are read, run, work, internal and admin")]
    UnknownScope(String),
    #[error("token {0} has a digest that is not 64 hexadecimal digits")]
    NotADigest(usize),
}

/// How a secret is marked that is given by its SHA-256.
const DIGEST_MARK: &str = "sha256:";

impl Token {
    pub fn new(secret: &str, scopes: impl Into<Vec<Scope>>) -> Self {
        Self { digest: Digest::of(secret.as_bytes()), scopes: scopes.into() }
    }

    /// Reads `<scope>[+<scope>…]=<secret>`, many of them apart by white space or commas; a secret may
    /// be given as `sha256:<hex>`, and a line may be a remark behind `#`.
    pub fn read_all(text: &str) -> Result<Vec<Token>, TokenError> {
        let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
        let words = lines.flat_map(|line| line.split([',', ' ', '\t'])).filter(|it| !it.is_empty());
        words.enumerate().map(|(index, word)| Self::read(index + 1, word)).collect()
    }

    fn read(number: usize, word: &str) -> Result<Token, TokenError> {
        let (scopes, secret) = word.split_once('=').ok_or(TokenError::NoScopes(number))?;
        let scopes = scopes.split('+').map(str::parse).collect::<Result<Vec<Scope>, _>>()?;
        if secret.is_empty() {
            return Err(TokenError::NoSecret(number));
        }
        match secret.strip_prefix(DIGEST_MARK) {
            None => Ok(Token::new(secret, scopes)),
            Some(hex) => {
                let digest = digest_of(hex).ok_or(TokenError::NotADigest(number))?;
                Ok(Token { digest, scopes })
            }
        }
    }

    /// Whether this is the secret, at the same speed whatever it is.
    pub(crate) fn is(&self, given: &Digest) -> bool {
        self.digest.as_bytes().ct_eq(given.as_bytes()).into()
    }

    pub(crate) fn covers(&self, needed: Scope) -> bool {
        self.scopes.iter().any(|scope| scope.covers(needed))
    }
}

fn digest_of(hex: &str) -> Option<Digest> {
    serde_json::from_value(serde_json::Value::String(hex.to_ascii_lowercase())).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The scopes of each token, and whether it is the secret `s3cret`.
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
    fn what_is_missing_or_unknown_is_told_by_its_number_and_never_by_its_secret() {
        check("read=a b", Err(TokenError::NoScopes(2)));
        check("read=", Err(TokenError::NoSecret(1)));
        check("write=a", Err(TokenError::UnknownScope("write".to_owned())));
    }
}
