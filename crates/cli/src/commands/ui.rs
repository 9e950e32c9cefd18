//! `noetl ui`: opens the web interface in a browser; serves it if no server runs.

use std::net::TcpStream;
use std::process::{Command, Stdio};

use noetl_model::ExecutionId;
use url::Url;

use super::server::serve_then;
use crate::args::{ServerArgs, UiArgs};
use crate::backend;
use crate::config::Config;
use crate::show::failure::{Exit, Failure};
use crate::show::terminal::Terminal;
use crate::wiring::database;

/// Programs that open an address in the user's browser.
const OPENERS: &[&str] = &["xdg-open", "open"];

pub(crate) async fn ui(
    args: &UiArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    if let Some(server) = running(args, config)? {
        let base = server.as_str().trim_end_matches('/');
        show(&page_of(base, args.execution), args, config, terminal);
        return Ok(Exit::Completed);
    }
    let server = ServerArgs {
        listen: None,
        no_worker: false,
        insecure: false,
        postgres: None,
        nats: None,
        payload_dir: None,
        database: args.client.database.clone(),
    };
    serve_then(&server, config, terminal, |base, terminal| {
        show(&page_of(base, args.execution), args, config, terminal);
    })
    .await
}

/// Returns the server to use: the given or configured one, else the one that has the database open.
fn running(args: &UiArgs, config: &Config) -> Result<Option<Url>, Failure> {
    if backend::server_of(&args.client, config)?.is_some() {
        return Ok(args.client.server.clone().or_else(|| config.server()));
    }
    let database = database::path_of(&args.client.database, config);
    Ok(database::served_at(&database).filter(answers))
}

/// True if a server accepts connections; one that was killed leaves its address behind.
fn answers(server: &Url) -> bool {
    server
        .socket_addrs(|| None)
        .is_ok_and(|addresses| addresses.iter().any(|it| TcpStream::connect(it).is_ok()))
}

fn page_of(base: &str, execution: Option<ExecutionId>) -> String {
    match execution {
        Some(execution) => format!("{base}/ui/executions/{execution}"),
        None => format!("{base}/ui/"),
    }
}

/// Prints the address of a page and opens it.
fn show(page: &str, args: &UiArgs, config: &Config, terminal: &mut Terminal) {
    let is_open = !args.no_browser && is_opened(page, config);
    terminal.say(if is_open { format!("opening {page}") } else { format!("open {page}") });
}

fn is_opened(page: &str, config: &Config) -> bool {
    let browser = config.variable("BROWSER");
    let programs = browser.iter().map(String::as_str).chain(OPENERS.iter().copied());
    let open = |program: &str| {
        let mut command = Command::new(program);
        command.arg(page).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().is_ok()
    };
    programs.into_iter().any(open)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_the_overview_or_an_execution() {
        assert_eq!(page_of("http://a", None), "http://a/ui/");
        assert_eq!(page_of("http://a", Some(ExecutionId(7))), "http://a/ui/executions/7");
    }
}
