//! `blend.json`: the predictors that won a race, as plain data, and what they need to predict new rows.

use fedweave::graph::Graph;
use fedweave::learn::race::{Cost, Member, Race, described};
use fedweave::learn::shocks::{Geometry, Metric, Observed, Residuals};
use fedweave::loss::Family;
use fedweave::matrix::Matrix;
use fedweave::scaling::Scaling;
use fedweave_io::Input;
use serde::{Deserialize, Serialize};

use crate::error::{Result, refuse, require};
use crate::request::TuneRequest;
use crate::run_dir::BLEND;
use crate::training::TrainingRows;

const VERSION: u32 = 1;

/// Predictors and their shares.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BlendFile {
    version: u32,
    loss: String,
    huber_delta: f64,
    quantile: f64,
    /// Nodes in the order of everything else.
    pub nodes: Vec<String>,
    intercept: bool,
    scaling: Option<Scaling>,
    attributes: Option<Table>,
    place: Place,
    /// The predictors; shares add up to 1.
    pub members: Vec<Member>,
}

/// Rows of numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Table {
    columns: usize,
    numbers: Vec<f64>,
}

impl Table {
    fn of(matrix: &Matrix) -> Table {
        Table { columns: matrix.cols(), numbers: matrix.as_slice().to_vec() }
    }

    fn row(&self, k: usize) -> &[f64] {
        &self.numbers[k * self.columns..(k + 1) * self.columns]
    }
}

/// Where nodes are, for shocks that they share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// Latitudes and longitudes.
    Globe(Vec<Option<[f64; 2]>>),
    /// Any other coordinates.
    Plane {
        /// How many.
        columns: usize,
        /// Node after node.
        numbers: Vec<Option<f64>>,
    },
    /// Edges of a graph on so many nodes.
    Graph(usize, Vec<(usize, usize, f64)>),
}

impl Place {
    /// Positions if there are any, else the graph.
    pub fn of(input: &Input) -> Place {
        let Some(coordinates) = &input.coordinates else {
            let edge = |e: usize| (input.graph.nodes_of(e).0, input.graph.nodes_of(e).1, input.graph.weight(e));
            return Place::Graph(input.graph.nodes(), (0..input.graph.edges()).map(edge).collect());
        };
        match coordinates.latitude_longitude() {
            Some(points) => {
                let point = |i: usize| [points.row(i)[0], points.row(i)[1]];
                Place::Globe(
                    (0..points.rows()).map(|i| Some(point(i)).filter(|p| p.iter().all(|v| v.is_finite()))).collect(),
                )
            }
            None => Place::Plane {
                columns: coordinates.values.cols(),
                numbers: coordinates.values.as_slice().iter().map(|v| Some(*v).filter(|v| v.is_finite())).collect(),
            },
        }
    }

    /// The same as mathematics.
    pub fn geometry(&self) -> OwnedGeometry {
        match self {
            Place::Globe(points) => {
                let numbers = points.iter().flat_map(|p| p.unwrap_or([f64::NAN; 2])).collect();
                OwnedGeometry::Positions(Matrix::from_rows(2, numbers), Metric::GreatCircle)
            }
            Place::Plane { columns, numbers } => {
                let numbers = numbers.iter().map(|v| v.unwrap_or(f64::NAN)).collect();
                OwnedGeometry::Positions(Matrix::from_rows(*columns, numbers), Metric::Euclidean)
            }
            Place::Graph(nodes, edges) if !edges.is_empty() => match Graph::new(*nodes, edges) {
                Ok(graph) => OwnedGeometry::Graph(graph),
                Err(_) => OwnedGeometry::None,
            },
            Place::Graph(..) => OwnedGeometry::None,
        }
    }
}

/// A [`Geometry`] that owns what it is made of.
pub enum OwnedGeometry {
    /// Coordinates.
    Positions(Matrix, Metric),
    /// A graph.
    Graph(Graph),
    /// Nothing.
    None,
}

impl OwnedGeometry {
    /// Borrowed.
    pub fn get(&self) -> Geometry<'_> {
        match self {
            OwnedGeometry::Positions(points, metric) => Geometry::Positions(points, *metric),
            OwnedGeometry::Graph(graph) => Geometry::Graph(graph),
            OwnedGeometry::None => Geometry::None,
        }
    }
}

impl BlendFile {
    /// The winners of a race.
    pub(crate) fn new(
        request: &TuneRequest,
        input: &Input,
        training: &TrainingRows,
        attributes: Option<Matrix>,
        place: Place,
        race: &Race,
    ) -> BlendFile {
        let (huber_delta, quantile) = match request.model.family {
            Family::Huber { delta } => (delta, 0.5),
            Family::Quantile { q } => (1.0, q),
            _ => (1.0, 0.5),
        };
        BlendFile {
            version: VERSION,
            loss: request.model.family.name().into(),
            huber_delta,
            quantile,
            nodes: input.names.clone(),
            intercept: request.model.intercept(),
            scaling: training.scaling.clone(),
            attributes: attributes.as_ref().map(Table::of),
            place,
            members: race.winners().map(|entry| entry.member.clone()).collect(),
        }
    }

    /// Refuses a file that predictions could go wrong with; `features` counts the intercept.
    pub fn check(&self, features: usize) -> Result<Family> {
        let n = self.nodes.len();
        require!(self.version == VERSION, "{BLEND}: version {} is not {VERSION}; fit again", self.version);
        let leaves = |member: &Member| member.leaves.as_ref().is_none_or(|l| l.dim > 0 && l.w.len() == n * l.dim);
        let fits = self.scaling.as_ref().is_none_or(|s| s.dim() == features)
            && self.attributes.as_ref().is_none_or(|a| a.numbers.len() == n * a.columns)
            && self.members.iter().all(leaves);
        require!(fits, "{BLEND}: its parts do not fit together; the run directory was changed");
        self.family()
    }

    fn family(&self) -> Result<Family> {
        match Family::named(&self.loss, self.huber_delta, self.quantile) {
            Some(family) => Ok(family),
            None => refuse!("{BLEND}: the loss `{}` is unknown; fit again with this version", self.loss),
        }
    }

    /// Ready to predict.
    pub fn predictor(self) -> Result<BlendPredictor> {
        let Some(cost) = Cost::of(self.family()?) else {
            refuse!("{BLEND}: the loss `{}` predicts no numbers; fit again", self.loss)
        };
        let geometry = self.place.geometry();
        let shocks = self.members.iter().map(|member| member.observe(None, &geometry.get()));
        let shocks = shocks.collect::<fedweave::Result<_>>()?;
        Ok(BlendPredictor { cost, shocks, file: self })
    }
}

/// Rows with labels, as read.
pub struct Labelled {
    /// Nodes.
    pub node: Vec<usize>,
    /// Features.
    pub x: Matrix,
    /// Labels.
    pub y: Vec<f64>,
    /// Times.
    pub times: Vec<f64>,
}

/// Predictors that are ready.
pub struct BlendPredictor {
    file: BlendFile,
    cost: Cost,
    shocks: Vec<Option<Observed>>,
}

impl BlendPredictor {
    /// Names of the nodes.
    pub fn nodes(&self) -> &[String] {
        &self.file.nodes
    }

    /// Predicts what nodes share at a time from these rows, too.
    pub fn observe(&mut self, rows: &Labelled) -> Result<()> {
        let geometry = self.file.place.geometry();
        let observe = |member: &Member| member.observe(Some(&self.residuals(member, rows)), &geometry.get());
        self.shocks = self.file.members.iter().map(observe).collect::<fedweave::Result<_>>()?;
        Ok(())
    }

    /// What is predicted for a row of a node.
    pub fn predict(&self, node: usize, x: &[f64], time: Option<f64>) -> f64 {
        let (scaled, described) = self.prepared(node, x);
        let of = |(member, shocks): (&Member, &Option<Observed>)| {
            let base = self.cost.respond(member.score(node, &scaled, &described));
            let shock = match (shocks, time) {
                (Some(observed), Some(time)) if time.is_finite() => observed.predict(node as u32, time).mean,
                _ => 0.0,
            };
            member.share * (base + shock)
        };
        self.file.members.iter().zip(&self.shocks).map(of).sum()
    }

    fn prepared(&self, node: usize, x: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let mut row = Matrix::from_rows(x.len(), x.to_vec());
        self.file.scaling.iter().for_each(|scaling| scaling.apply_rows(&mut row));
        let attributes = self.file.attributes.as_ref().map(|a| a.row(node));
        let described = described(row.row(0), self.file.intercept, attributes);
        (row.row(0).to_vec(), described)
    }

    /// What labels say beyond what a member predicts.
    fn residuals(&self, member: &Member, rows: &Labelled) -> Residuals {
        let known = (0..rows.y.len()).filter(|&r| rows.y[r].is_finite() && rows.times[r].is_finite());
        let mut residuals = Residuals::default();
        for r in known {
            let (scaled, described) = self.prepared(rows.node[r], rows.x.row(r));
            let base = self.cost.respond(member.score(rows.node[r], &scaled, &described));
            residuals.node.push(rows.node[r] as u32);
            residuals.time.push(rows.times[r]);
            residuals.value.push(rows.y[r] - base);
        }
        residuals
    }
}
