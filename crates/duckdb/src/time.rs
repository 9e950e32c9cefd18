//! Formats DuckDB's dates, times, timestamps and intervals in ISO 8601.

const SECOND: i64 = 1_000_000;

/// Formats days since 1970 as `2024-02-29`, and DuckDB's infinite dates as `infinity` or
/// `-infinity`.
pub(crate) fn date(days: i32) -> String {
    match days {
        i32::MAX => "infinity".into(),
        // Negative infinity is `-i32::MAX`; `i32::MIN` is not used.
        days if days == -i32::MAX => "-infinity".into(),
        days => civil(i64::from(days)),
    }
}

/// Formats units since 1970, `per_second` of them in a second, as `2024-02-29T12:00:00.5`.
pub(crate) fn timestamp(units: i64, per_second: i64) -> String {
    if units == i64::MAX {
        return "infinity".into();
    }
    if units == -i64::MAX {
        return "-infinity".into();
    }
    let per_day = 86_400 * per_second;
    let date = civil(units.div_euclid(per_day));
    format!("{date}T{}", clock(units.rem_euclid(per_day), per_second))
}

/// Formats microseconds since midnight as `12:34:56.789`.
pub(crate) fn time(microseconds: i64) -> String {
    clock(microseconds, SECOND)
}

/// Formats a time with an offset as `12:34:56+02:00`. The upper 40 bits are microseconds since
/// midnight; the lower 24 bits are the offset, counted down from its maximum.
pub(crate) fn time_with_zone(bits: u64) -> String {
    const OFFSET_MAX: i64 = 16 * 3600 - 1;
    let microseconds = i64::try_from(bits >> 24).unwrap_or(i64::MAX);
    let offset = OFFSET_MAX - i64::try_from(bits & 0xff_ffff).unwrap_or(0);
    let (sign, size) = (if offset < 0 { '-' } else { '+' }, offset.abs());
    format!("{}{sign}{:02}:{:02}", time(microseconds), size / 3600, size / 60 % 60)
}

/// Formats an interval as `P1Y2M3DT4H5M6.7S`.
pub(crate) fn interval(months: i32, days: i32, microseconds: i64) -> String {
    let mut text = String::from("P");
    let mut add = |count: i64, unit: char| {
        if count != 0 {
            text.push_str(&format!("{count}{unit}"));
        }
    };
    add(i64::from(months / 12), 'Y');
    add(i64::from(months % 12), 'M');
    add(i64::from(days), 'D');
    if microseconds != 0 {
        text.push('T');
        let (seconds, rest) = (microseconds / SECOND, microseconds % SECOND);
        let sign = if microseconds < 0 { "-" } else { "" };
        for (count, unit) in [(seconds / 3600, 'H'), (seconds / 60 % 60, 'M')] {
            if count != 0 {
                text.push_str(&format!("{count}{unit}"));
            }
        }
        if seconds % 60 != 0 || rest != 0 {
            let fraction = fraction(rest.abs(), SECOND);
            text.push_str(&format!("{sign}{}{fraction}S", (seconds % 60).abs()));
        }
    }
    if text == "P" { "PT0S".into() } else { text }
}

fn clock(units: i64, per_second: i64) -> String {
    let (seconds, rest) = (units / per_second, units % per_second);
    let fraction = fraction(rest, per_second);
    format!("{:02}:{:02}:{:02}{fraction}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// Formats a fraction of a second as `.5`; empty if zero.
fn fraction(rest: i64, per_second: i64) -> String {
    if rest == 0 {
        return String::new();
    }
    let digits = per_second.ilog10() as usize;
    format!(".{rest:0digits$}").trim_end_matches('0').to_owned()
}

/// Formats days since 1970 as a date of the proleptic Gregorian calendar.
fn civil(days: i64) -> String {
    // Counted from 1 March of year 0, so that the leap day is the last day of its year.
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_dates() {
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(19_782), "2024-02-29");
        assert_eq!(date(-719_468), "0000-03-01");
        assert_eq!(date(i32::MAX), "infinity");
    }

    #[test]
    fn times_keep_their_fractions() {
        assert_eq!(timestamp(1_709_208_000_500_000, SECOND), "2024-02-29T12:00:00.5");
        assert_eq!(timestamp(-1, 1_000_000_000), "1969-12-31T23:59:59.999999999");
        assert_eq!(timestamp(i64::MAX, SECOND), "infinity");
        assert_eq!(time(45_296_000_001), "12:34:56.000001");
        assert_eq!(time_with_zone((45_296_000_000 << 24) | (57_599 - 7200)), "12:34:56+02:00");
    }

    #[test]
    fn intervals_keep_their_parts() {
        assert_eq!(interval(14, 3, 14_706_700_000), "P1Y2M3DT4H5M6.7S");
        assert_eq!(interval(0, 0, 0), "PT0S");
        assert_eq!(interval(-1, 0, -500_000), "P-1MT-0.5S");
    }
}
