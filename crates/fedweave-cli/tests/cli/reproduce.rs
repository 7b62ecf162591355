//! `fedweave reproduce`: names, files, exit codes.

use crate::sandbox::Sandbox;

#[test]
fn the_list_has_every_experiment_on_a_line() {
    let list = Sandbox::new().succeed("reproduce --list");
    assert_eq!(list.lines().count(), 28);
    for name in ["gtv-table1", "cc-fig6", "relax-fig5", "book-fmi", "active-fig3", "gtv-fig6"] {
        assert!(list.lines().any(|line| line.starts_with(name)), "{name} is not in\n{list}");
    }
}

#[test]
fn an_unknown_name_is_refused_with_the_list_before_anything_runs() {
    let sandbox = Sandbox::new();
    let outcome = sandbox.run("reproduce book-exercise-5 gtv-tabel1");
    assert_eq!(outcome.code, 2);
    assert!(outcome.stderr.contains("\"gtv-tabel1\"") && outcome.stderr.contains("gtv-table1"), "{}", outcome.stderr);
    assert!(!sandbox.exists("fedweave-reproduce"));
    assert_eq!(sandbox.run("reproduce").code, 2, "a name is needed");
}

#[test]
fn files_have_the_promised_columns_and_a_second_run_replaces_them() {
    let sandbox = Sandbox::new();
    for _ in 0..2 {
        let outcome = sandbox.run("reproduce book-exercise-5 --quick");
        assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""), "silent progress in a pipe");
        assert!(outcome.stdout.contains("PASS: 4 checks hold"), "{}", outcome.stdout);
    }
    let read = |file: &str| sandbox.read(&format!("fedweave-reproduce/book-exercise-5/{file}"));
    assert!(read("rates.csv").starts_with("collection,alpha,rounds,rate,rate_in_theory\nfirst,0,"));
    assert!(read("checks.csv").starts_with("what,printed,ours,holds,cause\n"));
    assert!(read("rounds.svg").starts_with("<svg xmlns="));
    let summary = sandbox.read_json("fedweave-reproduce/book-exercise-5/summary.json");
    assert_eq!((&summary["passes"], &summary["deviations"]), (&true.into(), &0.into()));
}

#[test]
fn a_deviation_is_listed_with_its_cause_and_ends_with_code_1() {
    let sandbox = Sandbox::new();
    let outcome = sandbox.run("reproduce cc-fig5 book-exercise-5 --quick --out results");
    assert_eq!(outcome.code, 1);
    assert!(outcome.stdout.contains("DEVIATES  PDMM, as printed"), "{}", outcome.stdout);
    assert!(outcome.stdout.ends_with("1 of 2 experiments pass; deviating: cc-fig5\n"), "{}", outcome.stdout);
    assert!(sandbox.read("results/cc-fig5/gap.csv").starts_with("variant,round,gap,bytes\n"));
    assert!(sandbox.exists("results/book-exercise-5/summary.json"));
}
