//! Options of models: read from words and written as words.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The options of one model class.
pub trait ModelOptions {
    /// All options with their values, as [`set`](ModelOptions::set) reads them.
    fn values(&self) -> Vec<(&'static str, String)>;

    /// Sets the option `name` of [`values`](Options::values); an error says what the value must be.
    fn set(&mut self, name: &str, value: &str) -> Result<(), &'static str>;
}

/// Zero or positive.
pub fn not_negative(value: &str) -> Result<f64, &'static str> {
    number(value, |v| v >= 0.0).ok_or("zero or a positive number")
}

/// Positive.
pub fn positive(value: &str) -> Result<f64, &'static str> {
    number(value, |v| v > 0.0).ok_or("a positive number")
}

/// From 0 to `most`, which is 0.5 or 1.
pub fn share(value: &str, most: f64) -> Result<f64, &'static str> {
    let needs = if most < 1.0 { "a number from 0 to 0.5" } else { "a number from 0 to 1" };
    number(value, |v| (0.0..=most).contains(&v)).ok_or(needs)
}

/// Above 0, at most 1.
pub fn fraction(value: &str) -> Result<f64, &'static str> {
    number(value, |v| v > 0.0 && v <= 1.0).ok_or("a number above 0, at most 1")
}

fn number(value: &str, fits: impl Fn(f64) -> bool) -> Option<f64> {
    value.parse().ok().filter(|v: &f64| v.is_finite() && fits(*v))
}

/// A whole number from `least`, which is 1 or 2.
pub fn count(value: &str, least: usize) -> Result<usize, &'static str> {
    let needs = if least > 1 { "a whole number from 2" } else { "a whole number from 1" };
    value.parse().ok().filter(|v| *v >= least && *v <= u32::MAX as usize).ok_or(needs)
}

/// `true` or `false`.
pub fn switch(value: &str) -> Result<bool, &'static str> {
    value.parse().map_err(|_| "true or false")
}

/// A whole number from 1, or `none`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limit(pub Option<usize>);

impl Limit {
    pub(super) fn parse(value: &str) -> Result<Self, &'static str> {
        match value {
            "none" => Ok(Limit(None)),
            _ => count(value, 1).map(|n| Limit(Some(n))).map_err(|_| "a whole number from 1, or none"),
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(n) => n.fmt(f),
            None => f.write_str("none"),
        }
    }
}

/// How many features a split looks at.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MaxFeatures {
    /// All for regression, the root of their number for classification.
    Auto,
    /// All.
    All,
    /// The root of their number.
    Sqrt,
    /// The logarithm of their number to base 2.
    Log2,
    /// This many.
    Count(usize),
    /// This share of them, written with a decimal point.
    Share(f64),
}

impl MaxFeatures {
    /// Of `features`, at least one.
    pub fn of(self, features: usize) -> usize {
        let d = features as f64;
        let wanted = match self {
            MaxFeatures::All | MaxFeatures::Auto => features,
            MaxFeatures::Sqrt => d.sqrt() as usize,
            MaxFeatures::Log2 => d.log2() as usize,
            MaxFeatures::Count(n) => n,
            MaxFeatures::Share(f) => (f * d) as usize,
        };
        wanted.clamp(1, features.max(1))
    }

    pub(super) fn parse(value: &str) -> Result<Self, &'static str> {
        Ok(match value {
            "auto" => MaxFeatures::Auto,
            "all" => MaxFeatures::All,
            "sqrt" => MaxFeatures::Sqrt,
            "log2" => MaxFeatures::Log2,
            _ => match (count(value, 1), fraction(value)) {
                (Ok(n), _) => MaxFeatures::Count(n),
                (_, Ok(f)) => MaxFeatures::Share(f),
                _ => return Err("auto, all, sqrt, log2, a number of features, or a share below 1"),
            },
        })
    }
}

impl fmt::Display for MaxFeatures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MaxFeatures::Auto => f.write_str("auto"),
            MaxFeatures::All => f.write_str("all"),
            MaxFeatures::Sqrt => f.write_str("sqrt"),
            MaxFeatures::Log2 => f.write_str("log2"),
            MaxFeatures::Count(n) => n.fmt(f),
            MaxFeatures::Share(share) => write!(f, "{share:?}"),
        }
    }
}
