//! Runs a part: arrivals become events, effects become frames, checkpoints and lines of the log. All the decisions are the
//! state machine's; this loop only carries things to and fro.

mod around;
mod events;
mod pace;
mod quarantine;

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

pub use around::{End, Judged, RunError, Surroundings, Wish, Witness};
pub use events::LocalEvent;
pub use pace::Pace;
pub use quarantine::Quarantine;

use crate::metrics::{NeighbourSnapshot, Snapshot};
use crate::part::{Effect, Event, Note, Outcome, Part};
use crate::plan::PeerId;
use crate::transport::{Arrival, Refusal};
use events::{Repeats, Thrift};
use quarantine::Guard;

/// Time between ticks of the state machine.
const TICK: Duration = Duration::from_millis(20);
/// A neighbour that is not there by then is mentioned in the log.
const ADMISSION: Duration = Duration::from_secs(3);
/// How often the snapshot for others is renewed.
const SHOW: Duration = Duration::from_millis(100);
/// A part that has nothing left to do stays for so long.
const GRACE: Duration = Duration::from_millis(500);
/// A neighbour that floods this part is not heard for so long.
const FLOOD_PAUSE: Duration = Duration::from_millis(20);
/// How often errors on rows are renewed.
const ERRORS_EVERY: Duration = Duration::from_secs(1);
/// How often a residual is noted in the log.
const RESIDUALS_EVERY: Duration = Duration::from_secs(1);

/// Runs `part` to its end. `names` are the neighbours, in the order of the plan.
pub fn run(part: &mut Part, names: &[String], around: Surroundings<'_>) -> Result<(End, Snapshot), RunError> {
    let mut driver = Driver::new(part, names, around);
    let end = driver.run()?;
    driver.measure();
    let snapshot = driver.show();
    driver.around.transport.close();
    Ok((end, snapshot))
}

struct Driver<'p, 'a> {
    part: &'p mut Part,
    around: Surroundings<'a>,
    started: Instant,
    snapshot: Snapshot,
    pace: Pace,
    repeats: Repeats,
    thrift: Thrift,
    effects: Vec<Effect>,
    outcome: Option<Outcome>,
    leaving: bool,
    reported_missing: bool,
    residual_noted: Option<Instant>,
    guard: Option<Guard>,
    /// For each neighbour: the round of its newest rows, and what came since.
    floods: Vec<(u64, u64)>,
}

impl<'p, 'a> Driver<'p, 'a> {
    fn new(part: &'p mut Part, names: &[String], around: Surroundings<'a>) -> Self {
        let neighbour = |name: &String| NeighbourSnapshot { name: name.clone(), ..Default::default() };
        let snapshot = Snapshot {
            neighbours: names.iter().map(neighbour).collect(),
            ..around.shared.lock().map(|s| s.clone()).unwrap_or_default()
        };
        let guard = around.quarantine.as_ref().and_then(|_| Guard::new(part));
        Driver {
            guard,
            floods: vec![(0, 0); names.len()],
            part,
            around,
            started: Instant::now(),
            snapshot,
            pace: Pace::default(),
            repeats: Repeats::default(),
            thrift: Thrift::default(),
            effects: Vec::new(),
            outcome: None,
            leaving: false,
            reported_missing: false,
            residual_noted: None,
        }
    }

    fn run(&mut self) -> Result<End, RunError> {
        let (mut next_tick, mut next_show, mut next_error) = (Instant::now(), Instant::now(), Instant::now());
        let (mut finished, mut settled): (Option<Instant>, Option<Instant>) = (None, None);
        loop {
            let now = Instant::now();
            if now >= next_tick {
                next_tick = now + TICK;
                self.handle(Event::Tick { now: now.duration_since(self.started).as_millis() as u64 })?;
                self.report_missing(now)?;
                match (self.around.wish)() {
                    Wish::GoOn => {}
                    Wish::Stop => {
                        self.log(&LocalEvent::Stopped)?;
                        return Ok(End::Stopped);
                    }
                    Wish::Leave if !self.leaving => {
                        self.leaving = true;
                        self.handle(Event::Leave)?;
                    }
                    Wish::Leave => {}
                }
            }
            if now >= next_show {
                next_show = now + SHOW;
                self.judge()?;
                if now >= next_error {
                    next_error = now + ERRORS_EVERY;
                    self.measure();
                }
                self.show();
            }
            if self.outcome.is_some() {
                let since = *finished.get_or_insert(now);
                let settled_at = self.part.status().settled.then(|| *settled.get_or_insert(now));
                // Neighbours whose last question is still on its way get an answer.
                let answered = settled_at.is_some_and(|at| now.duration_since(at) >= GRACE);
                if answered || now.duration_since(since) >= self.around.linger {
                    return Ok(End::Done(self.outcome.take().expect("looked at just now")));
                }
            }
            if self.part.wants_tick() {
                next_tick = now;
            }
            let wait = next_tick.saturating_duration_since(now);
            if let Some(arrival) = self.around.transport.receive(wait) {
                self.arrive(arrival)?;
            }
        }
    }

    fn arrive(&mut self, arrival: Arrival) -> Result<(), RunError> {
        let peer = |place: usize| PeerId(place as u32);
        match arrival {
            Arrival::Up(place) => {
                self.snapshot.neighbours[place].up = true;
                if self.is_held(place) {
                    return Ok(());
                }
                self.handle(Event::LinkUp(peer(place)))
            }
            Arrival::Down(place) => {
                self.snapshot.neighbours[place].up = false;
                self.handle(Event::LinkDown(peer(place)))
            }
            Arrival::Frame { from, bytes } => {
                let received = &mut self.snapshot.neighbours[from].received;
                *received = (received.0 + 1, received.1 + bytes.len() as u64);
                if self.is_held(from) {
                    self.snapshot.refused += 1;
                    return Ok(());
                }
                self.handle(Event::Frame { from: peer(from), bytes: &bytes })?;
                self.hold_up_flood(from, bytes.len());
                Ok(())
            }
            Arrival::Refused(refusal) => self.refused(refusal),
            Arrival::Warning(what) if self.repeats.is_news(&what) => self.log(&LocalEvent::Warning { what }),
            Arrival::Warning(_) => Ok(()),
        }
    }

    /// Who sends a lot and nothing new is not heard for a moment: its frames wait, and then it has to.
    fn hold_up_flood(&mut self, from: usize, bytes: usize) {
        let (round, borne) = (self.part.newest_rows_of(from), self.part.burden_borne(from));
        let (newest, burden) = &mut self.floods[from];
        if *newest != round {
            (*newest, *burden) = (round, 0);
        }
        *burden = burden.saturating_add(1 + bytes as u64 / 1024);
        if *burden > borne {
            *burden = 0;
            self.around.transport.pause(from, FLOOD_PAUSE);
        }
    }

    fn refused(&mut self, refusal: Refusal) -> Result<(), RunError> {
        self.snapshot.refused += 1;
        let why =
            serde_json::to_value(refusal.reason).ok().and_then(|v| v.as_str().map(String::from)).unwrap_or_default();
        *self.snapshot.refusals.entry(why).or_default() += 1;
        match self.repeats.is_news(&format!("{refusal:?}")) {
            true => {
                let Refusal { name, reason, address } = refusal;
                self.log(&LocalEvent::Refused { name, reason, address })
            }
            false => Ok(()),
        }
    }

    fn handle(&mut self, event: Event<'_>) -> Result<(), RunError> {
        let mut effects = std::mem::take(&mut self.effects);
        self.part.handle(event, &mut effects);
        for effect in effects.drain(..) {
            self.carry_out(effect)?;
        }
        self.effects = effects;
        Ok(())
    }

    fn carry_out(&mut self, effect: Effect) -> Result<(), RunError> {
        match effect {
            Effect::Persist(bytes) => {
                // Every round is made durable once.
                self.pace.round_done(Instant::now());
                self.snapshot.checkpoint_bytes += bytes.len() as u64;
                self.around.store.save(&bytes).map_err(|e| RunError::Checkpoint(e.to_string()))
            }
            Effect::Spend(record) => Ok((self.around.spend)(&record)?),
            Effect::Send { to, bytes } => {
                let place = to.0 as usize;
                let sent = &mut self.snapshot.neighbours[place].sent;
                *sent = (sent.0 + 1, sent.1 + bytes.len() as u64);
                if let Some(witness) = &mut self.around.witness {
                    witness(place, &bytes);
                }
                self.around.transport.send(place, &bytes);
                Ok(())
            }
            Effect::Note(note) => self.note(&note),
            Effect::Done(outcome) => {
                self.outcome = Some(*outcome);
                Ok(())
            }
        }
    }

    /// Residuals come every few rounds: one a second is enough for the log.
    fn note(&mut self, note: &Note) -> Result<(), RunError> {
        if matches!(note, Note::NetworkResidual { .. }) {
            if self.residual_noted.is_some_and(|noted| noted.elapsed() < RESIDUALS_EVERY) {
                return Ok(());
            }
            self.residual_noted = Some(Instant::now());
        }
        let now = Instant::now();
        let told = serde_json::to_value(note).unwrap_or_default();
        if let Some(peer) = told["peer"].as_str() {
            let what = format!("{} of {peer}", told["event"].as_str().unwrap_or_default());
            match self.thrift.admits(&what, now) {
                None => return Ok(()),
                Some(0) => {}
                Some(times) => self.log(&LocalEvent::Suppressed { what, times })?,
            }
        }
        (self.around.tell)(note);
        Ok(self.around.log.write(now_ms(), note)?)
    }

    /// Who is not there after a while is named, once.
    fn report_missing(&mut self, now: Instant) -> Result<(), RunError> {
        if self.reported_missing || now.duration_since(self.started) < ADMISSION {
            return Ok(());
        }
        self.reported_missing = true;
        let missing: Vec<String> =
            self.snapshot.neighbours.iter().filter(|n| !n.up && n.received.0 == 0).map(|n| n.name.clone()).collect();
        missing.into_iter().try_for_each(|neighbour| self.log(&LocalEvent::NotAdmitted { neighbour }))
    }

    fn log(&mut self, event: &LocalEvent) -> Result<(), RunError> {
        Ok(self.around.log.write(now_ms(), event)?)
    }

    /// Errors of the models as they are.
    fn measure(&mut self) {
        if let Some(judge) = &mut self.around.judge {
            let Judged { training, validation, new } = judge(&self.part.models());
            let finite = |error: Option<f64>| error.filter(|error| error.is_finite());
            self.snapshot.training_error = finite(training);
            (self.snapshot.validation_error, self.snapshot.new_error) = (finite(validation), finite(new));
        }
    }

    fn show(&mut self) -> Snapshot {
        let status = self.part.status();
        self.snapshot.round = status.round;
        self.snapshot.residual = status.residual.filter(|r| r.is_finite());
        self.snapshot.state =
            serde_json::to_value(status.state).ok().and_then(|v| v.as_str().map(String::from)).unwrap_or_default();
        self.snapshot.awaited = status.peers.iter().filter(|p| p.awaited).map(|p| p.name.clone()).collect();
        for (neighbour, peer) in self.snapshot.neighbours.iter_mut().zip(&status.peers) {
            (neighbour.refused, neighbour.counted, neighbour.lacks) = (peer.refused, peer.counted, peer.lacks);
            neighbour.refusals = peer.refusals.iter().map(|(why, times)| (why.to_string(), *times)).collect();
        }
        self.snapshot.round_age_seconds = self.pace.age(Instant::now()).unwrap_or(0.0);
        self.snapshot.seconds = self.started.elapsed().as_secs_f64();
        self.snapshot.round_seconds = self.pace.median_and_max();
        if let Ok(mut shared) = self.around.shared.lock() {
            shared.clone_from(&self.snapshot);
        }
        self.snapshot.clone()
    }
}

/// Milliseconds since 1970.
pub fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as u64)
}
