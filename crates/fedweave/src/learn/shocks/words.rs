//! What was learnt, in words.

use std::fmt;

use super::{Reach, Shocks};

impl fmt::Display for Shocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_none() {
            return write!(f, "no shared shocks: rows are alone with their errors (variance {:.4})", self.s2);
        }
        let all = self.su2() + self.s2;
        write!(f, "shared shocks explain {:.0} % of the variance of the residuals:", 100.0 * self.su2() / all)?;
        let named =
            [("all nodes share", self.common), ("close nodes share", self.nearby), ("nodes have alone", self.own)];
        for (k, (who, part)) in named.into_iter().filter_map(|(who, part)| Some((who, part?))).enumerate() {
            let comma = if k > 0 { "," } else { "" };
            write!(f, "{comma} {who} {:.0} %", 100.0 * part.variance / all)?;
            match (who, self.reach) {
                ("close nodes share", Some(Reach::Length(length))) => write!(f, " (reach {length:.4})")?,
                ("close nodes share", Some(Reach::Kappa(kappa))) => write!(f, " (kappa {kappa:.3})")?,
                _ => {}
            }
            if let Some(time) = part.lasts {
                write!(f, " fading over {time:.3} in time")?;
            }
        }
        write!(f, "; likelihood ratio {:.1} with {} parameters", self.statistic(), self.parameters)
    }
}
