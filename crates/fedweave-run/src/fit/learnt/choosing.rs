//! Which couplings are learnt: structures of the covariance, and what a difference of models costs.

use fedweave::Dataset;
use fedweave::learn::coupling::{
    Blend, CouplingOptions, Fold, Form, FormChoice, FormScore, Found, Structure, blend, choose_form, has_likelihood,
    search,
};
use fedweave::loss::{Family, LossSpec};
use fedweave_io::Input;

use crate::error::{Result, require};
use crate::request::FitRequest;
use crate::request::coupling::StructureChoice;

/// Folds that structures are weighed by.
const FOLDS: usize = 5;

/// What to use, and how that was found.
pub(crate) struct Chosen {
    /// Couplings and their shares.
    pub blend: Blend,
    /// Probability of a likelihood ratio as large if the graph did not matter.
    pub p_value: Option<f64>,
    /// How they were found, in words.
    pub chosen_by: &'static str,
    /// What a difference of models costs.
    pub form: Form,
    /// What competed with it.
    pub forms: Vec<FormScore>,
}

/// Structures averaged by folds, or the one that was asked for. Where rows are held out together (the same hours at all
/// nodes), folds do the same: errors that nodes share mislead the likelihood.
pub(crate) fn choose(request: &FitRequest, input: &Input, data: &Dataset, groups: Option<&[u32]>) -> Result<Chosen> {
    let (graph, intercept) = (&input.graph, request.model.intercept());
    let LossSpec::Same(family) = request.model.loss(input)? else { unreachable!("one loss for all nodes") };
    let mut options = CouplingOptions { family, intercept, ..CouplingOptions::default() };
    match request.structure {
        StructureChoice::One(structure) => options.structures = vec![structure],
        StructureChoice::LowRank => options.structures = vec![low_rank(data)?],
        StructureChoice::Average | StructureChoice::Likelihood => (),
    }
    if !has_likelihood(family) {
        let folds = Fold::deal(data, groups, FOLDS, request.held_out.seed);
        return searched(search(graph, data, &options, &folds)?, groups);
    }
    let folds = match request.structure {
        StructureChoice::Average => Fold::deal(data, groups, FOLDS, request.held_out.seed),
        _ => Vec::new(),
    };
    let mut blend = blend(graph, data, &options, &folds, groups)?;
    let chosen_by = blend.members[0].error.map_or("the likelihood of all rows", |_| by_folds(groups));
    let p_value = blend.graph.map(|test| test.p_value);
    let (form, forms) = match request.form {
        FormChoice::Quadratic => (Form::Quadratic, Vec::new()),
        choice => {
            let folds = Fold::deal(data, groups, FOLDS, request.held_out.seed);
            choose_form(blend.lead(), graph, data, &folds, choice)?
        }
    };
    if form != Form::Quadratic {
        // A bounded coupling is one problem: that of the largest member.
        blend = Blend::of(blend.members.swap_remove(0).coupling);
    }
    Ok(Chosen { p_value, blend, chosen_by, form, forms })
}

/// A diagonal covariance and as many directions in common as nodes can tell, at least one.
fn low_rank(data: &Dataset) -> Result<Structure> {
    let (d, nodes) = (data.dim(), (0..data.nodes()).filter(|i| !data.rows(*i).is_empty()).count());
    require!(d > 2, "--structure low-rank needs three parameters at least: with {d}, `full` is the same or smaller");
    Ok(Structure::low_rank(d, nodes).unwrap_or(Structure::LowRank(1)))
}

fn by_folds(groups: Option<&[u32]>) -> &'static str {
    if groups.is_some() { "folds that hold out the same groups at all nodes" } else { "folds" }
}

/// What was found by folds alone.
fn searched(found: Found, groups: Option<&[u32]>) -> Result<Chosen> {
    let mut blend = Blend::of(found.coupling);
    blend.members[0].error = Some(found.error);
    Ok(Chosen { blend, p_value: None, chosen_by: by_folds(groups), form: Form::Quadratic, forms: Vec::new() })
}

/// Losses without a likelihood have one structure and one form.
pub(super) fn check_search(family: Family, request: &FitRequest) -> Result<()> {
    let by_likelihood = has_likelihood(family);
    let plain = request.form == FormChoice::Quadratic && request.structure == StructureChoice::Average;
    require!(
        by_likelihood || plain,
        "--structure and --coupling-penalty need a loss with a likelihood (squared, logistic, poisson), not {family}, whose \
         coupling is found by folds"
    );
    Ok(())
}
