//! Paged records that refer to one another.

use axum::extract::Path;
use axum::http::StatusCode;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::query::QueryParameters;
use super::{HandlerResult, MockResponse};

const RECORD_MAX: i64 = 20_000;

/// The part of the reference chain in a response.
#[derive(Debug, Clone, Copy)]
enum ChainForm {
    Linked,
    Windowed(i64),
    Expanded,
}

impl ChainForm {
    fn of(asked: &QueryParameters, window_max: i64) -> Result<Self, MockResponse> {
        let window = asked.int("chain_window", 2)?.clamp(1, window_max);
        Ok(match asked.text("ref_mode").unwrap_or_default() {
            "windowed" => ChainForm::Windowed(window),
            "expanded" => ChainForm::Expanded,
            _ => ChainForm::Linked,
        })
    }

    fn name(self) -> &'static str {
        match self {
            ChainForm::Linked => "linked",
            ChainForm::Windowed(_) => "windowed",
            ChainForm::Expanded => "expanded",
        }
    }

    /// Returns the references that end with number `last`.
    fn chain(self, word: &str, last: i64) -> Vec<String> {
        let first = match self {
            ChainForm::Linked => last - 1,
            ChainForm::Windowed(window) => last - window + 1,
            ChainForm::Expanded => 1,
        };
        (first.max(1)..=last).map(|number| reference(word, number)).collect()
    }
}

fn reference(word: &str, number: i64) -> String {
    format!("{word}-{number:06}")
}

fn before(word: &str, number: i64) -> Option<String> {
    (number > 1).then(|| reference(word, number - 1))
}

pub(super) async fn items(asked: QueryParameters) -> HandlerResult {
    let size = asked.int("pageSize", 25)?.clamp(1, 200);
    let total = asked.int("total", 382)?.clamp(1, RECORD_MAX);
    let payload_kb = asked.int("payload_kb", 1)?.clamp(0, 256);
    let pages = (total + size - 1) / size;
    let page = asked.int("page", 1)?.clamp(1, pages);
    let mode = ChainForm::of(&asked, 50)?;
    let records: Vec<Value> = ((page - 1) * size + 1..=(page * size).min(total))
        .map(|id| {
            json!({
                "record_id": id,
                "record_ref": reference("record", id),
                "prev_ref": before("record", id),
                "batch": page,
                "payload": payload(&format!("item-{id}"), payload_kb),
            })
        })
        .collect();
    let next = (page < pages).then_some(page + 1);
    let chain = mode.chain("page", page);
    let approx = i64::try_from(records.len()).expect("a short list") * payload_kb + 1;
    Ok(json!({
        "data": records,
        "paging": {
            "hasMore": next.is_some(), "page": page, "pageSize": size, "total": total,
            "nextPage": next,
        },
        "refs": {
            "mode": mode.name(),
            "root_ref": "run-root-000001",
            "page_ref": reference("page", page),
            "prev_page_ref": before("page", page),
            "next_page_ref": next.map(|next| reference("page", next)),
            "chain_length": chain.len(),
            "chain": chain,
        },
        "meta": { "payload_kb_per_record": payload_kb, "approx_response_kb": approx },
    })
    .into())
}

pub(super) async fn detail(Path(id): Path<i64>, asked: QueryParameters) -> HandlerResult {
    if id <= 0 {
        return Err(MockResponse::detail(StatusCode::NOT_FOUND, "record not found"));
    }
    if RECORD_MAX < id {
        let text = format!("record_id exceeds max supported value ({RECORD_MAX})");
        return Err(MockResponse::detail(StatusCode::BAD_REQUEST, &text));
    }
    let payload_kb = asked.int("payload_kb", 2)?.clamp(0, 256);
    let mode = ChainForm::of(&asked, 100)?;
    let chain = mode.chain("detail", id);
    let parent = asked.text("parent_ref").filter(|parent| !parent.is_empty());
    Ok(json!({
        "record_id": id,
        "status": "ok",
        "refs": {
            "mode": mode.name(),
            "detail_ref": reference("detail", id),
            "prev_detail_ref": before("detail", id),
            "parent_ref": parent,
            "chain_length": chain.len(),
            "chain": chain,
        },
        "summary": {
            "classification": format!("class-{}", id % 7),
            "score": 40 + id % 60,
            "payload_kb": payload_kb,
        },
        "payload": payload(&format!("detail-{id}"), payload_kb),
    })
    .into())
}

/// Repeats the SHA-256 of a text up to a number of kilobytes.
fn payload(text: &str, kb: i64) -> String {
    let hex: String =
        Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    let length = usize::try_from(kb).unwrap_or_default() * 1024;
    hex.chars().cycle().take(length).collect()
}
