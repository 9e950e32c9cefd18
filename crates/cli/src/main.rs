//! The `noetl` binary: reads the arguments, carries out one command, ends with its exit code.

mod args;
mod commands;
mod config;
mod failure;
mod files;
mod nearest;
mod output;
mod terminal;

use std::process::ExitCode;

use clap::Parser as _;

use args::Arguments;
use config::Config;
use terminal::Terminal;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let config = Config::from_environment();
    let mut terminal = Terminal::new(&config, arguments.color);
    let ended = commands::dispatch(arguments.command, &mut terminal);
    let exit = ended.unwrap_or_else(|failure| {
        failure.explain(&mut terminal);
        failure.exit()
    });
    exit.into()
}
