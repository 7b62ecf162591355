//! Models of any class that never see the rows: they learn from public rows, which teachers label by votes with noise.

use fedweave::model::Task;
use fedweave::model::relax::seed_of;
use fedweave::trust::privacy::accountant::noise;
use fedweave::trust::privacy::votes::{Votes, labelled};
use fedweave_io::{Input, Noise};
use serde_json::{Value, json};

use super::{ModelSource, public};
use crate::error::{Result, require};
use crate::request::RelaxRequest;
use crate::request::privacy::VoteChoice;
use crate::wording::number;

/// How the rows behind models of any class are protected.
#[derive(Debug, Clone, PartialEq)]
pub struct VoteProtection {
    choice: VoteChoice,
    /// Rows of the smallest node, and what one of its rows can do to its votes.
    rows: usize,
    sensitivity: f64,
    deviation: f64,
}

impl VoteProtection {
    /// Votes on so many public rows by the nodes of an input.
    pub(crate) fn new(choice: &VoteChoice, input: &Input, task: Task, public: usize) -> Result<VoteProtection> {
        let votes = votes(choice)?;
        let rows = (0..input.data.nodes()).map(|i| input.data.rows(i).len()).filter(|m| *m > 0).min();
        require!(rows.is_some(), "--dp-epsilon: no node has rows");
        let rows = rows.unwrap_or(1);
        let sensitivity = votes.sensitivity(task, rows, public);
        Ok(VoteProtection { choice: choice.clone(), rows, sensitivity, deviation: votes.multiplier * sensitivity })
    }

    /// As JSON.
    pub fn summary(&self) -> Value {
        let VoteChoice { epsilon, delta, teachers, seed, .. } = &self.choice;
        json!({
            "epsilon": epsilon, "delta": delta, "method": "votes", "adjacency": "one row of one node replaced",
            "teachers": teachers, "sensitivity": self.sensitivity, "noise": self.deviation,
            "noise_source": Noise::name(*seed), "least_rows": self.rows,
        })
    }

    /// In words.
    pub fn text(&self) -> Vec<String> {
        let VoteChoice { epsilon, delta, teachers, seed, .. } = &self.choice;
        let mut lines = vec![
            format!(
                "private: epsilon {epsilon}, delta {delta:e} for every row of every node (one row of one node replaced); {teachers} teachers a \
                 node vote on the labels of public rows, with noise of {} where numbers are from -1 to 1 (one row can move all votes together by {})",
                number(self.deviation),
                number(self.sensitivity)
            ),
            "models know public rows alone, and errors are those against the votes; another run is another release: epsilons add up".into(),
        ];
        lines.extend(seed.map(|seed| format!("warning: the noise comes from seed {seed}: it protects nothing")));
        lines
    }
}

fn votes(choice: &VoteChoice) -> Result<Votes> {
    let multiplier = noise((choice.epsilon, choice.delta), 1.0, 1)?;
    Ok(Votes { teachers: choice.teachers, range: choice.range(), multiplier })
}

/// The input with public rows, labelled by votes, in place of the rows of every node.
pub(super) fn protect(
    choice: &VoteChoice,
    request: &RelaxRequest,
    mut input: Input,
    task: Task,
    source: &dyn ModelSource,
) -> Result<(Input, VoteProtection)> {
    require!(request.held_out.spec.is_none(), "--dp-epsilon: errors on held-out rows would tell about them");
    // What is odd about rows would tell about them.
    input.notices.reading.clear();
    let (sets, _) = public::rows(request, &input, &input.data, None)?;
    let rows = |i: usize| sets[if sets.len() == 1 { 0 } else { i }].x();
    let most = sets.iter().map(|set| set.len()).max().unwrap_or(0);
    let protection = VoteProtection::new(choice, &input, task, most)?;
    let (votes, mut rng) = (votes(choice)?, Noise::new(choice.seed));
    let mut labels = Vec::new();
    for node in 0..input.data.nodes() {
        let seed = seed_of(request.options.seed, node);
        let teacher = |k: usize| {
            source.build(node, task, seed_of(seed, k)).map_err(|source| fedweave::Error::Spec { node, source })
        };
        labels.push(votes.release((&input.data, node), rows(node), task, teacher, &mut rng)?);
    }
    let public: Vec<_> = (0..input.data.nodes()).map(rows).collect();
    let data = labelled(&public, &labels)?;
    input.lines = (1..=data.len() as u64).collect();
    (input.data, input.groups, input.times, input.protected) = (data, None, None, None);
    Ok((input, protection))
}
