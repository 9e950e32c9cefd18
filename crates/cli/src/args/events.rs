//! The arguments of `noetl outbox`, `noetl feed` and `noetl subscription`.

use clap::{Args, Subcommand};
use clap_complete::engine::ArgValueCandidates;

use super::{ClientArgs, Format};
use crate::input::candidates;

#[derive(Debug, Subcommand)]
pub(crate) enum OutboxCommand {
    /// List pending messages (outbox), oldest first
    List(OutboxListArgs),
    /// Retry failed and dead messages immediately
    Retry(OutboxChoiceArgs),
    /// Delete dead messages
    Drop(OutboxChoiceArgs),
}

#[derive(Debug, Args)]
#[command(after_help = OUTBOX_LIST_EXAMPLES)]
pub(crate) struct OutboxListArgs {
    /// Only messages with this status
    #[arg(long, value_name = "STATUS", ignore_case = true,
          value_parser = ["pending", "in_flight", "failed", "dead"])]
    pub(crate) status: Option<String>,
    /// Maximum number of messages
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) limit: u16,
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: Format,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

#[derive(Debug, Args)]
#[command(after_help = OUTBOX_CHOICE_EXAMPLES)]
pub(crate) struct OutboxChoiceArgs {
    /// Numbers of messages, from `noetl outbox list`
    #[arg(value_name = "MESSAGE", required_unless_present = "dead")]
    pub(crate) messages: Vec<i64>,
    /// All dead messages
    #[arg(long, conflicts_with = "messages")]
    pub(crate) dead: bool,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum FeedCommand {
    /// List feeds and the positions of their consumers
    List(FeedListArgs),
    /// Create a feed
    Add(FeedAddArgs),
    /// Read the next events of a feed
    Read(FeedReadArgs),
    /// Move the position of a feed, to read events again or to skip some
    Seek(FeedSeekArgs),
    /// Retry a feed whose deliveries to its subject have failed
    Retry(FeedRemoveArgs),
    /// Delete a feed
    Remove(FeedRemoveArgs),
}

#[derive(Debug, Args)]
#[command(after_help = FEED_EXAMPLES)]
pub(crate) struct FeedListArgs {
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: Format,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

#[derive(Debug, Args)]
#[command(after_help = FEED_ADD_EXAMPLES)]
pub(crate) struct FeedAddArgs {
    /// Name of the feed: letters, digits, `-`, `_` and `.`
    pub(crate) name: String,
    /// Only events of this type; `command.*` matches all with this prefix
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) types: Vec<String>,
    /// Only executions of this playbook; `sales/*` matches all with this prefix
    #[arg(long)]
    pub(crate) path: Option<String>,
    /// Only events with this status
    #[arg(long = "status", value_name = "STATUS")]
    pub(crate) statuses: Vec<String>,
    /// First event: start, end, a time, or a cursor
    #[arg(long, value_name = "PLACE", default_value = "end")]
    pub(crate) from: String,
    /// Publish the events to this NATS subject, below `feeds.subject_prefix` (`noetl.events`);
    /// `{event_type}` and `{execution_id}` are replaced for each event
    #[arg(long, value_name = "SUBJECT")]
    pub(crate) subject: Option<String>,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

#[derive(Debug, Args)]
#[command(after_help = FEED_READ_EXAMPLES)]
pub(crate) struct FeedReadArgs {
    /// Name of the feed
    #[arg(add = ArgValueCandidates::new(candidates::feeds))]
    pub(crate) name: String,
    /// Continue after this cursor instead of the feed's position
    #[arg(long, value_name = "CURSOR")]
    pub(crate) after: Option<String>,
    /// Maximum number of events
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) limit: u16,
    /// Wait for events and continue until interrupted
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// Acknowledge the printed events, so that they are not shown again
    #[arg(long)]
    pub(crate) ack: bool,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

#[derive(Debug, Args)]
#[command(after_help = FEED_SEEK_EXAMPLES)]
pub(crate) struct FeedSeekArgs {
    /// Name of the feed
    #[arg(add = ArgValueCandidates::new(candidates::feeds))]
    pub(crate) name: String,
    /// New position: start, end, a time, or a cursor
    #[arg(value_name = "PLACE")]
    pub(crate) to: String,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

#[derive(Debug, Args)]
#[command(after_help = FEED_REMOVE_EXAMPLES)]
pub(crate) struct FeedRemoveArgs {
    /// Name of the feed
    #[arg(add = ArgValueCandidates::new(candidates::feeds))]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SubscriptionCommand {
    /// List subscriptions, newest first
    List(SubscriptionListArgs),
    /// Show one subscription and its history
    Get(SubscriptionArgs),
    /// Create the subscription of a registered document
    Register(SubscriptionArgs),
    /// Start taking messages
    Activate(SubscriptionArgs),
    /// Stop taking messages for a while
    Pause(SubscriptionArgs),
    /// Take messages again
    Resume(SubscriptionArgs),
    /// Finish the messages received so far and take no new ones
    Drain(SubscriptionArgs),
    /// Stop taking messages for good
    Deactivate(SubscriptionArgs),
    /// List, retry and delete messages that could not be dispatched
    #[command(subcommand, after_help = DEAD_EXAMPLES)]
    Dead(DeadCommand),
}

#[derive(Debug, Subcommand)]
pub(crate) enum DeadCommand {
    /// List dead messages, with the reason
    List(SubscriptionArgs),
    /// Retry dead messages: all of them, or the given ones
    Retry(DeadChoiceArgs),
    /// Delete dead messages: all of them, or the given ones
    Drop(DeadChoiceArgs),
}

#[derive(Debug, Args)]
#[command(after_help = DEAD_EXAMPLES)]
pub(crate) struct DeadChoiceArgs {
    /// Path or id of the subscription
    #[arg(value_name = "PATH_OR_ID", add = ArgValueCandidates::new(candidates::subscriptions))]
    pub(crate) subscription: String,
    /// Ids of messages, from `noetl subscription dead list`
    #[arg(value_name = "MESSAGE", required_unless_present = "all")]
    pub(crate) messages: Vec<String>,
    /// All dead messages
    #[arg(long, conflicts_with = "messages")]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

#[derive(Debug, Args)]
#[command(after_help = SUBSCRIPTION_EXAMPLES)]
pub(crate) struct SubscriptionListArgs {
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: Format,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

#[derive(Debug, Args)]
#[command(after_help = SUBSCRIPTION_EXAMPLES)]
pub(crate) struct SubscriptionArgs {
    /// Path or id of the subscription
    #[arg(value_name = "PATH_OR_ID", add = ArgValueCandidates::new(candidates::subscriptions))]
    pub(crate) subscription: String,
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: Format,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

const DEAD_EXAMPLES: &str = "\
A message that cannot be dispatched is retried after a delay. After `dispatch.max_failures`
failures (default: 5) it is dead: it is kept, and retried only on request.

Examples:
  noetl subscription dead list subscriptions/orders
  noetl subscription dead retry subscriptions/orders --all
  noetl subscription dead drop subscriptions/orders ORDERS:17@1763200000000000000";

pub(super) const OUTBOX_EXAMPLES: &str = "\
A message that could not be sent is retried with increasing delays. After twenty attempts it is dead:
it is kept, and retried only on request.

Examples:
  noetl outbox list --status dead
  noetl outbox retry --dead";

const OUTBOX_LIST_EXAMPLES: &str = "\
Examples:
  noetl outbox list
  noetl outbox list --status dead --output json
  noetl outbox list --server https://noetl.example.org:8082";

const OUTBOX_CHOICE_EXAMPLES: &str = "\
Examples:
  noetl outbox retry 17 18
  noetl outbox drop --dead";

pub(super) const FEED_EXAMPLES: &str = "\
A feed delivers the events of all executions, each at least once, and stores the position of its
consumer.

Examples:
  noetl feed list
  noetl feed add failures --status failed
  noetl feed read failures --follow --ack";

const FEED_ADD_EXAMPLES: &str = "\
Examples:
  noetl feed add all --from start
  noetl feed add sales --path 'sales/*' --type 'playbook.*'
  noetl feed add stream --subject 'noetl.events.{event_type}' --server http://127.0.0.1:8082";

const FEED_READ_EXAMPLES: &str = "\
Prints one event per line, as JSON. Without --ack the next reader gets the same events.

Examples:
  noetl feed read all
  noetl feed read all --follow --ack
  noetl feed read all --after 41.2 --limit 10";

const FEED_SEEK_EXAMPLES: &str = "\
Examples:
  noetl feed seek all start
  noetl feed seek all 2026-11-15T12:00:00Z";

const FEED_REMOVE_EXAMPLES: &str = "\
Examples:
  noetl feed remove all";

pub(super) const SUBSCRIPTION_EXAMPLES: &str = "\
`noetl register FILE` stores the document of a subscription in the catalog. The commands below create
the subscription from it and change its state; it is named by its path.

Examples:
  noetl subscription list
  noetl subscription activate subscriptions/orders
  noetl subscription pause subscriptions/orders --server https://noetl.example.org:8082";
