//! Tests of the `nats` tool against a real server: each operation and its failures.

use async_nats::jetstream;
use expect_test::{Expect, expect};
use futures::StreamExt as _;
use noetl_testkit::NatsServer;
use serde_json::{Value, json};

use super::*;
use crate::protect::credentials::FixedCredentials;
use crate::testing::{call, show};

fn tool() -> Nats {
    let credential = r#"{"type": "nats", "nats_url": "nats://127.0.0.1:1"}"#;
    let variable = ("NOETL_CREDENTIAL_BROKER".to_owned(), credential.to_owned());
    Nats::new(
        Arc::new(NatsConnections::new(crate::Egress::Any)),
        Arc::new(FixedCredentials::from_environment([variable])),
    )
}

/// Starts a server with a key-value bucket, an object store, and a stream with a consumer.
async fn server() -> NatsServer {
    let server = NatsServer::start();
    server.make_bucket("keys").await;
    let client = async_nats::connect(server.url()).await.unwrap();
    let stream = jetstream::new(client);
    let objects =
        jetstream::object_store::Config { bucket: "objects".into(), ..Default::default() };
    stream.create_object_store(objects).await.unwrap();
    let config = jetstream::stream::Config {
        name: "orders".into(),
        subjects: vec!["orders.>".into()],
        ..Default::default()
    };
    let orders = stream.create_stream(config).await.unwrap();
    let consumer = jetstream::consumer::pull::Config {
        durable_name: Some("taker".into()),
        ..Default::default()
    };
    orders.create_consumer(consumer).await.unwrap();
    server
}

async fn run(tool: &Nats, server: &NatsServer, config: Value) -> String {
    let mut config = config;
    config["url"] = json!(server.url());
    show(&tool.run(&call(config)).await)
}

/// Runs operations one after the other on one server and compares their results.
async fn check(operations: &[Value], expected: Expect) {
    let (tool, server) = (tool(), server().await);
    let mut told = String::new();
    for operation in operations {
        told.push_str(&run(&tool, &server, operation.clone()).await);
    }
    expected.assert_eq(&told);
}

#[tokio::test]
async fn keys_are_put_and_found_until_they_are_deleted() {
    let of =
        |operation: &str, key: &str| json!({"operation": operation, "bucket": "keys", "key": key});
    let put = |key: &str, value: Value| {
        let mut put = of("kv_put", key);
        put["value"] = value;
        put
    };
    check(
        &[
            put("a.map", json!({"n": 1, "list": [true, null]})),
            put("a.text", json!("plain")),
            of("kv_get", "a.map"),
            of("kv_get", "a.text"),
            of("kv_get", "nothing"),
            json!({"operation": "kv_keys", "bucket": "keys"}),
            json!({"operation": "kv_keys", "bucket": "keys", "pattern": "a.t*"}),
            of("kv_delete", "a.map"),
            of("kv_purge", "a.text"),
            of("kv_get", "a.map"),
            json!({"operation": "kv_put", "bucket": "keys", "key": "t", "value": 1, "ttl": 60}),
        ],
        expect![[r#"
            completed {"status":"success","bucket":"keys","key":"a.map","revision":1}
            completed {"status":"success","bucket":"keys","key":"a.text","revision":2}
            completed {"status":"success","bucket":"keys","key":"a.map","value":{"n":1,"list":[true,null]}}
            completed {"status":"success","bucket":"keys","key":"a.text","value":"plain"}
            completed {"status":"not_found","bucket":"keys","key":"nothing","value":null}
            completed {"status":"success","bucket":"keys","keys":["a.map","a.text"],"count":2}
            completed {"status":"success","bucket":"keys","keys":["a.text"],"count":1}
            completed {"status":"success","bucket":"keys","key":"a.map"}
            completed {"status":"success","bucket":"keys","key":"a.text"}
            completed {"status":"not_found","bucket":"keys","key":"a.map","value":null}
            completed {"status":"success","bucket":"keys","key":"t","revision":5}
            stderr| `ttl` has no effect: how long keys live is a setting of the bucket
        "#]],
    )
    .await;
}

#[tokio::test]
async fn objects_are_put_and_found_until_they_are_deleted() {
    let of = |operation: &str| json!({"operation": operation, "bucket": "objects", "name": "o"});
    check(
        &[
            json!({"operation": "object_put", "bucket": "objects", "name": "o", "data": "hello",
                   "description": "a greeting"}),
            of("object_get"),
            of("object_info"),
            json!({"operation": "object_put", "bucket": "objects", "name": "o", "data": "/w==",
                   "encoding": "base64"}),
            json!({"operation": "object_get", "bucket": "objects", "name": "o", "encoding": "base64"}),
            of("object_get"),
            of("object_delete"),
            of("object_get"),
            json!({"operation": "object_list", "bucket": "objects"}),
        ],
        expect![[r#"
            completed {"status":"success","bucket":"objects","name":"o","size":5}
            completed {"status":"success","bucket":"objects","name":"o","data":"hello","size":5}
            completed {"name":"o","size":5,"description":"a greeting","chunks":1,"digest":"SHA-256=LPJNul-wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=","status":"success","bucket":"objects"}
            completed {"status":"success","bucket":"objects","name":"o","size":1}
            completed {"status":"success","bucket":"objects","name":"o","data":"/w==","size":1}
            failed parse: nats: the object `o` is no text; say `encoding: base64`
            completed {"status":"success","bucket":"objects","name":"o"}
            failed not_found: nats: there is no object `o`; `object_list` says which there are
            completed {"status":"success","bucket":"objects","objects":[],"count":0}
        "#]],
    )
    .await;
}

#[tokio::test]
async fn messages_are_stored_once_and_taken_from_a_stream() {
    let publish = json!({"operation": "js_publish", "subject": "orders.new", "data": {"id": 1},
                         "headers": {"X-Kind": "book"}});
    check(
        &[
            publish.clone(),
            publish,
            json!({"operation": "js_consume", "stream": "orders", "consumer": "taker", "batch": 5,
                   "timeout_ms": 200}),
            json!({"operation": "js_consume", "stream": "orders", "consumer": "taker",
                   "timeout_ms": 50}),
            json!({"operation": "js_get_msg", "stream": "orders", "seq": 1}),
            json!({"operation": "js_get_msg", "stream": "orders", "subject": "orders.new"}),
            json!({"operation": "js_get_msg", "stream": "orders", "seq": 9}),
        ],
        expect![[r#"
            completed {"status":"success","stream":"orders","seq":1,"duplicate":false}
            completed {"status":"success","stream":"orders","seq":1,"duplicate":true}
            completed {"status":"success","stream":"orders","consumer":"taker","count":1,"messages":[{"subject":"orders.new","stream_seq":1,"consumer_seq":1,"delivered":1,"pending":0,"data":{"id":1},"headers":{"Nats-Msg-Id":"7-1","Noetl-Attempt":"1","X-Kind":"book"}}],"acked":true}
            completed {"status":"success","stream":"orders","consumer":"taker","count":0,"messages":[],"acked":true}
            completed {"status":"success","stream":"orders","subject":"orders.new","seq":1,"data":{"id":1},"headers":{"Nats-Msg-Id":"7-1","Noetl-Attempt":"1","X-Kind":"book"}}
            completed {"status":"success","stream":"orders","subject":"orders.new","seq":1,"data":{"id":1},"headers":{"Nats-Msg-Id":"7-1","Noetl-Attempt":"1","X-Kind":"book"}}
            failed not_found: nats: there is no message `9`; `js_stream_info` says which there are
        "#]],
    )
    .await;
    let (tool, server) = (tool(), server().await);
    let told =
        run(&tool, &server, json!({"operation": "js_stream_info", "stream": "orders"})).await;
    assert!(
        told.contains(r#""subjects":["orders.>"]"#) && told.contains(r#""messages":0"#),
        "{told}"
    );
}

#[tokio::test]
async fn a_request_is_answered() {
    let server = NatsServer::start();
    let client = async_nats::connect(server.url()).await.unwrap();
    let mut asked = client.subscribe("double").await.unwrap();
    let mut heard = client.subscribe("news").await.unwrap();
    client.flush().await.unwrap();
    tokio::spawn(async move {
        let message = asked.next().await.unwrap();
        let number: i64 = std::str::from_utf8(&message.payload).unwrap().parse().unwrap();
        let answer = (2 * number).to_string().into();
        client.publish(message.reply.unwrap(), answer).await.unwrap();
    });
    let tool = tool();
    let request = json!({"operation": "request", "subject": "double", "data": 21});
    expect![[r#"
        completed {"status":"success","subject":"double","data":42,"headers":{}}
    "#]]
    .assert_eq(&run(&tool, &server, request).await);
    let publish = json!({"operation": "publish", "subject": "news", "data": "hello"});
    run(&tool, &server, publish).await;
    assert_eq!(&heard.next().await.unwrap().payload[..], b"hello");
    let nobody = json!({"operation": "request", "subject": "nobody", "timeout_ms": 500});
    let told = run(&tool, &server, nobody).await;
    assert!(told.starts_with("failed not_found: nats: request to `nobody`"), "{told}");
}

#[tokio::test]
async fn a_missing_bucket_or_stream_is_an_error_with_a_way_out() {
    check(
        &[
            json!({"operation": "kv_get", "bucket": "other", "key": "k"}),
            json!({"operation": "object_list", "bucket": "other"}),
            json!({"operation": "js_stream_info", "stream": "other"}),
            json!({"operation": "js_consume", "stream": "orders", "consumer": "other"}),
        ],
        expect![[r#"
            failed not_found: nats: there is no bucket `other`; make it with `nats kv add`
            failed not_found: nats: there is no object bucket `other`; make it with `nats object add`
            failed not_found: nats: there is no stream `other`; make it with `nats stream add`
            failed not_found: nats: there is no pull consumer `other`; make it with `nats consumer add`
        "#]],
    )
    .await;
    let told =
        run(&tool(), &server().await, json!({"operation": "js_publish", "subject": "x"})).await;
    assert!(told.starts_with("failed not_found: nats: cannot publish to `x`"), "{told}");
}

#[tokio::test]
async fn a_configuration_that_says_too_little_is_refused_before_anything_is_sent() {
    for (config, expected) in [
        (json!({}), "`operation` is missing"),
        (json!({"operation": "kv_get", "bucket": "b"}), "`key` is missing"),
        (json!({"operation": "kv_get", "key": "k"}), "`bucket` is missing"),
        (json!({"operation": "kv_put", "bucket": "b", "key": "k"}), "`value` is missing"),
        (json!({"operation": "fly"}), "`operation` is `fly`; known are publish, request, kv_get"),
        (json!({"operation": "publish"}), "`subject` is missing"),
        (json!({"operation": "js_get_msg", "stream": "s"}), "`seq` or `subject` is missing"),
        (
            json!({"operation": "js_consume", "stream": "s", "consumer": "c", "batch": "x"}),
            "`batch` must be a whole number, but is \"x\"",
        ),
        (
            json!({"operation": "object_put", "bucket": "b", "name": "n", "data": "%",
                "encoding": "base64"}),
            "`data` is not base64",
        ),
        (json!({"operation": "object_list", "bucket": "b"}), "there is no address: give `url`"),
        (
            json!({"operation": "object_list", "bucket": "b", "url": "nats://u:p@h:x"}),
            "`url` is not the address of a NATS server",
        ),
        (
            json!({"operation": "object_list", "bucket": "b", "auth": "nobody"}),
            "there is no credential `nobody`",
        ),
    ] {
        let told = show(&tool().run(&call(config.clone())).await);
        assert!(told.starts_with("failed config: "), "{config}: {told}");
        assert!(told.contains(expected), "{config}: {told}");
        assert!(!told.contains("u:p@"), "{told}");
    }
}

#[tokio::test]
async fn an_unreachable_server_and_a_refused_token_are_told_apart() {
    let get = |url: String| json!({"operation": "kv_get", "bucket": "b", "key": "k", "url": url});
    let told = show(&tool().run(&call(get("nats://127.0.0.1:1".into()))).await);
    assert!(told.starts_with("failed connection: nats: cannot connect to"), "{told}");
    let alias = json!({"operation": "kv_get", "bucket": "b", "key": "k", "auth": "broker"});
    let told = show(&tool().run(&call(alias)).await);
    assert!(told.starts_with("failed connection: nats: cannot connect to"), "{told}");
    let server = NatsServer::start_with_password("ada", "s3cret");
    let told = show(&tool().run(&call(get(server.url()))).await);
    assert!(told.starts_with("failed auth: nats: cannot connect to"), "{told}");
    let known = server.url().replace("nats://", "nats://ada:s3cret@");
    let told = show(&tool().run(&call(get(known))).await);
    assert!(told.starts_with("failed not_found: nats: there is no bucket"), "{told}");
}

#[tokio::test]
async fn a_call_that_is_cancelled_ends_at_once() {
    let server = server().await;
    let call = call(json!({"operation": "js_consume", "stream": "orders", "consumer": "taker",
                           "timeout_ms": 5000, "url": server.url()}));
    call.cancel.cancel();
    let told = show(&tool().run(&call).await);
    assert_eq!(told, "failed unknown: stopped before it was done\n");
}
