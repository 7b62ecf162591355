//! Rounds in which some nodes lie about what they would send.

use super::lie::{Cast, Lie};
use crate::matrix::Matrix;
use crate::solve::Round;

/// What was heard in the last round.
pub struct Heard {
    /// The rows that were believed, one per node.
    pub said: Matrix,
    /// In how many rounds nothing new was believed of a node: it said what it had said before, nothing, or nothing finite.
    pub idle: Vec<usize>,
    /// Rounds that were run.
    pub rounds: usize,
}

impl Heard {
    /// True if nothing new was believed of a node in most rounds.
    pub fn is_mute(&self, node: usize) -> bool {
        2 * self.idle[node] > self.rounds
    }
}

/// Runs rounds in which the attackers of `cast` say what `lie` says; `None`: they tell the truth. Their own models follow the
/// rounds as if they were honest. `see` looks at the rounds after each of them and may end them.
pub fn rounds_under_attack(
    round: &mut dyn Round,
    cast: &Cast,
    lie: Option<Lie>,
    rounds: usize,
    see: &mut dyn FnMut(usize, &dyn Round, &Matrix) -> bool,
) -> Heard {
    let models = round.models();
    let (n, d) = (models.rows(), models.cols());
    let mut said = models.clone();
    let mut past: Vec<Matrix> = Vec::new();
    let mut first: Option<Matrix> = None;
    let (mut idle, mut run) = (vec![0; n], 0);
    for k in 0..rounds {
        let before = said.clone();
        round.begin();
        (0..n).for_each(|i| said.row_mut(i).copy_from_slice(round.outgoing(i)));
        if let Some(lie) = lie {
            let truth = said.clone();
            if matches!(lie, Lie::Delay(_)) {
                past.push(truth.clone());
            }
            let first = &*first.get_or_insert_with(|| truth.clone());
            for (place, &attacker) in cast.attackers.iter().enumerate() {
                let row = match lie {
                    Lie::Replay => first.row(attacker).to_vec(),
                    Lie::Silence(from) if k < from => truth.row(attacker).to_vec(),
                    Lie::Delay(by) if k >= by => past[k - by].row(attacker).to_vec(),
                    Lie::Silence(_) | Lie::Delay(_) => before.row(attacker).to_vec(),
                    Lie::NotANumber => vec![f64::NAN; d],
                    lie => cast
                        .tell(lie, place, truth.row(attacker), &truth)
                        .unwrap_or_else(|| before.row(attacker).to_vec()),
                };
                // What is not finite is refused: what was heard before stays.
                let believed = if row.iter().all(|x| x.is_finite()) { &row[..] } else { before.row(attacker) };
                said.row_mut(attacker).copy_from_slice(believed);
                round.incoming(attacker).copy_from_slice(believed);
            }
        }
        (0..n).filter(|&i| said.row(i) == before.row(i)).for_each(|i| idle[i] += 1);
        run = k + 1;
        round.complete();
        if !see(k + 1, round, &said) {
            break;
        }
    }
    Heard { said, idle, rounds: run }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Graph;
    use crate::loss::{Family, LossOptions};
    use crate::penalty::{Norm2, Penalty, SquaredNorm};
    use crate::problem::Problem;
    use crate::robustness::liars_bound;
    use crate::solve::{PrimalDualRound, RobustOptions, RobustRound, Settings, Watch, solve};
    use crate::trust::attack::FACTORS;
    use crate::trust::defence::Rule;
    use crate::{
        Dataset,
        random::{Purpose, stream},
    };
    use rand::RngExt;

    const NODES: usize = 8;

    fn problem(penalty: Box<dyn Penalty>, kept: impl Fn(usize, usize) -> bool) -> Problem {
        let mut random = stream(2, Purpose::Pairs, 0);
        let points: Vec<f64> = (0..2 * NODES).map(|_| 1.0 + random.random::<f64>()).collect();
        let ring = (0..NODES).flat_map(|i| [(i, (i + 1) % NODES), (i, (i + 2) % NODES)]);
        let edges: Vec<_> = ring.filter(|(i, j)| kept(*i, *j)).map(|(i, j)| (i, j, 1.0)).collect();
        let data =
            Dataset::new((0..=NODES).collect(), Matrix::from_rows(2, points), vec![0.0; NODES], vec![1.0; NODES]);
        let loss = Family::Point.build(data.unwrap(), &LossOptions::default()).unwrap();
        Problem::build(Graph::new(NODES, &edges).unwrap(), loss, penalty, 0.2).unwrap()
    }

    fn run(problem: &Problem, lie: Option<Lie>, rounds: usize) -> Matrix {
        let (n, d) = (problem.nodes(), problem.dim());
        let (w, u) = (Matrix::zeros(n, d), Matrix::zeros(problem.graph().edges(), d));
        let mut round = PrimalDualRound::new(problem, (0..n as u32).collect(), &w, &u, 1.0, 1.0);
        let cast = Cast::new(problem.graph(), &[3]).unwrap();
        rounds_under_attack(&mut round, &cast, lie, rounds, &mut |_, _, _| true);
        round.models().clone()
    }

    #[test]
    fn honest_rounds_lead_to_the_optimum_and_lies_stay_in_the_bound() {
        let whole = problem(Box::new(Norm2), |_, _| true);
        let settings = Settings { tolerance: 1e-12, ..Default::default() };
        let best = |p: &Problem| solve(p, &settings, None, &mut |_| Watch::Continue).w;
        let honest = run(&whole, None, 2_000);
        assert!(distance(&honest, &best(&whole), |_| true) < 1e-4);
        let alone = best(&problem(Box::new(Norm2), |i, j| i != 3 && j != 3));
        let bound = liars_bound(&whole, |i| i == 3).unwrap();
        for lie in Lie::MODELS.into_iter().chain(Lie::FAULTS).flat_map(Lie::variants) {
            let moved = distance(&run(&whole, Some(lie), 2_000), &alone, |i| i != 3);
            assert!(moved <= 1.001 * bound + 1e-3, "{lie:?}: {moved} {bound}");
        }
        // The largest lies come near to it: all neighbours are pulled the same way, but hold on to each other.
        let far = distance(&run(&whole, Some(Lie::Constant(FACTORS[5])), 2_000), &alone, |i| i != 3);
        assert!(far > 0.75 * bound, "{far} {bound}");
    }

    fn distance(a: &Matrix, b: &Matrix, of: impl Fn(usize) -> bool) -> f64 {
        let square = |i: usize| a.row(i).iter().zip(b.row(i)).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
        (0..a.rows()).filter(|&i| of(i)).map(square).sum::<f64>().sqrt()
    }

    #[test]
    fn lies_are_what_they_are_called() {
        let whole = problem(Box::new(SquaredNorm), |_, _| true);
        let options = RobustOptions { rule: Rule::Sum, ..RobustOptions::default() };
        let cast = Cast::new(whole.graph(), &[3]).unwrap();
        let heard = |lie: Lie, rounds: usize| {
            let zero = Matrix::zeros(NODES, 2);
            let mut round = RobustRound::new(&whole, (0..NODES as u32).collect(), &zero, options).unwrap();
            let heard = rounds_under_attack(&mut round, &cast, Some(lie), rounds, &mut |_, _, _| true);
            let mute: Vec<usize> = (0..NODES).filter(|&i| heard.is_mute(i)).collect();
            let silent = matches!(lie, Lie::NotANumber | Lie::Replay | Lie::Silence(_));
            assert_eq!(mute, if silent { vec![3] } else { vec![] }, "{lie:?}");
            (heard.said, round.models().clone())
        };
        let (said, _) = heard(Lie::Mimic, 30);
        assert!((0..NODES).any(|i| i != 3 && said.row(i) == said.row(3)));
        assert_eq!(heard(Lie::NotANumber, 30).0.row(3), [0.0, 0.0]);
        assert_eq!(heard(Lie::Replay, 30).0.row(3), [0.0, 0.0]);
        assert_eq!(heard(Lie::Silence(10), 30).0.row(3), heard(Lie::Silence(10), 40).0.row(3));
        let near = [1, 2, 4, 5];
        let (said, _) = heard(Lie::LittleIsEnough(1.5), 30);
        for c in 0..2 {
            let mean = near.iter().map(|&j| said.row(j)[c]).sum::<f64>() / 4.0;
            let deviation = (near.iter().map(|&j| (said.row(j)[c] - mean).powi(2)).sum::<f64>() / 4.0).sqrt();
            assert!((said.row(3)[c] - (mean - 1.5 * deviation)).abs() < 1e-12);
        }
        let (said, _) = heard(Lie::InnerProduct(2.0), 30);
        let mean = near.iter().map(|&j| said.row(j)[0]).sum::<f64>() / 4.0;
        assert!((said.row(3)[0] + 2.0 * mean).abs() < 1e-12);
        // With the sum a large lie moves everybody, and more the larger it is.
        let far = heard(Lie::Constant(100.0), 300).1;
        assert!(far.row(2)[0] > 5.0, "{:?}", far.row(2));
    }
}
