//! Predictions on public rows that are private, for models of any class: private aggregation of teachers (Papernot et al. 2017), released once.
//!
//! The rows of a node are dealt out to `t` teachers by their places. Each teacher is a model of the class of the node, fitted to its rows alone. On every
//! public row they vote: classes count votes, numbers are moved into a range that is known beforehand and averaged. Replacing one row changes one teacher, whatever the
//! class of its model, and with it the votes on all `P` public rows: by at most `2 sqrt(P) / t` in the 2-norm for numbers scaled to -1..1, by
//! at most `sqrt(2 P) / t` for classes. Noise is made for that. What follows from the release (public rows with labels, to which any model may be fitted and
//! which any number of rounds may use) costs nothing more.

use rand::Rng;

use super::mechanisms::Grid;
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::matrix::{Matrix, Rows};
use crate::model::{LocalModel, Task, Workspace};

/// How many teachers vote, and what is known about labels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Votes {
    /// Teachers of a node; a node with fewer rows has one for each.
    pub teachers: usize,
    /// Middle and half width of the range of labels; classes need none.
    pub range: (f64, f64),
    /// Noise, in multiples of what one row can do.
    pub multiplier: f64,
}

impl Votes {
    /// How far one row of a node with `rows` of them moves the votes on `public` rows.
    pub fn sensitivity(&self, task: Task, rows: usize, public: usize) -> f64 {
        let teachers = self.teachers.min(rows).max(1) as f64;
        match task {
            Task::Regression => 2.0 * (public as f64).sqrt() / teachers,
            Task::Classification { .. } => (2.0 * public as f64).sqrt() / teachers,
        }
    }

    /// Labels of the `public` rows by the votes of a node; `None` for one without rows. `teacher` makes models that are not fitted yet; nothing in them
    /// may follow from rows.
    pub fn release(
        &self,
        (data, node): (&Dataset, usize),
        public: Rows,
        task: Task,
        teacher: impl Fn(usize) -> Result<Box<dyn LocalModel>>,
        rng: &mut impl Rng,
    ) -> Result<Option<Vec<f64>>> {
        let (rows, outputs) = (data.rows(node), task.outputs());
        if rows.is_empty() {
            return Ok(None);
        }
        let sensitivity = self.sensitivity(task, rows.len(), public.rows());
        let none =
            Error::Parameter { name: "noise", value: self.multiplier * sensitivity, needs: "a positive normal number" };
        let grid = Grid::new(self.multiplier, sensitivity, public.rows() * outputs).ok_or(none)?;
        let teachers = self.teachers.min(rows.len()).max(1);
        let mut sums = vec![0i128; public.rows() * outputs];
        for k in 0..teachers {
            let own: Vec<usize> = rows.clone().skip(k).step_by(teachers).collect();
            let said = self.said(teacher(k)?, data, &own, public, task);
            sums.iter_mut().zip(said).for_each(|(sum, v)| *sum += i128::from(grid.point(v / teachers as f64)));
        }
        let noisy: Vec<f64> = sums.into_iter().map(|sum| grid.perturb_sum(sum, rng)).collect();
        let (middle, half) = self.range;
        let label = |votes: &[f64]| match task {
            Task::Regression => middle + half * votes[0].clamp(-1.0, 1.0),
            Task::Classification { .. } => largest(votes) as f64,
        };
        Ok(Some(noisy.chunks_exact(outputs).map(label).collect()))
    }

    /// What a teacher says about public rows. One that cannot be fitted, or says what is no number, abstains: this concerns it alone.
    fn said(
        &self,
        mut teacher: Box<dyn LocalModel>,
        data: &Dataset,
        own: &[usize],
        public: Rows,
        task: Task,
    ) -> Vec<f64> {
        let outputs = task.outputs();
        let (middle, half) = self.range;
        let x: Vec<f64> = own.iter().flat_map(|&r| data.x(r)).copied().collect();
        let mut y = vec![0.0; own.len() * outputs];
        for (row, &r) in y.chunks_exact_mut(outputs).zip(own) {
            match task {
                // Teachers learn inside the range, too.
                Task::Regression => row[0] = data.y()[r].clamp(middle - half, middle + half),
                Task::Classification { .. } => row[data.y()[r] as usize] = 1.0,
            }
        }
        let mut said = vec![0.0; public.rows() * outputs];
        let (x, y) = (Rows::new(data.dim(), &x), Rows::new(outputs, &y));
        let fitted = teacher.fit(x, y, &vec![1.0; own.len()], &mut Workspace::default());
        let told = fitted.and_then(|()| teacher.predict(public, &mut said));
        if told.is_err() {
            return vec![0.0; said.len()];
        }
        for votes in said.chunks_exact_mut(outputs) {
            let finite = votes.iter().all(|v| v.is_finite());
            match task {
                Task::Regression if finite => votes[0] = ((votes[0] - middle) / half).clamp(-1.0, 1.0),
                Task::Classification { .. } if finite => {
                    let most = largest(votes);
                    votes.fill(0.0);
                    votes[most] = 1.0;
                }
                _ => votes.fill(0.0),
            }
        }
        said
    }
}

/// The place of the largest number, the first of several.
fn largest(votes: &[f64]) -> usize {
    (1..votes.len()).fold(0, |best, k| if votes[k] > votes[best] { k } else { best })
}

/// The public rows of every node as rows to learn from; nodes without labels have none.
pub fn labelled(public: &[Rows], labels: &[Option<Vec<f64>>]) -> Result<Dataset> {
    let dim = public.first().map_or(0, Rows::cols);
    let (mut offsets, mut x, mut y) = (vec![0], Vec::new(), Vec::new());
    for (rows, labels) in public.iter().zip(labels) {
        if let Some(labels) = labels {
            x.extend_from_slice(rows.as_slice());
            y.extend_from_slice(labels);
        }
        offsets.push(y.len());
    }
    let weight = vec![1.0; y.len()];
    Dataset::new(offsets, Matrix::from_rows(dim, x), y, weight)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ModelSpec;
    use crate::random::{Purpose, stream};
    use rand::RngExt;

    /// A node with rows on a line, of which the first is given, and one without rows.
    fn data(first: (f64, f64), classes: bool) -> Dataset {
        let mut rng = stream(3, Purpose::LocalData, 0);
        let (mut x, mut y) = (vec![first.0], vec![first.1]);
        for _ in 1..40 {
            let at = 2.0 * rng.random::<f64>() - 1.0;
            x.push(at);
            y.push(if classes { f64::from(u8::from(at > 0.0)) } else { at });
        }
        Dataset::new(vec![0, 40, 40], Matrix::from_rows(1, x), y, vec![1.0; 40]).unwrap()
    }

    fn public() -> Matrix {
        Matrix::from_rows(1, (0..9).map(|k| f64::from(k) / 4.0 - 1.0).collect())
    }

    fn votes(data: &Dataset, task: Task, multiplier: f64) -> Vec<f64> {
        let spec: ModelSpec = "tree max-depth=4".parse().unwrap();
        let votes = Votes { teachers: 8, range: (0.0, 1.0), multiplier };
        let teacher = |k: usize| spec.build(task, k as u64).map_err(|source| Error::Spec { node: 0, source });
        let mut rng = stream(5, Purpose::Noise, 1);
        assert_eq!(votes.release((data, 1), public().view(), task, teacher, &mut rng).unwrap(), None);
        votes.release((data, 0), public().view(), task, teacher, &mut rng).unwrap().unwrap()
    }

    #[test]
    fn without_noise_teachers_know_what_they_were_taught() {
        let numbers = votes(&data((0.1, 0.1), false), Task::Regression, 1e-6);
        assert!(numbers.iter().zip(public().as_slice()).all(|(a, b)| (a - b).abs() < 0.4), "{numbers:?}");
        let classes = votes(&data((0.1, 1.0), true), Task::Classification { classes: 2 }, 1e-6);
        assert_eq!((classes[0], classes[8]), (0.0, 1.0));
    }

    #[test]
    fn no_replaced_row_moves_the_votes_further_than_the_bound() {
        let bound = Votes { teachers: 8, range: (0.0, 1.0), multiplier: 1.0 }.sensitivity(Task::Regression, 40, 9);
        assert_eq!(bound, 2.0 * 3.0 / 8.0);
        let base = votes(&data((0.0, 0.0), false), Task::Regression, 1e-6);
        let mut largest = 0.0f64;
        for first in [(0.0, 1e300), (0.0, -1.0), (1e9, 1.0), (-1.0, 1.0), (1.0, -1.0)] {
            let other = votes(&data(first, false), Task::Regression, 1e-6);
            largest = largest.max(base.iter().zip(&other).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt());
        }
        assert!(largest <= bound * (1.0 + 1e-4) && largest > 0.05 * bound, "{largest} {bound}");
    }

    #[test]
    fn public_rows_with_votes_are_rows_to_learn_from() {
        let rows = public();
        let found = labelled(&[rows.view(), rows.view()], &[Some(vec![1.0; 9]), None]).unwrap();
        assert_eq!((found.rows(0).len(), found.rows(1).len(), found.y()[3]), (9, 0, 1.0));
    }
}
