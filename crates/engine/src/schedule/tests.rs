//! Tests of the actions of schedules over time.

use expect_test::{Expect, expect};
use noetl_model::CatalogId;
use noetl_playbook::{CheckedDocument, parse_document};

use super::*;

const STEPS_MAX: usize = 300;

fn schedule(spec: &str) -> Schedule {
    let yaml = format!(
        "apiVersion: noetl.io/v1\nkind: Schedule\nmetadata: {{name: s}}\n\
         spec: {{{spec}, dispatch: {{playbook: p}}}}"
    );
    match parse_document("s.yaml", yaml.as_bytes()) {
        Ok(CheckedDocument::Schedule(checked)) => checked.schedule,
        Ok(
            CheckedDocument::Playbook(_)
            | CheckedDocument::Subscription(_)
            | CheckedDocument::Notification(_),
        ) => {
            panic!("it is a schedule")
        }
        Err(problems) => panic!("{problems}"),
    }
}

/// Returns a time of one fixed day.
fn at(clock: &str) -> Timestamp {
    format!("2027-01-15T{clock}Z").parse().expect("a time of the day")
}

fn clock(at: Timestamp) -> String {
    at.to_string()[11..19].to_owned()
}

/// One check of a schedule.
enum Look {
    /// No execution of the schedule is running.
    Idle,
    /// The execution started last is still running.
    Running,
    Pause,
    Resume,
}

/// Checks the actions of a schedule registered at 08:00:00 and checked at the given times.
#[track_caller]
fn check(spec: &str, looks: &[(&str, Look)], expected: Expect) {
    let document = schedule(spec);
    let begun = ScheduleEvent::Registered { catalog_id: CatalogId(1) };
    let mut standing = evolve_schedule(None, &begun, at("08:00:00")).expect("a beginning");
    let mut told = String::new();
    for (moment, look) in looks {
        let now = at(moment);
        let mut apply = |event: ScheduleEvent| {
            standing = evolve_schedule(Some(standing.clone()), &event, now).expect("it may happen");
        };
        let mut is_running = match look {
            Look::Pause => {
                apply(ScheduleEvent::Paused);
                continue;
            }
            Look::Resume => {
                apply(ScheduleEvent::Resumed);
                continue;
            }
            Look::Idle => false,
            Look::Running => true,
        };
        for steps in 0.. {
            assert!(steps < STEPS_MAX, "it never rests:\n{told}");
            let running = standing.last.map(|last| last.execution).filter(|_| is_running);
            let event = match schedule_step(&document, &standing, running, now) {
                ScheduleStep::Rest => break,
                ScheduleStep::Note(event) => event,
                ScheduleStep::Fire { instant, cancels } => {
                    let cancels = if cancels.is_some() { ", cancels" } else { "" };
                    told += &format!("{moment} fires {}{cancels}\n", clock(instant));
                    let execution = ExecutionId(instant.as_micros());
                    is_running = matches!(look, Look::Running);
                    ScheduleEvent::Fired { instant, execution }
                }
            };
            match &event {
                ScheduleEvent::Queued { instant } => {
                    told += &format!("{moment} queues {}\n", clock(*instant));
                }
                ScheduleEvent::Passed { until, reason } => {
                    told += &format!("{moment} passes up to {}: {reason:?}\n", clock(*until));
                }
                _ => {}
            }
            standing = evolve_schedule(Some(standing), &event, now).expect("it may happen");
        }
    }
    expected.assert_eq(&told);
}

#[test]
fn instants_fire_when_they_have_come_and_not_before() {
    check(
        "every: 1m",
        &[("08:00:00", Look::Idle), ("08:00:59", Look::Idle), ("08:01:00", Look::Idle)],
        expect![[r#"
            08:01:00 fires 08:01:00
        "#]],
    );
}

#[test]
fn one_that_is_a_little_late_is_on_time_whatever_the_policy() {
    check(
        "every: 1m, catch_up: none",
        &[("08:02:30", Look::Idle)],
        expect![[r#"
            08:02:30 passes up to 08:01:00: Missed
            08:02:30 fires 08:02:00
        "#]],
    );
}

#[test]
fn missed_instants_are_skipped_without_catch_up() {
    check(
        "every: 1h, catch_up: none",
        &[("11:30:00", Look::Idle), ("12:00:00", Look::Idle)],
        expect![[r#"
            11:30:00 passes up to 11:00:00: Missed
            12:00:00 fires 12:00:00
        "#]],
    );
}

#[test]
fn the_latest_is_made_up_for_unless_the_next_has_come() {
    check(
        "every: 1h, catch_up: last",
        &[("11:30:00", Look::Idle), ("14:00:10", Look::Idle)],
        expect![[r#"
            11:30:00 passes up to 10:00:00: Missed
            11:30:00 fires 11:00:00
            14:00:10 passes up to 13:00:00: Missed
            14:00:10 fires 14:00:00
        "#]],
    );
}

#[test]
fn all_are_made_up_for_in_order() {
    check(
        "every: 1h, catch_up: all",
        &[("11:30:00", Look::Idle)],
        expect![[r#"
            11:30:00 fires 09:00:00
            11:30:00 fires 10:00:00
            11:30:00 fires 11:00:00
        "#]],
    );
}

#[test]
fn all_are_a_hundred_at_most() {
    let document = schedule("every: 1s, catch_up: all");
    let begun = ScheduleEvent::Registered { catalog_id: CatalogId(1) };
    let standing = evolve_schedule(None, &begun, at("08:00:00")).expect("a beginning");
    let step = schedule_step(&document, &standing, None, at("09:00:00"));
    let ScheduleStep::Note(ScheduleEvent::Passed { until, .. }) = step else { panic!("{step:?}") };
    assert_eq!(clock(until), "08:57:19", "the hundred before a minute ago are left");
}

#[test]
fn an_execution_under_way_is_joined_passed_over_or_cancelled() {
    let looks = [("08:01:00", Look::Idle), ("08:02:00", Look::Running), ("08:03:00", Look::Idle)];
    check(
        "every: 1m, overlap: allow",
        &looks,
        expect![[r#"
            08:01:00 fires 08:01:00
            08:02:00 fires 08:02:00
            08:03:00 fires 08:03:00
        "#]],
    );
    check(
        "every: 1m, overlap: skip",
        &looks,
        expect![[r#"
            08:01:00 fires 08:01:00
            08:02:00 passes up to 08:02:00: Overlap
            08:03:00 fires 08:03:00
        "#]],
    );
    check(
        "every: 1m, overlap: cancel",
        &looks,
        expect![[r#"
            08:01:00 fires 08:01:00
            08:02:00 fires 08:02:00, cancels
            08:03:00 fires 08:03:00
        "#]],
    );
}

#[test]
fn instants_wait_for_an_execution_under_way_and_then_run_in_order() {
    check(
        "every: 1m, overlap: queue, catch_up: none",
        &[
            ("08:01:00", Look::Idle),
            ("08:02:00", Look::Running),
            ("08:03:00", Look::Running),
            ("08:03:30", Look::Running),
            // Queued instants are fired late; waiting does not count as missed.
            ("08:03:50", Look::Idle),
            ("08:04:00", Look::Running),
            ("08:04:10", Look::Idle),
        ],
        expect![[r#"
            08:01:00 fires 08:01:00
            08:02:00 queues 08:02:00
            08:03:00 queues 08:03:00
            08:03:50 fires 08:02:00
            08:03:50 fires 08:03:00
            08:04:00 queues 08:04:00
            08:04:10 fires 08:04:00
        "#]],
    );
}

#[test]
fn a_hundred_wait_and_the_oldest_pass() {
    let document = schedule("every: 1s, overlap: queue");
    let begun = ScheduleEvent::Registered { catalog_id: CatalogId(1) };
    let standing = evolve_schedule(None, &begun, at("08:00:00")).expect("a beginning");
    let full = ScheduleStatus { queued: Some(at("08:01:40")), ..standing };
    let step = schedule_step(&document, &full, Some(ExecutionId(1)), at("08:01:41"));
    assert_eq!(step, pass(at("08:00:01"), InstantSkipReason::Overlap));
}

#[test]
fn instants_pass_while_it_is_paused() {
    check(
        "every: 1m, catch_up: all",
        &[
            ("08:01:00", Look::Idle),
            ("08:01:30", Look::Pause),
            ("08:02:00", Look::Idle),
            ("08:30:00", Look::Resume),
            ("08:30:00", Look::Idle),
            ("08:31:00", Look::Idle),
        ],
        expect![[r#"
            08:01:00 fires 08:01:00
            08:31:00 fires 08:31:00
        "#]],
    );
}

#[test]
fn a_one_off_fires_once_and_late_rather_than_never() {
    check(
        "at: '2027-01-15T09:00:00Z'",
        &[("08:59:59", Look::Idle), ("12:00:00", Look::Idle), ("13:00:00", Look::Idle)],
        expect![[r#"
            12:00:00 fires 09:00:00
        "#]],
    );
}

#[test]
fn a_firing_that_is_written_down_late_takes_nothing_back() {
    let begun = ScheduleEvent::Registered { catalog_id: CatalogId(1) };
    let fold = |events: &[ScheduleEvent]| {
        let begin = evolve_schedule(None, &begun, at("08:00:00"));
        events.iter().fold(begin, |so_far, event| evolve_schedule(so_far, event, at("09:00:00")))
    };
    let fired = |time: &str, execution: i64| ScheduleEvent::Fired {
        instant: at(time),
        execution: ExecutionId(execution),
    };
    let standing = fold(&[fired("08:02:00", 2), fired("08:01:00", 1)]).expect("a standing");
    assert_eq!(standing.reached, at("08:02:00"));
    assert_eq!(standing.last.map(|last| last.execution), Some(ExecutionId(2)));
}

#[test]
fn events_of_an_unregistered_schedule_are_ignored() {
    assert_eq!(evolve_schedule(None, &ScheduleEvent::Paused, at("08:00:00")), None);
}

#[test]
fn jitter_is_waited_out_before_an_instant_counts_as_missed() {
    let document = schedule("every: 1h, jitter: 30m, catch_up: none");
    let begun = ScheduleEvent::Registered { catalog_id: CatalogId(1) };
    let standing = evolve_schedule(None, &begun, at("08:00:00")).expect("a beginning");
    let instant = at("09:00:00");
    let starts_at = document.starts_at(instant);
    assert_eq!(next_start(&document, &standing), Some(starts_at));
    assert_eq!(schedule_step(&document, &standing, None, instant), ScheduleStep::Rest);
    let fire = ScheduleStep::Fire { instant, cancels: None };
    assert_eq!(schedule_step(&document, &standing, None, starts_at), fire);
    assert_eq!(schedule_step(&document, &standing, None, at("09:31:00")), fire);
}
