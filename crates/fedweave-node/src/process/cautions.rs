//! What the owner of a part should know before it starts.

use fedweave::robustness::liars_bound;
use fedweave_io::counted;

use crate::config::PartSettings;
use crate::exposure::exposure;
use crate::plan::Plan;
use crate::run::now_ms;
use crate::subproblem::Subproblem;
use crate::transport::Link;

/// So many exposed nodes are named; of the others, their number.
const EXPOSED_NAMED: usize = 3;
/// Sums over fewer rows than so many times the number of features say much about single rows.
const ROWS_PER_NUMBER: usize = 10;
/// A certificate with fewer days left is mentioned.
const DAYS_LEFT_MIN: i64 = 14;

/// What a part risks as it is configured, a sentence each.
pub fn cautions(settings: &PartSettings) -> Vec<String> {
    let mut cautions = Vec::new();
    match &settings.link {
        Link::LoopbackPlaintext { .. } => {
            cautions.push("frames are neither encrypted nor authenticated (--loopback-plaintext)".into());
        }
        Link::Tls(credentials) => {
            let days = (credentials.until.unix_timestamp() - now_ms() as i64 / 1000) / 86_400;
            if days < DAYS_LEFT_MIN {
                cautions.push(format!("the certificate expires in {}", counted(days.max(0) as usize, "day")));
            }
        }
    }
    let exposed = match &settings.privacy {
        Some((privacy, _)) => {
            let seed = privacy.seed.map(|seed| format!("the noise comes from seed {seed}: it protects nothing"));
            cautions.extend(seed);
            Vec::new()
        }
        None => exposure(&settings.plan),
    };
    cautions.extend(exposed.iter().take(EXPOSED_NAMED).map(ToString::to_string));
    if exposed.len() > EXPOSED_NAMED {
        cautions.push(format!("{} more nodes are exposed; see docs/threat-model.md", exposed.len() - EXPOSED_NAMED));
    }
    if settings.privacy.is_none() {
        // Both look at the rows.
        cautions.extend(sums(&settings.plan));
        cautions.extend(liars(&settings.plan));
    }
    cautions
}

/// What the sums reveal by which the coupling is learnt.
fn sums(plan: &Plan) -> Option<String> {
    let (rows, dim) = (plan.data.len(), plan.data.dim());
    (plan.coupling.is_some() && rows > 0 && rows < ROWS_PER_NUMBER * dim).then(|| {
        format!(
            "all parts learn sums over the {} of this part, for {dim} features: few rows are easy to guess from their sums",
            counted(rows, "row")
        )
    })
}

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
