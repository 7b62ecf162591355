//! Bugs, planted by hand: the simulator must find every one of them. They exist only in test builds.

use super::Part;

/// A protocol bug.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(test), allow(dead_code))]
pub enum Mutant {
    /// Frames leave before the state is durable.
    CheckpointAfterSend,
    /// Rows of the round before are taken for those of this one.
    StaleRoundAccepted,
    /// A frame that comes twice counts as two.
    NoDedup,
    /// The part with the smaller name subtracts where it should add.
    WrongSignAtOneEnd,
    /// The flow on an edge is what the neighbour sent.
    DualFromWire,
    /// What is lost stays lost.
    NoRetransmission,
    /// More is said to have come than has.
    AckTooEarly,
    /// What is sent again are the newest rows, under the old number.
    ResendsNewestRows,
    /// Only the newest rows are kept.
    ForgetsOldRows,
    /// A restored part starts with no flows.
    ForgetsDuals,
    /// A restored part believes to have done one round more.
    SkipsRoundAfterRestore,
    /// A restored part updates its nodes twice.
    UpdatesNodesTwice,
    /// Rows of the next round replace those of this one.
    NextRoundOverwrites,
    /// Old rows are answered at once.
    AnswersFrames,
    /// Who is done sends nothing any more.
    LeavesAtOnce,
    /// A part decides before it has heard of all others.
    DecidesTooSoon,
    /// Frames leave, and nobody paid for their noise.
    SpendsNothing,
    /// A restored part does not know what it has released.
    ForgetsReleases,
    /// A restored part has another key: fresh noise for the same round.
    FreshNoise,
    /// Answers about the coupling are added up from the part's own on.
    AddsFromItselfOn,
    /// Damaged checkpoints are believed.
    BelievesDamagedCheckpoints,
    /// A word of one neighbour that it goes on without this part makes it join again.
    JoinsOnAWord,
    /// A word of one neighbour that it has finished long ago ends the run.
    EndsOnAWord,
    /// A neighbour that ends before it should ends the run.
    EndsWithANeighbour,
    /// A joiner believes whoever says to be farthest.
    BelievesTheFarthest,
    /// A joiner waits for neighbours that join as well.
    WaitsForJoiners,
    /// Who came back with an old state is not told.
    IgnoresRollback,
    /// Ends of an edge whose flows differ go on with them.
    KeepsFlowsThatDiffer,
    /// Who is connected is taken for alive.
    TrustsConnections,
    /// Who waits for the first rows after an agreement does not ask whether the other end knows of it.
    NeverAsksAgain,
    /// Edges that do not count stay so for the rest of the run.
    LeavesEdgesLost,
    /// Edges are not compared between the two ends.
    IgnoresEdges,
    /// Frames leave although the checkpoint could not be written.
    GoesOnWithoutDisk,
    /// After a fall-back, the good checkpoint is written over.
    OverwritesGoodCheckpoint,
}

impl Part {
    /// True if this bug is planted.
    #[cfg(test)]
    pub(super) fn is(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    /// Never, outside tests.
    #[cfg(not(test))]
    #[inline(always)]
    pub(super) fn is(&self, _: Mutant) -> bool {
        false
    }

    /// Plants a bug.
    #[cfg(test)]
    pub(crate) fn plant(&mut self, mutant: Option<Mutant>) {
        self.mutant = mutant;
        if self.done == 0 || self.reason.is_some() {
            return;
        }
        match mutant {
            Some(Mutant::ForgetsDuals) => {
                let (w, u) = (self.models(), self.flows());
                self.rebuild(w, &fedweave::Matrix::zeros(u.rows(), u.cols()), Vec::new()).unwrap();
            }
            Some(Mutant::SkipsRoundAfterRestore) => self.done += 1,
            Some(Mutant::UpdatesNodesTwice) => self.kernel.begin(),
            _ => (),
        }
    }

    /// What a bug makes of noise before a part starts.
    #[cfg(test)]
    pub(crate) fn spoil_noise(plan: &mut crate::plan::Plan, mutant: Option<Mutant>, life: u32) {
        let Some(noise) = &mut plan.noise else { return };
        match mutant {
            Some(Mutant::ForgetsReleases) => noise.forget(),
            Some(Mutant::FreshNoise) => noise.key.0[0] ^= life as u8,
            _ => (),
        }
    }

    /// Counts a frame of this round, also if it came before.
    #[cfg(test)]
    pub(super) fn count_arrival(&mut self, round: u64) {
        self.arrivals += usize::from(round == self.done + 1);
    }

    #[cfg(not(test))]
    #[inline(always)]
    pub(super) fn count_arrival(&mut self, _: u64) {}

    #[cfg(test)]
    pub(super) fn has_enough_arrivals(&self) -> bool {
        self.arrivals >= self.peers.len()
    }

    #[cfg(not(test))]
    #[inline(always)]
    pub(super) fn has_enough_arrivals(&self) -> bool {
        false
    }

    #[cfg(test)]
    pub(super) fn forget_arrivals(&mut self) {
        self.arrivals = 0;
    }

    #[cfg(not(test))]
    #[inline(always)]
    pub(super) fn forget_arrivals(&mut self) {}

    #[cfg(test)]
    pub(super) fn take_duals_from_wire(&mut self) {
        let (w, mut u) = (self.models(), self.flows());
        for (k, edge) in self.plan.edges.iter().enumerate() {
            if let Some(peer) = edge.peer {
                let came = self.peers[peer.0 as usize].inbox(self.done + 1).numbers();
                u.row_mut(k).copy_from_slice(&came[..self.dim]);
            }
        }
        self.rebuild(w, &u, Vec::new()).unwrap();
    }

    #[cfg(not(test))]
    #[inline(always)]
    pub(super) fn take_duals_from_wire(&mut self) {}
}
