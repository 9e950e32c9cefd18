//! Tests of two executions side by side.

use serde_json::{Value, json};

use super::Server;
use super::positions::{branched, complete, lease};

async fn compared(server: &Server, path: &str) -> Value {
    let answer = server.get(&format!("/api/executions/{path}")).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.body
}

fn differing(list: &Value) -> Vec<&str> {
    let list = list.as_array().expect("a list").iter();
    list.filter(|it| it["is_same"] == false).filter_map(|it| it["name"].as_str()).collect()
}

pub(super) async fn two_executions_part_at_the_first_other_output(server: Server) {
    let one = branched(&server).await;
    for count in [2, 1] {
        for lease in &lease(&server, count).await {
            complete(&server, lease, json!("same")).await;
        }
    }
    let other = branched(&server).await;
    let found = compared(&server, &format!("{one}/compare?to={other}&at=13")).await;
    assert_eq!((&found["left"]["position"], &found["shared"]), (&json!(13), &json!(0)));
    let leases = lease(&server, 2).await;
    // Items are reported in the opposite order, and the first one differs.
    complete(&server, &leases[1], json!("same")).await;
    complete(&server, &leases[0], json!("other")).await;
    let found = compared(&server, &format!("{one}/compare?to={other}")).await;
    let parting = &found["parting"];
    assert_eq!(parting["outcome"], "parted", "{parting}");
    for side in ["left", "right"] {
        assert_eq!(parting[side]["event_type"], "command.completed", "{parting}");
    }
    assert_eq!(differing(&found["ctx"]), Vec::<&str>::new());
    assert_eq!(found["workload"]["is_same"], true);
    assert_eq!(found["left"]["path"], "tests/branches");
}

pub(super) async fn an_execution_is_the_same_as_itself_and_differs_from_its_past(server: Server) {
    let id = branched(&server).await;
    let same = compared(&server, &format!("{id}/compare")).await;
    assert_eq!(same["parting"]["outcome"], "same");
    assert_eq!(same["shared"], same["left"]["last"]);
    assert_eq!(differing(&same["steps"]), Vec::<&str>::new());
    let past = compared(&server, &format!("{id}/compare?at=3&to={id}")).await;
    assert_eq!(past["shared"], 3);
    assert_eq!(past["parting"]["left"], Value::Null);
    assert_eq!(past["parting"]["right"]["event_type"], "command.completed", "{}", past["parting"]);
    assert_eq!(differing(&past["ctx"]), ["total"]);
    assert_eq!(differing(&past["steps"]), ["start", "many", "rare"]);
}

pub(super) async fn a_fork_shares_the_past_of_its_origin(server: Server) {
    let id = branched(&server).await;
    let body = json!({ "at_event": 6, "context": { "total": 500 } });
    let fork = server.post(&format!("/api/executions/{id}/fork"), body).await;
    let fork = fork.body["execution_id"].as_str().expect("a fork").to_owned();
    let found = compared(&server, &format!("{id}/compare?to={fork}")).await;
    let shared = found["shared"].as_u64().expect("a number");
    assert!((1..=6).contains(&shared), "{shared}");
    assert_eq!(found["parting"]["outcome"], "parted", "{}", found["parting"]);
    let unknown = server.get(&format!("/api/executions/{id}/compare?to=1")).await;
    assert_eq!(unknown.status, 404, "{}", unknown.body);
}
