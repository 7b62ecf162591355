//! What the settings of `fit --model` mean.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail, ensure};
use fedweave::loss::Family;
use fedweave::model::relax::{PUBLIC_ROWS, PublicSource, ROUNDS, RelaxOptions};
use fedweave::model::{ModelSpec, Task};
use fedweave::split::SplitSpec;
use fedweave_io::{Input, InputSpec, Kind, Table};

use super::{refuse, solver_flags};
use crate::config::{Lambda, Models, RawConfig};
use crate::plan::{self, at_least, choice};

/// Values of lambda to choose from if nobody says which; 0 is every node alone.
const GRID: [f64; 8] = [0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0];

/// A request that can be carried out.
pub struct ModelPlan {
    pub raw: RawConfig,
    pub input: InputSpec,
    pub classify: bool,
    /// For nodes that no table names.
    default: Option<ModelSpec>,
    pub lambda: Option<f64>,
    pub grid: Vec<f64>,
    pub rounds: usize,
    pub options: RelaxOptions,
    pub source: PublicSource,
    pub public_rows: usize,
    pub split: Option<SplitSpec>,
}

impl ModelPlan {
    pub fn new(raw: RawConfig) -> Result<Self> {
        refuse_foreign_flags(&raw)?;
        let classify = choice("--task", raw.task.as_deref(), &[("regression", false), ("classification", true)])?;
        let default = raw.model.as_deref().map(|text| text.parse().context("--model")).transpose()?;
        let family = if classify { Family::Multinomial { classes: 0 } } else { Family::Squared };
        let lambda = match raw.lambda {
            Some(Lambda::Fixed(value)) => {
                at_least("--lambda", value, 0.0)?;
                Some(value)
            }
            _ => None,
        };
        ensure!(lambda.is_none() || raw.lambda_grid.is_none(), "give --lambda or --lambda-grid, not both");
        let grid = raw.lambda_grid.clone().unwrap_or_else(|| GRID.to_vec());
        ensure!(!grid.is_empty(), "--lambda-grid needs at least one number");
        grid.iter().try_for_each(|v| at_least("--lambda-grid", *v, 0.0))?;
        let public_rows = raw.public_rows.unwrap_or(PUBLIC_ROWS);
        ensure!(public_rows > 0, "--public-rows 0: at least one row is needed to compare predictions on");
        ensure!(
            raw.public.is_none() || (raw.public_rows.is_none() && raw.public_from.is_none()),
            "--public names the rows: leave out --public-rows and --public-from"
        );
        Ok(ModelPlan {
            input: plan::input(&raw, family, false)?,
            split: plan::split(&raw, false, lambda.is_none())?,
            options: RelaxOptions {
                order: choice("--order", raw.order.as_deref(), &RelaxOptions::ORDERS)?,
                judged_on: choice("--judged-on", raw.judged_on.as_deref(), &RelaxOptions::JUDGED_ON)?,
                weighting: choice("--row-weights", raw.row_weights.as_deref(), &RelaxOptions::WEIGHTINGS)?,
                distil: raw.distil.unwrap_or(0),
                seed: raw.seed.unwrap_or(0),
                ..RelaxOptions::default()
            },
            source: choice("--public-from", raw.public_from.as_deref(), &PublicSource::NAMES)?,
            rounds: raw.rounds.unwrap_or(ROUNDS),
            classify,
            default,
            lambda,
            grid,
            public_rows,
            raw,
        })
    }

    /// The model class of every node.
    pub fn specs(&self, input: &Input, task: Task) -> Result<Vec<ModelSpec>> {
        if let Some(default) = &self.default {
            default.check(task).context("--model")?;
        }
        let named = match self.raw.models_file() {
            Some(path) => read_models(path, &self.input.node, input, task)?,
            None => HashMap::new(),
        };
        let of = |(i, name): (usize, &String)| {
            named.get(&i).or(self.default.as_ref()).cloned().ok_or_else(|| {
                let path = self.raw.models_file().map(|p| p.display().to_string()).unwrap_or_default();
                anyhow!("{path}: node `{name}` is not named; add it, or give --model for the others")
            })
        };
        input.names.iter().enumerate().map(of).collect()
    }
}

/// The table of `--models`: node, model, options.
fn read_models(path: &Path, node: &str, input: &Input, task: Task) -> Result<HashMap<usize, ModelSpec>> {
    let table = Table::read(path, |_| Kind::Text)?;
    let column = table.position("node").map_or_else(|| table.find_node(node), Ok)?;
    let (ids, names) = (table.text(column), table.text(table.find("model")?));
    let options = table.position("options").map(|column| table.text(column));
    let place: HashMap<&str, usize> = input.names.iter().enumerate().map(|(i, n)| (n.as_str(), i)).collect();
    let mut found = HashMap::new();
    for row in 0..table.rows() {
        let at = table.place(row);
        let id = ids.get(row);
        let Some(&i) = place.get(id) else {
            bail!("{at}: node `{id}` is in no other file; remove the line or correct it")
        };
        let text = format!("{} {}", names.get(row), options.map_or("", |o| o.get(row)));
        let spec: ModelSpec = text.parse().map_err(|e| anyhow!("{at}: {e}"))?;
        spec.check(task).map_err(|e| anyhow!("{at}: {e}"))?;
        ensure!(found.insert(i, spec).is_none(), "{at}: node `{id}` is named twice; keep one line");
    }
    Ok(found)
}

/// Flags that mean nothing with `--model`.
pub fn refuse_foreign_flags(raw: &RawConfig) -> Result<()> {
    plan::refuse_path_flags(raw)?;
    plan::refuse_ask_flags(raw)?;
    plan::check_threads(raw)?;
    if let Some(Models::Count(k)) = raw.models {
        bail!("--models {k}: give a table with columns node, model, options; a number belongs to --solver ifca");
    }
    let why = "does not go with --model: models of any class are fitted by their own rules and coupled by predictions";
    refuse(&solver_flags(raw), why)?;
    refuse(
        &[
            ("--loss", raw.loss.is_some()),
            ("--loss-column", raw.loss_column.is_some()),
            ("--huber-delta", raw.huber_delta.is_some()),
            ("--quantile", raw.quantile.is_some()),
            ("--ridge", raw.ridge.is_some()),
            ("--no-intercept", raw.no_intercept),
            ("--node-weight", raw.node_weight.is_some()),
            ("--penalty-matrix", raw.penalty_matrix.is_some()),
            ("--block", raw.block.is_some()),
            ("--step", raw.step.is_some()),
            ("--batch", raw.batch.is_some()),
            ("--schedule", raw.schedule.is_some()),
            ("--active", raw.active.is_some()),
            ("--delay-max", raw.delay_max.is_some()),
            ("--local-steps", raw.local_steps.is_some()),
            ("--prox", raw.prox),
            ("--restarts", raw.restarts.is_some()),
            ("--gamma", raw.gamma.is_some()),
            ("--ball", raw.ball.is_some()),
            ("--box", raw.box_.is_some()),
            ("--users", raw.users.is_some()),
            ("--rho", raw.rho.is_some()),
            ("--eta", raw.eta.is_some()),
            ("--tau", raw.tau.is_some()),
            ("--nu", raw.nu.is_some()),
            ("--cease-after", raw.cease_after.is_some()),
            ("--as-printed", raw.as_printed),
        ],
        why,
    )?;
    refuse(
        &[("--splits", raw.splits.is_some()), ("--train", raw.train.is_some()), ("--test", raw.test.is_some())],
        "belongs to `fedweave compare`",
    )
}

/// Flags that mean nothing without `--model`.
pub fn refuse_model_flags(raw: &RawConfig) -> Result<()> {
    refuse(
        &[
            ("--model", raw.model.is_some()),
            ("--models FILE", raw.models_file().is_some()),
            ("--task", raw.task.is_some()),
            ("--public", raw.public.is_some()),
            ("--public-from", raw.public_from.is_some()),
            ("--public-rows", raw.public_rows.is_some()),
            ("--judged-on", raw.judged_on.is_some()),
            ("--row-weights", raw.row_weights.is_some()),
            ("--distil", raw.distil.is_some()),
        ],
        "belongs to `fedweave fit --model`, `fedweave ask --model` or `fedweave up --model`",
    )
}
