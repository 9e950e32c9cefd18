//! `noetl ui`: opens the web interface in a browser; serves it if no server runs.

use std::process::{Command, Stdio};

use url::Url;

use super::server::serve_then;
use crate::args::{ServerArgs, UiArgs};
use crate::backend::{self, answers, page_of};
use crate::config::Config;
use crate::show::failure::{Exit, Failure};
use crate::show::terminal::Terminal;
use crate::wiring::{database, local_token};

/// Programs that open an address in the user's browser.
const OPENERS: &[&str] = &["xdg-open", "open"];

pub(crate) async fn ui(
    args: &UiArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    if let Some(server) = running(args, config)? {
        let database = database::path_of(&args.client.database, config);
        if let Some(file) = local_token::file_for(&server, &database) {
            terminal.say(format!("the token to sign in with is in {}", file.display()));
        }
        show(&page_of(server.as_str(), args.execution), args.no_browser, config, terminal);
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
    serve_then(&server, config, terminal, async |serving, terminal| {
        show(&page_of(serving.url, args.execution), args.no_browser, config, terminal);
        Ok(())
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

/// Prints the address of a page and opens it, unless no browser is wanted.
pub(super) fn show(page: &str, no_browser: bool, config: &Config, terminal: &mut Terminal) {
    let is_open = !no_browser && is_opened(page, config);
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
