//! Which classes are taken for which.

use super::Family;
use crate::dataset::Dataset;
use crate::matrix::Matrix;

/// How many rows of every class were given to every class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confusion {
    classes: usize,
    counts: Vec<usize>,
}

impl Confusion {
    /// No rows yet.
    pub fn new(classes: usize) -> Self {
        Confusion { classes, counts: vec![0; classes * classes] }
    }

    /// Of classes that are given as probabilities of the second of two, a number per row.
    pub fn of_probabilities(family: Family, data: &Dataset, probabilities: &[f64]) -> Option<Self> {
        let mut confusion = Confusion::new(2);
        for (&y, &p) in data.y().iter().zip(probabilities) {
            confusion.add(family.class_of(y)?, usize::from(p > 0.5));
        }
        Some(confusion)
    }

    /// Counts a row of class `truth` for which `told` was predicted.
    pub fn add(&mut self, truth: usize, told: usize) {
        self.counts[truth * self.classes + told] += 1;
    }

    /// Also counts the rows of another one.
    pub fn merge(&mut self, other: &Confusion) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(mine, theirs)| *mine += theirs);
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// Rows of class `truth` for which `told` was predicted.
    pub fn count(&self, truth: usize, told: usize) -> usize {
        self.counts[truth * self.classes + told]
    }

    /// Number of rows, and of those whose class was predicted.
    pub fn rows(&self) -> (usize, usize) {
        (self.counts.iter().sum(), (0..self.classes).map(|class| self.count(class, class)).sum())
    }

    /// Share of the rows whose class was predicted; `None` without rows.
    pub fn accuracy(&self) -> Option<f64> {
        let (rows, right) = self.rows();
        (rows > 0).then(|| right as f64 / rows as f64)
    }
}

impl Family {
    /// Which classes the models `w`, a model per node, take for which; `None` for losses of numbers.
    pub fn confusion(self, data: &Dataset, w: &Matrix) -> Option<Confusion> {
        let link = self.link().filter(|link| link.is_classifier())?;
        let classes = if let Family::Multinomial { classes } = self { classes } else { 2 };
        let (mut confusion, mut scores, mut x) = (Confusion::new(classes), Vec::new(), vec![0.0; data.dim()]);
        for node in 0..data.nodes() {
            for row in data.rows(node) {
                data.row(row).write_to(&mut x);
                self.scores(&x, w.row(node), &mut scores);
                confusion.add(self.class_of(data.y()[row])?, link.class(&scores)?);
            }
        }
        Some(confusion)
    }

    /// Share of the rows whose class the models `w` predict, a model per node; `None` for losses of numbers and without rows.
    pub fn accuracy(self, data: &Dataset, w: &Matrix) -> Option<f64> {
        self.confusion(data, w)?.accuracy()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_counted_where_its_class_and_the_prediction_meet() {
        // One feature and three classes with slopes -1, 0 and 1: the sign of x decides, 0 is a tie that the first class wins.
        let (x, y) = (vec![-2.0, -1.0, 3.0, 1.0, 0.0], vec![0.0, 1.0, 2.0, 2.0, 1.0]);
        let data = Dataset::new(vec![0, 3, 5], Matrix::from_rows(1, x), y, vec![1.0; 5]).unwrap();
        let w = Matrix::from_rows(3, [-1.0, 0.0, 1.0].repeat(2));
        let confusion = Family::Multinomial { classes: 3 }.confusion(&data, &w).unwrap();
        let counts: Vec<usize> = (0..9).map(|k| confusion.count(k / 3, k % 3)).collect();
        assert_eq!(counts, [1, 0, 0, 2, 0, 0, 0, 0, 2]);
        assert_eq!((confusion.rows(), confusion.accuracy()), ((5, 3), Some(0.6)));
        let mut twice = confusion.clone();
        twice.merge(&confusion);
        assert_eq!(twice.rows(), (10, 6));
        assert_eq!(Confusion::new(2).accuracy(), None);
    }

    #[test]
    fn probabilities_and_models_are_counted_alike() {
        let (x, y) = (vec![1.0, -1.0, 2.0, 3.0], vec![1.0, 0.0, 0.0, 1.0]);
        let data = Dataset::new(vec![0, 4], Matrix::from_rows(1, x.clone()), y, vec![1.0; 4]).unwrap();
        let by_models = Family::Logistic.confusion(&data, &Matrix::from_rows(1, vec![2.0])).unwrap();
        let p: Vec<f64> = x.iter().map(|x| 1.0 / (1.0 + f64::exp(-2.0 * x))).collect();
        assert_eq!(Confusion::of_probabilities(Family::Logistic, &data, &p), Some(by_models));
    }
}
