//! Checks of a server, for operators and container health checks.

use noetl_api::{Client, ClientError, ServerReadiness};
use serde_json::Value;
use url::Url;

use super::DoctorCheck;
use crate::backend::remote::Remote;
use crate::config::{Config, NamedBy};
use crate::show::failure::Failure;

const VERSION: &str = env!("CARGO_PKG_VERSION");

pub(super) async fn checks(url: &Url, config: &Config) -> Result<Vec<DoctorCheck>, Failure> {
    let remote = Remote::new(url.clone(), NamedBy::Flag, config)?;
    let client = remote.client();
    let health = match client.health().await {
        Ok(health) => health,
        // `/readyz` gives the full reason.
        Err(ClientError::Foreign { .. }) | Err(ClientError::Refused { .. }) => {
            let help = "look at its log, and at its database";
            let unhealthy = DoctorCheck::fail("server", format!("{url} is not healthy"), help);
            return Ok(vec![unhealthy, ready(client).await]);
        }
        Err(error) => {
            let help = "start it with `noetl server`, or name another with --server URL";
            return Ok(vec![DoctorCheck::fail("server", super::chain(&error), help)]);
        }
    };
    let mut checks = vec![version(url, &health), database(&health), bus(&health)];
    checks.extend(super::clock::of_server(&health));
    checks.push(ready(client).await);
    checks.push(match remote.client().summaries(&Default::default()).await {
        Ok(_) => DoctorCheck::ok("access", "executions can be read"),
        Err(error @ ClientError::Refused { status: 401 | 403, .. }) => DoctorCheck::warn(
            "access",
            error.to_string(),
            "set NOETL_API_TOKEN to a token of this server",
        ),
        Err(error) => DoctorCheck::fail("access", super::chain(&error), "look at its log"),
    });
    Ok(checks)
}

async fn ready(client: &Client) -> DoctorCheck {
    match client.readiness().await {
        Ok(ServerReadiness { is_ready: true, .. }) => DoctorCheck::ok("ready", "it takes requests"),
        Ok(ServerReadiness { is_ready: false, causes }) => {
            let help = "docs/operations.md says what to do about each cause";
            DoctorCheck::fail("ready", format!("it takes no requests: {}", causes.join("; ")), help)
        }
        Err(error) => DoctorCheck::fail("ready", super::chain(&error), "look at its log"),
    }
}

fn version(url: &Url, health: &Value) -> DoctorCheck {
    match health["version"].as_str() {
        Some(VERSION) => DoctorCheck::ok("server", format!("{url} answers, noetl {VERSION}")),
        Some(other) => DoctorCheck::warn(
            "server",
            format!("{url} answers, noetl {other}"),
            format!("this is noetl {VERSION}: use the same version"),
        ),
        None => {
            DoctorCheck::warn("server", format!("{url} answers"), "it does not say its version")
        }
    }
}

fn database(health: &Value) -> DoctorCheck {
    match health["database"].as_str() {
        Some("connected") => DoctorCheck::ok("database", "it answers the server"),
        _ => DoctorCheck::fail("database", "it does not answer the server", "look at the database"),
    }
}

fn bus(health: &Value) -> DoctorCheck {
    match health["nats"].as_str() {
        Some("connected") => DoctorCheck::ok("nats", "it answers the server"),
        Some("disconnected") => DoctorCheck::warn(
            "nats",
            "it does not answer the server",
            "work goes on, more slowly; look at the broker",
        ),
        _ => DoctorCheck::ok("nats", "none is configured"),
    }
}
