//! A graph that is learnt from rows: how nodes are compared, and which pairs are joined.

use fedweave::Dataset;
use fedweave::learn::discrepancy::Measure;
use fedweave::learn::graph::{GraphOptions, JointOptions, LearntGraph, Rule, Weighting, joint, learn_graph};
use fedweave::loss::{Family, LossSpec};
use fedweave::matrix::Matrix;
use fedweave_io::InputSpec;

use super::data::{input_spec, target_kind};
use super::keys::Job;
use super::model::ModelChoice;
use super::settings::{Reader, Settings};
use super::{Output, unread};
use crate::error::{Error, Result, refuse, require};

/// The degree where nobody said which.
const DEGREE: usize = 4;
/// Graph and models together.
const JOINT: &str = "joint";
/// Rounds of learning both; it stops earlier where nothing changes.
const JOINT_ROUNDS: usize = 50;

/// How a graph is learnt.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GraphChoice {
    /// How nodes are compared; `None`: by models that are learnt together with the graph.
    pub measure: Option<Measure>,
    /// Which pairs are joined.
    pub rule: Rule,
    /// How edges are weighted.
    pub weighting: Weighting,
    /// Seed of what is drawn.
    pub seed: u64,
}

impl GraphChoice {
    /// What was said about `--graph`; `None`: the graph is given.
    pub(super) fn read(reader: &Reader, model: &ModelChoice) -> Result<Option<GraphChoice>> {
        if !reader.choice("graph", &[("given", false), ("learn", true)])? {
            return Ok(None);
        }
        for key in ["edges", "knn"] {
            require!(!reader.has(key), "--graph learn finds the edges itself: leave out --{key}");
        }
        require!(
            model.loss_column.is_none(),
            "--graph learn compares nodes by one loss; it does not go with --loss-column"
        );
        GraphChoice::of(reader, reader.text("discrepancy"), model.family).map(Some)
    }

    fn of(reader: &Reader, by: Option<&str>, family: Family) -> Result<GraphChoice> {
        let measure = match by.unwrap_or(usual(family).name()) {
            JOINT => None,
            name => Some(Measure::named(name).ok_or_else(|| unknown(name))?),
        };
        let budgets = ["degree", "nearest", "edges-max", "fdr"].map(|key| (key, reader.has(key)));
        let said: Vec<String> = budgets.iter().filter(|(_, said)| *said).map(|(key, _)| format!("--{key}")).collect();
        require!(said.len() < 2, "give one of {}: each says which pairs are joined", said.join(" and "));
        let rule = match (reader.count("nearest"), reader.count("edges-max"), reader.number("fdr")) {
            (Some(k), _, _) => Rule::Neighbours(k),
            (_, Some(edges), _) => Rule::Edges(edges),
            (_, _, Some(share)) => Rule::Fdr(share),
            _ => Rule::Degree(reader.count("degree").unwrap_or(DEGREE)),
        };
        let weightings =
            [("rule", Weighting::Rule), ("kernel", Weighting::Kernel), ("validation", Weighting::Validation)];
        let weighting = reader.choice("edge-weights", &weightings)?;
        let together = measure.is_none();
        require!(
            !together || matches!(rule, Rule::Degree(_)),
            "--discrepancy joint learns models and graph under a degree budget: give --degree instead of {}",
            said.join("")
        );
        require!(
            !together || weighting == Weighting::Rule,
            "--discrepancy joint has weights of its own: leave out --edge-weights"
        );
        Ok(GraphChoice { measure, rule, weighting, seed: reader.count("seed").unwrap_or(0) as u64 })
    }

    /// What the discrepancy is called.
    pub fn name(&self) -> &'static str {
        self.measure.map_or(JOINT, Measure::name)
    }

    /// What was asked for, in the words of the command line.
    pub fn budget(&self) -> String {
        match self.rule {
            Rule::Neighbours(k) => format!("--nearest {k}"),
            Rule::Degree(k) => format!("--degree {k}"),
            Rule::Edges(edges) => format!("--edges-max {edges}"),
            Rule::Fdr(share) => format!("--fdr {share}"),
        }
    }

    /// True for discrepancies that compare rows as such: those without labels have a say.
    pub fn compares_rows(&self) -> bool {
        use Measure::{Components, Kl, Moments, Wasserstein};
        self.measure.is_some_and(|measure| matches!(measure, Moments | Components | Wasserstein | Kl))
    }

    /// Learns the graph from some rows.
    pub fn learn(&self, data: &Dataset, loss: &LossSpec, intercept: bool) -> Result<LearntGraph> {
        let LossSpec::Same(family) = loss else { refuse!("--graph learn needs one loss for all nodes") };
        let with_rows = (0..data.nodes()).filter(|&i| !data.rows(i).is_empty()).count();
        if self.rule.check(with_rows).is_err() {
            let budget = self.budget();
            match self.rule {
                Rule::Neighbours(_) | Rule::Degree(_) => {
                    refuse!("{budget}: give at least 1 and less than the number of nodes with rows, {with_rows}")
                }
                Rule::Edges(_) => {
                    let pairs = with_rows * with_rows.saturating_sub(1) / 2;
                    refuse!("{budget}: give at least 1 and at most the number of pairs of nodes with rows, {pairs}")
                }
                Rule::Fdr(_) => refuse!("{budget}: give a share above 0 and below 1, e.g. 0.1"),
            }
        }
        Ok(self.learn_checked(data, *family, intercept)?)
    }

    fn learn_checked(&self, data: &Dataset, family: Family, intercept: bool) -> fedweave::Result<LearntGraph> {
        let GraphChoice { rule, weighting, seed, .. } = *self;
        match (self.measure, rule) {
            (Some(measure), _) => {
                learn_graph(data, &GraphOptions { measure, rule, weighting, family, intercept, seed })
            }
            (None, Rule::Degree(degree)) => {
                let options = JointOptions { family, intercept, degree, lambda: None, rounds: JOINT_ROUNDS, seed };
                Ok(joint(data, &options)?.learnt)
            }
            (None, _) => unreachable!("joint learning has a degree budget"),
        }
    }
}

/// What finds planted clusters best where the loss is a likelihood; else what every loss has.
fn usual(family: Family) -> Measure {
    match family {
        Family::Squared | Family::Logistic | Family::Poisson => Measure::PooledFit,
        _ => Measure::Gradient,
    }
}

fn unknown(name: &str) -> Error {
    let names: Vec<&str> = Measure::ALL.into_iter().map(Measure::name).chain([JOINT]).collect();
    Error::request(format!("--discrepancy {name}: unknown; use {}", names.join(", ")))
}

/// Learn a graph, and nothing else.
#[derive(Debug, Clone, PartialEq)]
pub struct LearnRequest {
    /// The loss that nodes are compared by.
    pub model: ModelChoice,
    /// How.
    pub graph: GraphChoice,
    /// Where results go.
    pub output: Output,
}

impl LearnRequest {
    /// From the rows of a file.
    pub fn of_files(settings: &Settings) -> Result<(LearnRequest, InputSpec)> {
        settings.check_job(Job::Learn)?;
        let reader = settings.reader();
        let request = LearnRequest::read(&reader, None)?;
        let kind = target_kind(request.model.family);
        let spec = InputSpec { by: Vec::new(), ..input_spec(&reader, kind, request.model.intercept(), Vec::new())? };
        reader.finish(unread)?;
        Ok((request, spec))
    }

    /// From rows in memory.
    pub fn of_memory(settings: &Settings) -> Result<LearnRequest> {
        settings.check_job(Job::Learn)?;
        let reader = settings.reader();
        let request = LearnRequest::read(&reader, None)?;
        reader.finish(unread)?;
        Ok(request)
    }

    fn read(reader: &Reader, matrix: Option<Matrix>) -> Result<LearnRequest> {
        let model = ModelChoice::read(reader, &[0.0], matrix)?;
        let by = reader.texts("by");
        require!(
            by.is_none() || !reader.has("discrepancy"),
            "give --by or --discrepancy, not both: they mean the same here"
        );
        let by = match by.as_deref() {
            Some([one]) => Some(one.as_str()),
            Some(_) => refuse!("--by: name one discrepancy, e.g. --by gradient"),
            None => reader.text("discrepancy"),
        };
        let graph = GraphChoice::of(reader, by, model.family)?;
        Ok(LearnRequest { model, graph, output: Output::read(reader)? })
    }
}
