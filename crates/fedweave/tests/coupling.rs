//! Learnt coupling against independent references, through the solver, and on inputs of every odd kind.

use std::cell::Cell;

use fedweave::graph::generate::grid;
use fedweave::learn::coupling::{
    Blend, Coupling, CouplingOptions, Fold, Judge, Likelihood, Member, Noise, Posterior, Rho, Structure,
    choose_on_folds, learn, rho_interval, score_on_folds,
};
use fedweave::random::{Purpose, stream};
use fedweave::solve::{Settings, Status, Watch, solve};
use fedweave::{Dataset, Graph, Matrix};
use rand::RngExt;
use rand_distr::StandardNormal;
use serde_json::Value;

/// Rows on a grid of nodes whose models follow the graph: `rows(i)` rows with two features and an intercept.
fn on_a_grid(side: usize, seed: u64, rows: impl Fn(usize) -> usize) -> (Graph, Dataset) {
    let graph = grid(side, side).unwrap();
    let mut rng = stream(seed, Purpose::LocalData, 0);
    let mut normal = || -> f64 { rng.sample(StandardNormal) };
    let (mut offsets, mut x, mut y) = (vec![0], Vec::new(), Vec::new());
    for i in 0..graph.nodes() {
        let (a, b) = ((i / side) as f64 / side as f64, (i % side) as f64 / side as f64);
        // The slope of the first feature follows the place, that of the second is shared.
        let w = [2.0 + 3.0 * (3.0 * a).sin() * b + 0.1 * normal(), -1.0, 4.0 * a - 2.0 * b + 0.1 * normal()];
        for _ in 0..rows(i) {
            let row = [5.0 + 2.0 * normal(), 0.3 * normal(), 1.0];
            y.push(row.iter().zip(&w).map(|(x, w)| x * w).sum::<f64>() + 0.5 * normal());
            x.extend(row);
        }
        offsets.push(y.len());
    }
    let weight = vec![1.0; y.len()];
    (graph, Dataset::new(offsets, Matrix::from_rows(3, x), y, weight).unwrap())
}

fn only(structure: Structure) -> CouplingOptions {
    CouplingOptions { structures: vec![structure], ..Default::default() }
}

#[test]
fn the_optimum_of_the_problem_is_the_posterior_mean() {
    let (graph, data) = on_a_grid(7, 1, |i| i % 6);
    for structure in [Structure::Intercept, Structure::Diagonal, Structure::Full] {
        let coupling = learn(&graph, &data, &only(structure)).unwrap().coupling;
        let posterior = coupling.posterior(&graph, &data).unwrap();
        let problem = coupling.problem(&graph, &data).unwrap();
        let settings = Settings { tolerance: 1e-13, ..Default::default() };
        let solution = solve(&problem, &settings, None, &mut |_| Watch::Continue);
        // The hub has no rows: its residual enters the certificate times the radius that models are looked for in.
        assert!(solution.certified_gap.unwrap() < 1e-5 * solution.objective, "{:?}", solution.certified_gap);
        let scale = posterior.w.max_row_norm();
        for i in 0..graph.nodes() {
            let apart = solution.w.row(i).iter().zip(posterior.w.row(i)).map(|(a, b)| (a - b).abs());
            assert!(apart.fold(0.0, f64::max) < 1e-8 * scale, "{structure:?} {i}");
        }
        let hub = solution.w.row(graph.nodes()).iter().zip(&posterior.mu);
        assert!(hub.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) < 1e-8 * scale);
    }
}

#[test]
fn what_made_the_data_is_found() {
    let (graph, data) = on_a_grid(16, 3, |_| 6);
    let learnt = learn(&graph, &data, &CouplingOptions::default()).unwrap();
    let coupling = &learnt.coupling;
    // Three standard errors: about 1,000 of the 1,536 rows are left to tell the noise.
    assert!((coupling.s2.sqrt() - 0.5).abs() < 3.0 * 0.5 / 2000f64.sqrt(), "{}", coupling.s2);
    assert!(coupling.rho > 0.5 && learnt.graph.p_value < 1e-6, "{} {:?}", coupling.rho, learnt.graph);
    // The second coefficient is shared: what its variance adds to a row (the feature has deviation 0.3) is nothing beside the noise.
    assert!(coupling.varies[0] && coupling.varies[2]);
    let added = 0.09 * coupling.covariance.row(1)[1] / coupling.s2;
    assert!(added < 0.05 && (coupling.mu[1] + 1.0).abs() < 0.1, "{added} {}", coupling.mu[1]);
    let interval = rho_interval(&graph, &data, coupling, 0.9).unwrap();
    assert!(interval.low > 0.2 && interval.low < coupling.rho && coupling.rho < interval.high, "{interval:?}");
}

/// Twelve coefficients that vary together in one direction, at fewer nodes than a full covariance has numbers.
#[test]
fn few_nodes_tell_a_low_rank() {
    let (nodes, d) = (40, 12);
    assert_eq!(Structure::low_rank(d, nodes), Some(Structure::LowRank(2)));
    assert_eq!(Structure::low_rank(d, 2 * d - 1), None);
    assert_eq!(Structure::low_rank(3, 1000), None, "that is a full one");
    let mut rng = stream(21, Purpose::LocalData, 0);
    let mut normal = || -> f64 { rng.sample(StandardNormal) };
    let direction: Vec<f64> = (0..d).map(|j| if j % 2 == 0 { 1.0 } else { -1.0 }).collect();
    let (mut offsets, mut x, mut y) = (vec![0], Vec::new(), Vec::new());
    for _ in 0..nodes {
        let size = normal();
        let w: Vec<f64> = direction.iter().map(|v| v * size + 0.2 * normal()).collect();
        for _ in 0..15 {
            let row: Vec<f64> = (0..d).map(|_| normal()).collect();
            y.push(row.iter().zip(&w).map(|(x, w)| x * w).sum::<f64>() + normal());
            x.extend(row);
        }
        offsets.push(y.len());
    }
    let weight = vec![1.0; y.len()];
    let data = Dataset::new(offsets, Matrix::from_rows(d, x), y, weight).unwrap();
    let graph = Graph::new(nodes, &[]).unwrap();
    let options = CouplingOptions { intercept: false, ..Default::default() };
    let learnt = learn(&graph, &data, &options).unwrap();
    assert_eq!(learnt.coupling.structure, Structure::LowRank(2), "{:?}", learnt.candidates);
    assert!(learnt.candidates.iter().all(|c| c.structure != Structure::Full));
    // Coefficients of the same sign go together, the others against each other.
    let c = &learnt.coupling.covariance;
    let correlation = |j: usize, k: usize| c.row(j)[k] / (c.row(j)[j] * c.row(k)[k]).sqrt();
    for (j, k) in (0..d).flat_map(|j| (0..j).map(move |k| (j, k))) {
        assert!(correlation(j, k) * direction[j] * direction[k] > 0.6, "{j} {k} {}", correlation(j, k));
    }
}

/// Every third node is four times as noisy.
#[test]
fn noisy_nodes_are_found() {
    let (graph, data) = on_a_grid(10, 5, |_| 12);
    let mut rng = stream(9, Purpose::LocalData, 2);
    let node_of: Vec<usize> = (0..100).flat_map(|i| data.rows(i).map(move |_| i)).collect();
    let more: Vec<f64> = (0..data.len()).map(|_| rng.sample::<f64, _>(StandardNormal)).collect();
    let noisy = data.shift_labels(|r| if node_of[r].is_multiple_of(3) { 1.94 * more[r] } else { 0.0 });
    let options = CouplingOptions { noise: Noise::ByNode, ..only(Structure::Diagonal) };
    let coupling = learn(&graph, &noisy, &options).unwrap().coupling;
    let (mut loud, mut quiet) = (0.0, 0.0);
    (0..100).for_each(|i| *(if i % 3 == 0 { &mut loud } else { &mut quiet }) += coupling.noise(i));
    // From 12 rows each, estimates are drawn towards the common level: of 4 and 0.25 that made the rows, about 2.8 and 0.3 are left.
    let (loud, quiet) = (loud / 34.0, quiet / 66.0);
    assert!((2.0..5.0).contains(&loud) && (quiet - 0.25).abs() < 0.1, "{loud} {quiet}");
    let posterior = coupling.posterior(&graph, &noisy).unwrap();
    let problem = coupling.problem(&graph, &noisy).unwrap();
    let settings = Settings { tolerance: 1e-13, ..Default::default() };
    let solution = solve(&problem, &settings, None, &mut |_| Watch::Continue);
    let apart = (0..100).flat_map(|i| solution.w.row(i).iter().zip(posterior.w.row(i)).map(|(a, b)| (a - b).abs()));
    assert!(apart.fold(0.0, f64::max) < 1e-8 * posterior.w.max_row_norm());
}

/// With nodes that do not know of each other, the test of the graph rejects at its level.
#[test]
fn the_graph_is_not_found_where_it_does_not_matter() {
    let mut small = 0;
    for seed in 0..40 {
        let graph = grid(6, 6).unwrap();
        let mut rng = stream(seed, Purpose::LocalData, 1);
        let mut normal = || -> f64 { rng.sample(StandardNormal) };
        let mut y = Vec::new();
        for _ in 0..36 {
            let own = normal();
            y.extend((0..5).map(|_| own + normal()));
        }
        let offsets = (0..=36).map(|i| 5 * i).collect();
        let data = Dataset::new(offsets, Matrix::from_rows(1, vec![1.0; 180]), y, vec![1.0; 180]).unwrap();
        let learnt = learn(&graph, &data, &CouplingOptions::default()).unwrap();
        small += usize::from(learnt.graph.p_value < 0.1);
        assert!((learnt.coupling.s2 - 1.0).abs() < 0.5 && (learnt.coupling.covariance.row(0)[0] - 1.0).abs() < 1.0);
    }
    // 4 of 40 expected; 10 or more have a probability of 0.5 %.
    assert!(small < 10, "{small} of 40");
}

#[test]
fn units_do_not_matter() {
    let (graph, data) = on_a_grid(6, 2, |i| 2 + i % 5);
    let changed = data.map_features(|j, x| [1000.0 * x - 70.0, 1e-3 * x, x][j]).map_labels(|y| 50.0 - 7.0 * y);
    let options = CouplingOptions::default();
    let (a, b) =
        (learn(&graph, &data, &options).unwrap().coupling, learn(&graph, &changed, &options).unwrap().coupling);
    let (first, second) = (a.posterior(&graph, &data).unwrap(), b.posterior(&graph, &changed).unwrap());
    assert_eq!(a.structure, b.structure);
    assert!((a.rho - b.rho).abs() < 1e-4 && (49.0 * a.s2 / b.s2 - 1.0).abs() < 1e-5);
    for i in 0..graph.nodes() {
        let (x, z) = ([4.0, 0.2, 1.0], [3930.0, 2e-4, 1.0]);
        let predict = |w: &[f64], x: &[f64]| w.iter().zip(x).map(|(w, x)| w * x).sum::<f64>();
        let (y, scaled) = (predict(first.w.row(i), &x), (50.0 - predict(second.w.row(i), &z)) / 7.0);
        assert!((y - scaled).abs() < 1e-4, "{y} {scaled}");
        assert!((first.row_variance(i, &x) / second.row_variance(i, &z) * 49.0 - 1.0).abs() < 1e-3);
    }
}

#[test]
fn odd_inputs_give_answers_or_errors() {
    let ones = |y: Vec<f64>, offsets: Vec<usize>| {
        let n = y.len();
        Dataset::new(offsets, Matrix::from_rows(1, vec![1.0; n]), y, vec![1.0; n]).unwrap()
    };
    let answers = |graph: &Graph, data: &Dataset| -> Coupling {
        let learnt = learn(graph, data, &CouplingOptions::default()).unwrap();
        let posterior = learnt.coupling.posterior(graph, data).unwrap();
        assert!(posterior.w.as_slice().iter().chain(posterior.covariance.as_slice()).all(|w| w.is_finite()));
        assert!(learnt.coupling.problem(graph, data).is_ok());
        assert!(rho_interval(graph, data, &learnt.coupling, 0.9).is_ok());
        learnt.coupling
    };
    let pair = Graph::new(2, &[(0, 1, 1.0)]).unwrap();
    // One node; one row; a constant target; nothing but zeros; a node without rows.
    answers(&Graph::new(1, &[]).unwrap(), &ones(vec![1.0, 2.0, 4.0], vec![0, 3]));
    answers(&Graph::new(1, &[]).unwrap(), &ones(vec![1.0], vec![0, 1]));
    answers(&pair, &ones(vec![3.0; 6], vec![0, 3, 6]));
    answers(&pair, &ones(vec![0.0; 6], vec![0, 3, 6]));
    answers(&pair, &ones(vec![1.0, 2.0, 3.0], vec![0, 3, 3]));
    // No edges: there is nothing to learn from neighbours.
    let (grid, data) = on_a_grid(4, 4, |i| i % 4);
    assert_eq!(answers(&Graph::new(16, &[]).unwrap(), &data).rho, 0.0);
    // Collinear and constant features, a feature of zeros.
    answers(&grid, &data.columns(&[0, 0, 1, 2]));
    answers(&grid, &data.map_features(|j, x| if j == 1 { 7.0 } else { x }));
    answers(&grid, &data.map_features(|j, x| if j == 1 { 0.0 } else { x }));
    // No noise at all.
    let exact: Vec<f64> = (0..data.len()).map(|r| data.x(r)[0] * 2.0 + 1.0).collect();
    answers(&grid, &data.clone().shift_labels(|r| exact[r] - data.y()[r]));
    // No intercept.
    let options = CouplingOptions { intercept: false, ..Default::default() };
    assert!(learn(&grid, &data.columns(&[0, 1]), &options).is_ok());
    // Errors.
    assert!(learn(&pair, &data, &CouplingOptions::default()).is_err());
    assert!(learn(&pair, &ones(vec![], vec![0, 0, 0]), &CouplingOptions::default()).is_err());
    let bad = CouplingOptions { rho: Rho::Fixed(1.0), ..Default::default() };
    assert!(learn(&grid, &data, &bad).is_err());
}

/// The learnt problem's optimum is the mode, for counts and for classes.
#[test]
fn other_losses_have_problems_too() {
    use fedweave::loss::Family;
    let (graph, data) = on_a_grid(6, 8, |i| 3 + i % 4);
    let data = data.map_features(|j, x| if j == 0 { 0.2 * x } else { x });
    let counts = data.clone().map_labels(|y| (0.1 * y).exp().min(20.0).round());
    // Classes that overlap: where labels can be predicted perfectly there is no mode.
    let classes = data.clone().map_labels(|y| if y + 8.0 * (50.0 * y).sin() > 10.0 { 1.0 } else { 0.0 });
    for (family, data) in [(Family::Poisson, counts), (Family::Logistic, classes)] {
        let options = CouplingOptions { family, ..only(Structure::Diagonal) };
        let coupling = learn(&graph, &data, &options).unwrap().coupling;
        let posterior = coupling.posterior(&graph, &data).unwrap();
        let problem = coupling.problem(&graph, &data).unwrap();
        let settings = Settings { tolerance: 1e-13, ..Default::default() };
        let solution = solve(&problem, &settings, None, &mut |_| Watch::Continue);
        let scale = posterior.w.max_row_norm();
        for i in 0..graph.nodes() {
            let apart = solution.w.row(i).iter().zip(posterior.w.row(i)).map(|(a, b)| (a - b).abs());
            let apart = apart.fold(0.0, f64::max);
            assert!(
                apart < 1e-6 * scale,
                "{family} {i}: {apart} of {scale}, gap {:?} of {}, {coupling:?}",
                solution.certified_gap,
                solution.objective
            );
        }
    }
    let options = CouplingOptions { family: Family::Absolute, ..Default::default() };
    assert!(learn(&graph, &data, &options).is_err());
}

#[test]
fn folds_rank_structures() {
    let (graph, data) = on_a_grid(8, 6, |_| 5);
    let fold = |k: usize| {
        let validation: Vec<bool> = (0..data.len()).map(|r| r % 5 == k).collect();
        Fold { train: validation.iter().map(|v| !v).collect(), validation }
    };
    let folds: Vec<Fold> = (0..5).map(fold).collect();
    let scores = score_on_folds(&graph, &data, &CouplingOptions::default(), &folds).unwrap();
    assert_eq!(scores.len(), 6);
    for judge in [Judge::Folds, Judge::LikelihoodAndFolds] {
        assert!(choose_on_folds(&scores, judge).unwrap().graph);
    }
    assert!(scores.windows(2).all(|pair| pair[0].mean() <= pair[1].mean()));
    // Slopes vary, and neighbours are alike.
    assert!(scores[0].graph && scores[0].structure != Structure::Intercept);
    assert!(score_on_folds(&graph, &data, &CouplingOptions::default(), &[]).is_err());
}

#[test]
fn a_hub_pulls_to_the_mean() {
    use fedweave::loss::{Family, LossOptions};
    use fedweave::penalty::{Norm2, Penalty, SquaredNorm};
    let points = vec![0.0, 1.0, 5.0, 6.0];
    let data = Dataset::new((0..=4).collect(), Matrix::from_rows(1, points), vec![0.0; 4], vec![1.0; 4]).unwrap();
    let graph = Graph::new(4, &[(0, 1, 1.0), (2, 3, 1.0)]).unwrap().with_hub(0.5).unwrap();
    for penalty in [Box::new(SquaredNorm) as Box<dyn Penalty>, Box::new(Norm2)] {
        let squared = penalty.name() == "squared";
        let loss = Family::Point.build(data.with_hub(), &LossOptions::default()).unwrap();
        let problem = fedweave::Problem::build(graph.clone(), loss, penalty, 1.0).unwrap();
        let solution = solve(&problem, &Settings::default(), None, &mut |_| Watch::Continue);
        assert_eq!(solution.status, Status::Converged);
        assert!(solution.certified_gap.unwrap() < 1e-5);
        // By symmetry the hub is in the middle.
        assert!(!squared || (solution.w.row(4)[0] - 3.0).abs() < 1e-4, "{:?}", solution.w);
    }
}

/// The estimates and predictions of statsmodels for two datasets (`tests/mixed_models/make.py`).
#[test]
fn agrees_with_mixed_models() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/mixed_models/references.json");
    let file: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let every = file["every"].as_u64().unwrap() as usize;
    for dataset in file["datasets"].as_array().unwrap() {
        let node: Vec<usize> = numbers(&dataset["node"]).iter().map(|i| *i as usize).collect();
        let (y, nodes) = (numbers(&dataset["y"]), node.iter().max().unwrap() + 1);
        let x = Matrix::from_rows(dataset["dim"].as_u64().unwrap() as usize, numbers(&dataset["x"]));
        let data = Dataset::group(nodes, &node, &x, &y, &vec![1.0; y.len()]).unwrap().0;
        let graph = Graph::new(nodes, &[]).unwrap();
        for (likelihood, key) in [(Likelihood::Restricted, "restricted"), (Likelihood::Maximum, "maximum")] {
            let options = CouplingOptions { likelihood, prior: false, ..only(Structure::Full) };
            let found = learn(&graph, &data, &options).unwrap().coupling;
            let (expected, name) = (&dataset[key], &dataset["name"]);
            close(&found.mu, &numbers(&expected["mu"]), &format!("mu of {name} {key}"));
            close(found.covariance.as_slice(), &numbers(&expected["covariance"]), &format!("D of {name} {key}"));
            close(&[found.s2], &[expected["s2"].as_f64().unwrap()], &format!("s2 of {name} {key}"));
            let apart = found.log_likelihood - expected["log_likelihood"].as_f64().unwrap();
            assert!(apart.abs() < 1e-3, "{name} {key} {apart}");
            let w = found.posterior(&graph, &data).unwrap().w;
            let predicted = |r: usize| x.row(r).iter().zip(w.row(node[r])).map(|(x, w)| x * w).sum::<f64>();
            let predictions: Vec<f64> = (0..y.len()).step_by(every).map(predicted).collect();
            close(&predictions, &numbers(&expected["predictions"]), &format!("predictions of {name} {key}"));
        }
    }
}

fn numbers(list: &Value) -> Vec<f64> {
    list.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

fn close(found: &[f64], expected: &[f64], what: &str) {
    let size = expected.iter().fold(0.1, |m: f64, e| m.max(e.abs()));
    assert_eq!(found.len(), expected.len(), "{what}");
    assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-4 * size), "{what}: {found:?} {expected:?}");
}

#[test]
fn folds_take_every_row_once_and_groups_whole() {
    let (_, data) = on_a_grid(5, 2, |i| i % 7);
    let groups: Vec<u32> = (0..data.len() as u32).map(|r| r % 9).collect();
    for groups in [None, Some(groups.as_slice())] {
        let folds = Fold::deal(&data, groups, 4, 1);
        assert_eq!(folds.len(), 4);
        for row in 0..data.len() {
            assert_eq!(folds.iter().filter(|f| f.validation[row]).count(), 1);
            assert!(folds.iter().all(|f| f.validation[row] != f.train[row]));
        }
        for (a, b) in (0..data.len()).flat_map(|a| (0..a).map(move |b| (a, b))) {
            let together = folds.iter().all(|f| f.validation[a] == f.validation[b]);
            assert!(together || groups.is_none_or(|g| g[a] != g[b]));
        }
    }
}

/// An average predicts new rows nearly as well as its best member, whichever that is, and its models are the average.
#[test]
fn an_average_is_nearly_as_good_as_its_best_member() {
    let (graph, all) = on_a_grid(9, 4, |_| 12);
    let old: Vec<bool> = (0..all.len()).map(|r| r % 12 < 6).collect();
    let (data, new) = (all.select(&old), all.select(&old.iter().map(|o| !o).collect::<Vec<_>>()));
    let folds = Fold::deal(&data, None, 5, 0);
    let blend = fedweave::learn::coupling::blend(&graph, &data, &CouplingOptions::default(), &folds, None).unwrap();
    assert!((blend.members.iter().map(|m| m.weight).sum::<f64>() - 1.0).abs() < 1e-12);
    assert!(blend.graph.unwrap().p_value < 1e-3);
    let error = |w: &Matrix| {
        let row = |(i, r): (usize, usize)| {
            (new.x(r).iter().zip(w.row(i)).map(|(x, w)| x * w).sum::<f64>() - new.y()[r]).powi(2)
        };
        let rows = (0..new.nodes()).flat_map(|i| new.rows(i).map(move |r| (i, r)));
        rows.map(row).sum::<f64>() / new.len() as f64
    };
    let models = |c: &Coupling| c.posterior(&graph, &data).unwrap().w;
    let structures = [Structure::Intercept, Structure::Diagonal, Structure::Full];
    let each: Vec<Coupling> = structures.map(|s| learn(&graph, &data, &only(s)).unwrap().coupling).to_vec();
    let best = each.iter().map(|c| error(&models(c))).fold(f64::INFINITY, f64::min);
    let found = error(&blend.posterior(&graph, &data).unwrap().w);
    assert!(found < 1.03 * best, "{found} {best}");
    let member = |k: usize, weight: f64| Member { weight, coupling: each[k].clone(), error: None };
    let two = Blend { members: vec![member(0, 0.3), member(2, 0.7)], trust: 0.0, graph: None };
    let posterior = two.posterior(&graph, &data).unwrap();
    let (one, other) = (models(&each[0]), models(&each[2]));
    for (k, w) in posterior.w.as_slice().iter().enumerate() {
        let mean = 0.3 * one.as_slice()[k] + 0.7 * other.as_slice()[k];
        assert!((w - mean).abs() < 1e-12 * (1.0 + mean.abs()));
    }
    // Where members disagree, the average is less certain than both on average.
    let variance = |p: &Posterior| p.variance(4, &[1.0, 1.0, 1.0]);
    let parts = each.iter().map(|c| variance(&c.posterior(&graph, &data).unwrap())).collect::<Vec<_>>();
    assert!(variance(&posterior) >= 0.3 * parts[0] + 0.7 * parts[2]);
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let again =
        one.install(|| fedweave::learn::coupling::blend(&graph, &data, &CouplingOptions::default(), &folds, None));
    assert_eq!(again.unwrap(), blend, "whatever the number of threads");
}

/// Nodes that have seen one class only borrow the other from the rest.
#[test]
fn one_class_at_some_nodes_is_no_obstacle() {
    let (graph, data) = on_a_grid(6, 11, |i| 2 + i % 5);
    let node: Vec<usize> = (0..data.nodes()).flat_map(|i| data.rows(i).map(move |_| i)).collect();
    let label = |r: usize| if node[r] < 9 || (r * 7).is_multiple_of(3) { 1.0 } else { 0.0 };
    let rows = Cell::new(0);
    let data = data.map_labels(|_| label(rows.replace(rows.get() + 1)));
    let options = CouplingOptions { family: fedweave::loss::Family::Logistic, ..Default::default() };
    let folds = Fold::deal(&data, None, 5, 0);
    let blend = fedweave::learn::coupling::blend(&graph, &data, &options, &folds, None).unwrap();
    let w = blend.posterior(&graph, &data).unwrap().w;
    assert!(w.as_slice().iter().all(|w| w.is_finite() && w.abs() < 50.0), "{w:?}");
}

/// Learning again from the same rows changes nothing; from others, it finds what learning anew finds.
#[test]
fn learning_again_is_learning_anew() {
    let (graph, data) = on_a_grid(8, 6, |i| 5 + i % 4);
    let some = data.select(&(0..data.len()).map(|r| r % 5 != 0).collect::<Vec<_>>());
    for structure in [Structure::Intercept, Structure::Diagonal, Structure::Full] {
        let learnt = learn(&graph, &data, &only(structure)).unwrap().coupling;
        let anew = learn(&graph, &some, &only(structure)).unwrap().coupling;
        let again = learnt.relearn(&graph, &some).unwrap();
        assert!((again.log_likelihood - anew.log_likelihood).abs() < 0.1, "{again:?} {anew:?}");
        let (a, b) = (again.posterior(&graph, &some).unwrap().w, anew.posterior(&graph, &some).unwrap().w);
        let size = b.max_row_norm();
        assert!(a.as_slice().iter().zip(b.as_slice()).all(|(a, b)| (a - b).abs() < 0.05 * size), "{structure:?}");
    }
}
