//! What a new user trips over: one test for each thing that was in the way.

use std::process::Stdio;

use crate::sandbox::Sandbox;

/// Rows of eight nodes `S0` to `S7` with features x1, x2, a target y, a count and a class in words.
pub fn rows(names: impl Fn(usize) -> String, delimiter: char) -> String {
    let mut text = "node,x1,x2,y,count,ok\n".replace(',', &delimiter.to_string());
    for i in 0..8 {
        for k in 0..12 {
            let (x1, x2) = (((7 * i + 3 * k) % 11) as f64 / 5.0 - 1.0, ((5 * i + k * k) % 13) as f64 / 6.0 - 1.0);
            let noise = ((i * 31 + k * 17) % 7) as f64 / 20.0;
            let y = 1.0 + (0.5 + 0.1 * i as f64) * x1 - 0.3 * x2 + noise;
            let (count, ok) = ((2.0 * y).max(0.0).round(), if y > 1.0 { "pass" } else { "fail" });
            let cells = [names(i), x1.to_string(), x2.to_string(), y.to_string(), count.to_string(), ok.to_string()];
            text += &(cells.join(&delimiter.to_string()) + "\n");
        }
    }
    text
}

/// A chain over the same nodes.
pub fn chain(header: &str, names: impl Fn(usize) -> String) -> String {
    let edges: String = (0..7).map(|i| format!("{},{}\n", names(i), names(i + 1))).collect();
    format!("{header}\n{edges}")
}

pub fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("rows.csv", rows(|i| format!("S{i}"), ','));
    sandbox.write("chain.csv", chain("source,target", |i| format!("S{i}")));
    sandbox
}

const FIT: &str = "fit rows.csv --edges chain.csv --target y --features x1,x2";
const COMPARE: &str = "compare rows.csv --edges chain.csv --target y --features x1,x2 --rivals none";

#[test]
fn point_01_a_report_of_a_comparison_speaks_of_the_comparison() {
    let sandbox = sandbox();
    sandbox.succeed(&format!("{COMPARE} --out run"));
    let page = sandbox.read("run/report.html");
    let words = page.split("<script").next().unwrap();
    for wrong in ["cannot be compared", "Reached its tolerance", "no certificate", ">Iterations<", "to 96 rows"] {
        assert!(!words.contains(wrong), "{wrong}");
    }
    for right in ["4 methods compared on 1 split", "Best method", "fitted to 80 rows", "every node alone"] {
        assert!(words.contains(right), "{right}");
    }
}

#[test]
fn point_02_counts_and_classes_are_judged_on_their_own_scale() {
    let sandbox = sandbox();
    let counts = sandbox.json("fit rows.csv --edges chain.csv --target count --features x1,x2 --loss poisson");
    assert_eq!(counts["error"], "mean Poisson deviance");
    for error in ["train_error", "validation_error", "local_error", "global_error"] {
        assert!(counts[error].as_f64().unwrap() >= 0.0, "{error} {}", counts[error]);
    }
    let text = sandbox.succeed("fit rows.csv --edges chain.csv --target ok --features x1,x2 --loss logistic --out run");
    assert!(text.contains("\"pass\" counts as 1, \"fail\" as 0"), "{text}");
    assert!(sandbox.succeed("predict run rows.csv").contains("pass"));
    for (pair, one) in [("True/False", "True"), ("yes/no", "yes")] {
        let (positive, negative) = pair.split_once('/').unwrap();
        let text = sandbox.read("rows.csv").replace("pass", positive).replace("fail", negative);
        sandbox.write("words.csv", text);
        let told = sandbox.succeed("fit words.csv --target ok --features x1,x2 --loss logistic --edges chain.csv");
        assert!(told.contains(&format!("{one:?} counts as 1")), "{told}");
    }
    // One node has one class only, and nobody to learn from.
    let one_class: String = sandbox
        .read("rows.csv")
        .lines()
        .map(|line| {
            let line = if line.starts_with("S0,") { line.replace("fail", "pass") } else { line.to_owned() };
            line + "\n"
        })
        .collect();
    sandbox.write("one.csv", one_class);
    let told = sandbox.succeed("fit one.csv --target ok --features x1,x2 --loss logistic --lambda 0");
    assert!(told.contains("a ridge of 0.001 on all coefficients"), "{told}");
    let refused = sandbox.run("fit one.csv --target ok --features x1,x2 --loss logistic --lambda 0 --ridge 0");
    assert_eq!(refused.code, 2);
}

#[test]
fn point_03_edges_that_share_no_node_with_the_rows_are_an_error() {
    let sandbox = sandbox();
    let cases = [
        (chain("source,target", |i| format!("s{i}")), "upper and lower case: \"s0\" is perhaps \"S0\""),
        (chain("source,target", |i| format!("{i}")), "letters before the number"),
        (chain("source,target", |i| format!("T{}x", i * i)), "rows have \"S0\", \"S1\", \"S2\", edges have \"T0x\""),
    ];
    for (edges, words) in cases {
        sandbox.write("odd.csv", edges);
        let told = sandbox.run("fit rows.csv --edges odd.csv --target y --features x1,x2");
        assert!(told.code == 2 && told.stderr.contains(words), "{} {}", told.code, told.stderr);
    }
    sandbox.write("numbers.csv", rows(|i| i.to_string(), ','));
    sandbox.write("odd.csv", chain("source,target", |i| format!("{i}.0")));
    let told = sandbox.run("fit numbers.csv --edges odd.csv --target y --features x1,x2");
    assert!(told.code == 2 && told.stderr.contains("numbers are written differently"), "{}", told.stderr);
    // A partial match says how many.
    sandbox.write("part.csv", chain("source,target", |i| if i < 4 { format!("S{i}") } else { format!("s{i}") }));
    let told = sandbox.succeed("fit rows.csv --edges part.csv --target y --features x1,x2");
    assert!(told.contains("4 of the 8 nodes with rows are in it, 4 of its nodes have no rows"), "{told}");
}

#[test]
fn point_04_the_local_baseline_of_fit_is_tuned() {
    // Three rows a node for three parameters, nearly all noise: without a ridge every node alone is hopeless.
    let sandbox = sandbox();
    let (mut text, mut state) = ("node,x1,x2,y\n".to_owned(), 1u64);
    let mut draw = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as f64 / (1u64 << 30) as f64 - 1.0
    };
    for i in 0..32 {
        let (x1, x2, noise) = (draw(), draw(), draw());
        text += &format!("S{},{x1},{x2},{}\n", i % 8, 0.2 * x1 + noise);
    }
    sandbox.write("few.csv", text);
    let told = sandbox.json("fit few.csv --edges chain.csv --target y --features x1,x2");
    let alone = sandbox.json("fit few.csv --edges chain.csv --target y --features x1,x2 --lambda 0 --validation 0.2");
    let (tuned, bare) = (told["local_error"].as_f64().unwrap(), alone["validation_error"].as_f64().unwrap());
    assert!(tuned < 0.9 * bare, "{tuned} {bare}");
}

#[test]
fn point_07_predict_skips_what_it_does_not_know_and_judges_what_it_does() {
    let sandbox = sandbox();
    sandbox.succeed(&format!("{FIT} --one-hot ok --lambda 0.1 --out run"));
    let text = sandbox.read("rows.csv") + "Z9,0.1,0.2,1.0,2,pass\nS0,0.1,0.2,1.0,2,perhaps\n";
    sandbox.write("new.csv", text.replace("node,", "place,"));
    let told = sandbox.run("predict run new.csv");
    assert!(told.code == 2 && told.stderr.contains("--node"), "{}", told.stderr);
    let told = sandbox.run("predict run new.csv --node place");
    assert_eq!(told.code, 2);
    let told = sandbox.run("predict run new.csv --node place --skip-unknown");
    assert_eq!((told.code, told.stdout.lines().count()), (0, 97), "{}", told.stderr);
    for words in ["2 rows left out: unknown nodes Z9; unknown categories ok=perhaps", "mean squared error 0.0"] {
        assert!(told.stderr.contains(words), "{}", told.stderr);
    }
    // Standard input.
    let mut program = sandbox.command("predict run -");
    let mut child = program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), sandbox.read("rows.csv").as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 97);
}

#[test]
fn point_09_the_last_rows_are_not_counted_as_several_splits() {
    let told = sandbox().run(&format!("{COMPARE} --split last --splits 10"));
    assert!(told.code == 2 && told.stderr.contains("the same rows in every split"), "{}", told.stderr);
    sandbox().succeed(&format!("{COMPARE} --split last"));
}

#[test]
fn point_11_what_becomes_of_columns_and_distances_is_said() {
    let sandbox = sandbox();
    let place = |line: &str| match line.strip_prefix('S') {
        Some(rest) => format!("{line},{},{}", 60 + rest.as_bytes()[0] % 10, 20 + rest.as_bytes()[0] % 7),
        None => format!("{line},lat_n,lon_w"),
    };
    let placed: Vec<String> = sandbox.read("rows.csv").lines().map(place).collect();
    sandbox.write("placed.csv", placed.join("\n"));
    let flags = "fit placed.csv --target y --drop ok --knn 2 --by lat_n,lon_w --split-by count --validation 0.2";
    let told = sandbox.run(flags);
    assert!(told.code == 2 && told.stderr.contains("are lat_n, lon_w latitude and longitude"), "{}", told.stderr);
    let told = sandbox.succeed(&format!("{flags} --metric great-circle"));
    for words in ["count (--split-by), lat_n (--by), lon_w (--by)", "2 nearest by great-circle distance (lat_n, lon_w)"]
    {
        assert!(told.contains(words), "{told}");
    }
    assert!(!told.contains("lying node"), "{told}");
}

#[test]
fn point_12_without_a_graph_there_is_no_shuffled_graph() {
    let sandbox = sandbox();
    let told = sandbox.succeed("compare rows.csv --target y --features x1,x2 --rivals none");
    assert!(!told.contains(" shuffled  ") && !told.contains("beats a shuffled"), "{told}");
    let told = sandbox.json("compare rows.csv --target y --features x1,x2 --rivals none");
    assert!(told["shuffled"].is_null() && told["networked_beats_shuffled"].is_null(), "{told}");
}

#[test]
fn point_13_help_shows_what_is_common_first() {
    let sandbox = sandbox();
    let (short, all) = (sandbox.succeed("fit --help"), sandbox.succeed("fit --help-all"));
    assert!(
        short.lines().count() < 80 && all.lines().count() > 150,
        "{} {}",
        short.lines().count(),
        all.lines().count()
    );
    for flag in ["--edges", "--target", "--lambda", "--out", "--help-all"] {
        assert!(short.contains(flag), "{flag}");
    }
    assert!(!short.contains("--cease-after") && all.contains("--cease-after"));
    assert!(!all.contains("--candidates <B>") && !all.contains("--loopback-plaintext"));
}

#[test]
fn point_14_files_of_other_programs_are_read_and_that_is_said() {
    let sandbox = sandbox();
    let expected = sandbox.json(&format!("{FIT} --lambda 0.1"))["objective"].as_f64().unwrap();
    let name = |i: usize| format!("S{i}");
    let pairs = |line: &dyn Fn(usize) -> String| (0..7).map(line).collect::<String>();
    let gml = format!(
        "graph [\n{}{}]\n",
        (0..8).map(|i| format!("  node [\n    id {i}\n    label \"S{i}\"\n  ]\n")).collect::<String>(),
        pairs(&|i| format!("  edge [ source {i} target {} ]\n", i + 1)),
    );
    let files = [
        ("ij.csv", chain("i,j", name), "columns i and j are the ends of edges"),
        ("uv.csv", chain("u,v", name), "columns u and v"),
        ("fromto.csv", chain("from,to", name), "columns from and to"),
        ("semicolons.csv", chain("source,target", name).replace(',', ";"), "separated by semicolons"),
        ("graph.edgelist", pairs(&|i| format!("S{i} S{} {{'weight': 1.0}}\n", i + 1)), "networkx"),
        ("graph.gml", gml, ""),
    ];
    for (file, text, words) in files {
        sandbox.write(file, text);
        let flags = format!("fit rows.csv --edges {file} --target y --features x1,x2 --lambda 0.1");
        let told = sandbox.succeed(&flags);
        assert!(told.contains(words), "{file}: {told}");
        let objective = sandbox.json(&flags)["objective"].as_f64().unwrap();
        assert!((objective - expected).abs() < 1e-9, "{file}: {objective} {expected}");
    }
    let european = rows(name, ';').replace('.', ",");
    sandbox.write("rows_eu.csv", european);
    let flags = "fit rows_eu.csv --edges chain.csv --target y --features x1,x2 --lambda 0.1";
    assert!(sandbox.succeed(flags).contains("commas in numbers are read as decimal points"));
    assert!((sandbox.json(flags)["objective"].as_f64().unwrap() - expected).abs() < 1e-9);
    sandbox.write("pair.csv", "source,target\nS0,S1\n");
    let told = sandbox.succeed("fit rows.csv --edges pair.csv --target y --features x1,x2 --lambda 0.1");
    assert!(told.contains("8 nodes, 1 edge, 96 rows"), "{told}");
}

#[test]
fn point_05_a_comparison_ends_with_the_command_that_fits() {
    let sandbox = sandbox();
    let compare = "compare rows.csv --edges chain.csv --target y --drop ok --split-by count --seed 3";
    let told = sandbox.succeed(compare);
    let commands: Vec<&str> =
        told.lines().filter_map(|line| line.split_once(": fedweave ")).map(|pair| pair.1).collect();
    assert!(!commands.is_empty() && told.contains("to fit the network: fedweave fit rows.csv"), "{told}");
    for command in &commands {
        sandbox.succeed(command);
    }
    let (chosen, fitted) = (sandbox.json(compare), sandbox.json(commands[0]));
    assert_eq!(chosen["networked"]["lambda"][0], fitted["lambda"]);
    assert_eq!(fitted["dim"], 3, "the column of --split-by is no feature");
}

#[test]
fn point_14_a_first_line_of_two_nodes_is_an_edge() {
    let sandbox = sandbox();
    let name = |i: usize| ["i", "j", "k", "l", "m", "n", "o", "p"][i].to_owned();
    sandbox.write("letters.csv", rows(name, ','));
    for file in ["i,j\nj,k\nk,l\n", "i,j\ni,k\nl,j\n"] {
        sandbox.write("letter_edges.csv", file);
        let told = sandbox.succeed("fit letters.csv --edges letter_edges.csv --target y --features x1,x2 --lambda 0.1");
        assert!(told.contains("8 nodes, 3 edges") && told.contains("it is read as an edge"), "{told}");
    }
    assert!(sandbox.succeed("graph info letter_edges.csv").contains("4 nodes, 3 edges"));
}

#[test]
fn point_12_a_path_goes_on_where_its_end_is_best_and_says_so() {
    let sandbox = sandbox();
    // Neighbours have nothing in common: no coupling is the best one.
    let mut text = "node,x,y\n".to_owned();
    for i in 0..8 {
        for k in 0..12 {
            let x = ((7 * i + 5 * k) % 11) as f64 - 5.0;
            text += &format!("S{i},{x},{}\n", 10.0 * (i % 3) as f64 * x + ((k * 7 + i) % 5) as f64 / 100.0);
        }
    }
    sandbox.write("apart.csv", text);
    let flags = "path apart.csv --edges chain.csv --target y --validation 0.25 --count 10";
    let told = sandbox.json(flags);
    let points = told["path"]["points"].as_array().unwrap();
    assert!(points.len() > 10, "the grid has grown");
    assert!(points.windows(2).all(|pair| pair[0]["lambda"].as_f64() < pair[1]["lambda"].as_f64()));
    if told["path"]["chosen"] == 0 {
        assert!(told["lambda_notice"].as_str().unwrap().contains("smallest tried"), "{told}");
    }
    let told = sandbox.succeed("path apart.csv --edges chain.csv --target y --validation 0.25 --lambda-grid 1,10,100");
    assert!(told.contains("note: the chosen lambda 1.00000 is the smallest tried"), "{told}");
}

#[test]
fn point_08_asking_goes_on_until_it_settles_or_says_so() {
    let sandbox = sandbox();
    // A feature on another scale makes gradient steps slow.
    let slow: String = sandbox
        .read("rows.csv")
        .lines()
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            let x1 = cells[1].parse::<f64>().map_or(cells[1].to_owned(), |x| (40.0 * x).to_string());
            format!("{},{x1},{},{}\n", cells[0], cells[2], cells[3])
        })
        .collect();
    sandbox.write("slow.csv", slow);
    let told = sandbox.json("ask slow.csv --target y --validation 0.25");
    assert!(told["rounds"].as_u64().unwrap() > 200, "{told}");
    assert!(told["notices"].to_string().contains("give --standardize"), "{told}");
    let even = sandbox.json("ask slow.csv --target y --validation 0.25 --standardize");
    assert!(!even["notices"].to_string().contains("hard on solvers"), "{even}");
    assert!(even["validation_error"].as_f64() <= told["validation_error"].as_f64(), "{even}");
    let few = sandbox.json("ask slow.csv --target y --validation 0.25 --rounds 3");
    assert_eq!(few["rounds"], 3);
    let notices = few["notices"].to_string();
    assert!(notices.contains("worse than by every node alone"), "{notices}");
    assert!(told["validation_error"].as_f64() < few["validation_error"].as_f64());
}

#[test]
fn point_14_nodes_stand_in_the_order_of_their_numbers() {
    let sandbox = sandbox();
    sandbox.write("numbers.csv", rows(|i| (3 * i).to_string(), ','));
    let told = sandbox.succeed("ask numbers.csv --target y --features x1,x2 --rounds 3 --out asked");
    let named: Vec<&str> =
        told.lines().filter_map(|line| line.strip_prefix("  ")?.split(" learnt from").next()).collect();
    assert_eq!(named[..8], ["0", "3", "6", "9", "12", "15", "18", "21"], "{told}");
    sandbox.write("numbers_chain.csv", chain("source,target", |i| (3 * i).to_string()));
    sandbox.succeed("fit numbers.csv --edges numbers_chain.csv --target y --features x1,x2 --lambda 0.1 --out run");
    let page = sandbox.read("run/report.html");
    let table = page.split("id=\"table\"").nth(1).and_then(|rest| rest.split("</table>").next()).unwrap();
    let (nine, twelve) = (table.find(">9</span>"), table.find(">12</span>"));
    assert!(nine.is_some() && nine < twelve, "{table}");
}

#[test]
fn point_14_names_and_columns_that_are_odd_are_told() {
    let sandbox = sandbox();
    sandbox.write("twice.csv", rows(|i| if i == 7 { "0.0".into() } else { i.to_string() }, ','));
    let told = sandbox.succeed("fit twice.csv --target y --features x1,x2");
    assert!(told.contains("\"0\" and \"0.0\" are different nodes, though their names are the same number"), "{told}");
    let placed = |line: &str| match line.strip_prefix('S') {
        Some(rest) => format!("{line},{},north", 60 + rest.as_bytes()[0] % 10),
        None => format!("{line},lat,side"),
    };
    let placed: Vec<String> = sandbox.read("rows.csv").lines().map(placed).collect();
    sandbox.write("placed.csv", placed.join("\n"));
    let told = sandbox.succeed("fit placed.csv --target y --features x1,lat,side --one-hot side --ridge 0.01");
    for words in
        ["the same in every row, so of no help: side", "the same in all rows of every node", ": lat (--drop lat,"]
    {
        assert!(told.contains(words), "{told}");
    }
}

#[test]
fn point_10_the_table_of_a_report_has_all_nodes() {
    let sandbox = Sandbox::new();
    let rows: String = (0..4500).map(|i| format!("n{i},{},{}\n", (i * 7) % 11, i % 5)).collect();
    sandbox.write("many.csv", format!("node,x,y\n{rows}"));
    sandbox.succeed("fit many.csv --target y --ridge 1 --out run");
    let page = sandbox.read("run/report.html");
    assert!(page.contains("\"n4499\"") && page.contains("\"n4498\"") && page.contains("4,500 nodes"));
}

#[test]
fn point_07_new_nodes_join_while_unknown_categories_are_left_out() {
    let sandbox = sandbox();
    sandbox.succeed(&format!("{FIT} --one-hot ok --lambda 0.1 --out run"));
    sandbox.write("new.csv", "node,x1,x2,ok\nZ9,0.1,0.2,pass\nS0,0.1,0.2,perhaps\nS1,0.1,0.2,pass\n");
    sandbox.write("new_edges.csv", "source,target\nZ9,S1\n");
    let told = sandbox.run("predict run new.csv --new-edges new_edges.csv --new-nodes");
    assert!(told.code == 2 && told.stderr.contains("predict --skip-unknown"), "{}", told.stderr);
    let told = sandbox.run("predict run new.csv --new-edges new_edges.csv --new-nodes --skip-unknown");
    assert_eq!((told.code, told.stdout.lines().count()), (0, 3), "{}{}", told.stdout, told.stderr);
    assert!(told.stderr.contains("1 row left out: unknown categories ok=perhaps"), "{}", told.stderr);
}

#[test]
fn a_recipe_is_not_told_twice() {
    let sandbox = sandbox();
    let told = sandbox.succeed(&format!("{FIT} --recipe local:1"));
    assert!(!told.contains("without a race"), "{told}");
}

#[test]
fn point_11_a_federation_says_what_a_liar_could_do() {
    let sandbox = sandbox();
    let up = FIT.replace("fit", "up");
    let told = sandbox.succeed(&format!("{up} --lambda 0.1 --parts 2 --penalty squared"));
    assert!(
        told.contains("no bound on what a node that lies could do to the others: the pull of the penalty"),
        "{told}"
    );
    let told = sandbox.succeed(&format!("{up} --lambda 0.1 --parts 2"));
    assert!(told.contains("2 parts of 4 to 4 nodes, 1 edge between them"), "{told}");
    assert!(told.contains("a node that lies could move all other models together by at most"), "{told}");
}

/// A fresh user with a table of their own and six typical defects: each is told with a remedy, and the remedies together work.
#[test]
fn first_run_with_six_typical_defects() {
    let sandbox = sandbox();
    let defects = rows(|i| format!("S{i}"), ';').replace("node;", "station;").replacen("S2;", "S2;NA", 1);
    let defects = defects.replacen("S2;NA-", "S2;NA;-", 1).replacen("S2;NA0", "S2;NA;0", 1);
    let defects: Vec<String> = defects
        .lines()
        .map(|line| {
            let mut cells: Vec<&str> = line.split(';').collect();
            if cells.len() > 6 {
                cells.remove(2);
            }
            cells.join(";")
        })
        .collect();
    sandbox.write("mine.csv", defects.join("\r\n"));
    sandbox.write("edges.csv", chain("from,to", |i| format!("s{i}")));
    let steps = [
        ("fit mine.csv --edges edges.csv --target temp", "name it with --node"),
        ("fit mine.csv --node station --edges edges.csv --target temp", "no column \"temp\""),
        ("fit mine.csv --node station --edges edges.csv --target y", "--drop ok"),
        ("fit mine.csv --node station --edges edges.csv --target y --drop ok", "use --missing drop or --missing mean"),
        ("fit mine.csv --node station --edges edges.csv --target y --drop ok --missing drop", "upper and lower case"),
    ];
    for (command, remedy) in steps {
        let told = sandbox.run(command);
        assert!(told.code == 2 && told.stderr.contains(remedy), "{command}\n{}", told.stderr);
    }
    let flags = "mine.csv --node station --edges chain.csv --target y --drop ok --missing drop";
    let told = sandbox.succeed(&format!("fit {flags} --out run"));
    for words in ["separated by semicolons", "1 row with missing values was dropped", "written to run"] {
        assert!(told.contains(words), "{told}");
    }
    sandbox.succeed(&format!("compare {flags} --rivals none"));
    assert!(sandbox.run("predict run mine.csv --skip-unknown").code == 2, "a missing value is not an unknown one");
}
