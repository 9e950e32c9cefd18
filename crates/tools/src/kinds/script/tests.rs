use expect_test::{Expect, expect};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::*;
use crate::protect::outgoing::Egress;
use crate::testing::{call_with, settings, show};

async fn run(config: Value, input: Value) -> String {
    let tool = ScriptTool::new(&settings(), Arc::new(Outgoing::new(Egress::Any, false)));
    show(&tool.run(&call_with(config, input, json!({}))).await)
}

async fn check(config: Value, expected: Expect) {
    expected.assert_eq(&run(config, json!({})).await);
}

#[tokio::test]
async fn the_first_line_says_what_runs_it() {
    check(
        json!({"code": "#!/bin/sh -e\necho \"$1-$2\"", "args": ["a b", 2]}),
        expect![[r#"
            completed {"exit_code":0,"stdout":"a b-2\n","stderr":"","status":"success","output":"a b-2"}
            stdout| a b-2
        "#]],
    )
    .await;
}

#[tokio::test]
async fn output_that_is_json_is_read_as_json() {
    let code =
        "import json, sys\nprint(json.dumps({'got': json.load(sys.stdin), 'args': sys.argv[1:]}))";
    let config = json!({"script": {"type": "inline", "content": code}, "interpreter": "python3",
                        "args": {"size": 3, "none": null}});
    let told = run(config, json!({"n": 1})).await;
    assert!(told.contains(r#""output":{"got":{"n":1},"args":["--size","3"]}"#), "{told}");
}

#[tokio::test]
async fn a_file_is_run_by_what_its_ending_says() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("job.py"), "print(7)").unwrap();
    let config = json!({"script": {"type": "local", "uri": "job.py"}, "cwd": directory.path()});
    let told = run(config, json!({})).await;
    assert!(told.contains(r#""output":7"#), "{told}");
}

#[tokio::test]
async fn a_script_is_fetched() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let uri = format!("http://{}/job.sh", listener.local_addr().unwrap());
    tokio::spawn(async move {
        for body in
            ["HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\necho 9", "HTTP/1.1 404 No\r\n\r\n"]
        {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = vec![0; 4096];
            assert!(0 < stream.read(&mut request).await.unwrap());
            stream.write_all(body.as_bytes()).await.unwrap();
        }
    });
    let told = run(json!({"script": uri}), json!({})).await;
    assert!(told.contains(r#""output":9"#), "{told}");
    let told = run(json!({"script": uri}), json!({})).await;
    assert!(told.starts_with("failed config: script: HTTP 404 instead of the script"), "{told}");
}

#[tokio::test]
async fn a_script_that_fails_fails_the_task() {
    let config = json!({"code": "#!/bin/sh\necho no >&2\nexit 3", "job": {"image": "python"}});
    let told = run(config, json!({})).await;
    let (first, rest) = told.split_once('\n').unwrap();
    assert!(first.starts_with("failed exception: `/bin/sh "), "{told}");
    assert!(first.ends_with("ended with exit code 3: no"), "{told}");
    expect![[r#"
        code 3
        output {"exit_code":3,"stdout":"","stderr":"no\n"}
        stderr| no
        stderr| `job` has no effect: the script runs on the worker
    "#]]
    .assert_eq(rest);
}

#[tokio::test]
async fn a_script_that_cannot_be_run_is_an_error_with_its_reason() {
    for (config, expected) in [
        (json!({}), "failed config: script: `code` or `script` is missing"),
        (json!({"code": "echo"}), "failed config: script: nothing says what runs it"),
        (
            json!({"code": "x", "interpreter": "no-such-program"}),
            "failed config: script: cannot start `no-such-program`",
        ),
        (json!({"code": "x", "interpreter": {}}), "failed config: script: `interpreter` must be"),
        (json!({"script": "/no/such.sh"}), "failed config: script: cannot read the script"),
        (
            json!({"script": {"type": "gcs", "uri": "gs://b/x.sh"}}),
            "failed config: script: `script.source.type` is `gcs`; known are inline, file and http",
        ),
        (json!({"code": "x", "args": 7}), "failed config: script: `args` must be a list or a map"),
        (json!({"script": {"type": "inline"}}), "failed config: script: script: `code` is missing"),
    ] {
        let told = run(config, json!({})).await;
        assert!(told.starts_with(expected), "{told}");
    }
}
