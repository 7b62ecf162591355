//! Following the forces: springs `d^3` along the edges (steeper than the usual `d^2`: fewer holes), repulsion `mass / d` between all nodes (by a quadtree), steps
//! of bounded and shrinking length.

use super::quadtree::Quadtree;
use super::{Neighbours, Point};

/// Repulsion against springs; only the scale of the picture depends on it.
const REPULSION: f64 = 0.3;

/// Moves the points for some rounds; `cooling` shrinks the steps from round to round.
pub(super) fn relax(graph: &Neighbours, mass: &[f64], points: &mut Vec<Point>, rounds: usize, cooling: f64) {
    // A merged node of mass m stands for m nodes, and its natural distances grow with m.
    let mut step = mass.iter().sum::<f64>() / mass.len() as f64;
    for _ in 0..rounds {
        let tree = Quadtree::new(points, mass);
        let moved = (0..points.len())
            .map(|i| advance(points[i], force(graph, mass, points, &tree, i), step))
            .collect();
        *points = moved;
        step *= cooling;
    }
}

fn force(graph: &Neighbours, mass: &[f64], points: &[Point], tree: &Quadtree, i: usize) -> Point {
    let [x, y] = points[i];
    let [mut fx, mut fy] = tree.repulsion(points[i]).map(|f| f * REPULSION);
    for &j in graph.of(i) {
        let (dx, dy) = (points[j][0] - x, points[j][1] - y);
        let pull = (dx * dx + dy * dy) / mass[i];
        fx += dx * pull;
        fy += dy * pull;
    }
    [fx, fy]
}

fn advance([x, y]: Point, [fx, fy]: Point, step: f64) -> Point {
    let size = fx.hypot(fy);
    if size < 1e-12 {
        return [x, y];
    }
    let length = (0.3 * size).min(step) / size;
    [x + fx * length, y + fy * length]
}
