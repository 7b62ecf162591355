//! `fedweave fit`: files in, personal models out.

use anyhow::{Context, Result, bail, ensure};
use std::io::IsTerminal;
use std::time::Instant;

use fedweave::Dataset;
use fedweave::cluster::{Clusters, clusters};
use fedweave::loss::{Family, Loss, LossOptions, LossSpec};
use fedweave::matrix::{Matrix, dot};
use fedweave::problem::Problem;
use fedweave::robustness::{Unbounded, worst_liar};
use fedweave::scaling::Scaling;
use fedweave::solve::{History, Solution, Start, Status, nodes_without_minimiser, solve, solve_in_rounds};
use fedweave::split::{Part, Split, SplitSpec, split};
use fedweave::tune::{Errors, Tuning};
use fedweave_io::{Checkpoint, Input, RunWriter, fingerprint, load};

use crate::config::RawConfig;
use crate::plan::Plan;
use crate::progress::{Watcher, catch_interrupts, interrupted, use_threads};
use crate::story;
use crate::trial::Trial;
use crate::{Exit, say};

pub const EXAMPLES: &str = "\
Examples:
  fedweave fit nodes.csv --edges edges.csv --target y --out run
  fedweave fit nodes.csv --edges edges.csv --target y --lambda 0.1 --penalty squared --json
  fedweave fit stations.csv --node station --target temp --knn 4 --by lat,lon --validation 0.3
  fedweave fit points.csv --edges edges.csv --loss point --lambda 2      convex clustering
  fedweave fit visits.csv --edges wards.graphml --target sick --loss logistic --ridge 0.001
  fedweave fit nodes.csv --edges edges.csv --target y --model 'tree max-depth=5'      trees, coupled by predictions
  fedweave fit --config run/config.toml --lambda 0.5                     an earlier run, changed

Without --lambda, lambda is chosen on held-out rows and all rows are used for the final fit.";

/// Everything there is to say about a finished fit.
pub struct Fit {
    pub plan: Plan,
    pub input: Input,
    pub loss: LossSpec,
    pub penalty: &'static str,
    pub lambda: f64,
    pub solution: Solution,
    /// What was sent, a record for each of the solution's, if the solver exchanges messages.
    pub traffic: Option<History>,
    pub clusters: Clusters,
    pub seconds: f64,
    /// Models in the units of the input.
    pub parameters: Matrix,
    pub rows_trained: usize,
    /// Share of training rows a classifier gets right.
    pub accuracy: Option<f64>,
    pub train: Errors,
    pub held_out: Option<HeldOut>,
    pub tuning: Option<Tuning>,
    /// The node that could do most harm by lying, and how far it could move all other models together.
    pub worst_liar: Option<std::result::Result<(usize, f64), Unbounded>>,
}

/// How models that never saw the held-out rows do on them.
pub struct HeldOut {
    pub split: Split,
    pub validation: Errors,
    pub local: Errors,
    pub global: Option<Errors>,
}

/// Runs the command.
pub fn run(raw: RawConfig) -> Result<Exit> {
    let raw = raw.resolve()?;
    if raw.model.is_some() || raw.models_file().is_some() {
        return crate::models::run(raw);
    }
    let plan = Plan::fit(raw)?;
    use_threads(plan.raw.threads);
    // An existing folder must be refused before the work, not after it.
    let writer = plan.raw.out.as_deref().map(|out| RunWriter::create(out, plan.raw.overwrite)).transpose()?;
    let fit = fit(plan)?;
    let written = writer.map(|writer| story::write_run(&fit, writer)).transpose()?;
    match fit.plan.raw.json {
        true => say(&story::summary(&fit).to_string())?,
        false => say(&story::words(&fit, written.as_deref()))?,
    }
    Ok(exit(fit.solution.status))
}

/// The exit code of a status.
pub fn exit(status: Status) -> Exit {
    match status {
        Status::Converged => Exit::Done,
        Status::Interrupted => Exit::Interrupted,
        Status::Stalled | Status::IterationLimit | Status::TimeLimit | Status::Diverged => Exit::Unfinished,
    }
}

/// Reads, chooses lambda if asked to, and fits.
pub fn fit(plan: Plan) -> Result<Fit> {
    let input = load(&plan.input)?;
    fit_input(plan, input)
}

/// [`fit`], with the files already read.
pub fn fit_input(plan: Plan, input: Input) -> Result<Fit> {
    catch_interrupts();
    let started = Instant::now();
    let loss = plan.loss(&input)?;
    check(&plan, &input, &loss)?;
    // Before lambda is known: any positive one couples the same nodes.
    refuse_runaway(&plan, &input, &loss, &input.data, plan.lambda.unwrap_or(1.0), &plan.options)?;
    if let Some(rounds) = &plan.rounds {
        // A method that does not fit is refused before the work, not after it.
        rounds.method(&build(&plan, &input, &loss, input.data.clone(), plan.lambda.unwrap_or(1.0))?)?;
    }
    let mut tuning = None;
    let mut held_out: Option<HeldOut> = None;
    let mut to_judge = None;
    // Without edges there is nothing to choose.
    let apart = input.graph.edges() == 0 || plan.rounds.as_ref().is_some_and(|r| !r.is_coupled());
    let mut lambda = plan.lambda.or(apart.then_some(0.0));
    let choose = lambda.is_none();
    if let Some(spec) = plan.split.as_ref().filter(|_| choose || plan.raw.validation.is_some()) {
        let split = hold_out(&input, spec, "give --lambda")?;
        let trial = Trial::new(&plan, &input, &loss, &split);
        if let (Some(_), false) = (&plan.rounds, choose) {
            // The models to be judged are those of the solver asked for.
            let later = Errors { by_node: vec![None; input.names.len()] };
            held_out = Some(trial.judge(&plan, split, later)?);
            to_judge = Some(trial.plain(&trial.validation)?);
        } else {
            let found = trial.tune(&plan, &input, started)?;
            lambda = Some(found.best().lambda);
            held_out = Some(trial.judge(&plan, split, found.best().validation.clone())?);
            // Without --json it is among the words; in a pipe, in the object.
            let watched = plan.raw.json && std::io::stderr().is_terminal();
            if let Some(words) = story::end_of_grid(&found, &plan).filter(|_| choose && watched) {
                eprintln!("note: {words}");
            }
            tuning = choose.then_some(found);
        }
    }
    let lambda = lambda.expect("lambda is given or was chosen");
    // With a fixed lambda the held-out rows stay out; a chosen one is used on all rows.
    let train = match (&held_out, &tuning) {
        (Some(held), None) => input.data.select(&held.split.mask(Part::Train)),
        _ => input.data.clone(),
    };
    let training = Training::new(&plan, train);
    refuse_runaway(&plan, &input, &loss, &training.scaled, lambda, &plan.options)?;
    let problem = build(&plan, &input, &loss, training.scaled.clone(), lambda)?;
    let mut start = resume(&plan, &input, problem.dim())?;
    if let (true, Some(tuning)) = (interrupted(), &tuning) {
        // The best so far is worth more than nothing.
        let best = tuning.best();
        ensure!(best.converged, "interrupted before any lambda was tried to the end; nothing is written");
        let u = Matrix::zeros(input.graph.edges(), problem.dim());
        start = Some(Start { w: best.w.clone(), u, step_ratio: 1.0, clusters: None });
    }
    let limit = time_left(&plan, started);
    let mut watcher = Watcher::new("fitting", plan.settings.tolerance, plan.settings.iterations_max, limit);
    let (solution, traffic) = match &plan.rounds {
        None => (solve(&problem, &plan.settings, start, &mut |record| watcher.see(record)), None),
        Some(rounds) => {
            let mut method = rounds.method(&problem)?;
            let watch = &mut |record: &_| watcher.see(record);
            let (solution, traffic) = solve_in_rounds(&problem, &mut *method, &plan.settings, plan.raw.rounds, watch);
            (solution, Some(traffic))
        }
    };
    if let (Some(held), Some(rows)) = (&mut held_out, to_judge) {
        held.validation = Errors::of(&*rows, &solution.w);
    }
    if plan.raw.verbose {
        eprintln!("solver: {} ({})", solution.choice.method, solution.choice.reason);
    }
    let seconds = watcher.finish();
    Solved { plan, input, loss, problem, training, solution, traffic, seconds, held_out, tuning }.into_fit()
}

/// The bound on liars needs the eigenvalues of every loss; where these are much work it is left out.
fn judges_liars(problem: &Problem) -> bool {
    problem.nodes() as f64 * (problem.dim() as f64).powi(3) <= 2e8
}

/// The rows trained with.
pub struct Training {
    pub rows: Dataset,
    /// The same in the units of the solver.
    pub scaled: Dataset,
    scaling: Option<Scaling>,
}

impl Training {
    pub fn new(plan: &Plan, rows: Dataset) -> Self {
        let scaling = plan.raw.standardize.then(|| Scaling::of(&rows, plan.intercept()));
        let scaled = scaling.as_ref().map_or_else(|| rows.clone(), |s| s.apply(&rows));
        Training { rows, scaled, scaling }
    }

    /// The solver's models in the units of the input.
    pub fn restore(&self, loss: &LossSpec, w: &Matrix) -> Matrix {
        let mut parameters = w.clone();
        match (&self.scaling, loss) {
            (Some(s), LossSpec::Same(Family::Point)) => s.restore_points(&mut parameters),
            (Some(s), _) => s.restore(&mut parameters),
            (None, _) => {}
        }
        parameters
    }

    /// Errors of the solver's models `w`, restored: `parameters`. Scores are the same in scaled features; positions are not.
    pub fn errors(&self, loss: &LossSpec, w: &Matrix, parameters: &Matrix) -> Result<Errors> {
        Ok(Errors::of(&*self.error_loss(loss)?, if measures_positions(loss) { parameters } else { w }))
    }

    /// The loss without regularisation, whose values are errors.
    pub fn error_loss(&self, loss: &LossSpec) -> Result<Box<dyn Loss>> {
        let data = if measures_positions(loss) { &self.rows } else { &self.scaled };
        Ok(loss.build(data.clone(), &LossOptions::default())?)
    }
}

/// True if errors are distances, which change with the scale of features.
pub fn measures_positions(loss: &LossSpec) -> bool {
    matches!(loss, LossSpec::Same(Family::Point))
}

/// A solved problem and where it came from.
pub struct Solved {
    pub plan: Plan,
    pub input: Input,
    pub loss: LossSpec,
    pub problem: Problem,
    pub training: Training,
    pub solution: Solution,
    pub traffic: Option<History>,
    pub seconds: f64,
    pub held_out: Option<HeldOut>,
    pub tuning: Option<Tuning>,
}

impl Solved {
    /// Adds what follows from it.
    pub fn into_fit(self) -> Result<Fit> {
        let Solved { plan, input, loss, problem, training, solution, traffic, seconds, held_out, tuning } = self;
        let parameters = training.restore(&loss, &solution.w);
        Ok(Fit {
            clusters: clusters(&problem, &parameters, &solution.u),
            penalty: problem.penalty().name(),
            train: training.errors(&loss, &solution.w, &parameters)?,
            accuracy: accuracy(&loss, &training.rows, &parameters),
            rows_trained: training.rows.len(),
            lambda: problem.lambda(),
            worst_liar: judges_liars(&problem).then(|| worst_liar(&problem)),
            plan,
            input,
            loss,
            solution,
            traffic,
            seconds,
            parameters,
            held_out,
            tuning,
        })
    }
}

/// Splits the rows; some must be held out.
pub fn hold_out(input: &Input, spec: &SplitSpec, remedy: &str) -> Result<Split> {
    let split = split(&input.data, input.groups.as_deref(), spec)?;
    let held = split.part.contains(&Part::Validation);
    ensure!(held, "no row could be held out: every node has fewer than {} rows; {remedy}", spec.min_rows);
    Ok(split)
}

pub fn build(plan: &Plan, input: &Input, loss: &LossSpec, data: Dataset, lambda: f64) -> Result<Problem> {
    Ok(Problem::build(input.graph.clone(), loss.build(data, &plan.options)?, plan.penalty(input)?, lambda)?)
}

/// What is left of `--time-limit`, in seconds.
pub fn time_left(plan: &Plan, started: Instant) -> Option<f64> {
    plan.raw.time_limit.map(|limit| (limit - started.elapsed().as_secs_f64()).max(0.0))
}

/// Share of the rows of `data` that a classifier gets right; `None` for other losses.
fn accuracy(loss: &LossSpec, data: &Dataset, w: &Matrix) -> Option<f64> {
    let LossSpec::Same(family) = loss else { return None };
    if !family.is_classifier() || data.is_empty() {
        return None;
    }
    let p = data.dim();
    let right = |row: usize, w: &[f64]| {
        let (x, y) = (data.x(row), data.y()[row]);
        match family {
            Family::Multinomial { classes } => {
                let score = |k: usize| dot(x, &w[k * p..(k + 1) * p]);
                (0..*classes).fold(0, |b, k| if score(k) > score(b) { k } else { b }) == y as usize
            }
            _ => (dot(x, w) > 0.0) == (y > 0.0),
        }
    };
    let hits: usize = (0..data.nodes()).map(|i| data.rows(i).filter(|r| right(*r, w.row(i))).count()).sum();
    Some(hits as f64 / data.len() as f64)
}

/// Adds the file and line of a row to an error of the mathematics.
pub fn with_place(error: fedweave::Error, input: &Input) -> anyhow::Error {
    use fedweave::Error as E;
    match &error {
        E::Label { row, label, loss, needs } => {
            anyhow::anyhow!("{}: label {label} does not fit the {loss} loss, which needs {needs}", input.place(*row))
        }
        E::NotFinite { row, what } => anyhow::anyhow!("{}: {what} is not a finite number", input.place(*row)),
        E::RowWeight { row, weight } => {
            anyhow::anyhow!("{}: row weight {weight}; weights must be zero or positive", input.place(*row))
        }
        E::Scale { column, size } => {
            let name = input.features.get(*column).map_or("the target", String::as_str);
            anyhow::anyhow!(
                "column `{name}` has entries of size {size:e}; squares of that leave the range of double precision: \
                 rescale the column or give --standardize"
            )
        }
        _ => anyhow::Error::new(error),
    }
}

pub fn refuse_lonely_nodes(input: &Input) -> Result<()> {
    let notices = &input.notices;
    let lists = [
        (&notices.nodes_with_neither, "neither rows nor edges"),
        (&notices.nodes_without_rows, "no rows"),
        (&notices.nodes_without_edges, "no edges"),
    ];
    for (names, what) in lists {
        if let Some(first) = names.first() {
            bail!(
                "--strict: {} node(s) have {what}, the first is `{first}`; add what is missing or drop --strict",
                names.len()
            );
        }
    }
    Ok(())
}

/// Losses that decrease for ever are refused, not iterated for ever.
pub fn refuse_runaway(
    plan: &Plan,
    input: &Input,
    loss: &LossSpec,
    data: &Dataset,
    lambda: f64,
    options: &LossOptions,
) -> Result<()> {
    let penalty = plan.penalty(input)?;
    let mut loose: Vec<usize> = penalty.loose().iter().map(|j| j % input.features.len()).collect();
    loose.dedup();
    let bad = nodes_without_minimiser(loss, data, &input.graph, lambda, &loose, options)?;
    if let Some(&node) = bad.first() {
        let (family, name) = (loss.family(node), &input.names[node]);
        let remedy = match options.ridge > 0.0 {
            true => "all labels are alike, so the intercept grows without bound: give --no-intercept, or connect it",
            false => {
                "labels can be predicted perfectly, so parameters grow without bound: give a ridge, e.g. --ridge 0.001"
            }
        };
        bail!(
            "the {family} loss has no minimiser at node `{name}` and those connected with it ({} such): {remedy}",
            bad.len()
        );
    }
    Ok(())
}

/// What can be wrong with the data, while their places in the file are known.
pub fn check(plan: &Plan, input: &Input, loss: &LossSpec) -> Result<()> {
    if plan.raw.strict {
        refuse_lonely_nodes(input)?;
    }
    plan.penalty(input)?;
    let data = match plan.raw.standardize {
        true => Scaling::of(&input.data, plan.intercept()).apply(&input.data),
        false => input.data.clone(),
    };
    loss.build(data, &plan.options).map_err(|error| with_place(error, input))?;
    let mut names: Vec<&str> = input.features.iter().map(String::as_str).chain(["node"]).collect();
    names.sort_unstable();
    if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        let (table, name) = (plan.input.nodes.display(), pair[0]);
        bail!("{table}: feature `{name}` has a name that parameters.csv needs itself; rename it or give --drop {name}");
    }
    Ok(())
}

fn resume(plan: &Plan, input: &Input, dim: usize) -> Result<Option<Start>> {
    let Some(dir) = &plan.raw.resume else { return Ok(None) };
    let path = dir.join("checkpoint.bin");
    let checkpoint = Checkpoint::read(&path, &input.names, &input.graph, dim)
        .with_context(|| format!("--resume {}: no usable checkpoint", dir.display()))?;
    let (w, u, step_ratio) = (checkpoint.w, checkpoint.u, checkpoint.step_ratio);
    Ok(Some(Start { w, u, step_ratio, clusters: None }))
}

/// What a later run needs to go on from here.
pub fn checkpoint(fit: &Fit) -> Checkpoint {
    Checkpoint {
        problem: fingerprint(&fit.input.names, &fit.input.graph),
        iteration: fit.solution.iterations as u64,
        step_ratio: fit.solution.step_ratio,
        w: fit.solution.w.clone(),
        u: fit.solution.u.clone(),
    }
}
