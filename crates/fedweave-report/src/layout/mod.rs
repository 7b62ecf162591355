//! Positions for a graph without coordinates: a multilevel force layout, the same for the same edges every time.
//!
//! Each connected component is laid out by itself, turned so that its long axis is horizontal, and the components are
//! packed in rows. Inside a component the forces of Fruchterman and Reingold (springs along the edges, repulsion between
//! all nodes) are followed from the coarsest to the finest of a series of graphs, each obtained from the next by merging
//! neighbours (C. Walshaw, 2003; Y. Hu, 2005): plain force methods fold large graphs, coarse ones first do not.

mod coarsen;
mod force;
mod pack;
mod quadtree;

pub(crate) type Point = [f64; 2];

/// A graph as its neighbour lists.
pub(crate) struct Neighbours {
    start: Vec<usize>,
    list: Vec<usize>,
}

/// One position per node; edges refer to nodes below `nodes`.
pub(crate) fn layout(nodes: usize, edges: &[(usize, usize)]) -> Vec<Point> {
    let graph = Neighbours::new(nodes, edges);
    let components = graph.components();
    let drawings = components.iter().map(|members| draw_component(&graph, members)).collect();
    let mut positions = vec![[0.0; 2]; nodes];
    for (members, points) in components.iter().zip(pack::pack(drawings)) {
        for (&node, point) in members.iter().zip(points) {
            positions[node] = point;
        }
    }
    positions
}

fn draw_component(graph: &Neighbours, members: &[usize]) -> Vec<Point> {
    if members.len() == 1 {
        return vec![[0.0, 0.0]];
    }
    let mut points = multilevel(graph.induced(members), vec![1.0; members.len()]);
    pack::align(&mut points);
    points
}

/// Lays the coarser graph out first and starts from that.
fn multilevel(graph: Neighbours, mass: Vec<f64>) -> Vec<Point> {
    let nodes = graph.nodes();
    let coarser = if nodes > 24 { coarsen::coarsen(&graph, &mass) } else { None };
    match coarser {
        None => {
            let mut points: Vec<Point> = (0..nodes).map(sunflower).collect();
            force::relax(&graph, &mass, &mut points, 300, 0.97);
            points
        }
        Some((coarse, coarse_mass, parent)) => {
            let coarse_points = multilevel(coarse, coarse_mass);
            let mut points: Vec<Point> = (0..nodes).map(|i| beside(coarse_points[parent[i]], i)).collect();
            let rounds = if nodes > 20_000 { 15 } else { 80 };
            force::relax(&graph, &mass, &mut points, rounds, 0.95);
            points
        }
    }
}

/// Evenly spread points, by the golden angle.
fn sunflower(i: usize) -> Point {
    let (radius, angle) = ((i as f64 + 0.5).sqrt(), i as f64 * 2.399_963_229_728_653);
    [radius * angle.cos(), radius * angle.sin()]
}

fn beside(parent: Point, i: usize) -> Point {
    let angle = i as f64 * 2.399_963_229_728_653;
    [parent[0] + 0.3 * angle.cos(), parent[1] + 0.3 * angle.sin()]
}

impl Neighbours {
    pub(crate) fn new(nodes: usize, edges: &[(usize, usize)]) -> Self {
        let mut start = vec![0; nodes + 1];
        for &(i, j) in edges.iter().filter(|(i, j)| i != j) {
            start[i + 1] += 1;
            start[j + 1] += 1;
        }
        for i in 0..nodes {
            start[i + 1] += start[i];
        }
        let (mut next, mut list) = (start.clone(), vec![0; start[nodes]]);
        for &(i, j) in edges.iter().filter(|(i, j)| i != j) {
            list[next[i]] = j;
            list[next[j]] = i;
            next[i] += 1;
            next[j] += 1;
        }
        Neighbours { start, list }
    }

    pub(crate) fn nodes(&self) -> usize {
        self.start.len() - 1
    }

    pub(crate) fn of(&self, i: usize) -> &[usize] {
        &self.list[self.start[i]..self.start[i + 1]]
    }

    /// The connected components, the members of each in increasing order.
    fn components(&self) -> Vec<Vec<usize>> {
        let mut seen = vec![false; self.nodes()];
        let mut components = Vec::new();
        for root in 0..self.nodes() {
            if std::mem::replace(&mut seen[root], true) {
                continue;
            }
            let mut members = vec![root];
            let mut done = 0;
            while done < members.len() {
                for &j in self.of(members[done]) {
                    if !std::mem::replace(&mut seen[j], true) {
                        members.push(j);
                    }
                }
                done += 1;
            }
            members.sort_unstable();
            components.push(members);
        }
        components
    }

    /// The graph on some of the nodes, renumbered; `members` is sorted.
    fn induced(&self, members: &[usize]) -> Neighbours {
        let place = |node: usize| members.binary_search(&node).ok();
        let mut edges = Vec::new();
        for (a, &node) in members.iter().enumerate() {
            let later = self.of(node).iter().filter(|&&j| j > node);
            edges.extend(later.filter_map(|&j| place(j).map(|b| (a, b))));
        }
        Neighbours::new(members.len(), &edges)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(side: usize) -> Vec<(usize, usize)> {
        let at = |r: usize, c: usize| r * side + c;
        let mut edges = Vec::new();
        for r in 0..side {
            for c in 0..side {
                if c + 1 < side {
                    edges.push((at(r, c), at(r, c + 1)));
                }
                if r + 1 < side {
                    edges.push((at(r, c), at(r + 1, c)));
                }
            }
        }
        edges
    }

    fn distance(a: Point, b: Point) -> f64 {
        (a[0] - b[0]).hypot(a[1] - b[1])
    }

    #[test]
    fn grids_unfold_into_squares() {
        for side in [5, 20, 60] {
            let edges = grid(side);
            let points = layout(side * side, &edges);
            let longest = edges.iter().map(|&(i, j)| distance(points[i], points[j])).fold(0.0, f64::max);
            let (across, other) =
                (distance(points[0], points[side * side - 1]), distance(points[side - 1], points[side * (side - 1)]));
            assert!(
                across.min(other) > 0.4 * (side - 1) as f64 * longest,
                "side {side}: {across} {other}, longest {longest}"
            );
            assert!(across.max(other) < 1.4 * across.min(other), "side {side}: {across} {other}");
        }
    }

    #[test]
    fn the_same_edges_give_the_same_picture() {
        assert_eq!(layout(100, &grid(10)), layout(100, &grid(10)));
    }

    #[test]
    fn degenerate_graphs_have_finite_distinct_positions() {
        let star: Vec<_> = (1..50).map(|i| (0, i)).collect();
        for (nodes, edges) in [(0, vec![]), (1, vec![]), (5, vec![]), (2, vec![(0, 1)]), (3, vec![(0, 0)]), (50, star)]
        {
            let points = layout(nodes, &edges);
            assert_eq!(points.len(), nodes);
            for a in 0..nodes {
                assert!(points[a].iter().all(|x| x.is_finite()));
                assert!((0..a).all(|b| distance(points[a], points[b]) > 1e-6), "nodes {nodes}, point {a}");
            }
        }
    }
}
