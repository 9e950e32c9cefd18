//! `noetl server`: serves the HTTP API, with an embedded worker unless told otherwise.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use noetl_app::{App, AppSettings, BrokerUrl, deliver_feeds, run_bulk_jobs};
use noetl_server::{AppState, Authentication, Scope, ServerSettings, Token, serve};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::stopped;
use crate::args::ServerArgs;
use crate::backend::Backend as _;
use crate::backend::local::{EmbeddedWorker, Session, embedded_worker};
use crate::config::Config;
use crate::show::failure::{Exit, Failure};
use crate::show::terminal::Terminal;
use crate::wiring::database::Announcement;
use crate::wiring::isolation;
use crate::wiring::local_token;
use crate::wiring::network;
use crate::wiring::server_parts::{self, Sharing, worker_of_process};
use crate::wiring::statements::SqlByHand;
use crate::wiring::tools::{ServerClients, Tools};

pub(crate) async fn server(
    args: &ServerArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    serve_then(args, config, terminal, async |_, _| Ok(())).await
}

/// A server that is about to answer requests.
pub(super) struct Serving<'a> {
    pub(super) url: &'a str,
    pub(super) app: &'a App,
}

/// Runs a server and calls `listening` once its address accepts connections.
pub(super) async fn serve_then(
    args: &ServerArgs,
    config: &Config,
    terminal: &mut Terminal,
    listening: impl AsyncFnOnce(Serving<'_>, &mut Terminal) -> Result<(), Failure>,
) -> Result<Exit, Failure> {
    serve_beside(args, config, terminal, listening, async |_, _, _| ()).await
}

/// Runs a server, calls `listening` once its address accepts connections, and runs `beside` while it
/// answers requests; `beside` ends when the token is cancelled.
pub(super) async fn serve_beside(
    args: &ServerArgs,
    config: &Config,
    terminal: &mut Terminal,
    listening: impl AsyncFnOnce(Serving<'_>, &mut Terminal) -> Result<(), Failure>,
    beside: impl AsyncFnOnce(&App, &mut Terminal, CancellationToken),
) -> Result<Exit, Failure> {
    let listen = args.listen.clone().unwrap_or_else(|| config.listen());
    let listener = TcpListener::bind(&listen)
        .await
        .with_context(|| format!("cannot listen on {listen}"))
        .map_err(Failure::broken)?;
    let address = listener.local_addr()?;
    let nats_url = args.nats.clone().or_else(|| config.variable("NOETL_NATS_URL"));
    let mut settings = network::settings(address, args.insecure, config)?;
    let broker_url = nats_url.clone().map(BrokerUrl);
    let scheme = if settings.tls.is_some() { "https" } else { "http" };
    let (parts, history) = server_parts::build(args, address, config).await?;
    let url = format!("{scheme}://{}", reachable(address));
    let base = url.clone();
    let token_file = require_token(&mut settings, &parts.sharing, config)?;
    let (id, announced, database) = match &parts.sharing {
        Sharing::Alone { database } => {
            let announced = Announcement::new(database, &url);
            (embedded_worker(), announced, Some(database.clone()))
        }
        Sharing::WithOthers => (worker_of_process(config), None, None),
    };
    let steps = match args.no_worker {
        true => None,
        false => Some(isolation::of_process(config, database.as_deref())?),
    };
    let step_protections =
        steps.as_ref().map(|steps| isolation::shown(steps.report())).unwrap_or_default();
    let of_app = AppSettings { broker_url, step_protections, ..network::app_settings(config)? };
    let holder = id.clone();
    let clients = clients(&settings, token_file.as_deref());
    let tools = Tools::of_address(address.ip(), clients);
    let public_url = config.public_url(address);
    let mut session = Session::serving(parts, public_url, of_app, config);
    session = session.with_notices(tools, config)?;
    if let Some(isolation) = steps {
        isolation::log(&isolation);
        let drain = config.server_drain();
        let server_url = Some(config.variable("NOETL_PUBLIC_SERVER_URL").unwrap_or(url));
        let worker =
            EmbeddedWorker { id: id.clone(), tools, drain, server_url, isolation, database };
        session = session.with_worker(worker, config)?;
        session = session.with_intake(id, nats_url, tools.settings(config)?.egress, config);
    }
    let mut state = AppState::new(session.app().clone(), settings);
    if let Some(dsn) = config.variable("NOETL_SQL_DSN") {
        state = state.with_statements(Arc::new(SqlByHand::on(dsn, tools.settings(config)?)));
    }
    let stop = stopped()?;
    let loops = app_loops(state.app(), &holder.to_string(), &stop);
    terminal.say(format!("listening on {scheme}://{address}, history in {history}"));
    tell_access(terminal, token_file.as_deref(), state.shows_pages().then_some(&*base));
    let served = match listening(Serving { url: &base, app: session.app() }, terminal).await {
        Ok(()) => {
            let beside = beside(session.app(), terminal, stop.clone());
            let serving = serve(listener, state, config.server_drain(), stop);
            let (served, ()) = tokio::join!(serving, beside);
            served.map_err(Failure::from)
        }
        Err(failure) => Err(failure),
    };
    loops.iter().for_each(JoinHandle::abort);
    Box::new(session).close().await;
    drop(announced);
    served.map(|()| Exit::Completed)
}

/// Starts the loops of the application: feeds, bulk jobs and retention. `holder` identifies this
/// server to others.
fn app_loops(app: &App, holder: &str, stop: &CancellationToken) -> [JoinHandle<()>; 3] {
    let owned = || (app.clone(), holder.to_owned(), stop.clone());
    let (of_feeds, of_jobs, (retaining, holder, stop)) = (owned(), owned(), owned());
    [
        tokio::spawn(deliver_feeds(of_feeds.0, of_feeds.1, of_feeds.2)),
        tokio::spawn(run_bulk_jobs(of_jobs.0, of_jobs.1, of_jobs.2)),
        tokio::spawn(async move { retaining.run_retention(holder, stop).await }),
    ]
}

/// Prints where the token is and where the web interface is, if there are any.
fn tell_access(terminal: &mut Terminal, token_file: Option<&Path>, pages: Option<&str>) {
    if let Some(file) = token_file {
        let file = file.display();
        terminal.say(format!(
            "the token is in {file}: commands of this user send it, the web interface asks for it"
        ));
    }
    if let Some(base) = pages {
        terminal.say(format!("web interface: {base}/ui/"));
    }
}

/// Requires the token beside the embedded database if `server.access` wants one and none is
/// configured. Returns its file.
fn require_token(
    settings: &mut ServerSettings,
    sharing: &Sharing,
    config: &Config,
) -> Result<Option<PathBuf>, Failure> {
    match (&settings.access, config.requires_token(), sharing) {
        (Authentication::Tokens(_), _, _) | (Authentication::Open, false, _) => Ok(None),
        (Authentication::Open, true, Sharing::Alone { database }) => {
            let token = local_token::of_database(database)?;
            settings.access = Authentication::Tokens(vec![Token::new(&token, Scope::ALL)]);
            Ok(Some(local_token::file_of(database)))
        }
        (Authentication::Open, true, Sharing::WithOthers) => {
            let error = anyhow!("`server.access` is `token`, and this server has no token");
            Err(Failure::bad_input(error).help("set NOETL_API_TOKEN or NOETL_API_TOKENS"))
        }
    }
}

/// Returns the clients of a server: with a token file, the token in it is the only configured one.
fn clients(settings: &ServerSettings, token_file: Option<&Path>) -> ServerClients {
    match (&settings.access, token_file) {
        (Authentication::Open, _) | (Authentication::Tokens(_), Some(_)) => {
            ServerClients::LocalUser
        }
        (Authentication::Tokens(_), None) => ServerClients::WithTokens,
    }
}

/// Returns the address at which this machine reaches a server that listens at `address`.
pub(super) fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}
