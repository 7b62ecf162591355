//! One seed again, with what happened in it.

use super::batch::{Batch, Subject};
use super::world::{World, liars_of, simulated};
use super::{Failure, Tally, recovery, standstill};
use crate::error::Result;
use crate::part::Note;

/// How a seed ended, and what happened until then, a line each.
#[derive(Debug)]
pub struct Retold {
    /// How it ended.
    pub end: std::result::Result<Tally, Failure>,
    /// Moment, part and event.
    pub lines: Vec<String>,
}

impl Batch {
    /// Runs the first seed alone, and tells what happened in it.
    pub fn retell(&self) -> Result<Retold> {
        let (subject, seed) = (self.subject, self.first);
        Ok(match subject {
            Subject::Liars => {
                let (scene, liars) = liars_of(seed)?;
                simulated(&scene, liars, seed).retell()
            }
            Subject::Recovery => {
                let scene = recovery::scene(seed)?;
                recovery::world(&scene, seed).retell()
            }
            Subject::OutOfStep => {
                let scene = standstill::scene(seed % standstill::SCENES)?;
                World::new(&scene, &self.limits, seed).retell()
            }
            _ => {
                let scenes = Batch { count: 1, ..*self }.scenes()?;
                World::new(&scenes[0], &self.limits, seed).retell()
            }
        })
    }
}

impl World<'_> {
    fn retell(mut self) -> Retold {
        self.told = Some(Vec::new());
        let end = self.run();
        if end.is_err() {
            self.tell_who_waits();
        }
        Retold { end, lines: self.told.take().unwrap_or_default() }
    }

    /// Where parts are that are not done, and for whom they wait.
    fn tell_who_waits(&mut self) {
        for k in 0..self.seats.len() {
            let Some(status) = self.seats[k].part.as_ref().map(crate::part::Part::status) else { continue };
            let awaited: Vec<&str> = status.peers.iter().filter(|p| p.awaited).map(|p| p.name.as_str()).collect();
            let line = format!("{:?} after round {}, waits for {awaited:?}", status.state, status.round);
            self.tell(Some(k), || line);
        }
    }

    /// Remembers what happened, if that is wanted.
    pub(super) fn tell(&mut self, part: Option<usize>, what: impl FnOnce() -> String) {
        let now = self.now;
        if let Some(told) = &mut self.told {
            let who = part.map_or(String::new(), |part| format!("part {part:2}: "));
            told.push(format!("{now:8} ms  {who}{}", what()));
        }
    }

    /// What a part has to say.
    pub(super) fn tell_note(&mut self, part: usize, note: &Note) {
        // Residuals come with every epoch.
        if !matches!(note, Note::NetworkResidual { .. }) {
            self.tell(Some(part), || format!("{note:?}"));
        }
    }
}
