//! Test support: executions driven by the engine alone, without store, clock or real worker; and
//! servers that live for one test.
//!
//! A [`Story`] runs one execution in the engine alone: tests of the rules give it a playbook and
//! reports, and read the resulting history. Tests of adapters start real servers, [`NatsServer`]
//! and [`PostgresServer`]; tests of tools call a web service, [`MockApi`]; spans go to a
//! [`Collector`]. A [`Proxy`] simulates a network that drops packets.

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
pub use worker::{RanCommand, ScriptedWorker, rendered};
