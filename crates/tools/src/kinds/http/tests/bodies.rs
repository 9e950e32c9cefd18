//! Tests of multipart and binary bodies.

use super::*;

#[tokio::test]
async fn parts_are_fields_and_files() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("a.bin");
    std::fs::write(&file, "file!").unwrap();
    let config = json!({"url": "http://{server}/", "method": "POST", "multipart": {
        "n": 7, "none": null, "tag": ["a", "b"], "up\"load": {"file": file},
        "note": {"content": {"x": 1}, "filename": "n.json", "content_type": "application/json"},
        "raw": {"base64": "aGk="},
    }});
    let server = Server::start(vec![answer("204 No Content", &[], "")]).await;
    let told = exchange(&server, config).await;
    assert!(told.starts_with("completed"), "{told}");
    let seen = server.seen();
    let (head, body) = seen.split_once("\n\n").unwrap();
    let boundary = head
        .lines()
        .find_map(|line| line.strip_prefix("content-type: multipart/form-data; boundary="));
    let boundary = boundary.unwrap_or_else(|| panic!("{head}"));
    let body = body.replace(boundary, "BOUNDARY").replace("\r\n", "\n");
    expect![[r#"
        --BOUNDARY
        Content-Disposition: form-data; name="n"

        7
        --BOUNDARY
        Content-Disposition: form-data; name="tag"

        a
        --BOUNDARY
        Content-Disposition: form-data; name="tag"

        b
        --BOUNDARY
        Content-Disposition: form-data; name="up%22load"; filename="a.bin"
        Content-Type: application/octet-stream

        file!
        --BOUNDARY
        Content-Disposition: form-data; name="note"; filename="n.json"
        Content-Type: application/json

        {"x":1}
        --BOUNDARY
        Content-Disposition: form-data; name="raw"; filename="raw"
        Content-Type: application/octet-stream

        hi
        --BOUNDARY--
    "#]]
    .assert_eq(&format!("{body}\n"));
}

#[tokio::test]
async fn bytes_are_sent_as_they_are() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("a.bin");
    std::fs::write(&file, "raw bytes").unwrap();
    for (key, value) in [("body_file", json!(file)), ("body_base64", json!("cmF3IGJ5dGVz"))] {
        let server = Server::start(vec![answer("204 No Content", &[], "")]).await;
        let mut config = json!({"url": "http://{server}/", "method": "PUT"});
        config[key] = value;
        exchange(&server, config).await;
        let seen = server.seen();
        assert!(seen.contains("content-type: application/octet-stream"), "{seen}");
        assert!(seen.ends_with("\n\nraw bytes"), "{seen}");
    }
}

#[tokio::test]
async fn a_body_that_cannot_be_sent_is_an_error_with_its_reason() {
    for (key, value, expected) in [
        ("multipart", json!([1]), "`multipart` must be a map, but is a list"),
        ("multipart", json!({"a": {}}), "`multipart.a` must be a text, or a map with `file`"),
        ("multipart", json!({"a": {"base64": "?"}}), "`multipart.a.base64` is not base64"),
        ("multipart", json!({"a": {"file": "/no/such"}}), "cannot read the file /no/such"),
        (
            "multipart",
            json!({"a": {"content": "", "content_type": "a\r\nb: c"}}),
            "`multipart.a.content_type` is not a media type",
        ),
        ("body_file", json!("/no/such"), "cannot read the file /no/such"),
        ("body_file", json!(7), "`body_file` must be a text"),
        ("body_base64", json!("?"), "`body_base64` is not base64"),
    ] {
        let mut config = json!({"url": "http://127.0.0.1:1/", "method": "POST"});
        config[key] = value;
        let told = show(&http(Egress::Any).run(&call(config)).await);
        assert!(told.starts_with(&format!("failed config: http: {expected}")), "{told}");
    }
}
