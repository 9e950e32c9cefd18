//! `noetl server`: a control plane for others, with a worker of its own unless told otherwise.

use std::net::SocketAddr;

use anyhow::{Context as _, anyhow};
use noetl_server::{Access, AppState, Hosts, Scope, Settings, Token, serve};
use tokio::net::TcpListener;

use super::stopped;
use crate::args::ServerArgs;
use crate::config::Config;
use crate::failure::{Exit, Failure};
use crate::foundation::{self, Sharing, worker_of_process};
use crate::session::{LEASE, Session, embedded_worker};
use crate::terminal::Terminal;

pub(crate) async fn server(
    args: &ServerArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let listener = TcpListener::bind(&args.listen)
        .await
        .with_context(|| format!("cannot listen on {}", args.listen))
        .map_err(Failure::broken)?;
    let address = listener.local_addr()?;
    let settings = settings(address, args.insecure, config.api_token())?;
    let (foundation, history) = foundation::lay(args, address, config).await?;
    let worker = match foundation.sharing {
        Sharing::Alone => embedded_worker(),
        Sharing::WithOthers => worker_of_process(config),
    };
    let mut session = Session::serving(foundation);
    if !args.no_worker {
        session = session.with_worker(worker, config);
    }
    let state = AppState::new(session.services(), settings);
    terminal.say(format!("listening on http://{address}, history in {history}"));
    let served = serve(listener, state, stopped()?).await;
    session.close().await;
    served?;
    Ok(Exit::Completed)
}

/// Who is let in, by where the server listens: beyond this machine nobody without a token.
fn settings(address: SocketAddr, insecure: bool, token: Option<&str>) -> Result<Settings, Failure> {
    let is_local = address.ip().is_loopback();
    let access = match token {
        Some(token) => Access::Tokens(vec![Token::new(token, Scope::ALL)]),
        None if is_local || insecure => Access::Open,
        None => {
            return Err(Failure::bad_input(anyhow!(
                "{address} can be reached from other machines, and anybody could run commands here"
            ))
            .help("set NOETL_API_TOKEN, listen on 127.0.0.1, or say --insecure"));
        }
    };
    let hosts = if is_local { Hosts::Loopback } else { Hosts::Any };
    Ok(Settings { access, hosts, lease: LEASE })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(address: &str, insecure: bool, token: Option<&str>, expected: &str) {
        let address = address.parse().expect("an address");
        let found = match settings(address, insecure, token) {
            Err(_) => "refused".to_owned(),
            Ok(Settings { access: Access::Open, hosts, .. }) => format!("open, {hosts:?}"),
            Ok(Settings { access: Access::Tokens(_), hosts, .. }) => format!("token, {hosts:?}"),
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn on_loopback_no_token_is_needed_and_one_that_is_set_is_asked_for() {
        check("127.0.0.1:8082", false, None, "open, Loopback");
        check("[::1]:8082", false, Some("x"), "token, Loopback");
    }

    #[test]
    fn on_any_other_address_a_token_is_needed_unless_the_danger_is_said_aloud() {
        check("0.0.0.0:8082", false, None, "refused");
        check("0.0.0.0:8082", false, Some("x"), "token, Any");
        check("0.0.0.0:8082", true, None, "open, Any");
    }
}
