//! Examples under the help of every job.

pub const ALL: &str = "\
Examples:
  fedweave demo
      house prices in 160 places: compares methods, prints a table, writes fedweave-demo/report.html

  fedweave fit houses.csv --node zip --target price --knn 5 --by lat,lon --out run
      one model per zip code, coupled with the 5 nearest; lambda chosen on held-out rows

  fedweave fit nodes.csv --edges edges.csv --target y --lambda 0.1 --json
      a graph from a file, a fixed lambda, the result as JSON

  fedweave path points.csv --edges edges.csv --loss point --breakpoints --out path
      clusters as lambda grows, where they change, a report with a slider

  fedweave compare houses.csv --node zip --target price --knn 5 --by lat,lon --splits 10
      does the network help? local-only, one global model, networked, shuffled graph

  fedweave predict run new.csv
      predictions of the models in a run directory

Exit codes: 0 done, 1 stopped before the tolerance (results are written), 2 bad input or failure, 130 interrupted.";

pub const FIT: &str = "\
Examples:
  fedweave fit nodes.csv --edges edges.csv --target y --out run
  fedweave fit nodes.csv --edges edges.csv --target y --lambda 0.1 --penalty squared --json
  fedweave fit stations.csv --node station --target temp --knn 4 --by lat,lon --validation 0.3
  fedweave fit points.csv --edges edges.csv --loss point --lambda 2      convex clustering
  fedweave fit visits.csv --edges wards.graphml --target sick --loss logistic --ridge 0.001
  fedweave fit nodes.csv --edges edges.csv --target y --model 'tree max-depth=5'      trees, coupled by predictions
  fedweave fit houses.csv --node zip --target price --knn 5 --by lat,lon --tune --out run      the best predictor, by folds
  fedweave fit --config run/config.toml --lambda 0.5                     an earlier run, changed

Without --lambda, lambda is chosen on held-out rows and all rows are used for the final fit.";

pub const LEARN: &str = "\
Examples:
  fedweave graph learn nodes.csv --target y --out edges.csv
  fedweave graph learn nodes.csv --target y --by gradient --degree 4 --out edges.csv
  fedweave graph learn nodes.csv --target y --fdr 0.1 --json
  fedweave compare nodes.csv --target y --graph learn --splits 10        does it help?

All rows of the table are used: a graph is judged by `fedweave compare --graph learn`, which learns it from training rows alone.";

pub const PATH: &str = "\
Examples:
  fedweave path points.csv --edges edges.csv --loss point --out path       convex clustering, all of it
  fedweave path nodes.csv --edges edges.csv --target y --validation 0.2    with held-out errors
  fedweave path nodes.csv --edges edges.csv --target y --breakpoints 1e-4  where clusters change
  fedweave path points.csv --edges all.csv --loss point --partition kind   where is `kind` provably recovered?

Without --lambda-grid the values go down from lambda_max, the smallest lambda with one model per component.";

pub const COMPARE: &str = "\
Examples:
  fedweave compare nodes.csv --edges edges.csv --target y --splits 10
  fedweave compare stations.csv --node station --target temp --features t,t2,sin,cos --standardize \\
      --knn 4 --by lat,lon --train 10 --validation 10 --penalty squared --ridge 1e-6,1e-3,1e-2 --splits 10
  fedweave compare stations.csv --node station --target temp --knn 4 --by lat,lon --split-by date
  fedweave compare houses.csv --node zip --target price --knn 5 --by lat,lon --splits 10 --tune

Every method chooses its own ridge (from the list of --ridge) and lambda on validation rows; errors are on test rows.
`shuffled` is the same graph with its nodes renamed at random: if it is as good, the gain is not due to this graph.";

pub const ASK: &str = "\
Examples:
  fedweave ask nodes.csv --target y --candidates 10 --rounds 200 --out run
  fedweave ask nodes.csv --target y --asker north --asker south --validation 0.3 --out run
  fedweave ask nodes.csv --target y --model 'tree max-depth=4' --rounds 20 --out run
  fedweave predict run new.csv

No graph is needed. In every round a node sends its model to B others, judges their answers on its own rows and takes the
best: a gradient step (--loss), or a fit to their rows that stays close (--model). teachers.csv says from whom it learnt.";
