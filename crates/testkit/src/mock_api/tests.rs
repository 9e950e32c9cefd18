//! Tests of the service against the figures in its description.

use axum::body::Body;
use axum::http::Request;
use tower::ServiceExt as _;

use super::*;

async fn ask(router: &Router, method: &str, path: &str) -> (u16, Value) {
    let request = Request::builder().method(method).uri(path).body(Body::empty()).unwrap();
    let response = router.clone().oneshot(request).await.unwrap();
    let status = response.status().as_u16();
    let bytes = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
    (status, serde_json::from_slice(&bytes).unwrap())
}

/// Checks the status of each path, and the value at a JSON pointer.
async fn check(cases: &[(&str, u16, &str, Value)]) {
    let router = router();
    for (path, status, pointer, expected) in cases {
        let (method, path) = path.split_once(' ').unwrap_or(("GET", path));
        let (found, body) = ask(&router, method, path).await;
        assert_eq!(found, *status, "{path}: {body}");
        assert_eq!(body.pointer(pointer), Some(expected), "{path} at {pointer}");
    }
}

#[tokio::test]
async fn lists_come_in_pages() {
    check(&[
        ("/api/v1/assessments?pageSize=30&page=2", 200, "/data/4/name", json!("Assessment 35")),
        ("/api/v1/assessments?pageSize=30&page=2", 200, "/paging/hasMore", json!(false)),
        ("/api/v1/assessments?page=x", 422, "/detail/0/type", json!("int_parsing")),
        ("/api/v1/users?offset=30", 200, "/users/4/username", json!("user35")),
        ("/api/v1/events", 200, "/next_cursor", json!("Mg==")),
        ("/api/v1/events?cursor=NA==", 200, "/next_cursor", Value::Null),
        ("/api/v1/events?cursor=NA==", 200, "/events/0/timestamp", json!("2024-01-04T12:00:00Z")),
        ("/nowhere", 404, "/detail", json!("Not Found")),
        ("POST /api/v1/users", 405, "/detail", json!("Method Not Allowed")),
    ])
    .await;
}

#[tokio::test]
async fn a_flaky_page_fails_once_until_it_is_reset() {
    check(&[
        ("/api/v1/flaky?page=2&fail_on=2,4", 500, "/detail", json!("Simulated failure")),
        ("/api/v1/flaky?page=2&fail_on=2,4", 200, "/data/0/value", json!("item_11")),
        ("POST /api/v1/flaky/reset", 200, "/status", json!("reset")),
        ("/api/v1/flaky?page=2&fail_on=2", 500, "/detail", json!("Simulated failure")),
        ("/api/v1/flaky/stats", 200, "/attempts/2", json!(1)),
        (
            "/api/v1/errors?error_type=auth",
            401,
            "/detail",
            json!("Unauthorized - invalid credentials"),
        ),
        ("/api/v1/rate-limited?requests_per_second=1", 200, "/rate_limit/limit", json!(1)),
        ("/api/v1/rate-limited?requests_per_second=1", 429, "/requests_in_window", json!(1)),
    ])
    .await;
}

#[tokio::test]
async fn the_probe_counts_who_is_in_it() {
    let router = router();
    let probe = "/api/v1/concurrency/probe?delay_seconds=0.05";
    tokio::join!(ask(&router, "GET", probe), ask(&router, "GET", probe));
    let (_, stats) = ask(&router, "GET", "/api/v1/concurrency/stats").await;
    assert_eq!(stats["max_active"], 2);
    assert_eq!(stats["completed"], 2);
    assert_eq!(stats["recent_events"][3]["phase"], "end");
}

#[tokio::test]
async fn heavy_pages_weigh_what_was_asked_for() {
    let (_, body) = ask(&router(), "GET", "/api/v1/heavy?page=10&payload_kb=2").await;
    assert_eq!(body["data"].as_array().unwrap().len(), 10);
    assert_eq!(body["data"][9]["payload"].as_str().unwrap().len(), 2048);
    assert_eq!(body["paging"]["hasMore"], false);
}

#[tokio::test]
async fn chains_refer_back() {
    let chain = "/api/v1/reference-chain";
    let (_, body) = ask(&router(), "GET", &format!("{chain}/items?page=2")).await;
    assert_eq!(body["data"][0]["prev_ref"], "record-000025");
    assert_eq!(body["refs"]["chain"], json!(["page-000001", "page-000002"]));
    let (_, body) = ask(&router(), "GET", &format!("{chain}/items")).await;
    let payload = body["data"][0]["payload"].as_str().unwrap();
    assert!(payload.starts_with("59908df50572502c") && payload.len() == 1024, "{payload}");
    let (_, body) = ask(&router(), "GET", &format!("{chain}/detail/1")).await;
    assert!(body["payload"].as_str().unwrap().starts_with("e29c544bb1db07be"));
}

#[tokio::test]
async fn patients_have_as_many_pages_as_their_names_say() {
    let expected = [5, 3, 3, 3, 4, 2, 3, 5];
    for (number, pages) in (1..).zip(expected) {
        let path = format!(
            "/api/v1/patient-records?patientId=P-000{number}&min_delay=0&max_delay=0&payload_kb=1"
        );
        let (status, body) = ask(&router(), "GET", &path).await;
        assert_eq!((status, &body["meta"]["totalPages"]), (200, &json!(pages)), "{number}");
        assert_eq!(body["entry"].as_array().unwrap().len(), 10);
    }
    check(&[("/api/v1/patient-records", 422, "/detail/0/type", json!("missing"))]).await;
}

#[tokio::test]
async fn the_flow_reads_what_its_description_lists() {
    let patient = "/api/v1/patient";
    for (id, total) in (1..).zip([2, 2, 4, 3, 4, 3, 3, 4]) {
        let path = format!("{patient}/assessments?patientId={id}");
        check(&[(&path, 200, "/paging/total", json!(total))]).await;
    }
    for (id, count) in (1..).zip([5, 8, 8, 6, 6, 5, 6, 9]) {
        let path = format!("{patient}/assessments?patientId={id}");
        check(&[(&path, 200, "/data/0/mdsCount", json!(count))]).await;
    }
    check(&[
        ("/api/v1/patient/assessments?patientId=1", 200, "/data/0/value", json!(76)),
        ("/api/v1/patient/conditions?patientId=1", 200, "/data/0/value", json!(17)),
        ("/api/v1/patient/conditions?patientId=1&page=4", 404, "/error", json!("page not found")),
        ("/api/v1/patient/demographics?patientId=1", 200, "/dob", json!("1971-12-17")),
        ("/api/v1/patient/demographics?patientId=1", 200, "/firstName", json!("First571")),
        ("/api/v1/patient/demographics?patientId=1", 200, "/lastName", json!("Last353")),
        ("/api/v1/mds/assessment_ids?patientId=1", 200, "/count", json!(3)),
        (
            "/api/v1/mds/assessment/A",
            200,
            "/sections/0/questions/0/responses/0/responseValue",
            json!("1"),
        ),
        (
            "/api/v1/pft/mds/details?assessmentId=a,b",
            400,
            "/detail",
            json!("assessmentId must contain exactly one assessment id"),
        ),
        ("/api/v1/pft/batch/conditions?patientIds=1,1001", 200, "/rowCount", json!(3 + 3)),
        (
            "/api/v1/pft/batch/demographics?patientIds=1,1001",
            200,
            "/rows/1/facility_mapping_id",
            json!(2),
        ),
        (
            "/api/v1/pft/batch/nothing?patientIds=1",
            400,
            "/detail",
            json!("unsupported PFT batch data_type: nothing"),
        ),
    ])
    .await;
}

#[test]
fn a_mock_api_listens_until_it_is_dropped() {
    let api = MockApi::start();
    let address = api.url().replace("http://", "");
    std::net::TcpStream::connect(&address).expect("it listens");
}
