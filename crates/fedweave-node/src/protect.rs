//! Rows that nobody sees: before a part begins, its rows are replaced by stand-ins for their noisy statistics, and whatever it sends
//! afterwards follows from these; or noise is bought for its gradients, and whatever it sends follows from those.

use std::path::{Path, PathBuf};

use fedweave::matrix::Rows;
use fedweave::model::relax::seed_of;
use fedweave::trust::privacy::statistics::{Units, release, stand_ins};
use fedweave::trust::privacy::votes::labelled;
use fedweave_io::Noise;
use ring::digest::{Context, SHA256};

use crate::config::{PartSettings, PrivacySection};
use crate::ledger::{FileShelf, Ledger, LedgerError, RoundLog, RoundsEntry};
use crate::noise::NoisePlan;
use crate::plan::Plan;

/// The plan with stand-ins for its rows or with noise for its gradients, if they are to be protected; and where releases of gradients are
/// written down.
pub fn protect(settings: &PartSettings) -> Result<(Plan, Option<RoundLog>), LedgerError> {
    let plan = &settings.plan;
    let Some((privacy, path)) = &settings.privacy else { return Ok((plan.clone(), None)) };
    let mut shelf = FileShelf::new(path, &settings.state);
    let mut ledger = Ledger::open(&mut shelf)?;
    let (what, budget, multiplier) = (what(plan, privacy), (privacy.epsilon, privacy.delta), privacy.multiplier(plan)?);
    if privacy.on_gradients() {
        let bought = || RoundsEntry {
            key: Noise::key(privacy.seed),
            releases: privacy.gradients(plan),
            multiplier,
            rate: privacy.rate(),
        };
        let log = log_path(path, &what);
        if !ledger.has(&what) {
            RoundLog::prepare(&log)?;
        }
        let bought = ledger.rounds(&mut shelf, &what, privacy.cost(plan)?, budget, bought)?;
        let mut noise = NoisePlan::new(privacy.noise(plan, bought.multiplier)?, bought.key, bought.releases);
        let (records, made) = RoundLog::open(&log)?;
        if !noise.recall(&made) {
            let damage = "a record of a release is damaged; nothing is sent before it is restored".into();
            return Err(LedgerError::Damaged { path: log, what: damage });
        }
        return Ok((Plan { data: privacy.inside(plan)?, noise: Some(noise), ..plan.clone() }, Some(records)));
    }
    if privacy.on_votes() {
        let labels =
            ledger.votes(&mut shelf, &what, privacy.cost(plan)?, budget, || labels(plan, privacy, multiplier))?;
        return Ok((Plan { data: labelled(&public(plan)?, &labels)?, ..plan.clone() }, None));
    }
    let ranges = privacy.known(plan)?;
    let make = || {
        let mut noise = Noise::new(privacy.seed);
        (0..plan.data.nodes()).map(|node| release(&plan.data, node, &ranges, multiplier, &mut noise)).collect()
    };
    let moments = ledger.release(&mut shelf, &what, privacy.cost(plan)?, budget, make)?;
    Ok((Plan { data: stand_ins(&moments, &ranges, Units::Data)?, ..plan.clone() }, None))
}

/// The public rows of every node.
fn public(plan: &Plan) -> fedweave::Result<Vec<Rows<'_>>> {
    let none = fedweave::Error::Method { method: "votes", needs: "models, and public rows of every node" };
    let sets = &plan.models.as_ref().ok_or(none.clone())?.public;
    plan.nodes.iter().map(|node| sets.of(node).map(|rows| rows.x()).map_err(|_| none.clone())).collect()
}

/// The labels of the public rows of every node, by votes.
fn labels(plan: &Plan, privacy: &PrivacySection, multiplier: f64) -> fedweave::Result<Vec<Option<Vec<f64>>>> {
    let (rows, votes, mut rng) = (public(plan)?, privacy.votes(multiplier), Noise::new(privacy.seed));
    let Some(models) = &plan.models else { return Ok(Vec::new()) };
    let mut of = |node: usize| {
        let teacher = |k: usize| {
            let model = models.specs[node].build(models.task, seed_of(models.seeds[node], k));
            model.map_err(|source| fedweave::Error::Spec { node, source })
        };
        votes.release((&plan.data, node), rows[node], models.task, teacher, &mut rng)
    };
    (0..plan.data.nodes()).map(&mut of).collect()
}

/// Where the releases of an entry of the ledger are written down.
pub(crate) fn log_path(ledger: &Path, what: &str) -> PathBuf {
    ledger.with_extension(format!("{}.rounds", &what[..what.len().min(12)]))
}

/// Tells rows and settings apart.
fn what(plan: &Plan, privacy: &PrivacySection) -> String {
    let mut hash = Context::new(&SHA256);
    hash.update(format!("{privacy:?} {:?}", plan.nodes).as_bytes());
    if privacy.on_gradients() {
        // Gradients are released for one loss and one number of rounds.
        hash.update(format!("{:?} {:?} {}", plan.loss, plan.loss_options, plan.stop.rounds_max).as_bytes());
    }
    if let (true, Some(models)) = (privacy.on_votes(), &plan.models) {
        hash.update(format!("{:?} {:?} {}", models.specs, models.seeds, models.public.digest()).as_bytes());
    }
    for node in 0..plan.data.nodes() {
        hash.update(&(plan.data.rows(node).len() as u64).to_le_bytes());
        plan.data.features(node).iter().chain(plan.data.labels(node)).for_each(|x| hash.update(&x.to_le_bytes()));
    }
    hash.finish().as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}
