//! Numbers as people read them: `2,070`, `0.0123`, `7.19`, `1.3 × 10⁻⁶`. The script of the page does the same.

/// `digits` significant digits; powers of ten outside `[1e-4, 1e6)`; an en dash for what is not a number.
pub(crate) fn number(x: f64, digits: usize) -> String {
    if x.is_infinite() {
        return if x > 0.0 { "∞".into() } else { "−∞".into() };
    }
    if x.is_nan() {
        return "–".into();
    }
    if x == 0.0 {
        return "0".into();
    }
    let rounded = format!("{:.*e}", digits - 1, x.abs());
    let (mantissa, exponent) = rounded.split_once('e').expect("the format writes an e");
    let exponent: i32 = exponent.parse().expect("the format writes an exponent");
    let size = if (-4..6).contains(&exponent) {
        plain(x.abs(), digits, exponent)
    } else {
        format!("{} × 10{}", trim(mantissa), superscript(exponent))
    };
    if x < 0.0 { format!("−{size}") } else { size }
}

/// Three significant digits.
pub(crate) fn short(x: f64) -> String {
    number(x, 3)
}

/// A count with commas: `2,070`.
pub(crate) fn count(n: usize) -> String {
    group(&n.to_string())
}

/// `1 node`, `2 nodes`.
pub fn plural(n: usize, one: &str) -> String {
    format!("{} {one}{}", count(n), if n == 1 { "" } else { "s" })
}

/// What to sort names by, as people count: `n9` before `n10`. Runs of digits are numbers, of any length.
pub fn natural(name: &str) -> impl Ord + use<> {
    let mut pieces = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let word = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let end = rest[word..].find(|c: char| !c.is_ascii_digit()).map_or(rest.len(), |digits| word + digits);
        let digits = rest[word..end].trim_start_matches('0');
        pieces.push((rest[..word].to_lowercase(), digits.len(), digits.to_owned()));
        rest = &rest[end..];
    }
    (pieces, name.to_owned())
}

/// A share in percent: `29 %`, `0.4 %`.
pub(crate) fn percent(share: f64) -> String {
    let value = 100.0 * share;
    if value.abs() >= 9.95 { format!("{} %", number(value.round(), 6)) } else { format!("{} %", number(value, 2)) }
}

/// A duration: `0.8 s`, `3 min 12 s`.
pub(crate) fn duration(seconds: f64) -> String {
    let whole = seconds.round();
    match seconds {
        s if !s.is_finite() => "–".into(),
        s if s < 120.0 => format!("{} s", number(s, 2)),
        s if s < 7200.0 => format!("{} min {} s", (whole / 60.0).floor(), whole % 60.0),
        _ => format!("{} h {} min", (whole / 3600.0).floor(), (whole % 3600.0 / 60.0).floor()),
    }
}

/// `10⁻³`.
pub(crate) fn power_of_ten(exponent: i32) -> String {
    format!("10{}", superscript(exponent))
}

fn plain(size: f64, digits: usize, exponent: i32) -> String {
    let decimals = (digits as i32 - 1 - exponent).max(0) as usize;
    let text = format!("{size:.decimals$}");
    match text.split_once('.') {
        Some((whole, fraction)) => trim(&format!("{}.{fraction}", group(whole))).into(),
        None => group(&text),
    }
}

/// Drops the zeros after the decimal point that say nothing.
fn trim(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

fn group(digits: &str) -> String {
    let mut text = String::new();
    for (k, digit) in digits.chars().enumerate() {
        if k > 0 && (digits.len() - k).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn superscript(exponent: i32) -> String {
    let raise = |c: char| match c {
        '-' => '⁻',
        digit => ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'][digit.to_digit(10).unwrap_or(0) as usize],
    };
    exponent.to_string().chars().map(raise).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        let cases = [
            (7.194, "7.19"),
            (0.012345, "0.0123"),
            (31.0, "31"),
            (-2.5, "−2.5"),
            (1234.5, "1,234"),
            (123456.0, "123,456"),
            (0.99999, "1"),
            (999999.9, "1 × 10⁶"),
            (1.3e-6, "1.3 × 10⁻⁶"),
            (2.5e12, "2.5 × 10¹²"),
            (0.0, "0"),
            (100.0, "100"),
            (f64::NAN, "–"),
            (f64::NEG_INFINITY, "−∞"),
        ];
        for (x, text) in cases {
            assert_eq!(short(x), text, "{x}");
        }
    }

    #[test]
    fn counts_shares_and_times() {
        assert_eq!(count(2070), "2,070");
        assert_eq!(plural(1, "node"), "1 node");
        assert_eq!(plural(1000, "edge"), "1,000 edges");
        assert_eq!(percent(0.294), "29 %");
        assert_eq!(percent(0.0042), "0.42 %");
        assert_eq!(percent(-0.5), "−50 %");
        assert_eq!(duration(0.84), "0.84 s");
        assert_eq!(duration(192.0), "3 min 12 s");
        assert_eq!(power_of_ten(-6), "10⁻⁶");
    }
}
