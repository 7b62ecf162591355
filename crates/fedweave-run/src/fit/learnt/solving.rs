//! The optima of learnt couplings, with certificates.

use fedweave::Dataset;
use fedweave::graph::Graph;
use fedweave::learn::coupling::{Blend, Coupling, Form, Whitening};
use fedweave::matrix::axpy;
use fedweave::problem::Problem;
use fedweave::solve::Status;

use crate::error::Result;
use crate::fit::{Solved, run_solver};
use crate::request::FitRequest;
use crate::watch::Observer;

/// The problem of the leading member, and the average of the optima of all: that of the members' problems side by side, each
/// with its weight, so that objectives and bounds add up.
pub(super) fn solve_members(
    request: &FitRequest,
    graph: &Graph,
    data: &Dataset,
    blend: &Blend,
    observer: &dyn Observer,
) -> Result<(Problem, Solved)> {
    let (problem, mut total) = solve_member(request, blend.lead(), graph, data, observer)?;
    if blend.members.len() == 1 {
        return Ok((problem, total));
    }
    let lead = blend.members[0].weight;
    total.solution.w.as_mut_slice().iter_mut().for_each(|w| *w *= lead);
    total.solution.objective *= lead;
    total.solution.certified_gap = total.solution.certified_gap.map(|gap| lead * gap);
    for member in &blend.members[1..] {
        let (_, found) = solve_member(request, &member.coupling, graph, data, observer)?;
        let (sum, one) = (&mut total.solution, &found.solution);
        axpy(member.weight, one.w.as_slice(), sum.w.as_mut_slice());
        sum.objective += member.weight * one.objective;
        sum.certified_gap = sum.certified_gap.zip(one.certified_gap).map(|(a, b)| a + member.weight * b);
        sum.iterations += one.iterations;
        if sum.kkt.residual() < one.kkt.residual() {
            sum.kkt = one.kkt;
        }
        if sum.status == Status::Converged {
            sum.status = one.status;
        }
        total.seconds += found.seconds;
    }
    Ok((problem, total))
}

/// The problem of a coupling, and its optimum. Where the solver proves nothing, because coefficients that hardly vary make the
/// metric too steep, the problem is solved once more in units of that metric. (Parts of a federation solve it as it is.)
fn solve_member(
    request: &FitRequest,
    coupling: &Coupling,
    graph: &Graph,
    data: &Dataset,
    observer: &dyn Observer,
) -> Result<(Problem, Solved)> {
    let problem = coupling.problem(graph, data)?;
    let found = run_solver(request, &problem, None, observer)?;
    if found.solution.certified_gap.is_some() || request.parts.is_some() || observer.interrupted() {
        return Ok((problem, found));
    }
    let whitened = coupling.bounded_problem(graph, data, Form::Quadratic)?;
    let mut again = run_solver(request, &whitened, None, observer)?;
    if again.solution.certified_gap.is_none() {
        return Ok((problem, found));
    }
    let whitening = Whitening::of(coupling);
    whitening.restore(&mut again.solution.w);
    whitening.restore_flows(&mut again.solution.u);
    again.solution.iterations += found.solution.iterations;
    again.seconds += found.seconds;
    Ok((problem, again))
}
