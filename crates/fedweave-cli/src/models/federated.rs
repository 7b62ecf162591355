//! `fedweave up --model`: the same models, fitted by processes that exchange predictions.

use std::collections::HashMap;

use anyhow::{Result, anyhow, bail, ensure};
use fedweave::Dataset;
use fedweave::model::relax::{PublicRows, Relax, RelaxOptions, Start, seed_of};
use fedweave::model::{Fitted, Local, LocalModel, ModelSpec, Task};
use fedweave::solve::JudgedOn;
use fedweave_io::{Input, RunWriter, load};

use super::file::model_file;
use super::plan::ModelPlan;
use super::{ModelFit, Training, errors, named, refuse, task, tell};
use crate::config::RawConfig;

/// What is known before and after the processes run.
pub struct Federated {
    plan: ModelPlan,
    input: Input,
    task: Task,
    specs: Vec<ModelSpec>,
    training: Training,
    lambda: f64,
    writer: Option<RunWriter>,
}

/// What a network of processes needs to know.
pub struct Pieces<'a> {
    pub input: &'a Input,
    pub data: &'a Dataset,
    /// The same rows for all nodes, or rows of each.
    pub public: &'a [PublicRows],
    pub task: Task,
    pub specs: &'a [ModelSpec],
    pub options: &'a RelaxOptions,
    pub lambda: f64,
    pub rounds: usize,
}

/// What the processes found.
pub struct Found {
    /// The models of all nodes, by name.
    pub models: HashMap<String, Option<Fitted>>,
    pub rounds: u64,
    pub messages: u64,
    pub bytes: u64,
    pub seconds: f64,
}

impl Federated {
    /// Reads the files and checks that processes can do it.
    pub fn new(raw: RawConfig) -> Result<Self> {
        let flags = [
            ("--order in-turn", raw.order.as_deref() == Some("in-turn")),
            ("--validation", raw.validation.is_some()),
            ("--lambda-grid", raw.lambda_grid.is_some()),
            ("--distil", raw.distil.is_some_and(|rows| rows > 0)),
        ];
        refuse(&flags, "belongs to `fedweave fit`: parts work together, with all rows, and may have to start again")?;
        let plan = ModelPlan::new(raw)?;
        let lambda = plan.lambda;
        let writer = plan.raw.out.as_deref().map(|out| RunWriter::create(out, plan.raw.overwrite)).transpose()?;
        let Some(lambda) = lambda else {
            bail!("--lambda: a federation needs a number; `fedweave fit --model` chooses one on held-out rows");
        };
        let input = load(&plan.input)?;
        let task = task(&plan, &input)?;
        let specs = plan.specs(&input, task)?;
        let training = Training::new(&plan, &input, input.data.clone())?;
        ensure!(
            training.public.len() == 1 || plan.options.judged_on == JudgedOn::Neighbours,
            "--judged-on both: in a federation it needs public rows that are the same for all nodes; \
             give --public FILE without a node column"
        );
        Ok(Federated { plan, input, task, specs, training, lambda, writer })
    }

    /// What a network of processes needs to know.
    pub fn pieces(&self) -> Pieces<'_> {
        Pieces {
            input: &self.input,
            data: &self.training.scaled,
            public: &self.training.public,
            task: self.task,
            specs: &self.specs,
            options: &self.plan.options,
            lambda: self.lambda,
            rounds: self.plan.rounds,
        }
    }

    /// Judges the models with all rows in sight, and writes the run directory that `fedweave fit` would write.
    pub fn finish(mut self, mut found: Found, before: &str) -> Result<()> {
        let model = |(i, name): (usize, &String)| -> Result<Box<dyn LocalModel>> {
            let fitted = found.models.remove(name).ok_or_else(|| anyhow!("no part has a model for node `{name}`"))?;
            let seed = seed_of(self.plan.options.seed, i);
            Ok(Box::new(match fitted {
                Some(fitted) => Local::load(self.specs[i].clone(), seed, fitted)?,
                None => Local::new(self.specs[i].clone(), self.task, seed)?,
            }))
        };
        let models = self.input.names.iter().enumerate().map(model).collect::<Result<Vec<_>>>()?;
        let options = RelaxOptions { lambda: self.lambda, start: Start::Blank, ..self.plan.options };
        let (public, writer) = (self.training.public.clone(), self.writer.take());
        let relax = Relax::with_models(&self.input.graph, &self.training.scaled, self.task, models, public, options);
        let relax = relax.map_err(|e| named(e, &self.input))?;
        let mut last = self.training.look(&relax, None, self.task, &self.input)?;
        (last.number, last.messages, last.bytes) = (found.rounds as usize, found.messages, found.bytes);
        let train = errors(&relax, &self.training.scaled, self.task, &self.input)?;
        let fitted = self.specs.iter().enumerate().map(|(i, spec)| (i, spec.clone(), relax.model(i).fitted()));
        let models = model_file(fitted, &self.input, self.task, self.training.scaling);
        drop(relax);
        let fit = ModelFit {
            train,
            rows_trained: self.training.scaled.len(),
            models,
            public: self.training.source,
            seconds: found.seconds,
            plan: self.plan,
            input: self.input,
            task: self.task,
            specs: self.specs,
            lambda: self.lambda,
            chosen: None,
            history: vec![last],
            held_out: None,
        };
        tell(&fit, writer, Some(before))
    }
}
