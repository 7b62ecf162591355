//! Groups of rows that count more or less, so that their errors are evened out.

use fedweave::loss::LossSpec;
use fedweave::solve::{Start, solve};
use fedweave::trust::fairness::balance::{TOLERANCE, balance, group_errors};
use fedweave_io::{Input, Protected};
use serde_json::{Value, json};

use super::{FitResult, build};
use crate::error::{Result, refuse, require};
use crate::request::FitRequest;
use crate::request::fair::FairRule;
use crate::training::TrainingRows;
use crate::watch::{Observer, Stage};
use crate::wording::number;

/// The most groups that are told apart.
pub const GROUPS_MAX: usize = 50;

/// The groups of an input; refused if they cannot be compared.
pub(crate) fn groups_of(input: &Input) -> Result<&Protected> {
    let Some(protected) = &input.protected else { refuse!("no groups were named: give --group COLUMN") };
    let (column, count) = (&protected.column, protected.levels.len());
    require!(count > 1, "`{column}`: all rows have the same value, so there is nothing to compare");
    require!(
        count <= GROUPS_MAX,
        "`{column}` has {count} values; groups are compared for at most {GROUPS_MAX}: write its ranges into a column"
    );
    Ok(protected)
}

/// Finds what each group counts, for the models of this lambda.
pub(super) fn balance_groups(
    request: &mut FitRequest,
    input: &Input,
    loss: &LossSpec,
    training: &TrainingRows,
    lambda: f64,
    observer: &dyn Observer,
) -> Result<()> {
    let Some(fair) = &request.fair else { return Ok(()) };
    let groups = groups_of(input)?.levels.len();
    if fair.by == FairRule::Swap {
        return Ok(());
    }
    let (power, mut trial, mut start) = (fair.strength, request.clone(), None::<Start>);
    observer.begin(Stage::new("weights of groups", request.solve.tolerance));
    let found = balance(groups, power, |weights| {
        require!(
            !observer.interrupted(),
            "interrupted before the weights of the groups were known; nothing is written"
        );
        if let Some(fair) = &mut trial.fair {
            let balanced = fair.balanced.get_or_insert_default();
            balanced.weights = weights.to_vec();
        }
        let problem = build(&trial, input, loss, training.scaled.clone(), lambda)?;
        let solution = solve(&problem, &request.solve, start.take(), &mut |record| observer.see(record));
        let errors = group_errors(loss, &training.scaled, &solution.w, groups, &request.model.options)?;
        start = Some(Start::from(&solution));
        Ok::<_, crate::Error>(errors)
    })?;
    if let Some(fair) = &mut request.fair {
        fair.balanced = Some(found);
    }
    Ok(())
}

/// What groups counted, and the errors of the models on the rows they trained with.
pub struct GroupTreatment {
    column: String,
    rule: FairRule,
    strength: f64,
    /// Name, what a row counts, error.
    groups: Vec<(String, Option<f64>, f64)>,
    settled: bool,
}

/// What was done about groups, if anything.
pub(super) fn treatment(fit: &FitResult) -> Result<Option<GroupTreatment>> {
    let (Some(fair), Some(protected)) = (&fit.request.fair, &fit.input.protected) else { return Ok(None) };
    let (options, count) = (&fit.request.model.options, protected.levels.len());
    let (errors, _) = group_errors(&fit.loss, &fit.training.rows, &fit.parameters, count, options)?;
    let weight = |g: usize| fair.balanced.as_ref().map(|found| found.weights[g]);
    let named = protected.levels.iter().enumerate();
    Ok(Some(GroupTreatment {
        column: fair.column.clone(),
        rule: fair.by,
        strength: fair.strength,
        groups: named.map(|(g, name)| (name.clone(), weight(g), errors[g])).collect(),
        settled: fair.balanced.as_ref().is_none_or(|found| found.change <= TOLERANCE || fair.strength == 0.0),
    }))
}

impl GroupTreatment {
    pub(super) fn summary(&self) -> Value {
        let group = |(name, weight, error): &(String, Option<f64>, f64)| {
            let error = Some(*error).filter(|error| error.is_finite());
            json!({"group": name, "weight": weight, "train_error": error})
        };
        json!({
            "column": self.column, "by": self.rule.name(), "strength": self.strength, "settled": self.settled,
            "groups": self.groups.iter().map(group).collect::<Vec<_>>(),
        })
    }

    pub(super) fn text(&self) -> String {
        let group = |(name, weight, error): &(String, Option<f64>, f64)| {
            let weight = weight.map_or(String::new(), |weight| format!(", counts {}", number(weight)));
            format!("{name}: {}{weight}", number(*error))
        };
        let groups = self.groups.iter().map(group).collect::<Vec<_>>().join("; ");
        let open = if self.settled { "" } else { " (weights have not settled; a smaller --fair-strength does)" };
        format!("  by `{}`, --fair-by {}: {groups}{open}", self.column, self.rule.name())
    }
}
