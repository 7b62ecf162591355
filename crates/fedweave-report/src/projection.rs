//! From latitude and longitude to the plane, with the graticule that shows it.
//!
//! Data within 60 degrees of their centre use Lambert's azimuthal equal-area projection about that centre (kilometres,
//! little distortion, no seam); data spread over the globe use the plate carrée.

use crate::layout::Point;

const EARTH_RADIUS_KM: f64 = 6371.0;
const AZIMUTHAL_MAX: f64 = 60.0;

/// A map projection fitted to some places.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Projection {
    /// Lambert's azimuthal equal-area projection about `[longitude, latitude]`, in kilometres.
    Azimuthal { centre: Point },
    /// Degrees as they are, about a central longitude.
    PlateCarree { centre: f64 },
}

/// A meridian or parallel, in degrees.
pub(crate) struct GraticuleLine {
    pub(crate) meridian: bool,
    pub(crate) degrees: f64,
    pub(crate) places: Vec<Point>,
}

impl Projection {
    /// The projection for places given as `[longitude, latitude]`.
    pub(crate) fn fit(places: &[Point]) -> Self {
        let sum =
            places.iter().map(|place| unit(*place)).fold([0.0; 3], |s, u| [s[0] + u[0], s[1] + u[1], s[2] + u[2]]);
        let size = sum.iter().map(|x| x * x).sum::<f64>().sqrt();
        let longitude = sum[1].atan2(sum[0]).to_degrees();
        let latitude = (sum[2] / size.max(1e-9)).clamp(-1.0, 1.0).asin().to_degrees();
        let centre = [longitude, latitude];
        let far = places.iter().any(|place| angle(*place, centre) > AZIMUTHAL_MAX);
        if far { Projection::PlateCarree { centre: longitude } } else { Projection::Azimuthal { centre } }
    }

    /// Where a place is drawn, y upwards.
    pub(crate) fn project(&self, place: Point) -> Point {
        match *self {
            Projection::Azimuthal { centre } => azimuthal(centre, place),
            Projection::PlateCarree { centre } => [wrap(place[0] - centre), place[1]],
        }
    }

    /// Kilometres per unit of the plane, if it is the same everywhere.
    pub(crate) fn kilometres(&self) -> Option<f64> {
        matches!(self, Projection::Azimuthal { .. }).then_some(1.0)
    }

    /// Meridians and parallels well beyond the places; the caller clips them.
    pub(crate) fn graticule(&self, places: &[Point]) -> Vec<GraticuleLine> {
        let middle = match *self {
            Projection::Azimuthal { centre } => centre[0],
            Projection::PlateCarree { centre } => centre,
        };
        let (west, east) = range(places.iter().map(|place| wrap(place[0] - middle)));
        let (south, north) = range(places.iter().map(|place| place[1]));
        let narrowing = (0.5 * (south + north)).to_radians().cos().max(0.1);
        let step = graticule_step((north - south).max((east - west) * narrowing));
        let step_east = graticule_step(step * 4.0 / narrowing);
        let (west, east) = widen(west, east, 6.0 * step_east, -180.0, 180.0);
        let (south, north) = widen(south, north, 6.0 * step, -90.0, 90.0);
        let meridians = multiples(west + middle, east + middle, step_east).map(|degrees| GraticuleLine {
            meridian: true,
            degrees: wrap(degrees),
            places: between(south, north).map(|latitude| [degrees, latitude]).collect(),
        });
        let parallels = multiples(south, north, step).map(|degrees| GraticuleLine {
            meridian: false,
            degrees,
            places: between(west + middle, east + middle).map(|longitude| [longitude, degrees]).collect(),
        });
        meridians.chain(parallels).collect()
    }
}

impl GraticuleLine {
    /// `65° N`, `25.5° E`.
    pub(crate) fn label(&self) -> String {
        let size = (self.degrees.abs() * 1000.0).round() / 1000.0;
        let side = match (self.meridian, self.degrees) {
            _ if size == 0.0 => "",
            (true, d) if d > 0.0 => " E",
            (true, _) => " W",
            (false, d) if d > 0.0 => " N",
            (false, _) => " S",
        };
        format!("{size}°{side}")
    }
}

fn azimuthal([lon0, lat0]: Point, [lon, lat]: Point) -> Point {
    let (delta, lat, lat0) = ((lon - lon0).to_radians(), lat.to_radians(), lat0.to_radians());
    let cosine = lat0.sin() * lat.sin() + lat0.cos() * lat.cos() * delta.cos();
    let k = EARTH_RADIUS_KM * (2.0 / (1.0 + cosine).max(1e-9)).sqrt();
    [k * lat.cos() * delta.sin(), k * (lat0.cos() * lat.sin() - lat0.sin() * lat.cos() * delta.cos())]
}

fn unit([longitude, latitude]: Point) -> [f64; 3] {
    let ((sin_lon, cos_lon), (sin_lat, cos_lat)) = (longitude.to_radians().sin_cos(), latitude.to_radians().sin_cos());
    [cos_lat * cos_lon, cos_lat * sin_lon, sin_lat]
}

fn angle(a: Point, b: Point) -> f64 {
    let dot: f64 = unit(a).iter().zip(unit(b)).map(|(x, y)| x * y).sum();
    dot.clamp(-1.0, 1.0).acos().to_degrees()
}

/// Into `[-180, 180)`.
fn wrap(degrees: f64) -> f64 {
    (degrees + 180.0).rem_euclid(360.0) - 180.0
}

fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)))
}

fn widen(low: f64, high: f64, by: f64, min: f64, max: f64) -> (f64, f64) {
    ((low - by).max(min), (high + by).min(max))
}

/// About four lines over the span.
fn graticule_step(span: f64) -> f64 {
    let steps = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0];
    steps.into_iter().find(|step| span / step <= 5.5).unwrap_or(45.0)
}

fn multiples(low: f64, high: f64, step: f64) -> impl Iterator<Item = f64> {
    let (first, last) = ((low / step).ceil() as i64, (high / step).floor() as i64);
    (first..=last).map(move |k| k as f64 * step)
}

fn between(low: f64, high: f64) -> impl Iterator<Item = f64> {
    const PIECES: usize = 48;
    (0..=PIECES).map(move |k| low + (high - low) * k as f64 / PIECES as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_kilometres() {
        let (helsinki, oulu) = ([24.94, 60.17], [25.47, 65.01]);
        let projection = Projection::fit(&[helsinki, oulu]);
        let (a, b) = (projection.project(helsinki), projection.project(oulu));
        let distance = (a[0] - b[0]).hypot(a[1] - b[1]);
        assert!((distance - 539.0).abs() < 3.0, "{distance}");
        assert!(b[1] > a[1], "north is up");
    }

    #[test]
    fn places_across_the_date_line_stay_together() {
        let places = [[179.0, -17.0], [-179.0, -18.0]];
        let projection = Projection::fit(&places);
        let (a, b) = (projection.project(places[0]), projection.project(places[1]));
        assert!((a[0] - b[0]).abs() < 300.0);
        assert!(projection.graticule(&places).iter().all(|line| line.degrees.abs() <= 180.0));
    }

    #[test]
    fn the_whole_globe_is_a_plate_carree() {
        let projection = Projection::fit(&[[-120.0, 40.0], [20.0, 50.0], [140.0, -30.0]]);
        assert!(matches!(projection, Projection::PlateCarree { .. }));
    }

    #[test]
    fn labels_name_the_side() {
        let line = |meridian, degrees| GraticuleLine { meridian, degrees, places: Vec::new() }.label();
        assert_eq!(line(false, 65.0), "65° N");
        assert_eq!(line(true, -0.30000000000000004), "0.3° W");
        assert_eq!(line(true, 0.0), "0°");
    }
}
