//! From a report to the page: everything the template shows is worked out here, the template only places it.

use crate::chart::Chart;
use crate::confusion::{self, ConfusionTable};
use crate::diagnose::{Diagnosis, Errors, diagnose};
use crate::network::{self, Network};
use crate::number::{count, plural, short};
use crate::path::view::{self as path, PathView};
use crate::report::{Report, Status};
use crate::tables::{self, Bar, Compared, Legend, LessonRow, Models, Nodes, Spread};
use crate::words::{self, Certificate, Fact};
use crate::{ReportError, calibration, compared, curves, data, learnt};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment};
use serde::Serialize;

const PARTS: [(&str, &str); 7] = [
    ("head", include_str!("template/head.html")),
    ("top", include_str!("template/top.html")),
    ("network", include_str!("template/network.html")),
    ("sections", include_str!("template/sections.html")),
    ("data", include_str!("template/data.html")),
    ("convergence", "{% if convergence %}{{ solved(convergence, traffic) }}{% endif %}"),
    ("foot", include_str!("template/foot.html")),
];
const MACROS: &str = concat!(include_str!("template/charts.html"), include_str!("template/path.html"));
/// The style of a page.
pub(crate) const STYLE: &str = concat!(include_str!("template/style.css"), include_str!("template/path.css"));
/// What moves on a page.
pub(crate) const SCRIPT: &str =
    concat!(include_str!("template/report.js"), include_str!("template/path.js"), include_str!("template/tree.js"));

/// How much of a page is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// A page of its own.
    Whole,
    /// What stands between style and script, for a page that has these.
    Body,
    /// The picture of the network alone, for the same.
    Network,
    /// How the solver gets there, alone, for the same.
    Convergence,
}

impl Extent {
    fn template(self) -> String {
        let parts: &[&str] = match self {
            Extent::Whole => &["head", "top", "network", "sections", "data", "foot"],
            Extent::Body => &["top", "network", "sections", "data"],
            Extent::Network => &["network", "data"],
            Extent::Convergence => &["convergence"],
        };
        let text = |name: &&str| PARTS.iter().find(|(part, _)| part == name).map_or("", |(_, text)| *text);
        MACROS.to_owned() + &parts.iter().map(text).collect::<String>()
    }
}

#[derive(Serialize)]
struct Page<'a> {
    title: &'a str,
    version: &'a str,
    command: &'a str,
    held_out: String,
    notices: &'a [String],
    error_name: &'a str,
    lead: String,
    status: String,
    converged: bool,
    facts: Vec<Fact>,
    diagnosis: Diagnosis,
    errors: Vec<Bar>,
    network: Option<Network>,
    path: Option<PathView>,
    legend: Vec<Legend>,
    modes: Vec<Mode>,
    has_parameters: bool,
    convergence: Option<Chart>,
    traffic: Option<Chart>,
    lambda: Option<Chart>,
    lambda_note: String,
    calibration: Option<Chart>,
    calibration_note: String,
    exposure: &'a [String],
    comparison: Option<Compared>,
    confusion: Option<ConfusionTable>,
    learnt: Option<learnt::Section>,
    models: Option<Models>,
    spread: Option<Vec<Spread>>,
    nodes: Option<Nodes>,
    lessons: Option<Vec<LessonRow>>,
    certificate: Option<Certificate>,
    setup: Vec<(&'static str, String)>,
    data: String,
    style: &'static str,
    script: &'static str,
}

/// A way to colour the network.
#[derive(Serialize)]
struct Mode {
    key: &'static str,
    title: &'static str,
}

/// Fills the template.
pub(crate) fn render(report: &Report, extent: Extent) -> Result<String, ReportError> {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    environment.add_filter("count", |n: usize| count(n));
    let template = extent.template();
    environment.add_template("report.html", &template)?;
    Ok(environment.get_template("report.html")?.render(Serde(page(report)?))?)
}

fn page(report: &Report) -> Result<Page<'_>, ReportError> {
    let colours = network::cluster_colours(report);
    let network = network::draw(report, &colours);
    let convergence = curves::convergence(report);
    let traffic = curves::traffic(report);
    let curve = report.lambda_curve.as_ref();
    let lambda = curve.and_then(|curve| curves::lambda_chart(curve, &report.outcome.error_name));
    let calibration = report.calibration.as_ref().and_then(calibration::chart);
    let path = path::view(report, &network::node_colours(report, &colours));
    let charts = convergence.iter().chain(&traffic).chain(&lambda).chain(&calibration);
    let charts: Vec<&Chart> = charts.chain(path.iter().flat_map(|path| [&path.clusters, &path.errors])).collect();
    let data = data::embed(report, network.as_ref(), &colours, &charts, path.as_ref().map(|path| &path.data))?;
    Ok(Page {
        title: &report.title,
        version: &report.version,
        command: &report.command,
        held_out: words::held_out(&report.what),
        notices: &report.notices,
        error_name: &report.outcome.error_name,
        lead: words::lead(report),
        status: status(report),
        converged: matches!(report.outcome.status, Status::Converged | Status::Finished),
        facts: words::facts(report),
        diagnosis: diagnosis(report),
        errors: tables::error_bars(&report.outcome),
        legend: tables::legend(report, &colours),
        modes: modes(report, &colours),
        has_parameters: report.nodes.iter().any(|node| !node.parameters.is_empty()),
        network,
        path,
        convergence,
        traffic,
        lambda,
        lambda_note: lambda_note(report),
        calibration,
        calibration_note: report.calibration.as_ref().map(calibration::words).unwrap_or_default(),
        exposure: &report.exposure,
        comparison: report.comparison.as_ref().and_then(tables::compared),
        confusion: report.confusion.as_ref().map(confusion::table),
        learnt: learnt::section(report),
        models: tables::models(report, &colours),
        spread: tables::spread(report),
        nodes: tables::nodes(report, &colours),
        lessons: report.asking.as_ref().map(tables::lessons),
        certificate: compared::of(report).is_none().then(|| words::certificate(&report.outcome)),
        setup: setup(report),
        data,
        style: STYLE,
        script: SCRIPT,
    })
}

fn status(report: &Report) -> String {
    let converged = report.outcome.status == Status::Converged;
    compared::of(report).map_or_else(|| words::status(&report.outcome), |found| compared::status(found, converged))
}

/// Advice speaks of lambda and the graph: there is none where nodes asked.
fn diagnosis(report: &Report) -> Diagnosis {
    if let Some(comparison) = compared::of(report) {
        return compared::diagnosis(comparison);
    }
    let mut diagnosis = diagnose(&Errors::from(&report.outcome));
    if report.asking.is_some() {
        diagnosis.advice.clear();
    }
    diagnosis
}

/// The ways to colour that the data allow; the first is shown first.
fn modes(report: &Report, colours: &[usize]) -> Vec<Mode> {
    let any = |test: fn(&crate::Node) -> bool| report.nodes.iter().any(test);
    let clusters = report.path.is_some() || colours.iter().any(|&colour| colour < network::COLOURS);
    let modes = [
        (clusters, Mode { key: "cluster", title: "Cluster" }),
        (any(|node| node.gain().is_some()), Mode { key: "gain", title: "Gain over local" }),
        (any(|node| node.validation_error.is_some()), Mode { key: "validation", title: "Held-out error" }),
        (any(|node| node.train_error.is_some()), Mode { key: "train", title: "Training error" }),
    ];
    modes.into_iter().filter_map(|(there, mode)| there.then_some(mode)).collect()
}

fn lambda_note(report: &Report) -> String {
    let Some(curve) = &report.lambda_curve else {
        return String::new();
    };
    let rule = if curve.rule.is_empty() { String::new() } else { format!(" by the rule: {}", curve.rule) };
    let mut note = format!("λ = {} was chosen{rule}.", short(curve.chosen));
    if curve.points.iter().any(|point| point.standard_error.is_some()) {
        note += " The band is ± one standard error.";
    }
    if curve.points.iter().any(|point| point.lambda == 0.0) {
        note += " λ = 0 has no place on the logarithmic axis and is not drawn.";
    }
    note
}

const FEATURES_NAMED: usize = 40;

fn feature_list(report: &Report) -> String {
    let names = &report.what.features;
    match names.len() {
        0 if report.what.models.is_none() => plural(report.what.dim, "parameter"),
        n if n <= FEATURES_NAMED => names.join(", "),
        n => format!("{} and {} more", names[..FEATURES_NAMED].join(", "), count(n - FEATURES_NAMED)),
    }
}

fn setup(report: &Report) -> Vec<(&'static str, String)> {
    let what = &report.what;
    let finished = report.outcome.status == Status::Finished;
    let entries = [
        ("Target", what.target.clone().unwrap_or_default()),
        (if what.models.is_some() { "Features" } else { "Parameters" }, feature_list(report)),
        ("Models", what.models.clone().unwrap_or_default()),
        ("Loss", what.loss.clone()),
        ("Penalty", what.penalty.clone()),
        ("λ", if report.asking.is_some() { String::new() } else { short(what.lambda) }),
        ("Solver", what.solver.clone()),
        ("Tolerance", if finished { String::new() } else { short(report.outcome.tolerance) }),
        ("Data", report.sources.join(" · ")),
    ];
    entries.into_iter().filter(|(_, value)| !value.is_empty()).collect()
}
