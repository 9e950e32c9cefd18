//! Responses that fail: once per page, by kind, or above a rate limit.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::http::StatusCode;
use serde_json::{Value, json};

use super::lists::{ITEMS, PAGE_SIZE, ids};
use super::query::{QueryParameters, refused};
use super::{HandlerResult, MockResponse, SharedMockState, lock};

/// The delay of the response that comes too late.
const LATE: Duration = Duration::from_secs(30);
const WINDOW: Duration = Duration::from_secs(1);

/// The number of requests for each page.
#[derive(Debug, Default)]
pub(super) struct PageRequests(BTreeMap<i64, u64>);

/// The times of the accepted requests during the last second.
#[derive(Debug, Default)]
pub(super) struct RateWindow(VecDeque<Instant>);

impl RateWindow {
    /// Accepts a request unless `limit` were accepted within a second. Returns the count, as an
    /// error if the request is rejected.
    pub(super) fn take(&mut self, limit: i64) -> Result<usize, usize> {
        let now = Instant::now();
        while self.0.front().is_some_and(|taken| WINDOW <= now - *taken) {
            self.0.pop_front();
        }
        let count = self.0.len();
        if limit <= i64::try_from(count).expect("a short list") {
            return Err(count);
        }
        self.0.push_back(now);
        Ok(count + 1)
    }
}

pub(super) async fn flaky(State(memory): SharedMockState, asked: QueryParameters) -> HandlerResult {
    let page = asked.int("page", 1)?;
    let mut failing = Vec::new();
    for part in asked.text("fail_on").unwrap_or_default().split(',') {
        match part.trim() {
            "" => {}
            number => failing.push(number.parse::<i64>().map_err(|_| {
                refused("int_parsing", "fail_on", "page numbers, by commas", json!(number))
            })?),
        }
    }
    let mut attempts = lock(&memory.attempts);
    let count = attempts.0.entry(page).or_default();
    *count += 1;
    if failing.contains(&page) && *count == 1 {
        return Err(MockResponse::detail(StatusCode::INTERNAL_SERVER_ERROR, "Simulated failure"));
    }
    Ok(good(page).into())
}

fn good(page: i64) -> Value {
    let start = (page - 1) * PAGE_SIZE;
    let data: Vec<Value> = ids(start, start + PAGE_SIZE)
        .map(|id| json!({ "id": id, "value": format!("item_{id}") }))
        .collect();
    let has_more = start + PAGE_SIZE < ITEMS;
    json!({ "data": data, "paging": { "hasMore": has_more, "page": page, "pageSize": PAGE_SIZE } })
}

pub(super) async fn reset(State(memory): SharedMockState) -> MockResponse {
    lock(&memory.attempts).0.clear();
    json!({ "status": "reset", "message": "Flaky endpoint counters cleared" }).into()
}

pub(super) async fn stats(State(memory): SharedMockState) -> MockResponse {
    let attempts = &lock(&memory.attempts).0;
    let pages: serde_json::Map<String, Value> =
        attempts.iter().map(|(page, count)| (page.to_string(), json!(count))).collect();
    json!({ "attempts": pages }).into()
}

pub(super) async fn errors(asked: QueryParameters) -> HandlerResult {
    let (page, retry_after) = (asked.int("page", 1)?, asked.int("retry_after", 5)?);
    let told = |error: &str, message: &str| json!({ "error": error, "message": message });
    Err(match asked.text("error_type").unwrap_or_default() {
        "429" => {
            let body = told("Too Many Requests", "Rate limit exceeded");
            MockResponse::new(StatusCode::TOO_MANY_REQUESTS, body).retry_after(retry_after)
        }
        "503" => {
            let body = told("Service Unavailable", "Server temporarily unavailable");
            MockResponse::new(StatusCode::SERVICE_UNAVAILABLE, body).retry_after(retry_after)
        }
        "500" => {
            let text = "Internal Server Error - simulated";
            MockResponse::detail(StatusCode::INTERNAL_SERVER_ERROR, text)
        }
        "auth" => {
            MockResponse::detail(StatusCode::UNAUTHORIZED, "Unauthorized - invalid credentials")
        }
        "403" => {
            MockResponse::detail(StatusCode::FORBIDDEN, "Forbidden - insufficient permissions")
        }
        "404" => MockResponse::detail(StatusCode::NOT_FOUND, "Not Found - resource does not exist"),
        "timeout" => {
            tokio::time::sleep(LATE).await;
            json!({ "data": [], "simulated": "timeout" }).into()
        }
        _ => return Ok(good(page).into()),
    })
}

pub(super) async fn rate_limited(
    State(memory): SharedMockState,
    asked: QueryParameters,
) -> HandlerResult {
    let (page, limit) = (asked.int("page", 1)?, asked.int("requests_per_second", 2)?);
    let count = lock(&memory.limited).take(limit).map_err(|count| {
        let body =
            json!({ "error": "Rate limit exceeded", "requests_in_window": count, "limit": limit });
        MockResponse::new(StatusCode::TOO_MANY_REQUESTS, body).retry_after(1)
    })?;
    let mut body = good(page);
    for item in body["data"].as_array_mut().into_iter().flatten() {
        item["rate_limited"] = json!(true);
    }
    body["rate_limit"] = json!({ "requests_in_window": count, "limit": limit });
    Ok(body.into())
}
