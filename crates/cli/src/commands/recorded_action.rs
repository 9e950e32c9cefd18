//! The commands that change something, by the action that the audit log records if they work on the
//! embedded database. A server records their requests itself.

use crate::args::{
    ApprovalsCommand, CatalogCommand, CliCommand, CredentialCommand, DeadCommand,
    ExecutionsCommand, FeedCommand, NotificationsCommand, OutboxCommand, PoolsCommand,
    ScheduleCommand, SignalsCommand, SubscriptionCommand, TokenCommand,
};

/// Returns the action of a command; `None` if it only reads, or serves requests that have entries of
/// their own.
pub(super) fn action_of(command: &CliCommand) -> Option<&'static str> {
    match command {
        CliCommand::Run(_) => Some("cli.run"),
        CliCommand::Cancel(_) => Some("cli.cancel"),
        CliCommand::Signal(_) => Some("cli.signal"),
        CliCommand::Signals(SignalsCommand::List(_)) => None,
        CliCommand::Signals(SignalsCommand::Drop(_)) => Some("cli.signals.drop"),
        CliCommand::Resume(_) => Some("cli.resume"),
        CliCommand::Register(_) => Some("cli.register"),
        CliCommand::Executions(command) => of_executions(command),
        CliCommand::Approvals(command) => of_approvals(command),
        CliCommand::Catalog(command) => of_catalog(command),
        CliCommand::Pools(command) => of_pools(command),
        CliCommand::Notifications(command) => of_notifications(command),
        CliCommand::Outbox(command) => of_outbox(command),
        CliCommand::Token(command) => of_token(command),
        CliCommand::Feed(command) => of_feed(command),
        CliCommand::Subscription(command) => of_subscription(command),
        CliCommand::Schedule(command) => of_schedule(command),
        CliCommand::Credential(command) => of_credential(command),
        CliCommand::Init(_)
        | CliCommand::Dev(_)
        | CliCommand::Validate(_)
        | CliCommand::Test(_)
        | CliCommand::Lint(_)
        | CliCommand::Explain(_)
        | CliCommand::Fmt(_)
        | CliCommand::Lsp(_)
        | CliCommand::Diff(_)
        | CliCommand::Graph(_)
        | CliCommand::Status(_)
        | CliCommand::Logs(_)
        | CliCommand::Verify(_)
        | CliCommand::Export(_)
        | CliCommand::Replay(_)
        | CliCommand::Server(_)
        | CliCommand::Ui(_)
        | CliCommand::Demo(_)
        | CliCommand::Worker(_)
        | CliCommand::Limits(_)
        | CliCommand::Audit(_)
        | CliCommand::Tools(_)
        | CliCommand::Schema(_)
        | CliCommand::Completions(_)
        | CliCommand::Db(_)
        | CliCommand::Doctor(_)
        | CliCommand::Config(_) => None,
    }
}

fn of_executions(command: &ExecutionsCommand) -> Option<&'static str> {
    match command {
        ExecutionsCommand::List(_)
        | ExecutionsCommand::Get(_)
        | ExecutionsCommand::Events(_)
        | ExecutionsCommand::Timeline(_) => None,
        ExecutionsCommand::Cancel(_) => Some("cli.cancel"),
        ExecutionsCommand::Delete(_) => Some("cli.executions.delete"),
        ExecutionsCommand::Keep(_) => Some("cli.executions.keep"),
        ExecutionsCommand::Pause(_) => Some("cli.executions.pause"),
        ExecutionsCommand::Unpause(_) => Some("cli.executions.unpause"),
        ExecutionsCommand::Rerun(_) => Some("cli.executions.rerun"),
        ExecutionsCommand::Fork(_) => Some("cli.executions.fork"),
        ExecutionsCommand::Retry(_) => Some("cli.executions.retry"),
        ExecutionsCommand::Resume(_) => Some("cli.resume"),
    }
}

fn of_approvals(command: &ApprovalsCommand) -> Option<&'static str> {
    match command {
        ApprovalsCommand::List(_) | ApprovalsCommand::Show(_) => None,
        ApprovalsCommand::Approve(_) => Some("cli.approvals.approve"),
        ApprovalsCommand::Reject(_) => Some("cli.approvals.reject"),
        ApprovalsCommand::Link(_) => Some("cli.approvals.link"),
    }
}

fn of_catalog(command: &CatalogCommand) -> Option<&'static str> {
    match command {
        CatalogCommand::List(_) | CatalogCommand::Get(_) => None,
        CatalogCommand::Archive(_) => Some("cli.catalog.archive"),
        CatalogCommand::Restore(_) => Some("cli.catalog.restore"),
        CatalogCommand::Pause(_) => Some("cli.catalog.pause"),
        CatalogCommand::Resume(_) => Some("cli.catalog.resume"),
    }
}

fn of_pools(command: &PoolsCommand) -> Option<&'static str> {
    match command {
        PoolsCommand::List(_) => None,
        PoolsCommand::Pause(_) => Some("cli.pools.pause"),
        PoolsCommand::Resume(_) => Some("cli.pools.resume"),
    }
}

fn of_notifications(command: &NotificationsCommand) -> Option<&'static str> {
    match command {
        NotificationsCommand::List(_) => None,
        NotificationsCommand::Test(_) => Some("cli.notifications.test"),
        NotificationsCommand::Pause(_) => Some("cli.notifications.pause"),
        NotificationsCommand::Resume(_) => Some("cli.notifications.resume"),
    }
}

fn of_outbox(command: &OutboxCommand) -> Option<&'static str> {
    match command {
        OutboxCommand::List(_) => None,
        OutboxCommand::Retry(_) => Some("cli.outbox.retry"),
        OutboxCommand::Drop(_) => Some("cli.outbox.drop"),
    }
}

fn of_token(command: &TokenCommand) -> Option<&'static str> {
    match command {
        TokenCommand::List(_) => None,
        TokenCommand::Create(_) => Some("cli.token.create"),
        TokenCommand::Revoke(_) => Some("cli.token.revoke"),
    }
}

fn of_feed(command: &FeedCommand) -> Option<&'static str> {
    match command {
        FeedCommand::List(_) | FeedCommand::Read(_) => None,
        FeedCommand::Add(_) => Some("cli.feed.add"),
        FeedCommand::Seek(_) => Some("cli.feed.seek"),
        FeedCommand::Retry(_) => Some("cli.feed.retry"),
        FeedCommand::Remove(_) => Some("cli.feed.remove"),
    }
}

fn of_subscription(command: &SubscriptionCommand) -> Option<&'static str> {
    match command {
        SubscriptionCommand::List(_) | SubscriptionCommand::Get(_) => None,
        SubscriptionCommand::Register(_) => Some("cli.subscription.register"),
        SubscriptionCommand::Activate(_) => Some("cli.subscription.activate"),
        SubscriptionCommand::Pause(_) => Some("cli.subscription.pause"),
        SubscriptionCommand::Resume(_) => Some("cli.subscription.resume"),
        SubscriptionCommand::Drain(_) => Some("cli.subscription.drain"),
        SubscriptionCommand::Deactivate(_) => Some("cli.subscription.deactivate"),
        SubscriptionCommand::Dead(DeadCommand::List(_)) => None,
        SubscriptionCommand::Dead(DeadCommand::Retry(_)) => Some("cli.subscription.dead.retry"),
        SubscriptionCommand::Dead(DeadCommand::Drop(_)) => Some("cli.subscription.dead.drop"),
    }
}

fn of_schedule(command: &ScheduleCommand) -> Option<&'static str> {
    match command {
        ScheduleCommand::List(_) | ScheduleCommand::Get(_) | ScheduleCommand::Next(_) => None,
        ScheduleCommand::Pause(_) => Some("cli.schedule.pause"),
        ScheduleCommand::Resume(_) => Some("cli.schedule.resume"),
        ScheduleCommand::Backfill(_) => Some("cli.schedule.backfill"),
    }
}

fn of_credential(command: &CredentialCommand) -> Option<&'static str> {
    match command {
        CredentialCommand::List(_) | CredentialCommand::Get(_) => None,
        CredentialCommand::Set(_) => Some("cli.credential.set"),
        CredentialCommand::Delete(_) => Some("cli.credential.delete"),
        CredentialCommand::Rotate(_) => Some("cli.credential.rotate"),
    }
}
