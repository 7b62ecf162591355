//! The files of every part: rows, public rows, settings.

use std::path::Path;

use fedweave::loss::{Family, LossSpec};
use fedweave::model::relax::PublicRows;
use fedweave_io::{RunWriter, csv_line};

use super::error::LaunchError;
use super::ports::Seat;
use super::prepare::LaunchOptions;
use crate::config::{CertificateSection, ModelPlacement, PartFile, Placement};
use crate::models::PublicSets;
use crate::network::Network;
use crate::plan::Plan;

const ROWS: &str = "rows.csv";
const PUBLIC: &str = "public.csv";

/// What the files of parts are made from.
pub struct Desk<'a> {
    pub network: &'a Network,
    pub options: &'a LaunchOptions,
    pub plans: &'a [Plan],
    pub seats: &'a [Seat],
}

impl Desk<'_> {
    /// Writes the folder of part `k`.
    pub fn write_part(&self, k: usize, folder: &Path) -> Result<(), LaunchError> {
        let plan = &self.plans[k];
        let writer = RunWriter::create(folder, false, &[])?;
        let point = matches!(plan.loss, LossSpec::Same(Family::Point));
        let file = self.part_file(k);
        let features = file.model.features.as_deref().unwrap_or_default();
        let names = features.iter().map(String::as_str);
        let target = (!point).then_some("target");
        let header: Vec<&str> = ["node"].into_iter().chain(names).chain(target).chain(["weight"]).collect();
        let data = &plan.data;
        let rows = plan.nodes.iter().enumerate().flat_map(|(i, name)| {
            data.rows(i).zip(data.weights(i)).map(move |(row, weight)| {
                let label = (!point).then(|| exact(&data.y()[row]));
                let x = data.x(row)[..features.len()].iter().map(exact);
                std::iter::once(name.clone()).chain(x).chain(label).chain([exact(weight)]).collect::<Vec<_>>()
            })
        });
        writer.write_csv(ROWS, &header, rows)?;
        writer.write_text("node.toml", &file.to_toml()?)?;
        writer.finish()?;
        Ok(())
    }

    fn part_file(&self, k: usize) -> PartFile {
        let Desk { network, options, plans, seats } = *self;
        let name = &plans[k].name;
        let certificates = || CertificateSection {
            authority: "../certs/ca.pem".into(),
            certificate: format!("../certs/{name}.pem").into(),
            key: format!("../certs/{name}.key").into(),
            revoked: Some("../certs/crl.pem".into()),
        };
        // Of two neighbours the earlier one dials.
        let endpoint = |name: &str| {
            let place = plans.iter().position(|plan| plan.name == name);
            place.filter(|q| k < *q).map(|q| seats[q].endpoint.clone())
        };
        let number = |name: &str| {
            let place = network.names.binary_search_by(|other| other.as_str().cmp(name));
            place.ok().and_then(|i| u32::try_from(i).ok())
        };
        let models = network.models.as_ref().map(|_| ModelPlacement {
            public: Path::new("..").join(PUBLIC),
            seed: options.seed,
            number: &number,
        });
        let place = Placement {
            listen: seats[k].endpoint.clone(),
            metrics: Some(seats[k].metrics.clone()),
            certificates: (!options.loopback_plaintext).then(certificates),
            endpoint: &endpoint,
            parts: plans.len() as u32,
            rows: ROWS.into(),
            features: columns(network),
            privacy: options.privacy.clone(),
            models,
        };
        PartFile::of(&plans[k], &place)
    }
}

/// Names of the features in the files; the intercept is no column.
fn columns(network: &Network) -> Vec<String> {
    let mut names = network.features();
    names.truncate(network.data.dim() - usize::from(network.has_intercept()));
    names
}

/// The shortest text that reads back as the same number.
fn exact(v: &f64) -> String {
    format!("{v:?}")
}

/// Public rows, if there are any: one file for all parts.
pub fn write_public(work: &Path, network: &Network) -> Result<(), LaunchError> {
    let Some(models) = &network.models else { return Ok(()) };
    let lines = |rows: &PublicRows, name: Option<&String>| -> String {
        let line = |r: usize| csv_line(name.cloned().into_iter().chain(rows.x().row(r).iter().map(exact)));
        (0..rows.len()).map(line).collect()
    };
    let text = match &*models.public {
        PublicSets::Common(rows) => csv_line(columns(network)) + &lines(rows, None),
        PublicSets::PerNode(sets) => {
            let header = csv_line(["node".into()].into_iter().chain(columns(network)));
            sets.iter().fold(header, |text, (name, rows)| text + &lines(rows, Some(name)))
        }
    };
    let path = work.join(PUBLIC);
    std::fs::write(&path, text).map_err(|error| LaunchError::File { path, error })
}
