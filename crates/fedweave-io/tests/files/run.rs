//! The run directory.

use std::fs;

use crate::common::{Folder, folder, strings, strip};
use fedweave::{Graph, Matrix};
use fedweave_io::{Checkpoint, RunWriter, fingerprint, read_json, read_parameters};

fn text(folder: &Folder, name: &str) -> String {
    fs::read_to_string(folder.path().join(name)).unwrap()
}

fn entries(folder: &Folder) -> Vec<String> {
    let names = fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

/// What the runs of these tests may leave.
const FILES: [&str; 2] = ["summary.json", "lambda.csv"];

#[test]
fn a_run_is_written_and_read_back() {
    let folder = folder();
    let run = RunWriter::create(&folder.path().join("deep/run"), false, &[]).unwrap();
    let w = Matrix::from_rows(2, vec![0.1 + 0.2, -1e300, 5e-324, 3.0]);
    let (features, names) = (strings(&["x=a,b", "intercept"]), strings(&["007", "say \"hi\""]));
    run.write_parameters(&features, &names, &w).unwrap();
    run.write_clusters(&names, &[1, 1]).unwrap();
    run.write_history(&["iteration", "objective"], [[1.0, 0.5], [2.0, 1e-9]]).unwrap();
    run.write_json("summary.json", &["done"]).unwrap();
    assert!(!folder.path().join("deep/run").exists(), "nothing is seen before the end");
    let path = run.finish().unwrap();

    let read = read_parameters(&path).unwrap();
    assert_eq!((read.features, read.names, read.w), (features, names, w));
    assert_eq!(read_json::<Vec<String>>(&path, "summary.json").unwrap(), ["done"]);
    assert_eq!(text(&folder, "deep/run/clusters.csv"), "node,cluster,size\n007,1,2\n\"say \"\"hi\"\"\",1,2\n");
    assert_eq!(text(&folder, "deep/run/history.csv"), "iteration,objective\n1,0.5\n2,1e-9\n");
    assert_eq!(fs::read_dir(folder.path().join("deep")).unwrap().count(), 1, "no temporary folder remains");
}

#[test]
fn an_unfinished_run_leaves_nothing() {
    let folder = folder();
    let run = RunWriter::create(&folder.path().join("run"), false, &[]).unwrap();
    run.write_text("summary.json", "{}").unwrap();
    drop(run);
    assert!(entries(&folder).is_empty());
}

#[test]
fn existing_folders_are_safe() {
    let folder = folder();
    let run = folder.path().join("run");
    let refusal = |overwrite| strip(&folder, &RunWriter::create(&run, overwrite, &[]).unwrap_err().to_string());
    fs::create_dir(&run).unwrap();
    fs::write(run.join("thesis.txt"), "years of work").unwrap();
    assert_eq!(refusal(false), "run: the folder exists; choose another or pass --overwrite");
    assert_eq!(
        refusal(true),
        "run: this is no run folder (it has no summary.json) and will not be overwritten; choose another"
    );
    assert_eq!(text(&folder, "run/thesis.txt"), "years of work");
    let error = RunWriter::create(std::path::Path::new("/"), true, &[]).unwrap_err().to_string();
    assert!(error.contains("does not name a new folder"), "{error}");
}

#[test]
fn overwriting_replaces_the_files_of_a_run_and_no_others() {
    let folder = folder();
    let path = folder.path().join("run");
    let first = RunWriter::create(&path, false, &FILES).unwrap();
    first.write_text("summary.json", "1").unwrap();
    first.write_text("lambda.csv", "old").unwrap();
    first.finish().unwrap();
    fs::write(path.join("notes.txt"), "mine").unwrap();

    let second = RunWriter::create(&path, true, &FILES).unwrap();
    second.write_text("summary.json", "2").unwrap();
    second.finish().unwrap();
    assert_eq!((text(&folder, "run/summary.json"), text(&folder, "run/notes.txt")), ("2".into(), "mine".into()));
    assert!(!path.join("lambda.csv").exists(), "files of the old run are gone");
    assert_eq!(entries(&folder), ["run"]);
}

#[test]
fn broken_parameters_are_refused() {
    let folder = folder();
    let refusal = |content: &str| {
        folder.write("parameters.csv", content);
        strip(&folder, &read_parameters(folder.path()).unwrap_err().to_string())
    };
    assert!(refusal("name,x\na,1\n").starts_with("parameters.csv: not a parameters table: the columns are name,x; "));
    assert!(refusal("node,x\na,\n").starts_with("parameters.csv:2: column x: the value is missing"));
    assert!(refusal("node,x\na,b\n").starts_with("parameters.csv:2: column x: \"b\" is not a number"));
}

#[test]
fn broken_json_is_refused() {
    let folder = folder();
    folder.write("summary.json", "{\"nodes\": ");
    let error = read_json::<u32>(folder.path(), "summary.json").unwrap_err();
    assert!(strip(&folder, &error.to_string()).starts_with("summary.json: not the JSON expected here: "));
}

#[test]
fn checkpoints_come_back_and_only_to_their_own_problem() {
    let folder = folder();
    let path = folder.path().join("checkpoint.bin");
    let (names, graph) = (strings(&["a", "b", "c"]), Graph::new(3, &[(0, 1, 1.0), (1, 2, 2.0)]).unwrap());
    let (w, u) = (Matrix::from_rows(1, vec![1.0, 2.0, 3.0]), Matrix::from_rows(1, vec![0.5, -0.5]));
    let checkpoint = Checkpoint { problem: fingerprint(&names, &graph), iteration: 9, step_ratio: 0.1, w, u };
    checkpoint.write(&path).unwrap();
    assert_eq!(Checkpoint::read(&path, &names, &graph, 1).unwrap(), checkpoint);
    assert_eq!(entries(&folder), ["checkpoint.bin"]);

    let refusal = |names: &[String], graph: &Graph, dim| {
        strip(&folder, &Checkpoint::read(&path, names, graph, dim).unwrap_err().to_string())
    };
    let other = |difference: &str| {
        format!(
            "checkpoint.bin: the checkpoint belongs to another problem ({difference}); use the same files and options, or delete it"
        )
    };
    assert_eq!(refusal(&names[..2], &graph, 1), other("3 nodes, not 2"));
    assert_eq!(refusal(&names, &graph, 2), other("1 parameters per node, not 2"));
    assert_eq!(refusal(&strings(&["a", "b", "d"]), &graph, 1), other("other node names or edges"));
    let heavier = Graph::new(3, &[(0, 1, 1.0), (1, 2, 3.0)]).unwrap();
    assert_eq!(refusal(&names, &heavier, 1), other("other node names or edges"));

    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 3]).unwrap();
    assert_eq!(
        refusal(&names, &graph, 1),
        "checkpoint.bin: not a usable checkpoint: it is cut short; delete it and start afresh"
    );
}
