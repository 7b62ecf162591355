//! What attackers say in rounds instead of their models. They work together and see what everybody sends.

use crate::error::Result;
use crate::graph::Graph;
use crate::graph::laplacian_extremes;
use crate::matrix::{Matrix, axpy, norm2};

/// How attackers lie. Where there is a factor, it is for the attacker to choose; [`FACTORS`] are worth trying.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Lie {
    /// The opposite of the truth, so many times.
    SignFlip(f64),
    /// The mean of what honest neighbours send, off by so many of their deviations in every coordinate, which hides among them
    /// (Baruch, Baruch and Goldberg, 2019).
    LittleIsEnough(f64),
    /// The mean of what honest neighbours send, turned round, so many times (inner-product manipulation; Xie, Koyejo and Gupta, 2020).
    InnerProduct(f64),
    /// What the honest node says that is farthest from the mean of all (Karimireddy, He and Jaggi, 2022).
    Mimic,
    /// Drives the two sides of the weakest cut of the honest network apart, so many times as far as they are (in the manner of
    /// Gaucher, Dieuleveut and Hendrikx, 2025).
    Spectral(f64),
    /// The same number everywhere, so many times the size of honest models.
    Constant(f64),
    /// Not a number: refused by who hears it, who goes on with what was heard before.
    NotANumber,
    /// What was said in the first round, for ever.
    Replay,
    /// Nothing, from this round on: others go on with what they heard before.
    Silence(usize),
    /// The truth of so many rounds ago.
    Delay(usize),
}

/// Factors that attackers try.
pub const FACTORS: [f64; 6] = [0.5, 1.0, 1.5, 3.0, 10.0, 100.0];

impl Lie {
    /// Every lie about models once, without those that are only faults.
    pub const MODELS: [Lie; 8] = [
        Lie::SignFlip(1.0),
        Lie::LittleIsEnough(1.0),
        Lie::InnerProduct(1.0),
        Lie::Mimic,
        Lie::Spectral(1.0),
        Lie::Constant(1.0),
        Lie::NotANumber,
        Lie::Replay,
    ];
    /// Denial of service: silence from the first round on, silence after ten rounds, delay.
    pub const FAULTS: [Lie; 3] = [Lie::Silence(0), Lie::Silence(10), Lie::Delay(20)];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Lie::SignFlip(_) => "sign-flip",
            Lie::LittleIsEnough(_) => "little-is-enough",
            Lie::InnerProduct(_) => "inner-product",
            Lie::Mimic => "mimic",
            Lie::Spectral(_) => "spectral",
            Lie::Constant(_) => "constant",
            Lie::NotANumber => "nan",
            Lie::Replay => "replay",
            Lie::Silence(_) => "silence",
            Lie::Delay(_) => "delay",
        }
    }

    /// The same lie with all factors that are worth trying; itself if it has none.
    pub fn variants(self) -> Vec<Lie> {
        let with = |make: fn(f64) -> Lie| FACTORS.into_iter().map(make).collect();
        match self {
            Lie::SignFlip(_) => with(Lie::SignFlip),
            Lie::LittleIsEnough(_) => with(Lie::LittleIsEnough),
            Lie::InnerProduct(_) => with(Lie::InnerProduct),
            Lie::Spectral(_) => with(Lie::Spectral),
            Lie::Constant(_) => with(Lie::Constant),
            other => vec![other],
        }
    }

    /// The factor, if there is one.
    pub fn factor(self) -> Option<f64> {
        match self {
            Lie::SignFlip(f) | Lie::LittleIsEnough(f) | Lie::InnerProduct(f) | Lie::Spectral(f) | Lie::Constant(f) => {
                Some(f)
            }
            _ => None,
        }
    }
}

/// Who attacks in which network, and what follows from that.
pub struct Cast {
    /// True for attackers.
    pub lies: Vec<bool>,
    /// The attackers.
    pub attackers: Vec<usize>,
    /// The honest neighbours of each attacker; all honest nodes if it has none.
    audience: Vec<Vec<usize>>,
    /// The side of the weakest cut of the honest network on which the audience of each attacker is.
    side: Vec<f64>,
    /// The Fiedler vector of the honest network, zero at attackers.
    cut: Vec<f64>,
}

impl Cast {
    /// Attackers in a graph.
    pub fn new(graph: &Graph, attackers: &[usize]) -> Result<Cast> {
        let mut lies = vec![false; graph.nodes()];
        attackers.iter().for_each(|&i| lies[i] = true);
        let honest: Vec<usize> = (0..graph.nodes()).filter(|&i| !lies[i]).collect();
        let audience: Vec<Vec<usize>> = attackers
            .iter()
            .map(|&i| {
                let near = graph.ends(i).iter().map(|end| end.neighbour as usize);
                let near: Vec<usize> = near.filter(|&j| !lies[j]).collect();
                if near.is_empty() { honest.clone() } else { near }
            })
            .collect();
        let cut = weakest_cut(graph, &lies, &honest)?;
        let side = audience.iter().map(|near| near.iter().map(|&j| cut[j]).sum::<f64>().signum()).collect();
        Ok(Cast { lies, attackers: attackers.to_vec(), audience, side, cut })
    }

    /// What attacker number `k` says, `truth` being what an honest node in its place would, and `said` what everybody does.
    /// `None`: what was said before goes on.
    pub(super) fn tell(&self, lie: Lie, k: usize, truth: &[f64], said: &Matrix) -> Option<Vec<f64>> {
        let d = truth.len();
        let mean = |nodes: &mut dyn Iterator<Item = usize>| {
            let (mut sum, mut count) = (vec![0.0; d], 0.0);
            for j in nodes {
                axpy(1.0, said.row(j), &mut sum);
                count += 1.0;
            }
            sum.iter_mut().for_each(|x| *x /= f64::max(count, 1.0));
            sum
        };
        let near = &self.audience[k];
        let honest = || (0..self.lies.len()).filter(|&j| !self.lies[j]);
        Some(match lie {
            Lie::SignFlip(factor) => truth.iter().map(|x| -factor * x).collect(),
            Lie::LittleIsEnough(factor) => {
                let mut lie = mean(&mut near.iter().copied());
                for (c, x) in lie.iter_mut().enumerate() {
                    let square: f64 = near.iter().map(|&j| (said.row(j)[c] - *x).powi(2)).sum();
                    *x -= factor * (square / near.len().max(1) as f64).sqrt();
                }
                lie
            }
            Lie::InnerProduct(factor) => mean(&mut near.iter().copied()).iter().map(|x| -factor * x).collect(),
            Lie::Mimic => {
                let middle = mean(&mut honest());
                let far = |j: usize| said.row(j).iter().zip(&middle).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
                let farthest = honest().map(|j| (far(j), j)).reduce(|a, b| if b.0 > a.0 { b } else { a })?;
                said.row(farthest.1).to_vec()
            }
            Lie::Spectral(factor) => {
                let mut apart = vec![0.0; d];
                honest().for_each(|j| axpy(self.cut[j], said.row(j), &mut apart));
                let scale = factor * self.side[k];
                let mut lie = mean(&mut near.iter().copied());
                axpy(scale, &apart, &mut lie);
                lie
            }
            Lie::Constant(factor) => {
                let (square, count) = honest().fold((0.0, 0.0), |(s, n), j| (s + norm2(said.row(j)).powi(2), n + 1.0));
                vec![factor * (square / f64::max(count * d as f64, 1.0)).sqrt(); d]
            }
            Lie::NotANumber | Lie::Replay | Lie::Silence(_) | Lie::Delay(_) => return None,
        })
    }
}

/// The Fiedler vector of the honest network, of its largest piece if it is not connected.
fn weakest_cut(graph: &Graph, lies: &[bool], honest: &[usize]) -> Result<Vec<f64>> {
    let mut cut = vec![0.0; lies.len()];
    let mut place = vec![usize::MAX; lies.len()];
    honest.iter().enumerate().for_each(|(k, &i)| place[i] = k);
    let kept = (0..graph.edges()).map(|e| (graph.nodes_of(e), graph.weight(e)));
    let kept = kept.filter(|((i, j), _)| !lies[*i] && !lies[*j]);
    let edges: Vec<(usize, usize, f64)> = kept.map(|((i, j), a)| (place[i], place[j], a)).collect();
    if edges.is_empty() {
        return Ok(cut);
    }
    let spectrum = laplacian_extremes(&Graph::new(honest.len(), &edges)?)?;
    honest.iter().zip(&spectrum.fiedler).for_each(|(&i, f)| cut[i] = *f);
    Ok(cut)
}
