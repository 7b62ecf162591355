//! The evidence for the edges of a learnt graph as a report shows it, beside the places of the nodes.

use std::collections::{HashMap, HashSet};

use fedweave::graph::{Graph, great_circle_points, k_nearest};
use fedweave::matrix::Matrix;
use fedweave_io::{Coordinates, Input};
use fedweave_report as report;

use super::Evidence;
use crate::drawing::drawing_step;

/// Kilometres.
const EARTH_RADIUS: f64 = 6371.0;
/// The distances of all pairs are those of the pairs of so many nodes.
const PLACES_PAIRED: usize = 1_000;

impl Evidence {
    /// For every edge that a report draws why it is there.
    pub(crate) fn panel(&self, input: &Input) -> report::LearntGraph {
        let (graph, step) = (&input.graph, drawing_step(input.names.len()));
        let own: HashMap<_, _> = ends_of(self.graph()).zip(0..).collect();
        let drawn = |&(i, j): &(usize, usize)| i % step == 0 && j % step == 0;
        let ends: Vec<_> = ends_of(graph).filter(drawn).collect();
        let of = |all: &[f64]| ends.iter().map(|pair| own.get(pair).map(|&e: &usize| all[e])).collect::<Vec<_>>();
        let places = input.coordinates.as_ref().and_then(Places::of);
        report::LearntGraph {
            measure: self.choice.name().into(),
            words: self.text().iter().map(|line| line.trim().to_owned()).collect(),
            discrepancy: of(&self.learnt.discrepancy),
            probability: self.learnt.probability.as_deref().map_or_else(Vec::new, of),
            distance: places.as_ref().map_or_else(Vec::new, |p| ends.iter().map(|&(i, j)| p.apart(i, j)).collect()),
            kilometres: places.as_ref().is_some_and(|p| p.kilometres),
            nearby: places.and_then(|p| p.beside(graph)),
        }
    }
}

/// The ends of all edges, the smaller first.
fn ends_of(graph: &Graph) -> impl Iterator<Item = (usize, usize)> + '_ {
    (0..graph.edges()).map(|e| graph.nodes_of(e)).map(|(i, j)| (i.min(j), i.max(j)))
}

/// Where nodes are; a row with a gap has no place.
struct Places {
    points: Matrix,
    kilometres: bool,
}

impl Places {
    fn of(at: &Coordinates) -> Option<Places> {
        let kilometres = at.geographic && at.values.cols() == 2;
        let Some(latlon) = at.latitude_longitude().filter(|_| kilometres) else {
            return Some(Places { points: at.values.clone(), kilometres: false });
        };
        // Nodes without a place keep their row.
        let mut points = Matrix::from_rows(3, vec![f64::NAN; 3 * latlon.rows()]);
        for i in (0..latlon.rows()).filter(|&i| latlon.row(i).iter().all(|v| v.is_finite())) {
            let one = great_circle_points(&Matrix::from_rows(2, latlon.row(i).to_vec())).ok()?;
            points.row_mut(i).copy_from_slice(one.row(0));
        }
        Some(Places { points, kilometres })
    }

    fn apart(&self, i: usize, j: usize) -> Option<f64> {
        let squares = self.points.row(i).iter().zip(self.points.row(j)).map(|(a, b)| (a - b) * (a - b));
        let chord = squares.sum::<f64>().sqrt();
        let length = if self.kilometres { 2.0 * EARTH_RADIUS * (0.5 * chord).min(1.0).asin() } else { chord };
        chord.is_finite().then_some(length)
    }

    /// How many edges a graph of nearest places would have too.
    fn beside(&self, graph: &Graph) -> Option<report::Nearby> {
        let placed: Vec<usize> = (0..graph.nodes()).filter(|&i| self.apart(i, i).is_some()).collect();
        let ends: Vec<_> = ends_of(graph).collect();
        let lengths: Vec<f64> = ends.iter().filter_map(|&(i, j)| self.apart(i, j)).collect();
        let n = placed.len();
        if n < 3 || lengths.is_empty() {
            return None;
        }
        let nearest = ((2 * lengths.len()) as f64 / n as f64).round().clamp(1.0, (n - 1) as f64) as usize;
        let columns = self.points.cols();
        let points = Matrix::from_rows(columns, placed.iter().flat_map(|&i| self.points.row(i).to_vec()).collect());
        let near = k_nearest(&points, nearest).ok()?;
        let pairs: HashSet<_> = ends_of(&near).map(|(i, j)| (placed[i], placed[j])).collect();
        let shared = ends.iter().filter(|pair| pairs.contains(*pair)).count();
        let some: Vec<usize> = placed.iter().copied().step_by(n.div_ceil(PLACES_PAIRED)).collect();
        let of_later = |a: usize| {
            let here = some[a];
            some[a + 1..].iter().filter_map(move |&j| self.apart(here, j))
        };
        let all = (0..some.len()).flat_map(of_later);
        Some(report::Nearby {
            nearest,
            shared: shared as f64 / lengths.len() as f64,
            chance: pairs.len() as f64 / (0.5 * n as f64 * (n - 1) as f64),
            median: median(lengths),
            median_of_all: median(all.collect()),
        })
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Five places on a line, one unknown: the chain is the graph of nearest places, a star is not.
    #[test]
    fn graphs_are_seen_beside_places() {
        let at = [0.0, 1.0, 2.0, 3.0, 4.0, f64::NAN];
        let places = Places { points: Matrix::from_rows(1, at.to_vec()), kilometres: false };
        assert_eq!((places.apart(0, 4), places.apart(0, 5)), (Some(4.0), None));
        let chain = Graph::new(6, &[(0, 1, 1.0), (1, 2, 1.0), (2, 3, 1.0), (3, 4, 1.0), (4, 5, 1.0)]).unwrap();
        let found = places.beside(&chain).unwrap();
        assert_eq!((found.nearest, found.shared, found.median, found.median_of_all), (2, 1.0, 1.0, 2.0));
        let star = Graph::new(6, &[(0, 2, 1.0), (0, 3, 1.0), (0, 4, 1.0), (0, 1, 1.0)]).unwrap();
        let found = places.beside(&star).unwrap();
        // With two nearest each, the ends of the line also reach the node after the next.
        assert_eq!((found.shared, found.chance), (0.5, 0.6));
    }

    #[test]
    fn a_degree_of_latitude_has_111_kilometres() {
        let values = Matrix::from_rows(2, vec![60.0, 25.0, 61.0, 25.0, f64::NAN, 25.0]);
        let at = Coordinates { names: vec!["lat".into(), "lon".into()], values, geographic: true };
        let places = Places::of(&at).unwrap();
        assert!((places.apart(0, 1).unwrap() - 111.195).abs() < 0.01, "{:?}", places.apart(0, 1));
        assert_eq!(places.apart(1, 2), None);
    }
}
