//! How the rows are protected.

use fedweave::loss::Family;
use fedweave::trust::privacy::accountant::check_privacy;
use fedweave::trust::privacy::objective::curvature_bound;
use fedweave::trust::privacy::rounds::has_rounds;
use fedweave::trust::privacy::sensitivity::gradient_bound;

use super::keys::Job;
use super::settings::Reader;
use crate::error::{Error, Result, refuse, require};

/// Rounds of noisy gradients, if nobody says.
const ROUNDS: usize = 50;
/// Strengths to choose from, if nobody says: they must not follow from rows.
const GRID: [f64; 7] = [0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 10.0];

/// Where the noise goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrivacyMethod {
    /// On moments of the rows of every node, once.
    Statistics,
    /// On the models.
    Output,
    /// In what is minimised.
    Objective,
    /// On gradients, in every round.
    Gradients,
}

impl PrivacyMethod {
    const ALL: [PrivacyMethod; 4] =
        [PrivacyMethod::Statistics, PrivacyMethod::Output, PrivacyMethod::Objective, PrivacyMethod::Gradients];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            PrivacyMethod::Statistics => "statistics",
            PrivacyMethod::Output => "output",
            PrivacyMethod::Objective => "objective",
            PrivacyMethod::Gradients => "gradients",
        }
    }

    /// True if it protects rows with this loss.
    fn suits(self, family: Family) -> bool {
        match self {
            PrivacyMethod::Statistics => family == Family::Squared,
            PrivacyMethod::Output => gradient_bound(family, 1.0).is_some(),
            PrivacyMethod::Objective => curvature_bound(family).is_some(),
            PrivacyMethod::Gradients => has_rounds(family),
        }
    }
}

/// How the rows are protected.
#[derive(Debug, Clone, PartialEq)]
pub struct PrivacyChoice {
    /// Epsilon.
    pub epsilon: f64,
    /// Delta.
    pub delta: f64,
    /// Where the noise goes; `None`: where the loss allows.
    pub method: Option<PrivacyMethod>,
    /// Columns and what is known about them.
    pub ranges: Vec<(String, (f64, f64))>,
    /// Longest scaled row of features.
    pub clip: Option<f64>,
    /// Rounds of noisy gradients.
    pub rounds: usize,
    /// Probability that a row takes part in a round.
    pub rate: f64,
    /// Longest gradient of a row.
    pub gradient_clip: Option<f64>,
    /// Values of lambda to choose from by rows that pay for it; none: it is given.
    pub grid: Vec<f64>,
    /// Ranges become narrower as noisy moments say, for a share of the budget.
    pub narrow: bool,
    /// For tests.
    pub seed: Option<u64>,
}

impl PrivacyChoice {
    /// What was said; `None` if nothing was.
    pub(super) fn read(reader: &Reader, job: Job) -> Result<Option<PrivacyChoice>> {
        let Some((epsilon, delta)) = promise(reader)? else { return Ok(None) };
        let mut methods: Vec<_> = PrivacyMethod::ALL.map(|method| (method.name(), Some(method))).into();
        methods.insert(0, ("", None));
        let ranges = reader.texts("dp-range").unwrap_or_default();
        let rate = reader.positive("dp-sample")?.unwrap_or(1.0);
        require!(rate <= 1.0, "--dp-sample {rate}: at most 1, which takes all rows");
        let rounds = reader.count("dp-rounds").unwrap_or(ROUNDS);
        require!(rounds > 0, "--dp-rounds 0: at least 1");
        let choice = PrivacyChoice {
            epsilon,
            delta,
            method: reader.choice("dp-method", &methods)?,
            ranges: ranges.iter().map(|text| range(text)).collect::<Result<_>>()?,
            clip: reader.positive("dp-clip")?,
            rounds,
            rate,
            gradient_clip: reader.positive("dp-gradient-clip")?,
            grid: grid(reader, job)?,
            narrow: job == Job::Fit && reader.flag("standardize"),
            seed: reader.count("dp-seed").map(|seed| seed as u64),
        };
        for key in ["dp-rounds", "dp-sample", "dp-gradient-clip"] {
            let belongs = !reader.has(key) || choice.method == Some(PrivacyMethod::Gradients);
            require!(belongs, "--{key} belongs to --dp-method gradients");
        }
        refuse_leaks(reader, job)?;
        Ok(Some(choice))
    }

    /// The method that was asked for, or the one that the loss allows.
    pub fn method_for(&self, family: Family) -> Result<PrivacyMethod> {
        let allowed: Vec<PrivacyMethod> = PrivacyMethod::ALL.into_iter().filter(|m| m.suits(family)).collect();
        let Some(first) = allowed.first() else {
            refuse!(
                "--dp-epsilon: one row can change the {family} loss without limit; use --loss squared, huber, logistic, absolute, quantile \
                 or squared-hinge"
            );
        };
        let asked = self.method.unwrap_or(*first);
        require!(
            allowed.contains(&asked),
            "--dp-method {}: not for the {family} loss; that has {}",
            asked.name(),
            allowed.iter().map(|method| method.name()).collect::<Vec<_>>().join(", ")
        );
        require!(
            self.grid.is_empty() || asked == PrivacyMethod::Statistics,
            "--lambda auto: with --dp-method {} every value that is tried would be a release of its own; give --lambda NUMBER, or use \
             --dp-method statistics",
            asked.name()
        );
        Ok(asked)
    }

    /// The range of a column.
    pub fn range(&self, column: &str) -> Result<(f64, f64)> {
        let found = self.ranges.iter().find(|(name, _)| name == column);
        found.map(|(_, range)| *range).ok_or_else(|| {
            Error::Request(format!(
                "--dp-range: nothing is known about column `{column}`; give --dp-range {column}=LOW:HIGH \
                 (from what you know about it, not from these rows)"
            ))
        })
    }
}

/// Models of any class learn from public rows, which the models of a node label by votes with noise.
#[derive(Debug, Clone, PartialEq)]
pub struct VoteChoice {
    /// Epsilon.
    pub epsilon: f64,
    /// Delta.
    pub delta: f64,
    /// What is known about labels; classes need nothing.
    pub target: Option<(f64, f64)>,
    /// Teachers of a node.
    pub teachers: usize,
    /// For tests.
    pub seed: Option<u64>,
}

/// Teachers of a node, if nobody says.
const TEACHERS: usize = 10;

impl VoteChoice {
    /// What was said about models that predict `target`; `None` if nothing was.
    pub(super) fn read(reader: &Reader, classify: bool, target: &str) -> Result<Option<VoteChoice>> {
        let Some((epsilon, delta)) = promise(reader)? else { return Ok(None) };
        reader.choice("dp-method", &[("votes", ())])?;
        let ranges = reader.texts("dp-range").unwrap_or_default();
        let ranges = ranges.iter().map(|text| range(text)).collect::<Result<Vec<_>>>()?;
        let known = ranges.iter().find(|(name, _)| name == target).map(|(_, range)| *range);
        require!(
            classify || known.is_some(),
            "--dp-range: nothing is known about column `{target}`; give --dp-range {target}=LOW:HIGH (from what you know about it, not from these rows)"
        );
        for (name, _) in &ranges {
            require!(
                name == target && !classify,
                "--dp-range {name}: votes are about labels, and need ranges of nothing else"
            );
        }
        let teachers = reader.count("dp-teachers").unwrap_or(TEACHERS);
        require!(teachers > 0, "--dp-teachers 0: at least 1");
        let given = reader.number("lambda").is_some();
        require!(given, "--dp-epsilon needs --lambda NUMBER: choosing it on rows would tell about them");
        require!(
            reader.has("public"),
            "--dp-epsilon with --model needs --public FILE: rows that are nobody's, which models predict"
        );
        let seed = reader.count("dp-seed").map(|seed| seed as u64);
        for (key, why) in [
            ("standardize", "means and deviations of rows would tell about them"),
            ("validation", "errors on held-out rows would tell about them"),
            ("split-file", "errors on held-out rows would tell about them"),
            ("weight", "weights of rows would tell about them"),
            ("calibrate", "errors on rows would tell about them"),
            ("time", "the order of rows, which decides who is taught what, would follow from what is in them"),
        ] {
            require!(!reader.has(key), "--{key} does not go with --dp-epsilon: {why}");
        }
        require!(
            reader.text("missing") != Some("mean"),
            "--missing mean does not go with --dp-epsilon: means tell about rows"
        );
        Ok(Some(VoteChoice { epsilon, delta, target: known, teachers, seed }))
    }

    /// Middle and half width of the range of labels.
    pub fn range(&self) -> (f64, f64) {
        self.target.map_or((0.0, 1.0), |(low, high)| (0.5 * (low + high), 0.5 * (high - low)))
    }
}

/// Epsilon and delta, if they were asked for.
fn promise(reader: &Reader) -> Result<Option<(f64, f64)>> {
    let Some(epsilon) = reader.number("dp-epsilon") else { return Ok(None) };
    let delta = reader.number("dp-delta").unwrap_or(1e-5);
    check_privacy(epsilon, delta).map_err(|error| Error::Request(format!("--dp-epsilon, --dp-delta: {error}")))?;
    require!(delta <= 0.01, "--dp-delta {delta}: at most 0.01; it is the probability that there is no protection");
    Ok(Some((epsilon, delta)))
}

/// Settings that would let rows out by another way.
fn refuse_leaks(reader: &Reader, job: Job) -> Result<()> {
    let given = reader.number("lambda").is_some() || reader.has("lambda");
    require!(
        given,
        "--dp-epsilon needs --lambda NUMBER: choosing it on rows would tell about them; `fit --lambda auto` pays for the choice"
    );
    let standardize = "means and deviations of the rows of all parts would tell about them; `fit` pays for them";
    require!(
        job == Job::Fit || !reader.has("standardize"),
        "--standardize does not go with --dp-epsilon: {standardize}"
    );
    for (key, why) in [
        ("validation", "errors on held-out rows would tell about them"),
        ("split-file", "errors on held-out rows would tell about them"),
        ("weight", "weights of rows would tell about them"),
        ("calibrate", "errors on rows would tell about them"),
        ("folds", "errors on rows would tell about them"),
        ("time", "the order of rows, which decides who chooses lambda, would follow from what is in them"),
        ("resume", "a checkpoint holds models without noise"),
        ("loss-column", "all nodes must have the same loss"),
        ("hub", "the common mean is not released with noise"),
    ] {
        require!(!reader.has(key), "--{key} does not go with --dp-epsilon: {why}");
    }
    require!(
        reader.text("missing") != Some("mean"),
        "--missing mean does not go with --dp-epsilon: means tell about rows"
    );
    require!(
        reader.text("coupling") != Some("learnt"),
        "--coupling learnt does not go with --dp-epsilon: it looks at all rows"
    );
    Ok(())
}

/// Values of lambda to choose from, if one is to be chosen.
fn grid(reader: &Reader, job: Job) -> Result<Vec<f64>> {
    let auto = reader.has("lambda") && reader.number("lambda").is_none();
    let grid = reader.numbers_from("lambda-grid", 0.0)?;
    require!(
        grid.is_none() || auto,
        "--lambda-grid: with --dp-epsilon say --lambda auto as well, which pays for the choice"
    );
    require!(
        !auto || job == Job::Fit,
        "--lambda auto: a federation needs a number; `fit` can choose one and pay for it"
    );
    require!(
        !auto || reader.text("lambda-rule").is_none(),
        "--lambda-rule does not go with --dp-epsilon: there are no errors to apply it to"
    );
    Ok(if auto { grid.unwrap_or_else(|| GRID.to_vec()) } else { Vec::new() })
}

/// `column=low:high`.
fn range(text: &str) -> Result<(String, (f64, f64))> {
    let parsed = text.rsplit_once('=').and_then(|(name, ends)| {
        let (low, high) = ends.split_once(':')?;
        Some((name.to_owned(), (low.trim().parse::<f64>().ok()?, high.trim().parse::<f64>().ok()?)))
    });
    match parsed {
        Some((name, (low, high))) if low < high && (high - low).is_finite() => Ok((name, (low, high))),
        _ => refuse!("--dp-range {text}: expected COLUMN=LOW:HIGH with LOW below HIGH, e.g. age=0:100"),
    }
}
