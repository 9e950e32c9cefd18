//! Parses cron expressions and finds their instants in a time zone.
//!
//! If clocks go forward, a local time that does not exist fires at the moment of the change; if
//! they go back, a local time that exists twice fires the first time. An expression with `*` for
//! the hour follows elapsed hours instead: none is skipped, and a repeated hour counts twice.

use jiff::civil::{Date, DateTime};
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{Timestamp, ToSpan as _};

/// The most days searched for the next instant: the longest gap between two 29 Februaries.
const DAYS_MAX: i32 = 8 * 366;
/// The largest clock change in hours; local times further apart than this order like instants.
const SHIFT_HOURS_MAX: i64 = 3;

/// The values allowed by a field, as bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Field {
    bits: u64,
    /// True if the field is `*`.
    is_free: bool,
}

impl Field {
    fn has(self, value: i8) -> bool {
        u32::try_from(value).is_ok_and(|value| value < 64 && self.bits & (1 << value) != 0)
    }
}

/// A cron expression of five fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cron {
    text: String,
    minutes: Field,
    hours: Field,
    days: Field,
    /// True if the day is `L`: the last day of a month.
    is_last_day: bool,
    months: Field,
    /// Days of the week; Sunday is 0.
    weekdays: Field,
}

/// The range of values and the names of a field.
struct FieldRange {
    title: &'static str,
    min: u8,
    max: u8,
    names: &'static [&'static str],
}

const MINUTES: &FieldRange = &FieldRange { title: "minute", min: 0, max: 59, names: &[] };
const HOURS: &FieldRange = &FieldRange { title: "hour", min: 0, max: 23, names: &[] };
const DAYS: &FieldRange = &FieldRange { title: "day of the month", min: 1, max: 31, names: &[] };
const MONTHS: &FieldRange = &FieldRange {
    title: "month",
    min: 1,
    max: 12,
    names: &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
};
/// Days of the week; Sunday is 0 and 7.
const WEEKDAYS: &FieldRange = &FieldRange {
    title: "day of the week",
    min: 0,
    max: 7,
    names: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
};

/// Names for common expressions.
const WORDS: &[(&str, &str)] = &[
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

impl Cron {
    /// Parses an expression; fails with a message if it is invalid.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let word = WORDS.iter().find(|(word, _)| word.eq_ignore_ascii_case(text));
        let fields: Vec<&str> = word.map_or(text, |(_, meant)| meant).split_whitespace().collect();
        let [minutes, hours, days, months, weekdays] = fields[..] else {
            let count = fields.len();
            return Err(format!(
                "it needs 5 fields (minute, hour, day, month, day of the week), this has {count}"
            ));
        };
        let is_last_day = days.eq_ignore_ascii_case("l");
        let cron = Self {
            text: fields_as_written(text),
            minutes: field(minutes, MINUTES)?,
            hours: field(hours, HOURS)?,
            days: if is_last_day { Field { bits: 0, is_free: false } } else { field(days, DAYS)? },
            is_last_day,
            months: field(months, MONTHS)?,
            weekdays: sunday_once(field(weekdays, WEEKDAYS)?),
        };
        match cron.next_after(Timestamp::UNIX_EPOCH, &TimeZone::UTC) {
            Some(_) => Ok(cron),
            None => Err("there is no such day".to_owned()),
        }
    }

    /// Returns the expression as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the first instant after `after`.
    pub(crate) fn next_after(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let local = after.to_zoned(zone.clone()).datetime();
        // A local time that exists twice may belong to the previous day.
        let mut day = local.date().yesterday().ok()?;
        for _ in 0..DAYS_MAX {
            if self.has_day(day)
                && let Some(found) = self.next_of(day, after, local, zone)
            {
                return Some(found);
            }
            day = day.tomorrow().ok()?;
        }
        None
    }

    fn has_day(&self, day: Date) -> bool {
        let in_month = self.days.has(day.day()) || (self.is_last_day && is_last(day));
        let in_week = self.weekdays.has(day.weekday().to_sunday_zero_offset());
        // If both day fields are restricted, a match of either is enough, as in cron.
        let is_meant = match (self.days.is_free, self.weekdays.is_free) {
            (false, false) => in_month || in_week,
            (true, _) | (_, true) => in_month && in_week,
        };
        is_meant && self.months.has(day.month())
    }

    /// Returns the first instant of `day` that is after `after`.
    fn next_of(
        &self,
        day: Date,
        after: Timestamp,
        local: DateTime,
        zone: &TimeZone,
    ) -> Option<Timestamp> {
        let shift = SHIFT_HOURS_MAX.hours();
        let earliest = local.saturating_sub(shift);
        let mut best: Option<(Timestamp, DateTime)> = None;
        for hour in (0..24).filter(|hour| self.hours.has(*hour)) {
            for minute in (0..60).filter(|minute| self.minutes.has(*minute)) {
                let time = day.at(hour, minute, 0, 0);
                if time < earliest {
                    continue;
                }
                if best.is_some_and(|(_, at)| time > at.saturating_add(shift)) {
                    return best.map(|(instant, _)| instant);
                }
                for instant in self.instants(time, zone).into_iter().flatten() {
                    if instant > after && best.is_none_or(|(known, _)| instant < known) {
                        best = Some((instant, time));
                    }
                }
            }
        }
        best.map(|(instant, _)| instant)
    }

    /// Returns the instants of a local time: one, two, or the moment of the clock change that skips
    /// it.
    fn instants(&self, time: DateTime, zone: &TimeZone) -> [Option<Timestamp>; 2] {
        let follows_hours = self.hours.is_free;
        match zone.to_ambiguous_timestamp(time).offset() {
            AmbiguousOffset::Unambiguous { offset } => [offset.to_timestamp(time).ok(), None],
            AmbiguousOffset::Fold { before, after } => {
                let second = follows_hours.then(|| after.to_timestamp(time).ok()).flatten();
                [before.to_timestamp(time).ok(), second]
            }
            AmbiguousOffset::Gap { .. } if follows_hours => [None, None],
            AmbiguousOffset::Gap { before, .. } => [jump(time, before, zone), None],
        }
    }
}

/// Returns the moment of the clock change that skips a local time.
fn jump(time: DateTime, before: jiff::tz::Offset, zone: &TimeZone) -> Option<Timestamp> {
    let beyond = before.to_timestamp(time).ok()?.checked_add(1.nanosecond()).ok()?;
    zone.preceding(beyond).next().map(|jump| jump.timestamp())
}

/// Normalises the blanks between fields.
fn fields_as_written(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn is_last(day: Date) -> bool {
    day.day() == day.days_in_month()
}

/// Maps Sunday written as 7 to 0.
fn sunday_once(field: Field) -> Field {
    let is_sunday = field.bits & (1 | 1 << 7) != 0;
    Field { bits: (field.bits & 0x7e) | u64::from(is_sunday), ..field }
}

fn field(text: &str, shape: &FieldRange) -> Result<Field, String> {
    let mut bits = 0;
    for part in text.split(',') {
        bits |= part_bits(part, shape)?;
    }
    Ok(Field { bits, is_free: text == "*" })
}

/// Parses one part of a field: `*`, `5`, `mon`, `1-5`, `*/15`, `10-50/20`.
fn part_bits(part: &str, shape: &FieldRange) -> Result<u64, String> {
    let FieldRange { title, min, max, .. } = shape;
    let unknown = || format!("`{part}` is no {title} from {min} to {max}");
    let (range, step) = match part.split_once('/') {
        Some((range, step)) => (range, step.parse::<u8>().ok().filter(|it| *it > 0)),
        None => (part, Some(1)),
    };
    let step = step.ok_or_else(unknown)?;
    let (first, last) = if range == "*" {
        (*min, *max)
    } else if let Some((first, last)) = range.split_once('-') {
        let (first, last) = (value(first, shape), value(last, shape));
        let (first, last) = (first.ok_or_else(unknown)?, last.ok_or_else(unknown)?);
        // In a range such as `fri-sun`, Sunday is 7.
        (first, if last == 0 && first > 0 { *max } else { last })
    } else {
        let first = value(range, shape).ok_or_else(unknown)?;
        // `5/10` means from 5 to the maximum.
        (first, if part.contains('/') { *max } else { first })
    };
    if first > last {
        return Err(format!("`{part}` goes backwards"));
    }
    Ok((first..=last).step_by(step.into()).fold(0, |bits, value| bits | 1 << value))
}

fn value(text: &str, shape: &FieldRange) -> Option<u8> {
    let named = shape.names.iter().position(|name| name.eq_ignore_ascii_case(text));
    let value = match named {
        Some(place) => u8::try_from(place).ok()? + shape.min,
        None => text.parse().ok()?,
    };
    (shape.min..=shape.max).contains(&value).then_some(value)
}
