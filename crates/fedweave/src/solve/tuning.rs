//! Numbers that were tuned: how often to look, when a correction or a fused problem is worth its time, when one method hands over
//! to another. They decide how long a run takes, never whether its answer is right: that is judged by a certificate.
//!
//! They are judged together by `fedweave bench` against the times in docs/benchmarks.md: looks, corrections, fusion and the ratio of
//! steps by its sections Headline and Growth, carried clusters and warm starts by Paths, the linear systems by Scale. Whoever
//! changes one runs `fedweave bench` before and after, and writes the new times there.

// Looks: how often iterates are judged.

/// A look costs a few iterations. The first ones are spaced by this share of the iterations done, ...
pub const LOOK_SPACING_FIRST: f64 = 0.5;
/// ... those with no progress in sight by this, ...
pub const LOOK_SPACING_BLIND: f64 = 0.2;
/// ... the others by something between these two.
pub const LOOK_SPACING: (f64, f64) = (0.1, 0.4);
/// Clusters are given so many of the smallest pauses to settle.
pub const SETTLING_PAUSES: usize = 4;
/// Newton's method takes about as much work as so many iterations; a longer tail is left to it.
pub const TAIL_ITERATIONS_MAX: f64 = 2000.0;
/// Before so many iterations nothing is known about the tail.
pub const TAIL_KNOWN_ITERATION: usize = 300;

// Corrections of flows, in units of the tolerance, of iterations and of curvatures.

/// A correction of the flows is worth a try when the residual is within this factor of the tolerance ...
pub const CORRECTION_RESIDUAL: f64 = 100.0;
/// ... and otherwise each time the number of iterations has doubled.
pub const FIRST_CORRECTION_ITERATION: usize = 60;
/// Where models no longer improve, the next one comes after this share of that.
pub const SETTLED_WAIT_SHARE: f64 = 0.65;
/// A correction costs about as much as so many iterations.
pub const CORRECTION_ITERATIONS: f64 = 500.0;
/// Edges are stiffer than nodes in the first correction by this factor ...
pub const STIFFNESS_FIRST: f64 = 1000.0;
/// ... and in every further one by this: more exact, and more work ...
pub const STIFFNESS_GROWTH: f64 = 4.0;
/// ... up to here, where rounding begins to show.
pub const STIFFNESS_MAX: f64 = 1e4;
/// A bound is computed when the residual is this many times the root of the tolerance.
pub const BOUND_RESIDUAL: f64 = 100.0;
/// Parameters of all nodes up to which a correction costs next to nothing.
pub const SMALL_PARAMETERS: usize = 1000;
/// Gaps this many times larger than allowed are far away.
pub const FAR_GAP: f64 = 30.0;
/// Most steps of conjugate gradients for one correction.
pub const CORRECTION_PRODUCTS_MAX: usize = 2000;
/// Numbers read by conjugate gradients that cost nobody's patience, whatever the iterations cost.
pub const CHEAP_NUMBERS: usize = 50_000_000;

/// What a factorisation is worth, in products: stiff systems are solved in a few.
pub const CORRECTION_FACTOR_WORTH: f64 = 5.0;

// Fusion: problems with one model per cluster.

/// Looks before any fused problem where flows prove nothing, ...
pub const LOOKS_BEFORE_FUSION: usize = 2;
/// ... and how many times fewer models it must have than there are nodes.
pub const FUSION_REDUCTION_MIN: f64 = 4.0;
/// A fused problem costs about as much as so many iterations, and as this many for as many models as nodes; a shorter
/// tail is left to the iterations.
pub const FUSION_ITERATIONS: (f64, f64) = (20.0, 800.0);
/// One with more unknowns than [`PLANNED_SIZE`] has no factors, and costs so many times as much.
pub const FUSION_UNPLANNED: f64 = 10.0;
/// As long as nothing is known about the tail, gaps at most so many times too large are left to the iterations.
pub const NEARLY_GAP: f64 = 20.0;
/// It may cost as much as this many iterations and this share of those done.
pub const FUSION_EFFORT: (f64, f64) = (20.0, 0.05);
/// Improvements of the lower bound, in units of what is allowed, below which a fused problem is worth its time.
pub const RIPE_IMPROVEMENT: f64 = 2.0;
/// Clusters of a similar problem are tried first if they are this many times fewer than the nodes.
pub const CARRIED_REDUCTION_MIN: usize = 16;
/// Fused problems are solved to this share of the tolerance.
pub const FUSION_TOLERANCE_SHARE: f64 = 0.03;

/// What a factorisation is worth, in products with the matrix: systems are not solved to many digits.
pub const FUSION_FACTOR_WORTH: f64 = 30.0;

// The ratio of primal to dual steps.

/// The ratio may change for the first time after so many iterations, then at growing intervals.
pub const FIRST_RATIO_ITERATION: usize = 10;
/// A change by less than this factor is not worth new factors ...
pub const RATIO_CHANGE_MIN: f64 = 1.2;
/// ... where the ratio is one that served a similar problem well, this one.
pub const RATIO_CHANGE_MIN_WARM: f64 = 1.5;

/// The step towards a node's own model, in units of the mean curvature: long, but under-determined models stay small.
pub const COLD_STEP: f64 = 100.0;
/// The ratio for which models and flows would have equally far to go if neighbours met half-way and all flows ended at their
/// bounds is larger than the good ones, by about this factor.
pub const COLD_RATIO_SHARE: f64 = 0.25;
/// Where bounds are so large that few flows end there, losses decide how far flows go: the smallest ratio, in units of
/// the mean curvature.
pub const COLD_RATIO_MIN: f64 = 0.5;

// Linear systems.

/// What a factorisation is worth where systems are to be solved exactly, in products with the matrix.
pub const FACTOR_WORTH: f64 = 200.0;
/// The elimination of systems with more unknowns than this ...
pub const PLANNED_SIZE: f64 = 2e4;
/// ... and more edges per node than this is not even planned: planning costs more than it brings.
pub const PLANNED_EDGES_PER_NODE: f64 = 2.2;

/// Edges this much stiffer than nodes ask for a preconditioner that knows the whole network.
pub const COUPLED_STIFFNESS: f64 = 30.0;

// Methods in rounds.

/// Looks are spaced by the rounds done over this.
pub const LOOKS_PER_DOUBLING: usize = 20;
/// A correction of the flows is worth a try when the residual is within this factor of the tolerance; otherwise each time
/// the number of rounds has doubled.
pub const CORRECTION_RESIDUAL_IN_ROUNDS: f64 = 10.0;
/// Most products with the matrix for one correction.
pub const CORRECTION_PRODUCTS_IN_ROUNDS: usize = 500;

/// Numbers that may be read between two questions to the watcher.
pub const NUMBERS_BETWEEN_QUESTIONS: usize = 100_000_000;
