//! What the settings mean: names become losses and penalties, numbers are checked, and nothing is guessed later.

use std::fmt::Display;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail, ensure};
use fedweave::loss::{Family, LossOptions, LossSpec, NodeWeight};
use fedweave::matrix::Matrix;
use fedweave::penalty::{Block, Blocks, Penalty, Quadratic, named};
use fedweave::solve::{Settings, Solver};
use fedweave::split::{Share, SplitRule, SplitSpec};
use fedweave::tune::Rule;
use fedweave_io::{Input, InputSpec, Metric, MissingPolicy, TargetKind};

use crate::config::{Lambda, RawConfig};
use crate::rounds::{NAMES, Rounds};

/// What `compare` chooses from if `--ridge` is silent.
const RIDGES: [f64; 5] = [1e-6, 1e-3, 1e-2, 1e-1, 1.0];

/// A request that can be carried out.
pub struct Plan {
    /// What was asked for.
    pub raw: RawConfig,
    /// What to read.
    pub input: InputSpec,
    /// The loss, before the number of classes is known.
    pub family: Family,
    /// Ridges to choose from; `fit` has one.
    pub ridges: Vec<f64>,
    /// Options of the loss with the first ridge.
    pub options: LossOptions,
    /// `None`: choose it.
    pub lambda: Option<f64>,
    /// How to choose it.
    pub rule: Rule,
    /// When to stop.
    pub settings: Settings,
    /// The solver, if it exchanges messages; lambda is then chosen by the default one.
    pub rounds: Option<Rounds>,
    /// Rows to hold out; `None`: train with all.
    pub split: Option<SplitSpec>,
    /// Number of splits.
    pub splits: usize,
}

impl Plan {
    /// Checks the settings of `fit`.
    pub fn fit(raw: RawConfig) -> Result<Plan> {
        refuse_path_flags(&raw)?;
        Plan::one_fit(raw, Command::Fit)
    }

    /// Checks the settings of `path`.
    pub fn path(raw: RawConfig) -> Result<Plan> {
        ensure!(raw.resume.is_none(), "--resume belongs to `fedweave fit`");
        let fixed = matches!(raw.lambda, Some(Lambda::Fixed(_)));
        ensure!(!fixed, "--lambda is one value; `fedweave path` takes --lambda-grid, or finds its own");
        ensure!(
            raw.lambda_grid.is_none() || (raw.count.is_none() && raw.lambda_min_ratio.is_none()),
            "--lambda-grid names the values: leave out --count and --lambda-min-ratio"
        );
        Plan::one_fit(raw, Command::Path)
    }

    /// Checks the settings of `ask`, but for those that say how to ask.
    pub fn ask(raw: RawConfig) -> Result<Plan> {
        ensure!(raw.loss.as_deref() != Some("point"), "an answer is judged by a target; the point loss has none");
        refuse_path_flags(&raw)?;
        Plan::one_fit(raw, Command::Ask)
    }

    fn one_fit(raw: RawConfig, command: Command) -> Result<Plan> {
        ensure!(raw.splits.is_none(), "--splits belongs to `fedweave compare`");
        ensure!(
            raw.test.is_none() && raw.train.is_none(),
            "--train and --test belong to `fedweave compare`; use --validation"
        );
        let plan = Plan::new(raw, command)?;
        ensure!(plan.ridges.len() == 1, "--ridge takes one number here; `fedweave compare` chooses from a list");
        Ok(plan)
    }

    /// Checks the settings of `compare`.
    pub fn compare(raw: RawConfig) -> Result<Plan> {
        ensure!(raw.loss_column.is_none(), "compare needs one loss for all nodes: a global model has no other meaning");
        ensure!(raw.resume.is_none(), "--resume belongs to `fedweave fit`");
        refuse_path_flags(&raw)?;
        ensure!(raw.loss.as_deref() != Some("point"), "compare predicts a target; the point loss has none");
        Plan::new(raw, Command::Compare)
    }

    fn new(raw: RawConfig, command: Command) -> Result<Plan> {
        let compare = command == Command::Compare;
        crate::models::refuse_model_flags(&raw)?;
        refuse_ask_flags(&raw)?;
        let family = family(raw.loss.as_deref().unwrap_or("squared"), &raw)?;
        let point = family == Family::Point;
        let intercept = !raw.no_intercept && !point;
        // Local models on few rows are hopeless without a ridge: every method may choose its own.
        let ridges = raw.ridge.clone().unwrap_or_else(|| if compare { RIDGES.to_vec() } else { vec![0.0] });
        ensure!(!ridges.is_empty(), "--ridge needs a number");
        for ridge in &ridges {
            at_least("--ridge", *ridge, 0.0)?;
        }
        let lambda = match raw.lambda {
            Some(Lambda::Fixed(value)) => {
                at_least("--lambda", value, 0.0)?;
                Some(value)
            }
            _ => None,
        };
        if let Some(grid) = &raw.lambda_grid {
            ensure!(!grid.is_empty(), "--lambda-grid needs at least one number");
            ensure!(
                raw.lambda != lambda.map(Lambda::Fixed) || lambda.is_none(),
                "give --lambda or --lambda-grid, not both"
            );
            grid.iter().try_for_each(|v| at_least("--lambda-grid", *v, 0.0))?;
        }
        let node_weight = choice(
            "--node-weight",
            raw.node_weight.as_deref(),
            &[("equal", NodeWeight::Equal), ("rows", NodeWeight::Rows)],
        )?;
        let rule = choice(
            "--lambda-rule",
            raw.lambda_rule.as_deref(),
            &[("minimum", Rule::Minimum), ("one-se", Rule::OneStandardError)],
        )?;
        let options = LossOptions { ridge: ridges[0], spare_last: intercept, node_weight };
        let split = split(&raw, compare, command == Command::Fit && lambda.is_none())?;
        let plan = Plan {
            input: input(&raw, family, intercept)?,
            settings: settings(&raw)?,
            rounds: Rounds::new(&raw)?,
            splits: raw.splits.unwrap_or(1),
            family,
            ridges,
            options,
            lambda,
            rule,
            split,
            raw,
        };
        if let (Some(_), Some(name), false) = (&plan.rounds, &plan.raw.solver, command == Command::Fit) {
            bail!("--solver {name} belongs to `fedweave fit`");
        }
        ensure!(plan.splits > 0, "--splits must be at least 1");
        check_threads(&plan.raw)?;
        penalty_name(&plan.raw)?;
        Ok(plan)
    }

    /// True if the penalty is a norm of all parameters.
    pub fn penalty_is_norm(&self) -> bool {
        self.raw.penalty.as_deref().is_none_or(|name| name.starts_with("norm"))
    }

    /// True if the last feature is an intercept.
    pub fn intercept(&self) -> bool {
        self.input.intercept
    }

    /// The loss, now that the data are known.
    pub fn loss(&self, input: &Input) -> Result<LossSpec> {
        let settled = |family: Family| match family {
            Family::Multinomial { .. } => Family::Multinomial { classes: input.classes.len() },
            other => other,
        };
        let Some(column) = &self.raw.loss_column else { return Ok(LossSpec::Same(settled(self.family))) };
        let values = &input.per_node.iter().find(|c| &c.name == column).expect("the column was asked for").values;
        let of = |value: &Option<String>| match value {
            Some(name) => family(name, &self.raw),
            None => Ok(self.family),
        };
        let families = values.iter().map(of).collect::<Result<Vec<_>>>()?;
        let odd = families.iter().find(|f| matches!(f, Family::Multinomial { .. } | Family::Point));
        if let Some(odd) = odd {
            bail!("--loss-column: {odd} has parameters of its own kind and cannot be mixed with other losses");
        }
        Ok(LossSpec::PerNode(families))
    }

    /// The penalty on models of `input`.
    pub fn penalty(&self, input: &Input) -> Result<Box<dyn Penalty>> {
        let dim = match self.loss(input)? {
            LossSpec::Same(family) => family.dim(input.features.len()),
            LossSpec::PerNode(_) => input.features.len(),
        };
        match penalty_name(&self.raw)? {
            "quadratic" => {
                let path = self.raw.penalty_matrix.as_deref().expect("checked with the name");
                let matrix = read_matrix(path)?;
                ensure!(
                    matrix.rows() == matrix.cols(),
                    "{}: the matrix has {} rows and {} columns; it must be square",
                    path.display(),
                    matrix.rows(),
                    matrix.cols()
                );
                ensure!(
                    matrix.cols() == dim,
                    "{}: the matrix has {} columns, a model has {dim} parameters",
                    path.display(),
                    matrix.cols()
                );
                let quadratic = Quadratic::new(&[matrix]).with_context(|| path.display().to_string())?;
                Ok(Box::new(quadratic))
            }
            "blocks" => self.blocks(input, dim),
            name => plain_penalty(name),
        }
    }

    fn blocks(&self, input: &Input, dim: usize) -> Result<Box<dyn Penalty>> {
        let block = |text: &String| -> Result<Block> {
            let parts: Vec<&str> = text.splitn(3, ':').collect();
            let [name, strength, features] = parts[..] else {
                bail!("--block {text}: expected penalty:strength:features, e.g. norm2:1:x1,x2");
            };
            let strength = strength.parse().map_err(|_| anyhow!("--block {text}: `{strength}` is not a number"))?;
            let find = |feature: &str| {
                let found = input.features.iter().position(|f| f == feature);
                found.ok_or_else(|| {
                    anyhow!("--block {text}: no feature `{feature}`; there are {}", input.features.join(", "))
                })
            };
            let coordinates = features.split(',').map(find).collect::<Result<Vec<_>>>()?;
            // Several classes: the same features of each of them.
            let all = (0..dim / input.features.len())
                .flat_map(|k| coordinates.iter().map(move |j| k * input.features.len() + j));
            Ok(Block { coordinates: all.collect(), penalty: plain_penalty(name)?, strength })
        };
        let blocks = self.raw.block.iter().flatten().map(block).collect::<Result<Vec<_>>>()?;
        let mut used = vec![false; dim];
        for &j in blocks.iter().flat_map(|b| &b.coordinates) {
            let feature = &input.features[j % input.features.len()];
            ensure!(
                !std::mem::replace(&mut used[j], true),
                "--block: feature `{feature}` is in two blocks; it may be in one"
            );
        }
        Ok(Box::new(Blocks::new(dim, blocks)?))
    }
}

/// What is planned.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Command {
    Fit,
    Compare,
    Path,
    Ask,
}

pub fn refuse_path_flags(raw: &RawConfig) -> Result<()> {
    let given = [
        ("--count", raw.count.is_some()),
        ("--lambda-min-ratio", raw.lambda_min_ratio.is_some()),
        ("--direction", raw.direction.is_some()),
        ("--breakpoints", raw.breakpoints.is_some()),
        ("--partition", raw.partition.is_some()),
    ];
    match given.iter().find(|(_, given)| *given) {
        Some((flag, _)) => bail!("{flag} belongs to `fedweave path`"),
        None => Ok(()),
    }
}

/// A number of threads that a machine can have.
pub fn check_threads(raw: &RawConfig) -> Result<()> {
    ensure!(raw.threads.is_none_or(|t| (1..=1024).contains(&t)), "--threads must be at least 1 and at most 1024");
    Ok(())
}

/// Flags that mean nothing where nobody asks.
pub fn refuse_ask_flags(raw: &RawConfig) -> Result<()> {
    ensure!(raw.asker.is_none(), "--asker belongs to `fedweave ask`");
    ensure!(raw.candidates.is_none(), "--candidates belongs to `fedweave ask`");
    Ok(())
}

fn plain_penalty(name: &str) -> Result<Box<dyn Penalty>> {
    named(name).ok_or_else(|| anyhow!("unknown penalty `{name}` in a block; use norm2, norm1, norminf or squared"))
}

fn penalty_name(raw: &RawConfig) -> Result<&str> {
    let names = ["norm2", "norm1", "norminf", "squared", "quadratic", "blocks"];
    let name = raw.penalty.as_deref().unwrap_or("norm2");
    ensure!(names.contains(&name), "--penalty {name}: unknown; use one of {}", names.join(", "));
    ensure!(name != "quadratic" || raw.penalty_matrix.is_some(), "--penalty quadratic needs --penalty-matrix FILE");
    ensure!(
        name != "blocks" || raw.block.is_some(),
        "--penalty blocks needs at least one --block, e.g. --block norm2:1:x1,x2"
    );
    ensure!(name == "quadratic" || raw.penalty_matrix.is_none(), "--penalty-matrix needs --penalty quadratic");
    ensure!(name == "blocks" || raw.block.is_none(), "--block needs --penalty blocks");
    Ok(name)
}

fn family(name: &str, raw: &RawConfig) -> Result<Family> {
    let (delta, q) = (raw.huber_delta.unwrap_or(1.0), raw.quantile.unwrap_or(0.5));
    let family = Family::named(name, delta, q).ok_or_else(|| {
        anyhow!(
            "--loss {name}: unknown; use squared, absolute, huber, logistic, multinomial, squared-hinge, poisson, quantile or point"
        )
    })?;
    match family {
        Family::Huber { .. } => ensure!(delta > 0.0 && delta.is_finite(), "--huber-delta {delta}: must be positive"),
        Family::Quantile { .. } => {
            ensure!(q > 0.0 && q < 1.0, "--quantile {q}: must be between 0 and 1, exclusive");
        }
        _ => {}
    }
    Ok(family)
}

pub fn input(raw: &RawConfig, family: Family, intercept: bool) -> Result<InputSpec> {
    let nodes = raw
        .nodes
        .clone()
        .ok_or_else(|| anyhow!("which data? give the table: fedweave fit nodes.csv --target y ..."))?;
    let target_kind = match family {
        Family::Point => TargetKind::None,
        Family::Multinomial { .. } => TargetKind::Class,
        _ => TargetKind::Number,
    };
    ensure!(
        raw.target.is_some() || family == Family::Point,
        "which column is to be predicted? give --target COLUMN (only the point loss needs none)"
    );
    Ok(InputSpec {
        edges: raw.edges.clone(),
        node_info: raw.node_info.clone(),
        node: raw.node.clone().unwrap_or_else(|| "node".into()),
        target: raw.target.clone(),
        target_kind,
        features: raw.features.clone(),
        drop: raw.drop.clone().unwrap_or_default(),
        one_hot: raw.one_hot.clone().unwrap_or_default(),
        weight: raw.weight.clone(),
        missing: choice(
            "--missing",
            raw.missing.as_deref(),
            &[("error", MissingPolicy::Error), ("drop", MissingPolicy::Drop), ("mean", MissingPolicy::Mean)],
        )?,
        group: raw.split_by.clone(),
        time: raw.time.clone(),
        by: raw.by.clone().unwrap_or_default(),
        knn: raw.knn,
        metric: raw.metric.as_deref().map(metric).transpose()?,
        per_node: raw.loss_column.iter().chain(partition_column(raw)).cloned().collect(),
        intercept,
        ..InputSpec::new(nodes)
    })
}

/// The column with a partition, if it is no file.
pub fn partition_column(raw: &RawConfig) -> Option<&String> {
    raw.partition.as_ref().filter(|name| !Path::new(name).is_file())
}

/// A distance by name.
pub fn metric(name: &str) -> Result<Metric> {
    choice("--metric", Some(name), &[("great-circle", Metric::GreatCircle), ("euclidean", Metric::Euclidean)])
}

fn settings(raw: &RawConfig) -> Result<Settings> {
    let default = Settings::default();
    let tolerance = raw.tolerance.unwrap_or(default.tolerance);
    ensure!(tolerance > 0.0 && tolerance.is_finite(), "--tolerance {tolerance}: must be positive");
    for (flag, value) in [("--time-limit", raw.time_limit), ("--objective-decrease", raw.objective_decrease)] {
        value.map_or(Ok(()), |v| at_least(flag, v, 0.0))?;
    }
    if let Some(ratio) = raw.step_ratio {
        ensure!(ratio > 0.0 && ratio.is_finite(), "--step-ratio {ratio}: must be positive");
    }
    let exact = [
        ("auto", Solver::Auto),
        ("primal-dual", Solver::PrimalDual),
        ("newton", Solver::Newton),
        ("newton-cg", Solver::NewtonCg),
    ];
    let solvers: Vec<_> = exact.into_iter().chain(NAMES.map(|name| (name, Solver::Auto))).collect();
    Ok(Settings {
        tolerance,
        solver: choice("--solver", raw.solver.as_deref(), &solvers)?,
        relaxation: relaxation(raw.relaxation)?,
        iterations_max: raw.max_iterations.unwrap_or(default.iterations_max),
        objective_decrease: raw.objective_decrease,
        step_ratio: raw.step_ratio,
        ..default
    })
}

fn relaxation(raw: Option<f64>) -> Result<f64> {
    let value = raw.unwrap_or(Settings::default().relaxation);
    ensure!(value > 0.0 && value < 2.0, "--relaxation {value}: must be between 0 and 2");
    Ok(value)
}

/// Rows are held out for `compare`, to choose `lambda`, and wherever they are asked for.
pub fn split(raw: &RawConfig, compare: bool, choose: bool) -> Result<Option<SplitSpec>> {
    let rule = choice("--split", raw.split.as_deref(), &[("random", SplitRule::Random), ("last", SplitRule::Last)])?;
    ensure!(raw.split_by.is_none() || raw.split.is_none(), "give --split or --split-by, not both");
    let rule = if raw.split_by.is_some() { SplitRule::Groups } else { rule };
    ensure!(raw.time.is_none() || rule == SplitRule::Last, "--time needs --split last");
    if !(compare || choose || raw.validation.is_some_and(|v| v != 0.0)) {
        ensure!(
            raw.split.is_none() && raw.split_by.is_none(),
            "--split needs --validation: how many rows are to be held out?"
        );
        return Ok(None);
    }
    let validation = share("--validation", raw.validation.unwrap_or(0.2))?;
    let train = raw.train.map(|v| share("--train", v)).transpose()?;
    let test = raw.test.map(|v| share("--test", v)).transpose()?;
    ensure!(train.is_none() || test.is_none(), "give --train or --test, not both: the rest follows");
    let test = if compare && train.is_none() { test.or(Some(Share::Fraction(0.2))) } else { test };
    Ok(Some(SplitSpec { rule, train, validation, test, seed: raw.seed.unwrap_or(0), ..SplitSpec::default() }))
}

/// Below 1 a share of the rows, from 1 on a number of rows.
fn share(flag: &str, value: f64) -> Result<Share> {
    match value {
        v if v > 0.0 && v < 1.0 => Ok(Share::Fraction(v)),
        v if v >= 1.0 && v.fract() == 0.0 && v < 1e9 => Ok(Share::Rows(v as usize)),
        v => bail!("{flag} {v}: give a share between 0 and 1 or a whole number of rows"),
    }
}

pub fn at_least(flag: &str, value: f64, least: f64) -> Result<()> {
    ensure!(value >= least && value.is_finite(), "{flag} {value}: must be a finite number, at least {least}");
    Ok(())
}

/// The value a name stands for; the first one if there is no name.
pub fn choice<T: Copy>(flag: &str, name: Option<&str>, known: &[(&str, T)]) -> Result<T> {
    let Some(name) = name else { return Ok(known[0].1) };
    let found = known.iter().find(|(k, _)| *k == name);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|(k, _)| *k).collect();
        anyhow!("{flag} {name}: unknown; use {}", join_or(&names))
    })
}

fn join_or<T: Display>(words: &[T]) -> String {
    let words: Vec<String> = words.iter().map(ToString::to_string).collect();
    words.join(" or ")
}

fn read_matrix(path: &Path) -> Result<Matrix> {
    let text = std::fs::read_to_string(path).map_err(|error| anyhow!("{}: {error}", path.display()))?;
    let (mut data, mut cols) = (Vec::new(), 0);
    for (k, line) in text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty()) {
        let place = format!("{}:{}", path.display(), k + 1);
        let row: Vec<f64> = line
            .split(',')
            .map(|cell| cell.trim().parse().map_err(|_| anyhow!("{place}: `{}` is not a number", cell.trim())))
            .collect::<Result<_>>()?;
        ensure!(cols == 0 || row.len() == cols, "{place}: expected {cols} numbers, found {}", row.len());
        ensure!(row.iter().all(|v| v.is_finite()), "{place}: every entry must be a finite number");
        cols = row.len();
        data.extend(row);
    }
    ensure!(cols > 0, "{}: the file is empty; it must hold a square matrix", path.display());
    Ok(Matrix::from_rows(cols, data))
}
