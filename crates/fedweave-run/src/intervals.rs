//! Intervals of predictions, from how well the models of a run are known.

use std::path::Path;

use fedweave::learn::coupling::chi_squared_quantile;
use fedweave_io::{Parameters, read_node_numbers};

use crate::error::{Result, require};
use crate::run_dir::COVARIANCE;

/// `x'w +- z sqrt(x' C x + s2)` at every node.
pub(crate) struct Intervals {
    /// The lower triangle of `C`, after the variance `s2` of the noise of a row.
    known: Parameters,
    z: f64,
}

impl Intervals {
    /// Reads the covariance of every model of a run.
    pub(crate) fn read(run: &Path, parameters: &Parameters, level: f64) -> Result<Intervals> {
        require!(level > 0.0 && level < 1.0, "--interval {level}: must be between 0 and 1, e.g. 0.9");
        let (file, shown) = (run.join(COVARIANCE), run.display());
        require!(
            file.is_file(),
            "--interval: {shown} does not say how well its models are known; fit with --coupling learnt"
        );
        let known = read_node_numbers(run, COVARIANCE)?;
        let d = parameters.w.cols();
        let same = known.names == parameters.names && known.w.cols() == 1 + d * (d + 1) / 2;
        require!(same, "{}: not the covariances of parameters.csv; the run directory was changed", file.display());
        Ok(Intervals { known, z: chi_squared_quantile(level).sqrt() })
    }

    /// Half of the width of the interval of a row.
    pub(crate) fn half_width(&self, node: usize, x: &[f64]) -> f64 {
        let row = self.known.w.row(node);
        let entry = |j: usize, k: usize| row[1 + j * (j + 1) / 2 + k];
        let twice = |j: usize| (0..j).map(|k| 2.0 * x[j] * x[k] * entry(j, k)).sum::<f64>();
        let spread: f64 = (0..x.len()).map(|j| x[j] * x[j] * entry(j, j) + twice(j)).sum();
        self.z * (spread.max(0.0) + row[0]).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fedweave::Matrix;

    #[test]
    fn the_width_is_that_of_the_normal_distribution() {
        // C = [[4, 1], [1, 9]], s2 = 2, x = (1, -2): x'Cx = 4 - 4 + 36.
        let known = Parameters {
            features: Vec::new(),
            names: vec!["a".into()],
            w: Matrix::from_rows(4, vec![2.0, 4.0, 1.0, 9.0]),
        };
        let intervals = Intervals { known, z: chi_squared_quantile(0.9).sqrt() };
        assert!((intervals.half_width(0, &[1.0, -2.0]) - 1.6448536 * 38f64.sqrt()).abs() < 1e-5);
    }
}
