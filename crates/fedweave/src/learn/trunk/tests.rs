//! Laws of the trunk as a whole.

mod folds;
mod forest;
mod splits;

use rand::RngExt;

use super::*;
use crate::folds::Folds;
use crate::matrix::Matrix;
use crate::random::{Purpose, stream};

const LOSSES: [TrunkLoss; 3] = [TrunkLoss::Squared, TrunkLoss::Logistic, TrunkLoss::Poisson];

/// Rows that own their numbers.
#[derive(Clone)]
struct Table {
    x: Matrix,
    category: Vec<u32>,
    y: Vec<f64>,
    weight: Vec<f64>,
}

impl Table {
    /// Labels of the loss, from two features and a category in turn; `categories` of them.
    fn random(loss: TrunkLoss, rows: usize, categories: u32, seed: u64) -> Self {
        let mut rng = stream(seed, Purpose::LocalData, 0);
        let x = Matrix::from_rows(3, (0..3 * rows).map(|_| rng.random_range(-1.0..1.0)).collect());
        let category: Vec<u32> = (0..rows as u32).map(|r| r % categories).collect();
        let label = |r: usize| {
            let effect = f64::from(category[r] * 7 % 5) - 2.0;
            let score = x.row(r)[0] + f64::from(x.row(r)[1] > 0.2) + 0.5 * effect;
            match loss {
                TrunkLoss::Squared => score + rng.random_range(-0.3..0.3),
                TrunkLoss::Logistic => {
                    if score + rng.random_range(-1.0..1.0) > 0.0 {
                        1.0
                    } else {
                        -1.0
                    }
                }
                TrunkLoss::Poisson => (score.exp() * rng.random_range(0.0..2.0)).round(),
            }
        };
        let y = (0..rows).map(label).collect();
        Table { x, y, category, weight: vec![1.0; rows] }
    }

    fn rows(&self) -> TrunkRows<'_> {
        TrunkRows { x: self.x.view(), category: Some(&self.category), y: &self.y, weight: &self.weight }
    }

    /// The rows with these numbers, in this order.
    fn pick(&self, rows: &[usize]) -> Table {
        Table {
            x: Matrix::from_rows(3, rows.iter().flat_map(|&r| self.x.row(r).to_vec()).collect()),
            category: rows.iter().map(|&r| self.category[r]).collect(),
            y: rows.iter().map(|&r| self.y[r]).collect(),
            weight: rows.iter().map(|&r| self.weight[r]).collect(),
        }
    }

    fn loss_of(&self, trunk: &Trunk) -> f64 {
        let of_row = |r: usize| trunk.loss.value(trunk.score(self.x.row(r), Some(self.category[r])), self.y[r]);
        (0..self.y.len()).map(|r| self.weight[r] * of_row(r)).sum()
    }
}

fn few(rounds: usize) -> TrunkOptions {
    TrunkOptions { rounds, learning_rate: 0.1, leaves: 6, ..Default::default() }
}

fn on_threads<T: Send>(threads: usize, f: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(f)
}

#[test]
fn bits_do_not_depend_on_the_number_of_threads() {
    for loss in LOSSES {
        let table = Table::random(loss, 900, 20, 3);
        let folds: Vec<u32> = (0..900).map(|r| r / 20 % 4).collect();
        let options = [few(25), TrunkOptions { columns: 0.5, leaves: 3, ..few(25) }];
        let run = |threads| {
            on_threads(threads, || {
                let cross_fit = cross_fit(&table.rows(), loss, &Folds::given(&folds), &options).unwrap();
                (Trunk::fit(&table.rows(), loss, &cross_fit.options).unwrap(), cross_fit)
            })
        };
        assert_eq!(run(1), run(2), "{loss:?}");
    }
}

/// A large table, whose histograms are filled on several threads.
#[test]
fn large_leaves_are_summed_in_parallel_to_the_same_bits() {
    let table = Table::random(TrunkLoss::Squared, 40_000, 30, 4);
    let fit = |threads| on_threads(threads, || Trunk::fit(&table.rows(), TrunkLoss::Squared, &few(3)).unwrap());
    assert_eq!(fit(1), fit(2));
}

/// A federation grows the trunk of one machine, however its rows are divided and whoever answers first.
#[test]
fn parts_grow_the_trunk_of_all_rows() {
    for loss in LOSSES {
        let table = Table::random(loss, 400, 12, 5);
        let options = TrunkOptions { columns: 0.7, ..few(20) };
        let whole = Trunk::fit(&table.rows(), loss, &options).unwrap();
        let bins = Bins::new(table.x.view(), &table.weight, 12, options.bins_max);
        for cut in [1usize, 150, 399] {
            let (first, last): (Vec<usize>, Vec<usize>) = (0..400).partition(|r| r * 7 % 400 < cut);
            let (first, last) = (table.pick(&first), table.pick(&last));
            for parts in [[first.rows(), last.rows()], [last.rows(), first.rows()]] {
                assert_eq!(Trunk::fit_parts(&parts, &bins, loss, &options).unwrap(), whole, "{loss:?} {cut}");
            }
        }
    }
}

#[test]
fn weight_k_equals_k_copies_and_weight_0_equals_removal() {
    for loss in LOSSES {
        let table = Table::random(loss, 200, 9, 6);
        let times = |r: usize| [1, 2, 3, 0][r % 4];
        let copies: Vec<usize> = (0..200).flat_map(|r| std::iter::repeat_n(r, times(r))).collect();
        let copied = Trunk::fit(&table.pick(&copies).rows(), loss, &few(15)).unwrap();
        let weighted = Table { weight: (0..200).map(|r| times(r) as f64).collect(), ..table.clone() };
        let weighted = Trunk::fit(&weighted.rows(), loss, &few(15)).unwrap();
        for r in 0..200 {
            let score = |trunk: &Trunk| trunk.score(table.x.row(r), Some(table.category[r]));
            assert!((score(&copied) - score(&weighted)).abs() < 1e-8, "{loss:?} row {r}");
        }
    }
}

#[test]
fn every_tree_lowers_the_loss_of_its_rows() {
    for loss in LOSSES {
        for category_caution in [0.0, 1.0] {
            let table = Table::random(loss, 300, 10, 7);
            let trunk = Trunk::fit(&table.rows(), loss, &TrunkOptions { category_caution, ..few(40) }).unwrap();
            let mut before = f64::INFINITY;
            for rounds in 0..=trunk.trees.len() {
                let now = table.loss_of(&Trunk { trees: trunk.trees[..rounds].to_vec(), ..trunk.clone() });
                assert!(now <= before, "{loss:?} {rounds}: {now} after {before}");
                before = now;
            }
        }
    }
}

#[test]
fn constant_labels_need_no_splits() {
    for (loss, label) in
        [(TrunkLoss::Squared, 0.1), (TrunkLoss::Logistic, 1.0), (TrunkLoss::Poisson, 0.0), (TrunkLoss::Poisson, 7.0)]
    {
        let mut table = Table::random(loss, 70, 4, 11);
        table.y.fill(label);
        let trunk = Trunk::fit(&table.rows(), loss, &few(5)).unwrap();
        assert!(trunk.trees.iter().all(|tree| tree.leaves() == 1), "{loss:?}");
        let score = trunk.score(&[0.0; 3], Some(0));
        match loss {
            TrunkLoss::Squared => assert_eq!(score, 0.1),
            TrunkLoss::Logistic => assert!(score > 3.0 && score.is_finite()),
            TrunkLoss::Poisson if label > 0.0 => assert!((score - label.ln()).abs() < 1e-12),
            TrunkLoss::Poisson => assert!(score < -3.0 && score.is_finite()),
        }
    }
}

#[test]
fn one_row_is_its_own_prediction() {
    let table = Table::random(TrunkLoss::Squared, 1, 1, 12);
    let trunk = Trunk::fit(&table.rows(), TrunkLoss::Squared, &few(3)).unwrap();
    assert_eq!(trunk.score(table.x.row(0), Some(0)), table.y[0]);
}

#[test]
fn numbers_that_are_none_and_sizes_that_differ_are_refused() {
    let table = Table::random(TrunkLoss::Squared, 30, 3, 13);
    let refused = |change: &dyn Fn(&mut Table)| {
        let mut table = table.clone();
        change(&mut table);
        Trunk::fit(&table.rows(), TrunkLoss::Squared, &few(2)).unwrap_err()
    };
    assert!(matches!(refused(&|t| t.x.row_mut(4)[1] = f64::NAN), Error::NotFinite { row: 4, .. }));
    assert!(matches!(refused(&|t| t.y[5] = f64::INFINITY), Error::NotFinite { row: 5, .. }));
    assert!(matches!(refused(&|t| t.weight[6] = f64::NAN), Error::NotFinite { row: 6, .. }));
    assert!(matches!(refused(&|t| t.weight[6] = -1.0), Error::RowWeight { row: 6, .. }));
    assert!(matches!(refused(&|t| t.weight.fill(0.0)), Error::Size { .. }));
    assert!(matches!(refused(&|t| t.y.truncate(7)), Error::Size { .. }));
    assert!(matches!(refused(&|t| t.category.truncate(7)), Error::Size { .. }));
    let labels = Trunk::fit(&table.rows(), TrunkLoss::Logistic, &few(2));
    assert!(matches!(labels.unwrap_err(), Error::Label { row: 0, .. }));
    let options = TrunkOptions { learning_rate: f64::NAN, ..few(2) };
    assert!(matches!(Trunk::fit(&table.rows(), TrunkLoss::Squared, &options), Err(Error::Parameter { .. })));
    assert!(
        cross_fit(&table.rows(), TrunkLoss::Squared, &Folds::given(&[0; 30]), &[few(2)]).is_err(),
        "one fold leaves no rows"
    );
}

#[test]
fn trunks_are_plain_data() {
    let table = Table::random(TrunkLoss::Poisson, 120, 6, 14);
    let trunk = Trunk::fit(&table.rows(), TrunkLoss::Poisson, &few(10)).unwrap();
    let read: Trunk = serde_json::from_str(&serde_json::to_string(&trunk).unwrap()).unwrap();
    assert_eq!(read, trunk);
    assert_eq!(read.check(), Ok(()));
    let mut broken = trunk;
    broken.trees[0].nodes.truncate(1);
    assert!(broken.check().is_err());
}
