//! When rows were observed, as numbers: so that times of another file mean the same.

use chrono::{NaiveDate, NaiveDateTime};
use serde::{Deserialize, Serialize};

use super::levels;
use crate::table::Text;

/// The column that says when a row was observed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TimeColumn {
    /// The column.
    pub column: String,
    /// How its cells become numbers.
    pub scale: TimeScale,
}

/// How cells become numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimeScale {
    /// They are numbers.
    Number,
    /// Dates, or dates with times of the day: in days.
    Date,
    /// Anything else: positions in this list. How far two of them are apart is not known.
    Label(Vec<String>),
}

impl TimeColumn {
    /// The scale that all cells of a column fit.
    pub(super) fn learn(column: &str, cells: &Text) -> TimeColumn {
        let all = |scale: &TimeScale| cells.levels.iter().all(|level| scale.number(level).is_some());
        let scale = [TimeScale::Number, TimeScale::Date].into_iter().find(all).unwrap_or_else(|| {
            let mut labels = cells.levels.clone();
            levels::sort(&mut labels);
            TimeScale::Label(labels)
        });
        TimeColumn { column: column.to_owned(), scale }
    }

    /// The times of some rows; NaN where a cell is of no time that was learnt.
    pub(super) fn numbers(&self, cells: &Text, rows: &[usize]) -> Vec<f64> {
        let known: Vec<f64> = cells.levels.iter().map(|level| self.scale.number(level).unwrap_or(f64::NAN)).collect();
        rows.iter().map(|&row| known[cells.codes[row] as usize]).collect()
    }
}

impl TimeScale {
    /// True if differences of the numbers are lengths of time.
    pub fn has_lengths(&self) -> bool {
        !matches!(self, TimeScale::Label(_))
    }

    /// The number of a cell.
    pub fn number(&self, cell: &str) -> Option<f64> {
        match self {
            TimeScale::Number => cell.trim_ascii().parse().ok().filter(|v: &f64| v.is_finite()),
            TimeScale::Date => days(cell.trim_ascii()),
            TimeScale::Label(labels) => labels.iter().position(|label| label == cell).map(|k| k as f64),
        }
    }
}

/// Days since 1970.
fn days(cell: &str) -> Option<f64> {
    const SECONDS: f64 = 86_400.0;
    let cell = cell.strip_suffix('Z').unwrap_or(cell);
    let date = NaiveDate::parse_from_str(cell, "%Y-%m-%d").ok().and_then(|date| date.and_hms_opt(0, 0, 0));
    let stamps = ["%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M"];
    let stamp = || stamps.iter().find_map(|format| NaiveDateTime::parse_from_str(cell, format).ok());
    let stamp = date.or_else(stamp)?.and_utc();
    Some(stamp.timestamp() as f64 / SECONDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_dates_and_labels() {
        assert_eq!(TimeScale::Number.number(" 7.5"), Some(7.5));
        assert_eq!(TimeScale::Date.number("1970-01-02"), Some(1.0));
        assert_eq!(TimeScale::Date.number("1970-01-01 06:00:00"), Some(0.25));
        assert_eq!(TimeScale::Date.number("1970-01-01T12:00Z"), Some(0.5));
        assert_eq!((TimeScale::Date.number("spring"), TimeScale::Number.number("x")), (None, None));
        let labels = TimeScale::Label(vec!["autumn".into(), "spring".into()]);
        assert_eq!((labels.number("spring"), labels.number("winter")), (Some(1.0), None));
    }
}
