//! What the cells of a column mean: as a number, and as text.

use std::fmt::{Display, Write};

use chrono::{DateTime, NaiveDate, NaiveTime, SecondsFormat, TimeDelta};
use half::f16;
use parquet::basic::{ConvertedType, LogicalType, TimeUnit};
use parquet::data_type::Int96;
use parquet::errors::ParquetError;
use parquet::schema::types::ColumnDescriptor;

/// A cell as a number.
type Number<T> = Box<dyn Fn(&T) -> Result<f64, ParquetError>>;
/// A cell as text, which is appended.
type Text<T> = Box<dyn Fn(&T, &mut String) -> Result<(), ParquetError>>;

/// How the cells of a column are read.
pub(super) struct Cells<T> {
    /// As numbers; `None` if they are times or text.
    pub(super) number: Option<Number<T>>,
    /// As text.
    pub(super) text: Text<T>,
}

/// Nanoseconds of a unit of time.
const MILLI: i64 = 1_000_000;
const MICRO: i64 = 1_000;
const NANO: i64 = 1;
const SECOND: i64 = 1_000_000_000;

/// Most bytes of a decimal number that is read: 38 digits.
const DECIMAL_BYTES_MAX: usize = 16;

impl<T: 'static> Cells<T> {
    /// Numbers that are shown as `shown` shows them.
    fn numbers<S: Display>(number: impl Fn(&T) -> f64 + 'static, shown: impl Fn(&T) -> S + 'static) -> Self {
        let text = move |value: &T, text: &mut String| write(text, shown(value));
        Cells { number: Some(Box::new(move |value| Ok(number(value)))), text: Box::new(text) }
    }

    /// Times, which are no numbers.
    fn times(shown: impl Fn(&T) -> Option<String> + 'static) -> Self {
        let text = move |value: &T, text: &mut String| match shown(value) {
            Some(shown) => write(text, shown),
            None => Err(ParquetError::General("a time beyond the calendar".into())),
        };
        Cells { number: None, text: Box::new(text) }
    }

    /// Whole numbers of units of `10^-scale`.
    fn decimals(units: impl Fn(&T) -> Result<i128, ParquetError> + Copy + 'static, scale: i32) -> Self {
        let number = move |value: &T| Ok(units(value)? as f64 / 10f64.powi(scale));
        let text = move |value: &T, text: &mut String| write(text, decimal(units(value)?, scale));
        Cells { number: Some(Box::new(number)), text: Box::new(text) }
    }
}

impl Cells<bool> {
    pub(super) fn truth() -> Self {
        Cells::numbers(|value| f64::from(u8::from(*value)), |value| *value)
    }
}

impl Cells<i32> {
    pub(super) fn int32(about: &ColumnDescriptor) -> Self {
        match about.converted_type() {
            ConvertedType::UINT_8 | ConvertedType::UINT_16 | ConvertedType::UINT_32 => {
                Cells::numbers(|value| f64::from(*value as u32), |value| *value as u32)
            }
            ConvertedType::DECIMAL => Cells::decimals(|value| Ok(i128::from(*value)), about.type_scale()),
            ConvertedType::DATE => Cells::times(|days| date(*days)),
            ConvertedType::TIME_MILLIS => Cells::times(|count| time_of_day(i64::from(*count), MILLI)),
            _ => Cells::numbers(|value| f64::from(*value), |value| *value),
        }
    }
}

impl Cells<i64> {
    pub(super) fn int64(about: &ColumnDescriptor) -> Self {
        // Nanoseconds have a logical type only.
        match (about.converted_type(), about.logical_type_ref()) {
            (ConvertedType::UINT_64, _) => Cells::numbers(|value| *value as u64 as f64, |value| *value as u64),
            (ConvertedType::DECIMAL, _) => Cells::decimals(|value| Ok(i128::from(*value)), about.type_scale()),
            (ConvertedType::TIME_MICROS, _) => Cells::times(|count| time_of_day(*count, MICRO)),
            (ConvertedType::NONE, Some(LogicalType::Time(_))) => Cells::times(|count| time_of_day(*count, NANO)),
            (_, Some(LogicalType::Timestamp(kind))) => {
                let unit = match kind.unit {
                    TimeUnit::MILLIS => MILLI,
                    TimeUnit::MICROS => MICRO,
                    TimeUnit::NANOS => NANO,
                };
                let utc = kind.is_adjusted_to_u_t_c;
                Cells::times(move |count| instant(*count, unit, utc))
            }
            // Older files: always in UTC.
            (ConvertedType::TIMESTAMP_MILLIS, None) => Cells::times(|count| instant(*count, MILLI, true)),
            (ConvertedType::TIMESTAMP_MICROS, None) => Cells::times(|count| instant(*count, MICRO, true)),
            _ => Cells::numbers(|value| *value as f64, |value| *value),
        }
    }
}

impl Cells<Int96> {
    pub(super) fn int96() -> Self {
        Cells::times(|value: &Int96| instant(value.to_nanos(), NANO, false))
    }
}

impl Cells<f32> {
    pub(super) fn float() -> Self {
        Cells::numbers(|value| f64::from(*value), |value| f64::from(*value))
    }
}

impl Cells<f64> {
    /// Whole numbers lose their point (`7.0` becomes `7`): a column of integer ids with a gap is often stored as floats.
    pub(super) fn double() -> Self {
        Cells::numbers(|value| *value, |value| *value)
    }
}

impl<T: AsRef<[u8]> + 'static> Cells<T> {
    pub(super) fn bytes(about: &ColumnDescriptor) -> Self {
        if about.converted_type() == ConvertedType::DECIMAL {
            return Cells::decimals(|value: &T| big_endian(value.as_ref()), about.type_scale());
        }
        if about.logical_type_ref() == Some(&LogicalType::Float16) {
            return Cells::numbers(
                |value: &T| half_precision(value.as_ref()),
                |value: &T| half_precision(value.as_ref()),
            );
        }
        let name = about.name().to_owned();
        let text = move |value: &T, text: &mut String| {
            let found = std::str::from_utf8(value.as_ref());
            let found =
                found.map_err(|_| ParquetError::General(format!("column {name} holds bytes that are no text")))?;
            text.push_str(found);
            Ok(())
        };
        Cells { number: None, text: Box::new(text) }
    }
}

fn write(text: &mut String, shown: impl Display) -> Result<(), ParquetError> {
    write!(text, "{shown}").map_err(|error| ParquetError::External(Box::new(error)))
}

fn half_precision(bytes: &[u8]) -> f64 {
    bytes.try_into().map_or(f64::NAN, |bytes| f16::from_le_bytes(bytes).to_f64())
}

/// A signed number, the largest byte first.
fn big_endian(bytes: &[u8]) -> Result<i128, ParquetError> {
    if bytes.len() > DECIMAL_BYTES_MAX {
        return Err(ParquetError::General("a decimal number of more than 38 digits".into()));
    }
    let sign = if bytes.first().is_some_and(|byte| byte & 0x80 != 0) { -1 } else { 0 };
    Ok(bytes.iter().fold(sign, |sum: i128, byte| (sum << 8) | i128::from(*byte)))
}

/// `units * 10^-scale`, digit by digit.
fn decimal(units: i128, scale: i32) -> String {
    let (sign, digits) = (if units < 0 { "-" } else { "" }, units.unsigned_abs().to_string());
    if scale == 0 {
        return format!("{sign}{digits}");
    }
    // More places than digits can be occur in damaged files only.
    let Some(places) = usize::try_from(scale).ok().filter(|places| *places <= 38) else {
        return format!("{sign}{digits}e{}", -i64::from(scale));
    };
    let digits = format!("{digits:0>width$}", width = places + 1);
    let (whole, fraction) = digits.split_at(digits.len() - places);
    format!("{sign}{whole}.{fraction}")
}

fn date(days: i32) -> Option<String> {
    let day = NaiveDate::default().checked_add_signed(TimeDelta::try_days(i64::from(days))?)?;
    Some(format!("{day:?}"))
}

fn time_of_day(count: i64, unit: i64) -> Option<String> {
    let nanos = count.checked_mul(unit)?;
    let (seconds, rest) = (u32::try_from(nanos.div_euclid(SECOND)).ok()?, nanos.rem_euclid(SECOND) as u32);
    Some(format!("{:?}", NaiveTime::from_num_seconds_from_midnight_opt(seconds, rest)?))
}

/// ISO 8601; with `Z` if the file says that it is universal time.
fn instant(count: i64, unit: i64, utc: bool) -> Option<String> {
    let in_second = SECOND / unit;
    let rest = (count.rem_euclid(in_second) * unit) as u32;
    let at = DateTime::from_timestamp(count.div_euclid(in_second), rest)?;
    Some(match utc {
        true => at.to_rfc3339_opts(SecondsFormat::AutoSi, true),
        false => format!("{:?}", at.naive_utc()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_keep_their_digits() {
        assert_eq!(
            [(1234, 2), (-5, 3), (0, 1), (70, 0), (-12, -1), (1, 1 << 30)].map(|(u, s)| decimal(u, s)),
            ["12.34", "-0.005", "0.0", "70", "-12e1", "1e-1073741824"]
        );
        assert_eq!(big_endian(&[0xff, 0xfe]).unwrap(), -2);
        assert_eq!(big_endian(&[0x01, 0x00]).unwrap(), 256);
        assert!(big_endian(&[1; 17]).is_err());
    }

    #[test]
    fn times_are_iso_8601() {
        assert_eq!(date(19_844).unwrap(), "2024-05-01");
        assert_eq!(time_of_day(45_296_500, MILLI).unwrap(), "12:34:56.500");
        assert_eq!(time_of_day(-1, MICRO), None);
        assert_eq!(instant(-1, MILLI, true).unwrap(), "1969-12-31T23:59:59.999Z");
        assert_eq!(instant(1_714_566_896_000_001, MICRO, false).unwrap(), "2024-05-01T12:34:56.000001");
        assert_eq!(instant(i64::MAX, MILLI, true), None);
    }
}
