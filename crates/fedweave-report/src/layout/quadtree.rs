//! Barnes and Hut: far groups of nodes repel like one heavy node at their centre of mass.

use super::Point;

/// A group is far if its width is below this share of its distance.
const FAR: f64 = 1.0;
const DEPTH_MAX: u32 = 32;

pub(super) struct Quadtree {
    cells: Vec<Cell>,
}

#[derive(Clone)]
struct Cell {
    middle: Point,
    half: f64,
    mass: f64,
    /// The sum of mass times position.
    moment: Point,
    /// Zero: no child. The root is nobody's child.
    children: [u32; 4],
    leaf: bool,
}

impl Quadtree {
    pub(super) fn new(points: &[Point], mass: &[f64]) -> Self {
        let (middle, half) = bounds(points);
        let mut tree = Quadtree { cells: Vec::with_capacity(2 * points.len() + 1) };
        tree.cells.push(Cell::empty(middle, half));
        for (point, mass) in points.iter().zip(mass) {
            tree.insert(*point, *mass);
        }
        tree
    }

    /// The sum over all others of `mass / distance`, pointing away from them; `open` is working space.
    pub(super) fn repulsion(&self, point: Point, open: &mut Vec<u32>) -> Point {
        let (mut fx, mut fy) = (0.0, 0.0);
        open.clear();
        open.push(0);
        while let Some(index) = open.pop() {
            let cell = &self.cells[index as usize];
            let (dx, dy) = (point[0] - cell.moment[0] / cell.mass, point[1] - cell.moment[1] / cell.mass);
            let squared = dx * dx + dy * dy;
            if cell.leaf || 4.0 * cell.half * cell.half < FAR * FAR * squared {
                // Zero distance: the point itself.
                let strength = if squared > 1e-18 { cell.mass / squared.max(1e-6) } else { 0.0 };
                fx += dx * strength;
                fy += dy * strength;
            } else {
                open.extend(cell.children.iter().filter(|&&child| child != 0));
            }
        }
        [fx, fy]
    }

    fn insert(&mut self, point: Point, mass: f64) {
        let (mut at, mut depth) = (0, 0);
        loop {
            let first = self.cells[at].mass == 0.0;
            if !first && self.cells[at].leaf && depth < DEPTH_MAX {
                self.split(at);
            }
            let cell = &mut self.cells[at];
            cell.mass += mass;
            cell.moment = [cell.moment[0] + mass * point[0], cell.moment[1] + mass * point[1]];
            if first || cell.leaf {
                return;
            }
            at = self.child(at, point);
            depth += 1;
        }
    }

    /// Hands the single body of a leaf down to a child.
    fn split(&mut self, at: usize) {
        let Cell { mass, moment, .. } = self.cells[at];
        self.cells[at].leaf = false;
        let child = self.child(at, [moment[0] / mass, moment[1] / mass]);
        self.cells[child].mass = mass;
        self.cells[child].moment = moment;
    }

    fn child(&mut self, at: usize, point: Point) -> usize {
        let Cell { middle, half, children, .. } = self.cells[at];
        let (right, up) = (point[0] >= middle[0], point[1] >= middle[1]);
        let quarter = usize::from(right) + 2 * usize::from(up);
        if children[quarter] == 0 {
            let shift = |positive: bool| if positive { half / 2.0 } else { -half / 2.0 };
            let centre = [middle[0] + shift(right), middle[1] + shift(up)];
            self.cells[at].children[quarter] = self.cells.len() as u32;
            self.cells.push(Cell::empty(centre, half / 2.0));
        }
        self.cells[at].children[quarter] as usize
    }
}

impl Cell {
    fn empty(middle: Point, half: f64) -> Self {
        Cell { middle, half, mass: 0.0, moment: [0.0; 2], children: [0; 4], leaf: true }
    }
}

fn bounds(points: &[Point]) -> (Point, f64) {
    let (mut low, mut high) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
    for point in points {
        for k in 0..2 {
            low[k] = low[k].min(point[k]);
            high[k] = high[k].max(point[k]);
        }
    }
    let half = 0.5 * (high[0] - low[0]).max(high[1] - low[1]).max(1e-9);
    ([0.5 * (low[0] + high[0]), 0.5 * (low[1] + high[1])], half)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_to_the_sum_over_all_pairs() {
        let points: Vec<Point> = (0..300).map(super::super::sunflower).collect();
        let mass: Vec<f64> = (0..300).map(|i| 1.0 + (i % 3) as f64).collect();
        let tree = Quadtree::new(&points, &mass);
        for i in [0, 17, 299] {
            let [fx, fy] = tree.repulsion(points[i], &mut Vec::new());
            let (mut ex, mut ey) = (0.0, 0.0);
            for j in (0..300).filter(|&j| j != i) {
                let (dx, dy) = (points[i][0] - points[j][0], points[i][1] - points[j][1]);
                let strength = mass[j] / (dx * dx + dy * dy);
                ex += dx * strength;
                ey += dy * strength;
            }
            let scale = mass.iter().sum::<f64>() / 17.0;
            assert!((fx - ex).hypot(fy - ey) < 0.05 * scale, "{i}: {fx} {fy}, {ex} {ey}");
        }
    }

    #[test]
    fn coincident_points_do_no_harm() {
        let points = vec![[1.0, 1.0]; 10];
        let tree = Quadtree::new(&points, &[1.0; 10]);
        assert!(tree.repulsion([2.0, 1.0], &mut Vec::new())[0].is_finite());
    }
}
