//! The arguments of `noetl token`.

use std::str::FromStr;
use std::time::Duration;

use anyhow::anyhow;
use clap::{Args, Subcommand};
use clap_complete::engine::ArgValueCandidates;
use noetl_model::{PathPattern, Role, Timestamp};

use super::{ClientArgs, Format};
use crate::input::candidates;

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Create a token and print its secret, which is shown only once
    Create(TokenCreateArgs),
    /// List tokens with their roles, expiry and last use
    List(TokenListArgs),
    /// Revoke a token: requests with it are refused
    Revoke(TokenRevokeArgs),
}

#[derive(Debug, Args)]
#[command(after_help = CREATE_EXAMPLES)]
pub(crate) struct TokenCreateArgs {
    /// Name of the token, which events and the audit log record as actor
    pub(crate) name: String,
    /// Role of the token (repeatable): viewer, operator, author, worker, internal or admin
    #[arg(
        long = "role", value_name = "ROLE", required = true,
        add = ArgValueCandidates::new(candidates::roles)
    )]
    pub(crate) roles: Vec<Role>,
    /// Restrict the roles to playbooks with these paths (repeatable): `team-a/*` or `team-a/import`
    #[arg(long = "path", value_name = "PATTERN")]
    pub(crate) paths: Vec<PathPattern>,
    /// Expiry of the token: a time, or a number of days, hours or minutes, such as 30d
    #[arg(long, value_name = "TIME")]
    pub(crate) expires: Option<TokenExpiry>,
    /// Person or team that answers for the token
    #[arg(long, value_name = "TEXT")]
    pub(crate) owner: Option<String>,
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: Format,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

#[derive(Debug, Args)]
#[command(after_help = LIST_EXAMPLES)]
pub(crate) struct TokenListArgs {
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: Format,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

#[derive(Debug, Args)]
#[command(after_help = REVOKE_EXAMPLES)]
pub(crate) struct TokenRevokeArgs {
    /// Name of the token
    #[arg(add = ArgValueCandidates::new(candidates::tokens))]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

/// The end of a token's validity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenExpiry {
    At(Timestamp),
    After(Duration),
}

impl FromStr for TokenExpiry {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Ok(at) = text.parse() {
            return Ok(Self::At(at));
        }
        let wrong = || anyhow!("write a time such as 2027-01-31T00:00:00Z, or 30d, 12h or 15m");
        let unit = match text.chars().last() {
            Some('d') => 24 * 60 * 60,
            Some('h') => 60 * 60,
            Some('m') => 60,
            Some(_) | None => return Err(wrong()),
        };
        let count: u32 = text[..text.len() - 1].parse().map_err(|_| wrong())?;
        Ok(Self::After(Duration::from_secs(unit * u64::from(count))))
    }
}

pub(super) const TOKEN_EXAMPLES: &str = "\
Roles:
  viewer    reads everything that is not secret
  operator  also starts executions and acts on running ones
  author    also registers, archives and restores playbooks
  worker    runs commands and reads their secrets
  internal  calls the routes between parts of the system
  admin     may do everything

A server asks for tokens if NOETL_API_TOKEN or NOETL_API_TOKENS is set.

Examples:
  noetl token create ci --role operator --path 'team-a/*' --expires 90d
  noetl token list
  noetl token revoke ci";

const CREATE_EXAMPLES: &str = "\
The secret is printed once and cannot be read again. Clients send it as
`Authorization: Bearer <secret>`; noetl reads it from NOETL_API_TOKEN.

Examples:
  noetl token create ci --role operator --path 'team-a/*' --expires 90d
  noetl token create ada --role author --role viewer --owner 'Ada Lovelace'
  noetl token create pool-1 --role worker --output json --server https://noetl.example.org:8082";

const LIST_EXAMPLES: &str = "\
Examples:
  noetl token list
  noetl token list --output json --server https://noetl.example.org:8082";

const REVOKE_EXAMPLES: &str = "\
The server that revokes a token refuses it at once; other servers of the cluster within 10 seconds.

Examples:
  noetl token revoke ci
  noetl token revoke ci --server https://noetl.example.org:8082";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expiry_is_a_time_or_a_distance() {
        let after = |seconds| Some(TokenExpiry::After(Duration::from_secs(seconds)));
        let at = "2027-01-31T00:00:00Z".parse().ok().map(TokenExpiry::At);
        for (text, expected) in [
            ("30d", after(30 * 86_400)),
            ("12h", after(12 * 3600)),
            ("15m", after(900)),
            ("2027-01-31T00:00:00Z", at),
            ("", None),
            ("d", None),
            ("3ü", None),
            ("-1d", None),
            ("30", None),
            ("30s", None),
        ] {
            assert_eq!(text.parse::<TokenExpiry>().ok(), expected, "{text}");
        }
    }
}
