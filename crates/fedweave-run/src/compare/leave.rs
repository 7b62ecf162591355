//! Nodes that nobody has seen: whole nodes are left out, join, and are judged on their rows. Where a graph is given they join without
//! a row of their own and all rows judge; where it is learnt, they show the rows that train, and the others judge.

mod models;
mod words;

use fedweave::learn::race::Cost;
use fedweave::loss::LossSpec;
use fedweave::matrix::Matrix;
use fedweave::random::{Purpose, stream};
use fedweave::split::{Part, split};
use fedweave::tune::{Errors, mean_and_error};
use fedweave::{Dataset, Graph};
use fedweave_io::{Input, RunWriter};
use rand::seq::SliceRandom;

use crate::error::{Result, refuse, require};
use crate::network_file::Neighbours;
use crate::request::CompareRequest;
use crate::request::compare::LeaveNodes;
use crate::run_dir::{COMPARE, CONFIG, cell, write_summary};
use crate::watch::Observer;
pub use words::{summary, text};

/// Methods in the order they are shown.
pub const METHODS: [&str; 5] = ["local", "global", "interpolated", "networked", "learnt coupling"];

/// What every method makes of nodes that it has not seen.
pub struct LeaveResult {
    /// What was asked for.
    pub request: CompareRequest,
    /// The data.
    pub input: Input,
    /// How often some nodes were left out; every node was once.
    pub turns: usize,
    /// Errors of every node when it was left out, by method; a method that cannot be had is missing.
    pub errors: Vec<(&'static str, Errors)>,
    /// Nodes that no neighbour could be found for: nothing is known about them but by one model for all.
    pub alone: usize,
    /// True if nodes showed the rows that train, and were judged on the others.
    pub shown: bool,
}

/// Leaves out all nodes, some at a time.
pub fn leave_nodes(
    request: CompareRequest,
    leave: LeaveNodes,
    input: Input,
    observer: &dyn Observer,
) -> Result<LeaveResult> {
    let loss = request.model.loss(&input)?;
    let LossSpec::Same(family) = loss else { refuse!("--leave-nodes needs one loss for all nodes") };
    let Some(cost) = Cost::of(family) else { refuse!("--leave-nodes: the loss {family} predicts no number") };
    let with_rows: Vec<usize> = (0..input.names.len()).filter(|&i| !input.data.rows(i).is_empty()).collect();
    require!(with_rows.len() > 2, "--leave-nodes: at least three nodes need rows");
    let turns = leave.turns(with_rows.len());
    require!(turns > 1, "--leave-nodes: some nodes have to stay: give a smaller share");
    let Some(spec) = request.held_out.spec else { refuse!("--leave-nodes: which rows train? give --train or --test") };
    let part = split(&input.data, input.groups.as_deref(), &spec)?;
    let trained: Vec<bool> = part.mask(Part::Test).iter().map(|test| !test).collect();
    let shown = leave.given.graph.is_some();
    require!(
        !shown || part.part.contains(&Part::Test),
        "--leave-nodes with --graph learn: new nodes show the rows that train and are judged on the others; hold out --test rows"
    );
    let mut order = with_rows.clone();
    order.shuffle(&mut stream(spec.seed, Purpose::Shuffle, 0));
    let mut errors = vec![vec![None; input.names.len()]; METHODS.len()];
    let mut alone = 0;
    for turn in 0..turns {
        observer.advance("leaving out nodes: turn", turn, turns);
        let out: Vec<usize> = order.iter().copied().skip(turn).step_by(turns).collect();
        let unseen = Unseen::new(&input, &trained, out, shown)?;
        if !shown {
            alone += unseen.near.iter().filter(|near| near.is_empty()).count();
        }
        for (k, method) in METHODS.into_iter().enumerate() {
            let Some(w) = unseen.models(method, &request, &leave, observer)? else { continue };
            for (place, &node) in unseen.out.iter().enumerate() {
                errors[k][node] = unseen.error(&input, (node, shown), &trained, w.row(place), cost);
            }
        }
        if observer.interrupted() {
            break;
        }
    }
    let seen = |(name, by_node): (&'static str, Vec<Option<f64>>)| {
        by_node.iter().any(Option::is_some).then_some((name, Errors { by_node }))
    };
    let errors = METHODS.into_iter().zip(errors).filter_map(seen).collect();
    Ok(LeaveResult { request, input, turns, errors, alone, shown })
}

/// Some nodes are left out.
struct Unseen {
    /// The training rows of the others, on their graph; those left out have neither rows nor edges.
    rest: Input,
    /// The nodes that are left out.
    out: Vec<usize>,
    /// The neighbours of each among the others.
    near: Neighbours,
    /// The rows that they show.
    own: Dataset,
}

impl Unseen {
    fn new(input: &Input, trained: &[bool], out: Vec<usize>, shown: bool) -> Result<Unseen> {
        let mut left = vec![false; input.names.len()];
        out.iter().for_each(|&i| left[i] = true);
        let mut keep = trained.to_vec();
        out.iter().for_each(|&i| keep[input.data.rows(i)].fill(false));
        let mut near = vec![Vec::new(); input.names.len()];
        let mut edges = Vec::new();
        for e in 0..input.graph.edges() {
            let ((i, j), weight) = (input.graph.nodes_of(e), input.graph.weight(e));
            match (left[i], left[j]) {
                (false, false) => edges.push((i, j, weight)),
                (true, false) => near[i].push((j, weight)),
                (false, true) => near[j].push((i, weight)),
                (true, true) => {}
            }
        }
        let graph = Graph::new(input.names.len(), &edges).expect("edges of a graph are edges of a graph");
        let near = out.iter().map(|&i| near[i].clone()).collect();
        let mut rest = input.select(&keep).with_graph(graph);
        // The rule is the same, for fewer nodes.
        rest.nearest = input.nearest;
        let own = rows_of(&input.data, &out, |r| shown && trained[r])?;
        Ok(Unseen { rest, out, near, own })
    }

    /// The error of a model on the rows of a node, or on those that it did not show.
    fn error(
        &self,
        input: &Input,
        (node, shown): (usize, bool),
        trained: &[bool],
        w: &[f64],
        cost: Cost,
    ) -> Option<f64> {
        let rows = input.data.rows(node).zip(input.data.weights(node)).filter(|(r, _)| !(shown && trained[*r]));
        let score = |r: usize| input.data.x(r).iter().zip(w).map(|(x, w)| x * w).sum::<f64>();
        let costs = rows.map(|(r, weight)| (weight * cost.value(input.data.y()[r], cost.respond(score(r))), weight));
        let (sum, weight) = costs.fold((0.0, 0.0), |(s, w), (cost, weight)| (s + cost, w + weight));
        (weight > 0.0).then(|| sum / weight)
    }
}

/// Some rows of some nodes.
fn rows_of(data: &Dataset, nodes: &[usize], kept: impl Fn(usize) -> bool) -> Result<Dataset> {
    let (mut offsets, mut x, mut y, mut weight) = (vec![0], Vec::new(), Vec::new(), Vec::new());
    for &node in nodes {
        for (r, w) in data.rows(node).zip(data.weights(node)).filter(|(r, _)| kept(*r)) {
            x.extend_from_slice(data.x(r));
            y.push(data.y()[r]);
            weight.push(*w);
        }
        offsets.push(y.len());
    }
    Ok(Dataset::new(offsets, Matrix::from_rows(data.dim(), x), y, weight)?)
}

impl LeaveResult {
    /// Mean error of a method over nodes, and its standard error.
    pub fn error(&self, errors: &Errors) -> (f64, f64) {
        mean_and_error(errors.by_node.iter().flatten().copied()).unwrap_or((f64::NAN, f64::NAN))
    }

    /// The share of nodes at which a method is better than another.
    pub fn better(&self, errors: &Errors, than: &str) -> Option<f64> {
        let other = &self.errors.iter().find(|(name, _)| *name == than)?.1;
        let pairs = errors.by_node.iter().zip(&other.by_node).filter_map(|(a, b)| Some(((*a)?, (*b)?)));
        let (better, all) = pairs.fold((0, 0), |(better, all), (a, b)| (better + u32::from(a < b), all + 1));
        (all > 0).then(|| f64::from(better) / f64::from(all))
    }
}

/// Writes the errors of every node, the summary and the settings.
pub fn write_run(left: &LeaveResult, writer: RunWriter) -> Result<std::path::PathBuf> {
    let row = |i: usize| {
        let errors = left.errors.iter().map(|(_, errors)| cell(errors.by_node[i]));
        std::iter::once(left.input.names[i].clone()).chain(errors).collect::<Vec<_>>()
    };
    let header: Vec<&str> = std::iter::once("node").chain(left.errors.iter().map(|(name, _)| *name)).collect();
    writer.write_csv(COMPARE, &header, (0..left.input.names.len()).map(row))?;
    write_summary(&writer, &summary(left))?;
    writer.write_text(CONFIG, &left.request.naming.config())?;
    Ok(writer.finish()?)
}
