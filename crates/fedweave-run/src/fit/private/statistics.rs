//! Noise on the moments of every node, once.

use fedweave::Dataset;
use fedweave::trust::privacy::accountant::noise;
use fedweave::trust::privacy::statistics::{Ranges, Units, release, shrink, stand_ins};
use fedweave_io::{Input, Noise};

use super::super::{FitResult, build_on, finish, run_solver};
use super::{Protection, budget, choose, chosen, ranges, scaling, target_of};
use crate::error::Result;
use crate::request::FitRequest;
use crate::request::privacy::PrivacyMethod;
use crate::training::TrainingRows;
use crate::watch::Observer;

impl Protection {
    /// Noise on the statistics of every node, of which the smallest has `least` rows.
    pub(crate) fn of_statistics(request: &FitRequest, input: &Input) -> Result<(Protection, Ranges)> {
        let choice = chosen(request)?;
        let target = target_of(request);
        let ranges = ranges(request, &choice, input, choice.range(&target)?)?;
        let multiplier = noise((choice.epsilon, choice.delta), 1.0, 1)?;
        let mut protection = Protection {
            method: PrivacyMethod::Statistics,
            sensitivity: 0.0,
            deviation: 0.0,
            rows: input.data.len(),
            adjacency: "one row of one node replaced",
            target,
            choice,
        };
        protection.describe(&input.data, &ranges, multiplier);
        Ok((protection, ranges))
    }

    fn describe(&mut self, data: &Dataset, ranges: &Ranges, multiplier: f64) {
        let least = (0..data.nodes()).map(|i| data.rows(i).len()).filter(|m| *m > 0).min();
        self.sensitivity = std::f64::consts::SQRT_2 * ranges.norm_squared() / least.unwrap_or(1) as f64;
        self.deviation = multiplier * self.sensitivity;
    }
}

/// Rows that may be seen by everybody, in place of the private ones.
pub struct PrivateRows {
    /// In both units.
    pub training: TrainingRows,
    /// How the rows behind them are protected.
    pub protection: Protection,
}

impl PrivateRows {
    /// Noisy statistics of every node as rows. Nodes lend each other strength if they are `coupled` on one machine.
    pub fn new(request: &FitRequest, input: &Input, coupled: bool) -> Result<PrivateRows> {
        PrivateRows::of(request, input, &input.data, coupled)
    }

    /// The same of some rows of the input.
    fn of(request: &FitRequest, input: &Input, data: &Dataset, coupled: bool) -> Result<PrivateRows> {
        let (mut protection, ranges) = Protection::of_statistics(request, input)?;
        let mut source = Noise::new(protection.choice.seed);
        let (ranges, privacy) = budget::known(request, &protection.choice, input, ranges, &mut source)?;
        let multiplier = noise(privacy, 1.0, 1)?;
        protection.describe(data, &ranges, multiplier);
        let released = (0..data.nodes()).map(|node| release(data, node, &ranges, multiplier, &mut source));
        let mut moments = released.collect::<fedweave::Result<Vec<_>>>()?;
        if coupled {
            shrink(&mut moments);
        }
        let training = TrainingRows {
            whitening: None,
            rows: stand_ins(&moments, &ranges, Units::Data)?,
            scaled: stand_ins(&moments, &ranges, Units::Box)?,
            scaling: Some(scaling(&ranges, request.model.intercept())),
        };
        Ok(PrivateRows { training, protection })
    }
}

/// Fits to noisy moments.
pub(super) fn fit(request: FitRequest, mut input: Input, observer: &dyn Observer) -> Result<FitResult> {
    let loss = request.model.loss(&input)?;
    let choice = chosen(&request)?;
    let held = choose::held_out(&choice, &input);
    let kept = held.as_ref().map(|held| input.data.select(&held.iter().map(|h| !h).collect::<Vec<_>>()));
    let coupled = request.lambda.fixed.is_none_or(|lambda| lambda > 0.0);
    let PrivateRows { training, protection } =
        PrivateRows::of(&request, &input, kept.as_ref().unwrap_or(&input.data), coupled)?;
    let build = |lambda: f64, input: &Input| {
        let built = loss.build(training.scaled.clone(), &request.model.options)?;
        build_on(&request, input, &loss, &training, built, lambda)
    };
    let lambda = match held {
        Some(held) => {
            let models = |lambda: f64| {
                let solved = run_solver(&request, &build(lambda, &input)?, None, observer)?;
                Ok(training.restore(&loss, &solved.solution.w))
            };
            choose::lambda(&protection, &input, &held, models)?
        }
        None => request.lambda.fixed.unwrap_or(0.0),
    };
    input.data = training.rows.clone();
    let problem = build(lambda, &input)?;
    let solved = run_solver(&request, &problem, None, observer)?;
    let result = finish(request, input, loss, problem, training, solved);
    Ok(FitResult { protection: Some(protection), ..result })
}
