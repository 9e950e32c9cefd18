//! Tests of requests as they are sent.

use super::*;

#[tokio::test]
async fn params_are_added_to_the_url() {
    check_request(
        json!({
            "endpoint": "http://{server}/a?x=1",
            "params": {"n": 2, "gone": null, "tag": ["a b", "c"], "on": true},
            "headers": {"X-Page": 3, "X-None": null},
        }),
        expect![[r#"
            GET /a?x=1&n=2&tag=a+b&tag=c&on=true HTTP/1.1
            x-page: 3
            user-agent: noetl/0.1.0
            host: server
        "#]],
    )
    .await;
}

#[tokio::test]
async fn json_is_sent_with_its_type_and_an_idempotency_key() {
    check_request(
        json!({"url": "http://{server}/a", "method": "post", "json": {"b": [1, null]}}),
        expect![[r#"
            POST /a HTTP/1.1
            content-type: application/json
            idempotency-key: 7-1
            noetl-attempt: 1
            user-agent: noetl/0.1.0
            host: server
            content-length: 14

            {"b":[1,null]}
        "#]],
    )
    .await;
}

#[tokio::test]
async fn a_form_is_encoded() {
    check_request(
        json!({"url": "http://{server}/", "method": "PUT", "form": {"a": "x y", "b": [1, 2]},
               "headers": {"Idempotency-Key": "mine"}}),
        expect![[r#"
            PUT / HTTP/1.1
            idempotency-key: mine
            content-type: application/x-www-form-urlencoded
            noetl-attempt: 1
            user-agent: noetl/0.1.0
            host: server
            content-length: 13

            a=x+y&b=1&b=2
        "#]],
    )
    .await;
}

#[tokio::test]
async fn data_goes_into_the_query_of_a_get_and_the_body_of_a_post() {
    check_request(
        json!({"url": "http://{server}/", "data": {"q": 1}}),
        expect![[r#"
            GET /?q=1 HTTP/1.1
            user-agent: noetl/0.1.0
            host: server
        "#]],
    )
    .await;
    check_request(
        json!({"url": "http://{server}/", "method": "PATCH", "payload": {"q": 1}}),
        expect![[r#"
            PATCH / HTTP/1.1
            content-type: application/json
            idempotency-key: 7-1
            noetl-attempt: 1
            user-agent: noetl/0.1.0
            host: server
            content-length: 7

            {"q":1}
        "#]],
    )
    .await;
}

#[tokio::test]
async fn a_text_body_is_sent_as_it_is() {
    check_request(
        json!({"url": "http://{server}/", "method": "POST", "body": "<x/>",
               "headers": {"Content-Type": "text/xml"}}),
        expect![[r#"
            POST / HTTP/1.1
            content-type: text/xml
            idempotency-key: 7-1
            noetl-attempt: 1
            user-agent: noetl/0.1.0
            host: server
            content-length: 4

            <x/>
        "#]],
    )
    .await;
}

#[tokio::test]
async fn every_kind_of_auth_becomes_a_header() {
    let check = |auth: Value, expected: &'static str| async move {
        let server = Server::start(vec![answer("204 No Content", &[], "")]).await;
        exchange(&server, json!({"url": "http://{server}/", "auth": auth})).await;
        assert!(server.seen().contains(expected), "{}", server.seen());
    };
    check(json!({"type": "bearer", "token": "t"}), "authorization: Bearer t\n").await;
    check(
        json!({"type": "basic", "username": "u", "password": "p"}),
        "authorization: Basic dTpw\n",
    )
    .await;
    check(json!({"type": "api_key", "value": "v"}), "x-api-key: v\n").await;
    check(json!({"type": "api_key", "header": "X-Mine", "key": "v"}), "x-mine: v\n").await;
    check(json!("my-api"), "authorization: Bearer sesame\n").await;
    check(json!({"credential": "my-api", "type": "bearer"}), "authorization: Bearer sesame\n")
        .await;
}

#[tokio::test]
async fn an_invalid_request_is_a_config_error() {
    for (config, message) in [
        (json!({}), "http: `url` is missing"),
        (json!({"url": "a b"}), "http: `url` is not a URL: relative URL without a base: \"a b\""),
        (
            json!({"url": "http://{server}", "method": "BREW"}),
            "http: `method` is `BREW`; known are GET, POST, PUT, PATCH, DELETE, HEAD and OPTIONS",
        ),
        (
            json!({"url": "http://{server}", "headers": {"a b": 1}}),
            "http: `headers.a b` is not the name of a header",
        ),
        (
            json!({"url": "http://{server}", "auth": "other"}),
            "there is no credential `other`: set the variable NOETL_CREDENTIAL_OTHER",
        ),
        (
            json!({"url": "http://{server}", "auth": {"type": "gcp_adc"}}),
            "http: `auth.type` is `gcp_adc`; known are bearer, basic, api_key, oauth2 and none",
        ),
        (
            json!({"url": "ftp://{server}/a"}),
            "GET ftp://server/a is not allowed: only http and https are spoken",
        ),
    ] {
        let server = Server::start(vec![]).await;
        assert_eq!(exchange(&server, config).await, format!("failed config: {message}\n"));
    }
}
