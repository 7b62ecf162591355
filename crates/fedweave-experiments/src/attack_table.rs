//! All attacks against all defences, on networks of real data and on a planted one: the error of honest nodes relative to that of
//! the undefended network from which the attackers were removed.

use fedweave::matrix::dot;
use fedweave::trust::attack::{Cast, DataAttack, Lie, Trigger, draw, poisoned};
use fedweave::trust::defence::screen::area_under_curve;
use fedweave::{Dataset, Matrix};
use rayon::prelude::*;

use crate::attack_defences::{Defence, Tuned, mean_error, usual_distance};
use crate::attack_networks::AttackedNetwork;
use crate::spread::Spread;
use crate::{Cell, Check, Error, Outcome, Progress, Setting, Table, short};

const SHARES: [f64; 2] = [0.1, 0.2];
const SEEDS: u64 = 5;
const NETWORKS: usize = 3;
/// Factors that attackers try on their lies; the worst counts.
const FACTORS: [f64; 3] = [1.0, 3.0, 30.0];
/// Deviations by which labels and features are shifted, and where a backdoor leads.
const SHIFT: f64 = 5.0;
/// A trigger, in deviations of its feature.
const TRIGGER: f64 = 4.0;
/// What is wanted of the best defence where honest neighbours are a majority.
const BAR: f64 = 1.1;
/// What is wanted of the ranking of edges.
const AREA: f64 = 0.95;

/// What attackers do.
#[derive(Debug, Clone, PartialEq)]
enum Attack {
    Rows(&'static str, DataAttack),
    Lies(&'static str, Vec<Lie>),
}

impl Attack {
    fn all() -> Vec<Attack> {
        let trigger = Trigger { feature: 0, value: TRIGGER };
        let rows = [
            Attack::Rows("labels", DataAttack::Labels(SHIFT)),
            Attack::Rows("features", DataAttack::Features(SHIFT)),
            Attack::Rows("clean labels", DataAttack::CleanLabels),
            Attack::Rows("backdoor", DataAttack::Backdoor { trigger, label: SHIFT }),
        ];
        let with = |lie: Lie| match lie {
            Lie::SignFlip(_) => FACTORS.map(Lie::SignFlip).to_vec(),
            Lie::LittleIsEnough(_) => FACTORS.map(Lie::LittleIsEnough).to_vec(),
            Lie::InnerProduct(_) => FACTORS.map(Lie::InnerProduct).to_vec(),
            Lie::Spectral(_) => FACTORS.map(Lie::Spectral).to_vec(),
            Lie::Constant(_) => vec![Lie::Constant(30.0)],
            other => vec![other],
        };
        let lies = Lie::MODELS.into_iter().map(|lie| Attack::Lies(lie.name(), with(lie)));
        let faults = [("silence", Lie::FAULTS[..2].to_vec()), ("delay", Lie::FAULTS[2..].to_vec())];
        let faults = faults.into_iter().map(|(name, lies)| Attack::Lies(name, lies));
        rows.into_iter().chain(lies).chain(faults).collect()
    }

    fn name(&self) -> &'static str {
        match self {
            Attack::Rows(name, _) | Attack::Lies(name, _) => name,
        }
    }

    fn is_about_models(&self) -> bool {
        matches!(self, Attack::Lies(name, _) if *name != "silence" && *name != "delay")
    }
}

/// One defence under one attack.
struct Cellular {
    network: &'static str,
    share: f64,
    defence: Defence,
    attack: &'static str,
    ratio: f64,
    area: Option<f64>,
    success: Option<f64>,
}

pub fn run(setting: &Setting, progress: &mut Progress) -> Result<Outcome, Error> {
    let seeds = if setting.quick { 1 } else { SEEDS };
    let shares = if setting.quick { &SHARES[1..] } else { &SHARES[..] };
    let mut cells = Vec::new();
    let total = NETWORKS * shares.len() * seeds as usize;
    let mut done = 0;
    for seed in setting.seed..setting.seed + seeds {
        progress(done, total);
        let all = AttackedNetwork::all(seed)?;
        let pairs: Vec<_> = all.iter().flat_map(|net| shares.iter().map(move |share| (net, *share))).collect();
        let found = pairs.par_iter().map(|(net, share)| measured(net, *share, seed));
        cells.extend(found.collect::<Result<Vec<_>, _>>()?.into_iter().flatten());
        done += pairs.len();
    }
    progress(total, total);
    Ok(report(&cells, shares))
}

fn measured(net: &AttackedNetwork, share: f64, seed: u64) -> Result<Vec<Cellular>, Error> {
    let count = (share * net.graph.nodes() as f64).round() as usize;
    let attackers = draw(&net.graph, count, seed);
    let honest: Vec<usize> = (0..net.graph.nodes()).filter(|i| !attackers.contains(i)).collect();
    let peace = net.without(&attackers)?;
    let cast = Cast::new(&net.graph, &attackers)?;
    let around = |i: &usize| net.graph.ends(*i).iter().filter(|end| cast.lies[end.neighbour as usize]).count();
    // Rivals are told how many neighbours lie at most.
    let liars = honest.iter().map(around).max().unwrap_or(0);
    let reach = usual_distance(net, &peace)?;
    let tuned = |defence| Tuned::in_peace(defence, net, &peace, &honest, reach, liars);
    let best = tuned(Defence::Squared)?;
    let base = mean_error(&net.test, &best.models(&peace, &net.train, None)?.w, &honest)?;
    let of_defence = |defence: &Defence| -> Result<Vec<Cellular>, Error> {
        let tuned = tuned(*defence)?;
        let cell = |attack: &'static str, ratio, area, success| Cellular {
            network: net.name,
            share,
            defence: *defence,
            attack,
            ratio,
            area,
            success,
        };
        let alone = mean_error(&net.test, &tuned.models(&peace, &net.train, None)?.w, &honest)?;
        let mut cells = vec![cell("removed", alone / base, None, None)];
        let honest_models = tuned.models(&net.graph, &net.train, None)?.w;
        let under = |attack: &Attack| -> Result<Cellular, Error> {
            let (mut ratio, mut area, mut success) = (f64::NEG_INFINITY, None, None);
            match attack {
                Attack::Rows(_, how) => {
                    let found = tuned.models(&net.graph, &poisoned(&net.train, &attackers, how, 1), None)?;
                    ratio = mean_error(&net.test, &found.w, &honest)? / base;
                    if let DataAttack::Backdoor { trigger, label } = how {
                        success = Some(opened(&net.test, *trigger, *label, [&honest_models, &found.w], &honest));
                    }
                }
                Attack::Lies(_, lies) => {
                    for lie in lies {
                        let found = tuned.models(&net.graph, &net.train, Some((&cast, *lie)))?;
                        let error = mean_error(&net.test, &found.w, &honest)? / base;
                        // What is not a number has been broken.
                        let error = if error.is_finite() { error } else { f64::INFINITY };
                        if error > ratio {
                            ratio = error;
                            let judged = found.suspicions.iter().filter(|s| !cast.lies[s.node]);
                            let scores: Vec<_> = judged.map(|s| (s.score(), cast.lies[s.neighbour])).collect();
                            area = area_under_curve(&scores);
                        }
                    }
                }
            }
            Ok(cell(attack.name(), ratio, area, success))
        };
        let found = Attack::all().par_iter().map(under).collect::<Result<Vec<_>, _>>()?;
        cells.extend(found);
        Ok(cells)
    };
    let all: Vec<Vec<Cellular>> = Defence::ALL.par_iter().map(of_defence).collect::<Result<_, _>>()?;
    Ok(all.into_iter().flatten().collect())
}

/// The share of rows which the trigger moves at least half of the way to where the attacker wants them.
fn opened(test: &Dataset, trigger: Trigger, label: f64, [before, after]: [&Matrix; 2], judged: &[usize]) -> f64 {
    let shown = trigger.on(test);
    let (mut opened, mut all) = (0.0, 0.0f64);
    for &i in judged {
        for row in shown.rows(i) {
            let [from, to] = [before, after].map(|w| dot(shown.x(row), w.row(i)));
            all += 1.0;
            opened += f64::from((to - from) * (label - from).signum() >= 0.5 * (label - from).abs());
        }
    }
    opened / all.max(1.0)
}

fn report(cells: &[Cellular], shares: &[f64]) -> Outcome {
    let columns =
        &["network", "attackers", "defence", "attack", "error_ratio", "deviation", "guilty_edges_auc", "backdoor"];
    let mut table = Table::new("attacks", columns);
    let (mut ratios, mut areas, mut doors) = (Spread::default(), Spread::default(), Spread::default());
    let key = |network: &str, share: f64, defence: Defence, attack: &str| {
        format!("{network}|{share}|{}|{attack}", defence.name())
    };
    let mut order = Vec::new();
    for c in cells {
        let name = key(c.network, c.share, c.defence, c.attack);
        if !ratios.names().any(|known| known == name) {
            order.push((c.network, c.share, c.defence, c.attack));
        }
        ratios.push(&name, c.ratio);
        c.area.iter().for_each(|area| areas.push(&name, *area));
        c.success.iter().for_each(|share| doors.push(&name, *share));
    }
    for (network, share, defence, attack) in &order {
        let name = key(network, *share, *defence, attack);
        let optional = |spread: &Spread| Cell::from(spread.mean(&name));
        table.push([
            (*network).into(),
            (*share).into(),
            defence.name().into(),
            (*attack).into(),
            ratios.mean(&name).into(),
            ratios.deviation(&name).into(),
            optional(&areas),
            optional(&doors),
        ]);
    }
    table.file_only = true;
    let mut worst = Table::new("worst", &["network", "attackers", "defence", "removed", "worst_attack", "error_ratio"]);
    let mut found = Outcome::default();
    let mut networks: Vec<&str> = Vec::new();
    order.iter().filter(|o| !networks.contains(&o.0)).map(|o| o.0).collect::<Vec<_>>().into_iter().for_each(|n| {
        if !networks.contains(&n) {
            networks.push(n);
        }
    });
    for &network in &networks {
        for &share in shares {
            let of = |defence: Defence| {
                let attacks =
                    order.iter().filter(|o| o.0 == network && o.1 == share && o.2 == defence && o.3 != "removed");
                let ratio = |attack: &str| ratios.mean(&key(network, share, defence, attack));
                attacks.map(|o| (ratio(o.3), o.3)).fold((f64::NEG_INFINITY, ""), |a, b| if b.0 > a.0 { b } else { a })
            };
            for defence in Defence::ALL {
                let (ratio, attack) = of(defence);
                let removed = ratios.mean(&key(network, share, defence, "removed"));
                worst.push([
                    network.into(),
                    share.into(),
                    defence.name().into(),
                    removed.into(),
                    attack.into(),
                    ratio.into(),
                ]);
            }
            let ours = Defence::ALL.into_iter().filter(|d| !matches!(d, Defence::Rule(_)));
            let best = ours
                .map(|d| (of(d).0, d))
                .fold((f64::INFINITY, Defence::Squared), |a, b| if b.0 < a.0 { b } else { a });
            let rivals = Defence::RIVALS.map(|d| of(d).0).into_iter().fold(f64::INFINITY, f64::min);
            let percent = 100.0 * share;
            let said = format!("{} ({})", short(best.0), best.1.name());
            found.checks.push(Check::new(
                format!("{network}, {percent:.0} % attackers: worst attack on our best defence"),
                format!("at most {BAR}"),
                said.clone(),
                best.0 <= BAR,
            ));
            found.checks.push(Check::new(
                format!("{network}, {percent:.0} % attackers: beside trimmed mean, ClippedGossip and CS+"),
                format!("at most {}", short(rivals)),
                said,
                best.0 <= rivals,
            ));
            for attack in Attack::all().iter().filter(|a| a.is_about_models() && share == SHARES[0]) {
                let area = areas.mean(&key(network, share, Defence::Norm2, attack.name()));
                found.checks.push(Check::new(
                    format!("{network}, 10 % attackers, {}: area under the curve of guilty edges", attack.name()),
                    format!("at least {AREA}"),
                    short(area),
                    area >= AREA,
                ));
            }
        }
    }
    found.tables = vec![table, worst];
    found.notes.push(format!(
        "ratios are to the squared penalty without attackers; lambda of every defence is chosen without attackers; rules know how many neighbours lie at most; lies try the factors {FACTORS:?}; labels and features shift by {SHIFT} deviations"
    ));
    found
}
