//! How much it takes to do harm: the smallest number of nodes with which an attacker raises the error of others, beside what is
//! proven about it.
//!
//! All models are trained without the rows that judge them, with the lambda that an honest network chooses. The error is compared
//! with that of the same nodes if attackers behave.

mod lab;
mod learnt;
mod result;
mod rows;

use fedweave::trust::attack::{around, spread};
use fedweave_io::Input;

use crate::error::{Result, refuse, require};
use crate::request::attack::AttackRequest;
use crate::watch::Observer;

use lab::Lab;
pub use result::{AttackResult, COLUMNS, Step};

/// Attacks with one node, two nodes, ... until the harm is done or the budget is spent.
pub fn attack(request: AttackRequest, input: Input, observer: &dyn Observer) -> Result<AttackResult> {
    let victim = match &request.victim {
        None => None,
        Some(name) => match input.names.binary_search(name) {
            Ok(i) => Some(i),
            Err(_) => refuse!("--victim {name}: there is no such node"),
        },
    };
    require!(input.graph.edges() > 0, "nobody has a neighbour: there is nothing to attack over; give --edges or --knn");
    let lab = Lab::new(&request, input, observer)?;
    let (order, most) = match victim {
        Some(node) => {
            let near = around(&lab.input.graph, node);
            let name = &lab.input.names[node];
            require!(!near.is_empty(), "--victim {name}: it has no neighbours who could attack it");
            require!(lab.test.has_rows(node), "--victim {name}: it has no held-out rows to measure harm by");
            let most = near.len();
            (near, most)
        }
        None => (spread(&lab.input.graph), lab.input.names.len() / 2),
    };
    let budget = request.budget.map_or(most, |budget| budget.min(order.len())).max(1);
    let mut steps = Vec::new();
    let mut stopped = false;
    for k in 1..=budget {
        if observer.interrupted() {
            stopped = true;
            break;
        }
        observer.advance("attacking: nodes", k - 1, budget);
        let Some(step) = lab.step(&request, &order[..k], victim)? else { break };
        let done = step.does_harm(&request);
        steps.push(step);
        if done {
            break;
        }
    }
    require!(!steps.is_empty() || stopped, "no honest node has held-out rows to measure harm by");
    let attackers = order.iter().take(steps.len()).map(|&i| lab.input.names[i].clone()).collect();
    Ok(AttackResult::new(&request, &lab, steps, attackers, stopped))
}
