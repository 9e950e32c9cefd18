//! The built binary, as a user calls it: arguments in, streams and exit code out.

mod chaos;
mod client;
mod config;
mod crash;
mod credentials;
mod drain;
mod errors;
mod events;
mod examples;
mod figures;
mod help;
mod history;
mod intake;
mod kill;
mod oracle;
mod playbooks;
mod replay;
mod run;
mod sandbox;
mod schedules;
mod server;
mod signals;
mod sql_pages;
mod tool_pages;
mod traces;
mod validate;
