//! `fedweave simulate`: seeds pass, are told apart, and bad flags are named.

use crate::sandbox::Sandbox;

#[test]
fn seeds_end_with_the_bits_of_one_machine() {
    let sandbox = Sandbox::new();
    let text = sandbox.succeed("simulate --seed 3");
    assert!(text.contains("1 seed ended with the bits of one machine"), "{text}");
    // The same seed, the same run.
    let again = sandbox.succeed("simulate --seed 3 --threads 1");
    assert_eq!(text.lines().last(), again.lines().last());
    let text = sandbox.succeed("simulate --liars --seed 1 --json");
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(value["passed"] == 1 && value["failed"].as_array().unwrap().is_empty(), "{text}");
    let text = sandbox.succeed("simulate --recovery --seed 2");
    assert!(text.contains("1 seed ended with the optimum of the network that is left"), "{text}");
}

#[test]
fn bad_flags_are_named() {
    let sandbox = Sandbox::new();
    for (flags, words) in
        [("--loss 1.5", "--loss 1.5"), ("--duplication=-1", "--duplication -1"), ("--seeds 0", "--seeds 0")]
    {
        let outcome = sandbox.run(&format!("simulate {flags}"));
        assert!(outcome.code == 2 && outcome.stderr.contains(words), "{}", outcome.stderr);
    }
}

#[test]
fn fit_says_what_a_liar_could_do() {
    let sandbox = Sandbox::new();
    let fit = "fit nodes.csv --edges edges.csv --target y --lambda 0.1";
    assert!(sandbox.json(&format!("{fit} --ridge 0.1"))["liar_bound"].as_f64() > Some(0.0));
    assert!(sandbox.json(&format!("{fit} --penalty squared"))["liar_bound"].is_null());
}
