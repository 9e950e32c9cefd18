//! Tests of variables of an execution.

use axum::http::Method;
use serde_json::{Value, json};

use super::{HELLO, Server};

/// A playbook with a step that sets a context value.
const SETTER: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: setter, path: tests/setter}
workflow:
  - step: start
    tool: {kind: noop}
    set: {ctx.city: Bonn}
";

async fn names(server: &Server, id: &str) -> Vec<String> {
    let listed = server.get(&format!("/api/vars/{id}")).await.body;
    let listed = listed.as_array().expect("a list").clone();
    listed.iter().map(|it| it["var_name"].as_str().expect("a name").to_owned()).collect()
}

pub(super) async fn variables_are_set_typed_or_as_a_bare_map_and_read_back(server: Server) {
    server.register(HELLO).await;
    let id = server.start("tests/hello").await;
    let path = format!("/api/vars/{id}");
    let typed = json!({ "variables": [
        { "var_name": "b", "var_value": [1], "var_type": "computed", "source_step": "start" },
    ]});
    let set = server.post(&path, typed).await;
    let expected = json!({ "execution_id": id, "variables_set": 1, "status": "ok" });
    assert_eq!(set.body, expected);
    assert_eq!(server.post(&path, json!({ "a": "x", "c": null })).await.body["variables_set"], 2);
    assert_eq!(names(&server, &id).await, ["a", "b", "c"]);
    let shown = server.get(&format!("{path}/b")).await.body;
    assert_eq!(shown["var_value"], json!([1]));
    assert_eq!(shown["var_type"], "computed");
    assert_eq!(shown["access_count"], 1);
    assert_eq!(server.get(&format!("{path}/b")).await.body["access_count"], 2);
}

pub(super) async fn variables_of_the_playbook_and_of_clients_are_shown_together(server: Server) {
    server.register(SETTER).await;
    let id = server.start("tests/setter").await;
    server.work().await;
    assert_eq!(names(&server, &id).await, ["city"]);
    let path = format!("/api/vars/{id}/city");
    assert_eq!(server.get(&path).await.body["var_value"], "Bonn");
    server.post(&format!("/api/vars/{id}"), json!({ "city": "Berlin" })).await;
    assert_eq!(server.get(&path).await.body["var_value"], "Berlin");
    assert_eq!(server.call(Method::DELETE, &path, Value::Null).await.body["status"], "deleted");
    assert_eq!(server.get(&path).await.body["var_value"], "Bonn");
}

pub(super) async fn variables_are_removed_one_by_one_or_all_at_once(server: Server) {
    server.register(HELLO).await;
    let id = server.start("tests/hello").await;
    let path = format!("/api/vars/{id}");
    server.post(&path, json!({ "a": 1, "b": 2, "c": 3 })).await;
    let remove = async |path: &str| server.call(Method::DELETE, path, Value::Null).await;
    assert_eq!(remove(&format!("{path}/a")).await.body["var_name"], "a");
    assert_eq!(remove(&format!("{path}/a")).await.problem(), "404 unknown-variable");
    assert_eq!(remove(&path).await.body["variables_deleted"], 2);
    assert_eq!(server.get(&format!("{path}/b")).await.problem(), "404 unknown-variable");
}

pub(super) async fn an_invalid_variable_is_refused_with_a_problem_code(server: Server) {
    server.register(HELLO).await;
    let id = server.start("tests/hello").await;
    let check = async |path: &str, body: Value, expected: &str| {
        assert_eq!(server.post(path, body).await.problem(), expected);
    };
    let path = format!("/api/vars/{id}");
    let odd = json!({ "variables": [{ "var_name": "a", "var_value": 1, "var_type": "odd" }] });
    check(&path, odd, "422 variable-type").await;
    check(&path, json!({ "": 1 }), "422 variable-name").await;
    check("/api/vars/1", json!({ "a": 1 }), "404 unknown-execution").await;
    check(&path, json!([1]), "422 invalid-body").await;
}
