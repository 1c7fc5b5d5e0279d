//! Dates for chat templates: the part of `strftime` that they use, in UTC.

use std::time::{SystemTime, UNIX_EPOCH};

const MONTHS: [&str; 12] =
    ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"];

const DAYS: [&str; 7] = ["Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday"];

/// Writes the time `at` as `format` says. An error names the directive that is not known.
pub(super) fn format(format: &str, at: SystemTime) -> Result<String, String> {
    let seconds = at.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let month_name = MONTHS[month as usize - 1];
    // 1 January 1970 was a Thursday.
    let day_name = DAYS[(days % 7) as usize];

    let mut text = String::new();
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            text.push(c);
            continue;
        }
        let mut directive = chars.next();
        let padded = directive != Some('-');
        if !padded {
            directive = chars.next();
        }
        let two = |number: u64| {
            if padded { format!("{number:02}") } else { number.to_string() }
        };
        text.push_str(&match directive {
            Some('Y') => year.to_string(),
            Some('y') => two(year % 100),
            Some('m') => two(month),
            Some('d') => two(day),
            Some('H') => two(hour),
            Some('I') => two((hour + 11) % 12 + 1),
            Some('M') => two(minute),
            Some('S') => two(second),
            Some('p') => if hour < 12 { "AM" } else { "PM" }.to_owned(),
            Some('B') => month_name.to_owned(),
            Some('b') => month_name[..3].to_owned(),
            Some('A') => day_name.to_owned(),
            Some('a') => day_name[..3].to_owned(),
            Some('%') => "%".to_owned(),
            Some(other) => return Err(format!("strftime_now: %{other} is not supported")),
            None => return Err("strftime_now: the format ends in %".to_owned()),
        });
    }
    Ok(text)
}

/// Year, month and day, counted from 1, of a day after 1 January 1970 (Gregorian calendar).
fn civil(days: u64) -> (u64, u64, u64) {
    // Years from March on, so that the leap day comes last; 719,468 days lie between 1 March 0 and 1 January 1970.
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (400 * era + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn at(seconds: u64, format: &str) -> String {
        super::format(format, UNIX_EPOCH + Duration::from_secs(seconds)).unwrap()
    }

    /// Compared with Python: `datetime.fromtimestamp(seconds, timezone.utc).strftime(format)`.
    #[test]
    fn dates_equal_those_of_python() {
        let long = "%A %d %B %Y %H:%M:%S";
        assert_eq!(at(0, long), "Thursday 01 January 1970 00:00:00");
        assert_eq!(at(951_827_696, long), "Tuesday 29 February 2000 12:34:56");
        assert_eq!(at(1_721_952_000, "%d %b %Y"), "26 Jul 2024");
        assert_eq!(at(4_107_542_399, "%a %-d/%m/%y %I %p %%"), "Sun 28/02/00 11 PM %");
    }

    #[test]
    fn an_unknown_directive_is_named() {
        let error = super::format("%Q", UNIX_EPOCH).unwrap_err();
        assert_eq!(error, "strftime_now: %Q is not supported");
        assert!(super::format("%", UNIX_EPOCH).is_err());
    }
}
