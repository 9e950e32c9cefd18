//! Tests of the backlog limit and of the starts that it applies to.

use noetl_model::ReportAnswer;
use noetl_store::WorkQueue as _;

use super::*;
use crate::{Admission, StartError};

const ONE: &str = r"
workflow:
  - step: start
    tool: {kind: noop}
";

const LIMIT: u64 = 3;

fn limited(world: &World) -> Control {
    let settings = ControlSettings { backlog_max: Some(LIMIT), ..ControlSettings::default() };
    world.control_on(world.store.clone(), settings)
}

async fn request(control: &Control, admission: Admission) -> Result<ExecutionId, StartError> {
    control.start(StartRequest { admission, ..StartRequest::new(by_path("p"), Map::new()) }).await
}

/// Starts executions until one is refused, and returns their number.
async fn start_all(control: &Control, admission: Admission) -> u64 {
    for count in 0..100 {
        match request(control, admission).await {
            Ok(_) => {}
            Err(StartError::BacklogFull(full)) => {
                assert_eq!(full.pool, Pool::shared());
                assert!(full.waiting >= full.limit, "{full:?}");
                return count;
            }
            Err(error) => panic!("{error}"),
        }
    }
    panic!("nothing was refused");
}

#[tokio::test(start_paused = true)]
async fn requests_are_refused_while_too_many_executions_wait() {
    let world = World::new();
    let control = limited(&world);
    register(&control, ONE).await;
    assert_eq!(start_all(&control, Admission::Request).await, LIMIT);
    // Executions started elsewhere count too; claimed ones do not.
    let other = limited(&world);
    assert!(request(&other, Admission::Request).await.is_ok(), "nothing is known there yet");
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(start_all(&other, Admission::Request).await, 0);
    for leased in lease(&control, "w", 10).await {
        let ended = control.report(report(&leased, "w", completed(Value::Null))).await.unwrap();
        assert_eq!(ended, ReportAnswer::Accepted);
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(request(&control, Admission::Request).await.is_ok(), "an old count refuses nothing");
}

#[tokio::test(start_paused = true)]
async fn starts_of_the_control_plane_itself_have_twice_the_limit() {
    let world = World::new();
    let control = limited(&world);
    register(&control, ONE).await;
    assert_eq!(start_all(&control, Admission::Request).await, LIMIT);
    assert_eq!(start_all(&control, Admission::Internal).await, LIMIT);
    assert!(request(&control, Admission::Granted).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn starts_that_a_free_worker_takes_do_not_wait() {
    let world = World::new();
    let control = limited(&world);
    register(&control, ONE).await;
    for _ in 0..2 * LIMIT {
        let worker = tokio::spawn({
            let control = control.clone();
            async move { lease(&control, "w", 1).await }
        });
        while !control.is_awaited(&Pool::shared()) {
            tokio::task::yield_now().await;
        }
        request(&control, Admission::Request).await.expect("a start");
        assert_eq!(worker.await.unwrap().len(), 1);
    }
    assert_eq!(world.store.waiting_executions(&Pool::shared(), 10).await.unwrap(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_child_that_has_to_wait_is_started_later() {
    let world = World::new();
    let plane = Running::of(limited(&world));
    let control = &plane.control;
    register(control, ONE).await;
    let parent = "workflow:\n  - step: start\n    tool: {kind: playbook, path: p}\n";
    register_at(control, "parent", parent).await;
    assert_eq!(start_all(control, Admission::Internal).await, 2 * LIMIT);
    let request = StartRequest::new(by_path("parent"), Map::new());
    let request = StartRequest { admission: Admission::Granted, ..request };
    let parent = control.start(request).await.expect("a start");
    tokio::time::sleep(Duration::from_secs(5)).await;
    let waiting = world.store.waiting_executions(&Pool::shared(), 100).await.unwrap();
    assert_eq!(waiting, 2 * LIMIT, "the child is not started");
    assert_eq!(work(control, parent).await, ExecutionStatus::Completed);
    plane.stop().await;
}
