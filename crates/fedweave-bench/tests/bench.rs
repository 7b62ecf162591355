//! `fedweave-bench` without Python: our own half of the comparison.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

const NODES: &str = "node,x1,x2,y\na,1,0.5,1.1\na,2,-0.3,1.9\nb,1.2,0.4,1.3\nb,1.8,-0.6,2.1\nc,0.9,0.8,-1.2\n\
                     c,-1.3,0.1,1.1\nd,1.1,-0.2,-0.8\nd,-0.6,0.9,0.7\n";
const EDGES: &str = "source,target,weight\na,b,1\nb,c,0.5\nc,d,2\n";
const ABOUT: &str = r#"{"loss": "squared", "loss_params": {}, "penalty": "norm2", "lambda": 0.1, "dim": 2,
    "nodes": ["a", "b", "c", "d"]}"#;
const OURS: &str = "--work problems --problems tiny --only fedweave";

/// A folder with one small problem in it.
struct Sandbox(TempDir);

impl Sandbox {
    fn new() -> Self {
        let sandbox = Sandbox(tempfile::tempdir().unwrap());
        for (name, text) in [("nodes.csv", NODES), ("edges.csv", EDGES), ("problem.json", ABOUT)] {
            sandbox.write(&format!("problems/tiny/{name}"), text);
        }
        sandbox
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fedweave-bench"));
        command.args(arguments.split_whitespace()).current_dir(self.0.path());
        command
    }

    fn run(&self, arguments: &str) -> Output {
        self.command(arguments).output().unwrap()
    }

    fn succeed(&self, arguments: &str) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// What a command that must be refused says.
    fn refused(&self, arguments: &str) -> String {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments}");
        String::from_utf8(output.stderr).unwrap()
    }
}

#[test]
fn help_teaches_by_example() {
    let help = Sandbox::new().succeed("--help");
    for word in ["benches/compare/setup", "--set", "--only", "--time-limit", "headline", "growth"] {
        assert!(help.contains(word), "{word} is not in\n{help}");
    }
}

#[test]
fn ours_alone_needs_no_python() {
    let text = Sandbox::new().succeed(&format!("{OURS} --python /nonexistent/python"));
    assert!(text.contains("| tiny | 4 | 2 | 3 | 1e-6 |"), "{text}");
    assert!(text.contains("not raced"), "{text}");
}

#[test]
fn a_section_of_a_file_is_replaced() {
    let sandbox = Sandbox::new();
    sandbox.write("b.md", "before\n<!-- bench:problems begin -->\nold\n<!-- bench:problems end -->\nafter\n");
    sandbox.succeed(&format!("{OURS} --out b.md"));
    let text = std::fs::read_to_string(sandbox.path("b.md")).unwrap();
    assert!(text.starts_with("before\n") && text.ends_with("\nafter\n"), "{text}");
    assert!(text.contains("| tiny |") && !text.contains("old"), "{text}");
}

#[test]
fn a_path_is_timed_against_solutions_from_nothing() {
    let text = Sandbox::new().succeed("--work problems --set path --problems tiny --repeat 1");
    assert!(text.contains("| tiny |"), "{text}");
}

#[test]
fn a_missing_python_is_named_with_the_remedy() {
    let sandbox = Sandbox::new();
    sandbox.write("benches/compare/race.py", "");
    for arguments in [
        "--work problems --problems tiny --python nowhere/python",
        "--work problems --problems other --only fedweave --python nowhere/python",
    ] {
        let said = sandbox.refused(arguments);
        assert!(said.contains("nowhere/python") && said.contains("benches/compare/setup"), "{said}");
    }
}

#[test]
fn outside_the_repository_there_are_no_competitors() {
    let said = Sandbox::new().refused("--work problems --problems tiny");
    assert!(said.contains("inside the repository"), "{said}");
}

#[test]
fn bad_arguments_and_files_are_refused() {
    let sandbox = Sandbox::new();
    let said = sandbox.refused(&format!("{OURS} --repeat 0"));
    assert!(said.contains("--repeat"), "{said}");
    for (about, complaint) in [
        ("{}".to_owned(), "problem.json: not a problem"),
        (ABOUT.replace("squared", "cubed"), "problem.json: unknown loss cubed"),
        (ABOUT.replace("norm2", "norm7"), "problem.json: unknown penalty norm7"),
    ] {
        sandbox.write("problems/tiny/problem.json", &about);
        let said = sandbox.refused(OURS);
        assert!(said.contains(complaint), "{said}");
    }
}

#[test]
fn a_watched_benchmark_tells_its_page_what_is_solved_and_what_came_out() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command(&format!("{OURS} --repeat 2000 --watch"));
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (mut errors, mut line) = (BufReader::new(child.stderr.take().unwrap()), String::new());
    errors.read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("watch http://").unwrap_or_else(|| panic!("{line}"));
    let (host, token) = address.split_once("/?token=").unwrap();
    let port = host.split_once(':').unwrap().1;
    let mut tab = TcpStream::connect(host).unwrap();
    write!(tab, "GET /events HTTP/1.0\r\nHost: {host}\r\nCookie: fedweave-studio-{port}={token}\r\n\r\n").unwrap();
    let (mut states, mut told) = (Vec::new(), BufReader::new(tab));
    while !line.contains("\"ended\":{") {
        line.clear();
        assert!(told.read_line(&mut line).unwrap() > 0, "the stream ended before the run: {states:?}");
        states.extend(line.strip_prefix("data:").map(str::to_owned));
    }
    drop(told);
    let last = states.last().unwrap();
    assert!(last.contains("\"words\":\"Done\"") && last.contains("\"tiny: fedweave "), "{last}");
    assert!(states.iter().any(|state| state.contains("tiny: fedweave, run ")), "{states:?}");
    assert!(child.wait().unwrap().success());
}
