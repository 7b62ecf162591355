//! The file of a part from its plan, so that reading it gives the same plan again.

use std::path::PathBuf;

use fedweave::loss::{Family, NodeWeight};
use fedweave::model::ModelSpec;

use super::file::{
    CertificateSection, CouplingSection, EdgeEntry, FederationSection, NeighbourEntry, NodeEntry, PartFile,
    SilenceSection,
};
use super::model::ModelSection;
use super::privacy::PrivacySection;
use crate::plan::{MethodSpec, PenaltyKind, Plan};

/// What the file of a part says besides its plan. Paths are relative to the folder of the file.
pub struct Placement<'a> {
    /// `host:port` to listen on.
    pub listen: String,
    /// Address of the metrics.
    pub metrics: Option<String>,
    /// Its certificates.
    pub certificates: Option<CertificateSection>,
    /// The address of a neighbour, if this part dials it.
    pub endpoint: &'a dyn Fn(&str) -> Option<String>,
    /// Number of parts of the federation.
    pub parts: u32,
    /// The table with its rows: columns `node`, the features, `target`, `weight`.
    pub rows: PathBuf,
    /// Names of the features, without the intercept.
    pub features: Vec<String>,
    /// Noise that protects every row.
    pub privacy: Option<PrivacySection>,
    /// For models of any class.
    pub models: Option<ModelPlacement<'a>>,
}

/// What the file of a part with models of any class says besides its plan.
pub struct ModelPlacement<'a> {
    /// The table with the public rows.
    pub public: PathBuf,
    /// The seed that all random numbers follow from.
    pub seed: u64,
    /// The number of a node in the whole network, which decides about its own random numbers.
    pub number: &'a dyn Fn(&str) -> Option<u32>,
}

impl PartFile {
    /// The file of the part with this plan. Its loss must be the same at all nodes.
    pub fn of(plan: &Plan, place: &Placement<'_>) -> PartFile {
        let neighbour = |name: &String| NeighbourEntry { name: name.clone(), endpoint: (place.endpoint)(name) };
        PartFile {
            name: plan.name.clone(),
            listen: place.listen.clone(),
            state: "state".into(),
            metrics: place.metrics.clone(),
            certificates: place.certificates.clone(),
            federation: FederationSection::of(plan, place.parts),
            coupling: plan.coupling.as_ref().map(CouplingSection::of),
            silence: SilenceSection::of(&plan.patience),
            model: ModelSection::of(plan, place),
            privacy: place.privacy.clone(),
            nodes: place.models.as_ref().map_or_else(Vec::new, |models| node_entries(plan, models)),
            neighbours: plan.peers.iter().map(neighbour).collect(),
            edges: plan.edges.iter().map(|edge| EdgeEntry::of(edge, &plan.peers)).collect(),
        }
    }

    /// The text of the file.
    pub fn to_toml(&self) -> Result<String, toml::ser::Error> {
        toml::to_string(self)
    }
}

impl ModelSection {
    fn of(plan: &Plan, place: &Placement<'_>) -> ModelSection {
        let family = plan.loss.family(0);
        let section = ModelSection {
            nodes: (!plan.data.is_empty()).then(|| place.rows.clone()),
            target: (family != Family::Point).then(|| "target".into()),
            features: Some(place.features.clone()),
            weight: Some("weight".into()),
            lambda: plan.coupling.is_none().then_some(plan.lambda),
            ..ModelSection::default()
        };
        match (&place.models, plan.method) {
            (Some(models), MethodSpec::FedRelaxPredictions { both, plain }) => ModelSection {
                public: Some(models.public.clone()),
                judged_on: both.then(|| "both".into()),
                row_weights: plain.then(|| "plain".into()),
                seed: (models.seed != 0).then_some(models.seed),
                ..section
            },
            _ => section.with_loss(plan, family),
        }
    }

    /// What is the default may be left out.
    fn with_loss(self, plan: &Plan, family: Family) -> ModelSection {
        let options = &plan.loss_options;
        ModelSection {
            loss: (family != Family::Squared).then(|| family.to_string()),
            huber_delta: match family {
                Family::Huber { delta } => Some(delta),
                _ => None,
            },
            quantile: match family {
                Family::Quantile { q } => Some(q),
                _ => None,
            },
            ridge: (options.ridge != 0.0).then_some(options.ridge),
            lasso: (options.lasso != 0.0).then_some(options.lasso),
            no_intercept: family != Family::Point && !options.spare_last,
            node_weight: (options.node_weight != NodeWeight::Equal).then(|| "rows".into()),
            penalty: (plan.penalty != PenaltyKind::Norm2 && plan.coupling.is_none())
                .then(|| plan.penalty.name().into()),
            ..self
        }
    }
}

/// The models of a part's nodes, and their numbers in the whole network.
fn node_entries(plan: &Plan, place: &ModelPlacement<'_>) -> Vec<NodeEntry> {
    let Some(models) = &plan.models else { return Vec::new() };
    let entry = |(name, spec): (&String, &ModelSpec)| NodeEntry {
        name: name.clone(),
        model: Some(spec.to_string()),
        number: (place.number)(name),
    };
    plan.nodes.iter().zip(&models.specs).map(entry).collect()
}
