//! Figures 2 and 3 of the convex-clustering paper: accuracy and compactness of the models of 60 users against `lambda`.
//!
//! The paper's optimality conditions, and so its values of `lambda`, are those of our convention.

use fedweave::baseline;
use fedweave::cluster::clusters;
use fedweave::graph::partition::Partition;
use fedweave::loss::{Family, LossSpec, NodeWeight};
use fedweave::path::{Path, PathPoint, PathSettings, PathWatch, geometric, path};
use fedweave::penalty::{Norm2, Penalty, SquaredNorm};
use fedweave::solve::{Settings, Solution};
use fedweave::{Dataset, Matrix};
use fedweave_report::{Curve, Figure, Panel};

use crate::ellipses::{CLUSTERS, Users, options};
use crate::{Check, Error, Outcome, Progress, Setting, Table, short};

const USERS: usize = 20;
const ROWS: usize = 10;
/// Ends of the interval of `lambda` with exactly three models, as printed.
const PRINTED: (f64, f64) = (0.0892, 0.0919);

/// What was measured at one `lambda`.
struct At {
    lambda: f64,
    accuracy: f64,
    distance: f64,
    models: usize,
    right: bool,
}
