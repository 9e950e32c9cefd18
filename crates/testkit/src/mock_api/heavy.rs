//! Pages of a requested size.

use std::hash::{BuildHasher as _, RandomState};

use serde_json::{Value, json};

use super::query::QueryParameters;
use super::{HandlerResult, MockResponse};

const ITEMS: i64 = 100;
const CATEGORIES: [&str; 4] = ["finance", "technology", "healthcare", "education"];

pub(super) async fn heavy(asked: QueryParameters) -> HandlerResult {
    let (page, size) = (asked.int("page", 1)?, asked.int("pageSize", 10)?);
    let payload_kb = asked.int("payload_kb", 10)?;
    let start = (page - 1) * size;
    let data: Vec<Value> =
        (start.max(0) + 1..=(start + size).min(ITEMS)).map(|id| item(id, payload_kb)).collect();
    let estimated = i64::try_from(data.len()).expect("a short list") * (payload_kb + 1);
    Ok(json!({
        "data": data,
        "paging": {
            "hasMore": start + size < ITEMS, "page": page, "pageSize": size, "total": ITEMS,
        },
        "meta": { "payload_kb_per_item": payload_kb, "estimated_response_kb": estimated },
    })
    .into())
}

fn item(id: i64, payload_kb: i64) -> Value {
    let day = id % 28 + 1;
    let category = usize::try_from(id % 4).unwrap_or_default();
    let tags: Vec<String> = (0..5).map(|number| format!("tag_{number}")).collect();
    json!({
        "id": id,
        "name": format!("Heavy Assessment {id}"),
        "score": 50 + id % 50,
        "category": CATEGORIES[category],
        "metadata": {
            "created_at": format!("2024-01-{day:02}T12:00:00Z"),
            "updated_at": format!("2024-01-{day:02}T14:30:00Z"),
            "version": format!("1.{}.0", id % 10),
            "tags": tags,
        },
        "description": format!("Assessment {id} weighs more than it says. ").repeat(10),
        "payload": letters(payload_kb),
    })
}

/// Returns a number of kilobytes of incompressible letters and digits.
fn letters(kb: i64) -> String {
    const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz012345";
    let length = usize::try_from(kb.max(0)).unwrap_or_default() * 1024;
    let random = RandomState::new();
    let blocks = (0u64..).flat_map(|block| random.hash_one(block).to_be_bytes());
    blocks.take(length).map(|byte| char::from(ALPHABET[usize::from(byte % 32)])).collect()
}

pub(super) async fn stats() -> MockResponse {
    let urls = [1, 10, 100].map(|kb| format!("/api/v1/heavy?payload_kb={kb}"));
    json!({
        "total_items": ITEMS, "default_payload_kb": 10, "max_recommended_payload_kb": 1000,
        "example_urls": urls,
    })
    .into()
}
