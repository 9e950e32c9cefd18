use std::sync::LazyLock;
use std::time::{Duration, Instant};

use expect_test::{Expect, expect};
use noetl_model::Outcome;
use serde_json::json;
use tokio::runtime::Runtime;

use super::*;
use crate::protect::outgoing::Egress;
use crate::testing::{call, call_with, eventually, is_alive, settings, show};

fn python() -> Python {
    Python::new(&settings(), Arc::new(Outgoing::new(Egress::Any, false)))
}

/// Runs a call with interpreters that all tests share, in a runtime that outlives each test.
async fn run(call: &Call) -> ToolResult {
    static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());
    static PYTHON: LazyLock<Python> = LazyLock::new(python);
    let call = call.clone();
    RUNTIME.spawn(async move { PYTHON.run(&call).await }).await.unwrap()
}

async fn check(code: &str, expected: Expect) {
    check_input(code, json!({}), expected).await;
}

async fn check_input(code: &str, input: Value, expected: Expect) {
    let variables = json!({
        "workload": {"url": "u", "shared": "workload"},
        "ctx": {"shared": "ctx"},
        "start": {"rows": [1, 2]},
    });
    let call = call_with(json!({"code": code}), input, variables);
    expected.assert_eq(&show(&run(&call).await));
}

mod result {
    use super::*;

    #[tokio::test]
    async fn a_variable_called_result_is_the_output() {
        check_input(
            "result = {'sum': a + b}",
            json!({"a": 1, "b": 2}),
            expect![[r#"
                completed {"sum":3}
            "#]],
        )
        .await;
    }

    #[tokio::test]
    async fn a_main_function_gets_its_parameters_by_name() {
        check_input(
            "def main(b, a, c=7, input_data=None):\n    return [a, b, c, input_data]",
            json!({"a": 1, "b": 2, "other": 3}),
            expect![[r#"
                completed [1,2,7,{"a":1,"b":2,"other":3}]
            "#]],
        )
        .await;
    }

    #[tokio::test]
    async fn a_main_function_may_take_everything_and_be_async() {
        check_input(
            "import asyncio\nasync def main(**all):\n    await asyncio.sleep(0)\n    return all",
            json!({"a": 1, "b": 2}),
            expect![[r#"
                completed {"a":1,"b":2}
            "#]],
        )
        .await;
    }

    #[tokio::test]
    async fn a_main_function_is_called_once() {
        check(
            "def main():\n    print('called')\n    return 1\nif __name__ == '__main__':\n    main()",
            expect![[r#"
                completed 1
                stdout| called
            "#]],
        )
        .await;
    }

    #[tokio::test]
    async fn a_script_without_a_main_function_is_the_main_module() {
        check(
            "if __name__ == '__main__':\n    result = 1",
            expect![[r#"
                completed 1
            "#]],
        )
        .await;
    }

    #[tokio::test]
    async fn a_return_at_the_top_level_is_the_output() {
        check_input(
            "from __future__ import annotations\nn = n + 1\ndef twice(): return n * 2\nif n > 3:\n    return {'n': twice()}\nresult = 'unreached'",
            json!({"n": 3}),
            expect![[r#"
                completed {"n":8}
            "#]],
        )
        .await;
    }

    #[tokio::test]
    async fn a_return_that_is_not_reached_leaves_the_result() {
        check(
            "if False:\n    return 1\nresult = [i for i in range(2)]",
            expect![[r#"
                completed [0,1]
            "#]],
        )
        .await;
    }

    #[tokio::test]
    async fn an_input_called_result_is_only_an_input() {
        let input = json!({"result": {"a": 1}, "main": 2});
        check_input(
            "print(result['a'], main)",
            input.clone(),
            expect![[r#"
                completed {"stdout":"1 2\n","stderr":""}
                stdout| 1 2
            "#]],
        )
        .await;
        check_input(
            "result = {'b': result['a'] + 1}",
            input,
            expect![[r#"
                completed {"b":2}
            "#]],
        )
        .await;
    }

    #[tokio::test]
    async fn without_a_result_the_output_is_what_was_printed() {
        check(
            "import os, sys\nprint('é')\nos.system('echo from a child')\nprint('oops', file=sys.stderr)",
            expect![[r#"
                completed {"stdout":"é\nfrom a child\n","stderr":"oops\n"}
                stdout| é
                stdout| from a child
                stderr| oops
            "#]],
        )
        .await;
    }

    #[tokio::test]
    async fn values_that_json_does_not_have_are_written_in_its_terms() {
        check(
            r#"
import dataclasses, datetime, decimal, enum, uuid, pathlib
@dataclasses.dataclass
class Point:
    x: int
    y: object
class Color(enum.Enum):
    RED = 'red'
result = [
    datetime.datetime(2026, 1, 2, 3, 4, 5), datetime.date(2026, 1, 2), decimal.Decimal('1.10'),
    b'ab', {3}, Point(1, Color.RED), (1, 2), pathlib.Path('/a'), (n for n in [1]), {'k': 1}.keys(),
]
"#,
            expect![[r#"
                completed ["2026-01-02T03:04:05","2026-01-02","1.10","YWI=",[3],{"x":1,"y":"red"},[1,2],"/a",[1],["k"]]
            "#]],
        )
        .await;
    }

    #[tokio::test]
    async fn not_a_number_odd_keys_and_cycles_do_not_break_a_result() {
        check(
            "result = {'nan': float('nan'), 'inf': [float('inf')], (1, 2): {3}, 4: '\\ud800'}",
            expect![[r#"
                completed {"nan":null,"inf":[null],"(1, 2)":[3],"4":"?"}
            "#]],
        )
        .await;
        let ended = run(&call(json!({"code": "result = []\nresult.append(result)"}))).await;
        assert!(matches!(ended.outcome, Outcome::Completed { .. }), "{ended:?}");
        check(
            "result = []\nfor _ in range(150):\n    result = [result]",
            expect![[r#"
                failed parse: the result cannot be read as JSON: recursion limit exceeded at line 1 column 128
                code UnreadableResult
            "#]],
        )
        .await;
    }
}

mod names {
    use super::*;

    #[tokio::test]
    async fn inputs_context_and_modules_are_there() {
        check_input(
            "result = [args, input_data, execution_id, step, json.dumps(1), sys.argv]",
            json!({"a": 1}),
            expect![[r#"
                completed [{"a":1},{"a":1},"7","fetch","1",[""]]
            "#]],
        )
        .await;
    }

    #[tokio::test]
    async fn an_input_called_input_data_is_that_input() {
        check_input(
            "result = input_data",
            json!({"input_data": {"x": 1}}),
            expect![[r#"
                completed {"x":1}
            "#]],
        )
        .await;
    }

    #[tokio::test]
    async fn the_context_finds_workload_context_and_step_results() {
        check(
            "result = [context.get('url'), context.get('shared'), context['start']['rows'], \
             context.workload['shared'], variables.get('nothing', 0), context.get('execution_id')]",
            expect![[r#"
                completed ["u","ctx",[1,2],"workload",0,"7"]
            "#]],
        )
        .await;
    }

    #[tokio::test]
    async fn libs_are_imported_by_name() {
        let libs = |libs: Value, code: &str| {
            let call = call(json!({"libs": libs, "code": code}));
            async move { show(&run(&call).await) }
        };
        let named =
            json!({"m": "math", "dt": {"from": "datetime", "import": "date"}, "os.path": null});
        expect![[r#"
            completed [2,2026]
        "#]]
        .assert_eq(&libs(named, "result = [int(m.sqrt(4)), dt(2026, 1, 1).year]").await);
        let packages = json!(["math>=1", "xml.dom"]);
        expect![[r#"
            completed [2,"xml.dom"]
        "#]]
        .assert_eq(&libs(packages, "result = [int(math.sqrt(4)), xml.dom.__name__]").await);
        let mixed = json!(["json", {"from": "collections", "import": ["Counter", "deque"]}]);
        expect![[r#"
            completed [2,1]
        "#]]
        .assert_eq(&libs(mixed, "result = [Counter('aab')['a'], len(deque([1]))]").await);
        let one = json!({"from": "math", "import": "sqrt"});
        expect![[r#"
            completed 3.0
        "#]]
        .assert_eq(&libs(one, "result = sqrt(9)").await);
        expect![[r#"
            failed exception: libs.x: ModuleNotFoundError: No module named 'nowhere'
            code ModuleNotFoundError
        "#]]
        .assert_eq(&libs(json!({"x": "nowhere"}), "result = 1").await);
    }

    #[tokio::test]
    async fn a_result_that_is_a_large_value_is_refused_and_its_interpreter_is_kept() {
        let python = python();
        let mut call = call(json!({"code": "import os\nresult = [os.getpid()] * 300000"}));
        call.memory = crate::MemoryBudget::new(16 * 1024 * 1024).call();
        let ended = python.run(&call).await;
        let Outcome::Failed { error, .. } = ended.outcome else { panic!("it completed") };
        assert_eq!(error.kind, noetl_model::ErrorKind::StorageQuota);
        let message = "the result cannot be held: it takes more than 8 MiB of memory";
        assert!(error.message.starts_with(message), "{error}");
        call.config["code"] = json!("result = [0] * 10");
        assert!(matches!(python.run(&call).await.outcome, Outcome::Completed { .. }));
    }

    #[tokio::test]
    async fn a_package_that_is_not_installed_is_a_failure() {
        for libs in [json!(["no-such-package>=2"]), json!("no-such-package")] {
            let ended = run(&call(json!({"libs": libs, "code": "result = 1"}))).await;
            let Outcome::Failed { error, .. } = ended.outcome else { panic!("it completed") };
            assert_eq!(error.kind, noetl_model::ErrorKind::Config);
            let begin = "libs: the package `no-such-package` is not installed in /";
            assert!(error.message.starts_with(begin), "{}", error.message);
            assert!(error.message.contains("-m pip install no-such-package"), "{}", error.message);
        }
    }

    #[tokio::test]
    async fn a_package_whose_module_has_another_name_is_left_to_the_script() {
        let directory = tempfile::tempdir().unwrap();
        let info = directory.path().join("other_name-1.0.dist-info");
        std::fs::create_dir(&info).unwrap();
        std::fs::write(info.join("METADATA"), "Name: other-name\nVersion: 1.0\n").unwrap();
        let mut settings = settings();
        let path = directory.path().display().to_string();
        settings.environment.insert("PYTHONPATH".into(), path);
        let python = Python::new(&settings, Arc::new(Outgoing::new(crate::Egress::Any, false)));
        let call = call(json!({"libs": ["other-name"], "code": "result = 1"}));
        assert_eq!(show(&python.run(&call).await), "completed 1\n");
    }

    #[tokio::test]
    async fn env_and_cwd_hold_for_one_call() {
        let python = python();
        let code = "import os\nresult = [os.environ.get('A'), os.getcwd() == '/', \
                    os.environ['NOETL_IDEMPOTENCY_KEY']]\nos.environ['B'] = '1'";
        let first = python.run(&call(json!({"code": code, "env": {"A": 1}, "cwd": "/"}))).await;
        expect![[r#"
            completed ["1",true,"7-1"]
        "#]]
        .assert_eq(&show(&first));
        let code =
            "import os\nresult = [os.environ.get('A'), os.getcwd() == '/', os.environ.get('B')]";
        let second = python.run(&call(json!({"code": code}))).await;
        expect![[r#"
            completed [null,false,null]
        "#]]
        .assert_eq(&show(&second));
    }
}

mod failure {
    use super::*;

    /// Checks the message and the traceback, without the marker lines, which depend on the version
    /// of Python.
    async fn check_traceback(code: &str, expected: Expect) {
        let ended = run(&call(json!({"code": code}))).await;
        let Outcome::Failed { error, .. } = ended.outcome else { panic!("completed") };
        let details = error.details.expect("details");
        assert_eq!(details["traceback"].as_str(), Some(ended.logs.stderr.trim_end()));
        let lines = ended.logs.stderr.lines();
        let lines = lines.filter(|line| !line.trim().chars().all(|c| "^~".contains(c)));
        let text: String = lines.map(|line| format!("{line}\n")).collect();
        expected.assert_eq(&format!("{} at {}\n{text}", error.message, details["line"]));
    }

    #[tokio::test]
    async fn an_exception_names_its_line_and_shows_the_users_frames() {
        check_traceback(
            "def parse(text):\n    return int(text)\nresult = parse('x')",
            expect![[r#"
                ValueError: invalid literal for int() with base 10: 'x' (line 2) at 2
                Traceback (most recent call last):
                  File "<fetch>", line 3, in <module>
                    result = parse('x')
                  File "<fetch>", line 2, in parse
                    return int(text)
                ValueError: invalid literal for int() with base 10: 'x'
            "#]],
        )
        .await;
    }

    #[tokio::test]
    async fn lines_are_right_in_code_that_returns_at_the_top_level() {
        check_traceback(
            "x = 1\nif not x:\n    return 2\nassert x == 5",
            expect![[r#"
                AssertionError: assert x == 5 (line 4) at 4
                Traceback (most recent call last):
                  File "<fetch>", line 4, in <module>
                    assert x == 5
                AssertionError: assert x == 5
            "#]],
        )
        .await;
    }

    #[tokio::test]
    async fn a_syntax_error_shows_the_line() {
        check(
            "x = 1\nresult = x +* 2",
            expect![[r#"
                failed exception: SyntaxError: invalid syntax (line 2): result = x +* 2
                code SyntaxError
                details {
                  "line": 2,
                  "source": "result = x +* 2"
                }
                stderr| SyntaxError: invalid syntax (line 2): result = x +* 2
            "#]],
        )
        .await;
    }

    #[tokio::test]
    async fn a_script_may_end_itself() {
        check(
            "result = 1\nsys.exit(0)",
            expect![[r#"
                completed 1
            "#]],
        )
        .await;
        check(
            "sys.exit(3)",
            expect![[r#"
                failed exception: the script ended itself with exit code 3
                code SystemExit
            "#]],
        )
        .await;
        check(
            "sys.exit('no rows')",
            expect![[r#"
                failed exception: the script ended itself: no rows
                code SystemExit
            "#]],
        )
        .await;
    }

    #[tokio::test]
    async fn the_end_of_the_interpreter_is_reported() {
        check(
            "import os\nprint('bye')\nos._exit(5)",
            expect![[r#"
                failed exception: the Python interpreter ended with exit code 5
                stdout| bye
            "#]],
        )
        .await;
        check(
            "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)",
            expect![[r#"
                failed exception: the Python interpreter ended with signal 11
            "#]],
        )
        .await;
    }

    #[tokio::test]
    async fn a_missing_interpreter_is_a_config_error_that_helps() {
        let ended = run(&call(json!({"code": "1", "python": "python9"}))).await;
        expect![[r#"
            failed config: python: cannot start `python9`: No such file or directory (os error 2); install Python 3, or name the interpreter in the variable NOETL_PYTHON or in the tool's `python` key
        "#]]
        .assert_eq(&show(&ended));
        let ended = run(&call(json!({"code": "1", "python": "/bin/false"}))).await;
        expect![[r#"
            failed config: python: `/bin/false` does not work as Python 3.8 or later: it does not answer
        "#]]
        .assert_eq(&show(&ended));
    }

    #[tokio::test]
    async fn code_that_is_missing_or_elsewhere_is_a_config_error() {
        let told = |config: Value| async move { show(&run(&call(config)).await) };
        expect![[r#"
            failed config: python: `code` or `script` is missing
        "#]]
        .assert_eq(&told(json!({})).await);
        expect![[r#"
            failed config: python: `script.source.type` is `gcs`; known are inline, file and http
        "#]]
        .assert_eq(&told(json!({"script": {"uri": "gs://a", "source": {"type": "gcs"}}})).await);
        expect![[r#"
            failed config: python: cannot read the script /nowhere.py: No such file or directory (os error 2)
        "#]]
        .assert_eq(&told(json!({"script": "/nowhere.py"})).await);
    }
}

mod process {
    use super::*;

    /// Runs calls one after the other in the same pool and returns the process id of each.
    async fn pids(python: &Python, codes: &[&str]) -> Vec<Value> {
        let mut pids = Vec::new();
        for code in codes {
            let code = format!("import os\n{code}\nresult = os.getpid()");
            match python.run(&call(json!({"code": code}))).await.outcome {
                Outcome::Completed { output } => pids.push((*output).clone()),
                Outcome::Failed { error, .. } => panic!("{error}"),
            }
        }
        pids
    }

    #[tokio::test]
    async fn an_interpreter_is_used_again_with_a_fresh_namespace() {
        let python = python();
        let pids = pids(&python, &["leftover = 1", "assert 'leftover' not in globals()"]).await;
        assert_eq!(pids[0], pids[1]);
    }

    #[tokio::test]
    async fn an_interpreter_that_is_left_unclean_is_replaced() {
        for unclean in [
            "import subprocess\nsubprocess.Popen(['sleep', '600'])",
            "import threading, time\nthreading.Thread(target=time.sleep, args=(600,), daemon=True).start()",
            "os.close(1)",
            "sys.stdout.close()",
            "os.dup2(os.open('/dev/null', os.O_WRONLY), 2)",
        ] {
            let python = python();
            let pids = pids(&python, &[unclean, "print('fine')"]).await;
            assert_ne!(pids[0], pids[1], "{unclean}");
            let first = pids[0].to_string();
            eventually("the unclean interpreter ends", || !is_alive(&first)).await;
        }
    }

    #[tokio::test]
    async fn the_output_of_one_call_is_not_that_of_the_next() {
        let python = python();
        for word in ["one", "two"] {
            let code = format!("import os\nprint('{word}', end='')\nos.write(2, b'{word}')");
            let ended = python.run(&call(json!({"code": code}))).await;
            assert_eq!((ended.logs.stdout.as_str(), ended.logs.stderr.as_str()), (word, word));
        }
    }

    #[tokio::test]
    async fn a_fork_that_returns_changes_nothing() {
        check(
            "import os\npid = os.fork()\nif pid:\n    os.waitpid(pid, 0)\nresult = 1",
            expect![[r#"
                completed 1
            "#]],
        )
        .await;
    }

    #[tokio::test]
    async fn a_cancelled_call_ends_its_process_group_and_keeps_its_logs() {
        let directory = tempfile::tempdir().unwrap();
        let pid_file = directory.path().join("pid");
        let code = format!(
            "import signal, subprocess\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n\
             print('working')\nchild = subprocess.Popen(['sleep', '600'])\n\
             print(child.pid, file=open('{}', 'w'), flush=True)\nchild.wait()",
            pid_file.display()
        );
        let call = call(json!({"code": code}));
        let cancel = call.cancel.clone();
        let running = tokio::spawn(async move { run(&call).await });
        eventually("the child runs", || {
            std::fs::read_to_string(&pid_file).is_ok_and(|text| text.ends_with('\n'))
        })
        .await;
        let pid = std::fs::read_to_string(&pid_file).unwrap().trim().to_owned();
        assert!(is_alive(&pid));
        cancel.cancel();
        assert_eq!(running.await.unwrap().logs.stdout, "working\n");
        eventually("the child ends", || !is_alive(&pid)).await;
    }

    #[tokio::test]
    async fn a_script_can_be_a_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("script.py");
        std::fs::write(&path, "def main(name):\n    raise KeyError(name)\n").unwrap();
        let config = json!({
            "script": {"uri": "./script.py", "source": {"type": "file"}},
            "cwd": directory.path(),
        });
        let ended = run(&call_with(config, json!({"name": "x"}), json!({}))).await;
        let Outcome::Failed { error, .. } = ended.outcome else { panic!("completed") };
        assert_eq!(error.message, "KeyError: 'x' (line 2)");
        assert!(ended.logs.stderr.contains("script.py\", line 2, in main"));
    }

    #[tokio::test]
    async fn a_script_imports_the_present_modules_of_its_directory() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("script.py"), "import beside\nresult = beside.X")
            .unwrap();
        let config = json!({"script": directory.path().join("script.py")});
        let python = python();
        for expected in ["'one'", "'three'"] {
            std::fs::write(directory.path().join("beside.py"), format!("X = {expected}")).unwrap();
            let shown = show(&python.run(&call(config.clone())).await);
            assert_eq!(shown.replace('"', "'"), format!("completed {expected}\n"));
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn many_calls_at_once_share_few_interpreters() {
        let python = Arc::new(python());
        let running: Vec<_> = (0..40)
            .map(|_| {
                let python = python.clone();
                tokio::spawn(async move { pids(&python, &[""]).await.remove(0) })
            })
            .collect();
        let mut pids = std::collections::BTreeSet::new();
        for task in running {
            pids.insert(task.await.unwrap().to_string());
        }
        assert!(pids.len() < 20, "{} interpreters for 40 short calls", pids.len());
    }

    #[tokio::test]
    async fn a_warm_call_costs_a_tenth_of_an_interpreter_start_at_most() {
        const STARTS: u32 = 5;
        const CALLS: u32 = 200;
        let started = Instant::now();
        for _ in 0..STARTS {
            let status = tokio::process::Command::new("python3").args(["-c", "1"]).status().await;
            assert!(status.unwrap().success());
        }
        let start = started.elapsed() / STARTS;
        let python = python();
        pids(&python, &[""]).await;
        let called = Instant::now();
        for _ in 0..CALLS {
            pids(&python, &[""]).await;
        }
        let warm = called.elapsed() / CALLS;
        assert!(warm * 10 < start, "warm call {warm:?}, interpreter start {start:?}");
        assert!(warm < Duration::from_millis(50), "warm call {warm:?}");
    }
}

mod environment {
    use super::*;

    #[tokio::test]
    async fn code_runs_in_the_virtual_environment_it_names() {
        let directory = tempfile::tempdir().unwrap();
        let venv = directory.path().join("venv");
        let made = std::process::Command::new("python3")
            .args(["-m", "venv", "--without-pip"])
            .arg(&venv)
            .status();
        assert!(made.unwrap().success());
        let call = call(json!({"venv": &venv, "code": "import sys\nresult = sys.prefix"}));
        let told = show(&run(&call).await);
        assert_eq!(told, format!("completed \"{}\"\n", venv.display()));
    }

    #[tokio::test]
    async fn a_directory_that_is_none_is_a_config_error_with_the_way_out() {
        for (config, expected) in [
            (
                json!({"venv": "/no/such", "code": "1"}),
                "failed config: python: `venv` is not a virtual environment: /no/such has no bin/python; make one with `python3 -m venv /no/such`\n",
            ),
            (
                json!({"venv": "/a", "python": "python3", "code": "1"}),
                "failed config: python: give `venv` or `python`, not both\n",
            ),
        ] {
            assert_eq!(show(&run(&call(config)).await), expected);
        }
    }
}

/// Calls of different executions in one interpreter process.
mod executions {
    use noetl_model::ExecutionId;

    use super::*;

    async fn run_in(python: &Python, execution: i64, code: &str) -> Value {
        let call = Call { execution: ExecutionId(execution), ..call(json!({"code": code})) };
        match python.run(&call).await.outcome {
            Outcome::Completed { output } => (*output).clone(),
            Outcome::Failed { error, .. } => panic!("{}", error.message),
        }
    }

    #[tokio::test]
    async fn code_of_one_execution_cannot_change_what_another_sees() {
        let python = python();
        let patch = "import json, os, builtins\n\
            seen = []\n\
            json.loads = lambda text, **_: seen.append(text) or 'patched'\n\
            builtins.secret = 'of the first'\n\
            result = os.getppid()";
        let look = "import json, os, builtins\n\
            result = [json.loads('[1]'), hasattr(builtins, 'secret'), os.getppid()]";
        let parent = run_in(&python, 1, patch).await;
        // The second execution gets the same interpreter, but not its session.
        assert_eq!(run_in(&python, 2, look).await, json!([[1], false, parent]));
    }

    #[tokio::test]
    async fn calls_of_one_execution_share_a_process() {
        let python = python();
        let code = "import os\nresult = os.getpid()";
        let first = run_in(&python, 1, code).await;
        assert_eq!(run_in(&python, 1, code).await, first);
        assert_ne!(run_in(&python, 2, code).await, first);
    }
}

mod takeover;
