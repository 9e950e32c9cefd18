//! Patient records in the style of FHIR: slow, large and rate-limited.

use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use serde_json::{Value, json};

use super::query::QueryParameters;
use super::{HandlerResult, MockResponse, RATE_LIMIT, SharedMockState, chosen, lock};

const PAGES_MIN: u128 = 2;
const PAGES_MAX: u128 = 5;
const DELAY_MIN: f64 = 2.0;
const DELAY_MAX: f64 = 4.0;
const PAYLOAD_KB: i64 = 100;
const SYSTEM: &str = "http://www.nlm.nih.gov/research/umls/rxnorm";

pub(super) async fn records(
    State(memory): SharedMockState,
    headers: HeaderMap,
    asked: QueryParameters,
) -> HandlerResult {
    let patient = asked.required("patientId")?;
    let page = asked.at_least("page", 1, 1)?;
    let size = asked.at_least("pageSize", 10, 1)?;
    let limit = asked.int("rate_limit", RATE_LIMIT)?;
    let low = asked.float("min_delay", DELAY_MIN)?.max(0.0);
    let high = asked.float("max_delay", DELAY_MAX)?.max(low);
    let payload_kb = asked.int("payload_kb", PAYLOAD_KB)?;
    lock(&memory.records).take(limit).map_err(|_| {
        let body = json!({ "error": "Too Many Requests", "message": "Rate limit exceeded" });
        MockResponse::new(StatusCode::TOO_MANY_REQUESTS, body).retry_after(1)
    })?;
    let share = chosen(&format!("{patient}:{page}:delay"), 0, 1000) as f64 / 1000.0;
    let delay = low + share * (high - low);
    tokio::time::sleep(Duration::from_secs_f64(delay)).await;
    let pages = chosen(patient, PAGES_MIN, PAGES_MAX);
    if pages < page {
        let text = format!("Page {page} does not exist for patient {patient}");
        return Err(MockResponse::detail(StatusCode::NOT_FOUND, &text));
    }
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or("localhost");
    let url = |page: i64| {
        let query = format!("patientId={patient}&page={page}&pageSize={size}");
        format!("http://{host}/api/v1/patient-records?{query}")
    };
    let mut links = vec![json!({ "relation": "self", "url": url(page) })];
    if page < pages {
        links.push(json!({ "relation": "next", "url": url(page + 1) }));
    }
    let padding = usize::try_from((payload_kb * 1024 / size - 600).max(100)).unwrap_or_default();
    let entries: Vec<Value> =
        (0..size).map(|index| entry(patient, page, (page - 1) * size + index, padding)).collect();
    Ok(json!({
        "resourceType": "Bundle",
        "type": "searchset",
        "total": pages * size,
        "link": links,
        "entry": entries,
        "meta": {
            "patientId": patient, "page": page, "pageSize": size, "totalPages": pages,
            "delaySeconds": (delay * 100.0).round() / 100.0, "estimatedResponseKB": payload_kb,
        },
    })
    .into())
}

fn entry(patient: &str, page: i64, number: i64, padding: usize) -> Value {
    let id = format!("{patient}-p{page}-e{number}");
    json!({
        "fullUrl": format!("MedicationStatement/{id}"),
        "resource": {
            "resourceType": "MedicationStatement",
            "id": id,
            "status": "active",
            "subject": { "reference": format!("Patient/{patient}") },
            "medicationCodeableConcept": {
                "coding": [{
                    "system": SYSTEM,
                    "code": (1000 + number).to_string(),
                    "display": format!("Drug-{number}"),
                }],
                "text": format!("Medication record for patient {patient}"),
            },
            "effectivePeriod": { "start": "2024-01-01", "end": "2024-12-31" },
            "dosage": [{
                "text": "1 tablet daily",
                "timing": { "repeat": { "frequency": 1, "period": 1, "periodUnit": "d" } },
            }],
            "_payload": "M".repeat(padding),
        },
    })
}
