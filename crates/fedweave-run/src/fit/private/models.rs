//! Noise on the certified minimiser, or in what is minimised.

use fedweave::loss::{Family, Loss, LossOptions, LossSpec, NodeWeight, Tilted};
use fedweave::matrix::norm2;
use fedweave::problem::Problem;
use fedweave::trust::privacy::accountant::noise;
use fedweave::trust::privacy::mechanisms::Grid;
use fedweave::trust::privacy::objective::{Perturbation, RowBounds, curvature_bound};
use fedweave::trust::privacy::sensitivity::{Movement, gradient_bound, largest_share};
use fedweave::{Dataset, Matrix};
use fedweave_io::{Input, Noise};

use super::super::FitResult;
use super::{Protection, boxed, budget, certified, chosen, found, ranges, released, target_of};
use crate::error::{Result, refuse, require};
use crate::request::FitRequest;
use crate::request::privacy::PrivacyMethod;
use crate::watch::Observer;

/// Fits, and releases models with noise.
pub(super) fn fit(
    request: FitRequest,
    input: Input,
    family: Family,
    lambda: f64,
    method: PrivacyMethod,
    observer: &dyn Observer,
) -> Result<FitResult> {
    let choice = chosen(&request)?;
    let mut source = Noise::new(choice.seed);
    // Labels need no range: no label makes a gradient larger than the bound.
    let known = ranges(&request, &choice, &input, (-1.0, 1.0))?;
    let (ranges, privacy) = budget::known(&request, &choice, &input, known, &mut source)?;
    let data = boxed(&input.data, &ranges);
    // The ridge holds every parameter of every node, the intercept too.
    let node_weight = request.model.options.node_weight.resolved(&data);
    let options = LossOptions { spare_last: false, node_weight, ..request.model.options };
    let share = largest_share(&input.data, options.node_weight);
    require!(share > 0.0, "--dp-epsilon: no node has rows");
    let ridge = options.ridge;
    require!(
        ridge > 0.0,
        "--dp-method {} needs --ridge: without it one row could move the models without limit",
        method.name()
    );
    let gradient = gradient_bound(family, ranges.feature_norm()).expect("the method was allowed for this loss");
    let row_norm = ranges.feature_norm();
    let tilt = match method {
        PrivacyMethod::Objective => {
            let curvature = curvature_bound(family).expect("the method was allowed for this loss");
            let bounds = RowBounds { gradient, row_norm, curvature, ridge };
            let shares: Vec<f64> = (0..input.data.nodes()).map(|i| share_at(&input, node_weight, i)).collect();
            let perturbation = Perturbation::new(bounds, &shares, data.dim(), privacy)?;
            let mut tilt = Matrix::zeros(input.data.nodes(), data.dim());
            for (node, grid) in perturbation.objective.iter().enumerate() {
                grid.iter().for_each(|grid| grid.perturb_all(tilt.row_mut(node), &mut source));
            }
            Some((perturbation, tilt))
        }
        _ => None,
    };
    let pull = |i: usize| gradient * share_at(&input, node_weight, i) * input.data.rows(i).len() as f64;
    let pulls = (0..input.data.nodes()).map(|i| pull(i).powi(2)).sum::<f64>().sqrt();
    let tilted = tilt.as_ref().map_or(0.0, |(_, tilt)| norm2(tilt.as_slice()));
    let data = within_reach(data, family, row_norm * (pulls + tilted) / (2.0 * ridge));
    let loss = LossSpec::Same(family).build(data, &options)?;
    let problem = |loss: Box<dyn Loss>| {
        Ok::<_, crate::error::Error>(Problem::build(input.graph.clone(), loss, request.model.penalty(&input)?, lambda)?)
    };
    let (w, sensitivity, deviation) = if let Some((perturbation, tilt)) = tilt {
        let problem = problem(Box::new(Tilted::new(loss, tilt)))?;
        let mut solution = certified(&request, &problem, perturbation.gap, observer)?;
        perturbation.models.perturb_all(solution.w.as_mut_slice(), &mut source);
        let noise = perturbation.objective.iter().flatten().map(Grid::deviation).fold(0.0, f64::max);
        (solution.w, 2.0 * gradient * share, noise)
    } else {
        let movement = Movement::new(gradient, share, ridge)?;
        let mut solution = certified(&request, &problem(loss)?, movement.gap, observer)?;
        let multiplier = noise(privacy, 1.0, 1)?;
        let Some(grid) = Grid::new(multiplier, movement.bound, solution.w.as_slice().len()) else {
            refuse!("--dp-epsilon: noise of {} cannot be drawn", multiplier * movement.bound);
        };
        grid.perturb_all(solution.w.as_mut_slice(), &mut source);
        (solution.w, movement.bound, grid.deviation())
    };
    // Which method took over from which would tell about rows.
    let solution = found(w, input.graph.edges(), "certified minimiser", "how it was found would tell about rows");
    let protection = Protection {
        adjacency: "one row of one node replaced",
        rows: input.data.len(),
        target: target_of(&request),
        method,
        sensitivity,
        deviation,
        choice,
    };
    released(request, input, &options, (lambda, &ranges), (solution, protection))
}

/// Labels that no model can reach, moved nearer: with a ridge and gradients of at most `G` the minimiser is at most `(G + |tilt|) / (2 ridge)` long, and
/// no score is beyond `reach`. A label further away than that (and the knee of the loss) pulls with the same force wherever it is, so the minimiser stays as
/// it is; but a huge one would leave a certificate no digits, and that nothing is released would tell that it is there.
fn within_reach(data: Dataset, family: Family, reach: f64) -> Dataset {
    let most = match family {
        Family::Huber { delta } => reach + delta,
        Family::Absolute | Family::Quantile { .. } => reach,
        _ => return data,
    };
    data.map_labels(|y| y.clamp(-most, most))
}

/// What a row of a node counts.
fn share_at(input: &Input, node_weight: NodeWeight, node: usize) -> f64 {
    match (input.data.rows(node).len(), node_weight) {
        (0, _) => 0.0,
        (_, NodeWeight::Unit(unit)) => unit,
        (rows, _) => 1.0 / rows as f64,
    }
}
