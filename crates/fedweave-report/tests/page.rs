//! The page as text: what it says, what it never says, and that it is the same every time.

use fedweave_report::*;

fn two_nodes(name: &str) -> Report {
    let node =
        |name: &str| Node { name: name.into(), rows: 3, cluster: Some(0), parameters: vec![1.0], ..Node::default() };
    let mut report = Report { title: name.into(), nodes: vec![node(name), node("b")], ..Report::default() };
    report.edges = vec![Edge { i: 0, j: 1, weight: 1.0, differs: false }];
    report.clusters = vec![Cluster { size: 2, model: vec![1.0] }];
    report.command = format!("fedweave fit  {name}");
    (report.what.dim, report.what.nodes, report.what.edges) = (1, 2, 1);
    report.what.split = "every fifth row".into();
    report
}

#[test]
fn a_hostile_name_is_never_markup() {
    let page = render(&two_nodes("</script><img src=x onerror=alert(1)>")).unwrap();
    assert!(!page.contains("<img"));
    assert_eq!(page.matches("</script>").count(), 2, "the data and the script");
}

#[test]
fn edges_of_a_learnt_graph_are_explained() {
    let mut report = two_nodes("a");
    assert!(!render(&report).unwrap().contains("Why these edges"));
    let discrepancy = vec![Some(0.25)];
    report.learnt = Some(LearntGraph { measure: "wald".into(), discrepancy, ..LearntGraph::default() });
    let page = render(&report).unwrap();
    assert!(page.contains("Why these edges") && page.contains("discrepancy (wald)"));
    assert!(page.contains("<td class=\"teachers\">b</td><td>1</td><td>0.25</td></tr>"));
}

#[test]
fn nothing_is_loaded_from_anywhere() {
    let page = render(&two_nodes("a")).unwrap();
    for address in ["https://", "src=", "@import", "url("] {
        assert!(!page.contains(address), "{address}");
    }
    let others = page.replace("http://www.w3.org/2000/svg", "");
    assert!(!others.contains("http://"));
}

#[test]
fn the_same_report_gives_the_same_page_after_a_round_trip() {
    let report = two_nodes("a");
    let back: Report = serde_json::from_str(&serde_json::to_string(&report).unwrap()).unwrap();
    assert_eq!(render(&report).unwrap(), render(&back).unwrap());
}

#[test]
fn the_split_is_always_shown() {
    assert!(render(&two_nodes("a")).unwrap().contains("every fifth row"));
    assert!(render(&Report::default()).unwrap().contains("not recorded"));
}

#[test]
fn a_diverged_run_is_rendered_and_called_so() {
    let mut report = two_nodes("a");
    report.outcome.status = Status::Diverged;
    report.outcome.objective = f64::NAN;
    report.outcome.certified_gap = Some(f64::INFINITY);
    report.nodes[0].parameters = vec![f64::NAN];
    report.nodes[0].train_error = Some(f64::INFINITY);
    report.history = (0..5)
        .map(|k| Step { iteration: k, objective: f64::NAN, kkt: Some(f64::INFINITY), ..Step::default() })
        .collect();
    let page = render(&report).unwrap();
    assert!(page.contains("Diverged") && page.contains("no certificate"));
}

#[test]
fn a_dangling_edge_is_an_error() {
    let mut report = two_nodes("a");
    report.edges[0].j = 2;
    assert!(matches!(render(&report), Err(ReportError::EdgeEnd { edge: 0, node: 2, nodes: 2 })));
}

#[test]
fn reports_from_before_paths_still_load() {
    let old = r#"{"nodes": [{}, {}], "edges": [{"i": 0, "j": 1, "weight": 1, "saturated": true}]}"#;
    let report: Report = serde_json::from_str(old).unwrap();
    assert!(report.path.is_none() && report.edges[0].differs);
    assert!(!serde_json::to_string(&report).unwrap().contains("path"));
    assert!(!render(&report).unwrap().contains("id=\"tree\""));
}

#[test]
fn a_path_is_drawn_even_where_there_is_little_to_draw() {
    let point =
        |lambda, membership: Vec<u32>, clusters| PathPoint { lambda, clusters, membership, ..Default::default() };
    for points in [vec![point(0.0, vec![0, 1], 2)], vec![point(0.0, vec![0, 1], 2), point(2.0, vec![0, 0], 1)]] {
        let report = Report { path: Some(Path { points, chosen: 0 }), ..two_nodes("a") };
        let page = render(&report).unwrap();
        assert!(page.contains("id=\"tree\"") && !page.contains("NaN"));
    }
    let nothing = Path { points: vec![point(1.0, vec![], 0)], chosen: 0 };
    assert!(render(&Report { path: Some(nothing), ..Report::default() }).is_ok());
    let wrong = Path { points: vec![point(1.0, vec![0], 1)], chosen: 0 };
    assert!(matches!(render(&Report { path: Some(wrong), ..two_nodes("a") }), Err(ReportError::PathPoint { .. })));
}

#[test]
fn the_coverage_of_intervals_is_drawn_where_it_is_known() {
    let points = [0.5, 0.9].map(|level| CoveragePoint { level, calibrated: Some(level), model: None }).to_vec();
    let calibration = Calibration { rows: 200, how: "200 rows held out".into(), points, ..Default::default() };
    let page = render(&Report { calibration: Some(calibration), ..two_nodes("a") }).unwrap();
    assert!(page.contains("id=\"calibration\"") && page.contains("200 rows held out") && !page.contains("NaN"));
    let nothing = Calibration { points: vec![CoveragePoint::default()], ..Default::default() };
    assert!(!render(&Report { calibration: Some(nothing), ..two_nodes("a") }).unwrap().contains("id=\"calibration\""));
    assert!(!render(&two_nodes("a")).unwrap().contains("id=\"calibration\""));
}
