//! A table as hospitals write it: names with spaces, words for missing numbers, columns that say nothing.

use crate::sandbox::Sandbox;

const NODES: [&str; 5] = ["St. Märien", "Nord-Klinik", "Uni A", "Klinik \"Rot\"", "Mercy, Inc."];
const FLAGS: &[&str] = &["--node", "Hospital Name", "--target", "LOS days", "--drop", "Patient ID,Admission Date"];

fn quoted(cell: &str) -> String {
    match cell.contains([',', '"']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell.into(),
    }
}

/// Ten stays in each of five hospitals; `bmi` says what stands in that column, of row `k` of node `i`.
fn stays(bmi: impl Fn(usize, usize) -> String) -> String {
    let mut text =
        "Patient ID,Hospital Name,Admission Date,Age (years),BMI kg/m²,Ward type,Site code,LOS days\n".to_owned();
    for (i, node) in NODES.iter().enumerate() {
        for k in 0..10 {
            let age = 30 + (17 * i + 13 * k) % 50;
            let days = 2.0 + 0.1 * age as f64 + ((7 * k + i) % 5) as f64 / 3.0;
            let ward = ["ICU", "Surgery"][(i + k) % 2];
            text += &format!("P{i}{k},{},0{}.03.2024,{age},{},{ward},1,{days}\n", quoted(node), 1 + k % 9, bmi(i, k));
        }
    }
    text
}

fn number(i: usize, k: usize) -> String {
    format!("{}.5", 20 + (3 * i + 5 * k) % 11)
}

fn told(sandbox: &Sandbox, job: &str, more: &[&str]) -> (i32, String) {
    let output = sandbox.command(job).args(FLAGS).args(more).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().unwrap(), text(&output.stdout) + &text(&output.stderr))
}

#[test]
fn columns_are_named_where_one_has_to_be_chosen() {
    let sandbox = Sandbox::new();
    sandbox.write("stays.csv", stays(number));
    let told = sandbox.run("fit stays.csv");
    assert!(told.code == 2 && told.stderr.contains("the columns are Patient ID, Hospital Name"), "{}", told.stderr);
}

#[test]
fn causes_are_told_once() {
    let told = Sandbox::new().run("explain nowhere");
    assert!(told.code == 2 && told.stderr.matches("nowhere/config.toml").count() == 1, "{}", told.stderr);
}

#[test]
fn words_among_numbers_are_told_from_columns_of_words() {
    let sandbox = Sandbox::new();
    sandbox.write("stays.csv", stays(|i, k| if (i, k) == (2, 3) { "unknown".into() } else { number(i, k) }));
    let (code, text) = told(&sandbox, "fit stays.csv", &[]);
    assert_eq!(code, 2);
    for words in [
        "BMI kg/m² (\"unknown\" at stays.csv:25, numbers before)",
        "Ward type (\"ICU\" at stays.csv:2)",
        "(--drop 'BMI kg/m²,Ward type')",
        "leave them empty (--missing drop or --missing mean)",
    ] {
        assert!(text.contains(words), "{words}\n{text}");
    }
}

#[test]
fn usual_signs_for_nothing_are_missing_values_and_columns_that_say_nothing_are_named() {
    let sandbox = Sandbox::new();
    let signs = ["-", "n/a", "#N/A", "NA", ""];
    sandbox.write("stays.csv", stays(|i, k| if k == 4 { signs[i].into() } else { number(i, k) }));
    let words = ["--one-hot", "Ward type"];
    let (code, text) = told(&sandbox, "fit stays.csv", &words);
    assert!(code == 2 && text.contains("missing values: BMI kg/m² 5 (first at stays.csv:6)"), "{text}");
    let (code, text) = told(&sandbox, "fit stays.csv", &[&words[..], &["--missing", "mean", "--out", "run"]].concat());
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("the same in every row, so of no help: Site code (--drop 'Site code')"), "{text}");
    // A missing number has a mean, a missing word has none.
    sandbox.write("new.csv", stays(|_, _| "-".into()));
    assert_eq!(sandbox.run("predict run new.csv").code, 0);
    sandbox.write("new.csv", stays(number).replacen("ICU", "", 1));
    let told = sandbox.run("predict run new.csv");
    assert!(
        told.code == 2 && told.stderr.contains("the value is missing; fill it, or leave the row out"),
        "{}",
        told.stderr
    );
}

#[test]
fn nodes_that_only_look_alike_are_pointed_out() {
    let sandbox = Sandbox::new();
    sandbox.write("stays.csv", stays(number).replacen("Uni A,", "uni a ,", 1));
    let (code, text) = told(&sandbox, "fit stays.csv", &["--one-hot", "Ward type"]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("6 nodes") && text.contains("\"uni a \" are different nodes"), "{text}");
    let (_, text) = told(&sandbox, "fit stays.csv", &["--one-hot", "Ward type"]);
    assert!(!text.contains("(and "), "{text}");
}

#[test]
fn other_encodings_are_refused_with_a_way_out() {
    let sandbox = Sandbox::new();
    let latin: Vec<u8> = stays(number).chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
    sandbox.write("stays.csv", latin);
    let (code, text) = told(&sandbox, "fit stays.csv", &[]);
    assert!(
        code == 2 && text.contains("stays.csv:1: not UTF-8 text") && text.contains("iconv -f WINDOWS-1252"),
        "{text}"
    );
}

#[test]
fn huge_numbers_are_refused_once_or_solved_or_not_called_solved() {
    let sandbox = Sandbox::new();
    let rows = |x: f64, y: f64| -> String {
        let row = |k: usize| {
            let (a, b) = (((7 * k) % 11) as f64 - 5.0, ((5 * k) % 13) as f64 - 6.0);
            format!("{},{},{}\n", ["a", "b", "c", "d"][k % 4], a * x, b * y)
        };
        "node,x,y\n".to_owned() + &(0..40).map(row).collect::<String>()
    };
    sandbox.write("huge.csv", rows(1e180, 1e180));
    let told = sandbox.run("fit huge.csv --edges edges.csv --target y");
    assert!(told.code == 2 && told.stderr.matches("squares of that leave").count() == 1, "{}", told.stderr);
    sandbox.write("large.csv", rows(1e12, 1e9));
    let command = "fit large.csv --edges edges.csv --target y";
    let raw: serde_json::Value = serde_json::from_str(&sandbox.run(&format!("{command} --json")).stdout).unwrap();
    let solved = raw["certified_gap"].is_number() || raw["kkt_residual"].as_f64() < Some(1e-3);
    assert!(solved || raw["status"] != "converged", "{raw}");
    let words = sandbox.run(command).stdout;
    assert!(solved || words.contains("give --standardize"), "{words}");
    let scaled = sandbox.json(&format!("{command} --standardize"));
    assert!(scaled["status"] == "converged" && scaled["certified_gap"].is_number(), "{scaled}");
}

#[test]
fn where_nothing_can_be_compared_there_is_no_number() {
    let sandbox = Sandbox::new();
    let rows = |nodes: &[&str], y: fn(usize) -> f64| -> String {
        let row = |k: usize| format!("{},{},{}\n", nodes[k % nodes.len()], (7 * k) % 11, y(k));
        "node,x,y\n".to_owned() + &(0..40).map(row).collect::<String>()
    };
    // The error over one node has no spread.
    sandbox.write("one.csv", rows(&["a"], |k| ((5 * k) % 7) as f64));
    let told = sandbox.json("compare one.csv --target y --rivals none");
    assert!(told["local"]["test_error"].is_number() && told["local"]["standard_error"].is_null(), "{told}");
    // From no error to no error nothing is raised.
    sandbox.write("same.csv", rows(&["a", "b", "c", "d"], |_| 5.0));
    let told = sandbox.run("attack same.csv --edges edges.csv --target y --kind label --budget 1");
    assert!(told.code == 0 && !told.stdout.contains("NaN"), "{}", told.stdout);
}

#[cfg(unix)]
#[test]
fn a_comparison_that_is_broken_off_says_so() {
    let sandbox = Sandbox::new();
    sandbox.succeed("generate made --nodes 600 --rows 20 --dim 4");
    let child = sandbox.start("compare made/nodes.csv --edges made/edges.csv --target y --splits 50");
    std::thread::sleep(std::time::Duration::from_millis(700));
    let id = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{words}");
    assert!(!words.contains("no node has test rows"), "{words}");
}
