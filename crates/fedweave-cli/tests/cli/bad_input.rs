//! What goes wrong at the user's side: exit code 2, one short message that says where and what to do, nothing written.

use crate::sandbox::Sandbox;

/// A bad input: files put over the good ones of a [`Sandbox`], a command, and words its message must hold.
struct Case {
    name: &'static str,
    files: Vec<(&'static str, Vec<u8>)>,
    prepare: fn(&Sandbox),
    command: &'static str,
    says: &'static [&'static str],
}

/// `FIT`, `RACE`, `LOGISTIC`, `ASK`, `ATTACK`, `COMPARE` at the start of a command stand for a good one, made bad by what follows.
fn case(name: &'static str, command: &'static str, says: &'static [&'static str]) -> Case {
    Case { name, files: Vec::new(), prepare: |_| {}, command, says }
}

impl Case {
    fn file(mut self, name: &'static str, content: impl AsRef<[u8]>) -> Self {
        self.files.push((name, content.as_ref().to_vec()));
        self
    }

    fn nodes(self, content: impl AsRef<[u8]>) -> Self {
        self.file("nodes.csv", content)
    }

    fn edges(self, content: impl AsRef<[u8]>) -> Self {
        self.file("edges.csv", content)
    }

    fn labels(self, content: impl AsRef<[u8]>) -> Self {
        self.file("labels.csv", content)
    }

    fn prepare(self, prepare: fn(&Sandbox)) -> Self {
        Case { prepare, ..self }
    }

    fn full_command(&self) -> String {
        let shorthands = [
            ("FIT", "fit nodes.csv --edges edges.csv --target y --lambda 1"),
            ("RACE", "fit nodes.csv --edges edges.csv --target y"),
            ("LOGISTIC", "fit labels.csv --edges edges.csv --target y --loss logistic --lambda 1"),
            ("ASK", "ask nodes.csv --target y"),
            ("ATTACK", "attack nodes.csv --edges edges.csv --target y --lambda 1 --kind"),
            ("COMPARE", "compare nodes.csv --edges edges.csv --target y"),
        ];
        let full = shorthands.iter().fold(self.command.to_owned(), |text, (short, long)| text.replace(short, long));
        let writes_runs = full.starts_with("fit ") || full.starts_with("ask ") || full.starts_with("compare ");
        if writes_runs && !full.contains("--out") { full + " --out run" } else { full }
    }

    /// What is wrong with the answer of the program, if anything.
    fn complaints(&self) -> Vec<String> {
        let sandbox = Sandbox::new();
        self.files.iter().for_each(|(name, content)| sandbox.write(name, content));
        (self.prepare)(&sandbox);
        let before = sandbox.snapshot();
        let outcome = sandbox.run(&self.full_command());
        let stderr = &outcome.stderr;
        let mut wrong = Vec::new();
        let mut check = |good: bool, what: String| {
            if !good {
                wrong.push(what)
            }
        };
        check(outcome.code == 2, format!("exit code {}", outcome.code));
        check(stderr.starts_with("error:"), "does not start with error:".into());
        check(stderr.len() < 600, format!("{} characters", stderr.len()));
        check(!stderr.contains("panicked"), "panicked".into());
        check(outcome.stdout.is_empty(), format!("printed {:?}", outcome.stdout));
        check(sandbox.snapshot() == before, "left something in the folder".into());
        self.says.iter().for_each(|words| check(stderr.contains(words), format!("does not say {words:?}")));
        if !wrong.is_empty() {
            wrong.push(stderr.clone());
        }
        wrong
    }
}

/// All cases of a table are tried before the test fails, so that one run shows everything.
fn refuse(cases: Vec<Case>) {
    let mut failed = String::new();
    for case in &cases {
        let complaints = case.complaints();
        if !complaints.is_empty() {
            failed += &format!("\n{}: {}", case.name, complaints.join("; "));
        }
    }
    assert!(failed.is_empty(), "{failed}");
}

#[test]
fn attacks_that_cannot_be_tried() {
    refuse(vec![
        case("no kind", "attack nodes.csv --edges edges.csv --target y --lambda 1", &["--kind", "clean-label"]),
        case("unknown kind", "ATTACK gossip", &["--kind gossip", "backdoor"]),
        case("unknown victim", "ATTACK label --victim zz", &["--victim zz", "no such node"]),
        case("no budget", "ATTACK label --budget 0", &["--budget 0"]),
        case("no raise", "ATTACK label --raise 0", &["--raise 0", "positive"]),
        case("no shift", "ATTACK label --shift 0", &["--shift"]),
        case("a lie in rows", "ATTACK label --lie mimic", &["--lie", "--kind label"]),
        case("rounds of rows", "ATTACK label --rounds 9", &["--rounds", "--kind label"]),
        case("unknown lie", "ATTACK model --lie fib", &["--lie fib", "sign-flip"]),
        case("no value", "ATTACK backdoor --trigger x1", &["--trigger x1", "COLUMN=VALUE"]),
        case("no such column", "ATTACK backdoor --trigger zz=1", &["--trigger zz", "x1"]),
        case("no number", "ATTACK backdoor --wanted much", &["--wanted much"]),
        case("other rounds", "ATTACK model --solver fedgd --penalty squared", &["--solver fedgd", "robust"]),
        case("a rule without rounds", "ATTACK model --rule median", &["--rule", "--solver robust"]),
        case("a norm in robust rounds", "ATTACK model --solver robust", &["squared penalty"]),
        case("another job's flag", "ATTACK model --out run", &["--out", "attack"]),
        case("no screen", "FIT --screen 1", &["--screen 1", "above 1"]),
        case(
            "screened coupling",
            "fit nodes.csv --edges edges.csv --target y --coupling learnt --screen 3",
            &["--screen"],
        ),
        case("reach of a norm", "FIT --reach 1", &["--reach", "--penalty huber"]),
        case("no reach", "FIT --penalty huber --reach 0", &["--reach 0", "positive"]),
        case("unknown rule", "FIT --penalty squared --solver robust --rule mode", &["--rule mode", "trimmed-mean"]),
    ]);
}

#[test]
fn promises_of_privacy_that_cannot_be_kept() {
    refuse(vec![
        case("no noise", "FIT --dp-epsilon 0", &["--dp-epsilon", "positive"]),
        case("no protection", "FIT --dp-epsilon 1 --dp-delta 0.5", &["--dp-delta 0.5", "at most 0.01"]),
        case("delta alone", "FIT --dp-delta 1e-5", &["--dp-delta", "--dp-epsilon"]),
        case("nothing known", "FIT --dp-epsilon 1 --dp-range x1=0:1", &["--dp-range", "`y`", "y=LOW:HIGH"]),
        case("no range", "FIT --dp-epsilon 1 --dp-range x1=2:1", &["--dp-range x1=2:1", "LOW below HIGH"]),
        case(
            "lambda by rows",
            "fit nodes.csv --edges edges.csv --target y --dp-epsilon 1",
            &["--lambda", "choosing it on rows"],
        ),
        case(
            "moments of all parts",
            "up nodes.csv --edges edges.csv --target y --lambda 1 --dp-epsilon 1 --standardize",
            &["--standardize", "fit"],
        ),
        case("rounds of nothing", "FIT --dp-epsilon 1 --dp-rounds 5", &["--dp-rounds", "--dp-method gradients"]),
        case(
            "more than all rows",
            "FIT --dp-epsilon 1 --dp-method gradients --dp-sample 1.5",
            &["--dp-sample 1.5", "at most 1"],
        ),
        case(
            "descent at a kink",
            "FIT --dp-epsilon 1 --dp-method gradients --penalty norm2 --dp-range x1=0:1 --dp-range x2=0:1 --dp-range y=0:1",
            &["--penalty squared"],
        ),
        case(
            "a choice for every release",
            "fit labels.csv --edges edges.csv --target y --loss logistic --lambda auto --dp-epsilon 1",
            &["--lambda"],
        ),
        case("no objective", "FIT --dp-epsilon 1 --dp-method objective", &["--dp-method objective", "squared"]),
        case("what is there to learn?", "privacy leak run", &["--members"]),
        case("errors on rows", "FIT --dp-epsilon 1 --validation 0.5", &["--validation", "held-out"]),
        case(
            "no bound",
            "fit labels.csv --edges edges.csv --target y --loss poisson --lambda 1 --dp-epsilon 1",
            &["poisson", "without limit"],
        ),
        case("no ridge", "LOGISTIC --dp-epsilon 1 --dp-range x1=0:1 --dp-range x2=0:1", &["--ridge", "without limit"]),
        case("wrong method", "FIT --dp-epsilon 1 --dp-method output", &["--dp-method output", "squared"]),
        case("rate of nobody", "privacy epsilon --sigma 1 --rate 0 --delta 1e-5", &["--rate 0", "above 0"]),
        case("no delta", "privacy epsilon --sigma 1 --delta 0", &["--delta 0", "between 0 and 1"]),
        case("unknown noise", "privacy epsilon --noise cauchy --sigma 1 --delta 1e-5", &["--noise cauchy", "laplace"]),
        case(
            "explain without guesses",
            "fit nodes.csv --edges edges.csv --target y --lambda 1 --explain 0.5",
            &["explain", "--guesses"],
        ),
        case("no such node to explain", "explain nowhere --node x", &["nowhere", "run directory"]),
        case("unknown release", "privacy audit --epsilon 1 --method votes", &["--method votes", "gradients", "output"]),
        case("no rounds", "privacy audit --epsilon 1 --method gradients --rounds 0", &["--rounds 0", "from 1"]),
        case("few canaries", "privacy audit --epsilon 1 --canaries 5", &["--canaries 5", "at least 100"]),
    ]);
}

#[test]
fn graphs_that_cannot_be_learnt() {
    let learn = "fit nodes.csv --target y --lambda 1 --graph learn";
    let with = |more: &str| -> &'static str { format!("{learn} {more}").leak() };
    refuse(vec![
        case("too many neighbours", with("--degree 9"), &["--degree 9", "nodes with rows, 4"]),
        case("no neighbours", "graph learn nodes.csv --target y --nearest 0", &["--nearest 0", "at least 1"]),
        case("more edges than pairs", with("--edges-max 7"), &["--edges-max 7", "pairs of nodes with rows, 6"]),
        case("no share", "graph learn nodes.csv --target y --fdr 2", &["--fdr 2", "above 0 and below 1"]),
        case("two budgets", with("--degree 2 --fdr 0.1"), &["--degree and --fdr", "one of"]),
        case("unknown discrepancy", with("--discrepancy taste"), &["--discrepancy taste", "pooled-fit"]),
        case("two discrepancies", "graph learn nodes.csv --target y --by gradient,kl", &["--by", "one discrepancy"]),
        case("a graph as well", with("--edges edges.csv"), &["--graph learn", "leave out --edges"]),
        case("budget alone", "FIT --degree 2", &["--degree", "--graph learn"]),
        case("joint without degree", with("--discrepancy joint --nearest 2"), &["joint", "--degree", "--nearest"]),
        case(
            "learnt twice",
            "fit nodes.csv --target y --coupling learnt --graph learn",
            &["--coupling learnt", "--edges"],
        ),
        case("unknown graph", "FIT --graph guess", &["--graph guess", "learn"]),
        case(
            "two parameters of low rank",
            "fit nodes.csv --edges edges.csv --target y --features x1 --coupling learnt --structure low-rank",
            &["--structure low-rank", "three parameters", "with 2"],
        ),
        case("nobody judged", "FIT --fallback", &["--fallback", "--validation"]),
    ]);
}

#[test]
fn questions_that_cannot_be_asked() {
    refuse(vec![
        case("unknown asker", "ASK --asker zed", &["--asker zed", "no such node", "there are 4", "`a`"]),
        case("more candidates than others", "ASK --candidates 4", &["--candidates 4", "at most 3"]),
        case("no candidates", "ASK --candidates 0", &["--candidates 0", "at least 1"]),
        case("nobody to ask", "ASK", &["one node, `a`", "nobody to ask"]).nodes("node,x1,y\na,1,2\na,2,1\n"),
        case(
            "a node without rows",
            "ASK --node-info places.csv --by lat,lon",
            &["node `d` has no rows", "leave it out"],
        )
        .nodes("node,x1,y\na,1,2\nb,2,1\nc,3,1\n"),
        case("no rounds", "ASK --rounds 0", &["--rounds 0", "at least 1"]),
        case("eta zero", "ASK --eta 0", &["--eta 0", "positive"]),
        case("eta negative, any model", "ASK --model tree --eta -1", &["--eta -1", "positive"]),
        case("eta not a number", "ASK --eta nan", &["--eta", "positive"]),
        case("eta too large", "ASK --eta 1e150", &["--eta", "node `a`", "smaller"]),
        case("eta unknown", "ASK --loss absolute", &["--eta", "smoothness", "give one"]),
        case("labels", "ASK --loss logistic", &["nodes.csv:2:", "logistic"]),
        case("one class", "ASK --model tree --task classification", &["nodes.csv", "`y`", "single class"])
            .nodes("node,x1,y\na,1,2\nb,2,2\n"),
        case("model of another task", "ASK --model logistic", &["--model", "regression"]),
        case("threads", "ASK --threads 1000000", &["--threads", "at most 1024"]),
        case("threads of models", "FIT --model tree --threads 0", &["--threads", "at least 1"]),
        case("no target", "ask nodes.csv", &["--target"]),
        case("positions", "ask nodes.csv --loss point", &["point", "target"]),
        case("a graph", "ASK --edges edges.csv", &["--edges", "no graph"]),
        case("a coupling", "ASK --lambda 1", &["--lambda", "leave it out"]),
        case("different models", "ASK --model tree --models m.csv", &["--models", "one kind"]),
        case("a path", "ASK --count 3", &["--count belongs to"]),
        case("fit does not ask", "FIT --candidates 3", &["--candidates belongs to `fedweave ask`"]),
        case("models do not ask", "FIT --model tree --asker a", &["--asker belongs to `fedweave ask`"]),
    ]);
}

#[test]
fn damaged_tables() {
    refuse(vec![
        case("ragged row", "FIT", &["nodes.csv:3:", "expected 3 fields, found 2", "quote fields"])
            .nodes("node,x1,y\na,1,2\na,1\n"),
        case("row too long", "FIT", &["nodes.csv:3:", "expected 3 fields, found 4"])
            .nodes("node,x1,y\na,1,2\na,1,2,3\n"),
        case("empty file", "FIT", &["nodes.csv:", "empty", "first line must name the columns"]).nodes(""),
        case("blank lines only", "FIT", &["nodes.csv:", "empty"]).nodes("\n\n\n"),
        case("header only", "FIT", &["nodes.csv:", "no rows below the header", "add"]).nodes("node,x1,y\n"),
        case("inf", "FIT", &["nodes.csv:3:", "x1", "inf", "finite", "correct it"]).nodes("node,x1,y\na,1,2\na,inf,1\n"),
        case("minus inf in the target", "FIT", &["nodes.csv:2:", "column y", "finite"]).nodes("node,x1,y\na,1,-inf\n"),
        case("1e400", "FIT", &["nodes.csv:2:", "x1", "1e400", "finite"]).nodes("node,x1,y\na,1e400,2\n"),
        case("NaN is a missing value", "FIT", &["x1 1", "nodes.csv:2", "--missing drop", "--missing mean"])
            .nodes("node,x1,y\na,NaN,2\na,1,2\n"),
        case("NaN in the target", "FIT", &["y 1", "nodes.csv:3", "--missing drop"])
            .nodes("node,x1,y\na,1,2\na,1,nan\n"),
        case(
            "missing values by column",
            "FIT",
            &["x1 2", "x2 1", "y 1", "nodes.csv:2", "--missing drop or --missing mean"],
        )
        .nodes("node,x1,x2,y\na,,1,2\na,,,1\na,1,1,\n"),
        case("nothing left", "FIT --missing drop", &["nodes.csv", "no row is complete", "--missing mean"])
            .nodes("node,x1,x2,y\na,,1,2\na,1,,1\n"),
        case("column without values", "FIT --missing mean", &["x1", "no values", "--drop x1"])
            .nodes("node,x1,x2,y\na,,1,2\na,,2,1\n"),
        case("not UTF-8", "FIT", &["nodes.csv:3:", "not UTF-8", "save the file as UTF-8"])
            .nodes(b"node,x1,y\na,1,2\nb\xff,1,2\n"),
        case("duplicate header", "FIT", &["nodes.csv:1:", "two columns are named \"x1\"", "rename"])
            .nodes("node,x1,x1,y\na,1,2,3\n"),
        case("unnamed column", "FIT", &["nodes.csv:1:", "column 4 has no name", "trailing comma"])
            .nodes("node,x1,y,\na,1,2,\n"),
        case("unclosed quote", "FIT", &["nodes.csv:3:", "never closes"]).nodes("node,x1,y\na,1,2\n\"b,1,2\nc,1,2\n"),
        case("ragged with semicolons", "FIT", &["nodes.csv:3:", "semicolons"]).nodes("node;x1;y\na;1;2\na;1\n"),
        case("empty node id", "FIT", &["nodes.csv:3", "--missing drop"]).nodes("node,x1,y\na,1,2\n,1,2\n"),
        case("text in the target", "FIT", &["nodes.csv:2:", "column y", "\"high\" is not a number"])
            .nodes("node,x1,y\na,1,high\n"),
        case("text column", "FIT", &["colour", "\"red\" at nodes.csv:2", "--drop colour", "--one-hot colour"])
            .nodes("node,x1,colour,y\na,1,red,2\na,2,blue,2\n"),
        case("two text columns", "FIT", &["--drop colour,shape", "--one-hot colour,shape"])
            .nodes("node,colour,shape,y\na,red,round,2\n"),
        case(
            "damaged Parquet",
            "fit nodes.parquet --edges edges.csv --target y",
            &["nodes.parquet", "Parquet", "write it again"],
        )
        .file("nodes.parquet", "PAR1 and nothing more PAR1"),
        case("damaged gzip", "fit nodes.csv.gz --edges edges.csv --target y", &["nodes.csv.gz", "cannot be read"])
            .file("nodes.csv.gz", b"\x1f\x8b\x08\x00damaged beyond repair"),
        case("gzip cut short", "fit nodes.csv.gz --edges edges.csv --target y", &["nodes.csv.gz", "cannot be read"])
            .file("nodes.csv.gz", b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03"),
    ]);
}

#[test]
fn files_that_are_not_there() {
    refuse(vec![
        case("missing file", "fit nowhere.csv --target y", &["nowhere.csv", "no such file", "check the path"]),
        case("directory instead of file", "fit folder --target y", &["folder", "this is a folder", "name a file"])
            .file("folder/x.csv", ""),
        case("missing edges", "fit nodes.csv --target y --edges nowhere.csv", &["nowhere.csv", "no such file"]),
        case("directory instead of edges", "fit nodes.csv --target y --edges folder", &["folder", "this is a folder"])
            .file("folder/x.csv", ""),
        case("missing node info", "FIT --node-info nowhere.csv", &["nowhere.csv", "no such file"]),
        case("dangling link", "fit link.csv --target y", &["link.csv", "no such file"]).prepare(|sandbox| {
            std::os::unix::fs::symlink("nowhere.csv", sandbox.path("link.csv")).unwrap();
        }),
        case("file below a file", "fit nodes.csv/rows.csv --target y", &["nodes.csv/rows.csv", "check"]),
        case("no table", "fit --target y", &["give the table", "fedweave fit nodes.csv"]),
        case(
            "missing penalty matrix",
            "FIT --penalty quadratic --penalty-matrix nowhere.csv",
            &["nowhere.csv", "o such file"],
        ),
        case("missing config", "fit --config nowhere.toml", &["nowhere.toml", "cannot be read"]),
    ]);
}

#[test]
fn unknown_columns() {
    refuse(vec![
        case(
            "target with a near name",
            "fit nodes.csv --target Y",
            &["nodes.csv", "no column \"Y\"", "did you mean \"y\"?"],
        ),
        case(
            "unknown target",
            "fit nodes.csv --target price",
            &["nodes.csv", "no column \"price\"", "node, x1, x2, y"],
        ),
        case("features", "FIT --features x1,x9", &["nodes.csv", "no column \"x9\"", "node, x1, x2, y"]),
        case("drop", "FIT --drop x9", &["nodes.csv", "no column \"x9\""]),
        case("one-hot", "FIT --one-hot x9", &["nodes.csv", "no column \"x9\""]),
        case("weight", "FIT --weight x9", &["nodes.csv", "no column \"x9\""]),
        case("node", "FIT --node station", &["nodes.csv", "no column \"station\"", "--node"]),
        case("no node column at all", "FIT", &["nodes.csv", "no column \"node\"", "--node", "station, x1, y"])
            .nodes("station,x1,y\na,1,2\n"),
        case("by", "fit nodes.csv --target y --knn 2 --by east,north", &["nodes.csv", "no column \"east\""]),
        case("split-by", "FIT --validation 1 --split-by date", &["nodes.csv", "no column \"date\""]),
        case("time", "FIT --validation 1 --split last --time hour", &["nodes.csv", "no column \"hour\""]),
        case("loss-column", "FIT --loss-column kind", &["nodes.csv", "no column \"kind\""]),
        case(
            "compare: target",
            "compare nodes.csv --edges edges.csv --target price",
            &["nodes.csv", "no column \"price\""],
        ),
        case("node info without ids", "FIT --node-info places.csv", &["places.csv", "no column \"node\"", "--node"])
            .file("places.csv", "station,lat\na,60\n"),
        case("no target flag", "fit nodes.csv --edges edges.csv", &["--target"]),
        case(
            "the target as a feature",
            "FIT --features x1,y",
            &["column \"y\" is the target", "remove it from --features"],
        ),
        case("no features and no intercept", "FIT --drop x1,x2 --no-intercept", &["no feature columns", "--features"]),
    ]);
}

#[test]
fn damaged_graphs() {
    refuse(vec![
        case("self-loop", "FIT", &["edges.csv:3:", "\"b\" is joined with itself", "remove"])
            .edges("source,target,weight\na,b,1\nb,b,1\n"),
        case("negative weight", "FIT", &["edges.csv:3:", "-1", "positive", "correct it or remove"])
            .edges("source,target,weight\na,b,1\nb,c,-1\n"),
        case("zero weight", "FIT", &["edges.csv:2:", "weight 0", "positive"]).edges("source,target,weight\na,b,0\n"),
        case("NaN weight", "FIT", &["edges.csv:2:", "weight", "positive"]).edges("source,target,weight\na,b,NaN\n"),
        case("infinite weight", "FIT", &["edges.csv:2:", "weight"]).edges("source,target,weight\na,b,inf\n"),
        case("text weight", "FIT", &["edges.csv:2:", "heavy", "number"]).edges("source,target,weight\na,b,heavy\n"),
        case("missing weight", "FIT", &["edges.csv:3:", "weight"]).edges("source,target,weight\na,b,1\nb,c,\n"),
        case("two weights for one edge", "FIT", &["edges.csv:3:", "weight 2", "weight 1 at edges.csv:2", "keep one"])
            .edges("source,target,weight\na,b,1\na,b,2\n"),
        case("two weights, other direction", "FIT", &["edges.csv:4:", "edges.csv:2", "keep one"])
            .edges("source,target,weight\na,b,1\nb,c,1\nb,a,2\n"),
        case("empty id", "FIT", &["edges.csv:2:", "node id is empty"]).edges("source,target,weight\na,,1\n"),
        case("empty edge file", "FIT", &["edges.csv:", "empty"]).edges(""),
        case("edges with a header only", "FIT", &["edges.csv:", "no rows below the header"])
            .edges("source,target,weight\n"),
        case("edges with other columns", "FIT", &["edges.csv", "source,target", "found x,y,z"]).edges("x,y,z\na,b,1\n"),
        case("ragged edges", "FIT", &["edges.csv:3:", "expected 3 fields, found 2"])
            .edges("source,target,weight\na,b,1\nb,c\n"),
        case("damaged GraphML", "fit nodes.csv --target y --edges g.graphml", &["g.graphml", "GraphML"])
            .file("g.graphml", "<graphml><graph><node id=\"a\"/>"),
        case("GraphML without a graph", "fit nodes.csv --target y --edges g.graphml", &["g.graphml"])
            .file("g.graphml", "<html><body>nothing</body></html>"),
        case("edges and knn", "FIT --knn 2 --by x1,x2", &["--knn", "choose one"]),
        case("graph info of a self-loop", "graph info edges.csv", &["edges.csv:2:", "joined with itself"])
            .edges("source,target\na,a\n"),
        case("graph info of nothing", "graph info nowhere.csv", &["nowhere.csv", "no such file"]),
    ]);
}

#[test]
fn neighbours_that_cannot_be() {
    refuse(vec![
        case(
            "k = 0",
            "fit nodes.csv --target y --node-info places.csv --knn 0 --by lat,lon",
            &["--knn 0", "between 1 and 3"],
        ),
        case(
            "k = n",
            "fit nodes.csv --target y --node-info places.csv --knn 4 --by lat,lon",
            &["--knn 4", "4 nodes", "between 1 and 3"],
        ),
        case("k not a number", "fit nodes.csv --target y --knn few --by lat,lon", &["--knn", "few"]),
        case("knn without by", "fit nodes.csv --target y --knn 2", &["--knn", "--by lat,lon"]),
        case(
            "latitude 95",
            "fit nodes.csv --target y --node-info places.csv --knn 2 --by lat,lon",
            &["\"b\"", "latitude 95", "90", "--metric euclidean"],
        )
        .file("places.csv", "node,lat,lon\na,60,24\nb,95,24\nc,61,25\nd,61,26\n"),
        case(
            "longitude 400",
            "fit nodes.csv --target y --node-info places.csv --knn 2 --by lat,lon",
            &["longitude 400"],
        )
        .file("places.csv", "node,lat,lon\na,60,24\nb,61,400\nc,61,25\nd,61,26\n"),
        case(
            "node without coordinates",
            "fit nodes.csv --target y --node-info places.csv --knn 2 --by lat,lon",
            &["\"d\" has no lat", "--node-info"],
        )
        .file("places.csv", "node,lat,lon\na,60,24\nb,61,24\nc,61,25\n"),
        case(
            "node listed twice",
            "FIT --node-info places.csv",
            &["places.csv:3:", "\"a\"", "places.csv:2", "one row per node"],
        )
        .file("places.csv", "node,lat,lon\na,60,24\na,61,24\n"),
        case(
            "text coordinate",
            "fit nodes.csv --target y --node-info places.csv --knn 2 --by lat,lon",
            &["places.csv:3:", "\"north\" is not a number"],
        )
        .file("places.csv", "node,lat,lon\na,60,24\nb,north,24\n"),
        case(
            "great circle of one column",
            "fit nodes.csv --target y --knn 2 --by x1 --metric great-circle",
            &["great-circle", "--metric euclidean"],
        ),
        case("graph knn with k = n", "graph knn places.csv -k 4 --by lat,lon", &["4 nodes", "between 1 and 3"]),
        case("graph knn without by", "graph knn places.csv -k 2", &["--by"]),
    ]);
}

#[test]
fn labels_that_do_not_fit() {
    refuse(vec![
        case("-1, 0 and 1", "LOGISTIC", &["labels.csv:", "logistic", "0 and 1"])
            .labels("node,x1,y\na,1,1\na,2,-1\nb,1,0\nb,3,1\n"),
        case("label 2", "LOGISTIC", &["labels.csv:3:", "label 2", "logistic", "0 and 1"])
            .labels("node,x1,y\na,1,1\na,2,2\nb,1,0\nb,3,1\n"),
        case("squared hinge with 0.5", "FIT --loss squared-hinge", &["nodes.csv:3:", "0.5", "squared-hinge"])
            .nodes("node,x1,y\na,1,1\na,2,0.5\nb,1,-1\n"),
        case("negative count", "FIT --loss poisson", &["nodes.csv:3:", "-1", "poisson"])
            .nodes("node,x1,y\na,1,1\na,2,-1\nb,1,3\n"),
        case("fractional count", "FIT --loss poisson", &["nodes.csv:2:", "1.5", "poisson"])
            .nodes("node,x1,y\na,1,1.5\nb,1,3\n"),
        case("one class", "FIT --loss multinomial", &["class"]).nodes("node,x1,y\na,1,red\na,2,red\nb,1,red\n"),
        case("negative row weight", "FIT --weight w", &["nodes.csv:3:", "-1", "zero or positive"])
            .nodes("node,x1,w,y\na,1,1,2\na,2,-1,3\n"),
        case("text row weight", "FIT --weight w", &["nodes.csv:2:", "column w", "\"heavy\" is not a number"])
            .nodes("node,x1,w,y\na,1,heavy,2\n"),
        case("infinite row weight", "FIT --weight w", &["nodes.csv:2:", "column w", "finite"])
            .nodes("node,x1,w,y\na,1,inf,2\n"),
        case("unknown loss in the column", "FIT --loss-column kind", &["fancy", "squared"])
            .nodes("node,x1,kind,y\na,1,fancy,2\nb,1,squared,2\n"),
        case("two losses at one node", "FIT --loss-column kind", &["nodes.csv:3:", "nodes.csv:2", "\"a\""])
            .nodes("node,x1,kind,y\na,1,huber,2\na,1,squared,2\n"),
        case("multinomial in the column", "FIT --loss-column kind", &["multinomial", "cannot be mixed"])
            .nodes("node,x1,kind,y\na,1,multinomial,2\nb,1,squared,2\n"),
        case("entries of 1e200", "FIT", &["x1", "2e200", "rescale"]).nodes("node,x1,y\na,1e200,2\nb,2e200,1\n"),
    ]);
}

#[test]
fn no_minimiser() {
    refuse(vec![
        case("separable", "LOGISTIC --ridge 0", &["no minimiser", "`a`", "--ridge 0.001"])
            .labels("node,x1,y\na,1,1\na,-1,0\nb,2,1\nb,-2,0\n"),
        case("separable at one isolated node", "LOGISTIC --ridge 0", &["no minimiser", "`z`", "(1 such)", "--ridge"])
            .labels("node,x1,y\na,1,1\na,2,0\na,3,1\nb,1,0\nb,2,1\nb,3,0\nz,1,1\nz,-1,0\n")
            .edges("source,target\na,b\n"),
        case(
            "separable without coupling",
            "fit labels.csv --edges edges.csv --target y --loss logistic --lambda 0 --ridge 0",
            &["no minimiser", "--ridge"],
        )
        .labels("node,x1,y\na,1,1\na,-1,0\nb,-2,1\nb,2,0\n"),
        case("separable classes", "FIT --loss multinomial --ridge 0", &["no minimiser", "--ridge"])
            .nodes("node,x1,y\na,1,red\na,-1,blue\nb,1,red\nb,-1,blue\n"),
        case("one class", "LOGISTIC --ridge 0", &["no minimiser", "--ridge 0.001"])
            .labels("node,x1,y\na,1,1\na,-1,1\nb,2,1\nb,-2,1\n"),
        case("no counts at all", "FIT --loss poisson --ridge 0", &["no minimiser"])
            .nodes("node,x1,y\na,1,0\na,2,0\nb,1,0\nb,3,0\n"),
    ]);
}

#[test]
fn numbers_out_of_range() {
    refuse(vec![
        case("lambda < 0", "fit nodes.csv --target y --lambda -1", &["--lambda -1", "at least 0"]),
        case("lambda NaN", "fit nodes.csv --target y --lambda NaN", &["--lambda NaN", "finite"]),
        case("lambda inf", "fit nodes.csv --target y --lambda inf", &["--lambda inf", "finite"]),
        case("lambda in words", "fit nodes.csv --target y --lambda much", &["--lambda", "`much`", "auto"]),
        case("lambda grid < 0", "fit nodes.csv --target y --lambda-grid 0.1,-1", &["--lambda-grid", "at least 0"]),
        case("lambda and a grid", "FIT --lambda-grid 0.1,1", &["--lambda or --lambda-grid"]),
        case("ridge NaN", "FIT --ridge NaN", &["--ridge NaN", "finite"]),
        case("lasso < 0", "FIT --lasso -1", &["--lasso", "at least 0"]),
        case("lasso NaN", "FIT --lasso NaN", &["--lasso NaN", "finite"]),
        case("lasso and gradients", "FIT --penalty squared --solver fedgd --lasso 0.1", &["fedgd", "without kinks"]),
        case(
            "lasso in a race",
            "fit nodes.csv --edges edges.csv --target y --tune --lasso 0.1",
            &["--lasso", "--tune"],
        ),
        case(
            "a recipe with a part twice",
            "RACE --recipe local:1,learnt:1,local:0.5",
            &["--recipe", "`local`", "twice"],
        ),
        case("a recipe of nothing", "RACE --recipe local:0", &["--recipe local:0", "NAME:SHARE"]),
        case("a recipe of strangers", "RACE --recipe locale:1", &["--recipe locale", "no such candidate"]),
        case("folds of single rows", "RACE --tune", &["single row", "--split nodes"])
            .nodes("node,x1,y\na,1,0\nb,2,1\nc,2,2\n"),
        case("folds of a single group", "RACE --tune --split-by x2", &["same `x2`", "--split-by"])
            .nodes("node,x1,x2,y\na,1,0,0\na,2,0,1\nb,2,0,1\nc,2,0,2\n"),
        case(
            "lasso and a learnt coupling",
            "fit nodes.csv --edges edges.csv --target y --coupling learnt --lasso 0.1",
            &["--lasso", "--coupling learnt"],
        ),
        case(
            "lasso and noise",
            "LOGISTIC --lasso 0.1 --dp-epsilon 1 --dp-range x1=0:1 --dp-range x2=0:1",
            &["--lasso", "--dp-epsilon"],
        ),
        case("two ridges", "FIT --ridge 0.1,0.2", &["--ridge", "one number", "compare"]),
        case("tolerance 0", "FIT --tolerance 0", &["--tolerance 0", "positive"]),
        case("tolerance < 0", "FIT --tolerance -0.1", &["--tolerance -0.1", "positive"]),
        case("tolerance NaN", "FIT --tolerance NaN", &["--tolerance NaN", "positive"]),
        case("quantile 0", "FIT --loss quantile --quantile 0", &["quantile", "0", "between 0 and 1"]),
        case("quantile 1", "FIT --loss quantile --quantile 1", &["quantile", "1", "between 0 and 1"]),
        case("huber-delta 0", "FIT --loss huber --huber-delta 0", &["huber", "delta", "positive"]),
        case("validation 1.5", "FIT --validation 1.5", &["--validation 1.5", "between 0 and 1", "whole number"]),
        case("validation < 0", "FIT --validation -1", &["--validation -1", "between 0 and 1"]),
        case("time limit < 0", "FIT --time-limit -1", &["--time-limit -1", "at least 0"]),
        case("step ratio 0", "FIT --step-ratio 0", &["--step-ratio 0", "positive"]),
        case("objective decrease < 0", "FIT --objective-decrease -1", &["--objective-decrease -1", "at least 0"]),
        case("threads 0", "FIT --threads 0", &["--threads", "at least 1"]),
        case("the last rows twice", "COMPARE --split last --splits 2", &["--split last", "--splits"]),
        case("splits 0", "COMPARE --splits 0", &["--splits", "at least 1"]),
        case("half a thread", "FIT --threads 0.5", &["--threads", "0.5"]),
        case("half an iteration", "FIT --max-iterations 1.5", &["--max-iterations", "1.5"]),
    ]);
}

#[test]
fn unknown_names() {
    refuse(vec![
        case("loss", "FIT --loss cubic", &["--loss cubic", "squared-hinge"]),
        case("penalty", "FIT --penalty norm3", &["--penalty norm3", "norminf"]),
        case("solver", "FIT --solver magic", &["--solver magic", "primal-dual"]),
        case("missing", "FIT --missing ignore", &["--missing ignore", "drop", "mean"]),
        case("metric", "FIT --metric taxi", &["--metric taxi", "great-circle", "euclidean"]),
        case("node weight", "FIT --node-weight heavy", &["--node-weight heavy", "equal", "rows"]),
        case("split", "FIT --validation 1 --split odd", &["--split odd", "random", "last"]),
        case("lambda rule", "FIT --lambda-rule best", &["--lambda-rule best", "minimum", "one-se"]),
        case("flag", "FIT --verbosely", &["--verbosely", "--help"]),
        case("subcommand", "fitt nodes.csv", &["fitt", "fit"]),
        case("a second table", "fit nodes.csv labels.csv --target y", &["labels.csv"]),
        case("generate: network", "generate data --network mesh", &["mesh", "geometric"]),
        case("generate: labels", "generate data --labels cubic", &["cubic", "logistic"]),
        case("completions: shell", "completions cmd", &["cmd", "bash"]),
        case("graph: subcommand", "graph paint", &["paint"]),
    ]);
}

#[test]
fn flags_that_exclude_each_other() {
    refuse(vec![
        case("split and split-by", "FIT --validation 1 --split last --split-by x1", &["--split or --split-by"]),
        case("split without validation", "FIT --split last", &["--split", "--validation"]),
        case("time without last", "FIT --validation 1 --time x1", &["--time", "--split last"]),
        case("train in fit", "FIT --train 3", &["--train", "compare", "--validation"]),
        case("splits in fit", "FIT --splits 3", &["--splits", "compare"]),
        case("train and test", "COMPARE --train 2 --test 1", &["--train or --test"]),
        case("compare: loss column", "COMPARE --loss-column x1", &["one loss"]),
        case("compare: point", "COMPARE --loss point", &["point"]),
        case("compare: resume", "COMPARE --resume run0", &["--resume", "fit"]),
        case("compare: nobody tested", "COMPARE --train 100 --validation 1", &["no node has test rows", "fewer"]),
        case("quadratic without a matrix", "FIT --penalty quadratic", &["--penalty-matrix FILE"]),
        case("a matrix without quadratic", "FIT --penalty-matrix q.csv", &["--penalty quadratic"]).file("q.csv", "1\n"),
        case("blocks without a block", "FIT --penalty blocks", &["--block", "norm2:1:x1,x2"]),
        case("a block without blocks", "FIT --block norm2:1:x1", &["--penalty blocks"]),
    ]);
}

#[test]
fn penalties_that_make_no_sense() {
    refuse(vec![
        case(
            "block with an unknown feature",
            "FIT --penalty blocks --block norm2:1:x9",
            &["norm2:1:x9", "`x9`", "x1, x2, intercept"],
        ),
        case(
            "block without features",
            "FIT --penalty blocks --block norm2:1",
            &["norm2:1", "penalty:strength:features"],
        ),
        case("block with a text strength", "FIT --penalty blocks --block norm2:much:x1", &["`much` is not a number"]),
        case("block with a negative strength", "FIT --penalty blocks --block norm2:-1:x1", &["strength", "-1"]),
        case("block with an unknown penalty", "FIT --penalty blocks --block norm3:1:x1", &["norm3", "norminf"]),
        case(
            "matrix of the wrong size",
            "FIT --penalty quadratic --penalty-matrix q.csv",
            &["q.csv", "2 columns", "3 parameters"],
        )
        .file("q.csv", "1,0\n0,1\n"),
        case(
            "ragged matrix",
            "FIT --no-intercept --penalty quadratic --penalty-matrix q.csv",
            &["q.csv:2:", "expected 2"],
        )
        .file("q.csv", "1,0\n0\n"),
        case(
            "text in the matrix",
            "FIT --no-intercept --penalty quadratic --penalty-matrix q.csv",
            &["q.csv:2:", "`one` is not a number"],
        )
        .file("q.csv", "1,0\n0,one\n"),
        case("empty matrix", "FIT --penalty quadratic --penalty-matrix q.csv", &["q.csv", "empty"]).file("q.csv", ""),
    ]);
}

#[test]
fn configs() {
    refuse(vec![
        case("wrong type", "fit --config c.toml", &["c.toml:2:"]).file("c.toml", "nodes = \"nodes.csv\"\ntarget = 7\n"),
        case("not TOML", "fit --config c.toml", &["c.toml:2:"]).file("c.toml", "nodes = \"nodes.csv\"\ntarget y\n"),
        case("directory instead of config", "fit --config folder", &["folder"]).file("folder/x", ""),
        case("not UTF-8", "fit --config c.toml", &["c.toml"]).file("c.toml", b"nodes = \"\xff\"\n"),
        case("bad value", "fit --config c.toml", &["--loss cubic"])
            .file("c.toml", "nodes = \"nodes.csv\"\ntarget = \"y\"\nloss = \"cubic\"\n"),
    ]);
}

#[test]
fn output_folders() {
    refuse(vec![
        case("folder exists", "FIT --out run", &["run", "exists", "--overwrite"]).file("run/summary.json", "{}"),
        case("compare: folder exists", "COMPARE --out run", &["run", "exists", "--overwrite"])
            .file("run/summary.json", "{}"),
        case("not a run", "FIT --out mine --overwrite", &["mine", "no run folder", "choose another"])
            .file("mine/thesis.tex", "years of work"),
        case("a file", "FIT --out notes --overwrite", &["notes"]).file("notes", "my notes"),
        case("below a file", "FIT --out notes/run", &["notes"]).file("notes", "my notes"),
        case("no name", "FIT --out ..", &[".."]),
        case("generate: folder exists", "generate data", &["data", "exists"]).file("data/x", ""),
        case("predict: cannot be written", "predict run nodes.csv --out nowhere/p.csv", &["nowhere/p.csv"])
            .prepare(fitted),
        case(
            "graph knn: cannot be written",
            "graph knn places.csv -k 2 --by lat,lon --out nowhere/e.csv",
            &["nowhere/e.csv"],
        ),
    ]);
}

#[test]
fn strict() {
    refuse(vec![
        case("no rows", "FIT --strict", &["--strict", "no rows", "`e`"]).edges("source,target\na,b\nb,c\nc,d\nd,e\n"),
        case("no edges", "FIT --strict", &["--strict", "no edges", "`d`"]).edges("source,target\na,b\nb,c\n"),
        case("neither", "FIT --strict --node-info places.csv", &["--strict", "neither", "`z`"])
            .file("places.csv", "node,lat\na,1\nz,2\n"),
    ]);
}

fn fitted(sandbox: &Sandbox) {
    sandbox.succeed("fit nodes.csv --edges edges.csv --target y --lambda 1 --out run");
}

fn calibrated(sandbox: &Sandbox) {
    sandbox.succeed("fit nodes.csv --edges edges.csv --target y --lambda 1 --calibrate 4 --out run");
}

fn unfinished(sandbox: &Sandbox) {
    let outcome = sandbox.run("fit nodes.csv --edges edges.csv --target y --lambda 1 --max-iterations 1 --out old");
    assert_eq!(outcome.code, 1, "{}", outcome.stderr);
}

#[test]
fn checkpoints() {
    refuse(vec![
        case("no folder", "FIT --resume nowhere", &["--resume nowhere", "no usable checkpoint"]),
        case("a converged run", "FIT --resume run --out run2", &["--resume run", "checkpoint.bin"]).prepare(fitted),
        case("corrupt", "FIT --resume old", &["old/checkpoint.bin", "damaged", "start afresh"]).prepare(|sandbox| {
            unfinished(sandbox);
            let mut bytes = std::fs::read(sandbox.path("old/checkpoint.bin")).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            sandbox.write("old/checkpoint.bin", bytes);
        }),
        case("cut short", "FIT --resume old", &["old/checkpoint.bin", "start afresh"]).prepare(|sandbox| {
            unfinished(sandbox);
            let bytes = std::fs::read(sandbox.path("old/checkpoint.bin")).unwrap();
            sandbox.write("old/checkpoint.bin", &bytes[..bytes.len() - 8]);
        }),
        case("other edges", "FIT --resume old", &["another problem", "same files"]).prepare(|sandbox| {
            unfinished(sandbox);
            sandbox.write("edges.csv", "source,target,weight\na,b,1\nb,c,0.5\nc,d,3\n");
        }),
        case("other features", "FIT --features x1 --resume old", &["another problem", "parameters per node"])
            .prepare(unfinished),
    ]);
}

#[test]
fn predictions() {
    refuse(vec![
        case("not a run", "predict folder nodes.csv", &["folder", "not a run directory"]).file("folder/x", ""),
        case("no folder", "predict nowhere nodes.csv", &["nowhere", "not a run directory"]),
        case("no table", "predict run nowhere.csv", &["nowhere.csv", "no such file"]).prepare(fitted),
        case("unknown node", "predict run new.csv", &["new.csv:3:", "`z`", "fit it first"])
            .file("new.csv", "node,x1,x2\na,1,2\nz,1,2\n")
            .prepare(fitted),
        case("a new node without edges", "predict run new.csv --new-nodes", &["--new-nodes", "--new-edges"])
            .prepare(fitted)
            .file("new.csv", "node,x1,x2\nz,1,2\n"),
        case(
            "a new node without a known neighbour",
            "predict run new.csv --new-nodes --new-edges joins.csv",
            &["`z`", "--new-edges"],
        )
        .prepare(fitted)
        .file("new.csv", "node,x1,x2\nz,1,2\n")
        .file("joins.csv", "source,target\nz,q\n"),
        case("missing column", "predict run new.csv", &["new.csv", "no column \"x2\""])
            .file("new.csv", "node,x1\na,1\n")
            .prepare(fitted),
        case("missing value", "predict run new.csv", &["new.csv:2", "x2", "missing"])
            .file("new.csv", "node,x1,x2\na,1,\n")
            .prepare(fitted),
        case("text", "predict run new.csv", &["new.csv:2", "x2", "\"two\""])
            .file("new.csv", "node,x1,x2\na,1,two\n")
            .prepare(fitted),
        case("unseen level", "predict run new.csv", &["new.csv:2", "colour", "\"green\"", "red"])
            .nodes("node,x1,colour,y\na,1,red,2\na,2,blue,1\na,0,red,1\na,4,blue,2\n")
            .file("new.csv", "node,x1,colour\na,1,green\n")
            .prepare(|sandbox| {
                drop(sandbox.succeed("fit nodes.csv --target y --one-hot colour --ridge 0.1 --lambda 1 --out run"))
            }),
        case("point loss", "predict run nodes.csv", &["point", "parameters.csv"]).prepare(|sandbox| {
            drop(sandbox.succeed("fit nodes.csv --edges edges.csv --drop y --loss point --lambda 1 --out run"))
        }),
        case("damaged parameters", "predict run nodes.csv", &["run/parameters.csv"]).prepare(|sandbox| {
            fitted(sandbox);
            sandbox.write("run/parameters.csv", "node,x1,x2,intercept\na,1,two,3\n");
        }),
        case("damaged encoding", "predict run nodes.csv", &["run/encoding.json"]).prepare(|sandbox| {
            fitted(sandbox);
            sandbox.write("run/encoding.json", "{");
        }),
        case("report of nothing", "report nowhere", &["nowhere", "holds no report"]),
    ]);
}

#[test]
fn intervals_and_drift() {
    refuse(vec![
        case("one fold", "FIT --calibrate 1", &["--calibrate 1", "2 to 1000"]),
        case("folds of a path", "path nodes.csv --edges edges.csv --target y --calibrate 5", &["--calibrate", "fit"]),
        case(
            "folds of points",
            "fit nodes.csv --edges edges.csv --drop y --loss point --lambda 1 --calibrate 2",
            &["--calibrate", "predicts rows"],
        ),
        case("a form of no coupling", "FIT --coupling-penalty huber", &["--coupling-penalty", "--coupling learnt"]),
        case(
            "a form that is none",
            "fit nodes.csv --edges edges.csv --target y --coupling learnt --coupling-penalty cube",
            &["--coupling-penalty", "huber"],
        ),
        case(
            "a form of parts",
            "fit nodes.csv --edges edges.csv --target y --coupling learnt --coupling-penalty norm --parts 2",
            &["--coupling-penalty norm", "--parts"],
        ),
        case("level 1.5", "predict run nodes.csv --interval 1.5", &["--interval 1.5", "between 0 and 1"])
            .prepare(fitted),
        case("nothing known", "predict run nodes.csv --interval 0.9", &["run", "--calibrate 10", "--coupling learnt"])
            .prepare(fitted),
        case("no run to watch", "monitor nowhere nodes.csv", &["nowhere", "not a run directory"]),
        case("nothing to compare with", "monitor run nodes.csv", &["run has no calibration", "--calibrate 10"])
            .prepare(fitted),
        case("level of monitor", "monitor run nodes.csv --level 0", &["--level 0", "between 0 and 1"])
            .prepare(calibrated),
        case("rate of monitor", "monitor run nodes.csv --fdr 1", &["--fdr 1", "between 0 and 1"]).prepare(calibrated),
        case("no labels", "monitor run new.csv", &["new.csv", "no labels", "`y`"])
            .file("new.csv", "node,x1,x2\na,1,2\n")
            .prepare(calibrated),
        case("a node to watch", "monitor run new.csv --out seen", &["new.csv:2:", "`z`"])
            .file("new.csv", "node,x1,x2,y\nz,1,2,3\n")
            .prepare(calibrated),
        case("damaged calibration", "predict run nodes.csv", &["run/calibration.json"]).prepare(|sandbox| {
            calibrated(sandbox);
            sandbox.write("run/calibration.json", "{");
        }),
    ]);
}

#[test]
fn generators() {
    refuse(vec![
        case("no nodes", "generate data --nodes 0", &["nodes"]),
        case("no clusters", "generate data --clusters 0", &["clusters"]),
        case("probability 2", "generate data --p-in 2", &["--p-in"]),
        case("negative noise", "generate data --noise=-1", &["noise"]),
        case("NaN noise", "generate data --noise NaN", &["noise"]),
        case("share 1.5", "generate data --without-rows 1.5", &["without"]),
    ]);
}

#[test]
fn negative_values() {
    refuse(vec![
        case("negative k", "fit nodes.csv --target y --knn -1 --by lat,lon", &["--knn"]),
        case("ridge < 0", "FIT --ridge -1", &["--ridge", "at least 0"]),
        case("huber-delta < 0", "FIT --loss huber --huber-delta -1", &["--huber-delta"]),
        case("seed < 0", "FIT --seed -1", &["--seed"]),
        case("tolerance < 0 with an exponent", "FIT --tolerance -1e-6", &["--tolerance", "positive"]),
        case("quantile < 0", "FIT --loss quantile --quantile -0.5", &["--quantile"]),
        case("lambda grid < 0 first", "fit nodes.csv --target y --lambda-grid -1,1", &["--lambda-grid", "at least 0"]),
        case("generate: noise < 0", "generate data --noise -1", &["--noise"]),
    ]);
}

#[test]
fn config_messages() {
    refuse(vec![
        case("unknown key", "fit --config c.toml", &["c.toml:3:", "lamda", "--help"])
            .file("c.toml", "nodes = \"nodes.csv\"\ntarget = \"y\"\nlamda = 1\n"),
        case("lambda in words", "fit --config c.toml", &["c.toml:2:", "lambda", "auto"])
            .file("c.toml", "nodes = \"nodes.csv\"\nlambda = \"much\"\n"),
    ]);
}

#[test]
fn penalty_matrices_name_their_file() {
    refuse(vec![
        case(
            "matrix not psd",
            "FIT --no-intercept --penalty quadratic --penalty-matrix q.csv",
            &["q.csv", "semidefinite"],
        )
        .file("q.csv", "1,2\n2,1\n"),
        case(
            "matrix not symmetric",
            "FIT --no-intercept --penalty quadratic --penalty-matrix q.csv",
            &["q.csv", "symmetric"],
        )
        .file("q.csv", "1,0.5\n0,1\n"),
        case("matrix not square", "FIT --no-intercept --penalty quadratic --penalty-matrix q.csv", &["q.csv"])
            .file("q.csv", "1,0\n0,1\n0,0\n"),
        case("NaN in the matrix", "FIT --no-intercept --penalty quadratic --penalty-matrix q.csv", &["q.csv"])
            .file("q.csv", "1,0\n0,NaN\n"),
    ]);
}

#[test]
fn blocks_name_their_feature() {
    refuse(vec![case(
        "one feature in two blocks",
        "FIT --penalty blocks --block norm2:1:x1,x2 --block norm1:1:x1",
        &["x1"],
    )]);
}

#[test]
fn generate_names_its_flag() {
    refuse(vec![case(
        "too many neighbours",
        "generate data --network geometric --nodes 5 --neighbours 8",
        &["neighbours"],
    )]);
}

#[test]
fn strict_comparisons() {
    refuse(vec![
        case("compare: no rows", "COMPARE --strict", &["--strict", "no rows"])
            .edges("source,target\na,b\nb,c\nc,d\nd,e\n"),
    ]);
}

#[test]
fn nothing_to_choose_lambda_with() {
    let single = "node,x1,y\na,1,2\nb,2,3\nc,1,1\nd,2,2\n";
    let fit = "fit nodes.csv --edges edges.csv --target y";
    refuse(vec![case("one row a node", fit, &["held out", "--lambda"]).nodes(single)]);
}

#[test]
fn features_with_names_of_our_own() {
    refuse(vec![
        case("intercept", "FIT", &["nodes.csv", "intercept", "rename"])
            .nodes("node,x1,intercept,y\na,1,2,3\na,2,1,1\n"),
        case("node", "FIT --node station", &["nodes.csv", "node", "rename"])
            .nodes("station,x1,node,y\na,1,2,3\na,2,1,1\n"),
    ]);
}

#[test]
fn folders_above_the_output() {
    refuse(vec![case("missing file", "fit nowhere.csv --target y --lambda 1 --out deep/er/run", &["nowhere.csv"])]);
}

#[test]
fn no_minimiser_elsewhere() {
    let rows =
        |node: &str| [3, 2, 1, -1, -2, -3].map(|x| format!("{node},{x},{},logistic\n", u8::from(x > 0))).concat();
    let separable = format!("node,x1,y,kind\n{}{}", rows("a"), rows("b"));
    let compare = "compare nodes.csv --edges edges.csv --target y --features x1 --loss logistic --ridge 0";
    refuse(vec![
        case("loss column", "FIT --loss-column kind --ridge 0", &["no minimiser", "--ridge"]).nodes(&separable),
        case("compare", compare, &["no minimiser", "--ridge"]).nodes(&separable),
    ]);
}

#[test]
fn sizes_beyond_all_memory() {
    refuse(vec![
        case("nodes", "generate data --nodes 18446744073709551615", &["nodes"]),
        case("features", "generate data --dim 18446744073709551615", &["dim"]),
    ]);
}

#[test]
fn no_minimiser_outside_the_blocks() {
    let one_class_at_b = "node,x1,y\na,1,1\na,-1,0\na,2,0\na,-2,1\nb,2,1\nb,-2,1\n";
    refuse(vec![
        case("free intercept", "LOGISTIC --ridge 0 --penalty blocks --block norm2:1:x1", &["no minimiser", "`b`"])
            .labels(one_class_at_b),
    ]);
}
