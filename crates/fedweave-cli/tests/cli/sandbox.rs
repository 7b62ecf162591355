//! A temporary folder with small good files in it, and the binary run inside.

use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// Longer than any command of these tests takes on a slow machine.
const TIME_LIMIT: Duration = Duration::from_secs(240);

/// Four nodes on a chain, four rows each, two features.
pub const NODES: &str = "\
node,x1,x2,y
a,1,0.5,1.1
a,2,-0.3,1.9
a,0.5,1.5,0.2
a,-1,0.7,-0.8
b,1.2,0.4,1.3
b,1.8,-0.6,2.1
b,0.1,1.1,0.3
b,-0.7,0.2,-0.9
c,0.9,0.8,-1.2
c,-1.3,0.1,1.1
c,0.4,-1.2,-0.1
c,2.2,0.3,-1.9
d,1.1,-0.2,-0.8
d,-0.6,0.9,0.7
d,1.7,1.3,-2.1
d,0.2,-0.4,0.1
";

/// The same rows with labels 0 and 1 that no plane separates.
pub const LABELS: &str = "\
node,x1,x2,y
a,1,0.5,1
a,2,-0.3,0
a,0.5,1.5,1
a,-1,0.7,0
b,1.2,0.4,1
b,1.8,-0.6,0
b,0.1,1.1,0
b,-0.7,0.2,1
c,0.9,0.8,0
c,-1.3,0.1,1
c,0.4,-1.2,1
c,2.2,0.3,0
d,1.1,-0.2,0
d,-0.6,0.9,1
d,1.7,1.3,0
d,0.2,-0.4,1
";

pub const EDGES: &str = "source,target,weight\na,b,1\nb,c,0.5\nc,d,2\n";

/// Positions of the nodes of [`NODES`].
pub const PLACES: &str = "node,lat,lon\na,60,24\nb,60.1,24.2\nc,61,25\nd,61.2,25.3\n";

/// What a command did.
pub struct Outcome {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

pub struct Sandbox {
    folder: TempDir,
}

impl Sandbox {
    /// A folder with `nodes.csv`, `labels.csv`, `edges.csv` and `places.csv`.
    pub fn new() -> Self {
        let sandbox = Sandbox { folder: tempfile::tempdir().unwrap() };
        let files = [("nodes.csv", NODES), ("labels.csv", LABELS), ("edges.csv", EDGES), ("places.csv", PLACES)];
        files.into_iter().for_each(|(name, text)| sandbox.write(name, text));
        sandbox
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub fn exists(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    pub fn read_json(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).unwrap()
    }

    /// Everything in the folder, with contents, to see whether a command changed anything.
    pub fn snapshot(&self) -> Vec<(PathBuf, Option<Vec<u8>>)> {
        let mut found = Vec::new();
        let mut folders = vec![self.folder.path().to_path_buf()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let content = std::fs::read(&path).ok();
                if path.is_dir() {
                    folders.push(path.clone());
                }
                found.push((path, content));
            }
        }
        found.sort();
        found
    }

    /// Runs `fedweave` with these arguments, separated by blanks, inside the folder.
    pub fn run(&self, arguments: &str) -> Outcome {
        finish(self.start(arguments), arguments)
    }

    /// `fedweave` with these arguments, not started yet.
    pub fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fedweave"));
        command.args(arguments.split_whitespace()).current_dir(self.folder.path());
        command
    }

    pub fn start(&self, arguments: &str) -> Child {
        let mut command = self.command(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Runs a command that must succeed, and returns what it printed.
    pub fn succeed(&self, arguments: &str) -> String {
        let outcome = self.run(arguments);
        assert_eq!(outcome.code, 0, "{arguments}\n{}{}", outcome.stdout, outcome.stderr);
        outcome.stdout
    }

    /// Runs a command that must succeed with `--json`, and returns the object it printed.
    pub fn json(&self, arguments: &str) -> Value {
        let stdout = self.succeed(&format!("{arguments} --json"));
        serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{arguments}: {error}\n{stdout}"))
    }

    /// Names and rows of a CSV file that holds no quotes.
    pub fn table(&self, name: &str) -> Table {
        Table::parse(&self.read(name))
    }
}

/// Waits for a command, but not for ever.
pub fn finish(mut child: Child, what: &str) -> Outcome {
    let (stdout, stderr) = (drain(child.stdout.take()), drain(child.stderr.take()));
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if started.elapsed() > TIME_LIMIT {
            child.kill().unwrap();
            panic!("still running after {TIME_LIMIT:?}: {what}");
        }
        thread::sleep(Duration::from_millis(1));
    };
    let code = status.code().unwrap_or_else(|| panic!("ended by a signal: {what}"));
    Outcome { code, stdout: stdout.join().unwrap(), stderr: stderr.join().unwrap() }
}

fn drain(stream: Option<impl Read + Send + 'static>) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut stream) = stream {
            stream.read_to_end(&mut bytes).unwrap();
        }
        String::from_utf8(bytes).unwrap()
    })
}

/// A small CSV table: header, and rows whose first cell is a name.
pub struct Table {
    pub header: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

impl Table {
    pub fn parse(text: &str) -> Self {
        let mut lines = text.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
        Table { header: lines.next().unwrap_or_default(), rows: lines.collect() }
    }

    /// The numbers of a row, without its name.
    pub fn numbers(&self, row: usize) -> Vec<f64> {
        self.rows[row][1..]
            .iter()
            .map(|cell| cell.parse().unwrap_or_else(|_| panic!("not a number: {cell:?}")))
            .collect()
    }

    /// The numbers of the row that begins with `name`.
    pub fn of(&self, name: &str) -> Vec<f64> {
        let row = self.rows.iter().position(|row| row[0] == name);
        self.numbers(row.unwrap_or_else(|| panic!("no row {name}")))
    }

    /// The largest difference to another table of the same shape and names.
    pub fn distance(&self, other: &Table) -> f64 {
        assert_eq!(self.header, other.header);
        assert_eq!(self.rows.len(), other.rows.len());
        (0..self.rows.len()).fold(0.0, |worst, row| {
            assert_eq!(self.rows[row][0], other.rows[row][0]);
            let pairs = self.numbers(row).into_iter().zip(other.numbers(row));
            pairs.fold(worst, |worst: f64, (a, b)| worst.max((a - b).abs()))
        })
    }
}
