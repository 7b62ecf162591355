//! Rows that nobody sees: before a part begins, its rows are replaced by stand-ins for their noisy statistics. Whatever it sends
//! afterwards follows from these.

use fedweave::trust::privacy::statistics::{Units, release, stand_ins};
use fedweave_io::Noise;
use ring::digest::{Context, SHA256};

use crate::config::{PartSettings, PrivacySection};
use crate::ledger::{FileShelf, Ledger, LedgerError};
use crate::plan::Plan;

/// The plan with stand-ins for its rows, if they are to be protected.
pub fn protect(settings: &PartSettings) -> Result<Plan, LedgerError> {
    let plan = &settings.plan;
    let Some((privacy, ledger)) = &settings.privacy else { return Ok(plan.clone()) };
    let mut shelf = FileShelf::new(ledger, &settings.state);
    let (ranges, multiplier) = (privacy.known(plan)?, privacy.multiplier()?);
    let mut ledger = Ledger::open(&mut shelf)?;
    let make = || {
        let mut noise = Noise::new(privacy.seed);
        (0..plan.data.nodes()).map(|node| release(&plan.data, node, &ranges, multiplier, &mut noise)).collect()
    };
    let budget = (privacy.epsilon, privacy.delta);
    let moments = ledger.release(&mut shelf, &what(plan, privacy), 1.0 / multiplier, budget, make)?;
    Ok(Plan { data: stand_ins(&moments, &ranges, Units::Data)?, ..plan.clone() })
}

/// Tells rows and settings apart.
fn what(plan: &Plan, privacy: &PrivacySection) -> String {
    let mut hash = Context::new(&SHA256);
    hash.update(format!("{privacy:?} {:?}", plan.nodes).as_bytes());
    for node in 0..plan.data.nodes() {
        hash.update(&(plan.data.rows(node).len() as u64).to_le_bytes());
        plan.data.features(node).iter().chain(plan.data.labels(node)).for_each(|x| hash.update(&x.to_le_bytes()));
    }
    hash.finish().as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}
