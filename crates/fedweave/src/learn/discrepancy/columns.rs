//! Rows as columns of numbers: features, then the label (of classes: one column each), all with mean 0 and deviation 1.

use super::NodeRows;
use crate::loss::Family;
use crate::matrix::Matrix;

/// Mean and standard deviation of some numbers.
pub fn mean_and_deviation(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let count = values.clone().count().max(1) as f64;
    let mean = values.clone().sum::<f64>() / count;
    (mean, (values.map(|v| (v - mean).powi(2)).sum::<f64>() / count).sqrt())
}

/// All rows, in the order of the dataset. A column that never changes is left out.
pub fn columns(rows: &NodeRows) -> Matrix {
    let (data, features) = (&rows.data, rows.data.dim() - usize::from(rows.intercept));
    let classes = match rows.family {
        Family::Multinomial { classes } => classes,
        Family::Point => 0,
        _ => 1,
    };
    let value = |row: usize, column: usize| match (column < features, rows.family) {
        (true, _) => data.x(row)[column],
        (false, Family::Multinomial { .. }) => f64::from(u8::from(data.y()[row] as usize == column - features)),
        (false, _) => data.y()[row],
    };
    let scale = |column: usize| {
        let (mean, deviation) = mean_and_deviation((0..data.len()).map(|row| value(row, column)));
        (deviation > 1e-12 * mean.abs().max(f64::MIN_POSITIVE)).then_some((column, mean, deviation))
    };
    let kept: Vec<(usize, f64, f64)> = (0..features + classes).filter_map(scale).collect();
    let scaled =
        |row: usize| kept.iter().map(move |&(column, mean, deviation)| (value(row, column) - mean) / deviation);
    match kept.is_empty() {
        true => Matrix::zeros(data.len(), 1),
        false => Matrix::from_rows(kept.len(), (0..data.len()).flat_map(scaled).collect()),
    }
}
