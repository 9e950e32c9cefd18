//! Feeds and dead messages as HTML.

use maud::{Markup, html};
use noetl_api::wire::{FeedDeliveryView, FeedFilter, FeedView, OutboxMessage};
use noetl_app::{FeedLag, ListedNotification};

use crate::components::action::{Action, action, confirmed_action};
use crate::components::duration::duration;
use crate::components::empty::empty;
use crate::components::error::error_line;
use crate::components::id::execution_link;
use crate::components::json_tree::json_tree;
use crate::components::status::{Tone, badge};
use crate::components::table::{actions, keyed_table, number, text, wide};
use crate::components::time::time_text;
use crate::request::PageRequest;

/// The address of the page and of its forms.
const ADDRESS: &str = "/ui/feeds";

#[derive(Debug)]
pub(super) struct FeedsView {
    pub(super) feeds: Vec<FeedView>,
    /// The lags of the first feeds, in their order.
    pub(super) lags: Vec<FeedLag>,
    pub(super) notifications: Vec<ListedNotification>,
    pub(super) dead: Vec<OutboxMessage>,
}

pub(super) fn feeds(page: &PageRequest, view: &FeedsView) -> Markup {
    html! {
        header.page-head { h1 { (page.t("nav.feeds")) } }
        div #live data-refresh="3000" {
            @if !view.notifications.is_empty() {
                section data-same="notifications" {
                    div.section-head { h2 { (page.t("feeds.notifications")) } }
                    (notifications(page, &view.notifications))
                }
            }
            @if !view.dead.is_empty() {
                section data-same="dead" { div.section-head { h2 { (page.t("feeds.dead")) } } (dead(page, &view.dead)) }
            }
            section data-same="feeds" {
                @if view.feeds.is_empty() {
                    (empty(page.t("feeds.empty"), page.t("feeds.empty_more"),
                        Some("noetl feed add failures --status FAILED")))
                } @else { (list(page, view)) }
            }
        }
    }
}

fn list(page: &PageRequest, view: &FeedsView) -> Markup {
    let columns = [
        text(page.t("feeds.feed")),
        text(page.t("executions.status")),
        wide(page.t("feeds.filter")),
        text(page.t("feeds.subject")),
        text(page.t("feeds.moved")),
        text(page.t("feeds.lag")),
        actions(page.t("schedules.actions")),
    ];
    let lags = view.lags.iter().map(Some).chain(std::iter::repeat(None));
    let rows: Vec<(String, Vec<Markup>)> = view
        .feeds
        .iter()
        .zip(lags)
        .map(|(feed, behind)| {
            let cells = vec![
                html! { code { (feed.name) } },
                delivery(page, feed.delivery.as_ref()),
                filter(page, &feed.filter),
                html! { @match &feed.subject { Some(subject) => code { (subject) }, None => span.soft { "–" } } },
                time_text(&feed.moved_at),
                html! { @if let Some(behind) = behind { (lag(page, behind)) } },
                html! { @if may_retry(page, feed) { (retry_feed(page, &feed.name)) } },
            ];
            (feed.name.clone(), cells)
        })
        .collect();
    keyed_table(page.t("nav.feeds"), &columns, &rows)
}

/// Draws how many events a feed is behind, and since when the first of them waits.
fn lag(page: &PageRequest, lag: &FeedLag) -> Markup {
    let events = page.words.count("feeds.events", u64::try_from(lag.events).unwrap_or(u64::MAX));
    html! {
        @match lag.oldest {
            None => span.soft { (page.t("feeds.up_to_date")) },
            Some(oldest) => {
                @if lag.has_more { (page.t("feeds.at_least")) " " }
                (events) ", " (duration(page.words, page.now.since(oldest)))
            },
        }
    }
}

fn delivery(page: &PageRequest, delivery: Option<&FeedDeliveryView>) -> Markup {
    match delivery {
        None => badge(Tone::Quiet, page.t("feeds.read")),
        Some(FeedDeliveryView::Working) => badge(Tone::Good, page.t("feeds.working")),
        Some(FeedDeliveryView::Retrying { reason, retry_at, .. }) => html! {
            (badge(Tone::Warning, page.t("feeds.retrying"))) " " (time_text(retry_at)) (error_line(reason))
        },
        Some(FeedDeliveryView::Dead { reason, .. }) => html! {
            (badge(Tone::Bad, page.t("feeds.is_dead"))) (error_line(reason))
        },
    }
}

fn filter(page: &PageRequest, filter: &FeedFilter) -> Markup {
    let path = filter.path.iter();
    let words: Vec<&String> = filter.types.iter().chain(path).chain(&filter.statuses).collect();
    html! {
        @if words.is_empty() { span.soft { (page.t("feeds.everything")) } }
        @for word in words { code { (word) } " " }
    }
}

fn may_retry(page: &PageRequest, feed: &FeedView) -> bool {
    page.visitor.may.admin
        && match feed.delivery {
            Some(FeedDeliveryView::Retrying { .. } | FeedDeliveryView::Dead { .. }) => true,
            Some(FeedDeliveryView::Working) | None => false,
        }
}

fn retry_feed(page: &PageRequest, name: &str) -> Markup {
    let fields = [("action", "retry_feed"), ("feed", name)];
    action(page, &Action { address: ADDRESS, label: page.t("feeds.retry"), fields: &fields })
}

fn notifications(page: &PageRequest, listed: &[ListedNotification]) -> Markup {
    let columns = [
        text(page.t("feeds.notification")),
        text(page.t("feeds.playbooks")),
        wide(page.t("feeds.receivers")),
        actions(page.t("schedules.actions")),
    ];
    let keyed = |it: &ListedNotification| (it.entry.path.clone(), notification_row(page, it));
    let rows: Vec<(String, Vec<Markup>)> = listed.iter().map(keyed).collect();
    keyed_table(page.t("feeds.notifications"), &columns, &rows)
}

fn notification_row(page: &PageRequest, listed: &ListedNotification) -> Vec<Markup> {
    let path = listed.entry.path.as_str();
    let (name, label) =
        if listed.is_paused { ("resume", "feeds.resume") } else { ("pause", "feeds.pause") };
    let fields = [("action", name), ("path", path)];
    let change = Action { address: ADDRESS, label: page.t(label), fields: &fields };
    vec![
        html! {
            code { (path) }
            @if listed.is_paused { " " (badge(Tone::Quiet, page.t("feeds.paused"))) }
        },
        html! {
            @if listed.paths.is_empty() { "*" } @else { (listed.paths.join(", ")) }
            @for label in &listed.labels { " " (badge(Tone::Quiet, label)) }
        },
        html! {
            @if let Some(problem) = &listed.problem { (error_line(problem)) }
            @for (reason, receivers) in &listed.on {
                div { (reason) ": " (receivers.join(", ")) }
            }
        },
        html! { @if page.visitor.may.admin { (action(page, &change)) } },
    ]
}

fn dead(page: &PageRequest, messages: &[OutboxMessage]) -> Markup {
    let columns = [
        text(page.t("feeds.kind")),
        text(page.t("executions.id")),
        wide(page.t("feeds.message")),
        number(page.t("feeds.attempts")),
        text(page.t("feeds.created")),
        actions(page.t("schedules.actions")),
    ];
    let keyed = |it: &OutboxMessage| (it.outbox_id.to_string(), dead_row(page, it));
    let rows: Vec<(String, Vec<Markup>)> = messages.iter().map(keyed).collect();
    keyed_table(page.t("feeds.dead"), &columns, &rows)
}

fn dead_row(page: &PageRequest, message: &OutboxMessage) -> Vec<Markup> {
    vec![
        html! { code { (message.kind) } },
        html! { @if let Ok(execution) = message.execution_id.parse() { (execution_link(execution)) } },
        html! {
            @if let Some(error) = &message.last_error { (error_line(error)) }
            (json_tree(&message.message))
        },
        html! { (message.attempts) },
        time_text(&message.created_at),
        html! { @if page.visitor.may.admin { (dead_actions(page, message.outbox_id)) } },
    ]
}

fn dead_actions(page: &PageRequest, id: i64) -> Markup {
    let id = id.to_string();
    let retry = [("action", "retry"), ("message", id.as_str())];
    let dropped = [("action", "drop"), ("message", id.as_str())];
    let retry = Action { address: ADDRESS, label: page.t("feeds.retry"), fields: &retry };
    let dropped = Action { address: ADDRESS, label: page.t("feeds.drop"), fields: &dropped };
    html! { (action(page, &retry)) " " (confirmed_action(page, &dropped, page.t("feeds.drop_question"))) }
}
