//! Colours that stay: along a path a cluster keeps the colour of the cluster it shares most nodes with at the
//! neighbouring lambda, starting from the chosen one, so that moving along the path does not flash.

use super::{Path, PathPoint};
use crate::network::COLOURS;

/// A cluster that is not among this many largest gives its colour away.
const KEPT: usize = 2 * COLOURS;

/// The colour of every cluster at every point, `COLOURS` for grey. `seed` is the colour of every node where the colours
/// of the chosen point come from.
pub(crate) fn stable_colours(path: &Path, seed: &[usize]) -> Vec<Vec<usize>> {
    let mut colours = vec![Vec::new(); path.points.len()];
    let mut palette = Palette::default();
    colours[path.chosen] = palette.colour(&path.points[path.chosen], seed);
    let down = (0..path.chosen).rev();
    let up = path.chosen + 1..path.points.len();
    sweep(path, down.collect(), palette.clone(), &mut colours);
    sweep(path, up.collect(), palette, &mut colours);
    colours
}

/// Colours the points in the order given, each by its neighbour towards the chosen one.
fn sweep(path: &Path, order: Vec<usize>, mut palette: Palette, colours: &mut [Vec<usize>]) {
    let mut near = path.chosen;
    for point in order {
        let before = of_nodes(&path.points[near], &colours[near]);
        colours[point] = palette.colour(&path.points[point], &before);
        near = point;
    }
}

/// The colour of every node.
pub(crate) fn of_nodes(point: &PathPoint, colours: &[usize]) -> Vec<usize> {
    point.membership.iter().map(|&cluster| colours[cluster as usize]).collect()
}

/// Which colours were seen last, so that a new cluster takes the one that is longest gone.
#[derive(Clone, Default)]
struct Palette {
    clock: usize,
    seen: [usize; COLOURS],
}

impl Palette {
    fn colour(&mut self, point: &PathPoint, before: &[usize]) -> Vec<usize> {
        let sizes = point.sizes();
        let mut large: Vec<usize> = (0..sizes.len()).filter(|&cluster| sizes[cluster] > 1).collect();
        large.sort_by_key(|&cluster| (std::cmp::Reverse(sizes[cluster]), cluster));
        let mut colours = inherited(point, before, &large[..large.len().min(KEPT)]);
        self.clock += 1;
        // A colour that has just gone is not given to others at once: it would seem to jump.
        let rested = |&colour: &usize| self.seen[colour] == 0 || self.seen[colour] + 1 < self.clock;
        let mut free: Vec<usize> = (0..COLOURS).filter(|c| !colours.contains(c)).filter(rested).collect();
        free.sort_by_key(|&colour| std::cmp::Reverse((self.seen[colour], colour)));
        for cluster in large {
            if colours[cluster] == COLOURS {
                colours[cluster] = free.pop().unwrap_or(COLOURS);
            }
        }
        colours.iter().filter(|&&colour| colour < COLOURS).for_each(|&colour| self.seen[colour] = self.clock);
        colours
    }
}

/// Every colour goes to one cluster at most, larger overlaps first.
fn inherited(point: &PathPoint, before: &[usize], clusters: &[usize]) -> Vec<usize> {
    let mut shared = vec![[0usize; COLOURS]; point.clusters];
    for (&cluster, &colour) in point.membership.iter().zip(before).filter(|(_, colour)| **colour < COLOURS) {
        shared[cluster as usize][colour] += 1;
    }
    let pairs = clusters.iter().flat_map(|&cluster| (0..COLOURS).map(move |colour| (cluster, colour)));
    let mut pairs: Vec<_> = pairs.filter(|&(cluster, colour)| shared[cluster][colour] > 0).collect();
    pairs.sort_by_key(|&(cluster, colour)| (std::cmp::Reverse(shared[cluster][colour]), cluster, colour));
    let (mut colours, mut taken) = (vec![COLOURS; point.clusters], [false; COLOURS]);
    for (cluster, colour) in pairs {
        if colours[cluster] == COLOURS && !taken[colour] {
            (colours[cluster], taken[colour]) = (colour, true);
        }
    }
    colours
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(memberships: &[&[u32]], chosen: usize) -> Path {
        let points = memberships.iter().enumerate().map(|(k, membership)| PathPoint {
            lambda: 1.0 + k as f64,
            clusters: 1 + membership.iter().max().map_or(0, |&cluster| cluster as usize),
            membership: membership.to_vec(),
            ..PathPoint::default()
        });
        Path { points: points.collect(), chosen }
    }

    #[test]
    fn a_cluster_keeps_its_colour_while_its_number_changes() {
        let path = path(&[&[0, 0, 0, 1, 1, 2], &[1, 1, 1, 0, 0, 0], &[0, 0, 0, 0, 0, 0]], 0);
        let colours = stable_colours(&path, &[COLOURS; 6]);
        assert_eq!(colours, [vec![0, 1, COLOURS], vec![1, 0], vec![0]]);
    }

    #[test]
    fn the_larger_part_of_a_split_keeps_the_colour() {
        let path = path(&[&[0; 5], &[0, 0, 0, 1, 1]], 0);
        assert_eq!(stable_colours(&path, &[3; 5]), [vec![3], vec![3, 0]]);
    }

    #[test]
    fn a_colour_does_not_jump() {
        let path = path(&[&[0, 0, 0, 1, 1, 2, 3], &[0, 0, 0, 0, 0, 1, 1], &[0, 0, 0, 0, 0, 1, 1]], 0);
        let seed = [0, 0, 0, 1, 1, COLOURS, COLOURS];
        let colours = stable_colours(&path, &seed);
        assert_eq!((colours[0][1], colours[1][0]), (1, 0));
        assert_ne!(colours[1][1], 1, "the colour of the cluster that has just been joined");
    }

    #[test]
    fn the_colours_of_the_report_are_those_of_the_chosen_point() {
        let path = path(&[&[0, 1, 2, 3], &[0, 0, 1, 1]], 1);
        let colours = stable_colours(&path, &[7, 7, 2, 2]);
        assert_eq!(colours, [vec![COLOURS; 4], vec![7, 2]]);
    }
}
