//! Who shaped models, and models that agree with guesses.

use crate::sandbox::Sandbox;

const FIT: &str = "fit nodes.csv --edges edges.csv --target y --penalty squared --tolerance 1e-11";

#[test]
fn shares_and_contributions_add_up() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&format!("{FIT} --lambda 0.3 --ridge 0.01 --standardize --out run"));
    let found = sandbox.json("explain run");
    assert_eq!(found["exact"], true);
    let models = sandbox.read("run/parameters.csv");
    for (node, line) in found["nodes"].as_array().unwrap().iter().zip(models.lines().skip(1)) {
        let by = node["shaped_by"].as_array().unwrap();
        let shares: f64 = by.iter().map(|one| one["share"].as_f64().unwrap()).sum();
        assert!((shares + node["ridge"].as_f64().unwrap() - 1.0).abs() < 1e-9, "{node}");
        for (k, wanted) in line.split(',').skip(1).enumerate() {
            let sum: f64 = by.iter().map(|one| one["contribution"][k].as_f64().unwrap()).sum();
            assert!((sum - wanted.parse::<f64>().unwrap()).abs() < 1e-6, "{node} {line}");
        }
    }
    let parts = sandbox.json("explain run --rows nodes.csv");
    for row in parts["predictions"]["rows"].as_array().unwrap() {
        let features = row["features"].as_array().unwrap().iter();
        let sum: f64 = features.map(|v| v.as_f64().unwrap()).sum::<f64>() + row["base"].as_f64().unwrap();
        assert!((sum - row["prediction"].as_f64().unwrap()).abs() < 1e-9);
    }
}

/// (8.12) is the problem whose rows are those of the node and, weighed, the guesses.
#[test]
fn guesses_are_rows_that_were_added() {
    let sandbox = Sandbox::new();
    // Every row is guessed to be what it is, plus one.
    let rows = sandbox.read("nodes.csv");
    let head = rows.lines().next().unwrap().to_owned();
    let y = head.split(',').position(|name| name == "y").unwrap();
    let shifted = |line: &str| {
        let mut cells: Vec<String> = line.split(',').map(String::from).collect();
        cells[y] = (cells[y].parse::<f64>().unwrap() + 1.0).to_string();
        cells.join(",")
    };
    let guesses: Vec<String> = rows.lines().skip(1).map(shifted).collect();
    sandbox.write("guesses.csv", format!("{head}\n{}\n", guesses.join("\n")));
    let own = rows.lines().skip(1).map(|line| format!("{line},1"));
    let both: Vec<String> = own.chain(guesses.iter().map(|line| format!("{line},0.5"))).collect();
    sandbox.write("both.csv", format!("{head},times\n{}\n", both.join("\n")));
    sandbox.succeed(&format!("{FIT} --lambda 0.3 --guesses guesses.csv --explain 0.5 --out guessed"));
    // Weights of a node are relative: there the objective is divided by 1.5.
    let added = FIT.replace("nodes.csv", "both.csv");
    sandbox.succeed(&format!("{added} --weight times --lambda 0.2 --out added"));
    let (a, b) = (sandbox.table("guessed/parameters.csv"), sandbox.table("added/parameters.csv"));
    assert!(a.distance(&b) < 1e-10, "{}", a.distance(&b));
    assert!(sandbox.json(&format!("{FIT} --lambda 0.3 --guesses guesses.csv"))["guess_error"].as_f64().unwrap() > 0.0);
}

/// Whatever the rows of a node say, the others stay within what was proven: also with rows that are far off.
#[test]
fn no_rows_move_the_others_by_more_than_the_bound() {
    let sandbox = Sandbox::new();
    let fit = "fit nodes.csv --edges edges.csv --target y --lambda 0.3 --ridge 0.2 --no-intercept --tolerance 1e-11";
    sandbox.succeed(&format!("{fit} --out run"));
    let found = sandbox.json("explain run --node b");
    let bound = found["nodes"][0]["others_move_at_most"].as_f64().unwrap();
    assert!(found["exact"] == false && bound > 0.0, "{found}");
    // Without node b and its edges, the others are what they are compared with.
    let rows = sandbox.read("nodes.csv");
    let without: String = rows.lines().filter(|line| !line.starts_with("b,")).map(|line| format!("{line}\n")).collect();
    sandbox.write("without.csv", without);
    sandbox.write("apart.csv", "source,target,weight\nc,d,2\n");
    let alone = fit.replace("nodes.csv --edges edges.csv", "without.csv --edges apart.csv");
    sandbox.succeed(&format!("{alone} --out without"));
    for factor in [1.0, -1.0, 1e3] {
        let bent = |line: &str| match line.starts_with("b,") {
            true => {
                let (head, y) = line.rsplit_once(',').unwrap();
                format!("{head},{}\n", factor * y.parse::<f64>().unwrap())
            }
            false => format!("{line}\n"),
        };
        sandbox.write("bent.csv", rows.lines().map(bent).collect::<String>());
        sandbox.succeed(&format!("{} --out bent --overwrite", fit.replace("nodes.csv", "bent.csv")));
        let (with, without) = (sandbox.table("bent/parameters.csv"), sandbox.table("without/parameters.csv"));
        // Nodes a, c, d: rows 0, 2, 3 of the one and 0, 1, 2 of the other.
        let pairs = [(0, 0), (2, 1), (3, 2)];
        let squares = pairs
            .map(|(i, j)| with.numbers(i).iter().zip(without.numbers(j)).map(|(a, b)| (a - b).powi(2)).sum::<f64>());
        let moved = squares.iter().sum::<f64>().sqrt();
        assert!(moved <= bound + 1e-6, "{factor}: {moved} {bound}");
    }
    assert!(sandbox.succeed("explain run --node b").contains("moves all others by at most"));
}
