//! What goes wrong in a run, and how much of it: drawn from the seed within limits.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::store::Damage;

/// The most that may go wrong.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Share of frames lost.
    pub loss: f64,
    /// Share of frames doubled.
    pub duplication: f64,
    /// Longest delay of a frame, in milliseconds.
    pub delay_ms: u64,
    /// Crashes in a run.
    pub crashes: u32,
    /// Cuts of links in a run.
    pub partitions: u32,
    /// Pauses in a run.
    pub pauses: u32,
    /// Share of parts that are slow.
    pub stragglers: f64,
    /// Full disks in a run.
    pub full_disks: u32,
    /// Old states or none that parts come back with; the bits of one machine are then gone, the optimum is not.
    pub rollbacks: u32,
    /// One run in so many has delays of seconds; none if 0.
    pub far_away_one_in: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            loss: 0.3,
            duplication: 0.5,
            delay_ms: 60,
            crashes: 50,
            partitions: 6,
            pauses: 6,
            stragglers: 0.2,
            full_disks: 3,
            rollbacks: 0,
            far_away_one_in: 8,
        }
    }
}

/// So many times the usual delays: seconds.
const FAR_AWAY: u64 = 50;

/// What goes wrong in one run.
#[derive(Debug, Clone, PartialEq)]
pub struct Faults {
    /// Share of frames lost.
    pub loss: f64,
    /// Share of frames doubled.
    pub duplication: f64,
    /// Longest delay of a frame; delays are even, so frames overtake each other.
    pub delay_ms: u64,
    /// For each part: so much is added to every delay of what it sends.
    pub slow_ms: Vec<u64>,
    /// Incidents, in the order of time.
    pub incidents: Vec<(u64, Incident)>,
    /// After this nothing goes wrong any more.
    pub heal_ms: u64,
}

/// Something that happens at a moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Incident {
    /// A part fails and comes back; its newest checkpoint may be damaged.
    Crash {
        /// The part.
        part: usize,
        /// Time until it is back.
        back_after_ms: u64,
        /// What happens to its newest checkpoint.
        damage: Option<Damage>,
        /// True if it fails in the middle of its next write instead of now.
        in_write: bool,
    },
    /// All parts fall back to the state they had at the last fall, or to none.
    FallBack,
    /// Links are cut.
    Cut {
        /// Which.
        cut: Cut,
        /// For how long.
        for_ms: u64,
    },
    /// The disk of a part is full: the process ends, and is started again when there is room.
    DiskFull {
        /// The part.
        part: usize,
        /// Time until there is room.
        for_ms: u64,
    },
    /// A part comes back with a state of long ago, or with none: a restored backup, or both checkpoints lost.
    Rollback {
        /// The part.
        part: usize,
        /// Which of the states it had, as a share; none of them for `None`.
        to: Option<f64>,
        /// Time until it is back.
        back_after_ms: u64,
    },
    /// The certificate of a part is revoked: it hears nobody, and nobody hears it.
    Revoke(usize),
    /// A part does nothing for a while; what comes for it waits.
    Pause {
        /// The part.
        part: usize,
        /// For how long.
        for_ms: u64,
    },
}

/// Which links are cut.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cut {
    /// Those between two halves, by a hash of the part's number.
    Halves(u64),
    /// All links of one part.
    Isolate(usize),
    /// What one part sends; it still hears the others.
    Mute(usize),
}

impl Cut {
    /// True if nothing gets from one part to the other.
    pub fn blocks(self, from: usize, to: usize) -> bool {
        let half = |salt: u64, part: usize| (salt >> (part % 64)) & 1;
        match self {
            Cut::Halves(salt) => half(salt, from) != half(salt, to),
            Cut::Isolate(part) => from == part || to == part,
            Cut::Mute(part) => from == part,
        }
    }
}

impl Faults {
    /// Draws what goes wrong.
    pub fn draw(random: &mut ChaCha8Rng, limits: &Limits, parts: usize) -> Self {
        // Many kinds of runs: from calm ones to those in which everything fails at once.
        let share = |random: &mut ChaCha8Rng, most: f64| most * random.random_range(0..=4) as f64 / 4.0;
        let (loss, duplication) = (share(random, limits.loss), share(random, limits.duplication));
        let delay_ms = random.random_range(1..=limits.delay_ms.max(1));
        let far = limits.far_away_one_in > 0 && random.random_range(0..limits.far_away_one_in) == 0;
        let delay_ms = if far { delay_ms * FAR_AWAY } else { delay_ms };
        let heal_ms = random.random_range(5_000..=60_000);
        let slow = |random: &mut ChaCha8Rng| match random.random_bool(limits.stragglers) {
            true => random.random_range(0..=5 * limits.delay_ms),
            false => 0,
        };
        let slow_ms = (0..parts).map(|_| slow(random)).collect();
        let mut incidents = Vec::new();
        for _ in 0..random.random_range(0..=limits.crashes) {
            let part = random.random_range(0..parts);
            let damage = match random.random_range(0..6) {
                0 => Some(Damage::Torn(random.random())),
                1 => Some(Damage::Lost),
                2 => Some(Damage::Flipped(random.random())),
                _ => None,
            };
            let in_write = random.random_bool(0.3);
            let back_after_ms = random.random_range(1..=1_500);
            let at = random.random_range(0..heal_ms);
            incidents.push((at, Incident::Crash { part, back_after_ms, damage, in_write }));
            // Some fail again as soon as they are back, or in the middle of their first write.
            if random.random_bool(0.2) {
                let (at, in_write) = (at + back_after_ms + random.random_range(0..40), random.random_bool(0.5));
                incidents.push((at.min(heal_ms), Incident::Crash { part, back_after_ms, damage: None, in_write }));
            }
        }
        for _ in 0..random.random_range(0..=limits.full_disks) {
            let (part, for_ms) = (random.random_range(0..parts), random.random_range(10..=3_000));
            incidents.push((random.random_range(0..heal_ms), Incident::DiskFull { part, for_ms }));
        }
        for _ in 0..random.random_range(0..=limits.rollbacks) {
            let to = random.random_bool(0.6).then(|| random.random_range(0.0..0.8));
            let (part, back_after_ms) = (random.random_range(0..parts), random.random_range(1..=3_000));
            // Early, so that there is time to come near the optimum again.
            incidents.push((random.random_range(0..heal_ms / 4), Incident::Rollback { part, to, back_after_ms }));
        }
        for _ in 0..random.random_range(0..=limits.partitions) {
            let cut = match random.random_range(0..3) {
                0 => Cut::Halves(random.random()),
                1 => Cut::Isolate(random.random_range(0..parts)),
                _ => Cut::Mute(random.random_range(0..parts)),
            };
            let for_ms = random.random_range(10..=3_000);
            incidents.push((random.random_range(0..heal_ms), Incident::Cut { cut, for_ms }));
        }
        for _ in 0..random.random_range(0..=limits.pauses) {
            let (part, for_ms) = (random.random_range(0..parts), random.random_range(10..=2_000));
            incidents.push((random.random_range(0..heal_ms), Incident::Pause { part, for_ms }));
        }
        incidents.sort_by_key(|(at, _)| *at);
        Faults { loss, duplication, delay_ms, slow_ms, incidents, heal_ms }
    }
}
