//! The network settings of a server: tokens, TLS and limits.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use noetl_api::{ClientIdentity, ClientTls};
use noetl_app::{AppSettings, SubjectPrefix};
use noetl_server::{
    Authentication, Hosts, Limits, MetricsRoute, Origins, Pages, Rate, Scope, ServerSettings,
    Spans, Tls, TlsFiles, Token, Wire,
};
use rustix::process::{Resource, getrlimit};

use crate::backend::local::LEASE;
use crate::config::Config;
use crate::show::failure::Failure;

/// The scopes of the token shared by parts of the system: all that existing workers need.
const INTERNAL_SCOPES: &[Scope] = &[Scope::Run, Scope::Work, Scope::Internal];

/// Returns the network settings for a listen address. Without a token, the address must be loopback
/// unless `insecure`.
pub(crate) fn settings(
    address: SocketAddr,
    insecure: bool,
    config: &Config,
) -> Result<ServerSettings, Failure> {
    let is_local = address.ip().is_loopback();
    let tokens = tokens(config)?;
    let access = if !tokens.is_empty() {
        Authentication::Tokens(tokens)
    } else if is_local || insecure {
        Authentication::Open
    } else {
        return Err(Failure::bad_input(anyhow!(
            "{address} can be reached from other machines, and anybody could run commands here"
        ))
        .help("set NOETL_API_TOKEN, listen on 127.0.0.1, or say --insecure"));
    };
    let hosts = if is_local { Hosts::Loopback } else { Hosts::Any };
    let internal = config.variable("NOETL_INTERNAL_API_TOKEN");
    Ok(ServerSettings {
        internal: internal.map(|secret| Token::new(&secret, INTERNAL_SCOPES)),
        origins: origins(config)?,
        tls: server_files(config)?
            .map(Tls::load)
            .transpose()
            .map_err(Failure::bad_input)?
            .map(Arc::new),
        limits: limits(config)?,
        figures: if is_set(config, "NOETL_DISABLE_METRICS")? {
            MetricsRoute::Hidden
        } else {
            MetricsRoute::Shown
        },
        pages: if is_set(config, "NOETL_DISABLE_UI")? { Pages::Hidden } else { Pages::Shown },
        spans: match config.otel() {
            Some(_) => Spans::Exported,
            None => Spans::Hidden,
        },
        public_wire: match config.has_encrypted_public_url() {
            true => Wire::Encrypted,
            false => Wire::Plain,
        },
        ..ServerSettings::new(access, hosts)
    })
}

/// Returns the settings of the operations, for servers and for commands on the embedded database.
pub(crate) fn app_settings(config: &Config) -> Result<AppSettings, Failure> {
    Ok(AppSettings {
        feed_prefix: feed_prefix(config)?,
        logs: config.step_logs(),
        audit_kept: config.audit_kept(),
        retention: config.retention()?,
        policy_default: config.default_policy(),
        lease_verification: config.lease_verification(),
        in_force: config.settings_in_force(),
        ..AppSettings::new(LEASE)
    })
}

/// Returns the token for everything, those of NOETL_API_TOKENS, and those of a file.
fn tokens(config: &Config) -> Result<Vec<Token>, Failure> {
    let mut tokens: Vec<Token> =
        config.api_token().map(|secret| Token::new(secret, Scope::ALL)).into_iter().collect();
    let read = |name: &str, text: &str| {
        let read = Token::read_all(text).with_context(|| format!("cannot read {name}"));
        read.map_err(|error| {
            Failure::bad_input(error).help("write `read=<secret> run+work=sha256:<hex>`")
        })
    };
    if let Some(text) = config.variable("NOETL_API_TOKENS") {
        tokens.extend(read("NOETL_API_TOKENS", &text)?);
    }
    if let Some(path) = config.variable("NOETL_API_TOKENS_FILE") {
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("cannot read {path}, which NOETL_API_TOKENS_FILE names"))
            .map_err(Failure::bad_input)?;
        tokens.extend(read(&path, &text)?);
    }
    Ok(tokens)
}

fn origins(config: &Config) -> Result<Origins, Failure> {
    let named = config.variable("NOETL_CORS_ORIGINS").unwrap_or_default();
    let origins = named.split([',', ' ']).filter(|origin| !origin.is_empty());
    let checked = origins.map(|origin| {
        let is_whole = url::Url::parse(origin)
            .is_ok_and(|url| url.has_host() && url.origin().ascii_serialization() == origin);
        if is_whole {
            return Ok(origin.to_owned());
        }
        Err(Failure::bad_input(anyhow!(
            "`{origin}` in NOETL_CORS_ORIGINS is not the origin of a site"
        ))
        .help("write scheme, host and port only, such as https://ops.example:8443"))
    });
    checked.collect::<Result<_, _>>().map(Origins)
}

fn feed_prefix(config: &Config) -> Result<SubjectPrefix, Failure> {
    let Some(text) = config.variable("NOETL_FEED_SUBJECT_PREFIX") else {
        return Ok(SubjectPrefix::default());
    };
    SubjectPrefix::parse(&text).map_err(|error| {
        Failure::bad_input(anyhow!("NOETL_FEED_SUBJECT_PREFIX: {error}"))
            .help("write words with full stops between them, such as noetl.events")
    })
}

fn limits(config: &Config) -> Result<Limits, Failure> {
    let usual = Limits::default();
    let times: Option<u32> = number(config, "NOETL_RATE_LIMIT")?;
    let burst: Option<u32> = number(config, "NOETL_RATE_BURST")?;
    let connections = number(config, "NOETL_CONNECTIONS_MAX")?.unwrap_or(usual.connections_max);
    let per_address = number(config, "NOETL_CONNECTIONS_PER_ADDRESS_MAX")?;
    let message_bytes = number(config, "NOETL_INGRESS_BYTES_MAX")?;
    let files = getrlimit(Resource::Nofile).current;
    Ok(Limits {
        connections_max: connections_within(connections, files),
        connections_per_address_max: per_address.unwrap_or(usual.connections_per_address_max),
        message_bytes_max: message_bytes.unwrap_or(usual.message_bytes_max),
        requests: times.map(|it| Rate::per_second(it, burst.unwrap_or(it.saturating_mul(2)))),
        ..usual
    })
}

/// Returns the limit of connections under a limit of open files; a quarter of the files is reserved
/// for the database, tools and logs.
fn connections_within(wanted: usize, files: Option<u64>) -> usize {
    let Some(files) = files.and_then(|files| usize::try_from(files).ok()) else { return wanted };
    wanted.min(files - files / 4).max(1)
}

/// Parses a number above zero.
fn number<T: FromStr + PartialOrd + Default>(
    config: &Config,
    name: &str,
) -> Result<Option<T>, Failure> {
    let Some(text) = config.variable(name) else { return Ok(None) };
    let number = text.parse().ok().filter(|number| *number > T::default());
    let refused =
        || Failure::bad_input(anyhow!("{name} must be a number above zero, not `{text}`"));
    number.map(Some).ok_or_else(refused)
}

fn is_set(config: &Config, name: &str) -> Result<bool, Failure> {
    match config.variable(name).unwrap_or_default().to_ascii_lowercase().as_str() {
        "" | "0" | "false" | "no" | "off" => Ok(false),
        "1" | "true" | "yes" | "on" => Ok(true),
        other => Err(Failure::bad_input(anyhow!("{name} is true or false, not `{other}`"))),
    }
}

/// Returns both of two variables, or neither; fails if only one is set.
fn pair(config: &Config, first: &str, second: &str) -> Result<Option<(PathBuf, PathBuf)>, Failure> {
    let alone = |is: &str, lacks: &str| {
        Failure::bad_input(anyhow!("{is} is set and {lacks} is not")).help("set both, or neither")
    };
    match (config.variable(first), config.variable(second)) {
        (Some(one), Some(other)) => Ok(Some((one.into(), other.into()))),
        (None, None) => Ok(None),
        (Some(_), None) => Err(alone(first, second)),
        (None, Some(_)) => Err(alone(second, first)),
    }
}

/// Returns the certificate files of a server, if configured.
fn server_files(config: &Config) -> Result<Option<TlsFiles>, Failure> {
    let client_ca = config.variable("NOETL_TLS_CLIENT_CA").map(PathBuf::from);
    match pair(config, "NOETL_TLS_CERT", "NOETL_TLS_KEY")? {
        Some((cert, key)) => Ok(Some(TlsFiles { cert, key, client_ca })),
        None if client_ca.is_some() => Err(Failure::bad_input(anyhow!(
            "NOETL_TLS_CLIENT_CA asks clients for certificates, and the server has none itself"
        ))
        .help("set NOETL_TLS_CERT and NOETL_TLS_KEY")),
        None => Ok(None),
    }
}

/// Returns the CA and the client certificate that a client uses.
pub(crate) fn client_tls(config: &Config) -> Result<ClientTls, Failure> {
    let identity = pair(config, "NOETL_TLS_CLIENT_CERT", "NOETL_TLS_CLIENT_KEY")?;
    Ok(ClientTls {
        ca: config.variable("NOETL_TLS_CA").map(PathBuf::from),
        identity: identity.map(|(cert, key)| ClientIdentity { cert, key }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(address: &str, insecure: bool, variables: &[(&str, &str)], expected: &str) {
        let address = address.parse().expect("an address");
        let found = match settings(address, insecure, &Config::of(variables)) {
            Err(_) => "refused".to_owned(),
            Ok(ServerSettings { access: Authentication::Open, hosts, .. }) => {
                format!("open, {hosts:?}")
            }
            Ok(ServerSettings { access: Authentication::Tokens(tokens), hosts, .. }) => {
                format!("{} tokens, {hosts:?}", tokens.len())
            }
        };
        assert_eq!(found, expected, "{variables:?}");
    }

    #[test]
    fn on_loopback_no_token_is_needed_and_one_that_is_set_is_asked_for() {
        check("127.0.0.1:8082", false, &[], "open, Loopback");
        check("[::1]:8082", false, &[("NOETL_API_TOKEN", "x")], "1 tokens, Loopback");
    }

    #[test]
    fn other_addresses_require_a_token_unless_the_risk_is_accepted_explicitly() {
        check("0.0.0.0:8082", false, &[], "refused");
        check("0.0.0.0:8082", false, &[("NOETL_API_TOKEN", "x")], "1 tokens, Any");
        check("0.0.0.0:8082", true, &[], "open, Any");
    }

    #[test]
    fn tokens_with_scopes_are_enough() {
        check("0.0.0.0:8082", false, &[("NOETL_API_TOKENS", "read=a,run+work=b")], "2 tokens, Any");
        check("127.0.0.1:8082", false, &[("NOETL_API_TOKENS", "write=a")], "refused");
        check("127.0.0.1:8082", false, &[("NOETL_API_TOKENS_FILE", "/no/such/file")], "refused");
    }

    #[test]
    fn the_internal_token_alone_lets_nobody_listen_to_the_world() {
        check("0.0.0.0:8082", false, &[("NOETL_INTERNAL_API_TOKEN", "x")], "refused");
    }

    #[track_caller]
    fn refused(variables: &[(&str, &str)], expected: &str) {
        let address = "127.0.0.1:8082".parse().expect("an address");
        let failure = settings(address, false, &Config::of(variables)).expect_err("a failure");
        let told = format!("{failure:?}");
        assert!(told.contains(expected), "{told}");
    }

    #[test]
    fn a_certificate_without_its_key_is_refused_and_so_is_the_other_way_round() {
        refused(&[("NOETL_TLS_CERT", "a.pem")], "NOETL_TLS_CERT is set and NOETL_TLS_KEY is not");
        refused(&[("NOETL_TLS_KEY", "a.pem")], "NOETL_TLS_KEY is set and NOETL_TLS_CERT is not");
        refused(&[("NOETL_TLS_CLIENT_CA", "a.pem")], "the server has none itself");
        let both = [("NOETL_TLS_CERT", "/no/such/a.pem"), ("NOETL_TLS_KEY", "/no/such/b.pem")];
        refused(&both, "cannot read");
    }

    #[test]
    fn connections_leave_files_for_the_rest_of_the_process() {
        for (wanted, files, expected) in [
            (10_000, None, 10_000),
            (10_000, Some(1024), 768),
            (100, Some(1024), 100),
            (10_000, Some(1_048_576), 10_000),
            (10_000, Some(1), 1),
        ] {
            assert_eq!(connections_within(wanted, files), expected, "{wanted} of {files:?}");
        }
    }

    #[test]
    fn a_prefix_of_feeds_that_leads_to_subjects_of_nats_or_of_the_server_is_refused() {
        for prefix in ["$JS.API", "noetl", "noetl.commands", "a.*"] {
            let config = Config::of(&[("NOETL_FEED_SUBJECT_PREFIX", prefix)]);
            let failure = app_settings(&config).expect_err("a failure");
            let failure = format!("{failure:?}");
            assert!(failure.contains("NOETL_FEED_SUBJECT_PREFIX"), "{failure}");
        }
    }

    #[test]
    fn origins_that_make_no_sense_are_refused() {
        refused(&[("NOETL_CORS_ORIGINS", "https://a.example/page")], "NOETL_CORS_ORIGINS");
    }
}
