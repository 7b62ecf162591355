//! The network drawn: positions from a map, a plane or a layout, edges and nodes as a few long paths (thousands of nodes
//! stay quick), coloured by cluster. The script of the page only recolours and enlarges what is drawn here.

use crate::axis::Tick;
use crate::frame::{Frame, WIDTH};
use crate::layout::{Point, layout};
use crate::number::{count, short};
use crate::projection::{GraticuleLine, Projection};
use crate::report::{Coordinates, Report};
use serde::Serialize;
use std::fmt::Write;

/// Clusters with a colour of their own; the others are grey.
pub(crate) const COLOURS: usize = 10;
/// More edges than this are a solid area; evenly chosen ones are drawn instead.
const EDGES_MAX: usize = 60_000;

/// The picture, ready for the template.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Network {
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// How the positions were found, as a sentence.
    pub(crate) caption: String,
    /// The diameter of a dot in pixels.
    pub(crate) dot: f64,
    /// Edges whose ends have the same model, and the others.
    pub(crate) inside: String,
    pub(crate) across: String,
    /// Paths of dots, in drawing order.
    pub(crate) dots: Vec<Shape>,
    /// The edges inside each coloured cluster, drawn broad and pale beneath: the ground it covers.
    pub(crate) grounds: Vec<Shape>,
    pub(crate) map: Option<Map>,
    #[serde(skip)]
    pub(crate) places: Vec<Option<Point>>,
}

/// A path of one colour.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Shape {
    /// The colour, `COLOURS` for grey.
    pub(crate) colour: usize,
    pub(crate) path: String,
}

/// What makes a picture a map.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Map {
    pub(crate) lines: String,
    /// Labels of the parallels along the left side, of the meridians along the bottom, in percent.
    pub(crate) parallels: Vec<Tick>,
    pub(crate) meridians: Vec<Tick>,
    pub(crate) scale_bar: Option<Tick>,
}

/// Draws the nodes and edges; `None` if there are no nodes.
pub(crate) fn draw(report: &Report, colours: &[usize]) -> Option<Network> {
    if report.nodes.is_empty() {
        return None;
    }
    let (places, frame, map, words) = position(report);
    let (inside, across, thinned) = edge_paths(report, &places);
    let missing = places.iter().filter(|place| place.is_none()).count();
    let caption = [Some(words), missing_words(missing), thinned].into_iter().flatten().collect::<Vec<_>>().join(" ");
    let (dots, grounds) = (dots(report, &places, colours), grounds(report, &places, colours));
    let dot = dot_size(report.nodes.len());
    Some(Network {
        width: WIDTH as u32,
        height: frame.height as u32,
        caption,
        dot,
        inside,
        across,
        dots,
        grounds,
        map,
        places,
    })
}

fn missing_words(missing: usize) -> Option<String> {
    match missing {
        0 => None,
        1 => Some("1 node has no coordinates and is not drawn.".into()),
        n => Some(format!("{} nodes have no coordinates and are not drawn.", count(n))),
    }
}

/// Between 2 pixels for very many nodes and 14 for a few.
fn dot_size(nodes: usize) -> f64 {
    (34.0 / (nodes as f64).powf(0.27)).clamp(2.0, 14.0).round()
}

type Position = (Vec<Option<Point>>, Frame, Option<Map>, String);

fn position(report: &Report) -> Position {
    let given: Vec<Option<Point>> = report.nodes.iter().map(|node| finite(node.x, node.y)).collect();
    let places: Vec<Point> = given.iter().flatten().copied().collect();
    match report.coordinates {
        Coordinates::Geographic if !places.is_empty() => on_a_map(&given, &places),
        Coordinates::Plane if !places.is_empty() => {
            let frame = Frame::around(places.iter().copied());
            (in_frame(&frame, &given), frame, None, "Positions as given.".into())
        }
        _ => by_layout(report),
    }
}

fn finite(x: Option<f64>, y: Option<f64>) -> Option<Point> {
    Some([x?, y?]).filter(|point| point.iter().all(|c| c.is_finite()))
}

fn in_frame(frame: &Frame, points: &[Option<Point>]) -> Vec<Option<Point>> {
    points.iter().map(|point| point.map(|point| frame.place(point))).collect()
}

fn by_layout(report: &Report) -> Position {
    let edges: Vec<(usize, usize)> = report.edges.iter().map(|edge| (edge.i, edge.j)).collect();
    let points: Vec<Option<Point>> = layout(report.nodes.len(), &edges).into_iter().map(Some).collect();
    let frame = Frame::around(points.iter().flatten().copied());
    let words = "The nodes have no coordinates: connected nodes are drawn close together, and directions mean nothing.";
    (in_frame(&frame, &points), frame, None, words.into())
}

fn on_a_map(given: &[Option<Point>], places: &[Point]) -> Position {
    let projection = Projection::fit(places);
    let points: Vec<Option<Point>> = given.iter().map(|place| place.map(|place| projection.project(place))).collect();
    let frame = Frame::around(points.iter().flatten().copied());
    let map = draw_map(&projection, &projection.graticule(places), &frame);
    let words = match projection {
        Projection::Azimuthal { .. } => "Lambert azimuthal equal-area projection.",
        Projection::PlateCarree { .. } => "Equirectangular projection.",
    };
    (in_frame(&frame, &points), frame, Some(map), words.into())
}

fn draw_map(projection: &Projection, graticule: &[GraticuleLine], frame: &Frame) -> Map {
    let mut map = Map { lines: String::new(), parallels: Vec::new(), meridians: Vec::new(), scale_bar: None };
    for line in graticule {
        let points: Vec<Point> = line.places.iter().map(|place| frame.place(projection.project(*place))).collect();
        append_line(&mut map.lines, &points, frame);
        let crossing = if line.meridian { cross_bottom(&points, frame) } else { cross_left(&points, frame) };
        if let Some(at) = crossing.filter(|at| (4.0..=96.0).contains(at)) {
            let tick = Tick { at, label: line.label() };
            if line.meridian { map.meridians.push(tick) } else { map.parallels.push(tick) }
        }
    }
    map.scale_bar = projection.kilometres().map(|kilometres| scale_bar(frame.scale / kilometres));
    map
}

fn append_line(path: &mut String, points: &[Point], frame: &Frame) {
    let mut pen = 'M';
    for pair in points.windows(2) {
        let seam = (pair[0][0] - pair[1][0]).abs() > 0.5 * WIDTH;
        if seam || !(frame.near(pair[0]) && frame.near(pair[1])) {
            pen = 'M';
            continue;
        }
        if pen == 'M' {
            let _ = write!(path, "M{:.1} {:.1}", pair[0][0], pair[0][1]);
            pen = 'L';
        }
        let _ = write!(path, "L{:.1} {:.1}", pair[1][0], pair[1][1]);
    }
}

/// Where a line crosses the left side, in percent from the top.
fn cross_left(points: &[Point], frame: &Frame) -> Option<f64> {
    cross(points, 0, 0.0).map(|y| 100.0 * y / frame.height)
}

/// Where a line crosses the bottom, in percent from the left.
fn cross_bottom(points: &[Point], frame: &Frame) -> Option<f64> {
    cross(points, 1, frame.height).map(|x| 100.0 * x / WIDTH)
}

fn cross(points: &[Point], axis: usize, level: f64) -> Option<f64> {
    points.windows(2).find_map(|pair| {
        let (a, b) = (pair[0][axis] - level, pair[1][axis] - level);
        let share = a / (a - b);
        (a * b <= 0.0 && share.is_finite()).then(|| pair[0][1 - axis] + share * (pair[1][1 - axis] - pair[0][1 - axis]))
    })
}

/// A bar of a round number of kilometres, about a sixth of the picture; `at` is its width in percent.
fn scale_bar(per_kilometre: f64) -> Tick {
    let rough = WIDTH / 6.0 / per_kilometre;
    let power = 10f64.powf(rough.log10().floor());
    let length = [5.0, 2.0, 1.0].into_iter().map(|m| m * power).find(|l| *l <= rough).unwrap_or(power);
    Tick { at: 100.0 * length * per_kilometre / WIDTH, label: format!("{} km", short(length)) }
}

fn edge_paths(report: &Report, places: &[Option<Point>]) -> (String, String, Option<String>) {
    let (mut inside, mut across) = (String::new(), String::new());
    let stride = report.edges.len().div_ceil(EDGES_MAX).max(1);
    for edge in report.edges.iter().step_by(stride) {
        let path = if edge.differs { &mut across } else { &mut inside };
        append_edge(path, places[edge.i], places[edge.j]);
    }
    let thinned =
        (stride > 1).then(|| format!("One in {} of the {} edges is drawn.", stride, count(report.edges.len())));
    (inside, across, thinned)
}

fn append_edge(path: &mut String, from: Option<Point>, to: Option<Point>) {
    if let (Some(a), Some(b)) = (from, to) {
        let _ = write!(path, "M{:.1} {:.1}L{:.1} {:.1}", a[0], a[1], b[0], b[1]);
    }
}

/// The colour of each cluster: the largest ones with at least two nodes get their own, the others grey.
pub(crate) fn cluster_colours(report: &Report) -> Vec<usize> {
    let size = |k: usize| report.clusters[k].size;
    let mut order: Vec<usize> = (0..report.clusters.len()).filter(|&k| size(k) > 1).collect();
    order.sort_by(|&a, &b| size(b).cmp(&size(a)).then(a.cmp(&b)));
    let mut colours = vec![COLOURS; report.clusters.len()];
    for (colour, &k) in order.iter().take(COLOURS).enumerate() {
        colours[k] = colour;
    }
    colours
}

/// Up to this many nodes each dot is a path of its own, so that overlapping dots keep their outlines.
const SINGLE_DOTS_MAX: usize = 500;

/// The colour of every node.
pub(crate) fn node_colours(report: &Report, colours: &[usize]) -> Vec<usize> {
    (0..report.nodes.len()).map(|i| node_colour(report, colours, i)).collect()
}

fn node_colour(report: &Report, colours: &[usize], i: usize) -> usize {
    report.nodes[i].cluster.map_or(COLOURS, |k| colours[k])
}

fn empty_shapes() -> Vec<Shape> {
    (0..=COLOURS).map(|colour| Shape { colour, path: String::new() }).collect()
}

fn dots(report: &Report, places: &[Option<Point>], colours: &[usize]) -> Vec<Shape> {
    let placed =
        places.iter().enumerate().filter_map(|(i, place)| place.map(|[x, y]| (i, format!("M{x:.1} {y:.1}h0"))));
    if places.len() <= SINGLE_DOTS_MAX {
        return placed.map(|(i, path)| Shape { colour: node_colour(report, colours, i), path }).collect();
    }
    let mut shapes = empty_shapes();
    placed.for_each(|(i, path)| shapes[node_colour(report, colours, i)].path += &path);
    // Grey first: the colours are drawn on top.
    shapes.reverse();
    shapes.retain(|shape| !shape.path.is_empty());
    shapes
}

fn grounds(report: &Report, places: &[Option<Point>], colours: &[usize]) -> Vec<Shape> {
    let mut shapes = empty_shapes();
    let stride = report.edges.len().div_ceil(EDGES_MAX).max(1);
    for edge in report.edges.iter().step_by(stride).filter(|edge| !edge.differs) {
        let (colour, other) = (node_colour(report, colours, edge.i), node_colour(report, colours, edge.j));
        if colour == other && colour < COLOURS {
            append_edge(&mut shapes[colour].path, places[edge.i], places[edge.j]);
        }
    }
    shapes.retain(|shape| !shape.path.is_empty());
    shapes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Cluster, Edge, Node};

    fn pair(coordinates: Coordinates) -> Report {
        let node = |x, y, cluster| Node { x: Some(x), y: Some(y), cluster: Some(cluster), ..Node::default() };
        Report {
            coordinates,
            nodes: vec![node(24.9, 60.2, 0), node(25.5, 65.0, 0), node(27.7, 62.9, 1)],
            edges: vec![
                Edge { i: 0, j: 1, weight: 1.0, differs: false },
                Edge { i: 1, j: 2, weight: 1.0, differs: true },
            ],
            clusters: vec![Cluster { size: 2, model: vec![] }, Cluster { size: 1, model: vec![] }],
            ..Report::default()
        }
    }

    #[test]
    fn a_map_has_a_graticule_and_a_scale() {
        let report = pair(Coordinates::Geographic);
        let network = draw(&report, &cluster_colours(&report)).unwrap();
        let map = network.map.unwrap();
        assert!(map.parallels.iter().any(|tick| tick.label == "62° N"), "{:?}", map.parallels);
        assert!(!map.meridians.is_empty() && map.scale_bar.unwrap().label.ends_with(" km"));
    }

    #[test]
    fn single_nodes_are_grey() {
        let report = pair(Coordinates::Plane);
        assert_eq!(cluster_colours(&report), [0, COLOURS]);
        let network = draw(&report, &[0, COLOURS]).unwrap();
        assert_eq!(network.dots.iter().map(|dot| dot.colour).collect::<Vec<_>>(), [0, 0, COLOURS]);
        assert_eq!(network.grounds.iter().map(|ground| ground.colour).collect::<Vec<_>>(), [0]);
        assert!(!network.across.is_empty() && !network.inside.is_empty() && network.map.is_none());
    }

    #[test]
    fn nodes_without_coordinates_are_counted_not_drawn() {
        let mut report = pair(Coordinates::Geographic);
        report.nodes[2].x = None;
        let network = draw(&report, &[0, COLOURS]).unwrap();
        assert!(network.places[2].is_none() && network.across.is_empty());
        assert!(network.caption.contains("1 node has no coordinates"));
    }

    #[test]
    fn no_coordinates_at_all_means_a_layout() {
        let network = draw(&pair(Coordinates::None), &[0, COLOURS]).unwrap();
        assert!(network.places.iter().all(Option::is_some));
        assert!(draw(&Report::default(), &[]).is_none());
    }
}
