//! Decides which servers the token is sent to.

use anyhow::anyhow;
use url::Url;

use super::settings::Setting;
use super::{Author, Config, Source};
use crate::show::failure::Failure;

/// The source of a server's address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NamedBy {
    /// A flag of the command.
    Flag,
    /// The settings: `server.url` or a context.
    Settings,
    /// The file beside a database, left by the server that has the database open.
    Database,
}

impl Config {
    /// Returns the token for a server, if there is one. A token that is bound to an origin, by
    /// `token_origin` or by its context, is sent only there; a token of the user is not sent to a
    /// server that a project file names.
    pub(crate) fn token_for(&self, server: &Url, named: NamedBy) -> Result<Option<&str>, Failure> {
        let Some(token) = self.said.get(&Setting::Token) else { return Ok(None) };
        let bound = match self.url(Setting::TokenOrigin) {
            Some(origin) => Some(origin),
            None if token.by == Source::Context => self.server(),
            None => None,
        };
        let author = match named {
            NamedBy::Flag => Author::User,
            NamedBy::Settings => self.author(Setting::ServerUrl),
            NamedBy::Database => self.author(Setting::Db),
        };
        let refused = match bound {
            Some(bound) if bound.origin() == server.origin() => None,
            Some(bound) => Some(format!("it is bound to {}", origin_of(&bound))),
            None if token.author == Author::User && author == Author::Project => {
                Some("a project file names that server".to_owned())
            }
            None => None,
        };
        match refused {
            None => Ok(Some(&token.value)),
            Some(why) => {
                let server = origin_of(server);
                Err(Failure::bad_input(anyhow!("the token is not shown to {server}: {why}")).help(
                    format!(
                        "if it is meant for that server, set NOETL_API_TOKEN_ORIGIN={server}; \
                         otherwise unset NOETL_API_TOKEN"
                    ),
                ))
            }
        }
    }
}

fn origin_of(url: &Url) -> String {
    url.origin().ascii_serialization()
}
