//! Technical robustness: attack, safety, accuracy, reliability.

use super::{Evidence, measure, percent, shown, stress_command, worst_nodes};
use crate::trust::page::Found;
use crate::trust::stress::KindMoved;
use fedweave::robustness::Unbounded;
use fedweave::trust::stress::Stress;
use fedweave_report::trust::Measure;

impl Evidence<'_> {
    pub(super) fn attack(&self) -> Found {
        let mut found = Found::default();
        let command = format!("fedweave explain {}", self.run);
        let names = &self.subject.refit.input.names;
        match &self.subject.shaped {
            Ok(shaped) => {
                let others = |i: usize| (0..names.len()).filter(move |j| *j != i);
                let size = |(i, j): &(usize, usize)| shaped[*i].shares[*j].abs();
                let all = (0..shaped.len()).flat_map(|i| others(i).map(move |j| (i, j)));
                if let Some((i, j)) = all.max_by(|a, b| size(a).total_cmp(&size(b))) {
                    let words = format!(
                        "The rows of {} have this share of the model of {}: no other node has more of a model that is not its own.",
                        names[j], names[i]
                    );
                    let share = shaped[i].shares[j].abs();
                    found.add(measure(
                        "of a model, at most, is due to one other node",
                        share,
                        percent(share),
                        &words,
                        &command,
                    ));
                }
            }
            Err(why) => found.lacks("what one other node contributes to a model", &why.to_string(), &command),
        }
        match self.subject.base.worst_liar() {
            Some(Ok((liar, bound))) => {
                let words = format!(
                    "Proven: whatever {} sends, all other models together move by no more (Euclidean norm, in the solver's units).",
                    names[liar]
                );
                found.add(measure(
                    "is how far one liar can move all other models",
                    bound,
                    shown(bound),
                    &words,
                    &self.fit("--json"),
                ));
            }
            Some(Err(why)) => {
                let remedy = match why {
                    Unbounded::Penalty => "--penalty norm2 --ridge 0.01",
                    Unbounded::Loss => "--ridge 0.01 --no-intercept",
                };
                let again = self.fit(&format!("{remedy} --out BOUNDED"));
                found.lacks("a bound on what one liar can do", &format!("{why}."), &again);
            }
            None => found.lacks(
                "a bound on what one liar can do",
                "it takes the eigenvalues of every loss, too many here",
                "",
            ),
        }
        self.poisoned(&mut found);
        found
    }

    /// What false labels of the node that reaches most others do.
    fn poisoned(&self, found: &mut Found) {
        let (attacked, command) = &self.subject.attacked;
        let what = "what false labels of one node do to all others";
        let step = match attacked {
            Ok(result) => result.steps.first().map(|step| (step, &result.attackers[0])),
            Err(why) => return found.lacks(what, &why.to_string(), command),
        };
        let Some((step, liar)) = step else {
            return found.lacks(what, "nobody is left to be judged", command);
        };
        let proven = step.raise_max().map_or_else(
            || " Nothing is proven about more.".to_owned(),
            |most| format!(" Proven: whatever its rows say, by no more than {}.", percent(most)),
        );
        let words = format!(
            "The labels of {liar}, which reaches most others, are off by 3 deviations (classes: exchanged): the error of all others on held-out \
             rows goes from {} to {}.{proven}",
            shown(step.clean),
            shown(step.error)
        );
        let raise = step.raise();
        found.add(measure(
            "is how much false labels of one node raise the error of all others",
            raise,
            percent(raise),
            &words,
            command,
        ));
    }

    pub(super) fn safety(&self) -> Found {
        let mut found = Found::default();
        let fairness = &self.subject.fairness;
        let (worst, count) = fairness.worst;
        let ratio = worst / fairness.all.value;
        let words = format!(
            "{} at the tenth of the nodes where it is largest ({count}), {} times the mean; these are the worst:",
            fairness.error_name,
            shown(ratio)
        );
        let parts = worst_nodes(&fairness.nodes, 5);
        found.add(Measure {
            parts,
            ..measure("error at the worst tenth of the nodes", worst, shown(worst), &words, &self.trust())
        });
        let off =
            self.subject.rows.iter().map(|row| row.residual.abs()).filter(|r| r.is_finite()).fold(f64::NAN, f64::max);
        if off.is_finite() {
            let words = "The largest error of a single prediction among all rows that models had not seen.";
            found.add(measure("is the most that a prediction was off", off, shown(off), words, &self.trust()));
        }
        found
    }

    pub(super) fn accuracy(&self) -> Found {
        let mut found = Found::default();
        let (rows, nodes) = (&self.subject.rows, self.subject.refit.input.names.len());
        let all = &self.subject.fairness.all;
        let judged = |of: fn(&crate::trust::cross::Row) -> f64| {
            let values =
                rows.iter().map(|row| fedweave::trust::fairness::Judged { node: row.node, group: 0, value: of(row) });
            fedweave::trust::fairness::mean_by_group(&values.collect::<Vec<_>>(), nodes, None)
                .expect("rows were judged")
        };
        let (alone, gain) = (judged(|row| row.alone), judged(|row| row.alone - row.error));
        let part = |name: &str, of: &fedweave::trust::fairness::Estimate| fedweave_report::trust::Part {
            name: name.into(),
            value: of.value,
            interval: of.interval(),
            shown: crate::trust::fairness::with_interval(of),
        };
        let words = format!(
            "{} of rows that models had not seen, every node counting the same, with 95 % intervals over nodes. Rows are held out in turn at every node; the split is part of the result.",
            self.subject.fairness.error_name
        );
        let parts = vec![part("this run", all), part("every node alone", &alone)];
        found.add(Measure {
            parts,
            ..measure("error on unseen rows", all.value, shown(all.value), &words, &self.trust())
        });
        let words = format!(
            "The error of nodes alone (their ridge chosen on the same rows) less that of the network is {}.",
            crate::trust::fairness::with_interval(&gain)
        );
        let share = gain.value / alone.value;
        found.add(measure("of the error of nodes alone is saved", share, percent(share), &words, &self.trust()));
        found
    }

    pub(super) fn reliability(&self) -> Found {
        let mut found = Found::default();
        let base = &self.subject.base;
        self.repeated(&mut found);
        match base.solution.certified_gap {
            Some(gap) => {
                let relative = gap / base.solution.objective.abs().max(1.0);
                let words = "Certified: no models have an objective lower by more, relative to the objective.";
                found.add(measure(
                    "is how far the models are from the best ones, at most",
                    relative,
                    format!("{relative:.1e}"),
                    words,
                    &self.fit("--json"),
                ));
            }
            None => found.lacks("how far the models are from the best ones", "the solver has no certificate here", ""),
        }
        let stress = &self.subject.stress;
        for kind in &stress.kinds {
            self.stressed(kind, &mut found);
        }
        stress.left_out.iter().for_each(|why| found.lacks("a kind of stress", why, &stress_command(self.subject)));
        found
    }

    /// The models fitted again are those of the run.
    fn repeated(&self, found: &mut Found) {
        let diff = format!("diff {}/parameters.csv AGAIN/parameters.csv", self.run);
        let command = format!("{} && {diff}", self.fit("--out AGAIN"));
        let Some(stored) = &self.subject.stored else {
            found.lacks("whether the models come out the same again", "the run holds models of other nodes", &command);
            return;
        };
        let now = &self.subject.base.parameters;
        let apart = stored.as_slice().iter().zip(now.as_slice()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        let words = match stored.cols() == now.cols() && apart == 0.0 {
            true => "Fitted again from the same files, all models have the same bits.",
            false => {
                "Fitted again from the same files; rows held out of the run for good, or another solver, make a difference."
            }
        };
        found.add(measure(
            "is the largest change of a coefficient when fitted again",
            apart,
            if apart == 0.0 { "0".into() } else { format!("{apart:.1e}") },
            words,
            &command,
        ));
    }

    fn stressed(&self, kind: &KindMoved, found: &mut Found) {
        let (Some(change), request) = (kind.prediction(), &self.subject.stress_request) else { return };
        let what = match kind.kind {
            Stress::Rows => "when the rows of every node are drawn again".to_owned(),
            Stress::Nodes => format!("when {} of the nodes leave", percent(request.leave)),
            Stress::Weights => format!("when weights of edges vary by a factor of {:.1}", request.spread.exp()),
            Stress::Labels => format!("when labels get {} more noise", percent(request.noise)),
        };
        let share = change / self.subject.stress.residual;
        let clusters = kind
            .agreement()
            .map_or(String::new(), |(mean, _)| format!(" Clusters agree by {} (adjusted Rand index).", shown(mean)));
        let words =
            format!("Predictions change by {} (root mean square over {} fits).{clusters}", shown(change), request.fits);
        let name = format!("is how much predictions change {what}");
        match share.is_finite() {
            true => found.add(measure(&name, share, percent(share), &words, &stress_command(self.subject))),
            false => found.add(measure(
                &format!("is how much scores change {what}"),
                change,
                shown(change),
                &words,
                &stress_command(self.subject),
            )),
        }
    }
}
