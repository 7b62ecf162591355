//! Networks of real local datasets, on which models of any class are trained with the graph and alone.

use fedweave::graph::{great_circle_points, k_nearest};
use fedweave::matrix::Rows;
use fedweave::model::relax::{Discrepancy, PUBLIC_ROWS, PublicRows, PublicSource, Relax, RelaxOptions, sample_public};
use fedweave::model::{ModelSpec, Task, Workspace};
use fedweave::scaling::Scaling;
use fedweave::split::{Part, Share, SplitSpec, split};
use fedweave::tune::mean_and_error;
use fedweave::{Dataset, Graph, Matrix};
use fedweave_io::{Kind, Table};

use crate::Error;

const HOURLY: &[u8] = include_bytes!("../data/fmi_hourly_2024.csv.gz");
const DAILY: &[u8] = include_bytes!("../data/fmi_daily_2025.csv.gz");
const HOUSES: &[u8] = include_bytes!("../data/lucas_housing.csv.gz");

/// Rounds of FedRelax.
const ROUNDS: usize = 5;
/// Values of lambda to choose from on validation rows.
const LAMBDAS: [f64; 6] = [0.01, 0.03, 0.1, 0.3, 1.0, 3.0];

/// Local datasets, their graph, and how many rows of a node train and validate; the others test.
pub struct RealNetwork {
    /// For people.
    pub name: &'static str,
    /// All rows.
    pub data: Dataset,
    /// Nearest nodes.
    pub graph: Graph,
    rows: [usize; 2],
    /// Rows of features that are no secret: public rows for all nodes. `None`: every node draws some from its moments.
    public: Option<Matrix>,
}

/// Where columns are.
struct Columns<'a> {
    node: &'a str,
    target: &'a str,
    places: [&'a str; 2],
    features: &'a [&'a str],
}

/// Errors on test rows, one for every node, in the units of the labels.
pub struct Judged {
    /// With the graph.
    pub networked: Vec<Option<f64>>,
    /// Alone.
    pub local: Vec<Option<f64>>,
    /// Mean error of one model of the first node's class on all rows.
    pub global: f64,
    /// The lambda chosen on validation rows.
    pub lambda: f64,
}

impl RealNetwork {
    /// Hourly temperatures of 207 stations, joined with the four nearest.
    pub fn hourly() -> Result<Self, Error> {
        let features = &["t", "t2", "t3", "sin_hour", "cos_hour"];
        let columns = Columns { node: "station", target: "temp", places: ["lat", "lon"], features };
        let read = Self::read("fmi hourly_2024", "fmi_hourly_2024.csv.gz", HOURLY, &columns, 4, [10, 10])?;
        // Features are functions of the hour, and which hours there are everybody knows.
        let most = (0..read.data.nodes()).max_by_key(|&i| read.data.rows(i).len()).unwrap_or(0);
        let hours = Matrix::from_rows(features.len(), read.data.features(most).to_vec());
        Ok(RealNetwork { public: Some(hours), ..read })
    }

    /// Five days of temperatures and the next maximum at 192 stations, joined with the four nearest.
    pub fn daily() -> Result<Self, Error> {
        let features =
            &["tmax_1", "tmax_2", "tmax_3", "tmax_4", "tmax_5", "tmin_1", "tmin_2", "tmin_3", "tmin_4", "tmin_5"];
        let columns = Columns { node: "station", target: "y_tmax", places: ["lat", "lon"], features };
        Self::read("fmi daily_2025", "fmi_daily_2025.csv.gz", DAILY, &columns, 4, [6, 2])
    }

    /// Prices of houses in 160 cells of a grid, joined with the five nearest.
    pub fn houses() -> Result<Self, Error> {
        let features = &[
            "log_living_area",
            "age",
            "age2",
            "log_lot_size",
            "rooms",
            "beds",
            "baths",
            "halfbaths",
            "garagesqft",
            "years_since_1993",
        ];
        let columns = Columns { node: "node", target: "log10_price", places: ["x", "y"], features };
        Self::read("lucas_housing", "lucas_housing.csv.gz", HOUSES, &columns, 5, [10, 5])
    }

    fn read(
        name: &'static str,
        file: &str,
        bytes: &'static [u8],
        columns: &Columns,
        k: usize,
        rows: [usize; 2],
    ) -> Result<Self, Error> {
        let wanted = |c: &str| c == columns.target || columns.places.contains(&c) || columns.features.contains(&c);
        let table = Table::embedded(file, bytes, |c| match c == columns.node {
            true => Kind::Text,
            false if wanted(c) => Kind::Number,
            false => Kind::Skip,
        })?;
        let numbers = |c: &str| -> Result<Vec<f64>, Error> { Ok(table.finite(table.find(c)?)?.values.clone()) };
        let ids = table.text(table.find(columns.node)?);
        let node: Vec<usize> = ids.codes.iter().map(|&c| c as usize).collect();
        let values = columns.features.iter().map(|c| numbers(c)).collect::<Result<Vec<_>, _>>()?;
        let x = (0..node.len()).flat_map(|r| values.iter().map(move |v| v[r])).collect();
        let (y, n) = (numbers(columns.target)?, ids.levels.len());
        let x = Matrix::from_rows(columns.features.len(), x);
        let data = Dataset::group(n, &node, &x, &y, &vec![1.0; y.len()])?.0;
        let [a, b] = [numbers(columns.places[0])?, numbers(columns.places[1])?];
        let mut places = Matrix::zeros(n, 2);
        node.iter().enumerate().for_each(|(r, &i)| places.row_mut(i).copy_from_slice(&[a[r], b[r]]));
        let places = if columns.places[0] == "lat" { great_circle_points(&places)? } else { places };
        Ok(RealNetwork { name, data, graph: k_nearest(&places, k)?, rows, public: None })
    }

    /// Rows of a node that train and validate.
    pub fn rows(&self) -> [usize; 2] {
        self.rows
    }

    /// Trains with the graph and alone; rows are drawn separately for every node.
    pub fn judge(&self, specs: &[ModelSpec], seed: u64) -> Result<Judged, Error> {
        let [train, validation] = self.rows.map(Share::Rows);
        let spec = SplitSpec { train: Some(train), validation, seed, ..SplitSpec::default() };
        let part = split(&self.data, None, &spec)?;
        let [train, validation, test] =
            [Part::Train, Part::Validation, Part::Test].map(|p| self.data.select(&part.mask(p)));
        let scaling = Scaling::centred(&train);
        let (mean, variance) = moments(train.y());
        let unit = variance.sqrt();
        let scaled = |d: &Dataset| scaling.apply(d).map_labels(|y| (y - mean) / unit);
        let [train, validation, test] = [train, validation, test].map(|d| scaled(&d));
        let public = match &self.public {
            Some(rows) => {
                let mut rows = rows.clone();
                scaling.apply_rows(&mut rows);
                vec![PublicRows::new(rows)?]
            }
            None => sample_public(&train, PublicSource::Moments, PUBLIC_ROWS, seed)?,
        };
        let start = |lambda: f64| {
            let options = RelaxOptions { lambda, seed, ..RelaxOptions::default() };
            Relax::new(&self.graph, &train, Task::Regression, specs, public.clone(), options)
        };
        let errors = |relax: &Relax, rows: &Dataset| -> Result<Vec<Option<f64>>, Error> {
            let all = relax.errors(rows, Discrepancy::Squared)?;
            Ok(all.into_iter().map(|e| e.map(|e| e * variance)).collect())
        };
        let mean =
            |errors: &[Option<f64>]| mean_and_error(errors.iter().flatten().copied()).map_or(f64::INFINITY, |m| m.0);
        let local = start(0.0)?;
        let mut best = (mean(&errors(&local, &validation)?), 0.0, errors(&local, &test)?);
        let alone = best.2.clone();
        for lambda in LAMBDAS {
            let mut relax = start(lambda)?;
            (0..ROUNDS).try_for_each(|_| relax.round())?;
            let error = mean(&errors(&relax, &validation)?);
            if error < best.0 {
                best = (error, lambda, errors(&relax, &test)?);
            }
        }
        let global = variance * global_error(&specs[0], &train, &test, seed)?;
        Ok(Judged { networked: best.2, local: alone, global, lambda: best.1 })
    }
}

/// One model for all rows, every node counting the same.
fn global_error(spec: &ModelSpec, train: &Dataset, test: &Dataset, seed: u64) -> Result<f64, Error> {
    let fit = |e| fedweave::Error::Fit { node: 0, source: e };
    let mut model = spec.build(Task::Regression, seed).map_err(|e| fedweave::Error::Spec { node: 0, source: e })?;
    let (n, d) = (train.nodes(), train.dim());
    let x: Vec<f64> = (0..n).flat_map(|i| train.features(i).to_vec()).collect();
    let weight: Vec<f64> =
        (0..n).flat_map(|i| vec![1.0 / train.rows(i).len().max(1) as f64; train.rows(i).len()]).collect();
    model.fit(Rows::new(d, &x), Rows::new(1, train.y()), &weight, &mut Workspace::default()).map_err(fit)?;
    let mut errors = Vec::new();
    for i in (0..n).filter(|&i| !test.rows(i).is_empty()) {
        let mut out = vec![0.0; test.rows(i).len()];
        model.predict(Rows::new(d, test.features(i)), &mut out).map_err(fit)?;
        let squares: f64 = out.iter().zip(test.labels(i)).map(|(p, y)| (p - y) * (p - y)).sum();
        errors.push(squares / out.len() as f64);
    }
    Ok(errors.iter().sum::<f64>() / errors.len().max(1) as f64)
}

fn moments(y: &[f64]) -> (f64, f64) {
    let n = y.len().max(1) as f64;
    let mean = y.iter().sum::<f64>() / n;
    (mean, (y.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n).max(f64::MIN_POSITIVE))
}
