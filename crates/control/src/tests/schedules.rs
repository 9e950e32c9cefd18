//! Tests of schedules in simulated time: which executions start, and when.

use std::time::Duration;

use noetl_engine::CATCH_UP_MAX;
use noetl_model::{Event, ExecutionStatus, InstantSkipReason, Payload, ScheduleEvent, Timestamp};
use noetl_store::{Catalog as _, ExecutionFilter, Executions as _, Page, Triggers as _};
use serde_json::json;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::{Running, World, log, register, register_at, work};
use crate::{Control, Fired, ScheduleAction, ScheduleError};

/// One minute; the clock begins at 08:00:00.
const MINUTE: Duration = Duration::from_secs(60);

/// A control plane whose schedule loop runs.
struct Clockwork {
    running: Running,
    stop: CancellationToken,
    looking: JoinHandle<()>,
}

impl Clockwork {
    fn of(world: &World) -> Self {
        let running = world.running();
        let stop = CancellationToken::new();
        let looking = tokio::spawn({
            let (control, stop) = (running.control.clone(), stop.clone());
            async move { control.keep_schedules(stop).await }
        });
        Self { running, stop, looking }
    }

    fn control(&self) -> &Control {
        &self.running.control
    }

    async fn stop(self) {
        self.stop.cancel();
        self.looking.await.expect("it ends in order");
        self.running.stop().await;
    }
}

async fn with_schedule(control: &Control, spec: &str) {
    register(control, "workflow: [{step: start, tool: {kind: noop}}]").await;
    register_schedule(control, spec).await;
}

async fn register_schedule(control: &Control, spec: &str) {
    let document = format!(
        "apiVersion: noetl.io/v1\nkind: Schedule\nmetadata: {{name: s}}\n\
         spec: {{{spec}, dispatch: {{playbook: p, payload: {{name: ada}}}}}}"
    );
    control.register("s.yaml", &document).await.expect("a schedule");
}

/// Returns the start of each execution in seconds after 08:00, oldest first, and its status.
async fn started(world: &World) -> Vec<(u64, ExecutionStatus)> {
    let page = Page { before: None, limit: 1000 };
    let listed = world.store.list(&ExecutionFilter::default(), page).await.expect("a list");
    let begun = Timestamp::from_millis(1_800_000_000_000);
    let mut found: Vec<(u64, ExecutionStatus)> =
        listed.iter().map(|it| (it.started_at.since(begun).as_secs(), it.status)).collect();
    found.sort_unstable_by_key(|(at, _)| *at);
    found
}

async fn instants(world: &World) -> Vec<u64> {
    started(world).await.into_iter().map(|(at, _)| at).collect()
}

/// Returns the tags of the schedule's events, oldest first.
async fn past(world: &World) -> Vec<&'static str> {
    let events = world.store.schedule_events("s", None, 100).await.expect("its events");
    events.iter().rev().map(|record| record.event.tag()).collect()
}

#[tokio::test(start_paused = true)]
async fn each_instant_starts_one_execution_however_many_look_at_the_clock() {
    let world = World::new();
    let (one, other) = (Clockwork::of(&world), Clockwork::of(&world));
    with_schedule(one.control(), "every: 60s").await;
    tokio::time::sleep(MINUTE * 3 + Duration::from_secs(5)).await;
    one.stop().await;
    tokio::time::sleep(MINUTE * 2).await;
    let third = Clockwork::of(&world);
    tokio::time::sleep(MINUTE * 2).await;
    assert_eq!(instants(&world).await, [60, 120, 180, 240, 300, 360, 420]);
    let past = past(&world).await;
    assert_eq!(past[0], "schedule.registered");
    assert_eq!(past[1..], ["schedule.fired"; 7]);
    for clockwork in [other, third] {
        clockwork.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_execution_knows_its_schedule_and_its_instant() {
    let world = World::new();
    let clockwork = Clockwork::of(&world);
    with_schedule(clockwork.control(), "every: 60s").await;
    tokio::time::sleep(MINUTE + Duration::from_secs(1)).await;
    let row = clockwork.control().schedule("s").await.expect("the schedule");
    let last = row.standing.last.expect("it has fired");
    let events = log(clockwork.control(), last.execution).await;
    let Event::ExecutionStarted { workload, .. } = &events[0].event else { panic!("a start") };
    let Payload::Inline(workload) = workload else { panic!("it is small") };
    let instant = "2027-01-15T08:01:00.000000Z";
    let expected = json!({ "name": "ada", "schedule": { "path": "s", "instant": instant } });
    assert_eq!(**workload, expected);
    assert_eq!(last.instant.to_string(), instant);
    clockwork.stop().await;
}

/// Checks the starts if no server runs from 90 s to 305 s after the beginning.
async fn check_catch_up(policy: &str, expected: &[u64]) {
    let world = World::new();
    let clockwork = Clockwork::of(&world);
    with_schedule(clockwork.control(), &format!("every: 60s, catch_up: {policy}")).await;
    tokio::time::sleep(Duration::from_secs(90)).await;
    clockwork.stop().await;
    tokio::time::sleep(Duration::from_secs(215)).await;
    let clockwork = Clockwork::of(&world);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(instants(&world).await, expected, "{policy}");
    clockwork.stop().await;
}

#[tokio::test(start_paused = true)]
async fn missed_instants_are_skipped_or_made_up_for_as_the_schedule_says() {
    // Instants are at 120, 180, 240 and 300; the last one is on time at 305.
    check_catch_up("none", &[60, 305, 360]).await;
    check_catch_up("last", &[60, 305, 360]).await;
    check_catch_up("all", &[60, 305, 305, 305, 305, 360]).await;
}

#[tokio::test(start_paused = true)]
async fn a_long_absence_is_made_up_for_up_to_a_limit() {
    let world = World::new();
    let control = world.control();
    with_schedule(&control, "every: 1s, catch_up: all").await;
    tokio::time::sleep(Duration::from_secs(100_000)).await;
    let clockwork = Clockwork::of(&world);
    tokio::time::sleep(Duration::from_millis(500)).await;
    let started = instants(&world).await.len();
    // Instants of the last minute are on time.
    assert!((CATCH_UP_MAX + 60..=CATCH_UP_MAX + 61).contains(&started), "{started}");
    clockwork.stop().await;
}

/// Returns the executions started without any worker, so that each runs until it is cancelled.
async fn overlapping(policy: &str) -> Vec<(u64, ExecutionStatus)> {
    let world = World::new();
    let (one, other) = (Clockwork::of(&world), Clockwork::of(&world));
    with_schedule(one.control(), &format!("every: 60s, overlap: {policy}")).await;
    tokio::time::sleep(MINUTE * 3 + Duration::from_secs(5)).await;
    let found = started(&world).await;
    one.stop().await;
    other.stop().await;
    found
}

#[tokio::test(start_paused = true)]
async fn an_execution_that_runs_is_joined_left_alone_waited_for_or_cancelled() {
    use ExecutionStatus::{Cancelled, Running};
    assert_eq!(overlapping("allow").await, [(60, Running), (120, Running), (180, Running)]);
    assert_eq!(overlapping("skip").await, [(60, Running)]);
    assert_eq!(overlapping("queue").await, [(60, Running)]);
    assert_eq!(overlapping("cancel").await, [(60, Cancelled), (120, Cancelled), (180, Running)]);
}

#[tokio::test(start_paused = true)]
async fn a_queued_start_follows_soon_after_the_end_of_the_running_one() {
    let world = World::new();
    let clockwork = Clockwork::of(&world);
    let control = clockwork.control();
    with_schedule(control, "every: 60s, overlap: queue, catch_up: none").await;
    tokio::time::sleep(Duration::from_secs(310)).await;
    let running = control.schedule("s").await.expect("it").standing.last.expect("it has fired");
    assert_eq!(work(control, running.execution).await, ExecutionStatus::Completed);
    tokio::time::sleep(Duration::from_secs(5)).await;
    let begun = instants(&world).await;
    assert_eq!((begun[0], begun.len()), (60, 2), "{begun:?}");
    assert!((310..=315).contains(&begun[1]), "{begun:?}");
    let row = control.schedule("s").await.expect("the schedule");
    assert_eq!(
        row.standing.last.map(|it| it.instant.to_string()[11..16].to_owned()),
        Some("08:02".to_owned())
    );
    assert!(row.standing.queued.is_some());
    clockwork.stop().await;
}

#[tokio::test(start_paused = true)]
async fn instants_pass_while_it_is_paused() {
    let world = World::new();
    let clockwork = Clockwork::of(&world);
    let control = clockwork.control();
    with_schedule(control, "every: 60s, catch_up: all").await;
    tokio::time::sleep(Duration::from_secs(70)).await;
    let paused = control.move_schedule("s", ScheduleAction::Pause).await.expect("a pause");
    assert_eq!(paused.next_at, None);
    control.move_schedule("s", ScheduleAction::Pause).await.expect("it is paused");
    tokio::time::sleep(MINUTE * 2).await;
    control.move_schedule("s", ScheduleAction::Resume).await.expect("going on");
    tokio::time::sleep(MINUTE).await;
    assert_eq!(instants(&world).await, [60, 240]);
    let tags = ["registered", "fired", "paused", "resumed", "fired"];
    assert_eq!(past(&world).await, tags.map(|tag| format!("schedule.{tag}")));
    let unknown = control.move_schedule("t", ScheduleAction::Pause).await;
    assert!(matches!(unknown, Err(ScheduleError::Unknown(_))));
    clockwork.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_new_version_counts_from_when_it_is_registered_and_stays_paused() {
    let world = World::new();
    let clockwork = Clockwork::of(&world);
    let control = clockwork.control();
    with_schedule(control, "every: 1h").await;
    tokio::time::sleep(Duration::from_secs(30)).await;
    register_schedule(control, "every: 60s").await;
    register_schedule(control, "every: 60s").await;
    tokio::time::sleep(MINUTE).await;
    assert_eq!(instants(&world).await, [60]);
    control.move_schedule("s", ScheduleAction::Pause).await.expect("a pause");
    register_schedule(control, "every: 30s").await;
    tokio::time::sleep(MINUTE).await;
    assert_eq!(instants(&world).await, [60]);
    let tags = ["registered", "registered", "fired", "paused", "registered"];
    assert_eq!(past(&world).await, tags.map(|tag| format!("schedule.{tag}")));
    let row = control.schedule("s").await.expect("the schedule");
    assert_eq!((row.timing.as_str(), row.next_at), ("every 30s", None));
    clockwork.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_instant_of_an_archived_playbook_passes_until_it_is_restored() {
    let world = World::new();
    let clockwork = Clockwork::of(&world);
    let control = clockwork.control();
    with_schedule(control, "every: 60s").await;
    let now = Timestamp::from_millis(1_800_000_000_000);
    world.store.set_archived("p", Some(now)).await.expect("an answer");
    tokio::time::sleep(Duration::from_secs(65)).await;
    let trouble = control.schedule("s").await.expect("the schedule").standing.trouble;
    let trouble = trouble.expect("a reason");
    assert!(trouble.contains("playbook-archived"), "{trouble}");
    assert!(instants(&world).await.is_empty());
    world.store.set_archived("p", None).await.expect("an answer");
    tokio::time::sleep(MINUTE).await;
    assert_eq!(instants(&world).await, [120]);
    clockwork.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_instant_that_cannot_start_passes_and_the_reason_is_kept() {
    let world = World::new();
    let clockwork = Clockwork::of(&world);
    let control = clockwork.control();
    register_schedule(control, "every: 60s").await;
    tokio::time::sleep(Duration::from_secs(65)).await;
    let trouble = control.schedule("s").await.expect("the schedule").standing.trouble;
    assert_eq!(trouble.as_deref(), Some("there is no playbook p"));
    let events = world.store.schedule_events("s", None, 1).await.expect("its events");
    assert!(
        matches!(
            &events[0].event,
            ScheduleEvent::Passed { reason: InstantSkipReason::Unstartable { .. }, .. }
        ),
        "{events:?}"
    );
    register_at(control, "p", "workflow: [{step: start, tool: {kind: noop}}]").await;
    tokio::time::sleep(MINUTE).await;
    assert_eq!(instants(&world).await, [120]);
    assert_eq!(control.schedule("s").await.expect("the schedule").standing.trouble, None);
    clockwork.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_time_is_made_up_for_once() {
    let world = World::new();
    let control = world.control();
    with_schedule(&control, "every: 1h").await;
    let at = |hour: i64| Timestamp::from_millis(1_800_000_000_000 - hour * 3_600_000);
    let filled = control.backfill("s", at(3), at(1)).await.expect("a backfill");
    assert_eq!(filled.len(), 3);
    assert!(filled.iter().all(|(_, fired)| matches!(fired, Fired::Now(_))));
    let again = control.backfill("s", at(4), at(1)).await.expect("a backfill");
    let started = again.iter().filter(|(_, fired)| matches!(fired, Fired::Now(_)));
    assert_eq!((again.len(), started.count()), (4, 1));
    let too_many = control.backfill("s", at(2000), at(0)).await;
    assert!(matches!(too_many, Err(ScheduleError::TooMany)));
    let ahead = control.backfill("s", at(1), at(-1)).await;
    assert!(matches!(ahead, Err(ScheduleError::Ahead(_))));
    assert_eq!(instants(&world).await.len(), 4);
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_schedules_cost_one_question_until_one_is_due() {
    let world = World::new();
    let clockwork = Clockwork::of(&world);
    let control = clockwork.control();
    register(control, "workflow: [{step: start, tool: {kind: noop}}]").await;
    for number in 0..10_000 {
        let document = format!(
            "apiVersion: noetl.io/v1\nkind: Schedule\nmetadata: {{name: s{number}}}\n\
             spec: {{cron: '{} 9 * * *', dispatch: {{playbook: p}}}}",
            number % 60
        );
        control.register("s.yaml", &document).await.expect("a schedule");
    }
    tokio::time::sleep(MINUTE * 60 + Duration::from_secs(5)).await;
    assert_eq!(control.schedules().await.expect("all of them").len(), 10_000);
    let page = Page { before: None, limit: 1000 };
    let listed = world.store.list(&ExecutionFilter::default(), page).await.expect("a list");
    assert_eq!(listed.len(), 167, "those of 09:00 and no others");
    clockwork.stop().await;
}
