//! `fedweave compare`: does the network help?

use anyhow::{Result, ensure};
use comfy_table::{CellAlignment, Table, presets};
use fedweave::compare::{Comparison, Judged, Outcome};
use fedweave::loss::{LossOptions, LossSpec};
use fedweave::solve::Settings;
use fedweave::split::{SplitSpec, split};
use fedweave::tune::mean_and_error;
use fedweave_io::{Input, RunWriter, load};
use fedweave_report as report;
use serde_json::{Value, json};

use crate::config::RawConfig;
use crate::fit::{check, refuse_runaway};
use crate::plan::Plan;
use crate::progress::{Counter, catch_interrupts, interrupted, use_threads};
use crate::story::{self, split_words};
use crate::{Exit, say};

pub const EXAMPLES: &str = "\
Examples:
  fedweave compare nodes.csv --edges edges.csv --target y --splits 10
  fedweave compare stations.csv --node station --target temp --features t,t2,sin,cos --standardize \\
      --knn 4 --by lat,lon --train 10 --validation 10 --penalty squared --ridge 1e-6,1e-3,1e-2 --splits 10
  fedweave compare stations.csv --node station --target temp --knn 4 --by lat,lon --split-by date

Every method chooses its own ridge (from the list of --ridge) and lambda on validation rows; errors are on test rows.
`shuffled` is the same graph with its nodes renamed at random: if it is as good, the gain is not due to this graph.";

/// The methods in the order they are shown: name in tables, meaning in reports, field of an outcome.
type Pick = fn(&Outcome) -> &Judged;
const METHODS: [(&str, report::MethodKind, Pick); 4] = [
    ("local", report::MethodKind::Local, |o| &o.local),
    ("global", report::MethodKind::Global, |o| &o.global),
    ("networked", report::MethodKind::Networked, |o| &o.networked),
    ("shuffled", report::MethodKind::Shuffled, |o| &o.shuffled),
];

/// Relative accuracy of every solve, unless `--tolerance` says otherwise.
const TOLERANCE: f64 = 1e-5;

/// All splits of a comparison.
pub struct Compared {
    pub plan: Plan,
    pub input: Input,
    pub outcomes: Vec<Outcome>,
}

pub fn run(raw: RawConfig) -> Result<Exit> {
    let plan = Plan::compare(raw.resolve()?)?;
    use_threads(plan.raw.threads);
    let writer = plan.raw.out.as_deref().map(|out| RunWriter::create(out, plan.raw.overwrite)).transpose()?;
    let compared = compare(plan)?;
    let written = writer.map(|writer| compared.write(writer)).transpose()?;
    let mut text = if compared.plan.raw.json { compared.summary().to_string() } else { compared.words() };
    if let (Some(path), false) = (written, compared.plan.raw.json) {
        text += &format!("\nwritten to {0}, see {0}/report.html", path.display());
    }
    say(&text)?;
    let converged = compared.outcomes.iter().all(|o| o.networked.converged && o.shuffled.converged);
    Ok(match (interrupted(), converged) {
        (true, _) => Exit::Interrupted,
        (false, true) => Exit::Done,
        (false, false) => Exit::Unfinished,
    })
}

fn compare(plan: Plan) -> Result<Compared> {
    ensure!(plan.raw.time_limit.is_none(), "--time-limit belongs to `fedweave fit`");
    let input = load(&plan.input)?;
    compare_input(plan, input)
}

/// Runs all methods on all splits.
pub fn compare_input(plan: Plan, input: Input) -> Result<Compared> {
    catch_interrupts();
    let spec = plan.split.expect("compare always holds out rows");
    let loss = plan.loss(&input)?;
    let LossSpec::Same(family) = loss else { unreachable!("checked with the plan") };
    check(&plan, &input, &loss)?;
    let least = plan.ridges.iter().copied().fold(f64::INFINITY, f64::min);
    let lambda = plan.lambda.unwrap_or(1.0);
    refuse_runaway(&plan, &input, &loss, &input.data, lambda, &LossOptions { ridge: least, ..plan.options })?;
    let penalty = || plan.penalty(&input).map_err(|error| error.downcast().expect("the penalty was built once before"));
    let comparison = Comparison {
        family,
        options: plan.options,
        ridges: &plan.ridges,
        penalty: &penalty,
        lambdas: plan.raw.lambda_grid.as_deref().or(plan.lambda.as_ref().map(std::slice::from_ref)),
        rule: plan.rule,
        standardize: plan.raw.standardize,
        intercept: plan.intercept(),
        // Errors on test rows do not depend on the last digits.
        settings: Settings { tolerance: plan.raw.tolerance.unwrap_or(TOLERANCE), ..plan.settings.clone() },
    };
    let mut outcomes = Vec::new();
    for k in 0..plan.splits {
        let seed = spec.seed.wrapping_add(k as u64);
        let part = split(&input.data, input.groups.as_deref(), &SplitSpec { seed, ..spec })?;
        let bar = Counter::new("comparing", k, plan.splits);
        let outcome = comparison.run(&input.graph, &input.data, &part, seed, &|_| bar.see())?;
        bar.finish();
        outcomes.push(outcome);
        if interrupted() {
            break;
        }
    }
    let tested = outcomes.iter().any(|o| o.networked.test.mean().is_some());
    ensure!(tested, "no node has test rows; hold out fewer rows or give more data");
    Ok(Compared { plan, input, outcomes })
}

impl Compared {
    /// Mean test error over splits, and its standard error (over splits, or over nodes if there is one split).
    fn error(&self, pick: Pick) -> (f64, f64) {
        let means = self.outcomes.iter().filter_map(|o| pick(o).test.mean());
        let (mean, error) = mean_and_error(means).unwrap_or((f64::NAN, f64::NAN));
        match self.outcomes.len() {
            1 => (mean, pick(&self.outcomes[0]).test.standard_error().unwrap_or(f64::NAN)),
            _ => (mean, error),
        }
    }

    /// Mean test error of a node over the splits in which it has test rows.
    fn node_error(&self, pick: Pick, node: usize) -> Option<f64> {
        let errors = self.outcomes.iter().filter_map(|o| pick(o).test.by_node[node]);
        mean_and_error(errors).map(|m| m.0)
    }

    /// Nodes whose error is smaller, and larger, than that of their local model.
    fn gain_and_lose(&self, pick: Pick) -> (usize, usize) {
        let difference = |i: usize| Some(self.node_error(pick, i)? - self.node_error(METHODS[0].2, i)?);
        let all: Vec<f64> = (0..self.input.names.len()).filter_map(difference).collect();
        (all.iter().filter(|d| **d < 0.0).count(), all.iter().filter(|d| **d > 0.0).count())
    }

    /// Splits in which the true graph beats the shuffled one.
    fn better_than_shuffled(&self) -> usize {
        self.outcomes.iter().filter(|o| o.networked.test.mean() < o.shuffled.test.mean()).count()
    }

    pub fn split_words(&self) -> String {
        split_words(self.plan.split.as_ref(), self.plan.raw.split_by.as_deref())
    }

    fn error_name(&self) -> &'static str {
        self.plan.family.error_name()
    }

    pub fn summary(&self) -> Value {
        let method = |(name, _, pick): &(&str, report::MethodKind, Pick)| {
            let (error, standard_error) = self.error(*pick);
            let (gain, lose) = self.gain_and_lose(*pick);
            let chosen = |f: fn(&Judged) -> Value| self.outcomes.iter().map(|o| f(pick(o))).collect::<Vec<_>>();
            let facts = json!({
                "test_error": error, "standard_error": standard_error, "nodes_gain": gain, "nodes_lose": lose,
                "ridge": chosen(|j| json!(j.ridge)), "lambda": chosen(|j| json!(j.lambda)),
                "test_error_by_split": chosen(|j| json!(j.test.mean())),
            });
            ((*name).to_owned(), facts)
        };
        let mut all: serde_json::Map<String, Value> = METHODS.iter().map(method).collect();
        all.insert("nodes".into(), json!(self.input.names.len()));
        all.insert("edges".into(), json!(self.input.graph.edges()));
        all.insert("splits".into(), json!(self.outcomes.len()));
        all.insert("split".into(), json!(self.split_words()));
        all.insert("error".into(), json!(self.error_name()));
        all.insert("networked_beats_shuffled".into(), json!(self.better_than_shuffled()));
        all.insert("version".into(), json!(env!("CARGO_PKG_VERSION")));
        Value::Object(all)
    }

    /// A small table for people.
    pub fn words(&self) -> String {
        let mut table = Table::new();
        table.load_preset(presets::NOTHING).set_header(["", "test error", "std. error", "nodes better", "nodes worse"]);
        for (name, _, pick) in METHODS {
            let (error, standard_error) = self.error(pick);
            let (gain, lose) = self.gain_and_lose(pick);
            let counts = if name == "local" { ["".into(), "".into()] } else { [gain.to_string(), lose.to_string()] };
            let [gain, lose] = counts;
            table.add_row([name.to_owned(), format!("{error:.4}"), format!("{standard_error:.4}"), gain, lose]);
        }
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        let (splits, better) = (self.outcomes.len(), self.better_than_shuffled());
        format!(
            "{}, mean over nodes; {splits} split(s); better and worse than local\n{table}\n\
             the graph beats a shuffled one in {better} of {splits} split(s)\nsplit: {}",
            self.error_name(),
            self.split_words()
        )
    }

    /// `compare.csv` (errors of every node), `summary.json`, `config.toml` and the report.
    fn write(&self, writer: RunWriter) -> Result<std::path::PathBuf> {
        let rows = (0..self.input.names.len()).map(|i| {
            let errors = METHODS.map(|(_, _, pick)| self.node_error(pick, i).map_or(String::new(), |e| e.to_string()));
            [vec![self.input.names[i].clone()], errors.to_vec()].concat()
        });
        writer.write_csv("compare.csv", &["node", "local", "global", "networked", "shuffled"], rows)?;
        writer.write_json("summary.json", &self.summary())?;
        writer.write_text("config.toml", &self.plan.raw.to_toml()?)?;
        let mut page = report::Report {
            title: self.plan.raw.title.clone().unwrap_or_else(|| "Does the network help?".into()),
            version: story::version(),
            command: story::command(),
            ..report::Report::default()
        };
        self.tell(&mut page);
        self.introduce(&mut page);
        story::draw(
            &mut page,
            &self.input,
            &self.input.graph,
            |i| report::Node {
                validation_error: self.node_error(METHODS[2].2, i),
                local_error: self.node_error(METHODS[0].2, i),
                global_error: self.node_error(METHODS[1].2, i),
                ..Default::default()
            },
            |_| false,
        );
        story::write_report(&writer, &page)?;
        Ok(writer.finish()?)
    }

    /// What was compared, and the errors of the networked models beside the others.
    fn introduce(&self, page: &mut report::Report) {
        let networked = &self.outcomes[0].networked;
        page.what = report::What {
            loss: self.plan.family.to_string(),
            penalty: self.plan.raw.penalty.clone().unwrap_or_else(|| "norm2".into()),
            lambda: networked.lambda.unwrap_or(f64::NAN),
            solver: "auto".into(),
            dim: networked.w.cols(),
            nodes: self.input.names.len(),
            edges: self.input.graph.edges(),
            rows: self.input.data.len(),
            target: self.plan.raw.target.clone(),
            split: self.split_words(),
            ..Default::default()
        };
        let error = |k: usize| Some(self.error(METHODS[k].2).0);
        page.outcome = report::Outcome {
            tolerance: self.plan.raw.tolerance.unwrap_or(TOLERANCE),
            error_name: self.error_name().into(),
            local_error: error(0),
            global_error: error(1),
            validation_error: error(2),
            objective: f64::NAN,
            ..Default::default()
        };
        page.notices = story::notices(&self.input);
        page.notices.push("a comparison: every split has its own models; lambda is that of the first split".into());
    }

    /// Adds the comparison to a report.
    pub fn tell(&self, page: &mut report::Report) {
        let (nodes_gain, nodes_lose) = self.gain_and_lose(METHODS[2].2);
        let method = |(name, kind, pick): (&str, report::MethodKind, Pick)| {
            let (error, standard_error) = self.error(pick);
            report::Method { name: name.into(), kind, error, standard_error: Some(standard_error) }
        };
        page.comparison = Some(report::Comparison {
            methods: METHODS.map(method).to_vec(),
            splits: self.outcomes.len(),
            nodes_gain,
            nodes_lose,
            splits_better_than_shuffled: Some(self.better_than_shuffled()),
        });
    }
}
