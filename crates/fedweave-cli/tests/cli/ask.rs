//! `fedweave ask`: without a graph, nodes learn from those whose answers help.

use std::collections::HashMap;

use crate::sandbox::{Sandbox, Table};

const ROUNDS: usize = 80;

/// Two planted clusters of eight nodes, in the folder `data`.
fn planted() -> (Sandbox, HashMap<String, String>) {
    let sandbox = Sandbox::new();
    sandbox.succeed("generate data --nodes 16 --dim 4 --rows 10 --noise 0.1");
    let truth = sandbox.table("data/truth.csv");
    let column = truth.header.iter().position(|name| name == "cluster").unwrap();
    let cluster = truth.rows.iter().map(|row| (row[0].clone(), row[column].clone())).collect();
    (sandbox, cluster)
}

/// Share of the rounds in which the teacher was of the own cluster.
fn share_of_friends(teachers: &Table, cluster: &HashMap<String, String>) -> f64 {
    let rounds = |row: &Vec<String>| row[2].parse::<f64>().unwrap();
    let friends = teachers.rows.iter().filter(|row| cluster[&row[0]] == cluster[&row[1]]);
    friends.map(rounds).sum::<f64>() / teachers.rows.iter().map(rounds).sum::<f64>()
}

#[test]
fn nodes_learn_from_their_cluster_and_the_files_agree() {
    let (sandbox, cluster) = planted();
    let ask = format!("ask data/nodes.csv --target y --no-intercept --candidates 6 --rounds {ROUNDS}");
    let summary = sandbox.json(&format!("{ask} --out run"));
    assert_eq!((summary["askers"].as_u64(), summary["nodes"].as_u64()), (Some(16), Some(16)));
    // Six questions and six answers of four numbers in every round of every node.
    assert_eq!(summary["bytes"].as_u64(), Some(16 * ROUNDS as u64 * 12 * 4 * 8));
    let teachers = sandbox.table("run/teachers.csv");
    let share = share_of_friends(&teachers, &cluster);
    assert!(share > 0.9, "by chance 7 of 15, found {share}");

    // Rewards of all rounds are what the loss fell by: from the mean of y^2, models starting at zero.
    let (data, errors) = (sandbox.table("data/nodes.csv"), sandbox.table("run/errors.csv"));
    let y = data.header.iter().position(|name| name == "y").unwrap();
    let mut taken: HashMap<(String, String), (usize, f64)> = HashMap::new();
    for row in sandbox.table("run/choices.csv").rows.iter().filter(|row| row[4] == "1") {
        let entry = taken.entry((row[0].clone(), row[2].clone())).or_default();
        *entry = (entry.0 + 1, entry.1 + row[3].parse::<f64>().unwrap());
    }
    for name in cluster.keys() {
        let rows: Vec<f64> = data.rows.iter().filter(|r| &r[0] == name).map(|r| r[y].parse().unwrap()).collect();
        let first = rows.iter().map(|y| y * y).sum::<f64>() / rows.len() as f64;
        let error = errors.rows.iter().find(|r| &r[0] == name).unwrap()[2].parse::<f64>().unwrap();
        let own: Vec<_> = teachers.rows.iter().filter(|r| &r[0] == name).collect();
        assert_eq!(own.iter().map(|r| r[2].parse::<usize>().unwrap()).sum::<usize>(), ROUNDS);
        let reward: f64 = own.iter().map(|r| r[3].parse::<f64>().unwrap()).sum();
        assert!((reward - (first - error)).abs() < 1e-9 * first, "{name}: {reward} {first} {error}");
        for row in own {
            let (rounds, reward) = taken[&(name.clone(), row[1].clone())];
            assert_eq!(rounds.to_string(), row[2]);
            assert!((reward - row[3].parse::<f64>().unwrap()).abs() < 1e-9 * first);
        }
    }
    assert_eq!(sandbox.read("run/choices.csv").lines().count(), 1 + 16 * ROUNDS * 6);
    assert_eq!(sandbox.succeed("predict run data/nodes.csv").lines().count(), 161);

    // The settings and the seed decide; the number of threads does not.
    sandbox.succeed("ask --config run/config.toml --threads 3 --out again");
    sandbox.succeed("ask --config run/config.toml --seed 1 --out other");
    for file in ["parameters.csv", "teachers.csv", "choices.csv", "errors.csv"] {
        assert_eq!(sandbox.read(&format!("run/{file}")), sandbox.read(&format!("again/{file}")), "{file}");
    }
    assert_ne!(sandbox.read("run/teachers.csv"), sandbox.read("other/teachers.csv"));
}

#[test]
fn any_model_can_ask_and_the_report_says_who_taught_whom() {
    let (sandbox, cluster) = planted();
    let ask = "ask data/nodes.csv --target y --candidates 6 --rounds 20 --validation 0.4 --seed 3";
    let summary = sandbox.json(&format!("{ask} --model ridge,alpha=0.001 --out run"));
    let share = share_of_friends(&sandbox.table("run/teachers.csv"), &cluster);
    assert!(share > 0.9, "by chance 7 of 15, found {share}");
    let error = |key: &str| summary[key].as_f64().unwrap();
    assert!(error("validation_error") < error("local_error"), "{summary}");
    let report = sandbox.read("run/report.html");
    assert!(report.contains("Who learnt from whom") && !report.contains("How close to the best possible"));
    let first = &sandbox.table("run/teachers.csv").rows[0];
    let words = report.split("<td class=\"teachers\">").nth(1).unwrap();
    assert!(words.starts_with(&format!("{} ", first[1])), "{}", &words[..80]);
    assert_eq!(sandbox.read("run/report.json").matches("\"reward\"").count(), 16);
    assert_eq!(sandbox.succeed("predict run data/nodes.csv").lines().count(), 161);

    // One node alone asks, by name; only it has a model.
    let name = &first[0];
    let words = sandbox.succeed(&format!("{ask} --asker {name} --out one"));
    assert!(words.contains("1 of them asked 6 others in each of 20 rounds"), "{words}");
    assert!(words.contains(&format!("{name} learnt from ")) && words.contains("local-only"), "{words}");
    assert_eq!(sandbox.table("one/parameters.csv").rows.len(), 1);
    let trees = format!("{ask} --model tree,max-depth=3 --asker {name} --threads");
    sandbox.succeed(&format!("{trees} 1 --out tree"));
    sandbox.succeed(&format!("{trees} 2 --out again"));
    assert_eq!(sandbox.read("tree/models.json"), sandbox.read("again/models.json"));
    assert_eq!(sandbox.read("tree/choices.csv"), sandbox.read("again/choices.csv"));
}

/// The public rows of the node that asks matter; those of others do not.
#[test]
fn a_node_asks_about_its_own_public_rows() {
    let sandbox = Sandbox::new();
    let ask = |b: &str, c: &str| {
        let rows = [("a", "0.1,0.2"), ("b", b), ("c", c), ("d", "1,2")];
        let text: String = rows.iter().map(|(node, x)| format!("{node},{x}\n{node},-1,0.5\n")).collect();
        sandbox.write("public.csv", format!("node,x1,x2\n{text}"));
        sandbox.succeed(
            "ask nodes.csv --target y --model ridge --public public.csv --asker b --rounds 5 --out run --overwrite",
        );
        sandbox.read("run/choices.csv")
    };
    let first = ask("1,1", "2,1");
    assert_eq!(first, ask("1,1", "-3,1"));
    assert_ne!(first, ask("0,3", "2,1"));
}
