//! Who should learn with whom: a graph learnt from rows, with the reasons for its edges.

mod panel;

use fedweave::baseline;
use fedweave::dataset::Dataset;
use fedweave::graph::partition::Partition;
use fedweave::graph::{Graph, laplacian_extremes};
use fedweave::learn::graph::{LearntGraph, Proof};
use fedweave::loss::{Family, LossOptions, LossSpec};
use fedweave::matrix::Matrix;
use fedweave_io::{Input, csv_line};
use serde_json::{Value, json};

use crate::checks::with_place;
use crate::error::Result;
use crate::request::LearnRequest;
use crate::request::graph::GraphChoice;
use crate::request::model::ModelChoice;
use crate::wording::{counted, notices_on, number};

/// The eigenvalues of larger graphs take longer than learning them.
const CONNECTIVITY_MAX: usize = 3_000;

/// A graph that was learnt, and how.
pub struct Evidence {
    /// What was asked for.
    pub choice: GraphChoice,
    /// What was found.
    pub learnt: LearntGraph,
    /// How well it holds together; unknown of large graphs.
    pub connectivity: Option<Connectivity>,
}

/// What a budget buys: how well a graph holds together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Connectivity {
    /// The second eigenvalue of the Laplacian: zero if the graph falls apart.
    pub lambda_2: f64,
    /// What the node with the smallest weights allows at most (book, Prop. 7.1).
    pub bound: f64,
    /// The mean weight of a node, about the second eigenvalue of a random graph with so many edges (book, 7.2).
    pub degree: f64,
    /// The degree from which on a random graph of this size holds together (Erdos and Renyi).
    pub enough: f64,
}

impl Connectivity {
    fn of(graph: &Graph) -> Option<Connectivity> {
        let n = graph.nodes();
        if !(2..=CONNECTIVITY_MAX).contains(&n) {
            return None;
        }
        let weights = (0..n).map(|i| graph.weighted_degree(i));
        let (sum, smallest) = weights.fold((0.0, f64::INFINITY), |(sum, least), w| (sum + w, f64::min(least, w)));
        let lambda_2 = laplacian_extremes(graph).ok()?.lambda_2.max(0.0);
        let (n, bound) = (n as f64, n as f64 / (n as f64 - 1.0) * smallest);
        Some(Connectivity { lambda_2, bound, degree: sum / n, enough: n.ln() })
    }

    fn text(&self) -> String {
        format!(
            "  lambda_2 of its Laplacian, which says how fast nodes agree, is {}; its smallest degree allows {} (Prop. 7.1), a random graph \
             with its mean degree has about {}",
            number(self.lambda_2),
            number(self.bound),
            number(self.degree)
        )
    }
}

/// The result of `fedweave graph learn`.
pub struct LearnResult {
    /// What was asked for.
    pub request: LearnRequest,
    /// The rows, and the graph on their nodes.
    pub input: Input,
    /// The reasons for its edges.
    pub evidence: Evidence,
}

/// Learns a graph from all rows.
pub fn learn(request: LearnRequest, input: Input) -> Result<LearnResult> {
    let evidence = Evidence::find(request.graph, &request.model, &input, None)?;
    let input = input.with_graph(evidence.learnt.graph.clone());
    Ok(LearnResult { request, input, evidence })
}

impl LearnResult {
    /// The one JSON object.
    pub fn summary(&self) -> Value {
        let mut all = self.evidence.summary();
        all["nodes"] = json!(self.input.names.len());
        all["version"] = json!(env!("CARGO_PKG_VERSION"));
        all
    }

    /// In words.
    pub fn text(&self) -> String {
        let notes = notices_on(&self.input, true).into_iter().map(|notice| format!("note: {notice}"));
        let nodes = counted(self.input.names.len(), "node");
        let rows = counted(self.input.data.len(), "row");
        let head =
            format!("{nodes}, {rows}; all rows were used: to judge a graph, use `fedweave compare --graph learn`");
        notes.chain([head]).chain(self.evidence.text()).collect::<Vec<_>>().join("\n")
    }

    /// The edges as a table, which `--edges` reads.
    pub fn edges_csv(&self) -> String {
        self.evidence.edges_csv(&self.input.names)
    }
}

/// Columns of the table of edges: what `--edges` needs, then the reasons.
pub(crate) const EDGE_COLUMNS: [&str; 5] = ["source", "target", "weight", "discrepancy", "probability"];

/// Rows with labels, and rows without: these are given the label that the node's own model says (without one, that of all rows).
fn pseudo_labelled(labelled: &Dataset, more: &Dataset, family: Family, model: &ModelChoice) -> Result<Dataset> {
    let options = LossOptions { ridge: RIDGE, ..model.options };
    let local = baseline::local(&LossSpec::Same(family), labelled.clone(), &options)?;
    let global = baseline::global(family, labelled, &options)?;
    let (mut node, mut x, mut y) = (Vec::new(), Vec::new(), Vec::new());
    for i in 0..labelled.nodes() {
        let own = if labelled.rows(i).is_empty() { &global[..] } else { local.row(i) };
        for r in labelled.rows(i) {
            x.extend_from_slice(labelled.x(r));
            y.push(labelled.y()[r]);
        }
        for r in more.rows(i) {
            x.extend_from_slice(more.x(r));
            let said = family.predict(more.x(r), own).map_or(0.0, |said| said.number());
            // Two classes are written as 0 or -1, and 1.
            let two = matches!(family, Family::Logistic | Family::SquaredHinge);
            y.push(if two && said == 0.0 && labelled.y().contains(&-1.0) { -1.0 } else { said });
        }
        node.resize(y.len(), i);
    }
    let x = Matrix::from_rows(labelled.dim(), x);
    Ok(Dataset::group(labelled.nodes(), &node, &x, &y, &vec![1.0; y.len()])?.0)
}

/// Of the models that say labels.
const RIDGE: f64 = 0.1;

impl Evidence {
    /// Learns the graph from the rows that `mask` names, or from all.
    pub(crate) fn find(
        choice: GraphChoice,
        model: &ModelChoice,
        input: &Input,
        mask: Option<&[bool]>,
    ) -> Result<Evidence> {
        let loss = model.loss(input)?;
        // Wrong labels have a place in the file that should be said.
        loss.build(input.data.clone(), &model.options).map_err(|error| with_place(error, input))?;
        let mut rows = mask.map(|mask| input.data.select(mask));
        if let (LossSpec::Same(family), Some(more), true) = (&loss, &input.unlabelled, choice.compares_rows()) {
            let labelled = rows.as_ref().unwrap_or(&input.data);
            rows = Some(pseudo_labelled(labelled, more, *family, model)?);
        }
        let learnt = choice.learn(rows.as_ref().unwrap_or(&input.data), &loss, model.intercept())?;
        Ok(Evidence { choice, connectivity: Connectivity::of(&learnt.graph), learnt })
    }

    fn graph(&self) -> &Graph {
        &self.learnt.graph
    }

    /// One line per edge, under [`EDGE_COLUMNS`]. A probability is known where pairs were tested.
    pub(crate) fn edge_rows<'a>(&'a self, names: &'a [String]) -> impl Iterator<Item = [String; 5]> + 'a {
        (0..self.graph().edges()).map(move |e| {
            let (i, j) = self.graph().nodes_of(e);
            let probability = self.learnt.probability.as_ref().map_or(String::new(), |p| p[e].to_string());
            let (weight, discrepancy) = (self.graph().weight(e).to_string(), self.learnt.discrepancy[e].to_string());
            [names[i].clone(), names[j].clone(), weight, discrepancy, probability]
        })
    }

    fn edges_csv(&self, names: &[String]) -> String {
        let head = csv_line(EDGE_COLUMNS);
        std::iter::once(head).chain(self.edge_rows(names).map(csv_line)).collect()
    }

    /// As JSON.
    pub fn summary(&self) -> Value {
        let LearntGraph { graph, proof, mixture, sent, .. } = &self.learnt;
        let (value, bound, all_pairs) = match *proof {
            Proof::None => (None, None, None),
            Proof::All { value, bound } => (Some(value), Some(bound), Some(true)),
            Proof::Candidates { value, bound, .. } => (Some(value), Some(bound), Some(false)),
        };
        let held = self.connectivity;
        json!({
            "lambda_2": held.map(|c| c.lambda_2), "lambda_2_bound": held.map(|c| c.bound),
            "degree_mean": held.map(|c| c.degree), "degree_enough": held.map(|c| c.enough),
            "discrepancy": self.choice.name(), "budget": self.choice.budget(),
            "edges": graph.edges(), "components": Partition::components(graph).len(),
            "total_discrepancy": value, "lower_bound": bound, "all_pairs": all_pairs,
            "share_of_same_pairs": mixture.map(|m| m.share), "expected_wrong": mixture.map(|m| m.expected_wrong),
            "bytes_sent_by_node": sent.bytes, "sent": sent.how, "reveals": sent.reveals,
        })
    }

    /// In a few lines.
    pub fn text(&self) -> Vec<String> {
        let graph = self.graph();
        let pieces = Partition::components(graph).len();
        let mut lines = vec![format!(
            "graph learnt from rows by {} ({}): {}, {}",
            self.choice.name(),
            self.choice.budget(),
            counted(graph.edges(), "edge"),
            counted(pieces, "component")
        )];
        lines.extend(self.proof());
        match &self.connectivity {
            Some(found) if pieces == 1 => lines.push(found.text()),
            _ if pieces == 1 => {}
            // Erdos and Renyi: below this mean degree a random graph has nodes without edges.
            _ => {
                let enough = (graph.nodes() as f64).ln().ceil();
                lines.push(format!("  components learn apart; a random graph of this size holds together from a degree of about {enough} on"));
            }
        }
        let sent = &self.learnt.sent;
        lines.push(format!(
            "  in a federation a node sends {} bytes ({}), which reveal: {}",
            sent.bytes, sent.how, sent.reveals
        ));
        lines
    }

    fn proof(&self) -> Option<String> {
        if let Some(mixture) = self.learnt.mixture {
            let percent = |share: f64| format!("{:.1} %", 100.0 * share);
            if self.graph().edges() == 0 {
                return Some("  no two nodes share a model surely enough: all learn alone".into());
            }
            return Some(format!(
                "  {} of all pairs share a model; of the edges {} are expected to be wrong",
                percent(mixture.share),
                percent(mixture.expected_wrong)
            ));
        }
        match self.learnt.proof {
            Proof::None => None,
            Proof::All { value, bound } => Some(format!(
                "  total discrepancy {}; no graph within the budget has less than {}",
                number(value),
                number(bound)
            )),
            Proof::Candidates { value, bound, pairs } => Some(format!(
                "  total discrepancy {}; no graph within the budget on the {pairs} pairs that were compared has less than {}",
                number(value),
                number(bound)
            )),
        }
    }
}
