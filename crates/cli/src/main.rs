//! The `noetl` binary: reads the arguments, carries out one command, ends with its exit code.

mod args;
mod commands;
mod config;
mod database;
mod edge;
mod embedded;
mod failure;
mod files;
mod foundation;
mod history;
mod logging;
mod nearest;
mod neighbours;
mod output;
mod overview;
mod progress;
mod session;
mod terminal;
mod watch;
mod workload;

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser as _;

use args::Arguments;
use config::Config;
use terminal::Terminal;

/// How long tasks that are left may take to let go of what they have, such as processes.
const LET_GO: Duration = Duration::from_millis(500);

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let config = Config::from_environment();
    let mut terminal = Terminal::new(&config, arguments.color);
    logging::start(&config, arguments.verbose);
    rustls::crypto::ring::default_provider()
        .install_default()
        .expect("no other provider is installed before this one");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.expect("the system gives us threads");
    let ended = runtime.block_on(commands::dispatch(&arguments.command, &config, &mut terminal));
    let exit = ended.unwrap_or_else(|failure| {
        failure.explain(&mut terminal);
        failure.exit()
    });
    runtime.shutdown_timeout(LET_GO);
    exit.into()
}
