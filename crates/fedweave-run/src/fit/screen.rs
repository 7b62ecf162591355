//! Edges that are left out because a neighbour's model predicts a node's rows badly.

use fedweave::matrix::Matrix;
use fedweave::solve::Solution;
use fedweave::trust::defence::screen::{Suspicion, screened, suspicions};
use fedweave::{Graph, Problem};
use serde_json::{Value, json};

use super::FitResult;
use crate::error::Result;
use crate::wording::{counted, digits};

/// Edges that are named in words.
const SHOWN: usize = 5;

/// What was left out.
pub struct Screened {
    /// The worst judgement of each edge that was left out, the worst first.
    pub edges: Vec<Suspicion>,
    /// The graph without them.
    pub(super) graph: Graph,
}

impl Screened {
    /// Judges all neighbours by the models of a solution.
    pub(super) fn find(problem: &Problem, solution: &Solution, factor: f64) -> Result<Screened> {
        let none = Matrix::zeros(0, problem.dim());
        // Methods without flows have no rows of them.
        let flows = if solution.u.rows() == problem.graph().edges() { &solution.u } else { &none };
        let judged = suspicions(problem, &solution.w, flows);
        let (graph, guilty) = screened(problem.graph(), &judged, factor)?;
        let worst = |edge: &usize| {
            let of_edge = judged.iter().filter(|s| s.edge == *edge);
            of_edge.copied().reduce(|a, b| if b.score() > a.score() { b } else { a })
        };
        let mut edges: Vec<Suspicion> = guilty.iter().filter_map(worst).collect();
        edges.sort_by(|a, b| b.score().total_cmp(&a.score()));
        Ok(Screened { edges, graph })
    }

    /// For the summary.
    pub(super) fn summary(&self, fit: &FitResult) -> Value {
        let names = &fit.input.names;
        let one = |s: &Suspicion| json!({"node": names[s.node], "neighbour": names[s.neighbour], "score": s.score(), "residual": s.residual, "others": s.others, "saturation": s.saturation});
        json!(self.edges.iter().map(one).collect::<Vec<_>>())
    }

    /// In words.
    pub(super) fn text(&self, fit: &FitResult) -> String {
        let names = &fit.input.names;
        let one = |s: &Suspicion| {
            format!(
                "{} finds {} {} times as bad as its median neighbour, all who hear it {} times",
                names[s.node],
                names[s.neighbour],
                digits(Some(s.residual)),
                digits(Some(s.others))
            )
        };
        let shown: Vec<String> = self.edges.iter().take(SHOWN).map(one).collect();
        let more = if self.edges.len() > SHOWN { "; ..." } else { "" };
        // What was held out judged the models that were screened, not those that were then fitted.
        let before = if fit.held_out.is_some() { " (errors on held-out rows are those before)" } else { "" };
        match self.edges.len() {
            0 => "screening left out no edge".into(),
            n => format!("screening left out {}{before}: {}{more}", counted(n, "edge"), shown.join("; ")),
        }
    }
}
