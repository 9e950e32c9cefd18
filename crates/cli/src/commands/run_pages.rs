//! The web interface for `noetl run --ui`: the one of the server that runs the execution, or one that
//! this process serves.

use anyhow::{Context as _, anyhow};
use noetl_server::{AppState, serve};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::conclude::Conclusion;
use super::server::reachable;
use crate::backend::{Backend, HistoryLocation};
use crate::config::Config;
use crate::show::failure::Failure;
use crate::show::terminal::Terminal;
use crate::wiring::network;

/// The pages of an execution that a command runs.
pub(crate) struct RunPages {
    pub(crate) url: String,
    served: Option<ServedHere>,
}

/// A server in this process.
struct ServedHere {
    stop: CancellationToken,
    serving: JoinHandle<()>,
}

impl RunPages {
    /// Finds the pages of a server, or serves them in front of a backend in this process.
    pub(crate) async fn open(backend: &dyn Backend, config: &Config) -> Result<Self, Failure> {
        let Some(app) = backend.local_app() else {
            return match backend.reader().location() {
                HistoryLocation::Server(url) => Ok(Self { url: url.to_string(), served: None }),
                HistoryLocation::Memory | HistoryLocation::File(_) => {
                    Err(Failure::broken(anyhow!("there is nothing to show pages of")))
                }
            };
        };
        // Another server may have the configured port.
        let listener = match TcpListener::bind(config.listen()).await {
            Ok(listener) => listener,
            Err(_) => {
                let bound = TcpListener::bind("127.0.0.1:0").await;
                bound.context("cannot listen on 127.0.0.1").map_err(Failure::broken)?
            }
        };
        let address = listener.local_addr()?;
        let settings = network::settings(address, false, config)?;
        let scheme = if settings.tls.is_some() { "https" } else { "http" };
        let state = AppState::new(app, settings);
        if !state.shows_pages() {
            return Err(Failure::bad_input(anyhow!("the web interface is turned off"))
                .help("unset NOETL_DISABLE_UI, or run without --ui"));
        }
        let (stop, drain) = (CancellationToken::new(), config.server_drain());
        let stopped = stop.clone();
        let serving = tokio::spawn(async move {
            if let Err(error) = serve(listener, state, drain, stopped).await {
                let error: &dyn std::error::Error = &error;
                tracing::warn!(error, "pages are no longer served");
            }
        });
        let url = format!("{scheme}://{}", reachable(address));
        Ok(Self { url, served: Some(ServedHere { stop, serving }) })
    }

    /// Stops a server of this process; after the end of the execution, once the user asks for it.
    pub(crate) async fn close(
        self,
        is_done: bool,
        conclusion: &mut Conclusion<'_>,
        terminal: &mut Terminal,
    ) {
        let Some(ServedHere { stop, serving }) = self.served else { return };
        if is_done {
            terminal.say("the page is served until Ctrl-C");
            conclusion.signalled().await;
        }
        stop.cancel();
        // A page that is open keeps its stream; nobody waits for it.
        serving.abort();
    }
}
