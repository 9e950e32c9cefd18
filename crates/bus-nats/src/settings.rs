//! The settings of NATS.

use std::str::Utf8Error;

use async_nats::{ConnectOptions, ServerAddr};
use percent_encoding::percent_decode_str;
use thiserror::Error;
use url::Url;

#[derive(Clone)]
pub struct NatsSettings {
    /// One address, or several of one cluster separated by commas. Each may contain
    /// `user:password@` or `token@`; the first credentials are used for all.
    pub url: String,
    /// The stream of notifications.
    pub stream: String,
    /// The URL at which workers reach this server.
    pub public_server_url: String,
}

impl NatsSettings {
    /// Returns default settings for NATS at `url`.
    pub fn at(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            stream: "noetl_commands".to_owned(),
            public_server_url: "http://localhost:8082".to_owned(),
        }
    }
}

/// The error of an invalid NATS address. The message omits the address, which may contain a
/// password.
#[derive(Debug, Error)]
pub enum AddressError {
    #[error("the address of NATS is not a URL")]
    Url(#[source] url::ParseError),
    #[error("the address of NATS is not one of a NATS server")]
    Server(#[source] std::io::Error),
    #[error("the credentials in the address of NATS are not UTF-8")]
    Credentials(#[source] Utf8Error),
}

/// The credentials of a client.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NatsCredentials {
    None,
    Token(String),
    Password { user: String, password: String },
}

impl NatsCredentials {
    fn of(url: &Url) -> Result<Self, Utf8Error> {
        let decode = |text| percent_decode_str(text).decode_utf8().map(String::from);
        let user = decode(url.username())?;
        Ok(match url.password() {
            _ if user.is_empty() => Self::None,
            None => Self::Token(user),
            Some(password) => Self::Password { user, password: decode(password)? },
        })
    }

    pub(crate) fn apply(self, options: ConnectOptions) -> ConnectOptions {
        match self {
            Self::None => options,
            Self::Token(token) => options.token(token),
            Self::Password { user, password } => options.user_and_password(user, password),
        }
    }
}

/// Splits an address into servers without credentials, and the credentials.
pub(crate) fn read_address(text: &str) -> Result<(Vec<ServerAddr>, NatsCredentials), AddressError> {
    let mut servers = Vec::new();
    let mut credentials = NatsCredentials::None;
    for part in text.split(',').map(str::trim) {
        let full = if part.contains("://") { part.to_owned() } else { format!("nats://{part}") };
        let mut url = Url::parse(&full).map_err(AddressError::Url)?;
        if url.host_str().is_none_or(str::is_empty) {
            return Err(AddressError::Url(url::ParseError::EmptyHost));
        }
        if credentials == NatsCredentials::None {
            credentials = NatsCredentials::of(&url).map_err(AddressError::Credentials)?;
        }
        // A URL that cannot contain credentials has none, and is rejected below.
        let _without = url.set_username("").and_then(|()| url.set_password(None));
        servers.push(ServerAddr::from_url(url).map_err(AddressError::Server)?);
    }
    Ok((servers, credentials))
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use expect_test::{Expect, expect};

    use super::*;

    fn check(text: &str, expected: Expect) {
        let actual = match read_address(text) {
            Ok((servers, credentials)) => {
                let mut lines = String::new();
                for server in servers {
                    writeln!(lines, "{}:{}", server.host(), server.port()).unwrap();
                    assert!(!format!("{server:?}").contains("s3cret"), "{server:?}");
                }
                lines + &format!("{credentials:?}")
            }
            Err(error) => {
                assert!(!error.to_string().contains("s3cret"));
                error.to_string()
            }
        };
        expected.assert_eq(&actual);
    }

    #[test]
    fn a_bare_host_is_enough() {
        check(
            "nats.example",
            expect![[r#"
                nats.example:4222
                None"#]],
        );
    }

    #[test]
    fn credentials_are_decoded_and_taken_off() {
        check(
            "nats://op%40x:s3cret%2F+@h:1, nats://h2:2",
            expect![[r#"
                h:1
                h2:2
                Password { user: "op@x", password: "s3cret/+" }"#]],
        );
    }

    #[test]
    fn a_user_without_password_is_a_token() {
        check(
            "nats://s3cret@h",
            expect![[r#"
                h:4222
                Token("s3cret")"#]],
        );
    }

    #[test]
    fn an_invalid_address_is_refused_without_being_shown() {
        check("nats://u:s3cret@h:x", expect!["the address of NATS is not a URL"]);
        check("http://u:s3cret@h", expect!["the address of NATS is not one of a NATS server"]);
        check(
            "nats://u:s3cret%FF@h",
            expect!["the credentials in the address of NATS are not UTF-8"],
        );
        check("", expect!["the address of NATS is not a URL"]);
    }
}
