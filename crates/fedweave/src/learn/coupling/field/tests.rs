use super::*;
use crate::random::{Purpose, stream};
use rand::RngExt;

/// Nodes on a line, the slope of each twice its place, few rows and some noise.
fn line(nodes: usize, rows: usize, seed: u64) -> (Matrix, Dataset) {
    let mut draw = stream(seed, Purpose::LocalData, 0);
    let mut noise = |size: f64| size * (draw.random::<f64>() - 0.5);
    let at: Vec<f64> = (0..nodes).map(|i| i as f64 / nodes as f64).collect();
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for place in &at {
        for _ in 0..rows {
            let feature = noise(4.0);
            x.extend([feature, 1.0]);
            y.push(2.0 * place * feature + 1.0 + noise(0.4));
        }
    }
    let offsets = (0..=nodes).map(|i| i * rows).collect();
    let data = Dataset::new(offsets, Matrix::from_rows(2, x), y, vec![1.0; nodes * rows]).unwrap();
    (Matrix::from_rows(1, at), data)
}

fn without_rows(dim: usize) -> Dataset {
    Dataset::new(vec![0, 0], Matrix::zeros(0, dim), Vec::new(), Vec::new()).unwrap()
}

/// The posterior mean by the normal equations of all nodes and the new one together, with the inverse of the whole kernel matrix.
fn by_all(field: &Field, at: &Matrix, place: f64, data: &Dataset, own: Option<&Dataset>) -> Vec<f64> {
    let (n, d, p) = (data.nodes() + 1, data.dim(), field.directions);
    let places: Vec<f64> = (0..n - 1).map(|i| at.row(i)[0]).chain([place]).collect();
    let cov: Vec<f64> =
        (0..n * n).map(|k| field.kernel.covariance((places[k / n] - places[k % n]).abs(), k / n == k % n)).collect();
    let inverse = crate::learn::coupling::dense::spectral(&cov, n, |e| 1.0 / e);
    let size = n * p;
    let (mut a, mut b) = (vec![0.0; size * size], vec![0.0; size]);
    for (i, j) in (0..n * n).map(|k| (k / n, k % n)) {
        (0..p).for_each(|c| a[(i * p + c) * size + j * p + c] += inverse[i * n + j]);
    }
    for i in 0..n {
        let (rows, node) = if i + 1 < n {
            (data, i)
        } else if let Some(own) = own {
            (own, 0)
        } else {
            continue;
        };
        for r in rows.rows(node) {
            let x: Vec<f64> = (0..p).map(|c| (0..d).map(|j| rows.x(r)[j] * field.root[j * p + c]).sum()).collect();
            let y = rows.y()[r] - dot(rows.x(r), &field.mean);
            for c in 0..p {
                b[i * p + c] += x[c] * y / field.noise;
                (0..p).for_each(|e| a[(i * p + c) * size + i * p + e] += x[c] * x[e] / field.noise);
            }
        }
    }
    let solved = product(&crate::learn::coupling::dense::spectral(&a, size, |e| 1.0 / e), &b, size, size, 1);
    field.in_full(&solved[(n - 1) * p..])
}

#[test]
fn a_place_has_the_posterior_mean() {
    let (at, data) = line(8, 3, 1);
    let field = Field::learn(&at, &data, true).unwrap().unwrap();
    // Rows of its own too: more than parameters, and fewer.
    for rows in [0, 1, 5] {
        let (_, own) = line(1, rows.max(1), 7);
        let own = if rows == 0 { without_rows(2) } else { own };
        let found = field.model(&at, &[0.37], &own, 0);
        let expected = by_all(&field, &at, 0.37, &data, Some(&own).filter(|_| rows > 0));
        for (a, b) in found.iter().zip(&expected) {
            assert!((a - b).abs() < 1e-7 * (1.0 + b.abs()), "{rows} rows: {found:?} {expected:?}");
        }
    }
}

/// A slope that follows the place is found between places, and places that say nothing are told from those that do.
#[test]
fn places_count_where_models_follow_them() {
    let (at, data) = line(60, 4, 2);
    let field = Field::learn(&at, &data, true).unwrap().unwrap();
    assert!(field.kernel.own < 0.5, "{:?}", field.kernel);
    for place in [0.205, 0.5, 0.81] {
        let model = field.model(&at, &[place], &without_rows(2), 0);
        assert!((model[0] - 2.0 * place).abs() < 0.12 && (model[1] - 1.0).abs() < 0.12, "{place}: {model:?}");
    }
    // The same models, dealt out to places at random.
    let mut order: Vec<f64> = at.as_slice().to_vec();
    use rand::seq::SliceRandom;
    order.shuffle(&mut stream(3, Purpose::Shuffle, 0));
    let mixed = Matrix::from_rows(1, order);
    let field = Field::learn(&mixed, &data, true).unwrap().unwrap();
    assert!(field.kernel.own >= 0.6 || field.kernel.length < 0.05, "{:?}", field.kernel);
}

#[test]
fn nodes_without_rows_or_places_have_no_say() {
    let (at, data) = line(10, 3, 4);
    let field = Field::learn(&at, &data, true).unwrap().unwrap();
    let mut more = at.as_slice().to_vec();
    more.extend([0.33, f64::NAN]);
    let offsets = (0..=10).map(|i| i * 3).chain([30, 30]).collect();
    let x = Matrix::from_rows(2, (0..30).flat_map(|r| data.x(r).to_vec()).collect());
    let padded = Dataset::new(offsets, x, data.y().to_vec(), vec![1.0; 30]).unwrap();
    let at_more = Matrix::from_rows(1, more);
    let same = Field::learn(&at_more, &padded, true).unwrap().unwrap();
    let (a, b) = (field.model(&at, &[0.3], &without_rows(2), 0), same.model(&at_more, &[0.3], &without_rows(2), 0));
    assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-5), "{a:?} {b:?}");
    assert!(Field::learn(&Matrix::from_rows(1, vec![f64::NAN; 10]), &data, true).unwrap().is_none());
}

/// A field is part of a run: what is read back says the same.
#[test]
fn a_field_is_read_as_it_was_written() {
    let (at, data) = line(6, 3, 5);
    let field = Field::learn(&at, &data, true).unwrap().unwrap();
    let again: Field = serde_json::from_str(&serde_json::to_string(&field).unwrap()).unwrap();
    assert_eq!(field, again);
}
