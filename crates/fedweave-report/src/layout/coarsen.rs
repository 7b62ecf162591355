//! One level coarser: every node is merged with a neighbour, light ones first; a node whose neighbours are all merged
//! already joins one of them, so that stars shrink too.

use super::Neighbours;

/// The coarser graph, its masses, and the coarse node of each node; `None` if nothing can be merged.
pub(super) fn coarsen(graph: &Neighbours, mass: &[f64]) -> Option<(Neighbours, Vec<f64>, Vec<usize>)> {
    let (parent, count) = merge(graph, mass);
    if count == graph.nodes() {
        return None;
    }
    let mut coarse_mass = vec![0.0; count];
    for (&p, m) in parent.iter().zip(mass) {
        coarse_mass[p] += m;
    }
    let mut edges: Vec<(usize, usize)> = (0..graph.nodes())
        .flat_map(|i| graph.of(i).iter().map(move |&j| (i, j)))
        .map(|(i, j)| (parent[i], parent[j]))
        .filter(|(a, b)| a < b)
        .collect();
    edges.sort_unstable();
    edges.dedup();
    Some((Neighbours::new(count, &edges), coarse_mass, parent))
}

const FREE: usize = usize::MAX;

fn merge(graph: &Neighbours, mass: &[f64]) -> (Vec<usize>, usize) {
    let mut parent = vec![FREE; graph.nodes()];
    let mut count = 0;
    // Scattered order: going along the rows of a grid would merge them into long strips.
    let mut order: Vec<usize> = (0..graph.nodes()).collect();
    order.sort_unstable_by_key(|&i| scatter(i));
    for i in order {
        if parent[i] != FREE {
            continue;
        }
        let lightest = graph.of(i).iter().copied().filter(|&j| parent[j] == FREE);
        match lightest.min_by(|&a, &b| mass[a].total_cmp(&mass[b]).then(scatter(a ^ i).cmp(&scatter(b ^ i)))) {
            Some(j) => {
                (parent[i], parent[j]) = (count, count);
                count += 1;
            }
            None => match graph.of(i).first() {
                Some(&j) => parent[i] = parent[j],
                None => {
                    parent[i] = count;
                    count += 1;
                }
            },
        }
    }
    (parent, count)
}

/// A fixed mixing of the bits, different for different inputs.
fn scatter(i: usize) -> u64 {
    let mut z = (i as u64).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
