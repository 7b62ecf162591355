//! Every experiment by name, with what the paper says.

use crate::{
    Experiment, Run, active_figures, attack_bound, attack_poison, attack_table, book_async, book_exercise_5, book_fmi,
    cc_accuracy, cc_models, digit_figures, gtv_chain, gtv_clusters, gtv_failures, gtv_table1, relax_clusters,
    relax_mixed, relax_mixtures, relax_tree_figures, relax_variation,
};

/// All of them, paper by paper.
pub fn all() -> Vec<Experiment> {
    [gtv(), cc(), relax(), any_model(), active(), book(), attacks()].concat()
}

/// Y. SarcheshmehPour, Y. Tian, L. Zhang and A. Jung, *Clustered Federated Learning via Generalized Total Variation
/// Minimization*.
fn gtv() -> Vec<Experiment> {
    vec![
        entry(
            "gtv-table1",
            "GTV paper, Table I",
            "with fewer rows than features Algorithm 1 finds the weights of both clusters; IFCA and FedAvg do not",
            gtv_table1::run,
        ),
        entry(
            "gtv-fig2",
            "GTV paper, Fig. 2",
            "with any number of clusters Algorithm 1 is better than IFCA and FedAvg",
            gtv_clusters::run,
        ),
        entry(
            "gtv-fig3",
            "GTV paper, Fig. 3",
            "chain without noise: error against lambda for label rates rho and boundary weights epsilon",
            gtv_chain::figure_3,
        ),
        entry(
            "gtv-fig4",
            "GTV paper, Fig. 4",
            "chain with noise sigma: error against lambda, rows at 60 % of the nodes",
            gtv_chain::figure_4,
        ),
        entry(
            "gtv-fig5",
            "GTV paper, Fig. 5",
            "perceptrons on handwritten digits: accuracy of Algorithm 1 along the iterations for several lambda",
            digit_figures::figure_5,
        ),
        entry(
            "gtv-fig6",
            "GTV paper, Fig. 6",
            "two clusters of digits: Algorithm 1 is more accurate and faster than IFCA, pFedMe and joint training",
            digit_figures::figure_6,
        ),
        entry(
            "gtv-fig7",
            "GTV paper, Fig. 7",
            "five clusters of digits: Algorithm 1 is more accurate and faster than IFCA and joint training",
            digit_figures::figure_7,
        ),
        entry(
            "gtv-failures",
            "GTV paper, section VI-A",
            "Algorithm 1 learns good models also where the local datasets of many nodes are missing",
            gtv_failures::run,
        ),
    ]
}

/// A. Armacki, D. Bajovic, D. Jakovetic and S. Kar, *Personalized Federated Learning via Convex Clustering*.
fn cc() -> Vec<Experiment> {
    vec![
        entry(
            "cc-fig2",
            "convex-clustering paper, Fig. 2",
            "norms of differences personalise and generalise: peak accuracy 86.8 %, squared penalty 86.6 %; three models for some lambda",
            cc_accuracy::figure_2,
        ),
        entry(
            "cc-fig3",
            "convex-clustering paper, Fig. 3",
            "models within a cluster are nearer to each other than with the squared penalty, at every lambda",
            cc_accuracy::figure_3,
        ),
        entry(
            "cc-fig5",
            "convex-clustering paper, Fig. 5",
            "PDMM with 40 % of the users in a round converges to the optimum",
            cc_models::figure_5,
        ),
        entry(
            "cc-fig6",
            "convex-clustering paper, Fig. 6",
            "one model for large lambda, exactly three between the bounds of Theorems 1 and 2, more below; squares never agree",
            cc_models::figure_6,
        ),
    ]
}

/// S. Abdurakhmanova, Y. SarcheshmehPour and A. Jung, *Towards Model-Agnostic Federated Learning over Networks*.
fn relax() -> Vec<Experiment> {
    vec![
        entry(
            "relax-fig1",
            "FedRelax paper, Fig. 1",
            "coupled predictions help where there are fewer rows than features, and against noise",
            relax_clusters::run,
        ),
        entry(
            "relax-fig2",
            "FedRelax paper, Fig. 2",
            "trees in clusters: coupled predictions lower the error where d/m is at least 1, and at high noise",
            relax_tree_figures::figure_2,
        ),
        entry(
            "relax-fig3",
            "FedRelax paper, Fig. 3",
            "coupled predictions help where local datasets are different mixtures of three models",
            relax_mixtures::run,
        ),
        entry(
            "relax-fig4",
            "FedRelax paper, Fig. 4",
            "trees on mixtures: coupled predictions lower the error, also with noise; strong coupling may harm where d/m is low",
            relax_tree_figures::figure_4,
        ),
        entry(
            "relax-fig5",
            "FedRelax paper, Fig. 5",
            "models within a cluster vary less than the bound (25), less with stronger coupling and denser graphs",
            relax_variation::run,
        ),
    ]
}

/// What the papers promise for any model, on data of ours.
fn any_model() -> Vec<Experiment> {
    vec![
        entry(
            "relax-mixed",
            "FedRelax paper, section II-B, on real data",
            "linear models, trees, forests, nearest neighbours and perceptrons in one network are better together than alone",
            relax_mixed::mixed,
        ),
        entry(
            "fmi-trees",
            "FedRelax paper, section I, on weather stations",
            "trees at weather stations are better with the network than alone",
            relax_mixed::fmi_trees,
        ),
    ]
}

/// A. Jung, Y. SarcheshmehPour and A. Mohammadi, *Personalized Federated Learning via Active Sampling*.
fn active() -> Vec<Experiment> {
    vec![
        entry(
            "active-fig1",
            "active-sampling paper, Fig. 1",
            "Algorithm 1 slows down as d grows, errs more with noise, and needs enough candidates",
            active_figures::figure_1,
        ),
        entry(
            "active-fig2",
            "active-sampling paper, Fig. 2",
            "Algorithm 1 clearly outperforms IFCA at d/m = 2",
            active_figures::figure_2,
        ),
        entry(
            "active-fig3",
            "active-sampling paper, Fig. 3",
            "Algorithm 1 is quite close to an oracle that knows the clusters, at 3,500 nodes",
            active_figures::figure_3,
        ),
    ]
}

/// A. Jung, *Federated Learning: From Theory to Practice*, and its assignments.
fn book() -> Vec<Experiment> {
    vec![
        entry(
            "book-fmi",
            "book, weather-station assignments",
            "graphs, FedGD and closed-form models of Finnish weather stations have the numbers of the reference solutions",
            book_fmi::run,
        ),
        entry(
            "book-exercise-5",
            "book, section 5.2, exercise",
            "at a fixed learning rate a larger alpha slows FedGD down for some local datasets and speeds it up for others",
            book_exercise_5::run,
        ),
        entry(
            "book-async",
            "book, Algorithm 8.1",
            "asynchronous FedGD is robust against stragglers: stale models slow it down, and it still converges",
            book_async::run,
        ),
    ]
}

/// Attacks on networks of ours, in the manner of the papers about them.
fn attacks() -> Vec<Experiment> {
    vec![
        entry(
            "attack-table",
            "our guide to attacks",
            "all attacks against all defences: where most neighbours are honest a bounded pull keeps honest nodes near what they learn without attackers",
            attack_table::run,
        ),
        entry(
            "attack-poison",
            "our guide to attacks, weather stations",
            "poisoned neighbours raise the error of a station without limit with the squared penalty, and little with a norm",
            attack_poison::run,
        ),
        entry(
            "attack-bound",
            "our guide to attacks, the bound",
            "whatever attackers do, honest models are not farther than the bound says",
            attack_bound::run,
        ),
    ]
}

fn entry(name: &'static str, source: &'static str, claim: &'static str, run: Run) -> Experiment {
    Experiment { name, source, claim, run }
}
