//! Documents of `kind: Schedule` and their instants.

use expect_test::{Expect, expect};
use noetl_model::Timestamp;

use crate::{CheckedDocument, Schedule, parse_document};

fn document(spec: &str) -> Result<Schedule, String> {
    let yaml = format!(
        "apiVersion: noetl.io/v1\nkind: Schedule\nmetadata: {{name: s, path: schedules/s}}\nspec:\n{spec}"
    );
    match parse_document("s.yaml", yaml.as_bytes()) {
        Ok(CheckedDocument::Schedule(checked)) => Ok(checked.schedule),
        Ok(
            CheckedDocument::Playbook(_)
            | CheckedDocument::Subscription(_)
            | CheckedDocument::Notification(_),
        ) => panic!("it is a schedule"),
        Err(problems) => Err(problems.to_string()),
    }
}

fn schedule(when: &str) -> Schedule {
    document(&format!("  {{{when}, dispatch: {{playbook: p}}}}")).expect("a schedule")
}

fn at(text: &str) -> Timestamp {
    text.parse().expect("an instant")
}

/// Checks the instants of a schedule after a time, to the minute.
#[track_caller]
fn check(when: &str, after: &str, expected: &[&str]) {
    let (schedule, mut reached) = (schedule(when), at(after));
    let mut found = Vec::new();
    while found.len() < expected.len()
        && let Some(next) = schedule.next_after(reached)
    {
        found.push(next.to_string().replace(":00.000000Z", "Z"));
        reached = next;
    }
    assert_eq!(found, expected, "{when}");
}

#[test]
fn fields_are_lists_ranges_and_steps() {
    check(
        "cron: '*/20 8-9 * * *'",
        "2026-11-15T08:30:00Z",
        &[
            "2026-11-15T08:40Z",
            "2026-11-15T09:00Z",
            "2026-11-15T09:20Z",
            "2026-11-15T09:40Z",
            "2026-11-16T08:00Z",
        ],
    );
    check("cron: '0 12 * * mon-fri'", "2026-11-13T12:00:00Z", &["2026-11-16T12:00Z"]);
    check("cron: '0 0 * jan,jul sun'", "2026-11-13T12:00:00Z", &["2027-01-03T00:00Z"]);
    check("cron: '@monthly'", "2026-11-13T12:00:00Z", &["2026-12-01T00:00Z", "2027-01-01T00:00Z"]);
}

#[test]
fn labels_of_executions_are_read_and_checked() {
    let labels = |labels: &str| {
        let spec = format!("  {{every: 1h, dispatch: {{playbook: p, labels: {labels}}}}}");
        let read = document(&spec).map(|it| it.labels.iter().map(ToString::to_string).collect());
        read.unwrap_or_else(|problem: String| vec![problem])
    };
    assert_eq!(labels("{team: ops, tier: 2, empty: null}"), ["team:ops", "tier:2"]);
    let [problem] = <[String; 1]>::try_from(labels("{team: [a]}")).expect("one problem");
    assert!(problem.contains("label `team`"), "{problem}");
}

#[test]
fn a_day_of_the_month_and_one_of_the_week_are_either() {
    check(
        "cron: '0 0 13 * fri'",
        "2026-11-01T00:00:00Z",
        &[
            "2026-11-06T00:00Z",
            "2026-11-13T00:00Z",
            "2026-11-20T00:00Z",
            "2026-11-27T00:00Z",
            "2026-12-04T00:00Z",
            "2026-12-11T00:00Z",
            "2026-12-13T00:00Z",
        ],
    );
}

#[test]
fn months_that_lack_a_day_are_left_out_and_the_last_day_is_always_there() {
    check(
        "cron: '0 0 31 * *'",
        "2027-01-31T00:00:00Z",
        &["2027-03-31T00:00Z", "2027-05-31T00:00Z"],
    );
    check("cron: '0 0 L * *'", "2027-01-31T00:00:00Z", &["2027-02-28T00:00Z", "2027-03-31T00:00Z"]);
}

#[test]
fn a_leap_day_is_waited_for_even_over_a_century_without_one() {
    check(
        "cron: '0 0 29 2 *'",
        "2026-01-01T00:00:00Z",
        &["2028-02-29T00:00Z", "2032-02-29T00:00Z"],
    );
    check("cron: '0 0 29 2 *'", "2096-03-01T00:00:00Z", &["2104-02-29T00:00Z"]);
}

#[test]
fn a_time_that_clocks_jump_over_is_taken_when_they_jump() {
    let berlin = "cron: '30 2 * * *', timezone: Europe/Berlin";
    check(
        berlin,
        "2027-03-27T00:00:00Z",
        &["2027-03-27T01:30Z", "2027-03-28T01:00Z", "2027-03-29T00:30Z"],
    );
    let new_york = "cron: '0,30 2 * * *', timezone: America/New_York";
    check(
        new_york,
        "2027-03-14T00:00:00Z",
        &["2027-03-14T07:00Z", "2027-03-15T06:00Z", "2027-03-15T06:30Z"],
    );
}

#[test]
fn a_time_that_exists_twice_is_taken_once() {
    let berlin = "cron: '30 2 * * *', timezone: Europe/Berlin";
    check(berlin, "2027-10-30T12:00:00Z", &["2027-10-31T00:30Z", "2027-11-01T01:30Z"]);
    let new_york = "cron: '30 1 * * *', timezone: America/New_York";
    check(new_york, "2027-11-07T00:00:00Z", &["2027-11-07T05:30Z", "2027-11-08T06:30Z"]);
}

#[test]
fn an_hourly_schedule_follows_the_real_hours_across_clock_changes() {
    let berlin = "cron: '30 * * * *', timezone: Europe/Berlin";
    check(berlin, "2027-03-28T00:00:00Z", &["2027-03-28T00:30Z", "2027-03-28T01:30Z"]);
    check(
        berlin,
        "2027-10-31T00:00:00Z",
        &["2027-10-31T00:30Z", "2027-10-31T01:30Z", "2027-10-31T02:30Z"],
    );
}

#[test]
fn every_and_at_mean_the_same_everywhere() {
    check("every: 15m", "2026-11-15T08:31:00Z", &["2026-11-15T08:45Z", "2026-11-15T09:00Z"]);
    check("at: '2026-12-24T18:00:00Z'", "2026-11-15T08:31:00Z", &["2026-12-24T18:00Z"]);
    assert_eq!(schedule("at: '2026-12-24T18:00:00Z'").next_after(at("2026-12-24T18:00:00Z")), None);
}

#[test]
fn the_latest_instants_are_found_without_counting_from_the_beginning() {
    let schedule = schedule("cron: '* * * * *'");
    let found = schedule.latest(at("2020-01-01T00:00:00Z"), at("2026-11-15T08:31:30Z"), 2);
    assert_eq!(found, [at("2026-11-15T08:30:00Z"), at("2026-11-15T08:31:00Z")]);
    let found = schedule.latest(at("2026-11-15T08:30:00Z"), at("2026-11-15T08:31:30Z"), 9);
    assert_eq!(found, [at("2026-11-15T08:31:00Z")]);
}

#[test]
fn jitter_is_the_same_for_an_instant_and_differs_among_them() {
    let schedule = schedule("every: 1h, jitter: 10m");
    let starts = |text| schedule.starts_at(at(text));
    let (one, other) = (at("2026-11-15T08:00:00Z"), at("2026-11-15T09:00:00Z"));
    assert_eq!(starts("2026-11-15T08:00:00Z"), starts("2026-11-15T08:00:00Z"));
    assert!(starts("2026-11-15T08:00:00Z").since(one).as_secs() < 600);
    let late = |instant| schedule.starts_at(instant).since(instant);
    assert_ne!(late(one), late(other));
}

#[track_caller]
fn refused(spec: &str, expected: Expect) {
    let said = document(spec).expect_err("problems");
    let heads = said.lines().filter(|line| line.starts_with("error") || line.starts_with("warn"));
    expected.assert_eq(&heads.map(|line| format!("{line}\n")).collect::<String>());
}

#[test]
fn all_problems_are_found_at_once() {
    refused(
        "  {cron: '61 * * * *', timezone: Europe/Berln, overlap: both, catch_up: some, dispatch: {}}",
        expect![[r#"
            error[bad-value]: `cron` cannot be `61 * * * *`: `61` is no minute from 0 to 59
            error[unknown-word]: there is no time zone `Europe/Berln`
            error[unknown-word]: `overlap` cannot be `both`
            error[unknown-word]: `catch_up` cannot be `some`
            error[missing-key]: `dispatch` needs `playbook`
        "#]],
    );
    refused(
        "  {every: 5m, at: x, dispatch: {playbook: p}}",
        expect![[r#"
        error[missing-key]: a schedule needs one of `cron`, `every` and `at`
    "#]],
    );
    refused(
        "  {cron: '0 0 30 2 *', dispatch: {playbook: p}}",
        expect![[r#"
        error[bad-value]: `cron` cannot be `0 0 30 2 *`: there is no such day
    "#]],
    );
    refused(
        "  {every: 100ms, timezone: UTC, dispatch: {playbook: p}}",
        expect![[r#"
        error[out-of-range]: `every` must be a second at least
        error[bad-value]: `timezone` is for `cron`; other instants are the same everywhere
    "#]],
    );
}
