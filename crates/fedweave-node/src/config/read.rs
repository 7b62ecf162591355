//! What the file of a part means: a [`Plan`] for the state machine, a [`Link`] for the network, and folders.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use fedweave::loss::{Family, LossOptions, LossSpec};
use fedweave_io::TomlFile;

use super::error::{Checked, ConfigError, ConfigFault, out_of_range};
use super::file::{CertificateSection, CouplingSection, EdgeEntry, NeighbourEntry, PartFile};
use super::model::{Parametric, refuse_foreign};
use super::privacy::PrivacySection;
use super::rows::{models, rows};
use crate::certs::{Credentials, check_name};
use crate::coupling::CouplingPlan;
use crate::plan::{ON_PREDICTIONS, PenaltyKind, Plan};
use crate::transport::{Link, Neighbour};

/// Where the keys of the file are explained.
const HINT: &str = "see docs/guide/federation.md";

/// A part that can be started.
pub struct PartSettings {
    /// For the state machine.
    pub plan: Plan,
    /// For the network.
    pub link: Link,
    /// Where to listen.
    pub listen: String,
    /// Whom to talk to, in the order of the plan's peers.
    pub neighbours: Vec<Neighbour>,
    /// Folder for checkpoints, log and result.
    pub state: PathBuf,
    /// Noise that protects every row, and the file in which it is paid for.
    pub privacy: Option<(PrivacySection, PathBuf)>,
    /// Where to answer questions.
    pub metrics: Option<SocketAddr>,
    /// Names of the features, intercept last if there is one.
    pub features: Vec<String>,
    /// The column that names nodes.
    pub node_column: String,
    /// The column that is predicted.
    pub target: Option<String>,
}

impl PartFile {
    /// Reads the file; what is wrong is told with its line.
    pub fn read(path: &Path) -> Result<PartFile, ConfigError> {
        let file = TomlFile::open(path, HINT)?;
        refuse_foreign(&file)?;
        Ok(file.parse()?)
    }

    /// Where the metrics of the part are.
    pub fn metrics_address(&self) -> Result<Option<SocketAddr>, ConfigFault> {
        let Some(text) = &self.metrics else { return Ok(None) };
        let wrong = |needs| Err(out_of_range("metrics", format!("{text:?}"), needs));
        match text.parse::<SocketAddr>() {
            Ok(address) if address.ip().is_loopback() => Ok(Some(address)),
            Ok(_) => wrong("for this machine only; write 127.0.0.1:PORT"),
            Err(_) => wrong("write 127.0.0.1:PORT"),
        }
    }
}

impl PartSettings {
    /// Reads the file of a part, the rows, certificates and public rows that it names, and checks them.
    pub fn read(path: &Path, loopback_plaintext: bool) -> Result<PartSettings, ConfigError> {
        let file = PartFile::read(path)?;
        let folder = path.parent().unwrap_or(Path::new("."));
        let refused = |fault| ConfigError::Refused { path: path.to_path_buf(), fault: Box::new(fault) };
        PartSettings::of(file, folder, loopback_plaintext).map_err(refused)
    }

    fn of(mut file: PartFile, folder: &Path, loopback_plaintext: bool) -> Checked<PartSettings> {
        check_names(&file)?;
        for path in [&mut file.model.nodes, &mut file.model.public].into_iter().flatten() {
            *path = folder.join(&path);
        }
        let link = link(&file, folder, loopback_plaintext)?;
        let endpoints = file.neighbours.iter().filter_map(|n| n.endpoint.as_deref());
        endpoints.chain([file.listen.as_str()]).try_for_each(|endpoint| link.check(endpoint))?;
        let (plan, features) = plan(&file, &link)?;
        if let Some(privacy) = &file.privacy {
            privacy.check(&plan, features.len())?;
        }
        let neighbour = |n: &NeighbourEntry| Neighbour { name: n.name.clone(), endpoint: n.endpoint.clone() };
        Ok(PartSettings {
            plan,
            features,
            link,
            node_column: file.model.node_column().into(),
            target: file.model.target.clone(),
            neighbours: file.neighbours.iter().map(neighbour).collect(),
            state: folder.join(&file.state),
            metrics: file.metrics_address()?,
            // Beside the file of the part: who removes the state to start anew keeps it.
            privacy: file.privacy.clone().map(|privacy| (privacy, folder.join("ledger.json"))),
            listen: file.listen,
        })
    }
}

fn check_names(file: &PartFile) -> Checked<()> {
    check_name(&file.name)?;
    let mut seen = BTreeSet::new();
    for NeighbourEntry { name, .. } in &file.neighbours {
        check_name(name)?;
        if *name == file.name {
            return Err(ConfigFault::OwnNeighbour { name: name.clone() });
        }
        if !seen.insert(name) {
            return Err(ConfigFault::Twice { entry: "neighbour", name: name.clone() });
        }
    }
    Ok(())
}

fn link(file: &PartFile, folder: &Path, loopback_plaintext: bool) -> Checked<Link> {
    let name = &file.name;
    match (&file.certificates, loopback_plaintext) {
        (Some(_), true) => Err(ConfigFault::TwoWays),
        (None, true) => Ok(Link::LoopbackPlaintext { name: name.clone() }),
        (None, false) => Err(ConfigFault::NoCertificates),
        (Some(CertificateSection { authority, certificate, key, revoked }), false) => {
            let at = |path: &PathBuf| folder.join(path);
            let revoked = revoked.as_ref().map(at);
            let credentials = Credentials::load(name, &at(certificate), &at(key), &at(authority), revoked.as_deref())?;
            Ok(Link::Tls(credentials))
        }
    }
}

/// The plan of a part, and the names of its features.
fn plan(file: &PartFile, link: &Link) -> Checked<(Plan, Vec<String>)> {
    let shared = &file.federation;
    let on_predictions = shared.on_predictions();
    if !on_predictions && !file.nodes.is_empty() {
        return Err(ConfigFault::Belongs { key: "[[node]]", owner: format!("method {ON_PREDICTIONS}") });
    }
    let (lambda, parametric) = match (&file.coupling, on_predictions) {
        (Some(coupling), _) => (1.0, coupled(file, coupling)?),
        (None, true) => (file.model.checked_lambda()?, any_class(file)?),
        (None, false) => (file.model.checked_lambda()?, file.model.parametric()?),
    };
    let Parametric { family, options, penalty } = parametric;
    let spec = file.model.input(if on_predictions { None } else { Some(family) })?;
    let inside = |e: &&EdgeEntry| e.part.as_ref().is_none_or(|part| *part == file.name);
    let far_ends = file.edges.iter().filter(inside).map(|e| e.neighbour.as_str());
    let own: BTreeSet<&str> = file.edges.iter().map(|e| e.node.as_str()).chain(far_ends).collect();
    let rows = rows(&file.model, &spec, &own)?;
    let models = match &file.model.public {
        Some(public) if on_predictions => Some(models(file, &rows, public)?),
        None if on_predictions => {
            let remedy = "which rows are predictions compared on?";
            return Err(ConfigFault::Missing { key: "model.public", remedy });
        }
        _ => None,
    };
    let peers: Vec<String> = file.neighbours.iter().map(|n| n.name.clone()).collect();
    let edge = |(k, entry): (usize, &EdgeEntry)| entry.edge(k, &file.name, &peers);
    let plan = Plan {
        name: file.name.clone(),
        federation: 0,
        edges: file.edges.iter().enumerate().map(edge).collect::<Checked<_>>()?,
        loss: if on_predictions { LossSpec::Same(family) } else { shared.loss(family)? },
        loss_options: shared.loss_options(options)?,
        penalty,
        lambda,
        method: shared.method(&file.model)?,
        stop: shared.stop()?,
        patience: file.silence.patience()?,
        nodes: rows.nodes,
        data: rows.data,
        peers,
        models,
        coupling: file.coupling.as_ref().map(CouplingSection::plan),
        // Comes from the ledger, when the part begins.
        noise: None,
    };
    let federation = plan.agreement(&link.identity().federation, &rows.features);
    Ok((Plan { federation, ..plan }, rows.features))
}

/// Loss and penalty while the coupling is still to be learnt.
fn coupled(file: &PartFile, coupling: &CouplingSection) -> Checked<Parametric> {
    let model = &file.model;
    let given = [
        ("model.lambda", model.lambda.is_some()),
        ("model.penalty", model.penalty.is_some()),
        ("model.ridge", model.ridge.is_some()),
        ("model.lasso", model.lasso.is_some()),
        ("model.node-weight", model.node_weight.is_some()),
        ("method fedrelax-predictions", file.federation.on_predictions()),
    ];
    if let Some((key, _)) = given.into_iter().find(|(_, given)| *given) {
        return Err(ConfigFault::Belongs { key, owner: "a coupling that is given; [coupling] is learnt".into() });
    }
    if coupling.members.len() != file.federation.parts as usize {
        let needs = "the names of all parts, as many as federation.parts";
        return Err(out_of_range("coupling.members", format!("{:?}", coupling.members), needs));
    }
    Ok(Parametric { penalty: PenaltyKind::Squared, ..model.parametric()? })
}

impl CouplingSection {
    /// What a plan says in this section.
    pub fn of(plan: &CouplingPlan) -> Self {
        CouplingSection { hub: plan.hub.clone(), members: plan.members.clone() }
    }

    fn plan(&self) -> CouplingPlan {
        CouplingPlan { hub: self.hub.clone(), members: self.members.clone(), learnt: None, links: Vec::new() }
    }
}

/// Loss and penalty of models of any class, which have neither.
fn any_class(file: &PartFile) -> Checked<Parametric> {
    file.model.check_any_class()?;
    Ok(Parametric { family: Family::Squared, options: LossOptions::default(), penalty: PenaltyKind::Squared })
}
