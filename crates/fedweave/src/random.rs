//! Independent random streams. Every use of a seed has streams of its own, one per node where nodes draw in parallel:
//! the numbers depend neither on scheduling nor on what else was drawn from the same seed.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// What the numbers are for; streams of different purposes never overlap.
#[derive(Clone, Copy)]
pub(crate) enum Purpose {
    Edges,
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
}

/// Stream `index` (usually a node) of a purpose.
pub(crate) fn stream(seed: u64, purpose: Purpose, index: usize) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream((purpose as u64) << 48 | index as u64);
    rng
}
