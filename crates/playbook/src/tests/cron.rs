//! Checks cron expressions against an oracle that steps through time minute by minute.

use std::collections::BTreeSet;

use jiff::civil::DateTime;
use jiff::tz::{TimeZone, TimeZoneDatabase};
use jiff::{Timestamp, ToSpan as _};
use proptest::prelude::*;

use crate::cron::Cron;

/// Zones and times shortly before a clock change: by an hour, by half an hour, at midnight, in a
/// zone with odd minutes, backwards in summer, by a whole day.
const CHANGES: &[(&str, &str)] = &[
    ("Europe/Berlin", "2027-03-27T12:00:00Z"),
    ("Europe/Berlin", "2027-10-30T12:00:00Z"),
    ("America/New_York", "2027-03-13T12:00:00Z"),
    ("America/New_York", "2027-11-06T12:00:00Z"),
    ("Australia/Lord_Howe", "2027-04-03T00:00:00Z"),
    ("Australia/Lord_Howe", "2027-10-02T00:00:00Z"),
    ("America/Santiago", "2026-09-05T12:00:00Z"),
    ("America/Santiago", "2027-04-03T12:00:00Z"),
    ("Africa/Casablanca", "2027-02-06T12:00:00Z"),
    ("Asia/Kathmandu", "2027-05-01T00:00:00Z"),
    ("Pacific/Apia", "2011-12-29T00:00:00Z"),
    ("UTC", "2027-02-27T00:00:00Z"),
];
/// The number of minutes checked after each start.
const MINUTES: i64 = 3 * 24 * 60;

/// Returns the values of a field, computed in the simplest way.
fn values(field: &str, min: i8, max: i8) -> BTreeSet<i8> {
    let mut found = BTreeSet::new();
    for part in field.split(',') {
        let (range, step) = part.split_once('/').unwrap_or((part, "1"));
        let step: usize = step.parse().expect("a step");
        let (first, last) = match range.split_once('-') {
            Some((first, last)) => {
                (first.parse().expect("a number"), last.parse().expect("a number"))
            }
            None if range == "*" => (min, max),
            None => (range.parse().expect("a number"), range.parse().expect("a number")),
        };
        found.extend((first..=last).step_by(step));
    }
    found
}

/// A parsed expression.
struct Meant {
    fields: Vec<String>,
}

impl Meant {
    fn has(&self, time: DateTime) -> bool {
        let field =
            |place: usize, min, max, value| values(&self.fields[place], min, max).contains(&value);
        let day = field(2, 1, 31, time.day());
        let weekday = field(4, 0, 6, time.weekday().to_sunday_zero_offset());
        let either = self.fields[2] != "*" && self.fields[4] != "*";
        let is_day = if either { day || weekday } else { day && weekday };
        field(0, 0, 59, time.minute())
            && field(1, 0, 23, time.hour())
            && is_day
            && field(3, 1, 12, time.month())
    }
}

/// Returns the instants of an expression by testing every minute. A local time counts the first
/// time the clocks show it, and a skipped one at the clock change; with `*` for the hour, every
/// local time shown counts.
fn oracle(expression: &str, zone: &TimeZone, from: Timestamp) -> Vec<Timestamp> {
    let meant = Meant { fields: expression.split(' ').map(str::to_owned).collect() };
    let follows_hours = meant.fields[1] == "*";
    let local = |instant: Timestamp| zone.to_datetime(instant);
    // Local times shown on the day before count as seen.
    let mut seen: BTreeSet<DateTime> =
        (-24 * 60..=0).map(|minute| local(from + minute.minutes())).collect();
    let mut shown = local(from);
    let mut found = Vec::new();
    for minute in 1..=MINUTES {
        let instant = from + minute.minutes();
        let time = local(instant);
        let mut is_meant = meant.has(time) && (follows_hours || !seen.contains(&time));
        let mut skipped = shown + 1.minute();
        while !follows_hours && skipped < time {
            is_meant |= meant.has(skipped) && !seen.contains(&skipped);
            seen.insert(skipped);
            skipped += 1.minute();
        }
        seen.insert(time);
        shown = time;
        if is_meant {
            found.push(instant);
        }
    }
    found
}

#[track_caller]
fn check(expression: &str, zone: &str, from: &str) {
    let cron = Cron::parse(expression).expect("an expression");
    let tz = TimeZoneDatabase::bundled().get(zone).expect("a zone");
    let from: Timestamp = from.parse().expect("an instant");
    let until = from + MINUTES.minutes();
    let mut found = Vec::new();
    let mut reached = from;
    while let Some(next) = cron.next_after(reached, &tz).filter(|next| *next <= until) {
        assert!(next > reached, "{expression} in {zone} goes on after {reached}");
        found.push(next);
        reached = next;
    }
    assert_eq!(found, oracle(expression, &tz, from), "{expression} in {zone} from {from}");
}

#[test]
fn usual_expressions_wherever_clocks_are_moved() {
    let usual = [
        "* * * * *",
        "30 * * * *",
        "0 0 * * *",
        "30 2 * * *",
        "0 2,3 * * *",
        "*/20 1-3 * * *",
        "0 */2 * * *",
        "15,45 0 * * 0",
        "59 23 * * *",
        "0 3 * * 1-5",
    ];
    for (zone, from) in CHANGES {
        for expression in usual {
            check(expression, zone, from);
        }
    }
}

fn field(min: i8, max: i8) -> impl Strategy<Value = String> {
    let value = min..=max;
    let part = prop_oneof![
        4 => value.clone().prop_map(|value| value.to_string()),
        2 => (value.clone(), value).prop_map(|(one, other)| {
            format!("{}-{}", one.min(other), one.max(other))
        }),
        1 => (2i8..=(max / 2).max(2)).prop_map(|step| format!("*/{step}")),
    ];
    prop_oneof![
        2 => Just("*".to_owned()),
        3 => proptest::collection::vec(part, 1..3).prop_map(|parts| parts.join(",")),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_expression_wherever_clocks_are_moved(
        minute in field(0, 59),
        hour in field(0, 23),
        day in field(1, 28),
        weekday in field(0, 6),
        change in 0..CHANGES.len(),
    ) {
        let (zone, from) = CHANGES[change];
        check(&format!("{minute} {hour} {day} * {weekday}"), zone, from);
    }
}
