//! The results of all parts as one solution, judged with all data in sight.

use std::path::Path;

use anyhow::{Context, Result, anyhow, ensure};
use fedweave::accounting::Traffic;
use fedweave::solve::{History, Method, Settings, Solution, Watch, solve_in_rounds};
use fedweave::{Matrix, Problem};
use fedweave_io::{Input, read_json, read_parameters};
use serde::Deserialize;

use super::prepare::Prepared;

/// `summary.json` of a part, as far as it is needed here.
#[derive(Deserialize)]
struct Summary {
    rounds: u64,
    frames_sent: u64,
    bytes_sent: u64,
}

/// Gathers models and flows, and certifies them.
pub fn collect(
    problem: &Problem,
    prepared: &Prepared,
    input: &Input,
    settings: &Settings,
    method: &'static str,
) -> Result<(Solution, History)> {
    let mut w = Matrix::zeros(problem.nodes(), problem.dim());
    let mut u = Matrix::zeros(problem.graph().edges(), problem.dim());
    let (mut rounds, mut messages, mut bytes) = (0, 0, 0);
    for (folder, plan) in prepared.folders.iter().zip(&prepared.plans) {
        let result = folder.join("state/result");
        let summary: Summary = read_json(&result, "summary.json")?;
        rounds = summary.rounds.max(rounds);
        messages += summary.frames_sent;
        bytes += summary.bytes_sent;
        let models = read_parameters(&result)?;
        ensure!(
            models.names == plan.nodes && models.w.cols() == w.cols(),
            "{}: not the result of {}",
            result.display(),
            plan.name
        );
        for (k, name) in models.names.iter().enumerate() {
            let i =
                input.names.binary_search(name).map_err(|_| anyhow!("{}: unknown node `{name}`", result.display()))?;
            w.row_mut(i).copy_from_slice(models.w.row(k));
        }
        for (edge, flow) in plan.edges.iter().zip(flows(&result, w.cols())?) {
            let e = edge_between(problem, input, &edge.node, &edge.neighbour)
                .ok_or_else(|| anyhow!("{}: unknown edge", result.display()))?;
            u.row_mut(e).copy_from_slice(&flow);
        }
    }
    // Only the primal-dual method has flows of its own.
    let u = (method == "primal-dual").then_some(u);
    let mut answer = Answer { method, w, u, traffic: Traffic::new(problem.nodes()) };
    let (mut solution, mut history) =
        solve_in_rounds(problem, &mut answer, settings, Some(0), &mut |_| Watch::Continue);
    solution.iterations = rounds as usize;
    solution.history.iter_mut().for_each(|record| record.iteration = rounds as usize);
    for record in &mut history.records {
        (record.round, record.messages, record.bytes) = (rounds as usize, messages, bytes);
    }
    Ok((solution, history))
}

/// The flows of a part, in the order of its edges.
fn flows(result: &Path, dim: usize) -> Result<Vec<Vec<f64>>> {
    let path = result.join("flows.csv");
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let flow = |line: &str| -> Option<Vec<f64>> {
        let numbers = line.rsplit(',').next()?.split(' ').map(|v| v.parse().ok()).collect::<Option<Vec<f64>>>()?;
        (numbers.len() == dim).then_some(numbers)
    };
    let broken = || anyhow!("{}: not the flows of a part", path.display());
    text.lines().skip(1).map(|line| flow(line).ok_or_else(broken)).collect()
}

fn edge_between(problem: &Problem, input: &Input, a: &str, b: &str) -> Option<usize> {
    let find = |name: &str| input.names.binary_search_by(|n| n.as_str().cmp(name)).ok();
    let (i, j) = (find(a)?, find(b)?);
    problem.graph().ends(i).iter().find(|end| end.neighbour as usize == j).map(|end| end.edge as usize)
}

/// An answer that was found elsewhere.
struct Answer {
    method: &'static str,
    w: Matrix,
    u: Option<Matrix>,
    traffic: Traffic,
}

impl Method for Answer {
    fn name(&self) -> &'static str {
        self.method
    }

    fn round(&mut self) {}

    fn models(&self) -> &Matrix {
        &self.w
    }

    fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    fn flows(&self) -> Option<Matrix> {
        self.u.clone()
    }
}
