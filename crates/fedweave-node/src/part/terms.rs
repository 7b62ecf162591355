//! What both ends of a link must have in common: settings and the edges between them. Every frame carries a digest of it; where
//! the digests differ the two tell each other their terms, so that the line that differs can be named.

use fedweave_io::counted;

use super::send::BACKOFF_MAX;
use super::{Effect, Note, Part};
use crate::hash::Fnv;
use crate::plan::{PeerId, Plan};
use crate::wire::{Frame, Header, Kind, NUMBERS_MAX, encode};

/// A setting, and its value in words or as a number.
enum Term {
    Number(&'static str, f64),
    Text(&'static str, String),
}

fn settings(plan: &Plan) -> Vec<Term> {
    use Term::{Number, Text};
    let (stop, options) = (&plan.stop, &plan.loss_options);
    let loss = match &plan.loss {
        fedweave::loss::LossSpec::Same(family) => format!("{family:?}"),
        fedweave::loss::LossSpec::PerNode(_) => "each node its own".into(),
    };
    vec![
        Number("federation.lambda", plan.lambda),
        Number("federation.rounds", stop.rounds_max as f64),
        Number("federation.tolerance", stop.tolerance.unwrap_or(-1.0)),
        Number("federation.diameter", f64::from(stop.diameter)),
        Number("model.ridge", options.ridge),
        Number("number of features", plan.data.dim() as f64),
        Text("federation.method", format!("{:?}", plan.method)),
        Text("federation.loss", loss),
        Text("federation.penalty", plan.penalty.name().into()),
        Text("model.node-weight", format!("{:?}", options.node_weight)),
        Text("members that learn the coupling", plan.coupling.as_ref().map_or(String::new(), |c| c.members.join(" "))),
        Number("names of features, authority or public rows", exact(Fnv::new().word(plan.federation))),
    ]
}

/// A hash that a number of 53 bits can hold.
fn exact(hash: Fnv) -> f64 {
    (hash.finish() >> 11) as f64
}

fn name_of(a: &str, b: &str) -> f64 {
    exact(Fnv::new().text(a).text(b))
}

/// The terms of a plan towards a neighbour: how many settings, those, then two numbers an edge.
fn terms(plan: &Plan, peer: PeerId) -> Vec<f64> {
    let settings = settings(plan);
    let value = |term: &Term| match term {
        Term::Number(_, x) => *x,
        Term::Text(_, text) => exact(Fnv::new().text(text)),
    };
    let mut numbers = vec![settings.len() as f64];
    numbers.extend(settings.iter().map(value));
    numbers.extend(plan.shared_edges(peer).iter().flat_map(|(a, b, weight)| [name_of(a, b), *weight]));
    // An odd number is left after the settings only by liars.
    numbers.truncate(NUMBERS_MAX - (NUMBERS_MAX - numbers[0] as usize - 1) % 2);
    numbers
}

/// The first thing in which a neighbour's terms differ from ours, in words.
fn difference(plan: &Plan, peer: PeerId, theirs: &[f64]) -> Option<String> {
    let (ours, settings) = (terms(plan, peer), settings(plan));
    let count = settings.len();
    if theirs.len() <= count || theirs[0] != ours[0] {
        return Some("it has terms of another version".into());
    }
    let differing = (0..count).filter(|k| ours[k + 1] != theirs[k + 1]).map(|k| match &settings[k] {
        Term::Number(name, x) if name.contains('.') || name.starts_with("number") => {
            format!("{name} is {x} here and {} there", theirs[k + 1])
        }
        Term::Number(name, _) => format!("{name}: they differ"),
        Term::Text(name, text) => format!("{name} is {text} here and something else there"),
    });
    if let Some(what) = differing.into_iter().next() {
        return Some(what);
    }
    let there = theirs[count + 1..].chunks_exact(2);
    let edges = plan.shared_edges(peer);
    for (a, b, weight) in &edges {
        let name = name_of(a, b);
        match there.clone().find(|pair| pair[0] == name) {
            None => return Some(format!("the edge {a} -- {b} (weight {weight}) is not known there")),
            Some(pair) if pair[1].to_bits() != weight.to_bits() => {
                return Some(format!("the edge {a} -- {b} weighs {weight} here and {} there", pair[1]));
            }
            Some(_) => {}
        }
    }
    (there.len() > edges.len()).then(|| format!("not known here: {}", counted(there.len() - edges.len(), "edge there")))
}

impl Part {
    /// Tells a neighbour that differs what this part believes.
    pub(super) fn send_terms(&mut self, k: usize, effects: &mut Vec<Effect>) {
        let (now, pause) = (self.now, self.plan.patience.retry_ms.saturating_mul(BACKOFF_MAX));
        let peer = &mut self.peers[k];
        if !std::mem::take(&mut peer.owes_terms) || now < peer.terms_at {
            return;
        }
        peer.terms_at = now.saturating_add(pause);
        let numbers = terms(&self.plan, PeerId(k as u32));
        let header = Header { federation: self.plan.federation, ..self.header(k, Kind::Terms, 0) };
        self.send(k, encode(&header, &numbers), effects);
    }

    /// A neighbour tells what it believes. It may differ in everything else.
    pub(super) fn receive_terms(&mut self, from: PeerId, frame: &Frame, effects: &mut Vec<Effect>) {
        let numbers: Vec<f64> = frame.numbers().collect();
        let Some(what) = difference(&self.plan, from, &numbers) else { return };
        let peer = &mut self.peers[from.0 as usize];
        if peer.terms_noted.as_ref() != Some(&what) {
            peer.terms_noted = Some(what.clone());
            effects.push(Effect::Note(Note::Disagreement { peer: peer.name.clone(), what }));
        }
    }
}
