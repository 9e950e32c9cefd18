//! Tests of parked commands: a worker has started a job elsewhere, and its callback ends the command.

use std::collections::BTreeMap;

use noetl_engine::Refusal;
use noetl_model::{Event, HeartbeatAnswer, Held, LostReason, ReportAnswer};
use serde_json::json;

use super::*;
use crate::{ForkAt, ForkRequest, MailboxAnswer, verify};

const JOB: &str = "
workflow:
  - {step: start, tool: {kind: container, image: busybox, timeout: 3600}, next: end}
  - {step: end, tool: {kind: noop, result: '{{ start.state }}'}}
";
/// A time in which every lease has expired several times.
const LONG: Duration = Duration::from_secs(600);

/// Starts an execution, leases its command to worker `a` and parks it.
async fn parked(plane: &Running) -> Lease {
    register(&plane.control, JOB).await;
    start(&plane.control).await;
    let leased = lease(&plane.control, "a", 1).await.pop().expect("a command");
    let answer = plane.control.park(Held::from(&leased), &WorkerId::new("a")).await;
    assert_eq!(answer.unwrap(), ReportAnswer::Accepted);
    leased
}

async fn call_back(control: &Control, leased: &Lease, job: &str) -> MailboxAnswer {
    let outcome = completed(json!({ "state": "succeeded" }));
    let job = Some(job.to_owned());
    control.call_back(leased.execution, leased.command, job, outcome).await.unwrap()
}

async fn is_proven(world: &World, execution: ExecutionId) {
    let verdict = verify(&*world.store, execution, |_| ()).await.expect("the store answers");
    assert_eq!(verdict.expect("it exists").fault, None, "{execution}");
}

#[tokio::test(start_paused = true)]
async fn a_parked_command_outlives_its_worker_and_its_control_plane() {
    let world = World::new();
    let plane = world.running();
    let leased = parked(&plane).await;
    is_proven(&world, leased.execution).await;
    let beat = plane.control.heartbeat(&[Held::from(&leased)]).await.unwrap();
    assert_eq!(beat, [HeartbeatAnswer::Lost(LostReason::Superseded)], "it has no lease");
    plane.stop().await;

    let plane = world.running();
    tokio::time::sleep(LONG).await;
    assert_eq!(lease(&plane.control, "b", 10).await, []);
    let said = call_back(&plane.control, &leased, "j-1").await;
    assert_eq!(said, MailboxAnswer::Accepted);
    let again = call_back(&plane.control, &leased, "j-1").await;
    assert_eq!(again, MailboxAnswer::Refused(Refusal::JobEnded("j-1".to_owned())));
    assert_eq!(work(&plane.control, leased.execution).await, ExecutionStatus::Completed);
    let log = log(&plane.control, leased.execution).await;
    let claims = log.iter().filter(|recorded| match &recorded.event {
        Event::CommandClaimed { command, .. } => *command == leased.command,
        _ => false,
    });
    assert_eq!(claims.count(), 1, "one worker started one job");
    is_proven(&world, leased.execution).await;
    plane.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_callback_to_one_server_and_its_repetition_to_another_end_the_command_once() {
    let world = World::new();
    let (plane, other) = (world.running(), world.running());
    let leased = parked(&plane).await;
    let (one, two) = tokio::join!(
        call_back(&plane.control, &leased, "j-1"),
        call_back(&other.control, &leased, "j-1")
    );
    let applied = [&one, &two].iter().filter(|it| ***it == MailboxAnswer::Accepted).count();
    assert_eq!(applied, 1, "{one:?} {two:?}");
    assert_eq!(work(&other.control, leased.execution).await, ExecutionStatus::Completed);
    is_proven(&world, leased.execution).await;
    plane.stop().await;
    other.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_fork_from_every_event_of_a_job_has_a_job_of_its_own() {
    let world = World::new();
    let plane = world.running();
    let leased = parked(&plane).await;
    call_back(&plane.control, &leased, "j-1").await;
    assert_eq!(work(&plane.control, leased.execution).await, ExecutionStatus::Completed);
    let events = log(&plane.control, leased.execution).await.len() as u64;
    for seq in 1..=events {
        let request = ForkRequest {
            origin: leased.execution,
            at: ForkAt::Event(Seq(seq)),
            playbook: None,
            workload: Map::new(),
            context: BTreeMap::new(),
            actor: None,
        };
        let fork = plane.control.fork(request).await.expect("it can be forked");
        // The scripted worker of a fork runs what it is given; nobody waits for the old job.
        assert!(work(&plane.control, fork).await.is_terminal(), "at {seq}");
        is_proven(&world, fork).await;
    }
    plane.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_job_that_takes_too_long_fails_its_task() {
    let world = World::new();
    let plane = world.running();
    let leased = parked(&plane).await;
    tokio::time::sleep(Duration::from_secs(3700)).await;
    assert_eq!(ended(&plane.control, leased.execution).await, Some(ExecutionStatus::Failed));
    let late = call_back(&plane.control, &leased, "j-1").await;
    assert_eq!(late, MailboxAnswer::Refused(Refusal::Finished(ExecutionStatus::Failed)));
    is_proven(&world, leased.execution).await;
    plane.stop().await;
}
