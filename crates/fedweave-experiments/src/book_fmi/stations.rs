//! The weather stations: rows, positions and splits as the assignments have them.

use fedweave::{Dataset, Matrix};
use fedweave_io::{Kind, Table};

use crate::Error;

const HOURLY: &[u8] = include_bytes!("../../data/fmi_hourly_2024.csv.gz");
const HOURLY_SPLITS: &[u8] = include_bytes!("../../data/fmi_hourly_2024_splits.csv.gz");
const HOURLY_ORDER: &[u8] = include_bytes!("../../data/fmi_hourly_2024_order.csv.gz");
const DAILY: &[u8] = include_bytes!("../../data/fmi_daily_2025.csv.gz");
const DAILY_START: &[u8] = include_bytes!("../../data/fmi_daily_2025_start.csv.gz");

/// A network of weather stations.
pub struct Stations {
    /// Latitude and longitude in degrees.
    pub places: Matrix,
    /// Names.
    pub names: Vec<String>,
    /// All rows.
    pub data: Dataset,
    splits: Vec<(&'static str, Vec<bool>)>,
}

impl Stations {
    /// Training and validation rows of a split.
    pub fn split(&self, name: &str) -> (Dataset, Dataset) {
        let (_, train) = self.splits.iter().find(|s| s.0 == name).expect("the splits of the files are known");
        let others: Vec<bool> = train.iter().map(|t| !t).collect();
        (self.data.select(train), self.data.select(&others))
    }

    fn new(
        table: &Table,
        node: &[usize],
        x: &Matrix,
        y: &[f64],
        splits: &[(&'static str, Vec<bool>)],
    ) -> Result<Self, Error> {
        let n = node.iter().max().map_or(0, |last| last + 1);
        let (lat, lon) = (numbers(table, "lat")?, numbers(table, "lon")?);
        let station = table.text(table.find("station")?);
        let (mut places, mut names) = (Matrix::zeros(n, 2), vec![String::new(); n]);
        for (row, &i) in node.iter().enumerate() {
            places.row_mut(i).copy_from_slice(&[lat[row], lon[row]]);
            names[i] = station.get(row).to_owned();
        }
        let (data, origin) = Dataset::group(n, node, x, y, &vec![1.0; y.len()])?;
        let placed = |s: &(&'static str, Vec<bool>)| (s.0, origin.iter().map(|&r| s.1[r]).collect());
        Ok(Stations { places, names, data, splits: splits.iter().map(placed).collect() })
    }
}

/// Hourly temperatures: 207 stations; position and date, scaled, as features.
pub fn hourly() -> Result<Stations, Error> {
    let text = |name: &str| matches!(name, "station" | "time" | "rs1" | "rs4740");
    let table = read("fmi_hourly_2024.csv.gz", HOURLY, text)?;
    let parts = read("fmi_hourly_2024_splits.csv.gz", HOURLY_SPLITS, text)?;
    let (lat, lon, y) = (numbers(&table, "lat")?, numbers(&table, "lon")?, numbers(&table, "temp")?);
    let time = table.text(table.find("time")?);
    let mut x = Vec::with_capacity(7 * y.len());
    for row in 0..y.len() {
        x.extend([lat[row] / 100.0, lon[row] / 100.0]);
        let parts = date_and_time(time.get(row));
        x.extend(parts.iter().zip([2025.0, 13.0, 32.0, 25.0, 61.0]).map(|(part, scale)| part / scale));
    }
    let splits = [("rs1", is_train(&parts, "rs1")?), ("rs4740", is_train(&parts, "rs4740")?)];
    Stations::new(&table, &nodes(&parts)?, &Matrix::from_rows(7, x), &y, &splits)
}

/// Hourly rows in the order of the source: date and temperature, scaled; latitude and longitude over 100.
pub fn hourly_in_source_order() -> Result<(Matrix, Matrix), Error> {
    let table = read("fmi_hourly_2024.csv.gz", HOURLY, |name| matches!(name, "station" | "time"))?;
    let order = numbers(&read("fmi_hourly_2024_order.csv.gz", HOURLY_ORDER, |_| false)?, "row")?;
    let (lat, lon, temperature) = (numbers(&table, "lat")?, numbers(&table, "lon")?, numbers(&table, "temp")?);
    let time = table.text(table.find("time")?);
    let (mut x, mut y) = (Matrix::zeros(order.len(), 6), Matrix::zeros(order.len(), 2));
    for (row, place) in order.iter().enumerate() {
        let date = date_and_time(time.get(row));
        let scaled = date.iter().zip([2025.0, 13.0, 32.0, 25.0, 61.0]).map(|(part, scale)| part / scale);
        let all = scaled.chain([temperature[row]]);
        x.row_mut(*place as usize).iter_mut().zip(all).for_each(|(x, value)| *x = value);
        y.row_mut(*place as usize).copy_from_slice(&[lat[row] / 100.0, lon[row] / 100.0]);
    }
    Ok((x, y))
}

/// Daily maxima and minima: 192 stations of ten rows; five days of both as features, the next maximum as label.
pub fn daily() -> Result<Stations, Error> {
    let table = read("fmi_daily_2025.csv.gz", DAILY, |name| matches!(name, "station" | "rs42"))?;
    let y = numbers(&table, "y_tmax")?;
    let names = ["tmax", "tmin"].into_iter().flat_map(|kind| (1..=5).map(move |day| format!("{kind}_{day}")));
    let columns = names.map(|name| numbers(&table, &name)).collect::<Result<Vec<_>, _>>()?;
    let x = (0..y.len()).flat_map(|row| columns.iter().map(move |column| column[row])).collect();
    let splits = [("rs42", is_train(&table, "rs42")?)];
    Stations::new(&table, &nodes(&table)?, &Matrix::from_rows(10, x), &y, &splits)
}

/// Start weights of FedGD on the daily rows.
pub fn daily_start() -> Result<Matrix, Error> {
    let table = read("fmi_daily_2025_start.csv.gz", DAILY_START, |_| false)?;
    let columns = (0..10).map(|j| numbers(&table, &format!("w{j}"))).collect::<Result<Vec<_>, _>>()?;
    let rows = nodes(&table)?.len();
    let entries = (0..rows).flat_map(|row| columns.iter().map(move |column| column[row])).collect();
    Ok(Matrix::from_rows(10, entries))
}

fn read(name: &str, bytes: &'static [u8], text: impl Fn(&str) -> bool) -> Result<Table, Error> {
    Ok(Table::embedded(name, bytes, |column| if text(column) { Kind::Text } else { Kind::Number })?)
}

fn numbers(table: &Table, name: &str) -> Result<Vec<f64>, Error> {
    Ok(table.finite(table.find(name)?)?.values.clone())
}

fn nodes(table: &Table) -> Result<Vec<usize>, Error> {
    Ok(numbers(table, "node")?.iter().map(|&node| node as usize).collect())
}

fn is_train(table: &Table, split: &str) -> Result<Vec<bool>, Error> {
    let column = table.text(table.find(split)?);
    Ok((0..table.rows()).map(|row| column.get(row) == "train").collect())
}

/// Year, month, day, hour and minute of `2023-12-28T11:00:00`.
fn date_and_time(text: &str) -> [f64; 5] {
    let mut parts = text.split(['-', 'T', ':']).map(|part| part.parse().unwrap_or(f64::NAN));
    std::array::from_fn(|_| parts.next().unwrap_or(f64::NAN))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_the_stations_rows_and_splits_of_their_description() {
        let hourly = hourly().unwrap();
        assert_eq!(
            (hourly.data.nodes(), hourly.data.len(), hourly.names[0].as_str()),
            (207, 19768, "Enontekiö Kilpisjärvi Saana")
        );
        for split in ["rs1", "rs4740"] {
            let (train, validation) = hourly.split(split);
            // A fifth, rounded up, validates.
            assert!((0..207).all(|i| validation.rows(i).len() == hourly.data.rows(i).len().div_ceil(5)));
            assert_eq!(train.len() + validation.len(), 19768);
        }
        let daily = daily().unwrap();
        assert_eq!((daily.data.nodes(), daily.data.dim(), daily.split("rs42").0.len()), (192, 10, 8 * 192));
        assert_eq!(daily_start().unwrap().rows(), 192);
        assert_eq!(date_and_time("2023-12-28T11:05:00"), [2023.0, 12.0, 28.0, 11.0, 5.0]);
    }
}
