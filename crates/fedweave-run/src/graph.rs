//! Facts about a graph, and graphs from positions.

use std::path::Path;

use fedweave::graph::partition::Partition;
use fedweave::graph::{Graph, Spectrum, laplacian_extremes};
use fedweave_io::{EdgeList, Input, InputSpec, csv_line, load};
use serde_json::{Value, json};

use crate::error::Result;
use crate::request::data::metric;
use crate::wording::counted;

/// Facts about a graph.
pub struct GraphFacts {
    nodes: usize,
    edges: usize,
    components: usize,
    degrees: (usize, f64, usize),
    spectrum: Spectrum,
}

impl GraphFacts {
    /// Reads a file of edges and looks at it.
    pub fn of_file(edges: &Path) -> Result<GraphFacts> {
        let list = EdgeList::read(edges)?;
        let mut names = list.ids().to_vec();
        names.sort_unstable();
        names.dedup();
        GraphFacts::of(&list.graph(&names)?)
    }

    /// Looks at a graph.
    pub fn of(graph: &Graph) -> Result<GraphFacts> {
        let degrees = || (0..graph.nodes()).map(|i| graph.degree(i));
        let mean = 2.0 * graph.edges() as f64 / graph.nodes().max(1) as f64;
        Ok(GraphFacts {
            nodes: graph.nodes(),
            edges: graph.edges(),
            components: Partition::components(graph).len(),
            degrees: (degrees().min().unwrap_or(0), mean, degrees().max().unwrap_or(0)),
            spectrum: laplacian_extremes(graph)?,
        })
    }

    /// As JSON.
    pub fn summary(&self) -> Value {
        let (least, mean, most) = self.degrees;
        let spectrum = &self.spectrum;
        json!({
            "nodes": self.nodes, "edges": self.edges, "components": self.components,
            "degree_min": least, "degree_mean": mean, "degree_max": most,
            "lambda_2": spectrum.lambda_2, "lambda_n": spectrum.lambda_n,
            "residual_2": spectrum.residual_2, "residual_n": spectrum.residual_n,
        })
    }

    /// In three lines.
    pub fn text(&self) -> String {
        let (n, e, c, (least, mean, most)) = (self.nodes, self.edges, self.components, self.degrees);
        let eigenvalue =
            |name: &str, value: f64, residual: f64| format!("{name} {value:.6e} (residual {residual:.0e})");
        let low = eigenvalue("lambda_2", self.spectrum.lambda_2, self.spectrum.residual_2);
        let high = eigenvalue("lambda_n", self.spectrum.lambda_n, self.spectrum.residual_n);
        format!(
            "{}, {}, {}\ndegrees {least} to {most}, mean {mean:.2}\nLaplacian: {low}, {high}",
            counted(n, "node"),
            counted(e, "edge"),
            counted(c, "component")
        )
    }
}

/// Join every node of a table with its `k` nearest.
pub fn nearest(nodes: &Path, node: &str, k: usize, by: &[String], distance: Option<&str>) -> Result<Input> {
    Ok(load(&InputSpec {
        node: node.to_owned(),
        by: by.to_vec(),
        knn: Some(k),
        metric: distance.map(metric).transpose()?,
        features: Some(Vec::new()),
        intercept: true,
        ..InputSpec::new(nodes)
    })?)
}

/// The edges of an input as CSV.
pub fn edges_csv(input: &Input) -> String {
    let edge = |e: usize| {
        let (i, j) = input.graph.nodes_of(e);
        csv_line([input.names[i].as_str(), input.names[j].as_str(), "1"])
    };
    std::iter::once("source,target,weight\n".to_owned()).chain((0..input.graph.edges()).map(edge)).collect()
}
