//! Bounded forms of a learnt coupling: differences of models are measured by `D^-1`, as learnt, but nobody pulls harder than
//! from a certain distance, `reach`, however far away.
//!
//! ```text
//! huber   |t|^2 up to |t| = reach, and beyond the line that continues it         |t|^2 = t' D^-1 t
//! norm    2 reach |t|: the pull of the quadratic at that distance, at any distance; equal models are possible
//! ```
//!
//! With `D = C C'` and `w = C v` these are the Huber penalty and the Euclidean norm of `v`, with all that belongs to them.

use rayon::prelude::*;

use super::folds::Fold;
use super::whitening::Whitening;
use super::{Coupling, Posterior};
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::loss::LossOptions;
use crate::matrix::Matrix;
use crate::penalty::{HuberNorm, Norm2, Penalty, Quadratic};
use crate::problem::Problem;
use crate::solve::{Settings, Watch, solve};
use crate::tune::{Errors, mean_errors};

/// What a difference of two models costs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Form {
    /// Its square: no limit to the pull.
    Quadratic,
    /// Its square up to this distance, then a line.
    Huber(f64),
    /// Its size, with the pull of the square at this distance.
    Norm(f64),
}

impl Form {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Form::Quadratic => "quadratic",
            Form::Huber(_) => "huber",
            Form::Norm(_) => "norm",
        }
    }

    /// The distance, in deviations of what varies between nodes, beyond which the pull does not grow.
    pub fn reach(self) -> Option<f64> {
        match self {
            Form::Quadratic => None,
            Form::Huber(reach) | Form::Norm(reach) => Some(reach),
        }
    }

    /// The penalty on whitened differences, and the factor on the strength of the square.
    fn penalty(self) -> Result<(Box<dyn Penalty>, f64)> {
        Ok(match self {
            Form::Quadratic => (Box::new(crate::penalty::SquaredNorm), 1.0),
            Form::Huber(reach) => (Box::new(HuberNorm::new(reach)?), 1.0),
            Form::Norm(reach) if reach > 0.0 && reach.is_finite() => (Box::new(Norm2), 2.0 * reach),
            Form::Norm(reach) => {
                return Err(Error::Parameter { name: "reach of the coupling", value: reach, needs: "positive" });
            }
        })
    }
}

impl Coupling {
    /// The problem in whitened parameters ([`Whitening`]), with the pull of neighbours and of the common mean in this form.
    pub fn bounded_problem(&self, graph: &Graph, data: &Dataset, form: Form) -> Result<Problem> {
        let (penalty, factor) = form.penalty()?;
        let (loss, graph, unit) = self.parts(graph, data, |rows| Whitening::of(self).apply(&rows))?;
        Problem::build(graph, loss, penalty, factor * unit * self.noise_scale())
    }

    /// The problem with the quadratic penalty, in the parameters as they are.
    pub fn problem(&self, graph: &Graph, data: &Dataset) -> Result<Problem> {
        let (loss, graph, unit) = self.parts(graph, data, |rows| rows)?;
        Problem::build(graph, loss, Box::new(Quadratic::new(&[self.penalty_matrix()])?), unit)
    }

    /// The models of a form, a row per node and the common one last.
    pub fn bounded_models(&self, graph: &Graph, data: &Dataset, form: Form, settings: &Settings) -> Result<Matrix> {
        let problem = self.bounded_problem(graph, data, form)?;
        let mut w = solve(&problem, settings, None, &mut |_| Watch::Continue).w;
        Whitening::of(self).restore(&mut w);
        Ok(w)
    }

    /// The median distance of models that pull at each other, neighbours or a node and the common mean.
    pub fn usual_distance(&self, graph: &Graph, posterior: &Posterior) -> f64 {
        let (metric, w) = (Whitening::of(self), &posterior.w);
        let hub = (0..w.rows()).map(|i| metric.distance(w.row(i), &posterior.mu));
        let edge = |e: usize| metric.distance(w.row(graph.nodes_of(e).0), w.row(graph.nodes_of(e).1));
        let edges = if self.rho > 0.0 { graph.edges() } else { 0 };
        let mut all: Vec<f64> = hub.chain((0..edges).map(edge)).collect();
        all.sort_by(f64::total_cmp);
        all.get(all.len() / 2).copied().filter(|d| *d > 0.0).unwrap_or(1.0)
    }
}

/// Reaches that are tried, in usual distances.
const REACHES: [f64; 4] = [0.5, 1.0, 2.0, 4.0];

/// Which forms compete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FormChoice {
    /// The quadratic one.
    #[default]
    Quadratic,
    /// Huber, with the best reach.
    Huber,
    /// The norm, with the best strength.
    Norm,
    /// A bounded form if it is better than the quadratic one by more than a standard error.
    Auto,
}

/// A form and how well it predicts.
#[derive(Debug, Clone, PartialEq)]
pub struct FormScore {
    /// The form.
    pub form: Form,
    /// Errors of the nodes on the rows that folds hold out.
    pub errors: Errors,
}

/// The form of the smallest error on folds, and all that competed. The coupling is learnt anew on every fold.
pub fn choose_form(
    coupling: &Coupling,
    graph: &Graph,
    data: &Dataset,
    folds: &[Fold],
    choice: FormChoice,
) -> Result<(Form, Vec<FormScore>)> {
    let usual = coupling.usual_distance(graph, &coupling.posterior(graph, data)?);
    let (huber, norm) = (matches!(choice, FormChoice::Huber | FormChoice::Auto), choice != FormChoice::Huber);
    let bounded = REACHES.map(|r| r * usual).into_iter();
    let bounded = bounded.flat_map(|r| [huber.then_some(Form::Huber(r)), norm.then_some(Form::Norm(r))]).flatten();
    let forms: Vec<Form> = match choice {
        FormChoice::Quadratic => return Ok((Form::Quadratic, Vec::new())),
        _ => [Form::Quadratic].into_iter().chain(bounded).collect(),
    };
    let scores = score_forms(coupling, graph, data, folds, &forms)?;
    let error = |k: usize| scores[k].errors.mean().filter(|e| !e.is_nan()).unwrap_or(f64::INFINITY);
    let best = (1..forms.len()).fold(1, |b, k| if error(k) < error(b) { k } else { b });
    let gain = scores[0].errors.minus(&scores[best].errors);
    let clear = gain.is_some_and(|(gain, deviation)| gain > deviation);
    let form = if choice == FormChoice::Auto && !clear { Form::Quadratic } else { forms[best] };
    Ok((form, scores))
}

fn score_forms(
    coupling: &Coupling,
    graph: &Graph,
    data: &Dataset,
    folds: &[Fold],
    forms: &[Form],
) -> Result<Vec<FormScore>> {
    if folds.is_empty() {
        return Err(Error::Size { what: "folds", expected: 1, found: 0 });
    }
    let settings = Settings::default().quick();
    let of_fold = |fold: &Fold| {
        let (train, held) = (data.select(&fold.train), data.select(&fold.validation));
        let again = coupling.relearn(graph, &train)?;
        let loss = coupling.family.build(held.clone(), &LossOptions::default())?;
        let judged = |form: &Form| match form {
            Form::Quadratic => Ok(Errors::of(&*loss, &again.posterior(graph, &train)?.w)),
            _ => Ok(Errors::of(&*loss, &again.bounded_models(graph, &train, *form, &settings)?)),
        };
        Ok((held, forms.iter().map(judged).collect::<Result<Vec<_>>>()?))
    };
    let judged: Vec<(Dataset, Vec<Errors>)> = folds.par_iter().map(of_fold).collect::<Result<_>>()?;
    let (held, errors): (Vec<Dataset>, Vec<Vec<Errors>>) = judged.into_iter().unzip();
    let score = |(k, form): (usize, &Form)| FormScore { form: *form, errors: mean_errors(&held, |f| &errors[f][k]) };
    Ok(forms.iter().enumerate().map(score).collect())
}

#[cfg(test)]
mod tests {
    use super::super::tests::small;
    use super::super::{CouplingOptions, learn};
    use super::*;
    use crate::matrix::{dot, norm2};
    use crate::robustness::pull_max;

    fn learnt() -> (Graph, Dataset, Coupling) {
        let (graph, data) = small();
        let coupling = learn(&graph, &data, &CouplingOptions::default()).unwrap().coupling;
        (graph, data, coupling)
    }

    fn exact() -> Settings {
        Settings { tolerance: 1e-12, ..Settings::default() }
    }

    /// Nobody is farther away than a large reach: the Huber form is the quadratic one, whose optimum is the posterior mean.
    #[test]
    fn a_wide_reach_gives_the_quadratic_models_and_the_learnt_metric_is_that_of_the_penalty() {
        let (graph, data, coupling) = learnt();
        let posterior = coupling.posterior(&graph, &data).unwrap();
        let wide = coupling.bounded_models(&graph, &data, Form::Huber(1e6), &exact()).unwrap();
        for i in 0..data.nodes() {
            for (a, b) in wide.row(i).iter().zip(posterior.w.row(i)) {
                assert!((a - b).abs() < 1e-5 * (1.0 + b.abs()), "node {i}: {a} {b}");
            }
        }
        // |t|^2 in the learnt metric against t'Qt / s2 of the quadratic penalty.
        let t: Vec<f64> = [0.3, -1.2, 0.7][..data.dim()].to_vec();
        let q = coupling.penalty_matrix();
        let form: f64 = (0..t.len()).map(|j| t[j] * dot(q.row(j), &t)).sum();
        let distance = Whitening::of(&coupling).distance(&t, &vec![0.0; t.len()]);
        assert!((coupling.noise_scale() * distance * distance / form - 1.0).abs() < 1e-8);
    }

    /// In units of the metric the quadratic problem has the same optimum: models, objective, and flows that balance the losses.
    #[test]
    fn the_whitened_problem_is_the_problem() {
        let (graph, data, coupling) = learnt();
        let solved = |problem: &Problem| solve(problem, &exact(), None, &mut |_| Watch::Continue);
        let plain = solved(&coupling.problem(&graph, &data).unwrap());
        let mut whitened = solved(&coupling.bounded_problem(&graph, &data, Form::Quadratic).unwrap());
        let whitening = Whitening::of(&coupling);
        whitening.restore(&mut whitened.w);
        whitening.restore_flows(&mut whitened.u);
        assert!((plain.objective / whitened.objective - 1.0).abs() < 1e-10);
        for (a, b) in [(&plain.w, &whitened.w), (&plain.u, &whitened.u)] {
            let size = norm2(a.as_slice());
            let apart: f64 = a.as_slice().iter().zip(b.as_slice()).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
            assert!(size > 0.0 && apart < 1e-6 * size, "{apart} of {size}");
        }
    }

    /// However wrong a node is, the others move by no more than from where its pull stops growing; with the quadratic they follow.
    #[test]
    fn a_liar_moves_others_only_so_far() {
        let (graph, data, coupling) = learnt();
        let reach = coupling.usual_distance(&graph, &coupling.posterior(&graph, &data).unwrap());
        let lying = |by: f64| {
            let liar = data.rows(1);
            data.clone().shift_labels(|row| if liar.contains(&row) { by } else { 0.0 })
        };
        let moved = |form: Form, by: f64| {
            let models = |rows: &Dataset| coupling.bounded_models(&graph, rows, form, &exact()).unwrap();
            let (honest, lied) = (models(&data), models(&lying(by)));
            honest.row(0).iter().zip(lied.row(0)).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
        };
        for form in [Form::Huber(reach), Form::Norm(reach)] {
            // The size of the pull is the same from a short distance on; its direction settles as one over the distance.
            let [near, far, farther] = [1e3, 1e4, 1e5].map(|by| moved(form, by));
            assert!((near - far).abs() < 0.02 * far, "{form:?}: {near} {far}");
            assert!((far - farther).abs() < 0.2 * (near - far).abs() + 1e-6, "{form:?}: {near} {far} {farther}");
            let problem = coupling.bounded_problem(&graph, &data, form).unwrap();
            let flow = problem.lambda() * problem.penalty().pull_max(3).unwrap();
            let degree = (0..8).map(|i| problem.graph().weighted_degree(i)).fold(0.0, f64::max);
            assert!((pull_max(&problem, 8).unwrap() - flow * degree).abs() < 1e-12 * flow * degree);
        }
        assert!(moved(Form::Quadratic, 1e4) > 5.0 * moved(Form::Quadratic, 1e3));
        assert_eq!(pull_max(&coupling.problem(&graph, &data).unwrap(), 8), None);
    }

    #[test]
    fn folds_choose_among_the_forms_asked_for() {
        let (graph, data, coupling) = learnt();
        let folds = Fold::deal(&data, None, 3, 1);
        for (choice, count) in
            [(FormChoice::Quadratic, 0), (FormChoice::Huber, 5), (FormChoice::Norm, 5), (FormChoice::Auto, 9)]
        {
            let (form, scores) = choose_form(&coupling, &graph, &data, &folds, choice).unwrap();
            assert_eq!(scores.len(), count);
            let error = |f: Form| scores.iter().find(|s| s.form == f).and_then(|s| s.errors.mean());
            match choice {
                FormChoice::Quadratic => assert_eq!(form, Form::Quadratic),
                FormChoice::Huber => assert_eq!(form.name(), "huber"),
                FormChoice::Norm => assert_eq!(form.name(), "norm"),
                FormChoice::Auto => assert!(error(form) <= error(Form::Quadratic)),
            }
            let alike = scores.iter().filter(|s| s.form.name() == form.name());
            assert!(alike.filter_map(|s| s.errors.mean()).all(|e| Some(e) >= error(form)));
        }
        assert!(choose_form(&coupling, &graph, &data, &[], FormChoice::Auto).is_err());
        assert!(coupling.bounded_problem(&graph, &data, Form::Norm(0.0)).is_err());
    }
}
