//! Everything a job can be told: one table for the command line, config files, Python and whoever comes next.
//!
//! A key `huber-delta` is the flag `--huber-delta`, the line `huber-delta = 1.5` of a config file, and an argument in Python. A face
//! builds its flags, its forms and its help from this table; what the values mean is said in the files beside it.

use Kind::{Count, CountOrFile, Flag, Number, NumberOr, NumberOrAuto, Numbers, Path, Paths, Repeated, Text, Texts};

/// The jobs that take settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Job {
    /// A model at every node.
    Fit,
    /// All values of lambda.
    Path,
    /// Local, global, networked, shuffled.
    Compare,
    /// Without a graph: nodes ask others.
    Ask,
    /// A fit by a federation of processes.
    Up,
    /// A graph from rows.
    Learn,
    /// How much it takes to do harm.
    Attack,
}

impl Job {
    /// All of them.
    pub const ALL: [Job; 7] = [Job::Fit, Job::Path, Job::Compare, Job::Ask, Job::Up, Job::Learn, Job::Attack];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Job::Fit => "fit",
            Job::Path => "path",
            Job::Compare => "compare",
            Job::Ask => "ask",
            Job::Up => "up",
            Job::Learn => "graph learn",
            Job::Attack => "attack",
        }
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

const FIT: u8 = Job::Fit.bit();
const PATH: u8 = Job::Path.bit();
const COMPARE: u8 = Job::Compare.bit();
const ASK: u8 = Job::Ask.bit();
const UP: u8 = Job::Up.bit();
const LEARN: u8 = Job::Learn.bit();
const ATTACK: u8 = Job::Attack.bit();
/// Jobs that may be told to learn their graph, and the one that does nothing else.
const LEARNING: u8 = FIT | COMPARE | LEARN;
/// Jobs with a graph.
const COUPLED: u8 = FIT | PATH | COMPARE | UP;
const ALL: u8 = COUPLED | ASK;

/// What a value looks like.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// Given or not.
    Flag,
    /// A number.
    Number,
    /// A number, or this one if the key is given without a value.
    NumberOr(f64),
    /// A number or the word `auto`.
    NumberOrAuto,
    /// A whole number, zero or more.
    Count,
    /// A whole number, or a file.
    CountOrFile,
    /// A word.
    Text,
    /// A file or folder.
    Path,
    /// Files, one word each.
    Paths,
    /// Numbers, separated by commas; one number stands for a list of one.
    Numbers,
    /// Words, separated by commas.
    Texts,
    /// Words with commas inside: the flag is repeated.
    Repeated,
}

/// One thing that can be said.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Key {
    /// Its name, in kebab case.
    pub name: &'static str,
    /// What its value looks like.
    pub kind: Kind,
    /// What a value is called in help texts.
    pub value: &'static str,
    /// One sentence.
    pub help: &'static str,
    /// What else must be said for the key to mean something; empty if nothing.
    pub with: &'static str,
    jobs: u8,
}

impl Key {
    /// True if the job knows the key.
    pub fn is_for(&self, job: Job) -> bool {
        self.jobs & job.bit() != 0
    }

    /// True for what most users need; the rest is shown to those who ask for all.
    pub fn is_common(&self) -> bool {
        COMMON.contains(&self.name)
    }

    /// Names the jobs that know it.
    pub fn jobs(&self) -> String {
        let names = Job::ALL.into_iter().filter(|job| self.is_for(*job));
        names.map(|job| format!("`fedweave {}`", job.name())).collect::<Vec<_>>().join(", ")
    }

    const fn with(self, with: &'static str) -> Key {
        Key { with, ..self }
    }
}

const fn key(name: &'static str, kind: Kind, value: &'static str, jobs: u8, help: &'static str) -> Key {
    Key { name, kind, value, help, with: "", jobs }
}

/// The key of this name.
pub fn find(name: &str) -> Option<&'static Key> {
    GROUPS.iter().flat_map(|(_, keys)| keys.iter()).find(|key| key.name == name)
}

/// What short help texts show.
const COMMON: [&str; 32] = [
    "nodes",
    "edges",
    "knn",
    "by",
    "node",
    "target",
    "features",
    "drop",
    "one-hot",
    "missing",
    "standardize",
    "loss",
    "ridge",
    "tune",
    "coupling",
    "penalty",
    "lambda",
    "model",
    "validation",
    "split",
    "out",
    "overwrite",
    "json",
    "breakpoints",
    "count",
    "train",
    "test",
    "splits",
    "asker",
    "candidates",
    "rounds",
    "parts",
];

/// Keys under their headings, in the order of help texts and config files. The first one is the table of rows.
#[rustfmt::skip]
pub const GROUPS: &[(&str, &[Key])] = &[
    ("", &[
        key("nodes", Path, "NODES", ALL | LEARN | ATTACK, "Table with one row per data point: CSV, TSV, Parquet, or CSV compressed with gzip"),
    ]),
    ("Data", &[
        key("edges", Path, "FILE", COUPLED | ATTACK, "Edges: CSV with source,target[,weight], Parquet, GraphML, or an adjacency list (.adj)"),
        key("knn", Count, "K", COUPLED | ATTACK, "Instead of a file of edges: join every node with its K nearest, by the columns of --by"),
        key("by", Texts, "COLUMNS", ALL | LEARN | ATTACK, "Columns with the position of a node, for --knn and the map, e.g. lat,lon; graph learn: as --discrepancy"),
        key("metric", Text, "NAME", COUPLED | ATTACK, "Distance for --knn: great-circle (the default for lat,lon) or euclidean"),
        key("node-info", Path, "FILE", ALL | ATTACK, "Table with one row per node, e.g. with its position"),
        key("node", Text, "COLUMN", ALL | LEARN | ATTACK, "Column that names the node of a row [default: node]"),
        key("target", Text, "COLUMN", ALL | LEARN | ATTACK, "Column to predict"),
        key("features", Texts, "COLUMNS", ALL | LEARN | ATTACK, "Columns to predict from [default: all other numeric columns]"),
        key("drop", Texts, "COLUMNS", ALL | LEARN | ATTACK, "Columns to leave out"),
        key("one-hot", Texts, "COLUMNS", ALL | LEARN | ATTACK, "Text columns to turn into 0/1 columns, one per value (but the first, if there is an intercept)"),
        key("weight", Text, "COLUMN", ALL | LEARN | ATTACK, "Column with row weights"),
        key("vertical", Paths, "FILE", FIT, "Parties hold columns of the same rows: their tables, e.g. --vertical a.csv b.csv. One model is fitted; only scores travel"),
        key("classes-as-nodes", Flag, "", FIT, "The classes of --target are the nodes: each learns to tell its rows from all others, with the classes whose mean rows are nearest (--knn, default 3; or --edges): for classes with few rows"),
        key("key", Text, "COLUMN", FIT, "Column that says which rows of the parties belong together").with("--vertical"),
        key("missing", Text, "RULE", ALL | LEARN | ATTACK, "Missing values: error, drop (the rows) or mean (of the column) [default: error]"),
        key("unlabelled", Text, "RULE", FIT | COMPARE | LEARN, "Rows that miss nothing but the target: refuse (as --missing says), or keep: as public rows of --model, and where graphs are learnt by moments, components, wasserstein or kl [default: refuse]"),
        key("standardize", Flag, "", ALL | ATTACK, "Scale features to mean 0 and deviation 1 over the training rows"),
        key("strict", Flag, "", COUPLED | ATTACK, "Make errors of: nodes without rows, nodes without edges, nodes with neither"),
    ]),
    ("Graph from rows", &[
        key("graph", Text, "RULE", FIT | COMPARE, "given: by --edges or --knn; learn: from the rows that are trained with [default: given]"),
        key("discrepancy", Text, "NAME", LEARNING, "How different two nodes are: gradient, parameters, moments, histogram, wasserstein, components, wald, pooled-fit, kl, or joint (graph and models together) [default: pooled-fit; gradient where the loss is no likelihood]").with("--graph learn"),
        key("degree", Count, "K", LEARNING, "Weights of every node add up to K, with the smallest total discrepancy [default: 4]").with("--graph learn"),
        key("nearest", Count, "K", LEARNING, "Every node with the K least different").with("--graph learn"),
        key("edges-max", Count, "N", LEARNING, "The N pairs with the smallest discrepancy").with("--graph learn"),
        key("fdr", Number, "SHARE", LEARNING, "All pairs that share a model; at most this share of them wrongly, on average").with("--graph learn"),
        key("edge-weights", Text, "RULE", LEARNING, "rule: as the budget says, 1 or 1/2; kernel: less for larger discrepancies; validation: more where learning together predicts rows left out better [default: rule]").with("--graph learn"),
    ]),
    ("Model", &[
        key("loss", Text, "NAME", ALL | LEARN | ATTACK, "squared, absolute, huber, logistic, multinomial, squared-hinge, poisson, quantile or point [default: squared]"),
        key("loss-column", Text, "COLUMN", FIT | PATH, "Column that names the loss of each node, where nodes differ"),
        key("huber-delta", Number, "NUMBER", ALL | LEARN | ATTACK, "Threshold of the Huber loss [default: 1]"),
        key("quantile", Number, "NUMBER", ALL | LEARN | ATTACK, "Level of the quantile loss [default: 0.5]"),
        key("ridge", Numbers, "RIDGE", ALL | ATTACK, "Adds RIDGE |w|^2 at nodes with rows, sparing the intercept [default: 0; compare: chosen from 1e-6,1e-3,1e-2,0.1,1]"),
        key("lasso", Number, "LASSO", COUPLED, "Adds LASSO sum |w_j| at nodes with rows, sparing the intercept: parameters that are not needed become zero [default: 0]"),
        key("no-intercept", Flag, "", ALL | LEARN | ATTACK, "No intercept"),
        key("node-weight", Text, "RULE", ALL | ATTACK, "equal: every node counts the same; rows: every row counts the same [default: equal]"),
        key("tune", Flag, "", FIT | COMPARE, "Tries linear couplings, boosted trees, forests and mixtures of them on folds, and fits what predicts best; compare: also judges that"),
        key("recipe", Texts, "PARTS", FIT, "The outcome of an earlier --tune: predictors and their shares, e.g. learnt:0.4,common+leaves:0.6"),
        key("coupling", Text, "RULE", FIT | UP | ATTACK, "given: by a penalty and one strength, lambda; learnt: how much each coefficient varies between nodes, and how much of that neighbours share, from the rows [default: given]"),
        key("structure", Text, "NAME", FIT | ATTACK, "With --coupling learnt: average (of all below, weighed by folds), likelihood (the one of the largest likelihood), intercept, diagonal, low-rank (diagonal and a few directions in common) or full [default: average]"),
        key("coupling-penalty", Text, "NAME", FIT | ATTACK, "With --coupling learnt: what a difference of models costs, in the learnt metric: quadratic, huber or norm (a pull with a limit, found by folds), or auto (the best of them by folds) [default: quadratic]"),
        key("hub", Number, "SHARE", FIT | PATH | UP, "Also joins every node to a common mean, with this share of the coupling (above 0, at most 1); the graph has the rest"),
        key("penalty", Text, "NAME", COUPLED | ATTACK, "norm2, norm1, norminf, squared, huber, quadratic or blocks; compare: several, e.g. norm2,squared [default: norm2]"),
        key("penalty-matrix", Path, "FILE", COUPLED | ATTACK, "Matrix Q of the quadratic penalty t'Qt: CSV without header, one row per parameter").with("--penalty quadratic"),
        key("block", Repeated, "BLOCK", COUPLED | ATTACK, "One block of the blocks penalty, e.g. norm2:1:x1,x2 (penalty, strength, features); repeatable").with("--penalty blocks"),
        key("reach", Number, "NUMBER", FIT | PATH | COMPARE | ATTACK, "Distance of two models from which on the pull of the huber penalty does not grow [default: 1]").with("--penalty huber"),
        key("intercept-weight", Number, "NUMBER", COUPLED | ATTACK, "Couples the intercept with this many times the strength of the other coefficients, which it is then set apart from"),
        key("screen", Number, "FACTOR", FIT | ATTACK, "Leaves out edges over which a neighbour's model predicts rows more than FACTOR times as badly as usual (the node's own, and those of all who hear it), and fits again"),
        key("lambda", NumberOrAuto, "LAMBDA", COUPLED | ATTACK, "Strength of the coupling: a number, or auto to choose it on held-out rows [default: auto]"),
        key("lambda-grid", Numbers, "NUMBERS", FIT | PATH | COMPARE | ATTACK, "Values of lambda to choose from [default: a geometric grid from the data]"),
        key("lambda-rule", Text, "RULE", FIT | PATH | COMPARE | ATTACK, "minimum: smallest held-out error; one-se: largest lambda within one standard error of it [default: minimum]"),
    ]),
    ("Models of any class", &[
        key("model", Text, "MODEL", FIT | COMPARE | ASK | UP, "Model class of every node with its options, e.g. \"tree max-depth=5\"; predictions are coupled instead of parameters; compare: also judges such models, networked and alone"),
        key("task", Text, "TASK", FIT | ASK | UP, "regression or classification [default: regression]").with("`fedweave fit --model`, `fedweave ask --model` or `fedweave up --model`"),
        key("public", Path, "FILE", FIT | ASK | UP, "Public rows without labels, on which predictions are compared; with a node column, rows of each node").with("`fedweave fit --model`, `fedweave ask --model` or `fedweave up --model`"),
        key("public-from", Text, "SOURCE", FIT | ASK | UP, "Without --public: what to draw the rows of a node from: moments or range (of its features), or normal [default: moments]").with("`fedweave fit --model`, `fedweave ask --model` or `fedweave up --model`"),
        key("public-rows", Count, "N", FIT | ASK | UP, "Without --public: rows to draw for every node [default: 100]").with("`fedweave fit --model`, `fedweave ask --model` or `fedweave up --model`"),
        key("judged-on", Text, "RULE", FIT | UP, "Compare on the public rows of the neighbours (the paper's update) or of both ends (exact) [default: neighbours]").with("`fedweave fit --model`, `fedweave ask --model` or `fedweave up --model`"),
        key("row-weights", Text, "RULE", FIT | UP, "means: terms of the objective are means over rows; plain: an own row weighs 1, a public row lambda [default: means]").with("`fedweave fit --model`, `fedweave ask --model` or `fedweave up --model`"),
        key("distil", Count, "N", FIT, "Rows that a node labels by its own model before every fit [default: 0]").with("`fedweave fit --model`, `fedweave ask --model` or `fedweave up --model`"),
    ]),
    ("Asking", &[
        key("asker", Repeated, "NAME", ASK, "A node that asks; repeatable [default: every node]"),
        key("candidates", Count, "B", ASK, "How many others are asked in a round [default: 10, or all there are]"),
    ]),
    ("Path", &[
        key("count", Count, "N", PATH, "Number of values of lambda [default: 50]"),
        key("lambda-min-ratio", Number, "SHARE", PATH, "Smallest lambda, as a share of the largest [default: 1e-3; 1e-7 for squared and quadratic]"),
        key("direction", Text, "up|down", PATH, "Up from the smallest lambda, which takes less time, or down from the largest [default: up]"),
        key("breakpoints", NumberOr(0.001), "REL", PATH, "Bracket the changes of the clusters to this relative width [default if given without: 1e-3]"),
        key("partition", Text, "COLUMN|FILE", PATH, "Where is this partition provably recovered? A column, or a file with node,cluster [default: the one found]"),
    ]),
    ("Held-out rows", &[
        key("validation", Number, "ROWS", FIT | PATH | COMPARE | ASK | ATTACK, "Rows held out of every node to validate: a number (10) or a share (0.2) [default: 0.2 where needed]"),
        key("folds", Count, "K", FIT | COMPARE, "Hold out every row once, in K folds, instead of one share of them; then train with all rows [default of --tune: 5]"),
        key("repeats", Count, "N", FIT | COMPARE, "Deal rows out to folds so many times [default: 1]").with("--folds"),
        key("fallback", NumberOr(0.04), "SHARE", FIT | COMPARE, "A node keeps its local model unless its held-out rows speak for the network, so clearly that at most this SHARE of the nodes is hurt; 1: where the network is worse; compare: also judges this [default if given without: 0.04]"),
        key("train", Number, "ROWS", COMPARE, "Rows of every node to train with; with it, what is left after validation is for testing"),
        key("test", Number, "ROWS", COMPARE, "Rows held out of every node to test [default of compare: 0.2]"),
        key("calibrate", Count, "FOLDS", FIT, "Calibrate the intervals of `fedweave predict --interval` on rows left out of so many fits, e.g. 10 [default: on the rows held out to validate, if any]"),
        key("split", Text, "RULE", FIT | PATH | COMPARE | ASK | ATTACK, "random: drawn separately per node; last: the last rows of every node; nodes (with --folds): whole nodes [default: random]"),
        key("split-file", Path, "FILE", FIT | PATH | COMPARE | ASK, "Which rows train, validate and test: a table with the columns line and part, e.g. split.csv of a run directory"),
        key("split-by", Text, "COLUMN", FIT | PATH | COMPARE | ASK | ATTACK, "Hold out the same values of this column (e.g. dates) at all nodes"),
        key("time", Text, "COLUMN", FIT | PATH | COMPARE | ASK | ATTACK, "Column that says when a row was observed: for --split last, and for what nodes share at a time (--tune) [default: order of the file]"),
        key("rivals", Text, "all|none", COMPARE, "Also node effects, the mixed model, the learnt coupling, boosted trees and a model per cluster that is found, each tuned on the same rows [default: all]"),
        key("splits", Count, "N", COMPARE, "Number of splits to average over [default: 1]"),
        key("leave-nodes", Number, "SHARE", COMPARE, "Leave out whole nodes instead: every node once, this share (0.1) or number (1) of them at a time; they join without a row of their own and are judged on all their rows; with --graph learn they show those that do not test, and the others judge"),
        key("seed", Count, "N", ALL | LEARN | ATTACK, "Seed of everything random [default: 0]"),
    ]),
    ("Solver", &[
        key("solver", Text, "NAME", COUPLED | ATTACK, "auto, primal-dual, newton or newton-cg, or one that exchanges messages: fedgd, fedsgd, async-fedgd, fedrelax, pdmm, projected-gradient, robust, or with a server and without the graph: fedavg, ifca, pfedme; -v says what auto chose and why [default: auto]"),
        key("tolerance", Number, "TOL", COUPLED | ATTACK, "Stop at certified_gap <= TOL * max(1, |objective|); without a certificate, at kkt_residual <= TOL [default: 1e-6]"),
        key("max-iterations", Count, "N", COUPLED | ATTACK, "Stop after N iterations [default: 100000]"),
        key("time-limit", Number, "SECONDS", FIT | PATH, "Stop after this many seconds"),
        key("objective-decrease", Number, "NUMBER", FIT | PATH | COMPARE, "Stop when the objective changes by less than this, relatively, between two checks"),
        key("step-ratio", Number, "NUMBER", COUPLED | ATTACK, "Fixed ratio of primal to dual steps; 1 is the paper's [default: adapted]"),
        key("relaxation", Number, "NUMBER", COUPLED | ATTACK, "Relaxation of primal-dual steps, between 0 and 2; 1 is the paper's [default: 1.8]"),
        key("threads", Count, "N", ALL | ATTACK, "Number of threads; the result does not depend on it [default: all cores]"),
        key("warm", Path, "DIR", FIT, "Start from the models of this run directory, also if nodes or rows are new or gone: the same optimum and certificate, sooner"),
        key("resume", Path, "DIR", FIT, "Continue from the checkpoint in this run directory"),
    ]),
    ("Solvers that exchange messages", &[
        key("rounds", Count, "N", FIT | ASK | UP | ATTACK, "Exactly so many rounds, whatever is reached; also for primal-dual [default: until the tolerance; ask: 100 or more, until models change little]").with("--solver fedgd, fedsgd, async-fedgd, fedrelax, pdmm, projected-gradient, robust, fedavg, ifca, pfedme, primal-dual"),
        key("step", Number, "NUMBER", FIT | UP | ATTACK, "Step of the gradient methods, fedavg, ifca and pfedme [default: one that never diverges]").with("--solver fedgd, fedsgd, async-fedgd, projected-gradient, robust, fedavg, ifca, pfedme"),
        key("rule", Text, "NAME", FIT | ATTACK, "robust: what a node makes of its neighbours: sum (no defence), median, trimmed-mean, clipped-gossip or cs-plus [default: cs-plus]").with("--solver robust"),
        key("liars", Count, "N", FIT | ATTACK, "robust: how many neighbours of a node may lie [default: 1]").with("--solver robust"),
        key("batch", Count, "N", FIT, "fedsgd: rows of a batch [default: 10]").with("--solver fedsgd"),
        key("schedule", Text, "RULE", FIT, "fedsgd: inverse-root (step / sqrt k), inverse (step / k) or constant [default: inverse-root]").with("--solver fedsgd"),
        key("active", Number, "SHARE", FIT, "async-fedgd: share of the nodes that are active in a round [default: 0.5]").with("--solver async-fedgd"),
        key("delay-max", Count, "N", FIT | UP, "async-fedgd: messages are up to so many rounds late [default: 5]").with("--solver async-fedgd"),
        key("local-steps", Count, "N", FIT, "fedavg, ifca, pfedme: local steps in a round [default: 5; pfedme: 1]").with("--solver fedavg, ifca, pfedme"),
        key("prox", Flag, "", FIT, "fedavg: one proximal step instead of gradient steps").with("--solver fedavg"),
        key("models", CountOrFile, "K|FILE", FIT | UP, "ifca: number of models [default: 2]; or a table with columns node, model, options: a model class for each node").with("--solver ifca"),
        key("restarts", Count, "N", FIT, "ifca: number of random starts, of which the best counts [default: 1]").with("--solver ifca"),
        key("gamma", Number, "NUMBER", FIT, "pfedme: how strongly personal models are drawn to the common one [default: 1]").with("--solver pfedme"),
        key("order", Text, "RULE", FIT | UP, "fedrelax: nodes update in-turn or together [default: in-turn]").with("--solver fedrelax"),
        key("ball", Number, "RADIUS", FIT, "projected-gradient: keep |w_i| <= RADIUS").with("--solver projected-gradient"),
        key("box", Numbers, "LOW,HIGH", FIT, "projected-gradient: keep every parameter between two numbers").with("--solver projected-gradient"),
        key("users", Number, "SHARE", FIT, "pdmm: share of the users that update in a round [default: 0.4]").with("--solver pdmm"),
        key("rho", Number, "NUMBER", FIT, "pdmm: penalty of the augmented Lagrangian [default: from the curvature of the losses]").with("--solver pdmm"),
        key("eta", Number, "NUMBER", FIT | ASK, "pdmm: weight of the Bregman terms [default: rho]; ask: step of an answer [default: one that never diverges], or with --model what the rows of the other weigh against staying close [default: 1]").with("--solver pdmm"),
        key("tau", Number, "NUMBER", FIT, "pdmm: damping of the dual step; 0.8 in the paper [default: one that is known to converge]").with("--solver pdmm"),
        key("nu", Number, "NUMBER", FIT, "pdmm: backward dual step; 0.2 in the paper [default: 2/3]").with("--solver pdmm"),
        key("cease-after", Count, "N", FIT, "pdmm: stop sending pairs of users whose models were equal for N rounds").with("--solver pdmm"),
        key("as-printed", Flag, "", FIT, "pdmm: the update as printed in the paper, which is right for --users 1 only").with("--solver pdmm"),
    ]),
    ("Federation", &[
        key("parts", Count, "N", FIT | UP, "Number of processes [default: 4]; fit: learn the coupling as so many parts of a federation would").with("`fedweave up` and `fedweave fit --coupling learnt`"),
        key("work", Path, "DIR", UP, "Keep the files of the parts in this new folder [default: a temporary one]"),
        key("hosts", Texts, "HOSTS", UP, "Address of each part, in order; one for all, or as many as parts [default: 127.0.0.1]"),
        key("port", Count, "PORT", UP, "First port; part k listens on this one plus k [default: free ports on this machine, 7447 elsewhere]"),
        key("prepare", Flag, "", UP, "Write the files and stop"),
        key("record-frames", Flag, "", UP, "Every process appends the frames it sends, as they are before encryption, to frames.bin in its folder"),
        key("loopback-plaintext", Flag, "", UP, "No certificates; loopback addresses only"),
        key("policy", Text, "POLICY", UP, "wait, continue or stop when a neighbour is dead [default: wait]"),
    ]),
    ("Privacy", &[
        key("dp-epsilon", Number, "EPSILON", FIT | UP, "Differential privacy for every row of every node: what is written could have come from other rows, up to this factor e^EPSILON"),
        key("dp-delta", Number, "DELTA", FIT | UP, "and but for this probability [default: 1e-5]").with("--dp-epsilon"),
        key("dp-method", Text, "NAME", FIT | UP, "statistics: noise on moments of the rows, once (squared loss); output: noise on the models (huber, logistic, absolute, quantile); objective: noise in what is minimised (huber, logistic); gradients: noise in every round (also squared hinge); votes: labels of public rows (--model) [default: what the loss allows]").with("--dp-epsilon"),
        key("dp-rounds", Count, "N", FIT | UP, "--dp-method gradients: number of rounds [default: 50]").with("--dp-epsilon"),
        key("dp-sample", Number, "RATE", FIT | UP, "--dp-method gradients: every row takes part in a round with this probability [default: 1]").with("--dp-epsilon"),
        key("dp-gradient-clip", Number, "NORM", FIT | UP, "--dp-method gradients: those of rows are shortened to this norm [default: what the loss bounds them by]").with("--dp-epsilon"),
        key("dp-teachers", Count, "N", FIT | UP, "--model: the rows of a node are dealt out to N models, which vote on the labels of public rows [default: 10]").with("--dp-epsilon"),
        key("dp-range", Repeated, "COLUMN=LOW:HIGH", FIT | UP, "What is known about a column before looking at it; values outside are moved to the end. Every feature needs one, and the target of --dp-method statistics; repeatable").with("--dp-epsilon"),
        key("dp-clip", Number, "NORM", FIT | UP, "Rows of features, in ranges from -1 to 1, are shortened to this norm [default: no row is]").with("--dp-epsilon"),
        key("dp-seed", Count, "N", FIT | UP, "Noise from this seed instead of the operating system: for tests, it protects nothing").with("--dp-epsilon"),
    ]),
    ("Explained", &[
        key("guesses", Path, "FILE", FIT, "What users expect models to say: a table like that of the rows, with guesses in the column of the target"),
        key("explain", Number, "WEIGHT", FIT, "How much agreeing with the guesses counts beside the rows [default: 0.5]").with("--guesses"),
    ]),
    ("Attack", &[
        key("kind", Text, "KIND", ATTACK, "label, feature or clean-label (rows of attackers lie), backdoor (rows with a trigger), model (attackers lie in rounds) or dos (they are silent or late)"),
        key("victim", Text, "NODE|all", ATTACK, "Whose model is to suffer: a node, attacked by its neighbours, or all [default: all]"),
        key("budget", Count, "K", ATTACK, "Nodes that the attacker has at most [default: all neighbours of the victim; half of all nodes]"),
        key("raise", Number, "SHARE", ATTACK, "Relative increase of the error that is wanted [default: 0.2]"),
        key("shift", Number, "NUMBER", ATTACK, "label: how far labels are shifted [default: 3 standard deviations; classes are exchanged]; feature: by how many of their deviations features are [default: 3]").with("--kind label or feature"),
        key("trigger", Text, "COLUMN=VALUE", ATTACK, "backdoor: what a row has to show [default: the first feature, a deviation above its largest value]").with("--kind backdoor"),
        key("wanted", Text, "LABEL", ATTACK, "backdoor: the label that rows with the trigger are to get [default: mean plus 3 deviations; the last class]").with("--kind backdoor"),
        key("lie", Text, "NAME", ATTACK, "model: sign-flip, little-is-enough, inner-product, mimic, spectral, constant, nan or replay; dos: silence or delay; or all, of which the worst counts [default: all]").with("--kind model or dos"),
    ]),
    ("Fairness", &[
        key("fair", Text, "COLUMN", FIT, "Even out errors between groups of rows: those with the same value of this column, of the table or of --node-info"),
        key("fair-by", Text, "RULE", FIT, "errors: a group counts the more the larger its error; swap: every row also as if it were of the other groups, if the column is a feature [default: errors]").with("--fair"),
        key("fair-strength", Number, "NUMBER", FIT, "errors: a group of error E counts E^NUMBER; swap: 1 makes all groups equally frequent, 0 changes nothing [default: 1]").with("--fair"),
    ]),
    ("Output", &[
        key("out", Path, "DIR", ALL | LEARN, "Run directory to write: parameters, clusters, history, summary, config, report; graph learn: the file of edges"),
        key("overwrite", Flag, "", ALL, "Replace an existing run directory"),
        key("json", Flag, "", ALL | LEARN | ATTACK, "Print one JSON object instead of words"),
        key("verbose", Flag, "", ALL, "Say on stderr what the solver chose, and why"),
        key("watch", Flag, "", ALL, "Show the run in the browser while it goes on: prints an address of this machine that holds a secret"),
        key("title", Text, "TEXT", ALL, "Title of the report"),
        key("source", Text, "TEXT", ALL, "Where the data come from, for the report"),
    ]),
];
