//! `noetl server`: a control plane for others, with a worker of its own unless told otherwise.

use anyhow::Context as _;
use noetl_server::{AppState, serve};
use tokio::net::TcpListener;

use super::stopped;
use crate::args::ServerArgs;
use crate::config::Config;
use crate::edge;
use crate::failure::{Exit, Failure};
use crate::foundation::{self, Sharing, worker_of_process};
use crate::session::{Session, embedded_worker};
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
    let settings = edge::settings(address, args.insecure, config)?;
    let scheme = if settings.tls.is_some() { "https" } else { "http" };
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
    terminal.say(format!("listening on {scheme}://{address}, history in {history}"));
    let served = serve(listener, state, stopped()?).await;
    session.close().await;
    served?;
    Ok(Exit::Completed)
}
