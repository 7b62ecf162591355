//! A learnt coupling under attack. Who poisons rows also bends what is learnt from them; who lies in rounds comes too late for that.

use fedweave::learn::coupling::{Coupling, Form, Whitening, has_likelihood};
use fedweave::matrix::Matrix;
use fedweave::solve::Settings;
use fedweave::{Dataset, Graph, Problem};
use fedweave_io::Input;

use crate::error::Result;
use crate::fit::{learnt_choice, learnt_models};
use crate::request::FitRequest;
use crate::request::coupling::CouplingChoice;

/// What honest nodes have learnt.
pub(super) struct LearntLab {
    coupling: Coupling,
    form: Form,
}

impl LearntLab {
    /// Learns from the rows trained with, as a fit would; `None` if the coupling is given.
    pub fn of(fit: &FitRequest, input: &Input, training: &Dataset) -> Result<Option<LearntLab>> {
        if fit.coupling != CouplingChoice::Learnt {
            return Ok(None);
        }
        let chosen = learnt_choice(fit, input, training, None)?;
        Ok(Some(LearntLab { coupling: chosen.blend.lead().clone(), form: chosen.form }))
    }

    /// The models of other rows of the same nodes, from which the coupling is learnt again (what folds found stays).
    pub fn models(&self, graph: &Graph, rows: &Dataset, settings: &Settings) -> Result<Matrix> {
        let again = match has_likelihood(self.coupling.family) {
            true => &self.coupling.relearn(graph, rows)?,
            false => &self.coupling,
        };
        Ok(first_rows(learnt_models(again, graph, rows, self.form, settings)?, rows.nodes()))
    }

    /// What rounds minimise, in whitened parameters; the common mean is the last node.
    pub fn problem(&self, graph: &Graph, rows: &Dataset) -> Result<Problem> {
        Ok(self.coupling.bounded_problem(graph, rows, self.form)?)
    }

    /// The models of nodes from what rounds found.
    pub fn restored(&self, mut found: Matrix, nodes: usize) -> Matrix {
        Whitening::of(&self.coupling).restore(&mut found);
        first_rows(found, nodes)
    }

    /// Its name.
    pub fn name(&self) -> String {
        format!("learnt, {}", self.form.name())
    }

    /// Why nothing is proven about distances.
    pub fn no_bound(&self) -> &'static str {
        match self.form {
            Form::Quadratic => {
                "the pull of the quadratic coupling has no limit; --coupling-penalty huber or norm give it one"
            }
            _ => {
                "every pull has a limit in the learnt metric, but the common mean has no rows that would hold it in place"
            }
        }
    }
}

fn first_rows(all: Matrix, count: usize) -> Matrix {
    let d = all.cols();
    Matrix::from_rows(d, all.as_slice()[..count * d].to_vec())
}
