//! Graphs from coordinates.

use crate::common::{failure, folder, strings};
use fedweave_io::{InputSpec, Metric, load};

/// Across the date line: fiji and samoa are near on the globe and far apart in degrees.
const PLACES: &str = "node,lat,lon,x,y\nfiji,-18,179,1,1\nsamoa,-14,-172,1,1\nperu,-12,-77,1,1\nfiji,-18,179,1,1\n";

fn by(columns: &[&str], k: usize) -> impl Fn(InputSpec) -> InputSpec {
    move |spec| InputSpec { by: strings(columns), knn: Some(k), ..spec }
}

#[test]
fn latitude_and_longitude_are_recognised() {
    let folder = folder();
    let spec = by(&["lat", "lon"], 1)(folder.spec(PLACES));
    let input = load(&spec).unwrap();
    let coordinates = input.coordinates.unwrap();
    assert!(coordinates.geographic);
    assert_eq!(coordinates.values.row(0), &[-18.0, 179.0]);
    // fiji = 0, peru = 1, samoa = 2: samoa is nearest to both others.
    assert_eq!((input.graph.nodes_of(0), input.graph.nodes_of(1)), ((0, 2), (1, 2)));
    let flat = load(&InputSpec { metric: Some(Metric::Euclidean), ..spec.clone() }).unwrap();
    assert_eq!((flat.graph.nodes_of(0), flat.graph.nodes_of(1)), ((0, 1), (1, 2)));
    let swapped = load(&by(&["lon", "lat"], 1)(folder.spec(PLACES))).unwrap();
    assert_eq!(swapped.graph, input.graph);
    assert_eq!(input.features, ["x"]);
}

#[test]
fn coordinates_come_from_the_node_information_first_and_are_averaged_otherwise() {
    let folder = folder();
    let info = folder.write("info.csv", "node,p\na,0\nb,10\nc,11\n");
    let text = "node,p,q,y\na,99,1,1\nb,99,2,1\nb,99,3,1\nc,99,4,1\n";
    let spec = InputSpec { node_info: Some(info), ..by(&["p", "q"], 1)(folder.spec(text)) };
    let input = load(&InputSpec { intercept: true, ..spec }).unwrap();
    assert_eq!(input.coordinates.unwrap().values.as_slice(), &[0.0, 1.0, 10.0, 2.5, 11.0, 4.0]);
    assert_eq!(input.graph.edges(), 2);
}

#[test]
fn impossible_neighbours_are_refused() {
    let folder = folder();
    let spec = |k| by(&["lat", "lon"], k)(folder.spec(PLACES));
    for k in [0, 3] {
        assert_eq!(failure(&folder, &spec(k)), format!("--knn {k} is impossible with 3 nodes; choose between 1 and 2"));
    }
    let nowhere = InputSpec { by: Vec::new(), ..spec(1) };
    assert!(failure(&folder, &nowhere).starts_with("--knn needs coordinate columns; name them with --by"));
    let edges = Some(folder.write("edges.csv", "source,target\nfiji,peru\n"));
    assert!(failure(&folder, &InputSpec { edges, ..spec(1) }).starts_with("both an edge file and --knn are given; "));
}

#[test]
fn coordinates_must_be_known_and_on_the_globe() {
    let folder = folder();
    let spec = |text: &str| by(&["lat", "lon"], 1)(folder.spec(text));
    assert_eq!(
        failure(&folder, &spec("node,lat,lon,x,y\na,91,0,1,1\nb,1,1,1,1\n")),
        "node \"a\": latitude 91 is outside +-90 degrees; correct it or use --metric euclidean"
    );
    assert_eq!(
        failure(&folder, &spec("node,lat,lon,x,y\na,9,0,1,1\nb,1,,1,1\n")),
        "node \"b\" has no lon (1 such); --knn needs coordinates of every node, e.g. from --node-info"
    );
    assert!(
        failure(&folder, &spec("node,lat,lon,x,y\na,9,0,1,1\nb,1,east,1,1\n"))
            .starts_with("nodes.csv:3: column lon: \"east\" is not")
    );
    let flat = InputSpec { by: strings(&["lat"]), metric: Some(Metric::GreatCircle), ..spec(PLACES) };
    assert!(
        failure(&folder, &flat)
            .starts_with("great-circle distance needs two columns, latitude and longitude; found lat;")
    );
}
