//! What the owner of a part is told: before it starts, and while it runs.

use fedweave::robustness::liars_bound;
use fedweave_node::subproblem::Subproblem;
use fedweave_node::run::now_ms;
use fedweave_node::transport::Link;
use fedweave_node::{Note, Plan, exposure};

use super::NodeSettings;

/// What people in front of a terminal want to know at once.
pub fn tell(name: &str, note: &Note) {
    match note {
        Note::LinkDown { peer } => eprintln!("{name}: neighbour {peer} cannot be reached"),
        Note::LinkUp { peer } => eprintln!("{name}: neighbour {peer} is there"),
        Note::PeerDead { peer, round } => eprintln!("{name}: neighbour {peer} is dead, in round {round}"),
        Note::EdgesDropped { peer, round } => eprintln!("{name}: without {peer} from round {round} on"),
        Note::PeerJoins { peer, round } => eprintln!("{name}: with {peer} from round {round} on"),
        Note::PeerLeft { peer, round } => eprintln!("{name}: neighbour {peer} left after round {round}"),
        Note::PeerMisbehaved { peer, what } => eprintln!("{name}: neighbour {peer} misbehaves: {what}"),
        Note::NotFitted { what } => eprintln!("{name}: a model cannot be fitted: {what}"),
        Note::NotCounted { peer, round } => {
            eprintln!("{name}: {peer} went on without us to round {round}; joining again")
        }
        Note::Joined { round } => eprintln!("{name}: takes part from round {round} on"),
        _ => {}
    }
}

/// What the owner of the part should know before it starts.
pub fn cautions(settings: &NodeSettings) -> Vec<String> {
    let mut cautions = Vec::new();
    if matches!(settings.link, Link::LoopbackPlaintext { .. }) {
        cautions.push("frames are neither encrypted nor authenticated (--loopback-plaintext)".into());
    }
    if let Link::Tls(credentials) = &settings.link {
        let days = (credentials.until.unix_timestamp() - now_ms() as i64 / 1000) / 86_400;
        if days < 14 {
            cautions.push(format!("the certificate expires in {days} day(s)"));
        }
    }
    let exposed = exposure(&settings.plan);
    cautions.extend(exposed.iter().take(EXPOSED_NAMED).map(ToString::to_string));
    if exposed.len() > EXPOSED_NAMED {
        cautions.push(format!("{} more nodes are exposed; see docs/threat-model.md", exposed.len() - EXPOSED_NAMED));
    }
    cautions.extend(liars(&settings.plan));
    cautions
}

/// So many exposed nodes are named; of the others, their number.
const EXPOSED_NAMED: usize = 3;

/// What the neighbouring parts could do to our models together, if they lied.
fn liars(plan: &Plan) -> Option<String> {
    let (subproblem, problem) = Subproblem::build(plan, |_| true).ok()?;
    let mut own = vec![false; problem.nodes()];
    subproblem.own.iter().for_each(|&i| own[i as usize] = true);
    Some(match liars_bound(&problem, |i| !own[i]) {
        Ok(0.0) => return None,
        Ok(bound) => format!("if all neighbours lied, they could move our models by at most {bound:.3} together"),
        Err(why) => format!("no bound on what lying neighbours could do to our models: {why}"),
    })
}
