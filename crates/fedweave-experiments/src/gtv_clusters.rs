//! Figure 2 of the GTV paper: the error against the number of clusters.

use fedweave::synthetic::Synthetic;
use fedweave_report::{Curve, Figure, Panel};

use crate::gtv_table1::{LAMBDA, ROWS, data};
use crate::measure::{adaptive, algorithm_1, estimation_error, network_lasso};
use crate::rivals::{Effort, Rivals, first_rows};
use crate::spread::Spread;
use crate::{Check, Error, Outcome, Progress, Setting, Table, short};

const ROUNDS: usize = 2000;
const METHODS: [&str; 6] =
    ["Algorithm 1", "Algorithm 1, adapted steps", "IFCA", "IFCA, tuned", "FedAvg", "FedAvg in each cluster"];

pub fn run(setting: &Setting, progress: &mut Progress) -> Result<Outcome, Error> {
    let (sizes, counts, seeds) = if setting.quick { (50, &[2, 3, 5][..], 1) } else { (100, &[2, 3, 4, 5][..], 3) };
    let columns = &["clusters", "method", "mse", "deviation"];
    let mut table = Table::new("mse", columns);
    let mut curves: Vec<Curve> =
        METHODS.iter().map(|name| Curve { name: (*name).into(), ..Curve::default() }).collect();
    for (j, &clusters) in counts.iter().enumerate() {
        let mut errors = Spread::default();
        for k in 0..seeds {
            progress(j * seeds + k, counts.len() * seeds);
            let seed = setting.seed + k as u64;
            measure(&data(clusters, clusters * sizes, seed)?, clusters, seed, &mut errors)?;
        }
        for (curve, name) in curves.iter_mut().zip(METHODS) {
            table.push([clusters.into(), name.into(), errors.mean(name).into(), errors.deviation(name).into()]);
            curve.points.push((clusters as f64, errors.mean(name)));
        }
    }
    progress(counts.len() * seeds, counts.len() * seeds);
    let mut found = Outcome { checks: judge(&curves), tables: vec![table], ..Outcome::default() };
    found.notes.push(format!("open in the paper and chosen here: {sizes} nodes a cluster; all else as in Table I"));
    let panel = Panel {
        x_title: "number of clusters".into(),
        y_title: "MSE (41)".into(),
        y_log: true,
        curves,
        ..Panel::default()
    };
    found.draw("figure2", Figure { title: "Error against the number of clusters".into(), panels: vec![panel] });
    Ok(found)
}

fn measure(made: &Synthetic, clusters: usize, seed: u64, errors: &mut Spread) -> Result<(), Error> {
    let (train, validation) = first_rows(&made.data, ROWS);
    let problem = network_lasso(&made.graph, &train, LAMBDA)?;
    let effort = Effort { rounds: 1000, tuning_rounds: 100, restarts: 3 };
    let rivals = Rivals::new(&train, Some(&validation), effort, seed)?;
    let mut keep = |method: usize, mse: f64| errors.push(METHODS[method], mse);
    algorithm_1(&problem, &[ROUNDS], |_, w| keep(0, estimation_error(w, &made.truth)));
    let models = [
        adaptive(&problem, 600).w,
        rivals.ifca(clusters)?,
        rivals.tuned_ifca(clusters)?,
        rivals.fedavg()?,
        rivals.clustered_fedavg(&made.cluster)?,
    ];
    models.iter().enumerate().for_each(|(k, w)| keep(k + 1, estimation_error(w, &made.truth)));
    Ok(())
}

/// `curves` in the order of [`METHODS`].
fn judge(curves: &[Curve]) -> Vec<Check> {
    let words =
        |k: usize| curves[k].points.iter().map(|p| format!("{} at {}", short(p.1), p.0)).collect::<Vec<_>>().join(", ");
    let below = |a: usize, b: usize, factor: f64| {
        curves[a].points.iter().zip(&curves[b].points).all(|(a, b)| a.1 < factor * b.1)
    };
    let both = |a: usize, b: usize| format!("{} against {}", words(a), words(b));
    vec![
        Check::new("Algorithm 1 against IFCA, any number of clusters", "smaller", both(0, 2), below(0, 2, 1.0)).because("a random start of IFCA may happen to tell the clusters apart; it then pools their rows without the bias of a penalty"),
        Check::new("Algorithm 1 against FedAvg, any number of clusters", "smaller", both(0, 4), below(0, 4, 1.0)),
        Check::new("FedAvg in each true cluster", "the benchmark: it knows the clusters", both(5, 1), below(5, 1, 1.0)),
    ]
}
