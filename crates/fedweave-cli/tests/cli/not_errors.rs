//! Unusual input that is not wrong.

use std::fs::File;
use std::sync::Arc;

use parquet::data_type::{ByteArray, ByteArrayType, DoubleType};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use crate::sandbox::{EDGES, LABELS, NODES, Sandbox, Table};

const TIGHT: &str = "--tolerance 1e-11";

/// The models of a fit with these flags.
fn parameters(sandbox: &Sandbox, flags: &str) -> String {
    sandbox.succeed(&format!("fit {flags} --out run --overwrite"));
    sandbox.read("run/parameters.csv")
}

/// The models of a fit of this table, with the usual edges.
fn parameters_of(nodes: &str, flags: &str) -> String {
    let sandbox = Sandbox::new();
    sandbox.write("nodes.csv", nodes);
    parameters(&sandbox, &format!("nodes.csv --edges edges.csv --target y --lambda 0.1 {flags}"))
}

fn distance(left: &str, right: &str) -> f64 {
    Table::parse(left).distance(&Table::parse(right))
}

fn summary(files: &[(&str, &str)], flags: &str) -> (Sandbox, serde_json::Value) {
    let sandbox = Sandbox::new();
    files.iter().for_each(|(name, text)| sandbox.write(name, text));
    let summary = sandbox.json(&format!("fit nodes.csv --edges edges.csv --target y --lambda 0.1 --out run {flags}"));
    (sandbox, summary)
}

#[test]
fn a_node_known_only_from_its_edges_learns_from_its_neighbours() {
    let (sandbox, summary) = summary(&[("edges.csv", "source,target\na,b\nb,c\nc,d\nd,e\n")], "");
    assert_eq!((&summary["nodes"], &summary["nodes_without_rows"]), (&5.into(), &1.into()));
    assert_eq!(summary["undetermined_nodes"], serde_json::json!([]));
    let parameters = sandbox.table("run/parameters.csv");
    let difference = parameters.of("d").iter().zip(parameters.of("e")).map(|(d, e)| (d - e).abs()).fold(0.0, f64::max);
    assert!(difference < 1e-3, "{difference}");
}

#[test]
fn a_node_without_edges_learns_alone() {
    let (sandbox, summary) = summary(&[("edges.csv", "source,target\na,b\nb,c\n")], TIGHT);
    assert_eq!(summary["nodes_without_edges"], 1);
    let alone = Sandbox::new();
    let rows: Vec<&str> = NODES.lines().filter(|line| line.starts_with("node") || line.starts_with('d')).collect();
    alone.write("nodes.csv", rows.join("\n"));
    alone.succeed("fit nodes.csv --target y --lambda 0.1 --tolerance 1e-11 --out run");
    let (with, without) = (sandbox.table("run/parameters.csv").of("d"), alone.table("run/parameters.csv").of("d"));
    with.iter().zip(&without).for_each(|(a, b)| assert!((a - b).abs() < 1e-6, "{with:?} {without:?}"));
}

#[test]
fn a_node_with_neither_is_zero_and_flagged() {
    let places = ("places.csv", "node,lat,lon\na,60,24\nb,60,25\nc,61,25\nd,61,26\nz,62,27\n");
    let (sandbox, summary) = summary(&[places], "--node-info places.csv");
    assert_eq!(summary["undetermined_nodes"], serde_json::json!(["z"]));
    assert_eq!(sandbox.read_json("run/summary.json")["undetermined_nodes"], serde_json::json!(["z"]));
    assert_eq!(sandbox.table("run/parameters.csv").of("z"), [0.0, 0.0, 0.0]);
}

#[test]
fn files_written_elsewhere_are_read_all_the_same() {
    let plain = parameters_of(NODES, "");
    let crlf = NODES.replace('\n', "\r\n");
    let quoted = NODES.lines().map(|l| l.split(',').map(|c| format!("\"{c}\"")).collect::<Vec<_>>().join(",") + "\n");
    let variants = [
        ("byte order mark", format!("\u{feff}{NODES}")),
        ("CRLF", crlf.clone()),
        ("CRLF and byte order mark", format!("\u{feff}{crlf}")),
        ("no final newline", NODES.trim_end().to_owned()),
        ("blank lines at the end", format!("{NODES}\n\n")),
        ("quotes around everything", quoted.collect()),
    ];
    for (name, nodes) in variants {
        assert_eq!(parameters_of(&nodes, ""), plain, "{name}");
    }
}

#[test]
fn edge_files_written_elsewhere_are_read_all_the_same() {
    let plain = parameters_of(NODES, "");
    let variants = [
        ("byte order mark", "e.csv", format!("\u{feff}{EDGES}")),
        ("CRLF", "e.csv", EDGES.replace('\n', "\r\n")),
        ("no final newline", "e.csv", EDGES.trim_end().to_owned()),
        ("from and to", "e.csv", EDGES.replace("source,target", "from,to")),
        ("tabs", "e.tsv", EDGES.replace(',', "\t")),
        ("twice with the same weight", "e.csv", format!("{EDGES}a,b,1\nc,b,0.5\n")),
    ];
    for (name, file, edges) in variants {
        let sandbox = Sandbox::new();
        sandbox.write(file, edges);
        let found = parameters(&sandbox, &format!("nodes.csv --edges {file} --target y --lambda 0.1"));
        assert_eq!(found, plain, "{name}");
    }
}

#[test]
fn graphs_of_other_formats() {
    let unweighted = Sandbox::new();
    unweighted.write("e.csv", "source,target\na,b\nb,c\nc,d\n");
    unweighted.write("e.adj", "a b\nb c\nc d\n");
    let edge = |(s, t): (&str, &str)| format!("<edge source=\"{s}\" target=\"{t}\"/>");
    let edges: String = [("a", "b"), ("b", "c"), ("c", "d")].into_iter().map(edge).collect();
    unweighted.write("e.graphml", format!("<graphml><graph edgedefault=\"undirected\">{edges}</graph></graphml>"));
    let of = |file: &str| parameters(&unweighted, &format!("nodes.csv --edges {file} --target y --lambda 0.1"));
    assert_eq!(of("e.adj"), of("e.csv"));
    assert_eq!(of("e.graphml"), of("e.csv"));
}

#[test]
fn ids_are_strings_letter_by_letter() {
    let names = [("a", "007"), ("b", "7"), ("c", "\"Berlin, Mitte\""), ("d", "say \"\"hi\"\"")];
    let rename = |line: &str| {
        let cells = line.split(',').map(|cell| match names.iter().find(|(old, _)| *old == cell) {
            Some((_, new)) if new.starts_with('s') => format!("\"{new}\""),
            Some((_, new)) => (*new).to_owned(),
            None => cell.to_owned(),
        });
        cells.collect::<Vec<_>>().join(",") + "\n"
    };
    let sandbox = Sandbox::new();
    sandbox.write("nodes.csv", NODES.lines().map(rename).collect::<String>());
    sandbox.write("edges.csv", EDGES.lines().map(rename).collect::<String>());
    let summary = sandbox.json("fit nodes.csv --edges edges.csv --target y --lambda 0.1 --out run");
    assert_eq!((&summary["nodes"], &summary["nodes_without_rows"]), (&4.into(), &0.into()));
    let written = sandbox.read("run/parameters.csv");
    let starts: Vec<&str> =
        written.lines().skip(1).map(|l| &l[..l.rfind("\",").map_or(l.find(',').unwrap(), |i| i + 1)]).collect();
    assert_eq!(starts, ["007", "7", "\"Berlin, Mitte\"", "\"say \"\"hi\"\"\""]);
    let predicted = sandbox.succeed("predict run nodes.csv");
    assert_eq!(predicted.lines().count(), NODES.lines().count());
    assert!(predicted.contains("\n\"Berlin, Mitte\","), "{predicted}");
}

#[test]
fn labels_of_both_customs_mean_the_same() {
    let flip = |line: &str| line.strip_suffix(",0").map_or(line.to_owned(), |rest| format!("{rest},-1")) + "\n";
    let signs: String = LABELS.lines().map(flip).collect();
    assert!(signs.contains(",-1\n") && !signs.contains(",0\n"));
    for loss in ["logistic", "squared-hinge"] {
        let flags = format!("--loss {loss} --ridge 0.01");
        assert_eq!(parameters_of(LABELS, &flags), parameters_of(&signs, &flags), "{loss}");
    }
}

/// [`NODES`] with a column of row weights, by line.
fn weighted(weight: impl Fn(usize) -> f64) -> String {
    let line = |(k, line): (usize, &str)| match k {
        0 => format!("{line},w\n"),
        _ => format!("{line},{}\n", weight(k)),
    };
    NODES.lines().enumerate().map(line).collect()
}

#[test]
fn row_weights_count_rows() {
    // A certified gap of 1e-8 with the curvature of the ridge allows a distance of 1e-3.
    for (loss, tolerance, near) in [("squared", 1e-11, 1e-6), ("huber", 1e-11, 1e-6), ("absolute", 1e-8, 1e-4)] {
        let flags = format!("--loss {loss} --weight w --ridge 0.01 --tolerance {tolerance}");
        let double = parameters_of(&weighted(|k| if k % 3 == 0 { 2.0 } else { 1.0 }), &flags);
        let lines: Vec<&str> = NODES.lines().collect();
        let again = |k: usize| lines[k].to_owned() + "\n";
        let twice = (0..lines.len()).map(|k| if k > 0 && k % 3 == 0 { again(k).repeat(2) } else { again(k) });
        let plain = flags.replace("--weight w", "");
        let gap = distance(&double, &parameters_of(&twice.collect::<String>(), &plain));
        assert!(gap < near, "{loss}: weight 2 and two rows differ by {gap:e}");

        let dropped = parameters_of(&weighted(|k| if k % 3 == 0 { 0.0 } else { 1.0 }), &flags);
        let kept = (0..lines.len()).filter(|k| *k == 0 || k % 3 != 0).map(again);
        let gap = distance(&dropped, &parameters_of(&kept.collect::<String>(), &plain));
        assert!(gap < near, "{loss}: weight 0 and no row differ by {gap:e}");
    }
}

#[test]
fn a_node_whose_rows_weigh_nothing_has_no_loss() {
    let flags = format!("--ridge 0.01 {TIGHT}");
    let weightless = parameters_of(&weighted(|k| if k > 12 { 0.0 } else { 1.0 }), &format!("--weight w {flags}"));
    let removed: String =
        NODES.lines().filter(|line| !line.starts_with('d')).map(|line| line.to_owned() + "\n").collect();
    let gap = distance(&weightless, &parameters_of(&removed, &flags));
    assert!(gap < 1e-6, "{gap:e}");
}

#[test]
fn the_order_of_the_files_does_not_matter() {
    let plain = parameters_of(NODES, "");
    let lines: Vec<&str> = NODES.lines().collect();
    // Nodes in turns, each node's rows in their old order.
    let turns = (0..4).flat_map(|row| [3, 1, 0, 2].map(|node| lines[1 + 4 * node + row]));
    let mixed: Vec<&str> = std::iter::once(lines[0]).chain(turns).collect();
    let sandbox = Sandbox::new();
    sandbox.write("nodes.csv", mixed.join("\n"));
    sandbox.write("edges.csv", "source,target,weight\nd,c,2\na,b,1\nc,b,0.5\n");
    assert_eq!(parameters(&sandbox, "nodes.csv --edges edges.csv --target y --lambda 0.1"), plain);
}

#[test]
fn a_larger_network_in_another_order_gives_the_same_bytes() {
    let sandbox = Sandbox::new();
    sandbox.succeed("generate data --network geometric --nodes 300 --neighbours 5 --dim 4 --rows 6");
    let fit = "--target y --lambda 0.2";
    let plain = parameters(&sandbox, &format!("data/nodes.csv --edges data/edges.csv {fit}"));
    let (nodes, edges) = (sandbox.read("data/nodes.csv"), sandbox.read("data/edges.csv"));
    let backwards = |text: &str, block: usize| {
        let lines: Vec<&str> = text.lines().collect();
        let blocks: Vec<String> = lines[1..].chunks(block).rev().map(|chunk| chunk.join("\n")).collect();
        format!("{}\n{}\n", lines[0], blocks.join("\n"))
    };
    sandbox.write("nodes2.csv", backwards(&nodes, 6));
    sandbox.write("edges2.csv", backwards(&edges, 1));
    assert_eq!(parameters(&sandbox, &format!("nodes2.csv --edges edges2.csv {fit}")), plain);
}

#[test]
fn parquet_equals_csv() {
    let plain = parameters_of(NODES, "");
    let sandbox = Sandbox::new();
    write_parquet(&sandbox, "nodes.parquet", NODES);
    write_parquet(&sandbox, "edges.parquet", EDGES);
    assert_eq!(parameters(&sandbox, "nodes.parquet --edges edges.parquet --target y --lambda 0.1"), plain);
    let outcome = sandbox.succeed("predict run nodes.parquet");
    assert_eq!(outcome, sandbox.succeed("predict run nodes.csv"));
}

/// A table whose cells are numbers, except for names.
fn write_parquet(sandbox: &Sandbox, name: &str, text: &str) {
    let table = Table::parse(text);
    let cells = |j: usize| table.rows.iter().map(move |row| row[j].as_str());
    let numbers = |j: usize| cells(j).map(str::parse).collect::<Result<Vec<f64>, _>>().ok();
    let field = |(j, name): (usize, &String)| match numbers(j) {
        Some(_) => format!("required double {name};"),
        None => format!("required binary {name} (STRING);"),
    };
    let fields: String = table.header.iter().enumerate().map(field).collect();
    let schema = Arc::new(parse_message_type(&format!("message table {{ {fields} }}")).unwrap());
    let file = File::create(sandbox.path(name)).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    for j in 0..table.header.len() {
        let mut column = group.next_column().unwrap().unwrap();
        match numbers(j) {
            Some(numbers) => column.typed::<DoubleType>().write_batch(&numbers, None, None).unwrap(),
            None => {
                let texts: Vec<ByteArray> = cells(j).map(ByteArray::from).collect();
                column.typed::<ByteArrayType>().write_batch(&texts, None, None).unwrap()
            }
        };
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
}

#[test]
fn missing_values_by_rule() {
    let holes = NODES.replace("a,2,-0.3,1.9", "a,,-0.3,1.9");
    let (_, dropped) = summary(&[("nodes.csv", &holes)], "--missing drop");
    assert_eq!((&dropped["rows"], &dropped["rows_dropped"]), (&15.into(), &1.into()));
    let (_, filled) = summary(&[("nodes.csv", &holes)], "--missing mean");
    assert_eq!((&filled["rows"], &filled["cells_filled"]), (&16.into(), &1.into()));
}

#[test]
fn nodes_with_losses_of_their_own() {
    let losses = ["squared", "huber", "absolute", "quantile"];
    let line = |(k, line): (usize, &str)| match k {
        0 => format!("{line},kind\n"),
        _ => format!("{line},{}\n", losses[(k - 1) / 4]),
    };
    let nodes: String = NODES.lines().enumerate().map(line).collect();
    let (_, mixed) = summary(&[("nodes.csv", &nodes)], "--loss-column kind");
    assert_eq!((&mixed["loss"], &mixed["status"], &mixed["dim"]), (&"mixed".into(), &"converged".into(), &3.into()));
    let same = nodes.replace("huber", "squared").replace("absolute", "squared").replace("quantile", "squared");
    let gap = distance(&parameters_of(&same, &format!("--loss-column kind {TIGHT}")), &parameters_of(NODES, TIGHT));
    assert!(gap < 1e-6, "{gap:e}");
}

#[test]
fn blocks_and_matrices_that_say_the_same_as_plain_penalties() {
    let sandbox = Sandbox::new();
    sandbox.write("q.csv", "1,0,0\n0,1,0\n0,0,1\n");
    let of = |flags: &str| {
        parameters(&sandbox, &format!("nodes.csv --edges edges.csv --target y --lambda 0.1 {TIGHT} {flags}"))
    };
    let pairs = [
        ("--penalty quadratic --penalty-matrix q.csv", "--penalty squared"),
        ("--penalty blocks --block norm2:1:x1,x2,intercept", "--penalty norm2"),
        ("--penalty blocks --block norm1:1:x1 --block norm1:1:x2,intercept", "--penalty norm1"),
        ("--penalty blocks --block squared:1:x1,x2 --block squared:1:intercept", "--penalty squared"),
    ];
    for (long, short) in pairs {
        let gap = distance(&of(long), &of(short));
        assert!(gap < 1e-5, "{long} and {short} differ by {gap:e}");
    }
}

#[test]
fn coordinates_outside_all_blocks_are_free() {
    let sandbox = Sandbox::new();
    let fit = "nodes.csv --edges edges.csv --target y --lambda 1e6 --penalty blocks --block norm2:1:x1";
    let table = Table::parse(&parameters(&sandbox, fit));
    let column = |j: usize| ["a", "b", "c", "d"].map(|node| table.of(node)[j]);
    let spread = |v: [f64; 4]| v.iter().fold(f64::MIN, |m, x| m.max(*x)) - v.iter().fold(f64::MAX, |m, x| m.min(*x));
    assert!(spread(column(0)) < 1e-4, "{:?}", column(0));
    assert!(spread(column(1)) > 1e-2, "{:?}", column(1));
}

/// Thirty nodes on a ring, six rows each, with a target for every loss.
fn ring() -> Sandbox {
    let mut seed = 1u64;
    let mut random = move || {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 33) as f64 / (1u64 << 31) as f64 - 0.5
    };
    let mut nodes = String::from("node,x1,x2,y,label,count,class\n");
    let mut edges = String::from("source,target\n");
    for i in 0..30 {
        let slope = if i < 15 { 1.0 } else { -1.0 };
        edges += &format!("n{i},n{}\n", (i + 1) % 30);
        for _ in 0..6 {
            let (x1, x2) = (random() * 2.0, random() * 2.0);
            let y = slope * x1 + 0.3 * x2 + random();
            let class = ["red", "green", "blue"][((y + 10.0) * 3.0) as usize % 3];
            nodes +=
                &format!("n{i},{x1:.6},{x2:.6},{y:.6},{},{},{class}\n", u8::from(y > 0.0), (y + 2.0).max(0.0).round());
        }
    }
    let sandbox = Sandbox::new();
    sandbox.write("nodes.csv", nodes);
    sandbox.write("edges.csv", edges);
    sandbox.write("q3.csv", "1,0.2,0\n0.2,1,0\n0,0,0.5\n");
    sandbox.write("q2.csv", "1,0.2\n0.2,1\n");
    let nine = |i: usize| (0..9).map(|j| u8::from(i == j).to_string()).collect::<Vec<_>>().join(",") + "\n";
    sandbox.write("q9.csv", (0..9).map(nine).collect::<String>());
    sandbox
}

#[test]
fn every_loss_with_every_penalty() {
    let losses = [
        ("squared", "y", "q3"),
        ("absolute", "y", "q3"),
        ("huber", "y", "q3"),
        ("quantile --quantile 0.3", "y", "q3"),
        ("logistic --ridge 0.01", "label", "q3"),
        ("squared-hinge --ridge 0.01", "label", "q3"),
        ("poisson", "count", "q3"),
        ("multinomial --ridge 0.01", "class", "q9"),
        ("point", "y", "q2"),
    ];
    let sandbox = ring();
    let mut wrong = Vec::new();
    for (loss, target, matrix) in losses {
        let quadratic = format!("quadratic --penalty-matrix {matrix}.csv");
        // Every coordinate is coupled: a free intercept would run away at nodes of one class.
        let rest = if loss == "point" { "x2" } else { "x2,intercept" };
        let blocks = format!("blocks --block norm2:1:x1 --block norm1:0.5:{rest}");
        for penalty in ["norm2", "norm1", "norminf", "squared", &quadratic, &blocks] {
            let flags = format!("--features x1,x2 --target {target} --loss {loss} --penalty {penalty} --lambda 0.05");
            let outcome =
                sandbox.run(&format!("fit nodes.csv --edges edges.csv {flags} --max-iterations 20000 --json"));
            let converged = outcome.stdout.contains("\"status\":\"converged\"");
            if outcome.code != 0 || !converged {
                wrong.push(format!(
                    "{loss}, {penalty}: exit code {}: {}{}",
                    outcome.code, outcome.stdout, outcome.stderr
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn lambda_is_chosen_on_held_out_rows() {
    let sandbox = ring();
    for flags in ["", "--lambda-rule one-se", "--split last", "--lambda-grid 0.01,0.1,1", "--validation 2 --seed 5"] {
        let fit = format!("fit nodes.csv --edges edges.csv --features x1,x2 --target y {flags} --out run --overwrite");
        let summary = sandbox.json(&fit);
        assert!(summary["validation_error"].as_f64().unwrap() > 0.0, "{flags}: {summary}");
        let tried = sandbox.table("run/lambda.csv");
        assert_eq!(tried.header, ["lambda", "train_error", "validation_error", "standard_error"]);
        let lambda = summary["lambda"].as_f64().unwrap();
        assert!(tried.rows.iter().any(|row| row[0].parse::<f64>() == Ok(lambda)), "{flags}: {lambda} was never tried");
        assert!(tried.rows.len() >= 3, "{flags}");
    }
}
