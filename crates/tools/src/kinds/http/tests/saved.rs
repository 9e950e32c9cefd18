//! Tests of bodies that are saved to a file.

use super::*;

#[tokio::test]
async fn the_body_of_a_success_goes_into_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("deep/page.html");
    let server = Server::start(vec![answer("200 OK", &["content-type: text/html"], "<p>")]).await;
    let told = exchange(&server, json!({"url": "http://{server}/", "save_to": &file})).await;
    assert!(told.contains(r#"page.html","size":3,"content_type":"text/html"}"#), "{told}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "<p>");
}

#[tokio::test]
async fn a_failure_or_half_a_body_leaves_no_file() {
    let half = b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf".to_vec();
    for (answer, expected) in [
        (answer("404 Not Found", &[], "gone"), "failed not_found: HTTP 404"),
        (half, "failed connection: GET http://server/: the connection broke"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("page.html");
        let server = Server::start(vec![answer]).await;
        let told = exchange(&server, json!({"url": "http://{server}/", "save_to": &file})).await;
        assert!(told.starts_with(expected), "{told}");
        assert_eq!(directory.path().read_dir().unwrap().count(), 0, "{told}");
    }
}

#[tokio::test]
async fn a_place_that_cannot_be_written_says_so() {
    let server = Server::start(vec![answer("200 OK", &[], "x")]).await;
    let told = exchange(&server, json!({"url": "http://{server}/", "save_to": "/sys/no/x"})).await;
    assert!(told.starts_with("failed storage_access: cannot write /sys/no/x"), "{told}");
}
