//! The routes of the patient flow: pages of records, demographics, assessments and their details.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde_json::{Value, json};

use super::query::{QueryParameters, refused};
use super::{
    HandlerResult, MockResponse, MockState, RATE_LIMIT, SharedMockState, chosen, lock, seed,
};

/// The maximum number of patients in a batch.
const BATCH_MAX: usize = 500;

/// The kinds of paged patient records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RecordKind {
    Assessments,
    Conditions,
    Medications,
    VitalSigns,
}

impl RecordKind {
    fn of(name: &str) -> Option<Self> {
        [
            RecordKind::Assessments,
            RecordKind::Conditions,
            RecordKind::Medications,
            RecordKind::VitalSigns,
        ]
        .into_iter()
        .find(|paged| paged.name() == name)
    }

    fn name(self) -> &'static str {
        match self {
            RecordKind::Assessments => "assessments",
            RecordKind::Conditions => "conditions",
            RecordKind::Medications => "medications",
            RecordKind::VitalSigns => "vital_signs",
        }
    }

    fn pages(self, patient: &str) -> i64 {
        let (low, high) = match self {
            RecordKind::Assessments => (2, 4),
            RecordKind::Conditions => (1, 3),
            RecordKind::Medications => (2, 3),
            RecordKind::VitalSigns => (1, 1),
        };
        chosen(&format!("{patient}:{}", self.name()), low, high)
    }

    fn record(self, patient: &str, page: i64, index: i64) -> Value {
        let name = self.name();
        let seed = seed(&format!("{patient}:{name}:{page}")) % 600;
        // 600 is a multiple of 100 and of 6, so both remainders equal those of the whole number.
        let number = i64::try_from(seed).expect("below 600") + index;
        let word = name[..4].to_uppercase();
        let mut record = json!({
            "id": format!("{word}-{patient}-p{page}-i{index}"),
            "patientId": patient,
            "dataType": name,
            "value": number % 100,
        });
        if self == RecordKind::Assessments {
            let count = 5 + number % 6;
            let ids: Vec<String> =
                (1..=count).map(|n| format!("MDS-{patient}-p{page}-{index}-{n:02}")).collect();
            record["mdsCount"] = json!(count);
            record["mdsAssessmentIds"] = json!(ids);
        }
        record
    }
}

fn admitted(memory: &MockState) -> Result<(), MockResponse> {
    lock(&memory.flow).take(RATE_LIMIT).map(drop).map_err(|_| {
        MockResponse::detail(StatusCode::TOO_MANY_REQUESTS, "Too Many Requests").retry_after(1)
    })
}

pub(super) async fn patient(
    State(memory): SharedMockState,
    Path(data_type): Path<String>,
    asked: QueryParameters,
) -> HandlerResult {
    let Some(paged) = RecordKind::of(&data_type) else {
        return Err(MockResponse::detail(StatusCode::NOT_FOUND, "Not Found"));
    };
    let patient = asked.required("patientId")?;
    let page = asked.at_least("page", 1, 1)?;
    asked.int("pageSize", 10)?;
    admitted(&memory)?;
    let pages = paged.pages(patient);
    if pages < page {
        return Err(MockResponse::new(StatusCode::NOT_FOUND, json!({ "error": "page not found" })));
    }
    Ok(json!({
        "data": [paged.record(patient, page, 0)],
        "paging": { "hasMore": page < pages, "page": page, "pageSize": 1, "total": pages },
    })
    .into())
}

pub(super) async fn demographics(
    State(memory): SharedMockState,
    asked: QueryParameters,
) -> HandlerResult {
    let patient = asked.required("patientId")?;
    admitted(&memory)?;
    Ok(person(patient).into())
}

fn person(patient: &str) -> Value {
    let seed = seed(&format!("{patient}:demographics"));
    let (year, month, day) = (50 + seed % 50, 1 + seed % 12, 1 + (seed >> 4) % 28);
    json!({
        "patientId": patient,
        "firstName": format!("First{}", seed % 1000),
        "lastName": format!("Last{}", (seed >> 8) % 1000),
        "dob": format!("19{year}-{month:02}-{day:02}"),
        "gender": if seed.is_multiple_of(2) { "M" } else { "F" },
        "status": "active",
    })
}

pub(super) async fn assessment_ids(
    State(memory): SharedMockState,
    asked: QueryParameters,
) -> HandlerResult {
    let patient = asked.required("patientId")?;
    admitted(&memory)?;
    let count = chosen(&format!("{patient}:mds"), 2, 5);
    let ids: Vec<String> = (1..=count).map(|n| format!("MDS-{patient}-{n:03}")).collect();
    Ok(json!({ "patientId": patient, "assessmentIds": ids, "count": count }).into())
}

pub(super) async fn assessment(
    State(memory): SharedMockState,
    Path(id): Path<String>,
) -> HandlerResult {
    admitted(&memory)?;
    Ok(assessed(&id).into())
}

fn assessed(id: &str) -> Value {
    let seed = seed(id) % 5;
    let sections: Vec<Value> = (1..=3)
        .map(|section| {
            let questions: Vec<Value> = (1..=3)
                .map(|question| {
                    let answer = (seed + 10 * section + question) % 5;
                    json!({
                        "key": format!("B{section}0{question}"),
                        "responses": [{ "responseValue": answer.to_string() }],
                    })
                })
                .collect();
            json!({ "sectionId": format!("S{section}"), "questions": questions })
        })
        .collect();
    json!({ "assessmentId": id, "status": "completed", "sections": sections })
}

pub(super) async fn details(
    State(memory): SharedMockState,
    asked: QueryParameters,
) -> HandlerResult {
    let id = asked.required("assessmentId")?.trim();
    admitted(&memory)?;
    let refusal = match id {
        "" => "assessmentId must contain one assessment id",
        id if id.contains(',') => "assessmentId must contain exactly one assessment id",
        _ => {
            let row = json!({ "assessment_id": id, "payload": assessed(id) });
            return Ok(json!({ "rowCount": 1, "rows": [row] }).into());
        }
    };
    Err(MockResponse::detail(StatusCode::BAD_REQUEST, refusal))
}

pub(super) async fn batch(Path(data_type): Path<String>, asked: QueryParameters) -> HandlerResult {
    let bad = |text: &str| MockResponse::detail(StatusCode::BAD_REQUEST, text);
    let named = asked.required("patientIds")?;
    let size = asked.at_least("pageSize", 10, 1)?;
    let per_facility = asked.at_least("patientsPerFacility", 1000, 1)?;
    let mut ids = Vec::new();
    for part in named.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let refusal = || refused("int_parsing", "patientIds", "numbers, by commas", json!(part));
        ids.push(part.parse::<i64>().map_err(|_| refusal())?);
    }
    if ids.is_empty() {
        return Err(bad("patientIds must contain at least one patient id"));
    }
    if BATCH_MAX < ids.len() {
        return Err(bad(&format!("patientIds batch size must be <= {BATCH_MAX}")));
    }
    let mut rows = Vec::new();
    for &id in &ids {
        let facility = (id - 1).div_euclid(per_facility) + 1;
        let patient = id.to_string();
        match (RecordKind::of(&data_type), data_type.as_str()) {
            (Some(paged), _) => rows.extend(pages(paged, id, facility, size)),
            (None, "demographics") => rows.push(json!({
                "patient_id": id, "facility_mapping_id": facility, "payload": person(&patient),
            })),
            (None, "mds") => {
                let assessment = format!("MDS-{id}-{}", RecordKind::Assessments.pages(&patient));
                rows.push(json!({
                    "patient_id": id, "facility_mapping_id": facility,
                    "payload": assessed(&assessment), "assessment_id": assessment,
                }));
            }
            (None, other) => return Err(bad(&format!("unsupported PFT batch data_type: {other}"))),
        }
    }
    let count = rows.len();
    Ok(json!({
        "dataType": data_type, "patientCount": ids.len(), "rowCount": count, "rows": rows,
    })
    .into())
}

/// Returns every page of a patient, each full.
fn pages(paged: RecordKind, id: i64, facility: i64, size: i64) -> impl Iterator<Item = Value> {
    let patient = id.to_string();
    let pages = paged.pages(&patient);
    (1..=pages).map(move |page| {
        let records: Vec<Value> =
            (0..size).map(|index| paged.record(&patient, page, index)).collect();
        let paging = json!({
            "hasMore": page < pages, "page": page, "pageSize": size, "total": pages * size,
        });
        json!({
            "patient_id": id,
            "facility_mapping_id": facility,
            "page_number": page,
            "payload": { "data": records, "paging": paging },
            "is_last_page": page == pages,
        })
    })
}
