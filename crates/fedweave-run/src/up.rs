//! A fit by a federation of processes: from a request to a network, and from what its parts found to the result of a fit.
//!
//! Starting the processes, and waiting for them, is up to the caller ([`fedweave_node::launch`]).

pub(crate) mod coupling;

use std::sync::Arc;

use fedweave::loss::{Family, LossOptions, LossSpec};
use fedweave::model::relax::{Relax, RelaxOptions, Start, Weighting, seed_of};
use fedweave::model::{Fitted, Local, LocalModel, ModelSpec, Task};
use fedweave::solve::{JudgedOn, safe_step};
use fedweave::{Dataset, Graph, Problem};
use fedweave_io::{Input, Noise};
use fedweave_node::config::PrivacySection;
use fedweave_node::launch::{Collected, CollectedModels, LaunchOptions, certify_collected};
use fedweave_node::{DeadPolicy, Hub, MethodSpec, Models, Network, Patience, PenaltyKind, PublicSets, hub_name};

use crate::checks::{check, tame_runaway};
use crate::error::{Error, Result, refuse, require};
use crate::fit::{Descent, FitResult, Protection, Solved, build, finish, silent};
use crate::model_file::model_file;
use crate::predictor::named;
use crate::relax::{ModelRows, RelaxResult, RelaxStatus, VoteProtection, errors, specs, task};
use crate::request::privacy::PrivacyMethod;
use crate::request::settings::choice;
use crate::request::up::{LaunchChoice, UpMethod, UpRequest};
use crate::request::{FitRequest, RelaxRequest};
use crate::training::TrainingRows;
use crate::wording::number;

/// How the network becomes processes.
pub fn launch_options(choice: &LaunchChoice) -> LaunchOptions {
    LaunchOptions {
        parts: choice.parts,
        work: choice.work.clone(),
        hosts: choice.hosts.clone(),
        port: choice.port,
        loopback_plaintext: choice.loopback_plaintext,
        record_frames: choice.record_frames,
        privacy: None,
        seed: choice.seed,
    }
}

fn patience(launch: &LaunchChoice) -> Result<Patience> {
    let policy = choice("--policy", launch.policy.as_deref(), &DeadPolicy::NAMES)?;
    Ok(Patience { policy, ..Patience::default() })
}

/// A fit that waits for its processes.
pub struct FederatedFit {
    /// What the processes are to do.
    pub network: Network,
    request: UpRequest,
    input: Input,
    loss: LossSpec,
    /// The problem and its rows; `None` before the parts have learnt the coupling.
    given: Option<(Problem, TrainingRows)>,
    protection: Option<Protection>,
    /// Parts descend by noisy gradients.
    descent: Option<Descent>,
}

impl FederatedFit {
    /// Checks the data and describes the network.
    pub fn new(mut request: UpRequest, mut input: Input, launch: &LaunchChoice) -> Result<Self> {
        let model = &request.fit.model;
        let loss = model.loss(&input)?;
        check(model, &input, &loss)?;
        let Some(lambda) = request.lambda else {
            let network = coupling::network(&request, &input, &loss, launch)?;
            return Ok(FederatedFit { network, request, input, loss, given: None, protection: None, descent: None });
        };
        if let Some(family) = on_gradients(&request.fit, &loss)? {
            return FederatedFit::descending(request, input, loss, family, lambda, launch);
        }
        let protection = protection(&request.fit, &input, &loss)?;
        let training = TrainingRows::new(model, input.data.clone());
        if protection.is_none() {
            tame_runaway(&mut request.fit.model, &mut input, &loss, &training.scaled, lambda)?;
        }
        let model = &request.fit.model;
        let problem = build(&request.fit, &input, &loss, training.scaled.clone(), lambda)?;
        let name = model.penalty.name();
        let Some(penalty) = PenaltyKind::named(name) else {
            refuse!("--penalty {name}: a federation knows norm2, norm1, norminf and squared");
        };
        let Whole { names, graph, data } = whole(&request, &input, &training)?;
        let node_weight = model.options.node_weight.resolved(&data);
        let network = Network {
            names,
            graph,
            data,
            loss: loss.clone(),
            loss_options: LossOptions { node_weight, ..model.options },
            penalty,
            lambda,
            method: method(&request, &problem)?,
            rounds_max: request.rounds.unwrap_or(request.fit.solve.iterations_max) as u64,
            tolerance: request.rounds.is_none().then_some(request.fit.solve.tolerance),
            patience: patience(launch)?,
            models: None,
            hub: request.fit.hub.map(|_| Hub::Given),
        };
        let mut given = (problem, training);
        if protection.is_some() {
            // Parts have the rows; what is judged and shown here knows none.
            input.notices.reading.clear();
            let nothing = input.data.select(&vec![false; input.data.len()]);
            input.data = nothing.clone();
            let problem = build(&request.fit, &input, &loss, nothing.clone(), lambda)?;
            given = (problem, TrainingRows { rows: nothing.clone(), scaled: nothing, scaling: None, whitening: None });
        }
        Ok(FederatedFit { network, request, input, loss, given: Some(given), protection, descent: None })
    }

    /// Parts that descend by noisy gradients.
    fn descending(
        request: UpRequest,
        mut input: Input,
        loss: LossSpec,
        family: Family,
        lambda: f64,
        launch: &LaunchChoice,
    ) -> Result<Self> {
        require!(
            matches!(request.method, UpMethod::PrimalDual(..)) && request.rounds.is_none(),
            "--dp-method gradients: leave out --solver and --rounds; parts descend for --dp-rounds rounds"
        );
        let descent = Descent::new(&request.fit, &input, family, lambda, &mut Noise::new(None))?;
        let network = Network {
            names: input.names.clone(),
            graph: input.graph.clone(),
            data: descent.data.clone(),
            loss: loss.clone(),
            loss_options: descent.options,
            penalty: PenaltyKind::Squared,
            lambda,
            method: MethodSpec::NoisyFedGd { step: descent.step },
            rounds_max: descent.protection.rounds() as u64,
            tolerance: None,
            patience: patience(launch)?,
            models: None,
            hub: None,
        };
        input.notices.reading.clear();
        let nothing = input.data.select(&vec![false; input.data.len()]);
        input.data = nothing.clone();
        let problem = build(&request.fit, &input, &loss, nothing.clone(), lambda)?;
        let scaling = Some(descent.scaling());
        let training = TrainingRows { rows: nothing.clone(), scaled: nothing, scaling, whitening: None };
        let protection = Some(descent.protection.clone());
        let (given, descent) = (Some((problem, training)), Some(descent));
        Ok(FederatedFit { network, request, input, loss, given, protection, descent })
    }

    /// The result, judged with all rows in sight.
    pub fn finish(self, collected: Collected, seconds: f64) -> Result<FitResult> {
        let FederatedFit { network, request, input, loss, given, protection, descent } = self;
        let Some((problem, training)) = given else {
            return coupling::result(request, input, loss, &network, collected, seconds);
        };
        let (mut solution, traffic) = certify_collected(&problem, collected, &network.method, &request.fit.solve);
        descent.iter().for_each(|descent| descent.restore_labels(&mut solution.w));
        let solved = match protection {
            Some(_) => Solved { solution: silent(solution), traffic: None, seconds },
            None => Solved { solution, traffic: Some(traffic), seconds },
        };
        let result = finish(request.fit, input, loss, problem, training, solved);
        Ok(FitResult { protection, ..result })
    }

    /// How parts protect their rows.
    pub fn privacy(&self) -> Option<PrivacySection> {
        let section = self.protection.as_ref().map(|protection| protection.section(&self.input));
        match &self.descent {
            Some(descent) => section.map(|section| descent.section(section)),
            None => section,
        }
    }
}

/// What a part that lies could do to the others, in words; `None` where that is much work, or would tell about protected rows.
pub fn liar_words(fit: &FitResult) -> Option<String> {
    Some(match fit.worst_liar()? {
        Ok((node, bound)) => format!(
            "a node that lies could move all other models together by at most {} (Euclidean norm): `{}`",
            number(bound),
            fit.input.names[node]
        ),
        Err(why) => format!("no bound on what a node that lies could do to the others: {why}"),
    })
}

/// The loss, if parts are to descend by noisy gradients.
fn on_gradients(request: &FitRequest, loss: &LossSpec) -> Result<Option<Family>> {
    let (Some(choice), LossSpec::Same(family)) = (&request.privacy, loss) else { return Ok(None) };
    Ok((choice.method_for(*family)? == PrivacyMethod::Gradients).then_some(*family))
}

/// Parts release statistics.
fn protection(request: &FitRequest, input: &Input, loss: &LossSpec) -> Result<Option<Protection>> {
    let Some(choice) = &request.privacy else { return Ok(None) };
    let LossSpec::Same(family) = loss else { refuse!("--dp-epsilon: all nodes must have the same loss") };
    let statistics = choice.method_for(*family)? == PrivacyMethod::Statistics;
    require!(
        statistics,
        "--dp-epsilon: a federation protects rows by --dp-method statistics (squared loss) or gradients; the other methods need to see all rows"
    );
    Ok(Some(Protection::of_statistics(request, input)?.0))
}

/// Nodes, edges and rows of a network.
struct Whole {
    names: Vec<String>,
    graph: Graph,
    data: Dataset,
}

/// The network, with a common mean if one was asked for.
fn whole(request: &UpRequest, input: &Input, training: &TrainingRows) -> Result<Whole> {
    let mut names = input.names.clone();
    let Some(share) = request.fit.hub else {
        return Ok(Whole { names, graph: input.graph.clone(), data: training.scaled.clone() });
    };
    names.push(hub_name(&input.names).map_err(|e| Error::Request(e.to_string()))?);
    Ok(Whole { names, graph: input.graph.with_hub(share)?, data: training.scaled.with_hub() })
}

fn method(request: &UpRequest, problem: &Problem) -> Result<MethodSpec> {
    let no_step = "--step: a loss without a smoothness constant has no step that never diverges; give one";
    let safe = |step: Option<f64>| step.or_else(|| safe_step(problem)).ok_or_else(|| Error::request(no_step));
    Ok(match request.method {
        UpMethod::PrimalDual(step_ratio, relaxation) => MethodSpec::PrimalDual { step_ratio, relaxation },
        UpMethod::FedGd(step) => MethodSpec::FedGd { step: safe(step)? },
        UpMethod::FedRelax => MethodSpec::FedRelax,
        UpMethod::AsyncFedGd(step, staleness) => {
            MethodSpec::AsyncFedGd { step: safe(step)?, staleness: staleness as u64 }
        }
    })
}

/// Models of any class that wait for their processes.
pub struct FederatedModels {
    /// What the processes are to do.
    pub network: Network,
    request: RelaxRequest,
    input: Input,
    task: Task,
    specs: Vec<ModelSpec>,
    training: ModelRows,
    lambda: f64,
    protection: Option<VoteProtection>,
}

impl FederatedModels {
    /// Checks the data and describes the network.
    pub fn new(request: RelaxRequest, mut input: Input, lambda: f64, launch: &LaunchChoice) -> Result<Self> {
        let task = task(&request, &input)?;
        let specs = specs(&request, &input, task)?;
        let mut training = ModelRows::new(&request, &input, input.data.clone())?;
        let options = &request.options;
        require!(
            training.public.len() == 1 || options.judged_on == JudgedOn::Neighbours,
            "--judged-on both: in a federation it needs public rows that are the same for all nodes; \
             give --public FILE without a node column"
        );
        let names = &input.names;
        let public = match &training.public[..] {
            [rows] if names.len() != 1 => PublicSets::Common(rows.clone()),
            sets => PublicSets::PerNode(names.iter().cloned().zip(sets.iter().cloned()).collect()),
        };
        let models = Models {
            task,
            specs: specs.clone(),
            seeds: (0..names.len()).map(|i| seed_of(options.seed, i)).collect(),
            public: Arc::new(public),
        };
        let network = Network {
            names: names.clone(),
            graph: input.graph.clone(),
            data: training.scaled.clone(),
            loss: LossSpec::Same(Family::Squared),
            loss_options: LossOptions::default(),
            penalty: PenaltyKind::Squared,
            lambda,
            method: MethodSpec::FedRelaxPredictions {
                both: options.judged_on == JudgedOn::Both,
                plain: options.weighting == Weighting::Plain,
            },
            rounds_max: request.rounds as u64,
            tolerance: None,
            patience: patience(launch)?,
            models: Some(models),
            hub: None,
        };
        let mut protection = None;
        if let Some(choice) = &request.privacy {
            require!(request.held_out.spec.is_none(), "--dp-epsilon: errors on held-out rows would tell about them");
            let most = training.public.iter().map(|rows| rows.len()).max().unwrap_or(0);
            protection = Some(VoteProtection::new(choice, &input, task, most)?);
            // Parts have the rows; what is judged and shown here knows none.
            input.notices.reading.clear();
            input = input.select(&vec![false; input.data.len()]);
            training.scaled = input.data.clone();
        }
        Ok(FederatedModels { network, request, input, task, specs, training, lambda, protection })
    }

    /// How parts protect their rows.
    pub fn privacy(&self) -> Option<PrivacySection> {
        let choice = self.request.privacy.as_ref()?;
        let (low, high) = choice.target.unwrap_or((-1.0, 1.0));
        Some(PrivacySection {
            method: Some("votes".into()),
            teachers: Some(choice.teachers as u64),
            seed: choice.seed,
            ..PrivacySection::new(choice.epsilon, choice.delta, Vec::new(), [low, high])
        })
    }

    /// The result, judged with all rows in sight.
    pub fn finish(self, mut found: CollectedModels, seconds: f64) -> Result<RelaxResult> {
        let FederatedModels { request, input, task, specs, training, lambda, protection, .. } = self;
        let mut model = |(i, name): (usize, &String)| -> Result<Box<dyn LocalModel>> {
            let Some(fitted) = found.models.remove(name) else { refuse!("no part has a model for node `{name}`") };
            Ok(Box::new(local(&specs[i], task, seed_of(request.options.seed, i), fitted, name)?))
        };
        let models = input.names.iter().enumerate().map(&mut model).collect::<Result<Vec<_>>>()?;
        let options = RelaxOptions { lambda, start: Start::Blank, ..request.options };
        let relax = Relax::with_models(&input.graph, &training.scaled, task, models, training.public.clone(), options);
        let relax = relax.map_err(|e| named(e, &input))?;
        let mut last = training.look(&relax, None, task, &input)?;
        (last.number, last.messages, last.bytes) =
            (found.exchange.rounds as usize, found.exchange.messages, found.exchange.bytes);
        let train = errors(&relax, &training.scaled, task, &input)?;
        let fitted = specs.iter().enumerate().map(|(i, spec)| (i, spec.clone(), relax.model(i).fitted()));
        let models = model_file(fitted, &input, task, training.scaling.clone());
        drop(relax);
        Ok(RelaxResult {
            status: RelaxStatus::Done,
            rows_trained: training.scaled.len(),
            public: training.source,
            history: vec![last],
            chosen: None,
            held_out: None,
            calibration: None,
            protection,
            models,
            train,
            seconds,
            lambda,
            task,
            specs,
            request,
            input,
        })
    }
}

/// The model of a node, as its part left it.
fn local(spec: &ModelSpec, task: Task, seed: u64, fitted: Option<Fitted>, name: &str) -> Result<Local> {
    let local = match fitted {
        Some(fitted) => Local::load(spec.clone(), seed, fitted).map_err(|e| e.to_string()),
        None => Local::new(spec.clone(), task, seed).map_err(|e| e.to_string()),
    };
    local.map_err(|message| Error::Node { name: name.to_owned(), message })
}
