//! Held-out rows: which rows train, which choose hyperparameters, which judge.
//!
//! Rows are lined up (shuffled, or as they came), then cut into train, validation and test in this order. Counts:
//!
//! | `train` | training rows | validation rows | test rows |
//! |---|---|---|---|
//! | `None` | what is left, at least 1 | its share | its share, at most what is left |
//! | given | its share, at least 1, at most what is left | its share | what is left |
//!
//! Validation comes first when rows are scarce, but never takes the last one.

use rand::seq::SliceRandom;

use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::random::{Purpose, stream};

/// What a row is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part {
    /// Fits the model.
    Train,
    /// Chooses hyperparameters.
    Validation,
    /// Judges the result; looked at once.
    Test,
}

/// How rows are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SplitRule {
    /// Drawn separately for every node.
    #[default]
    Random,
    /// The first rows of every node train, the next validate, the last test: for rows in order of time.
    Last,
    /// Whole groups of rows (dates, patients) are drawn once and held out for all nodes. Shares then count groups, not
    /// rows. No group straddles two parts, so a node whose rows all lie in held-out groups has no training row, and
    /// `min_rows` does not apply; at least one group trains.
    Groups,
}

/// A number of rows, absolute or relative.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Share {
    /// So many rows of every node, if it has them.
    Rows(usize),
    /// A fraction of the rows of the node, rounded to the nearest number; in [0, 1].
    Fraction(f64),
}

/// How to split.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SplitSpec {
    /// How rows are chosen.
    pub rule: SplitRule,
    /// Training rows. `None`: all that is left after validation and test. If given, all that is left is for testing.
    pub train: Option<Share>,
    /// Validation rows.
    pub validation: Share,
    /// Test rows; `None` means none, or the rest if `train` is given, and must be `None` then.
    pub test: Option<Share>,
    /// Nodes with fewer rows only train.
    pub min_rows: usize,
    /// Seed of the draws.
    pub seed: u64,
}

impl Default for SplitSpec {
    /// A fifth of the rows of every node with at least 4 rows, drawn at random, validates; the others train.
    fn default() -> Self {
        SplitSpec {
            rule: SplitRule::Random,
            train: None,
            validation: Share::Fraction(0.2),
            test: None,
            min_rows: 4,
            seed: 0,
        }
    }
}

/// The part of every row of a dataset.
#[derive(Debug, Clone, PartialEq)]
pub struct Split {
    /// One entry per row, in the order of the dataset.
    pub part: Vec<Part>,
}

impl Split {
    /// A mask for [`Dataset::select`]: true for the rows of `part`.
    pub fn mask(&self, part: Part) -> Vec<bool> {
        self.part.iter().map(|&p| p == part).collect()
    }
}

/// Splits the rows of `data`. `groups` names the group of every row; only [`SplitRule::Groups`] needs it.
pub fn split(data: &Dataset, groups: Option<&[u32]>, spec: &SplitSpec) -> Result<Split> {
    spec.check()?;
    let part = match spec.rule {
        SplitRule::Groups => split_groups(data, groups.unwrap_or_default(), spec)?,
        SplitRule::Random | SplitRule::Last => split_nodes(data, spec),
    };
    Ok(Split { part })
}

fn split_nodes(data: &Dataset, spec: &SplitSpec) -> Vec<Part> {
    let mut part = vec![Part::Train; data.len()];
    for node in 0..data.nodes() {
        let mut rows: Vec<usize> = data.rows(node).collect();
        if rows.len() < spec.min_rows {
            continue;
        }
        if spec.rule == SplitRule::Random {
            rows.shuffle(&mut stream(spec.seed, Purpose::HeldOutRows, node));
        }
        for (place, &row) in rows.iter().enumerate() {
            part[row] = spec.part_at(place, rows.len());
        }
    }
    part
}

fn split_groups(data: &Dataset, group_of_row: &[u32], spec: &SplitSpec) -> Result<Vec<Part>> {
    if group_of_row.len() != data.len() {
        return Err(Error::Size { what: "groups of rows", expected: data.len(), found: group_of_row.len() });
    }
    let mut groups = group_of_row.to_vec();
    groups.sort_unstable();
    groups.dedup();
    let mut line: Vec<usize> = (0..groups.len()).collect();
    line.shuffle(&mut stream(spec.seed, Purpose::HeldOutRows, 0));
    let mut part = vec![Part::Train; groups.len()];
    for (place, &group) in line.iter().enumerate() {
        part[group] = spec.part_at(place, groups.len());
    }
    let part_of = |group| part[groups.binary_search(group).expect("every group was collected")];
    Ok(group_of_row.iter().map(part_of).collect())
}

impl SplitSpec {
    /// The part of the item at `place` in a line of `len` items.
    fn part_at(&self, place: usize, len: usize) -> Part {
        let (train, validation) = self.counts(len);
        match place {
            _ if place < train => Part::Train,
            _ if place < train + validation => Part::Validation,
            _ => Part::Test,
        }
    }

    /// Numbers of training and validation items of a line of `len >= 1` items.
    fn counts(&self, len: usize) -> (usize, usize) {
        let validation = self.validation.of(len).min(len - 1);
        let left = len - validation;
        let train = match self.train {
            Some(train) => train.of(len).clamp(1, left),
            None => left - self.test.map_or(0, |test| test.of(len)).min(left - 1),
        };
        (train, validation)
    }

    fn check(&self) -> Result<()> {
        let named = [("train", self.train), ("validation", Some(self.validation)), ("test", self.test)];
        let mut sum = 0.0;
        for (name, share) in named {
            if let Some(Share::Fraction(value)) = share {
                if !(0.0..=1.0).contains(&value) {
                    return Err(Error::Parameter { name, value, needs: "between 0 and 1" });
                }
                sum += value;
            }
        }
        // Decimal fractions that add up to 1 may exceed it by rounding.
        if sum > 1.0 + 1e-9 {
            return Err(Error::Parameter { name: "sum of the fractions", value: sum, needs: "at most 1" });
        }
        if let (Some(_), Some(test)) = (self.train, self.test) {
            let needs = "left out when train is given: the rest is for testing";
            return Err(Error::Parameter { name: "test", value: test.number(), needs });
        }
        Ok(())
    }
}

impl Share {
    fn of(self, len: usize) -> usize {
        match self {
            Share::Rows(rows) => rows,
            Share::Fraction(fraction) => (fraction * len as f64).round() as usize,
        }
    }

    fn number(self) -> f64 {
        match self {
            Share::Rows(rows) => rows as f64,
            Share::Fraction(fraction) => fraction,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Matrix;

    fn data(sizes: &[usize]) -> Dataset {
        let mut offsets = vec![0];
        offsets.extend(sizes.iter().scan(0, |sum, size| {
            *sum += size;
            Some(*sum)
        }));
        let rows = *offsets.last().unwrap();
        Dataset::new(offsets, Matrix::zeros(rows, 1), vec![0.0; rows], vec![1.0; rows]).unwrap()
    }

    fn counts(parts: &[Part]) -> [usize; 3] {
        [Part::Train, Part::Validation, Part::Test].map(|wanted| parts.iter().filter(|&&p| p == wanted).count())
    }

    /// Train, validation and test rows of a single node of `rows` rows.
    fn counts_of(rows: usize, spec: SplitSpec) -> [usize; 3] {
        counts(&split(&data(&[rows]), None, &spec).unwrap().part)
    }

    #[test]
    fn counts_are_exact_and_add_up() {
        let spec = SplitSpec { test: Some(Share::Fraction(0.3)), ..Default::default() };
        assert_eq!(counts_of(10, spec), [5, 2, 3]);
        assert_eq!(counts_of(11, spec), [6, 2, 3]); // 2.2 and 3.3
        assert_eq!(counts_of(12, spec), [6, 2, 4]); // 2.4 and 3.6
        let spec = SplitSpec { train: Some(Share::Rows(10)), validation: Share::Rows(5), ..Default::default() };
        assert_eq!(counts_of(100, spec), [10, 5, 85]);
        assert_eq!(counts_of(12, spec), [7, 5, 0]);
        for rule in [SplitRule::Random, SplitRule::Last] {
            for rows in 0..40 {
                let spec = SplitSpec { rule, test: Some(Share::Rows(7)), ..Default::default() };
                assert_eq!(counts_of(rows, spec).iter().sum::<usize>(), rows);
            }
        }
    }

    #[test]
    fn a_node_keeps_a_training_row_and_tiny_nodes_only_train() {
        let greedy = [
            SplitSpec { validation: Share::Rows(100), test: Some(Share::Rows(100)), ..Default::default() },
            SplitSpec { validation: Share::Fraction(1.0), ..Default::default() },
            SplitSpec { validation: Share::Fraction(0.0), test: Some(Share::Fraction(1.0)), ..Default::default() },
            SplitSpec { train: Some(Share::Rows(0)), validation: Share::Rows(3), ..Default::default() },
        ];
        for spec in greedy {
            for rows in 1..10 {
                let [train, validation, test] = counts_of(rows, spec);
                assert_eq!(train, if rows < 4 { rows } else { 1 }, "{spec:?}");
                assert_eq!(train + validation + test, rows);
            }
        }
        assert_eq!(counts_of(0, SplitSpec { min_rows: 0, ..Default::default() }), [0, 0, 0]);
        assert_eq!(
            counts_of(1, SplitSpec { min_rows: 0, validation: Share::Rows(1), ..Default::default() }),
            [1, 0, 0]
        );
    }

    #[test]
    fn last_holds_out_the_last_rows_in_order() {
        use Part::{Test, Train, Validation};
        let (rule, validation, test) = (SplitRule::Last, Share::Rows(2), Some(Share::Rows(1)));
        let spec = SplitSpec { rule, validation, test, ..Default::default() };
        let parts = split(&data(&[5, 2, 4]), None, &spec).unwrap().part;
        let expected = [Train, Train, Validation, Validation, Test, Train, Train, Train, Validation, Validation, Test];
        assert_eq!(parts, expected);
    }

    #[test]
    fn random_draws_are_reproducible_fair_and_separate_per_node() {
        let spec = |seed| SplitSpec { seed, ..Default::default() };
        let parts = |sizes: &[usize], seed| split(&data(sizes), None, &spec(seed)).unwrap().part;
        assert_eq!(parts(&[20, 20], 1), parts(&[20, 20], 1));
        assert_ne!(parts(&[20, 20], 1), parts(&[20, 20], 2));
        // What a node draws does not depend on the others, and nodes draw differently.
        assert_eq!(parts(&[20, 20], 1)[20..], parts(&[5, 20], 1)[5..]);
        assert_ne!(parts(&[20, 20], 1)[..20], parts(&[20, 20], 1)[20..]);
        // Each row is held out in a fifth of the draws.
        let draws = 2_000;
        let mut held_out = [0.0; 10];
        for seed in 0..draws {
            for (row, part) in parts(&[10], seed).iter().enumerate() {
                held_out[row] += f64::from(*part == Part::Validation) / draws as f64;
            }
        }
        assert!(held_out.iter().all(|rate| (rate - 0.2).abs() < 5.0 * (0.2 * 0.8 / draws as f64).sqrt()));
    }

    #[test]
    fn groups_never_straddle_parts() {
        let data = data(&[30, 1, 50, 19]);
        let groups: Vec<u32> = (0..100).map(|row| 1_000 - (row * 7 % 10) as u32).collect();
        let (rule, test) = (SplitRule::Groups, Some(Share::Rows(3)));
        let spec = |seed| SplitSpec { rule, test, seed, ..Default::default() };
        let parts = |seed| split(&data, Some(&groups), &spec(seed)).unwrap().part;
        for seed in 0..20 {
            let parts = parts(seed);
            let mut part_of_group = std::collections::BTreeMap::new();
            for (group, part) in groups.iter().zip(&parts) {
                assert_eq!(part_of_group.entry(group).or_insert(*part), part);
            }
            let per_group: Vec<Part> = part_of_group.into_values().collect();
            assert_eq!(counts(&per_group), [5, 2, 3]);
        }
        assert_eq!(parts(3), parts(3));
        assert_ne!(parts(3), parts(4));
        let one_group = split(&data, Some(&[0; 100]), &spec(0)).unwrap();
        assert_eq!(counts(&one_group.part), [100, 0, 0]);
    }

    #[test]
    fn groups_must_name_every_row() {
        let spec = SplitSpec { rule: SplitRule::Groups, ..Default::default() };
        let error = |found| Err(Error::Size { what: "groups of rows", expected: 4, found });
        assert_eq!(split(&data(&[4]), None, &spec), error(0));
        assert_eq!(split(&data(&[4]), Some(&[1, 2]), &spec), error(2));
        assert_eq!(split(&data(&[]), None, &spec).unwrap().part, []);
    }

    #[test]
    fn impossible_shares_are_errors() {
        let share = Share::Fraction;
        let fails = |spec: SplitSpec, wanted: &str| {
            let error = split(&data(&[10]), None, &spec).unwrap_err();
            assert!(matches!(error, Error::Parameter { name, .. } if name == wanted), "{error}");
        };
        for value in [-0.1, 1.1, f64::NAN] {
            fails(SplitSpec { validation: share(value), ..Default::default() }, "validation");
            fails(SplitSpec { test: Some(share(value)), ..Default::default() }, "test");
            fails(SplitSpec { train: Some(share(value)), ..Default::default() }, "train");
        }
        fails(SplitSpec { test: Some(share(0.9)), ..Default::default() }, "sum of the fractions");
        fails(SplitSpec { train: Some(Share::Rows(1)), test: Some(Share::Rows(1)), ..Default::default() }, "test");
        assert!(split(&data(&[10]), None, &SplitSpec { test: Some(share(0.8)), ..Default::default() }).is_ok());
    }

    #[test]
    fn masks_select_the_rows_of_a_part() {
        let data = data(&[10, 3]);
        let split = split(&data, None, &SplitSpec::default()).unwrap();
        let rows = |part| data.select(&split.mask(part)).len();
        assert_eq!([rows(Part::Train), rows(Part::Validation), rows(Part::Test)], [11, 2, 0]);
    }
}
