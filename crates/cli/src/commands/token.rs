//! `noetl token`: creates, lists and revokes stored tokens.

use noetl_api::wire::{CreatedToken, TokenView};
use noetl_model::{Actor, BadRoleGrant, PathPattern, Role, RoleGrant, Timestamp};

use crate::args::{TokenCommand, TokenCreateArgs, TokenExpiry, TokenListArgs, TokenRevokeArgs};
use crate::backend::{self, TokenRequest};
use crate::config::Config;
use crate::show::failure::{Exit, Failure};
use crate::show::output::ListText;
use crate::show::output::table::line;
use crate::show::terminal::Terminal;
use crate::wiring::server_parts::machine_time;

/// The most characters of the roles in the table.
const ROLES_CHARS_MAX: usize = 80;

pub(crate) async fn token(
    command: &TokenCommand,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    match command {
        TokenCommand::Create(args) => create(args, config, terminal).await,
        TokenCommand::List(args) => list(args, config, terminal).await,
        TokenCommand::Revoke(args) => revoke(args, config, terminal).await,
    }
}

async fn create(
    args: &TokenCreateArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let expires_at = args.expires.map(|expires| match expires {
        TokenExpiry::At(at) => at,
        TokenExpiry::After(duration) => machine_time().after(duration),
    });
    let request = TokenRequest {
        name: Actor::new(&args.name).map_err(Failure::bad_input)?,
        owner: args.owner.clone(),
        grants: grants(&args.roles, &args.paths).map_err(Failure::bad_input)?,
        expires_at,
    };
    let created =
        backend::with(&args.client, config, async |it| it.create_token(request).await).await?;
    terminal.say(format!(
        "created token {}: {}; the secret is shown this once",
        created.token.name,
        created.token.roles.join(", ")
    ));
    terminal.show(args.output, &created, |created: &CreatedToken| format!("{}\n", created.secret))
}

/// Returns every role for every path; without paths, every role for all playbooks.
fn grants(roles: &[Role], paths: &[PathPattern]) -> Result<Vec<RoleGrant>, BadRoleGrant> {
    let everywhere = [PathPattern::All];
    let paths = if paths.is_empty() { &everywhere } else { paths };
    let pairs = roles.iter().flat_map(|role| paths.iter().map(|path| (*role, path.clone())));
    pairs.map(|(role, path)| RoleGrant::new(role, path)).collect()
}

async fn list(
    args: &TokenListArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let listed = backend::with(&args.client, config, async |it| it.tokens().await);
    let text = ListText {
        empty: "no tokens; `noetl token create NAME --role ROLE` creates one",
        header: &["TOKEN", "ROLES", "OWNER", "EXPIRES", "LAST USE"],
        row: |it: &TokenView| {
            let or =
                |text: &Option<String>, word: &str| text.clone().unwrap_or_else(|| word.to_owned());
            let expires = match (&it.expires_at, it.is_expired) {
                (Some(_), true) => "expired".to_owned(),
                (at, _) => or(&at.as_deref().map(to_the_second), "never"),
            };
            vec![
                it.name.clone(),
                line(&it.roles.join(", "), ROLES_CHARS_MAX),
                or(&it.owner, "-"),
                expires,
                or(&it.used_at.as_deref().map(to_the_second), "-"),
            ]
        },
    };
    terminal.list(args.output, &listed.await?, &text)
}

/// Returns a time without parts of seconds; texts that are no time stay as they are.
fn to_the_second(text: &str) -> String {
    match text.parse::<Timestamp>() {
        Ok(at) => {
            Timestamp::from_millis(at.as_millis() - at.as_millis().rem_euclid(1000)).to_string()
        }
        Err(_) => text.to_owned(),
    }
}

async fn revoke(
    args: &TokenRevokeArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    backend::with(&args.client, config, async |it| it.revoke_token(&args.name).await).await?;
    terminal.say(format!("revoked {}", args.name));
    Ok(Exit::Completed)
}
