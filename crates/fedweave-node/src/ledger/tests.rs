//! Ledgers in a world of crashes, lost files and rejoining.

use std::collections::BTreeMap;

use fedweave::random::{Purpose, stream};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::*;

/// A shelf whose writes may fail or stop half-way.
#[derive(Default, Clone)]
struct Memory {
    ledger: Option<Vec<u8>>,
    count: u64,
    /// Writes until the crash.
    crash_in: Option<u32>,
}

impl Memory {
    fn write(&mut self) -> Result<(), LedgerError> {
        match &mut self.crash_in {
            Some(0) => Err(LedgerError::Damaged { path: "crash".into(), what: "crash".into() }),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

impl Shelf for Memory {
    fn load(&mut self) -> Result<Option<Vec<u8>>, LedgerError> {
        Ok(self.ledger.clone())
    }

    fn save(&mut self, bytes: &[u8]) -> Result<(), LedgerError> {
        self.write()?;
        self.ledger = Some(bytes.to_vec());
        Ok(())
    }

    fn counted(&mut self) -> Result<u64, LedgerError> {
        Ok(self.count)
    }

    fn count(&mut self, releases: u64) -> Result<(), LedgerError> {
        self.write()?;
        self.count = releases;
        Ok(())
    }

    fn path(&self) -> PathBuf {
        "ledger.json".into()
    }
}

fn moments(rng: &mut ChaCha8Rng) -> Vec<Option<NoisyMoments>> {
    vec![None, Some(NoisyMoments { matrix: vec![rng.random(); 4], deviation: 0.1, rows: 3 })]
}

/// What left the part: for every state of its rows, what was sent.
type Sent = BTreeMap<u64, Vec<Vec<Option<NoisyMoments>>>>;

fn live(seed: u64) -> (Sent, usize) {
    let (mut world, mut fresh) = (stream(seed, Purpose::Delays, 0), stream(seed, Purpose::Noise, 0));
    let budget = (1.0, 1e-5);
    let cost = gaussian::mu(budget.0, budget.1) / 3f64.sqrt() * (1.0 - 1e-12);
    let (mut shelf, mut old, mut sent, mut refused) = (Memory::default(), Memory::default(), Sent::new(), 0);
    let mut rows = 0;
    for _ in 0..40 {
        match world.random_range(0..6) {
            // Rows change.
            0 => rows += 1,
            // The ledger alone is lost, or an older one restored.
            1 if world.random_range(0..4) == 0 => shelf.ledger = old.ledger.clone(),
            2 => old = shelf.clone(),
            _ => {}
        }
        shelf.crash_in = (world.random_range(0..3) == 0).then(|| world.random_range(0..3));
        // A new process: whatever the checkpoint was, it begins with the ledger.
        let outcome = Ledger::open(&mut shelf).and_then(|mut ledger| {
            ledger.release(&mut shelf, &rows.to_string(), cost, budget, || Ok(moments(&mut fresh)))
        });
        match outcome {
            Ok(released) => sent.entry(rows).or_default().push(released),
            Err(_) => refused += 1,
        }
    }
    (sent, refused)
}

#[test]
fn nothing_leaves_beyond_the_budget_and_replayed_releases_are_the_same() {
    let (mut releases, mut refusals) = (0, 0);
    for seed in 0..2000 {
        let (sent, refused) = live(seed);
        assert!(sent.len() <= 3, "seed {seed}: {} releases of a budget for 3", sent.len());
        assert!(sent.values().all(|again| again.iter().all(|one| *one == again[0])), "seed {seed}: fresh noise");
        releases += sent.len();
        refusals += refused;
    }
    assert!(releases > 2000 && refusals > 2000, "{releases} {refusals}");
}

#[test]
fn files_survive_and_loss_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let mut shelf = FileShelf::new(&folder.path().join("ledger.json"), folder.path());
    let mut rng = stream(1, Purpose::Noise, 0);
    let budget = (1.0, 1e-5);
    let cost = gaussian::mu(1.0, 1e-5);
    let mut ledger = Ledger::open(&mut shelf).unwrap();
    let first = ledger.release(&mut shelf, "rows", cost, budget, || Ok(moments(&mut rng))).unwrap();
    let mut again = Ledger::open(&mut shelf).unwrap();
    assert_eq!(again.release(&mut shelf, "rows", cost, budget, || panic!("fresh noise")).unwrap(), first);
    let refused = again.release(&mut shelf, "other rows", cost, budget, || panic!("fresh noise")).unwrap_err();
    assert!(matches!(refused, LedgerError::Spent { releases: 1, .. }), "{refused}");
    fs::remove_file(folder.path().join("ledger.json")).unwrap();
    assert!(matches!(Ledger::open(&mut shelf), Err(LedgerError::Lost { found: 0, made: 1, .. })));
}
