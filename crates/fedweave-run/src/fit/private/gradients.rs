//! Noise on the gradients of every node, in every round.

use fedweave::Dataset;
use fedweave::loss::{Family, LossOptions, LossSpec};
use fedweave::matrix::Matrix;
use fedweave::problem::Problem;
use fedweave::solve::noisy_descent;
use fedweave::trust::privacy::accountant::noise;
use fedweave::trust::privacy::rounds::{ClippedGradients, GradientNoise, usual_clip};
use fedweave::trust::privacy::statistics::Ranges;
use fedweave_io::{Input, Noise};

use super::super::FitResult;
use super::{Protection, boxed_rows, budget, chosen, found, ranges, released, target_of};
use crate::error::{Result, require};
use crate::request::FitRequest;
use crate::request::privacy::{PrivacyChoice, PrivacyMethod};
use crate::watch::{Observer, Stage};

/// What is needed to descend by noisy gradients, here or in a federation.
pub(crate) struct Descent {
    /// Rows in the box; with the squared loss labels, too.
    pub data: Dataset,
    /// Every row counts what it does among all.
    pub options: LossOptions,
    pub noise: GradientNoise,
    pub protection: Protection,
    /// The step that parts are told.
    #[cfg(feature = "federation")]
    pub step: f64,
    ranges: Ranges,
    family: Family,
    intercept: bool,
}

impl Descent {
    /// Settles ranges and noise. `source` pays for narrower ranges.
    pub fn new(
        request: &FitRequest,
        input: &Input,
        family: Family,
        lambda: f64,
        source: &mut Noise,
    ) -> Result<Descent> {
        let choice = chosen(request)?;
        let squared = family == Family::Squared;
        // Labels of other losses need no range: gradients are bounded.
        let target = target_of(request);
        let target_range = if squared { choice.range(&target)? } else { (-1.0, 1.0) };
        let known = ranges(request, &choice, input, target_range)?;
        let (ranges, privacy) = budget::known(request, &choice, input, known, source)?;
        let data = boxed_rows(&input.data, &ranges, squared);
        let node_weight = request.model.options.node_weight.resolved(&data);
        let options = LossOptions { node_weight, ..request.model.options };
        let PrivacyChoice { rounds, rate, gradient_clip, .. } = choice;
        let row_norm = ranges.feature_norm();
        let clip = gradient_clip.unwrap_or_else(|| usual_clip(family, row_norm));
        let noise = GradientNoise { row_norm, clip, multiplier: noise(privacy, rate, rounds as u64)?, rate };
        let gradients = ClippedGradients::new(family, data.clone(), &options, noise)?;
        let most = (0..data.nodes()).max_by(|a, b| gradients.sensitivity(*a).total_cmp(&gradients.sensitivity(*b)));
        let most = most.filter(|node| gradients.releases(*node));
        require!(most.is_some(), "--dp-epsilon: no node has rows");
        let most = most.unwrap_or(0);
        let loss = LossSpec::Same(family).build(data.clone(), &options)?;
        let problem = Problem::build(input.graph.clone(), loss, request.model.penalty(input)?, lambda)?;
        require!(
            problem.penalty().is_smooth(),
            "--dp-method gradients needs --penalty squared: descent does not know what to do at a kink"
        );
        let protection = Protection {
            method: PrivacyMethod::Gradients,
            sensitivity: gradients.sensitivity(most),
            deviation: gradients.deviation(most),
            rows: input.data.len(),
            adjacency: noise.adjacency(),
            target,
            choice,
        };
        Ok(Descent {
            data,
            options,
            noise,
            protection,
            #[cfg(feature = "federation")]
            step: gradients.step(&problem),
            ranges,
            family,
            intercept: request.model.intercept(),
        })
    }

    /// Between the features of the input and those of the box.
    #[cfg(feature = "federation")]
    pub fn scaling(&self) -> fedweave::scaling::Scaling {
        super::scaling(&self.ranges, self.intercept)
    }

    /// The same in the file of a part, whose rows are those of the box.
    #[cfg(feature = "federation")]
    pub fn section(&self, section: fedweave_node::config::PrivacySection) -> fedweave_node::config::PrivacySection {
        fedweave_node::config::PrivacySection {
            method: Some(PrivacyMethod::Gradients.name().into()),
            rate: (self.noise.rate < 1.0).then_some(self.noise.rate),
            gradient_clip: Some(self.noise.clip),
            ranges: vec![[-1.0, 1.0]; self.data.dim() - usize::from(self.intercept)],
            target: [-1.0, 1.0],
            clip: None,
            ..section
        }
    }

    /// Models of labels in the box as models of labels as they are.
    pub fn restore_labels(&self, w: &mut Matrix) {
        let (middle, half) = *self.ranges.columns().last().expect("the target is the last");
        if self.family != Family::Squared {
            return;
        }
        let d = w.cols();
        for row in w.as_mut_slice().chunks_exact_mut(d) {
            row.iter_mut().for_each(|x| *x *= half);
            if self.intercept {
                row[d - 1] += middle;
            }
        }
    }
}

/// Descends on one machine.
pub(super) fn fit(
    request: FitRequest,
    input: Input,
    family: Family,
    lambda: f64,
    observer: &dyn Observer,
) -> Result<FitResult> {
    let seed = chosen(&request)?.seed;
    let descent = Descent::new(&request, &input, family, lambda, &mut Noise::new(seed))?;
    let (rounds, key) = (descent.protection.choice.rounds, Noise::key(seed));
    let loss = LossSpec::Same(family).build(descent.data.clone(), &descent.options)?;
    let problem = Problem::build(input.graph.clone(), loss, request.model.penalty(&input)?, lambda)?;
    let gradients = ClippedGradients::new(family, descent.data.clone(), &descent.options, descent.noise)?;
    let names = &input.names;
    let draw = |node: usize, point: &[f64]| Noise::at(&key, &names[node], point);
    observer.begin(Stage { iterations_max: rounds, ..Stage::new("descending with noise", 0.0) });
    let descended = noisy_descent(&problem, gradients, rounds, draw, &mut |_, _| !observer.interrupted())?;
    require!(descended.is_some(), "interrupted: nothing is released");
    let mut w = descended.unwrap_or_else(|| Matrix::zeros(0, problem.dim()));
    descent.restore_labels(&mut w);
    let solution = found(w, input.graph.edges(), "noisy-fedgd", "asked for by --dp-method gradients");
    let Descent { options, ranges, protection, .. } = descent;
    released(request, input, &options, (lambda, &ranges), (solution, protection))
}
