use expect_test::{Expect, expect};

use super::*;
use crate::testing::{call, call_with, show};

fn rhai() -> Rhai {
    Rhai::new(Arc::new(Outgoing::new(crate::Egress::Any, false)))
}

async fn check(code: &str, expected: Expect) {
    let input = json!({"n": 3, "names": ["a", "b"]});
    let call = call_with(json!({"code": code}), input, json!({"workload": {"x": 5}}));
    expected.assert_eq(&show(&rhai().run(&call).await));
}

#[tokio::test]
async fn the_last_value_is_the_output() {
    check(
        "let total = n + workload.x; #{total: total, count: names.len(), args: args}",
        expect![[r#"
            completed {"args":{"n":3,"names":["a","b"]},"count":2,"total":8}
        "#]],
    )
    .await;
}

#[tokio::test]
async fn prints_are_logged() {
    check(
        r#"print("one"); info("two"); 1.5"#,
        expect![[r#"
            completed 1.5
            stdout| one
            stderr| two
        "#]],
    )
    .await;
}

#[tokio::test]
async fn json_can_be_parsed_and_written() {
    check(
        r#"let v = parse_json("{\"a\": [1, null]}"); v.a.push(2); to_json(v)"#,
        expect![[r#"
            completed "{\"a\":[1,null,2]}"
        "#]],
    )
    .await;
}

#[tokio::test]
async fn an_error_names_its_line() {
    check(
        "let a = 1;\nlet b = a + missing;\nb",
        expect![[r#"
            failed exception: Variable not found: missing (line 2, position 13)
            details {
              "line": 2,
              "source": "let b = a + missing;"
            }
        "#]],
    )
    .await;
}

#[tokio::test]
async fn a_script_reaches_no_files_and_evaluates_no_text() {
    for code in [r#"import "secrets" as s; s::x"#, r#"eval("1")"#] {
        let ended = rhai().run(&call(json!({"code": code}))).await;
        assert!(show(&ended).starts_with("failed exception: "), "{code}");
    }
}

#[tokio::test]
async fn a_script_that_asks_for_too_much_is_stopped() {
    for (code, reason) in [
        (r#"let s = "x"; loop { s += s; }"#, "Length of string too large"),
        ("let a = [1]; loop { a += a; }", "Size of array"),
        ("let a = []; loop { a = [a, a]; }", "too large"),
        ("fn f(n) { f(n + 1) + 1 } f(0)", "Stack overflow"),
    ] {
        let shown = show(&rhai().run(&call(json!({"code": code}))).await);
        assert!(shown.contains(reason), "{code}: {shown}");
    }
}

#[tokio::test]
async fn threads_and_compiled_scripts_are_used_again() {
    let rhai = rhai();
    for n in 0..100 {
        let call = call_with(json!({"code": "n * 2"}), json!({"n": n}), json!({}));
        assert_eq!(show(&rhai.run(&call).await), format!("completed {}\n", n * 2));
    }
    assert_eq!((rhai.threads.started(), rhai.scripts.compiled()), (1, 1));
}

#[tokio::test]
async fn scripts_that_run_at_once_have_a_thread_each_up_to_the_limit() {
    let mut rhai = rhai();
    rhai.threads = Threads::new(3);
    let calls: Vec<Call> = (0..9).map(|_| call(json!({"code": "sleep_ms(20); 1"}))).collect();
    let ended = futures::future::join_all(calls.iter().map(|call| rhai.run(call))).await;
    assert!(ended.iter().all(|ended| show(ended) == "completed 1\n"), "{ended:?}");
    assert_eq!(rhai.threads.started(), 3);
}

#[tokio::test]
async fn a_call_sees_nothing_of_the_one_before_it() {
    let rhai = rhai();
    let first = call_with(
        json!({"code": "let mine = secret; fn leak() { 1 } print(mine); mine"}),
        json!({"secret": "s"}),
        json!({"other": "v"}),
    );
    assert_eq!(show(&rhai.run(&first).await), "completed \"s\"\nstdout| s\n");
    for code in ["mine", "secret", "other", "leak()"] {
        let shown = show(&rhai.run(&call(json!({"code": code}))).await);
        assert!(shown.starts_with("failed exception: "), "{code}: {shown}");
        assert!(!shown.contains("stdout|"), "{code}: {shown}");
    }
    // A thread is reused after its script was stopped.
    let stopped = call(json!({"code": "loop { }"}));
    stopped.cancel.cancel();
    rhai.run(&stopped).await;
    assert_eq!(show(&rhai.run(&call(json!({"code": "1"}))).await), "completed 1\n");
    assert_eq!(rhai.threads.started(), 1);
}

#[tokio::test]
async fn a_script_that_cannot_be_compiled_is_not_kept() {
    let rhai = rhai();
    for _ in 0..2 {
        let shown = show(&rhai.run(&call(json!({"code": "let = 1"}))).await);
        assert!(shown.starts_with("failed exception: Syntax error"), "{shown}");
    }
    assert_eq!(rhai.scripts.compiled(), 2);
}

#[tokio::test]
async fn a_script_stops_when_it_is_cancelled() {
    for code in ["loop { }", "sleep(600)"] {
        let call = call(json!({"code": code}));
        call.cancel.cancel();
        rhai().run(&call).await;
    }
}

#[tokio::test]
async fn the_functions_of_the_language_are_there() {
    let code = r#"
        let before = timestamp_ms();
        sleep_ms(1);
        #{
            later: timestamp_ms() > before && timestamp() > 1_700_000_000,
            any: [contains_any("abc", ["z", "c"]), contains_any("abc", ["z"])],
            sha: sha256_hex("abc"),
            hmac: hmac_sha256_hex("key", "The quick brown fox jumps over the lazy dog"),
            digits: random_digits(6).len() == 6 && random_digits(0) == "",
            token: random_token(9).len() == 12 && random_token(9) != random_token(9),
            same: [eq_ct("a", "a"), eq_ct("a", "b"), eq_ct("a", "ab")],
        }
    "#;
    let ended = rhai().run(&call(json!({"code": code}))).await;
    expect![[r#"
        completed {"any":[true,false],"digits":true,"hmac":"f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8","later":true,"same":[true,false,false],"sha":"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad","token":true}
    "#]].assert_eq(&show(&ended));
    let ended = rhai().run(&call(json!({"code": "random_token(5000)"}))).await;
    assert!(show(&ended).contains("from 0 to 1024"), "{}", show(&ended));
}

/// Runs a script against a server with one response; returns the request and the script's output.
async fn ask(code: &str) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let asked = tokio::spawn(async move {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut text = String::new();
        while !text.contains("\r\n\r\n") || text.contains("POST") && !text.ends_with('}') {
            let mut bytes = [0; 1024];
            let read = stream.read(&mut bytes).await.unwrap();
            text.push_str(std::str::from_utf8(&bytes[..read]).unwrap());
        }
        let answer =
            b"HTTP/1.1 201 Created\r\ncontent-length: 8\r\nconnection: close\r\n\r\n{\"a\": 1}";
        stream.write_all(answer).await.unwrap();
        let is_told = |line: &&str| {
            ["GET", "POST", "DELETE", "auth", "{"].iter().any(|it| line.starts_with(it))
        };
        text.lines().filter(is_told).collect::<Vec<_>>().join("; ")
    });
    let call = call(json!({"code": code.replace("{server}", &address)}));
    let ended = show(&rhai().run(&call).await);
    format!("{ended}{}\n", asked.await.unwrap())
}

#[tokio::test]
async fn scripts_send_requests() {
    expect![[r#"
        completed [201,"{\"a\": 1}",1]
        GET /x?y=1 HTTP/1.1
    "#]]
    .assert_eq(
        &ask(r#"let r = http_get("http://{server}/x?y=1"); [r.status, r.body, r.data.a]"#).await,
    );
    expect![[r#"
        completed 201
        POST /x HTTP/1.1; authorization: Bearer t; {"n":[1]}
    "#]]
    .assert_eq(&ask(r#"http_post_auth("http://{server}/x", #{n: [1]}, "t").status"#).await);
    expect![[r#"
        completed 201
        DELETE /x HTTP/1.1
    "#]]
    .assert_eq(&ask(r#"http_delete("http://{server}/x").status"#).await);
}

#[tokio::test]
async fn a_request_that_fails_can_be_caught() {
    check(
        r#"try { http_get("http://127.0.0.1:1/") } catch (why) { "refused" }"#,
        expect![[r#"
            completed null
        "#]],
    )
    .await;
    check(
        r#"http_get("nowhere")"#,
        expect![[r#"
            failed exception: Runtime error: `nowhere` is no URL: relative URL without a base (line 1, position 1)
            details {
              "line": 1,
              "source": "http_get(\"nowhere\")"
            }
        "#]],
    )
    .await;
}

/// A script that holds more and more strings of 4 MiB, each in a variable of its own.
fn hoard(count: usize) -> String {
    let grown =
        "let s = \"x\"; while s.len() < 4000000 { s += s; if s.len() >= 2097152 { break; } }\n";
    let kept = (0..count).map(|index| format!("let a{index} = s + \"{index}\";\n"));
    format!("{grown}{}s.len()", kept.collect::<String>())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_values_of_a_script_are_bounded_by_the_memory_of_its_call() {
    let budget = crate::MemoryBudget::new(64 * 1024 * 1024);
    let run = async |count: usize| {
        let call = Call { memory: budget.call(), ..call(json!({"code": hoard(count)})) };
        show(&rhai().run(&call).await)
    };
    assert_eq!(run(4).await, "completed 2097152\n");
    let told = run(200).await;
    let expected = "failed storage_quota: the values of the script cannot be held: it takes more \
                    than 32 MiB of memory, the limit for one call";
    assert!(told.starts_with(expected), "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scripts_that_run_at_once_share_one_bound() {
    let budget = crate::MemoryBudget::new(64 * 1024 * 1024);
    let (tool, free) = (rhai(), budget.free());
    let running = (0..16).map(async |_| {
        let call = Call { memory: budget.call(), ..call(json!({"code": hoard(8)})) };
        show(&tool.run(&call).await)
    });
    for told in futures::future::join_all(running).await {
        assert_eq!(told, "completed 2097152\n");
    }
    assert_eq!(budget.free(), free, "all of it is released");
}
