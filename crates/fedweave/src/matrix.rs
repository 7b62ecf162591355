//! The only storage of weights: one `Vec<f64>`, a row per node (or per edge).

/// A dense matrix in row-major order. Row `i` holds the parameters of node `i` (or the flow on edge `i`).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Matrix {
    cols: usize,
    data: Vec<f64>,
}

impl Matrix {
    /// A matrix of zeros.
    pub fn zeros(rows: usize, cols: usize) -> Self {
        Matrix { cols, data: vec![0.0; rows * cols] }
    }

    /// A matrix from its entries, row after row. Panics if they do not fill whole rows.
    pub fn from_rows(cols: usize, data: Vec<f64>) -> Self {
        assert!(cols > 0 && data.len().is_multiple_of(cols), "entries must fill whole rows");
        Matrix { cols, data }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.data.len().checked_div(self.cols).unwrap_or(0)
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Row `i`.
    pub fn row(&self, i: usize) -> &[f64] {
        &self.data[i * self.cols..(i + 1) * self.cols]
    }

    /// Row `i`, writable.
    pub fn row_mut(&mut self, i: usize) -> &mut [f64] {
        &mut self.data[i * self.cols..(i + 1) * self.cols]
    }

    /// Appends a row.
    pub fn push_row(&mut self, row: &[f64]) {
        assert_eq!(row.len(), self.cols, "a whole row");
        self.data.extend_from_slice(row);
    }

    /// All entries, row after row.
    pub fn as_slice(&self) -> &[f64] {
        &self.data
    }

    /// All entries, writable.
    pub fn as_mut_slice(&mut self) -> &mut [f64] {
        &mut self.data
    }

    /// All rows, borrowed.
    pub fn view(&self) -> Rows<'_> {
        Rows { cols: self.cols, data: &self.data }
    }

    /// Takes over the entries of a matrix of the same shape.
    pub fn copy_from(&mut self, other: &Matrix) {
        assert_eq!((self.cols, self.data.len()), (other.cols, other.data.len()), "matrices of the same shape");
        self.data.copy_from_slice(&other.data);
    }

    /// Largest Euclidean norm of a row; 0 for an empty matrix.
    pub fn max_row_norm(&self) -> f64 {
        (0..self.rows()).map(|i| norm2(self.row(i))).fold(0.0, f64::max)
    }
}

/// Rows of equal length, borrowed: one after the other in a slice.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rows<'a> {
    cols: usize,
    data: &'a [f64],
}

impl<'a> Rows<'a> {
    /// Rows of `cols` entries. Panics if the entries do not fill whole rows.
    pub fn new(cols: usize, data: &'a [f64]) -> Self {
        assert!(cols > 0 && data.len().is_multiple_of(cols), "entries must fill whole rows");
        Rows { cols, data }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.data.len().checked_div(self.cols).unwrap_or(0)
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Row `i`.
    pub fn row(&self, i: usize) -> &'a [f64] {
        &self.data[i * self.cols..(i + 1) * self.cols]
    }

    /// All entries, row after row.
    pub fn as_slice(&self) -> &'a [f64] {
        self.data
    }
}

/// Inner product, summed in a fixed order on four accumulators.
#[inline]
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (mut s, split) = ([0.0; 4], a.len() / 4 * 4);
    for (x, y) in a[..split].chunks_exact(4).zip(b[..split].chunks_exact(4)) {
        for k in 0..4 {
            s[k] += x[k] * y[k];
        }
    }
    let tail: f64 = a[split..].iter().zip(&b[split..]).map(|(x, y)| x * y).sum();
    (s[0] + s[1]) + (s[2] + s[3]) + tail
}

/// Euclidean norm.
#[inline]
pub fn norm2(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

/// `y <- y + c x`.
#[inline]
pub fn axpy(c: f64, x: &[f64], y: &mut [f64]) {
    for (yi, xi) in y.iter_mut().zip(x) {
        *yi += c * xi;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_contiguous() {
        let m = Matrix::from_rows(2, vec![1.0, 2.0, 3.0, 4.0]);
        assert_eq!((m.rows(), m.cols(), m.row(1)), (2, 2, &[3.0, 4.0][..]));
        assert_eq!(m.max_row_norm(), 5.0);
    }

    #[test]
    fn dot_matches_the_plain_sum() {
        let a: Vec<f64> = (1..=11).map(f64::from).collect();
        assert_eq!(dot(&a, &a), 506.0);
    }
}
