//! A graph from coordinates: every node with its `k` nearest.

use fedweave::graph::{great_circle_points, k_nearest};
use fedweave::{Graph, Matrix};

use super::attributes::{Coordinates, latitude_longitude, perhaps_geographic};
use super::spec::{InputSpec, Metric};
use crate::error::IoError;
use crate::fault::Fault;

pub(super) fn graph(
    spec: &InputSpec,
    coordinates: Option<&Coordinates>,
    names: &[String],
    k: usize,
) -> Result<Graph, IoError> {
    let coordinates = coordinates.ok_or(Fault::NoCoordinates)?;
    if k == 0 || k >= names.len() {
        return Err(Fault::Neighbours { k, nodes: names.len() }.into());
    }
    check_complete(coordinates, names)?;
    if spec.metric.is_none() && !coordinates.geographic && perhaps_geographic(&coordinates.names) {
        return Err(Fault::WhichMetric { found: coordinates.names.join(", ") }.into());
    }
    match metric(spec, coordinates) {
        Metric::Euclidean => Ok(k_nearest(&coordinates.values, k)?),
        Metric::GreatCircle => {
            let latlon = on_globe(coordinates, names)?;
            Ok(k_nearest(&great_circle_points(&latlon)?, k)?)
        }
    }
}

/// The distance asked for, or that the names of the columns say.
pub(super) fn metric(spec: &InputSpec, coordinates: &Coordinates) -> Metric {
    spec.metric.unwrap_or(if coordinates.geographic { Metric::GreatCircle } else { Metric::Euclidean })
}

fn check_complete(coordinates: &Coordinates, names: &[String]) -> Result<(), IoError> {
    for (j, column) in coordinates.names.iter().enumerate() {
        let unknown = |&i: &usize| coordinates.values.row(i)[j].is_nan();
        let mut without = (0..names.len()).filter(unknown);
        if let Some(first) = without.next() {
            let (column, node) = (column.clone(), names[first].clone());
            return Err(Fault::NodeWithoutCoordinate { column, count: 1 + without.count(), node }.into());
        }
    }
    Ok(())
}

/// Latitude and longitude of every node, in this order, checked to lie on the globe.
fn on_globe(coordinates: &Coordinates, names: &[String]) -> Result<Matrix, IoError> {
    let columns = &coordinates.names;
    if columns.len() != 2 {
        return Err(Fault::NotGeographic { found: columns.join(", ") }.into());
    }
    let (latitude, longitude) = latitude_longitude(columns).unwrap_or((0, 1));
    let mut latlon = Matrix::zeros(names.len(), 2);
    for (i, name) in names.iter().enumerate() {
        let row = coordinates.values.row(i);
        latlon.row_mut(i).copy_from_slice(&[row[latitude], row[longitude]]);
        check_angle(name, "latitude", row[latitude], 90.0)?;
        check_angle(name, "longitude", row[longitude], 360.0)?;
    }
    Ok(latlon)
}

fn check_angle(node: &str, what: &'static str, value: f64, limit: f64) -> Result<(), IoError> {
    match value.abs() <= limit {
        true => Ok(()),
        false => Err(Fault::OffGlobe { node: node.into(), what, value, limit }.into()),
    }
}
