//! Independent random streams. Every use of a seed has streams of its own, one per node where nodes draw in parallel:
//! the numbers depend neither on scheduling nor on what else was drawn from the same seed.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// What the numbers are for; streams of different purposes never overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Purpose {
    // Experiments count from 64: what is added below does not change their numbers.
    Points = 64,
    PointsOfUsers,
    TestPoints,
    PublicRows,
    MixingVectors,
    ValidationRows,
    StartWeights,
    Edges = 0,
    EdgesBetweenBlocks,
    StartVector,
    Prototypes,
    TrueWeights,
    NodesWithoutRows,
    Coordinates,
    ClusterCentres,
    LocalData,
    HeldOutRows,
    Shuffle,
    Batches,
    Delays,
    Subsets,
    StartModels,
    Trees,
    Layers,
    MiniBatches,
    Held,
    Candidates,
    SharedRows,
    Distilled,
    ShockOrder,
    Noise,
    Canaries,
    Directions,
    Pairs,
    Centres,
    Stress,
}

/// The stream of a node at a point: another one wherever the node is. For noise that must not be the same at two points.
pub fn stream_at(seed: u64, purpose: Purpose, node: usize, point: &[f64]) -> ChaCha8Rng {
    // Fowler, Noll and Vo's hash 1a over whole numbers, in the 48 bits that a stream has.
    let hash = |hash: u64, bits: u64| {
        let mixed = (hash ^ bits).wrapping_mul(0x0100_0000_01b3);
        mixed ^ (mixed >> 29)
    };
    let whole = point.iter().fold(hash(0xcbf2_9ce4_8422_2325, node as u64), |found, x| hash(found, x.to_bits()));
    stream(seed, purpose, (whole >> 16) as usize)
}

/// Stream `index` (usually a node) of a purpose.
pub fn stream(seed: u64, purpose: Purpose, index: usize) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream((purpose as u64) << 48 | index as u64);
    rng
}
