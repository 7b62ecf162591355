//! How well the models of a running part do on rows that it has not trained with, for its owner's eyes: the file may grow while the part runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use fedweave::loss::{Loss, LossOptions, LossSpec};
use fedweave::tune::Errors;
use fedweave::{Dataset, Matrix};
use fedweave_io::{Encoding, Rows, load_rows};

use super::ProcessError;
use crate::config::{PartSettings, plain_encoding};
use crate::run::Judged;

/// Rows that judge.
pub(super) struct Unseen {
    path: PathBuf,
    encoding: Encoding,
    nodes: Vec<String>,
    loss: LossSpec,
    training: Box<dyn Loss>,
    /// Rows of the file when the part began.
    first: usize,
    changed: Option<SystemTime>,
    /// All rows, and those that came since.
    rows: (Box<dyn Loss>, Box<dyn Loss>),
}

impl Unseen {
    /// The rows of a file with the columns of the part's own.
    pub fn open(path: &Path, settings: &PartSettings) -> Result<Unseen, ProcessError> {
        let refused = |why: &'static str| Err(ProcessError::Unseen { path: path.into(), why: why.into() });
        let plan = &settings.plan;
        if settings.privacy.is_some() {
            return refused("does not go with [privacy]: errors on rows would tell about them");
        }
        if plan.models.is_some() || plan.coupling.is_some() {
            return refused("judges models with parameters, with a coupling that is given");
        }
        let Some(target) = settings.target.clone() else { return refused("there is nothing to predict") };
        let intercept = plan.loss_options.spare_last;
        let columns = settings.features.len() - usize::from(intercept);
        let encoding = plain_encoding(&settings.node_column, &settings.features[..columns]);
        let encoding = Encoding { target: Some(target), intercept, ..encoding };
        let (first, rows) = read(path, &encoding, &plan.nodes, &plan.loss, None)?;
        let training = plan.loss.build(plan.data.clone(), &LossOptions::default()).map_err(crate::Error::from)?;
        let (nodes, loss) = (plan.nodes.clone(), plan.loss.clone());
        Ok(Unseen { path: path.into(), encoding, nodes, loss, training, first, changed: changed(path), rows })
    }

    /// Judges models; the file is read again when it has changed.
    pub fn judge(&mut self, models: &Matrix) -> Judged {
        let now = changed(&self.path);
        if now != self.changed {
            // A line that is being written is read next time.
            if let Ok((_, rows)) = read(&self.path, &self.encoding, &self.nodes, &self.loss, Some(self.first)) {
                (self.rows, self.changed) = (rows, now);
            }
        }
        let error = |loss: &dyn Loss| Errors::of(loss, models).mean();
        Judged { training: error(&*self.training), validation: error(&*self.rows.0), new: error(&*self.rows.1) }
    }
}

fn changed(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|file| file.modified()).ok()
}

type Losses = (Box<dyn Loss>, Box<dyn Loss>);

/// All rows of a file, and those after the `first` ones; how many there are.
fn read(
    path: &Path,
    encoding: &Encoding,
    nodes: &[String],
    loss: &LossSpec,
    first: Option<usize>,
) -> Result<(usize, Losses), ProcessError> {
    let refused = |why: String| ProcessError::Unseen { path: path.into(), why };
    let found = load_rows(path, encoding)?;
    let Rows { node, x, y: Some(y), .. } = &found else { return Err(refused("the target is missing".into())) };
    let place = |name: &String| {
        nodes.binary_search(name).map_err(|_| refused(format!("node `{name}` is not one of this part")))
    };
    let places = node.iter().map(place).collect::<Result<Vec<_>, _>>()?;
    let all: Vec<usize> = (0..node.len()).filter(|&r| !y[r].is_nan()).collect();
    let build = |rows: &[usize]| {
        let entries = rows.iter().flat_map(|&r| x.row(r)).copied().collect();
        let (of, labels): (Vec<usize>, Vec<f64>) = rows.iter().map(|&r| (places[r], y[r])).unzip();
        let data =
            Dataset::group(nodes.len(), &of, &Matrix::from_rows(x.cols(), entries), &labels, &vec![1.0; of.len()]);
        let built = data.and_then(|(data, _)| loss.build(data, &LossOptions::default()));
        built.map_err(|error| ProcessError::Plan(error.into()))
    };
    let start = first.unwrap_or(all.len()).min(all.len());
    Ok((all.len(), (build(&all)?, build(&all[start..])?)))
}
