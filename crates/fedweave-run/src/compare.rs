//! Does the network help? Every method tuned on validation rows and judged on test rows.

mod again;
mod any_model;
pub mod leave;
mod report;
mod summary;
mod tuned;
mod write;

use fedweave::compare::{Comparison, Judged, Outcome, PenaltyMaker};
use fedweave::learn::race::Cost;
use fedweave::loss::{Confusion, LossSpec};
use fedweave::penalty::Penalty;
use fedweave::solve::Watch;
use fedweave::split::{Part, Split, SplitSpec, split};
use fedweave::tune::{Errors, mean_and_error};
use fedweave_io::Input;
use fedweave_report::MethodKind;

use crate::checks::{check, tame_runaway};
use crate::error::{Result, refuse, require};
use crate::learnt_graph::Evidence;
use crate::request::CompareRequest;
use crate::request::model::ModelChoice;
use crate::request::penalty::PenaltyChoice;
use crate::split_file;
use crate::tune::{TuneResult, attributes as attributes_of};
use crate::watch::Observer;

pub use summary::{summary, text};
pub use write::write_run;

/// A method of the comparison: its name in tables, its meaning in reports, its place in an outcome.
#[derive(Clone, Copy)]
pub struct Method {
    /// Its name.
    pub name: &'static str,
    /// What it stands for in a report.
    pub kind: MethodKind,
    of: Field,
}

#[derive(Clone, Copy)]
enum Field {
    Own(fn(&Outcome) -> &Judged),
    /// The network with another penalty.
    More(usize),
    Rival,
}

const LOCAL: Method = Method { name: "local", kind: MethodKind::Local, of: Field::Own(|o| &o.local) };
const GLOBAL: Method = Method { name: "global", kind: MethodKind::Global, of: Field::Own(|o| &o.global) };
const NETWORKED: Method = Method { name: "networked", kind: MethodKind::Networked, of: Field::Own(|o| &o.networked) };
const SHUFFLED: Method = Method { name: "shuffled", kind: MethodKind::Shuffled, of: Field::Own(|o| &o.shuffled) };

/// What the network with another penalty is called.
fn titled(penalty: &str) -> &'static str {
    match penalty {
        "norm2" => "networked, norm2",
        "norm1" => "networked, norm1",
        "norminf" => "networked, norminf",
        "squared" => "networked, squared",
        "quadratic" => "networked, quadratic",
        _ => "networked, blocks",
    }
}

impl Method {
    /// Its errors on the test rows of a split.
    pub fn test<'a>(&self, outcome: &'a Outcome) -> Option<&'a Errors> {
        match self.of {
            Field::Own(_) | Field::More(_) => self.judged(outcome).map(|judged| &judged.test),
            Field::Rival => outcome.rivals.iter().find(|rival| rival.name == self.name).map(|rival| &rival.test),
        }
    }

    /// Which classes of the test rows of a split it takes for which.
    pub fn confusion<'a>(&self, outcome: &'a Outcome) -> Option<&'a Confusion> {
        match self.of {
            Field::Own(_) | Field::More(_) => self.judged(outcome)?.confusion.as_ref(),
            Field::Rival => {
                outcome.rivals.iter().find(|rival| rival.name == self.name).and_then(|rival| rival.confusion.as_ref())
            }
        }
    }

    /// What it chose, where that is a ridge and lambda.
    pub fn judged<'a>(&self, outcome: &'a Outcome) -> Option<&'a Judged> {
        match self.of {
            Field::Own(of) => Some(of(outcome)),
            Field::More(k) => outcome.more.get(k).map(|(_, judged)| judged),
            Field::Rival => None,
        }
    }
}

/// All splits of a comparison.
pub struct CompareResult {
    /// What was asked for.
    pub request: CompareRequest,
    /// The data.
    pub input: Input,
    /// What every method achieved, split by split.
    pub outcomes: Vec<Outcome>,
    /// Rows that every method was fitted to, after it had chosen what it had to choose, in the first split.
    pub rows_trained: usize,
    /// The reasons for the edges of the first split, if its graph was learnt.
    pub evidence: Option<Evidence>,
    /// Which rows did what in the first split.
    pub first_split: Split,
    /// The race on the first split, if one was asked for.
    pub tuned: Option<TuneResult>,
}

/// Runs all methods on all splits.
pub fn compare(request: CompareRequest, input: Input, observer: &dyn Observer) -> Result<CompareResult> {
    let Some(spec) = request.held_out.spec else { refuse!("compare holds out rows; give --validation") };
    let (mut request, mut input) = (request, input);
    let model = &request.model;
    let loss = model.loss(&input)?;
    let LossSpec::Same(family) = loss else {
        refuse!("compare needs one loss for all nodes: a global model has no other meaning")
    };
    let file = request.held_out.file.clone();
    let part = |k: usize, input: &Input| {
        if let Some(file) = &file {
            let split = split_file::read(file, input)?;
            require!(
                split.part.contains(&Part::Test),
                "--split-file {}: no row is held out to test (part test)",
                file.display()
            );
            return Ok(split);
        }
        let seed = spec.seed.wrapping_add(k as u64);
        Ok(split(&input.data, input.groups.as_deref(), &SplitSpec { seed, ..spec })?)
    };
    let evidence = learn_graph(&request, &input, &part(0, &input)?)?;
    if let Some(found) = &evidence {
        input = input.with_graph(found.learnt.graph.clone());
    }
    check(model, &input, &loss)?;
    let (lambda, data) = (request.lambda.fixed.unwrap_or(1.0), input.data.clone());
    tame_runaway(&mut request.model, &mut input, &loss, &data, lambda)?;
    let model = &request.model;
    let with = |choice: &PenaltyChoice| model.clone().with_penalty(choice.clone());
    let others: Vec<ModelChoice> = request.more_penalties.iter().map(with).collect();
    others.iter().try_for_each(|other| other.penalty(&input).map(drop))?;
    let penalty = maker(model, &input);
    let makers: Vec<_> = others.iter().map(|other| maker(other, &input)).collect();
    let more: Vec<(&str, &PenaltyMaker)> =
        others.iter().zip(&makers).map(|(other, make)| (other.penalty.name(), make as &PenaltyMaker)).collect();
    let attributes = attributes_of(&input);
    let comparison = Comparison {
        family,
        options: model.options,
        ridges: &model.ridges,
        penalty: &penalty,
        lambdas: request.lambda.grid.as_deref().or(request.lambda.fixed.as_ref().map(std::slice::from_ref)),
        rule: request.lambda.rule,
        standardize: model.standardize,
        intercept: model.intercept(),
        settings: request.solve.clone(),
        go_on: &|| !observer.interrupted(),
        folds: request.folds.as_ref().map(|folds| folds.spec),
        attributes: attributes.as_ref(),
        rivals: request.rivals,
        more: &more,
        fallback: request.fallback,
    };
    let (mut outcomes, mut first_race, mut rows_trained, mut first_split) = (Vec::new(), None, 0, None);
    for k in 0..request.splits {
        let seed = spec.seed.wrapping_add(k as u64);
        let part = part(k, &input)?;
        let own = if k == 0 { None } else { learn_graph(&request, &input, &part)? };
        let graph = own.as_ref().map_or(&input.graph, |own| &own.learnt.graph);
        if k == 0 {
            rows_trained = part.part.iter().filter(|part| **part != Part::Test).count();
        }
        observer.advance("comparing: split", k, request.splits);
        let watch = |_: &_| match observer.interrupted() {
            true => Watch::Stop(fedweave::solve::Status::Interrupted),
            false => Watch::Continue,
        };
        let outcome = comparison.run(graph, &input.data, input.groups.as_deref(), &part, seed, &watch)?;
        // What was broken off says nothing.
        if observer.interrupted() {
            break;
        }
        outcomes.push(outcome);
        if let Some(models) = &request.models {
            outcomes[k].rivals.extend(any_model::judge(models, &input, &part, observer)?);
        }
        if let Some(tune) = &request.tune {
            let (race, judged) = tuned::race(tune, &input, &part, observer)?;
            outcomes[k].rivals.push(judged);
            first_race.get_or_insert(race);
        }
        first_split.get_or_insert(part);
    }
    require!(!outcomes.is_empty(), "interrupted before the first split was judged: there is nothing to compare");
    let tested = outcomes.iter().any(|o| o.networked.test.mean().is_some());
    require!(tested, "no node has test rows; hold out fewer rows or give more data");
    drop((makers, penalty));
    let first_split = first_split.unwrap_or_else(|| Split { part: vec![Part::Train; input.data.len()] });
    Ok(CompareResult { request, input, outcomes, rows_trained, evidence, first_split, tuned: first_race })
}

/// Makes a penalty that was built once before, so that only the mathematics can object.
fn maker<'a>(model: &'a ModelChoice, input: &'a Input) -> impl Fn() -> fedweave::Result<Box<dyn Penalty>> + Sync + 'a {
    || match model.penalty(input) {
        Ok(penalty) => Ok(penalty),
        Err(crate::Error::Mathematics(error)) => Err(error),
        Err(_) => unreachable!("the penalty was built once before"),
    }
}

/// The graph of a split: neither rows that choose nor rows that judge have a say in it.
fn learn_graph(request: &CompareRequest, input: &Input, part: &Split) -> Result<Option<Evidence>> {
    let mask = part.mask(Part::Train);
    request.graph.map(|choice| Evidence::find(choice, &request.model, input, Some(&mask))).transpose()
}

impl CompareResult {
    /// What is known about the graph, in words.
    pub fn graph_words(&self) -> Vec<String> {
        let Some(evidence) = &self.evidence else { return Vec::new() };
        let mut words = evidence.text();
        words.push("  this is the first split; every split learns its graph from its own training rows".into());
        words
    }

    /// The methods in the order they are shown. Without edges, or with two nodes, a shuffled graph is no control.
    pub fn methods(&self) -> Vec<Method> {
        let rivals = self.outcomes.first().map_or(&[][..], |outcome| &outcome.rivals);
        let rival =
            |rival: &fedweave::compare::Rival| Method { name: rival.name, kind: MethodKind::Other, of: Field::Rival };
        let more = self.outcomes.first().map_or(&[][..], |outcome| &outcome.more);
        let more = more.iter().enumerate();
        let more =
            more.map(|(k, (penalty, _))| Method { name: titled(penalty), kind: MethodKind::Other, of: Field::More(k) });
        [LOCAL, GLOBAL, NETWORKED]
            .into_iter()
            .chain(more)
            .chain(self.has_control().then_some(SHUFFLED))
            .chain(rivals.iter().map(rival))
            .collect()
    }

    /// A shuffled graph is another one.
    pub fn has_control(&self) -> bool {
        self.input.graph.edges() > 0 && self.input.names.len() > 2
    }

    /// What the report is about: the outcome of a race, if there was one, else the network as given.
    pub fn leading(&self) -> Method {
        self.methods().into_iter().find(|method| method.name == tuned::NAME).unwrap_or(NETWORKED)
    }

    /// The method with the smallest test error.
    pub fn best(&self) -> Method {
        let smaller = |a: &Method, b: &Method| self.error(*a).0.total_cmp(&self.error(*b).0);
        self.methods().into_iter().min_by(smaller).unwrap_or(NETWORKED)
    }

    /// Which classes of test rows a method takes for which, over all splits.
    pub fn confusion(&self, method: Method) -> Option<Confusion> {
        let mut all = self.outcomes.iter().map(|outcome| method.confusion(outcome));
        let mut first = all.next()??.clone();
        all.flatten().for_each(|more| first.merge(more));
        Some(first)
    }

    /// What an error is.
    pub fn error_name(&self) -> &'static str {
        let family = self.request.model.family;
        Cost::of(family).map_or(family.error_name(), Cost::name)
    }

    /// Mean test error over splits, and its standard error (over splits, or over nodes if there is one split).
    pub fn error(&self, method: Method) -> (f64, f64) {
        let means = self.outcomes.iter().filter_map(|o| method.test(o)?.mean());
        let (mean, error) = mean_and_error(means).unwrap_or((f64::NAN, f64::NAN));
        match self.outcomes.len() {
            1 => {
                // One node, as one split, says nothing about others.
                let several = |errors: &&Errors| errors.by_node.iter().flatten().count() > 1;
                let errors = method.test(&self.outcomes[0]).filter(several);
                (mean, errors.and_then(Errors::standard_error).unwrap_or(f64::NAN))
            }
            _ => (mean, error),
        }
    }

    /// Mean test error of a node over the splits in which it has test rows.
    pub fn node_error(&self, method: Method, node: usize) -> Option<f64> {
        let errors = self.outcomes.iter().filter_map(|o| method.test(o)?.by_node[node]);
        mean_and_error(errors).map(|m| m.0)
    }

    /// Nodes whose error is smaller, and larger, than that of their local model.
    pub fn gain_and_lose(&self, method: Method) -> (usize, usize) {
        let difference = |i: usize| Some(self.node_error(method, i)? - self.node_error(LOCAL, i)?);
        let all: Vec<f64> = (0..self.input.names.len()).filter_map(difference).collect();
        (all.iter().filter(|d| **d < 0.0).count(), all.iter().filter(|d| **d > 0.0).count())
    }

    /// Nodes that could be judged.
    pub fn judged(&self, method: Method) -> usize {
        let both = |i: &usize| self.node_error(method, *i).is_some() && self.node_error(LOCAL, *i).is_some();
        (0..self.input.names.len()).filter(both).count()
    }

    /// The share of nodes that do worse than with their local model, split by split.
    pub fn hurt_by_split(&self, method: Method) -> Vec<f64> {
        let share = |outcome: &Outcome| {
            let pairs = method.test(outcome)?.by_node.iter().zip(&outcome.local.test.by_node);
            let judged: Vec<bool> = pairs.filter_map(|(ours, local)| Some((*ours)? > (*local)?)).collect();
            Some(judged.iter().filter(|hurt| **hurt).count() as f64 / judged.len().max(1) as f64)
        };
        self.outcomes.iter().filter_map(share).collect()
    }

    /// Splits in which the true graph beats the shuffled one.
    pub fn better_than_shuffled(&self) -> usize {
        self.outcomes.iter().filter(|o| o.networked.test.mean() < o.shuffled.test.mean()).count()
    }

    /// The solver reached its tolerance in all splits.
    pub fn converged(&self) -> bool {
        let more = |outcome: &Outcome| outcome.more.iter().all(|(_, judged)| judged.converged);
        self.outcomes.iter().all(|o| o.networked.converged && o.shuffled.converged && more(o))
    }
}
