//! Following the forces: springs `d^3` along the edges (steeper than the usual `d^2`: fewer holes), repulsion `mass / d`
//! between all nodes (by a quadtree), steps of bounded and shrinking length.

use super::quadtree::Quadtree;
use super::{Neighbours, Point};

/// Repulsion against springs; only the scale of the picture depends on it.
const REPULSION: f64 = 0.3;

/// Moves the points for some rounds; `cooling` shrinks the steps from round to round.
pub(super) fn relax(graph: &Neighbours, mass: &[f64], points: &mut [Point], rounds: usize, cooling: f64) {
    // A merged node of mass m stands for m nodes, and its natural distances grow with m.
    let mut step = mass.iter().sum::<f64>() / mass.len() as f64;
    let mut open = Vec::new();
    for _ in 0..rounds {
        let tree = Quadtree::new(points, mass);
        let push = |i: usize| tree.repulsion(points[i], &mut open).map(|f| f * REPULSION);
        let pushes: Vec<Point> = (0..points.len()).map(push).collect();
        let pulls: Vec<Point> = (0..points.len()).map(|i| pull(graph, mass, points, i)).collect();
        for (i, point) in points.iter_mut().enumerate() {
            *point = advance(*point, [pushes[i][0] + pulls[i][0], pushes[i][1] + pulls[i][1]], step);
        }
        step *= cooling;
    }
}

/// The springs of one node; its mass is its inertia.
fn pull(graph: &Neighbours, mass: &[f64], points: &[Point], i: usize) -> Point {
    let [x, y] = points[i];
    graph.of(i).iter().fold([0.0, 0.0], |[fx, fy], &j| {
        let (dx, dy) = (points[j][0] - x, points[j][1] - y);
        let stiffness = (dx * dx + dy * dy) / mass[i];
        [fx + dx * stiffness, fy + dy * stiffness]
    })
}

fn advance([x, y]: Point, [fx, fy]: Point, step: f64) -> Point {
    let size = fx.hypot(fy);
    if size < 1e-12 {
        return [x, y];
    }
    let length = (0.3 * size).min(step) / size;
    [x + fx * length, y + fy * length]
}
