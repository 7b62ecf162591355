//! Which problems, to which accuracy, against whom.

use clap::ValueEnum;
use fedweave::loss::Family;

use crate::Arguments;
use crate::million;

/// Problems that belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SetName {
    /// One problem of every kind, against everybody
    Headline,
    /// Large problems; of the others only Clarabel, and only on the smallest
    Scale,
    /// Ours from 10^3 to 10^6 nodes
    Growth,
    /// Paths of 50 values of lambda against as many solutions from nothing
    Path,
    /// Every loss with three penalties on three kinds of graph, 1,500 nodes each, against CVXPY and the best in numpy
    Losses,
    /// Three small problems, against everybody
    Quick,
}

const TOLERANCE: f64 = 1e-6;
const LIMIT: f64 = 120.0;
const SCALE_LIMIT: f64 = 330.0;

/// Whom to race against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    Everybody,
    These(&'static [&'static str]),
}

impl Field {
    /// True if `name` takes part, also in the eyes of `--only`.
    pub fn includes(self, name: &str, only: Option<&[String]>) -> bool {
        let invited = match self {
            Field::Everybody => true,
            Field::These(names) => names.contains(&name),
        };
        invited && only.is_none_or(|only| only.iter().any(|o| o == name))
    }

    /// True if nobody can take part.
    pub fn is_empty(self, only: Option<&[String]>) -> bool {
        let nobody = only.is_some_and(|only| only.iter().all(|name| name == crate::ours::NAME));
        nobody || self == Field::These(&[])
    }
}

/// One problem to solve.
#[derive(Debug, Clone)]
pub struct Case {
    pub name: String,
    pub tolerance: f64,
    /// Seconds a competitor may take.
    pub limit: f64,
    pub rivals: Field,
}

/// The problems the arguments ask for.
pub fn cases(args: &Arguments) -> Vec<Case> {
    let limit = args.time_limit.unwrap_or(if args.set == Some(SetName::Scale) { SCALE_LIMIT } else { LIMIT });
    let case = |name: &str, tolerance: f64, rivals: Field| Case {
        name: name.to_owned(),
        tolerance: args.tolerance.unwrap_or(tolerance),
        limit,
        rivals,
    };
    match &args.problems {
        Some(names) => names.iter().map(|name| case(name, TOLERANCE, Field::Everybody)).collect(),
        None if args.set == Some(SetName::Losses) => {
            every_loss().iter().map(|name| case(name, TOLERANCE, Field::These(&ANY_LOSS))).collect()
        }
        None => {
            args.set.unwrap_or(SetName::Quick).list().iter().map(|&(name, tol, field)| case(name, tol, field)).collect()
        }
    }
}

/// Competitors that know other losses than the squared and the logistic one.
const ANY_LOSS: [&str; 3] = ["cvxpy_clarabel", "cvxpy_scs", "chambolle_pock"];

/// The names of benches/compare/every_loss.py, loss after loss.
fn every_loss() -> Vec<String> {
    let graphs = ["plane", "scalefree", "blocks"];
    let penalties = ["norm2", "norm1", "squared"];
    let of_loss = |loss: &str| {
        let cell = |graph: &str, penalty: &str| format!("loss_{graph}_{loss}_{penalty}");
        graphs.iter().flat_map(|graph| penalties.iter().map(|p| cell(graph, p)).collect::<Vec<_>>()).collect::<Vec<_>>()
    };
    Family::all(1.0, 0.5).iter().flat_map(|family| of_loss(family.name())).collect()
}

type Entry = (&'static str, f64, Field);

impl SetName {
    /// The name in markers and titles.
    pub fn name(self) -> &'static str {
        match self {
            SetName::Headline => "headline",
            SetName::Scale => "scale",
            SetName::Growth => "growth",
            SetName::Path => "path",
            SetName::Losses => "losses",
            SetName::Quick => "quick",
        }
    }

    fn list(self) -> &'static [Entry] {
        const ALL: Field = Field::Everybody;
        const NONE: Field = Field::These(&[]);
        match self {
            SetName::Headline => &[
                ("nl_n1000_d10", TOLERANCE, ALL),
                ("nl_n3000_d10", TOLERANCE, ALL),
                ("nl_n10000_d10", TOLERANCE, ALL),
                ("tableI", TOLERANCE, ALL),
                ("logit_n1000_d5", TOLERANCE, ALL),
                ("cc_n1000_d2", TOLERANCE, ALL),
                ("chain_n2000_d5", TOLERANCE, ALL),
                ("sq_n10000_d10", TOLERANCE, ALL),
            ],
            SetName::Scale => &[
                ("nl_n30000_d10", TOLERANCE, Field::These(&["clarabel_direct"])),
                ("nl_n100000_d10", TOLERANCE, NONE),
                ("cc_n100000_d7", 1e-5, NONE),
                ("cc_n1000000_d7", 1e-5, NONE),
                (million::NAME, 1e-4, NONE),
            ],
            // One tolerance along a curve, or it would not be a curve.
            SetName::Growth => &[
                ("nl_n1000_d10", 1e-4, NONE),
                ("nl_n3000_d10", 1e-4, NONE),
                ("nl_n10000_d10", 1e-4, NONE),
                ("nl_n30000_d10", 1e-4, NONE),
                ("nl_n100000_d10", 1e-4, NONE),
                (million::NAME, 1e-4, NONE),
                ("cc_n100000_d7", 1e-5, NONE),
                ("cc_n1000000_d7", 1e-5, NONE),
            ],
            SetName::Path => &[
                ("nl_n1000_d10", TOLERANCE, NONE),
                ("cc_n1000_d2", TOLERANCE, NONE),
                ("logit_n1000_d5", TOLERANCE, NONE),
                ("chain_n2000_d5", TOLERANCE, NONE),
            ],
            // Made from names.
            SetName::Losses => &[],
            SetName::Quick => {
                &[("nl_n300_d5", TOLERANCE, ALL), ("cc_n1000_d2", TOLERANCE, ALL), ("sq_n3000_d10", TOLERANCE, ALL)]
            }
        }
    }
}
