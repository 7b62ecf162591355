//! What evening out groups costs, as it is asked for more and more strongly.

use fedweave::trust::fairness::Estimate;
use fedweave::tune::mean_and_error;

use super::{FairnessRequest, fairness_of};
use crate::error::{Result, require};
use crate::request::coupling::CouplingChoice;
use crate::request::fair::{FairChoice, FairRule};
use crate::trust::cross::judged_rows;
use crate::trust::refit::Refit;
use crate::watch::Observer;

/// One strength.
#[derive(Debug, Clone, PartialEq)]
pub struct CurvePoint {
    /// What was done about groups.
    pub rule: FairRule,
    /// How strongly.
    pub strength: f64,
    /// The error of all rows.
    pub error: Estimate,
    /// What it is above that without evening out, node by node, and the standard error of that.
    pub price: (f64, f64),
    /// The errors of the groups.
    pub groups: Vec<Option<Estimate>>,
    /// The largest error of a group less the smallest.
    pub gap: Option<Estimate>,
    /// How much a prediction depends on the group of its row.
    pub counterfactual: Option<Estimate>,
}

/// Strengths that are tried.
fn strengths(rule: FairRule) -> [f64; 5] {
    match rule {
        FairRule::Errors => [0.0, 1.0, 2.0, 4.0, 8.0],
        FairRule::Swap => [0.0, 0.25, 0.5, 0.75, 1.0],
    }
}

/// The models of a run with groups evened out, judged on rows that they have not seen.
pub(super) fn curve(
    refit: &Refit,
    rule: FairRule,
    request: &FairnessRequest,
    observer: &dyn Observer,
) -> Result<Vec<CurvePoint>> {
    require!(
        refit.request.coupling == CouplingChoice::Given && refit.request.guesses.is_none(),
        "--curve: groups are not evened out with --coupling learnt or --guesses"
    );
    let mut before: Option<Vec<f64>> = None;
    let mut point = |strength: f64| {
        let mut trial =
            Refit { request: refit.request.clone(), input: refit.input.clone(), summary: refit.summary.clone() };
        trial.request.fair = Some(FairChoice::new(&request.group, rule, strength)?);
        let rows = judged_rows(&trial, request.folds, request.seed, observer)?;
        let found = fairness_of(&trial, &rows)?;
        let errors: Vec<f64> = found.nodes.iter().map(|node| node.error).collect();
        let without = before.get_or_insert_with(|| errors.clone());
        let above = errors.iter().zip(without.iter()).map(|(with, without)| with - without);
        Ok(CurvePoint {
            rule,
            strength,
            error: found.all,
            price: mean_and_error(above).unwrap_or((f64::NAN, f64::NAN)),
            groups: found.groups.iter().map(|group| group.error).collect(),
            gap: found.gap.map(|(_, _, gap)| gap),
            counterfactual: found.counterfactual,
        })
    };
    strengths(rule).into_iter().map(&mut point).collect()
}
