//! Nothing that was computed from protected rows without noise leaves a private fit by another way.

use crate::sandbox::Sandbox;

const SQUARED: &str = "--target y --features x1,x2,x3 --lambda 0.5 --ridge 0.3 --dp-range y=-3:3";
const LABELS: &str = "--target y --features x1,x2,x3 --loss logistic --lambda 0.5 --ridge 0.5";

const KNOWN: &str = "--dp-range x1=-2:2 --dp-range x2=-2:2 --dp-range x3=-2:2";

/// Fits of nodes with numbers or with labels.
fn fits() -> Vec<(&'static str, String)> {
    let squared = [
        "",
        "--node-weight rows --penalty squared --standardize",
        "--no-intercept --dp-clip 0.5",
        "--penalty squared --dp-method gradients",
        "--penalty squared --dp-method gradients --dp-sample 0.5 --dp-gradient-clip 0.1",
    ];
    let labels =
        ["", "--dp-method objective", "--penalty squared --dp-method gradients", "--standardize --node-weight rows"];
    let squared = squared.into_iter().map(|more| ("nodes.csv", format!("{SQUARED} {more}")));
    squared.chain(labels.into_iter().map(|more| ("labels.csv", format!("{LABELS} {more}")))).collect()
}

/// The files of a run, without how long it took.
fn files(sandbox: &Sandbox, run: &str) -> Vec<(String, String)> {
    let plain = |text: String| {
        let timed = |line: &&str| !line.contains("seconds") && !line.contains("out =");
        text.lines().filter(timed).collect::<Vec<_>>().join("\n")
    };
    let mut names: Vec<String> = std::fs::read_dir(sandbox.path(run))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "report.html")
        .collect();
    names.sort();
    names.into_iter().map(|name| (name.clone(), plain(sandbox.read(&format!("{run}/{name}"))))).collect()
}

/// A value outside its range is moved to the end of it before anything else: how far outside it was must not be seen anywhere.
#[test]
fn how_far_a_row_is_outside_its_ranges_leaves_no_trace() {
    for (table, said) in fits() {
        let mut seen = Vec::new();
        for far in ["5", "5e9"] {
            let sandbox = Sandbox::new();
            let rows = sandbox.read(table);
            assert!(rows.contains("c,0.9,0.8") && rows.contains("b,1.8,-0.6"), "{rows}");
            let rows = rows.replace("c,0.9,", &format!("c,{far},")).replace("1.8,-0.6", &format!("1.8,-{far}"));
            // Near by, this column is the same everywhere, which is worth a word where rows need no protection.
            let third = |(k, line): (usize, &str)| match k {
                0 => format!("{line},x3\n"),
                7 => format!("{line},{far}\n"),
                _ => format!("{line},5\n"),
            };
            sandbox.write("rows.csv", rows.lines().enumerate().map(third).collect::<String>());
            sandbox.succeed(&format!(
                "fit rows.csv --edges edges.csv {said} {KNOWN} --dp-epsilon 8 --dp-seed 1 --out run"
            ));
            seen.push(files(&sandbox, "run"));
        }
        for (near, far) in seen[0].iter().zip(&seen[1]) {
            assert_eq!(near, far, "{said}");
        }
    }
}

#[test]
fn which_solver_ended_a_fit_is_not_told() {
    let sandbox = Sandbox::new();
    for method in ["output", "objective"] {
        let found = sandbox.json(&format!(
            "fit labels.csv --edges edges.csv --target y --loss logistic --lambda 0.5 --ridge 0.5 --dp-range x1=-2:2 \
             --dp-range x2=-2:2 --dp-epsilon 8 --dp-method {method}"
        ));
        assert_eq!(found["solver"], "certified minimiser", "{found}");
        assert!(found["solver_reason"].as_str().unwrap().contains("would tell about rows"), "{found}");
    }
}

/// Every row would be at all nodes, and the edges would follow from means of rows. With two classes of the same size all rows count the same.
#[test]
fn classes_as_nodes_are_not_private() {
    let sandbox = Sandbox::new();
    let rows: String = (0..20).map(|k| format!("{},{},{}\n", k % 7, (3 * k) % 11, ["red", "blue"][k % 2])).collect();
    sandbox.write("classes.csv", format!("x1,x2,colour\n{rows}"));
    let refused = sandbox.run(
        "fit classes.csv --classes-as-nodes --target colour --loss logistic --lambda 0.3 --ridge 0.5 --dp-epsilon 1 \
         --dp-range x1=0:7 --dp-range x2=0:11",
    );
    assert!(
        refused.code == 2 && refused.stderr.contains("every row is at all nodes"),
        "{}{}",
        refused.stdout,
        refused.stderr
    );
}

/// Which columns are features must not follow from what is in the rows, nor who is at which place.
#[test]
fn features_and_places_of_rows_follow_from_settings() {
    let sandbox = Sandbox::new();
    let known = "--target y --lambda 1 --penalty squared --dp-epsilon 1 --dp-range x1=-2:2 --dp-range x2=-2:2 --dp-range y=-3:3";
    sandbox.write("word.csv", sandbox.read("nodes.csv").replace("b,1.8,-0.6", "b,1.8,minus"));
    sandbox.write("public.csv", "x1\n0\n1\n");
    let doors = [
        (format!("fit word.csv --edges edges.csv {known}"), "not numeric"),
        (format!("fit nodes.csv --edges edges.csv {known} --dp-range x3=0:1"), "no such feature"),
        (format!("fit nodes.csv --edges edges.csv {known} --dp-range x1=0:1"), "given twice"),
        (format!("fit nodes.csv --edges edges.csv {} --time x2 --features x1", known.replace("1 --pen", "auto --pen")), "--time"),
        (
            "fit nodes.csv --edges edges.csv --target y --features x1 --model tree --lambda 1 --public public.csv --dp-epsilon 1 \
             --dp-range y=-3:3 --time x2"
                .to_owned(),
            "--time",
        ),
    ];
    for (command, says) in doors {
        let refused = sandbox.run(&command);
        assert!(refused.code == 2 && refused.stderr.contains(says), "{command}\n{}{}", refused.stdout, refused.stderr);
    }
}

#[test]
fn parts_refuse_what_their_noise_is_not_made_for() {
    let sandbox = Sandbox::new();
    let up = "--edges edges.csv --target y --parts 2 --loopback-plaintext --prepare --policy continue";
    sandbox.succeed(&format!(
        "up nodes.csv {up} --lambda 1 --penalty squared --dp-method gradients --dp-rounds 5 --dp-epsilon 2 --dp-range x1=-2:2 \
         --dp-range x2=-2:2 --dp-range y=-3:3 --work gradients"
    ));
    // Who is kept out would follow from rows.
    let refused = sandbox.run("node --config gradients/part-0000/node.toml --loopback-plaintext --quarantine 5");
    assert!(
        refused.code == 2 && refused.stderr.contains("would tell about rows"),
        "{}{}",
        refused.stdout,
        refused.stderr
    );
    sandbox.write("public.csv", "x1,x2\n0,0\n1,1\n");
    sandbox.succeed(&format!(
        "up nodes.csv {up} --model tree --lambda 1 --rounds 3 --public public.csv --dp-epsilon 2 --dp-range y=-3:3 --work votes"
    ));
    let file = "votes/part-0000/node.toml";
    let text = sandbox.read(file);
    // All rows vote: noise for a sample of them would be too small.
    for (key, belongs) in
        [("rate = 0.01", "gradients"), ("gradient-clip = 0.1", "gradients"), ("clip = 0.5", "statistics")]
    {
        sandbox.write(file, text.replace("method = \"votes\"", &format!("method = \"votes\"\n{key}")));
        let refused = sandbox.run(&format!("node --config {file} --loopback-plaintext --check"));
        assert!(refused.code == 2 && refused.stderr.contains(belongs), "{key}: {}{}", refused.stdout, refused.stderr);
    }
    sandbox.write(file, text);
    sandbox.succeed(&format!("node --config {file} --loopback-plaintext --check"));
}
