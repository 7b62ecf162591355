//! Coming back and coming new. A part that its neighbours no longer (or not yet) count asks them for their rounds and models,
//! proposes a round that is far enough ahead of all, and takes part from there on once everybody has agreed. Its edges start
//! without flow at both ends.
//!
//! ```text
//! joiner                      neighbour
//!   Join 0        ->                         "where are you?"
//!                 <-          State r        its round and models
//!   Join R        ->                         R > r, a multiple of the epoch
//!                 <-          Welcome R      it counts the joiner from round R on
//!                 <-          State r        too late: the joiner proposes a later round
//! ```

use fedweave::Matrix;

use super::{Effect, Note, Part, Reason, Refusal, State};
use crate::error::Result;
use crate::plan::{PeerId, Plan};
use crate::wire::{Frame, Header, Kind};

/// Rounds that the first proposal is ahead; doubled when it comes too late.
const MARGIN: u64 = 16;
const MARGIN_MAX: u64 = 1 << 20;

/// What a joiner has heard.
#[derive(Debug, Clone)]
pub struct Joining {
    /// The round proposed; 0 while neighbours are asked.
    target: u64,
    margin: u64,
    /// Rounds of the neighbours.
    offers: Vec<Option<u64>>,
    welcomed: Vec<bool>,
    /// Models of the neighbours' nodes.
    models: Vec<Vec<f64>>,
    /// The own models are worth keeping.
    warm: bool,
    retry_at: u64,
}

impl Joining {
    fn new(peers: usize, warm: bool) -> Self {
        Joining {
            target: 0,
            margin: MARGIN,
            offers: vec![None; peers],
            welcomed: vec![false; peers],
            models: vec![Vec::new(); peers],
            warm,
            retry_at: 0,
        }
    }
}

impl Part {
    /// A part that joins a federation which is under way: with the models of a checkpoint, or with the mean of its neighbours'.
    pub fn joining(plan: Plan, checkpoint: Option<&[u8]>) -> Result<Self> {
        if plan.is_to_learn() && checkpoint.is_none() {
            let needs = "all its parts from the start: what a new one has cannot be learnt from any more";
            return Err(fedweave::Error::Method { method: "learnt coupling", needs }.into());
        }
        let mut part = match checkpoint {
            Some(bytes) => Part::restore(plan, bytes)?,
            None => Part::new(plan)?,
        };
        if !part.peers.is_empty() {
            (part.state, part.reason) = (State::Joining, None);
            part.joining = Some(Joining::new(part.peers.len(), checkpoint.is_some()));
        }
        Ok(part)
    }

    /// The joiner's side of a tick.
    pub(super) fn ask_to_join(&mut self, effects: &mut Vec<Effect>) {
        let Some(mut joining) = self.joining.take() else { return };
        let waits = |k: usize| self.peers[k].up && self.peers[k].finished.is_none();
        (0..self.peers.len()).filter(|&k| !waits(k)).for_each(|k| joining.offers[k] = None);
        let heard_all = (0..self.peers.len()).all(|k| !waits(k) || joining.offers[k].is_some());
        if joining.target == 0 && heard_all {
            self.propose(&mut joining);
        }
        // It may be too late: all neighbours have finished, or will have before the round that is proposed.
        let all_finished = self.peers.iter().all(|p| p.finished.is_some());
        if all_finished || joining.target > self.plan.stop.rounds_max {
            return self.finish(Reason::PeerFinished, effects);
        }
        if self.now >= joining.retry_at {
            joining.retry_at = self.now.saturating_add(self.plan.patience.retry_ms);
            for k in 0..self.peers.len() {
                match joining.offers[k] {
                    None if self.peers[k].finished.is_none() => self.send_word(k, Kind::Join, 0, effects),
                    Some(_) if joining.target > 0 && !joining.welcomed[k] => {
                        self.send_word(k, Kind::Join, joining.target, effects);
                    }
                    _ => (),
                }
            }
        }
        self.joining = Some(joining);
    }

    /// The first round far enough ahead of all neighbours in which an epoch begins.
    fn propose(&self, joining: &mut Joining) {
        let Some(newest) = joining.offers.iter().flatten().max() else { return };
        joining.target = (newest + joining.margin).next_multiple_of(self.epoch());
        joining.welcomed.fill(false);
    }

    /// A neighbour's answer. Without having asked, it means: you are not counted.
    pub(super) fn receive_state(&mut self, from: PeerId, frame: &Frame, effects: &mut Vec<Effect>) {
        let (k, round) = (from.0 as usize, frame.header.round);
        if !frame.numbers().all(f64::is_finite) || round > u64::MAX / 4 {
            return self.refuse(from, Refusal::NotFinite, effects);
        }
        if self.joining.is_none() && self.state == State::Waiting && round > self.done + 2 {
            effects.push(Effect::Note(Note::NotCounted { peer: self.peers[k].name.clone(), round }));
            self.state = State::Joining;
            self.joining = Some(Joining::new(self.peers.len(), true));
        }
        let Some(mut joining) = self.joining.take() else { return };
        joining.offers[k] = Some(round);
        joining.models[k] = frame.numbers().collect();
        if joining.target > 0 && round + 1 >= joining.target {
            joining.margin = (2 * joining.margin).min(MARGIN_MAX);
            self.propose(&mut joining);
        }
        self.joining = Some(joining);
    }

    /// A neighbour will count on this part from the proposed round on.
    pub(super) fn receive_welcome(&mut self, from: PeerId, header: &Header, effects: &mut Vec<Effect>) {
        let Some(mut joining) = self.joining.take() else { return };
        if header.round == joining.target && joining.target > 0 {
            joining.welcomed[from.0 as usize] = true;
            let all =
                joining.offers.iter().zip(&joining.welcomed).all(|(offer, welcomed)| offer.is_none() || *welcomed);
            if all {
                return self.enter(&joining, effects);
            }
        }
        self.joining = Some(joining);
    }

    /// Everybody has agreed.
    fn enter(&mut self, joining: &Joining, effects: &mut Vec<Effect>) {
        self.done = joining.target - 1;
        for (peer, offer) in self.peers.iter_mut().zip(&joining.offers) {
            (peer.from, peer.until) = if offer.is_some() { (joining.target, None) } else { (0, Some(0)) };
            (peer.acked, peer.round) = (self.done, self.done);
        }
        self.boundary.sent.clear();
        (self.epoch_max, self.residual) = (f64::INFINITY, f64::INFINITY);
        let mut models = self.models();
        // Predictions need no warm start: after one round nothing is left of a model but what its neighbours say.
        if !joining.warm && !self.plan.method.is_on_predictions() {
            self.warm_start(joining, &mut models);
        }
        let flows = Matrix::zeros(self.plan.edges.len(), self.dim);
        let memory = self.kernel.memory();
        if let Err(e) = self.rebuild(models, &flows, memory) {
            effects.push(Effect::Note(Note::NotFitted { what: e.to_string() }));
            return self.finish(Reason::Diverged, effects);
        }
        effects.push(Effect::Note(Note::Joined { round: joining.target }));
        self.begin_round(effects);
    }

    /// Nodes with neighbours elsewhere start at the weighted mean of their models.
    fn warm_start(&self, joining: &Joining, models: &mut Matrix) {
        let d = self.dim;
        let mut weight = vec![0.0; models.rows()];
        for edge in &self.plan.edges {
            let (Some(peer), Ok(node)) = (edge.peer, self.plan.nodes.binary_search(&edge.node)) else { continue };
            let place = self.neighbours_of(peer).binary_search(&edge.neighbour.as_str()).unwrap_or(0);
            let Some(row) = joining.models[peer.0 as usize].get(place * d..(place + 1) * d) else { continue };
            weight[node] += edge.weight;
            let share = edge.weight / weight[node];
            models.row_mut(node).iter_mut().zip(row).for_each(|(m, x)| *m += share * (x - *m));
        }
    }

    /// The nodes of a peer next to this part, in byte order.
    fn neighbours_of(&self, peer: PeerId) -> Vec<&str> {
        let edges = self.plan.edges.iter().filter(|e| e.peer == Some(peer));
        let mut names: Vec<&str> = edges.map(|e| e.neighbour.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}
