//! What a new user trips over, continued: classes, several penalties, splits as files, words.

use crate::first_steps::sandbox;
use crate::sandbox::Sandbox;

const CLASSES: &str = "--edges chain.csv --target ok --features x1,x2 --loss logistic";

/// The rows with one class only at node S0.
fn with_one_class(sandbox: &Sandbox) {
    let rows = sandbox.read("rows.csv");
    let one = |line: &str| if line.starts_with("S0,") { line.replace("fail", "pass") } else { line.to_owned() } + "\n";
    sandbox.write("one.csv", rows.lines().map(one).collect::<String>());
}

#[test]
fn point_02_classes_are_counted_on_held_out_rows() {
    let sandbox = sandbox();
    let told = sandbox.json(&format!("fit rows.csv {CLASSES} --lambda 0.1 --validation 0.25 --out run"));
    // Worked out again from the models that were written: a row is right if its score and its class have the same sign.
    let models: Vec<Vec<f64>> = sandbox
        .read("run/parameters.csv")
        .lines()
        .skip(1)
        .map(|line| line.split(',').skip(1).map(|cell| cell.parse().unwrap()).collect())
        .collect();
    let rows: Vec<String> = sandbox.read("rows.csv").lines().map(String::from).collect();
    let mut counts = [[0u64; 2]; 2];
    for line in sandbox.read("run/split.csv").lines().skip(1).filter(|line| line.ends_with("validation")) {
        let number: usize = line.split(',').next().unwrap().parse().unwrap();
        let cells: Vec<&str> = rows[number - 1].split(',').collect();
        let node: usize = cells[0][1..].parse().unwrap();
        let (x1, x2): (f64, f64) = (cells[1].parse().unwrap(), cells[2].parse().unwrap());
        let w = &models[node];
        let (truth, told) = (cells[5] == "pass", w[0] * x1 + w[1] * x2 + w[2] > 0.0);
        counts[usize::from(truth)][usize::from(told)] += 1;
    }
    assert_eq!(told["confusion"]["classes"], serde_json::json!(["fail", "pass"]));
    assert_eq!(told["confusion"]["counts"], serde_json::json!(counts));
    let all = counts.iter().flatten().sum::<u64>();
    assert!(all == 24, "a quarter of 96 rows");
    let right = (counts[0][0] + counts[1][1]) as f64 / all as f64;
    assert!((told["validation_accuracy"].as_f64().unwrap() - right).abs() < 1e-12);
    assert_eq!(told["error"], "mean log-loss");
    let text = sandbox.succeed(&format!("fit rows.csv {CLASSES} --lambda 0.1 --validation 0.25"));
    assert!(text.contains("classes right of 24 held-out rows: networked") && text.contains("(predicted)"), "{text}");
    let page = sandbox.read("run/report.html");
    assert!(page.contains("Which classes are taken for which") && page.contains(">pass<"));
    let compared = sandbox.succeed(&format!("compare rows.csv {CLASSES}"));
    assert!(compared.contains("classes right") && compared.contains("test rows of every class"), "{compared}");
}

#[test]
fn point_02_one_class_at_a_node_is_no_obstacle_for_path_ask_and_up() {
    let sandbox = sandbox();
    with_one_class(&sandbox);
    let ridge = "a ridge of 0.001 on all coefficients";
    // All nodes have one class: nobody to learn the other from.
    let all: String = sandbox.read("rows.csv").lines().map(|line| line.replace("fail", "pass") + "\n").collect();
    sandbox.write("all.csv", all.replacen("pass", "fail", 1));
    sandbox.write("pairs.csv", "source,target\nS0,S1\nS2,S3\nS4,S5\nS6,S7\n");
    for command in [
        "path one.csv --edges pairs.csv --target ok --features x1,x2 --loss logistic --count 5",
        "path all.csv --edges pairs.csv --target ok --features x1,x2 --loss logistic --count 5",
        "ask one.csv --target ok --features x1,x2 --loss logistic --validation 0.25 --rounds 5",
        "up all.csv --edges pairs.csv --target ok --features x1,x2 --loss logistic --lambda 0.1 --parts 2 --out up",
    ] {
        let told = sandbox.succeed(command);
        assert!(told.contains(ridge) || !command.contains("all.csv"), "{command}\n{told}");
    }
    // The federation ends where one machine does.
    sandbox
        .succeed("fit all.csv --edges pairs.csv --target ok --features x1,x2 --loss logistic --lambda 0.1 --out fit");
    let numbers = |run: &str| -> Vec<f64> {
        let text = sandbox.read(&format!("{run}/parameters.csv"));
        text.lines()
            .skip(1)
            .flat_map(|line| line.split(',').skip(1).map(|cell| cell.parse().unwrap()).collect::<Vec<f64>>())
            .collect()
    };
    for (a, b) in numbers("fit").into_iter().zip(numbers("up")) {
        assert!((a - b).abs() < 1e-2 * (1.0 + a.abs()), "{a} {b}");
    }
}

#[test]
fn point_05_a_comparison_takes_several_penalties_and_models_of_any_class() {
    let sandbox = sandbox();
    let flags = "compare rows.csv --edges chain.csv --target y --features x1,x2 --rivals none";
    let both = sandbox.json(&format!("{flags} --penalty norm2,squared"));
    for (penalty, key) in [("norm2", "networked"), ("squared", "networked, squared")] {
        let alone = sandbox.json(&format!("{flags} --penalty {penalty}"));
        assert_eq!(both[key]["test_error"], alone["networked"]["test_error"], "{penalty}");
        assert_eq!(both[key]["lambda"], alone["networked"]["lambda"], "{penalty}");
    }
    for command in both["fit_commands"].as_array().unwrap() {
        let command = command.as_str().unwrap().split_once(": fedweave ").unwrap().1;
        sandbox.succeed(command);
    }
    let trees = sandbox.json(&format!("{flags} --model tree"));
    let (coupled, alone) = (&trees["--model, networked"]["test_error"], &trees["--model, alone"]["test_error"]);
    assert!(coupled.as_f64().unwrap() > 0.0 && alone.as_f64().unwrap() > 0.0, "{trees}");
    let told = sandbox.run(&format!("{flags} --penalty norm2,nonsense"));
    assert!(told.code == 2 && told.stderr.contains("--penalty nonsense: unknown"), "{}", told.stderr);
    let told = sandbox.run(&format!("{flags} --penalty norm2,norm2"));
    assert!(told.code == 2 && told.stderr.contains("each one once"), "{}", told.stderr);
}

#[test]
fn point_06_small_and_large_numbers_keep_their_digits() {
    let sandbox = sandbox();
    // A target in millions, and the same in millionths.
    for scale in [1e6, 1e-6] {
        let scaled = |line: &str| {
            let cells: Vec<&str> = line.split(',').collect();
            let y = cells[3].parse::<f64>().map_or(cells[3].to_owned(), |y| format!("{}", y * scale));
            format!("{},{},{},{y}\n", cells[0], cells[1], cells[2])
        };
        let text: String = sandbox.read("rows.csv").lines().map(scaled).collect();
        sandbox.write("scaled.csv", text);
        for job in ["fit", "compare --rivals none", "path --validation 0.2 --count 5"] {
            let told = sandbox.succeed(&format!("{job} scaled.csv --edges chain.csv --target y"));
            // Commands repeat their numbers in full.
            let told: Vec<&str> = told.lines().filter(|line| !line.contains("fedweave fit")).collect();
            let told = told.join("\n");
            for zero in [" 0.0000", " 0.000 ", "+- 0.0000", "-0.0000"] {
                assert!(!told.contains(zero), "{job} {scale}: {told}");
            }
        }
    }
}

#[test]
fn point_10_colours_and_gains_are_not_those_of_an_outlier() {
    let sandbox = sandbox();
    // One node is pure noise with a huge error; the others are alike.
    let wild = |(k, line): (usize, &str)| {
        let cells: Vec<&str> = line.split(',').collect();
        let y = if cells[0] == "S7" { format!("{}", 1e4 * ((k * 7919) % 13) as f64) } else { cells[3].to_owned() };
        format!("{},{},{},{y}\n", cells[0], cells[1], cells[2])
    };
    let text: String = sandbox.read("rows.csv").lines().enumerate().map(wild).collect();
    sandbox.write("wild.csv", text);
    sandbox.succeed("fit wild.csv --edges chain.csv --target y --validation 0.25 --lambda 0.5 --out run");
    let report = sandbox.read_json("run/report.json");
    let gains = report["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|node| Some(1.0 - node["validation_error"].as_f64()? / node["local_error"].as_f64()?));
    assert!(gains.clone().any(|gain| gain < -1.0), "there is an outlier: {:?}", gains.collect::<Vec<_>>());
    let page = sandbox.read("run/report.html");
    let data = page.split("id=\"data\">").nth(1).unwrap().split("</script>").next().unwrap();
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    assert!(page.contains("The models"), "the spread of coefficients, where every node has its own");
    assert!(data["gain"].as_array().unwrap().iter().all(|gain| gain.as_f64().is_none_or(|gain| gain <= 1.0)));
}

#[test]
fn point_14_a_split_is_written_and_can_be_given_again() {
    let sandbox = sandbox();
    let flags = "fit rows.csv --edges chain.csv --target y --features x1,x2 --lambda 0.1";
    let first = sandbox.json(&format!("{flags} --validation 0.25 --seed 5 --out run"));
    let again = sandbox.json(&format!("{flags} --split-file run/split.csv"));
    assert_eq!(first["validation_error"], again["validation_error"]);
    assert_eq!(first["objective"], again["objective"]);
    let compare = "compare rows.csv --edges chain.csv --target y --features x1,x2 --rivals none";
    let first = sandbox.json(&format!("{compare} --seed 5 --out compared"));
    let again = sandbox.json(&format!("{compare} --split-file compared/split.csv --seed 5"));
    for method in ["local", "global", "networked"] {
        assert_eq!(first[method]["test_error"], again[method]["test_error"], "{method}");
    }
    let split = sandbox.read("run/split.csv");
    let cases = [
        (split.replacen(",train", ",rest", 1), "part `rest`: must be train, validation or test"),
        (split.replacen("\n2,", "\n2000,", 1), "holds no row"),
        (split.lines().take(20).map(|line| format!("{line}\n")).collect(), "every row needs a part"),
        (split.replace("validation", "train"), "no row is held out to validate"),
    ];
    for (text, words) in cases {
        sandbox.write("bad.csv", text);
        let told = sandbox.run(&format!("{flags} --split-file bad.csv"));
        assert!(told.code == 2 && told.stderr.contains(words), "{words}: {}", told.stderr);
    }
    let told = sandbox.run(&format!("{flags} --split-file run/split.csv --validation 0.2"));
    assert!(told.code == 2 && told.stderr.contains("leave out --validation"), "{}", told.stderr);
    let told = sandbox.run(&format!("{compare} --split-file run/split.csv"));
    assert!(told.code == 2 && told.stderr.contains("no row is held out to test"), "{}", told.stderr);
}

#[test]
fn point_14_words_agree_with_their_numbers() {
    let sandbox = sandbox();
    sandbox.write("pair.csv", "source,target\nS0,S1\n");
    sandbox.write("extra.csv", sandbox.read("rows.csv") + "S8,,1,2,3,pass\n");
    for command in [
        "fit extra.csv --edges pair.csv --target y --features x1,x2 --missing drop --lambda 1",
        "path extra.csv --edges pair.csv --target y --features x1,x2 --missing drop --count 3",
        "compare rows.csv --edges pair.csv --target y --features x1,x2 --rivals none",
        "graph info pair.csv",
    ] {
        let told = sandbox.succeed(command);
        for wrong in ["(s)", "1 edges", "1 rows", "1 nodes", "1 clusters", "1 components"] {
            assert!(!told.contains(&format!(" {wrong}")) && !told.contains("(s)"), "{command}: {wrong}\n{told}");
        }
    }
}
