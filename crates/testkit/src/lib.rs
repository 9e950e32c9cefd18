//! Stories of executions, told by the engine alone: no store, no clock, no worker but a function; and
//! servers that live for one test.
//!
//! A [`Story`] is the shell around the engine at its smallest. Tests of the rules use it to give a
//! playbook and reports and to read the history that follows. Tests of adapters start the real thing:
//! a [`NatsServer`], a [`PostgresServer`]; those of tools a web service to call, a [`MockApi`];
//! and spans go to a [`Collector`]. A [`Proxy`] is a network that can go silent.

mod collector;
mod mock_api;
mod nats;
mod postgres;
mod print;
mod proxy;
mod publisher;
mod story;
mod worker;

pub use collector::Collector;
pub use mock_api::MockApi;
pub use nats::NatsServer;
pub use postgres::PostgresServer;
pub use print::history_line;
pub use proxy::Proxy;
pub use publisher::Publisher;
pub use story::{Story, StoryOptions};
pub use worker::{Ran, ScriptedWorker, rendered};
