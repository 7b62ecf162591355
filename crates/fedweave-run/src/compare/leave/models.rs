//! Models of nodes that were left out, in the units of the rows.

use fedweave::baseline::{self, Kriging};
use fedweave::graph::great_circle_points;
use fedweave::loss::{Family, LossOptions, LossSpec};
use fedweave::matrix::Matrix;
use fedweave::scaling::Scaling;
use fedweave::split::{Part, Split, split};
use fedweave::tune::Errors;
use fedweave::{Dataset, compare::trial_rows};

use super::Unseen;
use crate::error::Result;
use crate::fit::fit;
use crate::network_file::NetworkFile;
use crate::request::compare::LeaveNodes;
use crate::request::{CompareRequest, FitRequest};
use crate::watch::Observer;

/// Some rows of a table.
fn pick(all: &Matrix, rows: &[usize]) -> Matrix {
    Matrix::from_rows(all.cols(), rows.iter().flat_map(|&i| all.row(i).to_vec()).collect())
}

impl Unseen {
    /// A row per node that was left out; `None` where a method cannot be had.
    pub(super) fn models(
        &self,
        method: &str,
        request: &CompareRequest,
        leave: &LeaveNodes,
        observer: &dyn Observer,
    ) -> Result<Option<Matrix>> {
        let LossSpec::Same(family) = request.model.loss(&self.rest)? else { return Ok(None) };
        match method {
            "local" if self.own.is_empty() => Ok(None),
            "local" => self.alone(family, request).map(Some),
            "global" => self.global(family, request).map(Some),
            "interpolated" => self.interpolated(family, request),
            "networked" => self.joined(family, &leave.given, request, observer),
            _ => match &leave.learnt {
                Some(learnt) => self.joined(family, learnt, request, observer),
                None => Ok(None),
            },
        }
    }

    fn split(&self, request: &CompareRequest) -> Result<Split> {
        let spec = request.held_out.spec.map(|spec| fedweave::split::SplitSpec { train: None, test: None, ..spec });
        Ok(split(&self.rest.data, self.rest.groups.as_deref(), &spec.unwrap_or_default())?)
    }

    fn scaled(&self, request: &CompareRequest) -> (Dataset, Option<Scaling>) {
        let rows = &self.rest.data;
        let scaling = request.model.standardize.then(|| Scaling::of(rows, request.model.intercept()));
        (scaling.as_ref().map_or_else(|| rows.clone(), |s| s.apply(rows)), scaling)
    }

    /// One model for all, with the ridge that suits held-out rows.
    fn global(&self, family: Family, request: &CompareRequest) -> Result<Matrix> {
        let (rows, scaling) = self.scaled(request);
        let repeated = |w: Vec<f64>, n: usize| Matrix::from_rows(w.len(), w.repeat(n));
        let on = |rows: &Dataset, options: &LossOptions, n: usize| -> Result<Matrix> {
            Ok(repeated(baseline::global(family, rows, options)?, n))
        };
        let options = self.best_ridge(family, request, &rows, |train, options| on(train, options, rows.nodes()))?;
        let mut w = on(&rows, &options, self.out.len())?;
        scaling.iter().for_each(|s| s.restore(&mut w));
        Ok(w)
    }

    /// Models of the rows that new nodes show, with the ridge that suits held-out rows of the others.
    fn alone(&self, family: Family, request: &CompareRequest) -> Result<Matrix> {
        let (rows, scaling) = self.scaled(request);
        let on = |rows: &Dataset, options: &LossOptions| -> Result<Matrix> {
            Ok(baseline::local(&LossSpec::Same(family), rows.clone(), options)?)
        };
        let options = self.best_ridge(family, request, &rows, on)?;
        let mut w = on(&scaling.as_ref().map_or_else(|| self.own.clone(), |s| s.apply(&self.own)), &options)?;
        scaling.iter().for_each(|s| s.restore(&mut w));
        Ok(w)
    }

    /// The ridge of models without a network, by the held-out rows of the nodes that are seen.
    fn best_ridge(
        &self,
        family: Family,
        request: &CompareRequest,
        rows: &Dataset,
        models: impl Fn(&Dataset, &LossOptions) -> Result<Matrix>,
    ) -> Result<LossOptions> {
        let (train, held) = trial_rows(rows, &self.split(request)?, Part::Validation);
        let plain = family.build(held, &LossOptions::default())?;
        let options = |ridge: f64| LossOptions { ridge, ..request.model.options };
        let mut best = (f64::INFINITY, request.model.ridges[0]);
        for &ridge in &request.model.ridges {
            let error = Errors::of(&*plain, &models(&train, &options(ridge))?).mean().unwrap_or(f64::INFINITY);
            if error < best.0 {
                best = (error, ridge);
            }
        }
        Ok(options(best.1))
    }

    /// Local ridge models, kriged; ridge, length and nugget are those that predict the rows of every node best from all others.
    fn interpolated(&self, family: Family, request: &CompareRequest) -> Result<Option<Matrix>> {
        let Some(at) = &self.rest.coordinates else { return Ok(None) };
        let at = match at.latitude_longitude() {
            Some(latlon) => great_circle_points(&latlon)?,
            None => at.values.clone(),
        };
        let (rows, scaling) = self.scaled(request);
        let placed = |i: &usize| at.row(*i).iter().all(|v| v.is_finite());
        let known: Vec<usize> = (0..rows.nodes()).filter(|&i| !rows.rows(i).is_empty()).filter(placed).collect();
        if known.len() < 3 || !self.out.iter().all(placed) {
            return Ok(None);
        }
        let plain = family.build(rows.clone(), &LossOptions::default())?;
        let mut best: Option<(Kriging, f64, Matrix)> = None;
        for &ridge in &request.model.ridges {
            let options = LossOptions { ridge, ..request.model.options };
            let local = baseline::local(&LossSpec::Same(family), rows.clone(), &options)?;
            let judge = |left: &Matrix| {
                let mut w = local.clone();
                known.iter().enumerate().for_each(|(k, &i)| w.row_mut(i).copy_from_slice(left.row(k)));
                Ok(Errors::of(&*plain, &w).mean().unwrap_or(f64::INFINITY))
            };
            let local_known = pick(&local, &known);
            let (kriging, error) = Kriging::choose(&pick(&at, &known), &local_known, judge)?;
            if best.as_ref().is_none_or(|best| error < best.1) {
                best = Some((kriging, error, local_known));
            }
        }
        let Some((kriging, _, local)) = best else { return Ok(None) };
        let mut w = kriging.at(&pick(&at, &known), &local, &pick(&at, &self.out));
        scaling.iter().for_each(|s| s.restore(&mut w));
        Ok(Some(w))
    }

    /// Joined to neighbours whose models stay as they are; without neighbours, and without a common mean, the model of
    /// its own rows or of all.
    fn joined(
        &self,
        family: Family,
        fitted: &FitRequest,
        request: &CompareRequest,
        observer: &dyn Observer,
    ) -> Result<Option<Matrix>> {
        let fit = fit(fitted.clone(), self.rest.clone(), observer)?;
        let Some(network) = NetworkFile::of(&fit)? else { return Ok(None) };
        if let Some(at) = self.rest.coordinates.as_ref().filter(|_| self.own.is_empty())
            && let Some(models) = network.at_places(&pick(&at.values, &self.out), &self.own)?
        {
            return Ok(Some(models));
        }
        let found = match self.own.is_empty() {
            true => self.near.clone(),
            false => network.alike(family, &fit.parameters, &self.own)?.unwrap_or_else(|| self.near.clone()),
        };
        let lonely: Vec<bool> = found.iter().map(|near| near.is_empty() && !network.has_hub()).collect();
        // Somebody, so that there is a problem; the answer is not used.
        let anybody = (0..self.rest.names.len()).find(|i| !self.rest.data.rows(*i).is_empty()).unwrap_or(0);
        let near = found.iter().zip(&lonely).map(|(near, lonely)| match lonely {
            true => vec![(anybody, 1.0)],
            false => near.clone(),
        });
        let mut w = network.join(family, &fit.parameters, &self.own, &near.collect::<Vec<_>>())?;
        if lonely.contains(&true) {
            // Nobody shares a model: its own rows are left, or the model of all.
            let plain = if self.own.is_empty() { self.global(family, request)? } else { self.alone(family, request)? };
            for place in (0..self.out.len()).filter(|&place| lonely[place]) {
                w.row_mut(place).copy_from_slice(plain.row(place));
            }
        }
        Ok(Some(w))
    }
}
