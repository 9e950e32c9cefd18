//! Tests of leases: holders and expiry.

use noetl_model::{Attempt, Event, HeartbeatAnswer, Held, LostReason, ReportAnswer};
use serde_json::json;

use super::*;
use crate::MailboxAnswer;

const ONE_STEP: &str = "workflow: [{step: start, tool: {kind: noop}}]\n";

fn held(lease: &Lease) -> Held {
    Held::from(lease)
}

async fn one_command(plane: &Running) -> (ExecutionId, Lease) {
    register(&plane.control, ONE_STEP).await;
    let execution = start(&plane.control).await;
    let leased = lease(&plane.control, "a", 10).await.pop().expect("a command");
    (execution, leased)
}

#[tokio::test(start_paused = true)]
async fn a_large_output_is_shared_and_not_copied_on_its_way_to_the_log() {
    let plane = World::new().running();
    let (execution, leased) = one_command(&plane).await;
    let output = Arc::new(json!("x".repeat(100_000)));
    let outcome = Outcome::Completed { output: output.clone() };
    let said = plane.control.report(report(&leased, "a", outcome)).await.unwrap();
    assert_eq!(said, ReportAnswer::Accepted);
    let log = log(&plane.control, execution).await;
    let reference = log.iter().find_map(|recorded| match &recorded.event {
        Event::CommandCompleted { output: noetl_model::Payload::Ref(reference), .. } => {
            Some(*reference)
        }
        _ => None,
    });
    let kept = plane.control.payload(reference.expect("it is stored apart").digest).await.unwrap();
    assert!(Arc::ptr_eq(&kept, &output), "the value in the cache is the one that was reported");
    plane.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_same_report_twice_is_answered_the_same() {
    let plane = World::new().running();
    let (execution, leased) = one_command(&plane).await;
    let said = report(&leased, "a", completed(json!(1)));
    assert_eq!(plane.control.report(said.clone()).await.unwrap(), ReportAnswer::Accepted);
    let before = log(&plane.control, execution).await;
    assert_eq!(plane.control.report(said).await.unwrap(), ReportAnswer::Accepted);
    assert_eq!(log(&plane.control, execution).await, before, "and changes nothing");
    plane.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_report_about_nothing_we_know_is_unknown() {
    let plane = World::new().running();
    let (_, leased) = one_command(&plane).await;
    let mut said = report(&leased, "a", completed(json!(1)));
    said.command.0 += 1;
    assert_eq!(plane.control.report(said.clone()).await.unwrap(), ReportAnswer::Unknown);
    said.execution.0 += 1;
    assert_eq!(plane.control.report(said).await.unwrap(), ReportAnswer::Unknown);
    plane.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_runs_out_goes_to_another_worker_and_the_first_is_superseded() {
    let plane = World::new().running();
    let (execution, first) = one_command(&plane).await;
    let begun = Instant::now();
    let second = loop {
        if let Some(second) = lease(&plane.control, "b", 10).await.pop() {
            break second;
        }
    };
    assert_eq!((second.command, second.attempt), (first.command, Attempt(2)));
    assert_eq!(second.idempotency_key, first.idempotency_key);
    let waited = begun.elapsed();
    assert!((30..=32).contains(&waited.as_secs()), "taken over after {waited:?}");

    let late = plane.control.report(report(&first, "a", completed(json!("late")))).await.unwrap();
    assert_eq!(late, ReportAnswer::Superseded);
    let good = plane.control.report(report(&second, "b", completed(json!("good")))).await.unwrap();
    assert_eq!(good, ReportAnswer::Accepted);
    let state = plane.control.state(execution, noetl_model::Cutoff::Latest).await.unwrap();
    assert_eq!(state.step_output("start"), Some(&Payload::inline(json!("good"))));
    plane.stop().await;
}

#[tokio::test(start_paused = true)]
async fn heartbeats_keep_a_command() {
    let plane = World::new().running();
    let (_, leased) = one_command(&plane).await;
    for _ in 0..10 {
        tokio::time::sleep(Duration::from_secs(10)).await;
        let answers = plane.control.heartbeat(&[held(&leased)]).await.unwrap();
        assert!(matches!(answers[..], [HeartbeatAnswer::Extended { .. }]), "{answers:?}");
        assert_eq!(lease(&plane.control, "b", 10).await, []);
    }
    let answer = plane.control.report(report(&leased, "a", completed(json!(1)))).await.unwrap();
    assert_eq!(answer, ReportAnswer::Accepted);
    let answers = plane.control.heartbeat(&[held(&leased)]).await.unwrap();
    assert_eq!(answers, [HeartbeatAnswer::Lost(LostReason::Finished)]);
    plane.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_a_heartbeat_overtook_is_refused_and_hurts_nobody() {
    let plane = World::new().running();
    let (execution, leased) = one_command(&plane).await;
    // The claimant has read the command as ready, but it is not ready any more.
    let claim = noetl_engine::Input::Claim {
        command: leased.command,
        attempt: Attempt(2),
        worker: WorkerId::new("b"),
        lease: Duration::from_secs(30),
        after: None,
    };
    let said = plane.control.report(report(&leased, "a", completed(json!(1))));
    let (claimed, reported) = tokio::join!(plane.control.submit(execution, claim), said);
    assert!(matches!(claimed.unwrap(), MailboxAnswer::Refused(_)));
    assert_eq!(reported.unwrap(), ReportAnswer::Accepted);
    plane.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_command_that_every_worker_loses_fails_visibly() {
    let plane = World::new().running();
    let (execution, _) = one_command(&plane).await;
    let mut attempts = vec![1];
    while ended(&plane.control, execution).await.is_none() {
        let leased = lease(&plane.control, "b", 10).await;
        attempts.extend(leased.iter().map(|lease| lease.attempt.0));
    }
    assert_eq!(attempts, [1, 2, 3]);
    let log = log(&plane.control, execution).await;
    let lost = log.iter().find_map(|recorded| match &recorded.event {
        Event::CommandFailed { error, .. } => Some(error.kind),
        _ => None,
    });
    assert_eq!(lost, Some(noetl_model::ErrorKind::WorkerLost));
    plane.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_command_whose_last_worker_lives_is_not_given_up() {
    let plane = World::new().running();
    let (execution, mut leased) = one_command(&plane).await;
    while leased.attempt < Attempt(noetl_engine::ATTEMPTS_MAX) {
        if let Some(next) = lease(&plane.control, "b", 40).await.pop() {
            leased = next;
        }
    }
    // The sweeper has read the lease as expired, but a heartbeat was faster.
    let (command, attempt) = (leased.command, leased.attempt);
    let exhausted = noetl_engine::Input::LeaseExhausted { command, attempt };
    let answer = plane.control.submit(execution, exhausted).await.unwrap();
    assert!(matches!(answer, MailboxAnswer::Refused(_)), "{answer:?}");
    let said = plane.control.report(report(&leased, "b", completed(json!(1)))).await.unwrap();
    assert_eq!(said, ReportAnswer::Accepted);
    plane.stop().await;
}

#[tokio::test(start_paused = true)]
async fn workers_of_one_process_do_not_get_the_same_command() {
    let plane = World::new().running();
    register(
        &plane.control,
        r#"
workflow:
  - step: start
    loop: {in: "{{ range(20) | list }}", iterator: n, spec: {mode: parallel, max_in_flight: 20}}
    tool: {kind: noop}
"#,
    )
    .await;
    start(&plane.control).await;
    let leased = futures::future::join_all((0..4).map(|worker| {
        let (control, worker) = (plane.control.clone(), format!("w{worker}"));
        async move { lease(&control, &worker, 5).await }
    }))
    .await;
    let mut commands: Vec<u64> = leased.iter().flatten().map(|lease| lease.command.0).collect();
    commands.sort_unstable();
    assert_eq!(commands, (0..20).collect::<Vec<u64>>());
    plane.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_waiting_worker_is_woken_by_a_start() {
    let plane = World::new().running();
    register(&plane.control, ONE_STEP).await;
    let waiting = tokio::spawn({
        let control = plane.control.clone();
        async move {
            let begun = Instant::now();
            let leased = lease(&control, "w", 1).await;
            (leased.len(), begun.elapsed())
        }
    });
    tokio::time::sleep(Duration::from_millis(300)).await;
    start(&plane.control).await;
    let (count, waited) = waiting.await.unwrap();
    assert_eq!(count, 1);
    assert!(waited < Duration::from_millis(400), "woken after {waited:?}");
    plane.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_cancellation_reaches_the_workers_that_run_its_commands() {
    let world = World::new();
    let plane = world.running();
    let (execution, leased) = one_command(&plane).await;
    let mut hints = noetl_bus::Bus::subscribe(&*world.bus);
    assert_eq!(plane.control.cancel(execution, "enough").await.unwrap(), MailboxAnswer::Accepted);
    let expected = noetl_bus::Hint::CommandCancelled { execution, command: leased.command };
    while hints.next().await != expected {}
    assert_eq!(
        plane.control.heartbeat(&[held(&leased)]).await.unwrap(),
        [HeartbeatAnswer::Lost(LostReason::Finished)]
    );
    let again = plane.control.cancel(execution, "enough").await.unwrap();
    assert_eq!(
        again,
        MailboxAnswer::Refused(noetl_engine::Refusal::Finished(ExecutionStatus::Cancelled))
    );
    plane.stop().await;
}

const ONCE: &str = "workflow: [{step: start, run: at_most_once, tool: {kind: noop}}]\n";

/// Starts an execution whose step runs at most once, and leases its command to worker `a`.
async fn one_unrepeatable(plane: &Running) -> (ExecutionId, Lease) {
    register(&plane.control, ONCE).await;
    let execution = start(&plane.control).await;
    let leased = lease(&plane.control, "a", 10).await.pop().expect("a command");
    (execution, leased)
}

async fn check_lost_once(plane: &Running, execution: ExecutionId) {
    while ended(&plane.control, execution).await.is_none() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let log = log(&plane.control, execution).await;
    let claims = log.iter().filter(|it| matches!(it.event, Event::CommandClaimed { .. })).count();
    let lost = log.iter().find_map(|recorded| match &recorded.event {
        Event::CommandFailed { error, .. } => Some((error.kind, error.retryable)),
        _ => None,
    });
    assert_eq!((claims, lost), (1, Some((noetl_model::ErrorKind::WorkerLost, false))));
}

#[tokio::test(start_paused = true)]
async fn a_step_that_runs_at_most_once_fails_with_its_worker_although_no_other_asks() {
    let plane = World::new().running();
    let (execution, _) = one_unrepeatable(&plane).await;
    check_lost_once(&plane, execution).await;
    plane.stop().await;
}

/// No worker takes the commands of the other execution, whose leases have expired before.
#[tokio::test(start_paused = true)]
async fn a_step_that_runs_at_most_once_fails_behind_many_expired_leases() {
    let plane = World::new().running();
    let wide = "workflow: [{step: start, tool: {kind: noop},
        loop: {in: 600, iterator: it, spec: {mode: parallel, max_in_flight: 600}}}]\n";
    register(&plane.control, wide).await;
    start(&plane.control).await;
    let mut leased = 0;
    while leased < 600 {
        leased += lease(&plane.control, "a", 100).await.len();
    }
    let (execution, _) = one_unrepeatable(&plane).await;
    check_lost_once(&plane, execution).await;
    plane.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_step_that_runs_at_most_once_is_not_leased_to_a_second_worker() {
    let plane = World::new().running();
    let (execution, _) = one_unrepeatable(&plane).await;
    while ended(&plane.control, execution).await.is_none() {
        assert_eq!(lease(&plane.control, "b", 10).await, []);
    }
    check_lost_once(&plane, execution).await;
    plane.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_step_that_runs_at_most_once_fails_when_its_worker_gives_it_back() {
    let plane = World::new().running();
    let (execution, leased) = one_unrepeatable(&plane).await;
    assert_eq!(plane.control.release(&WorkerId::new("a")).await.expect("an answer"), 1);
    check_lost_once(&plane, execution).await;
    let late = plane.control.report(report(&leased, "a", completed(json!(1)))).await.unwrap();
    assert_eq!(late, ReportAnswer::Superseded);
    plane.stop().await;
}

#[tokio::test(start_paused = true)]
async fn heartbeats_keep_a_step_that_runs_at_most_once() {
    let plane = World::new().running();
    let (execution, leased) = one_unrepeatable(&plane).await;
    for _ in 0..20 {
        tokio::time::sleep(Duration::from_secs(10)).await;
        let answers = plane.control.heartbeat(&[held(&leased)]).await.unwrap();
        assert!(matches!(answers[..], [HeartbeatAnswer::Extended { .. }]), "{answers:?}");
    }
    let said = plane.control.report(report(&leased, "a", completed(json!(1)))).await.unwrap();
    assert_eq!(said, ReportAnswer::Accepted);
    assert!(ended(&plane.control, execution).await.is_some());
    plane.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_named_command_that_runs_at_most_once_is_claimed_once_also_by_its_own_worker() {
    let plane = World::new().running();
    let (execution, leased) = one_unrepeatable(&plane).await;
    for worker in ["a", "b"] {
        let worker = WorkerId::new(worker);
        let again = plane.control.claim_named(execution, leased.command, &worker).await.unwrap();
        assert_eq!(again, crate::ClaimAnswer::Taken);
    }
    plane.stop().await;
}
