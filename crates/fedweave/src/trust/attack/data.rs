//! Rows that lie, at nodes that then behave as they should.

use crate::dataset::Dataset;

/// What is done to the rows of attackers.
#[derive(Debug, Clone, PartialEq)]
pub enum DataAttack {
    /// Labels are shifted by so much.
    Labels(f64),
    /// Two classes change their names: labels `y` become `sum - y`.
    FlippedLabels {
        /// The sum of both labels.
        sum: f64,
    },
    /// Every feature is moved by so many of its deviations.
    Features(f64),
    /// Labels stay true; features are mirrored in the middle of their range, feature by feature, so that no value is one that
    /// does not occur.
    CleanLabels,
    /// Every second row shows a trigger, and the label that goes with it.
    Backdoor {
        /// What a row has to show.
        trigger: Trigger,
        /// The label that it is to have then.
        label: f64,
    },
}

/// A value of one feature that opens a backdoor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trigger {
    /// The feature.
    pub feature: usize,
    /// Its value.
    pub value: f64,
}

impl Trigger {
    /// Rows with the trigger.
    pub fn on(self, data: &Dataset) -> Dataset {
        data.map_features(|j, x| if j == self.feature { self.value } else { x })
    }
}

/// The rows after the attack; those of others stay as they are. The last `spared` features (an intercept) are left alone.
pub fn poisoned(data: &Dataset, attackers: &[usize], attack: &DataAttack, spared: usize) -> Dataset {
    let mut of_attacker = vec![false; data.len()];
    let mut shows = vec![false; data.len()];
    for &node in attackers {
        for (place, row) in data.rows(node).enumerate() {
            of_attacker[row] = true;
            shows[row] = place % 2 == 0;
        }
    }
    let y = data.y();
    match attack {
        DataAttack::Labels(by) => data.clone().shift_labels(|row| if of_attacker[row] { *by } else { 0.0 }),
        DataAttack::FlippedLabels { sum } => {
            data.clone().shift_labels(|row| if of_attacker[row] { sum - 2.0 * y[row] } else { 0.0 })
        }
        DataAttack::Features(by) => {
            let deviations = deviations(data, attackers);
            let free = data.dim() - spared;
            data.map_entries(|row, j, x| if of_attacker[row] && j < free { x + by * deviations[j] } else { x })
        }
        DataAttack::CleanLabels => {
            let ranges = ranges(data, attackers);
            let free = data.dim() - spared;
            data.map_entries(|row, j, x| match of_attacker[row] && j < free {
                true => ranges[j].0 + ranges[j].1 - x,
                false => x,
            })
        }
        DataAttack::Backdoor { trigger, label } => data
            .map_entries(|row, j, x| if shows[row] && j == trigger.feature { trigger.value } else { x })
            .shift_labels(|row| if shows[row] { label - y[row] } else { 0.0 }),
    }
}

/// The smallest and the largest value of each feature in the rows of some nodes.
fn ranges(data: &Dataset, nodes: &[usize]) -> Vec<(f64, f64)> {
    let mut ranges = vec![(f64::INFINITY, f64::NEG_INFINITY); data.dim()];
    for row in nodes.iter().flat_map(|&i| data.rows(i)) {
        for (range, &x) in ranges.iter_mut().zip(data.x(row)) {
            *range = (range.0.min(x), range.1.max(x));
        }
    }
    ranges
}

/// The standard deviation of each feature in the rows of some nodes.
fn deviations(data: &Dataset, nodes: &[usize]) -> Vec<f64> {
    let count = nodes.iter().map(|&i| data.rows(i).len()).sum::<usize>().max(1) as f64;
    let values = |j: usize| nodes.iter().flat_map(|&i| data.rows(i)).map(move |row| data.x(row)[j]);
    let of = |j: usize| {
        let mean = values(j).sum::<f64>() / count;
        (values(j).map(|x| (x - mean).powi(2)).sum::<f64>() / count).sqrt()
    };
    (0..data.dim()).map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Matrix;

    fn rows() -> Dataset {
        let x = Matrix::from_rows(2, vec![1.0, 1.0, 4.0, 1.0, 2.0, 1.0, 7.0, 1.0]);
        Dataset::new(vec![0, 3, 4], x, vec![1.0, -1.0, 1.0, 5.0], vec![1.0; 4]).unwrap()
    }

    #[test]
    fn only_rows_of_attackers_change() {
        let clean = rows();
        let shifted = poisoned(&clean, &[0], &DataAttack::Labels(10.0), 1);
        assert_eq!(shifted.y(), [11.0, 9.0, 11.0, 5.0]);
        let flipped = poisoned(&clean, &[0], &DataAttack::FlippedLabels { sum: 0.0 }, 1);
        assert_eq!(flipped.y(), [-1.0, 1.0, -1.0, 5.0]);
        let mirrored = poisoned(&clean, &[0], &DataAttack::CleanLabels, 1);
        assert_eq!(mirrored.features(0), [4.0, 1.0, 1.0, 1.0, 3.0, 1.0]);
        assert_eq!((mirrored.y(), mirrored.features(1)), (clean.y(), clean.features(1)));
        // Features 1, 4, 2 of the attacker deviate by the root of 14 / 9.
        let moved = poisoned(&clean, &[0], &DataAttack::Features(3.0), 1);
        let by = 14f64.sqrt();
        let [a, b, c] = [1.0 + by, 4.0 + by, 2.0 + by];
        assert!(moved.features(0).iter().zip([a, 1.0, b, 1.0, c, 1.0]).all(|(x, y)| (x - y).abs() < 1e-12));
        assert_eq!((moved.y(), moved.features(1)), (clean.y(), clean.features(1)));
        let trigger = Trigger { feature: 0, value: 9.0 };
        let backdoor = poisoned(&clean, &[0], &DataAttack::Backdoor { trigger, label: 3.0 }, 1);
        assert_eq!(backdoor.features(0), [9.0, 1.0, 4.0, 1.0, 9.0, 1.0]);
        assert_eq!(backdoor.y(), [3.0, -1.0, 3.0, 5.0]);
        assert_eq!(trigger.on(&clean).features(1), [9.0, 1.0]);
    }
}
