//! Noise and its price at length: the accountant at random parameters, the sampler by chi-square, the audit again and again.
//!
//! `cargo bench -p fedweave --bench noise [-- accountant 1000000] [sampler 10000000] [audit 1000]`
//!
//! Prints what was found; exit code 1 if something is wrong. Runs on all cores.

use std::process::ExitCode;
use std::time::Instant;

use fedweave::random::{Purpose, stream};
use fedweave::trust::privacy::accountant::{Sampled, epsilon, noise};
use fedweave::trust::privacy::audit::{Canaries, Flaw, lower_bound, misfit};
use fedweave::trust::privacy::mechanisms::discrete::{Ratio, gaussian};
use rand::{Rng, RngExt};
use rayon::prelude::*;

/// Deviations of the noise that is looked at.
const DEVIATIONS: [(u64, u64); 5] = [(1, 2), (1, 1), (7, 3), (10, 1), (101, 4)];
const DELTA: f64 = 1e-5;
/// Probability that an audit refutes what is true.
const ERROR: f64 = 0.01;
const CANARIES: usize = 400_000;
/// Queries of which each accounts for more than the one before.
const CHAIN: usize = 5;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let count = |name: &str| {
        let at = words.iter().position(|word| word == name)?;
        words.get(at + 1)?.parse::<usize>().ok()
    };
    let (parameters, draws, runs) = match words.is_empty() {
        true => (Some(10_000), Some(1_000_000), Some(10)),
        false => (count("accountant"), count("sampler"), count("audit")),
    };
    let wrong = [parameters.map(accountant), draws.map(sampler), runs.map(audit)].into_iter().flatten().sum::<usize>();
    if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn log_uniform(rng: &mut impl Rng, low: f64, high: f64) -> f64 {
    (low.ln() + (high / low).ln() * rng.random::<f64>()).exp()
}

/// Values that are negative, not finite, or smaller where something was made worse: chains of five queries, each with more to account for than the one
/// before.
fn accountant(count: usize) -> usize {
    let found = (0..count.div_ceil(CHAIN)).into_par_iter().map(chain).collect::<Vec<_>>();
    let wrong = found.iter().map(|(wrong, _)| wrong).sum::<usize>();
    let slowest = found.iter().map(|(_, slowest)| *slowest).fold(0.0, f64::max);
    println!("accountant: {} parameters, {wrong} wrong, slowest answer {:.1} ms", CHAIN * found.len(), 1e3 * slowest);
    wrong
}

/// The number of wrong answers of a chain, and the seconds of the slowest.
fn chain(k: usize) -> (usize, f64) {
    let mut rng = stream(k as u64, Purpose::Canaries, 1);
    let rate = if rng.random::<f64>() < 0.3 { 1.0 } else { log_uniform(&mut rng, 1e-7, 0.999) };
    let mut release = Sampled { sigma: log_uniform(&mut rng, 0.1, 300.0), rate };
    let (mut rounds, mut delta) = (log_uniform(&mut rng, 1.0, 1e6) as u64, log_uniform(&mut rng, 1e-18, 0.1));
    let (mut wrong, mut slowest, mut before) = (0, 0.0, 0.0);
    for link in 0..CHAIN {
        let by = 1.0 + log_uniform(&mut rng, 1e-2, 1.0);
        match link {
            0 => {}
            1 => release.sigma /= by,
            2 => release.rate = (release.rate * by).min(1.0),
            3 => rounds = (rounds as f64 * by).ceil() as u64,
            _ => delta /= by,
        }
        let began = Instant::now();
        let here = epsilon(release, rounds, delta).epsilon;
        slowest = f64::max(slowest, began.elapsed().as_secs_f64());
        if !(here >= before && here.is_finite()) {
            println!("  {release:?}, {rounds} rounds, delta {delta:e}: {here}, before (link {link}, {by}) {before}");
            wrong += 1;
        }
        before = here;
    }
    (wrong, slowest)
}

/// Deviations at which samples do not have the distribution that they should have.
fn sampler(draws: usize) -> usize {
    let one = |&(above, below): &(u64, u64)| {
        let sigma = Ratio::new(above, below).expect("a small ratio");
        let s = above as f64 / below as f64;
        let mut rng = stream(above, Purpose::Noise, below as usize);
        let drawn: Vec<i64> = (0..draws).map(|_| gaussian(sigma, &mut rng)).collect();
        let z = misfit(&drawn, |k| (-(k as f64).powi(2) / (2.0 * s * s)).exp());
        println!("sampler: deviation {s}, {draws} draws: chi-square as a standard normal number {z:.2}");
        usize::from(z > 4.0)
    };
    DEVIATIONS.par_iter().map(one).sum()
}

/// Sound claims that were refuted more often than said, that were not seen from near, and flaws that were not seen.
fn audit(runs: usize) -> usize {
    [1.0, 4.0].into_iter().map(|claimed| audit_of(claimed, runs)).sum()
}

fn audit_of(claimed: f64, runs: usize) -> usize {
    let multiplier = noise((claimed, DELTA), 1.0, 1).expect("a claim that noise can keep");
    let found = |flaw: Option<Flaw>, run: usize| {
        let mut rng = stream(run as u64, Purpose::Canaries, 2 + flaw.map_or(0, |flaw| flaw as usize + 1));
        let scores = Canaries { multiplier, flaw }.scores(CANARIES, &mut rng).expect("fixed rows");
        let bound = lower_bound(&scores, DELTA, ERROR);
        (bound.epsilon.max(bound.gaussian), bound.gaussian)
    };
    let honest: Vec<(f64, f64)> = (0..runs).into_par_iter().map(|run| found(None, run)).collect();
    let refuted = honest.iter().filter(|(most, _)| *most > claimed).count();
    let least = honest.iter().map(|(_, low)| low / claimed).fold(f64::INFINITY, f64::min);
    let mean = honest.iter().map(|(_, low)| low / claimed).sum::<f64>() / runs as f64;
    println!(
        "audit: claimed {claimed}, {runs} runs: refuted {refuted}, eps_low / claimed {mean:.3} on average, at least {least:.3}"
    );
    let missed = |flaw: &Flaw| {
        let seen = (0..runs.min(10)).into_par_iter().filter(|run| found(Some(*flaw), *run).1 > claimed).count();
        println!("  {flaw:?}: caught in {seen} of {}", runs.min(10));
        seen < runs.min(10)
    };
    // Three deviations above what is said.
    let allowed = runs as f64 * ERROR + 3.0 * (runs as f64 * ERROR).sqrt();
    Flaw::ALL.iter().filter(|&flaw| missed(flaw)).count()
        + usize::from(refuted as f64 > allowed)
        + usize::from(least < 0.7)
}
