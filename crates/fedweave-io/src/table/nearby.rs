//! "Did you mean": the known name nearest to a misspelt one.

/// The known name nearest to `name`, if it is one edit away (two for long names); the case of letters does not count.
pub(super) fn nearest<'a>(name: &str, known: &'a [String]) -> Option<&'a str> {
    let wanted = name.trim().to_lowercase();
    let distance = |k: &String| edits(&wanted, &k.to_lowercase());
    let best = known.iter().min_by_key(|&k| distance(k))?;
    let letters = wanted.chars().count();
    (distance(best) <= (letters / 3).clamp(1, 2) && distance(best) < letters).then_some(best)
}

/// Levenshtein's distance.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, &cb) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(ca != cb);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_typing_errors_and_nothing_far_away() {
        let known = ["temperature", "Wind", "y"].map(String::from);
        assert_eq!(nearest("temprature", &known), Some("temperature"));
        assert_eq!(nearest("wind", &known), Some("Wind"));
        assert_eq!(nearest("pressure", &known), None);
        assert_eq!((nearest("t", &known), nearest("wall", &known)), (None, None));
    }
}
