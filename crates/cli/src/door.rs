//! Calls the HTTP routes of a remote server, or the same routes in this process on the embedded
//! database.

use std::time::Duration;

use noetl_api::{ClientError, Method};
use noetl_server::{Access, Answered, AppState, Hosts, Settings, Within};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::args::ClientArgs;
use crate::config::{Config, NamedBy};
use crate::database::{self, Opened};
use crate::failure::Failure;
use crate::plane::{self, Plane as _};
use crate::remote::{Remote, refused};
use crate::session::{LEASE, Session, Work};

/// The routes of a server.
pub(crate) enum Door {
    Far(Remote),
    Here { session: Box<Session>, routes: Within },
}

impl Door {
    pub(crate) async fn open(args: &ClientArgs, config: &Config) -> Result<Self, Failure> {
        if let Some(remote) = plane::server_of(args, config)? {
            return Ok(Self::Far(remote));
        }
        let path = database::path_of(&args.database, config);
        match database::open_or_served(&path, config).await? {
            Opened::ServedAt(url) => Ok(Self::Far(Remote::new(url, NamedBy::Database, config)?)),
            Opened::Ours(store) => {
                let session = Session::on(store, &path, Work::Nowhere, config).await?;
                // Only this command can reach these routes.
                let settings = Settings::new(Access::Open, Hosts::Loopback, LEASE);
                let routes = Within::new(AppState::new(session.services(), settings));
                Ok(Self::Here { session: Box::new(session), routes })
            }
        }
    }

    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failure> {
        self.ask(Method::GET, path, None, Duration::ZERO).await
    }

    /// Sends a GET request that may wait up to `wait` for an answer.
    pub(crate) async fn wait<T: DeserializeOwned>(
        &self,
        path: &str,
        wait: Duration,
    ) -> Result<T, Failure> {
        self.ask(Method::GET, path, None, wait).await
    }

    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &Value,
    ) -> Result<T, Failure> {
        self.ask(Method::POST, path, Some(body), Duration::ZERO).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Result<(), Failure> {
        self.ask::<Value>(Method::DELETE, path, None, Duration::ZERO).await.map(drop)
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        wait: Duration,
    ) -> Result<T, Failure> {
        match self {
            Door::Far(remote) => {
                remote.client().ask(method, path, body, wait).await.map_err(refused)
            }
            Door::Here { routes, .. } => read(routes.ask(method, path, body).await),
        }
    }

    /// Stops everything that runs in this process.
    pub(crate) async fn close(self) {
        match self {
            Door::Far(_) => {}
            Door::Here { session, .. } => session.close().await,
        }
    }
}

fn read<T: DeserializeOwned>(answered: Answered) -> Result<T, Failure> {
    let Answered { status, body } = answered;
    if (200..300).contains(&status) {
        return serde_json::from_value(body).map_err(Failure::broken);
    }
    let word = |key: &str| body[key].as_str().unwrap_or_default().to_owned();
    Err(refused(ClientError::Refused { status, code: word("code"), detail: word("detail") }))
}

/// Percent-encodes a path segment.
pub(crate) fn part(text: &str) -> String {
    let encode = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
            char::from(byte).to_string()
        }
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(encode).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_path_cannot_become_two() {
        assert_eq!(part("a/b?c d"), "a%2Fb%3Fc%20d");
        assert_eq!(part("plain-1.x_y~"), "plain-1.x_y~");
    }
}
