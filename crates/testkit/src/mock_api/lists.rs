//! Short lists in pages: by page number, by offset, by cursor.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::query::QueryParameters;
use super::{HandlerResult, MockResponse};

/// The number of items in each list.
pub(super) const ITEMS: i64 = 35;
/// The default page size.
pub(super) const PAGE_SIZE: i64 = 10;

pub(super) async fn health() -> MockResponse {
    json!({ "status": "ok" }).into()
}

pub(super) async fn assessments(asked: QueryParameters) -> HandlerResult {
    let (page, size) = (asked.int("page", 1)?, asked.int("pageSize", PAGE_SIZE)?);
    let start = (page - 1) * size;
    let data: Vec<Value> = ids(start, start + size)
        .map(|id| json!({ "id": id, "name": format!("Assessment {id}"), "score": 50 + id % 50 }))
        .collect();
    let paging = json!({
        "hasMore": start + size < ITEMS, "page": page, "pageSize": size, "total": ITEMS,
    });
    Ok(json!({ "data": data, "paging": paging }).into())
}

pub(super) async fn users(asked: QueryParameters) -> HandlerResult {
    let (offset, limit) = (asked.int("offset", 0)?, asked.int("limit", PAGE_SIZE)?);
    let users: Vec<Value> = ids(offset, offset + limit)
        .map(|id| {
            let email = format!("user{id}@example.com");
            json!({ "id": id, "username": format!("user{id}"), "email": email })
        })
        .collect();
    let has_more = offset + limit < ITEMS;
    Ok(json!({
        "users": users, "has_more": has_more, "offset": offset, "limit": limit, "total": ITEMS,
    })
    .into())
}

pub(super) async fn events(asked: QueryParameters) -> HandlerResult {
    let limit = asked.int("limit", PAGE_SIZE)?;
    let page = asked.text("cursor").and_then(page_of).unwrap_or(1);
    let start = (page - 1) * limit;
    let events: Vec<Value> = ids(start, start + limit)
        .map(|id| {
            json!({
                "id": id,
                "type": "user_action",
                "timestamp": format!("2024-01-{:02}T12:00:00Z", id % 28 + 1),
                "data": { "action": format!("event_{id}") },
            })
        })
        .collect();
    let next = (page * limit < ITEMS).then(|| BASE64_STANDARD.encode((page + 1).to_string()));
    Ok(json!({ "events": events, "next_cursor": next, "limit": limit }).into())
}

fn page_of(cursor: &str) -> Option<i64> {
    let bytes = BASE64_STANDARD.decode(cursor).ok()?;
    String::from_utf8(bytes).ok()?.parse().ok()
}

/// Returns the ids at places `start` to `end` of a list; negative places count from the end.
pub(super) fn ids(start: i64, end: i64) -> impl Iterator<Item = i64> {
    let place = |at: i64| if at < 0 { (ITEMS + at).max(0) } else { at.min(ITEMS) };
    (place(start)..place(end)).map(|place| place + 1)
}
