//! Options of models: read from words and written as words.

/// The options of one model class.
pub trait Options {
    /// All options with their values, as [`set`](Options::set) reads them.
    fn values(&self) -> Vec<(&'static str, String)>;

    /// Sets the option `name` of [`values`](Options::values); an error says what the value must be.
    fn set(&mut self, name: &str, value: &str) -> Result<(), &'static str>;
}

/// Zero or positive.
pub fn not_negative(value: &str) -> Result<f64, &'static str> {
    value.parse().ok().filter(|v: &f64| *v >= 0.0 && v.is_finite()).ok_or("zero or a positive number")
}

/// `true` or `false`.
pub fn switch(value: &str) -> Result<bool, &'static str> {
    value.parse().map_err(|_| "true or false")
}
