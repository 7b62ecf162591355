//! Drawings of components side by side: the tallest first, in rows.

use super::Point;

/// The empty space around a drawing, in units of an edge's natural length.
const MARGIN: f64 = 0.6;

/// Turns the points so that they spread most along the horizontal axis.
pub(super) fn align(points: &mut [Point]) {
    let n = points.len() as f64;
    let mean = points.iter().fold([0.0; 2], |sum, p| [sum[0] + p[0] / n, sum[1] + p[1] / n]);
    let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
    for point in points.iter() {
        let (x, y) = (point[0] - mean[0], point[1] - mean[1]);
        xx += x * x;
        xy += x * y;
        yy += y * y;
    }
    let (sin, cos) = (0.5 * (2.0 * xy).atan2(xx - yy)).sin_cos();
    for point in points {
        let (x, y) = (point[0] - mean[0], point[1] - mean[1]);
        *point = [cos * x + sin * y, cos * y - sin * x];
    }
}

/// Shifts the drawings so that they do not overlap; their order is kept.
pub(super) fn pack(mut drawings: Vec<Vec<Point>>) -> Vec<Vec<Point>> {
    let boxes: Vec<_> = drawings.iter().map(|drawing| extent(drawing)).collect();
    let (width, height) = (|k: usize| boxes[k].1[0] - boxes[k].0[0], |k: usize| boxes[k].1[1] - boxes[k].0[1]);
    let mut order: Vec<usize> = (0..drawings.len()).collect();
    order.sort_by(|&a, &b| height(b).total_cmp(&height(a)).then(a.cmp(&b)));
    let area: f64 = order.iter().map(|&k| width(k) * height(k)).sum();
    let widest = order.iter().map(|&k| width(k)).fold(0.0, f64::max);
    let row_width = widest.max(1.25 * area.sqrt());
    let (mut x, mut y, mut row_height) = (0.0, 0.0, 0.0);
    for k in order {
        if x > 0.0 && x + width(k) > row_width + 1e-9 {
            (x, y, row_height) = (0.0, y + row_height, 0.0);
        }
        let low = boxes[k].0;
        for point in &mut drawings[k] {
            *point = [point[0] - low[0] + x, point[1] - low[1] + y];
        }
        x += width(k);
        row_height = f64::max(row_height, height(k));
    }
    drawings
}

fn extent(points: &[Point]) -> (Point, Point) {
    let (mut low, mut high) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
    for point in points {
        for k in 0..2 {
            low[k] = low[k].min(point[k] - MARGIN);
            high[k] = high[k].max(point[k] + MARGIN);
        }
    }
    (low, high)
}
