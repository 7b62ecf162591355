//! What a distributed method costs: rounds, messages, bytes and floating-point work.
//!
//! A message of `d` numbers has `8 d` bytes; headers belong to a protocol, not to a method. Work is counted by formula from
//! the sizes of the data (see [`work`]), so it is the same on every machine.

/// Bytes of one number.
pub const NUMBER: u64 = 8;

/// What was sent and computed so far.
#[derive(Debug, Clone, PartialEq)]
pub struct Traffic {
    rounds: u64,
    messages: u64,
    sent: Vec<u64>,
    server: u64,
    flops: f64,
}

impl Traffic {
    /// Nothing yet, for so many nodes.
    pub fn new(nodes: usize) -> Self {
        Traffic { rounds: 0, messages: 0, sent: vec![0; nodes], server: 0, flops: 0.0 }
    }

    /// Node `from` sends `messages` messages of `numbers` numbers each.
    pub fn send(&mut self, from: usize, messages: usize, numbers: usize) {
        self.send_numbers(from, messages, messages * numbers);
    }

    /// Node `from` sends `messages` messages of `numbers` numbers in all.
    pub fn send_numbers(&mut self, from: usize, messages: usize, numbers: usize) {
        self.messages += messages as u64;
        self.sent[from] += NUMBER * numbers as u64;
    }

    /// The server sends `messages` messages of `numbers` numbers each.
    pub fn send_from_server(&mut self, messages: usize, numbers: usize) {
        self.messages += messages as u64;
        self.server += NUMBER * (messages * numbers) as u64;
    }

    /// Adds floating-point operations.
    pub fn compute(&mut self, flops: f64) {
        self.flops += flops;
    }

    /// A round is over.
    pub fn end_round(&mut self) {
        self.rounds += 1;
    }

    /// Rounds done.
    pub fn rounds(&self) -> u64 {
        self.rounds
    }

    /// Messages sent by all nodes and the server.
    pub fn messages(&self) -> u64 {
        self.messages
    }

    /// Bytes sent by all nodes and the server.
    pub fn bytes(&self) -> u64 {
        self.sent.iter().sum::<u64>() + self.server
    }

    /// Bytes sent by every node.
    pub fn bytes_by_node(&self) -> &[u64] {
        &self.sent
    }

    /// Bytes sent by the server.
    pub fn bytes_of_server(&self) -> u64 {
        self.server
    }

    /// Floating-point operations.
    pub fn flops(&self) -> f64 {
        self.flops
    }
}

/// Floating-point operations by formula.
pub mod work {
    use crate::loss::Loss;
    use crate::problem::Problem;

    /// Newton steps of a proximal operator without closed form, as a rule.
    const NEWTON_STEPS: f64 = 4.0;

    /// One gradient of `L_i`: a score and an update per row, `4 m d`.
    pub fn gradient(loss: &dyn Loss, node: usize) -> f64 {
        4.0 * loss.row_count(node) as f64 * loss.dim() as f64
    }

    /// One value of `L_i`: a score per row, `2 m d`.
    pub fn value(loss: &dyn Loss, node: usize) -> f64 {
        0.5 * gradient(loss, node)
    }

    /// One proximal step: with constant Hessians (factored once) two triangular solves of order `k = min(m, d)` and, for
    /// `m < d`, two passes over the rows; otherwise a few Newton steps, each with a factorisation.
    pub fn prox(loss: &dyn Loss, node: usize) -> f64 {
        let (m, d) = (loss.row_count(node) as f64, loss.dim() as f64);
        let k = m.min(d);
        let solve = 2.0 * k * k + if m < d { 4.0 * m * d } else { 0.0 };
        match loss.is_quadratic() {
            true => solve,
            false => NEWTON_STEPS * (solve + 6.0 * m * d + m * d * k + k * k * k / 3.0),
        }
    }

    /// `f` added up over all nodes.
    pub fn of_all(loss: &dyn Loss, f: impl Fn(&dyn Loss, usize) -> f64) -> f64 {
        (0..loss.nodes()).map(|node| f(loss, node)).sum()
    }

    /// Adding up the pulls of all neighbours at all nodes: a difference, a product and a sum per edge, end and coordinate.
    pub fn coupling(problem: &Problem) -> f64 {
        6.0 * (problem.graph().edges() * problem.dim()) as f64
    }
}
