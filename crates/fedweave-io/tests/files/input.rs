//! From files to graph and dataset.

use crate::common::{failure, folder, load_text, strings};
use fedweave_io::{Encoding, InputSpec, MissingPolicy, TargetKind, load, load_rows};

#[test]
fn nodes_are_the_union_of_all_files() {
    let folder = folder();
    let spec = InputSpec {
        edges: Some(folder.write("edges.csv", "source,target\nn1,only in edges\n")),
        node_info: Some(folder.write("info.csv", "node,colour\nonly in info,red\nn2,blue\n")),
        per_node: strings(&["colour"]),
        ..folder.spec("node,x,y\nn2,1,1\nn1,2,2\nn2,3,3\n")
    };
    let input = load(&spec).unwrap();
    assert_eq!(input.names, ["n1", "n2", "only in edges", "only in info"]);
    assert_eq!((input.data.labels(1), input.data.rows(2).len()), (&[1.0, 3.0][..], 0));
    assert_eq!(input.notices.nodes_without_rows, ["only in edges"]);
    assert_eq!(input.notices.nodes_without_edges, ["n2"]);
    assert_eq!(input.notices.nodes_with_neither, ["only in info"]);
    assert_eq!(input.per_node[0].values, [None, Some("blue".into()), None, Some("red".into())]);
}

#[test]
fn a_column_constant_in_each_node_may_stand_in_the_table() {
    let folder = folder();
    let spec = |text: &str| InputSpec { per_node: strings(&["loss"]), ..folder.spec(text) };
    let input = load(&spec("node,x,loss,y\na,1,huber,1\nb,1,,1\na,1,huber,1\na,1,,1\n")).unwrap();
    assert_eq!(input.per_node[0].values, [Some("huber".into()), None]);
    assert_eq!(
        failure(&folder, &spec("node,x,loss,y\na,1,huber,1\na,1,squared,1\n")),
        "nodes.csv:3: column loss: node \"a\" has \"squared\" here, but \"huber\" at nodes.csv:2; \
         it must be the same on all its rows"
    );
}

/// A word per row out of eighty, and a number that is mostly zero: rows keep what is not zero, and are the same rows.
#[test]
fn one_hot_rows_stay_sparse() {
    let row = |r: usize| format!("n{},w{:02},{},1\n", r % 3, r % 80, if r.is_multiple_of(5) { r } else { 0 });
    let text: String = (0..240).map(row).collect();
    let folder = folder();
    let spec = InputSpec { one_hot: strings(&["word"]), ..folder.spec(format!("node,word,x,y\n{text}")) };
    let input = load(&spec).unwrap();
    assert!(input.data.is_sparse() && input.data.dim() == 81);
    for (k, line) in input.lines.iter().enumerate() {
        let r = *line as usize - 2;
        let number = if r.is_multiple_of(5) { r as f64 } else { 0.0 };
        let word = input.features.iter().position(|name| *name == format!("word=w{:02}", r % 80));
        let x: Vec<f64> = (0..81)
            .map(|j| match input.features[j].as_str() {
                "x" => number,
                "intercept" => 1.0,
                _ => f64::from(u8::from(word == Some(j))),
            })
            .collect();
        assert_eq!(input.data.x(k), x);
    }
    let few = InputSpec { one_hot: strings(&["word"]), ..folder.spec("node,word,y\na,v,1\na,w,2\n") };
    assert!(!load(&few).unwrap().data.is_sparse());
}

#[test]
fn node_information_has_one_row_per_node() {
    let folder = folder();
    let spec =
        InputSpec { node_info: Some(folder.write("info.csv", "node\na\nb\na\n")), ..folder.spec("node,x,y\na,1,1\n") };
    assert_eq!(
        failure(&folder, &spec),
        "info.csv:4: node \"a\" is listed again (first at info.csv:2); keep one row per node"
    );
}

#[test]
fn text_columns_are_named_together_with_an_example_and_the_cure() {
    let folder = folder();
    let spec = folder.spec("node,x,sky,wind,y\na,1,3,N,1\na,2,blue,SW,2\n");
    assert_eq!(
        failure(&folder, &spec),
        "nodes.csv: not numeric: sky (\"blue\" at nodes.csv:3, numbers before), wind (\"N\" at nodes.csv:2); \
         drop them (--drop sky,wind) or one-hot encode them (--one-hot sky,wind); \
         where single cells hold no number, leave them empty (--missing drop or --missing mean)"
    );
    assert_eq!(load(&InputSpec { drop: strings(&["sky", "wind"]), ..spec }).unwrap().features, ["x"]);
}

#[test]
fn features_may_be_listed() {
    let folder = folder();
    let text = "node,x1,x2,lat,y\na,1,2,50,1\n";
    let spec =
        |features: &[&str]| InputSpec { features: Some(strings(features)), by: strings(&["lat"]), ..folder.spec(text) };
    assert_eq!(load(&spec(&["lat", "x1"])).unwrap().data.x(0), &[50.0, 1.0]);
    assert_eq!(
        failure(&folder, &spec(&["X11"])),
        "nodes.csv: no column \"X11\" (did you mean \"x1\"?); the columns are node, x1, x2, lat, y"
    );
    assert_eq!(
        failure(&folder, &spec(&["y"])),
        "nodes.csv: column \"y\" is the target and cannot be a feature too; remove it from --features or --one-hot"
    );
    let all = load(&InputSpec { features: None, intercept: true, ..spec(&[]) }).unwrap();
    assert_eq!((all.features, all.data.x(0)), (strings(&["x1", "x2", "intercept"]), &[1.0, 2.0, 1.0][..]));
    let dropped = InputSpec { drop: strings(&["x2"]), ..spec(&["x1", "x2"]) };
    assert_eq!(load(&dropped).unwrap().features, ["x1"]);
    assert!(failure(&folder, &spec(&[])).contains("no feature columns are left and no intercept is fitted; "));
    assert_eq!(load(&InputSpec { intercept: true, ..spec(&[]) }).unwrap().data.x(0), &[1.0]);
}

#[test]
fn unknown_columns_are_refused_whatever_their_part() {
    let folder = folder();
    let spec = || folder.spec("node,x,y\na,1,1\n");
    let gone = || Some("gone".to_string());
    let specs = [
        InputSpec { target: gone(), ..spec() },
        InputSpec { weight: gone(), ..spec() },
        InputSpec { group: gone(), ..spec() },
        InputSpec { time: gone(), ..spec() },
        InputSpec { drop: strings(&["gone"]), ..spec() },
        InputSpec { one_hot: strings(&["gone"]), ..spec() },
        InputSpec { by: strings(&["gone"]), ..spec() },
        InputSpec { per_node: strings(&["gone"]), ..spec() },
    ];
    for spec in specs {
        assert_eq!(failure(&folder, &spec), "nodes.csv: no column \"gone\"; the columns are node, x, y");
    }
    assert_eq!(
        failure(&folder, &InputSpec { node: "station".into(), ..spec() }),
        "nodes.csv: no column \"station\" with the ids of the nodes; name it with --node; the columns are node, x, y"
    );
}

#[test]
fn a_loss_with_labels_needs_a_target() {
    let folder = folder();
    let spec = InputSpec { target: None, ..folder.spec("node,x,y\na,1,1\n") };
    assert_eq!(failure(&folder, &spec), "the loss needs a target column; name it with --target");
    let point = load(&InputSpec { target_kind: TargetKind::None, ..spec }).unwrap();
    assert_eq!((point.features, point.data.y()), (strings(&["x", "y"]), &[0.0][..]));
}

#[test]
fn one_hot_levels_are_sorted_and_the_intercept_speaks_for_the_first() {
    let folder = folder();
    let text = "node,sky,y\na,grey,1\na,blue,2\na,red,3\n";
    let spec = InputSpec { one_hot: strings(&["sky"]), ..folder.spec(text) };
    let input = load(&spec).unwrap();
    assert_eq!(input.features, ["sky=blue", "sky=grey", "sky=red"]);
    assert_eq!(input.data.features(0), &[0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
    let input = load(&InputSpec { intercept: true, ..spec }).unwrap();
    assert_eq!(input.features, ["sky=grey", "sky=red", "intercept"]);
    assert_eq!(input.data.features(0), &[1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 1.0]);
}

const GAPS: &str = "node,x,z,y\na,1,1,1\na,,4,2\nb,3,NA,3\n,7,7,7\nb,5,1,?\n";

#[test]
fn missing_values_are_counted_by_column() {
    let folder = folder();
    assert_eq!(
        failure(&folder, &folder.spec(GAPS)),
        "missing values: node 1, y 1, x 1, z 1 (first at nodes.csv:3); use --missing drop or --missing mean"
    );
}

#[test]
fn missing_values_may_be_dropped_or_filled() {
    let folder = folder();
    let spec = InputSpec { missing: MissingPolicy::Drop, ..folder.spec(GAPS) };
    let dropped = load(&spec).unwrap();
    assert_eq!((dropped.lines.as_slice(), dropped.notices.rows_dropped), (&[2][..], 4));
    assert_eq!(dropped.names, ["a", "b"]);
    let filled = load(&InputSpec { missing: MissingPolicy::Mean, ..spec }).unwrap();
    assert_eq!((filled.notices.rows_dropped, filled.notices.cells_filled), (2, 2));
    assert_eq!((filled.data.features(0), filled.data.features(1)), (&[1.0, 1.0, 2.0, 4.0][..], &[3.0, 2.5][..]));
}

#[test]
fn nothing_left_is_an_error() {
    let folder = folder();
    let spec = InputSpec { missing: MissingPolicy::Drop, ..folder.spec("node,x,z,y\na,,1,1\nb,1,,1\n") };
    assert!(failure(&folder, &spec).starts_with("nodes.csv: no row is complete, nothing is left; "));
    let empty = InputSpec { missing: MissingPolicy::Mean, ..folder.spec("node,x,z,y\na,,1,1\n") };
    assert_eq!(failure(&folder, &empty), "nodes.csv: column x has no values at all; drop it (--drop x)");
}

#[test]
fn a_node_may_be_called_na() {
    assert_eq!(load_text("node,x,y\nNA,1,2\nnull,1,2\n").names, ["NA", "null"]);
}

#[test]
fn weights_are_read_and_must_not_be_negative() {
    let folder = folder();
    let spec = |text: &str| InputSpec { weight: Some("n".into()), ..folder.spec(text) };
    assert_eq!(load(&spec("node,x,n,y\na,1,2.5,1\na,1,0,1\n")).unwrap().data.weights(0), &[2.5, 0.0]);
    assert_eq!(
        failure(&folder, &spec("node,x,n,y\na,1,2,1\na,1,-2,1\n")),
        "nodes.csv:3: column n: row weight -2 is negative; weights must be zero or positive"
    );
}

#[test]
fn rows_of_a_node_are_ordered_by_time() {
    let folder = folder();
    let spec = |text: &str| InputSpec { time: Some("t".into()), ..folder.spec(text) };
    let numbers = load(&spec("node,t,x,y\na,10,1,1\nb,1,1,2\na,9,1,3\na,9.0,1,4\n")).unwrap();
    assert_eq!((numbers.data.labels(0), numbers.features), (&[3.0, 4.0, 1.0][..], strings(&["x"])));
    let dates = load(&spec("node,t,x,y\na,2024-10-01,1,1\na,2024-09-30T10:00,1,2\n")).unwrap();
    assert_eq!(dates.data.labels(0), &[2.0, 1.0]);
}

#[test]
fn groups_follow_their_rows() {
    let folder = folder();
    let spec =
        InputSpec { group: Some("day".into()), ..folder.spec("node,day,x,y\nb,mon,1,1\na,tue,1,2\na,mon,1,3\n") };
    assert_eq!(load(&spec).unwrap().groups, Some(vec![1, 0, 0]));
}

#[test]
fn classes_are_sorted_and_labels_are_positions() {
    let folder = folder();
    let spec = |text: &str| InputSpec { target_kind: TargetKind::Class, ..folder.spec(text) };
    let input = load(&spec("node,x,y\na,1,wet\na,1,dry\na,1,wet\n")).unwrap();
    assert_eq!((input.classes, input.data.labels(0)), (strings(&["dry", "wet"]), &[1.0, 0.0, 1.0][..]));
    assert_eq!(load(&spec("node,x,y\na,1,10\na,1,-1\na,1,9\n")).unwrap().classes, ["-1", "9", "10"]);
}

#[test]
fn another_file_is_encoded_alike() {
    let folder = folder();
    let spec = InputSpec {
        one_hot: strings(&["sky"]),
        missing: MissingPolicy::Mean,
        intercept: true,
        ..folder.spec("node,x,sky,y\na,1,blue,1\na,3,grey,2\n")
    };
    let stored = serde_json::to_string(&load(&spec).unwrap().encoding).unwrap();
    let encoding: Encoding = serde_json::from_str(&stored).unwrap();
    let rows = load_rows(&folder.write("new.csv", "sky,node,x,unused\ngrey,007,,?\nblue,a,5,z\n"), &encoding).unwrap();
    assert_eq!((rows.node, rows.y, rows.lines), (strings(&["007", "a"]), None, vec![2, 3]));
    assert_eq!(rows.x.as_slice(), &[2.0, 1.0, 1.0, 5.0, 0.0, 1.0]);

    let refusal = |text: &str| {
        let error = load_rows(&folder.write("new.csv", text), &encoding).unwrap_err();
        crate::common::strip(&folder, &error.to_string())
    };
    assert_eq!(
        refusal("node,x,sky\na,1,blue\na,1,pink\n"),
        "new.csv:3: column sky: \"pink\" did not occur when the model was fitted (blue, grey); correct it, fit again, or let `predict --skip-unknown` leave such rows out"
    );
    assert_eq!(refusal("node,x\na,1\n"), "new.csv: no column \"sky\"; the columns are node, x");
    assert_eq!(
        refusal("node,x,sky\na,1,\n"),
        "new.csv:2: column sky: the value is missing; fill it, or leave the row out"
    );
    assert_eq!(refusal("node,x,sky\n,1,blue\n"), "new.csv:2: the node id is empty; every row needs one");
}

#[test]
fn labels_of_another_file_are_read_where_they_are_known() {
    let folder = folder();
    let spec = InputSpec { target_kind: TargetKind::Class, ..folder.spec("node,x,y\na,1,dry\na,3,wet\n") };
    let encoding = load(&spec).unwrap().encoding;
    let rows = load_rows(&folder.write("new.csv", "node,x,y\na,1,wet\na,1,\n"), &encoding).unwrap();
    let y = rows.y.unwrap();
    assert!(y[0] == 1.0 && y[1].is_nan());
}

/// A small instance whose optimum is known elsewhere: chain of four nodes, ids with spaces, parentheses, leading zeros.
#[test]
fn a_golden_instance_loads() {
    let folder = folder();
    let spec = InputSpec {
        edges: Some(folder.write("edges.csv", "source,target,weight\n01,n (2),1.195826\nn (2),a b,0.5\na b,z,1.0\n")),
        ..folder.spec("node,x1,x2,y\nn (2),-0.760818,-1.319533,-0.6859\n01,0.1,0.2,0.3\nn (2),1,2,3\nz,4,5,6\n")
    };
    let input = load(&spec).unwrap();
    assert_eq!(input.names, ["01", "a b", "n (2)", "z"]);
    assert_eq!((input.graph.nodes(), input.graph.edges(), input.data.len()), (4, 3, 4));
    assert_eq!(input.data.features(2), &[-0.760818, -1.319533, 1.0, 2.0]);
    assert_eq!(input.notices.nodes_without_rows, ["a b"]);
}
