//! How alike the shocks of two rows are: a sum of three parts, each fading with the time between the rows.
//!
//! ```text
//! cov(u_it, u_js) = common   exp(-|t - s| / T_c)                    shared by all nodes
//!                 + nearby   exp(-|t - s| / T_n)  exp(-d_ij / l)    shared by nodes that are close, or ((kappa I + L)^-1)_ij
//!                 + own      exp(-|t - s| / T_o)  [i = j]           of one node alone
//! ```

/// The part shared by all nodes.
pub const COMMON: usize = 0;
/// The part shared by nodes that are close.
pub const NEARBY: usize = 1;
/// The part of one node alone.
pub const OWN: usize = 2;
/// Number of parts.
pub const PARTS: usize = 3;

/// Distance of nodes that share nothing, and gap between times that do: finite, so that zero times it is zero.
pub const FAR: f64 = 1e200;
/// Rate at which shocks fade that last no longer than their time.
pub const AT_ONCE: f64 = 1e90;

/// What the covariance of two rows depends on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pair {
    /// Distance of the nodes, or their covariance where the geometry is a graph.
    pub near: f64,
    /// Time between the rows.
    pub gap: f64,
    /// True if both rows are of one node.
    pub same_node: bool,
}

/// The numbers of the kernel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Kernel {
    /// Variance of every part; zero where it is absent.
    pub variance: [f64; PARTS],
    /// `1 / T` of every part.
    pub fading: [f64; PARTS],
    /// `1 / l`; `None` where `Pair::near` is the covariance itself.
    pub decay: Option<f64>,
    /// Variance of what rows do not share.
    pub noise: f64,
}

impl Kernel {
    /// The parts of the covariance of two rows.
    pub fn parts(&self, pair: &Pair) -> [f64; PARTS] {
        let mut parts = [0.0; PARTS];
        for (k, part) in parts.iter_mut().enumerate() {
            let alone = k == OWN && !pair.same_node;
            if self.variance[k] > 0.0 && !alone {
                *part = self.variance[k] * (-pair.gap * self.fading[k]).exp();
            }
        }
        parts[NEARBY] *= match self.decay {
            Some(decay) => (-pair.near * decay).exp(),
            None => pair.near,
        };
        parts
    }

    /// The covariance of the shocks of two rows.
    pub fn covariance(&self, pair: &Pair) -> f64 {
        self.parts(pair).iter().sum()
    }
}

/// Which numbers of the kernel are free: for every part that is there the logarithm of its variance, then of `T` and `l`
/// where they are sought; last the logarithm of the noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Layout {
    /// Parts that are there.
    pub present: [bool; PARTS],
    /// True if shocks may outlast their time.
    pub lasting: bool,
    /// True if the length is sought.
    pub length: bool,
}

impl Layout {
    /// Number of free parameters.
    pub fn len(&self) -> usize {
        let parts = self.present.iter().filter(|p| **p).count();
        parts * if self.lasting { 2 } else { 1 } + usize::from(self.length && self.present[NEARBY]) + 1
    }

    /// The free parameters of a kernel.
    pub fn parameters(&self, kernel: &Kernel) -> Vec<f64> {
        let mut theta = Vec::with_capacity(self.len());
        for k in (0..PARTS).filter(|k| self.present[*k]) {
            theta.push(kernel.variance[k].ln());
            if self.lasting {
                theta.push(-kernel.fading[k].ln());
            }
            if let (NEARBY, true, Some(decay)) = (k, self.length, kernel.decay) {
                theta.push(-decay.ln());
            }
        }
        theta.push(kernel.noise.ln());
        theta
    }

    /// The kernel with these parameters; what is not free is as in `like`.
    pub fn kernel(&self, theta: &[f64], like: &Kernel) -> Kernel {
        let mut kernel = Kernel { variance: [0.0; PARTS], ..*like };
        let mut values = theta.iter().map(|t| t.exp());
        let mut next = || values.next().expect("as many parameters as the layout has");
        for k in (0..PARTS).filter(|k| self.present[*k]) {
            kernel.variance[k] = next();
            kernel.fading[k] = if self.lasting { 1.0 / next() } else { AT_ONCE };
            if k == NEARBY && self.length {
                kernel.decay = Some(1.0 / next());
            }
        }
        kernel.noise = next();
        kernel
    }

    /// `gradient += weight * d covariance / d theta` for the shocks of two rows, given their parts.
    pub fn add_gradient(&self, kernel: &Kernel, pair: &Pair, parts: &[f64; PARTS], weight: f64, gradient: &mut [f64]) {
        let mut at = 0;
        for k in (0..PARTS).filter(|k| self.present[*k]) {
            let pull = weight * parts[k];
            gradient[at] += pull;
            at += 1;
            if self.lasting {
                gradient[at] += pull * (pair.gap * kernel.fading[k]);
                at += 1;
            }
            if let (NEARBY, true, Some(decay)) = (k, self.length, kernel.decay) {
                gradient[at] += pull * (pair.near * decay);
                at += 1;
            }
        }
    }
}
